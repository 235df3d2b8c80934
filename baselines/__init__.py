"""Baselines on Keras 3: autoencoders, encoders without decoder, untrained baselines, and the runs that training leaves.

``import baselines`` loads no machine learning framework; training does.
"""

from typing import TYPE_CHECKING

from benchmark_data import discovery

if TYPE_CHECKING:
    from baselines.config import RunConfig
    from baselines.run import Run
    from baselines.training.claims import lengthen
    from baselines.training.loop import Diverged, Stopped, train, train_together

__all__ = ["Diverged", "Run", "RunConfig", "Stopped", "lengthen", "train", "train_together"]

__getattr__, __dir__ = discovery.on_demand(
    __name__,
    {
        "baselines.config": ("RunConfig",),
        "baselines.run": ("Run",),
        "baselines.training.claims": ("lengthen",),
        "baselines.training.loop": ("Diverged", "Stopped", "train", "train_together"),
    },
)
