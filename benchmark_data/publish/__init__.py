"""Copies of datasets for TFDS and Hugging Face: records, cards, verification."""
