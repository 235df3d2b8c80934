from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from baselines import Run, RunConfig, train
from baselines.engines import start
from baselines.model import Model, generator, scaled
from baselines.nets.backend import ops, tensorflow
from baselines.objectives.qlae import OBJECTIVE
from baselines.outputs import pictures
from baselines.training.batches import draw_batch
from benchmark_data import InvalidInput

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "objectives_since_2020.json").read_text())["qlae"]


def tables(values):
    """What runs the codebooks: a call that gives these values."""

    def call(network, inputs, *, stop_gradient=False):
        assert network == "codebook"
        np.testing.assert_array_equal(np.asarray(inputs), [range(len(values))])
        return ops.convert_to_tensor(values)[None]

    return call


def test_codes_losses_and_gradients_are_the_reference_implementations(make_batch):
    """The fixture says how the reference's numbers were made: a loss on the codes and both of its own."""
    outputs, values, weights = (
        tensorflow.constant(CASE[name], tensorflow.float32) for name in ("outputs", "values", "gradient_of_codes")
    )
    objective = OBJECTIVE(values=5)
    with tensorflow.GradientTape() as tape:
        tape.watch([outputs, values])
        codes = objective.code(outputs, tables(values))
        batch = make_batch(outputs, outputs, codes, call=tables(values))
        batch = type(batch)(**{**vars(batch), "posterior": batch.posterior._replace(mean=outputs)})
        terms = objective.terms(batch)
        loss = tensorflow.reduce_sum(weights * codes) + sum(term.weight * term.value for term in terms.values())
    of_outputs, of_values = tape.gradient(loss, [outputs, values])
    np.testing.assert_allclose(codes, CASE["codes"], atol=1e-7)
    for name in ("quantisation", "commitment"):
        assert float(terms[name].value) == pytest.approx(CASE[name], rel=1e-6)
    assert [term.weight for term in terms.values()] == CASE["weights"]
    np.testing.assert_allclose(of_outputs, CASE["gradient_of_outputs"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(of_values, CASE["gradient_of_values"], rtol=1e-4, atol=1e-8)


def test_codebooks_start_evenly_spaced():
    codebook = OBJECTIVE(values=5).networks(3, (), generator(0, 1))["codebook"]
    found = np.asarray(codebook.model(np.arange(3)[None])[0])
    np.testing.assert_allclose(found, [CASE["start"]] * 3)  # -1/2, -1/4, 0, 1/4, 1/2


CONFIG = RunConfig(
    dataset="xysquares/spacing_8",
    objective="qlae",
    hyperparameters={"values": 3},
    architecture="fc",
    architecture_parameters={"width": 8},
    latents=3,
    batch_size=8,
    learning_rate=0.01,
)


def test_encoding_gives_values_of_the_codebooks():
    """What metrics and the decoder see afterwards is what the decoder saw in training."""
    data = benchmark_data.load(CONFIG.dataset)
    model = Model(CONFIG, data.image_shape)
    table = np.array([[-2, 0, 0.1], [-0.1, 0.05, 0.2], [-0.2, 0, 3]], np.float32)
    model.load({**model.weights(), "codebook/values/embeddings": table})
    images = data.images(np.arange(0, 4000, 100))
    raw = np.asarray(model.encoder(scaled(images))[0])
    nearest = np.abs(raw[:, :, None] - table).argmin(axis=2)
    codes = model.encode(images).mean
    np.testing.assert_array_equal(codes, np.take_along_axis(table[None], nearest[..., None], axis=2)[..., 0])
    assert len(np.unique(nearest)) > 1
    layers = model.activations(images, np.zeros((len(images), 3), np.float32))
    np.testing.assert_allclose(layers["mean"], raw, rtol=1e-6)
    np.testing.assert_array_equal(layers["code"], codes)
    decoded = 1 / (1 + np.exp(-layers["output"].astype(float)))
    np.testing.assert_allclose(decoded, model.decode(codes).reshape(len(codes), -1), atol=1e-6)


def test_traversals_stay_where_codes_are(tmp_path, monkeypatch):
    run = train(dataclasses.replace(CONFIG, steps=1, snapshots=[]), tmp_path)
    decoded = []
    monkeypatch.setattr(run, "decode", lambda codes: decoded.append(codes) or Run.decode(run, codes))
    pictures.traversals(run)
    assert (decoded[0].min(), decoded[0].max()) == (-0.5, 0.5)


def test_kernels_decay_as_in_adamw_and_nothing_else_does():
    """A step with decay and one without differ by learning rate x decay x what the weight was (AdamW, algorithm 2)."""
    data = benchmark_data.load(CONFIG.dataset)
    after = {}
    for decay in (0.0, 0.5):
        config = RunConfig(**{**vars(CONFIG), "hyperparameters": {"values": 3, "weight_decay": decay}})
        model = Model(config, data.image_shape)
        before = model.weights()
        engine = start(model)
        engine.step(draw_batch(config, config.build_objective(), data, np.arange(64), 1))
        after[decay] = engine.copy().bring().weights
    for name, weight in before.items():
        lost = 0.01 * 0.5 * weight if name.endswith("/kernel") and "log_variance" not in name else 0
        np.testing.assert_allclose(after[0.0][name] - after[0.5][name], lost, atol=2e-7, err_msg=name)
    assert {name.split("/")[0] for name in before if name.endswith("/kernel")} == {"encoder", "decoder"}


def test_one_value_is_refused():
    with pytest.raises(InvalidInput, match="hyperparameter 'values': expected at least 2, received 1"):
        OBJECTIVE(values=1)
