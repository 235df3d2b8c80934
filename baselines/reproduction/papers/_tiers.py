"""What a tier makes of a study's runs: at study tier they stay, at the others stand-ins take their place.

At smoke tier those are small and of the first seeds alone (`baselines.reproduction.papers._smoke`); at desk tier they
have the papers' kinds of architecture, and all seeds (`similarity` of `baselines.reproduction.papers._desk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from baselines.config import RunConfig
from baselines.reproduction.entries import Transfer
from baselines.reproduction.papers import _desk, _smoke

R = TypeVar("R", bound=RunConfig | Transfer)

FORMS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "smoke": (_smoke.run, _smoke.transfer),
    "desk": (_desk.similarity, _desk.transfer),
}
"""Tier -> what it makes of a run, and of a transfer."""

SECONDS = {"conv_small": 0.035, "fc": 0.06}
"""Seconds for a step of 64 images by architecture at desk tier, on two cores that train two runs at a time: those of
the slowest model of the sweep ``desk_similarity``."""


def of(tier: str, seeds: Sequence[R]) -> tuple[R, ...]:
    """Return a tier's form of a model's runs.

    Args:
        tier: the tier.
        seeds: the study's runs or transfers, one per seed.
    """
    if tier == "study":
        return tuple(seeds)
    run, transfer = FORMS[tier]
    chosen = seeds[: _smoke.SEEDS] if tier == "smoke" else seeds
    return tuple(transfer(each) if isinstance(each, Transfer) else run(each) for each in chosen)


def dataset(tier: str, published: str) -> str:
    """Return the dataset that a tier has in the place of a published one."""
    return published if tier == "study" else _smoke.stand_in(published)


def training(tier: str, runs: Iterable[RunConfig]) -> dict[str, float]:
    """Return the seconds of a step by dataset, for `baselines.reproduction.entries.Plan`, whose rule the study keeps.

    Args:
        tier: the tier.
        runs: the tier's runs.
    """
    if tier == "study":
        return {}
    if tier == "smoke":
        return _smoke.training(*(run.dataset for run in runs))
    found: dict[str, float] = {}
    for run in runs:
        found[run.dataset] = max(found.get(run.dataset, 0.0), SECONDS[run.architecture])
    return found
