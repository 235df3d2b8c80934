"""Images per second of one training step, side by side: Offaxis, a plain Keras ``fit``, plain PyTorch, and disent.

    python benchmarks/training.py                                   # Offaxis and Keras
    python benchmarks/training.py --torch /path/to/python           # and PyTorch and disent, where that Python has them
    python benchmarks/training.py --disent /path/to/python          # disent on a Python of its own: 0.9.3 takes 3.12
    python benchmarks/training.py --only offaxis traced "one thread" --architecture fc --width 128 --batch 16
    python benchmarks/training.py --only offaxis bfloat16 --threads 1
    python benchmarks/training.py --grid benchmarks/training.csv    # the backends, three architectures, 1 and 2 threads

Every contender is a process of its own that holds the papers' convolutional VAE and one batch of 64 images of
XYSquares, and waits. In each round every contender in turn takes the same number of steps while the others wait, so
that a noisy machine is noisy for all. What is reported is the median over the rounds, and the median over the rounds of
the ratio to the first one's figure of the same round. ``offaxis`` gets the same finished batch in every step, as the
others do; ``torch``, ``jax`` and ``jax x5``, which ``--only`` must name, are the same on these backends, one model, and
on jax five together; ``torch compiled`` gives the graph of the step to ``torch.compile``; ``bfloat16`` is the same in
bfloat16, ``one thread`` the same on one thread, and ``traced`` looks its graph up in every step, as TensorFlow's
functions do by themselves; ``offaxis loop`` is fed by ``baselines.train``, which draws and renders a new batch for
every step.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rounds import append

LATENTS, RATE, BETA = 10, 1e-4, 4.0
BATCH = int(os.environ.get("OFFAXIS_BATCH", "64"))
ARCHITECTURE = os.environ.get("OFFAXIS_ARCHITECTURE", "conv")
WIDTH = int(os.environ.get("OFFAXIS_WIDTH", "0"))
PARAMETERS = {"width": WIDTH} if WIDTH else {}

TOGETHER = 5
"""Models of the contender that trains many in one program, on the jax backend."""


def offaxis(models: int = 1, precision: Literal["float32", "bfloat16"] = "float32") -> Callable[[int], None]:
    """The step of baselines.train on a batch that is there already; models together take that part of the steps."""
    import numpy as np

    import benchmark_data
    from baselines import RunConfig, engines
    from baselines.model import Model
    from baselines.nets import backend
    from baselines.training.batches import draw_batch

    configs = [
        RunConfig(
            dataset="xysquares/spacing_1",
            objective="beta_vae",
            architecture=ARCHITECTURE,
            architecture_parameters=PARAMETERS,
            batch_size=BATCH,
            precision=precision,
            seed=seed,
        )
        for seed in range(models)
    ]
    data = benchmark_data.load(configs[0].dataset)
    engine = engines.start(*(Model(config, data.image_shape, precision=precision) for config in configs))
    rows = np.arange(len(data))
    batches = [draw_batch(config, config.build_objective(), data, rows, 1) for config in configs]

    def steps(n: int) -> None:
        for _ in range(max(1, n // models)):
            history = engine.step(*batches)
        backend.to_numpy(history["loss"])

    return steps


def offaxis_loop() -> Callable[[int], None]:
    """The step fed by the loop of baselines.train: rows drawn, images rendered, prefetched by its thread."""
    import dataclasses

    import benchmark_data
    from baselines import RunConfig, engines
    from baselines.model import Model
    from baselines.nets import backend
    from baselines.training.batches import batches

    config = RunConfig(
        dataset="xysquares/spacing_1",
        objective="beta_vae",
        architecture=ARCHITECTURE,
        architecture_parameters=PARAMETERS,
        batch_size=BATCH,
    )
    data = benchmark_data.load(config.dataset)
    engine = engines.start(Model(config, data.image_shape))

    def steps(n: int) -> None:
        with batches([dataclasses.replace(config, steps=n)], data, [0]) as feed:
            for batch in feed:
                history = engine.step(*batch)
        backend.to_numpy(history["loss"])

    return steps


def traced() -> Callable[[int], None]:
    """The step as it would be if the graph were not called by itself."""
    from baselines.engines import tensorflow_engine
    from baselines.nets.backend import tensorflow

    def traced_step(self: Any, *batches: Any) -> dict[str, Any]:
        (batch,) = batches
        history: dict[str, Any] = self._trace({name: tensorflow.constant(array) for name, array in batch.items()})
        return history

    tensorflow_engine.TensorFlowEngine.step = traced_step  # type: ignore[method-assign]
    return offaxis()


def compiled() -> Callable[[int], None]:
    """The step on PyTorch as it would be if its graph were compiled."""
    import torch

    from baselines import engines

    class Compiled(engines.TorchEngine):
        def __init__(self, model: Any) -> None:
            super().__init__(model)
            trace = self._trace
            self._trace = lambda *arguments: torch.compile(trace(*arguments))

    engines.TorchEngine = Compiled  # type: ignore[misc]
    return offaxis()


def keras_fit() -> Callable[[int], None]:
    """The same networks in a Keras model with ``add_loss``, and ``fit`` on numpy arrays."""
    import keras
    import numpy as np
    from keras import ops

    import benchmark_data
    from baselines.nets import architectures

    networks = architectures.conv((64, 64, 3), LATENTS, np.random.default_rng(0))

    class Vae(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = networks

        def call(self, images: Any) -> Any:
            images = ops.cast(images, "float32") / 255.0
            mean, log_variance = self.encoder(images)
            logits = self.decoder(mean + ops.exp(0.5 * log_variance) * keras.random.normal((BATCH, LATENTS)))
            cross_entropy = keras.losses.binary_crossentropy(images, logits, from_logits=True)
            self.add_loss(ops.mean(ops.sum(cross_entropy, axis=(1, 2))) * 3)
            kl = 0.5 * (ops.square(mean) + ops.exp(log_variance) - log_variance - 1)
            self.add_loss(BETA * ops.mean(ops.sum(kl, axis=1)))
            return logits

    images = benchmark_data.load("xysquares/spacing_1").images(np.random.default_rng(0).integers(0, 262_144, BATCH))
    vae = Vae()
    vae.compile(keras.optimizers.Adam(RATE, epsilon=1e-8))

    def steps(n: int) -> None:
        vae.fit(np.tile(images, (n, 1, 1, 1)), batch_size=BATCH, shuffle=False, verbose=0)

    return steps


def torch_batch() -> Any:
    """The same images for PyTorch, uint8 (n, C, H, W); drawn here, since that Python may have no Offaxis."""
    import numpy as np
    import torch

    rng = np.random.default_rng(0)
    images = np.zeros((BATCH, 3, 64, 64), np.uint8)
    for image in images:
        for channel, (y, x) in zip(image, rng.integers(24, 32, (3, 2)), strict=True):
            channel[y : y + 8, x : x + 8] = 255
    return torch.from_numpy(images)


def torch_step() -> Callable[[int], None]:
    """The same layers, loss and Adam in plain PyTorch, with the batch already there."""
    return torch_model("cpu")


def torch_layers() -> tuple[list[Any], list[Any]]:
    """Encoder and decoder of the architecture in PyTorch's layers."""
    from torch import nn

    if ARCHITECTURE == "fc":
        wide = WIDTH or 1200
        encoder = [nn.Flatten(), nn.Linear(12288, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU()]
        decoder: list[Any] = []
        for a, b in ((LATENTS, min(256, wide)), (min(256, wide), wide), (wide, wide)):
            decoder += [nn.Linear(a, b), nn.Tanh()]
        return [*encoder, nn.Linear(wide, 2 * LATENTS)], [
            *decoder,
            nn.Linear(wide, 12288),
            nn.Unflatten(1, (3, 64, 64)),
        ]
    part = {"conv": 1, "conv_small": 2}[ARCHITECTURE]
    first, last, units = 32 // part, 64 // part, 256 // part
    encoder = []
    for a, b in ((3, first), (first, first), (first, last), (last, last)):
        encoder += [nn.Conv2d(a, b, 4, 2, 1), nn.ReLU()]
    encoder += [nn.Flatten(), nn.Linear(16 * last, units), nn.ReLU(), nn.Linear(units, 2 * LATENTS)]
    decoder = [nn.Linear(LATENTS, units), nn.ReLU(), nn.Linear(units, 16 * last), nn.ReLU()]
    decoder.append(nn.Unflatten(1, (last, 4, 4)))
    for a, b in ((last, last), (last, first), (first, first)):
        decoder += [nn.ConvTranspose2d(a, b, 4, 2, 1), nn.ReLU()]
    return encoder, [*decoder, nn.ConvTranspose2d(first, 3, 4, 2, 1)]


def torch_model(device: str) -> Callable[[int], None]:
    """The plain PyTorch step on a device that PyTorch names."""
    import torch
    from torch import nn
    from torch.nn import functional

    encode, decode = (nn.Sequential(*layers).to(device) for layers in torch_layers())
    adam = torch.optim.Adam([*encode.parameters(), *decode.parameters()], RATE, fused=True)
    batch = torch_batch().to(device)

    def steps(n: int) -> None:
        for _ in range(n):
            images = batch.float() / 255
            mean, log_variance = encode(images).chunk(2, dim=1)
            logits = decode(mean + torch.exp(0.5 * log_variance) * torch.randn(BATCH, LATENTS, device=device))
            loss = functional.binary_cross_entropy_with_logits(logits, images, reduction="sum") / BATCH
            kl = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1)
            loss = loss + BETA * kl.sum(1).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        loss.item()

    return steps


def disent_step() -> Callable[[int], None]:
    """The framework, model and optimiser of disent, without its data loader and Lightning's loop."""
    from disent.frameworks.vae import BetaVae
    from disent.model import AutoEncoder, ae

    encoder, decoder = {"conv": (ae.EncoderConv64, ae.DecoderConv64), "fc": (ae.EncoderFC, ae.DecoderFC)}[ARCHITECTURE]
    model = AutoEncoder(
        encoder=encoder(x_shape=(3, 64, 64), z_size=LATENTS, z_multiplier=2),
        decoder=decoder(x_shape=(3, 64, 64), z_size=LATENTS),
    )
    framework = BetaVae(
        model=model,
        cfg=BetaVae.cfg(
            optimizer="adam",
            optimizer_kwargs={"lr": RATE},
            recon_loss="bce",
            loss_reduction="mean_sum",
            beta=BETA,
        ),
    )
    framework.log = framework.log_dict = lambda *arguments, **named: None  # Lightning's logger wants a trainer
    optimiser = framework.configure_optimizers()
    batch = torch_batch()

    def steps(n: int) -> None:
        for i in range(n):
            images = batch.float() / 255
            loss = framework.do_training_step({"x_targ": (images,), "x": (images,)}, i)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        loss.item()

    return steps


CONTENDERS: dict[str, Callable[[], Callable[[int], None]]] = {
    "offaxis": offaxis,
    "offaxis loop": offaxis_loop,
    "keras fit": keras_fit,
    "pytorch": torch_step,
    "disent": disent_step,
    "torch": offaxis,
    "torch compiled": compiled,
    "jax": offaxis,
    f"jax x{TOGETHER}": functools.partial(offaxis, TOGETHER),
    "bfloat16": functools.partial(offaxis, precision="bfloat16"),
    "traced": traced,
    "one thread": offaxis,
}


def serve(name: str) -> None:
    """Build a contender; for every number on standard input take that many steps and print wall and CPU seconds."""
    steps = CONTENDERS[name]()
    steps(3)
    print("ready", flush=True)
    for line in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        steps(int(line))
        print(time.perf_counter() - wall, time.process_time() - processor, flush=True)


def begin(name: str, options: argparse.Namespace, architecture: str, threads: int) -> subprocess.Popen[str]:
    """Start a contender."""
    others = {"torch": options.torch, "pytorch": options.torch, "disent": options.disent or options.torch}
    python = others.get(name, sys.executable)
    variables = {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"}
    settings = {"OFFAXIS_BATCH": str(options.batch), "OFFAXIS_ARCHITECTURE": architecture}
    settings |= {"OFFAXIS_WIDTH": str(options.width)} | dict.fromkeys(variables, str(threads))
    if name.startswith(("torch", "jax")):
        settings["KERAS_BACKEND"] = name.split()[0]
    if name.startswith("jax") and threads == 1:
        settings["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if name == "one thread":
        settings |= dict.fromkeys(variables, "1")
    command = [python, __file__, "--serve", name]
    environment = {**os.environ, **settings}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def ready(name: str, process: subprocess.Popen[str]) -> bool:
    """Wait until a contender has said that it is ready; False if it cannot run."""
    is_ready = process.stdout is not None and process.stdout.readline().strip() == "ready"
    if not is_ready:
        print(f"{name}: left out, it did not start", file=sys.stderr)
    return is_ready


def measure(
    names: Sequence[str], options: argparse.Namespace, architecture: str, threads: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Measure contenders in turn; give images per second and per processor second of each, round by round."""
    started = {name: begin(name, options, architecture, threads) for name in names}
    running = {name: process for name, process in started.items() if ready(name, process)}
    rates: dict[str, list[float]] = {name: [] for name in running}
    work: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(options.rounds):
        for name, process in running.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{options.steps}\n")
            process.stdin.flush()
            wall, processor = map(float, process.stdout.readline().split())
            rates[name].append(options.batch * options.steps / wall)
            work[name].append(options.batch * options.steps / processor)
    for process in running.values():
        process.communicate()
    return rates, work


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Take the median over the rounds of a ratio."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def grid(options: argparse.Namespace) -> None:
    """Record the images per second of the backends, plain PyTorch and disent, by architectures and threads."""
    for architecture in ("conv", "conv_small", "fc"):
        names = ["offaxis", "torch", "jax", "pytorch"]
        names += ["disent"] if architecture == "conv" else []  # the only layers that it has
        for threads in (1, 2):
            keep(options.grid, architecture, threads, measure(names, options, architecture, threads)[0])


def keep(record: Path | None, architecture: str, threads: int, rates: Mapping[str, Sequence[float]]) -> None:
    """Append every round to a record, if one is wanted."""
    columns = ("layers", "threads", "contender", "round", "images_per_second")
    for name, values in rates.items():
        append(record, columns, ((architecture, threads, name, i, f"{rate:.1f}") for i, rate in enumerate(values)))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable, help="a Python with torch, and disent")
    parser.add_argument("--disent", metavar="PYTHON", help="a Python with disent, if it is another one")
    parser.add_argument("--only", nargs="*", default=list(CONTENDERS)[:5], choices=list(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--steps", type=int, default=20, help=f"steps per round and contender, a multiple of {TOGETHER}"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads that each contender may use")
    parser.add_argument("--architecture", default="conv", help="conv, conv_small or fc")
    parser.add_argument("--width", type=int, default=0, help="of the architecture fc")
    parser.add_argument("--batch", type=int, default=64, help="images in a batch")
    parser.add_argument("--grid", type=Path, metavar="CSV", help="a record of backends by architectures and threads")
    parser.add_argument("--to", type=Path, metavar="CSV", help="a record to which every round is appended")
    parser.add_argument("--serve", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, batch {options.batch}", end=", ")
    print(f"{options.rounds} rounds of {options.steps} steps")
    if options.grid:
        grid(options)
        return
    rates, work = measure(options.only, options, options.architecture, options.threads)
    keep(options.to, options.architecture, options.threads, rates)
    first = next(iter(rates))
    print(f"{options.architecture}, {options.threads} threads each")
    print(f"{'':14}{'images/s':>10}{'range':>16}{f'{first} is':>14}{'images/CPU s':>14}{f'{first} is':>14}")
    for name in rates:
        span = f"{min(rates[name]):.0f} to {max(rates[name]):.0f}"
        print(
            f"{name:14}{statistics.median(rates[name]):10.0f}{span:>16}{ratio(rates[first], rates[name]):12.2f} x",
            end="",
        )
        print(f"{statistics.median(work[name]):14.0f}{ratio(work[first], work[name]):12.2f} x")


if __name__ == "__main__":
    main()
