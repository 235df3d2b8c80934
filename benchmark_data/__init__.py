"""Datasets with known factors of variation, for numpy, TensorFlow Datasets and Hugging Face.

>>> import benchmark_data
>>> dataset = benchmark_data.load("xysquares/spacing_4")
>>> dataset.images([0, 1, 2]).shape
(3, 64, 64, 3)
"""

from __future__ import annotations

from benchmark_data.catalogue import configs, load, names, split, split_names
from benchmark_data.dataset import Dataset, Digest, Family
from benchmark_data.errors import (
    DamagedFile,
    InvalidInput,
    MissingExtra,
    OffaxisError,
    Unavailable,
    UnknownName,
)
from benchmark_data.factors import Factor, FactorSpace, FactorTable
from benchmark_data.in_memory import from_images
from benchmark_data.sources import Derived, Rendered
from benchmark_data.variants.splitting import Split, split_rules

__all__ = [
    "DamagedFile",
    "Dataset",
    "Derived",
    "Digest",
    "Factor",
    "FactorSpace",
    "FactorTable",
    "Family",
    "InvalidInput",
    "MissingExtra",
    "OffaxisError",
    "Rendered",
    "Split",
    "Unavailable",
    "UnknownName",
    "configs",
    "from_images",
    "load",
    "names",
    "split",
    "split_names",
    "split_rules",
]
