"""The small model that the tutorials train: a minute on a laptop.

It is no setting of the papers, and its scores rank nothing; it is there to see datasets differ.
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
"""Keys of `baselines.RunConfig`: fully connected, 128 wide, and an Adam that takes large steps."""

BETA = 2.0
"""The strength of its β-VAE."""
