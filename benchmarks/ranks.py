"""What ranks can tell: how often bands and rank intervals err, what they find, and intervals of metrics that agree.

``python benchmarks/ranks.py`` prints the tables on ranks of ``docs/statistics.md``, in a few minutes of one core;
``--draws 200`` is a first look. Intervals of how metrics agree come last, and take another quarter of an hour.
Every number is a share of simulated boards, drawn from numpy's generator, seed 0.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.stats
from seeds import SHAPES

from leaderboard.analyses import metric_agreement
from leaderboard.store import intervals, rank_intervals

CENTRES = {"skewed (log-normal)": float(np.exp(0.5)), "two clumps": 0.5}


def board(shape, methods, rng, *, seeds=5, unequal=False):
    """Draw the seeds of methods whose true means are all 0, with one spread or with spreads between 0.1 and 10."""
    spreads = 10.0 ** rng.uniform(-1, 1, methods) if unequal else np.ones(methods)
    return [(SHAPES[shape](rng, seeds) - CENTRES.get(shape, 0.0)) * spread for spread in spreads]


def places(groups):
    """Rank groups on one task."""
    return list(rank_intervals.places({str(m): [group] for m, group in enumerate(groups)}).values())


def errors(shape, rng, draws, *, unequal):
    """Say of nine equal methods how often all are in one band, and how often all rank intervals are whole."""
    found = [places(board(shape, 9, rng, unequal=unequal)) for _ in range(draws)]
    one = np.mean([all(place.band == 1 for place in places) for places in found])
    whole = np.mean([all((place.low, place.high) == (1, 9) for place in places) for places in found])
    return one, whole


def power(methods, ahead, errors_apart, rng, draws):
    """Say how often methods so many standard errors ahead are told from the others: each pair, and as a band."""
    pairs, bands = [], 0
    for _ in range(draws):
        groups = board("normal", methods, rng)
        shift = errors_apart * np.sqrt(2 / len(groups[0]))
        groups = [group + shift * (m < ahead) for m, group in enumerate(groups)]
        corrected = rank_intervals.all_pairs({str(m): group for m, group in enumerate(groups)})
        apart = [corrected[str(a), str(b)] <= intervals.ERROR for a in range(ahead) for b in range(ahead, methods)]
        pairs.append(np.mean(apart))
        found = places(groups)
        bands += max(place.band for place in found[:ahead]) < min(place.band for place in found[ahead:])
    return np.mean(pairs), bands / draws


def coverage_of_agreement(shape, rho, tasks, runs, rng, draws):
    """Say how often the 95% interval of two metrics' rank correlation holds it, and the middle and width of intervals.

    True is what so many runs of a task give in the mean: for normal scores Moran's formula (1948), else simulated.
    """

    def drawn(*size):
        first, second = rng.standard_normal((2, *size))
        second = rho * first + np.sqrt(1 - rho**2) * second
        if shape == "two clumps":  # of models: those that fail and those that do not
            clump = rng.integers(0, 2, size)
            first, second = 0.3 * first + clump, 0.3 * second + rho * clump
        return np.stack([first, second], axis=-1)

    true = 6 / np.pi / (runs + 1) * (np.arcsin(rho) + (runs - 2) * np.arcsin(rho / 2))
    if shape != "normal":
        ranks = scipy.stats.rankdata(drawn(20_000, runs), axis=1) - (runs + 1) / 2
        true = 12 * (ranks[..., 0] * ranks[..., 1]).mean() / (runs**2 - 1)
    groups, ends = np.repeat(np.arange(tasks), runs).tolist(), []
    for draw in range(draws):
        scores = drawn(tasks * runs)
        row = metric_agreement.measure(scores, ["a", "b"], groups=groups, resamples=200, seed=draw).iloc[0]
        ends.append((row.low, row.high))
    low, high = np.transpose(ends)
    return np.mean((low - 1e-9 <= true) & (true <= high + 1e-9)), true, np.mean(low + high) / 2, np.mean(high - low)


def coverage_of_agreement_over_methods(share, rho, tasks, rng, draws):
    """Say how often the 95% intervals of two metrics' rank correlation hold what other methods give.

    Nine methods of five seeds on the same tasks; ``share`` of the variance of a score is the method's. First the
    bootstrap over methods, then the one that takes runs for independent; last the mean width of the first.
    """

    def drawn(*size):
        both = rng.standard_normal((*size, 1, 9, 1, 2)), rng.standard_normal((*size, tasks, 9, 5, 2))
        first, second = np.moveaxis(np.sqrt(share) * both[0] + np.sqrt(1 - share) * both[1], -1, 0)
        return np.stack([first, rho * first + np.sqrt(1 - rho**2) * second], axis=-1).reshape(*size, tasks, 45, 2)

    ranks = scipy.stats.rankdata(drawn(2_000), axis=-2) - 23
    true = 12 * (ranks[..., 0] * ranks[..., 1]).mean() / (45**2 - 1)
    groups = np.repeat(np.arange(tasks), 45).tolist()
    methods = np.tile(np.repeat(np.arange(9), 5), tasks).tolist()
    ends = []
    for draw in range(draws):
        scores = drawn().reshape(-1, 2)
        for of in (methods, None):
            found = metric_agreement.measure(scores, ["a", "b"], groups=groups, methods=of, resamples=200, seed=draw)
            ends.append((found.low[0], found.high[0]))
    low, high = np.transpose(ends).reshape(2, -1, 2)
    return *((low - 1e-9 <= true) & (true <= high + 1e-9)).mean(axis=0), (high - low)[:, 0].mean()


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    print(f"Nine equal methods, 5 seeds: all in one band, all rank intervals whole (0.95 promised); {draws} boards")
    for shape in SHAPES:
        for unequal in (False, True):
            one, whole = errors(shape, rng, draws, unequal=unequal)
            print(
                f"  {shape:20s} {'spreads 0.1 to 10' if unequal else 'one spread':18s} {one:.3f} {whole:.3f}",
                flush=True,
            )
    print("Found, normal, 5 seeds: pairs told apart, and the band; by standard errors of the difference of two means")
    for methods, ahead in ((2, 1), (4, 2), (9, 4)):
        for apart in (2, 3, 4, 6, 8):
            pairs, bands = power(methods, ahead, apart, rng, draws)
            print(f"  {ahead} of {methods} methods {apart} errors ahead: {pairs:.3f} {bands:.3f}", flush=True)
    some = max(200, draws // 10)
    print(f"Intervals of two metrics' agreement hold (0.95 promised); true, mean middle, mean width; {some} draws")
    rng = np.random.default_rng(0)
    for tasks, runs in ((1, 4), (1, 10), (1, 45), (20, 45), (60, 9)):
        for shape in ("normal", "two clumps"):
            for rho in (0.0, 0.5, 0.9):
                share, *rest = coverage_of_agreement(shape, rho, tasks, runs, rng, some)
                print(
                    f"  {tasks} tasks, {runs} runs, {shape}, rho {rho}: {share:.3f};",
                    *(f"{number:.3f}" for number in rest),
                    flush=True,
                )

    print(f"The same over methods, 9 of 5 seeds: the bootstrap over methods, over runs, its width; {some} draws")
    for tasks in (1, 12):
        for share in (0.4, 0.8):
            for rho in (0.0, 0.5):
                shares = coverage_of_agreement_over_methods(share, rho, tasks, rng, some)
                print(f"  {tasks} tasks, share {share}, {rho}:", *(f"{one:.3f}" for one in shares), flush=True)


if __name__ == "__main__":
    main()
