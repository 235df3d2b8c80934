"""Zietlow, Rolinek and Martius, "Demystifying Inductive Biases for (Beta-)VAE Based Architectures" (2021).

The paper does not print its regularisation strengths ("literature or better"); here they are `OBJECTIVES`, and `SCALES`
what figure 5 multiplies them by. Making room for the pattern costs contrast, which alone may lower a score: so tables 1
and 2 have a control, ``squeezed``, that makes the room and leaves it empty.

The hidden variable is a latent of a β-VAE at study tier, as in the paper, and the first principal component at the
others, but for figure 5 at desk tier, which has a latent of a β-TCVAE. At smoke tier models on unchanged data are the
board's of that tier. At desk tier the tables take the board's runs, and nothing else is trained for tables 1 and 2.
`table1_rooms` and `table2_rooms` have the one VAE that is above the baseline on rooms, with the paper's ten seeds.
`table1_longer` and `table2_longer` train it on sprites for three times the steps, but for smoke tier. `table1_pairs`
and `table2_pairs` ask what a pattern and what noise take beyond the squeeze, of the two objectives that have something
to lose there, with twenty seeds that nobody had seen when they were chosen.

Panel (c) of figure 4 is on ``patterned`` data, where s is one more independent factor. There is none of dSprites: at
study tier its stand-in, which has its grid, is trained on with the paper's budget. Figure 1 (b) is `_plane`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import benchmark_data
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
from baselines.reproduction.papers import _images, _plane, _scores, _tiers
from baselines.run import Run
from baselines.sweeps.desk import family
from benchmark_data.factors import Indices
from benchmark_data.variants import perturbation
from leaderboard import figures, protocol
from leaderboard.analyses import expansiveness, latents
from leaderboard.store import verdicts

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
"""MIG by which a score may fall and still not be said to have fallen: half of the floor."""

SEEDS = 10

SCALES = (0.5, 1.0, 2.0, 4.0)
"""What figure 5 multiplies the strengths by."""

WEAKER = (0.5, 0.25)
"""What the strength is multiplied by on squeezed data, whose images differ by less: is it β that lowers MIG there?"""

TUNED = (2.0, 4.0, 8.0)
"""Among what table 2 seeks the β for noisy data; the paper found 16, four times that of `OBJECTIVES`."""

LEARNED, BY_PIXELS = "_perturbed/conv32_eps10", "_perturbed/pca32_eps10"
"""What stands behind the name of perturbed data, by a latent of a β-VAE, as in the paper, and by a component of PCA."""

NOISY, SQUEEZED = "_noisy/eps10", "_squeezed/eps10"
"""The same of the controls."""

VAES = tuple(objective for objective in OBJECTIVES if objective != "ae")

_STRONGEST = ("beta_tc_vae",)
"""The VAE of the desk tier that is above the baseline."""

PAIRED = ("ada_gvae", "ada_ml_vae")
"""Objectives that are told pairs, with their defaults: on squeezed sprites no others reach the floor. The paper has
none."""

FRESH = range(_tiers.SEEDS["desk"], _tiers.SEEDS["desk"] + 20)
"""Seeds of `PAIRED` at desk tier: by the board's, before them, the two were chosen."""

STRENGTHS = tuple(round(0.01 * step, 2) for step in range(21))
"""ε at which figure 4 (a) and (b) are measured; in steps of 0.025 both leads begin at the same."""


def runs(
    variants: tuple[str, ...], objectives: tuple[str, ...], bases: Container[str] = LATENTS
) -> tuple[RunConfig, ...]:
    """Return the runs of a table.

    Args:
        variants: what stands behind the dataset's name, such as ``"_noisy/eps10"``.
        objectives: rows of the table.
        bases: the datasets that are changed, of `LATENTS`.
    """
    return tuple(
        RunConfig(
            dataset=f"{base}{variant}",
            objective=objective,
            hyperparameters=OBJECTIVES.get(objective, {}),
            architecture="conv_dlib",
            latents=factors,
            train_share=1.0,
            seed=seed,
            snapshots=[],
        )
        for base, factors in LATENTS.items()
        if base in bases
        for variant in variants
        for objective in objectives
        for seed in range(SEEDS)
    )


def scaled(config: RunConfig, scale: float) -> RunConfig:
    """Multiply a run's regularisation strength.

    Example:
        >>> scaled(runs(("",), ("factor_vae",))[0], 2).hyperparameters["gamma"]
        70.0
    """
    name = next(iter(OBJECTIVES[config.objective]))
    own = {**config.hyperparameters, name: scale * config.hyperparameters[name]}
    return dataclasses.replace(config, hyperparameters=own)


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


def small(configs: Iterable[RunConfig]) -> tuple[RunConfig, ...]:
    """Return the smoke tier's form of runs: the board's of that tier, trained on the same changes of its datasets."""
    chosen = []
    for config in configs:
        dataset = _tiers.stand_in(config.dataset).replace(LEARNED, BY_PIXELS)
        base = _tiers.board("smoke", {family(dataset)}, {config.objective})
        chosen += [dataclasses.replace(run, dataset=dataset) for run in base if run.seed == config.seed]
    return tuple(chosen)


def plan(
    tier: str,
    strengths: Iterable[tuple[float, Iterable[RunConfig]]],
    *,
    metrics: Sequence[str] = ("mig",),
    **own: Any,
) -> Plan:
    """Return the plan of what is scored at several strengths.

    Args:
        tier: the tier.
        strengths: scale -> runs at the usual strength.
        metrics: what is scored.
        **own: other settings.
    """
    made = {
        scale: tuple(configs if scale == 1 else (scaled(config, scale) for config in configs))
        for scale, configs in strengths
    }
    every = tuple(config for found in made.values() for config in found)
    return Plan(
        runs=every,
        settings={"strengths": tuple(made.items()), "metrics": tuple(metrics)} | own,
        codes=True,
        seconds=(60.0 if tier == "study" else 4.0) * len(every),
    )


def table_plans(
    variants: tuple[str, ...],
    objectives: tuple[str, ...],
    desk: tuple[str, ...],
    *,
    bases: Container[str] = LATENTS,
    times: int = 1,
    seeds: range = range(_tiers.SEEDS["desk"]),
) -> dict[str, Any]:
    """Return the plans of a table that compares variants, or one of them with the unchanged data.

    Args:
        variants: what stands behind the datasets' names; nothing for the unchanged data.
        objectives: rows of the table.
        desk: the datasets at desk tier.
        bases: the datasets that are changed, at the other tiers.
        times: how many times as many steps the models are trained, at all tiers but smoke, which stays small.
        seeds: at desk tier, as many as the board's or a multiple.
    """
    published = runs(variants, objectives, bases)
    board = _tiers.board("desk", desk, objectives)
    more = seeds[:: _tiers.SEEDS["desk"]]
    made = {
        "smoke": small(published),
        "desk": longer((dataclasses.replace(run, seed=run.seed + first) for first in more for run in board), times),
        "study": longer(published, times),
    }
    return {tier: plan(tier, [(1.0, configs)]) for tier, configs in made.items()}


def longer(configs: Iterable[RunConfig], times: int) -> tuple[RunConfig, ...]:
    """Return runs with a number of times as many steps.

    Example:
        >>> longer(runs(("",), ("ae",))[:1], 3)[0].steps
        900000
    """
    return tuple(dataclasses.replace(config, steps=times * config.steps) for config in configs)


def tuned_plans(objective: str, variant: str, scales: tuple[float, ...], *, times: int = 1) -> dict[str, Any]:
    """Return the plans that seek the strength for a changed form of dSprites.

    Args:
        objective: the VAE.
        variant: what stands behind the dataset's name.
        scales: what the strength is multiplied by; 1 is there without being named.
        times: how many times as many steps the models are trained, at all tiers but smoke, which stays small.
    """
    published = [run for run in runs(("", variant), (objective,)) if family(run.dataset) == "dsprites"]
    desk = _tiers.board("desk", {"sprites2d", f"sprites2d{variant}"}, {objective})
    made = {}
    for tier, configs in (
        ("smoke", small(published)),
        ("desk", longer(desk, times)),
        ("study", longer(published, times)),
    ):
        changed = [config for config in configs if role(config.dataset) != ORIGINAL]
        made[tier] = plan(tier, [(1.0, configs), *((scale, changed) for scale in scales)])
    return made


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
    codes = (encoded(runs.open(config), settings["samples"]) for config in configs)
    table = scored(settings, runs, tier).table
    return Found(
        table.assign(
            active=[latents.measure(*posterior)["used"].sum() for _, *posterior in codes],
            factors=[len(protocol.task(config.dataset).scored) for config in configs],
        )
    )


def encoded(run: Run, samples: int) -> tuple[Indices, NDArray[np.floating], NDArray[np.float64]]:
    """Encode the first test rows of a run's dataset: rows, posterior means and posterior variances."""
    rows = protocol.task(run.dataset.id).test[:samples]
    posterior = run.encode(run.dataset.images(rows))
    return rows, posterior.mean, np.exp(posterior.log_variance.astype(np.float64))


def draw_scores(found: Found, path: Path) -> None:
    """Draw the MIG of the table, bars for original, squeezed and perturbed or noisy data, under these names."""
    scales = ["" if scale == 1 else f", β × {scale:g}" for scale in found.table["scale"]]
    names = found.table["objective"].map(_scores.shown)
    table = found.table.assign(model=found.table["base"] + " " + names + scales, variant=_forms(found.table))
    _scores.draw_bars(table, path, x="model", group="variant")


def _forms(table: pd.DataFrame) -> list[str]:
    """Return what is done to each row's dataset, as pictures name it: original, squeezed, perturbed or noisy."""
    return [
        str(dataset).partition("/")[0].removeprefix(f"{base}_") if variant == CHANGED else str(variant)
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


def _falls(groups: Groups, base: str, begin: str) -> verdicts.Comparison:
    """Test once, for all VAEs on a dataset, that MIG falls on changed data.

    A VAE is a stratum, and counts where it reaches the baseline on the data that it falls from.
    """
    vaes = [found for (name, objective), found in groups.items() if name == base and objective != "ae"]
    return verdicts.compare(
        [found[begin]["mig"] for found in vaes],
        [found[CHANGED]["mig"] for found in vaes],
        floors=[_scores.floor(found[begin], "mig") for found in vaes],
    )


GATE = "gate: VAEs with PCA's MIG, and 0.1, on the data that it would fall from"


def _judge_falls(table: pd.DataFrame, begin: str) -> Verdict:
    groups = _groups(table)
    numbers: dict[str, float] = {}
    parts = []
    for base in dict.fromkeys(base for base, _ in groups):
        found = _falls(groups, base, begin)
        parts.append(found)
        numbers[f"fall on {base} from {begin}"] = found.difference
        numbers[f"VAEs above the baseline on {base}, {begin}"] = found.reached
    return judged("MIG", parts, numbers | _numbers(groups), GATE)


def judge_falls(table: pd.DataFrame) -> Verdict:
    """Judge that the VAEs' MIG falls from original to changed data, on every dataset.

    The autoencoder has little to lose and is shown only.
    """
    return _judge_falls(table, ORIGINAL)


def judge_falls_from_control(table: pd.DataFrame) -> Verdict:
    """Judge the same from squeezed data, which have as little contrast as changed ones."""
    return _judge_falls(table, CONTROL)


def _no_fall(found: Iterable[tuple[pd.DataFrame, pd.DataFrame]]) -> verdicts.Comparison:
    """Test once that scores fall by less than `SAME`, for pairs of tables of which the first reaches its floor."""
    pairs = list(found)
    return verdicts.compare(
        [before["mig"] - SAME for before, _ in pairs],
        [after["mig"] for _, after in pairs],
        floors=[_scores.floor(before, "mig") - SAME for before, _ in pairs],
    ).turned()


def _by_seed(table: pd.DataFrame) -> tuple[dict[str, NDArray[np.float64]], float]:
    """Return what each seed has on squeezed and on changed data, mean over objectives, and the floor of the first.

    Runs of one seed begin with the same weights, and these two objectives take the same pairs of rows, on all forms. So
    scores of one seed belong together, and a seed counts once.
    """
    usual = table[table["scale"] == 1]
    mean = usual.groupby(["variant", "seed"])["mig"].mean().unstack("seed")
    floor = _scores.floor(usual[usual["variant"] == CONTROL], "mig")
    return {str(variant): row.to_numpy(np.float64) for variant, row in mean.iterrows()}, floor


def judge_pattern(table: pd.DataFrame) -> Verdict:
    """Judge that MIG is lower on changed data than on squeezed data, seed by seed."""
    mean, floor = _by_seed(table)
    found = verdicts.compare([mean[CONTROL]], [mean[CHANGED]], paired=True, floors=[floor])
    return judged("MIG", [found], _fall(found) | _numbers(_groups(table)), GATE)


def judge_noise(table: pd.DataFrame) -> Verdict:
    """Judge that MIG on changed data is less than `SAME` below that on squeezed data, seed by seed."""
    mean, floor = _by_seed(table)
    before, bound = mean[CONTROL] - SAME, floor - SAME
    found = verdicts.compare([before], [mean[CHANGED]], paired=True, floors=[bound]).turned()
    fall = verdicts.compare([mean[CONTROL]], [mean[CHANGED]], paired=True)
    return judged("MIG, within the bound", [found], _fall(fall) | _numbers(_groups(table)), GATE)


def _fall(found: verdicts.Comparison) -> dict[str, float]:
    """Return by how much MIG falls, with its interval where there are seeds enough for one."""
    numbers = {"fall from squeezed": found.difference}
    if found.seeds >= verdicts.SEEDS:
        numbers |= {"its lower end, 95%": found.low, "its upper end, 95%": found.high}
    return numbers


def _judge_stays(table: pd.DataFrame, begin: str) -> Verdict:
    groups = _groups(table)
    numbers: dict[str, float] = {}
    parts = []
    for base in dict.fromkeys(base for base, _ in groups):
        here = [found for (name, _), found in groups.items() if name == base]
        found = _no_fall((rows[begin], rows[CHANGED]) for rows in here)
        parts.append(found)
        numbers[f"fall on {base} from {begin}"] = SAME - found.difference
        numbers[f"VAEs above the baseline on {base}, {begin}"] = found.reached
    return judged("MIG, within the bound", parts, numbers | _numbers(groups), GATE)


def judge_stays(table: pd.DataFrame) -> Verdict:
    """Judge that noise does not lower the VAEs' MIG by `SAME` from that on original data, on every dataset."""
    return _judge_stays(table, ORIGINAL)


def judge_stays_from_control(table: pd.DataFrame) -> Verdict:
    """Judge the same from squeezed data, which have as little contrast as noisy ones."""
    return _judge_stays(table, CONTROL)


def judge_tuned(table: pd.DataFrame) -> Verdict:
    """Judge that at the best β the MIG on a changed form is not below that on original data by `SAME`.

    The best β is the one with the highest mean, chosen on the same runs, in favour of the claim.
    """
    return _judge_best(table)


def judge_weaker(table: pd.DataFrame) -> Verdict:
    """Judge the same of the best of the β that are weaker than usual."""
    return _judge_best(table, below=1.0)


def _judge_best(table: pd.DataFrame, *, below: float = np.inf) -> Verdict:
    """Judge the best of the strengths whose scale is below a bound."""
    ((base, _), usual), *_ = _groups(table).items()
    form = CHANGED if (table["variant"] == CHANGED).any() else CONTROL
    changed = table[table["variant"] == form]
    by_scale = changed.groupby("scale")["mig"].mean()
    best = max((scale for scale in by_scale.index if scale < below), key=lambda scale: float(by_scale[scale]))
    original = usual[ORIGINAL]
    numbers = {f"fall of MIG on {base}, best β": float(original["mig"].mean() - by_scale[best])}
    numbers |= {f"MIG on {base}, {form}, β × {scale:g}": float(mig) for scale, mig in by_scale.items()}
    numbers |= {"MIG, original": float(original["mig"].mean()), "baseline": _scores.floor(original, "mig")}
    return judged("MIG, within the bound", [_no_fall([(original, changed[changed["scale"] == best])])], numbers, GATE)


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


def pictures(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Take the same images without and with the hidden variable, and measure by how much they differ."""
    images: dict[str, NDArray[Any]] = {}
    rows = []
    for base in settings["datasets"]:
        original = benchmark_data.load(base)
        perturbed = benchmark_data.load(f"{base}_perturbed/{settings['variant']}")
        chosen = original.quick_rows()[: settings["columns"]]
        before, after = original.images(chosen), perturbed.images(chosen)
        images |= {f"{base}\noriginal": before, f"{base}\nperturbed": after}
        change = np.abs(after.astype(np.float64) - before) / 255
        for row, each, largest in zip(chosen, change.mean(axis=(1, 2, 3)), change.max(axis=(1, 2, 3)), strict=True):
            rows.append((base, int(row), float(perturbed.parameters["epsilon"]), float(each), float(largest)))  # type: ignore[arg-type]
    return Found(pd.DataFrame(rows, columns=["dataset", "row", "epsilon", "mean_change", "largest_change"]), images)


def judge_small(table: pd.DataFrame) -> Verdict:
    """Show by how much pixels change: the data are made so that it is no more than they say."""
    means = table.groupby("dataset", sort=False)[["mean_change", "largest_change"]].agg(
        {"mean_change": "mean", "largest_change": "max"}
    )
    numbers = {f"{name}, {what}": float(means.loc[name, what]) for name in means.index for what in means.columns}
    return Verdict(ILLUSTRATION, {name.replace("_", " "): value for name, value in numbers.items()})


def hidden(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure local expansiveness and global variance of the factors and of s, at growing strengths."""
    base = benchmark_data.load(settings["dataset"])
    return Found(
        expansiveness.measure_hidden(
            base, epsilons=settings["epsilons"], factors=settings["factors"], samples=settings["samples"]
        )
    )


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
    numbers["largest ε"] = float(table["epsilon"].max())
    return fact(local is not None and (overall is None or local < overall), numbers)


def noises(settings: Mapping[str, Any], runs: Runs, tier: str) -> Found:
    """Measure the noise of the latent that each factor has of its own, s among them, at each strength and seed."""
    tables = []
    for config in settings["runs"]:
        run = runs.open(config)
        rows, mean, variance = encoded(run, settings["encoded"])
        labels, names = run.dataset.labels(rows), list(run.dataset.space.names)
        labels[:, names.index("s")] //= perturbation.LEVELS // 16
        varies = (labels != labels[0]).any(axis=0)
        shown = [name for name, each in zip(names, varies, strict=True) if each]
        found = expansiveness.own_latents(mean, variance, labels[:, varies], shown)
        found = found.melt("factor", ["share", "noise"], var_name="quantity")
        tables.append(found.assign(epsilon=float(str(run.dataset.parameters["epsilon"])), seed=config.seed))
    return Found(pd.concat(tables, ignore_index=True))


def judge_noises(table: pd.DataFrame) -> Verdict:
    """Judge that s has the latent with the least noise at `perturbation.DEFAULT`, and has it not at the least strength.

    A factor that no latent knows most of has no latent: its noise is 1, that of the prior. Where no run has one of s at
    any strength, models know too little for its noise to mean anything.
    """
    numbers: dict[str, float] = {}
    parts = []
    encoded = (table[(table["quantity"] == "noise") & (table["factor"] == "s")]["value"] < 1).any()
    strengths = sorted({float(epsilon) for epsilon in table["epsilon"]})
    for epsilon in strengths:
        here = table[table["epsilon"] == epsilon]
        noise = here[here["quantity"] == "noise"].pivot(index="factor", columns="seed", values="value")
        share = here[(here["quantity"] == "share") & (here["factor"] == "s")]["value"]
        s, least = noise.loc["s"], noise.drop(index="s").min(axis=0)
        numbers[f"noise of s at ε = {epsilon:g}"] = float(s.to_numpy().mean())
        numbers[f"least noise of a factor at ε = {epsilon:g}"] = float(least.mean())
        numbers[f"share of s that a latent knows at ε = {epsilon:g}"] = float(share.to_numpy().mean())
        if epsilon == perturbation.DEFAULT:
            parts.append(verdicts.compare([least], [s], paired=True))
        elif epsilon == strengths[0]:
            parts.append(verdicts.compare([s], [least], paired=True))
    if not encoded:
        parts = [part._replace(p=None, reached=0) for part in parts]
    return judged("noise", parts, numbers, "gate: a latent of s at some strength")


def _hidden(dataset: str, samples: int) -> Plan:
    settings = {
        "dataset": dataset,
        "epsilons": STRENGTHS,
        "factors": ("posX", "posY"),
        "samples": samples,
    }
    return Plan(datasets=(dataset,), settings=settings, seconds=samples / 50)


def _noises() -> dict[str, Any]:
    """Return the plans of figure 4 (c): a β-VAE with a latent for each factor and one for s, at each strength."""
    datasets = tuple(f"sprites2d_patterned/eps{round(1000 * epsilon):03d}" for epsilon in perturbation.PATTERNED)
    published = [run for run in runs(("",), ("beta_vae",)) if run.dataset == "dsprites"]
    made = {
        "smoke": _tiers.board("smoke", {"sprites2d"}, {"beta_vae"}),
        "desk": tuple(_tiers.plain(run) for run in published[: _tiers.SEEDS["desk"]]),
        "study": tuple(published),
    }
    plans = {}
    for tier, base in made.items():
        every = tuple(
            dataclasses.replace(run, dataset=dataset, latents=LATENTS["dsprites"] + 1)
            for dataset in datasets
            for run in base
        )
        settings = {"runs": every, "encoded": 5_000}
        plans[tier] = Plan(runs=every, settings=settings, seconds=2.0 * len(every))
    return plans


def _pictures(learned: str, *datasets: str) -> Plan:
    perturbed = tuple(f"{name}_perturbed/{learned}" for name in datasets)
    settings = {"datasets": datasets, "variant": learned, "columns": 6}
    return Plan(datasets=(*datasets, *perturbed), settings=settings)


def _strengths() -> dict[str, Any]:
    """Return the plans of figure 5: at smoke tier for the β-VAE on sprites alone, at desk tier for the β-TCVAE on them.

    It is the one VAE that reaches the baseline there: from another's MIG a pattern has little to take.
    """
    published = runs(("", LEARNED), VAES)
    sprites = [run for run in published if family(run.dataset) == "dsprites"]
    made = {
        "smoke": small(run for run in sprites if run.objective == "beta_vae"),
        "desk": _tiers.board("desk", {"sprites2d", f"sprites2d{LEARNED}"}, _STRONGEST),
        "study": published,
    }
    samples = {"smoke": 1_000, "desk": 1_000, "study": 5_000}
    return {
        tier: plan(tier, [(scale, configs) for scale in SCALES], samples=samples[tier])
        for tier, configs in made.items()
    }


_SPRITES = ("sprites2d", f"sprites2d{SQUEEZED}")
_TABLE_1 = table_plans(("", LEARNED, SQUEEZED), tuple(OBJECTIVES), (*_SPRITES, f"sprites2d{BY_PIXELS}"))
_TABLE_2 = table_plans(("", NOISY, SQUEEZED), VAES, (*_SPRITES, f"sprites2d{NOISY}"))
_LONGER = 3
"""Times as many steps for `_STRONGEST`: does a fall there come of short training?"""
_TABLE_1_LONGER = table_plans(("", LEARNED, SQUEEZED), _STRONGEST, (*_SPRITES, f"sprites2d{BY_PIXELS}"), times=_LONGER)
_TABLE_2_LONGER = table_plans(("", NOISY, SQUEEZED), _STRONGEST, (*_SPRITES, f"sprites2d{NOISY}"), times=_LONGER)
_ROOMS = ("room3d", f"room3d{SQUEEZED}")
_TABLE_1_ROOMS = table_plans(
    ("", LEARNED, SQUEEZED), _STRONGEST, (*_ROOMS, f"room3d{BY_PIXELS}"), bases={"shapes3d"}, seeds=range(SEEDS)
)
_TABLE_2_ROOMS = table_plans(
    ("", NOISY, SQUEEZED), _STRONGEST, (*_ROOMS, f"room3d{NOISY}"), bases={"shapes3d"}, seeds=range(SEEDS)
)
_PAIRED_1, _PAIRED_2 = (
    table_plans((SQUEEZED, form), PAIRED, (f"sprites2d{SQUEEZED}", f"sprites2d{desk}"), bases={"dsprites"}, seeds=FRESH)
    for form, desk in ((LEARNED, BY_PIXELS), (NOISY, NOISY))
)
_FALLS: dict[str, Any] = {
    "claim": "MIG falls from original to perturbed data, on every dataset.",
    "judge": judge_falls,
    "control": Control(
        "MIG falls from data with as little contrast and no pattern to perturbed data, on every dataset.",
        judge_falls_from_control,
    ),
}
_DROPS = (
    "dSprites: β-VAE 0.23 to 0.07, β-TCVAE 0.25 to 0.14, FactorVAE 0.27 to 0.11; Shapes3D: 0.60 to 0.02, 0.58 to 0.28, "
    "0.27 to 0.11"
)
_STAYS: dict[str, Any] = {
    "claim": f"Noise of the same magnitude does not lower MIG by {SAME} or more, from that on original data.",
    "judge": judge_stays,
    "control": Control(
        f"Noise does not lower MIG by {SAME} or more, from that on data with as little contrast and no noise.",
        judge_stays_from_control,
    ),
}
_KEEPS = (
    "dSprites: β-VAE 0.23 to 0.09, β-TCVAE 0.25 to 0.20, FactorVAE 0.27 to 0.16; Shapes3D: 0.60 to 0.66, 0.58 to 0.60, "
    "0.27 to 0.33"
)

_PLANE: dict[str, Any] = {"smoke": _plane.plan(2, steps=5_000), "desk": _plane.plan(_tiers.SEEDS["desk"], steps=20_000)}
_PLANE["study"] = _PLANE["desk"]

_ENTRIES = (
    Entry(
        id=f"{PAPER}/fig1",
        title="(b) Codes of the plane: a non-linear VAE and a linear one",
        paper="the non-linear VAE takes the axes of the small structure",
        claim="Latents of a non-linear VAE lie nearer to the axes of the small structure than to the principal ones, "
        "and those of a linear VAE do not.",
        **_PLANE,
        compute=_plane.compute,
        draw=_plane.draw,
        judge=_plane.judge_local,
    ),
    Entry(
        id=f"{PAPER}/fig1_linear",
        title="(b) Codes of the plane: the linear VAE",
        paper="the linear VAE takes the principal axes",
        claim="The latents of a linear VAE lie nearer to the principal axes than to those of the small structure.",
        **_PLANE,
        compute=_plane.compute,
        draw=_plane.draw,
        judge=_plane.judge_linear,
    ),
    Entry(
        id=f"{PAPER}/fig3",
        title="Images with and without the hidden pattern",
        paper="the difference is small",
        claim="None that could fail: the pattern is made no larger than it says.",
        smoke=_pictures("pca32_eps10", "sprites2d", "room3d"),
        study=_pictures("conv32_eps10", "dsprites", "shapes3d"),
        compute=pictures,
        draw=_images.draw,
        judge=judge_small,
    ),
    Entry(
        id=f"{PAPER}/fig4",
        title="(a), (b) Local expansiveness and global variance of the hidden variable",
        paper="s leads locally from ε ≈ 0.1 on, long before it leads globally",
        claim="The hidden variable leads in local expansiveness at a smaller ε than in explained global variance, by "
        "however little.",
        smoke=_hidden("sprites2d", 1_000),
        study=_hidden("dsprites", 2_000),
        compute=hidden,
        draw=of_table(expansiveness.draw),
        judge=judge_hidden,
    ),
    Entry(
        id=f"{PAPER}/fig4_noise",
        title="(c) Noise of the latents of a β-VAE where s is one more independent factor",
        paper="from ε ≈ 0.1 on s has the latent with the least noise; up to 0.075 it was not encoded",
        claim=f"At ε = {perturbation.DEFAULT:g} the latent of s has less noise than that of any factor, and at ε = "
        f"{perturbation.PATTERNED[0]:g} more than one of them.",
        **_noises(),
        compute=noises,
        draw=of_table(expansiveness.draw),
        judge=judge_noises,
    ),
    Entry(
        id=f"{PAPER}/fig5",
        title="MIG and active units over the regularisation strength, original and perturbed data",
        paper="robust; MIG recovers somewhat only where the models prune units that they need",
        claim="On perturbed data no strength that leaves as many units active as there are factors brings MIG to that "
        "of original data.",
        **_strengths(),
        compute=regularised,
        draw=draw_regularised,
        judge=judge_robust,
    ),
    Entry(
        id=f"{PAPER}/table1",
        title="MIG on original, squeezed and perturbed data",
        paper=_DROPS,
        **_FALLS,
        **_TABLE_1,
        compute=scored,
        draw=draw_scores,
    ),
    Entry(
        id=f"{PAPER}/table1_longer",
        title="Table 1 for β-TCVAE, with three times the steps",
        paper=_DROPS,
        **_FALLS,
        **_TABLE_1_LONGER,
        compute=scored,
        draw=draw_scores,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table1_pairs",
        title="Table 1 for weakly supervised objectives, from squeezed data, with fresh seeds",
        paper=_DROPS,
        claim="MIG is lower on perturbed data than on data with as little contrast and no pattern.",
        **_PAIRED_1,
        compute=scored,
        draw=draw_scores,
        judge=judge_pattern,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table1_rooms",
        title="Table 1 for β-TCVAE on rooms",
        paper=_DROPS,
        **_FALLS,
        **_TABLE_1_ROOMS,
        compute=scored,
        draw=draw_scores,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table1_weaker",
        title="MIG of a β-TCVAE on squeezed data, with weaker β",
        paper="not in the paper, which has no squeezed data",
        claim=f"With a half or a quarter of β, MIG on squeezed data is less than {SAME} below that on original data.",
        **tuned_plans("beta_tc_vae", SQUEEZED, WEAKER, times=_LONGER),
        compute=scored,
        draw=draw_scores,
        judge=judge_weaker,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table2",
        title="MIG on original, squeezed and noisy data",
        paper=_KEEPS,
        **_STAYS,
        **_TABLE_2,
        compute=scored,
        draw=draw_scores,
    ),
    Entry(
        id=f"{PAPER}/table2_longer",
        title="Table 2 for β-TCVAE, with three times the steps",
        paper=_KEEPS,
        **_STAYS,
        **_TABLE_2_LONGER,
        compute=scored,
        draw=draw_scores,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table2_pairs",
        title="Table 2 for weakly supervised objectives, from squeezed data, with fresh seeds",
        paper=_KEEPS,
        claim=_STAYS["control"].claim,
        **_PAIRED_2,
        compute=scored,
        draw=draw_scores,
        judge=judge_noise,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table2_rooms",
        title="Table 2 for β-TCVAE on rooms",
        paper=_KEEPS,
        **_STAYS,
        **_TABLE_2_ROOMS,
        compute=scored,
        draw=draw_scores,
        added=True,
        post_hoc=True,
    ),
    Entry(
        id=f"{PAPER}/table2_tuned",
        title="MIG of a β-VAE on noisy data, with tuned β",
        paper="dSprites: 0.23 on original data, 0.09 on noisy data, and 0.23 there with β = 16",
        claim=f"With a β that is tuned to noisy data, MIG there is less than {SAME} below that on original data.",
        **tuned_plans("beta_vae", NOISY, TUNED),
        compute=scored,
        draw=draw_scores,
        judge=judge_tuned,
    ),
)

ENTRIES = tuple(dataclasses.replace(entry, stated=False) for entry in _ENTRIES)
"""The paper does not state how long its models were trained."""
