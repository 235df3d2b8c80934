"""Result files: what they hold, how they are read, merged and written. Internal: its files are for users."""

from benchmark_data.errors import needs

needs("leaderboard.store", "metrics", "scipy", "sklearn", "pandas", "joblib")
