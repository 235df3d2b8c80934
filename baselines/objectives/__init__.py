"""Objectives, one file each, named after the file, and the base class that defines them.

It is the terms that a run adds to the reconstruction loss, and what it needs to compute them:
a frozen dataclass called ``OBJECTIVE`` in a file of this folder, whose fields are its
hyperparameters. The training loop uses only this interface; a second network, pairs of images or an annealed strength
need no change to it.

The loss of a step is ``reconstruction + sum(weight * value)`` over the terms, and one backward pass gives the gradients
of every network. A network that plays against the model is kept apart by stopping gradients:
``call(..., stop_gradient=True)`` holds its weights still, and ``ops.stop_gradient(batch.codes)`` keeps its own loss
away from the encoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines import validation
from baselines.nets.backend import Tensor, ops
from benchmark_data import discovery
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorSpace, FactorTable, Indices

__all__ = [
    "Adam",
    "Batch",
    "Call",
    "Network",
    "Objective",
    "Posterior",
    "Tensor",
    "Term",
    "check_grid",
    "find",
    "halves",
    "kl_to_prior",
    "limited",
    "names",
]

T = TypeVar("T", int, float)


def limited(default: T, **limits: float) -> T:
    """Declare a hyperparameter's default and its limits.

    An example is ``units: int = limited(256, least=1)``.

    Args:
        default: its default.
        **limits: as for `validation.within`; without ``least`` it is at least 0.

    Returns:
        A field of a dataclass.
    """
    return dataclasses.field(default=default, metadata=limits)


class Posterior(NamedTuple):
    """Diagonal Gaussians q(z|x), one for each image: float32 tensors of shape (n, latents)."""

    mean: Tensor
    log_variance: Tensor


class Term(NamedTuple):
    """A scalar that the loss holds ``weight`` times. The history records the value without its weight."""

    weight: Any
    value: Tensor


class Call(Protocol):
    """Runs one of the objective's own networks."""

    def __call__(self, network: str, inputs: Tensor, *, stop_gradient: bool = False) -> Tensor:
        """Run a network.

        Args:
            network: a name from `Objective.networks`.
            inputs: its input.
            stop_gradient: keep this call's gradient from the network's weights.
        """
        ...


@dataclasses.dataclass(frozen=True)
class Batch:
    """What an objective sees of a batch of n images (n = n_views x pairs, the views one after another).

    Attributes:
        posterior: q(z|x) after `Objective.aggregate`, each (n, latents).
        codes: a sample of it, (n, latents); its mean where the objective is not stochastic.
        kl: KL(q(z|x) || N(0, 1)) in nats, shape (n,): summed over the latents, or their mean when the run's reduction
            is ``"mean"``.
        step: the number of this step, from 1, a float32 scalar tensor: choose by ``ops.where``, not by ``if``.
        inputs: what `Objective.inputs` gave.
        call: runs the objective's own networks.
        sizes: how many values each of the dataset's factors has; nothing where no factors are known.
    """

    posterior: Posterior
    codes: Tensor
    kl: Tensor
    step: Tensor
    inputs: Mapping[str, Tensor]
    call: Call
    sizes: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Adam:
    """Adam with bias correction folded into the learning rate (Kingma and Ba, ICLR 2015, end of section 2).

    Attributes:
        learning_rate: the step size.
        beta_1: decay of the first moment.
        beta_2: decay of the second moment.
        epsilon: added to the root of the uncorrected second moment, as TensorFlow and Keras do.
        weight_decay: what a weight loses in each step, as a multiple of itself and of the step size, apart from the
            gradient (AdamW: Loshchilov and Hutter, ICLR 2019).
    """

    learning_rate: float = 1e-4
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0


class Network(NamedTuple):
    """A further network of an objective and the optimiser that trains it."""

    model: Any
    optimiser: Adam


@dataclasses.dataclass(frozen=True)
class Objective:
    """Base of all objectives, with what most of them have in common. Numbers are at least 0, or as `limited` says."""

    n_views: ClassVar[int] = 1
    """Images per example: 2 for pairs."""

    least_images: ClassVar[int] = 1
    """The least ``batch_size``: 2 where the terms compare images, and of one would be another objective."""

    least_latents: ClassVar[int] = 1
    """The fewest latents: 2 where the terms compare them."""

    supervision: ClassVar[str] = "unsupervised"
    """What the objective sees of the factors, as the leaderboard names it."""

    stochastic: ClassVar[bool] = True
    """Whether the decoder sees a sample of the posterior; otherwise it sees the mean and the variance is not used."""

    reconstructs: ClassVar[bool] = True
    """Whether the reconstruction moves the encoder; otherwise the decoder reads codes it cannot change."""

    decodes: ClassVar[bool] = True
    """Whether there is a decoder. Without one nothing is reconstructed, and the terms are the whole loss."""

    channels: ClassVar[float] = float("inf")
    """The most channels that images may have."""

    traversed: ClassVar[float] = 2.5
    """How far a picture of traversals takes each latent either way from 0: in standard deviations of the prior."""

    prior_is_not_least: ClassVar[str] = ""
    """Why the terms are not least where the posterior is the prior, in words; empty where they are, as they should be.
    The contract tests compare the weighted terms at N(0, 1) with those at N(3, 1) and at N(0, e^-4)."""

    mean_changes: ClassVar[str] = ""
    """What else than β changes its meaning in a run whose reduction is ``"mean"``, in words, for the warning; empty
    where a mean over the latents scales all terms alike, as of β KL, or none of them. The contract tests measure it."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float):
                validation.within(f"hyperparameter {field.name!r}", value, **{"least": 0.0, **field.metadata})

    def rows(self, rows: Indices, space: FactorSpace | FactorTable, count: int, rng: np.random.Generator) -> Indices:
        """Choose the images of a batch.

        Args:
            rows: the rows to train on, int64 (m,).
            space: the factors of the rows that may be drawn: the dataset's, or for an objective on pairs those of the
                part to train on, by themselves.
            count: examples in the batch.
            rng: the source of randomness, which belongs to this step alone.

        Returns:
            int64, shape (n_views, count).
        """
        return rows[rng.integers(len(rows), size=(1, count))]

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Give `terms` what else it reads: random numbers of its own, or what is known of the rows, such as labels.

        Args:
            rows: the batch's rows, int64 (n,), the views one after another.
            space: the dataset's factors.
            latents: latent dimensions.
            rng: the source of randomness, which belongs to this step alone.

        Returns:
            Arrays by name, of the same shapes and dtypes in every step.
        """
        return {}

    def views(self, images: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
        """Change the images that are trained on, as augmentations do. Images are encoded unchanged afterwards.

        Args:
            images: in [0, 1], shape (n, H, W, C), the views one after another.
            inputs: what `inputs` gave.

        Returns:
            Images of the same shape.
        """
        return images

    def code_size(self, latents: int, sizes: Sequence[int]) -> int:
        """Choose how many numbers a code has.

        Args:
            latents: latent dimensions of the run.
            sizes: how many values each of the dataset's factors has.

        Returns:
            The width of mean and log-variance.
        """
        return latents

    def networks(self, latents: int, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, Network]:
        """Build the objective's own networks, with no state other than their weights.

        Args:
            latents: latent dimensions.
            sizes: how many values each of the dataset's factors has.
            rng: the source of the initial weights.

        Returns:
            Networks by name; the names ``encoder`` and ``decoder`` are taken. `train_together` trains several runs
            with the networks of the first: floats among the hyperparameters may not change them.
        """
        return {}

    def aggregate(self, posterior: Posterior) -> Posterior:
        """Change the posteriors before codes are drawn from them, as objectives on pairs do.

        Args:
            posterior: one Gaussian for each image, the views one after another.

        Returns:
            As many Gaussians.
        """
        return posterior

    def code(self, mean: Tensor, call: Call) -> Tensor:
        """Turn the encoder's mean into the code of an image, for objectives that are not stochastic.

        The decoder and the metrics see the code, in training and afterwards.

        Args:
            mean: what the encoder gives, (n, latents).
            call: runs the objective's own networks.

        Returns:
            (n, latents). What is rounded passes the decoder's gradient on with ``ops.stop_gradient``.
        """
        return mean

    def decay_of(self, weight: str) -> float:
        """Choose how fast a weight decays; see `Adam`.

        Args:
            weight: its name, ``<network>/<layer>/<weight>``, such as ``encoder/encoder_1/kernel``.

        Returns:
            0 for a weight that does not.
        """
        return 0.0

    def terms(self, batch: Batch) -> dict[str, Term]:
        """Compute what the loss holds besides the reconstruction, if there is one.

        Args:
            batch: posteriors, codes and inputs of this step.

        Returns:
            Scalars by name, each with its weight. The names ``step``, ``loss`` and ``reconstruction`` are taken. Random
            numbers come from `inputs`: with those of ``keras.random`` no run would come out again.
        """
        return {}


def names() -> tuple[str, ...]:
    """List the objectives, one for each file in ``baselines/objectives``.

    Returns:
        Their names, such as ``beta_vae``.

    Example:
        >>> "beta_vae" in names()
        True
    """
    return discovery.names("baselines.objectives")


def find(name: str) -> type[Objective]:
    """Return an objective's class by name.

    Raises:
        UnknownName: there is no such objective; the message gives the near match and the list.

    Example:
        >>> find("beta_vae")(beta=4.0).beta
        4.0
    """
    return discovery.find("baselines.objectives", name, kind="objective").OBJECTIVE


def kl_to_prior(posterior: Posterior) -> Tensor:
    """Compute KL(N(mean, variance) || N(0, 1)) of every latent: (mean² + variance - log variance - 1) / 2.

    Args:
        posterior: tensors of shape (n, latents).

    Returns:
        Nats, shape (n, latents), not negative.
    """
    mean, log_variance = posterior
    return 0.5 * (ops.square(mean) + ops.exp(log_variance) - log_variance - 1.0)


def check_grid(space: FactorSpace | FactorTable, what: str) -> None:
    """Check that there is every combination of values once, so that partners of an image can be chosen freely.

    Args:
        space: the factors of the rows that may be drawn: of a dataset, or of the part of it to train on.
        what: the kind of objective that needs it, for the message.

    Raises:
        InvalidInput: it has not.
    """
    if not space.full:
        raise InvalidInput(
            f"{what}: expected a dataset that is a full grid of factors, or a part that is one: every combination "
            f"once, received {space!r}. Choose an objective that needs no pairs."
        )


def halves(posterior: Posterior) -> tuple[Posterior, Posterior]:
    """Divide the posteriors of pairs.

    Args:
        posterior: tensors (2 x pairs, latents), the views one after another.

    Returns:
        Those of the first images and those of the second, each (pairs, latents).
    """
    pairs = posterior.mean.shape[0] // 2
    mean, log_variance = posterior
    return Posterior(mean[:pairs], log_variance[:pairs]), Posterior(mean[pairs:], log_variance[pairs:])
