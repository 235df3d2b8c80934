"""Heatmaps of layer similarities, which make up half of two papers' figures: computation, drawing and judges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from baselines.config import RunConfig
from baselines.reproduction.entries import ILLUSTRATION, Outcome, Plan, Runs, Transfer, Verdict, combine
from baselines.reproduction.papers import _tiers
from leaderboard import protocol
from leaderboard.comparisons import heatmap
from leaderboard.store import verdicts

ALIKE = 0.8
"""A high similarity of the encoder layers of fully connected models, by the papers (2205.08399, figure 14).

For others they say "close to 1" without a number; this average is the lowest that could be meant.
"""


class Side(NamedTuple):
    """One side of a panel: the same model with several seeds.

    Attributes:
        runs: the configs or transfers, one per seed.
        share: share of the training, from 0 to 1; the nearest kept snapshot is used.
    """

    runs: tuple[RunConfig | Transfer, ...]
    share: float = 1.0


class Panel(NamedTuple):
    """A heatmap, averaged over seeds. Both models encode images of the dataset that the second was trained on.

    Attributes:
        title: the title.
        x: rows.
        y: columns.
        similarity: as for `leaderboard.comparisons.heatmap.compare_layers`.
        model: the model, if panels show one model's training.
    """

    title: str
    x: Side
    y: Side
    similarity: heatmap.Similarity = "cka"
    model: str = ""


BEFORE, OTHERS = ", before training", ", of other seeds"
"""Suffixes of the titles of a panel's controls."""


def controlled(panels: Sequence[Panel]) -> list[Panel]:
    """Return panels, followed by two controls of each, which show the similarity to expect if the claim were false.

    Models of one seed begin with the same weights, whatever their objective, and any weights preserve some of the
    images' similarity. So the first models are compared before training, and with those of other seeds.
    """
    before = [panel._replace(title=panel.title + BEFORE, x=panel.x._replace(share=0.0)) for panel in panels]
    others = [
        panel._replace(title=panel.title + OTHERS, y=panel.y._replace(runs=(*panel.y.runs[1:], panel.y.runs[0])))
        for panel in panels
    ]
    return [*panels, *before, *others]


SAMPLES = {"desk": 2_000, "study": 5_000}
"""Tier -> number of images for comparing layers: with 500, CKA of unrelated wide layers is well above 0."""


def plans(panels: Sequence[Panel]) -> dict[str, Any]:
    """Return the plans of all tiers, as arguments of `baselines.reproduction.entries.Entry`."""
    return {tier: _plan(_name_by_share([_at_tier(tier, panel) for panel in panels]), n) for tier, n in SAMPLES.items()}


def _at_tier(tier: str, panel: Panel) -> Panel:
    """Return a panel with a tier's runs."""
    if tier == "study":
        return panel
    x, y = (side._replace(runs=_tiers.at_tier(tier, side.runs)) for side in (panel.x, panel.y))
    return panel._replace(title=_name_stand_ins(panel.title), model=_name_stand_ins(panel.model), x=x, y=y)


def _name_by_share(panels: Sequence[Panel]) -> list[Panel]:
    """Title the panels of one model's training by the shares of the kept snapshots, each once."""
    panels_by_title: dict[str, Panel] = {}
    for panel in panels:
        if panel.model:
            (first_run, *_) = panel.x.runs
            config = first_run if isinstance(first_run, RunConfig) else first_run.plain
            share = step_at(config, panel.x.share) / config.steps
            title = panel.title.replace(time_title(panel.model, panel.x.share), time_title(panel.model, share))
            panel = panel._replace(title=title, x=panel.x._replace(share=share))
        panels_by_title.setdefault(panel.title, panel)
    return list(panels_by_title.values())


def time_title(model: str, share: float) -> str:
    """Return the title of a panel of a model in training.

    Example:
        >>> time_title("cars3d, β-TCVAE", 25 / 1_000)
        'cars3d, β-TCVAE, 2.5% of training'
    """
    return f"{model}, {100 * share:.3g}% of training"


def _name_stand_ins(title: str) -> str:
    """Replace the datasets in a title by their stand-ins."""
    for published, rendered in _tiers.STAND_INS.items():
        title = re.sub(published, rendered, title, flags=re.IGNORECASE)
    return title


def _plan(panels: Sequence[Panel], samples: int) -> Plan:
    runs_by_digest = {run.digest: run for panel in panels for side in (panel.x, panel.y) for run in side.runs}
    transfers = tuple(run for run in runs_by_digest.values() if isinstance(run, Transfer))
    configs = [run for run in runs_by_digest.values() if isinstance(run, RunConfig)]
    runs = tuple({run.digest: run for run in (*configs, *(transfer.source for transfer in transfers))}.values())
    return Plan(
        runs=runs,
        transfers=transfers,
        settings={"panels": tuple(panels), "samples": samples},
    )


def step_at(config: RunConfig, share: float) -> int:
    """Return the kept step that is nearest to a share of the training; for a share of 0 the state before it.

    Example:
        >>> config = RunConfig(dataset="dsprites", objective="beta_vae", steps=100, snapshots=30)
        >>> step_at(config, 0), step_at(config, 0.01), step_at(config, 0.5), step_at(config, 1)
        (0, 30, 60, 100)
    """
    if share == 0:
        return 0
    return min(config.kept_steps()[1:], key=lambda step: abs(step - share * config.steps))


def activations(
    runs: Runs, config: RunConfig, step: int, samples: int, dataset: str = ""
) -> dict[str, NDArray[np.float32]]:
    """Compute the activations of a run's layers on the first test rows of a dataset, by default its own."""
    task = protocol.task(dataset or config.dataset)
    return runs.open(config, step=step).activations(task.load().images(task.test[:samples]))


def compute(settings: Mapping[str, Any], runs: Runs, tier: str) -> Outcome:
    """Compare the layers of every panel: a row per panel, seed and pair of layers."""
    tables = []
    for panel in settings["panels"]:
        for x, y in zip(panel.x.runs, panel.y.runs, strict=True):
            first_config, second_config = runs.config_of(x), runs.config_of(y)
            layers = (
                activations(runs, config, step_at(config, side.share), settings["samples"], y.dataset)
                for config, side in ((first_config, panel.x), (second_config, panel.y))
            )
            frame = heatmap.compare_layers(*layers, similarity=panel.similarity)
            wide = frame.rename_axis("layer_x").reset_index()
            long = wide.melt("layer_x", var_name="layer_y", value_name="similarity")
            labels = {"panel": panel.title, "model": panel.model, "share": panel.x.share, "seed": second_config.seed}
            tables.append(long.assign(**labels))
    return Outcome(pd.concat(tables, ignore_index=True)[[*COLUMNS]])


COLUMNS = ("panel", "model", "share", "seed", "layer_x", "layer_y", "similarity")
"""Columns of the table; ``model`` is empty and ``share`` 1 if a panel does not show training over time."""


def draw(result: Outcome, path: Path) -> None:
    """Draw the panels side by side, means over seeds."""
    frames = {}
    for title, part in result.table.groupby("panel", sort=False):
        frame = part.pivot_table(index="layer_x", columns="layer_y", values="similarity", sort=False)
        frames[str(title)] = frame.loc[part["layer_x"].unique(), part["layer_y"].unique()]
    heatmap.draw(frames, path)


def diagonal(table: pd.DataFrame, network: str) -> pd.DataFrame:
    """Average the similarity of each layer of a network with itself, for each panel and seed.

    Args:
        table: as from `compute`.
        network: ``"encoder"`` or ``"decoder"``; or the name of a layer between them: ``"mean"``, ``"variance"`` or
            ``"sampled"``. The output belongs to neither network, nor does a layer that is the input itself, such as
            the first of a fully connected encoder, which only flattens it.

    Returns:
        Mean similarities: a row per panel, a column per seed, in the order of the panels.
    """
    table = without_inputs(table)
    is_network = network in ("encoder", "decoder")
    is_chosen = table["layer_x"].str.startswith(f"{network}_") if is_network else table["layer_x"] == network
    same_layers = table[(table["layer_x"] == table["layer_y"]) & is_chosen]
    return same_layers.groupby(["panel", "seed"], sort=False)["similarity"].mean().unstack()


def without_inputs(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out the layers of a panel's models that are the input itself, and the input."""
    is_input = np.zeros(len(table), bool)
    for axis, other_axis in (("layer_x", "layer_y"), ("layer_y", "layer_x")):
        similarity_to_input = table[table[other_axis] == "input"].groupby(["panel", axis])["similarity"].min()
        panel_layers = pd.MultiIndex.from_frame(table[["panel", axis]])
        is_input |= panel_layers.isin(similarity_to_input.index[similarity_to_input > 1 - 1e-6])
    return table[~is_input]


def mean_numbers(**by_name: pd.DataFrame) -> dict[str, float]:
    """Return the means over seeds, panel by panel."""
    panels = next(iter(by_name.values())).index
    return {f"{panel}, {name}": float(means.loc[panel].mean()) for panel in panels for name, means in by_name.items()}


def compare_with_bound(values: ArrayLike, bound: float) -> verdicts.Comparison:
    """Test the claim that values, one per seed, exceed a bound."""
    seed_values = np.asarray(values, np.float64)
    return verdicts.compare([seed_values], [np.full_like(seed_values, bound)], paired=True)


def judge_encoder_above(table: pd.DataFrame, networks: Sequence[str] = ("decoder",)) -> Verdict:
    """Judge that encoder layers are more similar than other layers, of the same pairs of runs, in every panel."""
    encoder, others = diagonal(table, "encoder"), {name: diagonal(table, name) for name in networks}
    comparisons = [
        verdicts.compare([encoder.loc[panel]], [means.loc[panel]], paired=True)
        for means in others.values()
        for panel in encoder.index
    ]
    return combine("similarity", comparisons, mean_numbers(encoder=encoder, **others))


def judge_ahead(table: pd.DataFrame) -> Verdict:
    """Judge that during training encoder layers are more similar to their final state than decoder layers."""
    return judge_encoder_above(table[(table["share"] > 0) & (table["share"] < 1)])


LEFT = 0.05
"""The smallest mean of 1 - c_0 (`judge_learned_first`) for which shares of it are meaningful."""


def judge_learned_first(table: pd.DataFrame) -> Verdict:
    """Judge that encoders have made more progress to their final state than decoders, at every time, for every model.

    Progress is measured from the state before training, as a control, since untrained encoders have most of their
    similarity already: with a similarity c_t to the final state it is (c_t - c_0) / (1 - c_0).
    """
    by_phrase: dict[str, float] = {}
    comparisons = []
    for model, model_rows in table.groupby("model", sort=False):
        times = model_rows.groupby("panel", sort=False)["share"].first()
        similarities = {}
        for network in ("encoder", "decoder"):
            means = diagonal(model_rows, network)
            similarities[network] = {float(times[panel]): means.loc[panel].to_numpy(float) for panel in means.index}
            for time, values in similarities[network].items():
                by_phrase[f"{model}, {network} at {100 * time:.3g}%"] = float(values.mean())
        encoder, decoder = similarities.values()
        least_change = min(float(1 - values[0.0].mean()) for values in (encoder, decoder))
        for time in (time for time in encoder if 0 < time < 1):
            if least_change < LEFT:
                comparison = verdicts.compare([encoder[time]], [decoder[time]], paired=True).untested()
            else:
                progress = [(values[time] - values[0.0]) / (1 - values[0.0]) for values in (encoder, decoder)]
                comparison = verdicts.compare(progress[:1], progress[1:], paired=True)
                for network, share in zip(similarities, progress, strict=True):
                    by_phrase[f"{model}, {network} at {100 * time:.3g}%, share of the change"] = float(share.mean())
            comparisons.append(comparison)
    return combine("share of the change", comparisons, by_phrase, "control: similarity at 0%, before training")


def judge_encoders_alike(table: pd.DataFrame) -> Verdict:
    """Judge that encoder layers are similar, at least `ALIKE` on average, in every panel except controls."""
    return _judge_alike(diagonal(table, "encoder"))


def judge_encoders_matched(table: pd.DataFrame) -> Verdict:
    """Judge the same for two architectures, with each encoder layer of both matched to the other's most similar one."""
    table = without_inputs(table)
    both = table[table["layer_x"].str.startswith("encoder_") & table["layer_y"].str.startswith("encoder_")]
    turned = both.assign(panel="layers of the second: " + both["panel"], layer_x=both["layer_y"])
    best = pd.concat([both, turned]).groupby(["panel", "seed", "layer_x"], sort=False)["similarity"].max()
    return _judge_alike(best.groupby(["panel", "seed"], sort=False).mean().unstack())


def _judge_alike(encoder: pd.DataFrame) -> Verdict:
    judged_panels = [panel for panel in encoder.index if not panel.endswith((BEFORE, OTHERS))]
    note = "controls: before training, and of other seeds" if len(judged_panels) < len(encoder) else ""
    return combine(
        "similarity from the bound",
        [compare_with_bound(encoder.loc[panel], ALIKE) for panel in judged_panels],
        mean_numbers(encoder=encoder),
        note,
    )


def judge_falls(table: pd.DataFrame, networks: Sequence[str]) -> Verdict:
    """Judge that layers are more similar in the first panel than in the second; both share one side's runs."""
    by_network = {network: diagonal(table, network) for network in networks}
    comparisons = [verdicts.compare([means.iloc[0]], [means.iloc[1]], paired=True) for means in by_network.values()]
    return combine("similarity", comparisons, mean_numbers(**by_network))


def judge_metrics_agree(table: pd.DataFrame) -> Verdict:
    """Compare two similarities. That both have the same sign is hardly informative: an illustration."""
    gaps = diagonal(table, "encoder") - diagonal(table, "decoder")
    by_phrase = {f"{panel}, encoder above decoder by": float(gaps.loc[panel].mean()) for panel in gaps.index}
    return Verdict(ILLUSTRATION, by_phrase)


BETWEEN = ("mean", "variance", "sampled")
"""The layers between encoder and decoder."""


def judge_between_dataset(table: pd.DataFrame) -> Verdict:
    """Judge that mean, variance and sampled layers are less alike in the second panel than in each of the others.

    The panels are of different datasets, so their runs are not paired.
    """
    means_by_layer = {name: diagonal(table, name) for name in BETWEEN}
    comparisons = [
        verdicts.compare([means.iloc[other]], [means.iloc[1]])
        for means in means_by_layer.values()
        for other in range(len(means))
        if other != 1
    ]
    return combine("similarity", comparisons, mean_numbers(**means_by_layer))
