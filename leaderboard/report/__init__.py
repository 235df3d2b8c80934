"""Tables and pages of results, and checks of results trees. Internal: ``offaxis board`` is for users."""

from benchmark_data.errors import needs

needs("leaderboard.report", "board", "scipy", "sklearn", "pandas", "joblib")
