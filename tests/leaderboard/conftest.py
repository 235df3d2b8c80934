"""Run folders of a toy dataset, so that the board can be tested without training anything."""

from __future__ import annotations

import datetime
import functools
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from benchmark_data.factors import Factor, FactorSpace
from benchmark_data.sources import Rendered
from leaderboard import protocol, record
from leaderboard.scoring import candidates
from leaderboard.store import results


def toy(config: str = "small", sizes: tuple[int, ...] = (4, 3, 5)) -> Dataset:
    """A dataset of 60 images: one bright pixel for each factor's class id."""

    def render(labels):
        images = np.zeros((len(labels), 8, 8, 3), np.uint8)
        for column in range(labels.shape[1]):
            images[np.arange(len(labels)), column, labels[:, column]] = 255
        return images

    return Dataset(
        name="toy",
        config=config,
        version="1.0.0",
        space=FactorSpace(*(Factor(f"f{i}", range(size)) for i, size in enumerate(sizes))),
        source=Rendered(render),
        image_shape=(8, 8, 3),
        description="One bright pixel for each factor.",
        citation="@misc{toy}",
        license="MIT",
        homepage="https://example.org",
    )


@pytest.fixture
def make_toy():
    """Make a toy dataset of other sizes."""
    return toy


@pytest.fixture(scope="session")
def giveaways_script():
    """The names of the script that writes giveaways."""
    return runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "giveaways.py"))


@pytest.fixture
def audited(giveaways_script):
    """What the script that writes giveaways finds of a dataset."""
    return giveaways_script["audited"]


@pytest.fixture
def write_giveaways(giveaways_script):
    """How the script that writes giveaways stores what it finds."""
    return giveaways_script["write"]


@pytest.fixture
def toys(monkeypatch):
    """Put ``toy/spacing_1``, ``toy/spacing_8`` and ``toy/small`` in the place of the real datasets."""
    datasets = {f"toy/{config}": toy(config) for config in ("small", "spacing_1", "spacing_8")}
    monkeypatch.setattr(benchmark_data, "names", lambda: ("toy",))
    monkeypatch.setattr(benchmark_data, "configs", lambda name: tuple(datasets))

    def load(name):
        if not isinstance(name, str):
            return name
        found = datasets.get(name if "/" in name else f"{name}/small")
        if found is None:
            raise UnknownName("dataset", name, datasets)
        return found

    monkeypatch.setattr(benchmark_data, "load", load)
    for owner, name in ((protocol, "task"), (candidates, "_dataset_digest")):  # what is held of real datasets stays
        monkeypatch.setattr(owner, name, functools.cache(getattr(owner, name).__wrapped__))
    return datasets


@pytest.fixture
def moved():
    """Move the MIG of a run, which then is not what its parts come to, so that these go."""

    def make(run, by):
        parts = {metric: found for metric, found in run.parts.items() if metric != "mig"}
        return run.model_copy(update={"scores": run.scores | {"mig": run.scores["mig"] + by}, "parts": parts})

    return make


@pytest.fixture
def one_tier(monkeypatch):
    """One tier, so that boards are small: a metric of one score, and one of several with all that they are made of."""
    trees = protocol.Measurement("dci", test=protocol.TEST, arguments={"mode": "fast", "seed": 0})
    tiers = {
        name: protocol.Tier(name, "For tests.", (protocol.Measurement("mig"), trees)) for name in ("desk", "smoke")
    }
    monkeypatch.setattr(protocol, "TIERS", tiers)


@pytest.fixture
def run_folder(toys, tmp_path):
    """Make a run folder: codes are the factors with noise."""

    def make(method="beta_vae", dataset="toy/small", seed=0, noise=0.1, *, codes=None, indices=None, **fields):
        task = protocol.task(dataset)
        rng = np.random.default_rng([ord(letter) for letter in f"{method} {seed}"])
        labels = task.load().labels(task.indices)
        codes = labels + noise * rng.standard_normal(labels.shape) if codes is None else codes
        folder = tmp_path / "runs" / f"{dataset.replace('/', '-')}-{method}-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(
            folder / "codes.npz",
            indices=task.indices if indices is None else indices,
            codes=np.asarray(codes, np.float32),
        )
        version, digest = candidates.dataset_digest(task)
        run = {
            "schema": 1,
            "method": method,
            "dataset": dataset,
            "dataset_version": version,
            "dataset_digest": digest.model_dump(),
            "seed": seed,
            "supervision": "reference" if method in ("pca", "ground_truth", "random_encoder") else "unsupervised",
            "selection": "none",
            "hyperparameters": {"beta": 1.0},
            "budget": {"steps": 100, "images": 6400, "seconds": 1.5, "device": "1 core"},
            "versions": {"numpy": np.__version__},
            "about": {"title": "β-VAE"} if method == "beta_vae" else {},
        }
        run |= fields
        (folder / "run.json").write_text(json.dumps({k: v for k, v in run.items() if v is not None}), "utf-8")
        return folder

    return make


@pytest.fixture
def made_result():
    """Make a result of made-up scores: (task, method, MIG of each seed) -> Result."""

    def make(task, method, *migs, about=None, quarantine="", **fields):
        given = {
            "method": method,
            "dataset": task,
            "tier": "smoke",
            "status": "reproduced",
            "date": datetime.date(2026, 1, 2),
            "dataset_version": "1.0.0",
            "dataset_digest": record.Digests(pixels="0" * 64, factors="0" * 64),
            "rows_digest": "0" * 64,
            "latents": 10,
            "samples": {"mig": results.Sample(train=10_000, test=0, arguments={"bins": 20})},
            "supervision": "reference" if method in ("pca", "ground_truth", "random_encoder") else "unsupervised",
            "selection": "none",
            "hyperparameters": {},
            "budget": record.Budget(steps=1_000, images=64_000, seconds=12.0, device="2 cores"),
            "versions": {},
            "scored_with": {},
        } | fields
        runs = [
            results.Scored(**given, seed=seed, scores={"mig": mig}, codes_digest=f"{seed:064x}")
            for seed, mig in enumerate(migs)
        ]
        return results.result(f"{task}@v1", method, runs, about=about, quarantine=quarantine)

    return make
