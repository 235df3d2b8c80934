"""Every objective keeps the contract, so that the training loop needs to know none of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmark_data
from baselines import RunConfig, objectives, train
from baselines.model import Model, generator, sample
from baselines.nets import architectures, backend
from baselines.nets.backend import ops
from baselines.run import Run
from baselines.run_folder import Snapshots
from baselines.training.batches import draw_batch
from benchmark_data import InvalidInput

DATASET = benchmark_data.load("xysquares/spacing_8")
ROWS = np.arange(1000)


def config(name: str, **changes: Any) -> RunConfig:
    """Return the smallest run of an objective; a wide second network shrinks with ``units``."""
    hyperparameters = {"units": 8} if "units" in {f.name for f in dataclasses.fields(objectives.find(name))} else {}
    settings: dict[str, Any] = {
        "dataset": DATASET.id,
        "objective": name,
        "hyperparameters": hyperparameters,
        "architecture": "fc",
        "architecture_parameters": {"width": 8},
        "latents": 4,
        "batch_size": 6,
        "steps": 4,
        "snapshots": [0, 1, 2],
        "history_every": 1,
    }
    return RunConfig(**settings | changes)


def batch(name: str, step: int = 1, **changes: Any) -> dict[str, Any]:
    settled = config(name, **changes)
    return draw_batch(settled, settled.build_objective(), DATASET, ROWS, step)


def number(value: Any) -> float:
    """Return a number of any backend as Python's."""
    return float(backend.to_numpy(value))


def tensors(arrays: dict[str, Any]) -> dict[str, Any]:
    return {key: ops.convert_to_tensor(array) for key, array in arrays.items()}


def regularisation(model: Model, posterior: objectives.Posterior, kl: Any, step: int) -> float:
    """Weigh a model's terms of some posteriors, tensors (n, latents), whose divergence is given, at a step."""
    drawn = tensors(batch(model.config.objective))
    seen = objectives.Batch(
        posterior=posterior,
        codes=sample(posterior, drawn["noise"]) if model.objective.stochastic else posterior.mean,
        kl=kl,
        step=ops.cast(step, "float32"),
        inputs={key: value for key, value in drawn.items() if key not in ("images", "noise", "step")},
        call=lambda network, inputs, *, stop_gradient=False: model.networks[network].model(inputs),
        sizes=DATASET.space.sizes,
    )
    return sum(number(term.weight) * number(term.value) for term in model.objective.terms(seen).values())


@pytest.fixture(scope="module", params=objectives.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_is_a_frozen_dataclass_with_plain_documented_fields(name: str) -> None:
    cls = objectives.find(name)
    assert issubclass(cls, objectives.Objective)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert cls.__doc__
    taken = {f.name for f in dataclasses.fields(RunConfig)}
    for name in architectures.ARCHITECTURES:
        taken |= set(architectures.parameters(name, {}))
    for field in dataclasses.fields(cls):
        assert field.name not in taken, "--set must know where a key belongs"
        assert f"{field.name}: " in cls.__doc__, "the docstring says what every hyperparameter is"
        assert isinstance(getattr(cls(), field.name), int | float | bool | str)
    assert cls.supervision in ("unsupervised", "weakly_supervised", "supervised")


def test_negative_hyperparameters_are_refused(name: str) -> None:
    cls = objectives.find(name)
    for field in dataclasses.fields(cls):
        if type(getattr(cls(), field.name)) is not bool:
            with pytest.raises(InvalidInput, match=f"hyperparameter '{field.name}'"):
                cls(**{field.name: -1})


def test_a_batch_depends_on_the_seed_and_the_step_alone(name: str) -> None:
    one, again, other = batch(name), batch(name), batch(name, step=2)
    views = objectives.find(name).n_views
    assert one["images"].shape == (6 * views, 64, 64, 3)
    assert one["images"].dtype == np.uint8
    for key in one:
        np.testing.assert_array_equal(one[key], again[key])
        assert one[key].shape == other[key].shape
        assert one[key].dtype == other[key].dtype
    assert any((one[key] != other[key]).any() for key in one if key != "step")
    assert (batch(name, seed=1)["noise"] != one["noise"]).any()


def test_terms_are_finite_scalars_and_the_loss_is_their_weighted_sum(name: str) -> None:
    model = Model(config(name), DATASET.image_shape, DATASET.space.sizes)
    original, terms = model.objective.terms, {}

    def recorded(batch: objectives.Batch) -> dict[str, objectives.Term]:
        terms.update(original(batch))
        return terms

    object.__setattr__(model.objective, "terms", recorded)
    loss, history = model.loss([v.value for v in model.variables()], tensors(batch(name)))
    drawn = ["reconstruction"] if model.decoder else []
    assert list(history) == ["loss", *drawn, *terms]
    assert all(tuple(value.shape) == () and np.isfinite(number(value)) for value in history.values())
    weighted = sum(number(term.weight) * number(term.value) for term in terms.values())
    assert number(loss) == number(history["loss"])
    assert number(loss) == pytest.approx(sum(number(history[each]) for each in drawn) + weighted, rel=1e-6)
    assert not any(network.model.non_trainable_variables for network in model.networks.values())


POSTERIORS = {"N(0, 1)": (0.0, 0.0), "N(3, 1)": (3.0, 0.0), "N(0, e^-4)": (0.0, -4.0)}
"""Mean and log-variance. The divergence of a latent from the prior is 0, 9 / 2 and (e^-4 + 3) / 2 nats."""


def regularisers(name: str, step: int) -> dict[str, float]:
    """Weigh an objective's terms where every image has the same posterior, at a step."""
    model = Model(config(name), DATASET.image_shape, DATASET.space.sizes)
    shape = np.shape(batch(name)["noise"])
    found = {}
    for posterior, moments in POSTERIORS.items():
        gaussian = objectives.Posterior(*(ops.full(shape, moment, "float32") for moment in moments))
        kl = ops.sum(objectives.kl_to_prior(gaussian), axis=1)
        found[posterior] = regularisation(model, gaussian, kl, step)
    return found


@pytest.mark.parametrize("step", [1, 10**7])
def test_a_posterior_pays_for_being_far_from_the_prior(name: str, step: int) -> None:
    """A divergence of the wrong sign trains, and finds posteriors that leave the prior as fast as they can."""
    cls = objectives.find(name)
    if cls.prior_is_not_least:
        assert len(cls.prior_is_not_least) > 20, "prior_is_not_least: expected a reason, in words"
        return
    if not cls.stochastic:
        return  # its codes have no posterior
    found = regularisers(name, step)
    at_prior = found.pop("N(0, 1)")
    for posterior, value in found.items():
        assert at_prior < value, (
            f"at step {step} the weighted terms are {at_prior:.3g} at the prior N(0, 1), {value:.3g} at {posterior}: "
            "is the sign of the divergence flipped? If the terms should not be least at the prior, say why in "
            "prior_is_not_least"
        )


def test_what_a_mean_reduction_changes_is_said(name: str) -> None:
    """A divergence that is divided by the latents divides the sum of β KL, and leaves that of terms without it."""
    cls, shape = objectives.find(name), np.shape(batch(name)["noise"])
    model = Model(config(name), DATASET.image_shape, DATASET.space.sizes)
    spread = np.random.default_rng(0).normal(size=(2, *shape)).astype(np.float32)
    posterior = objectives.Posterior(*map(ops.convert_to_tensor, spread))
    kl = objectives.kl_to_prior(posterior)
    reduced = (ops.sum(kl, axis=1), ops.mean(kl, axis=1))
    sums = [regularisation(model, posterior, each, 10**7) for each in reduced]
    whole, meaned = sums
    alike = any(meaned == pytest.approx(each, rel=1e-5) for each in (whole, whole / kl.shape[1]))
    assert alike != bool(cls.mean_changes), (
        f"the weighted terms are {whole:.6g}, and {meaned:.6g} with the mean divergence of {kl.shape[1]} latents: say "
        "in mean_changes what hyperparameters mean then, or leave it empty where all terms are scaled alike"
    )


@pytest.fixture(scope="module")
def whole(name: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(config(name), tmp_path_factory.mktemp(name) / "whole")


def test_it_learns_every_network(whole: Run) -> None:
    before, after = (Snapshots(whole.folder).read(step)[0].weights for step in (0, 1))
    unused = () if whole.config.build_objective().stochastic else ("encoder/log_variance",)
    for weight in before:
        assert (before[weight] != after[weight]).any() != weight.startswith(unused or "none"), weight


def test_stopped_and_resumed_it_ends_the_same(whole: Run, tmp_path: Path) -> None:
    for path in sorted((whole.folder / "snapshots" / "step_00000002").iterdir()):
        copy = tmp_path / "half" / path.relative_to(whole.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (tmp_path / "half" / "config.json").write_bytes((whole.folder / "config.json").read_bytes())
    lines = (whole.folder / "history.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "half" / "history.jsonl").write_text("".join(lines[:3]) + lines[3][:10])  # one too many, one torn
    train(whole.config, tmp_path / "half")
    for file in ("history.jsonl", "snapshots/step_00000004/weights.npz", "snapshots/step_00000004/optimiser.npz"):
        assert (tmp_path / "half" / file).read_bytes() == (whole.folder / file).read_bytes()


def test_generators_of_different_steps_differ() -> None:
    draws = [generator(0, step).random() for step in range(100)]
    assert len(set(draws)) == 100
