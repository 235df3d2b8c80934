"""Datasets made of other datasets: perturbed, noisy, and pairs for transfer."""
