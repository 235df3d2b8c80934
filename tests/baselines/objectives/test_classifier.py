from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import log_softmax

import benchmark_data
from baselines import RunConfig, train
from baselines.engines import start
from baselines.model import Model
from baselines.objectives.classifier import OBJECTIVE
from baselines.training.batches import draw_batch
from benchmark_data import Factor, FactorSpace, InvalidInput
from leaderboard.comparisons import cka

SPACE = FactorSpace(Factor("shape", range(3)), Factor("x", range(4)))


def test_two_images_by_hand(make_batch):
    # Equal logits: log 3 and log 2. Logits 0 and log 3: the right class has probability 3/4, or 1/4 if it is the other.
    logits = np.array([[0, 0, 0, 0, np.log(3)], [0, 0, 0, 0, np.log(3)]])
    labels = {"labels": np.array([[0, 1], [2, 0]])}
    batch = make_batch(logits, np.zeros((2, 5)), inputs=labels, sizes=(3, 2))
    terms = OBJECTIVE().terms(batch)
    expected = np.log(3) + (np.log(4 / 3) + np.log(4)) / 2
    assert float(terms["cross_entropy"].value) == pytest.approx(expected, rel=1e-6)
    assert float(terms["accuracy"].value) == 0.5  # the first of equals is chosen: right, wrong; right, wrong
    assert [term.weight for term in terms.values()] == [1.0, 0.0]


def test_a_factor_with_one_value_is_not_what_was_learned(make_batch):
    logits = np.array([[0.0, 0, 0, 5], [0.0, 0, 0, 5]])
    labels = {"labels": np.array([[0, 1, 0], [2, 0, 0]])}
    terms = OBJECTIVE().terms(make_batch(logits, np.zeros((2, 4)), inputs=labels, sizes=(3, 1)))
    assert float(terms["accuracy"].value) == 0.5
    alone = OBJECTIVE().terms(
        make_batch(logits[:, :1], np.zeros((2, 1)), inputs={"labels": labels["labels"][:, 2:]}, sizes=(1,))
    )
    assert float(alone["accuracy"].value) == 1
    assert float(alone["cross_entropy"].value) == 0


def test_against_numpy_on_random_logits(make_batch):
    rng = np.random.default_rng(1)
    logits = [rng.normal(size=(12, size)) for size in SPACE.sizes]
    draws = OBJECTIVE().inputs(np.arange(12), SPACE, 5, rng)
    np.testing.assert_array_equal(draws["labels"], SPACE.labels(np.arange(12)))
    codes = np.concatenate(logits, axis=1)
    terms = OBJECTIVE().terms(make_batch(codes, np.zeros_like(codes), inputs=draws, sizes=SPACE.sizes))
    chosen = [
        log_softmax(x, axis=1)[np.arange(12), column] for x, column in zip(logits, draws["labels"].T, strict=True)
    ]
    assert float(terms["cross_entropy"].value) == pytest.approx(-np.sum(chosen, 0).mean(), rel=1e-5)
    right = [(x.argmax(1) == column).mean() for x, column in zip(logits, draws["labels"].T, strict=True)]
    assert float(terms["accuracy"].value) == pytest.approx(np.mean(right), rel=1e-5)


def test_the_layers_of_the_classes_take_the_place_of_mean_and_variance():
    """Appendix H: the encoder's last hidden layer feeds the classes directly; no narrow code lies between."""
    config = RunConfig(dataset="xysquares/spacing_8", objective="classifier", architecture="conv_small", latents=2)
    model = Model(config, (64, 64, 3), SPACE.sizes)
    shapes = {v.path: tuple(v.shape) for v in model.encoder.trainable_variables}
    assert shapes["mean/kernel"] == (128, 3 + 4)
    assert set(model.networks) == {"encoder", "decoder"}
    assert model.decoder.input_shape == (None, 3 + 4)
    with pytest.raises(
        InvalidInput, match="objective classifier: expected a dataset whose factors are known, received"
    ):
        Model(config, (64, 64, 3))


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    config = RunConfig(
        dataset="xysquares/spacing_8",
        objective="classifier",
        architecture="fc",
        architecture_parameters={"width": 32},
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
    assert learned.encode(learned.dataset.images([0, 1])).mean.shape == (2, 6 * 8)


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
        return engine.copy().bring().first

    bernoulli, mse = moments("bernoulli"), moments("mse")
    for name in bernoulli:
        assert np.array_equal(bernoulli[name], mse[name]) == (not name.startswith("decoder/")), name
