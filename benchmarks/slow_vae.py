"""SlowVAE with weaker regularisation: MIG, linear R² and what is reconstructed, for docs/pixel_loss.md.

    python benchmarks/slow_vae.py runs/slow_vae

Of each finished run of `baselines.sweeps.beyond_pixels_slow_vae`: both scores as in `benchmarks/pixel_loss.py`, and the
share of the pixels' variance that reconstructions explain (`baselines.run.Run.explained`). What the file holds already
is kept.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import pixel_loss

from baselines import Run
from baselines.sweeps import beyond_pixels_slow_vae
from baselines.training import sweep
from benchmark_data import files
from leaderboard import protocol

RECORD = Path(__file__).with_suffix(".csv")


def main() -> None:
    """Measure what the record lacks, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="the folder of the sweep's runs")
    options = parser.parse_args()
    head = ("dataset", "beta", "gamma", "steps", "seed", "mig", "r_squared", "explained")
    lines = list(csv.DictReader(RECORD.open(encoding="utf-8", newline=""))) if RECORD.exists() else []
    existing = {tuple(line[name] for name in head[:5]) for line in lines}
    for config in beyond_pixels_slow_vae.SWEEP:
        strengths = (f"{config.hyperparameters[name]:g}" for name in head[1:3])
        key = (config.dataset, *strengths, str(config.steps), str(config.seed))
        path = options.runs / sweep.run_path(config)
        if key not in existing and (path / "codes.npz").exists():
            task = protocol.task(config.dataset)
            measured = [*pixel_loss.scores(task, np.load(path / "codes.npz")["codes"]), Run.open(path).explained()]
            lines.append(dict(zip(head, (*key, *(f"{value:.4f}" for value in measured)), strict=True)))
            print(*lines[-1].values(), flush=True)
    files.write_text(RECORD, files.comma_separated(head, [[line[name] for name in head] for line in lines]))


if __name__ == "__main__":
    main()
