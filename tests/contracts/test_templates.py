"""The templates that CONTRIBUTING.md tells one to copy do work: each is put where a copy would go, under a new name."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark_data import discovery

TEMPLATES = Path(__file__).parents[2] / "docs" / "templates"


@pytest.fixture
def copied(monkeypatch, tmp_path):
    """Copy a template into a folder that belongs to a package, and find it by its new name."""

    def copy(template: str, package: str):
        shutil.copy(TEMPLATES / f"{template}.py", tmp_path / "copied_template.py")
        folders = importlib.import_module(package).__path__
        monkeypatch.setattr(sys.modules[package], "__path__", [*folders, str(tmp_path)])
        monkeypatch.delitem(sys.modules, f"{package}.copied_template", raising=False)
        return discovery.find(package, "copied_template", kind=template)

    return copy


def test_there_is_one_for_each_noun():
    assert sorted(p.stem for p in TEMPLATES.glob("*.py")) == ["dataset", "metric", "objective"]


def test_dataset(copied):
    dataset = copied("dataset", "benchmark_data.datasets").DATASET
    rows = dataset.quick_rows()
    images = dataset.images(rows)
    assert images.shape == (len(rows), *dataset.image_shape)
    assert set(np.unique(images)) == {0, 255}
    np.testing.assert_array_equal(dataset.space.index(dataset.labels(rows)), rows)
    # by hand: a disc of radius 9 holds about pi * 81 = 254 pixels
    largest = dataset.images(dataset.space.index([[3, 8, 8]]))
    assert abs((largest == 255).sum() - np.pi * 81) < 15


def test_objective_trains(copied, tmp_path):
    objective = copied("objective", "baselines.objectives").OBJECTIVE
    from baselines import RunConfig, train

    config = RunConfig(
        dataset="xysquares/spacing_1",
        objective="copied_template",
        hyperparameters={"strength": 2, "warm_up": 4},
        architecture="fc",
        architecture_parameters={"width": 8},
        steps=2,
        batch_size=4,
        history_every=1,
    )
    assert config.build_objective() == objective(strength=2.0, warm_up=4)
    first, second = train(config, tmp_path / "run").history
    # the loss is the reconstruction plus 2 * step / 4 times the divergence
    assert first["loss"] == pytest.approx(first["reconstruction"] + 0.5 * first["kl"], rel=1e-5)
    assert second["loss"] == pytest.approx(second["reconstruction"] + 1.0 * second["kl"], rel=1e-5)


def test_metric(copied):
    score = copied("metric", "leaderboard.metrics").score
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, size=(500, 2))
    assert score(factors.astype(float), factors) == {"metric": pytest.approx(1.0)}
    assert score(rng.normal(size=(500, 3)), factors)["metric"] < 0.05
