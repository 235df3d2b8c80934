"""References, one file each: the file name is the reference's name."""

from __future__ import annotations

from baselines.references._base import Reference, find, names, rows_to_fit, write

__all__ = [
    "Reference",
    "find",
    "names",
    "rows_to_fit",
    "write",
]
