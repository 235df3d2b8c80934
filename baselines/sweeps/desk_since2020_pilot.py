"""Pilot of the sweep desk_since2020: strengths of HFS, from the grid of its paper.

    offaxis train sweep desk_since2020_pilot --to runs/desk_since2020_pilot --jobs 2 --threads 1
    python benchmarks/pilot.py runs/desk_since2020_pilot --to benchmarks/desk_since2020_pilot.csv

24 runs on the two original datasets of that sweep, with its models and steps and with seeds 100 and 101, which nothing
that is published uses. The paper searches β in 0 .. 16 and γ in 0.1 .. 10,000, and so has no setting of its own; those
of SlowVAE and QLAE have one, which is what they are trained with. The strength is chosen by MIG, which looks at labels,
and is one for both datasets, since a strength for each would take more labels than a user of a new dataset has.

Expected: a strength that draws more than a quarter of what varies at spacing 1, as the file's default does not. What
came out: benchmarks/desk_since2020_pilot.csv (``sprites2d`` as in `baselines.sweeps.desk_pilot`). β of 0 and γ of 10
have a mean MIG of 0.41, the default 0.06.
"""

from baselines.sweeps import desk, desk_since2020

SEEDS = (100, 101)

STRENGTHS = ((1.0, 1.0), (1.0, 10.0), (1.0, 100.0), (0.0, 10.0), (0.0, 100.0), (4.0, 10.0))
"""β and γ. The default, 1 and 100, is among them."""

SWEEP = tuple(
    desk.run(
        dataset,
        "hfs",
        seed,
        **desk_since2020.changes(dataset, "hfs")
        | {"hyperparameters": {"beta": beta, "gamma": gamma}, "selection": "none: a run of the pilot itself"},
    )
    for seed in SEEDS
    for beta, gamma in STRENGTHS
    for dataset in ("xysquares/spacing_1", "dsprites")
)
"""One seed of everything before any has two."""
