"""Run by test_together.py on the jax backend, in one process: each part prints what it found as a line of JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import keras
import numpy as np
import rich.progress

import benchmark_data
from baselines import Diverged, RunConfig, engines, objectives, train, train_together
from baselines.engines import pixels
from baselines.model import Model
from baselines.nets import convolutions
from baselines.nets.backend import jax
from baselines.run_folder import Snapshots, read_history
from baselines.training.batches import draw_batch

ELSE = ("learning_rate", "darkened", "erased", "gaussian", "power")
"""Ends of the names of floats that are no strengths."""


def small(name):
    """Return the settings that make an objective's own networks small, and the name of its first strength, if any."""
    fields = {field.name: field.default for field in dataclasses.fields(objectives.find(name))}
    strengths = [key for key, value in fields.items() if isinstance(value, float) and not key.endswith(ELSE)]
    return ({"units": 8} if "units" in fields else {}), next(iter(strengths), None)


def config(**changes):
    return RunConfig(**SETTINGS | changes)


def difference(one, other, step=6):
    """Return how far two runs end from each other over how far the second moved, and how far their histories are."""
    a, b, start = (Snapshots(run).read(at)[0].weights for run, at in ((one, step), (other, step), (other, 0)))
    apart, moved = (np.sqrt(sum(((x[name] - b[name]) ** 2).sum() for name in b)) for x in (a, start))
    rows = zip(*(read_history(folder / "history.jsonl") for folder in (one, other)), strict=True)
    relative = [abs(x[name] - y[name]) / (abs(y[name]) + 1e-3) for x, y in rows for name in y]
    return float(apart / moved), max(relative)


def same_as_alone():
    """Train three runs of an objective together, the last of them alone too."""
    found = {}
    for name in NAMES:
        fixed, strength = small(name)
        strengths = [fixed | ({strength: 2.0 * i} if strength else {}) for i in range(4)]
        configs = [
            config(objective=name, hyperparameters=strengths[i], seed=i, learning_rate=1e-3 * i) for i in (1, 2, 3)
        ]
        folders = [ROOT / name / str(i) for i in range(3)]
        runs = train_together(configs, folders)
        train(configs[2], ROOT / name / "alone")
        found[name] = [[run.steps for run in runs], *difference(folders[2], ROOT / name / "alone")]
    return found


def every_objective_takes_strengths():
    """Trace the step of two models of each objective that differ in every float."""
    found = {}
    for name in NAMES:
        kind = objectives.find(name)
        fields, (fixed, _) = dataclasses.fields(kind), small(name)
        data = benchmark_data.load(SETTINGS["dataset"])
        models, batches = [], []
        for i in (1.0, 0.5):
            floats = {f.name: getattr(kind(), f.name) * i for f in fields if isinstance(getattr(kind(), f.name), float)}
            floats |= {"power": 1 / i} if "power" in floats else {}  # at least 1
            settled = config(objective=name, hyperparameters=fixed | floats)
            models.append(Model(settled, data.image_shape, data.space.sizes))
            batches.append(draw_batch(settled, models[-1].objective, data, np.arange(99), 1))
        engine = engines.start(*models)
        _, history = jax.eval_shape(engine._step, *engine.arguments(*batches))
        found[name] = {key: value.shape for key, value in history.items()}
    return found


def killed():
    """Kill a group while it writes the second of three snapshots of step 4; go on; compare with one left alone."""
    configs = [config(seed=seed) for seed in range(3)]
    whole, half = ([ROOT / which / str(i) for i in range(3)] for which in ("whole", "half"))
    train_together(configs, whole)
    write, dead = Snapshots.write, []

    def dying(self, step, *state):
        if dead or (step == 4 and self.folder.parent.name == "1"):
            dead.append(step)
            raise KeyboardInterrupt
        write(self, step, *state)

    Snapshots.write = dying
    try:
        train_together(configs, half)
    except KeyboardInterrupt:
        at = [Snapshots(folder).steps() for folder in half]
    Snapshots.write = write
    after = [run.steps for run in train_together(configs, half)]
    again = [run.steps for run in train_together(configs, half)]
    budgets = [json.loads((folder / "run.json").read_text())["budget"]["images"] for folder in half]
    return {
        "at": at,
        "after": after,
        "again": again,
        "images": budgets,
        "differences": [difference(*pair) for pair in zip(half, whole, strict=True)],
    }


def diverging():
    """Let one of three runs explode."""
    configs = [config(seed=i, learning_rate=900.0 if i == 1 else 1e-3, history_every=1, steps=12) for i in range(3)]
    folders = [ROOT / "diverging" / str(i) for i in range(3)]
    display = rich.progress.Progress(disable=True)
    outcomes = train_together(configs, folders, progress=display)
    return {
        "shown": [(task.description, task.completed, task.fields["loss"]) for task in display.tasks],
        "stopped": [str(outcome) if isinstance(outcome, Diverged) else None for outcome in outcomes],
        "steps": [Snapshots(folder).steps() for folder in folders],
        "finite": all(np.isfinite(row["loss"]) for row in read_history(folders[1] / "history.jsonl")),
    }


def own(images):
    return benchmark_data.from_images("mine", images)


def on_the_device():
    """Keep a dataset on the device, and one that does not fit with the host."""
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, (30, 8, 8, 1)).astype(np.uint8)
    pixels.BLOCK = 4  # more blocks than are read at a time, the last one shorter
    found = {"free": pixels.place(own(grey), drawn=10**9) is None}
    pixels.free_bytes = lambda: 2 * 30 * 64 - 1
    found["limit"] = pixels.place(own(grey), drawn=30) is None
    pixels.free_bytes = lambda: 2 * 30 * 64
    found["few"] = pixels.place(own(grey), drawn=29) is None
    found["held"] = np.array_equal(pixels.place(own(grey), drawn=30), grey)
    for where, free in (("host", 0), ("device", 10**6)):
        pixels.free_bytes = lambda free=free: free
        train(config(dataset="mine"), ROOT / where, dataset=own(grey))
    found["difference"] = difference(ROOT / "device", ROOT / "host")
    return found


def layers():
    """Compare the convolutions with Keras' own: outputs, and gradients with respect to images and kernels."""
    found = {}
    images = np.random.default_rng(0).standard_normal((2, 12, 6, 3)).astype(np.float32)
    for size, stride in ((4, 2), (2, 2), (3, 1)):
        for ours in (convolutions.Conv2D, convolutions.Conv2DTranspose):
            theirs = getattr(keras.layers, ours.__name__)
            pair = [kind(5, size, stride, "same", activation="relu") for kind in (theirs, ours)]
            for layer in pair:
                layer.build(images.shape)
            weights = [pair[0].get_weights()[0], np.linspace(-1, 1, 5)]
            results = []
            for layer in pair:
                layer.set_weights(weights)

                def square(kernel, x, layer=layer):
                    drawn, _ = layer.stateless_call([kernel, layer.bias.value], [], x)
                    return (drawn**2).sum(), drawn

                both = jax.jit(jax.grad(square, argnums=(0, 1), has_aux=True))
                gradients, drawn = both(layer.kernel.value, images)
                results.append([*map(np.asarray, (drawn, *gradients))])
            found[f"{ours.__name__} {size}/{stride}"] = [
                float(abs(a - b).max() / abs(a).max()) for a, b in zip(*results, strict=True)
            ]
    return found


if __name__ == "__main__":
    ROOT, SETTINGS, NAMES = Path(sys.argv[1]), *map(json.loads, sys.argv[2:])
    for part in (same_as_alone, every_objective_takes_strengths, killed, diverging, on_the_device, layers):
        print(json.dumps({part.__name__: part()}), flush=True)
