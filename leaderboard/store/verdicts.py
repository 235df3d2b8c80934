"""From groups of seeds to a verdict: is a claim supported, opposed, or is there no significant difference?

One rule serves the board and the studies. A claim says that one group of scores is the higher one; `compare` gives the
difference of the means, its 95% interval and a two-sided p-value, and `judge` or `judge_all` the verdict.

Which test, and why (`benchmarks/seeds.py` measures every figure; `docs/statistics.md` shows them):

- **Independent groups: a permutation test of the difference of means.** Where both groups come from one distribution it
  keeps its error, whatever that is, and scores of seeds are skewed and come in clumps. Where only the means are equal
  and spreads differ, it errs more often. All splits are gone through where there are few, else `RESAMPLES` drawn ones
  and the one that was seen. Its p-value is at least 2/70 for 4 seeds a side and 2/252 for 5.
- **So Holm over many such tests decides nothing**: 0.05 / 7 is below 2/252. Seven methods with 5 seeds each, tested one
  by one, come to no verdict, however far apart. Hence one test for each sentence of a paper instead of one for each
  method: groups may come in strata (a method each), labels are exchanged within each, and the differences are summed.
  With two strata of 4 seeds the least p-value of that is 2/4,900, with more seeds or strata 2/10,000, that of drawn
  splits; and Holm over a page leaves something to decide.
- **Seeds that are paired by design** (two measurements of one run) **and values against a constant: Student's t of the
  differences**, since exchanging signs cannot get below 2/32 with 5 pairs.
- **All pairs of several methods: Welch's test and Holm**, for the same reason; ranks and bands are made of them. Where
  scores come in two clumps, Welch alone errs too often far out; over the pairs of up to ten methods with 5 seeds the
  family's error is still kept.
- **A seed counts once.** Runs of one seed begin with the same weights, and those of one objective take the same rows.
  Scores of one method on forms of a dataset go together, and so do those of two methods that are much alike
  (docs/statistics.md measures how far). So over tasks and over methods what spreads is the mean of each seed. Where
  `compare` has several strata, the exchange of labels takes them for independent; so Welch's test of these means must
  tell the groups apart, too: the larger p-value counts.

A gate can be part of a claim: "it falls" is judged only where there is something to lose (`FLOOR`). The gate is part of
the statistic, looked at anew in each permutation: methods that were chosen because they came out high would otherwise
seem to fall by themselves.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput

Answer: TypeAlias = Literal[
    "supported", "no significant difference", "opposed", "not testable (below baseline)", "too few seeds"
]
"""What scores say of a claim. Below baseline: no group reaches what it takes to test it."""

OWN_DATA = frozenset({"xysquares", "dsprites", "shapes3d", "cars3d", "smallnorb", "symsol_reduced", "celeba"})
"""The datasets that are the papers' own, to the bit: published archives, and what a rule renders exactly.

XYSquares is made by its authors' rule. Every other rendered dataset stands in for one of the papers, and so does a
changed form of any dataset (``dsprites_noisy``), unless its name is put here.
"""

VERDICTS: Mapping[str, tuple[str, str]] = {
    "supported": ("replicated", "replicated on a stand-in"),
    "opposed": ("contradicted", "not replicated on a stand-in"),
}
"""Answer -> what is said of a paper's claim on its own data, and on other data; other answers are said as they are."""

SEEDS = 4
"""The fewest seeds of a group from which anything is concluded: of three against three the least p-value is 2 in 20."""

ERROR = 0.05
"""How often "supported" or "opposed" may be said, taken together, where there is no difference."""

FLOOR = 0.1
"""The mean MIG that original data must reach, besides that of PCA, for a fall to be judged."""

RESAMPLES = 9_999
"""Splits of all strata together that are gone through, or drawn where there are more."""

Floats: TypeAlias = NDArray[np.float64]


def slack(means: ArrayLike) -> float:
    """Return by how much means of scores may differ that are equal but for rounding.

    Args:
        means: those that are compared, real numbers of any shape.

    Returns:
        1e-9 times the largest of them, and at least 1e-9.

    Example:
        >>> abs(0.1 + 0.2 - 0.3) <= slack([0.1 + 0.2, 0.3]), slack([-2e3, 1e3]) > 1e-6
        (True, True)
    """
    return 1e-9 * float(np.abs(means).max(initial=1.0))


def finite_scores(values: ArrayLike, least: int) -> Floats:
    """Return scores as an array, once they are found to be finite and enough.

    Args:
        values: one score per seed, shape (n,).
        least: how many there must be.

    Returns:
        float64, shape (n,).

    Raises:
        InvalidInput: they are fewer or of another shape, or one is not finite or no number.
    """
    try:
        scores = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        scores = np.array(math.nan)
    if scores.ndim != 1 or len(scores) < least or not np.isfinite(scores).all():
        raise InvalidInput(f"scores: expected at least {least} finite numbers, received {values!r}.")
    return scores


def score_rows(rows: Sequence[ArrayLike], least: int) -> Floats:
    """Return several scores of the same seeds as one array.

    Args:
        rows: for each score one value per seed, shape (n,); at least one score.
        least: how many seeds there must be.

    Returns:
        float64, shape (scores, n).

    Raises:
        InvalidInput: there is no score, one has fewer seeds or more than another, or a value is not finite.
    """
    found = [finite_scores(row, least) for row in rows]
    sizes = sorted({len(row) for row in found})
    if len(sizes) != 1:
        raise InvalidInput(f"scores: expected one or more, all of the same seeds, received {sizes} seeds.")
    return np.array(found)


class Comparison(NamedTuple):
    """Two groups of scores, or several such pairs of groups.

    Attributes:
        difference: of the means, mean over the strata that reach their floor; over all of them where none does.
        low: lower end of its 95% interval; NaN below `SEEDS` seeds.
        high: upper end.
        p: two-sided p-value of no difference; None where there is no verdict to come to.
        seeds: in the smallest group.
        reached: how many strata reach their floor.
    """

    difference: float
    low: float
    high: float
    p: float | None
    seeds: int
    reached: int

    def turned(self) -> Comparison:
        """Return the same comparison seen from the other group: what was higher is lower.

        Example:
            >>> Comparison(0.5, 0.25, 1.0, 0.01, 5, 1).turned()
            Comparison(difference=-0.5, low=-1.0, high=-0.25, p=0.01, seeds=5, reached=1)
        """
        return self._replace(difference=-self.difference, low=-self.high, high=-self.low)


def in_words(answer: Answer, *, supported: str, opposed: str) -> str:
    """Put an answer in words.

    Args:
        answer: the answer.
        supported: what is said where the claim is supported.
        opposed: what is said where its opposite is.

    Returns:
        Either, or the answer itself where it is neither.

    Example:
        >>> in_words("supported", supported="lower", opposed="higher")
        'lower'
        >>> in_words("too few seeds", supported="lower", opposed="higher")
        'too few seeds'
    """
    return supported if answer == "supported" else opposed if answer == "opposed" else answer


def own_data(datasets: Iterable[str]) -> bool:
    """Return whether all datasets are the papers' own.

    Args:
        datasets: full names; without any, a claim is about numbers that everyone can draw.

    Example:
        >>> own_data(["xysquares/spacing_8"]), own_data(["xysquares/spacing_8", "room3d"]), own_data([])
        (True, False, True)
    """
    return all(name.partition("/")[0] in OWN_DATA for name in datasets)


def verdict(answer: str, datasets: Iterable[str]) -> str:
    """Return what an answer on some data says of a paper's claim: only its own data replicate or contradict it.

    Args:
        answer: an `Answer`, or another word, which stays.
        datasets: full names of the datasets.

    Example:
        >>> verdict("opposed", ["xysquares/spacing_8"]), verdict("opposed", ["sprites2d"])
        ('contradicted', 'not replicated on a stand-in')
    """
    own, other = VERDICTS.get(answer, (answer, answer))
    return own if own_data(datasets) else other


def floor(score: str, of_pca: float | None) -> float:
    """Return what a mean score on a task must reach for a fall from there to be judged.

    Args:
        score: its key, such as ``mig``.
        of_pca: the score of PCA there; None where nobody scored it.

    Returns:
        PCA's score, and for MIG at least `FLOOR`; for another score without PCA's, no bound at all.

    Example:
        >>> floor("mig", 0.05), floor("dci.disentanglement", 0.05), floor("dci.disentanglement", None)
        (0.1, 0.05, -inf)
    """
    least = FLOOR if score == "mig" else -math.inf
    return least if of_pca is None else max(of_pca, least)


def compare(
    higher: Sequence[ArrayLike], lower: Sequence[ArrayLike], *, paired: bool = False, floors: Sequence[float] = ()
) -> Comparison:
    """Compare groups that a claim says are higher with groups that it says are lower.

    Args:
        higher: one group of scores, shape (n,), for each stratum, seeds in the same order; a claim about one pair of
            groups has one stratum.
        lower: the same number of groups, shapes (m,). For one constant each, repeat it and say ``paired``.
        paired: the i-th score of a group belongs to the i-th of the other: two measurements of one run, or by design
            two runs of one seed.
        floors: for each stratum, what the mean of its higher group must reach; none if empty.

    Returns:
        The comparison. Independent groups have the p-value of a permutation test; over several strata that reach their
        floor, Welch's of the means of each seed, if that is larger. Paired ones have that of Student's t. The interval
        is Welch's or Student's, of the strata that reach their floor, without a correction for that choice.

    Raises:
        InvalidInput: no strata, other numbers of them, an empty group, a score that is not finite, or pairs that are
            not.

    Example:
        >>> found = compare([[0.50, 0.52, 0.54, 0.56, 0.58]], [[0.10, 0.12, 0.14, 0.16, 0.18]])
        >>> round(found.difference, 3), round(found.p, 4)  # 2 of 252 splits are as far apart
        (0.4, 0.0079)
    """
    strata = _strata(higher, lower, paired)
    bounds = list(floors) or [-math.inf] * len(strata)
    if len(bounds) != len(strata):
        raise InvalidInput(f"floors: expected one for each of {len(strata)} strata, received {len(bounds)}.")
    bounds = [bound - slack(x.mean()) for (x, _), bound in zip(strata, bounds, strict=True)]
    passing = [pair for pair, bound in zip(strata, bounds, strict=True) if pair[0].mean() >= bound]
    found = _by_student(passing or strata, _fewest(strata), paired)
    p = found.p if passing else None
    if p is not None and not paired:
        exchanged = _exchanged(strata, bounds)
        p = exchanged if len(passing) == 1 else max(exchanged, p)
    return found._replace(p=p, reached=len(passing))


def welch(higher: Sequence[ArrayLike], lower: Sequence[ArrayLike]) -> Comparison:
    """Compare two methods by Welch's test, which has no least p-value: for many comparisons of few seeds.

    Args:
        higher: the scores of one method on each task, shapes (n,), seeds in the same order.
        lower: those of the other on the same tasks, shapes (m,).

    Returns:
        The comparison, with a task as a stratum; over several tasks a seed of a method counts once.
        Without spread, but for rounding (`slack`), its p-value is 0 or 1, as in `all_pairs`.

    Raises:
        InvalidInput: as `compare`.

    Example:
        >>> found = welch([[0.50, 0.52, 0.54, 0.56, 0.58]], [[0.10, 0.12, 0.14, 0.16, 0.18]])
        >>> found.p < 1e-6
        True
    """
    strata = _strata(higher, lower, paired=False)
    return _by_student(strata, _fewest(strata), paired=False)


def judge(family: Sequence[Comparison]) -> tuple[tuple[Answer, float | None], ...]:
    """Judge claims that are made side by side, such as the rows of a table.

    Args:
        family: a comparison for each claim.

    Returns:
        For each the verdict, and its p-value after Holm over the family. Comparisons that come to no verdict count,
        too: that they were left out was seen from the same scores.

    Example:
        >>> far, near = ([0.5, 0.6, 0.7, 0.8, 0.9],), ([0.1, 0.2, 0.3, 0.35, 0.4],)
        >>> [(answer, round(p, 3)) for answer, p in judge([compare(far, near), compare(far, far)])]
        [('supported', 0.016), ('no significant difference', 1.0)]
    """
    adjusted = holm([_p(one) for one in family])
    return tuple(
        (_answer(one, p), None if one.p is None else p) for one, p in zip(family, adjusted.tolist(), strict=True)
    )


def judge_all(parts: Sequence[Comparison]) -> tuple[Answer, float | None]:
    """Judge one claim that says several things: "for every model and both scores".

    It is supported where each part is. This asks for no correction, since a wrong "supported" takes a wrong part, and
    each of those has the error of one test (Berger's intersection-union test): the p-value is the largest one, and 1
    where one of several parts points the other way. It is opposed where a part is, by Holm over the parts.

    Args:
        parts: a comparison for each thing that the claim says.

    Returns:
        The verdict and its p-value; None where nothing was tested.

    Raises:
        InvalidInput: no parts.

    Example:
        >>> high, low = ([0.5, 0.6, 0.7, 0.8, 0.9],), ([0.1, 0.2, 0.3, 0.35, 0.4],)
        >>> judge_all([compare(high, low), compare(high, high)])
        ('no significant difference', 1.0)
        >>> judge_all([compare(high, low), compare(low, high)])[0]
        'opposed'
    """
    one = decisive(parts)
    return _answer(one, _p(one)), one.p


def decisive(parts: Sequence[Comparison]) -> Comparison:
    """Return the comparison that decides a claim of several parts, as `judge_all` has it.

    Args:
        parts: a comparison for each thing that the claim says.

    Returns:
        Of those that oppose the claim, by Holm over the parts, the one that tells most, with that p-value; else one
        that has no verdict; else the one that tells least, where one of several that points the other way tells
        nothing for the claim: its p-value is 1.

    Raises:
        InvalidInput: no parts.

    Example:
        >>> high, low = ([0.5, 0.6, 0.7, 0.8, 0.9],), ([0.1, 0.2, 0.3, 0.35, 0.85],)
        >>> decisive([compare(high, low), compare(low, low)]).p
        1.0
    """
    if not parts:
        raise InvalidInput("parts of a claim: expected at least one, received none.")
    against = [one._replace(p=p) for one, (answer, p) in zip(parts, judge(parts), strict=True) if answer == "opposed"]
    if against:
        return min(against, key=_p)
    undecided = [one for one in parts if one.p is None]
    if undecided:
        return min(undecided, key=lambda one: one.seeds)
    if len(parts) > 1:
        parts = [one if one.difference > 0 else one._replace(p=1.0) for one in parts]
    return max(parts, key=_p)


def _p(one: Comparison) -> float:
    return 1.0 if one.p is None else one.p


def _answer(found: Comparison, p: float) -> Answer:
    if found.seeds < SEEDS:
        return "too few seeds"
    if not found.reached:
        return "not testable (below baseline)"
    if p > ERROR:
        return "no significant difference"
    return "supported" if found.difference > 0 else "opposed"


def holm(p_values: ArrayLike) -> Floats:
    """Correct p-values for how many there are, after Holm (1979): no assumption on how they hang together.

    Args:
        p_values: shape (k,).

    Returns:
        float64 (k,), at most 1. Rejecting those up to 0.05 errs in at most 5% of families.

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
        [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return corrected


def all_pairs(groups: Mapping[str, ArrayLike]) -> dict[tuple[str, str], float]:
    """Test every pair of several groups, as a table of methods needs it: Welch's test and Holm over all pairs.

    Args:
        groups: name -> scores, shape (n,) with n >= `SEEDS`.

    Returns:
        Both orders of each pair -> p-value after Holm. Groups without any spread are 0 or 1: equal, or not.

    Raises:
        InvalidInput: a group of fewer seeds, or a score that is not finite.

    Example:
        >>> found = all_pairs({"a": [0.50, 0.51, 0.52, 0.53], "b": [0.1, 0.11, 0.12, 0.13], "c": [0.1, 0.1, 0.1, 0.15]})
        >>> found["a", "b"] < 0.05, found["c", "b"] < 0.05
        (True, False)
    """
    names = list(groups)
    if not names:
        return {}
    p_values = _of_pairs(_Moments([[scores] for scores in groups.values()]))
    return {(names[i], names[j]): float(p_values[i, j]) for i, j in itertools.permutations(range(len(names)), 2)}


class Place(NamedTuple):
    """Where a group stands among others, as far as its seeds tell.

    Attributes:
        low: the best rank that it may have: one more than the groups that are told to be higher.
        high: the worst one.
        band: 1 for the highest band. Each group of a band is told apart from each group of every other band.
    """

    low: int
    high: int
    band: int


def places(
    groups: Mapping[str, Sequence[ArrayLike]], *, printed: Mapping[str, float] | None = None
) -> dict[str, Place]:
    """Rank groups as far as their seeds tell: an interval of ranks each, and bands of groups that are not told apart.

    Every pair is tested as in `all_pairs`. Where no two groups are told apart wrongly, which is so in 95% of families,
    all intervals hold the true ranks at once (Al Mohamad, Goeman and van Zwet, "Simultaneous Confidence Intervals for
    Ranks with Application to Ranking Institutions", Biometrics 2022), and groups that are equal are in one band. A band
    ends only where every group above is told from every group below; so a band may be a chain, whose ends differ.

    Args:
        groups: name -> for each task its scores, shape (n,) with n >= `SEEDS`, seeds in the same order. All groups have
            the same tasks in the same order; the mean over tasks is what is compared, and a seed counts once.
        printed: name -> that mean, as readers see it. Groups whose means they see as equal are not told apart, so that
            a rank by what is printed lies within its place. The mean itself if None.

    Returns:
        Name -> its place.

    Raises:
        InvalidInput: a group of fewer seeds or of other tasks, or a score that is not finite.

    Example:
        >>> found = places({"a": [[0.8, 0.81, 0.82, 0.83]], "b": [[0.1, 0.2, 0.3, 0.4]], "c": [[0.1, 0.2, 0.25, 0.3]]})
        >>> found["a"], found["c"]
        (Place(low=1, high=1, band=1), Place(low=2, high=3, band=2))
    """
    if not groups:
        return {}
    moments = _Moments(list(groups.values()))
    means = moments.means if printed is None else np.array([printed[name] for name in groups])
    above = (_of_pairs(moments) <= ERROR) & (means[:, None] < means)
    apart = above | above.T
    low = 1 + above.sum(axis=1)
    high = len(groups) - above.sum(axis=0)
    order = np.argsort(-means, kind="stable")
    sorted_apart = apart[np.ix_(order, order)]
    band = np.ones(len(groups), np.int64)
    for place in range(1, len(groups)):
        ends = bool(sorted_apart[:place, place:].all())
        band[order[place]] = band[order[place - 1]] + ends
    return {name: Place(int(low[i]), int(high[i]), int(band[i])) for i, name in enumerate(groups)}


class _Moments:
    """Means over tasks of several groups, and what Welch's test of each pair needs."""

    def __init__(self, groups: Sequence[Sequence[ArrayLike]]) -> None:
        if len({len(tasks) for tasks in groups}) > 1 or any(not tasks for tasks in groups):
            raise InvalidInput(
                f"groups: expected the same tasks for all, at least one, received {[len(tasks) for tasks in groups]} "
                "tasks."
            )
        scores = [[finite_scores(task, SEEDS) for task in tasks] for tasks in groups]
        errors = np.array([_squared_error(tasks) for tasks in scores]).reshape(-1, 2)
        self.means: Floats = np.array([np.mean([task.mean() for task in tasks]) for tasks in scores])
        self.squared: Floats = errors[:, 0]
        self.spent: Floats = errors[:, 0] ** 2 / errors[:, 1]
        """What `squared` squared is divided by to give the degrees of freedom, after Welch and Satterthwaite."""


def _of_pairs(moments: _Moments) -> Floats:
    """Return the p-values of all pairs after Holm: float64 (k, k), 1 on the diagonal."""
    first, second = np.triu_indices(len(moments.means), 1)
    squared = moments.squared[first] + moments.squared[second]
    apart = np.abs(moments.means[first] - moments.means[second])
    least = slack(moments.means)
    spread = np.sqrt(squared) > least
    p_values = (apart <= least).astype(np.float64)
    freedom = squared[spread] ** 2 / (moments.spent[first] + moments.spent[second])[spread]
    p_values[spread] = 2 * _beyond(apart[spread] / np.sqrt(squared[spread]), freedom)
    found = np.ones((len(moments.means),) * 2)
    found[first, second] = found[second, first] = holm(p_values)
    return found


def mean_interval(values: ArrayLike) -> tuple[float, float] | None:
    """Return Student's 95% interval of the mean of seeds.

    Args:
        values: one score per seed, shape (n,).

    Returns:
        Its ends; None below `SEEDS` seeds. Few seeds give a wide interval, as they should: a percentile bootstrap of
        five seeds holds the mean in 83% of cases instead of 95%.

    Raises:
        InvalidInput: no scores, or one that is not finite.

    Example:
        >>> [round(end, 3) for end in mean_interval([0.1, 0.2, 0.3, 0.4])]
        [0.045, 0.455]
        >>> mean_interval([0.1, 0.2]) is None
        True
    """
    found = mean_intervals([finite_scores(values, 1)])
    return found[0] if found else None


def mean_intervals(values: Sequence[ArrayLike]) -> list[tuple[float, float]] | None:
    """Return what `mean_interval` does for several scores of the same seeds.

    Args:
        values: a row of seeds for each score, shape (k, n).

    Returns:
        Their ends; None below `SEEDS` seeds.

    Raises:
        InvalidInput: no scores, other numbers of seeds, or a score that is not finite.

    Example:
        >>> mean_intervals([[0.1, 0.2, 0.3, 0.4]]) == [mean_interval([0.1, 0.2, 0.3, 0.4])]
        True
    """
    scores = score_rows(values, 1)
    seeds = scores.shape[1]
    if seeds < SEEDS:
        return None
    means = scores.mean(axis=1)
    halves = _student(seeds - 1) * scores.std(axis=1, ddof=1) / math.sqrt(seeds)
    return [(mean - half, mean + half) for mean, half in zip(means.tolist(), halves.tolist(), strict=True)]


def _student(freedom: float) -> float:
    """Return how many standard errors an interval of a mean goes to either side: a quantile of Student's t."""
    return float(scipy.special.stdtrit(freedom, 1 - ERROR / 2))


def _beyond(t: ArrayLike, freedom: ArrayLike) -> Floats:
    """Return the share of Student's t above a number, elementwise."""
    found: Floats = scipy.special.stdtr(np.asarray(freedom, np.float64), -np.asarray(t, np.float64))
    return found


def interval_over_tasks(tasks: Sequence[ArrayLike]) -> tuple[float, float] | None:
    """Return Student's 95% interval of a mean over tasks, a seed counted once.

    Args:
        tasks: for each task its scores, shape (n,), seeds in the same order.

    Returns:
        Its ends; None where there is no task, or one of fewer than `SEEDS` seeds.

    Raises:
        InvalidInput: no scores of a task, or one that is not finite.

    Example:
        >>> one = [0.1, 0.2, 0.3, 0.4]
        >>> interval_over_tasks([one]) == mean_interval(one)
        True
        >>> [round(end, 3) for end in interval_over_tasks([one, one])]  # the same runs again tell nothing new
        [0.045, 0.455]
    """
    if not tasks or any(len(finite_scores(task, 1)) < SEEDS for task in tasks):
        return None
    moments = _Moments([tasks])
    mean, squared, spent = (float(found[0]) for found in (moments.means, moments.squared, moments.spent))
    if not squared:
        return mean, mean
    half = _student(squared**2 / spent) * math.sqrt(squared)
    return mean - half, mean + half


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


def _squared_error(tasks: Sequence[Floats]) -> tuple[float, float]:
    """Return the squared standard error of a mean over tasks, a seed counted once, and its degrees of freedom.

    What spreads is the mean of each seed over tasks, whose scores are in the order of the seeds. Tasks with other
    numbers of seeds are taken to go together wholly, which is the largest error that their mean can have.
    """
    sizes = [len(task) for task in tasks]
    if len(set(sizes)) == 1:
        seeds = np.mean(tasks, axis=0)
        return float(seeds.var(ddof=1)) / sizes[0], float(sizes[0] - 1)
    error = np.mean([task.std(ddof=1) / math.sqrt(len(task)) for task in tasks])
    return float(error**2), float(min(sizes) - 1)


def _error(sides: Iterable[Sequence[Floats]]) -> tuple[float, float]:
    """Return the standard error of a difference of means and its degrees of freedom, after Welch and Satterthwaite."""
    squared, freedom = np.array([_squared_error(tasks) for tasks in sides]).T
    total = squared.sum()
    if total <= 0:
        return 0.0, float(freedom.sum())
    return math.sqrt(total), float(total**2 / (squared**2 / freedom).sum())


def _by_student(strata: Sequence[tuple[Floats, Floats]], seeds: int, paired: bool) -> Comparison:
    """Compare by Student's t, or Welch's, a seed counted once: with few seeds there is nothing but the difference."""
    difference = float(np.mean([x.mean() - y.mean() for x, y in strata]))
    if seeds < SEEDS:
        return Comparison(difference, math.nan, math.nan, None, seeds, len(strata))
    error, freedom = _error([[x - y for x, y in strata]] if paired else zip(*strata, strict=True))
    least = slack([group.mean() for pair in strata for group in pair])
    half, p = 0.0, float(abs(difference) <= least)  # where there is no spread
    if error > least:
        half, p = _student(freedom) * error, float(2 * _beyond(abs(difference) / error, freedom))
    return Comparison(difference, difference - half, difference + half, p, seeds, len(strata))


def _fewest(strata: Sequence[tuple[Floats, Floats]]) -> int:
    return min(len(group) for pair in strata for group in pair)


def _exchanged(strata: Sequence[tuple[Floats, Floats]], bounds: Sequence[float]) -> float:
    """Return the two-sided p-value of exchanging the labels within strata; those below their bound do not count."""
    every = math.prod(math.comb(len(x) + len(y), len(x)) for x, y in strata) <= RESAMPLES
    seen = np.zeros(1)
    others = np.zeros(1)
    for place, ((x, y), bound) in enumerate(zip(strata, bounds, strict=True)):
        pooled, n = np.concatenate([x, y]), len(x)
        if every:
            chosen = np.array(list(itertools.combinations(range(len(pooled)), n))).T
        else:
            chosen = _orders(place, len(pooled))[:n]
        first = pooled[chosen].mean(axis=0)
        second = (pooled.sum() - n * first) / len(y)
        apart = np.where(first >= bound, first - second, 0.0)
        others = np.add.outer(others, apart).ravel() if every else others + apart
        seen = seen + np.where(x.mean() >= bound, x.mean() - y.mean(), 0.0)
    least = slack([group.mean() for pair in strata for group in pair])
    extra = 0 if every else 1
    sides = [np.count_nonzero(others >= seen - least), np.count_nonzero(others <= seen + least)]
    return float(min(1.0, 2 * (min(sides) + extra) / (len(others) + extra)))


@functools.lru_cache(maxsize=512)
def _orders(place: int, count: int) -> NDArray[np.integer]:
    """Draw `RESAMPLES` orders, the same on every machine: a column each, shape (count, RESAMPLES)."""
    orders = np.argsort(draws.uniform(place, np.arange(RESAMPLES), count), axis=1)
    return np.ascontiguousarray(orders.T, np.min_scalar_type(count))
