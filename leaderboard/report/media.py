"""What lies beside results for a reader to look at: pictures of the dataset.

Nothing here decides a score. The commands that write results have these made once, so that pages can be built from the
results tree alone.
"""

from __future__ import annotations

from pathlib import Path

import benchmark_data
from benchmark_data import files
from benchmark_data.errors import Unavailable, UnknownName
from benchmark_data.inspect import contact_sheets


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
