"""Shared by objectives on augmented views: two views of an image, and a head on the codes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.nets import architectures
from baselines.nets.backend import Tensor, keras, ops
from baselines.objectives import Adam, Batch, Network, Objective, limited
from benchmark_data.factors import FactorSpace, FactorTable, Indices


@dataclasses.dataclass(frozen=True)
class Augmented(Objective):
    """Two augmented views of each image; no factor is used, and there is no decoder.

    Each channel of a view is multiplied by a factor from [1 - ``darkened``, 1], and a square about a random point, with
    sides of ``erased`` of the image's and cut off at its border, is set to black. There are no crops, flips or
    rotations: they change positions and angles, which are factors.

    Attributes:
        darkened: the most by which a channel is darkened, at most 1.
        erased: side of the erased square as a share of the image's, at most 1.
    """

    least_images: ClassVar[int] = 2
    n_views: ClassVar[int] = 2
    stochastic: ClassVar[bool] = False
    decodes: ClassVar[bool] = False
    channels: ClassVar[float] = 3

    darkened: float = limited(0.5, most=1)
    erased: float = limited(0.25, most=1)

    def rows(self, rows: Indices, space: FactorSpace | FactorTable, count: int, rng: np.random.Generator) -> Indices:
        """Draw images, each twice."""
        return np.repeat(super().rows(rows, space, count, rng), 2, axis=0)

    def inputs(
        self, rows: Indices, space: FactorSpace | FactorTable, latents: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Draw factors of brightness (n, 1, 1, 3) and centres of squares (n, 2) in [0, 1]."""
        return {
            "brightness": 1 - np.float32(self.darkened) * rng.random((len(rows), 1, 1, 3), np.float32),
            "centres": rng.random((len(rows), 2), np.float32),
        }

    def views(self, images: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
        """Darken the channels and erase a square."""
        inside: Any = 1.0
        for axis, length in ((0, images.shape[1]), (1, images.shape[2])):
            positions = (np.arange(length, dtype=np.float32) + 0.5) / length
            near = ops.abs(ops.subtract(positions[None], inputs["centres"][:, axis, None])) < 0.5 * self.erased
            inside = inside * ops.cast(near[:, :, None, None] if axis == 0 else near[:, None, :, None], "float32")
        return images * inputs["brightness"][..., : images.shape[3]] * (1.0 - inside)


@dataclasses.dataclass(frozen=True)
class Projected(Augmented):
    """Augmented views with a head of two layers on the codes, which only the loss uses.

    Attributes:
        units: width of both layers of the head, at least 1.
    """

    units: int = limited(256, least=1)

    def networks(self, latents: int, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, Network]:
        """Build the head: a ReLU layer and a linear one, without batch normalisation, which would keep a state."""
        initializer = architectures.glorot(rng)
        codes = keras.Input((latents,), name="codes")
        x = keras.layers.Dense(self.units, "relu", kernel_initializer=initializer, name="head_1")(codes)
        x = keras.layers.Dense(self.units, use_bias=False, kernel_initializer=initializer, name="head_2")(x)
        return {"head": Network(keras.Model(codes, x, name="head"), Adam(1e-3))}

    def heads(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the head's outputs for the first views and for the second ones, each (n, units)."""
        outputs = batch.call("head", batch.codes)
        pairs = outputs.shape[0] // 2
        return outputs[:pairs], outputs[pairs:]
