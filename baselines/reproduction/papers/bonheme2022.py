"""Bonheme and Grzes, "How do Variational Autoencoders Learn?" (2022): which layers learn first, and what changes them.

Figure 1 needs no training. The study tier takes the runs of the sweep bonheme2022, and models with
20 latents and classifiers like them; the desk tier those of the sweep desk_similarity, whose convolutions have half the
width. At smoke tier all models are fully connected, two seeds each, and figures 12 to 14 have the runs of figures 3, 4
and 7 again. Times of training are the paper's epochs as shares of it (`TIMES`), by the nearest kept snapshot.

Where CKA and Procrustes disagree the paper interprets the smaller of the two (section 2.3): figures 3, 4 and 7 have an
entry each for that. What the paper says of mean, variance and samples has entries of its own, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.reproduction.entries import (
    ILLUSTRATION,
    Control,
    Entry,
    Found,
    Plan,
    Runs,
    Verdict,
    fact,
    judged,
    of_table,
)
from baselines.reproduction.papers import _heatmaps, _tiers
from baselines.reproduction.papers._heatmaps import Panel, Side
from baselines.sweeps.bonheme2022 import SNAPSHOTS
from leaderboard import figures
from leaderboard.analyses import layers_against_input, sample_size
from leaderboard.comparisons import cka
from leaderboard.store import verdicts

PAPER = "2205.08399"

CARS, SPRITES, NORB = SNAPSHOTS
"""Cars3D, dSprites and SmallNORB, as the sweep has them."""

EVERY = 6_000
"""Steps between two snapshots of datasets for which the papers state no others (appendix C, table 1)."""

SEEDS = 5

SAME = 0.1
"""Similarities that differ by less are called the same."""

LEAST, MOST = "least", "most"

EXTREMES: dict[str, tuple[float, float]] = {
    "beta_vae": (1, 8),
    "beta_tc_vae": (1, 8),
    "dip_vae_ii": (1, 20),
    "annealed_vae": (75, 5),
}
"""Objective -> the strengths that regularise least and most (table 2). A greater capacity regularises less."""


def models(
    dataset: str, objective: str, strength: float = 0, *, architecture: str = "conv", latents: int = 10
) -> tuple[RunConfig, ...]:
    """Return the runs of a model.

    Args:
        dataset: the dataset.
        objective: the objective.
        strength: beta, lambda or the capacity, whichever it has.
        architecture: ``conv`` or ``fc``.
        latents: how many.

    Returns:
        Those of all seeds, as in the paper's sweep.
    """
    hyperparameters: dict[str, dict[str, float]] = {
        "beta_vae": {"beta": strength},
        "beta_tc_vae": {"beta": strength},
        "dip_vae_ii": {"lambda_od": strength, "lambda_d": strength},
        "annealed_vae": {"c_max": strength, "gamma": 1_000, "iteration_threshold": 100_000},
        "classifier": {},
    }
    return tuple(
        RunConfig(
            dataset=dataset,
            objective=objective,
            hyperparameters=hyperparameters[objective],
            architecture=architecture,
            latents=latents,
            seed=seed,
            snapshots=SNAPSHOTS.get(dataset, EVERY),
        )
        for seed in range(SEEDS)
    )


def side(dataset: str, objective: str, strength: float = 0, *, share: float = 1.0, **options: Any) -> Side:
    """Return one side of a panel: `models` at a share of the training."""
    return Side(models(dataset, objective, strength, **options), share)


def over_time(
    title: str, dataset: str, objective: str, strength: float, shares: tuple[float, ...], **options: Any
) -> list[Panel]:
    """Return panels of one model at several times against itself after training, the first of them before it."""
    end = side(dataset, objective, strength, **options)
    return [
        Panel(
            _heatmaps.timed(title, share),
            side(dataset, objective, strength, share=share, **options),
            end,
            model=title,
        )
        for share in (0.0, *shares)
    ]


def strengths(objective: str, low: float, high: float, **options: Any) -> Panel:
    """Return a panel of a weakly against a strongly regularised model on dSprites."""
    weak, strong = (side(SPRITES, objective, strength, **options) for strength in (low, high))
    return Panel(f"{objective}, {low:g} and {high:g}", weak, strong)


def objectives(other: str, strength: float = 1, **options: Any) -> list[Panel]:
    """Return panels of a β-VAE against another objective, on all three datasets."""
    return [
        Panel(
            f"β-VAE and {other}, {dataset.partition('/')[0]}",
            side(dataset, "beta_vae", 1, **options),
            side(dataset, other, strength, **options),
        )
        for dataset in (CARS, SPRITES, NORB)
    ]


TIMES: dict[str, tuple[float, ...]] = {
    CARS: (25 / 1_090, 292 / 1_090, 559 / 1_090, 826 / 1_090),
    SPRITES: (2 / 26, 7 / 26, 14 / 26, 19 / 26),
    NORB: (10 / 410, 110 / 410, 210 / 410, 311 / 410),
}
"""Dataset -> the epochs of figures 17 to 19 as shares of the training, the early one of figure 3 first."""

FIRST_LAST = [
    *over_time("cars3d, β-TCVAE", CARS, "beta_tc_vae", 2, TIMES[CARS][:1]),
    *over_time("dsprites, DIP-VAE II", SPRITES, "dip_vae_ii", 5, TIMES[SPRITES][:1]),
    *over_time("smallnorb, AnnealedVAE", NORB, "annealed_vae", 5, TIMES[NORB][:1]),
]
REGULARISED = [strengths("beta_vae", 1, 8), strengths("dip_vae_ii", 1, 20)]
REGULARISED_FC = [strengths("beta_vae", 1, high, architecture="fc") for high in (8, 16)]
ACROSS = objectives("dip_vae_ii")
CONTROLLED = _heatmaps.controlled(ACROSS)


def twice(panel: Panel) -> list[Panel]:
    """Return a panel for CKA and the same for Procrustes."""
    return [
        panel._replace(title=f"{panel.title}, {name}", similarity=similarity)
        for name, similarity in (("CKA", "cka"), ("Procrustes", "procrustes"))
    ]


def samples(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare matrices that share features, on growing numbers of samples."""
    return Found(sample_size.measure_shared(**settings))


def judge_samples(table: pd.DataFrame) -> Verdict:
    """Judge that both find shares of 80% and 50% with enough samples, and Procrustes exceeds CKA where none is."""
    means = table.groupby(["share", "metric", "samples"])["similarity"].mean()
    few, many = table["samples"].min(), table["samples"].max()
    last = {
        (share, name): float(means[share, name, many])
        for share in table["share"].unique()
        for name in ("CKA", "Procrustes")
    }
    near = all(abs(last[share, name] - share) < SAME for share in (0.8, 0.5) for name in ("CKA", "Procrustes"))
    over = means[0.0, "Procrustes", few] > means[0.0, "CKA", few] and last[0.0, "Procrustes"] > last[0.0, "CKA"]
    numbers = {f"{name} of {share:.0%} at {many} samples": value for (share, name), value in last.items()}
    return fact(bool(near and over), numbers)


def sampled(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare the sampled representation with mean and input, for each strength, seed and snapshot."""
    rows = []
    for strength, configs in settings["strengths"]:
        for config in configs:
            for step in runs.open(config).steps:
                layers = _heatmaps.activations(runs, config, step, settings["samples"])
                for other in ("mean", "input"):
                    similarity = cka.compare(layers[other], layers["sampled"])
                    rows.append((strength, config.seed, step, other, similarity))
    return Found(pd.DataFrame(rows, columns=["strength", "seed", "step", "with", "similarity"]))


def draw_sampled(found: Found, path: Path) -> None:
    """Draw a panel for mean and input each, a line per strength over training."""
    figures.check_columns(found.table, ["strength", "step", "with", "similarity"])
    figure, axes = figures.panels(1, 2, sharey=True)
    for panel, (other, part) in zip(axes[0], found.table.groupby("with", sort=False), strict=True):
        for style, (strength, lines) in enumerate(part.groupby("strength")):
            figures.curve(panel, lines, "step", "similarity", style=style, label=f"β = {strength:g}")
        panel.set(title=f"CKA of sampled and {other}", xlabel="training step", ylim=(0, 1.02))
    axes[0, 1].legend(frameon=False, fontsize=8)
    figures.save(figure, path)


def judge_sampled(table: pd.DataFrame) -> Verdict:
    """Judge that sampled and input are less similar after training at the greatest strength than at the least."""
    end = table[(table["step"] == table["step"].max()) & (table["with"] == "input")]
    groups = {strength: part.sort_values("seed")["similarity"] for strength, part in end.groupby("strength")}
    low, *_, high = groups
    numbers = {f"CKA at β = {strength:g}": float(groups[strength].mean()) for strength in (low, high)}
    return judged("CKA", [verdicts.compare([groups[low]], [groups[high]])], numbers)


def against_input(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Compare encoder layers with the input, for each strength, seed and snapshot."""
    tables = []
    for strength, configs in settings["strengths"]:
        for config in configs:
            for step in runs.open(config).steps:
                layers = _heatmaps.activations(runs, config, step, settings["samples"])
                chosen = {
                    name: values
                    for name, values in layers.items()
                    if name.startswith("encoder_") and not _is(values, layers["input"])
                }
                table = layers_against_input.measure(chosen, layers["input"], similarities=settings["similarities"])
                tables.append(table.assign(group=f"β = {strength:g}", seed=config.seed, step=step))
    return Found(pd.concat(tables, ignore_index=True))


def _is(layer: NDArray[np.floating], images: NDArray[np.floating]) -> bool:
    """Return whether a layer only flattens the images, so that its similarity with them is 1 whatever was learned."""
    return layer.size == images.size and np.array_equal(layer.reshape(images.shape), images)


def judge_against_input(table: pd.DataFrame) -> Verdict:
    """Judge by CKA that no encoder layer differs by `SAME` or more between the least and the greatest strength."""
    return _alike(table, "CKA")


def judge_against_input_procrustes(table: pd.DataFrame) -> Verdict:
    """Judge the same by Procrustes."""
    return _alike(table, "Procrustes")


def _alike(table: pd.DataFrame, metric: str) -> Verdict:
    """Test for each layer that the difference of means is above -`SAME` and below `SAME`.

    A layer that is the input, with a similarity of 1 throughout, does not count.
    """
    end = table[(table["step"] == table["step"].max()) & (table["metric"] == metric)]
    learned = end.groupby("layer")["similarity"].transform("min") < 1 - 1e-6
    numbers: dict[str, float] = {}
    parts = []
    for layer, part in end[learned].groupby("layer", sort=False):
        first, *_, last = (values["similarity"].to_numpy() for _, values in part.groupby("group", sort=False))
        parts += [verdicts.compare([first + SAME], [last]), verdicts.compare([last + SAME], [first])]
        numbers[f"{layer}, difference between strengths"] = float(first.mean() - last.mean())
    spread = end[learned].groupby(["group", "layer"])["similarity"].std(ddof=1).mean()
    return judged("similarity, within the bound", parts, {"mean deviation over seeds": float(spread)} | numbers)


def judge_collapse(table: pd.DataFrame) -> Verdict:
    """Judge that the strongly regularised model's samples are less like the other's encoder than vice versa.

    Both are of the same pair of runs. Layers that are the input itself count for neither.
    """
    numbers: dict[str, float] = {}
    parts = []
    table = table[~table[["layer_x", "layer_y"]].isin(_heatmaps.inputs(table)).any(axis=1)]
    encoder = {axis: table[axis].str.startswith("encoder_") for axis in ("layer_x", "layer_y")}
    for panel in table["panel"].unique():
        here = table["panel"] == panel
        column, row = (
            table[here & (table[axis] == "sampled") & encoder[other]].groupby("seed")["similarity"].mean()
            for axis, other in (("layer_y", "layer_x"), ("layer_x", "layer_y"))
        )
        parts.append(verdicts.compare([row], [column], paired=True))
        numbers |= {f"{panel}, strong": float(column.mean()), f"{panel}, weak": float(row.mean())}
    return judged("CKA", parts, numbers)


def losses(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Read the losses of runs over training."""
    rows = []
    for strength, configs in settings["models"]:
        for config in configs:
            history = runs.open(config).history
            place = (config.dataset.partition("/")[0], config.objective, strength, config.seed)
            rows += [(*place, int(line["step"]), line["loss"]) for line in history[:: settings["every"]]]
    return Found(pd.DataFrame(rows, columns=["dataset", "objective", "regularised", "seed", "step", "loss"]))


def draw_losses(found: Found, path: Path) -> None:
    """Draw a panel per dataset, a line per run: a colour for each objective, dashed where regularised most."""
    figures.check_columns(found.table, ["dataset", "objective", "regularised", "seed", "step", "loss"])
    names = list(found.table["objective"].unique())
    panels = list(found.table.groupby("dataset", sort=False))
    figure, axes = figures.panels(1, len(panels), width=4.0)
    for panel, (dataset, table) in zip(axes[0], panels, strict=True):
        for (objective, strength, seed), part in table.groupby(["objective", "regularised", "seed"], sort=False):
            panel.plot(
                part["step"],
                part["loss"],
                color=figures.COLOURS[names.index(objective)],
                linestyle="-" if strength == LEAST else "--",
                linewidth=1,
                label=f"{objective}, {strength}" if seed == table["seed"].min() else "",
            )
        panel.set(title=dataset, xlabel="training step", ylabel="loss", yscale="log")
        panel.legend(frameon=False, fontsize=7)
    figures.save(figure, path)


def judge_losses(table: pd.DataFrame) -> Verdict:
    """Show where losses end and when half of the way there is made: an illustration.

    Less regularised models end lower by construction, since the regularisation is part of the loss. A loss ends at its
    mean over the last tenth of its lines.
    """
    numbers: dict[str, float] = {}
    for dataset, lines in table.groupby("dataset", sort=False):
        begun = []
        for (objective, strength), part in lines.groupby(["objective", "regularised"], sort=False):
            means = part.groupby("step")["loss"].mean()
            end = float(means.tail(max(1, len(means) // 10)).mean())
            half = means.index[means <= (means.iloc[0] + end) / 2][0] / means.index[-1]
            begun.append(float(half))
            numbers[f"loss of {objective} on {dataset}, regularised {strength}"] = end
        numbers |= {f"{dataset}, first half way": min(begun), f"{dataset}, last half way": max(begun)}
    return Verdict(ILLUSTRATION, numbers)


def _losses() -> dict[str, Any]:
    """Return the plans of figure 20. Below study tier: of what other figures train at both ends."""
    elsewhere = {(CARS, "beta_vae"), (SPRITES, "beta_vae"), (SPRITES, "dip_vae_ii")}
    made = {}
    for tier in ("smoke", "desk", "study"):
        chosen = tuple(
            (strength, _tiers.of(tier, models(dataset, objective, value)))
            for dataset, (objective, ends) in itertools.product(SNAPSHOTS, EXTREMES.items())
            if tier == "study" or (dataset, objective) in elsewhere
            for strength, value in zip((LEAST, MOST), ends, strict=True)
        )
        runs = tuple(run for _, found in chosen for run in found)
        settings = {"models": chosen, "every": 10 if tier == "study" else 1}
        made[tier] = Plan(runs=runs, settings=settings)
    return made


def _by_strength(dataset: str, values: tuple[float, ...], **settings: Any) -> dict[str, Any]:
    """Return plans that look at all snapshots of β-VAEs."""
    made = {}
    for tier, count, seconds in (
        ("smoke", _heatmaps.SAMPLES, 20.0),
        ("desk", _heatmaps.SAMPLES, 40.0),
        ("study", 5_000, 600.0),
    ):
        chosen = tuple((value, _tiers.of(tier, models(dataset, "beta_vae", value))) for value in values)
        every = tuple(run for _, found in chosen for run in found)
        own = {"strengths": chosen, "samples": count} | settings
        made[tier] = Plan(runs=every, settings=own, seconds=seconds * len(every))
    return made


def heatmap_entry(id_: str, title: str, paper: str, claim: str, panels: list[Panel], judge: Any, **more: Any) -> Entry:
    """Return an entry that is a row of heatmaps."""
    return Entry(
        id=id_,
        title=title,
        paper=paper,
        claim=claim,
        **_heatmaps.plans(panels),
        compute=_heatmaps.compute,
        draw=_heatmaps.draw,
        judge=judge,
        **more,
    )


def smaller(panels: list[Panel]) -> list[Panel]:
    """Return panels for the smaller of CKA and Procrustes, which is what the paper interprets (section 2.3)."""
    return [panel._replace(similarity="smaller") for panel in panels]


FIRST = "At the first snapshot encoder layers are more similar to their final state than decoder layers are."
ORDER = FIRST.replace("the first snapshot", "each of these times")
_WAY = "{} the encoder has gone a greater share of its way from the untrained to the final state than the decoder."
FIRST_CONTROL = Control(_WAY.format("At the first snapshot"), _heatmaps.learned_first)
ORDER_CONTROL = Control(_WAY.format("At each of these times"), _heatmaps.learned_first)
GENERIC = f"Encoder layers are similar across objectives (CKA at least {_heatmaps.ALIKE} on average)."
_SAMPLES = Plan(settings={"repeats": 5}, seconds=60)
_SMALL_SAMPLES = Plan(settings={"repeats": 3, "sizes": (50, 100, 200, 500, 1_000, 2_000, 5_000)}, seconds=20)
_INPUT = "hardly any variance over seeds, and the same at β = 1 and 8"
_INPUT_CLAIM = f"CKA of each encoder layer with the input differs by less than {SAME} between β = 1 and 8."
_AT = "high in the encoder, lower in the decoder"

ENTRIES = (
    Entry(
        id=f"{PAPER}/fig1",
        title="CKA and Procrustes on growing numbers of samples",
        paper="both agree at 80% and 50%; Procrustes overestimates at 0%",
        claim=f"With enough samples both find shares of 80% and 50% (within {SAME}), and Procrustes exceeds CKA at 0%.",
        smoke=_SMALL_SAMPLES,
        study=_SAMPLES,
        compute=samples,
        draw=of_table(sample_size.draw),
        judge=judge_samples,
    ),
    heatmap_entry(
        f"{PAPER}/fig3",
        "CKA of layers, first snapshot and after training",
        _AT,
        FIRST,
        FIRST_LAST,
        _heatmaps.ahead,
        control=FIRST_CONTROL,
    ),
    heatmap_entry(
        f"{PAPER}/fig3_smaller",
        "Figure 3 by the smaller of CKA and Procrustes",
        "the smaller of the two is interpreted",
        FIRST,
        smaller(FIRST_LAST),
        _heatmaps.ahead,
        control=FIRST_CONTROL,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig4",
        "CKA of layers, weak and strong regularisation",
        _AT,
        "Regularisation changes decoder layers more than encoder layers.",
        REGULARISED,
        _heatmaps.encoder_above_decoder,
    ),
    heatmap_entry(
        f"{PAPER}/fig4_smaller",
        "Figure 4 by the smaller of CKA and Procrustes",
        "the smaller of the two is interpreted",
        "Regularisation changes decoder layers more than encoder layers, by the smaller of CKA and Procrustes, too.",
        smaller(REGULARISED),
        _heatmaps.encoder_above_decoder,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig4_between",
        "Figure 4: the layers of mean, variance and samples",
        "lower than the encoder's",
        "Regularisation changes the layers of mean, variance and samples more than encoder layers.",
        REGULARISED,
        _heatmaps.between_vary,
        added=True,
    ),
    Entry(
        id=f"{PAPER}/fig5",
        title="CKA of sampled representations with mean and input, β from 1 to 8",
        paper="sampled and input drift apart as β grows",
        claim="The sampled representation is less similar to the input at β = 8 than at β = 1.",
        **_by_strength(SPRITES, (1, 2, 4, 6, 8)),
        compute=sampled,
        draw=draw_sampled,
        judge=judge_sampled,
    ),
    Entry(
        id=f"{PAPER}/fig6",
        title="CKA of encoder layers with the input, β = 1 and 8",
        paper=_INPUT,
        claim=_INPUT_CLAIM,
        **_by_strength(CARS, (1, 8), similarities=("CKA",)),
        compute=against_input,
        draw=of_table(layers_against_input.draw),
        judge=judge_against_input,
    ),
    heatmap_entry(
        f"{PAPER}/fig7",
        "CKA of layers, β-VAE and DIP-VAE II",
        "close to 1 in the encoder, but for mean and variance",
        GENERIC,
        CONTROLLED,
        _heatmaps.encoders_alike,
    ),
    heatmap_entry(
        f"{PAPER}/fig7_smaller",
        "Figure 7 by the smaller of CKA and Procrustes",
        "the smaller of the two is interpreted",
        GENERIC.replace("CKA", "the smaller of CKA and Procrustes"),
        smaller(ACROSS),
        _heatmaps.encoders_alike,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig7_between",
        "Figure 7: the layers of mean, variance and samples",
        "lower than the encoder's on dSprites, high on Cars3D and SmallNORB",
        "On dSprites, layers of mean, variance and samples are less similar across objectives than encoder layers are.",
        ACROSS,
        _heatmaps.between_vary_on_second,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig7_datasets",
        "Figure 7: the layers of mean, variance and samples, dataset by dataset",
        "high on Cars3D and SmallNORB, low on dSprites",
        "Layers of mean, variance and samples are less similar across objectives on dSprites than on Cars3D and on "
        "SmallNORB.",
        ACROSS,
        _heatmaps.between_dataset,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig9",
        "Figure 3 (a) with CKA and Procrustes",
        "same trend",
        "None that could fail: the two have the same sign.",
        twice(FIRST_LAST[0]),
        _heatmaps.metrics_agree,
    ),
    heatmap_entry(
        f"{PAPER}/fig10",
        "Figure 7 (a) with CKA and Procrustes",
        "same trend",
        "None that could fail: the two have the same sign.",
        twice(ACROSS[0]),
        _heatmaps.metrics_agree,
    ),
    Entry(
        id=f"{PAPER}/fig11",
        title="Figure 6 with CKA and Procrustes",
        paper=_INPUT,
        claim=_INPUT_CLAIM.replace("CKA", "The Procrustes similarity"),
        **_by_strength(CARS, (1, 8), similarities=("CKA", "Procrustes")),
        compute=against_input,
        draw=of_table(layers_against_input.draw),
        judge=judge_against_input_procrustes,
    ),
    heatmap_entry(
        f"{PAPER}/fig12",
        "Fully connected: CKA of layers, three times in training and after it",
        "the encoder is learned first",
        ORDER,
        over_time("smallnorb, AnnealedVAE", NORB, "annealed_vae", 5, (1 / 410, 10 / 410, 1.0), architecture="fc"),
        _heatmaps.ahead,
        control=ORDER_CONTROL,
    ),
    heatmap_entry(
        f"{PAPER}/fig13",
        "Fully connected: CKA of layers, β = 1 with 8 and 16",
        "very similar in the encoder, but for mean and variance",
        f"Regularisation leaves encoder layers similar (CKA at least {_heatmaps.ALIKE} on average).",
        _heatmaps.controlled(REGULARISED_FC),
        _heatmaps.encoders_alike,
    ),
    heatmap_entry(
        f"{PAPER}/fig14",
        "Fully connected: CKA of layers, β-VAE and DIP-VAE II",
        "at least 0.8 in the encoder",
        GENERIC,
        _heatmaps.controlled(objectives("dip_vae_ii", architecture="fc")),
        _heatmaps.encoders_alike,
    ),
    heatmap_entry(
        f"{PAPER}/fig15",
        "CKA of layers, twice the latents and eight times the β",
        "decoders more similar in the first",
        "Twice the latents change the decoder less than a β of 8 does.",
        [
            Panel("10 and 20 latents", side(SPRITES, "beta_vae", 1), side(SPRITES, "beta_vae", 1, latents=20)),
            REGULARISED[0],
        ],
        _heatmaps.decoder_falls,
    ),
    heatmap_entry(
        f"{PAPER}/fig16",
        "CKA of layers, β-VAE and classifier",
        "close to 1 in the encoder, but for mean and variance",
        f"Encoder layers of VAEs and classifiers are similar (CKA at least {_heatmaps.ALIKE} on average).",
        _heatmaps.controlled(objectives("classifier", 0)),
        _heatmaps.encoders_alike,
    ),
    *(
        heatmap_entry(
            f"{PAPER}/fig{number}",
            f"CKA of layers, four times in training and after it: {what}",
            "first the encoder, then the decoder",
            ORDER,
            over_time(what, dataset, objective, strength, TIMES[dataset]),
            _heatmaps.ahead,
            control=ORDER_CONTROL,
        )
        for number, what, dataset, objective, strength in (
            (17, "DIP-VAE II on dSprites", SPRITES, "dip_vae_ii", 5),
            (18, "β-TCVAE on Cars3D", CARS, "beta_tc_vae", 2),
            (19, "AnnealedVAE on SmallNORB", NORB, "annealed_vae", 5),
        )
    ),
    Entry(
        id=f"{PAPER}/fig20",
        title="Losses over training of the least and most regularised models",
        paper="all converge from the same epoch on, and less regularised models to lower losses",
        claim="None that could fail: a stronger regularisation is part of the loss.",
        **_losses(),
        compute=losses,
        draw=draw_losses,
        judge=judge_losses,
    ),
)


def entry(what: str) -> Entry:
    """Return the paper's entry of a figure, such as ``"fig9"``."""
    return next(each for each in ENTRIES if each.id == f"{PAPER}/{what}")
