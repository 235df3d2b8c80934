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
from baselines.reproduction.entries import Entry, Outcome, Plan, Runs, Second, Transfer, Verdict, combine, from_table
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

LEAST_MOVE = 0.1
"""Standard deviation of positions, in pixels, below which reconstructions count as identical."""


LAYERS = 6
"""Number of a decoder's layers."""

IMAGES = {"desk": 2_000, "study": 5_000}
"""Tier -> number of reconstructed images."""


def vaes(dataset: str, tier: str = "study") -> tuple[RunConfig, ...]:
    """Return the plain VAEs of a published dataset, or of its stand-in."""
    return _tiers.at_tier(tier, models(dataset, "beta_vae", 1))


def _retrained_transfers(**options: Any) -> tuple[Transfer, ...]:
    """Return transfers; by default, as in the authors' code, heads and the decoder's innermost layer are retrained."""
    return tuple(Transfer(source=run, dataset=CARS, **options) for run in vaes(FACES))


def judge_generic(table: pd.DataFrame) -> Verdict:
    """Judge that encoders differ no more across datasets than across objectives on one, and that decoders do.

    Panels are in pairs of datasets: first models of one dataset, then those of two; the third belongs to the first
    pair, too. For each seed, two panels of a pair share the runs of one dataset.
    """
    encoder, decoder = _heatmaps.diagonal(table, "encoder"), _heatmaps.diagonal(table, "decoder")
    references = [0, 0, 0, 3, 3][: len(encoder)]
    comparisons, measures = [], []
    for panel in (panel for panel, own_reference in enumerate(references) if panel != own_reference):
        reference = references[panel]
        if panel != 2:  # its encoder is the frozen one of the previous panel
            comparisons.append(verdicts.compare([encoder.iloc[panel] + SAME], [encoder.iloc[reference]], paired=True))
            measures.append("CKA from the bound")
        comparisons.append(verdicts.compare([decoder.iloc[reference]], [decoder.iloc[panel]], paired=True))
        measures.append("CKA")
    return combine(measures, comparisons, _heatmaps.mean_numbers(encoder=encoder, decoder=decoder))


def _image_properties(images: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """Measure images in [0, 1], shape (n, H, W, C): brightness, and position and size of the bright part.

    The size is the number of pixels above half of the image's range.
    """
    grey = np.asarray(images, np.float64).mean(axis=-1)
    total = grey.sum(axis=(1, 2)) + 1e-12
    threshold = (grey.max(axis=(1, 2)) + grey.min(axis=(1, 2))) / 2
    rows, columns = (np.arange(size) for size in grey.shape[1:])
    return {
        "brightness": grey.mean(axis=(1, 2)),
        "x": (grey.sum(axis=1) * columns).sum(axis=1) / total,
        "y": (grey.sum(axis=2) * rows).sum(axis=1) / total,
        "size": (grey > threshold[:, None, None]).sum(axis=(1, 2)).astype(np.float64),
    }


def shared(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Reconstruct images of the target with VAEs of the source, and correlate properties of both over the images.

    Reconstructions are rounded to 8 bits, so that invisible differences are ignored.
    """
    target = benchmark_data.load(settings["target"])
    images = target.images(protocol.task(target.id).test[: settings["images"]])
    before = _image_properties(scaled(images))
    rows = []
    pictures: dict[str, NDArray[Any]] = {}
    for config in settings["runs"]:
        run = runs.open(config)
        decoded = run.decode(run.encode(images).mean).clip(0, 1)
        decoded = (decoded * 255).round() / np.float32(255)
        after = _image_properties(decoded)
        for name in settings["properties"]:
            slope = np.polyfit(before[name], after[name], 1)[0]
            rows.append((config.seed, name, _spearman(before[name], after[name]), slope, after[name].std()))
        n_shown = settings["shown"]
        pictures = pictures or {"target": scaled(images[:n_shown]), "in the source domain": decoded[:n_shown]}
    return Outcome(pd.DataFrame(rows, columns=["seed", "property", "correlation", "slope", "spread"]), pictures)


def _spearman(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return Spearman's correlation; 0 if one does not vary."""
    if min(np.ptp(before), np.ptp(after)) <= 1e-9:
        return 0.0
    return float(scipy.stats.spearmanr(before, after).statistic)


def _correlation_table(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the correlations, a row per property and a column per seed, and means over seeds by phrase."""
    correlations = table.pivot(index="property", columns="seed", values="correlation")
    means = table.groupby("property", sort=False)[["correlation", "slope", "spread"]].mean()
    phrases = {"correlation": "rank correlation", "slope": "slope", "spread": "standard deviation after"}
    numbers = {f"{phrases[key]} of {name}": float(means.loc[name, key]) for name in means.index for key in phrases}
    return correlations.loc[means.index], numbers


def judge_brightness(table: pd.DataFrame) -> Verdict:
    """Judge that brightness is shared: a correlation above `SHARED`, of reconstructions that visibly differ in it."""
    correlations, numbers = _correlation_table(table)
    comparison, note = _heatmaps.compare_with_bound(correlations.loc["brightness"], SHARED), ""
    if table["spread"].mean() < 1 / 255:
        comparison = comparison.untested()
        note = "the brightness of reconstructions varies by less than one of 255 grey levels"
    return combine("rank correlation from the bound", [comparison], numbers, note)


def judge_places(table: pd.DataFrame) -> Verdict:
    """Judge that positions are shared, by correlations above `SHARED`, and that size is less so, run by run.

    Identical reconstructions, in which nothing moves, have no positions to compare.
    """
    rhos, numbers = _correlation_table(table)
    comparisons = [_heatmaps.compare_with_bound(rhos.loc[axis], SHARED) for axis in ("x", "y")]
    comparisons += [verdicts.compare([rhos.loc[axis]], [rhos.loc["size"]], paired=True) for axis in ("x", "y")]
    note = ""
    if table[table["property"].isin(["x", "y"])]["spread"].mean() < LEAST_MOVE:
        comparisons = [comparison.untested() for comparison in comparisons]
        note = f"places in reconstructions vary by less than {LEAST_MOVE} pixels"
    measures = ["rank correlation from the bound"] * 2 + ["rank correlation"] * 2
    return combine(measures, comparisons, numbers, note)


def retrained(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Measure the reconstruction loss of transfers on held-out images of their target, in nats per image."""
    rows: list[tuple[bool, int, int, float]] = []
    task = protocol.task(settings["transfers"][0].dataset)
    config = runs.open(settings["transfers"][0]).config
    trained_rows = training_rows(task.load(), config.train_share, config.split)
    unseen_rows = task.indices[np.isin(task.indices, trained_rows, invert=True)]
    images = task.load().images(unseen_rows[: settings["images"]])
    shown_images = images[: settings["shown"]]
    pictures: dict[str, NDArray[Any]] = {"target": scaled(shown_images)}
    for transfer in settings["transfers"]:
        run = runs.open(transfer)
        output = run.activations(images)["output"].reshape(images.shape)
        loss = reconstruction.find(run.config.reconstruction).loss(scaled(images), output)
        rows.append(
            (transfer.heads, transfer.decoder, transfer.source.seed, float(np.mean(ops.convert_to_numpy(loss))))
        )
        if transfer.source.seed == 0:
            title = f"{transfer.decoder} of decoder{', heads' if transfer.heads else ''}\nloss {rows[-1][-1]:,.0f}"
            pictures[title] = run.decode(run.encode(shown_images).mean).clip(0, 1)
    return Outcome(pd.DataFrame(rows, columns=["heads", "layers", "seed", "loss"]), pictures)


def _loss_table(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Any], dict[str, float]]:
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
    """Judge that the loss decreases with every further layer; transfers from one source are paired."""
    losses, layers, numbers = _loss_table(table)
    comparisons = [
        verdicts.compare([losses.loc[fewer, heads]], [losses.loc[more, heads]], paired=True)
        for heads in (False, True)
        for fewer, more in itertools.pairwise(layers)
    ]
    return combine("nats an image", comparisons, numbers)


def judge_heads(table: pd.DataFrame) -> Verdict:
    """Judge that retrained heads change the loss less than all layers do, for each number of retrained layers."""
    losses, layers, numbers = _loss_table(table)
    comparisons = []
    for heads in (False, True):
        layer_gain = losses.loc[layers[0], heads] - losses.loc[layers[-1], heads]
        for count in layers:
            head_change = (losses.loc[count, True] - losses.loc[count, False]).abs()
            comparisons.append(verdicts.compare([layer_gain], [head_change], paired=True))
    return combine("nats an image", comparisons, numbers)


def _shared_plans(source: str, target: str, *properties: str) -> dict[str, Any]:
    plans = {}
    for tier, images in IMAGES.items():
        runs = vaes(source, tier)
        dataset = _tiers.data_at_tier(tier, target)
        settings = {"target": dataset, "runs": runs, "images": images, "shown": 16, "properties": properties}
        settings["version"] = 2
        plans[tier] = Plan(runs=runs, datasets=(dataset,), settings=settings)
    return plans


def _decoder_plans(side: str) -> dict[str, Any]:
    """Return plans that retrain more and more of the decoder; all of it is the same from either side."""
    plans = {}
    for tier, images in IMAGES.items():
        runs = vaes(FACES, tier)
        transfers = tuple(
            transfer
            for heads in (False, True)
            for count in range(1, LAYERS + 1)
            for transfer in _tiers.at_tier(
                tier,
                _retrained_transfers(heads=heads, decoder=count, side=side if count < LAYERS else "inside"),
            )
        )
        plans[tier] = Plan(
            runs=runs,
            transfers=transfers,
            settings={"transfers": transfers, "images": images, "shown": 8},
        )
    return plans


def _accuracy_plans(pairs: Mapping[str, str], *, labels: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return plans of accuracies.

    Args:
        pairs: target -> source.
        labels: those shown at study tier; all by default.
    """
    plans = {}
    for tier in IMAGES:
        configs_by_target = {
            _tiers.data_at_tier(tier, target): (*vaes(target, tier), *vaes(source, tier))
            for target, source in pairs.items()
        }
        runs = tuple({run.digest: run for configs in configs_by_target.values() for run in configs}.values())
        plans[tier] = Plan(
            runs=runs,
            settings={
                "targets": configs_by_target,
                "train": 10_000,
                "test": 5_000,
                "labels": labels if tier == "study" else (),
                "version": 2,
            },
        )
    return plans


PAIRS = {SPRITES: SOLIDS, SOLIDS: SPRITES, FACES: CARS, CARS: FACES}
"""Target -> source, as in table 1."""

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
"""Labels of CelebA, as in table 4."""

DOMAINS = [
    bonheme2022.ACROSS[0]._replace(title="cars3d alone, β-VAE and DIP-VAE II"),
    Panel("celeba and cars3d, on cars3d", Side(vaes(FACES)), Side(vaes(CARS))),
    Panel("celeba and cars3d, heads retrained", Side(_retrained_transfers()), Side(vaes(CARS))),
    bonheme2022.ACROSS[1]._replace(title="dsprites alone, β-VAE and DIP-VAE II"),
    Panel("symsol_reduced and dsprites, on dsprites", Side(vaes(SOLIDS)), Side(vaes(SPRITES))),
]

FIRST_PAPER = {1: 1, 2: 3, 4: 7, 10: 9, 11: 10, 12: 11, 13: 12, 15: 14, 16: 16, 17: 17, 18: 18, 19: 19, 20: 20}
"""Figures -> those of the authors' first paper that they repeat."""

COLLAPSED = "Samples of a strongly regularised model are less similar to a weakly regularised encoder than vice versa."
_RETRAINED_OPTIONS: dict[str, Any] = {
    "paper": "the more layers, the better; the heads make no difference",
    "claim": "Each further decoder layer that is retrained lowers the loss.",
    "compute": retrained,
    "draw": _images.draw,
    "judge": judge_layers,
    "second": Second("Retraining the heads changes the loss less than retraining all layers.", judge_heads, False),
}
_LABEL_OPTIONS: dict[str, Any] = {"compute": _accuracy.accuracies, "draw": from_table(transfer_accuracy.draw)}

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
    Entry(id=f"{PAPER}/fig6", **_decoder_plans("inside"), **_RETRAINED_OPTIONS),
    Entry(
        id=f"{PAPER}/fig7",
        paper="light cars become light faces",
        claim=f"Reconstructions by the source's decoder keep brightness (rank correlation above {SHARED}).",
        **_shared_plans(FACES, CARS, "brightness"),
        compute=shared,
        draw=_images.draw,
        judge=judge_brightness,
    ),
    Entry(
        id=f"{PAPER}/fig8",
        paper="places are kept, sizes less consistently",
        claim=f"Sprites keep the order of their positions (rank correlation above {SHARED}), and of sizes less well.",
        **_shared_plans(SOLIDS, SPRITES, "x", "y", "size"),
        compute=shared,
        draw=_images.draw,
        judge=judge_places,
    ),
    Entry(id=f"{PAPER}/fig9", **_decoder_plans("outside"), **_RETRAINED_OPTIONS),
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
        claim="A transferred encoder loses accuracy on Cars3D, elsewhere (CelebA by table 1 only) less than "
        f"{NEAR} (our bound).",
        **_accuracy_plans(PAIRS),
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
        **_accuracy_plans({CARS: FACES}),
        **_LABEL_OPTIONS,
        judge=functools.partial(_accuracy.judge_better, key="label", better=_accuracy.OWN, worse=_accuracy.OTHER),
    ),
    Entry(
        id=f"{PAPER}/table3",
        paper="dSprites and Symsol: shape 0.72 and 0.52, scale 0.53 and 0.48, orientation 0.11 and 0.05, x 0.31 and "
        "0.46, y 0.31 and 0.45",
        claim="With the other encoder shape loses most accuracy on dSprites, and both positions gain.",
        **_accuracy_plans({SPRITES: SOLIDS}),
        **_LABEL_OPTIONS,
        judge=_accuracy.judge_positions,
    ),
    Entry(
        id=f"{PAPER}/table4",
        paper="similar on most labels; each of eight attributes falls by 0.02 to 0.08 with the encoder of Cars3D, such "
        "as Male from 0.75 to 0.67",
        claim=f"Each listed label of CelebA loses less than {NEAR} accuracy with the encoder of Cars3D.",
        **_accuracy_plans({FACES: CARS}, labels=ATTRIBUTES),
        **_LABEL_OPTIONS,
        judge=_accuracy.judge_nearly_every_label,
        second=Second(
            "Each listed label is predicted better from CelebA's own encoder.",
            functools.partial(_accuracy.judge_better, key="label", better=_accuracy.OWN, worse=_accuracy.OTHER),
            control=False,
        ),
    ),
)
