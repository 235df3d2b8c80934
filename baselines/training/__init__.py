"""Training: the loop, its batches and run folders, sweeps and their workers.

Internal, except for names in a file's ``__all__``.
"""
