"""What entries compute from runs, beside the same computed here from one small run."""

from __future__ import annotations

import types

import numpy as np
import pandas as pd
import pytest

import benchmark_data
from baselines import Run
from baselines.objectives import Posterior
from baselines.reproduction.papers import _changed, _hidden, _importance, _layers, _scores, michlo2023
from leaderboard import information, protocol
from leaderboard.comparisons import cka


@pytest.fixture
def runs(trained, tmp_path):
    """Runs of which all are the small one."""
    return types.SimpleNamespace(root=tmp_path, open=lambda config, step=None: Run.open(trained.folder, step=step))


def first_images(trained, n):
    return trained.dataset.images(protocol.task(trained.config.dataset).test[:n])


def test_the_sampled_layer_is_compared_with_mean_and_input_at_every_snapshot(trained, runs):
    table = _layers.sampled({"strengths": [(4.0, [trained.config])], "samples": 20}, runs, "desk").table
    assert table[["step", "with"]].to_numpy().tolist() == [[s, w] for s in (0, 4, 6) for w in ("mean", "input")]
    layers = Run.open(trained.folder, step=4).activations(first_images(trained, 20))
    expected = [cka.compare(layers[other], layers["sampled"]) for other in ("mean", "input")]
    assert table[table["step"] == 4]["similarity"].tolist() == pytest.approx(expected, abs=1e-6)


def test_layers_but_the_flat_images_are_compared_with_the_input(trained, runs):
    settings = {"strengths": [(4.0, [trained.config])], "samples": 20, "similarities": ("CKA",)}
    table = _layers.against_input(settings, runs, "desk").table
    layers = trained.activations(first_images(trained, 20))
    names = [name for name in layers if name.startswith("encoder_") and layers[name].size != layers["input"].size]
    final = table[table["step"] == 6].set_index("layer")["similarity"]
    assert sorted(final.index) == sorted(names)
    assert final[names[-1]] == pytest.approx(cka.compare(layers[names[-1]], layers["input"]), abs=1e-6)
    assert set(table["group"]) == {"β = 4"}


def test_losses_are_those_of_the_history(trained, runs, tmp_path):
    found = _layers.losses({"models": [("least", [trained.config])], "every": 2}, runs, "desk")
    assert found.table[["step", "loss"]].to_numpy().tolist() == [
        [line["step"], line["loss"]] for line in trained.history[::2]
    ]
    _layers.draw_losses(found, tmp_path / "losses.png")
    assert (tmp_path / "losses.png").stat().st_size


def test_the_share_of_a_factor_is_that_of_its_best_latent(trained, runs):
    settings = {"runs": [trained.config], "traversals": 5, "samples": 200}
    table = _importance.learned(settings, runs, "desk").table
    assert len(table) == 3 * 6
    assert table.sort_values("importance", ascending=False, kind="stable")["rank"].is_monotonic_increasing
    mean = Run.open(trained.folder, step=4).encode(first_images(trained, 200)).mean
    labels = trained.dataset.labels(protocol.task(trained.config.dataset).test[:200])
    shares = table[table["step"] == 4].set_index("factor")["share"]
    for name, column in zip(trained.dataset.space.names, labels.T, strict=True):
        pairs = information.pairwise(mean, column[:, None])
        assert shares[name] == pytest.approx(float(pairs.information.max() / pairs.factors[0])), name


def test_a_faint_pattern_is_measured_on_the_images_that_are_shown():
    settings = {"datasets": ["dsprites"], "variant": "pca32_eps10", "columns": 2}
    table, images = _hidden.pictures(settings, None, "desk")
    before, after = (pictures.astype(float) / 255 for pictures in images.values())
    change = np.abs(after - before).reshape(2, -1)
    np.testing.assert_allclose(table["mean_change"], change.mean(axis=1))
    np.testing.assert_allclose(table["largest_change"], change.max(axis=1))
    assert table["epsilon"].tolist() == [0.1, 0.1]


def test_the_noise_of_a_factor_is_that_of_its_latent():
    dataset = benchmark_data.load("dsprites_patterned/eps100")
    rows = protocol.task(dataset.id).test[:400]
    labels, names = dataset.labels(rows), list(dataset.space.names)
    mean = labels[:, [names.index("s"), names.index("posX")]].astype(np.float32)
    log_variance = np.log(np.float32([[0.01, 0.25]])).repeat(len(rows), axis=0)
    run = types.SimpleNamespace(dataset=dataset, encode=lambda images: Posterior(mean, log_variance))
    settings = {"runs": [types.SimpleNamespace(seed=3)], "encoded": len(rows)}
    table = _hidden.noises(settings, types.SimpleNamespace(open=lambda config: run), "desk").table
    noise = table[table["quantity"] == "noise"].set_index("factor")["value"]
    assert noise[["s", "posX", "posY"]].tolist() == pytest.approx([0.1, 0.5, 1.0])
    assert (set(table["epsilon"]), set(table["seed"])) == ({0.1}, {3})


def test_rows_have_their_role_and_the_number_of_active_units(monkeypatch):
    def scores(runs, configs, tier, metrics):
        return pd.DataFrame({"dataset": [config.dataset for config in configs]})

    def run_of(config):
        log_variance = np.log(np.float32([[0.7, 0.9, 0.1]])).repeat(20, axis=0)
        dataset = benchmark_data.load(config.dataset)
        return types.SimpleNamespace(dataset=dataset, encode=lambda images: Posterior(0 * log_variance, log_variance))

    monkeypatch.setattr(_scores, "table", scores)
    original, matched, noisy = (
        types.SimpleNamespace(dataset=name) for name in ("dsprites", "dsprites_squeezed/eps10", "dsprites_noisy/eps10")
    )
    settings = {"strengths": [(1, [original, matched]), (2, [noisy])], "metrics": ("mig",), "samples": 20}
    table = _changed.regularised(settings, types.SimpleNamespace(open=run_of), "desk").table
    assert table["variant"].tolist() == ["original", "squeezed", "changed"]
    assert set(table["base"]) == {"dsprites"}
    assert table["scale"].tolist() == [1, 1, 2]
    assert table["active"].tolist() == [2, 2, 2]
    assert table["factors"].tolist() == [len(protocol.task(name).scored) for name in table["dataset"]]


def test_at_reduced_tier_it_is_told_what_models_explain(trained, runs, monkeypatch):
    monkeypatch.setattr(_scores, "table", lambda *_: pd.DataFrame({"mig": [0.1]}))
    for tier, expected in (("desk", ["mig"]), ("reduced", ["mig", "explained"])):
        table = michlo2023.scored({"runs": [trained.config]}, runs, tier).table
        assert list(table) == expected
    assert table["explained"].tolist() == [trained.explained()]
