"""Deriving a hidden variable: on a dataset of 64 images, the restarts, the choice and the file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import benchmark_data
from baselines import RunConfig
from baselines.outputs import hidden_variable
from baselines.run import Run
from benchmark_data import FactorSpace, InvalidInput, UnknownName
from benchmark_data.datasets import xysquares
from benchmark_data.variants import hidden as artifacts
from benchmark_data.variants import perturbation
from benchmark_data.variants.hidden import HiddenVariable
from leaderboard.metrics import mig

TINY = {"architecture": "fc", "architecture_parameters": {"width": 8}, "steps": 3, "batch_size": 4}


@pytest.fixture(scope="module")
def small():
    """64 images: the red square of XYSquares moves, the others rest. Its name is that of a base of perturbed ones."""
    space = FactorSpace(*xysquares.SPACE.factors[:2])

    def render(labels):
        return xysquares.render(np.concatenate([labels, np.zeros((len(labels), 4), np.int64)], axis=1), spacing=3)

    return dataclasses.replace(
        benchmark_data.load("xysquares"),
        name="small",
        config="",
        parameters={},
        space=space,
        splits={},
        source=benchmark_data.Rendered(render),
    )


@pytest.fixture
def known(small, monkeypatch, tmp_path):
    """Let ``small`` and ``small_perturbed`` be found by name; nothing is shipped and the cache is empty."""
    load = benchmark_data.load

    def loaded(name, **parameters):
        if name == "small_perturbed":
            return perturbation.perturbed(small).configs["conv32_eps10"]
        return small if name == "small" else load(name, **parameters)

    monkeypatch.setattr(benchmark_data, "load", loaded)
    monkeypatch.setattr(artifacts, "ARTIFACTS", tmp_path / "package")
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path / "cache"))


def test_the_least_noise_of_the_lowest_mig_becomes_the_hidden_variable(small, known, tmp_path):
    config = RunConfig.from_json(hidden_variable.settings(small) | TINY | {"seed": 3})
    assert config.latents == 2
    path = hidden_variable.derive(config, tmp_path / "runs", restarts=3, least_mean_mig=0)

    runs = {seed: Run.open(tmp_path / f"runs/seed_{seed}") for seed in (3, 4, 5)}
    images, labels = small.images(range(64)), small.labels(range(64))
    migs = {seed: mig.score(run.encode(images).mean, labels)["mig"] for seed, run in runs.items()}
    hidden = HiddenVariable(small, "conv_vae")
    assert path == hidden.path
    recorded = hidden.provenance
    assert recorded["migs"] == pytest.approx({str(seed): score for seed, score in migs.items()}, abs=1e-6)
    assert len(set(migs.values())) == 3
    assert recorded["config"]["seed"] == min(migs, key=migs.get)
    posterior = runs[recorded["config"]["seed"]].encode(images)
    noise = np.exp(posterior.log_variance).mean(axis=0)
    assert recorded["noise"] == pytest.approx(noise.tolist(), abs=1e-5)
    assert recorded["latent"] == noise.argmin()

    s = posterior.mean[:, recorded["latent"]]
    written = hidden.values(images, np.arange(64))
    assert np.allclose(written, (s - s.mean()) / s.std(), atol=1e-3)
    assert recorded["config"]["steps"] == 3
    assert recorded["base_digest"] == small.digest()._asdict()
    assert {"numpy", "keras", "offaxis"} < set(recorded["versions"])
    with pytest.raises(InvalidInput, match=r"hidden variable of small: expected none yet, .* pass its path"):
        hidden_variable.derive(config, tmp_path / "runs", restarts=3, least_mean_mig=0)

    # What is trained is not trained again, and the same file comes of it.
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("weights.npz")}
    again = hidden_variable.derive(config, tmp_path / "runs", restarts=3, least_mean_mig=0, path=tmp_path / "again.npz")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("weights.npz")} == times
    first, second = (np.load(path, allow_pickle=False) for path in (path, again))
    assert np.array_equal(first["table"], second["table"])
    assert str(first["provenance"]) == str(second["provenance"])


def test_a_beta_tcvae_will_do_and_the_file_says_so(small, known, tmp_path):
    config = RunConfig.from_json(hidden_variable.settings(small) | TINY | {"objective": "beta_tc_vae", "seed": 3})
    hidden_variable.derive(config, tmp_path / "runs", restarts=2, least_mean_mig=0)
    recorded = HiddenVariable(small, "conv_vae").provenance
    assert recorded["config"]["objective"] == "beta_tc_vae"
    assert recorded["method"] == "the latent with the least noise of the β-TCVAE with the lowest MIG"
    assert set(recorded["migs"]) == {"3", "4"}


def test_what_cannot_be_derived(small, known, tmp_path):
    values = hidden_variable.settings(small) | TINY
    with pytest.raises(InvalidInput, match="objective: expected beta_vae or beta_tc_vae, received ae"):
        hidden_variable.derive(RunConfig.from_json(values | {"objective": "ae"}), tmp_path / "runs")
    with pytest.raises(InvalidInput, match="restarts: expected at least 2, received 1"):
        hidden_variable.derive(RunConfig.from_json(values), tmp_path / "runs", restarts=1)
    with pytest.raises(UnknownName, match=r"dataset: .* received 'xysquares_perturbed'"):
        hidden_variable.derive(RunConfig.from_json(values | {"dataset": "xysquares/spacing_1"}), tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []


def test_the_lowest_mig_of_models_that_learned_nothing_is_not_chosen(small, known, tmp_path):
    config = RunConfig.from_json(hidden_variable.settings(small) | TINY)
    with pytest.raises(InvalidInput, match=r"models on small: expected a mean MIG of at least 1, .* received 0\.\d"):
        hidden_variable.derive(config, tmp_path / "runs", restarts=2, least_mean_mig=1.0)
    assert not HiddenVariable(small, "conv_vae").ready
