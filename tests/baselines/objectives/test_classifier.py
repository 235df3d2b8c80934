from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import log_softmax

import benchmark_data
from baselines import RunConfig, train
from baselines.model import Model, generator
from baselines.objectives.classifier import OBJECTIVE
from baselines.training.engines import start
from baselines.training.loop import draw_batch
from benchmark_data import Factor, FactorSpace, InvalidInput
from leaderboard.comparisons import cka

SPACE = FactorSpace(Factor("shape", range(3)), Factor("x", range(4)))


def linear(logits):
    """Give a classifier that returns these logits whatever the codes are."""

    def call(network, inputs, *, frozen=False):
        assert (network, frozen) == ("classifier", False)
        return {f"classifier_{i + 1}": np.asarray(x, np.float32) for i, x in enumerate(logits)}

    return call


def test_two_images_by_hand(make_batch):
    # Equal logits: log 3 and log 2. Logits 0 and log 3: the right class has probability 3/4, or 1/4 if it is the other.
    logits = [[[0, 0, 0], [0, 0, 0]], [[0, np.log(3)], [0, np.log(3)]]]
    batch = make_batch(
        np.zeros((2, 1)), np.zeros((2, 1)), draws={"labels": np.array([[0, 1], [2, 0]])}, call=linear(logits)
    )
    terms = OBJECTIVE().terms(batch)
    expected = np.log(3) + (np.log(4 / 3) + np.log(4)) / 2
    assert float(terms["cross_entropy"].value) == pytest.approx(expected, rel=1e-6)
    assert float(terms["accuracy"].value) == 0.5  # the first of equals is chosen: right, wrong; right, wrong
    assert [term.weight for term in terms.values()] == [1.0, 0.0]


def test_against_numpy_on_random_codes(make_batch, posterior):
    rng = np.random.default_rng(1)
    logits = [rng.normal(size=(12, size)) for size in SPACE.sizes]
    draws = OBJECTIVE().draws(np.arange(12), SPACE, 5, rng)
    np.testing.assert_array_equal(draws["labels"], SPACE.labels(np.arange(12)))
    terms = OBJECTIVE().terms(make_batch(*posterior, draws=draws, call=linear(logits)))
    chosen = [
        log_softmax(x, axis=1)[np.arange(12), column] for x, column in zip(logits, draws["labels"].T, strict=True)
    ]
    assert float(terms["cross_entropy"].value) == pytest.approx(-np.sum(chosen, 0).mean(), rel=1e-5)
    right = [(x.argmax(1) == column).mean() for x, column in zip(logits, draws["labels"].T, strict=True)]
    assert float(terms["accuracy"].value) == pytest.approx(np.mean(right), rel=1e-5)


def test_a_layer_for_each_factor():
    network = OBJECTIVE(classifier_learning_rate=0.1).networks(5, SPACE.sizes, generator(0, 1))["classifier"]
    assert [tuple(v.shape) for v in network.model.trainable_variables] == [(5, 3), (3,), (5, 4), (4,)]
    assert network.optimiser.learning_rate == 0.1
    with pytest.raises(
        InvalidInput, match="objective classifier: expected a dataset whose factors are known, received"
    ):
        OBJECTIVE().networks(5, (), generator(0, 1))


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    config = RunConfig(
        dataset="xysquares/spacing_8",
        objective="classifier",
        hyperparameters={"classifier_learning_rate": 0.01},
        architecture="fc",
        architecture_parameters={"width": 32},
        latents=12,
        steps=80,
        batch_size=32,
        learning_rate=0.005,
        history_every=40,
    )
    return train(config, tmp_path_factory.mktemp("runs") / "classifier")


def test_it_learns_the_classes_and_the_decoder_follows(learned):
    first, last = learned.history[0], learned.history[-1]
    assert last["cross_entropy"] < 0.7 * first["cross_entropy"]
    assert last["accuracy"] > first["accuracy"] + 0.1
    assert last["reconstruction"] < 0.5 * first["reconstruction"]
    assert last["loss"] == pytest.approx(last["reconstruction"] + last["cross_entropy"], rel=1e-6)
    assert json.loads((learned.folder / "run.json").read_text())["supervision"] == "supervised"
    assert learned.encode(learned.dataset.images([0, 1])).mean.shape == (2, 12)


def test_its_layers_compare_with_those_of_a_vae(learned, tiny):
    vae = Model(tiny(architecture_parameters={"width": 32}), learned.dataset.image_shape)
    images = learned.dataset.images(range(0, 262_144, 4001))
    ours, theirs = learned.activations(images), vae.activations(images, np.zeros((len(images), 3), np.float32))
    for layer in ("input", "encoder_1", "encoder_2", "encoder_3", "mean"):
        assert 0 <= cka.compare(ours[layer], theirs[layer]) <= 1 + 1e-9
    assert cka.compare(ours["encoder_1"], theirs["encoder_1"]) == pytest.approx(1)  # the flattened image


def test_labels_alone_move_the_encoder():
    def moments(reconstruction):
        config = RunConfig(
            dataset="xysquares/spacing_8",
            objective="classifier",
            architecture="fc",
            architecture_parameters={"width": 8},
            latents=3,
            batch_size=8,
            reconstruction=reconstruction,
        )
        data = benchmark_data.load(config.dataset)
        engine = start(Model(config, data.image_shape, data.space.sizes))
        engine.step(draw_batch(config, config.build_objective(), data, np.arange(64), 1))
        return engine.state().first

    bernoulli, mse = moments("bernoulli"), moments("mse")
    for name in bernoulli:
        assert np.array_equal(bernoulli[name], mse[name]) == (not name.startswith("decoder/")), name
