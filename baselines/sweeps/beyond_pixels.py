"""Is it the pixel loss? Four objectives without a decoder, on the tasks on which VAEs were compared.

    offaxis train sweep beyond_pixels --to runs/beyond_pixels --jobs 2 --threads 1
    find runs/beyond_pixels -name codes.npz -printf '%h ' |
        xargs offaxis board score --new --reproduced --tier desk --to leaderboard/published

Michlo et al. (2023) argue that VAEs fail on XYSquares since their loss compares pixels. This sweep has the same encoder
and the same number of latents, images and steps as `baselines.sweeps.desk`, but no loss on pixels. InfoNCE on pairs is
weakly supervised by pairs of images with nearby factor values, as SlowVAE is; SimCLR, VICReg and LeJEPA see two
augmented views of each image and no supervision. The controls: the desk's VAEs are this encoder with a decoder;
a random encoder and ICA are on the board; the regression of the factors is fully supervised.

**The hypothesis, written before the runs.** Without a pixel loss MIG (of InfoNCE on pairs) and linear R² (of each of
the four objectives) do not decrease from XYSquares' spacing 1 to 8. Linear R² is ``r_squared`` with its linear readout,
of the task's train rows on its test rows, mean over the factors.

**The test, written before the runs.** Five claims: "MIG of infonce_pairs is lower at spacing 8 than at 1", and "R² is
lower at spacing 8 than at 1" of each of the four. Each is judged by `leaderboard.store.verdicts`: five seeds against
five, exchanged, and the five p-values corrected by Holm at 0.05. The hypothesis fails for an objective where its claim
is supported. Where it is not, the 95% interval of the difference shows how large a decrease remains possible; 0.05 or
more must be outside it before we say that nothing is lost.

**The gate.** A claim is judged only if the mean at spacing 1 is above that of the random encoder by 0.1 or more: what
was not learned cannot decrease.

Expected: InfoNCE on pairs loses some MIG and hardly any R². A trial with seed 100 had a MIG of 0.86 and an R² of 0.994
at spacing 1, 0.72 and 0.976 at spacing 8. Augmented views do not show which positions are close, and at spacing 8
neither do the pixels. In trials with seed 100 SimCLR had an R² of 0.96 at spacing 1 and 0.04 at 8, VICReg 0.93 and
LeJEPA 0.91 at spacing 1 (1,000 steps), both 0.02 at spacing 8 (300 steps): we expect a decrease for all three.
"""

from baselines.sweeps import desk

SELECTION = "none: the papers' defaults; model, steps and batch as the desk's VAEs; seed 100 was tried"

OBJECTIVES = ("infonce_pairs", "simclr", "vicreg", "lejepa")

TASKS = (
    *("xysquares/spacing_8", "xysquares/spacing_1", "dsprites", "xysquares/spacing_4", "xysquares/spacing_2"),
    *("dsprites_perturbed/pca32_eps10", "dsprites_noisy/eps10", "dsprites_squeezed/eps10"),
)
"""In training order."""

ROOMS = ("room3d", "room3d_squeezed/eps10", "room3d_perturbed/pca32_eps10", "room3d_noisy/eps10")
"""The board's other tasks, trained later, for the mean over all tasks; the claims are not about them."""

GATE = 0.1
"""How far the mean at spacing 1 must exceed that of the random encoder for a decrease to be tested."""

CONTROL = ("xysquares/spacing_8", "xysquares/spacing_1", "dsprites")
"""The tasks with a supervised regression of the factors as a control."""

SWEEP = tuple(
    desk.run(task, objective, seed, hyperparameters={}, selection=SELECTION)
    for tasks, objectives in ((TASKS, OBJECTIVES), (CONTROL, ("regression",)), (ROOMS, OBJECTIVES))
    for task in tasks
    for objective in objectives
    for seed in range(5)
)
"""Task by task and method by method."""
