"""Pictures of a dataset: a contact sheet of random images, and a traversal of each factor."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmark_data import draws
from benchmark_data.dataset import Dataset, check_dataset
from benchmark_data.errors import InvalidInput, check_count
from benchmark_data.factors import Factor, FactorSpace, Indices
from benchmark_data.types import Pixels

__all__ = ["contact_sheet", "sheet", "traversals"]

GAP = 4
TEXT = 12
LINE = TEXT + 4
PAPER, INK = (255, 255, 255), (30, 30, 30)
MIN_SIDE = 64
"""Smaller images are enlarged by a whole factor, to about this, by their longer side."""


def contact_sheet(dataset: Dataset, *, rows: int = 4, columns: int = 8, seed: int = 0) -> Image.Image:
    """Show random images side by side.

    Args:
        dataset: any dataset.
        rows: rows of the sheet.
        columns: columns of the sheet.
        seed: the seed of `benchmark_data.draws`, in [0, 2**64).

    Returns:
        An RGB picture of at most rows * columns images, all different rows of the dataset.

    Raises:
        InvalidInput: no dataset, no rows, no columns, or a seed out of range.

    Example:
        >>> import benchmark_data
        >>> contact_sheet(benchmark_data.load("xysquares"), rows=2, columns=3).size
        (208, 140)
    """
    check_dataset(dataset)
    check_count("rows of a sheet", rows, 1)
    check_count("columns of a sheet", columns, 1)
    tiles = _make_tiles(dataset.images(draws.sample(seed, len(dataset), rows * columns)))
    width, height = tiles[0].size
    rows, columns = math.ceil(len(tiles) / columns), min(columns, len(tiles))
    picture = Image.new("RGB", (columns * (width + GAP) + GAP, rows * (height + GAP) + GAP), PAPER)
    for i, tile in enumerate(tiles):
        picture.paste(tile, (GAP + i % columns * (width + GAP), GAP + i // columns * (height + GAP)))
    return picture


def traversals(dataset: Dataset, *, row: int | None = None, columns: int = 10) -> Image.Image:
    """Show how each factor changes the image: a row per factor, its values from first to last, named below.

    Without a full grid, the other factors are held fixed where rows that agree in them have more than half of the
    values that occur. Else each value is shown by some image that has it.

    Args:
        dataset: a dataset with factors.
        row: the row of the dataset that the traversals go through; by default the contact sheet's first.
        columns: values per factor, evenly spread over those it has.

    Returns:
        An RGB picture.

    Raises:
        InvalidInput: no dataset, or one without factors, fewer than two columns, or no such row.

    Example:
        >>> from benchmark_data import load
        >>> traversals(load("xysquares/spacing_8")).mode
        'RGB'
    """
    check_dataset(dataset)
    check_count("columns of a traversal", columns, 2)
    if not dataset.space.factors:
        raise InvalidInput(f"traversals of {dataset.id}: expected a dataset with factors, received none.")
    font, small = ImageFont.load_default(TEXT), ImageFont.load_default(TEXT - 2)
    order = draws.sample(0, len(dataset), 1 if isinstance(dataset.space, FactorSpace) else len(dataset))
    base_row = int(order[0] if row is None else dataset.rows([row])[0])
    labels = dataset.labels(order)
    strips = []
    for factor in dataset.space.factors:
        ids, rows = _find_example_rows(dataset, factor.name, base_row, order, labels)
        chosen = np.unique(np.linspace(0, len(ids) - 1, columns).round().astype(np.int64))
        size_text = f"{factor.size} values{factor.unit and ', '}{factor.unit}"
        strips.append((factor, size_text, ids[chosen], _make_tiles(dataset.images(rows[chosen]))))
    width, height = strips[0][3][0].size
    name_width = max(max(font.getlength(factor.name), small.getlength(size_text)) for factor, size_text, _, _ in strips)
    margin = math.ceil(name_width) + 3 * GAP
    max_tiles = max(len(tiles) for *_, tiles in strips)
    picture = Image.new("RGB", (margin + max_tiles * (width + GAP), len(strips) * (height + LINE + GAP) + GAP), PAPER)
    draw = ImageDraw.Draw(picture)
    for i, (factor, size_text, shown_ids, tiles) in enumerate(strips):
        top = GAP + i * (height + LINE + GAP)
        draw.text((GAP, top + height // 2 - TEXT), factor.name, INK, font)
        draw.text((GAP, top + height // 2 + 2), size_text, INK, small)
        for column, (value, tile) in enumerate(zip(shown_ids, tiles, strict=True)):
            left = margin + column * (width + GAP)
            picture.paste(tile, (left, top))
            draw.text((left, top + height + 1), _caption(factor, value, width, font), INK, font)
    return picture


def sheet(dataset: Dataset) -> Image.Image:
    """Put a title, a contact sheet and the traversals, if there are factors, into one picture.

    Args:
        dataset: any dataset.

    Returns:
        An RGB picture.
    """
    panels = [contact_sheet(dataset, rows=3, columns=11), *([traversals(dataset)] if dataset.space.factors else [])]
    title = f"{dataset.id} {dataset.version}: {len(dataset):,} images of shape {dataset.image_shape}"
    font = ImageFont.load_default(TEXT + 4)
    width = max(math.ceil(font.getlength(title)) + 2 * GAP, *(panel.width for panel in panels))
    top = 2 * LINE
    picture = Image.new("RGB", (width, top + sum(panel.height + LINE for panel in panels)), PAPER)
    ImageDraw.Draw(picture).text((GAP, GAP), title, INK, font)
    for panel in panels:
        picture.paste(panel, (0, top))
        top += panel.height + LINE
    return picture


def _make_tiles(images: Pixels) -> list[Image.Image]:
    """Make pictures of images: one channel is grey, three are colours, any other number stand side by side in grey."""
    zoom = max(1, MIN_SIDE // max(images.shape[1:3]))
    if images.shape[-1] not in (1, 3):
        images = np.concatenate(np.split(images, images.shape[-1], axis=-1), axis=2)
    images = images.repeat(zoom, axis=1).repeat(zoom, axis=2)
    return [Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image).convert("RGB") for image in images]


def _find_example_rows(
    dataset: Dataset, factor: str, base_row: int, order: Indices, labels: Indices
) -> tuple[Indices, Indices]:
    """Find class ids and a row for each, without a full grid in this order; those that no row has are left out."""
    if isinstance(dataset.space, FactorSpace):
        rows = dataset.space.traverse(base_row, factor)
        return np.arange(len(rows)), rows
    column = dataset.space.column(factor)
    others = np.arange(labels.shape[1]) != column
    agreeing = (labels[:, others] == dataset.labels([base_row])[:, others]).all(axis=1)
    if 2 * len(np.unique(labels[agreeing, column])) > len(np.unique(labels[:, column])):
        labels, order = labels[agreeing], order[agreeing]
    present, first_places = np.unique(labels[:, column], return_index=True)
    return present, order[first_places]


def _caption(factor: Factor, value: int, width: int, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    """Name a class id, cut to a width in pixels: a number below 100 to three digits, all else as far as it fits."""
    number, text = factor.values[value], factor.labels[value]
    text = f"{number:.3g}" if text == f"{number:g}" and abs(number) < 100 else text  # a year has four
    while len(text) > 1 and font.getlength(text) > width:
        text = text[:-2] + "…"
    return text
