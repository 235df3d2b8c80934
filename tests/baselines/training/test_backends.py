"""The backends take the same steps, and a run that begins on one goes on on another.

Which objectives and architectures: some of each; with ``--whole`` all. The contracts of objectives and architectures
run whole on another backend with KERAS_BACKEND=torch pytest tests/contracts/test_objectives.py.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from baselines import objectives
from baselines.nets import architectures
from baselines.run_folder import Snapshots
from tests.baselines.training import backends

ALIKE = 1e-5
"""How far a gradient may be from TensorFlow's, over the length of the whole gradient. Found: at most 2e-6."""

OTHERS = ("jax", "torch")

SOME = {
    "factor_vae": {"objective": "factor_vae", "hyperparameters": {"units": 8}},
    "qlae": {"objective": "qlae"},
    "lejepa": {"objective": "lejepa"},
    "conv_small": {"architecture": "conv_small", "architecture_parameters": {}},
}


def every():
    """All objectives on the smallest architecture, and all architectures."""
    units = {"factor_vae": {"units": 8}}
    named = {name: {"objective": name, "hyperparameters": units.get(name, {})} for name in objectives.names()}
    built = {name: {"architecture": name, "architecture_parameters": {}} for name in architectures.ARCHITECTURES}
    return named | built


@pytest.fixture(scope="module")
def cases(request):
    return every() if request.config.getoption("--whole") else SOME


@pytest.fixture(scope="module")
def reference(tiny, cases, tmp_path_factory):
    """TensorFlow's gradients."""
    path = tmp_path_factory.mktemp("tensorflow") / "gradients.npz"
    backends.gradients(tiny().as_json(), cases, path)
    return dict(np.load(path))


@pytest.fixture(scope="module", params=OTHERS)
def other(request, tiny, trained, cases, jax_on_cpu, tmp_path_factory):
    """What another backend makes of the same cases, and of a run that TensorFlow has begun."""
    if not importlib.util.find_spec(request.param):
        pytest.skip(f"{request.param} is not installed: pip install {request.param}")
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(trained.folder, folder / "begun")
    shutil.rmtree(Snapshots(folder / "begun").path(6))
    done = subprocess.run(
        [sys.executable, backends.__file__, folder, json.dumps([tiny().as_json(), cases])],
        env={**jax_on_cpu, "KERAS_BACKEND": request.param, "KERAS_TORCH_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return request.param, folder, json.loads(done.stdout)


def test_a_black_image_has_a_finite_gradient_in_simclr(other):
    assert np.isfinite(other[2]["slope"]).all()


def test_gradients_are_tensorflows(other, reference, cases):
    _, folder, _ = other
    found = dict(np.load(folder / "gradients.npz"))
    assert found.keys() == reference.keys()
    for case in cases:
        keys = [key for key in reference if key.startswith(f"{case}:") and not key.endswith(":loss")]
        length = np.sqrt(sum(np.square(reference[key]).sum() for key in keys))
        apart = {key: float(np.abs(found[key] - reference[key]).max() / length) for key in keys}
        assert max(apart.values()) < ALIKE, (case, max(apart, key=apart.get))
        assert found[f"{case}:loss"] == pytest.approx(reference[f"{case}:loss"], rel=1e-6)


def test_a_run_that_tensorflow_began_goes_on(other, trained):
    name, folder, found = other
    step, now, before, shape = found["finished"]
    assert (step, now, before, shape) == (6, name, ["tensorflow"], [2, 3])
    ours, theirs = (Snapshots(each).read(6)[0] for each in (folder / "begun", trained.folder))
    for part, wanted in zip(ours, theirs, strict=True):
        for key, array in wanted.items():
            np.testing.assert_allclose(part[key], array, rtol=1e-4, atol=1e-6, err_msg=key)


def test_a_stopped_run_goes_on_bit_by_bit(other):
    name, _, found = other
    same, line, deterministic = found["resumed"]
    assert same == [True] * 3
    assert deterministic
    assert f"with {name} " in line


def test_training_leaves_pytorch_as_it_was(other):
    name, _, found = other
    assert found["modes"] == [[0, True] if name == "torch" else []] * 2


def test_it_trains_the_same_and_never_loads_tensorflow(other, trained):
    name, folder, found = other
    ours = found["trained"]
    assert not ours["tensorflow"]
    assert ours["step"] == 6
    assert [list(row) for row in ours["history"]] == [list(row) for row in trained.history]
    for row, wanted in zip(ours["history"], trained.history, strict=True):
        assert row == pytest.approx(wanted, rel=1e-4)
    images = trained.dataset.images([0, 1])
    np.testing.assert_allclose(ours["mean"], trained.encode(images).mean, rtol=1e-2, atol=1e-3)
    assert ours["shape"] == [2, 64, 64, 3]
    assert ours["layers"] == list(trained.activations(images))
    record = json.loads((folder / "whole" / "run.json").read_text())
    assert f"({name})" in record["budget"]["device"]
    assert set(record["versions"]) == {"python", "offaxis", "numpy", "keras", name}
