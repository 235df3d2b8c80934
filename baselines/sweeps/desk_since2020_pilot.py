"""The pilot of `baselines.sweeps.desk_since2020`: strengths of QLAE, HFS and SlowVAE, from the grids of their papers.

    offaxis-train sweep desk_since2020_pilot --into runs/desk_since2020_pilot --jobs 2 --threads 1
    python benchmarks/desk_pilot.py runs/desk_since2020_pilot --to benchmarks/desk_since2020_pilot.csv

72 runs on the two original datasets of that sweep, with its models and steps and with seeds 100 to 102, which nothing
that is published uses. Strengths are chosen by MIG, which looks at labels, one strength for both datasets, since a
strength for each would take more of them than a user of a new dataset has.

The paper of HFS searches β in 0 .. 16 and γ in 0.1 .. 10,000; that of SlowVAE keeps β at 1 and searches γ; that of QLAE
searches the weight decay.

Expected: a strength of HFS that draws more than a quarter of what varies at spacing 1, as its default does not.
"""

from __future__ import annotations

from typing import Any

from baselines.sweeps import desk, desk_since2020

SEEDS = (100, 101, 102)

STRENGTHS: dict[str, tuple[dict[str, Any], ...]] = {
    "hfs": tuple(
        {"beta": beta, "gamma": gamma}
        for beta, gamma in ((1.0, 1.0), (1.0, 10.0), (1.0, 100.0), (0.0, 10.0), (0.0, 100.0), (4.0, 10.0))
    ),
    "slow_vae": tuple({"gamma": gamma} for gamma in (1.0, 3.0, 10.0)),
    "qlae": tuple({"weight_decay": decay} for decay in (0.01, 0.1, 1.0)),
}
"""Objective -> the strengths that are compared. The default of each is among them."""

SWEEP = tuple(
    desk.run(
        dataset,
        objective,
        seed,
        selection="none: a run of the pilot itself",
        hyperparameters=strengths,
        **desk_since2020.changes(dataset, objective),
    )
    for seed in SEEDS
    for objective, every in STRENGTHS.items()
    for strengths in every
    for dataset in ("xysquares/spacing_1", "sprites2d")
)
"""One seed of everything before any has two."""
