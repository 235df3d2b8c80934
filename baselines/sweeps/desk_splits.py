"""Does the desk's β-VAE generalise, and does HFS help on correlated data? dSprites divided by six rules.

    offaxis train sweep desk_splits --to runs/desk_splits --jobs 2 --threads 1
    find runs/desk_splits -name codes.npz -printf '%h ' |
        xargs offaxis board score --new --reproduced --tier held_out --to leaderboard/published

With ``offaxis train export`` of the runs, before they are evaluated, their scores are verified on fresh rows as well.

24 runs of the β-VAE, four seeds of each rule, with the settings of `baselines.sweeps.desk` on dSprites: a small
convolution, 1,000 steps of 64 images. HFS, designed for correlated samples (Roth et al., ICLR 2023), has eight, on the
correlated sample and on the rule that it is compared with, at the strengths of `baselines.sweeps.desk_since2020`.

A run is trained on all train rows of its rule and scored on its test rows: R² of a readout fitted on codes of the train
rows, MIG and DCI.

The splits of Schott et al. (ICLR 2022, arXiv 2107.08221) are compared with their random split, which has as many train
rows; composition has a fifth fewer. The correlated sample (posX with posY, sigma 0.1; Träuble et al., ICML 2021) is
compared with the rule ``holdout``, which has the same test rows and all others for training.

Runs are ordered by rule, the references first. A verdict requires at least four seeds; a rank requires five.

Expected, as the papers report: R² decreases from the random split to composition and interpolation, and is lowest on
extrapolation; MIG is lower after training on the correlated sample than after ``holdout``, and by less for HFS.
"""

from baselines.sweeps import desk, desk_since2020

RULES = (
    "random",
    "extrapolation",
    "composition",
    "interpolation",
    "holdout",
    "correlated.posx-posy-0.1",
)
"""In training order."""

SEEDS = range(4)

CORRELATED = ("holdout", "correlated.posx-posy-0.1")
"""The rules for HFS."""

SWEEP = (
    *(desk.run("dsprites", "beta_vae", seed, split=rule, train_share=1.0) for rule in RULES for seed in SEEDS),
    *(
        desk.run("dsprites", "hfs", seed, split=rule, train_share=1.0, **desk_since2020.changes("dsprites", "hfs"))
        for rule in CORRELATED
        for seed in SEEDS
    ),
)
