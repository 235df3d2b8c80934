"""Pixels from files: published archives, which are downloaded, checked and cached, and the user's images.

Internal: datasets and the commands use it, and `benchmark_data` exports the public names.
"""
