"""Pilot of the sweep desk_since2020: strengths of HFS, from the grid of its paper.

    offaxis train sweep desk_since2020_pilot --to runs/desk_since2020_pilot --jobs 2 --threads 1
    python benchmarks/pilot.py runs/desk_since2020_pilot --to benchmarks/desk_since2020_pilot.csv

24 runs on the two original datasets of that sweep, with its models and steps and with seeds 100 and 101, which no
published result uses. The paper searches β in 0 .. 16 and γ in 0.1 .. 10,000 and states no single setting; the papers
of SlowVAE and QLAE do, and theirs are used. The strength is selected by MIG, which uses labels, and is the same for
both datasets, since one for each would need more labels than a user of a new dataset has.

Expected: a strength whose reconstructions explain more than a quarter of the variance at spacing 1, unlike the file's
default. Results: benchmarks/desk_since2020_pilot.csv (``sprites2d`` as in `baselines.sweeps.desk_pilot`). β of 0 and γ
of 10 have a mean MIG of 0.41, the default 0.06.
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
"""The first seed of all before the second of any."""
