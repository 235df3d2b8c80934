"""Notebooks of the tutorials, made from their Markdown: the same words, the same code, cell by cell.

Python blocks become code cells and ``sh`` blocks cells of ``%%sh``, which stop at the first command that fails.
Pictures become cells that show what the reader's own run has drawn. Links to other pages become their words, since a
notebook is read elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(images/[^/)]+/([^)]+)\)")


def text(page: Path) -> str:
    """Return a tutorial as a notebook.

    Args:
        page: the tutorial's Markdown file.

    Returns:
        The text of an ``.ipynb`` file without outputs, format 4.5.
    """
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": source}
        if kind == "markdown"
        else {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for kind, source in parts(page.read_text("utf-8"))
    ]
    notebook: dict[str, Any] = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def parts(markdown: str) -> Iterator[tuple[str, str]]:
    r"""Yield the cells of a tutorial: ``"markdown"`` or ``"code"``, and the text.

    Example:
        >>> list(parts("# A\n\n```sh\nls\n```\n\n![x](images/a/b.png)\n"))
        [('markdown', '# A'), ('code', '%%sh -e\nls'),
         ('code', "from IPython.display import Image, display\n\ndisplay(Image('b.png'))")]
    """
    end = 0
    for block in BLOCK.finditer(markdown):
        yield from _words(markdown[end : block.start()])
        yield "code", ("%%sh -e\n" if block[1] == "sh" else "") + block[2].rstrip()
        end = block.end()
    yield from _words(markdown[end:])


def _words(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield what stands between two blocks of code, with cells that show its pictures in their places."""
    markdown = re.sub(r"<!--.*?-->\n?", "", markdown)
    words: list[str] = []
    for paragraph in re.split(r"\n{2,}", markdown.strip()):
        pictures = PICTURE.findall(paragraph)
        if pictures:
            if words:
                yield "markdown", "\n\n".join(words)
            images = ", ".join(f"Image({name!r})" for name in pictures)
            yield "code", f"from IPython.display import Image, display\n\ndisplay({images})"
            words = []
        elif paragraph:
            words.append(re.sub(r"\[([^\]]+)\]\((?!\w+://)[^)]+\)", r"\1", paragraph))
    if words:
        yield "markdown", "\n\n".join(words)


def with_link(markdown: str, stem: str) -> str:
    """Put the link to the notebook below a tutorial's title."""
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n[Download this page as a notebook]({stem}.ipynb)\n{rest}"
