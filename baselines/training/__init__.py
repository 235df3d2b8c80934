"""From a config to a run folder: the loop, one optimiser step, sweeps and their workers."""
