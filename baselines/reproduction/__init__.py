"""Reproduction of the papers' figures and tables. Internal: ``offaxis study`` is for users."""

from benchmark_data.errors import needs

needs("baselines.reproduction", "train", "scipy", "sklearn", "pandas", "joblib")
