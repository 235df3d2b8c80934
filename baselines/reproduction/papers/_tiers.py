"""What a tier puts in the place of the papers' datasets, models and budgets; at study tier all is the papers'.

A run of a paper becomes a smaller one by `baselines.sweeps._forms.form`, which keeps its strength, loss and reduction.
Where an entry needs no more than the board has, its runs are the board's own (`board`), with the board's strengths.

``smoke``: the models of the sweep ``board``, fully connected and 128 wide, 2,500 steps of 16 images, two seeds. A
figure's direction may be seen, and no number of a paper. ``desk``: five seeds. What compares layers takes the papers'
kinds of architecture for 1,000 steps (`similarity`, the sweep ``desk_similarity``); other models are fully connected,
128 wide, and see 3,000 steps of 64 images (`plain`).

Datasets are rendered stand-ins (`STAND_INS`), but for XYSquares, which is the paper's own. Nothing rendered has faces:
xyobject, whose place, size and colour vary, stands in for CelebA.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from typing import Any, TypeVar

from baselines import presets
from baselines.config import RunConfig
from baselines.reproduction.entries import Transfer
from baselines.sweeps import board as smoke_board
from baselines.sweeps import desk, desk_controls, desk_similarity
from baselines.sweeps._forms import form

R = TypeVar("R", bound=RunConfig | Transfer)

STAND_INS = {
    "dsprites": "sprites2d",
    "shapes3d": "room3d",
    "cars3d": "room3d",
    "smallnorb": "solids",
    "symsol_reduced": "solids",
    "celeba": "xyobject/plain",
}
"""Family of a published dataset -> the dataset that stands in for it."""

SEEDS = {"smoke": 2, "desk": 5}

KEPT = (0.025, 0.25, 0.5, 0.75)
"""The snapshots that are kept at smoke tier before the last, as shares of the training."""

RETRAINED = {"smoke": 1_000, "desk": desk_similarity.STEPS}
"""The steps of a transfer, of which a part is trained only."""

PLAIN: dict[str, Any] = {
    "architecture": "fc",
    "architecture_parameters": {"width": 128},
    "learning_rate": 1e-3,
    "steps": 3_000,
    "batch_size": 64,
    "train_share": 0.9,
}
"""Of models of the desk tier that are not the board's; they see 90% of a dataset, as the board's do."""


def stand_in(dataset: str) -> str:
    """Return the rendered dataset that stands in for a published one.

    Example:
        >>> stand_in("cars3d/64_lanczos"), stand_in("shapes3d_noisy/eps10"), stand_in("xysquares/spacing_8")
        ('room3d', 'room3d_noisy/eps10', 'xysquares/spacing_8')
    """
    name, _, config = dataset.partition("/")
    if name in STAND_INS:
        return STAND_INS[name]
    base, _, change = name.partition("_")
    return f"{STAND_INS[base]}_{change}/{config}" if base in STAND_INS else dataset


def small(published: RunConfig, **changes: Any) -> RunConfig:
    """Return the smoke tier's form of a paper's run; objective, strength, loss, latents and seed stay.

    Args:
        published: the study's.
        **changes: other keys of `baselines.sweeps._forms.CHANGED`.
    """
    own: dict[str, Any] = {
        "dataset": stand_in(published.dataset),
        "split": "",
        "batch_size": smoke_board.BATCH_SIZE,
        "steps": smoke_board.STEPS,
        "snapshots": tuple(round(share * smoke_board.STEPS) for share in KEPT),
    }
    return form(published, **own | presets.SETTINGS | changes)


def plain(published: RunConfig, **changes: Any) -> RunConfig:
    """Return a small fully connected form of a paper's run at desk tier.

    Args:
        published: the study's.
        **changes: other keys of `baselines.sweeps._forms.CHANGED`.
    """
    own = {"dataset": stand_in(published.dataset), "split": "", "snapshots": ()}
    return form(published, **own | PLAIN | changes)


def similarity(published: RunConfig) -> RunConfig:
    """Return the desk tier's form of a run whose layers are compared."""
    return desk_similarity.of(published, stand_in(published.dataset))


def of(tier: str, seeds: Sequence[R]) -> tuple[R, ...]:
    """Return a tier's form of a model's runs, or of transfers from them.

    Args:
        tier: the tier.
        seeds: the study's, one per seed.
    """
    if tier == "study":
        return tuple(seeds)
    return tuple(_form(tier, each) for each in seeds[: SEEDS[tier]])


def _form(tier: str, full: Any) -> Any:
    if not isinstance(full, Transfer):
        return small(full) if tier == "smoke" else similarity(full)
    changes = {"steps": RETRAINED[tier], "snapshots": ()}
    return dataclasses.replace(full, source=_form(tier, full.source), dataset=stand_in(full.dataset), changes=changes)


def dataset(tier: str, published: str) -> str:
    """Return the dataset that a tier has in the place of a published one."""
    return published if tier == "study" else stand_in(published)


def board(tier: str, datasets: Container[str], objectives: Container[str]) -> tuple[RunConfig, ...]:
    """Return the board's own runs of some datasets and objectives, in the order of its sweeps.

    Those of dSprites are on its stand-in, on which the recorded studies were made.

    Example:
        >>> [(run.objective, run.seed) for run in board("smoke", {"room3d"}, {"ae"})]
        [('ae', 0), ('ae', 1)]
        >>> [run.seed for run in board("desk", {"sprites2d"}, {"ae"})]
        [0, 1, 2, 3, 4]
    """
    rendered = (dataclasses.replace(run, dataset=stand_in(run.dataset)) for run in desk.SWEEP)
    runs = smoke_board.SWEEP if tier == "smoke" else (*rendered, *desk_controls.CONV32)
    chosen = (run for run in runs if run.dataset in datasets and run.objective in objectives)
    return tuple(run for run in chosen if run.seed < SEEDS[tier])
