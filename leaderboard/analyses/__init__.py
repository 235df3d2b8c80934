"""Analyses of the papers: one file each. The file name is the analysis's name.

``measure(...)`` converts arrays to a tidy table; ``draw(table, path)`` draws it in the papers' layout. (``latents`` has
no drawing; ``expansiveness`` measures a dataset: ``measure_hidden``.) Concatenate tables of several runs, with columns
such as ``seed`` and ``group`` to identify their rows.
"""

from benchmark_data import discovery
from benchmark_data.errors import needs

needs("leaderboard.analyses", "metrics", "scipy", "sklearn", "pandas", "joblib")

__getattr__, _ = discovery.on_demand(__name__, {})
