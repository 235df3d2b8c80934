"""What pytest leaves out of the doctests where its package is not installed. Tests proper say so and skip."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("torch") else ["benchmark_data/torch.py"]
