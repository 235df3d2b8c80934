"""Eight small runs of 200 steps, to test that a machine or a cluster trains.

    offaxis train sweep smoke

Expected: eight runs, all done, in a minute or two on two cores. Their scores are meaningless.
"""

from baselines.config import RunConfig

SWEEP = tuple(
    RunConfig(
        dataset=dataset,
        objective=objective,
        architecture="fc",
        architecture_parameters={"width": 64},
        learning_rate=1e-3,
        steps=200,
        seed=seed,
        snapshots=[],
    )
    for dataset in ("xysquares/spacing_1", "xysquares/spacing_8")
    for objective in ("beta_vae", "ada_gvae")
    for seed in (0, 1)
)
