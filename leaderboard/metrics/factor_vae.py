"""FactorVAE score: does the latent that varies least indicate which factor is fixed?

Kim and Mnih, "Disentangling by factorising" (2018), section 4, as implemented by Locatello et al. (2019): in each batch
of 64 samples one factor has one value; the latent with the least variance, in units of its variance over all samples,
votes for that factor; each latent is then assigned to the factor that it voted for most (10,000 votes), and the score
is the share of 5,000 new votes that the assignment predicts. Latents with a standard deviation below 0.05 have no vote.
Batches are drawn from the given samples, where the reference renders new ones (see ``leaderboard.metrics._batches``).

Range [0, 1]; ideal 1; chance 1 / F, and 0 if no latent has a vote. Permuting, flipping or rescaling latents changes
nothing as long as they keep their vote, except for ties, as of discrete codes, which the first latent wins; a copy of a
latent changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data.errors import InvalidInput
from leaderboard.arrays import ConstantFactors, Real, check_seed, check_train_test, in_use
from leaderboard.metrics import _batches
from leaderboard.properties import Properties

PROPERTIES = Properties(
    asks="does the latent that varies least indicate which factor is fixed?",
    source="Kim and Mnih 2018, section 4",
    chance="1 / F",
    unbounded=("active_latents",),
    copied_latent={"factor_vae": "same", "train_accuracy": "same"},
    scale_matters="which latents have a vote, and so the score",
    factor_order_matters="the factor that a batch fixes is drawn by its column",
    many_rows=False,
    quick={"votes": 200, "votes_test": 100},
)


def score(
    codes: Real[ArrayLike, "n L"],
    factors: Real[ArrayLike, "n F"],
    *,
    codes_test: Real[ArrayLike, "m L"],
    factors_test: Real[ArrayLike, "m F"],
    batch: int = 64,
    votes: int = 10_000,
    votes_test: int = 5_000,
    least_deviation: float = 0.05,
    seed: int = 0,
    constant_factors: ConstantFactors = "refuse",
) -> dict[str, float]:
    """Compute the FactorVAE score.

    Args:
        codes: real numbers, shape (n, L), for the latents' assignment and overall variances.
        factors: class ids, shape (n, F), at least two factors.
        codes_test: real numbers, shape (m, L), held out.
        factors_test: class ids, shape (m, F).
        batch: samples per vote.
        votes: votes that assign the latents.
        votes_test: votes that are scored.
        least_deviation: latents whose standard deviation is smaller, in units of the codes, have no vote.
        seed: for the batches.
        constant_factors: ``"refuse"`` or ``"drop"`` factors that have one value in the training part.

    Returns:
        ``factor_vae``: the score; ``train_accuracy``: the same on the votes that assigned the latents;
        ``active_latents``: the number of latents with a vote.

    Raises:
        InvalidInput: see ``leaderboard.arrays.check_train_test``; or one factor only, a factor that is
            constant in the held-out part alone, or no votes.

    Warns:
        LostSpread: see ``leaderboard.arrays.in_use``.

    Example:
        >>> factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> score(factors, factors, codes_test=factors, factors_test=factors, votes=100, votes_test=50)
        {'factor_vae': 1.0, 'train_accuracy': 1.0, 'active_latents': 2.0}
    """
    check_seed(seed)
    if not least_deviation >= 0:
        raise InvalidInput(f"least_deviation: expected a number, at least 0, received {least_deviation}.")
    codes, factors, codes_test, factors_test = check_train_test(
        codes, factors, codes_test, factors_test, constant_factors=constant_factors
    )
    _batches.check(factors, factors_test, batch, votes=votes, votes_test=votes_test)
    z, z_test = codes.astype(np.float64), codes_test.astype(np.float64)
    active = in_use(z, least_deviation)
    if not active.any():
        return {"factor_vae": 0.0, "train_accuracy": 0.0, "active_latents": 0.0}
    scale = z[:, active].std(axis=0, ddof=1)
    table = _tally(z[:, active] / scale, factors, votes, batch, seed)
    table_test = _tally(z_test[:, active] / scale, factors_test, votes_test, batch, seed + 1)
    voted_factors = table.argmax(axis=1)
    latents = np.arange(len(voted_factors))
    return {
        "factor_vae": float(table_test[latents, voted_factors].sum() / votes_test),
        "train_accuracy": float(table[latents, voted_factors].sum() / votes),
        "active_latents": float(active.sum()),
    }


def _tally(z: NDArray[np.float64], factors: NDArray[np.int64], count: int, batch: int, seed: int) -> NDArray[np.int64]:
    """Count votes: int64 (L, F)."""
    table = np.zeros((z.shape[1], factors.shape[1]), np.int64)
    for fixed, rows in _batches.draw_fixed_factor_batches(factors, count, batch, seed):
        voters = z[rows].var(axis=1, ddof=1).argmin(axis=1)
        np.add.at(table, (voters, fixed), 1)
    return table
