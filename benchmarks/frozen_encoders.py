"""Encoders that were trained on other images, and left as they are, on the board's tasks.

    python benchmarks/frozen_encoders.py lite0.onnx --name efficientnet_lite0 --title EfficientNet-Lite0 \
        --tasks xysquares/spacing_8 --to runs/frozen
    find runs/frozen -name codes.npz -printf '%h ' | xargs offaxis board score --tier desk --to results

The encoder is a file in ONNX (benchmarks/efficientnet_onnx.py writes such files). Its features are scored raw, but for
a power of 4 that brings their standard deviation near 1 (that of random weights is 5e-9, and the trees of DCI cut
nothing closer than 1e-7), as their first principal components, as many as factors vary, and as the units of a sparse
autoencoder, TopK and L1 (`sparse_codes.py`); components and autoencoders are fitted to the task's train
rows. Each becomes a run folder whose supervision is ``pretrained``. MIG and linear R² of each are added to
frozen_encoders.csv, R² of the directions in which the codes vary.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sparse_codes  # beside this file
from numpy.typing import NDArray

import benchmark_data
from baselines.record import digests_of, write_record
from baselines.run_folder import write_arrays
from benchmark_data import files
from leaderboard import protocol
from leaderboard.metrics import mig, r_squared
from leaderboard.reading import encoders

RECORD = Path(__file__).with_suffix(".csv")
UNITS = 64
STEPS = 500
SEEDS = 5
TITLES = {"raw": "features", "pca": "PCA", "topk": "TopK", "l1": "L1"}
DESCRIPTIONS = {
    "raw": "All features of the network.",
    "pca": "The features' first principal components, as many as factors.",
    "topk": "64 units of a sparse autoencoder trained on the features, 8 of them active.",
    "l1": "64 units of a sparse autoencoder trained on the features with an L1 penalty.",
}
FIELDS = ("task", "encoder", "codes", "latents", "seed", "mig", "r_squared")


def codes_of(
    features: NDArray[np.float32], train: int, latents: int, seeds: int = SEEDS
) -> Iterator[tuple[str, int, NDArray[np.float32]]]:
    """Yield what is scored of features, (n, D): its name, a seed, and codes of all rows; ``train`` rows come first."""
    yield "raw", 0, features * np.float32(4.0 ** -np.rint(np.log(features[:train].std()) / np.log(4.0)))
    centred = features - features[:train].mean(axis=0)
    directions = np.linalg.eigh(centred[:train].T @ centred[:train])[1][:, ::-1]
    components = centred @ directions[:, :latents]
    yield "pca", 0, (components / components[:train].std()).astype(np.float32)  # DCI takes ranges below 1e-6 for none
    for kind in ("topk", "l1"):
        for seed in range(seeds):
            encode = sparse_codes.fit(features[:train], units=UNITS, steps=STEPS, kind=kind, seed=seed)
            yield kind, seed, encode(features)


def independent(codes: NDArray[np.float32], train: int) -> NDArray[np.float32]:
    """Return codes in the directions in which the train rows vary by more than 1e-3 of the most that they do.

    Least squares on features that nearly depend on each other give weights that no held-out row can bear.
    """
    centred = codes - codes[:train].mean(axis=0)
    variances, directions = np.linalg.eigh(centred[:train].T @ centred[:train])
    projected: NDArray[np.float32] = centred @ directions[:, variances > 1e-6 * variances[-1]]
    return projected


def score_encoder(encoder: Path, name: str, about: dict[str, str], task: str, into: Path) -> Iterator[list[Any]]:
    """Write the run folders of an encoder on a task, and yield a line of the record for each."""
    dataset, rows = benchmark_data.load(task), protocol.task(task)
    count, labels = len(rows.train), dataset.labels(rows.indices)
    features = encoders.encode(encoder, dataset, rows.indices)
    for kind, seed, codes in codes_of(features, count, len(rows.scored)):
        folder = into / task / f"{name}_{kind}" / f"seed_{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        write_record(
            folder,
            dataset,
            digests_of(dataset),
            method=f"{name}_{kind}",
            budget={"device": "elsewhere"},
            seed=seed,
            supervision="pretrained",
            hyperparameters={"codes": kind, "encoder": files.hash_of(encoder)[:16], "features": features.shape[1]},
            versions={"numpy": np.__version__},
            about=about | {"title": f"{about['title']} ({TITLES[kind]})", "description": DESCRIPTIONS[kind]},
        )
        write_arrays(folder / "codes.npz", {"indices": rows.indices, "codes": codes})
        inputs = independent(codes, count)
        linear = r_squared.score(inputs[:count], labels[:count], codes_test=inputs[count:], factors_test=labels[count:])
        mig_scores = mig.score(codes[:count], labels[:count])
        scores = f"{mig_scores['mig']:.4f}", f"{linear['r_squared']:.4f}"
        yield [task, name, kind, codes.shape[1], seed, *scores]


def main() -> None:
    """Score an encoder on tasks, and add its lines to the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoder", type=Path, help="a file in ONNX: images uint8 (n, H, W, C) to codes")
    parser.add_argument("--name", required=True)
    fields = ("title", "authors", "paper", "code", "license", "bibtex")
    for field in fields:
        parser.add_argument(f"--{field}", default="")
    parser.add_argument("--tasks", nargs="+", required=True)
    parser.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    lines = list(csv.reader(RECORD.open(encoding="utf-8", newline="")))[1:] if RECORD.exists() else []
    about = {key: getattr(options, key) for key in fields}
    for task in options.tasks:
        for line in score_encoder(options.encoder, options.name, about, task, options.to):
            print(*line, flush=True)
            lines = [other for other in lines if other[:3] != line[:3] or other[4] != str(line[4])]
            lines.append(list(map(str, line)))
    files.write_text(RECORD, files.comma_separated(FIELDS, sorted(lines)))


if __name__ == "__main__":
    main()
