"""How much the pixel distances of a dataset reveal about its factors.

A VAE that reconstructs pixels puts images close together in its latents that are close in pixels. Where the distance of
images follows the distance of their factor values, the loss reveals the order of the values, and a model that finds it
may have learnt the loss rather than the factor (Michlo, Klein and James, IJCAI 2023, arXiv 2202.13341). This module
measures by how much, on samples and with an interval for each estimate. Distances are those of
`benchmark_data.inspect.distances`: the mean squared error of pixels in [0, 1], and the difference of class ids.

A *traversal* is all images that differ in one factor alone. A dataset that is no full grid has traversals too, where
some images agree in all factors but one; they need not hold every value. Of several images with the same labels,
each is in a traversal of its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset, check_dataset
from benchmark_data.errors import InvalidInput, check_count, needs
from benchmark_data.factors import Factor, Indices
from benchmark_data.inspect.distances import BATCH, mean_squared_errors, squared_distances
from benchmark_data.types import Estimate

__all__ = ["Audit", "Estimate", "FactorAudit", "audit"]

MAX_VALUES = 64
"""Values of a factor that one traversal compares. Of more, as many are taken, evenly spread."""

REPLICATES = 1000
"""Bootstrap samples of an interval."""

LEVEL = 0.95
"""Level of the intervals."""

MIN_TRAVERSALS = 20
"""Traversals below which an interval over them says little (docs/audit.md)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FactorAudit:
    """What pixel distances reveal about one factor.

    Args:
        factor: the factor.
        traversals: the number of traversals measured; where it is 0, no two images differ in this factor alone.
        few: the number of traversals in the correlation if it is below both `MIN_TRAVERSALS` and the number requested,
            as a warning; else 0.
        importance: mean perceived distance of images that differ in this factor alone, in [0, 1].
        above_random: the probability that such a pair is farther apart than a random pair, in [0, 1]. Its interval
            leaves out that the random pairs are a sample.
        correlation: Spearman's correlation of perceived distance and distance of class ids over all pairs of a
            traversal, averaged over traversals, in [-1, 1]. It is 0 for a traversal whose images are equally far apart.
            NaN for a factor without an order (categorical, binary) and for one with too few values to have one.
        overlap: how much nearer neighbouring values are than others: 1 - (mean distance of neighbours) / (mean distance
            of other pairs), at most 1. 0 where neighbours are as far apart as any, 1 where they alone look the same;
            NaN where the correlation is, or where all images are equal.
        equal: the share of pairs of a traversal whose images are equal, in [0, 1].
    """

    factor: Factor
    traversals: int
    few: int
    importance: Estimate
    above_random: Estimate
    correlation: Estimate
    overlap: Estimate
    equal: Estimate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audit:
    """What pixel distances reveal about a dataset's factors.

    Args:
        dataset: the dataset's full name.
        version: its version.
        images: the number of its images.
        seed: the seed of the samples.
        factors: the estimates for each factor that has two or more values, in column order.
        random: mean perceived distance of random pairs.
        sample: the number of images that were compared with each other for collisions.
        collisions: how many of these are equal to another one whose labels differ. Exact where the sample is the whole
            dataset; otherwise the dataset holds at least as many.
        giveaway: how far pixel distance reveals the order of the factors' values, in [0, 1]: the mean of the
            factors' correlations, weighted by importance, where a negative one counts as 0. 0 where every move along a
            factor costs the same, as in XYSquares at spacing 8, or where cost has nothing to do with the values; 1
            where in each traversal values that are farther apart are farther apart in pixels. Factors without a
            correlation are left out; NaN where none has one.
    """

    dataset: str
    version: str
    images: int
    seed: int
    factors: tuple[FactorAudit, ...]
    random: Estimate
    sample: int
    collisions: int
    giveaway: Estimate

    def order(self) -> list[list[str]]:
        """Return the order in which a VAE is expected to learn the factors, the most important ones first.

        A factor joins the group before it if its importance is within d of that of the group's first factor, where d is
        the root of the sum of both intervals' squared half-widths (1.96 standard errors of the difference), or if there
        is one traversal of either, whose error is unknown.

        Returns:
            Groups of names of factors, the group that is expected first in front.
        """
        ranked = sorted(
            (entry for entry in self.factors if entry.traversals),
            key=lambda entry: entry.importance.value,
            reverse=True,
        )
        groups: list[list[FactorAudit]] = []
        for entry in ranked:
            if groups:
                pair = groups[-1][0], entry
                margin = math.hypot(*((member.importance.high - member.importance.low) / 2 for member in pair))
                difference = pair[0].importance.value - entry.importance.value
                # Rounding, where there is no error.
                if difference <= margin + 1e-12 or min(member.traversals for member in pair) == 1:
                    groups[-1].append(entry)
                    continue
            groups.append([entry])
        return [[entry.factor.name for entry in group] for group in groups]

    def as_json(self) -> dict[str, object]:
        """Return all numbers but the matrices for JSON, which has no NaN: None where nothing is defined."""

        def finite_or_none(value: float) -> float | None:
            return None if math.isnan(value) else value

        def estimate_as_json(estimate: Estimate) -> dict[str, float | None]:
            return {name: finite_or_none(value) for name, value in estimate._asdict().items()}

        estimates = ("importance", "above_random", "correlation", "overlap", "equal")
        return {
            "dataset": self.dataset,
            "version": self.version,
            "images": self.images,
            "seed": self.seed,
            "interval": f"{LEVEL:.0%} bootstrap over traversals",
            "giveaway": estimate_as_json(self.giveaway),
            "order": self.order(),
            "random_pairs": estimate_as_json(self.random),
            "collisions": {"images": self.collisions, "of": self.sample, "whole_dataset": self.sample == self.images},
            "factors": {
                entry.factor.name: {
                    "kind": entry.factor.kind,
                    "values": entry.factor.size,
                    "traversals": entry.traversals,
                    **{name: estimate_as_json(getattr(entry, name)) for name in estimates},
                    "importance_of_random_pairs": finite_or_none(relative_importance(entry, self)),
                }
                for entry in self.factors
            },
        }


def relative_importance(factor_audit: FactorAudit, dataset_audit: Audit) -> float:
    """Return a factor's importance as a share of the mean distance of random pairs; NaN where that is 0."""
    return factor_audit.importance.value / dataset_audit.random.value if dataset_audit.random.value else math.nan


def audit(
    dataset: Dataset,
    *,
    traversals: int = 200,
    pairs: int = 5000,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> Audit:
    """Measure how far pixel distances reveal a dataset's factors.

    Args:
        dataset: any dataset with factors, whose images are ready.
        traversals: the number of traversals of each factor, at least 2; all where there are no more.
        pairs: the number of random pairs, and of images that are searched for collisions; at least 2.
        seed: the seed of `benchmark_data.draws`, in [0, 2**64).
        progress: called once after each factor, and once for the random pairs.

    Returns:
        The estimates. Their intervals treat the traversals as drawn from many more. Where all of a dataset's were
        measured, those of factors of up to `MAX_VALUES` values are exact for it, but for `above_random`; fewer than
        some twenty say little of other images of the kind, for which the intervals are then too narrow.

    Raises:
        InvalidInput: no dataset, a number or seed out of range, a dataset of one image, or no factor with two values.

    Example:
        >>> import benchmark_data
        >>> round(audit(benchmark_data.load("xysquares/spacing_1"), traversals=5, pairs=10).giveaway.value, 9)
        1.0
        >>> audit(benchmark_data.load("xysquares/spacing_8"), traversals=5, pairs=10).giveaway
        Estimate(value=0.0, low=0.0, high=0.0)
    """
    check_dataset(dataset)
    for what, number in (("traversals", traversals), ("pairs", pairs)):
        check_count(f"number of {what}", number, 2)
    varying_columns = [column for column, factor in enumerate(dataset.space.factors) if factor.size > 1]
    if len(dataset) < 2 or not varying_columns:
        remedy = "" if dataset.space.factors else "For factors of your pictures, add a CSV file to their folder."
        raise InvalidInput(
            f"audit of {dataset.id}: expected two images or more, and a factor with two values or more, received "
            f"{len(dataset)} images, {len(varying_columns)} such factors. {remedy}"
        )
    random_distances = _random_distances(dataset, pairs, seed)
    random_mean = _estimate_mean(random_distances, _bootstrap_weights(len(random_distances), seed))
    collisions, sample = _count_collisions(dataset, pairs, seed)
    progress(1)
    labels = dataset.labels(np.arange(len(dataset)))
    factors, correlations = [], []
    for column in varying_columns:
        factor_audit, bootstrap = _audit_factor(dataset, labels, column, traversals, seed, np.sort(random_distances))
        factors.append(factor_audit)
        if not math.isnan(factor_audit.correlation.value):
            weights = factor_audit.importance.value, bootstrap["importance"]
            correlations.append((*weights, factor_audit.correlation.value, bootstrap["correlation"]))
        progress(1)
    return Audit(
        dataset=dataset.id,
        version=dataset.version,
        images=len(dataset),
        seed=seed,
        factors=tuple(factors),
        random=random_mean,
        sample=sample,
        collisions=collisions,
        giveaway=_giveaway(correlations),
    )


def _giveaway(
    correlations: Sequence[tuple[float, NDArray[np.float64], float, NDArray[np.float64]]],
) -> Estimate:
    """Weigh correlations by importance; negative ones count as 0. Each entry holds both, with bootstrap replicates."""
    if not correlations:
        return Estimate(math.nan, math.nan, math.nan)
    total = sum(weight for weight, *_ in correlations)
    if not total:  # all images are equal, so that nothing is told
        return Estimate(0.0, 0.0, 0.0)
    value = sum(weight * max(0.0, rho) for weight, _, rho, _ in correlations) / total
    replicates = np.sum([weights * np.maximum(rhos, 0.0) for _, weights, _, rhos in correlations], axis=0)
    replicates /= np.maximum(np.sum([weights for _, weights, *_ in correlations], axis=0), np.finfo(float).tiny)
    return Estimate(value, *_interval_ends(replicates))


def _audit_factor(
    dataset: Dataset, labels: Indices, column: int, limit: int, seed: int, sorted_random_distances: NDArray[np.float64]
) -> tuple[FactorAudit, Mapping[str, NDArray[np.float64]]]:
    """Measure one factor.

    Returns:
        What was found, and the bootstrap replicates of its importance and correlation.
    """
    factor = dataset.space.factors[column]
    # Each factor has draws of its own, so that their errors are independent.
    factor_seed = int(draws.bits(seed, [column], 1)[0, 0])
    traversals = _choose_traversals(labels, dataset.space.sizes, column, limit, factor_seed)
    measures = np.full((len(traversals), 6), math.nan)
    with threadpoolctl.threadpool_limits(1):  # products this small lose more by waiting for threads than they gain
        for position, rows in enumerate(traversals):
            values = labels[rows, column]
            distances = mean_squared_errors(dataset.images(rows))
            measures[position] = _measure_traversal(factor, values, distances, sorted_random_distances)
    weights = _bootstrap_weights(len(traversals), factor_seed)
    importance, above_random, equal, correlation, neighbours, others = np.ascontiguousarray(measures.T)
    ordered_count = int(np.isfinite(correlation).sum())
    factor_audit = FactorAudit(
        factor=factor,
        traversals=len(traversals),
        few=ordered_count if ordered_count < min(MIN_TRAVERSALS, limit) else 0,
        importance=_estimate_mean(importance, weights),
        above_random=_estimate_mean(above_random, weights),
        correlation=_estimate_mean(correlation, weights),
        overlap=_overlap(neighbours, others, weights),
        equal=_estimate_mean(equal, weights),
    )
    bootstrap = {"importance": _replicates(importance, weights), "correlation": _replicates(correlation, weights)}
    return factor_audit, bootstrap


def _choose_traversals(labels: Indices, sizes: Sequence[int], column: int, max_count: int, seed: int) -> list[Indices]:
    """Choose rows that differ in one factor alone: distinct traversals of two values or more, a row for each value.

    Where several rows have the same labels, each is in another traversal, at random.
    """
    key, span = np.zeros(len(labels), np.int64), 1
    for other_column, size in enumerate(sizes):
        if other_column != column:
            if span * size * sizes[column] >= 2**62:  # number the combinations that there are, so that none is lost
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
                span = int(key.max()) + 1
            key, span = key * size + labels[:, other_column], span * size
    order = draws.permutation(seed, len(labels))
    codes, inverse = np.unique((key * sizes[column] + labels[:, column])[order], return_inverse=True)
    if len(codes) < len(labels):
        needs("the audit of rows with equal labels", "metrics", "pandas")
        import pandas as pd

        occurrences = pd.Series(inverse).groupby(inverse).cumcount().to_numpy()
        key[order] = np.unique(key, return_inverse=True)[1][order] * (int(occurrences.max()) + 1) + occurrences
    codes, first_rows = np.unique(key * sizes[column] + labels[:, column], return_index=True)
    starts = np.flatnonzero(np.diff(codes // sizes[column], prepend=-1))
    lengths = np.diff(starts, append=len(codes))
    starts, lengths = starts[lengths > 1], lengths[lengths > 1]
    traversals = []
    for number in draws.sample(seed, len(starts), max_count):
        offsets = np.unique(np.linspace(0, lengths[number] - 1, MAX_VALUES).round().astype(np.int64))
        traversals.append(first_rows[starts[number] + offsets].astype(np.int64))
    return traversals


def _class_id_distances(factor: Factor, values: Indices) -> Indices:
    """Return the distances between class ids, shape (n, n): round the circle for a cyclic factor.

    Two classes with one value, such as an angle of 0 and of 2 pi, are 0 apart.
    """
    steps: Indices = np.abs(values[:, None] - values)
    return np.minimum(steps, factor.circle - steps) if factor.kind == "cyclic" else steps


def _measure_traversal(
    factor: Factor, values: Indices, distances: NDArray[np.float64], sorted_random_distances: NDArray[np.float64]
) -> tuple[float, float, float, float, float, float]:
    """Measure one traversal.

    Returns:
        Mean distance, the share of pairs above random pairs, the share of equal pairs, Spearman's correlation, mean
        distance of neighbours, mean distance of other pairs. The last three are NaN where there is no order.
    """
    upper = np.triu_indices(len(values), 1)
    id_distances, perceived = _class_id_distances(factor, values)[upper], distances[upper]
    share = np.searchsorted(sorted_random_distances, perceived, side="left").mean() / len(sorted_random_distances)
    measures = float(perceived.mean()), float(share), float((perceived == 0).mean())
    steps = np.unique(id_distances[id_distances > 0])
    if factor.kind not in ("ordinal", "cyclic") or len(steps) < 2:
        return *measures, math.nan, math.nan, math.nan
    neighbours, others = (float(perceived[mask].mean()) for mask in (id_distances == steps[0], id_distances > steps[0]))
    if np.ptp(perceived) == 0:
        return *measures, 0.0, neighbours, others
    needs("rank correlations", "metrics", "scipy")
    import scipy.stats

    return *measures, float(scipy.stats.spearmanr(id_distances, perceived).statistic), neighbours, others


def _random_distances(dataset: Dataset, pairs: int, seed: int) -> NDArray[np.float64]:
    """Return the perceived distances of random pairs of different rows, shape (pairs,)."""
    uniform = draws.uniform(seed, np.arange(pairs), 2)
    first = (uniform[:, 0] * len(dataset)).astype(np.int64)
    second = (first + 1 + (uniform[:, 1] * (len(dataset) - 1)).astype(np.int64)) % len(dataset)
    return squared_distances(dataset, first, second) / (255.0**2 * math.prod(dataset.image_shape))


def _count_collisions(dataset: Dataset, max_images: int, seed: int) -> tuple[int, int]:
    """Count images that are equal to another one of the sample whose labels differ; and the sample."""
    rows = draws.sample(seed, len(dataset), max_images)
    labels_by_hash: dict[bytes, list[bytes]] = {}
    for batch, images in dataset.batches(rows, batch_size=BATCH):
        for image, ids in zip(images, dataset.labels(batch), strict=True):
            labels_by_hash.setdefault(hashlib.sha256(image.tobytes()).digest(), []).append(ids.tobytes())
    return sum(len(image_labels) for image_labels in labels_by_hash.values() if len(set(image_labels)) > 1), len(rows)


def _bootstrap_weights(count: int, seed: int) -> NDArray[np.float64]:
    """Return how often each of some things is in each bootstrap sample, shape (REPLICATES, count)."""
    if not count:
        return np.zeros((REPLICATES, 0))
    chosen = (draws.uniform(seed, np.arange(REPLICATES), count) * count).astype(np.int64)
    cells = chosen + np.arange(REPLICATES)[:, None] * count
    counts = np.bincount(cells.ravel(), minlength=REPLICATES * count)
    return counts.reshape(REPLICATES, count).astype(np.float64)


def _replicates(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted means of the values that are not NaN, shape (REPLICATES,); NaN where there is none."""
    is_finite = np.isfinite(values)
    total_weights = weights[:, is_finite].sum(axis=1)
    sums = (weights[:, is_finite] * values[is_finite]).sum(axis=1)
    return np.divide(sums, total_weights, out=np.full(len(weights), math.nan), where=total_weights > 0)


def _estimate_mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> Estimate:
    """Estimate the mean of the values that are not NaN."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Estimate(math.nan, math.nan, math.nan)
    return Estimate(float(finite.mean()), *_interval_ends(_replicates(values, weights)))


def _overlap(neighbours: NDArray[np.float64], others: NDArray[np.float64], weights: NDArray[np.float64]) -> Estimate:
    """Estimate how much nearer neighbours are than others."""
    if not np.nansum(others):
        return Estimate(math.nan, math.nan, math.nan)
    means = _replicates(others, weights)
    ratios = np.divide(_replicates(neighbours, weights), means, out=np.full(len(means), math.nan), where=means > 0)
    return Estimate(1 - float(np.nanmean(neighbours) / np.nanmean(others)), *_interval_ends(1 - ratios))


def _interval_ends(replicates: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the percentile interval of bootstrap replicates."""
    low, high = np.nanquantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
