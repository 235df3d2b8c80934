"""Copies of datasets for TFDS and Hugging Face: records, cards, verification.

Internal: `tfds` and `hf` are for users.
"""
