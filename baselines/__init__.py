"""Baselines of the papers: autoencoders on Keras 3, references without training, and the runs they leave behind.

``import baselines`` loads no machine learning framework; training does.
"""

from __future__ import annotations

from baselines.config import RunConfig
from baselines.run import Run
from baselines.training.loop import Diverged, Stopped, train, train_together

__all__ = ["Diverged", "Run", "RunConfig", "Stopped", "train", "train_together"]
