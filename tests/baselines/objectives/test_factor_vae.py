from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
from baselines import RunConfig
from baselines.engines import start
from baselines.model import Model, generator
from baselines.objectives.factor_vae import CLIP, OBJECTIVE
from baselines.training.batches import draw_batch
from benchmark_data import Factor, FactorSpace, InvalidInput

SPACE = FactorSpace(Factor("x", range(12)))


def test_terms_against_numpy(make_batch, posterior):
    rng = np.random.default_rng(1)
    mean, log_variance, codes = posterior
    weights = rng.normal(size=(5, 2))
    stopped = []

    def call(network, inputs, *, stopped=stopped, stop_gradient=False):
        assert network == "discriminator"
        stopped.append(stop_gradient)
        return np.asarray(inputs) @ weights.astype(np.float32)

    permutation = OBJECTIVE().inputs(np.arange(12), SPACE, 5, rng)["permutation"]
    assert (np.sort(permutation, axis=0) == np.arange(12)[:, None]).all()
    assert len({tuple(column) for column in permutation.T}) == 5
    batch = make_batch(mean, log_variance, codes, inputs={"permutation": permutation}, call=call)
    terms = OBJECTIVE(gamma=3.0).terms(batch)

    def softmax(z):
        logits = z @ weights
        e = np.exp(logits - logits.max(1, keepdims=True))
        return np.clip(e / e.sum(1, keepdims=True), CLIP, 1 - CLIP)

    shuffled = np.stack([codes[permutation[:, j], j] for j in range(5)], axis=1)
    logits = codes @ weights
    loss = -(0.5 * np.log(softmax(codes)[:, 0]).mean() + 0.5 * np.log(softmax(shuffled)[:, 1]).mean())
    assert float(terms["total_correlation"].value) == pytest.approx((logits[:, 0] - logits[:, 1]).mean(), rel=1e-5)
    assert float(terms["discriminator"].value) == pytest.approx(loss, rel=1e-5)
    assert [term.weight for term in terms.values()] == [1.0, 3.0, 1.0]
    assert sorted(stopped) == [False, False, True]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"discriminator_beta_1": 1.0}, "'discriminator_beta_1': expected at most 0.9999999, received 1"),
        ({"discriminator_beta_2": 1.0}, "'discriminator_beta_2': expected at most 0.9999999, received 1"),
        ({"units": 0}, "'units': expected at least 1, received 0"),
    ],
)
def test_a_discriminator_that_cannot_learn_is_refused(settings, message):
    with pytest.raises(InvalidInput, match=message):
        OBJECTIVE(**settings)


def test_two_images_by_hand(make_batch):
    # Logits (z1 z2, 0) tell codes (2, 2), (-2, -2) from the shuffled (2, -2), (-2, 2): 4 and -4.
    # TC = mean(4 - 0) = 4; each half of the discriminator's loss is -log sigmoid(4) = log(1 + e^-4).
    def call(network, inputs, *, stop_gradient=False):
        z = np.asarray(inputs)
        return np.stack([z[:, 0] * z[:, 1], 0 * z[:, 0]], axis=1).astype(np.float32)

    codes, swap = [[2.0, 2.0], [-2.0, -2.0]], {"permutation": np.array([[0, 1], [1, 0]])}
    terms = OBJECTIVE().terms(make_batch(codes, np.zeros((2, 2)), inputs=swap, call=call))
    assert float(terms["kl"].value) == 4.0
    assert float(terms["total_correlation"].value) == 4.0
    assert float(terms["discriminator"].value) == pytest.approx(np.log(1 + np.exp(-4)), rel=1e-5)


def test_the_discriminator_is_the_papers():
    network = OBJECTIVE().networks(10, (), generator(0, 1))["discriminator"]
    dense = [layer for layer in network.model.layers if hasattr(layer, "units")]
    assert [layer.units for layer in dense] == [1000] * 6 + [2]
    assert (network.optimiser.beta_1, network.optimiser.beta_2, network.optimiser.learning_rate) == (0.5, 0.9, 1e-4)


def gradients(gamma: float, discriminator_rate: float) -> dict[str, np.ndarray]:
    """Return Adam's first moments after one step: the gradients, scaled."""
    config = RunConfig(
        dataset="xysquares/spacing_8",
        objective="factor_vae",
        hyperparameters={"gamma": gamma, "units": 8, "discriminator_learning_rate": discriminator_rate},
        architecture="fc",
        architecture_parameters={"width": 8},
        latents=3,
        batch_size=8,
    )
    data = benchmark_data.load(config.dataset)
    engine = start(Model(config, data.image_shape))
    engine.step(draw_batch(config, config.build_objective(), data, np.arange(64), 1))
    return dict(engine.copy().bring().first)


def test_the_players_do_not_touch_each_other():
    weak, strong = gradients(0.0, 1e-4), gradients(50.0, 1e-2)
    for name in weak:
        same = np.array_equal(weak[name], strong[name])
        # γ moves the encoder; it never moves the discriminator, nor the decoder, which TC does not reach
        assert same == (not name.startswith("encoder/")), name
    assert all(np.abs(weak[name]).max() > 0 for name in weak)
