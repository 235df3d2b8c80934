from __future__ import annotations

import functools
import json
import subprocess
import sys
import types

import numpy as np
import pytest

import benchmark_data
from baselines import engines
from baselines.engines.engine import adam_step
from baselines.model import Model
from baselines.nets.backend import keras, tensorflow
from baselines.objectives import Adam
from baselines.run_folder import State
from baselines.training.batches import draw_batch
from benchmark_data import DamagedFile


def batch(config, step):
    data = benchmark_data.load(config.dataset)
    return draw_batch(config, config.build_objective(), data, np.arange(512), step)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_adam_is_keras_adam_and_with_decay_its_adamw(decay):
    adam = Adam(1e-2, 0.8, 0.95, 1e-4, decay)
    kind = functools.partial(keras.optimizers.AdamW, weight_decay=decay) if decay else keras.optimizers.Adam
    reference = kind(1e-2, beta_1=0.8, beta_2=0.95, epsilon=1e-4)
    variable = keras.Variable(np.array([1.0, -2.0, 0.5], np.float32))
    weight, first, second = np.array([1.0, -2.0, 0.5], np.float32), *np.zeros((2, 3), np.float32)
    reference.build([variable])
    for step in range(1, 6):
        gradient = np.array([0.3, -1.0, 0.01], np.float32) * step
        reference.apply([gradient], [variable])
        weight, first, second = adam_step(weight, first, second, gradient, adam, np.float32(step))
        np.testing.assert_allclose(np.asarray(weight), np.asarray(variable.value), rtol=1e-5)


def test_the_engine_takes_adams_step_on_the_losss_gradient(tiny):
    config = tiny(learning_rate=1e-3)
    model = Model(config, (64, 64, 3))
    weights = [tensorflow.identity(v.value) for v in model.variables()]
    state = [(w, tensorflow.zeros_like(w), tensorflow.zeros_like(w)) for w in weights]
    for step in (1, 2):
        with tensorflow.GradientTape() as tape:
            tape.watch(weights)
            loss, _ = model.loss(weights, batch(config, step))
        gradients = tape.gradient(loss, weights)
        state = [
            adam_step(*parts, gradient, adam, np.float32(step))
            for parts, gradient, adam in zip(state, gradients, model.optimisers(), strict=True)
        ]
        weights = [parts[0] for parts in state]
    engine = engines.start(Model(config, (64, 64, 3)))
    for step in (1, 2):
        engine.step(batch(config, step))
        assert tensorflow.random.normal((1,)).shape == (1,)  # refused where determinism goes on
    found = engine.copy().bring()
    for i, part in enumerate(found):
        slack = 2e-5 if i == 0 else 1e-6  # where a gradient is near 0, rounding moves the step by some of its 1e-3
        for expected, (name, value) in zip(state, part.items(), strict=True):
            np.testing.assert_allclose(value, np.asarray(expected[i]), rtol=2e-4, atol=slack, err_msg=name)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda a, b: a.sum() ** 2 + 4 * b.sum(), [[[12.0, 12.0], [12.0, 12.0]], [4.0, 4.0]]),
        (lambda a, b: (b * b).sum(), [[[0.0, 0.0], [0.0, 0.0]], [2.0, 4.0]]),
        (lambda a, b: (a * 0).sum().detach(), [[[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0]]),
    ],
    ids=["all weights", "one of two weights", "no weight"],
)
def test_in_pytorch_weights_that_a_loss_does_not_hold_have_a_gradient_of_0(loss, expected):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from baselines.engines.torch_engine import TorchEngine

    model = types.SimpleNamespace(loss=lambda leaves, batch: (loss(*leaves), {"loss": torch.tensor(1.0)}))
    weights = [torch.tensor([[1.0, 2.0], [1.0, 2.0]]), torch.tensor([1.0, 2.0])]
    found, history = TorchEngine._compute_gradients(types.SimpleNamespace(_model=model), weights, {})
    assert [gradient.tolist() for gradient in found] == expected
    assert history["loss"].shape == (1,)


def test_a_copy_is_the_state_before_the_steps_that_follow(tiny):
    config = tiny()
    engine = engines.start(Model(config, (64, 64, 3)))
    before, copy = engine.copy().bring(), engine.copy()
    engine.step(batch(config, 1))
    for part, held, now in zip(before, copy.bring(), engine.copy().bring(), strict=True):
        assert all(np.array_equal(part[name], held[name]) for name in part)
        assert not all(np.array_equal(part[name], now[name]) for name in part)
    assert copy.flaw == ""
    before.weights["encoder/mean/kernel"][0] = np.nan
    engine.load(before, "")
    assert engine.copy().flaw == "weight"


def test_state_of_another_model_is_refused(tiny):
    engine = engines.start(Model(tiny(), (64, 64, 3)))
    state = engine.copy().bring()
    with pytest.raises(
        DamagedFile, match=r"weights.npz: expected encoder/mean/kernel of shape \(8, 3\), received none"
    ):
        engine.load(
            State({k: v for k, v in state.weights.items() if k != "encoder/mean/kernel"}, *state[1:]), "weights.npz"
        )
    wrong = {**state.first, "encoder/mean/kernel": np.zeros((8, 8), np.float32)}
    with pytest.raises(DamagedFile, match=r"received \(8, 8\)"):
        engine.load(State(state.weights, wrong, state.second), "x")
    more = {**state.weights, "decoder/more/kernel": np.zeros((2, 2), np.float32)}
    with pytest.raises(DamagedFile, match=r"x: expected decoder/more/kernel of shape none, received \(2, 2\)"):
        engine.load(State(more, *state[1:]), "x")


def test_another_backend_is_refused_in_one_line(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "numpy")
    program = "import sys; from baselines import RunConfig, train; train(RunConfig.read(sys.argv[1]), sys.argv[2])"
    (tmp_path / "c.json").write_text(json.dumps(tiny().as_json()))
    command = [sys.executable, "-c", program, str(tmp_path / "c.json"), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "UnknownName: KERAS_BACKEND: expected one of jax, tensorflow, torch, received 'numpy'." in done.stderr
    assert not (tmp_path / "run").exists()
