"""Bonheme and Grześ, "How good are variational autoencoders at transfer learning?" (2023): will an encoder transfer?

Figures 1 to 4 check CKA against known facts, on the models of the authors' first paper (`bonheme2022`), whose runs they
share. They and figures 10 to 20, in the appendix, repeat that paper's figures (`FIRST_PAPER`), except for
figures 3 and 14, which are interpreted differently. The others transfer plain VAEs (β = 1) within two pairs: dSprites
and Symsol_reduced, Cars3D and CelebA. Figure 5 has the setting of the authors' code in its second panel: heads and
innermost layer of the decoder start from new weights.

The paper does not state the classifier of its tables; the claims here are judged by gradient-boosted trees, the default
of the authors' code, and logistic regression is reported as well. They are trained on the first rows of the
leaderboard's task and tested on its held-out rows: 10,000 and 5,000.

Below study tier dSprites and solids, room3d and xyobject are the pairs; xyobject has no faces, but an object that
varies in position, size and colour.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.model import scaled
from baselines.nets import reconstruction
from baselines.nets.backend import ops
from baselines.reproduction.entries import Entry, Found, Plan, Runs, Second, Transfer, Verdict, judged, of_table
from baselines.reproduction.papers import _accuracy, _heatmaps, _images, _layers, _tiers, bonheme2022
from baselines.reproduction.papers._accuracy import NEAR
from baselines.reproduction.papers._heatmaps import Panel, Side
from baselines.reproduction.papers._layers import SAME
from baselines.reproduction.papers.bonheme2022 import CARS, SPRITES, heatmap_entry, models
from baselines.training.batches import training_rows
from leaderboard import protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.store import verdicts

PAPER = "2304.10767"

FACES = "celeba/64_bicubic_padded"

SOLIDS = "symsol_reduced/published"

SHARED = 0.5
"""Rank correlation above which a property of the images counts as shared."""


LAYERS = 6
"""Of a decoder."""

IMAGES = {"desk": 2_000, "study": 5_000}
"""Tier -> images that are reconstructed."""


def vaes(dataset: str, tier: str = "study") -> tuple[RunConfig, ...]:
    """Return the plain VAEs of a published dataset, or of what stands in for it."""
    return _tiers.of(tier, models(dataset, "beta_vae", 1))


def _retrained(**options: Any) -> tuple[Transfer, ...]:
    """Return transfers, by default of what the authors' code retrains: heads and the decoder's innermost layer."""
    return tuple(Transfer(source=run, dataset=CARS, **options) for run in vaes(FACES))


def judge_generic(table: pd.DataFrame) -> Verdict:
    """Judge that encoders differ no more across datasets than across objectives on one, and that decoders do.

    Panels come in pairs of datasets: models of one dataset first, those of two after it; the third is of the first
    pair, too. Seed by seed, two panels of a pair share the runs of one dataset.
    """
    encoder, decoder = _heatmaps.diagonal(table, "encoder"), _heatmaps.diagonal(table, "decoder")
    same = [0, 0, 0, 3, 3][: len(encoder)]
    parts = []
    for place in (place for place, first in enumerate(same) if place != first):
        one = same[place]
        if place != 2:  # whose encoder is that of the panel before, frozen
            parts.append(verdicts.compare([encoder.iloc[place] + SAME], [encoder.iloc[one]], paired=True))
        parts.append(verdicts.compare([decoder.iloc[one]], [decoder.iloc[place]], paired=True))
    return judged("CKA from the bound", parts, _heatmaps.numbers(encoder=encoder, decoder=decoder))


def _properties(images: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """Measure images in [0, 1], shape (n, H, W, C): brightness, and place and size of what is bright.

    The size is the number of pixels above half of the image's range.
    """
    grey = np.asarray(images, np.float64).mean(axis=-1)
    total = grey.sum(axis=(1, 2)) + 1e-12
    half = (grey.max(axis=(1, 2)) + grey.min(axis=(1, 2))) / 2
    rows, columns = (np.arange(side) for side in grey.shape[1:])
    return {
        "brightness": grey.mean(axis=(1, 2)),
        "x": (grey.sum(axis=1) * columns).sum(axis=1) / total,
        "y": (grey.sum(axis=2) * rows).sum(axis=1) / total,
        "size": (grey > half[:, None, None]).sum(axis=(1, 2)).astype(np.float64),
    }


def shared(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Reconstruct images of the target with VAEs of the source, and correlate properties of both over the images.

    Reconstructions are rounded to 8 bits: what nobody can see in them is not kept.
    """
    target = benchmark_data.load(settings["target"])
    images = target.images(protocol.task(target.id).test[: settings["images"]])
    before = _properties(scaled(images))
    rows = []
    shown: dict[str, NDArray[Any]] = {}
    for config in settings["runs"]:
        run = runs.open(config)
        decoded = run.decode(run.encode(images).mean).clip(0, 1)
        decoded = (decoded * 255).round() / np.float32(255)
        after = _properties(decoded)
        for name in settings["properties"]:
            slope = np.polyfit(before[name], after[name], 1)[0]
            rows.append((config.seed, name, _correlation(before[name], after[name]), slope, after[name].std()))
        first = settings["shown"]
        shown = shown or {"target": scaled(images[:first]), "in the source domain": decoded[:first]}
    return Found(pd.DataFrame(rows, columns=["seed", "property", "correlation", "slope", "spread"]), shown)


def _correlation(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return Spearman's correlation, 0 where one does not vary."""
    if min(np.ptp(before), np.ptp(after)) <= 1e-9:
        return 0.0
    return float(scipy.stats.spearmanr(before, after).statistic)


def _correlations(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the correlations, a row per property and a column per seed, and means over seeds by phrase."""
    found = table.pivot(index="property", columns="seed", values="correlation")
    means = table.groupby("property", sort=False)[["correlation", "slope", "spread"]].mean()
    words = {"correlation": "rank correlation", "slope": "slope", "spread": "standard deviation after"}
    numbers = {f"{words[key]} of {name}": float(means.loc[name, key]) for name in means.index for key in words}
    return found.loc[means.index], numbers


def judge_brightness(table: pd.DataFrame) -> Verdict:
    """Judge that brightness is shared: a correlation above `SHARED`, of reconstructions that visibly differ in it."""
    found, numbers = _correlations(table)
    part, note = _heatmaps.against(found.loc["brightness"], SHARED), ""
    if table["spread"].mean() < 1 / 255:
        part = part._replace(p=None, reached=0)
        note = "the brightness of reconstructions varies by less than one of 255 grey levels"
    return judged("rank correlation from the bound", [part], numbers, note)


def judge_places(table: pd.DataFrame) -> Verdict:
    """Judge that places are shared, by correlations above `SHARED`, and that size is less so, run by run."""
    found, numbers = _correlations(table)
    parts = [_heatmaps.against(found.loc[place], SHARED) for place in ("x", "y")]
    parts += [verdicts.compare([found.loc[place]], [found.loc["size"]], paired=True) for place in ("x", "y")]
    return judged("rank correlation", parts, numbers)


def retrained(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Take the reconstruction loss of transfers on images of their target that none was trained on, nats an image."""
    rows: list[tuple[bool, int, int, float]] = []
    task = protocol.task(settings["transfers"][0].dataset)
    config = runs.open(settings["transfers"][0]).config
    trained = training_rows(task.load(), config.train_share, config.split)
    unseen = task.indices[np.isin(task.indices, trained, invert=True)]
    images = task.load().images(unseen[: settings["images"]])
    first = images[: settings["shown"]]
    shown: dict[str, NDArray[Any]] = {"target": scaled(first)}
    for each in settings["transfers"]:
        run = runs.open(each)
        output = run.activations(images)["output"].reshape(images.shape)
        loss = reconstruction.find(run.config.reconstruction).loss(scaled(images), output)
        rows.append((each.heads, each.decoder, each.source.seed, float(np.mean(ops.convert_to_numpy(loss)))))
        if each.source.seed == 0:
            name = f"{each.decoder} of decoder{', heads' if each.heads else ''}\nloss {rows[-1][-1]:,.0f}"
            shown[name] = run.decode(run.encode(first).mean).clip(0, 1)
    return Found(pd.DataFrame(rows, columns=["heads", "layers", "seed", "loss"]), shown)


def _losses(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Any], dict[str, float]]:
    """Return the losses, a row per layers and heads and a column per seed; the counts of layers; means by phrase."""
    losses = table.pivot(index=["layers", "heads"], columns="seed", values="loss")
    means = losses.mean(axis=1).unstack()
    numbers = {
        f"loss, layers {count}, heads {'retrained' if with_heads else 'frozen'}": float(means.loc[count, with_heads])
        for with_heads in (False, True)
        for count in means.index
    }
    return losses, list(means.index), numbers


def judge_layers(table: pd.DataFrame) -> Verdict:
    """Judge that the loss falls with every further layer; transfers from one source are paired."""
    losses, layers, numbers = _losses(table)
    parts = [
        verdicts.compare([losses.loc[fewer, heads]], [losses.loc[more, heads]], paired=True)
        for heads in (False, True)
        for fewer, more in itertools.pairwise(layers)
    ]
    return judged("nats an image", parts, numbers)


def judge_heads(table: pd.DataFrame) -> Verdict:
    """Judge that retrained heads change the loss less than all layers do, however many layers are retrained."""
    losses, layers, numbers = _losses(table)
    parts = []
    for heads in (False, True):
        gained = losses.loc[layers[0], heads] - losses.loc[layers[-1], heads]
        for count in layers:
            by_heads = (losses.loc[count, True] - losses.loc[count, False]).abs()
            parts.append(verdicts.compare([gained], [by_heads], paired=True))
    return judged("nats an image", parts, numbers)


def _shared(source: str, target: str, *properties: str) -> dict[str, Any]:
    made = {}
    for tier, images in IMAGES.items():
        runs = vaes(source, tier)
        dataset = _tiers.dataset(tier, target)
        settings = {"target": dataset, "runs": runs, "images": images, "shown": 16, "properties": properties}
        settings["version"] = 2
        made[tier] = Plan(runs=runs, datasets=(dataset,), settings=settings)
    return made


def _decoders(side: str) -> dict[str, Any]:
    """Return plans that retrain more and more of the decoder; all of it is the same from either side."""
    made = {}
    for tier, images in IMAGES.items():
        runs = vaes(FACES, tier)
        transfers = tuple(
            transfer
            for heads in (False, True)
            for count in range(1, LAYERS + 1)
            for transfer in _tiers.of(
                tier,
                _retrained(heads=heads, decoder=count, side=side if count < LAYERS else "inside"),
            )
        )
        made[tier] = Plan(
            runs=runs,
            transfers=transfers,
            settings={"transfers": transfers, "images": images, "shown": 8},
        )
    return made


def _tables(pairs: Mapping[str, str], *, labels: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return plans of accuracies.

    Args:
        pairs: target -> source.
        labels: those that the study tier shows; all if none is named.
    """
    made = {}
    for tier in IMAGES:
        targets = {
            _tiers.dataset(tier, target): (*vaes(target, tier), *vaes(source, tier)) for target, source in pairs.items()
        }
        runs = tuple({run.digest: run for configs in targets.values() for run in configs}.values())
        made[tier] = Plan(
            runs=runs,
            settings={
                "targets": targets,
                "train": 10_000,
                "test": 5_000,
                "labels": labels if tier == "study" else (),
                "version": 2,
            },
        )
    return made


PAIRS = {SPRITES: SOLIDS, SOLIDS: SPRITES, FACES: CARS, CARS: FACES}
"""Target -> source, as table 1 has them."""

ATTRIBUTES = (
    "Attractive",
    "Blond_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Smiling",
    "Wavy_Hair",
    "Wearing_Lipstick",
)
"""Of CelebA, as table 4 has them."""

DOMAINS = [
    bonheme2022.ACROSS[0]._replace(title="cars3d alone, β-VAE and DIP-VAE II"),
    Panel("celeba and cars3d, on cars3d", Side(vaes(FACES)), Side(vaes(CARS))),
    Panel("celeba and cars3d, heads retrained", Side(_retrained()), Side(vaes(CARS))),
    bonheme2022.ACROSS[1]._replace(title="dsprites alone, β-VAE and DIP-VAE II"),
    Panel("symsol_reduced and dsprites, on dsprites", Side(vaes(SOLIDS)), Side(vaes(SPRITES))),
]

FIRST_PAPER = {1: 1, 2: 3, 4: 7, 10: 9, 11: 10, 12: 11, 13: 12, 15: 14, 16: 16, 17: 17, 18: 18, 19: 19, 20: 20}
"""Figures -> those of the authors' first paper that they show again."""

COLLAPSED = "Samples of a strongly regularised model are less similar to a weakly regularised encoder than vice versa."
_RETRAINED: dict[str, Any] = {
    "paper": "the more layers, the better; the heads make no difference",
    "claim": "Each further decoder layer that is retrained lowers the loss.",
    "compute": retrained,
    "draw": _images.draw,
    "judge": judge_layers,
    "second": Second("Retraining the heads changes the loss less than retraining all layers.", judge_heads, False),
}
_LABELS: dict[str, Any] = {"compute": _accuracy.accuracies, "draw": of_table(transfer_accuracy.draw)}

ENTRIES = (
    heatmap_entry(
        f"{PAPER}/fig3",
        "dark at the sampled representation of the collapsed model",
        COLLAPSED,
        bonheme2022.REGULARISED,
        _layers.judge_collapse,
    ),
    heatmap_entry(
        f"{PAPER}/fig5",
        "encoders as similar as on one dataset (figure 4), decoders far less, also with retrained heads",
        f"Encoders differ no more across datasets than across objectives (within {SAME}); decoders do.",
        DOMAINS,
        judge_generic,
    ),
    Entry(id=f"{PAPER}/fig6", **_decoders("inside"), **_RETRAINED),
    Entry(
        id=f"{PAPER}/fig7",
        paper="light cars become light faces",
        claim=f"Reconstructions by the source's decoder keep brightness (rank correlation above {SHARED}).",
        **_shared(FACES, CARS, "brightness"),
        compute=shared,
        draw=_images.draw,
        judge=judge_brightness,
    ),
    Entry(
        id=f"{PAPER}/fig8",
        paper="places are kept, sizes less consistently",
        claim=f"Sprites keep the order of their positions (rank correlation above {SHARED}), and of sizes less well.",
        **_shared(SOLIDS, SPRITES, "x", "y", "size"),
        compute=shared,
        draw=_images.draw,
        judge=judge_places,
    ),
    Entry(id=f"{PAPER}/fig9", **_decoders("outside"), **_RETRAINED),
    *(
        dataclasses.replace(entry, id=f"{PAPER}/fig{number}", same_as=entry.id)
        for number, entry in ((number, bonheme2022.entry(f"fig{before}")) for number, before in FIRST_PAPER.items())
    ),
    heatmap_entry(
        f"{PAPER}/fig14",
        "variance and sampled representations keep little similarity with the encoder's",
        f"Fully connected: {COLLAPSED[0].lower()}{COLLAPSED[1:]}",
        bonheme2022.REGULARISED_FC,
        _layers.judge_collapse,
    ),
    Entry(
        id=f"{PAPER}/table1",
        paper="target and source: dSprites 0.40 and 0.39, Symsol 1.0 and 0.99, CelebA 0.83 and 0.82, Cars3D 0.59 and "
        "0.42",
        claim=f"A transferred encoder loses accuracy on Cars3D, elsewhere less than {NEAR} (our bound for 'on par').",
        **_tables(PAIRS),
        compute=_accuracy.accuracies,
        draw=_accuracy.draw_averages,
        judge=_accuracy.judge_averages,
        second=Second(
            "On each target, labels are read better from a transferred encoder than from an untrained one.",
            functools.partial(_accuracy.judge_better, key="target", better=_accuracy.OTHER, worse=_accuracy.UNTRAINED),
        ),
    ),
    Entry(
        id=f"{PAPER}/table2",
        paper="Cars3D and CelebA: elevation 0.69 and 0.50, azimuth 0.73 and 0.60, object type 0.35 and 0.16",
        claim="Every label of Cars3D is predicted better from its own encoder than from the other.",
        **_tables({CARS: FACES}),
        **_LABELS,
        judge=functools.partial(_accuracy.judge_better, key="label", better=_accuracy.OWN, worse=_accuracy.OTHER),
    ),
    Entry(
        id=f"{PAPER}/table3",
        paper="dSprites and Symsol: shape 0.72 and 0.52, scale 0.53 and 0.48, orientation 0.11 and 0.05, x 0.31 and "
        "0.46, y 0.31 and 0.45",
        claim="With the other encoder shape loses most accuracy on dSprites, and both positions gain.",
        **_tables({SPRITES: SOLIDS}),
        **_LABELS,
        judge=_accuracy.judge_positions,
    ),
    Entry(
        id=f"{PAPER}/table4",
        paper="similar on most labels; each of eight attributes falls by 0.02 to 0.08 with the encoder of Cars3D, such "
        "as Male from 0.75 to 0.67",
        claim=f"Each listed label of CelebA loses less than {NEAR} accuracy with the encoder of Cars3D.",
        **_tables({FACES: CARS}, labels=ATTRIBUTES),
        **_LABELS,
        judge=_accuracy.judge_nearly_every_label,
    ),
)
