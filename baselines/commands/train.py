"""``offaxis train``: train baselines, go on with them, encode, draw, and write references. Internal."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import rich.table
import typer

from benchmark_data import console, files
from benchmark_data.commands.arguments import names_like
from benchmark_data.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from baselines.config import RunConfig
    from baselines.run import Run
    from benchmark_data.dataset import Dataset

app = console.command_line(
    "Train the papers' autoencoders on any dataset and leave run folders for the board to score.\n\n"
    "A first run, about a minute: offaxis train run --dataset xysquares/spacing_1 --objective beta_vae "
    "--set architecture=fc --set width=256 --set learning_rate=0.001 --steps 1000",
)

Folder = Annotated[Path, typer.Argument(help="A run folder.", show_default=False)]
TensorBoard = Annotated[bool, typer.Option(help="Write TensorBoard's event files too, into the run folder.")]
Wandb = Annotated[
    str,
    typer.Option(metavar="PROJECT", help="Send the history to this project of Weights & Biases.", show_default=False),
]
Encode = Annotated[bool, typer.Option(help="Afterwards write the codes to be scored.")]
Device = Annotated[
    str, typer.Option(metavar="cpu|gpu|auto", help="Compute on this; with gpu, on nothing else. auto: GPUs if any.")
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, help="Threads to compute with. Default: all cores. The last bits of a run on a CPU depend on it."
    ),
]

Images = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Train on the PNG or JPEG files of this folder, in place of a dataset; a CSV file in it says what is "
        "known of them. --dataset then names them; default: the folder's name.",
        show_default=False,
    ),
]

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Train nothing: say what would be trained, how long on this machine, and on disk."),
]


HARDLY = 0.1
"""A share of the pixels' variance that is hardly more than the mean picture."""


@app.command()
def run(
    dataset: Annotated[
        str,
        typer.Option(
            help="Dataset, such as xysquares/spacing_1; offaxis data list shows them all. Required, unless --config "
            "names one.",
            autocompletion=names_like,
            show_default=False,
        ),
    ] = "",
    objective: Annotated[
        str,
        typer.Option(
            help="Objective, such as beta_vae; offaxis train list shows them. Required, unless --config names one.",
            show_default=False,
        ),
    ] = "",
    images: Images = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="RULE[:PART]",
            help="Train on this part of the dataset, divided by a rule, such as composition or recombination.to_range; "
            "PART is train unless named. offaxis data info NAME --splits lists the rules. Of these rows the share "
            "train_share is trained on: --set train_share=1 takes all. Or a split that the dataset has itself.",
        ),
    ] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a hyperparameter of the objective (beta=4), a parameter of the architecture (width=256) "
            "or any other key of the config (architecture=fc, batch_size=32). Repeat it as needed.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps. Default: 300000, as in the papers.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, batches and noise. Default: 0.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Start from this JSON file; the other options change it.", show_default=False)
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="Run folder. Default: runs/DATASET/OBJECTIVE/seed_SEED.", show_default=False),
    ] = None,
    tensorboard: TensorBoard = False,
    wandb: Wandb = "",
    encode: Encode = True,
    device: Device = "auto",
    threads: Threads = None,
    dry_run: DryRun = False,
) -> None:
    """Train one run. If the folder holds the same run already, go on with it, or leave it alone if it is finished."""
    from baselines.config import RunConfig
    from baselines.run_folder import default_folder

    values: dict[str, Any] = files.read_json(config) if config else {}
    if not isinstance(values, dict):
        raise InvalidInput(str(config), expected="an object of keys and values", received=type(values).__name__)
    own = _pictures(images, dataset, str(values.get("dataset", "")))
    texts = {"dataset": own.name if own else dataset or None, "objective": objective or None, "split": split or None}
    given: dict[str, Any] = {**texts, "steps": steps, "seed": seed}
    _change(values, {key: value for key, value in given.items() if value is not None})
    for key in ("dataset", "objective"):
        if key not in values:
            raise InvalidInput(f"--{key}", expected="a name", received="none", remedy=f"Add --{key} NAME.")
    settled = RunConfig.from_json(_with_settings(values, set_ or []))
    folder = into or default_folder(settled)
    if dry_run:
        _dry_run(settled, folder, encode, device, threads, own)
        return
    _train(settled, folder, tensorboard, wandb, encode, device, threads, own, images)


def _dry_run(
    config: RunConfig, folder: Path, encode: bool, device: str, threads: int | None, own: Dataset | None
) -> None:
    """Describe what a run would take."""
    from baselines.engines import devices
    from baselines.training import dry_run, worker

    if threads is not None:
        os.environ.update(worker.thread_limits(threads))
    devices.choose(device)
    found = dry_run.estimate(config, folder, encode=encode, dataset=own)
    done = config.steps - found.left
    console.say(f"{config.objective} on {config.dataset}, seed {config.seed}, into {folder}")
    console.say(f"model  {config.architecture}, {found.parameters:,} numbers to train")
    views = config.build_objective().n_views
    pairs = f", in {config.batch_size} pairs" if views == 2 else ""
    console.say(f"images {found.images:,}, {config.batch_size * views} a step{pairs}")
    console.say(f"steps  {found.left:,} of {config.steps:,}" + (f", {done:,} are done" if done else ""))
    console.say(
        f"time   about {dry_run.duration(found.seconds)}: {found.rate:,.0f} images a second, measured over "
        f"{found.measured} steps on {devices.line()}"
    )
    console.say(
        f"disk   about {dry_run.size(found.bytes)}, with {found.snapshots} snapshots of "
        f"{dry_run.size(found.snapshot_bytes)} each"
    )


@app.command()
def resume(
    run: Folder,
    steps: Annotated[
        int | None,
        typer.Option(help="Make the run longer: all steps that it is to take, those that are done included."),
    ] = None,
    tensorboard: TensorBoard = False,
    wandb: Wandb = "",
    encode: Encode = True,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Go on with a run that was stopped, exactly where it was; with --steps, with one that is finished, too."""
    from baselines.run_folder import read_config
    from baselines.training import claims

    config = read_config(run) if steps is None else claims.longer(run, steps)
    _train(config, run, tensorboard, wandb, encode, device, threads, lengthen=steps is not None)


@app.command()
def transfer(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run: the source.", show_default=False)],
    dataset: Annotated[
        str,
        typer.Option(
            help="The target, whose images have the source's shape. Required, unless --images is given.",
            autocompletion=names_like,
            show_default=False,
        ),
    ] = "",
    images: Images = None,
    split: Annotated[
        str,
        typer.Option(
            help="Train on this split of it, such as target_train of a transfer pair, or RULE[:PART] as for run. "
            "Default: on all."
        ),
    ] = "",
    heads: Annotated[bool, typer.Option(help="Reset and train the heads of mean and variance.")] = True,
    decoder: Annotated[int, typer.Option(help="How many layers of the decoder to reset and train.")] = 1,
    side: Annotated[
        str, typer.Option(help="Count them from the latents (inside) or from the image (outside).")
    ] = "inside",
    steps: Annotated[int | None, typer.Option(help="Optimiser steps. Default: the source's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed. Default: the source's.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set another key, as for run.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            help="Run folder. Default: runs/DATASET/transfer/..., named after options and config.", show_default=False
        ),
    ] = None,
    tensorboard: TensorBoard = False,
    wandb: Wandb = "",
    encode: Encode = True,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Train parts of a run on another dataset and freeze the rest. Figures 6 and 9 of arXiv:2304.10767.

    What is trained starts anew. To choose layers one by one: offaxis train run
    --set start_from=RUN --set 'frozen=["encoder_1"]' --set 'reset=["mean"]' ...
    """
    from baselines.config import RunConfig
    from baselines.training import finetune

    own = _pictures(images, dataset)
    target = own.name if own else dataset
    if not target:
        raise InvalidInput("--dataset", expected="a name", received="none", remedy="Add --dataset NAME.")
    changes = {"split": split} | {k: v for k, v in (("steps", steps), ("seed", seed)) if v is not None}
    values = finetune.config(source, target, heads=heads, decoder=decoder, side=side, **changes).as_json()
    settled = RunConfig.from_json(_with_settings(values, set_ or []))
    parts = f"{'heads_' if heads else ''}{decoder}_{side}"
    name = f"{parts}_{source.name}_seed_{settled.seed}_{settled.digest[:8]}"  # sources of one name differ in weights
    folder = into or Path("runs") / settled.dataset / "transfer" / name
    _train(settled, folder, tensorboard, wandb, encode, device, threads, own, images)


def _pictures(images: Path | None, dataset: str, otherwise: str = "") -> Dataset | None:
    """Return the user's own images, where a folder of them is given, under the dataset's name or another one."""
    import benchmark_data

    if images is not None:
        return benchmark_data.from_folder(images, dataset or otherwise)
    if dataset.partition("/")[0] not in benchmark_data.names() and dataset and Path(dataset).is_dir():
        raise InvalidInput(
            "--dataset",
            expected="a dataset's name",
            received=f"the folder {dataset}",
            remedy=f"Train on the pictures in it with --images {shlex.quote(dataset)}.",
        )
    return None


def _train(
    config: RunConfig,
    folder: Path,
    tensorboard: bool,
    wandb: str,
    encode: bool,
    device: str,
    threads: int | None,
    images: Dataset | None = None,
    pictures: Path | None = None,
    *,
    lengthen: bool = False,
) -> None:
    """Train a run, or go on with it, with what watches it; write its codes; say where it is, and first on what.

    The user's own images, ``images``, are those of the folder ``pictures``; of a run that goes on without them, those
    that its own folder names. A run that is to ``lengthen`` loses what was made of it once nothing refuses it.
    """
    from baselines.engines import devices
    from baselines.record import own_images
    from baselines.run_folder import is_trained
    from baselines.training import claims, loggers, stopping, worker
    from baselines.training.batches import training_rows
    from baselines.training.loop import Stopped, train
    from benchmark_data.variants import splitting

    if threads is not None:
        os.environ.update(worker.thread_limits(threads))
    devices.choose(device)
    console.tell(f"device: {devices.line()}")
    for sentence in devices.advice(device, config.precision):
        console.warn(sentence)
    own = own_images(folder, config) if images is None else splitting.of(images, config.dataset)
    if own is not None and pictures is not None:
        _claim(config, folder, own, pictures)
    if own is not None:
        count = len(training_rows(own, config.train_share, config.split))
        console.tell(f"images: {len(own):,} of {own.id}, {count:,} trained on, the rest held out (train_share)")
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", devices.SlowDevice)  # said above
        watching = []
        if tensorboard:
            watching.append(stack.enter_context(loggers.tensorboard(folder)))
        if wandb:
            watching.append(stack.enter_context(loggers.wandb(config, folder, project=wandb)))
        if lengthen:
            claims.lengthen(folder, config.steps, own)
        encoded = is_trained(folder, config) and (folder / "codes.npz").exists()  # nothing changes a finished run
        try:
            finished = train(config, folder, dataset=own, observers=watching)
        except Stopped as stopped:
            options = _options(tensorboard, wandb, encode, device, threads)
            again = stopping.command("resume", str(folder), *options)
            raise console.interrupted(f"{stopped.where} To go on: {again}") from stopped
    try:
        if encode and not encoded:
            finished.encode_task()
        _explained(finished)
    except KeyboardInterrupt as interrupt:
        again = stopping.command("resume", str(folder), *_options(False, "", encode, device, threads))
        raise console.interrupted(f"stopped after the training, which is done. To go on: {again}") from interrupt
    console.say(folder)


def _options(tensorboard: bool, wandb: str, encode: bool, device: str, threads: int | None) -> list[str]:
    """Return the options with which a run goes on as it was begun: those that its config does not hold."""
    given = {"--wandb": wandb, "--device": "" if device == "auto" else device, "--threads": str(threads or "")}
    flags = [*(["--tensorboard"] if tensorboard else []), *([] if encode else ["--no-encode"])]
    return [*flags, *(word for option, value in given.items() if value for word in (option, value))]


def _claim(config: RunConfig, folder: Path, own: Dataset, pictures: Path) -> None:
    """Make a folder that of a run on the user's own images, and have it name them, so that ``resume`` finds them."""
    from baselines.record import digests_of, remember_images, same_pixels
    from baselines.training import claims, finetune, loop

    config = finetune.resolved(config, folder, own)
    if not claims.holds(folder, config):
        loop.check([config], own)
    with claims.alone(folder):
        claims.claim(folder, config)
        if (folder / "run.json").exists():  # or there is nothing to compare, and training reads them all anyway
            same_pixels(folder, digests_of(own))
        remember_images(folder, pictures)


def _explained(run: Run) -> None:
    """Say how much of the images the decoder draws, and warn where that is hardly anything."""
    share = run.explained()
    if math.isnan(share):
        return
    console.tell(f"reconstructions explain {max(share, 0.0):.0%} of the pixels' variance")
    if share < HARDLY and run.model.objective.reconstructs:
        longer = "More steps, a lower beta" if hasattr(run.model.objective, "beta") else "More steps"
        console.warn(
            "the decoder draws hardly more than one mean picture: the codes hold little of the images. "
            f"{longer}, or --set reconstruction_weight=4 may mend it."
        )


@app.command()
def sweep(
    name: Annotated[
        str, typer.Argument(help="Sweep, such as smoke; offaxis train list shows them.", show_default=False)
    ],
    into: Annotated[Path | None, typer.Option(help="Folder. Default: runs/NAME.", show_default=False)] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only runs with this setting, such as dataset=sprites2d or beta=4. Of several on one key any will do.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps of each run. Default: the sweep's.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. Default: one per core. On a GPU: 1.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each. Default: the cores shared out.")] = None,
    together: Annotated[
        int, typer.Option(min=1, help="Runs that a worker trains in one program. With KERAS_BACKEND=jax, on a GPU: 25.")
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Train on this Ray cluster; local starts one on this machine."),
    ] = None,
    gpus: Annotated[
        float, typer.Option(help="GPUs that each task asks of Ray; 0.25 puts four on one. Default: none.")
    ] = 0.0,
    encode: Encode = True,
    device: Device = "auto",
    dry_run: DryRun = False,
) -> None:
    """Train the runs of a sweep: what is done is skipped, what was stopped goes on. Exit status 1 if any run failed."""
    from baselines.training import stopping, sweep

    configs = sweep.select(sweep.find(name), only or [])
    if steps is not None:
        configs = tuple(config.with_steps(steps) for config in configs)
    folder = into or Path("runs") / name
    if dry_run:
        _dry_sweep(configs, folder, jobs, threads, encode, device)
        return
    try:
        states = sweep.run(
            configs,
            folder,
            jobs=jobs,
            threads=threads,
            together=together,
            ray=ray,
            gpus=gpus,
            encode=encode,
            device=device,
        )
    except KeyboardInterrupt as interrupt:
        raise console.interrupted(f"stopped, with snapshots. To go on: {stopping.again()}") from interrupt
    failed = [state for state in states if state.state == "failed"]
    for state in failed:
        console.tell(f"{state.run}: {state.error}", style="red")
    done = sum(state.state == "done" for state in states)
    console.out.print(f"{done} of {len(states)} runs are done, {len(failed)} failed", highlight=False)
    console.say(folder / "index.csv")
    if done < len(states):
        raise typer.Exit(1)


def _dry_sweep(
    configs: Sequence[RunConfig], folder: Path, jobs: int | None, threads: int | None, encode: bool, device: str
) -> None:
    """Describe what the runs of a sweep that are left would take, with so many workers."""
    import joblib

    from baselines.engines import devices
    from baselines.training import dry_run, sweep, worker

    states = [sweep.run_status(config, folder, encode=encode) for config in configs]
    left = [config for config, state in zip(configs, states, strict=True) if not sweep.settled(state, folder)]
    workers = max(1, min(jobs or joblib.cpu_count(), len(left)))
    share = threads or max(1, joblib.cpu_count() // workers)
    os.environ.update(worker.thread_limits(share))
    devices.choose(device)
    found = dry_run.of_sweep(left, [folder / sweep.run_path(config) for config in left], encode=encode)
    kinds = len({dry_run.kind(config) for config in left})
    console.say(f"{len(configs):,} runs into {folder}, {len(configs) - len(left):,} are done")
    console.say(f"steps  {sum(one.left for one in found):,} in {len(left):,} runs")
    hours = dry_run.duration(sum(one.seconds for one in found) / workers)
    console.say(
        f"time   about {hours} with --jobs {workers} --threads {share} on {devices.line()}; "
        f"a run of each of {kinds} kinds was measured, alone on its threads"
    )
    console.say(f"disk   about {dry_run.size(sum(one.bytes for one in found))} for these runs")


@app.command()
def encode(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.", show_default=False)],
    dataset: Annotated[
        str,
        typer.Option(
            help="Encode this dataset with the run's encoder. Needs --into FILE.npz.", autocompletion=names_like
        ),
    ] = "",
    into: Annotated[
        Path | None,
        typer.Option(
            help="A submission's folder to fill, as offaxis board submit init makes it; with --dataset, a file. "
            "Default: codes.npz in each run folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write codes of the rows to be scored: for a run, for a submission, or of another dataset.

    offaxis train encode runs/a --dataset sprites2d --into a.npz

    offaxis train encode runs/a runs/b --into my_submission
    """
    from baselines.outputs import encode
    from baselines.run import Run

    opened = [Run.open(folder) for folder in runs]
    if dataset and (into is None or len(opened) != 1):
        received = f"{len(opened)} runs{'' if into else ' and no --into'}"
        raise InvalidInput("--dataset", expected="one run and --into FILE.npz", received=received)
    if dataset and into:
        written = [encode.encode_target(opened[0], dataset, into)]
    else:
        written = encode.fill(into, opened) if into else [run.encode_task() for run in opened]
    for path in written:
        console.say(path)


@app.command()
def export(
    runs: Annotated[list[Path], typer.Argument(help="Finished run folders.", show_default=False)],
    to: Annotated[
        Path | None, typer.Option(help="A folder to make, with all that others need of the run.", show_default=False)
    ] = None,
    tier: Annotated[
        str, typer.Option(help="Tier of the scores on the card, with --to; as of offaxis board evaluate.")
    ] = "smoke",
) -> None:
    """Write each run's encoder in ONNX, encoder.onnx in its folder: which verifies the scores of a run.

    With --to, write a folder for others instead: weights (safetensors), encoder (ONNX), codes, and a card with scores.
    Of several runs, each has its own in it: sprites2d.beta_vae.seed_0_5f874bb2. offaxis board verify and
    publish-weights take them.
    """
    from baselines.outputs import export
    from baselines.run import Run

    if to is None:
        for folder in runs:
            console.say(export.write_encoder(Run.open(folder)))
    elif len(runs) == 1:
        console.say(export.export(Run.open(runs[0]), to, tier=tier))
    else:
        for folder in runs:
            run = Run.open(folder)
            console.say(export.export(run, to / export.name(run), tier=tier))


@app.command()
def activations(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", show_default=False)],
    into: Annotated[
        Path | None,
        typer.Option(help="File, .npz, for one run. Default: activations.npz in the run folder.", show_default=False),
    ] = None,
    dataset: Annotated[
        str,
        typer.Option(
            help="Of this dataset's images, or of a folder's, as runs take that were trained on others. "
            "Default: the run's own.",
            autocompletion=names_like,
        ),
    ] = "",
    images: Annotated[
        int, typer.Option(min=1, help="How many of the task's test rows, or of one's own images.")
    ] = 1000,
    step: Annotated[int | None, typer.Option(help="At this snapshot. Default: the last.")] = None,
) -> None:
    """Write the activations of every layer of each run, for offaxis board heatmap, analyse and transfer heatmap.

    Layers are compared on the same images. Runs on different datasets take the images of one, with --dataset.
    """
    import benchmark_data
    from baselines.run import Run, own_rows
    from leaderboard import protocol

    files.check_ending("--into", into, ".npz")
    if into is not None and len(runs) != 1:
        raise InvalidInput("--into", expected="one run", received=f"{len(runs)} runs")
    named = benchmark_data.named_or_folder(dataset) if dataset else None
    for opened in [Run.open(run, step=step) for run in runs]:
        target = named or opened.dataset
        rows = protocol.task(target.id).test if target.name in benchmark_data.names() else own_rows(target)
        console.say(opened.write_activations(rows[:images], into, target))


@app.command()
def traverse(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", show_default=False)],
    row: Annotated[int, typer.Option(help="The row of the dataset to start from.")] = 0,
) -> None:
    """Draw each run: latent traversals (PNG and GIF), reconstructions, losses and units in use, into its folder."""
    from baselines.outputs import pictures
    from baselines.run import Run

    for opened in [Run.open(run) for run in runs]:
        for path in pictures.draw_all(opened, row=row):
            console.say(path)
        _explained(opened)


@app.command()
def reference(
    name: Annotated[
        str, typer.Argument(help="Reference, such as pca; offaxis train list shows them.", show_default=False)
    ],
    dataset: Annotated[
        str,
        typer.Option(help="Dataset, such as xysquares/spacing_1.", autocompletion=names_like, show_default=False),
    ],
    seed: Annotated[int, typer.Option(help="Seed, for a reference that is random.")] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter.")] = None,
    into: Annotated[
        Path | None, typer.Option(help="Folder. Default: runs/DATASET/NAME/seed_SEED.", show_default=False)
    ] = None,
) -> None:
    """Write the codes of a reference, which nobody trains: the floor and the ceiling of a board."""
    import benchmark_data
    from baselines import untrained

    untrained.find(name)
    data = benchmark_data.load(dataset)
    folder = into or Path("runs") / data.id / name / f"seed_{seed}"
    parameters = dict(_setting(text) for text in set_ or [])
    untrained.write(name, data, folder, seed=seed, parameters=parameters)
    console.say(folder)


@app.command("derive-perturbation")
def derive_perturbation(
    base: Annotated[
        str, typer.Argument(help="Dataset, such as sprites2d.", autocompletion=names_like, show_default=False)
    ],
    restarts: Annotated[int, typer.Option(min=2, help="How many models to train.")] = 10,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps of each. Default: 300000.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the config, as for run.")
    ] = None,
    least_mean_mig: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Refuse to choose among models whose mean MIG is lower.")
    ] = 0.15,
    runs: Annotated[
        Path | None, typer.Option(help="Where the runs go. Default: runs/BASE/derive.", show_default=False)
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="File to write. Default: where BASE_perturbed/conv32_... looks for it.", show_default=False),
    ] = None,
) -> None:
    """Train β-VAEs and derive the hidden variable of BASE_perturbed/conv32_...; goes on where it was stopped.

    With --set objective=beta_tc_vae it trains β-TCVAEs, which learn sooner.
    """
    import benchmark_data
    from baselines.config import RunConfig
    from baselines.outputs import hidden_variable

    data = benchmark_data.load(base)
    values = hidden_variable.settings(data) | ({} if steps is None else {"steps": steps})
    config = RunConfig.from_json(_with_settings(values, set_ or []))
    folder = runs or Path("runs") / data.id / "derive"
    found = hidden_variable.derive(config, folder, restarts=restarts, least_mean_mig=least_mean_mig, path=into)
    table = rich.table.Table("seed", "MIG", "", box=None, pad_edge=False)
    for seed, score in found.migs.items():
        chosen = f"chosen: latent {found.latent}, noise {found.noise[found.latent]:.4f}" if seed == found.seed else ""
        table.add_row(str(seed), f"{score:.4f}", chosen)
    console.out.print(table, highlight=False)
    console.say(found.path)


@app.command("list")
def list_() -> None:
    """List objectives, architectures, reconstruction losses and references, with their parameters, and sweeps."""
    import dataclasses

    from baselines import objectives, untrained
    from baselines.nets import architectures, reconstruction
    from baselines.training import sweep

    table = rich.table.Table("kind", "name", "parameters and defaults", box=None, pad_edge=False)

    def add(kind: str, name: str, defaults: dict[str, Any]) -> None:
        table.add_row(kind, name, ", ".join(f"{key}={value}" for key, value in defaults.items()))

    for name in objectives.names():
        add("objective", name, dataclasses.asdict(objectives.find(name)()))
    for name in architectures.ARCHITECTURES:
        add("architecture", name, architectures.parameters(name, {}))
    for name in reconstruction.RECONSTRUCTIONS:
        add("reconstruction", name, {})
    for name in untrained.names():
        add("reference", name, dataclasses.asdict(untrained.find(name)))
    for name in sweep.names():
        add("sweep", name, {})
    console.out.print(table)


def _setting(text: str) -> tuple[str, Any]:
    """Split KEY=VALUE; the value is JSON where it can be, and a text otherwise."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidInput("--set", expected="KEY=VALUE", received=repr(text))
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _change(values: dict[str, Any], changes: dict[str, Any]) -> None:
    """Change keys of a config; another objective or architecture begins with the defaults of its own parameters."""
    for name, group in (("objective", "hyperparameters"), ("architecture", "architecture_parameters")):
        held = values.get(name)
        if held is not None and changes.get(name, held) != held and values.pop(group, None):
            console.tell(f"{name}: {changes[name]} in place of {held}, with its own defaults")
    values |= changes


def _with_settings(values: dict[str, Any], settings: list[str]) -> dict[str, Any]:
    """Put every setting where it belongs: among the objective's, the architecture's or the config's own keys."""
    import dataclasses

    from baselines import objectives, validation
    from baselines.config import RunConfig
    from baselines.nets import architectures

    pairs = dict(_setting(text) for text in settings)
    own = {f.name for f in dataclasses.fields(RunConfig)}
    _change(values, {key: value for key, value in pairs.items() if key in own})
    architecture = validation.typed("architecture", values.get("architecture", "conv"), str)
    groups = {
        "hyperparameters": {f.name for f in dataclasses.fields(objectives.find(values["objective"]))},
        "architecture_parameters": set(architectures.parameters(architecture, {})),
    }
    for key, value in pairs.items():
        if key in own:
            continue
        group = next((name for name, keys in groups.items() if key in keys), None)
        if group is None:
            raise UnknownName("--set", key, own.union(*groups.values()))
        held = values.get(group, {})
        if not isinstance(held, dict):
            raise InvalidInput(group, expected="keys and values", received=repr(held))
        values[group] = {**held, key: value}
    return values
