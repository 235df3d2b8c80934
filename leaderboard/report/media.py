"""What lies beside results for a reader to look at: pictures of the dataset, and pictures of runs.

Nothing here decides a score. The commands that write results have these made once, so that pages can be built from the
results tree alone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

import benchmark_data
from benchmark_data import files
from benchmark_data.archives import picture_files
from benchmark_data.errors import Unavailable, UnknownName
from benchmark_data.inspect import contact_sheets

OF_RUNS = ("traversals", "reconstructions")
"""Pictures in a run folder that are shown: PNG there, WebP beside the results."""

LARGEST = 16 * 2**20
"""Bytes of a picture that is read."""

QUALITY = 70
"""Of WebP, where its lossless form is larger."""

WIDEST = 500
"""Pixels across; wider pictures are made smaller, since a board shows hundreds of them."""


def of_dataset(name: str, folder: Path) -> None:
    """Put pictures of a dataset beside its results, once.

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
    except (UnknownName, Unavailable):
        return


def place(result: Path, tier: str, seed: int, what: str) -> Path:
    """Return where a picture of a run lies: beside its result, under a name that says of which run it is.

    Example:
        >>> place(Path("v1/sprites2d/pca.json"), "desk", 0, "traversals.webp").as_posix()
        'v1/sprites2d/pca.desk.seed_0.traversals.webp'
    """
    return result.with_name(f"{result.stem}.{tier}.seed_{seed}.{what}")


def of_runs(runs: Mapping[int, Path], result: Path, tier: str) -> list[Path]:
    """Put pictures of a method's runs beside its result, as small WebP files.

    Args:
        runs: seed -> run folder, of the method on one task. Pictures are taken from the first that has them.
        result: the method's result file.
        tier: that the runs were scored in.

    Returns:
        The files that were written.

    Raises:
        DamagedFile: a picture is not what it should be.
        InvalidInput: a file cannot be written.
    """
    written = []
    for name in OF_RUNS:
        seed = next((seed for seed, run in runs.items() if (run / f"{name}.png").exists()), None)
        if seed is not None:
            to = place(result, tier, seed, f"{name}.webp")
            content = _webp(runs[seed] / f"{name}.png")
            with files.written_atomically(to) as temporary:
                temporary.write_bytes(content)
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
