"""A dataset of one's own images, from arrays or from anything that yields images."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery
from benchmark_data.archives import image_folders
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.types import Images, Source


@dataclasses.dataclass(frozen=True)
class InMemory(Source):
    """Pixels that the user holds: an array, which may be a memory-mapped file.

    Args:
        pixels: uint8, shape (n, H, W, C).
    """

    pixels: Images

    def images(self, indices: Indices, labels: Indices) -> Images:
        """Copy images."""
        return np.asarray(self.pixels[indices])


def from_images(
    name: str,
    images: ArrayLike | Iterable[ArrayLike] | os.PathLike[str],
    labels: Mapping[str, ArrayLike] | None = None,
) -> Dataset:
    """Make a dataset of one's own images, for ``baselines.train`` and everything else that takes a `Dataset`.

    Training draws rows in random order, and a run that was stopped draws the same ones again, so that images must be
    where any of them can be read at once. An array is kept as it is: one that ``numpy.load(path, mmap_mode="r")`` gave
    stays on disk. A stream, such as a ``tf.data.Dataset`` of images or a Hugging Face dataset, is read to its end and
    held in memory: take as many images as fit, 12 kB each for 64 x 64 pixels in three colours.

    Args:
        name: what runs call it: lower-case letters, digits and underscores.
        images: uint8, shape (n, H, W, C) or (n, H, W); or an iterable of images of one size, each uint8 (H, W, C) or
            (H, W), a Pillow image or a tensor; or the path of a folder of PNG and JPEG files of one size, which are
            read in the order of their names, those in folders within it as well.
        labels: what is known of the images, if anything: name -> n numbers or texts, one for each image. Each becomes a
            factor whose classes are the different values in order.

    Returns:
        The dataset. Its digest tells whether a run goes on with the images that it began with.

    Raises:
        InvalidInput: the name is taken or not such a name, there are no images, they differ in size, have their
            channels first or are not uint8, or the labels are not as many.
        DamagedFile: a file of the folder is no image.

    Example:
        >>> pixels = np.zeros((6, 32, 32, 3), np.uint8)
        >>> mine = from_images("mine", pixels, {"animal": ["cat", "dog", "cat", "cat", "cow", "dog"]})
        >>> mine
        <Dataset mine 1.0.0: 6 images (32, 32, 3), FactorTable(animal, rows=6)>
        >>> mine.labels([0, 1, 4]).tolist()
        [[0], [2], [1]]
    """
    what = f"images of {name}"
    if not re.fullmatch(r"[a-z0-9_]+", name) or name in discovery.names("benchmark_data.datasets"):
        raise InvalidInput(
            "name of a dataset",
            expected="lower-case letters, digits and underscores, and no published dataset's name",
            received=repr(name),
        )
    if isinstance(images, str | os.PathLike):
        images = image_folders.read(images)
    pixels = images if isinstance(images, np.ndarray) else _collected(what, images)
    _check_layout(what, pixels)
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or not pixels.size:
        raise InvalidInput(
            what,
            expected="uint8 of shape (n, H, W, C) with n at least 1",
            received=f"{pixels.dtype} of shape {pixels.shape}",
            remedy="Scale pixels to 0 ... 255 and cast them to uint8."
            if pixels.dtype.kind in "biufc"
            else "Give pixels, or the path of a folder of PNG or JPEG files.",
        )
    columns = [_column(column, values, len(pixels)) for column, values in (labels or {}).items()]
    table = np.stack([ids for _, ids in columns], axis=1) if columns else np.empty((len(pixels), 0), np.int64)
    return Dataset(
        name=name,
        version="1.0.0",
        space=FactorTable(
            *(factor for factor, _ in columns), rows=len(pixels), read=functools.partial(np.asarray, table)
        ),
        source=InMemory(pixels),
        image_shape=pixels.shape[1:],
        description="The user's own images.",
        citation="",
        licence="unknown",
        homepage="",
        redistributable=False,
    )


def _check_layout(what: str, pixels: NDArray[Any]) -> None:
    """Refuse images whose channels come first: (n, C, H, W) with few channels and a width that is no number of them."""
    if pixels.ndim == 4 and pixels.shape[1] in (1, 3, 4) and pixels.shape[3] > 4:
        raise InvalidInput(
            what,
            expected="uint8 of shape (n, H, W, C)",
            received=f"{pixels.dtype} of shape {pixels.shape}",
            remedy="It looks like NCHW: pass images.transpose(0, 2, 3, 1), or of a tensor images.permute(0, 2, 3, 1).",
        )


def _collected(what: str, images: Any) -> Images:
    """Stack images one after another."""
    found = [np.asarray(image) for image in images]
    if len({(image.shape, image.dtype) for image in found}) != 1:
        kinds = sorted({f"{image.dtype} {image.shape}" for image in found})
        raise InvalidInput(
            what,
            expected="one or more images of one size",
            received=", ".join(kinds[:3]) if kinds else "none",
            remedy="Resize them first." if kinds else "",
        )
    return np.stack(found)


def _column(name: str, values: ArrayLike, count: int) -> tuple[Factor, NDArray[np.int64]]:
    """Make a factor of what is known of each image, and the class ids."""
    array = np.asarray(values)
    if (
        array.shape != (count,)
        or array.dtype.kind not in "biufU"
        or (array.dtype.kind == "f" and np.isnan(array).any())
    ):
        raise InvalidInput(
            f"labels {name!r}",
            expected=f"{count} numbers or texts, one for each image",
            received=f"{array.dtype} of shape {array.shape}",
        )
    classes, ids = np.unique(array, return_inverse=True)
    if array.dtype.kind == "U":
        factor = Factor(name, range(len(classes)), "categorical", labels=classes.tolist())
    else:
        factor = Factor(name, classes.tolist(), "ordinal", labels=[str(value) for value in classes.tolist()])
    return factor, ids.astype(np.int64)
