"""Pictures of the dataset, stored in the folder of its results.

They do not affect scores. The commands that write results make them once, so that pages can be built from the results
tree alone.
"""

from __future__ import annotations

from pathlib import Path

import benchmark_data
from benchmark_data import files
from benchmark_data.errors import Unavailable, UnknownName
from benchmark_data.inspect import contact_sheets


def write_pictures(name: str, folder: Path) -> None:
    """Write pictures of a dataset into the folder of its results, once.

    Nothing is written if its images are not on this machine.

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
                image = draw(dataset)
                with files.written_atomically(folder / picture) as temporary:
                    image.save(temporary, "PNG", optimize=True)
    except (UnknownName, Unavailable):
        return
