"""Encoders and decoders: those of the papers, a small convolutional one, a linear one and a transformer.

An architecture is a function ``(image_shape, latents, rng, *, ...) -> Networks``; its keyword arguments are the
architecture's parameters. Weights start Glorot uniform, biases zero and scales one, drawn from ``rng`` on the host, so
that every backend starts from the same numbers. Runs record activations of the layers ``encoder_1``, ``encoder_2`` ...
``mean``, ``log_variance``, ``decoder_1`` ... ``output``, by whose names weights are also referred to.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from baselines import validation
from baselines.nets.backend import keras, ops
from benchmark_data.errors import InvalidInput, UnknownName

ImageShape: TypeAlias = tuple[int, int, int]


class Networks(NamedTuple):
    """The two halves of an autoencoder.

    Attributes:
        encoder: Keras model, images (n, H, W, C) in [0, 1] to (mean, log_variance), each (n, latents).
        decoder: Keras model, codes (n, latents) to output (n, H, W, C), with no activation.
    """

    encoder: Any
    decoder: Any


def glorot(rng: np.random.Generator) -> Callable[..., Any]:
    """Make an initialiser: uniform in ±sqrt(6 / (fan in + fan out)) (Glorot and Bengio 2010, equation 16).

    Args:
        rng: the source of randomness; layers draw from it in the order in which they are built.

    Returns:
        A function (shape, dtype) -> tensor, as required by Keras' layers.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Any:
        limit = math.sqrt(6 / (math.prod(shape[:-2]) * (shape[-2] + shape[-1])))
        return ops.convert_to_tensor(rng.uniform(-limit, limit, shape).astype(np.float32))

    return draw


def conv(
    image_shape: ImageShape, latents: int, rng: np.random.Generator, *, pixel_mean: float = 0.0, pixel_std: float = 1.0
) -> Networks:
    """Build the convolutional architecture (Bonheme and Grześ 2022, table 3): 4 x 4 kernels, stride 2, ReLU.

    The first layer's input is (pixel - ``pixel_mean``) / ``pixel_std``, and the last layer's output is in these units:
    by default pixels in [0, 1], unchanged.

    Args:
        image_shape: (H, W, C); H and W multiples of 16.
        latents: latent dimensions.
        rng: the source of the initial weights.
        pixel_mean: mean of the dataset's pixels.
        pixel_std: their standard deviation, positive.

    Returns:
        Encoder: 32, 32, 64, 64 filters, flattened, 256 units. Decoder: 256 and (H/16)(W/16) 64 units, then 64, 32, 32
        and C filters.

    Raises:
        InvalidInput: the image's sides are not multiples of 16, or ``pixel_std`` is not positive.
    """
    validation.within("pixel_std", pixel_std, above=0)
    return _build_convolutional(image_shape, latents, rng, pixels=(pixel_mean, pixel_std))


def conv_dlib(image_shape: ImageShape, latents: int, rng: np.random.Generator) -> Networks:
    """Build `conv` as in disentanglement_lib's code: with 2 x 2 kernels in encoder layers 3 and 4.

    Args:
        image_shape: (H, W, C); H and W multiples of 16.
        latents: latent dimensions.
        rng: the source of the initial weights.

    Returns:
        As `conv` otherwise.

    Raises:
        InvalidInput: the image's sides are not multiples of 16.
    """
    return _build_convolutional(image_shape, latents, rng, kernels=(4, 4, 2, 2))


def conv_small(image_shape: ImageShape, latents: int, rng: np.random.Generator) -> Networks:
    """Build `conv` with half the filters and half the units, small enough to train hundreds of runs on two cores.

    It is not from a paper. A step takes 27% to 29% of the multiplications of `conv`.

    Args:
        image_shape: (H, W, C); H and W multiples of 16.
        latents: latent dimensions.
        rng: the source of the initial weights.

    Returns:
        Encoder: 16, 16, 32, 32 filters, flattened, 128 units. Decoder: 128 and (H/16)(W/16) 32 units, then 32, 16, 16
        and C filters.

    Raises:
        InvalidInput: the image's sides are not multiples of 16.
    """
    return _build_convolutional(image_shape, latents, rng, filters=(16, 16, 32, 32), units=128)


def _build_convolutional(
    image_shape: ImageShape,
    latents: int,
    rng: np.random.Generator,
    *,
    filters: tuple[int, int, int, int] = (32, 32, 64, 64),
    kernels: tuple[int, int, int, int] = (4, 4, 4, 4),
    units: int = 256,
    pixels: tuple[float, float] = (0.0, 1.0),
) -> Networks:
    from baselines.nets import convolutions  # it needs Keras

    height, width, channels = _check_multiples(image_shape, 16, "convolutional architecture")
    layers, initializer = keras.layers, glorot(rng)
    options: dict[str, Any] = {"padding": "same", "kernel_initializer": initializer}

    def upsample(x: Any, name: str, count: int, activation: str | None) -> Any:
        return convolutions.Conv2DTranspose(count, 4, 2, activation=activation, name=name, **options)(x)

    x = image = keras.Input(image_shape, name="input")
    mean, std = pixels
    if pixels != (0.0, 1.0):
        x = layers.Rescaling(1 / std, -mean / std, name="standardised")(x)
    for i, (count, kernel) in enumerate(zip(filters, kernels, strict=True)):
        x = convolutions.Conv2D(count, kernel, 2, activation="relu", name=f"encoder_{i + 1}", **options)(x)
    x = layers.Flatten(name="encoder_5")(x)
    x = layers.Dense(units, "relu", kernel_initializer=initializer, name="encoder_6")(x)
    encoder = keras.Model(image, _posterior_heads(x, latents, initializer), name="encoder")

    x = code = keras.Input((latents,), name="codes")
    smallest_shape = (height // 16, width // 16, filters[-1])
    x = layers.Dense(units, "relu", kernel_initializer=initializer, name="decoder_1")(x)
    x = layers.Dense(math.prod(smallest_shape), "relu", kernel_initializer=initializer, name="decoder_2")(x)
    x = layers.Reshape(smallest_shape, name="reshape")(x)
    for i, count in enumerate(reversed(filters[:-1])):
        x = upsample(x, f"decoder_{i + 3}", count, "relu")
    x = upsample(x, "output", channels, None)
    if pixels != (0.0, 1.0):
        x = layers.Rescaling(std, mean, name="pixels")(x)
    return Networks(encoder, keras.Model(code, x, name="decoder"))


def fc(image_shape: ImageShape, latents: int, rng: np.random.Generator, *, width: int = 1200) -> Networks:
    """Build the fully connected architecture (Bonheme and Grześ 2022, table 4).

    Args:
        image_shape: (H, W, C).
        latents: latent dimensions.
        rng: the source of the initial weights.
        width: units of the wide layers.

    Returns:
        Encoder: flattened, twice ``width`` units with ReLU. Decoder: 256 units (``width`` if that is less) and twice
        ``width`` units, all with tanh, then one linear unit per pixel.

    Raises:
        InvalidInput: ``width`` is not positive.
    """
    validation.within("width", width, least=1)
    layers, initializer = keras.layers, glorot(rng)
    x = image = keras.Input(image_shape, name="input")
    x = layers.Flatten(name="encoder_1")(x)
    for i in (2, 3):
        x = layers.Dense(width, "relu", kernel_initializer=initializer, name=f"encoder_{i}")(x)
    encoder = keras.Model(image, _posterior_heads(x, latents, initializer), name="encoder")

    x = code = keras.Input((latents,), name="codes")
    for i, units in enumerate((min(256, width), width, width)):
        x = layers.Dense(units, "tanh", kernel_initializer=initializer, name=f"decoder_{i + 1}")(x)
    x = layers.Dense(math.prod(image_shape), kernel_initializer=initializer, name="output")(x)
    return Networks(encoder, keras.Model(code, layers.Reshape(image_shape, name="image")(x), name="decoder"))


def linear(image_shape: ImageShape, latents: int, rng: np.random.Generator) -> Networks:
    """Build a linear autoencoder: one dense layer without an activation on either side.

    With a squared error its VAE finds the principal components, up to sign and order (Lucas et al., NeurIPS 2019).

    Args:
        image_shape: (H, W, C).
        latents: latent dimensions.
        rng: the source of the initial weights.

    Returns:
        Encoder: flattened. Decoder: one linear unit per pixel.
    """
    layers, initializer = keras.layers, glorot(rng)
    image = keras.Input(image_shape, name="input")
    flat = layers.Flatten(name="encoder_1")(image)
    encoder = keras.Model(image, _posterior_heads(flat, latents, initializer), name="encoder")
    code = keras.Input((latents,), name="codes")
    pixels = layers.Dense(math.prod(image_shape), kernel_initializer=initializer, name="output")(code)
    return Networks(encoder, keras.Model(code, layers.Reshape(image_shape, name="image")(pixels), name="decoder"))


PATCH, CHANNELS, BLOCKS, HEADS = 8, 64, 2, 4
"""Of the transformer: side of a patch in pixels, numbers that describe it, blocks of each half, attention heads."""


def transformer(image_shape: ImageShape, latents: int, rng: np.random.Generator) -> Networks:
    """Build a small vision transformer with a mirrored decoder.

    It is not from a paper. Its two blocks are those of Dosovitskiy et al. (ICLR 2021): four attention heads, then two
    dense layers with GELU, each after a normalisation. Positions are fixed sines and cosines. All tokens are flattened,
    not averaged, since positions are factors.

    Args:
        image_shape: (H, W, C); H and W multiples of 8.
        latents: latent dimensions.
        rng: the source of the initial weights.

    Returns:
        Encoder: patches of 8 x 8 pixels as 64 numbers each, two blocks, flattened, 256 units. Decoder: 256 units, 64
        for each patch, two blocks, the pixels of each patch.

    Raises:
        InvalidInput: the image's sides are not multiples of 8.
    """
    from baselines.nets import convolutions  # it needs Keras

    height, width, colours = _check_multiples(image_shape, PATCH, "transformer")
    layers, initializer = keras.layers, glorot(rng)
    rows, columns = height // PATCH, width // PATCH
    tokens = (rows * columns, CHANNELS)
    positions = _positional_encoding(rows, columns)

    def dense(x: Any, units: int, name: str, activation: str | None = None) -> Any:
        return layers.Dense(units, activation, kernel_initializer=initializer, name=name)(x)

    def to_heads(x: Any, name: str) -> Any:
        x = ops.reshape(dense(x, CHANNELS, name), (-1, tokens[0], HEADS, CHANNELS // HEADS))
        return ops.transpose(x, (0, 2, 1, 3))

    def normalise(x: Any, name: str) -> Any:
        return layers.LayerNormalization(name=f"normal_{name}")(x)

    def add_block(x: Any, name: str) -> Any:
        with keras.name_scope(name):  # weights are found by the layer that their names begin with
            normalised = normalise(x, f"1_{name}")
            queries, keys, values = (to_heads(normalised, f"{part}_{name}") for part in ("queries", "keys", "values"))
            scores = ops.matmul(queries * (CHANNELS // HEADS) ** -0.5, ops.transpose(keys, (0, 1, 3, 2)))
            attended = ops.transpose(ops.matmul(ops.softmax(scores), values), (0, 2, 1, 3))
            x = x + dense(ops.reshape(attended, (-1, *tokens)), CHANNELS, f"mixed_{name}")
            hidden = dense(normalise(x, f"2_{name}"), 4 * CHANNELS, f"hidden_{name}", "gelu")
            return layers.Add(name=name)([x, dense(hidden, CHANNELS, f"added_{name}")])

    x = image = keras.Input(image_shape, name="input")
    x = convolutions.Conv2D(CHANNELS, PATCH, PATCH, "same", kernel_initializer=initializer, name="encoder_1")(x)
    x = ops.reshape(x, (-1, *tokens)) + positions
    for i in range(BLOCKS):
        x = add_block(x, f"encoder_{i + 2}")
    last_name = f"encoder_{BLOCKS + 2}"
    with keras.name_scope(last_name):
        x = layers.Flatten(name="flat")(normalise(x, last_name))
    x = dense(x, 256, last_name, "relu")
    encoder = keras.Model(image, _posterior_heads(x, latents, initializer), name="encoder")

    x = code = keras.Input((latents,), name="codes")
    x = dense(dense(x, 256, "decoder_1", "relu"), math.prod(tokens), "decoder_2")
    x = ops.reshape(x, (-1, *tokens)) + positions
    for i in range(BLOCKS):
        x = add_block(x, f"decoder_{i + 3}")
    with keras.name_scope("output"):
        x = ops.reshape(normalise(x, "output"), (-1, rows, columns, CHANNELS))
    x = convolutions.Conv2DTranspose(colours, PATCH, PATCH, "same", kernel_initializer=initializer, name="output")(x)
    return Networks(encoder, keras.Model(code, x, name="decoder"))


def _positional_encoding(rows: int, columns: int) -> NDArray[np.float32]:
    """Return sines and cosines of each patch's row and column, wavelengths 2π to below 20,000π: (tokens, channels)."""
    frequencies = 10_000.0 ** (-np.arange(CHANNELS // 4) / (CHANNELS // 4))
    y, x = (np.multiply.outer(indices.ravel(), frequencies) for indices in np.indices((rows, columns)))
    return np.concatenate([np.sin(y), np.cos(y), np.sin(x), np.cos(x)], axis=1).astype(np.float32)


def _check_multiples(image_shape: ImageShape, divisor: int, what: str) -> ImageShape:
    """Check that height and width are multiples of a number, and return the shape."""
    if image_shape[0] % divisor or image_shape[1] % divisor:
        raise InvalidInput(
            f"image shape: expected height and width that are multiples of {divisor} for a {what}, received "
            f"{image_shape}. Resize the images or use the architecture fc."
        )
    return image_shape


def _posterior_heads(x: Any, latents: int, initializer: Callable[..., Any]) -> list[Any]:
    return [
        keras.layers.Dense(latents, kernel_initializer=initializer, name=name)(x) for name in ("mean", "log_variance")
    ]


ARCHITECTURES: dict[str, Callable[..., Networks]] = {
    "conv": conv,
    "conv_dlib": conv_dlib,
    "conv_small": conv_small,
    "fc": fc,
    "linear": linear,
    "transformer": transformer,
}
"""Every architecture by name."""


def find(name: str) -> Callable[..., Networks]:
    """Return an architecture by name.

    Raises:
        UnknownName: there is no such architecture; the message suggests the nearest name and lists all.
    """
    if name not in ARCHITECTURES:
        raise UnknownName("architecture", name, ARCHITECTURES)
    return ARCHITECTURES[name]


def parameters(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check an architecture's parameters and fill in the defaults.

    Args:
        name: the architecture.
        given: some or all of its parameters.

    Returns:
        All of its parameters.

    Raises:
        UnknownName: there is no such architecture or parameter.
        InvalidInput: a value has the wrong type.

    Example:
        >>> parameters("fc", {"width": 64})
        {'width': 64}
        >>> parameters("conv_small", {})
        {}
    """
    defaults = _keyword_defaults(find(name))
    for key in given:
        if key not in defaults:
            raise UnknownName(f"parameter of {name}", key, defaults)
    typed = {k: validation.typed(f"parameter of {name} {k!r}", value, type(defaults[k])) for k, value in given.items()}
    return {**defaults, **typed}


@functools.cache
def _keyword_defaults(architecture: Callable[..., Networks]) -> dict[str, Any]:
    arguments = inspect.signature(architecture).parameters.items()
    return {key: argument.default for key, argument in arguments if argument.kind.name == "KEYWORD_ONLY"}
