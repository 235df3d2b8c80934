"""Markdown that all made pages share: tables, tabs, quoted code."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Write a table.

    Args:
        header: the columns' names.
        rows: the cells of each row; a ``|`` within one is escaped.

    Returns:
        Markdown, without the last line feed.

    Example:
        >>> print(table(["a", "b"], [[1, "x|y"]]))
        | a | b |
        | --- | --- |
        | 1 | x\|y |
    """
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in cells)


def code(text: str, language: str = "python") -> str:
    """Write a block of code.

    Example:
        >>> print(code("x = 1"))
        ```python
        x = 1
        ```
    """
    return f"```{language}\n{text.strip()}\n```"


def tabs(panels: Iterable[tuple[str, str]]) -> str:
    """Write panels of which one is shown at a time.

    Args:
        panels: title and Markdown of each.

    Returns:
        Markdown of pymdownx.tabbed.

    Example:
        >>> print(tabs([("numpy", "text")]))
        === "numpy"
        <BLANKLINE>
            text
    """
    return "\n\n".join(f'=== "{title}"\n\n{textwrap.indent(text, " " * 4)}' for title, text in panels)
