"""Every figure and table of the papers: its plans can be run, its claim can fail, and its picture is drawn."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import re
import shutil
import types
from pathlib import Path

import numpy as np
import pandas as pd
import PIL.Image
import pytest
import rich.console
from typer.testing import CliRunner

import benchmark_data
from baselines import train
from baselines.commands import study as cli
from baselines.nets import reconstruction
from baselines.objectives import Posterior
from baselines.reproduction import catalogue, entries, pages, records, runner
from baselines.reproduction.entries import Outcome
from baselines.reproduction.papers import (
    _accuracy,
    _changed,
    _heatmaps,
    _hidden,
    _importance,
    _layers,
    _perceived,
    _plane,
    _scores,
    _tiers,
    bonheme2022,
    bonheme2023,
    michlo2023,
    zietlow2021,
)
from baselines.sweeps import _forms, _michlo2023
from baselines.training import sweep
from baselines.training.batches import training_rows
from benchmark_data import console
from benchmark_data.errors import InvalidInput
from benchmark_data.variants import perturbation
from leaderboard import figures, protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.store import verdicts

COMMITTED = Path(__file__).parents[3] / "docs" / "reproduction"
ENTRIES = catalogue.entries()
every = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
TIERS = [(entry, tier) for entry in ENTRIES.values() for tier in entry.tiers]
every_tier = pytest.mark.parametrize(("entry", "tier"), TIERS, ids=[f"{entry.id} {tier}" for entry, tier in TIERS])


SEEDS = range(5)


def spread(frame, *columns):
    """Return every row to five seeds, the named columns a little apart: ``of`` says in which rows alike."""
    parts = []
    for seed in SEEDS:
        part = frame.assign(seed=seed)
        for column in columns:
            part[column] = part[column] + 0.002 * (((seed + np.arange(len(part))) * 7) % 5 - 2)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def heat(*panels, shares=None):
    """Similarities of panels (encoder, decoder, their sampled with our encoder, our sampled with their encoder)."""
    names = ["encoder_1", "mean", "variance", "sampled", "decoder_1"]
    rows = []
    for number, (encoder, decoder, *others) in enumerate(panels):
        values = np.full((5, 5), 0.5)
        values[0, 0], values[4, 4] = encoder, decoder
        if len(others) == 2:
            values[0, 3], values[3, 0] = others
        values[1, 1] = values[2, 2] = values[3, 3] = others[0] if len(others) == 1 else 0.5
        share = 1.0 if shares is None else shares[number]
        rows += [
            (f"p{number}", "m", share, x, y, values[i, j]) for i, x in enumerate(names) for j, y in enumerate(names)
        ]
    columns = ["panel", "model", "share", "layer_x", "layer_y", "similarity"]
    return spread(pd.DataFrame(rows, columns=columns), "similarity")


def course(*panels):
    """Similarities with the final state before training, after a fortieth and after half of it."""
    return heat(*panels, shares=(0.0, 0.025, 0.5))


def shared(zero):
    rows = [
        (n, 0, metric, share or (zero if metric == "Procrustes" else 0.05), share)
        for n in (50, 5_000)
        for metric in ("CKA", "Procrustes")
        for share in (0.8, 0.5, 0.0)
    ]
    return pd.DataFrame(rows, columns=["samples", "repeat", "metric", "similarity", "share"])


def distances(near, far, dataset="d"):
    pairs = [(0, 0, 0, 0), (0, 1, 1, near), (0, 2, 2, far), (1, 0, 1, near), (1, 1, 0, 0), (1, 2, 1, near)]
    pairs += [(2, 0, 2, far), (2, 1, 1, near), (2, 2, 0, 0)]
    table = pd.DataFrame(pairs, columns=["first", "second", "ground_truth", "perceived"]).astype(float)
    return table.assign(dataset=dataset, factor="f")


def both(*tables):
    return pd.concat(tables, ignore_index=True)


SCORES = ("mig", "dci_disentanglement", "pca_mig", "pca_dci_disentanglement")


def spaced(near, far):
    rows = [("beta_vae", s, score, score, 0.05, 0.05) for s, score in ((1, near), (4, (near + far) / 2), (8, far))]
    return spread(pd.DataFrame(rows, columns=["objective", "spacing", *SCORES]), "mig", "dci_disentanglement")


def apart(others, squares):
    rows = [(name, "beta_vae", score, score) for name, score in (("d", others), ("xysquares/spacing_8", squares))]
    rows += [(name, "ada_gvae", score / 2, score / 2) for name, _, score, _ in rows]
    rows = [(*row, 0.05, 0.05) for row in rows]
    return spread(pd.DataFrame(rows, columns=["dataset", "objective", *SCORES]), "mig", "dci_disentanglement")


def at_levels(near, *, losses=("mse",)):
    """Distances that grow with the factor; those of the means do so from ``near`` on, and with the first loss alone."""
    place = np.arange(4.0)
    steps = np.abs(place[:, None] - place)
    first, second = np.indices(steps.shape).reshape(2, -1)
    tables = []
    for loss in losses:
        for level in ("ground truth", "input", "mean", "KL", "reconstruction"):
            found = steps if loss == losses[0] or level == "ground truth" else np.ones_like(steps)
            if level == "mean":
                found = np.where(steps == 1, near, found)
            values = {"level": level, "first": first, "second": second, "distance": found.ravel()}
            tables += [pd.DataFrame(values).assign(factor="f", reconstruction=loss, seed=seed) for seed in SEEDS]
    return pd.concat(tables, ignore_index=True)


def losses(plain, blurred):
    rows = [("beta_vae", "mse", plain, plain), ("beta_vae", "box_blur", blurred, blurred)]
    columns = ["objective", "reconstruction", "mig", "dci_disentanglement"]
    return spread(pd.DataFrame(rows, columns=columns), "mig", "dci_disentanglement")


def latent(mig):
    return pd.DataFrame({"latent": [0, 1], "change": [0.1, 0.0], "path": 0.1, "kl": [1.0, 0.0], "mig": mig})


def migs(original, changed, tuned=0.0, *, squeezed=None):
    """MIG on original, squeezed and changed data, and with twice the strength on changed data."""
    control = original if squeezed is None else squeezed
    rows = [("original", 1.0, original), ("squeezed", 1.0, control), ("changed", 1.0, changed), ("changed", 2.0, tuned)]
    table = pd.DataFrame(rows, columns=["variant", "scale", "mig"]).assign(
        dataset="b_other/form", base="b", objective="beta_vae", pca_mig=0.05
    )
    return spread(table, "mig")


def pruned(active):
    """MIG that recovers with twice the strength, where so many of five units are active."""
    table = migs(0.5, 0.1, 0.6)
    return table.assign(active=np.where(table["scale"] == 2, active, 5), factors=5)


def courses(**gains):
    """What is known of factors, the more important first, before training and after 50, 100 and 200 steps."""
    rows = [
        (step, name, float(rank), 0.02 * rank + gain)
        for rank, (name, course) in enumerate(gains.items(), 1)
        for step, gain in zip((0, 50, 100, 200), (0.0, *course), strict=True)
    ]
    table = pd.DataFrame(rows, columns=["step", "factor", "rank", "share"]).assign(dataset="d", importance=0.1)
    return spread(table, "share")


def changes(largest):
    return pd.DataFrame({"dataset": ["d"], "row": [0], "epsilon": [0.1], "mean_change": 0.1, "largest_change": largest})


def hidden(overall):
    """s leads locally from 0.1 on; ``overall`` says from when on globally."""
    rows = [
        (factor, quantity, value, epsilon)
        for epsilon in (0.0, 0.1, 0.2)
        for quantity, slope in (("expansiveness", 20), ("global_variance", overall))
        for factor, value in (("posX", 1.0), ("s", slope * epsilon))
    ]
    return pd.DataFrame(rows, columns=["factor", "quantity", "value", "epsilon"])


def noisy(weak, strong):
    """Noise of the latent of s at a strength of 0.025 and of 0.1, beside 0.2 of a factor and 0.4 of another one."""
    rows = [
        (factor, quantity, value, epsilon)
        for epsilon, s in ((0.025, weak), (0.1, strong))
        for factor, noise in (("posX", 0.2), ("shape", 0.4), ("s", s))
        for quantity, value in (("noise", noise), ("share", 1 - noise))
    ]
    return spread(pd.DataFrame(rows, columns=["factor", "quantity", "value", "epsilon"]), "value")


def plane(linear, fc):
    """Angles to the principal axes of two models."""
    rows = [(model, x, x, angle) for model, angle in (("linear", linear), ("fc", fc)) for x in range(3)]
    table = pd.DataFrame(rows, columns=["model", "x", "y", "angle"]).assign(z1=0.5, z2=-0.5)
    return spread(table, "angle")


def gained(first, second):
    """What is known before training and after two snapshots of three factors; the first two are told to gain that."""
    rows = [
        (step, name, rank, 0.1 + (gain if step else 0.0))
        for step in (0, 50, 100)
        for name, rank, gain in (("posX", 1.5, first), ("posY", 1.5, first), ("shape", 3.0, second))
    ]
    table = pd.DataFrame(rows, columns=["step", "factor", "rank", "share"]).assign(dataset="d", importance=0.1)
    return spread(table, "share")


def drift(high):
    rows = [
        (strength, step, other, 0.9 if strength == 1 else high)
        for strength in (1, 8)
        for step in (10, 20)
        for other in ("mean", "input")
    ]
    return spread(pd.DataFrame(rows, columns=["strength", "step", "with", "similarity"]), "similarity")


def falling(least, most, *, late=1):
    """Losses that fall from 100 to the given ones, the most regularised model's at step ``late``."""
    rows = [
        ("d", "beta_vae", strength, 0, step, 100.0 if step < begin else end)
        for strength, end, begin in (("least", least, 1), ("most", most, late))
        for step in range(11)
    ]
    return pd.DataFrame(rows, columns=["dataset", "objective", "regularised", "seed", "step", "loss"])


def against(high):
    """Similarities with the input of a layer that only flattens it, and of one that learns, at two strengths."""
    rows = [
        (layer, metric, 1.0 if layer == "encoder_1" else 0.9 if group == "low" else high, group, step)
        for layer in ("encoder_1", "encoder_2")
        for metric in ("CKA", "Procrustes")
        for group in ("low", "high")
        for step in (10, 20)
    ]
    table = spread(pd.DataFrame(rows, columns=["layer", "metric", "similarity", "group", "step"]), "similarity")
    return table.assign(similarity=table["similarity"].where(table["layer"] == "encoder_2", 1.0))


def correlations(**values):
    table = spread(pd.DataFrame(values.items(), columns=["property", "correlation"]), "correlation")
    return table.assign(slope=1.0, spread=0.2)


def retrained(frozen, heads):
    rows = [
        (with_heads, layers, loss)
        for with_heads, values in ((False, frozen), (True, heads))
        for layers, loss in zip((1, 2, 4), values, strict=True)
    ]
    return spread(pd.DataFrame(rows, columns=["heads", "layers", "loss"]), "loss")


def accuracies(own, other, largest=0.1, labels=("shape", "posX", "posY"), untrained=0.2):
    rows = [
        ("d", source, classifier, label, 1.0, test, 0.0)
        for source, values in (
            *(("d", own), ("e", other), (_accuracy.UNTRAINED, [untrained] * len(labels))),
            (transfer_accuracy.MAJORITY, [largest] * len(labels)),
        )
        for classifier in (("constant",) if source == transfer_accuracy.MAJORITY else ("gbt", "logistic"))
        for label, test in zip(labels, values, strict=True)
    ]
    columns = ["target", "source", "classifier", "label", "train", "test", "unseen"]
    return spread(pd.DataFrame(rows, columns=columns), "test")


def on_target(own, other, target):
    table = accuracies([own] * 3, [other] * 3)
    sources = table["source"].map({"d": target, "e": "another"}).fillna(table["source"])
    return table.assign(target=target, source=sources)


GENERIC = ((0.9, 0.8), (0.85, 0.3), (0.95, 0.7), (0.5, 0.6), (0.45, 0.2))

CASES = {
    _heatmaps.judge_encoder_above: (heat((0.9, 0.5)), heat((0.9, 0.5), (0.5, 0.9))),
    _heatmaps.judge_encoders_alike: (heat((0.82, 0.1)), heat((0.9, 0.1), (0.7, 0.1))),
    _heatmaps.judge_encoders_matched: (heat((0.82, 0.1)), heat((0.9, 0.1), (0.7, 0.1))),
    (_heatmaps.judge_falls, ("decoder",)): (heat((0.5, 0.9), (0.5, 0.4)), heat((0.5, 0.4), (0.5, 0.9))),
    (_heatmaps.judge_falls, _heatmaps.BETWEEN): (
        heat((0.5, 0.4, 0.9), (0.5, 0.9, 0.4)),
        heat((0.5, 0.9, 0.4), (0.5, 0.4, 0.9)),
    ),
    # From 0.7 to 0.85 an encoder goes half of its way, from 0.1 to 0.4 a decoder a third of it.
    _heatmaps.judge_learned_first: (
        course((0.7, 0.1), (0.85, 0.4), (0.97, 0.5)),
        course((0.7, 0.1), (0.85, 0.7), (0.97, 0.5)),
    ),
    _heatmaps.judge_ahead: (course((0.7, 0.1), (0.8, 0.4), (0.97, 0.5)), course((0.7, 0.1), (0.8, 0.4), (0.4, 0.5))),
    (_heatmaps.judge_encoder_above, _heatmaps.BETWEEN): (heat((0.9, 0.1, 0.4)), heat((0.9, 0.1, 0.4), (0.5, 0.1, 0.9))),
    _heatmaps.judge_between_dataset: (
        heat((0.9, 0.1, 0.8), (0.9, 0.1, 0.2), (0.9, 0.1, 0.7)),
        heat((0.9, 0.1, 0.8), (0.9, 0.1, 0.5), (0.9, 0.1, 0.2)),
    ),
    _heatmaps.judge_metrics_agree: (heat((0.9, 0.5), (0.8, 0.7)), heat((0.9, 0.5), (0.6, 0.7))),
    _layers.judge_collapse: (heat((0.9, 0.5, 0.1, 0.6)), heat((0.9, 0.5, 0.6, 0.1))),
    _layers.judge_samples: (shared(0.2), shared(0.01)),
    (_layers.judge_sampled, "input"): (drift(0.2), drift(0.95)),
    (_layers.judge_sampled, "mean"): (drift(0.2), drift(0.95)),
    _layers.judge_losses: (falling(10, 20), falling(20, 10)),
    (_layers.judge_against_input, "CKA"): (against(0.88), against(0.5)),
    (_layers.judge_against_input, "Procrustes"): (against(0.88), against(0.5)),
    bonheme2023.judge_generic: (heat(*GENERIC), heat(*GENERIC[:2], (0.95, 0.9), *GENERIC[3:])),
    bonheme2023.judge_brightness: (correlations(brightness=0.6), correlations(brightness=0.4)),
    bonheme2023.judge_places: (correlations(x=0.9, y=0.8, size=0.3), correlations(x=0.9, y=0.6, size=0.7)),
    bonheme2023.judge_layers: (retrained((9, 6, 2), (8, 6, 1)), retrained((9, 2, 6), (8, 6, 1))),
    bonheme2023.judge_heads: (retrained((9, 6, 2), (8, 6, 1)), retrained((9, 6, 2), (1, 0.5, 0.2))),
    _accuracy.judge_averages: (
        both(on_target(0.5, 0.45, "d"), on_target(0.5, 0.3, "e")),
        both(on_target(0.5, 0.3, "d"), on_target(0.5, 0.6, "e")),
    ),
    (_accuracy.judge_better, "target", _accuracy.OTHER, _accuracy.UNTRAINED): (
        both(on_target(0.5, 0.3, "d"), on_target(0.5, 0.45, "e")),
        both(on_target(0.5, 0.1, "d"), on_target(0.5, 0.45, "e")),
    ),
    _accuracy.judge_nearly_every_label: (
        accuracies([0.5] * 3, [0.45] * 3),
        accuracies([0.5] * 3, (0.45, 0.45, 0.2)),
    ),
    (_accuracy.judge_better, "label", _accuracy.OWN, _accuracy.OTHER): (
        accuracies([0.5] * 3, [0.4] * 3),
        accuracies([0.5] * 3, (0.4, 0.4, 0.6)),
    ),
    _accuracy.judge_positions: (accuracies([0.5] * 3, (0.1, 0.6, 0.6)), accuracies([0.5] * 3, (0.1, 0.6, 0.4))),
    _perceived.judge_natural: (distances(0.1, 0.2), both(distances(0.1, 0.2), distances(0.2, 0.1, "e"))),
    _perceived.judge_constant: (distances(0.1, 0.1).query("ground_truth > 0"), distances(0.1, 0.2)),
    _perceived.judge_varying: (distances(0.1, 0.2), distances(0.2, 0.1)),
    _perceived.judge_spacing: (
        both(distances(0.1, 0.1, "8"), distances(0.1, 0.2, "1")),
        both(distances(0.1, 0.2, "8"), distances(0.1, 0.1, "1")),
    ),
    _perceived.judge_levels: (at_levels(0.5), at_levels(9.0)),
    _perceived.judge_levels_blurred: (
        at_levels(1.0, losses=("box_blur", "mse")),
        at_levels(1.0, losses=("mse", "box_blur")),
    ),
    _importance.judge_learned: (gained(0.5, 0.2), gained(0.2, 0.5)),
    _importance.judge_first: (
        courses(posX=(0.4, 0.5, 0.5), shape=(0.0, 0.1, 0.4)),
        courses(posX=(0.0, 0.1, 0.4), shape=(0.4, 0.3, 0.2)),
    ),
    michlo2023.judge_densities: (apart(0.5, 0.1), apart(0.1, 0.5)),
    michlo2023.judge_scores_by_spacing: (spaced(0.5, 0.1), spaced(0.1, 0.5)),
    michlo2023.judge_blur: (losses(0.1, 0.5), losses(0.5, 0.1)),
    michlo2023.judge_latents: (latent(0.02), latent(0.4)),
    (_changed.judge, "original", False): (migs(0.5, 0.1), migs(0.1, 0.5)),
    (_changed.judge, "squeezed", False): (migs(0.1, 0.2, squeezed=0.5), migs(0.5, 0.4, squeezed=0.2)),
    (_changed.judge_by_seed, False): (migs(0.5, 0.1), migs(0.5, 0.5, squeezed=0.3)),
    (_changed.judge_by_seed, True): (migs(0.1, 0.48, squeezed=0.5), migs(0.5, 0.1, 0.48)),
    (_changed.judge, "original", True): (migs(0.5, 0.48), migs(0.5, 0.1, 0.48)),
    (_changed.judge, "squeezed", True): (migs(0.9, 0.48, squeezed=0.5), migs(0.1, 0.1, 0.48, squeezed=0.5)),
    _changed.judge_tuned: (migs(0.5, 0.1, 0.48), migs(0.5, 0.1, 0.3)),
    _changed.judge_robust: (pruned(4), pruned(5)),
    _hidden.judge_small: (changes(0.2), changes(0.5)),
    _hidden.judge_hidden: (hidden(6), hidden(40)),
    _hidden.judge_noises: (noisy(1.0, 0.1), noisy(0.1, 0.3)),
    _plane.judge_linear: (plane(2, 40), plane(40, 40)),
    _plane.judge_local: (plane(2, 40), plane(2, 10)),
}
"""Judge -> a table for which the claim holds and one that contradicts it, both made up, of five seeds."""


def key(judge):
    """Return a judge, with its own arguments if it has any, as `CASES` names it."""
    return (judge.func, *judge.keywords.values()) if isinstance(judge, functools.partial) else judge


PATTERN = functools.partial(_changed.judge_by_seed, stays=False)
FALLS, FALLS_FROM_CONTROL = (
    functools.partial(_changed.judge, begin=role, stays=False) for role in ("original", "squeezed")
)

ILLUSTRATIONS = {
    *(f"2205.08399/fig{n}" for n in (9, 10, 20)),
    *(f"2304.10767/fig{n}" for n in (10, 11, 20)),
    *(f"2202.13341/fig{n}" for n in (2, 5, 7)),
    "2102.06822/fig3",
}
FACTS = {"2205.08399/fig1", "2304.10767/fig1", "2202.13341/fig3", "2202.13341/fig8", "2102.06822/fig4"}
"""Of data, without seeds."""

IMAGES = {"a": np.zeros((3, 8, 8, 3)), "b": np.ones((3, 8, 8, 3))}


def test_all_figures_and_tables_are_listed():
    wanted = {
        "2205.08399": [
            *(f"fig{n}" for n in (1, *range(3, 8), *range(9, 21))),
            *(f"fig3_{what}" for what in ("architectures", "crossed")),
            *(f"fig4_{what}" for what in ("between", "collapsed")),
            *(f"fig7_{what}" for what in ("architectures", "between", "datasets")),
        ],
        "2304.10767": [*(f"fig{n}" for n in range(1, 21)), *(f"table{n}" for n in range(1, 5))],
        "2202.13341": [*(f"fig{n}" for n in range(2, 12)), "fig3_importance", "fig3_first"],
        "2102.06822": [
            *("fig1", "fig1_linear", "fig3", "fig4", "fig4_noise", "fig5"),
            *(f"table{n}{what}" for n in (1, 2) for what in ("", "_floats", "_longer", "_pairs", "_rooms")),
            "table2_tuned",
        ],
    }
    assert set(catalogue.entries()) == {f"{paper}/{what}" for paper, items in wanted.items() for what in items}


def test_the_list_fits_a_narrow_terminal_and_cuts_no_word(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(console, "out", rich.console.Console(width=80))
    folders = ["--tier", "desk", "--to", str(tmp_path / "into"), "--runs", str(tmp_path / "runs")]
    out = CliRunner().invoke(cli.app, ["list", *folders]).output
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert re.search(r"^2202\.13341/fig11 +A\b.* +20 +20 of 20 runs missing", out, re.M)
    for entry in ENTRIES.values():
        for word in entry.claim.split():
            assert word in out


@every
def test_ids_and_sentences(entry):
    assert re.fullmatch(r"\d{4}\.\d{5}/(fig|table)\d+(_[a-z]+)?", entry.id)
    assert entry.claim.endswith(".")
    assert entry.paper
    assert "|" not in entry.paper + entry.claim


@every_tier
def test_plans_name_runs_and_datasets_that_exist(entry, tier):
    plan = entry.plan(tier)
    assert len({sweep.run_path(run) for run in plan.runs}) == len(plan.runs)
    assert len(plan.configs) == len(plan.runs) + len(plan.transfers)
    assert {each.source.digest for each in plan.transfers} <= {run.digest for run in plan.runs}
    for each in plan.transfers:
        shapes = [benchmark_data.load(name).image_shape for name in (each.source.dataset, each.dataset)]
        assert shapes[0] == shapes[1]
    for name, dataset in plan.all_datasets.items():
        assert dataset.id == name
        if tier == "desk":
            assert dataset.prepared, "the desk tier downloads nothing"
    assert len(runner.digest_of_inputs(entry, tier)) == 64
    for dataset in plan.own_datasets:
        assert dataset.images([0, len(dataset) - 1]).shape == (2, *dataset.image_shape)
    assert plan.runs or plan.datasets or entry.id.endswith("/fig1")


def test_desk_runs_have_seeds_for_a_verdict_and_two_tables_take_the_boards():
    """Five of each model, ten on rooms and of pairs, twenty of which factor is first; tables of MIG and the ladder ask
    for nothing that the board has not, and the tables of pairs for nothing that it has."""
    desk = [run for name in ("desk", "desk_controls") for run in sweep.find(name)]
    first = [run for run in desk if run.seed < _tiers.SEEDS]
    board = {run.digest for run in first}
    for id_, entry in ENTRIES.items():
        if entry.desk is None or id_ == "2202.13341/fig7":
            continue
        models = {}
        for run in entry.desk.runs:
            models.setdefault(dataclasses.replace(run, seed=0).digest, set()).add(run.seed)
        ten = id_ == "2202.13341/fig9" or id_.endswith(("_rooms", "_pairs", "_floats"))
        seeds = 20 if id_ == "2202.13341/fig3_first" else 10 if ten else _tiers.SEEDS
        assert all(len(found) == seeds for found in models.values())
    for what in ("table1", "table2"):
        assert {run.digest for run in ENTRIES[f"2102.06822/{what}"].desk.runs} <= board
        rooms = ENTRIES[f"2102.06822/{what}_rooms"].desk.runs
        assert {run.digest for run in rooms if run.seed < _tiers.SEEDS} <= board
        fresh = ENTRIES[f"2102.06822/{what}_pairs"].desk.runs
        assert {run.digest for run in fresh}.isdisjoint(board)
        assert {dataclasses.replace(run, seed=run.seed % _tiers.SEEDS).digest for run in fresh} <= board
    assert {run.digest for run in ENTRIES["2202.13341/fig9"].desk.runs} <= {run.digest for run in desk}
    for what in ("fig4", "fig6", "fig7"):
        assert {run.digest for run in ENTRIES[f"2202.13341/{what}"].desk.runs} <= board
    trained = {run.dataset for run in ENTRIES["2102.06822/table1"].desk.runs}
    assert trained == {"dsprites", "dsprites_squeezed/eps10", "dsprites_perturbed/conv32_eps10"}


def test_in_floats_the_pattern_is_added_to_images_that_keep_their_contrast():
    """The loss of what is stored is that of x + ε / (1 - 2 ε) f and of the decoder's output, restored alike."""
    runs = {run.dataset: run for run in ENTRIES["2102.06822/table1_floats"].desk.runs}
    usual, changed = runs["dsprites"], runs["dsprites_perturbed/conv32_eps10"]
    assert {run.reconstruction for run in runs.values()} == {"mse"}
    assert {json.dumps(dict(run.hyperparameters)) for run in runs.values()} == {json.dumps(dict(usual.hyperparameters))}
    numbers = np.random.default_rng(0)
    x, f = (255 * numbers.integers(0, 2, (4, 8, 8, 1), np.uint8) for _ in range(2))
    stored, decoded = perturbation.blend(x, f, epsilon=0.1) / 255, numbers.uniform(0, 1, x.shape)
    image, output = ((y - 0.1) / 0.8 for y in (stored, decoded))
    np.testing.assert_allclose(image, x / 255 + 0.125 * (f / 127.5 - 1), atol=0.5 / 204 + 1e-9)
    loss = reconstruction.find("mse").loss
    of_bytes = changed.reconstruction_weight * loss(stored.astype("float32"), decoded.astype("float32"))
    of_floats = usual.reconstruction_weight * loss(image.astype("float32"), output.astype("float32"))
    np.testing.assert_allclose(of_bytes, of_floats, rtol=1e-5)


@pytest.mark.parametrize("wrong", [{"near": 0.3}, {"far": 0.6}])
def test_each_part_of_the_averages_counts(wrong):
    """Another encoder that is far on the first target, or better on the last."""
    values = {"near": 0.45, "far": 0.3} | wrong
    table = both(on_target(0.5, values["near"], "d"), on_target(0.5, values["far"], "e"))
    assert _accuracy.judge_averages(table).answer != "supported"
    right = both(on_target(0.5, 0.45, "d"), on_target(0.5, 0.3, "e"))
    assert _accuracy.judge_averages(right).answer == "supported"


def test_figures_of_two_similarities_show_the_panels_that_they_name():
    def panels(number):
        return ENTRIES[f"2205.08399/fig{number}"].plan("desk").settings["panels"]

    for both, shown in ((panels(9), panels(3)[1]), (panels(10), panels(7)[0])):
        assert [(panel.x, panel.y) for panel in both] == [(shown.x, shown.y)] * 2
    assert 0 < panels(9)[0].x.share < 0.1


def test_controls_of_similar_encoders_are_shown_and_not_judged():
    """Before training, and of other seeds: high or low, the verdict is that of the panels themselves."""
    panels = bonheme2022.ACROSS
    made = _heatmaps.controlled(panels)
    assert made[:3] == panels
    assert [panel.x.share for panel in made] == [1.0] * 3 + [0.0] * 3 + [1.0] * 3
    for panel, other in zip(panels, made[6:], strict=True):
        assert {run.digest for run in other.y.runs} == {run.digest for run in panel.y.runs}
        assert all(x.seed != y.seed for x, y in zip(other.x.runs, other.y.runs, strict=True))
    titles = {f"p{number}": title for number, title in enumerate(["a", f"a{_heatmaps.BEFORE}", f"a{_heatmaps.OTHERS}"])}
    for values, expected in (((0.9, 0.1, 0.2), "supported"), ((0.1, 0.9, 0.9), "opposed")):
        table = heat(*((value, 0.5) for value in values))
        found = _heatmaps.judge_encoders_alike(table.assign(panel=table["panel"].map(titles)))
        assert found.answer == expected
        assert found.numbers == pytest.approx(
            {f"{title}, encoder": value for title, value in zip(titles.values(), values, strict=True)}, abs=0.05
        )


def test_desk_transfers_have_the_papers_layers_and_a_source_of_every_seed():
    """Figures 5, 6 and 9; those of figure 5 are among those of figure 6."""
    plans = {number: ENTRIES[f"2304.10767/fig{number}"].desk for number in (5, 6, 9)}
    for plan in plans.values():
        models = {}
        for each in plan.transfers:
            assert each.source in plan.runs
            assert each.plain.steps == each.source.steps
            assert (each.source.dataset, each.dataset) == ("xyobject/plain", "room3d")
            models.setdefault((each.heads, each.decoder), set()).add(each.source.seed)
        assert all(len(seeds) == _tiers.SEEDS for seeds in models.values())
    assert {(each.heads, each.decoder) for each in plans[5].transfers} == {(True, 1)}
    both = set(itertools.product((False, True), range(1, 7)))
    assert all({(each.heads, each.decoder) for each in plans[number].transfers} == both for number in (6, 9))
    digests = {number: {each.digest for each in plan.transfers} for number, plan in plans.items()}
    assert digests[5] <= digests[6]
    assert len(digests[6] & digests[9]) == 2 * _tiers.SEEDS  # all of the decoder is the same from either side


@every
def test_tiers_differ_unless_nothing_is_trained(entry):
    if entry.study.runs:
        assert runner.digest_of_inputs(entry, "desk") != runner.digest_of_inputs(entry, "study")


SENTENCES = {
    **{entry.id: (entry, entry.judge) for entry in ENTRIES.values()},
    **{f"{entry.id} second": (entry, entry.second.judge) for entry in ENTRIES.values() if entry.second},
}
every_sentence = pytest.mark.parametrize(("entry", "judge"), SENTENCES.values(), ids=SENTENCES)


@every_sentence
@pytest.mark.parametrize("place", [0, 1])
def test_a_claim_can_be_supported_and_opposed(entry, judge, place):
    verdict = judge(CASES[key(judge)][place])
    wanted = "illustration" if entry.id in ILLUSTRATIONS else ("supported", "opposed")[place]
    assert verdict.answer == wanted
    assert verdict.numbers
    assert all(math.isfinite(number) for number in verdict.numbers.values())
    if entry.id in ILLUSTRATIONS | FACTS or "no seeds" in verdict.note:
        assert verdict.p is None
    else:
        assert 0 <= verdict.p <= 0.05
        value, low, high = verdict.effect
        assert low <= value <= high
        assert (value > 0) is (place == 0)
        assert verdict.measure


@every_sentence
@pytest.mark.parametrize("place", [0, 1])
def test_two_seeds_decide_nothing(entry, judge, place):
    if entry.id in ILLUSTRATIONS | FACTS or judge(CASES[key(judge)][place]).p is None:
        return
    verdict = judge(CASES[key(judge)][place].query("seed < 2"))
    assert (verdict.answer, verdict.p) == ("too few seeds", None)
    assert all(math.isfinite(number) for number in verdict.numbers.values()), "what is no number cannot be recorded"


def test_all_labels_of_sprites_leave_room_for_the_opposite():
    """Both positions lose in every seed: of five tests, not of seven, 2/252 each is left by Holm."""
    labels = ("shape", "scale", "orientation", "posX", "posY")
    found = _accuracy.judge_positions(accuracies([0.5] * 5, (0.1, 0.45, 0.45, 0.4, 0.4), labels=labels))
    assert (found.answer, found.p) == ("opposed", pytest.approx(5 * 2 / 252))
    gains = _accuracy.judge_positions(accuracies([0.5] * 5, (0.1, 0.45, 0.05, 0.6, 0.6), labels=labels))
    assert gains.answer != "supported", "another label loses more than shape"


def test_six_layers_leave_room_for_the_opposite():
    """Of six layers each differs by 0.4: one test for each, in one direction."""
    table = against(0.5)
    learned = table[table["layer"] == "encoder_2"]
    layers = both(*(learned.assign(layer=f"encoder_{n}") for n in range(1, 7)))
    found = _layers.judge_against_input(layers, "CKA")
    assert (found.answer, found.p) == ("opposed", pytest.approx(6 * 2 / 252))


def test_reconstructions_that_are_all_alike_have_no_places():
    table = correlations(x=0.0, y=0.0, size=0.0)
    found = bonheme2023.judge_places(table.assign(correlation=0.0, spread=0.0))
    assert (found.answer, found.p) == ("not testable (below baseline)", None)
    assert "less than 0.1 pixels" in found.note


def test_strengths_that_prune_all_cannot_be_tested():
    found = _changed.judge_robust(pruned(4).assign(active=4))
    assert (found.answer, found.p) == ("not testable (below baseline)", None), "and so it counts for Holm"


def test_what_is_learned_first_needs_the_state_before_training():
    """An encoder that has 0.7 before training and 0.72 after the first snapshot has learned less than a decoder."""
    table = course((0.7, 0.02), (0.72, 0.3), (0.9, 0.5))
    judge = _heatmaps.judge_learned_first
    assert (table.query("layer_x == layer_y == 'encoder_1'")["similarity"] > 0.6).all()
    found = judge(table)
    assert found.answer == "opposed"
    # (0.72 - 0.7) / (1 - 0.7) and (0.3 - 0.02) / (1 - 0.02)
    assert found.numbers["m, encoder at 2.5%, share of the change"] == pytest.approx(0.067, abs=0.01)
    assert found.numbers["m, decoder at 2.5%, share of the change"] == pytest.approx(0.286, abs=0.01)
    assert found.numbers["m, encoder at 0%"] == pytest.approx(0.7, abs=0.01)
    assert _heatmaps.judge_ahead(table).answer == "supported", "which the paper's own sentence says"
    unequal = course((0.9, 0.1), (0.95, 0.2), (0.98, 0.4))
    first = (unequal["layer_x"] == "encoder_1") & (unequal["seed"] == 0) & (unequal["share"] == 0)
    unequal = unequal.assign(similarity=unequal["similarity"].mask(first, 0.96))
    assert judge(unequal).answer != "not testable (below baseline)", (
        "one run without a way to go leaves those of the others"
    )
    done = judge(course((0.97, 0.1), (0.98, 0.4), (0.99, 0.5)))
    assert done.answer == "not testable (below baseline)", "an encoder that is there before training has no way to go"


@pytest.mark.parametrize(
    ("judge", "table"),
    [
        (FALLS, migs(0.08, 0.01)),
        (FALLS_FROM_CONTROL, migs(0.5, 0.01, squeezed=0.08)),
        (_changed.judge_tuned, migs(0.08, 0.08, 0.08)),
        (_hidden.judge_noises, noisy(1.0, 1.0).assign(value=lambda table: table["value"].clip(lower=1.0))),
        (functools.partial(_changed.judge, begin="original", stays=True), migs(0.08, 0.08, 0.08)),
        (PATTERN, migs(0.5, 0.01, squeezed=0.08)),
        (functools.partial(_changed.judge_by_seed, stays=True), migs(0.5, 0.08, squeezed=0.08)),
        (_changed.judge_robust, pruned(4).assign(pca_mig=0.6)),
        (michlo2023.judge_scores_by_spacing, spaced(0.09, 0.01)),
        (michlo2023.judge_densities, apart(0.5, 0.1).assign(pca_dci_disentanglement=0.6)),
    ],
)
def test_models_that_know_too_little_test_nothing(judge, table):
    verdict = judge(table)
    assert (verdict.answer, verdict.p) == ("not testable (below baseline)", None)
    assert "gate" in verdict.note


def test_a_fall_and_the_fall_from_the_control_are_two_sentences():
    """From 0.5 to 0.2; but squeezed data have 0.2, too, so that no pattern is needed."""
    table = migs(0.5, 0.2, squeezed=0.2)
    own, control = FALLS(table), FALLS_FROM_CONTROL(table)
    assert (own.answer, control.answer) == ("supported", "no significant difference")
    assert own.numbers["fall on b from original"] == pytest.approx(0.3)
    assert control.numbers["fall on b from squeezed"] == pytest.approx(0.0, abs=0.01)


def test_a_vae_below_the_floor_does_not_count():
    """Two VAEs: one falls from 0.5 to 0.1; the other has 0.05 on all data, and is left out of the fall."""
    table = both(migs(0.5, 0.1), migs(0.05, 0.05).assign(objective="factor_vae"))
    found = FALLS(table)
    assert found.answer == "supported"
    assert found.numbers["VAEs above the baseline on b, original"] == 1
    assert found.numbers["fall on b from original"] == pytest.approx(0.4)


def test_runs_of_one_seed_count_once():
    """Two objectives whose scores are the same, seed by seed, tell no more than one; another seed's luck is no fall."""
    table = migs(0.5, 0.4, squeezed=0.45).assign(mig=lambda found: found["mig"] + 0.1 * (found["seed"] % 2))
    noise = 0.03 * np.sin(np.arange(len(table)))
    one = PATTERN(table.assign(mig=table["mig"] + noise))
    two = PATTERN(both(table, table.assign(objective="other")).assign(mig=lambda t: t["mig"] + [*noise] * 2))
    assert 0 < one.p < 1
    assert two.p == pytest.approx(one.p)
    assert two.numbers["fall from contrast-matched"] == pytest.approx(one.numbers["fall from contrast-matched"])
    unpaired = FALLS_FROM_CONTROL(table[table["variant"] != "original"].assign(mig=table["mig"] + noise))
    assert unpaired.p > one.p, "what is the seed's, on either side, is taken off"


def test_what_is_known_before_training_is_taken_off():
    """The untrained encoder knows most of what moves pixels most; that it gains nothing there is what counts."""
    table = gained(0.0, 0.5)
    table["share"] += np.where(table["factor"] == "shape", 0.0, 0.8)
    found = _importance.judge_learned(table)
    assert found.answer == "opposed"
    assert found.numbers["d, control: the same before training"] > 0.5


def test_models_that_gain_nothing_tell_nothing_of_an_order():
    table = gained(0.0, 0.5)
    table["share"] = 0.25
    assert _importance.judge_learned(table).answer == "no significant difference"


def test_what_is_not_learned_comes_last():
    """Of shape 0.01 is gained at once, which is too little to count; posX gains half of its 0.5 by step 100."""
    steps = _importance._learning_steps(courses(posX=(0.0, 0.3, 0.5), shape=(0.01, 0.01, 0.01)))
    assert steps.index.to_list() == [(1.0, "posX"), (2.0, "shape")]
    assert steps.to_numpy().tolist() == [[100] * 5, [200] * 5]


def test_ranks_of_tied_factors():
    assert _importance._factor_ranks([["a"], ["b", "c"], ["d"]]) == {"a": 1, "b": 2.5, "c": 2.5, "d": 4}


def test_the_planes_axes():
    """The principal axis lies at 45 degrees by construction; in a cluster x varies six times as much as y."""
    images = _plane.PLANE.images(np.arange(len(_plane.PLANE)))
    assert _plane._principal_angle(images) % 90 == pytest.approx(45, abs=0.3)
    cluster = images[:21].reshape(21, 2).astype(float)
    assert np.cov(cluster.T)[0, 1] == pytest.approx(0)
    # Seven and three equally likely values, two apart: (n² - 1) / 12 steps of 4.
    assert cluster.var(axis=0).tolist() == pytest.approx([16, 8 / 3])
    assert len(np.unique(images.reshape(-1, 2), axis=0)) == len(images)


def test_angles_of_latents_are_those_of_the_decoder():
    """A decoder that turns its codes by 30 degrees has both latents 15 degrees from axes at 45."""

    class Turned:
        def decode(self, codes):
            turn = np.radians(30)
            matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
            return (codes @ matrix).reshape(-1, 1, 2, 1)

    found = _plane._angles(Turned(), np.zeros((4, 2)), np.full((4, 2), 0.1), 45.0)
    np.testing.assert_allclose(found, 15.0, atol=1e-4)


def test_a_latent_without_an_axis_speaks_for_neither_structure():
    class Collapsed:
        def decode(self, codes):
            return np.full((len(codes), 1, 2, 1), 0.5, np.float32)

    found = _plane._angles(Collapsed(), np.zeros((4, 2)), np.ones((4, 2)), 45.0)
    assert found.tolist() == [[_plane.BETWEEN] * 2] * 4
    table = plane(2, 40)
    table["angle"] = table["angle"].mask(table["model"] == "fc", found[0, 0])
    assert _plane.judge_local(table).answer == "no significant difference"


def test_the_planes_codes_are_drawn_of_the_first_run_of_each_model(tmp_path, monkeypatch):
    figures_drawn = []
    monkeypatch.setattr(figures, "save", lambda figure, path: figures_drawn.append(figure))
    rows = [
        (model, seed, 9, 5, 10 * m + seed, -seed, 0.0) for m, model in enumerate(_plane.MODELS) for seed in (3, 1, 2)
    ]
    table = pd.DataFrame(rows, columns=["model", "seed", "x", "y", "z1", "z2", "angle"])
    _plane.draw(Outcome(table), tmp_path / "plane.png")
    panels = figures_drawn[0].axes
    points = [panel.collections[0].get_offsets().tolist() for panel in panels]
    assert points == [[[9, 5]], [[1, -1]], [[11, -1]]]
    assert [panel.get_title() for panel in panels] == ["points", "codes, linear", "codes, fc"]


def test_chords_of_the_plane_reach_one_standard_deviation_to_either_side():
    """On the curve (z, z³) the chord from -2 to 2 rises at arctan 4, 31 degrees from an axis at 45."""

    class Curved:
        def open(self, config):
            return self

        def encode(self, images):
            zeros = np.zeros((len(images), 2), np.float32)
            return Posterior(zeros, zeros + np.log(4))

        def decode(self, codes):
            z = codes.sum(axis=1)
            return np.stack([z, z**3], axis=1).reshape(-1, 1, 2, 1)

    found = _plane.compute({"runs": _plane.plan(1, steps=1).runs[:1], "points": 3}, Curved(), "desk")
    np.testing.assert_allclose(found.table["angle"], 30.96, atol=0.3)


def test_a_model_of_the_plane_is_trained_and_judged(tmp_path):
    """A plan with a dataset of its own, from nothing to a verdict."""
    entry = ENTRIES["2102.06822/fig1"]
    plan = _plane.plan(1, steps=20)
    small = dataclasses.replace(entry, desk=dataclasses.replace(plan, settings=plan.settings | {"points": 10}))
    assert runner.state(small, "desk", tmp_path, tmp_path / "runs") == "2 of 2 runs missing"
    record = runner.run(small, "desk", tmp_path, tmp_path / "runs")
    assert record["judged"][0]["verdict"] == "too few seeds"
    assert record["budget"]["datasets"] == ["plane"]
    assert len(record["trained"]) == 2
    table = records.read_table(tmp_path / entry.id)
    assert len(table) == 20
    assert table["angle"].between(0, 45).all()


def test_settings_are_no_seeds():
    """One seed of five settings tells nothing; of two settings of each seed the better one counts."""
    for judge, better, worse in (
        (michlo2023.judge_densities, apart(0.5, 0.1), apart(0.05, 0.01)),
        (michlo2023.judge_scores_by_spacing, spaced(0.5, 0.1), spaced(0.05, 0.01)),
    ):
        assert judge(better.assign(seed=0)).answer == "too few seeds"
        assert judge(both(worse, better)) == judge(better)


def test_reduced_runs_are_those_of_one_sweep_with_ten_seeds_on_the_papers_own_data():
    wanted = {run.digest for run in sweep.find("michlo2023_reduced")}
    reduced = {id_: entry.reduced for id_, entry in ENTRIES.items() if entry.reduced and id_.startswith("2202.13341")}
    assert sorted(reduced) == [f"2202.13341/{what}" for what in ("fig10", "fig11", "fig7", "fig9")]
    assert {digest for plan in reduced.values() for digest in plan.configs} == wanted
    for id_, plan in reduced.items():
        assert verdicts.is_own_data(plan.all_datasets)
        if id_ != "2202.13341/fig7":
            assert runner.budget(ENTRIES[id_], "reduced")["seeds"] == 10
            assert runner.budget(ENTRIES[id_], "reduced")["share"] == pytest.approx(0.052, abs=0.001)


def test_reduced_runs_of_zietlow2021_are_published_ones_but_for_budget_and_share_the_data_without_pattern():
    tables = [ENTRIES[f"2102.06822/{table}"] for table in ("table1", "table2")]
    by_table = [{run.digest: run for run in entry.reduced.runs} for entry in tables]
    assert {run.dataset for run in by_table[0].values()} - {run.dataset for run in by_table[1].values()} == {
        "dsprites_perturbed/conv32_eps10"
    }
    assert len(by_table[0].keys() & by_table[1].keys()) == 20
    for entry, runs in zip(tables, by_table, strict=True):
        published = {run.digest for run in entry.study.runs if run.objective == "beta_tc_vae"}
        paper = {"steps": 300_000, "learning_rate": 1e-4}
        assert {dataclasses.replace(run, **paper).digest for run in runs.values()} == published
        assert runner.budget(entry, "reduced")["share"] == pytest.approx(1 / 30, abs=0.001)


@pytest.mark.parametrize(("far", "note"), [(0.3, "no model has collapsed"), (0.0, "collapsed: β-VAE, spacing 8")])
def test_a_model_that_reconstructs_nothing_is_called_collapsed(far, note):
    table = spaced(0.5, 0.1)
    verdict = michlo2023.judge_scores_by_spacing(table.assign(explained=np.where(table["spacing"] == 8, far, 0.9)))
    assert verdict.answer == "supported"
    assert verdict.note.endswith(note)
    assert verdict.numbers["β-VAE, spacing 8, explained variance"] == pytest.approx(far)


def test_cars3d_need_not_follow():
    """The paper says that its pixel distances have another order."""
    table = both(distances(0.1, 0.2), distances(0.2, 0.1, "cars3d/64_bilinear"))
    assert _perceived.judge_natural(table).answer == "supported"
    assert len(_perceived.judge_natural(table).numbers) == 2


def test_figure_9_has_the_authors_strengths_at_study_tier():
    """Their plotting script has one for each objective and spacing: so a seed is one run."""
    runs = ENTRIES["2202.13341/fig9"].study.runs
    strengths = {
        (run.objective, int(run.dataset[-1])): run.hyperparameters["beta"] / _michlo2023.beta(run.dataset, 1.0)
        for run in runs
    }
    assert len(runs) == 2 * 8 * 5
    assert {key: round(strength, 5) for key, strength in strengths.items()} == {
        (objective, spacing): 0.00316 if objective == "beta_vae" and spacing < 3 else 0.001
        for objective in ("beta_vae", "ada_gvae")
        for spacing in range(1, 9)
    }


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_what_is_said_of_dsprites_is_judged_on_dsprites(table):
    entry = ENTRIES[f"2102.06822/{table}"]
    assert entry.claim.startswith("On dSprites")
    for plan in (entry.desk, entry.study):
        assert {name.partition("/")[0].partition("_")[0] for name in plan.all_datasets} == {"dsprites"}


def test_figure_6_has_one_seed_of_sixteen_settings_at_study_tier():
    runs = ENTRIES["2202.13341/fig6"].study.runs
    models = [(run.dataset, run.objective, run.seed) for run in runs]
    assert {seed for *_, seed in models} == {0}
    assert {models.count(model) for model in models} == {16}


def test_a_step_that_goes_up_contradicts_a_ladder():
    """0.2 at spacing 1 and 0.6 at 4, as Ada-GVAE has it, though 8 is the lowest."""
    table = spaced(0.2, 0.1)
    table.loc[table["spacing"] == 4, ["mig", "dci_disentanglement"]] += 0.45
    assert michlo2023.judge_scores_by_spacing(table).answer == "opposed"


def test_a_step_of_a_ladder_can_contradict_it_with_the_seeds_and_spacings_of_the_desk():
    """Two objectives at four spacings: of twelve tests of five seeds after Holm none can."""
    rows = [
        (objective, spacing, score, score, 0.05, 0.05)
        for objective in ("beta_vae", "ada_gvae")
        for spacing, score in ((1, 0.95), (2, 0.2), (4, 0.9), (8, 0.05))
    ]
    table = spread(pd.DataFrame(rows, columns=["objective", "spacing", *SCORES]), "mig", "dci_disentanglement")
    assert michlo2023.judge_scores_by_spacing(table).answer == "opposed"


def test_layers_are_compared_on_two_thousand_images_and_more():
    for entry in ENTRIES.values():
        for tier in entry.tiers:
            settings = entry.plan(tier).settings
            if entry.compute in (_heatmaps.compute, _layers.sampled, _layers.against_input):
                assert settings["samples"] >= 2_000


DRAWN = {entry.draw: entry for entry in ENTRIES.values()}
"""An entry for each way to draw."""


@pytest.mark.parametrize("entry", DRAWN.values(), ids=lambda entry: entry.id)
def test_the_picture_is_drawn(entry, tmp_path):
    entry.draw(Outcome(CASES[key(entry.judge)][0], IMAGES), tmp_path / "figure.png")
    with PIL.Image.open(tmp_path / "figure.png") as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 50


def test_rows_and_columns_of_a_heatmap_are_layers_x_and_y_in_their_order(tmp_path, monkeypatch):
    shown = {}
    monkeypatch.setattr(_heatmaps.heatmap, "draw", lambda frames, path: shown.update(frames))
    cells = [("p", "mean", "mean", 0.1), ("p", "mean", "input", 0.2), ("p", "input", "mean", 0.3)]
    table = pd.DataFrame([*cells, ("p", "input", "input", 0.4)], columns=["panel", "layer_x", "layer_y", "similarity"])
    _heatmaps.draw(Outcome(table, {}), tmp_path / "figure.png")
    assert list(shown["p"].index) == list(shown["p"].columns) == ["mean", "input"]
    assert shown["p"].to_numpy().tolist() == [[0.1, 0.2], [0.3, 0.4]]


def test_every_pair_of_a_traversal_has_the_distance_of_its_places():
    settings = {"datasets": ["xysquares/spacing_8"], "columns": 3}
    table, images = _perceived.rows_of_traversals(settings, {}, "desk")
    assert (table["ground_truth"] == table["second"] - table["first"]).all()
    assert table.groupby("factor").size().tolist() == [8 * 7 / 2] * 6
    assert [len(shown) for shown in images.values()] == [3] * 6


def test_distances_after_the_blur_are_the_loss_that_was_trained_with():
    images, others = np.random.default_rng(0).random((2, 1, 64, 64, 3), np.float32)
    for loss in ("mse", "box_blur"):
        seen, decoded = (_perceived.loss_features(array, loss).astype(float) for array in (images, others))
        wanted = reconstruction.find(loss).loss(images, others)
        assert ((seen - decoded) ** 2).mean() * images.size == pytest.approx(float(wanted[0]), rel=1e-4)


def test_the_latents_that_say_most_are_traversed(tiny, tmp_path, monkeypatch):
    config = tiny(dataset="xysquares/spacing_4")
    run = train(config, tmp_path / sweep.run_path(config))
    monkeypatch.setattr(_scores, "scores", lambda *_: {"mig": 0.1})
    settings = {"run": config, "row": 5, "latents": 1, "columns": 3}
    table = michlo2023.latents(settings, entries.Runs(tmp_path), "desk").table
    mean, log_variance = (np.asarray(part[0], np.float64) for part in run.encode(run.dataset.images([5])))
    kl = (np.exp(log_variance) + mean**2 - 1 - log_variance) / 2
    assert table["latent"].tolist() == [kl.argmax()]
    assert table["kl"].tolist() == pytest.approx([kl.max()])


def test_levels_of_a_model(tiny, tmp_path):
    config = tiny(dataset="xysquares/spacing_4", reconstruction="box_blur")
    train(config, tmp_path / sweep.run_path(config))
    settings = {"runs": (config,), "factors": {"all": ("x_R", "y_G")}, "traversals": 2}
    table = _perceived.levels(settings, entries.Runs(tmp_path), "desk").table
    assert list(table["level"].unique()) == ["ground truth", "input", "mean", "KL", "reconstruction"]
    found = _perceived.level_correlations(table, "ground truth")
    assert found.loc[("box_blur", "all", "input")].min() > 0.9, "the blur is what makes the distances follow the places"


@pytest.mark.parametrize(
    ("judge", "table"),
    [
        (_hidden.judge_noises, noisy(0.1, 0.1)),
        (FALLS_FROM_CONTROL, migs(0.5, 0.2, squeezed=0.2)),
        (_changed.judge_robust, pruned(4).assign(active=4)),
        (michlo2023.judge_densities, both(apart(0.5, 0.1), apart(0.05, 0.1).assign(dataset="e"))),
    ],
)
def test_what_else_does_not_hold(judge, table):
    """s leads at any strength; so much falls by contrast alone; all is pruned; one dataset is as hard as squares."""
    assert judge(table).answer != "supported"


def test_a_layer_that_is_the_input_does_not_count():
    rows = [("p", 0, "encoder_1", "encoder_1", 1.0), ("p", 0, "encoder_1", "input", 1.0)]
    rows += [("p", 0, "encoder_2", "encoder_2", 0.4), ("p", 0, "encoder_2", "input", 0.3)]
    table = pd.DataFrame(rows, columns=["panel", "seed", "layer_x", "layer_y", "similarity"])
    assert _heatmaps.diagonal(table, "encoder").loc["p"].tolist() == [0.4]


def test_layers_of_two_architectures_are_matched():
    """Each layer of either with the most similar of the other's; the second's own first layer is the input."""
    similar = {("encoder_1", "input"): 0.9, ("encoder_2", "input"): 0.4, ("input", "encoder_1"): 1.0}
    similar |= {("encoder_1", "encoder_1"): 0.9, ("encoder_1", "encoder_2"): 0.5, ("encoder_1", "encoder_3"): 0.6}
    similar |= {("encoder_2", "encoder_1"): 0.4, ("encoder_2", "encoder_2"): 0.8, ("encoder_2", "decoder_1"): 0.95}
    similar |= {("encoder_3", "encoder_3"): 0.7}
    rows = [("p", seed, *layers, value) for layers, value in similar.items() for seed in (0, 1)]
    table = pd.DataFrame(rows, columns=["panel", "seed", "layer_x", "layer_y", "similarity"])
    first, second = (0.6 + 0.8 + 0.7) / 3, (0.8 + 0.7) / 2
    expected = {"p, encoder": pytest.approx(first), "layers of the second: p, encoder": pytest.approx(second)}
    assert _heatmaps.judge_encoders_matched(table).numbers == expected


def test_nor_does_it_count_beside_samples():
    """One model's samples are like the other's second layer by 0.5, and the other way round by 0.3.

    A first layer that only flattens the images is like either by as much as the images are, which is not averaged in.
    """
    similar = {("encoder_1", "input"): 1.0, ("input", "encoder_1"): 1.0, ("encoder_2", "input"): 0.4}
    similar |= {("encoder_2", "sampled"): 0.3, ("sampled", "encoder_2"): 0.5}
    similar |= {("encoder_1", "sampled"): 0.9, ("sampled", "encoder_1"): 0.0}
    rows = [("p", *layers, value) for layers, value in similar.items()]
    table = spread(pd.DataFrame(rows, columns=["panel", "layer_x", "layer_y", "similarity"]), "similarity")
    same = table[["layer_x", "layer_y"]].isin(["encoder_1", "input"]).all(axis=1)
    table.loc[same, "similarity"] = 1.0  # no noise of seeds
    found = _layers.judge_collapse(table)
    assert found.answer == "supported"
    assert found.numbers["p, strong"] == pytest.approx(0.3, abs=0.02)
    assert found.numbers["p, weak"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("path", sorted(COMMITTED.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_committed_record_is_shown_and_is_what_its_table_says(path, tmp_path):
    """Else: offaxis study run ID --tier TIER --to docs/reproduction, or delete it."""
    id_ = f"{path.parent.name}/{path.name}"
    entry = pages.entries_with_row()[id_]
    assert sorted(file.name for file in path.iterdir()) == sorted((records.PICTURE, records.TABLE, records.RECORD))
    record = records.read_record(path)
    shutil.copytree(path, tmp_path / id_)
    assert runner.state(entry, record["tier"], tmp_path, tmp_path / "none") == "done"
    assert runner.run(entry, record["tier"], tmp_path, tmp_path / "none") == record
    assert f"reproduction/{id_}/{records.RECORD}" in (COMMITTED.parent / "reproduction.md").read_text("utf-8")


def test_only_a_papers_claim_is_replicated_or_contradicted():
    words = {word for pair in verdicts.VERDICTS.values() for word in pair}
    for id_, record in pages.read_records(COMMITTED).items():
        said = {one["verdict"] for one in record["judged"]}
        assert not said & (words if pages.entries_with_row()[id_].added else {"supported", "opposed"}), id_


def test_a_claim_that_calls_a_model_collapsed_is_about_one():
    (one,) = records.read_record(COMMITTED / "2202.13341/fig7")["judged"]
    assert ("collapsed" in one["claim"]) == (one["numbers"]["latents that change the picture"] == 0)


def test_entries_that_are_shown_again_are_run_in_one_place():
    for entry in ENTRIES.values():
        if entry.same_as:
            assert not ENTRIES[entry.same_as].same_as
            assert entry.plan("study") == ENTRIES[entry.same_as].plan("study")


def test_runs_are_shared():
    """Two figures that need the same run name the same folder, and the first paper's are those of its sweeps."""
    plans = [entry.desk for entry in ENTRIES.values()]
    assert len(set().union(*(plan.configs for plan in plans))) < 0.7 * sum(len(plan.configs) for plan in plans)
    published = {run.digest for run in sweep.find("bonheme2022")}
    for what in ("fig3", "fig4", "fig5", "fig6", "fig7", "fig17", "fig18", "fig19", "fig20"):
        assert {run.digest for run in ENTRIES[f"2205.08399/{what}"].study.runs} <= published


SCALE = ("hyperparameters", "reconstruction", "reduction", "reconstruction_weight")
"""A strength and what it was made for: they go together or not at all."""


def board_scales():
    """What the board's runs have of `SCALE`, by objective."""
    runs = {run.digest: run for name in ("desk", "desk_controls") for run in sweep.find(name)}
    return {json.dumps([run.objective, [getattr(run, key) for key in SCALE]]) for run in runs.values()}


def test_a_smaller_form_keeps_every_key_that_it_does_not_declare():
    """Each desk run is a published one with the keys of `CHANGED` replaced, or has the board's strength, loss and
    reduction, all together; figure 5 of 2102.06822 and its kin scale that strength."""
    of_board = board_scales()
    lost = set()
    for entry in ENTRIES.values():
        plan = entry.desk
        sources = {each.source.digest for each in plan.transfers}
        scales = {run.digest: scale for scale, runs in plan.settings.get("strengths", ()) for run in runs}
        for run in plan.runs:
            keys = {key: getattr(run, key) for key in _forms.CHANGED}
            terms = {key: run.hyperparameters[key] for key in _forms.TERMS if key in run.hyperparameters}
            published = {other.digest: other for other in entry.study.runs if other.objective == run.objective}
            if any(_forms.form(other, **keys, **terms) == run for other in published.values()):
                continue
            usual = zietlow2021.scaled(run, 1 / scale) if (scale := scales.get(run.digest, 1.0)) != 1.0 else run
            if json.dumps([usual.objective, [getattr(usual, key) for key in SCALE]]) not in of_board:
                lost.add((entry.id, run.objective, run.dataset, run.digest in sources))
    assert not lost


def test_a_form_refuses_to_change_what_a_strength_was_made_for():
    config = ENTRIES["2202.13341/fig11"].study.runs[0]
    assert _forms.form(config, steps=10).reduction == "mean"
    for wrong in ({"reduction": "sum"}, {"hyperparameters": {}}, {"reconstruction_weight": 4.0}, {"beta": 2.0}):
        with pytest.raises(InvalidInput, match=f"changes of dataset, .*, symmetric, received {next(iter(wrong))}"):
            _forms.form(config, **wrong)


def test_transfers_are_shared_and_the_whole_decoder_has_no_side():
    inside, outside, heatmaps = (set(ENTRIES[f"2304.10767/fig{n}"].desk.configs) for n in (6, 9, 5))
    assert len(inside & outside) == 5 + 10  # the sources, and all layers with and without heads
    assert len(inside & heatmaps) == 5 + 5
    both_tiers = [ENTRIES["2304.10767/fig6"].plan(tier).transfers for tier in ("desk", "study")]
    assert [max(each.decoder for each in transfers) for transfers in both_tiers] == [6, 6]


def test_bars_stand_over_their_names(tmp_path, monkeypatch):
    """Names come in the order of the table, and the second group has no run of the first name."""
    columns, drawn = ["model", "variant", "mig"], []
    table = pd.DataFrame([("z", "one", 0.2), ("z", "one", 0.4), ("a", "one", 0.5), ("a", "two", 0.7)], columns=columns)
    monkeypatch.setattr(figures, "save", lambda figure, path: drawn.append(figure))
    _scores.draw_bars(table, tmp_path / "bars.png", x="model", group="variant")
    panel = drawn[0].axes[0]
    assert [name.get_text() for name in panel.get_xticklabels()] == ["z", "a"]
    bars = {round(bar.get_x() + bar.get_width() / 2, 6): round(bar.get_height(), 6) for bar in panel.patches}
    assert bars == {-0.2: 0.3, 0.2: 0.0, 0.8: 0.5, 1.2: 0.7}


def test_properties_of_images():
    images = np.zeros((2, 8, 8, 3), np.float32)
    images[0, 1:3, 5:7] = 1
    images[1] = 0.5
    found = bonheme2023._image_properties(images)
    np.testing.assert_allclose(found["brightness"], [4 / 64, 0.5])
    np.testing.assert_allclose(found["x"], [5.5, 3.5])
    np.testing.assert_allclose(found["y"], [1.5, 3.5])
    assert found["size"].tolist() == [4, 0]
    assert bonheme2023._spearman(found["x"], np.ones(2)) == 0


def test_the_loss_of_a_transfer_is_of_images_of_its_target_that_it_has_not_seen(tiny):
    config, received = tiny(), []

    def activations(images):
        received.append(images)
        return {"output": np.zeros((len(images), images[0].size))}  # the logit of a half: each pixel costs log 2

    run = types.SimpleNamespace(
        config=config,
        activations=activations,
        encode=lambda images: Posterior(images, None),
        decode=lambda mean: np.full(mean.shape, 1.5),
    )
    transfers = [
        entries.Transfer(source=tiny(seed=seed), dataset=config.dataset, heads=heads)
        for seed in (0, 1)
        for heads in (False, True)
    ]
    settings = {"transfers": transfers, "images": 5, "shown": 2}
    outcome = bonheme2023.retrained(settings, types.SimpleNamespace(open=lambda transfer: run), "desk")
    task, trained_on = protocol.task(config.dataset), set(training_rows(benchmark_data.load(config.dataset), 0.9))
    rows = [row for row in task.indices if row not in trained_on][:5]
    assert len(received) == len(transfers)
    np.testing.assert_array_equal(received[0], benchmark_data.load(config.dataset).images(rows))
    assert outcome.table["loss"].tolist() == pytest.approx([received[0][0].size * math.log(2)] * 4)
    assert outcome.table[["heads", "seed"]].values.tolist() == [[False, 0], [True, 0], [False, 1], [True, 1]]
    assert [name.partition("\n")[0] for name in outcome.images] == ["target", "1 of decoder", "1 of decoder, heads"]
    assert {len(pictures) for pictures in outcome.images.values()} == {2}


def test_reconstructions_that_look_alike_keep_and_lose_nothing():
    """Black ones that differ by a millionth would have a rank correlation of -1."""
    black = correlations(brightness=-1.0).assign(spread=1e-6)
    assert bonheme2023.judge_brightness(black).answer == "not testable (below baseline)"
    assert "less than one of 255" in bonheme2023.judge_brightness(black).note
    assert bonheme2023.judge_brightness(black.assign(spread=0.01)).answer == "opposed"


@pytest.mark.parametrize("id_", ["2202.13341/fig5", "2202.13341/fig8"])
def test_what_needs_no_training_holds(id_, tmp_path):
    """Facts of the datasets and of the similarities, not of trained models."""
    record = runner.run(ENTRIES[id_], "desk", tmp_path, tmp_path / "runs")
    assert record["judged"][0]["verdict"] == ("illustration" if id_ in ILLUSTRATIONS else "replicated")
    assert (tmp_path / id_ / "figure.png").stat().st_size > 1_000
    assert record["budget"]["runs"] == 0


def test_lines_have_a_panel_for_each_value_in_the_order_of_the_table(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr("leaderboard.figures.save", lambda figure, path: drawn.append(figure))
    table = pd.DataFrame({"part": list("bbaa"), "step": [1, 2, 1, 2], "share": [0.1, 0.2, 0.3, 0.4], "kind": "one"})
    columns = {"panel": "part", "x": "step", "y": "share", "group": "kind"}
    _scores.draw_lines(table, tmp_path / "figure.png", **columns)
    panels = drawn[0].axes
    assert [(panel.get_title(), panel.get_xlabel(), panel.get_ylabel()) for panel in panels] == [
        ("b", "step", "share"),
        ("a", "step", "share"),
    ]
    assert panels[1].lines[0].get_xydata().tolist() == [[1, 0.3], [2, 0.4]]


def test_the_runs_of_a_table_of_zietlow2021():
    """The paper's ten seeds on all images, of the chosen bases alone."""
    found = zietlow2021.runs(("", "_noisy/eps10"), ("ae",), ("shapes3d",))
    assert [run.dataset for run in found[::10]] == ["shapes3d", "shapes3d_noisy/eps10"]
    assert [run.seed for run in found] == [*range(10)] * 2
    assert {run.train_share for run in found} == {1.0}
