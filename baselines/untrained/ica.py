"""ICA of the pixels: PCA, turned to where the codes depend least on each other. FastICA (Hyvärinen, 1999).

PCA cannot separate directions of equal variance, and factors of one kind, such as positions, have equal variance, so
that it mixes them. ICA searches for codes that are far from normally distributed, as those of single factors are. It
shows what a linear map of the pixels can separate without labels.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
from numpy.typing import NDArray

from baselines.run import ENCODED
from baselines.untrained import pca
from benchmark_data.dataset import Dataset
from benchmark_data.factors import Indices

PAPER = "https://doi.org/10.1109/72.761722"
CODE = "https://github.com/scikit-learn/scikit-learn"
CODE_LICENSE = "BSD-3-Clause"
CITATION = """@article{hyvarinen1999fast,
  title = {Fast and Robust Fixed-Point Algorithms for Independent Component Analysis},
  author = {Hyv{\\"a}rinen, Aapo},
  journal = {IEEE Transactions on Neural Networks},
  volume = {10},
  number = {3},
  pages = {626--634},
  year = {1999}
}"""

ITERATIONS = 1000
"""The maximum; if the components have not converged by then, as for sprites, the last are used."""


@dataclasses.dataclass(frozen=True)
class BASELINE(pca.BASELINE):
    """Independent components of the principal ones, fitted to the same random sample; codes of variance 1.

    Attributes:
        latents: number of components. With more components than factors, a factor is divided among several.
        sample: number of images to fit to, more than latents; all of a smaller dataset.
    """

    def codes(self, dataset: Dataset, rows: Indices, *, seed: int) -> NDArray[np.float32]:
        """Project the images onto the principal components, and rotate them."""
        fitted_pca, principal_codes = self.fit(dataset, seed=seed)
        from sklearn.decomposition import FastICA
        from sklearn.exceptions import ConvergenceWarning

        ica = FastICA(whiten="unit-variance", max_iter=ITERATIONS, random_state=seed % 2**32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ica.fit(principal_codes)
        batches = dataset.batches(rows, batch_size=ENCODED)
        return np.concatenate([ica.transform(fitted_pca.transform(pca.flat(images))) for _, images in batches])
