"""Comparisons of two representations of the same samples, and of whole sets of them."""

from benchmark_data import discovery
from benchmark_data.errors import needs

needs("leaderboard.comparisons", "metrics", "scipy", "sklearn", "pandas", "joblib")

__getattr__, _ = discovery.on_demand(__name__, {})
