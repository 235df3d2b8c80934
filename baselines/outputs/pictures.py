"""Pictures of a run, written into its folder: latent traversals, reconstructions, loss curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageDraw
from numpy.typing import NDArray

from baselines.nets import backend
from baselines.objectives import kl_to_prior
from baselines.run import Run
from benchmark_data import files
from benchmark_data.errors import InvalidInput
from benchmark_data.types import Pixels
from leaderboard import figures

GAP = 2
"""Pixels between tiles."""

LABEL = 72
"""Width in pixels of the labels to the left of rows."""

HEAD = 14
"""Height in pixels of the column heads."""

VALUES = 9
"""Number of values of a traversed latent."""


def draw_all(run: Run, *, row: int = 0) -> list[Path]:
    """Draw all pictures of this module.

    Args:
        run: the run.
        row: the row of the dataset whose codes are traversed.

    Returns:
        The paths of the pictures.
    """
    paths = [*traversals(run, row=row), reconstructions(run)] if run.model.decoder else []
    return [*paths, losses(run)] if run.history else paths


def traversals(run: Run, *, row: int = 0) -> list[Path]:
    """Draw latent traversals: one latent varies over the objective's range, the others are fixed to an image's code.

    One line per latent, sorted by its KL divergence from the prior, largest on top. The KL is the mean over the
    dataset's quick rows, which the reconstructions also show; near 0 a latent is unused. Columns are headed with the
    latent's value.

    Args:
        run: the run.
        row: the row of the dataset to start from.

    Returns:
        ``traversals.png`` (all values side by side) and ``traversals.gif`` (all latents side by side, moving).

    Raises:
        InvalidInput: no such row, or a picture that cannot be written.
    """
    images = run.dataset.images([row])
    start_codes = run.encode(images).mean
    labels, order = [f"z{latent}" for latent in range(start_codes.shape[1])], np.arange(start_codes.shape[1])
    if run.model.objective.stochastic:
        posterior = run.encode(run.dataset.images(run.dataset.quick_rows()))
        kl = backend.to_numpy(kl_to_prior(posterior)).mean(axis=0)
        labels, order = [f"z{i}  KL {nats:.2f}" for i, nats in enumerate(kl)], np.argsort(-kl, kind="stable")
    extent = run.model.objective.traversed
    latent_values = np.linspace(-extent, extent, VALUES)
    codes = np.repeat(start_codes, len(order) * VALUES, axis=0).reshape(len(order), VALUES, -1)
    for line, latent in enumerate(order):
        codes[line, :, latent] = latent_values
    tiles = _to_pixels(run.decode(codes.reshape(-1, codes.shape[-1]))).reshape(len(order), VALUES, *images.shape[1:])

    png = run.folder / "traversals.png"
    _save(png, _draw_grid(tiles, [labels[latent] for latent in order], [f"{value:+.1f}" for value in latent_values]))
    half = (len(order) + 1) // 2
    frames = []
    for column in [*range(VALUES), *range(VALUES - 2, 0, -1)]:
        lines = [tiles[first_line : first_line + half, column] for first_line in (0, half) if first_line < len(order)]
        lines[-1] = np.concatenate([lines[-1], np.zeros_like(tiles[: half - len(lines[-1]), 0])])
        frames.append(_draw_grid(np.stack(lines), None))
    gif = run.folder / "traversals.gif"
    _save(gif, frames[0], save_all=True, append_images=frames[1:], duration=120, loop=0)
    return [png, gif]


def reconstructions(run: Run) -> Path:
    """Draw ten images, always the same, above their reconstructions from the posterior's mean.

    Args:
        run: the run.

    Returns:
        ``reconstructions.png``.

    Raises:
        InvalidInput: a picture cannot be written.
    """
    images = run.dataset.images(run.dataset.quick_rows()[:10])
    path = run.folder / "reconstructions.png"
    _save(path, _draw_grid(np.stack([images, _to_pixels(run.decode(run.encode(images).mean))]), ["image", "decoded"]))
    return path


def losses(run: Run) -> Path:
    """Draw the history: the loss, the reconstruction and every term, each in its own panel.

    Args:
        run: the run.

    Returns:
        ``losses.png``.

    Raises:
        InvalidInput: the run has no history, or a picture cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    history = run.history
    if not history:
        raise InvalidInput(f"{run.folder}: expected a run with a history, received no steps.")
    names = [name for name in history[0] if name != "step"]
    figure, grid = figures.panels(1, len(names))
    for axes, name in zip(grid[0], names, strict=True):
        rows = [row for row in history if name in row]
        values = [row[name] for row in rows]
        axes.plot([row["step"] for row in rows], values, linewidth=1)
        axes.set(title=name.replace("_", " "), xlabel="step", yscale="log" if min(values) > 0 else "linear")
        axes.spines[["top", "right"]].set_visible(False)
    path = run.folder / "losses.png"
    figures.save(figure, path)
    return path


def _to_pixels(images: NDArray[np.float32]) -> Pixels:
    return np.rint(images * 255).astype(np.uint8)


def _draw_grid(tiles: Pixels, labels: list[str] | None, heads: list[str] | None = None) -> PIL.Image.Image:
    """Lay out tiles (lines, columns, H, W, C) on white, each line with its label and each column with its head."""
    lines, columns, height, width, channels = tiles.shape
    left, top = LABEL if labels else 0, HEAD if heads else 0
    size = (top + lines * (height + GAP) - GAP, left + columns * (width + GAP) - GAP, 3)
    page = np.full(size, 255, np.uint8)
    for i in range(lines):
        for j in range(columns):
            y, x = top + i * (height + GAP), left + j * (width + GAP)
            page[y : y + height, x : x + width] = tiles[i, j, :, :, : 3 if channels > 2 else 1]
    picture = PIL.Image.fromarray(page)
    pen = PIL.ImageDraw.Draw(picture)
    for i, label in enumerate(labels or []):
        pen.text((4, top + i * (height + GAP) + height // 2), label, fill=(0, 0, 0), anchor="lm")
    for j, head in enumerate(heads or []):
        pen.text((left + j * (width + GAP) + width // 2, top // 2), head, fill=(0, 0, 0), anchor="mm")
    return picture


def _save(path: Path, picture: PIL.Image.Image, **options: object) -> None:
    with files.written_atomically(path) as temporary:
        picture.save(temporary, format=path.suffix[1:].upper(), **options)
