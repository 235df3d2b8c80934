"""Pixels from files: published archives, which are fetched, checked and kept prepared, and the user's images.

Internal: datasets and the commands use it, and `benchmark_data` passes on what users need.
"""
