"""MPI3D: a robot arm holds an object, in simple and realistic renderings and in photographs.

Gondal et al., "On the Transfer of Inductive Bias from Simulation to the Real World: a New Disentanglement Dataset",
NeurIPS 2019 (arXiv 1906.03292). disentanglement_lib assumes 4 colours and 4 shapes for the rendered sets, as in a
competition; the published files hold 6 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark_data.archives.archive import Archive, Distribution
from benchmark_data.archives.checks import PublishedStatistics
from benchmark_data.archives.containers import npz_slabs
from benchmark_data.archives.downloads import Download
from benchmark_data.archives.store import Writer
from benchmark_data.dataset import Dataset, Family
from benchmark_data.factors import Factor
from benchmark_data.inspect.published import PUBLISHED_MEANS


def read(archive: Archive, files: Mapping[str, Path], writer: Writer) -> None:
    """Read the only array of the npz file, of 12.7 GB, in slabs: its rows are in the order of the grid."""
    (path,) = files.values()
    images = npz_slabs(path, "images").check(path, "images", (archive.rows, *archive.image_shape), "u")
    for start, slab in images.slabs:
        writer.images(start + np.arange(len(slab)), slab)


def _named_factor(name: str, *labels: str, kind: str = "categorical") -> Factor:
    return Factor(name, range(len(labels)), "ordinal" if kind == "ordinal" else "categorical", labels=labels)


COMMON_FACTORS = (
    _named_factor("object_size", "small", "large", kind="ordinal"),
    _named_factor("camera_height", "top", "center", "bottom", kind="ordinal"),
    _named_factor("background_color", "purple", "sea green", "salmon"),
    Factor("horizontal_axis", range(40), "ordinal", unit="step"),
    Factor("vertical_axis", range(40), "ordinal", unit="step"),
)
FACTORS_SIX_COLOURS = (
    _named_factor("object_color", "white", "green", "red", "blue", "brown", "olive"),
    _named_factor("object_shape", "cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"),
    *COMMON_FACTORS,
)
FACTORS_FOUR_COLOURS = (
    _named_factor("object_color", "yellow", "green", "olive", "red"),
    _named_factor("object_shape", "coffee-cup", "tennis-ball", "croissant", "beer-cup"),
    *COMMON_FACTORS,
)


def _download(config: str, md5: str) -> Download:
    return Download(
        name=f"mpi3d_{config}.npz",
        urls=(
            f"https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/mpi3d_{config}.npz",
            f"https://storage.googleapis.com/mpi3d_disentanglement_dataset/data/mpi3d_{config}.npz",
        ),
        md5=md5,
        # The MD5 is that of the first upload; whether later ones have the same bytes is not known.
        binding=False,
        note=(
            "The first bucket (disentanglement_dataset/Final_Dataset) was closed in 2023. The authors moved to a "
            "second in 2024 and to Hugging Face in April 2025."
        ),
    )


COMPLEX_DOWNLOAD = Download(
    name="mpi3d_real_complex.npz",
    urls=(
        "https://drive.usercontent.google.com/download?id=1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm&export=download&confirm=t",
        "https://drive.google.com/uc?export=download&id=1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm",
    ),
    aliases=("real3d_complicated_shapes_ordered.npz",),
    note="Google Drive alone, which answers with a page when its quota is used up. No hash is published.",
)


def _dataset(config: str, factors: tuple[Factor, ...], download: Download, note: str, *defects: str) -> Dataset:
    archive = Archive(
        id=f"mpi3d/{config}",
        version="1.0.0",
        image_shape=(64, 64, 3),
        factors=factors,
        rows=math.prod(factor.size for factor in factors),
        distributions=(Distribution((download,), read),),
        statistics=PublishedStatistics(means=PUBLISHED_MEANS.get(f"mpi3d/{config}", ())),
    )
    return archive.dataset(
        parameters={"kind": config},
        description=f"A robot arm holds an object in 40 x 40 positions, under three cameras and backgrounds. {note}",
        citation="""@inproceedings{gondal2019transfer,
  title = {On the Transfer of Inductive Bias from Simulation to the Real World: a New Disentanglement Dataset},
  author = {Gondal, Muhammad Waleed and W{\\"u}thrich, Manuel and Miladinovi{\\'c}, {\\DJ}or{\\dj}e and
    Locatello, Francesco and Breidt, Martin and Volchkov, Valentin and Akpo, Joel and Bachem, Olivier and
    Sch{\\"o}lkopf, Bernhard and Bauer, Stefan},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {32},
  year = {2019},
  eprint = {1906.03292},
  archivePrefix = {arXiv}
}""",
        license="CC-BY-4.0",
        homepage="https://github.com/rr-learning/disentanglement_dataset",
        defects=defects,
    )


COMPETITION = (
    "disentanglement_lib takes this file for 4 colours and 4 shapes, as once in a competition: its labels do not fit."
)

DATASET = Family(
    _dataset(
        "toy",
        FACTORS_SIX_COLOURS,
        _download("toy", "55889cb7c7dfc655d6e0277beee88868"),
        "Drawn plainly.",
        COMPETITION,
    ),
    _dataset(
        "realistic",
        FACTORS_SIX_COLOURS,
        _download("realistic", "59a6225b88b635365f70c91b3e52f70f"),
        "Drawn realistically.",
        COMPETITION,
    ),
    _dataset(
        "real",
        FACTORS_SIX_COLOURS,
        _download("real", "0f33f609918fb5c97996692f91129802"),
        "Photographs.",
        "The copy on the second bucket was corrupted from 2024 to April 2025. Channel means are checked.",
    ),
    _dataset(
        "complex",
        FACTORS_FOUR_COLOURS,
        COMPLEX_DOWNLOAD,
        "Photographs of four everyday objects in four colours.",
        "No hash and no pixel statistics are published: nothing but shape and order can be checked.",
    ),
    default="toy",
)
