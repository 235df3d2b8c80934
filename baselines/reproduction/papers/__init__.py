"""The papers' figures and tables, one file per paper, ending in ``PAPER`` and ``ENTRIES``."""

from benchmark_data.errors import needs

needs("baselines.reproduction", "train", "scipy", "sklearn", "pandas", "joblib")
