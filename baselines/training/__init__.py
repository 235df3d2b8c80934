"""From a config to a run folder: the loop, one optimiser step, sweeps and their workers.

Internal, but for what a file's ``__all__`` names.
"""
