"""PCA of the pixels: the linear codes that keep the most variance. VAEs resemble it (Rolinek et al., CVPR 2019)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines import validation
from baselines.model import scaled
from baselines.run import ENCODED
from baselines.untrained import Untrained, rows_to_fit
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, needs
from benchmark_data.factors import Indices
from benchmark_data.types import Pixels

if TYPE_CHECKING:
    from sklearn.decomposition import PCA

PAPER = "https://doi.org/10.1080/14786440109462720"
CODE = "https://github.com/scikit-learn/scikit-learn"
CODE_LICENSE = "BSD-3-Clause"
CITATION = """@article{pearson1901lines,
  title = {On Lines and Planes of Closest Fit to Systems of Points in Space},
  author = {Pearson, Karl},
  journal = {The London, Edinburgh, and Dublin Philosophical Magazine and Journal of Science},
  volume = {2},
  pages = {559--572},
  year = {1901}
}"""


@dataclasses.dataclass(frozen=True)
class BASELINE(Untrained):
    """Principal components, fitted to a random sample of the dataset, or of a split's train rows.

    Attributes:
        latents: number of components.
        sample: number of images to fit to, more than latents; all of a smaller dataset.
    """

    packages: ClassVar[tuple[str, ...]] = ("numpy", "sklearn")

    latents: int = 10
    sample: int = 4096

    def __post_init__(self) -> None:
        validation.within("latents", self.latents, least=1)
        validation.within("sample", self.sample, above=self.latents)

    def codes(self, dataset: Dataset, rows: Indices, *, seed: int) -> NDArray[np.float32]:
        """Project the images onto the components."""
        pca, _ = self.fit(dataset, seed=seed)
        return np.concatenate([pca.transform(flat(images)) for _, images in dataset.batches(rows, batch_size=ENCODED)])

    def fit(self, dataset: Dataset, *, seed: int) -> tuple[PCA, NDArray[np.float32]]:
        """Fit the components.

        Args:
            dataset: the dataset.
            seed: seed of the sample.

        Returns:
            The fitted PCA, and the codes of its sample, float32, shape (sample, latents).

        Raises:
            InvalidInput: too few images or pixels: n images differ in n - 1 directions at most.
            MissingExtra: scikit-learn is not installed.
        """
        needs("an untrained baseline that is fitted", "metrics", "sklearn")
        from sklearn.decomposition import PCA

        fit_rows = rows_to_fit(dataset)
        images = flat(dataset.images(fit_rows.start + draws.sample(seed, len(fit_rows), self.sample)))
        if self.latents > (max_latents := min(len(images) - 1, images.shape[1])):
            raise InvalidInput(
                f"latents: expected at most {max_latents}, with {len(images)} images of {images.shape[1]} numbers, "
                f"received {self.latents}."
            )
        pca = PCA(self.latents, svd_solver="randomized", random_state=seed % 2**32)
        return pca, pca.fit_transform(images)


def flat(images: Pixels) -> NDArray[np.float32]:
    """Return images as float32 rows in [0, 1]."""
    return scaled(images).reshape(len(images), -1)
