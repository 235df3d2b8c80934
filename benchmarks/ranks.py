"""What ranks can tell: how often bands and rank intervals err, and what they find.

``python benchmarks/ranks.py`` prints the tables on ranks of ``docs/statistics.md``, in a few minutes of one core;
``--draws 200`` is a first look.
Every number is a share of simulated boards, drawn from numpy's generator, seed 0.
"""

from __future__ import annotations

import argparse

import numpy as np
from seeds import SHAPES, all_pairs

from leaderboard.store import intervals, rank_intervals

CENTRES = {"skewed (log-normal)": float(np.exp(0.5)), "two clumps": 0.5}


def board(shape, methods, rng, *, seeds=5, unequal=False):
    """Draw the seeds of methods whose true means are all 0, with one spread or with spreads between 0.1 and 10."""
    spreads = 10.0 ** rng.uniform(-1, 1, methods) if unequal else np.ones(methods)
    return [(SHAPES[shape](rng, seeds) - CENTRES.get(shape, 0.0)) * spread for spread in spreads]


def rank_groups(groups):
    """Rank groups on one task."""
    return list(rank_intervals.rank_intervals({str(m): [group] for m, group in enumerate(groups)}).values())


def errors(shape, rng, draws, *, unequal):
    """Say of nine equal methods how often all are in one band, and how often all rank intervals are whole."""
    boards = [rank_groups(board(shape, 9, rng, unequal=unequal)) for _ in range(draws)]
    one_band = np.mean([all(rank.band == 1 for rank in ranks) for ranks in boards])
    whole = np.mean([all((rank.low, rank.high) == (1, 9) for rank in ranks) for ranks in boards])
    return one_band, whole


def power(methods, ahead, errors_apart, rng, draws):
    """Say how often methods so many standard errors ahead are told from the others: each pair, and as a band."""
    pairs, bands = [], 0
    for _ in range(draws):
        groups = board("normal", methods, rng)
        shift = errors_apart * np.sqrt(2 / len(groups[0]))
        groups = [group + shift * (m < ahead) for m, group in enumerate(groups)]
        pairs.append(np.mean(all_pairs(groups)[:ahead, ahead:] <= intervals.ERROR))
        ranks = rank_groups(groups)
        bands += max(rank.band for rank in ranks[:ahead]) < min(rank.band for rank in ranks[ahead:])
    return np.mean(pairs), bands / draws


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    print(f"Nine equal methods, 5 seeds: all in one band, all rank intervals whole (0.95 promised); {draws} boards")
    for shape in SHAPES:
        for unequal in (False, True):
            one_band, whole = errors(shape, rng, draws, unequal=unequal)
            print(
                f"  {shape:20s} {'spreads 0.1 to 10' if unequal else 'one spread':18s} {one_band:.3f} {whole:.3f}",
                flush=True,
            )
    print("Found, normal, 5 seeds: pairs told apart, and the band; by standard errors of the difference of two means")
    for methods, ahead in ((2, 1), (4, 2), (9, 4)):
        for apart in (2, 3, 4, 6, 8):
            pairs, bands = power(methods, ahead, apart, rng, draws)
            print(f"  {ahead} of {methods} methods {apart} errors ahead: {pairs:.3f} {bands:.3f}", flush=True)


if __name__ == "__main__":
    main()
