"""Bonheme and Grzes, "How good are variational autoencoders at transfer learning?" (2023): will an encoder transfer?

Figures 1 to 4 check CKA against known facts, on the models of the authors' first paper (`bonheme2022`), whose runs they
share. They and figures 10 to 20, in the appendix, show that paper's figures again (`FIRST_PAPER`), but for figures 3
and 14, which are read in another way. The others transfer plain VAEs (β = 1) within two pairs: dSprites and
Symsol_reduced, Cars3D and CelebA. Figure 5 has the setting of the authors' code in its second panel: heads and
innermost layer of the decoder start anew.

The paper does not say which classifier its tables have; the claims here are judged by gradient-boosted trees, which the
authors' code has by default, and logistic regression stands beside them. They learn from the first rows of the
leaderboard's task and are tested on its held-out rows: 10,000 and 5,000, at smoke tier 1,000 and 1,000.

Below study tier sprites2d and solids, room3d and xyobject are the pairs; xyobject has no faces, but an object whose
place, size and colour vary. At smoke tier 1, 2 or all 4 layers of decoders are retrained, at the others 1 to 6.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from pathlib import Path
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
from baselines.reproduction.entries import Entry, Found, Plan, Runs, Transfer, Verdict, judged, of_table
from baselines.reproduction.papers import _heatmaps, _images, _scores, _tiers, bonheme2022
from baselines.reproduction.papers._heatmaps import Panel, Side
from baselines.reproduction.papers.bonheme2022 import CARS, SAME, SPRITES, heatmap_entry, models
from baselines.training.batches import training_rows
from benchmark_data import files
from leaderboard import protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.store import verdicts

PAPER = "2304.10767"

FACES = "celeba/64_bicubic_padded"

SOLIDS = "symsol_reduced/published"

SHARED = 0.5
"""Rank correlation above which a property of the images counts as shared."""

NEAR = 0.1
"""A loss of accuracy below which an encoder is called on par: more than any that the paper calls so (table 4)."""

OWN, OTHER = "trained on the target", "trained on the source"


def vaes(dataset: str, tier: str = "study") -> tuple[RunConfig, ...]:
    """Return the plain VAEs of a published dataset, or of what stands in for it."""
    return _tiers.of(tier, models(dataset, "beta_vae", 1))


def _retrained(source: str, target: str, **options: Any) -> tuple[Transfer, ...]:
    """Return transfers, by default of what the authors' code retrains: heads and the decoder's innermost layer."""
    return tuple(Transfer(source=run, dataset=target, **options) for run in vaes(source))


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
        parts.append(verdicts.compare([encoder.iloc[place] + SAME], [encoder.iloc[one]], paired=True))
        parts.append(verdicts.compare([decoder.iloc[one]], [decoder.iloc[place]], paired=True))
    numbers = {
        f"{panel}, {network}": float(means.loc[panel].mean())
        for panel in encoder.index
        for network, means in (("encoder", encoder), ("decoder", decoder))
    }
    return judged("CKA", parts, numbers)


def _properties(images: NDArray[np.float32]) -> dict[str, NDArray[np.float64]]:
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
    """Reconstruct images of the target with VAEs of the source, and correlate properties of both over the images."""
    target = benchmark_data.load(settings["target"])
    images = target.images(protocol.task(target.id).test[: settings["images"]])
    before = _properties(scaled(images))
    rows = []
    shown: dict[str, NDArray[Any]] = {}
    for config in settings["runs"]:
        run = runs.open(config)
        decoded = run.decode(run.encode(images).mean).clip(0, 1)
        after = _properties(decoded)
        rows += [(config.seed, name, _correlation(before[name], after[name])) for name in settings["properties"]]
        first = settings["shown"]
        shown = shown or {"target": scaled(images[:first]), "in the source domain": decoded[:first]}
    return Found(pd.DataFrame(rows, columns=["seed", "property", "correlation"]), shown)


def _correlation(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return Spearman's correlation, 0 where one does not vary."""
    if min(np.ptp(before), np.ptp(after)) <= 1e-9:
        return 0.0
    return float(scipy.stats.spearmanr(before, after).statistic)


def draw_shared(found: Found, path: Path) -> None:
    """Draw the target's images, each beside its reconstruction."""
    targets, reconstructions = found.images.values()
    transfer_accuracy.draw_shared(targets, reconstructions, path)


def _correlations(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the correlations, a row per property and a column per seed, and their means by phrase."""
    found = table.pivot(index="property", columns="seed", values="correlation")
    found = found.loc[table["property"].unique()]
    return found, {f"rank correlation of {name}": float(found.loc[name].mean()) for name in found.index}


def judge_brightness(table: pd.DataFrame) -> Verdict:
    """Judge that brightness is shared: a correlation above `SHARED`."""
    found, numbers = _correlations(table)
    return judged("rank correlation, above the bound", [_heatmaps.against(found.loc["brightness"], SHARED)], numbers)


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


def judge_retrained(table: pd.DataFrame) -> Verdict:
    """Judge that the loss falls with every further layer, and that retrained heads change it less than layers do.

    Transfers from one source are paired.
    """
    losses = table.pivot(index=["layers", "heads"], columns="seed", values="loss")
    layers = list(dict.fromkeys(losses.index.get_level_values("layers")))
    parts = []
    for heads in (False, True):
        for fewer, more in itertools.pairwise(layers):
            parts.append(verdicts.compare([losses.loc[fewer, heads]], [losses.loc[more, heads]], paired=True))
        gained = losses.loc[layers[0], heads] - losses.loc[layers[-1], heads]
        for count in layers:
            by_heads = (losses.loc[count, True] - losses.loc[count, False]).abs()
            parts.append(verdicts.compare([gained], [by_heads], paired=True))
    means = losses.mean(axis=1).unstack()
    numbers = {
        f"loss, layers {count}, heads {'retrained' if with_heads else 'frozen'}": float(means.loc[count, with_heads])
        for with_heads in (False, True)
        for count in means.index
    }
    return judged(
        "nats an image",
        parts,
        numbers | {"largest difference by heads": float((means[True] - means[False]).abs().max())},
    )


def accuracy(runs: Runs, config: RunConfig, target: str, train: int, test: int) -> pd.DataFrame:
    """Measure how well classifiers read each label of a target from a run's codes, or read what was measured before.

    Args:
        runs: where the run is.
        config: its config.
        target: the dataset that is encoded.
        train: how many of the task's rows the classifiers learn from.
        test: how many of its held-out rows they are tested on.

    Returns:
        As `leaderboard.analyses.transfer_accuracy.measure` gives it; ``source`` is the dataset that the run was trained
        on.
    """
    task = protocol.task(target)
    name = f"{config.digest}_{target.replace('/', '-')}_{task.version}_{train}_{test}.json"
    path = runs.root / "accuracies" / name
    if not path.exists():
        places = np.r_[:train, len(task.train) : len(task.train) + test]
        codes = runs.open(config).encode_rows(task.indices[places], task.load())
        held_out = np.arange(len(places)) >= train
        table = transfer_accuracy.measure({config.dataset: codes}, task.labels()[places], task.scored, test=held_out)
        files.write_json(path, table.to_dict("records"))
    held: Any = files.read_json(path)
    return pd.DataFrame(held)


def accuracies(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure accuracies: a row per target, encoder, seed, classifier and label."""
    tables = [
        accuracy(runs, config, target, settings["train"], settings["test"]).assign(target=target, seed=config.seed)
        for target, configs in settings["targets"].items()
        for config in configs
    ]
    table = pd.concat(tables, ignore_index=True)
    if settings["labels"]:
        table = table[table["label"].isin(settings["labels"])]
    columns = ["target", "source", "seed", "classifier", "label"]
    return Found(table.drop_duplicates(columns)[[*columns, "train", "test", "unseen"]].reset_index(drop=True))


def _encoder(table: pd.DataFrame) -> pd.Series[str]:
    """Say whose codes each row has: the target's own encoder's, the other one's, or none."""
    names = [
        transfer_accuracy.MAJORITY if source == transfer_accuracy.MAJORITY else OWN if source == target else OTHER
        for source, target in zip(table["source"], table["target"], strict=True)
    ]
    return pd.Series(names, table.index)


def draw_averages(found: Found, path: Path) -> None:
    """Draw accuracies averaged over labels: a panel per classifier, a group of bars per target."""
    table = found.table.assign(encoder=_encoder(found.table))
    keys = ["target", "encoder", "seed"]
    wide = table.groupby([*keys, "classifier"], sort=False)["test"].mean().unstack()
    for classifier in transfer_accuracy.CLASSIFIERS:
        wide[classifier] = wide[classifier].fillna(wide["constant"])
    wide = wide.rename(columns=transfer_accuracy.TITLES).reset_index()
    wide = wide.sort_values(
        "encoder", key=lambda names: names.map([OWN, OTHER, transfer_accuracy.MAJORITY].index), kind="stable"
    )
    titles = tuple(transfer_accuracy.TITLES[classifier] for classifier in transfer_accuracy.CLASSIFIERS)
    _scores.draw_bars(wide, path, x="target", group="encoder", scores=titles)


def _trees(table: pd.DataFrame, key: str) -> tuple[pd.DataFrame, dict[str, float]]:
    """Average the accuracy of boosted trees on held-out rows.

    Returns:
        A row per key and encoder, a column per seed, and the means by phrase.
    """
    chosen = table[table["classifier"].isin(["gbt", "constant"])]
    chosen = chosen.assign(encoder=_encoder(chosen))
    found = chosen.groupby([key, "encoder", "seed"], sort=False)["test"].mean().unstack()
    names = [f"{name}, {encoder}" for name, encoder in found.index]
    return found, dict(zip(names, found.mean(axis=1).tolist(), strict=True))


def _keys(found: pd.DataFrame) -> list[Any]:
    return list(dict.fromkeys(found.index.get_level_values(0)))


def _seeds(found: pd.DataFrame, key: Any, encoder: str) -> NDArray[np.float64]:
    return np.asarray(found.loc[(key, encoder)].dropna(), np.float64)


def judge_averages(table: pd.DataFrame) -> Verdict:
    """Judge that on the last target its own encoder is better than the other, on those before it by less than `NEAR`.

    On each target the other encoder must be better than the largest class.
    """
    found, numbers = _trees(table, "target")
    targets = _keys(found)
    parts = []
    for target in targets:
        own, other = (_seeds(found, target, encoder) for encoder in (OWN, OTHER))
        parts.append(verdicts.compare([own], [other]) if target == targets[-1] else _nearly(other, own))
        parts.append(_heatmaps.against(other, float(_seeds(found, target, transfer_accuracy.MAJORITY).mean())))
    return judged("accuracy", parts, numbers)


def judge_nearly_every_label(table: pd.DataFrame) -> Verdict:
    """Judge that each label is read from codes of the other encoder nearly as well as from the target's own."""
    found, numbers = _trees(table, "label")
    return judged(
        "accuracy, within the bound",
        [_nearly(*(_seeds(found, label, one) for one in (OTHER, OWN))) for label in _keys(found)],
        numbers,
    )


def _nearly(other: NDArray[np.float64], own: NDArray[np.float64]) -> verdicts.Comparison:
    """Compare accuracies of which the first are said to be less than `NEAR` below the second."""
    return verdicts.compare([other + NEAR], [own])


def judge_every_label(table: pd.DataFrame) -> Verdict:
    """Judge that every label is read better from codes of the target's own encoder."""
    found, numbers = _trees(table, "label")
    parts = [verdicts.compare([_seeds(found, label, OWN)], [_seeds(found, label, OTHER)]) for label in _keys(found)]
    return judged("accuracy", parts, numbers)


def judge_positions(table: pd.DataFrame) -> Verdict:
    """Judge that shape loses by the other encoder, more than each other label, and that both positions gain."""
    found, numbers = _trees(table, "label")
    own, other = ({label: _seeds(found, label, encoder) for label in _keys(found)} for encoder in (OWN, OTHER))
    parts = [verdicts.compare([own["shape"]], [other["shape"]])]
    parts += [verdicts.compare([other[label]], [own[label]]) for label in ("posX", "posY")]
    parts += [
        verdicts.compare([own["shape"] - own[label]], [other["shape"] - other[label]])
        for label in own
        if label != "shape"
    ]
    return judged("accuracy", parts, numbers)


def _shared(source: str, target: str, *properties: str) -> dict[str, Any]:
    made = {}
    for tier, images, seconds in (("smoke", 500, 10.0), ("desk", 2_000, 60.0), ("study", 5_000, 600.0)):
        runs = vaes(source, tier)
        dataset = _tiers.dataset(tier, target)
        settings = {"target": dataset, "runs": runs, "images": images, "shown": 16, "properties": properties}
        made[tier] = Plan(runs=runs, datasets=(dataset,), settings=settings, seconds=seconds)
    return made


def _decoders(side: str) -> dict[str, Any]:
    """Return plans that retrain more and more of the decoder; all of it is the same from either side."""
    made = {}
    for tier, layers, images, seconds in (
        ("smoke", (1, 2, 4), 500, 1.0),
        ("desk", (1, 2, 3, 4, 5, 6), 2_000, 5.0),
        ("study", (1, 2, 3, 4, 5, 6), 5_000, 600.0),
    ):
        runs = vaes(FACES, tier)
        transfers = tuple(
            transfer
            for heads in (False, True)
            for count in layers
            for transfer in _tiers.of(
                tier,
                _retrained(FACES, CARS, heads=heads, decoder=count, side=side if count < layers[-1] else "inside"),
            )
        )
        made[tier] = Plan(
            runs=runs,
            transfers=transfers,
            settings={"transfers": transfers, "images": images, "shown": 8},
            seconds=seconds * len(transfers),
        )
    return made


def _tables(pairs: Mapping[str, str], *, labels: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return plans of accuracies.

    Args:
        pairs: target -> source.
        labels: those that the study tier shows; all if none is named.
    """
    made = {}
    for tier, train, test, seconds in (
        ("smoke", 1_000, 1_000, 10.0),
        ("desk", 10_000, 5_000, 300.0),
        ("study", 10_000, 5_000, 1_200.0),
    ):
        targets = {
            _tiers.dataset(tier, target): (*vaes(target, tier), *vaes(source, tier)) for target, source in pairs.items()
        }
        runs = tuple({run.digest: run for configs in targets.values() for run in configs}.values())
        made[tier] = Plan(
            runs=runs,
            settings={
                "targets": targets,
                "train": train,
                "test": test,
                "labels": labels if tier == "study" else (),
            },
            seconds=seconds * sum(map(len, targets.values())),
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
    Panel("celeba and cars3d, heads retrained", Side(_retrained(FACES, CARS)), Side(vaes(CARS))),
    bonheme2022.ACROSS[1]._replace(title="dsprites alone, β-VAE and DIP-VAE II"),
    Panel("symsol_reduced and dsprites, on dsprites", Side(vaes(SOLIDS)), Side(vaes(SPRITES))),
]

FIRST_PAPER = {1: 1, 2: 3, 4: 7, 10: 9, 11: 10, 12: 11, 13: 12, 15: 14, 16: 16, 17: 17, 18: 18, 19: 19, 20: 20}
"""Figures -> those of the authors' first paper that they show again."""

COLLAPSED = (
    "The sampled representation of a strongly regularised model is less like the encoder of a weakly regularised one "
    "than the other way round."
)
_MORE = (
    "The more layers of the decoder are retrained, the lower the loss; retraining the heads changes it less than "
    "retraining the layers does."
)

ENTRIES = (
    heatmap_entry(
        f"{PAPER}/fig3",
        "CKA of layers, weak and strong regularisation",
        "dark at the sampled representation of the collapsed model",
        COLLAPSED,
        bonheme2022.REGULARISED,
        bonheme2022.judge_collapse,
    ),
    heatmap_entry(
        f"{PAPER}/fig5",
        "CKA of layers, source-trained and target-trained models",
        "encoders as similar as on one dataset (figure 4), decoders far less, also with retrained heads",
        f"Encoder layers differ no more across datasets than across objectives on one (within {SAME}), decoder layers "
        "do.",
        DOMAINS,
        judge_generic,
    ),
    Entry(
        id=f"{PAPER}/fig6",
        title="Reconstructions with more and more of the decoder retrained, from the inside",
        paper="the more layers, the better; the heads make no difference",
        claim=_MORE,
        **_decoders("inside"),
        compute=retrained,
        draw=_images.draw,
        judge=judge_retrained,
    ),
    Entry(
        id=f"{PAPER}/fig7",
        title="Cars as a VAE of faces reconstructs them",
        paper="light cars become light faces",
        claim="Light images are reconstructed as light images of the source, dark ones as dark ones (rank correlation "
        f"of brightness above {SHARED}).",
        **_shared(FACES, CARS, "brightness"),
        compute=shared,
        draw=draw_shared,
        judge=judge_brightness,
    ),
    Entry(
        id=f"{PAPER}/fig8",
        title="Sprites as a VAE of solids reconstructs them",
        paper="places are kept, sizes less consistently",
        claim=f"Sprites are reconstructed where they are (rank correlation of x and y above {SHARED}), and their size "
        "is kept less well.",
        **_shared(SOLIDS, SPRITES, "x", "y", "size"),
        compute=shared,
        draw=draw_shared,
        judge=judge_places,
    ),
    Entry(
        id=f"{PAPER}/fig9",
        title="Reconstructions with more and more of the decoder retrained, from the outside",
        paper="the more layers, the better; the heads make no difference",
        claim=_MORE,
        **_decoders("outside"),
        compute=retrained,
        draw=_images.draw,
        judge=judge_retrained,
    ),
    *(
        dataclasses.replace(entry, id=f"{PAPER}/fig{number}", same_as=entry.id)
        for number, entry in ((number, bonheme2022.entry(f"fig{before}")) for number, before in FIRST_PAPER.items())
    ),
    heatmap_entry(
        f"{PAPER}/fig14",
        "Fully connected: CKA of layers, weak and strong regularisation",
        "variance and sampled representations keep little similarity with the encoder's",
        COLLAPSED,
        bonheme2022.REGULARISED_FC,
        bonheme2022.judge_collapse,
    ),
    Entry(
        id=f"{PAPER}/table1",
        title="Accuracy on target and source codes, averaged over labels",
        paper="target and source: dSprites 0.40 and 0.39, Symsol 1.0 and 0.99, CelebA 0.83 and 0.82, Cars3D 0.59 and "
        "0.42",
        claim=f"The other dataset's encoder is less than {NEAR} below the target's own, but on Cars3D, where it is "
        "lower, and above the most frequent class.",
        **_tables(PAIRS),
        compute=accuracies,
        draw=draw_averages,
        judge=judge_averages,
    ),
    Entry(
        id=f"{PAPER}/table2",
        title="Accuracy by label, Cars3D",
        paper="Cars3D and CelebA: elevation 0.69 and 0.50, azimuth 0.73 and 0.60, object type 0.35 and 0.16",
        claim="Every label of Cars3D is read better from codes of its own encoder than from those of the other.",
        **_tables({CARS: FACES}),
        compute=accuracies,
        draw=of_table(transfer_accuracy.draw),
        judge=judge_every_label,
    ),
    Entry(
        id=f"{PAPER}/table3",
        title="Accuracy by label, dSprites",
        paper="dSprites and Symsol: shape 0.72 and 0.52, scale 0.53 and 0.48, orientation 0.11 and 0.05, x 0.31 and "
        "0.46, y 0.31 and 0.45",
        claim="Of the labels of dSprites, shape loses most with the other encoder, and both positions gain.",
        **_tables({SPRITES: SOLIDS}),
        compute=accuracies,
        draw=of_table(transfer_accuracy.draw),
        judge=judge_positions,
    ),
    Entry(
        id=f"{PAPER}/table4",
        title="Accuracy by label, CelebA",
        paper="similar on most labels; each of eight attributes falls by 0.02 to 0.08 with the encoder of Cars3D, such "
        "as Male from 0.75 to 0.67",
        claim=f"Every label of CelebA is read from codes of the encoder of Cars3D less than {NEAR} worse than from "
        "those of its own.",
        **_tables({FACES: CARS}, labels=ATTRIBUTES),
        compute=accuracies,
        draw=of_table(transfer_accuracy.draw),
        judge=judge_nearly_every_label,
    ),
)
