"""``offaxis train encode``, ``export`` and ``list``: write outputs of trained runs, and list what can be trained."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from benchmark_data import console, discovery, files
from benchmark_data.commands.arguments import dataset_option
from benchmark_data.errors import InvalidInput, needs

Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]


def encode(
    runs: Runs,
    dataset: Annotated[
        str, dataset_option(metavar="NAME|FOLDER", help="The images to encode. Default: the run's.")
    ] = "",
    layers: Annotated[bool, typer.Option("--layers", help="Write the activations of every layer instead.")] = False,
    images: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With --layers: number of images. Default: 1,000.")
    ] = None,
    step: Annotated[
        int | None, typer.Option(metavar="N", help="With --layers: the snapshot. Default: the last.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="The file to write, for one run.", show_default="in the run")
    ] = None,
) -> None:
    """Write the codes of the rows to be scored (codes.npz), or activations of all layers (activations.npz).

    Layers of runs on different datasets are compared on the images of one: --dataset.
    """
    if (step, images) != (None, None) and not layers:
        raise InvalidInput("--step and --images need --layers: codes for scoring are those of the last snapshot.")
    files.check_ending(to, ".npz")
    if to is not None and len(runs) != 1:
        raise InvalidInput(f"--to {to} accepts one run, not {len(runs)}.")
    if layers:
        _write_activations(runs, dataset, images, step, to)
        return
    if dataset and to is None:
        raise InvalidInput("--dataset needs --to FILE.npz.")
    import benchmark_data
    from baselines.run import Run

    for run in [Run.open(folder) for folder in runs]:
        target = benchmark_data.named_or_folder(dataset) if dataset else run.dataset
        console.say(run.write_codes(to, target) if to else run.encode_task())


def _write_activations(runs: list[Path], dataset: str, images: int | None, step: int | None, to: Path | None) -> None:
    """Write the activations of every layer, on test rows of the task or on the user's images."""
    import benchmark_data
    from baselines.run import Run, own_rows
    from leaderboard import protocol

    named_dataset = benchmark_data.named_or_folder(dataset) if dataset else None
    for opened in [Run.open(run, step=step) for run in runs]:
        target = named_dataset or opened.dataset
        rows = protocol.task(target.id).test if target.name in benchmark_data.names() else own_rows(target)
        if images is not None and images > len(rows):
            raise InvalidInput(f"--images: expected at most {len(rows):,} of {target.id}, received {images:,}.")
        console.say(opened.write_activations(rows[: images or 1000], to, target))


def export(
    runs: Runs,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a folder to publish instead.")] = None,
) -> None:
    """Write encoder.onnx into each run folder, which the board needs to verify scores.

    With --to, write a folder to publish: weights (safetensors), encoder (ONNX),
    codes and config; of several runs, one folder for each.
    """
    from baselines.outputs import export
    from baselines.run import Run

    for folder in runs:
        run = Run.open(folder)
        destination = to if to is None or len(runs) == 1 else to / export.name(run)
        console.say(export.write_encoder(run) if destination is None else export.export(run, destination))


def list_() -> None:
    """List objectives, architectures, losses and untrained baselines with parameters, and what sweeps are for."""
    needs("this command", "train", "keras")
    from baselines import objectives, sweeps, untrained
    from baselines.nets import architectures, reconstruction

    items = [
        *(("objective", name, dataclasses.asdict(objectives.find(name)())) for name in objectives.names()),
        *(("architecture", name, architectures.parameters(name, {})) for name in architectures.ARCHITECTURES),
        *(("reconstruction", name, {}) for name in reconstruction.RECONSTRUCTIONS),
        *(("untrained", name, dataclasses.asdict(untrained.find(name))) for name in untrained.names()),
    ]
    rows = [(kind, name, ", ".join(f"{key}={value}" for key, value in values.items())) for kind, name, values in items]
    for name in discovery.names(sweeps.__name__):
        module = discovery.find(sweeps.__name__, name, kind="sweep")
        rows.append(("sweep", name, str(module.__doc__).partition("\n")[0]))
    console.table(rows, "kind", "name", "parameters and defaults, or what a sweep is for")
