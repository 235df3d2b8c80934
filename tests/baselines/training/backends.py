"""Run by test_backends.py on one backend, in a process of its own, which prints a line of JSON."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np

import benchmark_data
from baselines import RunConfig, engines, train
from baselines.engines import devices
from baselines.model import Model
from baselines.nets import backend
from baselines.objectives.simclr import nt_xent
from baselines.run_folder import Snapshots
from baselines.training.batches import draw_batch


def gradients(settings, cases, to):
    """Write the gradients of one step of each case: with beta_1 of 0 they are Adam's first moments."""
    found = {}
    for name, changes in cases.items():
        config = RunConfig(**settings | {"beta_1": 0.0, "snapshots": [], "hyperparameters": {}} | changes)
        data = benchmark_data.load(config.dataset)
        model = Model(config, data.image_shape, data.space.sizes)
        engine = engines.start(model)
        scalars = engine.step(draw_batch(config, config.build_objective(), data, np.arange(512), 1))
        found |= {f"{name}:{key}": value for key, value in engine.copy().bring().first.items()}
        found[f"{name}:loss"] = backend.to_numpy(scalars["loss"])
        assert np.isfinite(model.encode(data.images([0, 1])).mean).all()  # QLAE's is no encoder's output
    np.savez(to, **found)


def finished(folder):
    """Go on with a run that another backend began, and return what its record says of that."""
    run = train(RunConfig(**SETTINGS), folder)
    record = json.loads((run.folder / "run.json").read_text())
    codes = run.encode(run.dataset.images([0, 1])).mean
    return [
        run.step,
        record["computed"]["backend"],
        [each["backend"] for each in record["computed_before"]],
        codes.shape,
    ]


def resumed(folder):
    """Train a run, and again from its snapshot before the last; return whether the ends are the same bit by bit."""
    run = train(RunConfig(**SETTINGS), folder / "whole")
    shutil.copytree(run.folder, folder / "resumed")
    shutil.rmtree(Snapshots(folder / "resumed").path(run.step))
    train(RunConfig(**SETTINGS), folder / "resumed")
    files = ("history.jsonl", *(f"snapshots/step_{run.step:08d}/{name}.npz" for name in ("weights", "optimiser")))
    same = [(folder / "whole" / each).read_bytes() == (folder / "resumed" / each).read_bytes() for each in files]
    return [same, devices.device_summary(), devices.record("float32")["deterministic"]]


def trained(folder):
    """Open the run that `resumed` trained, and return what it is and whether TensorFlow is loaded."""
    run = train(RunConfig(**SETTINGS), folder)
    images = run.dataset.images([0, 1])
    mean = run.encode(images).mean
    return {
        "tensorflow": "tensorflow" in sys.modules,
        "step": run.step,
        "history": run.history,
        "mean": mean.tolist(),
        "shape": run.decode(mean).shape,
        "layers": list(run.activations(images)),
    }


def slope_at_zero():
    """Return the gradient of SimCLR's loss where a first view is the vector 0, as of a black image it is at step 1."""
    zero = np.zeros((2, 3), np.float32)
    if backend.name() == "jax":
        return backend.jax.grad(lambda x: nt_xent(x, x + 1.0, 1.0))(zero).tolist()
    held = backend.torch.tensor(zero, requires_grad=True)
    nt_xent(held, held + 1.0, 1.0).backward()
    return held.grad.tolist()


def modes():
    """Return what a process has PyTorch do about determinism, where PyTorch is the backend."""
    if backend.name() != "torch":
        return []
    torch = backend.torch
    return [torch.get_deterministic_debug_mode(), torch.utils.deterministic.fill_uninitialized_memory]


if __name__ == "__main__":
    warnings.simplefilter("error")
    before = modes()
    root, (SETTINGS, cases) = Path(sys.argv[1]), json.loads(sys.argv[2])
    gradients(SETTINGS, cases, root / "gradients.npz")
    found = {"finished": finished(root / "begun"), "resumed": resumed(root), "trained": trained(root / "whole")}
    found["slope"] = slope_at_zero()
    found["modes"] = [before, modes()]
    print(json.dumps(found), flush=True)
