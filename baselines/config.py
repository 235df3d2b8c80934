"""All settings that determine a run's result, as a frozen dataclass, stored as the run's ``config.json``."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args, get_origin

import numpy as np

from baselines import objectives, validation
from baselines.nets import architectures, reconstruction
from benchmark_data import files
from benchmark_data.errors import InvalidInput, UnknownName, check_count
from benchmark_data.types import ReadOnly
from benchmark_data.variants import splitting

__all__ = ["RunConfig"]

Reduction: TypeAlias = Literal["sum", "mean"]
Precision: TypeAlias = Literal["float32", "bfloat16"]
Device: TypeAlias = Literal["auto", "cpu", "gpu"]

_LEAST_EPSILON = float(np.finfo(np.float32).tiny)
"""The smallest epsilon: below it, a weight whose gradient is always 0 would become 0 / 0."""

_RANGES: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
    ("learning_rate", "a number in (0, 1000)", lambda value: 0 < value < 1e3),
    ("beta_1", "a float32 number in [0, 1)", lambda value: 0 <= value < 1 - 2**-25),
    ("beta_2", "a float32 number in [0, 1)", lambda value: 0 <= value < 1 - 2**-25),
    ("epsilon", f"a number in [{_LEAST_EPSILON:.8g}, 1)", lambda value: _LEAST_EPSILON <= value < 1),
    ("reconstruction_weight", "a positive number", lambda value: value > 0),
    ("train_share", "a number in (0, 1]", lambda value: 0 < value <= 1),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The config of a run: equal configs produce equal weights on one machine with the same number of threads.

    Defaults are those of Bonheme and Grześ 2022, table 1.

    Attributes:
        dataset: a dataset's full name.
        objective: an objective's name.
        hyperparameters: the objective's hyperparameters; missing ones have its defaults.
        architecture: an architecture's name.
        architecture_parameters: the architecture's parameters, such as ``width`` of ``fc``.
        latents: latent dimensions.
        reconstruction: a reconstruction loss's name.
        reduction: ``"sum"`` over pixels and latents, or ``"mean"``, which divides the reconstruction by the number of
            pixels and the KL divergence by that of latents, but no other term. It suits objectives whose only term is β
            KL (``beta_vae``, ``ada_gvae``, ``ada_ml_vae``), for which it amounts to another β (times H W C / latents
            for sums), and those without a KL divergence, such as ``qlae``, which is designed for it. For the others
            it changes the meaning of hyperparameters, as the objective's ``mean_changes`` states; a run then warns, and
            also if ``epsilon`` is 1e-8 or more.
        reconstruction_weight: the weight of the reconstruction in the loss, positive. With ``mse`` and sums it is
            1 / (2 σ²) for Gaussian pixels of variance σ², so that the other terms keep their strengths relative
            to a likelihood.
        steps: optimiser steps.
        batch_size: images per step (pairs, for an objective on pairs).
        learning_rate: Adam's step size.
        beta_1: Adam's decay of the first moment.
        beta_2: Adam's decay of the second moment.
        epsilon: Adam's epsilon, positive in float32. Means of squared errors in [0, 1] can have gradients below 1e-8 in
            the encoder, which then hardly learns: with ``reduction="mean"``, use a smaller value.
        seed: seed of the initial weights, the batches and the noise, in [0, 2**63).
        split: the split of the dataset to train on, such as ``target_train`` of a transfer pair; all rows if empty. A
            split by a rule, ``RULE[.VARIANT][:PART]`` such as ``composition``, sets ``dataset`` to the divided dataset
            and ``split`` to the part (default: ``train``), as does the name of a divided dataset alone, such as
            ``dsprites/composition``. See `benchmark_data.variants.splitting`.
        train_share: the share of these rows to train on, always the same rows for a dataset and split. For an objective
            on pairs, they are the first images; the second ones come from the whole grid, or from the whole split,
            which must be a full grid of its values. The remaining rows are not the test rows of the split ``holdout``:
            for scores on rows that a model has never seen, train on a split, with a share of 1.
        snapshots: steps after which the state is kept, or one number, the interval between them. The states of step 0
            and of the last step are always kept, so that trained layers can be compared with untrained ones.
        history_every: steps between two lines of the history.
        selection: how these settings were selected, in words, such as by a pilot that used labels; ``none`` if they
            were not selected; one line of 1 to 200 characters. No result depends on it; the run's record reports it.
            Runs that differ only in it are still different runs, with different digests.
        start_from: a run folder whose last weights of encoder and decoder this run starts from; see
            `baselines.training.finetune`. Empty for new weights.
        start_weights: SHA-256 of those weights; `baselines.train` fills it in.
        reset: layers that start from new weights nevertheless, such as ``mean``.
        frozen: layers whose weights are not trained, such as ``encoder_1``.
        precision: ``"float32"``, or ``"bfloat16"`` to train with activations and products in bfloat16; weights, losses,
            KL and Adam stay float32, and a trained run encodes and decodes in float32.

    Raises:
        UnknownName: an unknown objective, architecture, loss, hyperparameter, reduction or precision.
        InvalidInput: a value of the wrong type or out of range.

    Example:
        >>> config = RunConfig(dataset="xysquares/spacing_1", objective="beta_vae", hyperparameters={"beta": 2})
        >>> config.hyperparameters, config.learning_rate, config.batch_size, config.steps
        ({'beta': 2.0}, 0.0001, 64, 300000)
        >>> config = RunConfig(dataset="dsprites", split="composition", objective="ae")
        >>> config.dataset, config.split
        ('dsprites/composition', 'train')
        >>> config == RunConfig(dataset="dsprites/composition", objective="ae")
        True
    """

    dataset: str
    objective: str
    hyperparameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    architecture: str = "conv"
    architecture_parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    latents: int = 10
    reconstruction: str = "bernoulli"
    reduction: Reduction = "sum"
    reconstruction_weight: float = 1.0
    steps: int = 300_000
    batch_size: int = 64
    learning_rate: float = 1e-4
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    seed: int = 0
    split: str = ""
    train_share: float = 0.9
    snapshots: int | list[int] | tuple[int, ...] = 6_000
    history_every: int = 100
    selection: str = "none"
    start_from: str = ""
    start_weights: str = ""
    reset: list[str] | tuple[str, ...] = ()
    frozen: list[str] | tuple[str, ...] = ()
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name, value in _check_values(self).items():
            object.__setattr__(self, name, value)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of names and non-default settings: unchanged when settings are added later.

        For a run that starts from another's weights, it depends on their hash, not on their path.

        Example:
            >>> a, b = (RunConfig(dataset="dsprites", objective="ae", seed=seed) for seed in (0, 1))
            >>> len(a.digest), a.digest == dataclasses.replace(b, seed=0).digest, a.digest == b.digest
            (64, True, False)
        """
        defaults = _defaults(self.objective, self.architecture)
        non_defaults: dict[str, Any] = {}
        for key, value in self.as_json().items():
            if isinstance(value, dict):
                non_defaults[key] = {name: setting for name, setting in value.items() if setting != defaults[key][name]}
            elif value != defaults[key] or key in ("dataset", "objective", "architecture"):
                non_defaults[key] = value
        if self.start_weights:
            del non_defaults["start_from"]
        text = json.dumps(non_defaults, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def images_per_step(self) -> int:
        """Images per training step: two for each pair if the objective is on pairs."""
        return self.batch_size * objectives.find(self.objective).n_views

    def build_objective(self) -> objectives.Objective:
        """Build the objective with its hyperparameters.

        Returns:
            The objective.

        Raises:
            UnknownName: the objective has no such hyperparameter; the message states where the name belongs.
            InvalidInput: a value has the wrong type or is out of range.
        """
        objective, kind = objectives.find(self.objective), f"hyperparameter of {self.objective}"
        names = {field.name for field in dataclasses.fields(objective)}
        for name in self.hyperparameters.keys() & {field.name for field in dataclasses.fields(self)} - names:
            raise UnknownName(kind, name, names, f"This is a setting of every run: RunConfig({name}=...).")
        return validation.build(objective, self.hyperparameters, kind=kind)

    def with_steps(self, steps: int) -> RunConfig:
        """Return the config with another number of steps, without snapshots after the last step.

        Args:
            steps: the number of steps.

        Returns:
            The other config.

        Raises:
            InvalidInput: ``steps`` is not an integer of 0 or more.

        Example:
            >>> RunConfig(dataset="dsprites", objective="ae", snapshots=[10, 900]).with_steps(20).snapshots
            (10,)
        """
        check_count("steps", steps, 0)
        snapshots = self.snapshots if isinstance(self.snapshots, int) else [s for s in self.snapshots if s <= steps]
        return dataclasses.replace(self, steps=steps, snapshots=snapshots)

    def keeps(self, step: int) -> bool:
        """Return whether the state after a step is kept permanently."""
        if step in (0, self.steps):
            return True
        return step % self.snapshots == 0 if isinstance(self.snapshots, int) else step in self.snapshots

    def kept_steps(self) -> tuple[int, ...]:
        """List the steps whose state is kept permanently.

        Returns:
            The steps in order: 0, the snapshots and the last.

        Example:
            >>> RunConfig(dataset="dsprites", objective="ae", steps=100, snapshots=40).kept_steps()
            (0, 40, 80, 100)
        """
        snapshots = self.snapshots
        intermediate = range(snapshots, self.steps, snapshots) if isinstance(snapshots, int) else snapshots
        return tuple(sorted({0, *intermediate, self.steps}))

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON's types."""
        return {name: dict(v) if isinstance(v, ReadOnly) else v for name, v in dataclasses.asdict(self).items()}

    @classmethod
    def from_json(cls, values: Any) -> RunConfig:
        """Make a config from JSON's types.

        Args:
            values: a dictionary with the fields' names as keys; missing ones have their defaults.

        Returns:
            The config.

        Raises:
            UnknownName: an unknown key, with the near match.
            InvalidInput: not a dictionary, or a value of the wrong type or out of range.

        Example:
            >>> RunConfig.from_json({"dataset": "xysquares/spacing_1", "objective": "ae", "step": 10})
            Traceback (most recent call last):
            ...
            benchmark_data.errors.UnknownName: key of a run's config: expected one of ..., received 'step'.
            Did you mean 'steps'?
        """
        if not isinstance(values, dict):
            raise InvalidInput(
                f"a run's config: expected an object of keys and values, received {type(values).__name__}."
            )
        return validation.build(cls, values, kind="key of a run's config")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunConfig:
        """Read a config from a JSON file.

        Args:
            path: the file.

        Returns:
            The config, checked.

        Raises:
            DamagedFile: the file is missing or not JSON.
            UnknownName: an unknown key or name, with the near match.
            InvalidInput: a value of the wrong type or out of range.
        """
        return cls.from_json(files.read_json(path))


@functools.cache
def _defaults(objective: str, architecture: str) -> dict[str, Any]:
    return RunConfig(dataset="", objective=objective, architecture=architecture).as_json()


def _check_values(config: RunConfig) -> dict[str, Any]:
    """Return a config's values as Python's own types, with the defaults of objective and architecture filled in."""
    values: dict[str, Any] = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    for name, field_type in validation.types(RunConfig).items():
        values[name] = validation.typed(name, values[name], str if get_origin(field_type) is Literal else field_type)
    for name, low in (("latents", 1), ("steps", 0), ("batch_size", 1), ("history_every", 1)):
        validation.within(name, values[name], least=low)
    for name, expected, is_valid in _RANGES:
        if not is_valid(values[name]):
            raise InvalidInput(f"{name}: expected {expected}, received {values[name]}.")
    for name, choices in (("reduction", get_args(Reduction)), ("precision", get_args(Precision))):
        if values[name] not in choices:
            raise UnknownName(name, values[name], choices)
    for name in ("hyperparameters", "architecture_parameters"):
        if not isinstance(values[name], Mapping):
            raise InvalidInput(f"{name}: expected keys and values, received {values[name]!r}.")
    if not 0 < len(values["selection"]) <= 200 or not values["selection"].isprintable():
        received = repr(values["selection"][:60])
        raise InvalidInput(f"selection: expected one line of 1 to 200 characters, received {received}.")
    reconstruction.find(values["reconstruction"])
    values["dataset"], values["split"] = splitting.parse_split(values["dataset"], values["split"])
    values["seed"] = validation.seed(values["seed"])
    objective = config.build_objective()
    for name, least in (("batch_size", objective.least_images), ("latents", objective.least_latents)):
        validation.within(f"{name} of {config.objective}", values[name], least=least)
    values["hyperparameters"] = ReadOnly(dataclasses.asdict(objective))
    values["architecture_parameters"] = ReadOnly(
        architectures.parameters(values["architecture"], values["architecture_parameters"])
    )
    setting_names = values.keys() | values["architecture_parameters"].keys()
    if clashes := sorted(setting_names & values["hyperparameters"].keys()):
        raise InvalidInput(f"hyperparameters of {config.objective}: {clashes[0]} is a setting of every run. Rename it.")
    values["snapshots"] = _check_snapshots(values["snapshots"], values["steps"])
    return values | _check_layers(values)


def _check_snapshots(snapshots: Any, steps: int) -> int | tuple[int, ...]:
    """Check the steps or the interval of snapshots, and return them."""
    if isinstance(snapshots, list | tuple):
        snapshot_steps = tuple(sorted({validation.typed("snapshots", step, int) for step in snapshots}))
        if any(not 0 <= step <= steps for step in snapshot_steps):
            raise InvalidInput(f"snapshots: expected steps in [0, {steps}], received {list(snapshot_steps)}.")
        return snapshot_steps
    if not isinstance(snapshots, int | np.integer):
        raise InvalidInput(f"snapshots: expected a number of steps or a list of steps, received {snapshots!r}.")
    interval: int = validation.typed("snapshots", snapshots, int)
    validation.within("snapshots", interval, least=1)
    return interval


def _check_layers(values: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Check the layers that a run resets and freezes, and return them."""
    checked = {}
    for name in ("reset", "frozen"):
        layers = values[name]
        if not isinstance(layers, list | tuple) or not all(isinstance(layer, str) for layer in layers):
            raise InvalidInput(f"{name}: expected a list of layers' names, received {layers!r}.")
        checked[name] = tuple(sorted(set(layers)))
    if overlap := sorted(set(checked["reset"]).intersection(checked["frozen"])):
        raise InvalidInput(f"layers: expected each in reset or in frozen, received {overlap[0]} in both.")
    if (any(checked.values()) or values["start_weights"]) and not values["start_from"]:
        raise InvalidInput(
            "start_from: expected a run folder, which reset, frozen and start_weights need, received none."
        )
    return checked
