"""Tables of pixel_loss.md: scores with and without a pixel loss, and the claims about them."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Container, Mapping

from baselines.sweeps import beyond_pixels, beyond_pixels_conv, beyond_pixels_slow_vae
from leaderboard.store import verdicts
from page_tables.common import LEAST_SEEDS, explained_shares, record_of, row, span


def pixel_loss_record(architecture: str = "fc") -> dict[tuple[str, str, str], list[float]]:
    """Read both scores of runs with and without a pixel loss: (task, method, score) -> one value for each seed.

    Args:
        architecture: of runs on XYSquares; other datasets have one only.
    """
    scores: dict[tuple[str, str, str], list[float]] = {}
    for line in record_of("pixel_loss.csv"):
        if line["task"].startswith("xysquares/") and line["architecture"] not in (architecture, ""):
            continue
        for score in ("mig", "r_squared"):
            scores.setdefault((line["task"], line["method"], score), []).append(float(line[score]))
    return scores


def table_of_pixel_loss(
    tasks: Mapping[str, str], architecture: str = "fc", methods: Container[str] | None = None
) -> list[str]:
    """Write the range over seeds of both scores of methods, or of all, on some tasks: task -> what it is called."""
    scores = pixel_loss_record(architecture)
    lines = [row("", *(f"{score}, {title}" for score in ("MIG", "R²") for title in tasks.values()))]
    lines.append(row("---", *["---:"] * (2 * len(tasks))))
    for method, title in PIXEL_LOSS_METHODS.items():
        if methods is not None and method not in methods:
            continue
        groups = [scores.get((task, method, score), []) for score in ("mig", "r_squared") for task in tasks]
        cells = [span(min(group), max(group)) if len(group) >= LEAST_SEEDS else "–" for group in groups]
        if set(cells) != {"–"}:
            lines.append(row(title, *cells))
    return lines


PIXEL_LOSS_METHODS = {
    "infonce_pairs": "InfoNCE on pairs",
    "simclr": "SimCLR, views",
    "vicreg": "VICReg, views",
    "lejepa": "LeJEPA, views",
    "slow_vae": "SlowVAE: pairs, pixel loss",
    "ada_gvae": "Ada-GVAE: pairs, pixel loss",
    "ada_ml_vae": "Ada-ML-VAE: pairs, pixel loss",
    "beta_tc_vae": "β-TCVAE: pixel loss",
    "beta_vae": "β-VAE: pixel loss",
    "factor_vae": "FactorVAE: pixel loss",
    "dip_vae_i": "DIP-VAE-I: pixel loss",
    "dip_vae_ii": "DIP-VAE-II: pixel loss",
    "annealed_vae": "AnnealedVAE: pixel loss",
    "ae": "autoencoder: pixel loss",
    "regression": "regression of the factors",
    "ica": "ICA of the pixels",
    "random_encoder": "the encoder before training",
}


SHOWN_ON_DSPRITES = {
    *beyond_pixels.OBJECTIVES,
    *("slow_vae", "ada_gvae", "beta_tc_vae", "regression", "ica", "random_encoder"),
}

DSPRITES_FORMS = {
    "dsprites": "dSprites",
    "dsprites_squeezed/eps10": "contrast-matched",
    "dsprites_perturbed/pca32_eps10": "perturbed",
}


def table_of_pixel_loss_claims() -> list[str]:
    """Judge the claims of `baselines.sweeps.beyond_pixels`: a fall from spacing 1 to 8."""
    scores, (far, near) = pixel_loss_record(), beyond_pixels.TASKS[:2]
    claims = [("infonce_pairs", "mig"), *((method, "r_squared") for method in beyond_pixels.OBJECTIVES)]
    compared = {
        f"{'MIG' if score == 'mig' else 'R²'} of {PIXEL_LOSS_METHODS[method]}": verdicts.compare(
            [scores[near, method, score]],
            [scores[far, method, score]],
            floors=[statistics.mean(scores[near, "random_encoder", score]) + beyond_pixels.GATE],
        )
        for method, score in claims
    }
    return _claim_rows(compared, "lower at spacing 8 than at 1?", "decrease (95%)", "no, higher")


def table_of_convolutions() -> list[str]:
    """Judge the claims of `baselines.sweeps.beyond_pixels_conv`: views above two controls at spacing 8."""
    scores, task = pixel_loss_record("conv_small"), beyond_pixels_conv.TASK
    compared = {
        f"{PIXEL_LOSS_METHODS[method]} vs {PIXEL_LOSS_METHODS[other]}": verdicts.compare(
            [scores[task, method, "r_squared"]], [scores[task, other, "r_squared"]]
        )
        for other in ("random_encoder", "beta_tc_vae")
        for method in beyond_pixels_conv.VIEWS
    }
    return _claim_rows(compared, "Is the first R² higher?", "difference (95%)", "no, lower")


def table_of_contrast() -> list[str]:
    """Judge what InfoNCE on pairs loses by reduced contrast, and by a pattern on top of it."""
    scores, (original, matched, perturbed) = pixel_loss_record(), DSPRITES_FORMS
    compared = {
        f"{title}: {DSPRITES_FORMS[after]} vs {DSPRITES_FORMS[before]}": verdicts.compare(
            [scores[before, "infonce_pairs", score]], [scores[after, "infonce_pairs", score]]
        )
        for score, title in (("mig", "MIG"), ("r_squared", "R²"))
        for before, after in ((original, matched), (matched, perturbed))
    }
    return _claim_rows(compared, "InfoNCE on pairs: is the first lower?", "decrease (95%)", "no, higher")


def slow_vae_record() -> dict[tuple[str, float, float, int], dict[str, list[float]]]:
    """Read `baselines.sweeps.beyond_pixels_slow_vae`: (dataset, β, γ, steps) -> score -> one value for each seed."""
    groups: dict[tuple[str, float, float, int], dict[str, list[float]]] = {}
    for line in record_of("slow_vae.csv"):
        is_pilot = int(line["seed"]) >= 100
        strengths = float(line["beta"]), float(line["gamma"])
        if not is_pilot or strengths == AUTOENCODER:
            scores = groups.setdefault((line["dataset"], *strengths, int(line["steps"])), {})
            for score in ("mig", "r_squared", "explained"):
                scores.setdefault(score, []).append(float(line[score]))
    return groups


PAPER = beyond_pixels_slow_vae.COARSE[0]
AUTOENCODER = beyond_pixels_slow_vae.COARSE[2]
"""Strengths of the pilot with which SlowVAE's pair term hardly counts."""


def table_of_slow_vae() -> list[str]:
    """Write both scores, and what is reconstructed, of SlowVAE with its paper's strengths and with others."""
    scores, runs, far = pixel_loss_record(), slow_vae_record(), beyond_pixels_slow_vae.TASK
    near = far.replace("_8", "_1")
    infonce, paper = ({score: scores[far, name, score] for score in ("mig", "r_squared")} for name in PAIRED)
    beta, gamma = beyond_pixels_slow_vae.SELECTED
    lines = [row("at spacing 8", "seeds", "MIG", "R²", "variance explained"), row("---", *["---:"] * 4)]
    for title, group in (
        ("InfoNCE on pairs", infonce),
        (
            f"SlowVAE, {_strengths(*PAPER)} (paper; variance: other seeds)",
            paper | {"explained": explained_shares(far)["slow_vae"]},
        ),
        (f"SlowVAE, {_strengths(beta, gamma)}", runs[far, beta, gamma, 3_000]),
        ("the same, 12,000 steps", runs[far, beta, gamma, 12_000]),
        ("the same, 3,000 steps at spacing 1", runs[near, beta, gamma, 3_000]),
        (f"SlowVAE, {_strengths(*AUTOENCODER)}", runs[far, *AUTOENCODER, 3_000]),
    ):
        cells = []
        for score, form in SHOWN_OF_SLOW_VAE.items():
            values = group.get(score, [])
            several = span(min(values), max(values), form) if len(values) > 1 else ""
            cells.append(several or (f"{values[0]:{form}}" if values else "–"))
        lines.append(row(title, str(len(group["mig"])), *cells))
    return lines


PAIRED = ("infonce_pairs", "slow_vae")

SHOWN_OF_SLOW_VAE = {"mig": ".2f", "r_squared": ".2f", "explained": "z.0%"}


def _strengths(beta: float, gamma: float) -> str:
    return f"β = {beta:g}, γ = {gamma:.3g}"


def table_of_slow_vae_claims() -> list[str]:
    """Judge the claims of `baselines.sweeps.beyond_pixels_slow_vae`."""
    scores, far = pixel_loss_record(), beyond_pixels_slow_vae.TASK
    tuned = slow_vae_record()[far, *beyond_pixels_slow_vae.SELECTED, 3_000]
    compared = {}
    for score, title in (("mig", "MIG"), ("r_squared", "R²")):
        infonce, paper = ([scores[far, name, score]] for name in PAIRED)
        compared[f"{title}: tuned vs paper's strengths"] = verdicts.compare([tuned[score]], paper)
        compared[f"{title}: InfoNCE vs tuned SlowVAE"] = verdicts.compare(infonce, [tuned[score]])
    return _claim_rows(compared, "Is the first higher?", "difference (95%)", "no, lower")


def _claim_rows(compared: Mapping[str, verdicts.Comparison], question: str, difference: str, opposed: str) -> list[str]:
    """Write what became of claims that are corrected together: what is compared -> the comparison."""
    lines = [row(question, difference, "p after Holm", "answer"), row("---", "---:", "---:", "---")]
    for (name, effect), (answer, p) in zip(compared.items(), verdicts.judge(list(compared.values())), strict=True):
        answer = {"supported": "yes", "opposed": opposed}.get(answer, answer)
        measured = f"{effect.difference:.3f} ({effect.low:.3f} to {effect.high:.3f})"
        lines.append(row(name, measured, "–" if p is None else f"{p:.2g}", answer))
    return lines


TABLES = {
    "spacing": functools.partial(table_of_pixel_loss, {f"xysquares/spacing_{n}": str(n) for n in (1, 2, 4, 8)}),
    "dsprites": functools.partial(table_of_pixel_loss, DSPRITES_FORMS, methods=SHOWN_ON_DSPRITES),
    "slow_vae": table_of_slow_vae,
    "slow_vae_claims": table_of_slow_vae_claims,
    "contrast": table_of_contrast,
    "claims": table_of_pixel_loss_claims,
    "network": functools.partial(table_of_pixel_loss, {"xysquares/spacing_8": "convolutions"}, "conv_small"),
    "convolutions": table_of_convolutions,
}
"""Part of pixel_loss.md -> its table."""
