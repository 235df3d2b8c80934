"""MIG on original, contrast-matched and changed data: the tables and figure 5 of Zietlow et al. (2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.reproduction.entries import Found, Runs, Verdict, judged
from baselines.reproduction.papers import _hidden, _scores
from baselines.sweeps.desk import family
from leaderboard import figures, protocol
from leaderboard.analyses import latents
from leaderboard.store import intervals, verdicts

SAME = 0.05
"""MIG by which a score may fall and still not be said to have fallen: half of the floor."""


ORIGINAL, CONTROL, CHANGED = "original", "squeezed", "changed"
"""What a dataset is to a table."""


def role(dataset: str) -> str:
    """Say what a dataset is to a table.

    Example:
        >>> [role(name) for name in ("room3d", "room3d_squeezed/eps10", "room3d_noisy/eps10")]
        ['original', 'squeezed', 'changed']
    """
    if "_squeezed/" in dataset:
        return CONTROL
    return CHANGED if "/" in dataset else ORIGINAL


def scored(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Score all runs; ``base`` is the dataset without what is done to it, ``variant`` what is done."""
    tables = [
        _scores.table(runs, configs, tier, settings["metrics"]).assign(scale=scale)
        for scale, configs in settings["strengths"]
    ]
    table = pd.concat(tables, ignore_index=True)
    return Found(
        table.assign(
            base=[family(name) for name in table["dataset"]],
            variant=[role(name) for name in table["dataset"]],
        )
    )


def regularised(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Score all runs, and count each one's active units (posterior variance below 0.8) beside the dataset's factors."""
    configs = [config for _, found in settings["strengths"] for config in found]
    codes = (_hidden.encoded(runs.open(config), settings["samples"]) for config in configs)
    table = scored(settings, runs, tier).table
    return Found(
        table.assign(
            active=[latents.measure(*posterior)["used"].sum() for _, *posterior in codes],
            factors=[len(protocol.task(config.dataset).scored) for config in configs],
        )
    )


def draw_scores(found: Found, path: Path) -> None:
    """Draw the MIG of the table, bars for original, contrast-matched and perturbed or noisy data."""
    scales = ["" if scale == 1 else f", β × {scale:g}" for scale in found.table["scale"]]
    names = found.table["objective"].map(_scores.shown)
    table = found.table.assign(model=found.table["base"] + " " + names + scales, variant=_forms(found.table))
    _scores.draw_bars(table, path, x="model", group="variant")


def _forms(table: pd.DataFrame) -> list[str]:
    """Return what is done to each row's dataset, as pages name it: original, contrast-matched, perturbed or noisy."""
    names = {ORIGINAL: ORIGINAL, CONTROL: "contrast-matched"}
    return [
        names.get(variant) or str(dataset).partition("/")[0].removeprefix(f"{base}_")
        for dataset, base, variant in table[["dataset", "base", "variant"]].to_numpy()
    ]


Groups: TypeAlias = dict[tuple[str, str], dict[str, pd.DataFrame]]
"""Base and objective -> role of the dataset -> rows."""


def _groups(table: pd.DataFrame) -> Groups:
    """Return the runs at the usual strength."""
    usual = table[table["scale"] == 1]
    return {
        (str(base), str(objective)): {str(variant): rows for variant, rows in part.groupby("variant", sort=False)}
        for (base, objective), part in usual.groupby(["base", "objective"], sort=False)
    }


def _numbers(groups: Groups) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for (base, objective), found in groups.items():
        for variant in (name for name in (ORIGINAL, CONTROL, CHANGED) if name in found):
            numbers[f"MIG of {objective} on {base}, {variant}"] = float(found[variant]["mig"].mean())
        for variant in (name for name in (ORIGINAL, CONTROL) if name in found):
            numbers[f"baseline on {base}, {variant}"] = _scores.floor(found[variant], "mig")
    return numbers


def _falls(pairs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], by: float = 0.0) -> verdicts.Comparison:
    """Test once that MIG falls by more than a bound, for pairs of tables of which the first reaches its floor."""
    return verdicts.compare(
        [before["mig"] - by for before, _ in pairs],
        [after["mig"] for _, after in pairs],
        floors=[_scores.floor(before, "mig") - by for before, _ in pairs],
    )


GATE = "gate: VAEs with PCA's MIG, and 0.1, on the data that it would fall from"


def judge(table: pd.DataFrame, begin: str, *, stays: bool) -> Verdict:
    """Judge that the VAEs' MIG falls from one role's data to changed data, or that it falls by less than `SAME`.

    Contrast-matched data have as little contrast as changed ones. Each dataset is a test, and each VAE a stratum of it.
    The autoencoder has little to lose and is shown only.
    """
    groups = _groups(table)
    numbers: dict[str, float] = {}
    parts = []
    for base in dict.fromkeys(base for base, _ in groups):
        vaes = [found for (name, objective), found in groups.items() if name == base and objective != "ae"]
        pairs = [(found[begin], found[CHANGED]) for found in vaes]
        found = _falls(pairs, SAME).turned() if stays else _falls(pairs)
        parts.append(found)
        numbers[f"fall on {base} from {begin}"] = SAME - found.difference if stays else found.difference
        numbers[f"VAEs above the baseline on {base}, {begin}"] = found.reached
    return judged("MIG from the bound" if stays else "MIG", parts, numbers | _numbers(groups), GATE)


def _by_seed(table: pd.DataFrame) -> tuple[dict[str, NDArray[np.float64]], float]:
    """Return what each seed has on contrast-matched and changed data, mean over objectives, and the floor of the first.

    Runs of one seed begin with the same weights, and these two objectives take the same pairs of rows, on all forms. So
    scores of one seed belong together, and a seed counts once.
    """
    usual = table[table["scale"] == 1]
    mean = usual.groupby(["variant", "seed"])["mig"].mean().unstack("seed")
    floor = _scores.floor(usual[usual["variant"] == CONTROL], "mig")
    return {str(variant): row.to_numpy(np.float64) for variant, row in mean.iterrows()}, floor


def judge_by_seed(table: pd.DataFrame, *, stays: bool) -> Verdict:
    """Judge that MIG falls from contrast-matched to changed data, or by less than `SAME`, seed by seed."""
    mean, floor = _by_seed(table)
    fall = verdicts.compare([mean[CONTROL]], [mean[CHANGED]], paired=True, floors=[floor])
    less = verdicts.compare([mean[CONTROL] - SAME], [mean[CHANGED]], paired=True, floors=[floor - SAME]).turned()
    measure, found = ("MIG from the bound", less) if stays else ("MIG", fall)
    return judged(measure, [found], _fall(fall) | _numbers(_groups(table)), GATE)


def _fall(found: verdicts.Comparison) -> dict[str, float]:
    """Return by how much MIG falls, with its interval where there are seeds enough for one."""
    numbers = {"fall from contrast-matched": found.difference}
    if found.seeds >= intervals.SEEDS:
        numbers |= {"its lower end, 95%": found.low, "its upper end, 95%": found.high}
    return numbers


def judge_tuned(table: pd.DataFrame) -> Verdict:
    """Judge that at the best β the MIG on a changed form is not below that on original data by `SAME`.

    The best β is the one with the highest mean, chosen on the same runs, in favour of the claim.
    """
    ((base, _), usual), *_ = _groups(table).items()
    changed = table[table["variant"] == CHANGED]
    by_scale = changed.groupby("scale")["mig"].mean()
    best = max(by_scale.index, key=lambda scale: float(by_scale[scale]))
    original = usual[ORIGINAL]
    numbers = {f"fall of MIG on {base}, best β": float(original["mig"].mean() - by_scale[best])}
    numbers |= {f"MIG on {base}, {CHANGED}, β × {scale:g}": float(mig) for scale, mig in by_scale.items()}
    numbers |= {"MIG, original": float(original["mig"].mean()), "baseline": _scores.floor(original, "mig")}
    found = _falls([(original, changed[changed["scale"] == best])], SAME).turned()
    return judged("MIG from the bound", [found], numbers, GATE)


def draw_regularised(found: Found, path: Path) -> None:
    """Draw MIG over the scale of the strength, a panel per dataset, and dashed the active units."""
    figures.check_columns(found.table, ["base", "dataset", "objective", "variant", "scale", "mig", "active"])
    bases = list(found.table.assign(variant=_forms(found.table)).groupby("base", sort=False))
    figure, axes = figures.panels(1, len(bases), width=4.0)
    for panel, (base, table) in zip(axes[0], bases, strict=True):
        counts = panel.twinx()
        for style, ((objective, variant), part) in enumerate(table.groupby(["objective", "variant"], sort=False)):
            figures.curve(panel, part, "scale", "mig", style=style, label=f"{_scores.shown(str(objective))}, {variant}")
            units = part.groupby("scale")["active"].mean()
            counts.plot(units.index, units, color=figures.COLOURS[style % len(figures.COLOURS)], linestyle="--")
        panel.set_xscale("log", base=2)
        panel.set(title=base, xlabel="scale of the strength", ylabel="MIG", ylim=(0, None))
        counts.set(ylabel="active units (dashed)", ylim=(0, 1.4 * table["active"].max()))  # room for the legend
    axes[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    figures.save(figure, path)


def judge_robust(table: pd.DataFrame) -> Verdict:
    """Judge that MIG on changed data stays below that on original data wherever there are units for all factors.

    The original's is that at the usual strength. What has fewer active units than factors is over-pruned and does not
    count; where nothing else is left for a dataset and an objective, there is no verdict.
    """
    numbers: dict[str, float] = {}
    parts = []
    changed = table[table["variant"] == CHANGED]
    for (base, objective), found in _groups(table).items():
        original, name = found[ORIGINAL], f"{objective} on {base}"
        bound = _scores.floor(original, "mig")
        numbers[f"MIG of {name}, original"] = float(original["mig"].mean())
        numbers[f"baseline on {base}"] = bound
        here = changed[(changed["base"] == base) & (changed["objective"] == objective)]
        whole = []
        for scale, rows in here.groupby("scale"):
            numbers[f"MIG of {name}, changed, × {scale:g}"] = float(rows["mig"].mean())
            numbers[f"active units of {name}, changed, × {scale:g}"] = float(rows["active"].mean())
            if rows["active"].mean() >= rows["factors"].mean():
                whole.append(verdicts.compare([original["mig"]], [rows["mig"]], floors=[bound]))
        if not whole:
            return Verdict(
                "no significant difference", numbers, None, f"no strength leaves units for all factors: {name}"
            )
        parts += whole
    return judged("MIG", parts, numbers, GATE)
