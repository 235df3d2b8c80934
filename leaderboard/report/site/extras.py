"""What others read of a board: a description for search engines, badges, a picture for links, a card for the Hub."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from PIL import Image

from leaderboard import protocol

NAME = "Offaxis leaderboard"
DESCRIPTION = (
    "How well methods find the factors that images were made from, scored from codes, with intervals and budgets."
)
BIBTEX = """@misc{offaxis,
  title = {Offaxis: a disentanglement benchmark whose datasets do not hand the answer to a VAE},
  author = {{The Offaxis developers}},
  year = {2026},
  note = {Version 0.1.0}
}"""
"""How to cite the benchmark; a test holds it to ``CITATION.cff``."""

SPACE = """---
title: Offaxis leaderboard
emoji: 🧭
colorFrom: blue
colorTo: gray
sdk: static
app_file: index.html
pinned: false
license: mit
short_description: Disentanglement, scored from codes
---

# Offaxis leaderboard

The pages of the board as `offaxis board build --space` writes them. They need no server and fetch nothing.
"""
"""The card of a static Space (https://huggingface.co/docs/hub/spaces-config-reference)."""

WIDE, HIGH = 1200, 630
"""Pixels of a picture for links, as the Open Graph protocol's readers expect it."""


def structured(address: str, tables: Sequence[str], dates: Sequence[str]) -> str:
    """Describe the board as JSON-LD: a Dataset of schema.org, as search engines read it.

    Args:
        address: of the board, ending in a slash; empty if it has none.
        tables: the files that hold all scores, within the board.
        dates: of the evaluations.

    Returns:
        JSON that can stand within a script element, whatever it holds.
    """
    formats = {"csv": "text/csv", "json": "application/json"}
    content: dict[str, object] = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": NAME,
        "description": DESCRIPTION,
        "version": protocol.VERSION,
        "license": "https://spdx.org/licenses/MIT.html",
        "creator": {"@type": "Organization", "name": "The Offaxis developers"},
        "isAccessibleForFree": True,
        "keywords": ["disentanglement", "representation learning", "variational autoencoder", "benchmark"],
        "distribution": [
            {
                "@type": "DataDownload",
                "encodingFormat": formats[name.rpartition(".")[2]],
                "contentUrl": f"{address}{name}",
            }
            for name in tables
        ],
    }
    if dates:
        content["dateModified"] = max(dates)
    if address:
        content["url"] = address
    return json.dumps(content, ensure_ascii=True, indent=1).replace("<", "\\u003c").replace(">", "\\u003e")


def badge(left: str, right: str) -> bytes:
    """Draw a badge: two words beside one another, as projects show them in their README.

    Args:
        left: what it is about.
        right: what is said of it.

    Returns:
        SVG.
    """
    widths = [10 + 6.6 * len(text) for text in (left, right)]
    whole = sum(widths)
    label = escape(f"{left}: {right}", {'"': "&quot;"})
    texts = "".join(
        f'<text x="{x:.1f}" y="14" text-anchor="middle">{escape(text)}</text>'
        for x, text in ((widths[0] / 2, left), (widths[0] + widths[1] / 2, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:.1f}" height="20" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<clipPath id="r"><rect width="{whole:.1f}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{widths[0]:.1f}" height="20" fill="#3a414a"/>'
        f'<rect x="{widths[0]:.1f}" width="{widths[1]:.1f}" height="20" fill="#0b5cad"/></g>'
        f'<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    ).encode()


def link_picture(thumbs: Sequence[bytes]) -> bytes:
    """Draw the picture that other sites show beside a link: rows of the datasets' images on the mark's black.

    Args:
        thumbs: pictures, PNG; the first six are used.

    Returns:
        A PNG of `WIDE` x `HIGH` pixels.
    """
    page = Image.new("RGB", (WIDE, HIGH), (20, 23, 27))
    mark = ((90, 330, 150, (255, 51, 51)), (270, 270, 150, (34, 221, 85)), (150, 150, 150, (68, 119, 255)))
    for x, y, size, colour in mark:
        page.paste(colour, (x, y, x + size, y + size))
    shown = list(thumbs[:6])
    for place, content in enumerate(shown):
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            width, height = 640, max(1, round(image.height * 640 / image.width))
            row = image.convert("RGB").resize((width, height), Image.Resampling.NEAREST)
        top = 40 + place * (HIGH - 80) // len(shown)
        space = (HIGH - 80) // len(shown) - 10
        page.paste(row.crop((0, 0, width, min(height, space))), (520, top))
    stream = io.BytesIO()
    page.save(stream, "PNG")
    return stream.getvalue()


def thumbnails(album: Mapping[str, bytes], files: Sequence[str]) -> list[bytes]:
    """Take pictures out of an album.

    Args:
        album: path -> content.
        files: the paths that are wanted.

    Returns:
        The contents of those that are PNG, in order.
    """
    return [album[file] for file in files if Path(file).suffix == ".png"]
