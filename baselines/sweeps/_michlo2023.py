"""Shared by the sweeps of Michlo, Klein and James 2023: mean reductions, squared error, Adam at 0.001, 256 images.

The authors standardise images by the constants below, and state beta for errors of standardised pixels. Here errors are
of pixels in [0, 1] and smaller by the square of the constant; so is beta, and the balance of the two terms is theirs,
exactly if all channels have one constant: standardised errors weigh a channel by the inverse of its variance, ours
weigh all alike. Input and output of the networks are standardised pixels, as in theirs.

Adam's epsilon, 1e-8 in theirs, is smaller by the same factor. With errors in [0, 1] the gradients of the encoder's
weights begin between 1e-10 and 3e-9 (root mean square), and TensorFlow's formula, used here, weighs epsilon up to 32
times more in the first steps than PyTorch's, which they use. With 1e-8, half of the models at spacing 8 learned only
the mean image. Their own networks in PyTorch, with errors in [0, 1], learned more with 1e-8 (4 of 4 seeds), and only
the mean image with 1e-7 (2 of 2).

Their figures show each run's highest score during training (their plotting script); here it is the score of the trained
model.

What differs is the distribution of the initial weights (theirs is normal, with the variance of ours) and the encoder's
padding: with theirs, of 2 pixels on each side, feature maps have sides of 33, 17, 9 and 5 and the dense layer 1,600
inputs; with ours (``"same"``), 32, 16, 8 and 4, and 1,024 inputs. Their Ada-GVAE (``adavae_os`` of disent) finds the
shared latents of a pair by the symmetric KL divergence, as here. A version of that code averages the second mean with
itself, probably by mistake; here a shared mean is that of both images.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from baselines.config import RunConfig

MEAN = {"xysquares": 0.015625, "dsprites": 0.04249, "shapes3d": 0.5616, "cars3d": 0.8907, "smallnorb": 0.7521}
"""Dataset -> the mean over channels of the authors' means of pixels in [0, 1]."""

STD = {
    "xysquares": (0.1240347,),
    "dsprites": (0.1951664588,),
    "shapes3d": (0.2940814, 0.3443979, 0.3661686),
    "cars3d": (0.2250320, 0.2399461, 0.2479211),
    "smallnorb": (0.0956387902,),
}
"""Dataset -> the authors' standard deviation of each channel, of pixels in [0, 1]."""

OBJECTIVES: dict[str, dict[str, Any]] = {
    "beta_vae": {},
    "ada_gvae": {"changed": 0, "reference_pairs": True, "symmetric": True},
}
"""The beta-VAE, and the authors' Ada-GVAE, on pairs drawn as in the reference code."""

REDUCED: dict[str, Any] = {"latents": 9, "batch_size": 64, "steps": 12_000}
"""Settings of runs with the paper's model and loss at 5% of the images of figure 9 (57,600 steps of 256)."""


def beta(dataset: str, published: float) -> float:
    """Convert a published beta to images in [0, 1]: times the mean variance of the channels.

    Example:
        >>> round(beta("xysquares/spacing_8", 0.001), 9)
        1.5385e-05
    """
    channels = STD[dataset.partition("/")[0]]
    return published * sum(std**2 for std in channels) / len(channels)


def standardised(dataset: str) -> dict[str, float]:
    """Return the parameters of the convolution that standardise pixels, by one constant for all channels.

    Example:
        >>> standardised("xysquares/spacing_8")
        {'pixel_mean': 0.015625, 'pixel_std': 0.1240347}
    """
    return {"pixel_mean": MEAN[dataset.partition("/")[0]], "pixel_std": round(math.sqrt(beta(dataset, 1.0)), 9)}


def runs(
    datasets: Iterable[str],
    betas: Iterable[float],
    *,
    seeds: Iterable[int],
    objectives: Iterable[str] = tuple(OBJECTIVES),
    **settings: Any,
) -> Iterator[RunConfig]:
    """Make runs of both objectives, or of some.

    Args:
        datasets: the datasets.
        betas: the published betas.
        seeds: the seeds.
        objectives: keys of `OBJECTIVES`.
        **settings: other keys of the config.

    Yields:
        A run for each dataset, objective, beta and seed.
    """
    shared: dict[str, Any] = {"reconstruction": "mse", "reduction": "mean", "learning_rate": 1e-3, "batch_size": 256}
    for dataset in datasets:
        split: dict[str, Any] = {"split": "train"} if dataset.startswith("smallnorb") else {}
        for objective in objectives:
            for published in betas:
                for seed in seeds:
                    yield RunConfig(
                        dataset=dataset,
                        objective=objective,
                        hyperparameters={"beta": beta(dataset, published), **OBJECTIVES[objective]},
                        architecture_parameters=standardised(dataset),
                        epsilon=1e-8 * beta(dataset, 1.0),
                        train_share=1.0,
                        seed=seed,
                        snapshots=[],
                        **shared | split | settings,
                    )
