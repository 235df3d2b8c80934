"""ICA of the pixels: PCA, turned to where the codes depend least on each other. FastICA (Hyvärinen, 1999).

PCA cannot tell directions of equal variance apart, and factors of one kind, such as places, have equal variance: there
it mixes them, whatever the images are. ICA looks for codes that are far from normally distributed, as those of single
factors are. It tells what a linear map of the pixels can separate without labels.
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
"""At most; where the components have not settled by then, as those of sprites, the last are taken."""


@dataclasses.dataclass(frozen=True)
class BASELINE(pca.BASELINE):
    """Independent components of the principal ones, fitted to a random sample as those are; codes of variance 1.

    Attributes:
        latents: components to keep. With more than there are factors, a factor is divided among several.
        sample: images to fit to, more than latents; all of them, for a smaller dataset.
    """

    def codes(self, dataset: Dataset, rows: Indices, *, seed: int) -> NDArray[np.float32]:
        """Project the images onto the components, and turn them."""
        fitted_pca, principal_codes = self.fit(dataset, seed=seed)
        from sklearn.decomposition import FastICA
        from sklearn.exceptions import ConvergenceWarning

        ica = FastICA(whiten="unit-variance", max_iter=ITERATIONS, random_state=seed % 2**32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ica.fit(principal_codes)
        batches = dataset.batches(rows, batch_size=ENCODED)
        return np.concatenate([ica.transform(fitted_pca.transform(pca.flat(images))) for _, images in batches])
