"""From codes to scores. Internal, but for what a file's ``__all__`` names."""

from benchmark_data.errors import needs

needs("leaderboard.scoring", "metrics", "scipy", "sklearn", "pandas", "joblib")
