"""Metrics: one file each, ``score(codes, factors, *, ...) -> dict[str, float]``. The file name is the metric's name."""

from benchmark_data import discovery

__getattr__, _ = discovery.on_demand(__name__, {})
