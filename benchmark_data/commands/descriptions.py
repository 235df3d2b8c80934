"""Descriptions of a dataset that the commands print: its factors' values, and the origin of its images."""

from __future__ import annotations

from benchmark_data.archives.archive import Cached
from benchmark_data.archives.picture_files import PictureFiles
from benchmark_data.archives.user_images import InMemory
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Factor
from benchmark_data.sources import chain
from benchmark_data.variants.hidden import HiddenVariable


def value_range(factor: Factor) -> str:
    """Describe a factor's values briefly: its labels if it has names, else the first, second and last value."""
    labels = factor.labels if factor.size <= 6 else (*factor.labels[:2], "...", factor.labels[-1])
    return ", ".join(labels)


def source_kind(dataset: Dataset) -> str:
    """Return one word for the origin of the images: rendered, on disk, own, to be downloaded or derived."""
    if isinstance(dataset.source, (InMemory, PictureFiles)):
        return "own"
    hidden = getattr(dataset.source, "hidden", None)
    if isinstance(hidden, HiddenVariable) and hidden.kind != "pca" and not hidden.ready:
        return "derive"
    if not dataset.prepared:
        return "download"
    return "on disk" if stores(dataset) else "rendered"


def stores(dataset: Dataset) -> list[Cached]:
    """List the prepared archives that a dataset reads or is derived from, the original source first."""
    return [source for source in reversed(chain(dataset)) if isinstance(source, Cached)]
