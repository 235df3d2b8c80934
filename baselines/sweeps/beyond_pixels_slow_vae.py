"""Is it the pixel loss, or collapse? SlowVAE on XYSquares at spacing 8 with weaker regularisation.

    offaxis train sweep beyond_pixels_slow_vae --to runs/slow_vae --jobs 2 --threads 1
    python benchmarks/slow_vae.py runs/slow_vae

SlowVAE sees the same pairs as InfoNCE in `baselines.sweeps.beyond_pixels`, and has a pixel loss. With the strengths of
its paper, its reconstructions explain no variance at spacing 8, so that its low scores may be due to its regularisation
and not to its pixel loss. A pilot with seed 100 weakens β (of the KL divergence) and γ (of the difference between a
pair's codes) by up to 256; a second one, with seeds 100 and 101, looks about the best of these. The runs are not on the
board, whose SlowVAE has its paper's strengths.
"""

from __future__ import annotations

from typing import Any

from baselines.config import RunConfig
from baselines.sweeps import desk

TASK = "xysquares/spacing_8"

COARSE = tuple((beta, gamma) for beta in (1.0, 1 / 16, 1 / 256) for gamma in (10.0, 10 / 16, 10 / 256))
"""β and γ that are tried with one seed; the first are the paper's."""

FINE = tuple((beta, gamma) for beta in (1.0, 4.0) for gamma in (0.625, 1.25, 2.5, 5.0))
"""β and γ about the best of these, tried with two seeds."""


def run(beta: float, gamma: float, seed: int, **changes: Any) -> RunConfig:
    """Return one run.

    Args:
        beta: weight of the KL divergence.
        gamma: weight of the difference between a pair's codes.
        seed: the seed.
        **changes: fields of the config that differ from the desk's.
    """
    strengths = {"beta": beta, "gamma": gamma}
    return desk.run(changes.pop("dataset", TASK), "slow_vae", seed, hyperparameters=strengths, **changes)


PILOT = (
    *(run(*strengths, 100, selection="none: one of a grid of nine") for strengths in COARSE),
    *(run(*strengths, seed, selection="none: one of a grid of eight") for strengths in FINE for seed in (100, 101)),
)

SWEEP = PILOT
