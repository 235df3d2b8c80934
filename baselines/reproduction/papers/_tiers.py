"""Replacements of the papers' datasets, models and budgets at each tier; the study tier has the papers' own.

A run of a paper becomes a smaller one by `baselines.sweeps._forms.form`, which keeps its strength, loss and reduction.
If the board's runs suffice for an entry, it uses them (`board_runs`), with the board's strengths.

``desk`` has five seeds, or ten if an entry says so. Comparisons of layers use the papers' kinds of architecture
(`at_tier`), since fully connected decoders stay similar where convolutional ones do not (2205.08399, appendix F): a run
takes one to two minutes of an idle core, all of them about two hours on two cores. Other models are fully connected,
128 wide, and see 3,000 steps of 64 images (`small_fc_run`).

XYSquares and dSprites are the papers' own; rendered datasets stand in for the others (`STAND_INS`). No rendered dataset
has faces: xyobject, whose position, size and colour vary, stands in for CelebA.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from typing import Any, TypeVar

from baselines.config import RunConfig
from baselines.reproduction.entries import Transfer
from baselines.sweeps import desk, desk_controls
from baselines.sweeps._forms import form

R = TypeVar("R", bound=RunConfig | Transfer)

STAND_INS = {
    "shapes3d": "room3d",
    "cars3d": "room3d",
    "smallnorb": "solids",
    "symsol_reduced": "solids",
    "celeba": "xyobject/plain",
}
"""Family of a published dataset -> the dataset that stands in for it."""

SEEDS = 5
"""Of the desk tier."""

PLAIN: dict[str, Any] = {
    "architecture": "fc",
    "architecture_parameters": {"width": 128},
    "learning_rate": 1e-3,
    "steps": 3_000,
    "batch_size": 64,
    "train_share": 0.9,
}
"""Settings of the desk tier's models that are not the board's; they see 90% of a dataset, as the board's do."""


def stand_in(dataset: str) -> str:
    """Return the rendered dataset that stands in for a published one, or the dataset itself.

    Example:
        >>> stand_in("cars3d/64_lanczos"), stand_in("shapes3d_noisy/eps10"), stand_in("dsprites")
        ('room3d', 'room3d_noisy/eps10', 'dsprites')
    """
    name, _, config = dataset.partition("/")
    if name in STAND_INS:
        return STAND_INS[name]
    base, _, change = name.partition("_")
    return f"{STAND_INS[base]}_{change}/{config}" if base in STAND_INS else dataset


def small_fc_run(published: RunConfig, **changes: Any) -> RunConfig:
    """Return a small fully connected form of a paper's run at desk tier.

    Args:
        published: the study tier's run.
        **changes: other keys of `baselines.sweeps._forms.CHANGED`.
    """
    defaults = {"dataset": stand_in(published.dataset), "split": "", "snapshots": ()}
    return form(published, **defaults | PLAIN | changes)


STEPS = 1_000
"""Of runs whose layers are compared, and of transfers from them, at desk tier."""

SNAPSHOTS = (25, 250, 500, 750)
"""Near the shares of training that the papers show (dSprites' first is at 7.7%, ours at 2.5%)."""

FIRST = 2
"""One more snapshot of fully connected models: epoch 1 of 410 (2205.08399, figure 12)."""


def at_tier(tier: str, seeds: Sequence[R]) -> tuple[R, ...]:
    """Return a model's runs, or transfers from them, at a tier.

    Args:
        tier: the tier.
        seeds: the study tier's runs, one per seed.
    """
    return tuple(seeds) if tier == "study" else tuple(_desk_form(run) for run in seeds[:SEEDS])


def _desk_form(published: Any) -> Any:
    """Return a run, or a transfer from one, with the paper's kind of architecture: convolutions have half the width."""
    dataset = stand_in(published.dataset)
    if isinstance(published, Transfer):
        changes = {"steps": STEPS, "snapshots": ()}
        return dataclasses.replace(published, source=_desk_form(published.source), dataset=dataset, changes=changes)
    is_convolutional = published.architecture == "conv"
    return form(
        published,
        dataset=dataset,
        split="",
        architecture="conv_small" if is_convolutional else published.architecture,
        architecture_parameters={} if is_convolutional else published.architecture_parameters,
        steps=STEPS,
        learning_rate=5e-4,
        snapshots=(FIRST, *SNAPSHOTS) if published.architecture == "fc" else SNAPSHOTS,
    )


def data_at_tier(tier: str, published: str) -> str:
    """Return the dataset that replaces a published one at a tier."""
    return published if tier == "study" else stand_in(published)


def board_runs(datasets: Container[str], objectives: Container[str], seeds: int = SEEDS) -> tuple[RunConfig, ...]:
    """Return the board's runs of some datasets and objectives, in the order of its sweeps.

    Example:
        >>> [(run.dataset, run.seed) for run in board_runs({"dsprites", "room3d"}, {"ae"})][:6:5]
        [('dsprites', 0), ('room3d', 0)]
    """
    runs = (*desk.SWEEP, *desk_controls.CONV32)
    return tuple(run for run in runs if run.dataset in datasets and run.objective in objectives and run.seed < seeds)
