"""The public VAEs: their graphs, their page, and, where the weights are, their logged KL divergences."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def vaes():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("public_vaes")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def page(vaes):
    return importlib.import_module("public_vaes_page")


@pytest.fixture(scope="module")
def weights():
    """Made-up weights of the models' shapes."""
    kernels = {"conv1": (32, 1, 4, 4), **dict.fromkeys(("conv2", "conv3", "conv_64"), (32, 32, 4, 4))}
    dense = {"lin1": (256, 512), "lin2": (256, 256), "mu_logvar_gen": (20, 256)}
    mirrored = {"lin1": (256, 10), "lin2": (256, 256), "lin3": (512, 256)}
    mirrored |= {**dict.fromkeys(("convT_64", "convT1", "convT2"), (32, 32, 4, 4)), "convT3": (32, 1, 4, 4)}
    rng = np.random.default_rng(0)
    found = {}
    for part, layers in (("encoder", kernels | dense), ("decoder", mirrored)):
        for name, shape in layers.items():
            outputs = shape[1] if name.startswith("convT") else shape[0]
            found[f"{part}.{name}.weight"] = rng.normal(0, 0.05, shape).astype(np.float32)
            found[f"{part}.{name}.bias"] = rng.normal(0, 0.05, outputs).astype(np.float32)
    return found


def convolved(images, kernel, bias):
    """Convolve with stride 2 and padding 1, from the definition."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (4, 4), axis=(2, 3))[:, :, ::2, ::2]
    return np.einsum("nchwij,ocij->nohw", windows, kernel, optimize=True) + bias[:, None, None]


def deconvolved(images, kernel, bias):
    """Transpose that convolution: each pixel adds its kernel, two pixels further on for the next."""
    n, _, height, width = images.shape
    padded = np.zeros((n, kernel.shape[1], 2 * height + 2, 2 * width + 2), np.float32)
    for i, j in np.ndindex(4, 4):
        term = np.einsum("nchw,co->nohw", images, kernel[:, :, i, j], optimize=True)
        padded[:, :, i : i + 2 * height : 2, j : j + 2 * width : 2] += term
    return padded[:, :, 1:-1, 1:-1] + bias[:, None, None]


def test_the_graphs_compute_what_the_layers_define(vaes, weights):
    images = np.random.default_rng(1).random((3, 1, 64, 64), np.float32)
    of = {name: weights[name] for name in weights}
    hidden = images
    for layer in ("conv1", "conv2", "conv3", "conv_64"):
        hidden = np.maximum(convolved(hidden, of[f"encoder.{layer}.weight"], of[f"encoder.{layer}.bias"]), 0)
    hidden = hidden.reshape(3, -1)
    for layer in ("lin1", "lin2"):
        hidden = np.maximum(hidden @ of[f"encoder.{layer}.weight"].T + of[f"encoder.{layer}.bias"], 0)
    both = hidden @ of["encoder.mu_logvar_gen.weight"].T + of["encoder.mu_logvar_gen.bias"]
    mean, log_variance = both[:, 0::2], both[:, 1::2]
    found = vaes.run_graph(vaes.network(weights, "encoder", layers=True), images)
    np.testing.assert_allclose(found["codes"], mean, atol=1e-5)
    np.testing.assert_allclose(found["log_variance"], log_variance, atol=1e-5)
    hidden = mean
    for layer in ("lin1", "lin2", "lin3"):
        hidden = np.maximum(hidden @ of[f"decoder.{layer}.weight"].T + of[f"decoder.{layer}.bias"], 0)
    hidden = hidden.reshape(3, 32, 4, 4)
    for layer in ("convT_64", "convT1", "convT2", "convT3"):
        hidden = deconvolved(hidden, of[f"decoder.{layer}.weight"], of[f"decoder.{layer}.bias"])
        hidden = hidden if layer == "convT3" else np.maximum(hidden, 0)
    found = vaes.run_graph(vaes.network(weights, "decoder"), mean)
    np.testing.assert_allclose(found["output"], hidden, atol=1e-5)


def test_the_encoder_is_one_that_a_submission_may_hold(vaes, weights):
    from leaderboard.reading import graphs

    found = graphs.inspect(vaes.network(weights, "encoder"))
    assert found.dtype == "float32"
    assert found.output == "codes"


def test_activations_have_the_layers_that_are_compared(vaes, weights):
    images = np.random.default_rng(1).random((4, 1, 64, 64), np.float32)
    assert list(vaes.activations(weights, images, 0)) == ["input", *vaes.COLUMNS]


def test_every_model_of_the_record_agrees_with_its_log(vaes):
    record = json.loads(vaes.RECORD.read_text("utf-8"))
    assert list(record) == sorted(model.method for model in vaes.MODELS)
    assert max(vaes.difference(one) for one in record.values()) < 1e-4


def test_the_page_holds_the_records_numbers(page):
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python benchmarks/public_vaes_page.py"


@pytest.mark.skipif("OFFAXIS_REAL" not in os.environ, reason="the public weights are not here: OFFAXIS_REAL is not set")
@pytest.mark.parametrize("place", [0, 3], ids=["VAE", "FactorVAE"])
def test_kl_divergences_are_those_that_were_logged(vaes, place):
    model = vaes.MODELS[place]
    logged = json.loads(vaes.path_of(model, "json").read_text("utf-8"))["logged_test_losses"]
    found = vaes.kl(vaes.weights_of(model), vaes.images_of(range(model.first)))
    np.testing.assert_allclose(found, [vaes.BATCHES * logged[f"kl_loss_{i}"] for i in range(10)], atol=1e-4)
