"""SmallNORB: grey photographs of toys by two cameras, from 9 elevations and 18 azimuths under 6 lightings.

LeCun, Huang and Bottou, "Learning methods for generic object recognition with invariance to pose and lighting", CVPR
2004. The five categories have ten toys each, five for training and five for testing. Rows are sorted by split and then
by the factors, the last fastest; the files are shuffled. Pixels are unsigned, as in the format's specification; readers
that take them as signed wrap bright pixels to dark ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from benchmark_data import expected_effects
from benchmark_data.archives.archive import FILTERS, Archive, Cached, Distribution, reduced_archive
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import ArrayStream, Slabs, damage, damaged_file_on_error, make_slabs
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer
from benchmark_data.dataset import Dataset, Family
from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.factors import Factor, FactorSpace
from benchmark_data.inspect.published import PUBLISHED, PUBLISHED_MEANS
from benchmark_data.sources import Selected

STEMS = {
    "train": "smallnorb-5x46789x9x18x6x2x96x96-training",
    "test": "smallnorb-5x01235x9x18x6x2x96x96-testing",
}
INSTANCES = {"train": (4, 6, 7, 8, 9), "test": (0, 1, 2, 3, 5)}
"""The toys of each split, the same instances in each category."""

DTYPES = {0x1E3D4C51: "<f4", 0x1E3D4C53: "<f8", 0x1E3D4C54: "<i4", 0x1E3D4C55: "u1", 0x1E3D4C56: "<i2"}
"""Magic number -> dtype of the "binary matrix" format."""

_PUBLISHED_FILES = {
    ("train", "dat"): (131_896_188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    ("train", "cat"): (348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    ("train", "info"): (71_052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    ("test", "dat"): (130_799_817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    ("test", "cat"): (347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    ("test", "info"): (10_428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
}
GZ = tuple(
    Download(
        name=f"{STEMS[split]}-{kind}.mat.gz",
        urls=(f"https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/{STEMS[split]}-{kind}.mat.gz",),
        size=size,
        sha256=sha256,
        note="The authors' page at NYU.",
    )
    for (split, kind), (size, sha256) in _PUBLISHED_FILES.items()
)
ZIP = tuple(
    Download(
        name=f"smallnorb-{split}.zip",
        urls=(f"https://huggingface.co/datasets/randall-lab/small-norb/resolve/main/smallnorb-{split}.zip",),
        note="A re-packed copy by others, without a published hash; known by its arrays alone.",
    )
    for split in STEMS
)


Opener: TypeAlias = Callable[[], AbstractContextManager[IO[bytes]]]


def read_gz(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the six gzip files of the source."""

    def find_matrix(split: str, kind: str) -> tuple[Path, Opener]:
        path = files[f"{STEMS[split]}-{kind}.mat.gz"]
        return path, lambda: cast("AbstractContextManager[IO[bytes]]", gzip.open(path))

    _read(archive, find_matrix, writer)


def read_zip(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the two zip files of the copy, which hold the same files unpacked, perhaps in a folder."""

    def find_matrix(split: str, kind: str) -> tuple[Path, Opener]:
        path, name = files[f"smallnorb-{split}.zip"], f"{STEMS[split]}-{kind}.mat"
        with damaged_file_on_error(path), zipfile.ZipFile(path) as zip_file:
            members = [info for info in zip_file.infolist() if info.filename.rpartition("/")[2] == name]
        if len(members) != 1:
            raise damage(path, f"one file {name} in it", f"{len(members)}")

        @contextlib.contextmanager
        def open_member() -> Iterator[IO[bytes]]:
            with zipfile.ZipFile(path) as zip_file, zip_file.open(members[0]) as stream:
                yield stream

        return path, open_member

    _read(archive, find_matrix, writer)


def matrix(path: Path, opened: Opener) -> Slabs:
    """Read a binary matrix: magic number, number of axes, at least three lengths, then numbers, all little-endian.

    Args:
        path: the file, for messages.
        opened: opens it, decompressed.

    Returns:
        The array in slabs along its first axis.

    Raises:
        DamagedFile: an unknown magic number, or another length than in the header.
    """

    @contextlib.contextmanager
    def open_behind_header() -> Iterator[ArrayStream]:
        with opened() as stream:
            magic, axes = np.frombuffer(stream.read(8), "<i4").tolist()
            if magic not in DTYPES or not 1 <= axes <= 8:
                raise damage(path, "a binary matrix", f"magic number {magic:#x} and {axes} axes")
            lengths = np.frombuffer(stream.read(4 * max(3, axes)), "<i4")[:axes]
            yield stream, tuple(lengths.tolist()), np.dtype(DTYPES[magic])

    return make_slabs(path, "a matrix", open_behind_header)


def _read(archive: Archive, find_matrix: Callable[[str, str], tuple[Path, Opener]], writer: Writer) -> None:
    height, width, _ = archive.image_shape
    for split, rows in archive.splits.items():
        pair_count = len(rows) // 2
        path, open_categories = find_matrix(split, "cat")
        categories = matrix(path, open_categories).check(path, "categories", (pair_count,), "i")
        path, open_info = find_matrix(split, "info")
        info = matrix(path, open_info).check(path, "info", (pair_count, 4), "i")
        table = np.hstack(
            [
                np.concatenate([slab for _, slab in categories.slabs])[:, None],
                np.concatenate([slab for _, slab in info.slabs]),
            ]
        )
        if (table[:, 3] % 2).any():
            raise damage(path, "even azimuths", "odd ones")
        table[:, 3] //= 2
        _check_views(archive, path, split, table)
        left_rows = np.empty(pair_count, np.int64)
        left_rows[np.lexsort(table.T[::-1])] = rows.start + 2 * np.arange(pair_count)
        for camera in (0, 1):
            writer.labels(left_rows + camera, np.hstack([table, np.full((pair_count, 1), camera)]))
        path, open_pixels = find_matrix(split, "dat")
        images = matrix(path, open_pixels).check(path, "images", (pair_count, 2, height, width), "u")
        for start, slab in images.slabs:
            slab_left_rows = left_rows[start : start + len(slab)]
            stereo_rows = np.stack([slab_left_rows, slab_left_rows + 1], axis=1).ravel()
            writer.images(stereo_rows, slab.reshape(-1, height, width, 1))


def _check_views(archive: Archive, path: Path, split: str, table: NDArray[np.integer]) -> None:
    """Check that a split holds each view of its toys once."""
    try:
        count = len(np.unique(FactorSpace(*archive.factors[:-1]).index(table)))
    except InvalidInput as error:
        raise DamagedFile(f"{path}: {error}") from error
    toys = tuple(np.unique(table[:, 1]).tolist())
    if count != len(table) or toys != INSTANCES[split]:
        raise damage(
            path, f"{len(table)} different views of toys {INSTANCES[split]}", f"{count} different views of toys {toys}"
        )


ARCHIVE = Archive(
    id="smallnorb/stereo",
    version="1.0.0",
    image_shape=(96, 96, 1),
    factors=(
        Factor("category", range(5), "categorical", labels=("animal", "human", "plane", "truck", "car")),
        Factor("instance", range(10), "categorical"),
        Factor("elevation", range(30, 75, 5), "ordinal", unit="deg"),
        Factor("azimuth", range(0, 360, 20), "cyclic", unit="deg"),
        Factor("lighting", range(6), "categorical"),
        Factor("camera", (0, 1), "binary", labels=("left", "right")),
    ),
    rows=97_200,
    grid=False,
    splits={"train": range(48_600), "test": range(48_600, 97_200)},
    distributions=(Distribution(GZ, read_gz), Distribution(ZIP, read_zip)),
    # Published for the left camera of the training split.
    statistics=PublishedStatistics(
        means=PUBLISHED_MEANS["smallnorb/left_64_bilinear"], tolerance=5e-3, rows=range(0, 48_600, 2)
    ),
)


def _dataset(
    config: str, source: Cached | Selected, size: int, method: str, splits: Mapping[str, range], description: str
) -> Dataset:
    note = f" {FILTERS[method]}" if method in FILTERS else ""
    return Dataset(
        name="smallnorb",
        config=config,
        parameters={"view": config.partition("_")[0], "image_size": size, "filter": method},
        version=ARCHIVE.version,
        space=source.space,
        source=source,
        image_shape=(size, size, 1),
        splits=splits,
        description=f"Grey photographs of 50 toys of 5 categories on a turntable. {description}{note}",
        citation="""@inproceedings{lecun2004learning,
  title = {Learning methods for generic object recognition with invariance to pose and lighting},
  author = {LeCun, Yann and Huang, Fu Jie and Bottou, L{\\'e}on},
  booktitle = {Proceedings of the 2004 IEEE Computer Society Conference on Computer Vision and Pattern Recognition},
  volume = {2},
  pages = {II-97--II-104},
  year = {2004}
}""",
        license="research purposes only, not to be sold",
        redistributable=False,
        homepage="https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
        effects=expected_effects.as_published(source.space.names),
        defects=(
            "The zero of the azimuth is not the same pose for all toys.",
            "disentanglement_lib's set (here: merged) hides the toy's instance and joins both splits; disent's is one "
            "split of the left camera with instances renumbered from 0 to 4. Scores on them cannot be compared.",
            "Readers that take the bytes as signed, as disentanglement_lib's does, wrap bright pixels into dark ones.",
            "The code of Bonheme and Grześ takes the shuffled files for sorted ones: its labels are wrong.",
        ),
    )


STEREO = _dataset(
    "stereo", ARCHIVE, 96, "none", ARCHIVE.splits, "Everything: both cameras, the camera as the last factor."
)
LEFT_SPLITS = {"train": range(24_300), "test": range(24_300, 48_600)}
FACTORS = ("category", "instance", "elevation", "azimuth", "lighting")
MERGED_FACTORS = ("category", "elevation", "azimuth", "lighting")
LEFT = _dataset(
    "left", Selected(STEREO, range(0, 97_200, 2), FACTORS), 96, "none", LEFT_SPLITS, "The left camera alone."
)


def _left_dataset(method: str, statistics: PublishedStatistics) -> Dataset:
    source = reduced_archive(LEFT, f"smallnorb/left_64_{method}", method, statistics)
    return _dataset(f"left_64_{method}", source, 64, method, LEFT_SPLITS, "The left camera alone.")


def _merged_dataset(left: Dataset, config: str, method: str) -> Dataset:
    return _dataset(
        config,
        Selected(left, range(48_600), MERGED_FACTORS),
        left.image_shape[0],
        method,
        {"train": range(48_600)},
        "The left camera, both splits in one, the ten toys of a category taken for one: disentanglement_lib's view.",
    )


LANCZOS = _left_dataset("lanczos", dataclasses.replace(ARCHIVE.statistics, rows=LEFT_SPLITS["train"]))
BILINEAR = _left_dataset(
    "bilinear",
    PublishedStatistics(
        means=ARCHIVE.statistics.means,
        tolerance=1e-3,
        rows=LEFT_SPLITS["train"],
        grid=FactorSpace(*(Factor(f.name, range(5 if f.name == "instance" else f.size)) for f in ARCHIVE.factors[:-1])),
        distances=PUBLISHED["smallnorb/left_64_bilinear"],
    ),
)

DATASET = Family(
    STEREO,
    LEFT,
    _merged_dataset(LEFT, "merged", "none"),
    LANCZOS,
    BILINEAR,
    _merged_dataset(LANCZOS, "merged_64_lanczos", "lanczos"),
    default="stereo",
)
