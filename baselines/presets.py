"""The small model that the tutorials train: a minute on a laptop.

Its settings are not those of a paper: it shows how datasets differ, and its scores are not for rankings.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BETA", "SETTINGS"]

SETTINGS: dict[str, Any] = {
    "architecture": "fc",
    "architecture_parameters": {"width": 128},
    "learning_rate": 2e-3,
    "beta_2": 0.99,
}
"""Keys of `baselines.RunConfig`: fully connected, 128 units wide, with a high learning rate."""

BETA = 2.0
"""β of its β-VAE."""
