"""How many samples do CKA and Procrustes need?

Figure 1 of Bonheme and Grześ, "How do variational autoencoders learn?" (2022): two matrices of 50 independent normal
features that share 80%, 50% or none of them, and their similarity as the number of samples grows. With enough samples
both similarities approach the share; with few, both overestimate it, Procrustes far more.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput, check_count
from leaderboard import figures
from leaderboard.arrays import Real
from leaderboard.comparisons import cka, procrustes
from leaderboard.comparisons._pair import check_pair

SIMILARITIES: Mapping[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "CKA": cka.compare,
    "Procrustes": procrustes.compare,
    "debiased CKA": functools.partial(cka.compare, debiased=True),
}
SIZES = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


def shared_features(
    share: float, *, samples: int, features: int = 50, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw two matrices that have a share of their features in common.

    Args:
        share: the share of features in common, in [0, 1], rounded to whole features. The others are independent.
        samples: rows.
        features: columns of each.
        seed: of the counter-based generator.

    Returns:
        Two float64 arrays of independent standard normal numbers, shape (samples, features).

    Raises:
        InvalidInput: the share is outside [0, 1].

    Example:
        >>> a, b = shared_features(0.8, samples=10)
        >>> (a == b).all(axis=0).sum()
        np.int64(40)
    """
    if not 0 <= share <= 1:
        raise InvalidInput(f"share: expected a number in [0, 1], received {share}.")
    all_features = draws.normal(seed, np.arange(samples), 2 * features)
    a, b = all_features[:, :features], all_features[:, features:].copy()
    shared = round(share * features)
    b[:, :shared] = a[:, :shared]
    return a.copy(), b


def measure(
    x: Real[ArrayLike, "n p"],
    y: Real[ArrayLike, "n q"],
    *,
    sizes: Sequence[int] = SIZES,
    similarities: Sequence[str] = ("CKA", "Procrustes"),
    repeats: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare two representations on growing samples of their rows.

    Args:
        x: real numbers, shape (n, p), such as activations of one layer.
        y: real numbers, shape (n, q), on the same samples.
        sizes: numbers of samples; those above n are left out.
        similarities: of ``"CKA"``, ``"Procrustes"`` and ``"debiased CKA"``.
        repeats: independent samples of rows for each size; a single one, of all rows, for size n.
        seed: of the counter-based generator that draws the rows, without replacement.

    Returns:
        A row per size, repeat and similarity: ``samples``, ``repeat``, ``metric``, ``similarity``.

    Raises:
        InvalidInput: arrays that cannot be compared, no size that fits or one below 4, or an unknown similarity.

    Example:
        >>> a, b = shared_features(0.5, samples=2000)
        >>> table = measure(a, b, sizes=[50, 2000])
        >>> table.round(2).similarity.tolist()
        [0.77, 0.88, 0.51, 0.55]
    """
    check_pair(x, y)
    check_count("repeats", repeats, 1)
    x, y = np.asarray(x), np.asarray(y)
    n = len(x)
    used_sizes = [size for size in sorted(set(map(int, sizes))) if size <= n]
    if not used_sizes or used_sizes[0] < 4:
        raise InvalidInput(f"sizes: expected 4 samples or more, one at most {n}, received {list(sizes)}.")
    if not similarities or not set(similarities) <= set(SIMILARITIES):
        raise InvalidInput(f"similarities: expected some of {', '.join(SIMILARITIES)}, received {[*similarities]}.")
    rows = []
    for repeat in range(repeats):
        # Not by the seed itself: if x or y was drawn with it, the order would be that of their numbers.
        order = draws.permutation(int(draws.bits(seed, [repeat], 2)[0, 1]), n)
        for size in used_sizes:
            if size == n and repeat:
                continue
            sample = order[:size]
            for name in similarities:
                rows.append((size, repeat, name, SIMILARITIES[name](x[sample], y[sample])))
    return pd.DataFrame(rows, columns=["samples", "repeat", "metric", "similarity"])


def measure_shared(
    *,
    shares: Sequence[float] = (0.8, 0.5, 0.0),
    sizes: Sequence[int] = SIZES,
    similarities: Sequence[str] = ("CKA", "Procrustes"),
    features: int = 50,
    repeats: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure figure 1, on matrices with a known share of features in common.

    Args:
        shares: as in ``shared_features``, one panel each.
        sizes: numbers of samples.
        similarities: as in ``measure``.
        features: columns of each matrix; 50 in the paper.
        repeats: independently drawn pairs of matrices.
        seed: of the first repeat.

    Returns:
        The columns of ``measure`` and ``share``.

    Raises:
        InvalidInput: as ``shared_features`` and ``measure``.
    """
    for what, count in (("repeats", repeats), ("number of shares", len(shares)), ("number of sizes", len(sizes))):
        check_count(what, count, 1)
    tables = []
    for share in shares:
        for repeat in range(repeats):
            a, b = shared_features(share, samples=int(max(sizes)), features=features, seed=seed + repeat)
            table = measure(a, b, sizes=sizes, similarities=similarities)
            tables.append(table.assign(share=share, repeat=repeat))
    return pd.concat(tables, ignore_index=True)


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw the curves, one panel for each share of features.

    Args:
        table: as from ``measure`` or ``measure_shared``.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["samples", "metric", "similarity"])
    parts: list[tuple[Any, pd.DataFrame]] = [(None, table)]
    if "share" in table:
        parts = list(table.groupby("share", sort=False))
    figure, axes = figures.panels(1, len(parts), sharey=True)
    for i, (panel, (share, part)) in enumerate(zip(axes[0], parts, strict=True)):
        for style, (name, lines) in enumerate(part.groupby("metric", sort=False)):
            figures.curve(panel, lines, "samples", "similarity", style=style, label=str(name))
        if share is not None:
            panel.axhline(share, color="0.6", linestyle=":", linewidth=1)
            panel.set_title(f"({'abcdefgh'[i % 8]}) {float(share):.0%} of the features shared", fontsize=9)
        panel.set_xscale("log")
        panel.set_xlabel("samples")
    axes[0, 0].set_ylabel("similarity")
    axes[0, 0].set_ylim(min(-0.02, table["similarity"].min()), 1.02)
    axes[0, -1].legend(frameon=False)
    figures.save(figure, path)
