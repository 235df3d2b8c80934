"""Metrics: one file each, ``score(codes, factors, *, ...) -> dict[str, float]``. The file name is the metric's name."""
