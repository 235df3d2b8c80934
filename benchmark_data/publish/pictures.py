"""A dataset as a folder of PNG files and one CSV file, for people who use no framework.

The folder holds ``images/<part>/<row>.png``, ten thousand images to a part, ``metadata.csv`` with a line for each
image, and ``offaxis.json``, which says what the folder is and what its factors are. Hugging Face's ``imagefolder``
reads the same form.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmark_data import parallel
from benchmark_data.archives.user_images import ABOUT
from benchmark_data.dataset import Dataset, Rows, in_blocks
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Indices
from benchmark_data.files import is_unfinished, one_writer, read_json, unwritable, write_json, written_atomically
from benchmark_data.publish import records

TABLE = "metadata.csv"
"""Has a line for each image. It is written last: where it is, the folder is whole."""

CHUNK = 2048
"""Rows that a worker process writes at a time."""

_END = b"IEND\xae\x42\x60\x82"


def write(
    dataset: Dataset,
    rows: range | Indices,
    folder: str | os.PathLike[str],
    *,
    split: str | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> Path:
    """Write rows of a dataset as pictures with a table. What an interrupted call wrote is kept.

    One call writes into a folder at a time, others are refused. Unfinished files that it finds are those of one that
    was killed, and are removed. A picture takes its name when it is whole. The columns of the table are ``file_name``,
    ``index`` (the row of the dataset), and for each factor ``label_<factor>`` (class id) and ``value_<factor>``. What
    class ids mean, the kind, unit, values and names, stands in ``offaxis.json``, where `benchmark_data.from_folder`
    finds it.

    Args:
        dataset: the dataset. It must be prepared.
        rows: which rows, in the order of the table.
        folder: where to write. Made if it is not there.
        split: what the rows are called, for the record.
        progress: is called with how many rows were done since the last call.

    Returns:
        The table.

    Raises:
        InvalidInput: the folder holds something else, cannot be written, another process is writing it, or the disk is
            full.

    Example:
        >>> import tempfile, benchmark_data
        >>> table = write(benchmark_data.load("xysquares"), range(2), tempfile.mkdtemp())
        >>> table.read_text().splitlines()[1][:34]
        'images/00/000000.png,0,0,0.0,0,0.0'
    """
    folder = Path(folder).absolute()  # workers may run in other folders
    about = {
        "dataset": dataset.id,
        "version": dataset.version,
        "split": split,
        "images": len(rows),
        "digest": dataset.digest()._asdict(),
        "license": dataset.license,
        "citation": dataset.citation,
        "factors": [factor.as_json() for factor in dataset.space.factors],
    }
    with one_writer(folder):
        _write(dataset, rows, folder, about, progress)
    return folder / TABLE


def _write(
    dataset: Dataset,
    rows: range | Indices,
    folder: Path,
    about: Mapping[str, object],
    progress: Callable[[int], None],
) -> None:
    """Write the pictures, and then the table, which says that they are there."""
    try:
        _begin(folder, about)
    except OSError as error:
        raise unwritable(folder, error) from error
    parts = list(in_blocks(rows, CHUNK))
    tasks = [(parallel.handle(dataset), part, folder) for part in parts]
    for part, _ in zip(parts, parallel.in_parallel(_write_part, tasks, None), strict=True):
        progress(len(part))
    with written_atomically(folder / TABLE) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        factors = [(kind, name) for name in dataset.space.names for kind in ("label", "value")]
        table.writerow(["file_name", "index", *(f"{kind}_{name}" for kind, name in factors)])
        for part in parts:
            labels = dataset.labels(part)
            values = dataset.space.values(labels)
            for row, label, value in zip(map(int, part), labels.tolist(), values.tolist(), strict=True):
                both = (number for pair in zip(label, value, strict=True) for number in pair)
                table.writerow([_place(dataset, row), row, *both])


def _begin(folder: Path, about: Mapping[str, object]) -> None:
    """Say what a folder will hold, or check that it holds the same."""
    if all(map(is_unfinished, folder.iterdir())):
        write_json(folder / ABOUT, about)
        return
    found = read_json(folder / ABOUT) if (folder / ABOUT).is_file() else {}
    if found != about:
        ours = isinstance(found, dict) and found.keys() == about.keys()  # `hf.publish` has a record of this name
        received = f"{found['dataset']} {found['version']}, split {found['split']}" if ours else "other files"
        raise InvalidInput(
            f"{folder}: expected an empty folder, or one with images of the same dataset and split, received "
            f"{received}. Choose another folder."
        )
    for unfinished in (*folder.glob(".*.part"), *folder.glob("images/*/.*.part")):  # of a call that was killed
        unfinished.unlink(missing_ok=True)


def _place(dataset: Dataset, row: int) -> str:
    """Return where a row's picture lies in the folder; names are equally long, so that they sort by row."""
    digits = len(str(len(dataset) - 1))
    return f"images/{row // 10_000:0{max(1, digits - 4)}d}/{row:0{digits}d}.png"


def _write_part(handle: parallel.Handle, rows: Rows, folder: Path) -> None:
    """Write the pictures of some rows that are not there yet."""
    dataset = parallel.opened(handle)
    missing = [row for row in map(int, rows) if not _is_whole(folder / _place(dataset, row))]
    if not missing:
        return
    try:
        for part in {(folder / _place(dataset, row)).parent for row in missing}:
            part.mkdir(parents=True, exist_ok=True)
        for batch in records.batches(dataset, dataset.rows(missing)):
            for row, png in zip(batch.rows.tolist(), batch.pngs, strict=True):
                path = folder / _place(dataset, row)
                temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
                try:
                    temporary.write_bytes(png)
                    os.replace(temporary, path)
                finally:
                    temporary.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def _is_whole(path: Path) -> bool:
    """Whether a picture is there to its end, also after the machine lost power."""
    try:
        with path.open("rb") as file:
            file.seek(-len(_END), os.SEEK_END)
            return file.read() == _END
    except OSError:
        return False
