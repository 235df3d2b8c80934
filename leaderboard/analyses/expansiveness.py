"""What does a VAE encode first: what moves pixels locally, or what explains most variance?

Figure 4 of Zietlow et al., "Demystifying inductive biases for beta-VAE based architectures" (2021), section 5.2: for
each generating factor, and for the variable that a perturbation of strength epsilon hides in the images, its local
expansiveness factor (equation 7), the global variance that it explains (equation 9), and the noise of the latent that
encodes it. The paper finds that a VAE encodes the hidden variable first as soon as its local expansiveness is the
largest, at strengths far below those at which it explains most variance.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, check_count
from benchmark_data.factors import FactorSpace
from benchmark_data.types import Pixels
from benchmark_data.variants import perturbation
from leaderboard import figures
from leaderboard.analyses._pixels import flat, unit
from leaderboard.analyses.latents import check_posterior
from leaderboard.arrays import check_codes_factors
from leaderboard.information import class_ids, pairwise

EPSILONS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2)

QUANTITIES = {
    "expansiveness": "local expansiveness",
    "global_variance": "explained global variance",
    "noise": "mean latent noise (std)",
}
"""Quantity -> its title, in the order of figure 4's panels (a) to (c)."""


def unit_step(size: int) -> float:
    """Return one step of a factor in units in which it has variance 1, as the paper's hidden variable has.

    Args:
        size: how many equally spaced and equally likely values the factor has.

    Returns:
        One over the standard deviation of ``range(size)``.

    Raises:
        InvalidInput: fewer than two values.

    Example:
        >>> round(unit_step(32), 4)
        0.1083
    """
    check_count("size of the factor", size, 2)
    return float(np.sqrt(12 / (size**2 - 1)))


def neighbours(dataset: Dataset, rows: ArrayLike, factor: str) -> tuple[NDArray[np.uint8], float]:
    """Return the images one step up and one step down a factor.

    Args:
        dataset: a full grid.
        rows: rows of the dataset, shape (n,).
        factor: the factor to move, its values in order.

    Returns:
        Images uint8, shape (n, 2, H, W, C), and the step as ``unit_step`` gives it. At the end of the grid both are the
        one neighbour that exists; a cyclic factor goes round.

    Raises:
        InvalidInput: the dataset is no full grid, the factor has one value, or a row does not exist.
        UnknownName: there is no such factor.

    Example:
        >>> import benchmark_data
        >>> images, step = neighbours(benchmark_data.load("xysquares", spacing=4), [0, 9], "x_R")
        >>> images.shape, round(step, 3)
        ((2, 2, 64, 64, 3), 0.436)
    """
    space = dataset.space
    if not isinstance(space, FactorSpace):
        raise InvalidInput(f"{dataset.id}: expected a full grid of factors, received {space!r}.")
    column = space.column(factor)
    grid_factor = space.factors[column]
    step = unit_step(grid_factor.size)
    labels = dataset.labels(rows)
    images = []
    for move in (1, -1):
        moved = labels.copy()
        moved[:, column] += move
        outside = (moved[:, column] < 0) | (moved[:, column] >= grid_factor.size)
        if grid_factor.kind == "cyclic":
            moved[:, column] %= grid_factor.circle
        else:
            moved[outside, column] -= 2 * move
        images.append(dataset.images(space.index(moved)))
    return np.stack(images, axis=1), step


def local_expansiveness(images: ArrayLike, moved: ArrayLike, *, step: float) -> NDArray[np.float64]:
    """Compute how fast images change when a factor moves a little (equation 7, at a distance of one step).

    Args:
        images: shape (n, ...), uint8, which is divided by 255, or floats, which are not.
        moved: the images with the factor moved by one step, k ways each, shape (n, k, ...). The paper's infimum over
            moves is the smallest of them.
        step: how far the factor moved, above 0, in units in which its variance is 1.

    Returns:
        float64, shape (n,): Euclidean distance of the images over the step.

    Raises:
        InvalidInput: shapes that do not match, or a step that is not positive.

    Example:
        >>> local_expansiveness([[0.0, 0.0]], [[[3.0, 4.0], [0.0, 1.0]]], step=0.5)
        array([2.])
    """
    if not step > 0:
        raise InvalidInput(f"step: expected a positive number, received {step}.")
    pixels, others = unit(images), unit(moved, "moved")
    if others.ndim != pixels.ndim + 1 or others.shape[:1] + others.shape[2:] != pixels.shape or 0 in others.shape:
        raise InvalidInput(
            f"moved: expected shape ({pixels.shape[0]}, moves, {', '.join(map(str, pixels.shape[1:]))}), received "
            f"shape {others.shape}."
        )
    difference = (others - pixels[:, None]).reshape(*others.shape[:2], -1)
    return np.asarray(np.linalg.norm(difference, axis=2).min(axis=1) / step)


def explained_variance(images: ArrayLike, column: ArrayLike) -> float:
    """Compute the global variance that a factor explains: that of the mean image given its value (equation 9).

    Args:
        images: shape (n, ...), uint8, which is divided by 255, or floats, which are not.
        column: the factor's class ids, whole numbers, shape (n,).

    Returns:
        The variance, summed over pixels, without what the noise of the group means adds: (K - 1) / n times the variance
        within groups for K values. It can be slightly negative.

    Raises:
        InvalidInput: different rows, numbers that cannot be used, or as many values as samples.

    Example:
        >>> round(explained_variance([[0.0, 0.1], [0.0, 0.3], [1.0, 0.1], [1.0, 0.3]], [0, 0, 1, 1]), 3)
        0.245
    """
    pixels, factors = check_codes_factors(flat(unit(images)), np.asarray(column).reshape(-1, 1))
    ids, classes = class_ids(factors[:, 0])
    if classes >= len(ids):
        raise InvalidInput(f"factor: expected fewer values than samples, received {classes} in {len(ids)} samples.")
    counts = np.bincount(ids)
    sums = np.zeros((classes, pixels.shape[1]))
    np.add.at(sums, ids, pixels.astype(np.float64))
    means, weights = sums / counts[:, None], counts / len(ids)
    centre = weights @ means
    between = float(weights @ ((means - centre) ** 2).sum(axis=1))
    within = float(((pixels - centre) ** 2).sum() / len(ids)) - between
    return between - (classes - 1) / (len(ids) - classes) * within


def own_latents(mean: ArrayLike, variance: ArrayLike, factors: ArrayLike, names: Sequence[str]) -> pd.DataFrame:
    """Find the latent that each factor has of its own, and its noise.

    A latent belongs to one factor at most, the one of which it encodes the largest share: otherwise a factor that is
    not encoded at all would get the low noise of another factor's latent.

    Args:
        mean: posterior means, shape (n, L).
        variance: posterior variances, above 0, shape (n, L).
        factors: class ids, shape (n, F), none of them constant.
        names: of the factors, F of them.

    Returns:
        A row per factor: ``factor``; ``share``, the largest share of its entropy that one latent encodes (20 bins, as
        in MIG), in [0, 1]; ``latent``, that latent if its share is above 0 and the factor is the first of those that
        it encodes best, else -1; and ``noise``, the mean posterior standard deviation of the latent, 1 as of the prior
        where there is none.

    Raises:
        InvalidInput: arrays that do not match, a constant factor, or another number of names.

    Example:
        >>> mean = np.array([[0.0], [0.1], [1.0], [0.9]])
        >>> variance = np.full(mean.shape, 0.01)
        >>> own_latents(mean, variance, [[0, 0], [0, 1], [1, 0], [1, 1]], ["x", "y"]).round(2).values.tolist()
        [['x', 1.0, 0, 0.1], ['y', 1.0, -1, 1.0]]
    """
    mu, var = check_posterior(mean, variance)
    _, columns = check_codes_factors(mu, factors)
    if len(names) != columns.shape[1]:
        raise InvalidInput(f"names: expected {columns.shape[1]}, one for each factor, received {len(names)}.")
    pairs = pairwise(mu, columns)
    shares = pairs.information / pairs.factors
    latents, best_factors = shares.argmax(axis=0), shares.argmax(axis=1)
    is_own = (best_factors[latents] == np.arange(len(names))) & (shares.max(axis=0) > 0)
    noise = np.where(is_own, np.sqrt(var).mean(axis=0)[latents], 1.0)
    return pd.DataFrame(
        {"factor": list(names), "share": shares.max(axis=0), "latent": np.where(is_own, latents, -1), "noise": noise}
    )


def measure_hidden(
    base: Dataset,
    *,
    epsilons: Sequence[float] = EPSILONS,
    factors: Sequence[str] | None = None,
    samples: int = 500,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure figure 4 (a) and (b) on a dataset perturbed with a hidden variable that is independent of its factors.

    As in the paper, the hidden variable ``s`` is uniform with mean 0 and variance 1, and its step is that of the
    smallest step among the factors shown. The pattern is that of `benchmark_data.variants.perturbation`.

    Args:
        base: a full grid of images.
        epsilons: strengths of the perturbation, in [0, 0.5).
        factors: those whose local expansiveness is measured, by default all that have an order and more than two
            values. The explained variance is measured for all that have two or more.
        samples: random images.
        seed: of the counter-based generator.

    Returns:
        A row per strength, factor and quantity: ``factor`` (the hidden variable is ``"s"``), ``quantity``, one of the
        first two `QUANTITIES`, ``value`` and ``epsilon``. Explained variance that is estimated below 0 is given as 0;
        with fewer than some 500 samples that may be that of a factor with a large effect.

    Raises:
        InvalidInput: the dataset is no full grid or has no ordered factor, fewer than two samples or as few as a factor
            has values among them, or a strength out of range.
        UnknownName: there is no such factor.

    Example:
        >>> import benchmark_data
        >>> base = benchmark_data.load("xysquares", spacing=1)
        >>> table = measure_hidden(base, epsilons=[0, 0.1], factors=["x_R"], samples=20)
        >>> local = table[table.quantity == "expansiveness"].set_index(["factor", "epsilon"]).value
        >>> bool(local["s", 0] == 0 < local["x_R", 0]), bool(local["s", 0.1] > local["x_R", 0.1])
        (True, True)
    """
    check_count("samples", samples, 2)
    check_count("number of epsilons", len(epsilons), 1)
    base_factors = base.space.factors
    ordered = [f.name for f in base_factors if f.size > 2 and f.kind in ("ordinal", "cyclic")]
    shown_factors = ordered if factors is None else list(factors)
    if not shown_factors:
        raise InvalidInput(f"factors of {base.id}: expected at least one with an order, received none.")
    rows = (draws.uniform(seed, np.arange(samples), 1)[:, 0] * len(base)).astype(np.int64)
    hidden = (draws.uniform(seed + 1, np.arange(samples), 1)[:, 0] - 0.5) * np.sqrt(12)
    images, labels = base.images(rows), base.labels(rows)
    moved = {name: neighbours(base, rows, name) for name in shown_factors}
    step = min(factor_step for _, factor_step in moved.values())
    height, width = images.shape[1:3]
    unmoved, raised, lowered = (perturbation.pattern(hidden + move, height, width) for move in (0.0, step, -step))
    tables = []
    for epsilon in epsilons:

        def perturb(pixels: Pixels, pattern: Pixels, epsilon: float = epsilon) -> Pixels:
            return pixels if epsilon == 0 else perturbation.blend(pixels, pattern, epsilon=epsilon)

        perturbed_images = perturb(images, unmoved)
        moved_images = {
            name: (np.stack([perturb(others[:, k], unmoved) for k in range(2)], axis=1), factor_step)
            for name, (others, factor_step) in moved.items()
        }
        moved_images["s"] = (np.stack([perturb(images, raised), perturb(images, lowered)], axis=1), step)
        local_rows = [
            (name, "expansiveness", float(local_expansiveness(perturbed_images, others, step=factor_step).mean()))
            for name, (others, factor_step) in moved_images.items()
        ]
        # s is independent of the images, so that the mean image given s is that of all plus the pattern.
        pattern = 2 * epsilon * np.broadcast_to(unmoved / 255.0, images.shape)
        global_rows = [("s", "global_variance", float(pattern.var(axis=0).sum()))]
        for column, factor in enumerate(base_factors):
            if factor.size > 1 and len(np.unique(labels[:, column])) > 1:
                explained = explained_variance(perturbed_images, labels[:, column])
                global_rows.append((factor.name, "global_variance", max(0.0, explained)))
        table = pd.DataFrame([*local_rows, *global_rows], columns=["factor", "quantity", "value"])
        tables.append(table.assign(epsilon=float(epsilon)))
    return pd.concat(tables, ignore_index=True)


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw figure 4: one panel per quantity, a line per factor over the strength of the perturbation.

    Args:
        table: rows as from ``measure_hidden``, or of the same columns. Several values of one factor, quantity and
            ``epsilon``, such as those of several seeds, give a band.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["factor", "quantity", "value", "epsilon"])
    shown_quantities = [quantity for quantity in QUANTITIES if quantity in set(table["quantity"])]
    if not shown_quantities:
        raise InvalidInput(f"table: expected one of the quantities {', '.join(QUANTITIES)}, received none of them.")
    names = list(table["factor"].unique())
    figure, axes = figures.panels(1, len(shown_quantities))
    letters = dict(zip(QUANTITIES, "abc", strict=True))
    for panel, quantity in zip(axes[0], shown_quantities, strict=True):
        for style, name in enumerate(names):
            part = table[(table["factor"] == name) & (table["quantity"] == quantity)]
            if len(part):
                figures.curve(panel, part, "epsilon", "value", style=style, label=name)
        panel.set_title(f"({letters[quantity]}) {QUANTITIES[quantity]}", fontsize=9)
        panel.set_xlabel("ε")
        panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]))
    lines = {line.get_label(): line for panel in axes[0] for line in panel.get_lines()}
    figure.legend(lines.values(), lines.keys(), frameon=False, fontsize=8, loc="outside right center")
    figures.save(figure, path)
