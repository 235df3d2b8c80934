"""Tables of the board as Markdown."""

from __future__ import annotations

import re

from leaderboard.report import formats, ranking


def escaped(text: str) -> str:
    r"""Escape untrusted text for Markdown: the result is one line of plain text without mentions.

    Args:
        text: any text.

    Returns:
        The text as Markdown source.

    Example:
        >>> print(escaped("a|b <i> @you dsprites@v1"))
        a\|b &lt;i&gt; &#64;you dsprites@v1
    """
    safe = re.sub(r"([\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])|^[#+-])", r"\\\1", " ".join(text.split()))
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"(?<!\w)@", "&#64;", safe)


def table(board: ranking.Table) -> str:
    """Render a table as Markdown.

    Args:
        board: the table.

    Returns:
        A heading, the caption and the table.
    """
    header = ["Rank", "Method", *(column.title for column in board.columns), "Seeds"]
    lines = [f"## {escaped(board.task)}, tier {escaped(board.tier)}", "", escaped(board.caption), ""]
    for note in board.notes:
        lines += [escaped(note), ""]
    lines += ["| " + " | ".join(header) + " |", "| ---: | :--- |" + " ---: |" * (len(board.columns) + 1)]
    for category, rows in board.groups.items():
        lines.append(f"| | *{ranking.CATEGORIES[category]}* |" + " |" * (len(board.columns) + 1))
        for row in rows:
            scores = (formats.cell(row, column.key) for column in board.columns)
            cells = (formats.format_rank(row), escaped(row.result.title), *scores)
            lines.append("| " + " | ".join((*cells, str(row.seeds))) + " |")
    return "\n".join([*lines, ""])
