"""Is it the pixel loss, or the fully connected encoder? XYSquares at spacing 8 with convolutions.

    offaxis train sweep beyond_pixels_conv --to runs/beyond_pixels_conv --jobs 2 --threads 1
    python benchmarks/pixel_loss.py runs/beyond_pixels_conv

In `baselines.sweeps.beyond_pixels` augmented views did not help at spacing 8. Its encoder is fully connected and treats
all pairs of pixels alike, so that only the pixels' distances could show which positions are close. These are the same
objectives, and the β-TCVAE of `baselines.sweeps.desk` for comparison, with the convolutional network and the learning
rate that the desk has for other datasets. Latents, steps and batch size are the same. These methods differ from the
board's, which are fully connected, so they are not on the board.

**The hypothesis, written before the runs.** With convolutions, augmented views suffice: the linear R² of SimCLR, VICReg
and LeJEPA at spacing 8 is higher than that of the untrained encoder, and than that of β-TCVAE.

**The test, written before the runs.** Six claims, three methods against two controls, judged by
`leaderboard.store.verdicts`: five seeds against five, exchanged, the six p-values corrected by Holm at 0.05. An R² that
is higher by less than 0.05 is reported as such, whatever its p-value. InfoNCE on pairs, which succeeds without
convolutions, is a control of the network.

Expected: a small gain at most. In trials with seed 100 and 1,000 steps R² was 0.18 with LeJEPA, 0.11 with SimCLR and
with β-TCVAE, and 0.09 before training.
"""

from baselines.sweeps import desk, desk_pilot

VIEWS = ("simclr", "vicreg", "lejepa")

CONTROLS = ("beta_tc_vae", "infonce_pairs")

TASK = "xysquares/spacing_8"

SWEEP = tuple(
    desk.run(
        TASK,
        objective,
        seed,
        hyperparameters=desk.OBJECTIVES.get(objective, {}),
        selection="none: the desk's convolutional network and learning rate; seed 100 was tried",
        architecture_parameters={},
        **desk_pilot.CONV,
    )
    for objective in (*VIEWS, *CONTROLS)
    for seed in range(5)
)
"""Method by method."""
