"""Is the device kept busy? The training loop with a sleep in place of a device's work, on this machine's cores.

    python benchmarks/feeding.py

25 models of the papers' convolutional β-VAE, batches of 64, are trained together by ``baselines.train_together``: rows
and noise are drawn, stacked and put where jax wants them, histories and snapshots of full size are written. Only the
compiled step is another: it hands its work to a thread that sleeps for as long as a GPU is projected to take, 0.02 s,
and a tenth of it. As on a GPU, a step that was asked for is done in its turn while the loop goes on, up to 32 of them,
and who wants to see a number or the weights waits for them. Busy is the share of the time that the thread did not wait
for work. The host's processor time for a step says how much of a core the loop takes, on a busy machine, too.
"""

from __future__ import annotations

import argparse
import os
import queue
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

WAITING = 32
"""Steps that may wait for the device."""


class Device:
    """A device whose work is to sleep."""

    def __init__(self, seconds: float) -> None:
        self._work: queue.Queue[threading.Event | None] = queue.Queue(WAITING)
        self._seconds, self.steps, self.idle, self.wall = seconds, 0, 0.0, 0.0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        done = self._work.get()
        began = time.perf_counter()
        while done is not None:
            time.sleep(self._seconds)
            done.set()
            self.steps += 1
            waited = time.perf_counter()
            done = self._work.get()
            if done is not None:
                self.idle += time.perf_counter() - waited
            else:
                self.wall = waited - began

    def step(self) -> threading.Event:
        """Ask for a step."""
        done = threading.Event()
        self._work.put(done)
        return done

    def stop(self) -> None:
        """Do what was asked for, and end."""
        self._work.put(None)
        self._thread.join()


class Later:
    """A number for each model, which whoever looks at it waits for."""

    def __init__(self, done: threading.Event, models: int) -> None:
        self._done, self._models = done, models

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._done.wait()
        return np.ones(self._models, np.float32)


def measure(
    models: int, seconds: float, steps: int, checkpoint_seconds: float, settings: dict[str, Any]
) -> tuple[Device, float, int]:
    """Train with a sleeping device; give it, the processor seconds of a step, and how many rounds of snapshots came."""
    import benchmark_data
    from baselines import RunConfig, engines, train_together
    from baselines.engines import pixels
    from baselines.training import loop
    from baselines.training.recorder import Recorder

    rng = np.random.default_rng(0)
    data = benchmark_data.from_images("noise", rng.integers(0, 2, (1024, 64, 64, 3)).astype(np.uint8))
    configs = [
        RunConfig(dataset="noise", objective="beta_vae", seed=seed, steps=steps, snapshots=[], **settings)
        for seed in range(models)
    ]
    device = Device(seconds)
    start, keep = engines.start, Recorder.keep
    kept_steps, started = [], []

    def start_asleep(*chosen: Any, **options: Any) -> Any:
        engine = start(*chosen, **options)
        copy, last = engine.copy, []

        def step(state: Any, *_: Any) -> tuple[Any, dict[str, Any]]:
            if not started:
                started.append((time.process_time(), time.perf_counter()))
            last[:] = [device.step()]
            return state, {"loss": Later(last[0], models), "reconstruction": Later(last[0], models)}

        def copy_awake(model: int = 0) -> Any:
            for done in last:
                done.wait()
            return copy(model)

        engine._step, engine.copy = step, copy_awake
        engine._columns = ["loss", "reconstruction"]  # which the real step notes when it is compiled
        return engine

    def keep_counted(self: Any, *arguments: Any) -> None:
        kept_steps.append(self.step)
        keep(self, *arguments)

    engines.start, Recorder.keep = start_asleep, keep_counted  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            folders = [Path(folder) / str(i) for i in range(models)]
            loop.CHECKPOINT_SECONDS, pixels.free_bytes = checkpoint_seconds, lambda: 10**9
            train_together(configs, folders, dataset=data)
            processor = (time.process_time() - started[0][0]) / steps
    finally:
        engines.start, Recorder.keep = start, keep  # type: ignore[method-assign]
        device.stop()
    return device, processor, len(set(kept_steps) - {0})


def main() -> None:
    """Measure both paces and print what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--seconds", type=float, nargs="*", default=[0.02, 0.002], help="of a step")
    parser.add_argument("--time", type=float, default=65.0, help="seconds of training for each")
    parser.add_argument("--checkpoint-seconds", type=float, default=60.0, help="as of baselines.train")
    parser.add_argument("--quick", action="store_true", help="tiny networks, to see that it runs")
    options = parser.parse_args()
    os.environ.setdefault("KERAS_BACKEND", "jax")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    settings = {"architecture": "fc", "architecture_parameters": {"width": 4}} if options.quick else {}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {options.models} models x 64 images")
    for seconds in options.seconds:
        steps = max(2, int(options.time / seconds))
        device, processor, rounds = measure(options.models, seconds, steps, options.checkpoint_seconds, settings)
        print(
            f"step of {seconds:g} s: {device.steps} steps, busy {1 - device.idle / device.wall:.1%}; host's processor"
            f" {processor * 1e3:.2f} ms a step, {processor / seconds:.0%} of a core; snapshots at {rounds} steps;"
            f" load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
