"""From result files to tables, pages and what is published. Internal: ``offaxis board`` is for users."""

from benchmark_data.errors import needs

needs("leaderboard.report", "board", "scipy", "sklearn", "pandas", "joblib")
