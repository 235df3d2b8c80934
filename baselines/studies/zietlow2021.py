"""Zietlow, Rolinek and Martius, "Demystifying Inductive Biases for (Beta-)VAE Based Architectures" (2021).

The paper does not print its regularisation strengths ("literature or better"); here they are `OBJECTIVES`. Tables 1 and
2 share the runs on unchanged data. At smoke tier they are the board's, 44 runs: 10 latents and its strengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.studies import _scores, _smoke
from baselines.study import Entry, Found, Plan, Runs, Verdict
from leaderboard import figures
from leaderboard.analyses import expansiveness

PAPER = "2102.06822"

OBJECTIVES: dict[str, dict[str, float]] = {
    "ae": {},
    "beta_vae": {"beta": 4},
    "beta_tc_vae": {"beta": 6},
    "factor_vae": {"gamma": 35},
}

LATENTS = {"dsprites": 5, "shapes3d": 6}
"""As many as there are factors."""

SAME = 0.05
"""MIG by which a score may fall and still not be said to have fallen."""

SEEDS = 10


def runs(variants: tuple[str, ...], objectives: tuple[str, ...]) -> tuple[RunConfig, ...]:
    """Give the runs of a table.

    Args:
        variants: what stands behind the dataset's name, such as ``"_noisy/eps10"``.
        objectives: rows of the table.
    """
    return tuple(
        RunConfig(
            dataset=f"{base}{variant}",
            objective=objective,
            hyperparameters=OBJECTIVES[objective],
            architecture="conv_dlib",
            latents=latents,
            train_share=1.0,
            seed=seed,
            snapshots=[],
        )
        for base, latents in LATENTS.items()
        for variant in variants
        for objective in objectives
        for seed in range(SEEDS)
    )


def plans(variant: str, objectives: tuple[str, ...]) -> dict[str, Plan]:
    """Give the plans of a table that compares a variant with the unchanged data."""
    chosen = runs(("", variant), objectives)
    small = _smoke.board({_smoke.stand_in(run.dataset) for run in chosen}, objectives)
    training = _smoke.training(*(run.dataset for run in small))
    return {
        "smoke": Plan(runs=small, settings={"runs": small}, codes=True, seconds=4.0 * len(small), training=training),
        "study": Plan(runs=chosen, settings={"runs": chosen}, codes=True, seconds=60.0 * len(chosen)),
    }


def scored(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Score all runs; ``base`` is the dataset without what is done to it, ``variant`` what is done."""
    table = _scores.table(runs, settings["runs"], tier)
    return Found(
        table.assign(
            base=[_smoke.family(name) for name in table["dataset"]],
            variant=["changed" if "/" in name else "original" for name in table["dataset"]],
        )
    )


def draw_scores(found: Found, path: Path) -> None:
    """Draw the MIG of the table, bars for original and changed data."""
    table = found.table.assign(model=found.table["base"] + " " + found.table["objective"])
    _scores.draw_bars(table, path, x="model", group="variant")


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Give the mean MIG, a row per base and objective, a column per variant."""
    return table.groupby(["base", "objective", "variant"], sort=False)["mig"].mean().unstack()


def _numbers(means: pd.DataFrame) -> dict[str, float]:
    return {
        f"MIG of {objective} on {base}, {variant}": float(means.loc[(base, objective), variant])
        for base, objective in means.index
        for variant in ("original", "changed")
    }


def judge_falls(table: pd.DataFrame) -> Verdict:
    """Judge that MIG falls for every VAE on every dataset; the autoencoder has little to lose and is shown only."""
    means = _means(table)
    vaes = means[means.index.get_level_values("objective") != "ae"]
    return Verdict(bool((vaes["changed"] < vaes["original"]).all()), _numbers(means))


def judge_stays(table: pd.DataFrame) -> Verdict:
    """Judge that MIG does not fall by more than `SAME`, averaged over objectives and datasets."""
    means = _means(table)
    fall = float((means["original"] - means["changed"]).mean())
    return Verdict(fall <= SAME, {"mean fall of MIG": fall} | _numbers(means))


def pictures(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Take the same images without and with the hidden variable, and measure by how much they differ."""
    images: dict[str, NDArray[Any]] = {}
    rows = []
    for base in settings["datasets"]:
        original = benchmark_data.load(base)
        perturbed = benchmark_data.load(f"{base}_perturbed/{settings['variant']}")
        chosen = original.quick_rows()[: settings["columns"]]
        before, after = original.images(chosen), perturbed.images(chosen)
        images |= {f"{base}, original": before, f"{base}, perturbed": after}
        change = np.abs(after.astype(np.float64) - before) / 255
        for row, each, largest in zip(chosen, change.mean(axis=(1, 2, 3)), change.max(axis=(1, 2, 3)), strict=True):
            rows.append((base, int(row), float(perturbed.parameters["epsilon"]), float(each), float(largest)))  # type: ignore[arg-type]
    return Found(pd.DataFrame(rows, columns=["dataset", "row", "epsilon", "mean_change", "largest_change"]), images)


def draw_pictures(found: Found, path: Path) -> None:
    """Draw the images, perturbed ones below the originals."""
    columns = len(next(iter(found.images.values())))
    figure, axes = figures.panels(len(found.images), columns, width=1.1, height=1.1)
    for line, (name, images) in zip(axes, found.images.items(), strict=True):
        for panel, image in zip(line, images, strict=True):
            panel.imshow(image, cmap="gray", vmin=0, vmax=255 if image.dtype == np.uint8 else 1)
            panel.set(xticks=[], yticks=[])
        line[0].set_ylabel(name.replace(", ", "\n"), fontsize=6)
    figures.save(figure, path)


def judge_small(table: pd.DataFrame) -> Verdict:
    """Judge that every image changes, no pixel by more than twice epsilon: room is made, then the pattern added."""
    holds = (table["mean_change"] > 0).all() and (table["largest_change"] <= 2 * table["epsilon"] + 1 / 255).all()
    means = table.groupby("dataset", sort=False)[["mean_change", "largest_change"]].agg(
        {"mean_change": "mean", "largest_change": "max"}
    )
    numbers = {f"{name}, {what}": float(means.loc[name, what]) for name in means.index for what in means.columns}
    return Verdict(bool(holds), {name.replace("_", " "): value for name, value in numbers.items()})


def hidden(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure local expansiveness and explained global variance at growing strengths of the perturbation."""
    base = benchmark_data.load(settings["dataset"])
    return Found(
        expansiveness.measure_hidden(
            base, epsilons=settings["epsilons"], factors=settings["factors"], samples=settings["samples"]
        )
    )


def draw_hidden(found: Found, path: Path) -> None:
    """Draw both quantities over the strength."""
    expansiveness.draw(found.table, path)


def judge_hidden(table: pd.DataFrame) -> Verdict:
    """Judge that s leads locally from a strength on at which it does not lead globally."""
    leads = {}
    for quantity in ("expansiveness", "global_variance"):
        values = table[table["quantity"] == quantity].pivot(index="epsilon", columns="factor", values="value")
        ahead = values.index[values["s"] > values.drop(columns="s").max(axis=1)]
        leads[quantity] = float(min(ahead)) if len(ahead) else None
    local, overall = leads["expansiveness"], leads["global_variance"]
    numbers = {
        f"ε from which s leads by {quantity.replace('_', ' ')}": at for quantity, at in leads.items() if at is not None
    }
    largest = float(table["epsilon"].max())
    return Verdict(local is not None and (overall is None or local < overall), numbers | {"largest ε": largest})


def _hidden(dataset: str, samples: int) -> Plan:
    settings = {
        "dataset": dataset,
        "epsilons": expansiveness.EPSILONS,
        "factors": ("posX", "posY"),
        "samples": samples,
    }
    return Plan(datasets=(dataset,), settings=settings, seconds=samples / 50)


def _pictures(*datasets: str) -> Plan:
    perturbed = tuple(f"{name}_perturbed/vae_eps10" for name in datasets)
    settings = {"datasets": datasets, "variant": "vae_eps10", "columns": 6}
    return Plan(datasets=(*datasets, *perturbed), settings=settings)


_TABLE_1 = plans("_perturbed/vae_eps10", tuple(OBJECTIVES))
_TABLE_2 = plans("_noisy/eps10", ("beta_vae", "beta_tc_vae", "factor_vae"))

ENTRIES = (
    Entry(
        id=f"{PAPER}/fig3",
        title="Images with and without the hidden pattern",
        paper="the difference is small",
        claim="The pattern changes every image, and no pixel by more than 2ε with the room that is made for it.",
        smoke=_pictures("sprites2d", "room3d"),
        study=_pictures("dsprites", "shapes3d"),
        compute=pictures,
        draw=draw_pictures,
        judge=judge_small,
    ),
    Entry(
        id=f"{PAPER}/fig4",
        title="Local expansiveness and global variance of the hidden variable, panels (a) and (b)",
        paper="s leads locally from ε ≈ 0.1 on, long before it leads globally",
        claim="The hidden variable leads in local expansiveness at a smaller ε than in explained global variance.",
        smoke=_hidden("sprites2d", 300),
        study=_hidden("dsprites", 2_000),
        compute=hidden,
        draw=draw_hidden,
        judge=judge_hidden,
    ),
    Entry(
        id=f"{PAPER}/table1",
        title="MIG on original and perturbed data",
        paper="dSprites: β-VAE 0.23 to 0.07, β-TCVAE 0.25 to 0.14, FactorVAE 0.27 to 0.11; Shapes3D: 0.60 to 0.02, "
        "0.58 to 0.28, 0.27 to 0.11",
        claim="MIG falls on perturbed data for every VAE and dataset.",
        **_TABLE_1,
        compute=scored,
        draw=draw_scores,
        judge=judge_falls,
    ),
    Entry(
        id=f"{PAPER}/table2",
        title="MIG on original and noisy data, without tuned β",
        paper="dSprites: β-VAE 0.23 to 0.09, β-TCVAE 0.25 to 0.20, FactorVAE 0.27 to 0.16; Shapes3D: 0.60 to 0.66, "
        "0.58 to 0.60, 0.27 to 0.33",
        claim=f"Noise of the same magnitude does not lower MIG (mean fall at most {SAME}).",
        **_TABLE_2,
        compute=scored,
        draw=draw_scores,
        judge=judge_stays,
    ),
)

NOT_YET = {f"{PAPER}/fig5": "MIG and active units over the regularisation strength, original and perturbed data"}
