"""How fast MIG and DCI are, beside a straightforward scikit-learn rewrite of disentanglement_lib's formulas.

The contestants take turns, and the median of several rounds counts. On a machine that others use too, processor time is
the fairer measure of what runs on one core; what runs on two is only worth reading in wall-clock time on a quiet one.
Every value of a metric that differs from the straightforward one is printed with its difference.

    python benchmarks/metrics.py --grid dsprites --samples 2000 --rounds 3
    python benchmarks/metrics.py --grid dsprites --grid shapes3d --samples 10000 --plain-rounds 1 --to metrics.csv
    python benchmarks/metrics.py --grid xysquares --samples 10000 --each mcc --each infomec     # or --each all
"""

from __future__ import annotations

import argparse
import inspect
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rich.console
import rich.table
from rounds import append
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import mutual_info_score

from benchmark_data import discovery
from leaderboard.metrics import dci as trees
from leaderboard.metrics import mig

COLUMNS = ("grid", "metric", "contender", "round", "wall_s", "processor_s", "greatest_difference")
GRIDS = {"dsprites": (3, 6, 40, 32, 32), "shapes3d": (10, 10, 10, 8, 4, 15), "xysquares": (8,) * 6}

Line = tuple[str, int, str, str, str]
"""A contestant, the round, seconds of wall and processor time, and the largest difference of its values."""


def main() -> None:
    """Run the races and print what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grid", choices=GRIDS, action="append", help="factor sizes; may be given several times")
    parser.add_argument("--samples", type=int, default=2_000, help="training samples; half as many are held out")
    parser.add_argument("--latents", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--plain-rounds", type=int, help="rounds in which scikit-learn's DCI takes part; default: all")
    parser.add_argument("--no-dci", action="store_true", help="leave out DCI, whose straightforward form takes minutes")
    parser.add_argument("--each", action="append", help="time this metric, or all, each by itself, instead of a race")
    parser.add_argument("--to", type=Path, metavar="CSV", help="a record to which every round of a race is appended")
    options = parser.parse_args()
    out = rich.console.Console(width=120, highlight=False)
    out.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    for grid in options.grid or ["dsprites"]:
        out.print(f"\n[bold]{grid}[/bold]: {options.samples:,} samples, {options.latents} latents")
        if options.each:
            measure(out, codes_and_factors(GRIDS[grid], options.latents, options.samples), options.each, options.rounds)
            continue
        plain_rounds = 0 if options.no_dci else options.plain_rounds or options.rounds
        arrays = codes_and_factors(GRIDS[grid], options.latents, options.samples)
        for metric, rounds in races(out, arrays, options.rounds, plain_rounds).items():
            append(options.to, COLUMNS, ((grid, metric, *line) for line in rounds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    out.print(f"\npeak memory of the whole process, arrays and scikit-learn included: {peak:.2f} GiB")


def races(
    out: rich.console.Console, arrays: tuple[np.ndarray, ...], rounds: int, plain_rounds: int
) -> dict[str, list[Line]]:
    """Race both metrics on one grid, without plain rounds MIG alone; return each metric's lines of the record."""
    z, v, z_test, v_test = arrays
    contestants = {"scikit-learn": lambda: plain_mig(z, v), "ours": lambda: mig.score(z, v)}
    lines = {"mig": race(out, "mig", max(9, rounds), max(9, rounds), contestants)}
    if not plain_rounds:
        return lines
    trees.score(z[:200], v[:200, :2] % 3, codes_test=z_test, factors_test=v_test[:, :2])  # compile
    held_out = {"codes_test": z_test, "factors_test": v_test}
    contestants = {
        "scikit-learn": lambda: plain_dci(*arrays),
        "ours, one thread": lambda: trees.score(z, v, threads=1, **held_out),
        "ours, two threads": lambda: trees.score(z, v, threads=2, **held_out),
    }
    lines["dci"] = race(out, "dci", rounds, plain_rounds, contestants)
    return lines


def measure(out: rich.console.Console, arrays: tuple[np.ndarray, ...], chosen: list[str], rounds: int) -> None:
    """Time metrics with their default arguments, one after the other; print the median of wall and processor time."""
    z, v, z_test, v_test = arrays
    table = rich.table.Table("", "wall s", "processor s")
    for name in discovery.names("leaderboard.metrics") if "all" in chosen else chosen:
        score = discovery.find("leaderboard.metrics", name, kind="metric").score
        held_out = {}
        if "codes_test" in inspect.signature(score).parameters:
            held_out = {"codes_test": z_test, "factors_test": v_test}
        wall, processor = [], []
        for _ in range(rounds):
            begin, begin_processor = time.perf_counter(), time.process_time()
            score(z, v, **held_out)
            wall.append(time.perf_counter() - begin)
            processor.append(time.process_time() - begin_processor)
        table.add_row(name, f"{statistics.median(wall):.3g}", f"{statistics.median(processor):.3g}")
    out.print(table)


def codes_and_factors(sizes: tuple[int, ...], latents: int, n: int) -> tuple[np.ndarray, ...]:
    """Make codes that know the factors as a mediocre model does: sparse mixing, squashing, noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, size, size=n + n // 2) for size in sizes], axis=1)
    centred = (factors - (np.array(sizes) - 1) / 2) / ((np.array(sizes) - 1) / 2)
    weights = rng.normal(size=(len(sizes), latents)) * (rng.random((len(sizes), latents)) < 0.4)
    codes = (np.tanh(centred @ weights) + 0.1 * rng.normal(size=(len(factors), latents))).astype(np.float32)
    return codes[:n], factors[:n], codes[n:], factors[n:]


def race(
    out: rich.console.Console,
    title: str,
    rounds: int,
    first_rounds: int,
    contestants: Mapping[str, Callable[[], Any]],
) -> list[Line]:
    """Let contestants take turns; print median times, ratios to the first, and each value's difference from its own.

    The first takes part in ``first_rounds`` of the rounds, evenly spread. Returns a line per contestant and round.
    """
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    processor: dict[str, list[float]] = {name: [] for name in contestants}
    values: dict[str, dict[str, float]] = {}
    first = next(iter(contestants))
    with_first = {(2 * i + 1) * rounds // (2 * first_rounds) for i in range(first_rounds)}
    for i in range(rounds):
        for name, run in contestants.items():
            if name == first and i not in with_first:
                continue
            begin, begin_processor = time.perf_counter(), time.process_time()
            values[name] = run()
            wall[name].append(time.perf_counter() - begin)
            processor[name].append(time.process_time() - begin_processor)
    taking_part = "" if first_rounds == rounds else f", {first} in {first_rounds}"
    title = f"{title}, {rounds} rounds{taking_part}, load {os.getloadavg()[0]:.1f}"
    table = rich.table.Table(title=title, title_justify="left")
    for column in ("", "wall s", "processor s", "ratio wall", "ratio processor", "greatest difference"):
        table.add_column(column, justify="left" if not column else "right")
    differences = {
        name: max(abs(values[name][key] - values[first][key]) for key in values[first]) for name in contestants
    }
    for name in contestants:
        w, p = statistics.median(wall[name]), statistics.median(processor[name])
        table.add_row(
            name,
            f"{w:.4g}",
            f"{p:.4g}",
            f"{statistics.median(wall[first]) / w:.1f}",
            f"{statistics.median(processor[first]) / p:.1f}",
            f"{differences[name]:.1e}",
        )
    out.print(table)
    last = values[list(contestants)[-1]]
    by_key = (f"{key} {value:.4f}, {last[key] - value:+.1e}" for key, value in values[first].items())
    out.print(f"values of {first} and how ours differ: {'; '.join(by_key)}")
    return [
        (name, i, f"{w:.5g}", f"{p:.5g}", f"{differences[name]:.2e}")
        for name in contestants
        for i, (w, p) in enumerate(zip(wall[name], processor[name], strict=True))
    ]


def plain_mig(codes: np.ndarray, factors: np.ndarray) -> dict[str, float]:
    """MIG as the reference writes it."""
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    mutual = np.array([[mutual_info_score(v, b) for v in factors.T] for b in binned])
    entropies = np.array([mutual_info_score(v, v) for v in factors.T])
    ranked = np.sort(mutual, axis=0)[::-1]
    return {"mig": float(np.mean((ranked[0] - ranked[1]) / entropies))}


def plain_dci(z: np.ndarray, v: np.ndarray, z_test: np.ndarray, v_test: np.ndarray) -> dict[str, float]:
    """DCI as the reference writes it: scikit-learn's trees without a fixed random state."""
    columns, train, test = [], [], []
    for f in range(v.shape[1]):
        model = GradientBoostingClassifier().fit(z, v[:, f])
        columns.append(np.abs(model.feature_importances_))
        train.append(np.mean(model.predict(z) == v[:, f]))
        test.append(np.mean(model.predict(z_test) == v_test[:, f]))
    matrix = np.stack(columns, axis=1)

    def concentration(rows: np.ndarray) -> float:
        p = (rows + 1e-11) / (rows + 1e-11).sum(axis=1, keepdims=True)
        row_scores = 1 + (p * np.log(p)).sum(axis=1) / np.log(rows.shape[1])
        return float((row_scores * rows.sum(axis=1) / rows.sum()).sum())

    return {
        "disentanglement": concentration(matrix),
        "completeness": concentration(matrix.T),
        "informativeness_train": float(np.mean(train)),
        "informativeness_test": float(np.mean(test)),
    }


if __name__ == "__main__":
    main()
