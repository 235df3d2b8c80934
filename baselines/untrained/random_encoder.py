"""Random encoder: an encoder at its initial weights, so what the architecture alone brings.

The control is of this project, and not of a paper.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines import validation
from baselines.config import RunConfig
from baselines.model import Model
from baselines.nets import architectures, backend
from baselines.run import posterior_of
from baselines.untrained import Untrained
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Indices


@dataclasses.dataclass(frozen=True)
class BASELINE(Untrained):
    """The means of an untrained encoder.

    Attributes:
        architecture: its architecture, with default parameters.
        latents: latent dimensions.
    """

    packages: ClassVar[tuple[str, ...]] = ("numpy", "keras")

    architecture: str = "conv"
    latents: int = 10

    def __post_init__(self) -> None:
        architectures.find(self.architecture)
        validation.within("latents", self.latents, least=1)

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that affect the codes, with that of the backend."""
        return backend.versions(*self.packages, backend.name())

    def codes(self, dataset: Dataset, rows: Indices, *, seed: int) -> NDArray[np.float32]:
        """Encode the images."""
        backend.name()  # raises an error for a backend without an engine, before anything is built
        config = RunConfig(
            dataset=dataset.id, objective="ae", architecture=self.architecture, latents=self.latents, seed=seed
        )
        model = Model(config, dataset.image_shape)
        return posterior_of(model.encode, dataset, rows).mean
