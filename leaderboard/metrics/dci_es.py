"""DCI-ES: what capacity does a probe need to predict the factors (explicitness), and how many latents (size)?

Eastwood et al., "DCI-ES: an extended disentanglement framework with connections to identifiability" (2023), section 3.
Explicitness: probes of growing capacity predict each factor; the area under the least loss so far against capacity,
above the least loss of all, divided by the area of the triangle from the loss of a blind guess down to 0, is subtracted
from 1 and averaged over factors. Size: factors over latents. Probes are random forests of depth 1 to 32, as in the
authors' code; capacity is depth. One forest of the largest depth is truncated to each of the others.

Informativeness is the held-out accuracy of the best probe, averaged over factors, and must accompany explicitness:
uninformative codes gain nothing from capacity, so their explicitness is near 1. D and C of the trees are those of
``leaderboard.metrics.dci``.

Informativeness: range [0, 1]; ideal 1; chance the share of the most frequent class. Explicitness: range [-1, 1], lower
if a shallow probe does worse than a blind guess; ideal 1, 0 if the loss falls evenly with depth. Size: range (0, ∞);
ideal 1, more if there are fewer latents than factors.
Permuting, flipping or scaling latents changes nothing beyond the trees' own randomness, and neither does the numbering
of classes; a copy of every latent halves the size. As in ``leaderboard.metrics.dci``, the trees distinguish float32
numbers that are at least 1e-7 apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput, check_count, is_whole, needs
from leaderboard.arrays import ConstantFactors, Real, check_seed, check_train_test
from leaderboard.doubts import warn_if_lost
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="what capacity does a probe need to predict the factors (E), how many latents (S)?",
    source="Eastwood et al. 2023, section 3",
    chance="I: share of the most frequent class; E near 1",
    range=(-1.0, 1.0),
    ideal="1 for I (from 0) and E; S is F / L",
    unbounded=("size",),
    copied_latent={"informativeness": "same"},
    many_rows=False,
    tolerance=0.05,
    quick={"depths": (1, 2, 4, 8), "trees": 25},
)

DEPTHS = (1, 2, 3, 4, 8, 10, 12, 14, 16, 18, 20, 32)
"""The depths of the authors' sweep."""


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    depths: Sequence[int] = DEPTHS,
    trees: int = 100,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute informativeness, explicitness and size.

    Args:
        codes: real numbers, shape (n, L), to fit the forests on.
        factors: class ids, shape (n, F).
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        depths: the capacities, ascending, at least two.
        trees: number of trees in each forest.
        seed: for the forests.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``informativeness``, one minus the least loss, at least 0; ``explicitness``; ``size``.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or depths that do not ascend, or no trees.

    Warns:
        LostSpread: see ``leaderboard.doubts.warn_if_lost``.

    Example:
        >>> factors = np.stack(np.meshgrid(range(2), range(2), indexing="ij"), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> score(factors, factors, codes_test=factors, factors_test=factors, depths=[1, 2, 3], trees=20)
        {'informativeness': 1.0, 'explicitness': 1.0, 'size': 1.0}
    """
    check_seed(seed)
    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    warn_if_lost(codes)
    depths = list(depths)
    if len(depths) < 2 or not all(map(is_whole, depths)) or depths[0] < 1 or depths != sorted(set(depths)):
        raise InvalidInput(f"depths: expected at least two integers that ascend from 1 or more, received {depths}.")
    check_count("trees", trees, 1)
    losses = np.stack(
        [
            _depth_losses(codes, column, codes_test, column_test, depths, trees, seed)
            for column, column_test in zip(factors.T, factors_test.T, strict=True)
        ]
    )
    classes = np.array([len(np.unique(column)) for column in factors.T])
    return {**_score_curves(losses, depths, 1 - 1 / classes), "size": len(losses) / codes.shape[1]}


def _score_curves(losses: NDArray[np.float64], depths: Sequence[int], blind: NDArray[np.float64]) -> dict[str, float]:
    """Score the losses of F factors at D depths, (F, D), given those of a blind guess, ``blind``, (F,)."""
    least_losses = np.minimum.accumulate(losses, axis=1)
    excess = least_losses - least_losses[:, -1:]
    area = ((excess[:, :-1] + excess[:, 1:]) / 2 * np.diff(depths)).sum(axis=1)
    explicitness = 1 - 2 * area / ((depths[-1] - depths[0]) * blind)
    return {
        "informativeness": float(np.maximum(1 - least_losses[:, -1], 0.0).mean()),
        "explicitness": float(explicitness.mean()),
    }


def _depth_losses(
    z: NDArray[np.floating],
    v: NDArray[np.int64],
    z_test: NDArray[np.floating],
    v_test: NDArray[np.int64],
    depths: Sequence[int],
    trees: int,
    seed: int,
) -> NDArray[np.float64]:
    """Fit one forest and return its loss on the held-out part when truncated to each depth: float64 (D,)."""
    needs("DCI-ES", "metrics", "sklearn")
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=trees, max_depth=depths[-1], random_state=seed).fit(z, v)
    z_test = np.ascontiguousarray(z_test, np.float32)  # as in the trees
    sums: list[NDArray[np.float64] | float] = [0.0] * len(depths)
    for estimator in forest.estimators_:
        tree = estimator.tree_
        leaf_values = tree.value[:, 0, :]
        node = np.zeros(len(z_test), np.int64)
        rows = np.arange(len(z_test))
        depth = 0
        for i, depth_limit in enumerate(depths):
            while depth < depth_limit and depth < tree.max_depth:
                is_split = tree.children_left[node] >= 0
                goes_left = z_test[rows, np.maximum(tree.feature[node], 0)] <= tree.threshold[node]
                child = np.where(goes_left, tree.children_left[node], tree.children_right[node])
                node = np.where(is_split, child, node)
                depth += 1
            sums[i] = sums[i] + leaf_values[node]
    return np.array([np.mean(forest.classes_[np.argmax(depth_sums, axis=1)] != v_test) for depth_sums in sums])
