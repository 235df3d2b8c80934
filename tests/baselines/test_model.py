"""The loss of a batch, worked out again with numpy from what the networks give."""

from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from baselines.model import Model
from baselines.nets import architectures
from baselines.nets.backend import keras, ops
from baselines.objectives import Adam, Network, Term, beta_vae
from baselines.training.batches import draw_batch
from benchmark_data.errors import InvalidInput

DATA = benchmark_data.load("xysquares/spacing_8")


@pytest.mark.parametrize("weight", [1.0, 128.0])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("objective", ["beta_vae", "ae"])
def test_the_loss_of_a_batch_against_numpy(tiny, objective, reduction, weight):
    hyperparameters = {"beta": 3.0} if objective == "beta_vae" else {}
    settings = {"reconstruction": "mse", "reduction": reduction, "reconstruction_weight": weight}
    config = tiny(objective=objective, hyperparameters=hyperparameters, **settings)
    model = Model(config, DATA.image_shape)
    batch = draw_batch(config, config.build_objective(), DATA, np.arange(500), 1)
    found, history = model.loss([v.value for v in model.variables()], batch)

    pixels = batch["images"] / 255
    mean, log_variance = (x.astype(float) for x in model.encode(batch["images"]))
    codes = mean + np.exp(log_variance / 2) * batch["noise"] if objective == "beta_vae" else mean
    output = np.asarray(model.decoder(codes.astype(np.float32)), float)
    distance = ((pixels - output) ** 2).reshape(4, -1)
    kl = (mean**2 + np.exp(log_variance) - log_variance - 1) / 2
    reduce = {"sum": np.sum, "mean": np.mean}[reduction]
    expected = {"reconstruction": reduce(distance, axis=1).mean()}
    if objective == "beta_vae":
        expected["kl"] = reduce(kl, axis=1).mean()
    assert {name: float(value) for name, value in history.items() if name != "loss"} == pytest.approx(
        expected, rel=1e-4
    )
    assert float(found) == pytest.approx(weight * expected["reconstruction"] + 3 * expected.get("kl", 0), rel=1e-4)


@pytest.mark.parametrize("architecture", ["conv_small", "fc"])
def test_channels_are_last_and_numbers_of_32_bits_whatever_keras_is_set_to(tiny, architecture):
    config, images = tiny(architecture=architecture, architecture_parameters={}), DATA.images([0, 9])
    expected = Model(config, DATA.image_shape).encode(images).mean
    keras.config.set_image_data_format("channels_first")
    keras.config.set_floatx("bfloat16")
    try:
        np.testing.assert_array_equal(Model(config, DATA.image_shape).encode(images).mean, expected)
        assert (keras.config.image_data_format(), keras.config.floatx()) == ("channels_first", "bfloat16")
    finally:
        keras.config.set_image_data_format("channels_last")
        keras.config.set_floatx("float32")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (lambda self, batch: None, r"expected its code to return Term\(weight, scalar\) by name, .*, received None"),
        (lambda self, batch: {"kl": batch.kl}, r"return Term\(weight, scalar\) by name, .*, received {'kl': "),
        (
            lambda self, batch: {"kl": Term(1.0, batch.kl)},
            r"return Term\(weight, scalar\) by name, .*, received {'kl': Term",
        ),
        (
            lambda self, batch: {"loss": Term(1.0, ops.mean(batch.kl))},
            "of which none is step, loss or reconstruction, received {'loss': Term",
        ),
        (lambda self, batch: batch.labels, "its code raised AttributeError: .*'labels'"),
    ],
)
def test_a_wrong_objective_is_named_with_what_it_did(tiny, monkeypatch, terms, message):
    monkeypatch.setattr(beta_vae.OBJECTIVE, "terms", terms)
    config = tiny(objective="beta_vae")
    model, batch = (
        Model(config, DATA.image_shape),
        draw_batch(config, config.build_objective(), DATA, np.arange(500), 1),
    )
    with pytest.raises(InvalidInput, match=f"objective beta_vae: .*{message}"):
        model.loss([v.value for v in model.variables()], batch)


def block():
    """A model of one layer, as residual blocks are."""
    codes = keras.Input((4,))
    return keras.Model(codes, keras.layers.Dense(4, name="inner")(codes))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (lambda: [keras.layers.Dense(2)], "received a layer that Keras named dense"),
        (
            lambda: [keras.layers.Dense(2, name="a"), keras.layers.LayerNormalization()],
            "received a layer that Keras named layer_norm",
        ),
        (lambda: [keras.layers.BatchNormalization(name="b")], "received .*b/moving_mean, which no gradient trains"),
        (
            lambda: [block(), block()],
            "received two weights called critic/.*inner/kernel",
        ),
    ],
)
def test_networks_that_a_run_folder_could_not_hold_are_refused(tiny, monkeypatch, layers, message):
    def networks(self, latents, sizes, rng):
        x = codes = keras.Input((4,))
        for layer in layers():
            x = layer(x)
        return {"critic": Network(keras.Model(codes, x), Adam(1e-3))}

    monkeypatch.setattr(beta_vae.OBJECTIVE, "networks", networks)
    with pytest.raises(InvalidInput, match=f"networks of fc and beta_vae: {message}"):
        Model(tiny(objective="beta_vae"), DATA.image_shape)


def test_an_encoder_needs_both_heads(tiny, monkeypatch):
    def headless(image_shape, latents, rng, *, width=8):
        image = keras.Input(image_shape)
        code = keras.layers.Dense(latents, name="code")(keras.layers.Flatten()(image))
        return keras.Model(image, [code, code]), keras.Sequential([keras.Input((latents,))])

    monkeypatch.setitem(architectures.ARCHITECTURES, "fc", headless)
    with pytest.raises(InvalidInput, match="received no layer mean in the encoder"):
        Model(tiny(objective="beta_vae"), DATA.image_shape)
