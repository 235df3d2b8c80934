"""Datasets made of other datasets: perturbed, noisy, divided, adversarial, and pairs for transfer."""
