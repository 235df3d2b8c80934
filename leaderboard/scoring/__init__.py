"""Scoring of codes. Internal, except for the names in a file's ``__all__``."""

from benchmark_data.errors import needs

needs("leaderboard.scoring", "metrics", "scipy", "sklearn", "pandas", "joblib")
