from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import benchmark_data
from baselines import RunConfig, engines
from baselines.model import Model, generator
from baselines.nets import architectures
from baselines.training.batches import draw_batch
from benchmark_data import InvalidInput

SHAPE = (64, 64, 3)


def build(name, shape=SHAPE, latents=10, **parameters):
    return architectures.find(name)(shape, latents, generator(0, 1), **parameters)


def kernels(network):
    return {v.path: tuple(v.shape) for v in network.trainable_variables if v.path.endswith("kernel")}


def test_conv_is_table_3():
    encoder, decoder = build("conv")
    assert list(kernels(encoder).values()) == [
        (4, 4, 3, 32),
        (4, 4, 32, 32),
        (4, 4, 32, 64),
        (4, 4, 64, 64),
        (1024, 256),
        (256, 10),
        (256, 10),
    ]
    assert list(kernels(decoder).values()) == [
        (10, 256),
        (256, 1024),
        (4, 4, 64, 64),
        (4, 4, 32, 64),
        (4, 4, 32, 32),
        (4, 4, 3, 32),
    ]


def test_conv_sees_and_gives_pixels_in_units_of_their_own():
    """The same weights on standardised pixels; what it gives is turned back into pixels."""
    (encoder, decoder), (encoder_of_units, decoder_of_units) = (
        build("conv"),
        build("conv", pixel_mean=0.25, pixel_std=0.5),
    )
    images = np.random.default_rng(0).random((3, *SHAPE), np.float32)
    for expected, found in zip(encoder((images - 0.25) / 0.5), encoder_of_units(images), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-5)
    codes = np.random.default_rng(1).normal(size=(3, 10)).astype(np.float32)
    expected = 0.25 + 0.5 * np.asarray(decoder(codes))
    np.testing.assert_allclose(np.asarray(decoder_of_units(codes)), expected, atol=1e-5)
    with pytest.raises(InvalidInput, match="pixel_std: expected a positive number, received 0"):
        build("conv", pixel_std=0.0)


def test_conv_dlib_has_small_kernels_in_layers_3_and_4():
    shapes = list(kernels(build("conv_dlib").encoder).values())
    assert [shape[:2] for shape in shapes[:4]] == [(4, 4), (4, 4), (2, 2), (2, 2)]


def test_conv_small_is_conv_with_half_the_filters_and_units():
    encoder, decoder = build("conv_small")
    assert list(kernels(encoder).values()) == [
        (4, 4, 3, 16),
        (4, 4, 16, 16),
        (4, 4, 16, 32),
        (4, 4, 32, 32),
        (512, 128),
        (128, 10),
        (128, 10),
    ]
    assert list(kernels(decoder).values()) == [
        (10, 128),
        (128, 512),
        (4, 4, 32, 32),
        (4, 4, 16, 32),
        (4, 4, 16, 16),
        (4, 4, 3, 16),
    ]


def test_fc_is_table_4():
    encoder, decoder = build("fc")
    assert list(kernels(encoder).values()) == [(12288, 1200), (1200, 1200), (1200, 10), (1200, 10)]
    assert list(kernels(decoder).values()) == [(10, 256), (256, 1200), (1200, 1200), (1200, 12288)]


def test_linear_is_linear():
    """Twice the image gives twice the codes, and the sum of two codes the sum of their images: biases start at zero."""
    encoder, decoder = build("linear", (1, 2, 1), 2)
    assert list(kernels(encoder).values()) == [(2, 2), (2, 2)]
    assert list(kernels(decoder).values()) == [(2, 2)]
    images = np.random.default_rng(0).random((3, 1, 2, 1)).astype(np.float32)
    once, twice = (np.asarray(encoder(factor * images)[0]) for factor in (1, 2))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-5)
    first, second, both = (np.asarray(decoder(codes)) for codes in (once[:1], once[1:2], once[:1] + once[1:2]))
    np.testing.assert_allclose(both, first + second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", architectures.ARCHITECTURES)
@pytest.mark.parametrize("shape", [(64, 64, 1), (32, 48, 3)])
def test_shapes_in_and_out(name, shape):
    encoder, decoder = build(name, shape, 5)
    mean, log_variance = encoder(np.zeros((2, *shape), np.float32))
    assert mean.shape == log_variance.shape == (2, 5)
    assert decoder(mean).shape == (2, *shape)


@pytest.mark.parametrize("name", architectures.ARCHITECTURES)
def test_weights_start_glorot_uniform_and_biases_zero(name):
    for network in build(name):
        for variable in network.trainable_variables:
            value = np.asarray(variable.value)
            if variable.path.endswith(("bias", "beta")):
                assert (value == 0).all()
            elif variable.path.endswith("gamma"):
                assert (value == 1).all()
            else:
                limit = np.sqrt(6 / (np.prod(value.shape[:-2]) * sum(value.shape[-2:])))
                assert np.abs(value).max() <= limit * (1 + 1e-6)  # rounded to float32
                assert value.std() == pytest.approx(limit / np.sqrt(3), rel=0.05)


@pytest.mark.parametrize("name", architectures.ARCHITECTURES)
def test_initial_weights_come_of_the_generator_alone(name):
    first, again = ([v for network in build(name) for v in network.trainable_variables] for _ in range(2))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(np.asarray(one.value), np.asarray(other.value), err_msg=one.path)


@pytest.mark.parametrize("name", ["conv", "transformer"])
def test_two_steps_move_every_weight_and_repeat_exactly(name, tiny):
    config = tiny(architecture=name, architecture_parameters={}, learning_rate=1e-3)
    data = benchmark_data.load(config.dataset)
    states, initial = [], Model(config, SHAPE).weights()
    for _ in range(2):
        engine = engines.start(Model(config, SHAPE))
        for step in (1, 2):
            engine.step(draw_batch(config, config.build_objective(), data, np.arange(512), step))
        states.append(engine.copy().bring())
    for path, value in initial.items():
        assert (value != states[0].weights[path]).any(), path
        np.testing.assert_array_equal(states[0].weights[path], states[1].weights[path], err_msg=path)


def test_the_transformer_mirrors_its_encoder():
    config = RunConfig(dataset="xysquares/spacing_1", objective="beta_vae", architecture="transformer")
    found = Model(config, SHAPE).activations(np.zeros((1, *SHAPE), np.uint8), np.zeros((1, 10), np.float32))
    assert {name: a.shape[1] for name, a in found.items()} == {
        "input": 12288,
        **dict.fromkeys(("encoder_1", "encoder_2", "encoder_3"), 64 * 64),  # 8 x 8 patches of 64 numbers
        "encoder_4": 256,
        **dict.fromkeys(("mean", "variance", "sampled"), 10),
        "decoder_1": 256,
        **dict.fromkeys(("decoder_2", "decoder_3", "decoder_4"), 64 * 64),
        "output": 12288,
    }
    recorded = {*found, "log_variance"} - {"input", "variance", "sampled"}
    for network in build("transformer"):
        assert {v.path.split("/")[0] for v in network.trainable_variables} <= recorded, "weights bear a layer's name"


def test_the_transformers_encoder_against_numpy():
    """Two blocks of four heads on 2 x 3 patches, from the formulas of the paper."""
    encoder, _ = build("transformer", (16, 24, 1), 5)
    rng = np.random.default_rng(0)
    for v in encoder.trainable_variables:
        v.assign(rng.normal(size=v.shape) * (0.1 if len(v.shape) == 2 else 0.5))
    weights = {"/".join(v.path.split("/")[-2:]): np.asarray(v.value, float) for v in encoder.trainable_variables}

    def dense(x, name):
        kernel = weights[f"{name}/kernel"]
        return x @ kernel.reshape(-1, kernel.shape[-1]) + weights[f"{name}/bias"]

    def normal(x, name):
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
        return scaled * weights[f"normal_{name}/gamma"] + weights[f"normal_{name}/beta"]

    image = rng.random((16, 24))
    patches = [image[i : i + 8, j : j + 8].ravel() for i in (0, 8) for j in (0, 8, 16)]
    rate = 10_000.0 ** -(np.arange(16) / 16)
    where = [(np.sin(y * rate), np.cos(y * rate), np.sin(x * rate), np.cos(x * rate)) for y in (0, 1) for x in range(3)]
    tokens = dense(np.array(patches), "encoder_1") + np.array(where).reshape(6, 64)
    for block in ("encoder_2", "encoder_3"):
        seen = normal(tokens, f"1_{block}")
        queries, keys, values = (dense(seen, f"{part}_{block}") for part in ("queries", "keys", "values"))
        each = [slice(16 * head, 16 * head + 16) for head in range(4)]
        mixed = [special.softmax(queries[:, h] @ keys[:, h].T / 4, axis=1) @ values[:, h] for h in each]
        tokens = tokens + dense(np.concatenate(mixed, axis=1), f"mixed_{block}")
        hidden = dense(normal(tokens, f"2_{block}"), f"hidden_{block}")
        tokens = tokens + dense(hidden * special.ndtr(hidden), f"added_{block}")
    units = np.maximum(dense(normal(tokens, "encoder_4").ravel(), "encoder_4"), 0)
    found = encoder(image[None, :, :, None].astype(np.float32))
    np.testing.assert_allclose(np.asarray(found[0])[0], dense(units, "mean"), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.asarray(found[1])[0], dense(units, "log_variance"), rtol=1e-3, atol=1e-3)


def test_the_transformers_decoder_puts_patches_where_the_encoder_took_them():
    """Of one patch's tokens alone, only that patch's pixels are made."""
    _, decoder = build("transformer", (16, 24, 3), 5)
    output = decoder.get_layer("output")
    tokens = np.zeros((1, 2, 3, 64), np.float32)
    tokens[0, 1, 2] = 1
    drawn = np.argwhere(np.asarray(output(tokens))[0].any(axis=-1))
    assert drawn.min(axis=0).tolist() == [8, 16]
    assert drawn.max(axis=0).tolist() == [15, 23]


def test_conv_gives_15_activations_and_the_input():
    config = RunConfig(dataset="xysquares/spacing_1", objective="beta_vae")
    images = np.random.default_rng(0).integers(0, 256, (2, *SHAPE), np.uint8)
    noise = np.random.default_rng(1).standard_normal((2, 10), np.float32)
    model = Model(config, SHAPE)
    found = model.activations(images, noise)
    assert {name: a.shape[1] for name, a in found.items()} == {
        "input": 12288,
        "encoder_1": 32768,
        "encoder_2": 8192,
        "encoder_3": 4096,
        "encoder_4": 1024,
        "encoder_5": 1024,
        "encoder_6": 256,
        "mean": 10,
        "variance": 10,
        "sampled": 10,
        "decoder_1": 256,
        "decoder_2": 1024,
        "decoder_3": 4096,
        "decoder_4": 8192,
        "decoder_5": 32768,
        "output": 12288,
    }
    assert next(iter(found)) == "input"
    assert all(a.dtype == np.float32 for a in found.values())
    posterior = model.encode(images)
    np.testing.assert_allclose(found["variance"], np.exp(posterior.log_variance), rtol=1e-5)
    np.testing.assert_allclose(found["sampled"], found["mean"] + np.sqrt(found["variance"]) * noise, rtol=1e-5)
    np.testing.assert_allclose(
        1 / (1 + np.exp(-found["output"].reshape(2, *SHAPE))), model.decode(found["sampled"]), rtol=1e-5
    )


def test_a_deterministic_objective_has_no_variance_and_no_sample():
    config = RunConfig(dataset="xysquares/spacing_1", objective="ae", architecture="fc", latents=2)
    found = Model(config, SHAPE).activations(np.zeros((1, *SHAPE), np.uint8), np.zeros((1, 2), np.float32))
    assert " ".join(found) == "input encoder_1 encoder_2 encoder_3 mean decoder_1 decoder_2 decoder_3 output"


def test_images_that_do_not_halve_four_times_are_refused():
    with pytest.raises(InvalidInput, match=r"image shape: expected height and width that are multiples of 16"):
        build("conv", (60, 64, 3))


def test_images_that_are_no_whole_patches_are_refused():
    with pytest.raises(InvalidInput, match=r"height and width that are multiples of 8 for a transformer"):
        build("transformer", (60, 64, 3))


def test_a_width_of_nothing_is_refused():
    with pytest.raises(InvalidInput, match="width: expected at least 1, received 0"):
        build("fc", width=0)
