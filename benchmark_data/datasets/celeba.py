"""CelebA, aligned: 202,599 photographs of faces with 40 attributes.

Liu, Luo, Wang and Tang, "Deep Learning Face Attributes in the Wild", ICCV 2015. Photographs are kept as JPEG files, in
the order of their numbers, which is also the order of the official splits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_data.archives.archive import Archive, Cached, Distribution, Precomputed
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import damage, damaged_file_on_error, zip_members
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer
from benchmark_data.dataset import Dataset, Family
from benchmark_data.factors import Factor, Indices
from benchmark_data.types import Pixels

ATTRIBUTES = (  # noqa: SIM905  (as a list it would take forty lines)
    "5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair "
    "Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male "
    "Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks "
    "Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace "
    "Wearing_Necktie Young"
).split()

NOTE = "Google Drive, which answers with a page when its quota is used up. Fetch it in a browser then."


def _drive_download(name: str, file_id: str, size: int, sha256: str, *mirrors: str, note: str = NOTE) -> Download:
    return Download(
        name=name,
        urls=(
            *mirrors,
            f"https://drive.usercontent.google.com/download?id={file_id}&export=download&confirm=t",
            f"https://drive.google.com/uc?export=download&id={file_id}",
        ),
        size=size,
        sha256=sha256,
        aliases=tuple(url.rpartition("/")[2] for url in mirrors),
        note=note,
    )


ZIP = _drive_download(
    "img_align_celeba.zip",
    "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
    1_443_490_838,
    "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
    "https://s3-us-west-1.amazonaws.com/udacity-dlnfd/datasets/celeba.zip",
    note=f"A copy with the same hash on a bucket of Udacity's; then {NOTE}",
)
ATTRIBUTE_FILE = _drive_download(
    "list_attr_celeba.txt",
    "0B7EVK8r0v71pblRyaVFSWGxPY0U",
    26_721_026,
    "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
)
PARTITION_FILE = _drive_download(
    "list_eval_partition.txt",
    "0B7EVK8r0v71pY0NSMzRuSXJEVkk",
    2_836_386,
    "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
)


def read(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the two tables and copy the photographs."""
    rows = np.arange(archive.rows)
    names = [factor.name for factor in archive.factors]
    signs = _read_table(files[ATTRIBUTE_FILE.name], archive.rows, len(names), header=names)
    if not np.isin(signs, (-1, 1)).all():
        raise damage(files[ATTRIBUTE_FILE.name], "attributes of -1 and 1", "others")
    writer.labels(rows, (signs + 1) // 2)
    expected = np.concatenate([np.full(len(split), i) for i, split in enumerate(archive.splits.values())])
    if not np.array_equal(_read_table(files[PARTITION_FILE.name], archive.rows, 1)[:, 0], expected):
        raise damage(
            files[PARTITION_FILE.name],
            ", then ".join(f"{len(split)} for {name}" for name, split in archive.splits.items()),
            "another partition",
        )
    path = files[ZIP.name]
    pattern = re.compile(r"(?:.*/)?(\d{6})\.jpg")
    for name, content in zip_members(path, lambda name: pattern.fullmatch(name) is not None):
        writer.file(int(name[-10:-4]) - 1, content)


def _read_table(path: Path, rows: int, columns: int, header: list[str] | None = None) -> NDArray[np.int32]:
    """Read a table: if it has a header, a line with the count and one with the names; then file names and numbers."""
    table = np.empty((rows, columns), np.int32)
    with damaged_file_on_error(path), path.open(encoding="ascii") as lines:
        if header is not None:
            count, names = next(lines, "").strip(), next(lines, "").split()
            if count != str(rows) or names != header:
                raise damage(path, f"{rows} rows of {' '.join(header)}", f"{count} rows of {' '.join(names)}")
        row = -1
        for row, (name, *numbers) in enumerate(line.split() for line in lines if line.strip()):
            if row >= rows or name != f"{row + 1:06}.jpg" or len(numbers) != columns:
                raise damage(
                    path, f"{row + 1:06}.jpg of {rows} and {columns} numbers", f"{name} and {len(numbers)} numbers"
                )
            table[row] = numbers
        if row + 1 != rows:
            raise damage(path, f"{rows} rows", f"{row + 1} rows")
    return table


def reduce_and_pad(images: Pixels, indices: Indices, labels: Indices) -> Pixels:
    """Reduce photographs to 64 rows and pad them with black columns, as Bonheme and Grześ do.

    Pillow's thumbnail to (64, 64) keeps the aspect ratio: 52 columns, with its bicubic filter. Its pad then adds 6
    columns on either side.

    Args:
        images: uint8, shape (n, 218, 178, 3).
        indices: ignored.
        labels: ignored.

    Returns:
        uint8, shape (n, 64, 64, 3).

    Example:
        >>> white = np.full((1, 218, 178, 3), 255, np.uint8)
        >>> np.flatnonzero(reduce_and_pad(white, None, None)[0, 0, :, 0])[[0, -1]].tolist()
        [6, 57]
    """
    import PIL.Image
    import PIL.ImageOps

    padded_images = np.empty((len(images), 64, 64, 3), np.uint8)
    for position, image in enumerate(images):
        small = PIL.Image.fromarray(image)
        small.thumbnail((64, 64), PIL.Image.Resampling.BICUBIC, reducing_gap=None)
        padded_images[position] = np.asarray(PIL.ImageOps.pad(small, (64, 64)))
    return padded_images


ARCHIVE = Archive(
    id="celeba/native",
    version="1.0.0",
    image_shape=(218, 178, 3),
    encoding="files",
    factors=tuple(Factor(name, (0, 1), "binary", labels=("no", "yes")) for name in ATTRIBUTES),
    rows=202_599,
    grid=False,
    splits={
        "train": range(162_770),
        "validation": range(162_770, 182_637),
        "test": range(182_637, 202_599),
    },
    distributions=(Distribution((ZIP, ATTRIBUTE_FILE, PARTITION_FILE), read),),
    # Means of a sample: only every fortieth photograph is decoded.
    statistics=PublishedStatistics(
        means=(0.506, 0.426, 0.383), tolerance=0.03, rows=range(0, 202_599, 40), source="the means in common use"
    ),
)


def _dataset(source: Cached, method: str, description: str) -> Dataset:
    return source.dataset(
        parameters={"image_size": source.image_shape[0], "filter": method},
        description=(
            "Photographs of 10,177 famous people, aligned by their eyes, with 40 attributes that are on or off. "
            f"{description}"
        ),
        citation="""@inproceedings{liu2015faceattributes,
  title = {Deep Learning Face Attributes in the Wild},
  author = {Liu, Ziwei and Luo, Ping and Wang, Xiaogang and Tang, Xiaoou},
  booktitle = {Proceedings of the IEEE International Conference on Computer Vision},
  pages = {3730--3738},
  year = {2015}
}""",
        license="CelebA agreement: non-commercial research only, no redistribution",
        redistributable=False,
        homepage="http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        defects=(
            "Attributes were labelled by people and are partly matters of taste; the authors give no error rate.",
            "JPEG decoders may differ by one in a pixel, so that digests can differ between machines.",
        ),
    )


NATIVE = _dataset(ARCHIVE, "none", "218 rows and 178 columns, as published.")

DATASET = Family(
    NATIVE,
    _dataset(
        Precomputed(
            id="celeba/64_bicubic_padded",
            version=ARCHIVE.version,
            image_shape=(64, 64, 3),
            splits=ARCHIVE.splits,
            base=NATIVE,
            change=reduce_and_pad,
        ),
        "bicubic_padded",
        "Reduced to 64 rows by Pillow's bicubic filter, with 6 black columns on either side.",
    ),
    default="native",
)
