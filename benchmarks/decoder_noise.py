"""Say how much of the similarity of decoders is the noise of their sampled codes: linear CKA with and without it.

Run: python benchmarks/decoder_noise.py RUNS --to benchmarks/decoder_noise.csv

RUNS is where ``offaxis study run 2205.08399/fig4 --runs RUNS`` has trained the models. There a decoder's layers
are taken from sampled codes, with noise of each model's own. Beside that stand the same layers from mean codes,
and one model under two draws of the noise, whose CKA would be 1 if noise did not matter.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.reproduction import catalogue
from baselines.reproduction.papers import _heatmaps
from baselines.run import Run
from baselines.training import sweep
from leaderboard import protocol
from leaderboard.comparisons import cka

SAMPLES = 1_000
"""Images; the entry takes more, which takes several times as long."""

DRAWS = (1, 2)
"""Seeds of the noise of two models that are compared."""


def similarity(layers: Sequence[Mapping[str, NDArray[np.float32]]], part: str) -> float:
    """Average the CKA of two models over the layers of their ``"encoder"`` or ``"decoder"``."""
    names = [name for name in layers[0] if name.startswith(f"{part}_")]
    return float(np.mean([cka.compare(*(model[name] for model in layers)) for name in names]))


def rows(root: Path) -> Iterator[dict[str, object]]:
    """Compare the models of the entry's panels; and each with itself, untrained, at the first snapshot and trained."""
    plan = catalogue.entries()["2205.08399/fig4"].plan("desk")
    for panel in plan.settings["panels"]:
        for x, y in zip(panel.x.runs, panel.y.runs, strict=True):
            task = protocol.task(y.dataset)
            images = task.load().images(task.test[:SAMPLES])
            last = [Run.open(root / sweep.run_path(config)) for config in (x, y)]
            pairs = {panel.title: (last[0], last[1])}
            for config, run in zip((x, y), last, strict=True):
                strength = next(iter(config.hyperparameters.values()))
                name = f"{config.objective} {strength:g}"
                for share in (0, 1 / config.steps):
                    step = _heatmaps.step_at(config, share)
                    pairs[f"{name}: step {step} and the last"] = (Run.open(run.folder, step=step), run)
                for step in (0, _heatmaps.step_at(config, 1 / config.steps), config.steps):
                    snapshot = Run.open(run.folder, step=step)
                    pairs[f"{name}: step {step} and itself"] = (snapshot, snapshot)
            for title, pair in pairs.items():
                sampled, mean = [], []
                for run, seed in zip(pair, DRAWS, strict=True):
                    noise = np.random.default_rng(seed).standard_normal((SAMPLES, run.model.code_size), np.float32)
                    sampled.append(run.model.activations(images, noise))
                    mean.append(run.model.activations(images, 0 * noise))
                yield {
                    "what": title,
                    "seed": x.seed,
                    "encoder": similarity(sampled, "encoder"),
                    "decoder": similarity(sampled, "decoder"),
                    "decoder, mean codes": similarity(mean, "decoder"),
                }


def main() -> None:
    """Write the table, and print its means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    table = pd.DataFrame(rows(arguments.runs)).drop_duplicates(["what", "seed"])
    table.round(4).to_csv(arguments.to, index=False)
    print(table.drop(columns="seed").groupby("what", sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main()
