"""CelebA and Cars3D: a transfer pair, 64 x 64, in colour. See `benchmark_data.variants.pairs`.

Faces are reduced and padded as by Bonheme and Grześ, cars by the Lanczos filter as in disentanglement_lib. CelebA's own
splits are not used; `celeba` has them, and ``extra("row", ...)`` returns its rows.
"""

from benchmark_data.datasets import cars3d, celeba
from benchmark_data.variants import pairs

DATASET = pairs.both_ways(
    celeba=celeba.DATASET.configs["64_bicubic_padded"], cars3d=cars3d.DATASET.configs["64_lanczos"]
)
