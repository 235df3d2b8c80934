"""Bonheme and Grześ, "How do Variational Autoencoders Learn?" (2022): which layers learn first, and what changes them.

Figure 1 needs no training. The study tier uses the runs of the sweep bonheme2022, and similar models with 20 latents
and classifiers; the desk tier smaller ones (`_tiers.at_tier`), whose convolutions have half the width. The paper's
epochs are converted to shares of the training (`TIMES`), and the nearest kept snapshot is used.

Claims on mean, variance and samples, on all objectives and on a collapsed posterior have separate entries.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from baselines.config import RunConfig
from baselines.reproduction.entries import Entry, Plan, Second, from_table
from baselines.reproduction.papers import _heatmaps, _layers, _scores, _tiers
from baselines.reproduction.papers._heatmaps import Panel, Side
from baselines.reproduction.papers._layers import SAME
from baselines.sweeps.bonheme2022 import SNAPSHOTS
from leaderboard.analyses import layers_against_input, sample_size

PAPER = "2205.08399"

CARS, SPRITES, NORB = SNAPSHOTS
"""Cars3D, dSprites and SmallNORB, as in the sweep."""

EVERY = 6_000
"""Steps between two snapshots of datasets for which the papers state no others (appendix C, table 1)."""

SEEDS = 5


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
        strength: the objective's beta, lambda or capacity.
        architecture: ``conv`` or ``fc`` in the paper.
        latents: the number of latents.

    Returns:
        The runs of all seeds, as in the paper's sweep.
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
    """Return panels of one model at several times, beginning before training, against itself after training."""
    trained = side(dataset, objective, strength, **options)
    return [
        Panel(
            _heatmaps.time_title(title, share),
            side(dataset, objective, strength, share=share, **options),
            trained,
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
CROSSED = [
    panel
    for dataset, times in TIMES.items()
    for objective, strength in {"beta_tc_vae": 2, "dip_vae_ii": 5, "annealed_vae": 5}.items()
    for panel in over_time(f"{dataset.partition('/')[0]}, {objective}", dataset, objective, strength, times[:1])
]
"""Every objective of `FIRST_LAST` on every dataset."""
ARCHITECTURES = ("conv", "fc", "transformer")
"""The paper's two, and one more."""
OVER_TIME = [
    panel
    for name in ARCHITECTURES
    for panel in over_time(name, SPRITES, "beta_vae", 1, TIMES[SPRITES][:1], architecture=name)
]
PAIRS = [
    Panel(
        f"{x} and {y}",
        side(SPRITES, "beta_vae", 1, architecture=x),
        side(SPRITES, "beta_vae", 1, architecture=y),
    )
    for x, y in itertools.combinations(ARCHITECTURES, 2)
]
REGULARISED = [strengths("beta_vae", 1, 8), strengths("dip_vae_ii", 1, 20)]
REGULARISED_FC = [strengths("beta_vae", 1, high, architecture="fc") for high in (8, 16)]
ACROSS = objectives("dip_vae_ii")
CONTROLLED = _heatmaps.controlled(ACROSS)


def with_both_similarities(panel: Panel) -> list[Panel]:
    """Return a panel for CKA and the same for Procrustes."""
    return [
        panel._replace(title=f"{panel.title}, CKA", similarity="cka"),
        panel._replace(title=f"{panel.title}, Procrustes", similarity="procrustes"),
    ]


def _loss_plans() -> dict[str, Any]:
    """Return the plans of figure 20. Below study tier they use runs of other figures at both ends."""
    trained_elsewhere = {(CARS, "beta_vae"), (SPRITES, "beta_vae"), (SPRITES, "dip_vae_ii")}
    plans = {}
    for tier in ("desk", "study"):
        by_strength = tuple(
            (strength, _tiers.at_tier(tier, models(dataset, objective, value)))
            for dataset, (objective, extremes) in itertools.product(SNAPSHOTS, EXTREMES.items())
            if tier == "study" or (dataset, objective) in trained_elsewhere
            for strength, value in zip((_layers.LEAST, _layers.MOST), extremes, strict=True)
        )
        runs = tuple(run for _, configs in by_strength for run in configs)
        settings = {"models": by_strength, "every": 10 if tier == "study" else 1}
        plans[tier] = Plan(runs=runs, settings=settings)
    return plans


def _strength_plans(dataset: str, values: tuple[float, ...], **settings: Any) -> dict[str, Any]:
    """Return plans that use all snapshots of β-VAEs."""
    plans = {}
    for tier, count in _heatmaps.SAMPLES.items():
        by_strength = tuple((value, _tiers.at_tier(tier, models(dataset, "beta_vae", value))) for value in values)
        runs = tuple(run for _, configs in by_strength for run in configs)
        plan_settings = {"strengths": by_strength, "samples": count} | settings
        plans[tier] = Plan(runs=runs, settings=plan_settings)
    return plans


def heatmap_entry(id_: str, paper: str, claim: str, panels: list[Panel], judge: Any, **options: Any) -> Entry:
    """Return an entry that is a row of heatmaps."""
    return Entry(
        id=id_,
        paper=paper,
        claim=claim,
        **_heatmaps.plans(panels),
        compute=_heatmaps.compute,
        draw=_heatmaps.draw,
        judge=judge,
        **options,
    )


def training_entry(id_: str, paper: str, model: str, panels: list[Panel]) -> Entry:
    """Return the entry of a model at several times in training."""
    claim = f"{model}: at each snapshot encoders are more similar to their final state than decoders."
    control = Second(f"{model}: {_CHANGE_CLAIM}, at each snapshot.", _heatmaps.judge_learned_first)
    return heatmap_entry(id_, paper, claim, panels, _heatmaps.judge_ahead, second=control)


FIRST = "At the first snapshot encoders are more similar to their final state than decoders."
_CHANGE_CLAIM = "the same as a share of the change since initialisation"
FIRST_CONTROL = Second(f"{_CHANGE_CLAIM[0].upper()}{_CHANGE_CLAIM[1:]}.", _heatmaps.judge_learned_first)
GENERIC = f"Encoder layers are similar across objectives (CKA at least {_heatmaps.ALIKE} on average)."
_SAMPLES_PLAN = Plan(settings={"repeats": 5})
_SMALL_SAMPLES_PLAN = Plan(settings={"repeats": 3, "sizes": (50, 100, 200, 500, 1_000, 2_000, 5_000)})
_INPUT_OPTIONS: dict[str, Any] = {"compute": _layers.against_input, "draw": from_table(layers_against_input.draw)}
_INPUT_CLAIM = f"CKA of each encoder layer with the input differs by less than {SAME} between β = 1 and 8."
_ENCODER_FINDING = "high in the encoder, lower in the decoder"
_FAR_CLAIM = "The sampled representation is less similar to the {} at β = 8 than at β = 1."
_DOUBLED_CLAIM = "Doubling the latents changes {} less than β = 8 does."

ENTRIES = (
    Entry(
        id=f"{PAPER}/fig1",
        paper="both agree at 80% and 50%; Procrustes overestimates at 0%",
        claim=f"Both recover shared parts of 80% and 50% (within {SAME}); Procrustes exceeds CKA at 0%.",
        desk=_SMALL_SAMPLES_PLAN,
        study=_SAMPLES_PLAN,
        compute=_layers.samples,
        draw=from_table(sample_size.draw),
        judge=_layers.judge_samples,
    ),
    heatmap_entry(f"{PAPER}/fig3", _ENCODER_FINDING, FIRST, FIRST_LAST, _heatmaps.judge_ahead, second=FIRST_CONTROL),
    heatmap_entry(
        f"{PAPER}/fig3_crossed",
        _ENCODER_FINDING,
        f"Three objectives on each dataset: {FIRST[0].lower()}{FIRST[1:]}",
        CROSSED,
        _heatmaps.judge_ahead,
        second=FIRST_CONTROL,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig3_architectures",
        _ENCODER_FINDING,
        f"Convolutional, fully connected and transformer: {FIRST[0].lower()}{FIRST[1:]}",
        OVER_TIME,
        _heatmaps.judge_ahead,
        second=FIRST_CONTROL,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig4",
        _ENCODER_FINDING,
        "Regularisation changes decoder layers more than encoder layers.",
        REGULARISED,
        _heatmaps.judge_encoder_above,
    ),
    heatmap_entry(
        f"{PAPER}/fig4_collapsed",
        "not asked: β at most 16",
        "Regularisation changes decoder layers more than encoder layers, also where the posterior collapses (β = 256).",
        [strengths("beta_vae", 1, 256)],
        _heatmaps.judge_encoder_above,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig4_between",
        "lower than the encoder's",
        "Regularisation changes mean, variance and sampled layers more than encoder layers.",
        REGULARISED,
        functools.partial(_heatmaps.judge_encoder_above, networks=_heatmaps.BETWEEN),
    ),
    Entry(
        id=f"{PAPER}/fig5",
        paper="sampled drifts apart from input and mean as β grows",
        claim=_FAR_CLAIM.format("input"),
        **_strength_plans(SPRITES, (1, 2, 4, 6, 8)),
        compute=_layers.sampled,
        draw=from_table(_scores.draw_lines, panel="with", x="step", y="similarity", group="strength"),
        judge=functools.partial(_layers.judge_sampled, other="input"),
        second=Second(_FAR_CLAIM.format("mean"), functools.partial(_layers.judge_sampled, other="mean"), control=False),
    ),
    Entry(
        id=f"{PAPER}/fig6",
        paper="hardly any variance over seeds, and the same at β = 1 and 8",
        claim=_INPUT_CLAIM,
        **_strength_plans(CARS, (1, 8), similarities=("CKA",)),
        **_INPUT_OPTIONS,
        judge=functools.partial(_layers.judge_against_input, metric="CKA"),
    ),
    heatmap_entry(
        f"{PAPER}/fig7",
        "close to 1 in the encoder, but for mean and variance",
        GENERIC,
        CONTROLLED,
        _heatmaps.judge_encoders_alike,
    ),
    heatmap_entry(
        f"{PAPER}/fig7_architectures",
        "not asked",
        f"Each encoder layer has a similar one (CKA at least {_heatmaps.ALIKE} on average) in other architectures.",
        _heatmaps.controlled(PAIRS),
        _heatmaps.judge_encoders_matched,
        added=True,
    ),
    heatmap_entry(
        f"{PAPER}/fig7_between",
        "lower than the encoder's on dSprites, high on Cars3D and SmallNORB",
        "On dSprites, mean, variance and sampled layers are less similar across objectives than encoders are.",
        ACROSS[1:2],
        functools.partial(_heatmaps.judge_encoder_above, networks=_heatmaps.BETWEEN),
    ),
    heatmap_entry(
        f"{PAPER}/fig7_datasets",
        "high on Cars3D and SmallNORB, low on dSprites",
        "Mean, variance and sampled layers are less similar across objectives on dSprites than on the other two.",
        ACROSS,
        _heatmaps.judge_between_dataset,
    ),
    heatmap_entry(
        f"{PAPER}/fig9",
        "same trend",
        "Figure 3 (a) has the same trend with CKA and with Procrustes.",
        with_both_similarities(FIRST_LAST[1]),
        _heatmaps.judge_metrics_agree,
    ),
    heatmap_entry(
        f"{PAPER}/fig10",
        "same trend",
        "Figure 7 (a) has the same trend with CKA and with Procrustes.",
        with_both_similarities(ACROSS[0]),
        _heatmaps.judge_metrics_agree,
    ),
    Entry(
        id=f"{PAPER}/fig11",
        paper="the trend of CKA (figure 6), with more variance at β = 1",
        claim=_INPUT_CLAIM.replace("CKA", "The Procrustes similarity"),
        **_strength_plans(CARS, (1, 8), similarities=("CKA", "Procrustes")),
        **_INPUT_OPTIONS,
        judge=functools.partial(_layers.judge_against_input, metric="Procrustes"),
    ),
    training_entry(
        f"{PAPER}/fig12",
        "the encoder is learned first",
        "Fully connected AnnealedVAE",
        over_time("smallnorb, AnnealedVAE", NORB, "annealed_vae", 5, (1 / 410, 10 / 410, 1.0), architecture="fc"),
    ),
    heatmap_entry(
        f"{PAPER}/fig13",
        "very similar in the encoder, but for mean and variance",
        f"Fully connected: regularisation leaves encoder layers similar (CKA at least {_heatmaps.ALIKE} on average).",
        _heatmaps.controlled(REGULARISED_FC),
        _heatmaps.judge_encoders_alike,
    ),
    heatmap_entry(
        f"{PAPER}/fig14",
        "at least 0.8 in the encoder",
        GENERIC,
        _heatmaps.controlled(objectives("dip_vae_ii", architecture="fc")),
        _heatmaps.judge_encoders_alike,
    ),
    heatmap_entry(
        f"{PAPER}/fig15",
        "decoders and the layers between more similar in the first",
        _DOUBLED_CLAIM.format("decoders"),
        [
            Panel("10 and 20 latents", side(SPRITES, "beta_vae", 1), side(SPRITES, "beta_vae", 1, latents=20)),
            REGULARISED[0],
        ],
        functools.partial(_heatmaps.judge_falls, networks=("decoder",)),
        second=Second(
            _DOUBLED_CLAIM.format("mean, variance and sampled layers"),
            functools.partial(_heatmaps.judge_falls, networks=_heatmaps.BETWEEN),
            control=False,
        ),
    ),
    heatmap_entry(
        f"{PAPER}/fig16",
        "close to 1 in the encoder, but for mean and variance",
        f"Encoder layers of VAEs and classifiers are similar (CKA at least {_heatmaps.ALIKE} on average).",
        _heatmaps.controlled(objectives("classifier", 0)),
        _heatmaps.judge_encoders_alike,
    ),
    *(
        training_entry(
            f"{PAPER}/fig{number}",
            "first the encoder, then the decoder",
            title.replace(" on ", ", "),
            over_time(title, dataset, objective, strength, TIMES[dataset]),
        )
        for number, title, dataset, objective, strength in (
            (17, "DIP-VAE II on dSprites", SPRITES, "dip_vae_ii", 5),
            (18, "β-TCVAE on Cars3D", CARS, "beta_tc_vae", 2),
            (19, "AnnealedVAE on SmallNORB", NORB, "annealed_vae", 5),
        )
    ),
    Entry(
        id=f"{PAPER}/fig20",
        paper="all converge from the same epoch on, and less regularised models to lower losses",
        claim="Less regularised models converge to lower losses.",
        **_loss_plans(),
        compute=_layers.losses,
        draw=_layers.draw_losses,
        judge=_layers.judge_losses,
    ),
)


def entry(figure: str) -> Entry:
    """Return the paper's entry of a figure, such as ``"fig9"``."""
    return next(candidate for candidate in ENTRIES if candidate.id == f"{PAPER}/{figure}")
