"""Verdicts on claims about groups of seeds: supported, opposed, or no significant difference.

The board and the studies share one rule. A claim states that one group of scores is higher than another; `compare`
returns the difference of the means, its 95% interval and a two-sided p-value, and `judge` or `judge_all` the verdict.

Which test, and why (`benchmarks/seeds.py` measures every figure; `docs/statistics.md` shows them):

- **Independent groups: a permutation test of the difference of means.** If both groups come from one distribution, its
  error rate is exact for any distribution, and scores of seeds are skewed and clustered. If only the means are equal
  and variances differ, it errs more often. If there are few splits, all are enumerated; else `RESAMPLES` are drawn and
  the observed one is added. Its p-value is at least 2/70 for 4 seeds per group and 2/252 for 5.
- **So no such test is significant after Holm's correction over many**: 0.05 / 7 is below 2/252. Seven methods with 5
  seeds each, tested one by one, reach no verdict, however different they are. So there is one test for each sentence of
  a paper instead of one for each method: each method is a stratum, labels are exchanged within strata, and the
  differences are summed. The smallest p-value is 2/4,900 with two strata of 4 seeds, and 2/10,000, that of drawn
  splits, with more seeds or strata; this can be significant after Holm's correction over a page.
- **Seeds that are paired by design** (two measurements of one run) **and values against a constant: Student's t of the
  differences**, since the p-value of a sign-flip test is at least 2/32 with 5 pairs.
- **A single encoder against the seeds of a method: a prediction interval.** Against the mean alone, about 40% of the
  published seeds differ significantly from the other seeds of their own method (MIG, tier desk); as one more
  seed, about 5% do.
- **All pairs of several methods: Welch's test and Holm**, for the same reason; ranks and bands are computed from them.
  If scores form two clusters, Welch's test alone errs too often in the tails; over the pairs of nine methods with 5
  seeds the family-wise error is then 0.06.
- **A seed counts once.** Runs of one seed have the same initial weights, and those of one objective the same rows.
  Scores of one method on forms of a dataset are correlated, and so are those of two similar methods (docs/statistics.md
  reports how much). So over tasks and over methods the spread is that of the mean of each seed. If `compare` has
  several strata, the exchange of labels treats them as independent; so Welch's test of these means must be significant,
  too: the larger p-value counts.

A claim can have a floor: "the score decreases" is judged only where it can decrease (`FLOOR`). The floor is part of the
statistic, applied again in each permutation: otherwise the scores of methods selected for high scores would seem to
decrease by the selection alone.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from leaderboard.store.intervals import ERROR, SEEDS, Floats, finite_scores, rounding, squared_error, t_quantile, t_tail

Answer: TypeAlias = Literal[
    "supported",
    "no significant difference",
    "opposed",
    "not testable (below baseline)",
    "too few seeds",
    "neither above untrained",
]
"""Verdicts on a claim. Below baseline: no group reaches the score that its test needs."""

OWN_DATA = frozenset({"xysquares", "dsprites", "shapes3d", "cars3d", "smallnorb", "symsol_reduced", "celeba"})
"""The papers' own datasets, bit for bit: published archives, and datasets that a rule renders exactly.

XYSquares is rendered by its authors' rule. Every other rendered dataset is a stand-in for one of the papers, and so is
a changed form of any dataset (``dsprites_noisy``), unless it is listed here.
"""

VERDICTS: Mapping[str, tuple[str, str]] = {
    "supported": ("replicated", "replicated on a stand-in"),
    "opposed": ("contradicted", "not replicated on a stand-in"),
}
"""Answer -> verdict on a paper's claim on its own data, and on other data; other answers are verdicts themselves."""

FLOOR = 0.1
"""The mean MIG that original data must reach, besides that of PCA, for a decrease to be judged."""

CHANCE = 0.01
"""Two methods are not compared if neither scores this much above an untrained encoder."""

NEITHER: Answer = "neither above untrained"
"""The verdict on those. Holm's correction counts them, since the same scores decided that they are not tested."""

RESAMPLES = 9_999
"""The most splits of all strata together that are enumerated; of more, this number is drawn."""


class Comparison(NamedTuple):
    """Two groups of scores, or several such pairs of groups.

    Attributes:
        difference: of the means, mean over the strata that reach their floor; over all if none does.
        low: lower end of its 95% interval; NaN below `SEEDS` seeds.
        high: upper end.
        p: two-sided p-value of no difference; None if nothing was tested.
        seeds: of the smallest group; if a single encoder is compared with seeds, the number of these.
        reached: the number of strata that reach their floor.
    """

    difference: float
    low: float
    high: float
    p: float | None
    seeds: int
    reached: int

    def turned(self) -> Comparison:
        """Return the comparison with the groups exchanged.

        Example:
            >>> Comparison(0.5, 0.25, 1.0, 0.01, 5, 1).turned()
            Comparison(difference=-0.5, low=-1.0, high=-0.25, p=0.01, seeds=5, reached=1)
        """
        return self._replace(difference=-self.difference, low=-self.high, high=-self.low)

    def untested(self) -> Comparison:
        """Return the comparison without a p-value, as if no group had reached its floor.

        Example:
            >>> Comparison(0.5, 0.25, 1.0, 0.01, 5, 1).untested()
            Comparison(difference=0.5, low=0.25, high=1.0, p=None, seeds=5, reached=0)
        """
        return self._replace(p=None, reached=0)


def in_words(answer: Answer, *, supported: str, opposed: str) -> str:
    """Put an answer in words.

    Args:
        answer: the answer.
        supported: the words for ``"supported"``.
        opposed: the words for ``"opposed"``.

    Returns:
        One of these, or the answer itself if it is another.

    Example:
        >>> in_words("supported", supported="lower", opposed="higher")
        'lower'
        >>> in_words("too few seeds", supported="lower", opposed="higher")
        'too few seeds'
    """
    return supported if answer == "supported" else opposed if answer == "opposed" else answer


def is_at_chance(first: float, second: float, untrained: Sequence[float]) -> bool:
    """Return whether neither of two means exceeds that of untrained encoders by `CHANCE`; False without such encoders.

    Example:
        >>> is_at_chance(0.002, 0.008, [0.003]), is_at_chance(0.002, 0.02, [0.003]), is_at_chance(0.0, 0.0, [])
        (True, False, False)
    """
    return bool(untrained) and max(first, second) <= float(np.mean(untrained)) + CHANCE


def is_own_data(datasets: Iterable[str]) -> bool:
    """Return whether all datasets are the papers' own.

    Args:
        datasets: full names. A claim without datasets is about random numbers, which anyone can draw.

    Example:
        >>> is_own_data(["xysquares/spacing_8"]), is_own_data(["xysquares/spacing_8", "room3d"]), is_own_data([])
        (True, False, True)
    """
    return all(name.partition("/")[0] in OWN_DATA for name in datasets)


def verdict(answer: str, datasets: Iterable[str]) -> str:
    """Return the verdict on a paper's claim: only results on the paper's own data replicate or contradict it.

    Args:
        answer: an `Answer`, or another word, which is returned unchanged.
        datasets: full names of the datasets.

    Example:
        >>> verdict("opposed", ["xysquares/spacing_8"]), verdict("opposed", ["room3d"])
        ('contradicted', 'not replicated on a stand-in')
    """
    on_own_data, on_other_data = VERDICTS.get(answer, (answer, answer))
    return on_own_data if is_own_data(datasets) else on_other_data


def floor(score: str, of_pca: float) -> float:
    """Return the mean score that a task must reach for a decrease from there to be judged.

    Args:
        score: its key, such as ``mig``.
        of_pca: the score of PCA on the task.

    Returns:
        PCA's score, and for MIG at least `FLOOR`.

    Example:
        >>> floor("mig", 0.05), floor("dci.disentanglement", 0.05)
        (0.1, 0.05)
    """
    return max(of_pca, FLOOR) if score == "mig" else of_pca


def compare(
    higher: Sequence[ArrayLike], lower: Sequence[ArrayLike], *, paired: bool = False, floors: Sequence[float] = ()
) -> Comparison:
    """Compare groups that are higher according to a claim with groups that are lower.

    Args:
        higher: one group of scores, shape (n,), for each stratum, seeds in the same order; a claim about one pair of
            groups has one stratum.
        lower: the same number of groups, shapes (m,). To compare with a constant, repeat it and set ``paired``.
        paired: whether the i-th scores of both groups belong together: two measurements of one run, or by design two
            runs of one seed.
        floors: for each stratum, the least mean of its higher group; no floors if empty.

    Returns:
        The comparison. The p-value of independent groups is that of a permutation test; over several strata that reach
        their floor, Welch's for the means of each seed, if that is larger. For paired groups it is that of Student's t,
        which is 0 if all differences are equal: scores with few possible values need many seeds. The interval is
        Welch's or Student's, of the strata that reach their floor, without a correction for that choice.

    Raises:
        InvalidInput: no strata, unequal numbers of strata, floors or paired scores, an empty group, or a score that is
            not finite.

    Example:
        >>> comparison = compare([[0.50, 0.52, 0.54, 0.56, 0.58]], [[0.10, 0.12, 0.14, 0.16, 0.18]])
        >>> round(comparison.difference, 3), round(comparison.p, 4)  # 2 of 252 splits are as far apart
        (0.4, 0.0079)
    """
    strata = _strata(higher, lower, paired)
    bounds = list(floors) or [-math.inf] * len(strata)
    if len(bounds) != len(strata):
        raise InvalidInput(f"floors: expected one for each of {len(strata)} strata, received {len(bounds)}.")
    bounds = [bound - rounding(x.mean()) for (x, _), bound in zip(strata, bounds, strict=True)]
    passing = [pair for pair, bound in zip(strata, bounds, strict=True) if pair[0].mean() >= bound]
    comparison = _t_test(passing or strata, _fewest_seeds(strata), paired)
    p = comparison.p if passing else None
    if p is not None and not paired:
        permutation_p = _permutation_p_value(strata, bounds)
        p = permutation_p if len(passing) == 1 else max(permutation_p, p)
    return comparison._replace(p=p, reached=len(passing))


def welch(higher: Sequence[ArrayLike], lower: Sequence[ArrayLike]) -> Comparison:
    """Compare two methods by Welch's test, whose p-value has no lower bound: for many comparisons of few seeds.

    Args:
        higher: the scores of one method on each task, shapes (n,), seeds in the same order.
        lower: those of the other on the same tasks, shapes (m,).

    Returns:
        The comparison, with a task as a stratum; over several tasks a seed of a method counts once. If no scores
        vary by more than `rounding`, its p-value is 0 or 1, as in `rank_intervals.pairwise_p_values`.

    Raises:
        InvalidInput: as `compare`.

    Example:
        >>> comparison = welch([[0.50, 0.52, 0.54, 0.56, 0.58]], [[0.10, 0.12, 0.14, 0.16, 0.18]])
        >>> comparison.p < 1e-6
        True
    """
    strata = _strata(higher, lower, paired=False)
    return _t_test(strata, _fewest_seeds(strata), paired=False)


def compare_single(score: float, seeds: ArrayLike) -> Comparison:
    """Compare one encoder with a method: could its score be that of one more seed?

    Args:
        score: that of the encoder, assumed to vary by seed as much as the others.
        seeds: the scores of the method, shape (n,).

    Returns:
        The comparison: the difference from the mean with a 95% prediction interval, and the p-value of Student's t with
        standard error s √(1 + 1/n), s the standard deviation of the seeds.

    Raises:
        InvalidInput: no seeds, or a score that is not finite.

    Example:
        >>> comparison = compare_single(0.75, [0.5, 0.6, 0.7, 0.8])
        >>> round(comparison.difference, 3), round(comparison.p, 3)
        (0.1, 0.538)
    """
    others = finite_scores(seeds, 1)
    alone = np.repeat(finite_scores([score], 1), len(others))
    return _t_test([(alone, others)], len(others), paired=True, widened=math.sqrt(len(others) + 1))


def compare_methods(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> Comparison:
    """Compare two methods: by `welch`, or by `compare_single` if one of them has a single encoder.

    Args:
        first: the scores of one method on each task, seeds in the same order.
        second: those of the other on the same tasks. Over several tasks, a single encoder is compared with the seeds
            that the other has on all, by the mean over tasks.

    Returns:
        The comparison of first minus second.

    Example:
        >>> compare_methods([[0.5, 0.6, 0.7, 0.8]], [[0.75]]) == compare_single(0.75, [0.5, 0.6, 0.7, 0.8]).turned()
        True
    """
    for single, seeded in ((first, second), (second, first)):
        if all(len(scores) == 1 for scores in single):
            seeds = min(map(len, seeded))
            comparison = compare_single(float(np.mean(single)), np.mean([scores[:seeds] for scores in seeded], axis=0))
            return comparison if single is first else comparison.turned()
    return welch(first, second)


def judge(family: Sequence[Comparison]) -> tuple[tuple[Answer, float | None], ...]:
    """Judge several claims together, such as the rows of a table.

    Args:
        family: a comparison for each claim.

    Returns:
        For each the verdict, and its p-value after Holm over the family. Comparisons without a p-value count in the
        correction, too, since the same scores decided that they are not tested.

    Example:
        >>> far, near = ([0.5, 0.6, 0.7, 0.8, 0.9],), ([0.1, 0.2, 0.3, 0.35, 0.4],)
        >>> [(answer, round(p, 3)) for answer, p in judge([compare(far, near), compare(far, far)])]
        [('supported', 0.016), ('no significant difference', 1.0)]
    """
    adjusted = holm([_p_value(claim) for claim in family])
    return tuple(
        (_answer(claim, p), None if claim.p is None else p) for claim, p in zip(family, adjusted.tolist(), strict=True)
    )


def judge_all(parts: Sequence[Comparison]) -> tuple[Answer, float | None]:
    """Judge one claim of several parts, such as "for every model and both scores".

    It is supported if each part is. This needs no correction, since "supported" is wrong only if it is for some part,
    with the error rate of one test (Berger's intersection-union test): the p-value is the largest one, and 1 if one of
    several parts has the opposite sign. It is opposed if a part is, by Holm over the parts.

    Args:
        parts: a comparison for each part.

    Returns:
        The verdict and its p-value; None if nothing was tested.

    Raises:
        InvalidInput: no parts.

    Example:
        >>> high, low = ([0.5, 0.6, 0.7, 0.8, 0.9],), ([0.1, 0.2, 0.3, 0.35, 0.4],)
        >>> judge_all([compare(high, low), compare(high, high)])
        ('no significant difference', 1.0)
        >>> judge_all([compare(high, low), compare(low, high)])[0]
        'opposed'
    """
    deciding = decisive(parts)
    return _answer(deciding, _p_value(deciding)), deciding.p


def decisive(parts: Sequence[Comparison]) -> Comparison:
    """Return the comparison that decides a claim of several parts in `judge_all`.

    Args:
        parts: a comparison for each part.

    Returns:
        The first of these that exists: (1) of the parts that oppose the claim (Holm over the parts), the one with the
        smallest corrected p-value, ties broken by the uncorrected one; its ``p`` is the corrected one. (2) Of the parts
        without a p-value, the one with the fewest seeds. (3) The part with the largest p-value, where a part whose
        difference is not positive has p = 1 if there are several parts; of equal ones that with the least difference.

    Raises:
        InvalidInput: no parts.

    Example:
        >>> high, low = ([0.5, 0.6, 0.7, 0.8, 0.9],), ([0.1, 0.2, 0.3, 0.35, 0.85],)
        >>> decisive([compare(high, low), compare(low, low)]).p
        1.0
    """
    if not parts:
        raise InvalidInput("parts of a claim: expected at least one, received none.")
    opposing = [
        (p, _p_value(part), part) for part, (answer, p) in zip(parts, judge(parts), strict=True) if answer == "opposed"
    ]
    if opposing:
        p, _, part = min(opposing, key=lambda entry: entry[:2])
        return part._replace(p=p)
    undecided = [part for part in parts if part.p is None]
    if undecided:
        return min(undecided, key=lambda part: part.seeds)
    if len(parts) > 1:
        parts = [part if part.difference > 0 else part._replace(p=1.0) for part in parts]
    return max(parts, key=lambda part: (_p_value(part), -part.difference))


def _p_value(comparison: Comparison) -> float:
    return 1.0 if comparison.p is None else comparison.p


def _answer(comparison: Comparison, p: float) -> Answer:
    if comparison.seeds < SEEDS:
        return "too few seeds"
    if not comparison.reached:
        return "not testable (below baseline)"
    if p > ERROR:
        return "no significant difference"
    return "supported" if comparison.difference > 0 else "opposed"


def holm(p_values: ArrayLike) -> Floats:
    """Correct p-values for multiple tests after Holm (1979), which is valid for any dependence between them.

    Args:
        p_values: shape (k,).

    Returns:
        float64 (k,), at most 1. If those up to 0.05 are rejected, at most 5% of families have a false rejection.

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
        [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return corrected


def _strata(higher: Sequence[ArrayLike], lower: Sequence[ArrayLike], paired: bool) -> list[tuple[Floats, Floats]]:
    if len(higher) != len(lower) or not higher:
        raise InvalidInput(
            f"groups: expected as many higher as lower ones, at least one, received {len(higher)} and {len(lower)}."
        )
    strata = [(finite_scores(x, 1), finite_scores(y, 1)) for x, y in zip(higher, lower, strict=True)]
    for x, y in strata:
        if paired and len(x) != len(y):
            raise InvalidInput(f"pairs: expected as many scores on either side, received {len(x)} and {len(y)}.")
    return strata


def _standard_error(sides: Iterable[Sequence[Floats]]) -> tuple[float, float]:
    """Return the standard error of a difference of means and its degrees of freedom, after Welch and Satterthwaite."""
    squared, freedom = np.array([squared_error(tasks) for tasks in sides]).T
    total = squared.sum()
    if total <= 0:
        return 0.0, float(freedom.sum())
    return math.sqrt(total), float(total**2 / (squared**2 / freedom).sum())


def _t_test(strata: Sequence[tuple[Floats, Floats]], seeds: int, paired: bool, *, widened: float = 1.0) -> Comparison:
    """Compare by Student's t (paired) or Welch's, a seed counted once; below `SEEDS` seeds, only by the difference.

    The standard error is multiplied by ``widened``.
    """
    difference = float(np.mean([x.mean() - y.mean() for x, y in strata]))
    if seeds < SEEDS:
        return Comparison(difference, math.nan, math.nan, None, seeds, len(strata))
    error, freedom = _standard_error([[x - y for x, y in strata]] if paired else zip(*strata, strict=True))
    error *= widened
    tolerance = rounding([group.mean() for pair in strata for group in pair])
    half, p = 0.0, float(abs(difference) <= tolerance)  # without spread
    if error > tolerance:
        half, p = t_quantile(freedom) * error, float(2 * t_tail(abs(difference) / error, freedom))
    return Comparison(difference, difference - half, difference + half, p, seeds, len(strata))


def _fewest_seeds(strata: Sequence[tuple[Floats, Floats]]) -> int:
    return min(len(group) for pair in strata for group in pair)


def _permutation_p_value(strata: Sequence[tuple[Floats, Floats]], bounds: Sequence[float]) -> float:
    """Return the two-sided p-value of exchanging the labels within strata; a stratum below its bound counts as 0."""
    is_exact = math.prod(math.comb(len(x) + len(y), len(x)) for x, y in strata) <= RESAMPLES
    observed = np.zeros(1)
    permuted = np.zeros(1)
    for stratum, ((x, y), bound) in enumerate(zip(strata, bounds, strict=True)):
        pooled, n = np.concatenate([x, y]), len(x)
        if is_exact:
            members = np.array(list(itertools.combinations(range(len(pooled)), n))).T
        else:
            members = _draw_orders(stratum, len(pooled))[:n]
        first_means = pooled[members].mean(axis=0)
        second_means = (pooled.sum() - n * first_means) / len(y)
        differences = np.where(first_means >= bound, first_means - second_means, 0.0)
        permuted = np.add.outer(permuted, differences).ravel() if is_exact else permuted + differences
        observed = observed + np.where(x.mean() >= bound, x.mean() - y.mean(), 0.0)
    tolerance = rounding([group.mean() for pair in strata for group in pair])
    extra = 0 if is_exact else 1
    tails = [np.count_nonzero(permuted >= observed - tolerance), np.count_nonzero(permuted <= observed + tolerance)]
    return float(min(1.0, 2 * (min(tails) + extra) / (len(permuted) + extra)))


@functools.lru_cache(maxsize=512)
def _draw_orders(stratum: int, count: int) -> NDArray[np.integer]:
    """Draw `RESAMPLES` permutations, the same on every machine: a column each, shape (count, RESAMPLES)."""
    orders = np.argsort(draws.uniform(stratum, np.arange(RESAMPLES), count), axis=1)
    return np.ascontiguousarray(orders.T, np.min_scalar_type(count))
