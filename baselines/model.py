"""A config's networks and loss: a pure function of weights and batch, the same for every backend. Internal."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.config import Precision, RunConfig
from baselines.nets import architectures, backend, reconstruction
from baselines.nets.backend import Tensor, keras, ops
from baselines.objectives import Adam, Batch, Network, Posterior, Term, kl_to_prior
from benchmark_data import discovery
from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.types import Pixels

T = TypeVar("T")

INITIAL_STEP = 2**64 - 1
"""The step number for the random initial weights of a run that does not start from another."""


def initial_rng(config: RunConfig) -> np.random.Generator:
    """Return the random generator for a config's initial weights.

    If a run starts from another's weights, these are for its reset layers, and also depend on the other's weights: by
    the seed alone, a run with its source's seed would reset a layer to the source's own initial weights, with which the
    frozen layers were trained.

    Args:
        config: a run's config; if it starts from another, with the hash of the weights.

    Returns:
        A generator in its initial state.
    """
    return generator(config.seed, int(config.start_weights[:16] or "0", 16) if config.start_from else INITIAL_STEP)


def generator(seed: int, step: int) -> np.random.Generator:
    """Return the random generator of one step, which depends on the seed and the step alone.

    Args:
        seed: the run's seed.
        step: from 1; or `INITIAL_STEP`.

    Returns:
        A generator in its initial state, counter-based (Philox), so that no state needs to be saved.

    Example:
        >>> generator(0, 7).integers(100, size=3).tolist() == generator(0, 7).integers(100, size=3).tolist()
        True
    """
    return np.random.Generator(np.random.Philox(key=np.array([seed, step], np.uint64)))


class Model:
    """The networks of a config at their initial weights.

    Args:
        config: the run's config.
        image_shape: (H, W, C) of the dataset.
        sizes: the number of values of each factor, for objectives that use the factors.
        precision: precision of activations and products, ``"float32"`` or ``"bfloat16"``; weights and losses are always
            float32. A run trains at its config's precision, and encodes and decodes in float32.

    Attributes:
        code_size: the number of dimensions of a code: the run's latents, unless the objective chooses otherwise.
        decoder: the decoder; None if the objective has none.
        networks: by name: ``encoder``, ``decoder`` if there is one, and the objective's own, each with its optimiser.

    Raises:
        InvalidInput: the images do not fit the architecture or the objective, or a network cannot be stored.
    """

    def __init__(
        self,
        config: RunConfig,
        image_shape: tuple[int, int, int],
        sizes: Sequence[int] = (),
        *,
        precision: Precision = "float32",
    ) -> None:
        self.config = config
        self.objective = config.build_objective()
        self.reconstruction = reconstruction.find(config.reconstruction)
        self.sizes = tuple(sizes)
        self.code_size = self.objective.code_size(config.latents, self.sizes)
        if image_shape[2] > self.objective.channels:
            expected = f"images of at most {self.objective.channels} channels, received shape {image_shape}"
            raise InvalidInput(
                f"{config.objective}: expected {expected}. Remove the others, such as the alpha channel."
            )
        rng = initial_rng(config)
        build = architectures.find(config.architecture)
        adam = Adam(config.learning_rate, config.beta_1, config.beta_2, config.epsilon)
        with backend.layers_in(precision):
            self.encoder, self.decoder = build(image_shape, self.code_size, rng, **config.architecture_parameters)
            objective_networks = self.objective.networks(config.latents, self.sizes, rng)
        if not self.objective.decodes:
            self.decoder = None
        autoencoder = {"encoder": self.encoder} | ({"decoder": self.decoder} if self.decoder else {})
        self.networks = {name: Network(network, adam) for name, network in autoencoder.items()} | objective_networks
        self._check_networks()

    def _check_networks(self) -> None:
        """Check that a run folder can store the weights, and that layers have names of their own."""
        names, layers = self.names(), {layer.name for layer in self.encoder.layers}
        keras_class_names = {class_name.lower() for class_name in dir(keras.layers)}
        problems = [f"two weights called {name}" for name in names if names.count(name) > 1]
        problems += [f"no layer {head} in the encoder" for head in ("mean", "log_variance") if head not in layers]
        for network in self.networks.values():
            problems += [f"{v.path}, which no gradient trains" for v in network.model.non_trainable_variables]
        for name in names:  # Keras' default names depend on what else the process has built
            layer = name.split("/")[-2]
            if layer.rstrip("0123456789").rstrip("_").replace("_", "") in keras_class_names:
                problems.append(f"a layer that Keras named {layer}")
        if problems:
            raise InvalidInput(
                f"networks of {self.config.architecture} and {self.config.objective}: received {problems[0]}. Name "
                "every layer with weights uniquely, and give the encoder the layers mean and log_variance; batch "
                "normalisation and dropout are not supported."
            )

    def names(self) -> list[str]:
        """List the weights by name, ``<network>/<layer>/<weight>``, in the order of `variables`."""
        return [
            f"{name}/{v.path}" for name, network in self.networks.items() for v in network.model.trainable_variables
        ]

    def variables(self) -> list[Any]:
        """List the Keras variables that hold the weights, network by network."""
        return [v for network in self.networks.values() for v in network.model.trainable_variables]

    def optimisers(self) -> list[Adam]:
        """List the optimiser of each weight, in the order of `variables`. A frozen weight does not decay."""
        adams = [network.optimiser for network in self.networks.values() for _ in network.model.trainable_variables]
        return [
            dataclasses.replace(adam, weight_decay=0.0 if frozen else self.objective.decay_of(name))
            for adam, name, frozen in zip(adams, self.names(), self.frozen(), strict=True)
        ]

    def frozen(self) -> list[bool]:
        """List whether each weight is frozen, in the order of `variables`."""
        return [layer_of(name) in self.config.frozen for name in self.names()]

    def varied(self, strengths: Mapping[str, Tensor]) -> Model:
        """Return the same networks with an objective in which some floats are replaced by tensors.

        Args:
            strengths: scalar tensors by the hyperparameter's name.

        Returns:
            A shallow copy.
        """
        model = copy.copy(self)
        model.objective = with_tensors(self.objective, strengths)
        return model

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Copy the weights, by name."""
        return {name: backend.to_numpy(v) for name, v in zip(self.names(), self.variables(), strict=True)}

    def load(self, weights: Mapping[str, NDArray[np.float32]], source: str = "weights") -> None:
        """Set the weights.

        Args:
            weights: arrays by name, as from `weights`.
            source: their origin, for the message.

        Raises:
            DamagedFile: names or shapes do not match this model.
        """
        shapes = {name: tuple(v.shape) for name, v in zip(self.names(), self.variables(), strict=True)}
        check_shapes(shapes, weights, source)
        for name, variable in zip(self.names(), self.variables(), strict=True):
            variable.assign(weights[name])

    def loss(self, weights: list[Any], batch: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the loss of a batch.

        Args:
            weights: tensors in the order of `variables`.
            batch: ``images`` uint8 (n, H, W, C), ``noise`` float32 (n, code size), ``step`` float32 (), and the
                objective's own inputs.

        Returns:
            The scalar to minimise, and the history's scalars by name: loss, reconstruction if there is a decoder, and
            the unweighted terms.
        """
        grouped: dict[str, list[Any]] = {}
        remaining = (ops.stop_gradient(w) if frozen else w for w, frozen in zip(weights, self.frozen(), strict=True))
        for name, network in self.networks.items():
            grouped[name] = [next(remaining) for _ in network.model.trainable_variables]

        def call(network: str, inputs: Tensor, *, stop_gradient: bool = False) -> Any:
            values = [ops.stop_gradient(w) for w in grouped[network]] if stop_gradient else grouped[network]
            return _cast_to_float32(self.networks[network].model.stateless_call(values, [], inputs)[0])

        inputs = {key: value for key, value in batch.items() if key not in ("images", "noise", "step")}
        images = self.objective.views(ops.cast(batch["images"], "float32") / 255.0, inputs)
        posterior = self.objective.aggregate(Posterior(*call("encoder", images)))
        stochastic = self.objective.stochastic
        codes = sample(posterior, batch["noise"]) if stochastic else self.objective.code(posterior.mean, call)
        averaged, kl = self.config.reduction == "mean", kl_to_prior(posterior)
        kl = ops.mean(kl, axis=1) if averaged else ops.sum(kl, axis=1)
        observed, what = Batch(posterior, codes, kl, batch["step"], inputs, call, self.sizes), self.config.objective
        returns = "Term(weight, scalar) by name, of which none is step, loss or reconstruction"
        terms = discovery.call(f"objective {what}", self.objective.terms, observed, returns=returns, sound=_are_terms)
        loss, history = 0.0, {name: term.value for name, term in terms.items()}
        if self.decoder:
            decoder_input = codes if self.objective.reconstructs else ops.stop_gradient(codes)
            distance = self.reconstruction.loss(images, call("decoder", decoder_input))
            loss = ops.mean(distance / float(np.prod(images.shape[1:])) if averaged else distance)
            history = {"reconstruction": loss, **history}
            if self.config.reconstruction_weight != 1:
                loss = self.config.reconstruction_weight * loss
        loss = loss + sum(term.weight * term.value for term in terms.values())
        return loss, {"loss": loss, **history}

    def encode(self, images: Pixels) -> Posterior:
        """Encode images.

        Args:
            images: uint8, shape (n, H, W, C).

        Returns:
            Mean and log-variance, each a float32 numpy array (n, code size). For a deterministic objective the mean is
            the code, and the log-variance has no meaning.
        """
        mean, log_variance = _run_in_chunks(self.encoder, scaled(images))
        return Posterior(self._compute_codes(mean), log_variance)

    def _compute_codes(self, mean: NDArray[np.float32]) -> NDArray[np.float32]:
        """Convert the encoder's means to codes, as numpy arrays."""
        with backend.no_gradients():
            tensor = ops.convert_to_tensor(mean)
            code = self.code(tensor)
        return mean if code is tensor else backend.to_numpy(code)

    def code(self, mean: Tensor) -> Tensor:
        """Convert the encoder's means to the codes of a deterministic objective; others' codes are the means.

        Args:
            mean: shape (n, latents): a tensor, or a symbolic Keras tensor.

        Returns:
            ``mean`` itself, or a tensor computed from it, shape (n, code size).
        """

        def call(network: str, inputs: Tensor, *, stop_gradient: bool = False) -> Any:
            return self.networks[network].model(inputs)

        return mean if self.objective.stochastic else self.objective.code(mean, call)

    def decode(self, codes: NDArray[np.floating]) -> NDArray[np.float32]:
        """Decode codes to images.

        Args:
            codes: shape (n, code size).

        Returns:
            float32 in [0, 1], shape (n, H, W, C): the mean of a Bernoulli pixel, or the clipped output.

        Raises:
            InvalidInput: there is no decoder.
        """
        if self.decoder is None:
            raise InvalidInput(f"decoding: expected an objective with a decoder, received {self.config.objective}.")
        output = _run_in_chunks(self.decoder, np.asarray(codes, np.float32))[0]
        return backend.to_numpy(self.reconstruction.image(output))

    def activations(self, images: Pixels, noise: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Compute the activations of every layer.

        Args:
            images: uint8, shape (n, H, W, C).
            noise: standard normal numbers for the sampled codes, shape (n, code size).

        Returns:
            Layer -> float32 (n, p), from ``input`` through ``encoder_1`` ..., ``mean``, ``variance`` and ``sampled``
            to ``decoder_1`` ... and ``output`` (before any activation). A deterministic objective has no ``variance``
            and no ``sampled``: its decoder's input is the mean, or the objective's code, which is then the layer
            ``code``. Without a decoder that is the last layer.
        """
        pixels = scaled(images)
        activations = {"input": pixels, **_layer_activations(self.encoder, pixels)}
        codes, log_variance = activations["mean"], activations.pop("log_variance")
        if self.objective.stochastic:
            activations["variance"] = np.exp(log_variance)
            sampled = codes + np.exp(0.5 * log_variance) * noise
            codes = activations["sampled"] = sampled.astype(np.float32, copy=False)  # already float32
        elif (code := self._compute_codes(codes)) is not codes:
            codes = activations["code"] = code
        if self.decoder:
            activations |= _layer_activations(self.decoder, codes)
        return {name: np.ascontiguousarray(a.reshape(len(a), -1), np.float32) for name, a in activations.items()}


def _cast_to_float32(outputs: Any) -> Any:
    """Cast a network's outputs to float32, for losses, unless they already are."""

    def cast(output: Any) -> Any:
        is_float32 = keras.backend.standardize_dtype(output.dtype) == "float32"
        return output if is_float32 else ops.cast(output, "float32")

    return keras.tree.map_structure(cast, outputs)


def with_tensors(settings: T, values: Mapping[str, Any]) -> T:
    """Copy a frozen dataclass with some numbers replaced by tensors, without its checks.

    Args:
        settings: an objective or an optimiser.
        values: tensors by the field's name.

    Returns:
        The copy.
    """
    copied = copy.copy(settings)
    for name, value in values.items():
        object.__setattr__(copied, name, value)
    return copied


def scaled(images: Pixels) -> NDArray[np.float32]:
    """Map uint8 images to float32 in [0, 1]."""
    return np.divide(images, 255, dtype=np.float32)


def sample(posterior: Posterior, noise: Tensor) -> Tensor:
    """Draw from the posterior: mean + standard deviation x noise.

    Args:
        posterior: tensors (n, latents).
        noise: standard normal numbers (n, latents).

    Returns:
        (n, latents).
    """
    return posterior.mean + ops.exp(0.5 * posterior.log_variance) * noise


def check_shapes(wanted: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Any], source: str) -> None:
    """Check that arrays have the wanted names and shapes.

    Raises:
        DamagedFile: a name is missing or one too many, or a shape differs.
    """
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    mismatched = sorted(name for name in {*wanted, *shapes} if wanted.get(name) != shapes.get(name))
    if mismatched:
        raise DamagedFile(
            f"{source}: expected {mismatched[0]} of shape {wanted.get(mismatched[0], 'none')}, received "
            f"{shapes.get(mismatched[0], 'none')}. The file belongs to another config, or is damaged."
        )


_RESERVED_NAMES = {"step", "loss", "reconstruction"}
"""Other keys of a line of the history."""


def _are_terms(returned: Any) -> bool:
    """Return whether an objective returned valid terms."""
    terms = returned.values() if isinstance(returned, dict) and not returned.keys() & _RESERVED_NAMES else [None]
    return all(isinstance(term, Term) and not len(getattr(term.value, "shape", ())) for term in terms)


def _layer_activations(network: Any, inputs: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    layer_names = [
        layer.name
        for layer in network.layers
        if layer.name.startswith(("encoder_", "decoder_")) or layer.name in ("mean", "log_variance", "output")
    ]
    probe = keras.Model(network.inputs[0], [network.get_layer(name).output for name in layer_names])
    return dict(zip(layer_names, _run_in_chunks(probe, inputs), strict=True))


def _run_in_chunks(network: Any, inputs: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Run a network on 256 rows at a time; return its outputs as numpy arrays."""
    with backend.no_gradients():
        chunks = [network(inputs[i : i + 256], training=False) for i in range(0, len(inputs), 256)]
    columns = zip(*(chunk if isinstance(chunk, list) else [chunk] for chunk in chunks), strict=True)
    return [np.concatenate([backend.to_numpy(chunk) for chunk in column]) for column in columns]


def layer_of(name: str) -> str:
    """Return the layer that a weight belongs to.

    Args:
        name: name of the weight.

    Returns:
        The name of its layer.

    Example:
        >>> layer_of("encoder/encoder_1/kernel")
        'encoder_1'
    """
    return name.split("/")[1]
