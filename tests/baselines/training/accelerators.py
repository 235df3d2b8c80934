"""Run by test_accelerators.py on jax with eight simulated devices, in one process: each part prints a line of JSON.

What a machine without a GPU can show of training on GPUs: models divided among devices, and steps lowered for CUDA.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np

import benchmark_data
from baselines import Diverged, RunConfig, engines, objectives, train_together
from baselines.engines import pixels
from baselines.model import Model
from baselines.nets.backend import jax
from baselines.run_folder import Snapshots
from baselines.training.batches import draw_batch

REAL = jax.local_devices


def difference(*arguments):
    """What `together.py` calls so; imported where it is used, since pytest looks at this file from another folder."""
    import together

    return together.difference(*arguments)


MODELS = 5


@contextlib.contextmanager
def devices(count):
    """A machine with so many devices."""
    jax.local_devices = lambda: REAL()[:count]
    yield
    jax.local_devices = REAL


def config(**changes):
    return RunConfig(**SETTINGS | changes)


def group(**changes):
    return [config(seed=i, hyperparameters={"beta": 2.0 * i}, **changes) for i in range(MODELS)]


def folders(name):
    return [ROOT / name / str(i) for i in range(MODELS)]


def alone(name):
    """Train five models one after another, each with a device to itself, and return their folders."""
    with devices(1):
        for one, folder in zip(group(), folders(name), strict=True):
            train_together([one], [folder])
    return folders(name)


def divided():
    """Train five models on one device, on four and on eight; on eight each has a device to itself."""
    found = {}
    alike = {1: folders("on 1"), 4: folders("on 1"), 8: alone("alone")}
    used = []
    start = engines.start

    def watched(*models, **options):
        used.append(start(*models, **options))
        return used[-1]

    engines.start = watched
    for count in (1, 4, 8):
        with devices(count):
            train_together(group(), folders(f"on {count}"))
        places = used[-1]._state[0][0].sharding.device_set
        recorded = json.loads((ROOT / f"on {count}" / "0" / "run.json").read_text())["computed"]["devices"]
        ends = folders(f"on {count}")
        differences = [[difference(*pair) for pair in zip(ends, to, strict=True)] for to in (alike[count], alike[1])]
        found[count] = [used[-1].devices, len(places), recorded, *differences]
    engines.start = start
    return found


def diverging():
    """Let one of five runs explode, on four devices, while another one is on the same device."""
    configs = [
        dataclasses.replace(c, steps=12, history_every=1, learning_rate=900.0 if c.seed == 1 else 1e-3) for c in group()
    ]
    with devices(4):
        outcomes = train_together(configs, folders("diverging"))
    whole = [dataclasses.replace(c, learning_rate=1e-3) for c in configs]
    with devices(4):
        train_together(whole, folders("sane"))
    return {
        "stopped": [isinstance(outcome, Diverged) for outcome in outcomes],
        "equal": [
            all(np.array_equal(a, b) for a, b in zip(*(s.weights.values() for s in states), strict=True))
            for states in (
                [Snapshots(ROOT / which / str(i)).read(12)[0] for which in ("diverging", "sane")] for i in (0, 2, 3, 4)
            )
        ],
    }


def moved():
    """Stop after step 4 on four devices and go on on another number; what was saved must be loaded to the bit."""
    write = Snapshots.write
    found = {}
    with devices(4):
        train_together(group(), folders("whole"))
    for count in (1, 8):
        name = f"moved to {count}"

        def dying(self, step, *state):
            if step == 6:
                raise KeyboardInterrupt
            write(self, step, *state)

        Snapshots.write = dying
        with devices(4), contextlib.suppress(KeyboardInterrupt):
            train_together(group(), folders(name))
        Snapshots.write = write
        if count == 8:
            for i, folder in enumerate(folders(name)):
                shutil.copytree(folder, ROOT / "went on alone" / str(i))
            alike = alone("went on alone")
        else:
            alike = folders("whole")
        with devices(count):
            data = benchmark_data.load(SETTINGS["dataset"])
            engine = engines.start(*(Model(c, data.image_shape, data.space.sizes) for c in group()))
            exact = []
            for i, folder in enumerate(folders(name)):
                state, _ = Snapshots(folder).read(4)
                engine.load(state, "", i)
                copies = zip(engine.copy(i).bring(), state, strict=True)
                exact += [np.array_equal(a[key], b[key]) for a, b in copies for key in b]
            train_together(group(), folders(name))
        ends = folders(name)
        differences = [[difference(*pair) for pair in zip(ends, to, strict=True)] for to in (alike, folders("whole"))]
        found[count] = [all(exact), *differences]
    return found


def engine_of(name, precision, *, count=2, settings=None):
    """Return the engine of two models, and their batches of three steps."""
    data = benchmark_data.load(SETTINGS["dataset"])
    own = {"units": 8} if "units" in {f.name for f in dataclasses.fields(objectives.find(name))} else {}
    configs = [
        config(objective=name, hyperparameters=own, seed=i, precision=precision, **settings or {}) for i in range(count)
    ]
    models = [Model(c, data.image_shape, data.space.sizes, precision=precision) for c in configs]
    batches = [
        [
            draw_batch(c, m.objective, data, np.arange(99), step, images=False)
            for c, m in zip(configs, models, strict=True)
        ]
        for step in (1, 2, 3)
    ]
    few = benchmark_data.from_images("few", data.images(np.arange(99)))
    pixels.free_bytes = lambda: 10**7
    return engines.start(*models, pixels=pixels.place(few, drawn=len(few))), batches


def lowered():
    """Lower the step of objectives for CUDA, at both precisions, and look for what would leave the device."""
    found = {}
    for name in NAMES:
        for precision in ("float32", "bfloat16"):
            found[f"{name} {precision}"] = _lowered(name, precision)
    for precision in ("float32", "bfloat16"):
        found[f"conv {precision}"] = _lowered("beta_vae", precision, settings={"architecture": "conv"} | NO_PARAMETERS)
    return found


NO_PARAMETERS = {"architecture_parameters": {}}


def _lowered(name, precision, **options):
    engine, (batches, *_) = engine_of(name, precision, **options)
    exported = jax.export.export(engine._step, platforms=["cuda"])(*engine.arguments(*batches))
    text = exported.mlir_module()
    return {
        "platforms": exported.platforms,
        "devices": exported.nr_devices,
        "products": sorted(set(re.findall(r"stablehlo\.dot_general.*-> tensor<[\dx]*x(\w+)>", text))),
        "calls": sorted(set(re.findall(r"custom_call @([\w.]+)", text))),
        "transfers": sorted(set(re.findall(r"stablehlo\.(infeed|outfeed|send|recv|all_\w+|collective_\w+)\b", text))),
        "weights": sorted(
            {str(aval.dtype) for aval in jax.tree.leaves(exported.in_tree.unflatten(exported.in_avals)[0][0])}
        ),
    }


def compiled():
    """Count the programs that a whole run compiles for its steps, and the bytes that a step takes to the device."""
    names = []

    def listen(event, seconds, **about):
        if event == "/jax/core/compile/backend_compile_duration":
            names.append(about.get("fun_name", ""))

    jax.monitoring.register_event_duration_secs_listener(listen)
    with devices(4):
        train_together(group(history_every=1), folders("counted"))
        first = [name for name in names if "step" in name]
        engine, batches = engine_of("beta_vae", "float32", count=MODELS)
        for drawn in batches:
            arguments = engine.arguments(*drawn)
            with jax.transfer_guard("disallow"):  # all is there already
                engine._state, history = engine._step(*arguments)
            state, _ = (engine.copy(2).bring(), np.asarray(history["loss"]))
            engine.load(state, "", 2)
    both = [name for name in names if "step" in name]
    state, inputs, *rest = engine.arguments(*batches[0])
    try:
        with jax.transfer_guard("disallow"):
            engine._step(state, {**inputs, "step": np.asarray(inputs["step"])}, *rest)
        refused = ""
    except Exception as error:
        refused = str(error)
    batch = batches[0][0]
    return {
        "refused": refused,
        "run": len(first),
        "both": len(both),
        "bytes": {key: array.nbytes for key, array in batch.items()},
        "sent": {key: array.nbytes for key, array in arguments[1].items()},
    }


def copied():
    """Copy states, take two more steps, and only then bring the copies; name what is not finite in each model."""
    with devices(4):
        engine, batches = engine_of("beta_vae", "float32", count=3)
        engine.step(*batches[0])
        copies = [engine.copy(i) for i in range(3)]
        before = [np.array(a) for part in engine._state for a in part]
        for drawn in batches[1:]:
            engine.step(*drawn)
        brought = [[a for part in copy.bring() for a in part.values()] for copy in copies]
        after = [np.array(a) for part in engine._state for a in part]
        sound = engine.copy(1).bring()
        infinite = {name: np.full_like(array, np.inf) for name, array in sound.first.items()}
        engine.load(sound._replace(first=infinite), "", 1)
    return {
        "flaws": [copy.flaw for copy in copies],
        "as before": [all(np.array_equal(a[i], b) for a, b in zip(before, brought[i], strict=True)) for i in range(3)],
        "as after": [any(np.array_equal(a[i], b) for a, b in zip(after, brought[i], strict=True)) for i in range(3)],
        "broken": [engine.copy(i).flaw for i in range(3)],
    }


if __name__ == "__main__":
    ROOT, SETTINGS, NAMES, PARTS = Path(sys.argv[1]), *map(json.loads, sys.argv[2:])
    for part in PARTS:
        print(json.dumps({part: globals()[part]()}), flush=True)
