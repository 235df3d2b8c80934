"""Objectives since 2020 beside those of the papers: QLAE, Hausdorff factorised support and SlowVAE on three tasks.

    offaxis-train sweep desk_since2020 --into runs/desk_since2020 --jobs 2 --threads 1
    find runs/desk_since2020 -name codes.npz -printf '%h ' |
        xargs offaxis-board evaluate --new --reproduced --tier desk --into leaderboard/published

45 runs of five seeds each, a minute of a core or less. Model, batch and steps are those of `baselines.sweeps.desk`;
strengths are the defaults of the objectives' files, which are those of their papers or lie in the papers' grids. None
was chosen by a score, and every run says so. QLAE's weights are made for a reconstruction that is a mean over pixels, a
learning rate of 1e-3 and twice as many latents as factors, so that it has these.

Expected: MIG falls from XYSquares' spacing 1 to 8, as that of the other nine does.
"""

from __future__ import annotations

from typing import Any

from baselines.sweeps import desk

SELECTION = "none: the objective's defaults; model and steps as the desk's other methods"

OBJECTIVES: dict[str, dict[str, Any]] = {
    "slow_vae": {},
    "hfs": {},
    "qlae": {"reduction": "mean", "learning_rate": 1e-3, "reconstruction_weight": 1.0},
}
"""Objective -> settings that differ from those of the task."""


def changes(dataset: str, objective: str) -> dict[str, Any]:
    """Return the settings of a run that differ from those of the task."""
    twice = {"latents": 2 * desk.SETTINGS[desk.family(dataset)]["latents"]} if objective == "qlae" else {}
    return OBJECTIVES[objective] | twice


SWEEP = tuple(
    desk.run(dataset, objective, seed, selection=SELECTION, **changes(dataset, objective))
    for dataset in ("sprites2d", "xysquares/spacing_1", "xysquares/spacing_8")
    for objective in OBJECTIVES
    for seed in range(5)
)
