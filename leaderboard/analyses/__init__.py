"""Analyses of the papers: one file each. The file name is the analysis's name.

``measure(...)`` takes arrays and gives a tidy table; ``draw(table, path)`` draws it in the papers' layout. (``latents``
has no drawing; ``expansiveness`` measures a dataset: ``measure_hidden``.) Tables of several runs are concatenated, with
columns such as ``seed`` and ``group`` that say what each row belongs to.
"""

from benchmark_data.errors import needs

needs("leaderboard.analyses", "metrics", "scipy", "sklearn", "pandas", "joblib")
