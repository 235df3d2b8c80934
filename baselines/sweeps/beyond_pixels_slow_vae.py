"""Is it the pixel loss, or collapse? SlowVAE on XYSquares at spacing 8 with weaker regularisation.

    offaxis train sweep beyond_pixels_slow_vae --to runs/slow_vae --jobs 2 --threads 1
    python benchmarks/slow_vae.py runs/slow_vae

SlowVAE sees the same pairs as InfoNCE in `baselines.sweeps.beyond_pixels`, and has a pixel loss. With the strengths of
its paper, its reconstructions explain no variance at spacing 8, so that its low scores may be due to its regularisation
and not to its pixel loss. The pilot, with seed 100, divides its strengths β (of the KL divergence) and γ (of the
difference between a pair's codes) by 1, 16 or 256. The runs are not on the board, whose SlowVAE has its paper's
strengths.
"""

from __future__ import annotations

from typing import Any

from baselines.config import RunConfig
from baselines.sweeps import desk

TASK = "xysquares/spacing_8"

DIVISORS = (1, 16, 256)


def run(beta: int, gamma: int, seed: int, **changes: Any) -> RunConfig:
    """Return one run.

    Args:
        beta: what the paper's β = 1 is divided by.
        gamma: what the paper's γ = 10 is divided by.
        seed: the seed.
        **changes: fields of the config that differ from the desk's.
    """
    strengths = {"beta": 1 / beta, "gamma": 10 / gamma}
    return desk.run(TASK, "slow_vae", seed, hyperparameters=strengths, **changes)


PILOT = tuple(run(beta, gamma, 100, selection="none: one of a grid of nine") for beta in DIVISORS for gamma in DIVISORS)

SWEEP = PILOT
