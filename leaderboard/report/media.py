"""What lies beside results for a reader to look at: pictures of the dataset, pictures of runs, similarities of layers.

Nothing here decides a score. The commands that write results have these made once, so that pages can be built from the
results tree alone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

import benchmark_data
from benchmark_data import files
from benchmark_data.archives import picture_files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import Unavailable, UnknownName
from benchmark_data.factors import FactorSpace
from benchmark_data.inspect import contact_sheets, distances
from leaderboard.comparisons import heatmap
from leaderboard.reading import representations

TRAVERSALS = 100
"""Traversals of each factor that distances are averaged over."""

DISTANCES = ("factor", "steps", "distance")
"""The columns of ``distances.csv``."""

OF_RUNS = ("traversals", "reconstructions")
"""Pictures in a run folder that are shown: PNG there, WebP beside the results."""

CKA = "cka"
"""Similarities of the layers of two runs, as CSV."""

LARGEST = 16 * 2**20
"""Bytes of a picture that is read."""

QUALITY = 70
"""Of WebP, where its lossless form is larger."""

WIDEST = 500
"""Pixels across; wider pictures are made smaller, since a board shows hundreds of them."""


def of_dataset(name: str, folder: Path) -> None:
    """Put pictures of a dataset and its perceived distances beside its results, once.

    Nothing is done where its images are not on this machine.

    Args:
        name: full name of the dataset.
        folder: the folder of its results.

    Raises:
        InvalidInput: the folder cannot be written.
    """
    try:
        dataset = benchmark_data.load(name)
        for picture, draw in (("sheet.png", contact_sheets.contact_sheet), ("factors.png", contact_sheets.traversals)):
            if not (folder / picture).exists():
                drawn = draw(dataset)
                with files.written_atomically(folder / picture) as temporary:
                    drawn.save(temporary, "PNG", optimize=True)
        if not (folder / "distances.csv").exists():
            files.write_text(folder / "distances.csv", distance_table(dataset))
    except (UnknownName, Unavailable):
        return


def distance_table(data: Dataset, *, traversals: int = TRAVERSALS) -> str:
    """Measure how the perceived distance grows along each factor, as CSV.

    Michlo, Klein and James 2023 (arXiv 2202.13341), equations 5, 7 and 10: the mean squared error of images that lie
    so many steps apart on a traversal of one factor, averaged over random traversals.

    Args:
        data: a dataset.
        traversals: how many of each factor.

    Returns:
        A line for each factor and number of steps; only the header where the factors span no full grid.

    Raises:
        Unavailable: the images are not on this machine.
    """
    rows = []
    for factor in data.space.factors if isinstance(data.space, FactorSpace) else ():
        if factor.size > 1:
            perceived = distances.matrices(data, factor.name, traversals=traversals).perceived
            for steps in range(1, factor.size):
                rows.append((factor.name, steps, f"{np.diagonal(perceived, steps).mean():.6g}"))
    return files.comma_separated(DISTANCES, rows)


def place(result: Path, tier: str, seeds: Sequence[int], what: str) -> Path:
    """Return where a picture of runs lies: beside their result, under a name that says of which runs it is.

    Example:
        >>> place(Path("v1/sprites2d/pca.json"), "desk", [0, 1], "cka.csv").as_posix()
        'v1/sprites2d/pca.desk.seed_0_1.cka.csv'
    """
    return result.with_name(f"{result.stem}.{tier}.seed_{'_'.join(map(str, seeds))}.{what}")


def of_runs(runs: Mapping[int, Path], result: Path, tier: str) -> list[Path]:
    """Put pictures of a method's runs beside its result, as small WebP files.

    Args:
        runs: seed -> run folder, of the method on one task. Pictures are taken from the first that has them; where two
            or more hold ``activations.npz``, the linear CKA of the layers of the first two is computed.
        result: the method's result file.
        tier: that the runs were scored in.

    Returns:
        The files that were written.

    Raises:
        DamagedFile: a picture or a file of activations is not what it should be.
        InvalidInput: a file cannot be written.
    """
    written = []
    for name in OF_RUNS:
        seed = next((seed for seed, run in runs.items() if (run / f"{name}.png").exists()), None)
        if seed is not None:
            to = place(result, tier, [seed], f"{name}.webp")
            content = _webp(runs[seed] / f"{name}.png")
            with files.written_atomically(to) as temporary:
                temporary.write_bytes(content)
            written.append(to)
    two = [seed for seed, run in runs.items() if (run / "activations.npz").exists()][:2]
    if len(two) == 2:
        table = heatmap.compare_layers(*(representations.activations(runs[seed] / "activations.npz") for seed in two))
        to = place(result, tier, two, f"{CKA}.csv")
        with files.written_atomically(to) as temporary:
            table.round(4).to_csv(temporary)
        written.append(to)
    return written


def _webp(file: Path) -> bytes:
    """Read a PNG that a stranger may have made, and give it as WebP."""
    files.bounded(file, LARGEST, what="a PNG picture")
    with picture_files.opened(file) as image:
        pixels = image.convert("RGB")
        pixels.thumbnail((WIDEST, 100 * WIDEST), Image.Resampling.LANCZOS)
    forms = []
    for options in ({"lossless": True}, {"quality": QUALITY}):
        stream = io.BytesIO()
        pixels.save(stream, "WEBP", method=6, **options)
        forms.append(stream.getvalue())
    return min(forms, key=len)
