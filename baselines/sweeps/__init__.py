"""Named sweeps, one file each, ending in ``SWEEP``: a tuple of `baselines.RunConfig`. The file's name is its name."""
