"""MIG on original, contrast-matched and changed data: the tables and figure 5 of Zietlow et al. (2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from baselines.reproduction.entries import Outcome, Runs, Verdict, combine
from baselines.reproduction.papers import _hidden, _scores
from baselines.sweeps.desk import family
from leaderboard import figures, protocol
from leaderboard.analyses import latents
from leaderboard.store import intervals, verdicts

SAME = 0.05
"""A decrease in MIG below this counts as none: half of the lowest baseline."""


ORIGINAL, CONTROL, CHANGED = "original", "squeezed", "changed"
"""Roles of datasets in a table."""


def role(dataset: str) -> str:
    """Return a dataset's role in a table.

    Example:
        >>> [role(name) for name in ("room3d", "room3d_squeezed/eps10", "room3d_noisy/eps10")]
        ['original', 'squeezed', 'changed']
    """
    if "_squeezed/" in dataset:
        return CONTROL
    return CHANGED if "/" in dataset else ORIGINAL


def scored(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Score all runs; ``base`` is the original dataset, ``variant`` the change to it."""
    tables = [
        _scores.table(runs, configs, tier, settings["metrics"]).assign(scale=scale)
        for scale, configs in settings["strengths"]
    ]
    table = pd.concat(tables, ignore_index=True)
    return Outcome(
        table.assign(
            base=[family(name) for name in table["dataset"]],
            variant=[role(name) for name in table["dataset"]],
        )
    )


def regularised(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Score all runs, and count each one's active units (posterior variance below 0.8) and the dataset's factors."""
    configs = [config for _, strength_configs in settings["strengths"] for config in strength_configs]
    encodings = (_hidden.encoded(runs.open(config), settings["samples"]) for config in configs)
    table = scored(settings, runs, tier).table
    return Outcome(
        table.assign(
            active=[latents.measure(*posterior)["used"].sum() for _, *posterior in encodings],
            factors=[len(protocol.task(config.dataset).scored) for config in configs],
        )
    )


def draw_scores(result: Outcome, path: Path) -> None:
    """Draw the MIG of the table, bars for original, contrast-matched and perturbed or noisy data."""
    scales = ["" if scale == 1 else f", β × {scale:g}" for scale in result.table["scale"]]
    titles = result.table["objective"].map(_scores.label)
    table = result.table.assign(model=result.table["base"] + " " + titles + scales, variant=_form_names(result.table))
    _scores.draw_bars(table, path, x="model", group="variant")


def _form_names(table: pd.DataFrame) -> list[str]:
    """Return the change of each row's dataset, as named on pages: original, contrast-matched, perturbed or noisy."""
    names = {ORIGINAL: ORIGINAL, CONTROL: "contrast-matched"}
    return [
        names.get(variant) or str(dataset).partition("/")[0].removeprefix(f"{base}_")
        for dataset, base, variant in table[["dataset", "base", "variant"]].to_numpy()
    ]


Groups: TypeAlias = dict[tuple[str, str], dict[str, pd.DataFrame]]
"""Base and objective -> role of the dataset -> rows."""


def _groups(table: pd.DataFrame) -> Groups:
    """Group the runs at the usual strength."""
    usual_rows = table[table["scale"] == 1]
    return {
        (str(base), str(objective)): {str(variant): rows for variant, rows in part.groupby("variant", sort=False)}
        for (base, objective), part in usual_rows.groupby(["base", "objective"], sort=False)
    }


def _mig_numbers(groups: Groups) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for (base, objective), by_variant in groups.items():
        for variant in (name for name in (ORIGINAL, CONTROL, CHANGED) if name in by_variant):
            numbers[f"MIG of {objective} on {base}, {variant}"] = float(by_variant[variant]["mig"].mean())
        for variant in (name for name in (ORIGINAL, CONTROL) if name in by_variant):
            numbers[f"baseline on {base}, {variant}"] = _scores.floor(by_variant[variant], "mig")
    return numbers


def _compare_falls(pairs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], bound: float = 0.0) -> verdicts.Comparison:
    """Test once that MIG decreases by more than a bound, over the pairs of tables whose first exceeds its baseline."""
    return verdicts.compare(
        [before["mig"] - bound for before, _ in pairs],
        [after["mig"] for _, after in pairs],
        floors=[_scores.floor(before, "mig") - bound for before, _ in pairs],
    )


GATE = "gate: VAEs with PCA's MIG, and 0.1, on the data that it would fall from"


def judge(table: pd.DataFrame, begin: str, *, stays: bool) -> Verdict:
    """Judge that the VAEs' MIG decreases from one role's data to changed data, or, if ``stays``, by less than `SAME`.

    Contrast-matched data have as little contrast as changed ones. Each dataset is a test, and each VAE a stratum of it.
    The autoencoder's MIG is too low to decrease and is only shown.
    """
    groups = _groups(table)
    numbers: dict[str, float] = {}
    comparisons = []
    for base in dict.fromkeys(base for base, _ in groups):
        vaes = [by_variant for (name, objective), by_variant in groups.items() if name == base and objective != "ae"]
        pairs = [(by_variant[begin], by_variant[CHANGED]) for by_variant in vaes]
        comparison = _compare_falls(pairs, SAME).turned() if stays else _compare_falls(pairs)
        comparisons.append(comparison)
        numbers[f"fall on {base} from {begin}"] = SAME - comparison.difference if stays else comparison.difference
        numbers[f"VAEs above the baseline on {base}, {begin}"] = comparison.reached
    return combine("MIG from the bound" if stays else "MIG", comparisons, numbers | _mig_numbers(groups), GATE)


def _scores_by_seed(table: pd.DataFrame) -> tuple[dict[str, NDArray[np.float64]], float]:
    """Return each seed's score on contrast-matched and changed data, mean over objectives, and the first's baseline.

    Runs of one seed begin with the same weights, and these two objectives draw the same pairs of rows, on all variants.
    So scores of one seed are paired, and a seed counts once.
    """
    usual_rows = table[table["scale"] == 1]
    means = usual_rows.groupby(["variant", "seed"])["mig"].mean().unstack("seed")
    floor = _scores.floor(usual_rows[usual_rows["variant"] == CONTROL], "mig")
    return {str(variant): row.to_numpy(np.float64) for variant, row in means.iterrows()}, floor


def judge_by_seed(table: pd.DataFrame, *, stays: bool) -> Verdict:
    """Judge that MIG decreases from contrast-matched to changed data, or by less than `SAME`, paired by seed."""
    means, floor = _scores_by_seed(table)
    fall = verdicts.compare([means[CONTROL]], [means[CHANGED]], paired=True, floors=[floor])
    bounded = verdicts.compare([means[CONTROL] - SAME], [means[CHANGED]], paired=True, floors=[floor - SAME]).turned()
    measure, comparison = ("MIG from the bound", bounded) if stays else ("MIG", fall)
    return combine(measure, [comparison], _fall_numbers(fall) | _mig_numbers(_groups(table)), GATE)


def _fall_numbers(comparison: verdicts.Comparison) -> dict[str, float]:
    """Return the decrease in MIG, with its interval if there are enough seeds for one."""
    numbers = {"fall from contrast-matched": comparison.difference}
    if comparison.seeds >= intervals.SEEDS:
        numbers |= {"its lower end, 95%": comparison.low, "its upper end, 95%": comparison.high}
    return numbers


def judge_tuned(table: pd.DataFrame) -> Verdict:
    """Judge that at the best β the MIG on changed data is less than `SAME` below that on original data.

    The best β is the one with the highest mean, chosen on the same runs, in favour of the claim.
    """
    ((base, _), by_variant), *_ = _groups(table).items()
    changed = table[table["variant"] == CHANGED]
    by_scale = changed.groupby("scale")["mig"].mean()
    best_scale = max(by_scale.index, key=lambda scale: float(by_scale[scale]))
    original = by_variant[ORIGINAL]
    numbers = {f"fall of MIG on {base}, best β": float(original["mig"].mean() - by_scale[best_scale])}
    numbers |= {f"MIG on {base}, {CHANGED}, β × {scale:g}": float(mig) for scale, mig in by_scale.items()}
    numbers |= {"MIG, original": float(original["mig"].mean()), "baseline": _scores.floor(original, "mig")}
    comparison = _compare_falls([(original, changed[changed["scale"] == best_scale])], SAME).turned()
    return combine("MIG from the bound", [comparison], numbers, GATE)


def draw_regularised(result: Outcome, path: Path) -> None:
    """Draw MIG over the scale of the strength, a panel per dataset, and dashed the active units."""
    base_tables = list(result.table.assign(variant=_form_names(result.table)).groupby("base", sort=False))
    figure, axes = figures.panels(1, len(base_tables), width=4.0)
    for panel, (base, table) in zip(axes[0], base_tables, strict=True):
        count_axis = panel.twinx()
        for style, ((objective, variant), rows) in enumerate(table.groupby(["objective", "variant"], sort=False)):
            figures.curve(panel, rows, "scale", "mig", style=style, label=f"{_scores.label(str(objective))}, {variant}")
            active = rows.groupby("scale")["active"].mean()
            count_axis.plot(active.index, active, color=figures.COLOURS[style % len(figures.COLOURS)], linestyle="--")
        panel.set_xscale("log", base=2)
        panel.set(title=base, xlabel="scale of the strength", ylabel="MIG", ylim=(0, None))
        count_axis.set(ylabel="active units (dashed)", ylim=(0, 1.4 * table["active"].max()))  # room for the legend
    axes[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    figures.save(figure, path)


def judge_robust(table: pd.DataFrame) -> Verdict:
    """Judge that MIG on changed data stays below that on original data if there are active units for all factors.

    The original's is that at the usual strength. Strengths with fewer active units than factors, on average over runs,
    are over-pruned and ignored; a dataset and an objective without other strengths cannot be tested.
    """
    numbers: dict[str, float] = {}
    comparisons = []
    changed = table[table["variant"] == CHANGED]
    for (base, objective), by_variant in _groups(table).items():
        original, label = by_variant[ORIGINAL], f"{objective} on {base}"
        floor = _scores.floor(original, "mig")
        numbers[f"MIG of {label}, original"] = float(original["mig"].mean())
        numbers[f"baseline on {base}"] = floor
        changed_rows = changed[(changed["base"] == base) & (changed["objective"] == objective)]
        full_comparisons = []
        for scale, rows in changed_rows.groupby("scale"):
            numbers[f"MIG of {label}, changed, × {scale:g}"] = float(rows["mig"].mean())
            numbers[f"active units of {label}, changed, × {scale:g}"] = float(rows["active"].mean())
            if rows["active"].mean() >= rows["factors"].mean():
                full_comparisons.append(verdicts.compare([original["mig"]], [rows["mig"]], floors=[floor]))
        if not full_comparisons:
            return Verdict(
                "not testable (below baseline)", numbers, None, f"no strength leaves units for all factors: {label}"
            )
        comparisons += full_comparisons
    return combine("MIG", comparisons, numbers, GATE)
