"""What seeds can tell: how often the tests of `leaderboard.store.verdicts` err, and how often they find a difference.

``python benchmarks/seeds.py`` prints the tables of ``docs/statistics.md``, in about five minutes of one core;
``--draws 400`` is a first look. Every number is a share of simulated studies, drawn from numpy's generator, seed 0,
or of published seeds.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Callable

import numpy as np

from benchmark_data.draws import uniform
from leaderboard.store import intervals, rank_intervals, results_tree, verdicts

SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "skewed (log-normal)": lambda rng, n: np.exp(rng.standard_normal(n)),
    "heavy tails (t, 2)": lambda rng, n: rng.standard_t(2, n),
    "two clumps": lambda rng, n: (rng.random(n) < 0.5) + 0.05 * rng.standard_normal(n),
}
SEEDS = (4, 5, 10)
ALIKE = ((0.02, 0.29), (0.12, 0.69), (0.23, 0.74))
"""First and last column of the table of shared seeds in ``docs/statistics.md``."""


def bootstrap(x, y):
    """The old rule: does the percentile bootstrap of the difference of means leave out 0?"""
    rng = np.random.default_rng(0)
    means = [rng.choice(group, (1_000, len(group))).mean(axis=1) for group in (x, y)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return low > 0 or high < 0


def exact(x, y):
    """The rule of independent groups."""
    return verdicts.compare([x], [y]).p <= intervals.ERROR


def paired(x, y):
    """The rule of paired seeds."""
    return verdicts.compare([x], [y], paired=True).p <= intervals.ERROR


def welch(x, y):
    """Welch's test alone."""
    return all_pairs([x, y])[0, 1] <= intervals.ERROR


def all_pairs(groups):
    """Return the p-values of all pairs of groups, as a table of methods has them."""
    return rank_intervals.pairwise_p_values([[group] for group in groups])


@functools.cache
def resamples(n, seed):
    """Draw n of n seeds with replacement, 2,000 times."""
    return (uniform(seed, np.arange(2_000), n) * n).astype(np.int64)


def coverage(shape, n, rng, draws):
    """How often 95% intervals of a mean hold it: Student's, and the percentile bootstrap."""
    true_mean = 0.5 if shape == "two clumps" else float(np.exp(0.5)) if shape.startswith("skewed") else 0.0
    hits = np.zeros(2)
    for i in range(draws):
        sample = SHAPES[shape](rng, n)
        means = sample[resamples(n, i % 50)].mean(axis=1)
        ends = [intervals.mean_interval(sample), np.quantile(means, [0.025, 0.975])]
        hits += [end is not None and end[0] <= true_mean <= end[1] for end in ends]
    return hits / draws


def rates(rule, shape, sizes, rng, draws, *, shift=0.0):
    """Say for each number of seeds how often a rule says that two groups, so far apart, differ."""
    draw = SHAPES[shape]
    shares = {n: sum(bool(rule(draw(rng, n) + shift, draw(rng, n))) for _ in range(draws)) / draws for n in sizes}
    return "  ".join(f"n={n} {share:.3f}" for n, share in shares.items())


def familywise_error(shape, methods, n, rng, draws):
    """How often Holm over all pairs of equal methods tells any two apart."""
    wrong = 0
    for _ in range(draws):
        wrong += all_pairs([SHAPES[shape](rng, n) for _ in range(methods)]).min() <= intervals.ERROR
    return wrong / draws


def page_error(shape, rows, methods, n, rng, draws, *, floor=None):
    """How often a page of rows of methods, all without a difference, comes to any verdict."""
    wrong = 0
    for _ in range(draws):
        comparisons = []
        for _ in range(rows):
            groups = [[SHAPES[shape](rng, n) for _ in range(methods)] for _ in range(2)]
            floors = [] if floor is None else [floor] * methods
            comparisons.append(verdicts.compare(*groups, floors=floors))
        wrong += any(answer in ("supported", "opposed") for answer, _ in verdicts.judge(comparisons))
    return wrong / draws


MEANS = {"normal": 0.0, "skewed (log-normal)": float(np.exp(0.5)), "heavy tails (t, 2)": 0.0, "two clumps": 0.5}


def uneven_error(rule, shape, n, times, rng, draws):
    """How often a rule tells two groups with one mean apart, one of which spreads so many times less."""
    draw, mean = SHAPES[shape], MEANS[shape]
    return sum(bool(rule(draw(rng, n) - mean, (draw(rng, n) - mean) / times)) for _ in range(draws)) / draws


def rule_p(first, second):
    """The p-value of the rule of independent groups."""
    return verdicts.compare(first, second).p


def permutation_p(first, second):
    """The p-value of the permutation test alone."""
    return verdicts._permutation_p_value(list(zip(first, second, strict=True)), [-np.inf] * len(first))


def shared_seeds_error(methods, share, rng, draws, *, alike=0.8, p_value=rule_p):
    """How often two forms differ by nothing: methods of which two are alike, forms that share some of the spread.

    Args:
        methods: how many; all see the same seeds.
        share: the share of a score's variance that a seed has on both forms.
        rng: a generator.
        draws: studies.
        alike: the correlation of the two.
        p_value: of two lists of groups.
    """

    def draw_scores():
        scores = rng.standard_normal((methods, 5))
        scores[1] = alike * scores[0] + np.sqrt(1 - alike**2) * scores[1]
        return scores

    wrong = 0
    for _ in range(draws):
        common = draw_scores()
        first, second = (np.sqrt(share) * common + np.sqrt(1 - share) * draw_scores() for _ in range(2))
        wrong += p_value(list(first), list(second)) <= intervals.ERROR
    return wrong / draws


def seeds_of_tasks(sizes, share, rng):
    """Draw so many seeds of a method on each task; ``share`` of a score's variance is the seed's, on all of them."""
    seed = np.sqrt(share) * rng.standard_normal(max(sizes))
    return [seed[:n] + np.sqrt(1 - share) * rng.standard_normal(n) for n in sizes]


def over_tasks(sizes, share, rng, draws):
    """How often equal methods differ over tasks that share some of a seed's spread, and how often intervals hold."""
    wrong = hits = 0
    for _ in range(draws):
        first, second = (seeds_of_tasks(sizes, share, rng) for _ in range(2))
        wrong += verdicts.welch(first, second).p <= intervals.ERROR
        low, high = intervals.interval_over_tasks(first)
        hits += low <= 0 <= high
    return wrong / draws, hits / draws


def gated_coverage(methods, n, rng, draws, *, floor):
    """How often the interval of a claim with a floor holds 0, where all methods are equal and some reach it."""
    hits = tested = 0
    for _ in range(draws):
        groups = [[0.04 * rng.standard_normal(n) for _ in range(methods)] for _ in range(2)]
        comparison = verdicts.compare(*groups, floors=[floor] * methods)
        if comparison.reached:
            tested += 1
            hits += comparison.low <= 0 <= comparison.high
    return hits / tested


def left_out():
    """How often a published seed differs from the others of its method: from their mean, and as one more seed."""
    errors = []
    for result in results_tree.read_all(results_tree.PUBLISHED):
        scores = [run.scores["mig"] for run in result.runs_in("desk") if run.budget.steps]
        for i in range(len(scores) if len(scores) > intervals.SEEDS else 0):
            others = scores[:i] + scores[i + 1 :]
            tests = verdicts.compare([scores[i : i + 1] * len(others)], [others], paired=True)
            errors.append([test.p <= intervals.ERROR for test in (tests, verdicts.compare_single(scores[i], others))])
    return len(errors), *np.mean(errors, axis=0)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4_000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)

    print(f"Two-sided error where there is no difference, promised 0.05; {draws} draws")
    for (name, rule), shape in itertools.product(
        {"old bootstrap": bootstrap, "permutation": exact, "Welch": welch, "paired t": paired}.items(), SHAPES
    ):
        sizes = (2, 3, 5, 10) if rule is bootstrap else SEEDS
        print(f"  {name:14s} {shape:20s}", rates(rule, shape, sizes, rng, draws))
    print("Error of one group against its own mean (a constant), promised 0.05")
    for shape in SHAPES:
        shares = {n: 1 - coverage(shape, n, rng, draws)[0] for n in SEEDS}
        print(f"  Student's t    {shape:20s}", "  ".join(f"n={n} {share:.3f}" for n, share in shares.items()))
    count, from_mean, as_seed = left_out()
    print(f"Error of a published seed against the others, promised 0.05; {count} seeds, MIG, tier desk")
    print(f"  against their mean {from_mean:.3f}, as one more seed {as_seed:.3f}")
    print("How often a 95% interval of the mean holds it: Student's, percentile bootstrap")
    for shape in SHAPES:
        shares = {n: coverage(shape, n, rng, draws) for n in SEEDS}
        print(f"  {shape:20s}", "  ".join(f"n={n} {a:.3f} {b:.3f}" for n, (a, b) in shares.items()))
    print("Power: how often a difference of so many standard deviations is found")
    for (name, rule), size in itertools.product({"permutation": exact, "Welch": welch}.items(), (1, 2, 3)):
        print(f"  {name:14s} {size} sd", rates(rule, "normal", SEEDS, rng, draws, shift=size))
    few = max(200, draws // 4)
    print(f"Family-wise error, promised 0.05; {few} draws")
    for shape in SHAPES:
        shares = {methods: familywise_error(shape, methods, 5, rng, few) for methods in (4, 9)}
        print(f"  all pairs, 5 seeds, {shape:20s}", "  ".join(f"{m} methods {s:.3f}" for m, s in shares.items()))
    few = max(100, draws // 16)
    for shape in SHAPES:
        floor = float(np.quantile(SHAPES[shape](np.random.default_rng(1), 10_000), 0.6))
        shares = (page_error(shape, 12, 9, 5, rng, few), page_error(shape, 12, 9, 5, rng, few, floor=floor))
        print(f"  12 rows of 9 methods, 5 seeds, {shape:20s} {shares[0]:.3f}, with a gate {shares[1]:.3f}; {few} draws")
    print("Power of a row among 12: 9 methods of 5 seeds, of which some differ by so many standard deviations")
    for moved, size in itertools.product((1, 3, 9), (1, 2)):
        hits = 0
        for _ in range(few):
            x = [rng.standard_normal(5) + size * (m < moved) for m in range(9)]
            hits += verdicts.compare(x, [rng.standard_normal(5) for _ in range(9)]).p * 12 <= intervals.ERROR
        print(f"  {moved} of 9 methods, {size} sd: {hits / few:.3f}")
    print("Power of all pairs: two of 9 methods with 5 seeds differ by so many standard deviations")
    for size in (2, 3, 4, 6):
        hits = 0
        for _ in range(draws):
            hits += all_pairs([rng.standard_normal(5) + size * (m == 0) for m in range(9)])[0, 1] <= intervals.ERROR
        print(f"  {size} sd: {hits / draws:.3f}")
    rng = np.random.default_rng(0)
    print(f"Two-sided error where two of the methods are alike (0.8), promised 0.05; {draws} draws")
    for methods in (2, 4, 8):
        shares = {forms: shared_seeds_error(methods, forms, rng, draws) for forms in (0.0, 0.3)}
        print(
            f"  {methods} methods", "  ".join(f"forms share {forms:g}: {share:.3f}" for forms, share in shares.items())
        )
    print(f"Over tasks that share some of a seed's spread: error of two methods, intervals that hold; {draws} draws")
    designs = {"2 tasks": [5] * 2, "12 tasks": [5] * 12, "12 tasks, 8 with 10 seeds": [10] * 8 + [5] * 4}
    for (tasks, sizes), share in itertools.product(designs.items(), (0.0, 0.3, 0.8)):
        results = over_tasks(sizes, share, rng, draws)
        print(f"  {tasks}, {share:g} shared: {results[0]:.3f} {results[1]:.3f}")
    rng = np.random.default_rng(0)
    many = 5 * draws
    print(f"Two-sided error of equal means and other spreads, 5 seeds, promised 0.05; {many} draws")
    for (name, rule), shape in itertools.product({"permutation": exact, "Welch": welch}.items(), SHAPES):
        shares = {times: uneven_error(rule, shape, 5, times, rng, many) for times in (1, 3, 10, 100)}
        print(f"  {name:14s} {shape:20s}", "  ".join(f"{t} times {share:.3f}" for t, share in shares.items()))
    print(f"How often the interval of a claim with a floor holds 0: 9 equal methods of 5 seeds; {draws} draws")
    for where, floor in (("at the mean", 0.0), ("half a standard deviation above", 0.02)):
        print(f"  floor {where}: {gated_coverage(9, 5, rng, draws, floor=floor):.3f}")
    print(f"The permutation test alone, promised 0.05: two methods, as alike as the board's pair; {draws} draws")
    for share, alike in ALIKE:
        error = shared_seeds_error(2, share, rng, draws, alike=alike, p_value=permutation_p)
        print(f"  forms share {share}, methods correlate by {alike}: {error:.3f}")


if __name__ == "__main__":
    main()
