"""Derive the hidden variable of a perturbed dataset: the latent that an entangled beta-VAE encodes most precisely.

Zietlow, Rolinek and Martius, "Demystifying Inductive Biases for (Beta-)VAE Based Architectures", ICML 2021 (arXiv
2102.06822), section 4.1: of several restarts of a beta-VAE take the one with the lowest MIG, and of its latents the one
with the least noise, averaged over the dataset; s(x) is its posterior mean (equation 6). A beta-TCVAE may be used
instead, if beta-VAEs learn too little for the lowest MIG to be meaningful.
`benchmark_data.variants.hidden` reads the file written here.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np

import benchmark_data
from baselines.config import RunConfig
from baselines.engines import devices
from baselines.nets import backend
from baselines.record import about
from baselines.run import posterior_of
from baselines.training.loop import train
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, check_count
from benchmark_data.variants import perturbation
from benchmark_data.variants.hidden import SEED, HiddenVariable, write_hidden
from leaderboard.metrics import mig

KIND = "conv_vae"
"""The kind of the derived hidden variable, of `benchmark_data.variants.hidden.KINDS`."""

OBJECTIVES = ("beta_vae", "beta_tc_vae")
"""Allowed objectives: the paper's, and one that weighs the posterior alike and learns faster."""

LEAST_MEAN_MIG = 0.15
"""The lowest mean MIG of the restarts: among models that learned nothing, the lowest MIG is meaningless."""

MIG_SAMPLES = 10_000
"""Number of images for MIG, the first of a fixed permutation, as in Locatello et al. 2019."""


def settings(base: Dataset) -> dict[str, object]:
    """Return the paper's settings, as keys of a run's config: a beta-VAE with as many latents as there are factors.

    Args:
        base: the dataset to derive from.

    Returns:
        Values for `RunConfig.from_json`; other keys have the defaults, those of disentanglement_lib.

    Example:
        >>> settings(benchmark_data.load("dsprites"))["latents"]
        5
    """
    varying = sum(factor.size > 1 for factor in base.space.factors)
    return {"dataset": base.id, "objective": "beta_vae", "latents": varying, "snapshots": []}


def derive(
    config: RunConfig,
    folder: str | os.PathLike[str],
    *,
    restarts: int = 10,
    least_mean_mig: float = LEAST_MEAN_MIG,
    path: str | os.PathLike[str] | None = None,
) -> Path:
    """Train restarts, choose run and latent, and write the value of s for every row of the dataset.

    Those of dsprites and room3d that come with the package were chosen among ten beta-TCVAEs: ``conv_small``, beta 8,
    3,000 steps, a learning rate of 5e-4, as many latents as factors, seeds from 200 on.

    Args:
        config: a run of one of `OBJECTIVES` on the base dataset; `settings` returns the paper's. Its seed is that of
            the first restart.
        folder: the folder of the runs, ``seed_<seed>`` for each. An interrupted call is resumed.
        restarts: the number of restarts.
        least_mean_mig: raise an error if the mean MIG of the restarts is lower.
        path: the file to write; by default the path that the perturbed dataset reads.

    Returns:
        The file. Its provenance records how run and latent were chosen, with config, versions and digests.

    Raises:
        UnknownName: there is no such dataset, or without ``path``, no perturbed form of it.
        InvalidInput: another objective, fewer than two restarts, a mean MIG that is too low, or without ``path``, the
            file exists or is published.
        Diverged: a run's loss is NaN or has exploded.
        MissingExtra: Keras or its backend is not installed.
    """
    if config.objective not in OBJECTIVES:
        raise InvalidInput(f"objective: expected {' or '.join(OBJECTIVES)}, received {config.objective}.")
    check_count("restarts", restarts, 2)
    base = benchmark_data.load(config.dataset)
    hidden = HiddenVariable(base, KIND)
    if path is None:
        benchmark_data.load(f"{base.name}_perturbed", hidden=KIND, epsilon=perturbation.DEFAULT)
        if hidden.ready:
            raise InvalidInput(
                f"hidden variable of {base.id}: expected none yet, received {hidden.path}. It is ready for use. To "
                "derive another one, pass its path."
            )
    seeds = range(config.seed, config.seed + restarts)
    runs = {seed: train(dataclasses.replace(config, seed=seed), Path(folder) / f"seed_{seed}") for seed in seeds}
    rows = draws.sample(SEED, len(base), MIG_SAMPLES)
    factors = base.labels(rows)
    migs = {
        seed: mig.score(run.encode_rows(rows), factors, constant_factors="drop")["mig"] for seed, run in runs.items()
    }
    mean_mig = float(np.mean(list(migs.values())))
    if mean_mig < least_mean_mig:
        raise InvalidInput(
            f"models on {base.id}: expected a mean MIG of at least {least_mean_mig:g}, so that the lowest is an "
            f"entangled model, received {mean_mig:.3f}. Train longer, or with another strength: they have learned too "
            "little to choose from."
        )
    seed = min(migs, key=lambda candidate_seed: migs[candidate_seed])
    posterior = posterior_of(runs[seed].encode, base, np.arange(len(base)))
    noise = np.exp(posterior.log_variance.astype(np.float64)).mean(axis=0)
    latent = int(noise.argmin())
    s = posterior.mean[:, latent].astype(np.float64)
    return write_hidden(
        hidden,
        {"table": (s - s.mean()) / s.std()},
        path=None if path is None else Path(path),
        provenance={
            "method": f"the latent with the least noise of the {about(config.objective)['title']} with the lowest MIG",
            "config": dataclasses.replace(config, seed=seed).as_json(),
            "migs": {str(candidate_seed): round(score, 6) for candidate_seed, score in migs.items()},
            "latent": latent,
            "noise": noise.round(6).tolist(),
            "mean": float(s.mean()),
            "std": float(s.std()),
            "device": devices.describe_device(),
            "versions": backend.versions("numpy", "keras", backend.name()),
        },
    )
