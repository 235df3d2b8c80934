"""Which latents are in use? Active, passive and mixed units, and posterior collapse against the polarised regime.

A VAE shuts down latents that it does not need: their posterior stays at the prior, with mean 0 and variance 1. Some of
them passive is the polarised regime (Rolinek et al., 2019); all of them is posterior collapse. Bonheme and Grzes, "How
do variational autoencoders learn?" (2022), figure 5 and appendix G, track both by CKA: passive latents are noise in the
sampled representation and nearly nothing in the mean one, so that CKA(mean, sampled) and CKA(input, sampled) fall as
their number grows. Neither number says by itself how many latents were needed: compare it with that of a run that
reconstructs.

Units are classified by the posterior variance of each latent over the data, with the thresholds of the authors' code
for that paper: passive when its mean lies within 0.1 of 1, active when its mean is at most 0.1, each only if its
variance is below 0.1, and mixed otherwise. Zietlow et al., "Demystifying inductive biases for beta-VAE based
architectures" (2021), section 5.4, count a unit as used when the mean is below 0.8.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from leaderboard import figures
from leaderboard.analyses._pixels import flat
from leaderboard.arrays import check_codes
from leaderboard.comparisons import cka

if TYPE_CHECKING:
    from jaxtyping import Real

Kind = Literal["active", "mixed", "passive"]
Regime = Literal["all in use", "polarised", "collapsed"]

KINDS: tuple[Kind, ...] = ("active", "mixed", "passive")
TOLERANCE = 0.1
"""How far from 0 or 1 the mean posterior variance may lie, and the bound on its own variance (Bonheme and Grzes)."""

USED_BELOW = 0.8
"""A unit with less posterior variance than this is used (Zietlow et al.)."""


def measure(mean: Real[ArrayLike, "n L"], variance: Real[ArrayLike, "n L"]) -> pd.DataFrame:
    """Describe each latent of a Gaussian posterior.

    Args:
        mean: posterior means, shape (n, L).
        variance: posterior variances, above 0, shape (n, L).

    Returns:
        A row per latent: ``latent`` (its number); ``noise``, the mean posterior variance; ``noise_variance``, the
        variance of the posterior variance over samples; ``signal``, the variance of the posterior mean; ``kl``, the
        mean Kullback-Leibler divergence from the prior in nats; ``kind``, ``"active"``, ``"mixed"`` or ``"passive"``;
        and ``used``, whether ``noise`` is below 0.8.

    Raises:
        InvalidInput: not 2-d, not finite, shapes that differ, or variances that are not positive.

    Example:
        >>> mean = np.array([[-1.0, 0.01], [1.0, -0.01]])
        >>> measure(mean, np.array([[0.02, 0.99], [0.03, 1.0]]))[["noise", "kind"]].round(3).values.tolist()
        [[0.025, 'active'], [0.995, 'passive']]
    """
    mu, var = check_posterior(mean, variance)
    noise, spread = var.mean(axis=0), var.var(axis=0)
    steady = spread < TOLERANCE
    active, passive = steady & (noise <= TOLERANCE), steady & (np.abs(noise - 1) <= TOLERANCE)
    return pd.DataFrame(
        {
            "latent": np.arange(mu.shape[1]),
            "noise": noise,
            "noise_variance": spread,
            "signal": mu.var(axis=0),
            "kl": 0.5 * (mu**2 + var - np.log(var) - 1).mean(axis=0),
            "kind": np.select([active, passive], ["active", "passive"], "mixed"),
            "used": noise < USED_BELOW,
        }
    )


class LatentCounts(NamedTuple):
    """One run's latents in a row: what figure 5 and appendix G of Bonheme and Grzes (2022) are made of.

    Attributes:
        active: how many latents are active.
        mixed: how many are mixed.
        passive: how many are passive.
        used: how many have a mean posterior variance below 0.8.
        regime: ``"all in use"`` without passive latents, ``"collapsed"`` with nothing else, ``"polarised"`` in between.
        cka_mean_sampled: CKA of the mean and the sampled representation, in [0, 1].
        cka_input_mean: CKA of the input and the mean representation; None without an input.
        cka_input_sampled: CKA of the input and the sampled representation; None without an input.
    """

    active: int
    mixed: int
    passive: int
    used: int
    regime: Regime
    cka_mean_sampled: float
    cka_input_mean: float | None
    cka_input_sampled: float | None


def summarise(
    mean: ArrayLike,
    variance: ArrayLike,
    *,
    sampled: ArrayLike | None = None,
    inputs: ArrayLike | None = None,
    seed: int = 0,
) -> LatentCounts:
    """Count the kinds of latents and compare the mean, the sampled and the input representation.

    Args:
        mean: posterior means, shape (n, L).
        variance: posterior variances, above 0, shape (n, L).
        sampled: one draw from each posterior, shape (n, L); drawn here if None.
        inputs: the images of the same samples, shape (n, ...).
        seed: of the draws, if they are made here.

    Returns:
        The summary.

    Raises:
        InvalidInput: as ``measure``; or other samples in ``sampled`` or ``inputs``.

    Example:
        >>> mean = draws.normal(1, range(1000), 4) * [1, 1, 1e-3, 1e-3]
        >>> found = summarise(mean, np.broadcast_to([0.01, 0.01, 1.0, 1.0], mean.shape), inputs=mean[:, :2])
        >>> found.regime, found.active, found.passive, round(found.cka_mean_sampled, 2)
        ('polarised', 2, 2, 0.72)
    """
    mu, var = check_posterior(mean, variance)
    kinds = measure(mu, var)
    counts = {kind: int((kinds["kind"] == kind).sum()) for kind in KINDS}
    if counts["passive"] == 0:
        regime: Regime = "all in use"
    else:
        regime = "collapsed" if counts["passive"] == len(kinds) else "polarised"
    z = sample(mu, var, seed=seed) if sampled is None else check_codes(sampled, "sampled")
    pixels = None if inputs is None else flat(inputs, "inputs")
    return LatentCounts(
        **counts,
        used=int(kinds["used"].sum()),
        regime=regime,
        cka_mean_sampled=cka.compare(mu, z),
        cka_input_mean=None if pixels is None else cka.compare(pixels, mu),
        cka_input_sampled=None if pixels is None else cka.compare(pixels, z),
    )


def sample(mean: NDArray[np.floating], variance: NDArray[np.floating], *, seed: int = 0) -> NDArray[np.float64]:
    """Draw once from each posterior.

    Args:
        mean: shape (n, L).
        variance: shape (n, L).
        seed: of the counter-based generator.

    Returns:
        float64, shape (n, L).
    """
    noise = draws.normal(seed, np.arange(len(mean)), mean.shape[1])
    return np.asarray(mean + np.sqrt(variance) * noise, dtype=np.float64)


def check_posterior(mean: ArrayLike, variance: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check the means and variances of a diagonal Gaussian posterior.

    Args:
        mean: real numbers, shape (n, L).
        variance: above 0, shape (n, L).

    Returns:
        Both as float64.

    Raises:
        InvalidInput: not 2-d, not finite, shapes that differ, or variances that are not positive.
    """
    mu = check_codes(mean, "mean").astype(np.float64)
    var = check_codes(variance, "variance").astype(np.float64)
    if mu.shape != var.shape:
        raise InvalidInput(f"variance: expected shape {mu.shape}, as mean, received shape {var.shape}.")
    if not (lowest := var.min()) > 0:
        raise InvalidInput(
            f"variance: expected positive numbers, received {lowest:.3g}. Pass variances; take the exponential of log "
            "variances first."
        )
    return mu, var


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw figure 5: both CKAs and the kinds of units against the strength of the regularisation.

    Args:
        table: a row per run: the fields of ``LatentCounts``, and ``strength``, numbers such as beta, or words.
            Optionally ``method``, one line each. Runs that share strength and method are seeds: their mean and
            standard deviation are drawn.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["strength", "cka_mean_sampled", *KINDS])
    table = table.assign(strength=_positions(table["strength"]), label=table["strength"])
    measured = [("cka_mean_sampled", "CKA(mean, sampled)")]
    if "cka_input_sampled" in table and table["cka_input_sampled"].notna().all():
        measured.append(("cka_input_sampled", "CKA(input, sampled)"))
    figure, axes = figures.panels(1, len(measured) + 1)
    groups = list(table.groupby("method", sort=False)) if "method" in table else [("", table)]
    for panel, (column, name), letter in zip(axes[0], measured, "ab", strict=False):
        for style, (method, lines) in enumerate(groups):
            figures.curve(panel, lines, "strength", column, style=style, label=str(method))
        panel.set_ylim(-0.02, 1.02)
        panel.set_title(f"({letter}) {name}", fontsize=9)
    if len(groups) > 1:
        axes[0, 0].legend(frameon=False, fontsize=8)
    counts = table.groupby("strength")[list(KINDS)].mean()
    bottom = np.zeros(len(counts))
    bars, width = axes[0, -1], _narrowest(counts.index.to_numpy())
    for kind, colour in zip(KINDS, (figures.COLOURS[0], figures.COLOURS[1], "0.75"), strict=True):
        bars.bar(counts.index, counts[kind], width, bottom=bottom, color=colour, label=kind)
        bottom += counts[kind].to_numpy()
    bars.set_title(f"({'abc'[len(measured)]}) latents, mean over runs", fontsize=9)
    bars.set_ylim(0, bottom.max() * 1.35)
    bars.legend(frameon=False, ncols=3, fontsize=7, loc="upper center")
    ticks = table.drop_duplicates("strength").sort_values("strength")
    named = [str(value) for value in ticks["label"] if isinstance(value, str)]
    for panel in axes[0]:
        panel.set_xticks(ticks["strength"].to_numpy(), [_written(value) for value in ticks["label"]])
        panel.set_xlabel("" if named else "regularisation strength")
        panel.tick_params(axis="x", rotation=20 if max(map(len, named), default=0) > 5 else 0)
    figures.save(figure, path)


def _positions(strength: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_numeric_dtype(strength):
        return strength.to_numpy(dtype=float)
    return pd.factorize(strength)[0].astype(float)


def _narrowest(positions: NDArray[np.float64]) -> float:
    return 0.7 * float(np.diff(positions).min()) if len(positions) > 1 else 0.7


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
