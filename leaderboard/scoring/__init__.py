"""From codes to scores."""

from benchmark_data.errors import needs

needs("leaderboard.scoring", "metrics", "scipy", "sklearn", "pandas", "joblib")
