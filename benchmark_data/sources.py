"""Sources that need no files of their own: pixels computed from factors, and another dataset's pixels or rows.

`benchmark_data.types.Source` is the base class; sources that read files are in `benchmark_data.archives.archive`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data.dataset import Dataset
from benchmark_data.factors import FactorTable, Indices
from benchmark_data.types import Extra, Pixels, Source

__all__ = ["Derived", "OfBase", "Rendered", "Selected", "chain", "resized"]


@dataclasses.dataclass(frozen=True)
class Rendered(Source):
    """Pixels computed from class ids.

    Args:
        render: takes class ids, int64 (n, F), and returns images, uint8 (n, H, W, C). It must not keep state.
    """

    render: Callable[[Indices], Pixels]

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Render a batch."""
        return self.render(labels)


@dataclasses.dataclass(frozen=True)
class OfBase(Source):
    """Base class of sources that read another dataset: its pixels and extras, and whether it is ready.

    Rows are the base's; a source with other rows overrides `base_rows`.

    Args:
        base: the dataset to start from.
    """

    base: Dataset

    @property
    def ready(self) -> bool:
        """Whether the base's images can be read now."""
        return self.base.prepared

    @property
    def extras(self) -> Mapping[str, Extra]:
        """The base's further arrays."""
        return self.base.extras

    def base_rows(self, indices: Indices) -> Indices:
        """Return the base's row for each row: the same one by default.

        Args:
            indices: rows, int64, shape (n,), already checked.

        Returns:
            Rows of the base, int64, shape (n,).
        """
        return indices

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Take the base's images."""
        return self.base.images(self.base_rows(indices))

    def extra(self, name: str, indices: Indices) -> NDArray[Any]:
        """Return rows of one of the base's further arrays."""
        return self.base.source.extra(name, self.base_rows(indices))  # they are checked, and may be none

    def prepare(self, **options: Any) -> None:
        """Prepare the base."""
        self.base.prepare(**options)


@dataclasses.dataclass(frozen=True)
class Derived(OfBase):
    """Another dataset's pixels, changed: perturbed, noisy, coloured, resized. The factors stay as they are.

    Args:
        base: the dataset to start from, with the same rows.
        change: takes images uint8 (n, H, W, C), indices int64 (n,) and class ids int64 (n, F); returns uint8 images.
            Randomness in it must come from `benchmark_data.draws`, keyed on the indices.
    """

    change: Callable[[Pixels, Indices, Indices], Pixels]

    def images(self, indices: Indices, labels: Indices) -> Pixels:
        """Take the base images and change them."""
        return self.change(self.base.images(indices), indices, labels)


@dataclasses.dataclass(frozen=True)
class Selected(OfBase):
    """Some rows of another dataset, and some of its factors.

    Args:
        base: the dataset to take from.
        rows: the base's row for each row of the selection.
        factors: the names of the factors to keep; the others become nuisances.
    """

    rows: range
    factors: tuple[str, ...]

    @functools.cached_property
    def space(self) -> FactorTable:
        """The selection's factors."""
        space = self.base.space
        kept_factors = (space.factors[space.column(name)] for name in self.factors)
        return FactorTable(*kept_factors, rows=len(self.rows), read=self._read_labels)

    def _read_labels(self) -> Indices:
        columns = [self.base.space.column(name) for name in self.factors]  # which may be none
        return self.base.space.labels(self.rows)[:, columns]

    def base_rows(self, indices: Indices) -> Indices:
        """Return the base's row for each row: int64, shape (n,)."""
        return self.rows.start + indices * self.rows.step


def chain(dataset: Dataset | Source) -> list[Source]:
    """List the sources that a dataset rests on.

    Args:
        dataset: the dataset, or its source.

    Returns:
        Its own source, then the sources that this one holds as attributes, each followed by its own.

    Example:
        >>> import benchmark_data
        >>> [type(source).__name__ for source in chain(benchmark_data.load("dsprites_noisy"))]
        ['Derived', 'Rendered']
    """
    source = dataset.source if isinstance(dataset, Dataset) else dataset
    bases = [base for base in vars(source).values() if isinstance(base, Dataset | Source)]
    return [source, *(deeper for base in bases for deeper in chain(base))]


def resized(images: Pixels, indices: Indices, labels: Indices, *, size: int, method: str) -> Pixels:
    """Resize square images with Pillow: a change for `Derived` and `Precomputed`.

    Args:
        images: uint8, shape (n, H, W, C) with C of 1 or 3.
        indices: ignored.
        labels: ignored.
        size: the new height and width in pixels.
        method: ``lanczos`` or ``bilinear``: Pillow's filters of that name, which both widen with the reduction.

    Returns:
        uint8, shape (n, size, size, C).

    Example:
        >>> halves = np.repeat(np.array([0, 255], np.uint8), 8)[None, None, :, None].repeat(16, axis=1)
        >>> resized(halves, None, None, size=4, method="bilinear")[0, 0, :, 0].tolist()
        [0, 32, 223, 255]
    """
    import PIL.Image

    resampling = PIL.Image.Resampling[method.upper()]
    out = np.empty((len(images), size, size, images.shape[3]), np.uint8)
    for i, image in enumerate(images if images.shape[3] == 3 else images[..., 0]):
        out[i] = np.asarray(PIL.Image.fromarray(image).resize((size, size), resampling)).reshape(size, size, -1)
    return out
