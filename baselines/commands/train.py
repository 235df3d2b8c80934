"""``offaxis train``: train baselines, continue them, and write their outputs."""

from __future__ import annotations

import dataclasses
import math
import os
import shlex
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from baselines.commands import outputs
from benchmark_data import console, files
from benchmark_data.commands.arguments import Ray, dataset_option
from benchmark_data.errors import InvalidInput, UnknownName, needs

if TYPE_CHECKING:
    from baselines.config import RunConfig
    from baselines.run import Run
    from benchmark_data.dataset import Dataset

app = console.command_line(
    "Train baselines on any dataset, into run folders that offaxis board score reads.\n\n"
    "For example (about a minute): offaxis train run --dataset xysquares/spacing_1 --objective beta_vae "
    "--set architecture=fc --set width=256 --set learning_rate=0.001 --steps 1000"
)

NoEncode = Annotated[bool, typer.Option("--no-encode", help="Do not write codes for scoring.")]
Device = Annotated[str, typer.Option(metavar="cpu|gpu|auto", help="The device; auto uses a GPU if there is one.")]
Threads = Annotated[int | None, typer.Option(metavar="N", min=1, max=1024, help="Default: the run's, or all cores.")]
Steps = Annotated[int | None, typer.Option(metavar="N", min=1, help="Optimiser steps. Default: 300000.")]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of weights, batches and noise. Default: 0.")]
Images = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Train on the PNG or JPEG files in this folder; --dataset then sets their name."
    ),
]
Split = Annotated[
    str,
    typer.Option(
        metavar="RULE[:PART]",
        help="Train on a part of the dataset, such as composition; PART is train or test (default: train). "
        "List the rules: offaxis data info NAME --splits.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the objective or architecture (offaxis train list) or of baselines.RunConfig. Repeatable.",
    ),
]
RunFolder = Annotated[Path | None, typer.Option(metavar="DIR", help="The run folder.", show_default="under runs")]

LOW_EXPLAINED_SHARE = 0.1
"""A share of the pixels' variance below which a decoder draws little more than the mean image."""


class Options(NamedTuple):
    """Options of a training that are not in its config.

    Attributes:
        encode: write the codes afterwards.
        device: ``cpu``, ``gpu`` or ``auto``.
        threads: number of threads; all cores if None.
    """

    encode: bool = True
    device: str = "auto"
    threads: int | None = None

    def choose_device(self) -> None:
        """Choose threads and device, before the backend is loaded."""
        from baselines.engines import devices
        from baselines.training import worker

        if self.threads is not None:
            os.environ.update(worker.thread_limits(self.threads))
        devices.choose(self.device)

    def words(self) -> list[str]:
        """Return the options as command-line words."""
        device = "" if self.device == "auto" else self.device
        values = {"--device": device, "--threads": str(self.threads or "")}
        flags = [] if self.encode else ["--no-encode"]
        return [*flags, *(word for option, value in values.items() if value for word in (option, value))]


@app.command()
def run(
    dataset: Annotated[
        str, dataset_option(help="Such as xysquares/spacing_1. Required without --config or --images.")
    ] = "",
    objective: Annotated[
        str,
        typer.Option(metavar="NAME", help="Such as beta_vae. Required without --config."),
    ] = "",
    images: Images = None,
    split: Split = "",
    set_: Set = None,
    steps: Steps = None,
    seed: Seed = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read settings from this JSON file; other options override them."),
    ] = None,
    to: RunFolder = None,
    no_encode: NoEncode = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Train one run. Called again, it continues an interrupted run and leaves a finished one alone."""
    needs("training", "train", "keras")
    from baselines.config import RunConfig
    from baselines.run_folder import default_folder

    values: dict[str, Any] = files.read_json(config) if config else {}
    if not isinstance(values, dict):
        raise InvalidInput(f"{config}: expected a JSON object of settings, received {type(values).__name__}.")
    user_dataset = _load_images(images, dataset, str(values.get("dataset", "")).partition("/")[0])
    dataset_name = dataset or (user_dataset.name if user_dataset and "dataset" not in values else None)
    text_options = {"dataset": dataset_name, "objective": objective or None, "split": split or None}
    options: dict[str, Any] = {**text_options, "steps": steps, "seed": seed}
    given_options = {key: value for key, value in options.items() if value is not None}
    _change_values(values, given_options)
    for key in ("dataset", "objective"):
        if key not in values:
            raise InvalidInput(f"A run needs --{key} NAME{' or --images FOLDER' * (key == 'dataset')}.")
    run_config = RunConfig.from_json(_with_settings(values, set_ or [], given_options))
    folder = to or default_folder(run_config)
    _train(run_config, folder, Options(not no_encode, device, threads), user_dataset, images)


@app.command()
def resume(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="Train on to this many steps in total.")] = None,
    no_encode: NoEncode = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Continue an interrupted run exactly where it was; with --steps, also a finished one."""
    from baselines.run_folder import read_config
    from baselines.training import claims

    config = read_config(run) if steps is None else claims.lengthened_config(run, steps)
    _train(config, run, Options(not no_encode, device, threads), lengthen=steps is not None)


@app.command()
def transfer(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run: the source.")],
    dataset: Annotated[str, dataset_option(help="The target; its images need the source's size and channels.")] = "",
    images: Images = None,
    split: Split = "",
    decoder: Annotated[
        int, typer.Option(metavar="N", help="Layers of the decoder to train, counted from the latents.")
    ] = 1,
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="Steps. Default: the source's.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed. Default: the source's.")] = None,
    set_: Set = None,
    to: RunFolder = None,
    no_encode: NoEncode = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Train parts of a run anew on another dataset, and freeze the rest (arXiv 2304.10767)."""
    from baselines.config import RunConfig
    from baselines.training import finetune

    user_dataset = _load_images(images, dataset)
    target = user_dataset.name if user_dataset else dataset
    if not target:
        raise InvalidInput("A transfer needs --dataset NAME or --images FOLDER.")
    keys: dict[str, Any] = {"split": split or None, "steps": steps, "seed": seed}
    given_options = {key: value for key, value in keys.items() if value is not None}
    values = finetune.config(source, target, decoder=decoder, **given_options).as_json()
    run_config = RunConfig.from_json(_with_settings(values, set_ or [], {"dataset", *given_options}))
    # The digest distinguishes sources of one name with other weights.
    name = f"heads_{decoder}_inside_{source.name}_seed_{run_config.seed}_{run_config.digest[:8]}"
    folder = to or Path("runs") / run_config.dataset / "transfer" / name
    _train(run_config, folder, Options(encode=not no_encode, device=device, threads=threads), user_dataset, images)


def _load_images(images: Path | None, dataset: str, default_name: str = "") -> Dataset | None:
    """Return the user's images if their folder is given, named after the dataset or ``default_name``."""
    import benchmark_data

    if images is not None:
        return benchmark_data.from_folder(images, dataset or default_name)
    if dataset.partition("/")[0] not in benchmark_data.names() and dataset and Path(dataset).is_dir():
        raise InvalidInput(
            f"--dataset: expected the name of a dataset, received the folder {dataset}. "
            f"To train on the pictures in it, use --images {shlex.quote(dataset)}."
        )
    return None


def _train(
    config: RunConfig,
    folder: Path,
    options: Options,
    given_dataset: Dataset | None = None,
    image_folder: Path | None = None,
    *,
    lengthen: bool = False,
) -> None:
    """Print the device, train or continue a run, write its codes, and print its folder.

    The user's images, ``given_dataset``, are those of ``image_folder``; without them, a continued run uses the images
    recorded in its folder. To ``lengthen`` a run removes the files derived from it, after all checks have passed.
    """
    from baselines.engines import devices
    from baselines.record import own_images, read_record
    from baselines.run_folder import has_codes, is_trained
    from baselines.training import claims, stopping
    from baselines.training.batches import training_rows
    from baselines.training.loop import Stopped, train
    from benchmark_data.variants import splitting

    if options.threads is None:  # a different number would round differently
        options = options._replace(threads=read_record(folder).get("computed", {}).get("threads"))
    options.choose_device()
    console.tell(f"device: {devices.device_summary()}")
    for sentence in devices.advice(options.device, config.precision):
        console.warn(sentence)
    dataset = own_images(folder, config) if given_dataset is None else splitting.resolve(given_dataset, config.dataset)
    if dataset is not None and image_folder is not None:
        _claim_folder(config, folder, dataset, image_folder)
    if dataset is not None:
        count = len(training_rows(dataset, config.train_share, config.split))
        rules = f"split {config.split}, train_share" if config.split else "train_share"
        rest = "held out" if config.build_objective().n_views == 1 else "at most as second images of pairs"
        console.tell(f"images: {len(dataset):,} of {dataset.id}, {count:,} trained on, the rest {rest} ({rules})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", devices.SlowDevice)  # said above
        if lengthen:
            claims.lengthen(folder, config.steps, dataset)
        was_trained = is_trained(folder, config)
        is_encoded = was_trained and has_codes(folder)  # a finished run does not change
        if was_trained:
            console.tell(f"already finished, at step {config.steps:,}: nothing to train")
        try:
            trained_run = train(config, folder, dataset=dataset)
        except Stopped as stopped:
            command = stopping.command("resume", str(folder), *options.words())
            raise console.interruption(f"{stopped.where} To continue: {command}") from stopped
    try:
        if options.encode and not is_encoded:
            trained_run.encode_task()
        tell_explained(trained_run)
    except KeyboardInterrupt as interrupt:
        command = stopping.command("resume", str(folder), *options.words())
        raise console.interruption(f"stopped after training had finished. To continue: {command}") from interrupt
    console.say(folder)


def _claim_folder(config: RunConfig, folder: Path, user_dataset: Dataset, image_folder: Path) -> None:
    """Claim a folder for a run on the user's images, and record their folder in it, so that ``resume`` finds them."""
    from baselines.record import check_pixels, digests_of
    from baselines.training import claims, finetune, loop

    config = finetune.resolve_source(config, folder, user_dataset)
    if not claims.holds_run(folder, config):
        loop.check([config], user_dataset)
    with claims.lock_folder(folder):
        claims.claim(folder, config)
        if (folder / "run.json").exists():  # otherwise nothing to compare, and training reads all images anyway
            check_pixels(folder, digests_of(user_dataset))
        files.write_json(folder / "images.json", {"folder": str(files.user_path(image_folder).resolve())})


def tell_explained(run: Run) -> None:
    """Print the share of variance that reconstructions explain, and warn if it is low."""
    from baselines.objectives import Objective

    share = run.explained() if run.model.decoder else math.nan
    if math.isnan(share):
        return
    console.tell(f"reconstructions explain {max(share, 0.0):.0%} of the pixels' variance")
    if share < LOW_EXPLAINED_SHARE and run.model.objective.reconstructs:
        beta_hint = ", a lower beta" * hasattr(run.model.objective, "beta")
        only_term = type(run.model.objective).terms is Objective.terms  # a weight of the only term has no effect
        weight_hint = "" if only_term else f", or --set reconstruction_weight={4 * run.config.reconstruction_weight:g}"
        console.warn(
            "the decoder draws little more than the mean image: the codes hold little information about the images. "
            f"More steps{beta_hint}{weight_hint} may help."
        )


@app.command()
def sweep(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A sweep, such as smoke: see offaxis train list.")],
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="Default: runs/NAME.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only runs with this setting, such as beta=4. Repeatable: values of one key are alternatives, "
            "conditions on different keys must all hold.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="Steps of each. Default: the sweep's.")] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Worker processes. Default: one per core. Use 1 on a GPU.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1024, help="Threads of each worker. Default: cores / jobs.")
    ] = None,
    together: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs that a worker trains at once; use 25 with jax on a GPU.")
    ] = 1,
    ray: Ray = None,
    gpus: Annotated[float, typer.Option(metavar="N", help="GPUs of each Ray task, such as 0.25.")] = 0.0,
    no_encode: NoEncode = False,
    device: Device = "auto",
) -> None:
    """Train the runs of a sweep: finished ones are skipped, interrupted ones continue. Exit status 1 if any failed."""
    from baselines.training import stopping, sweep

    configs = sweep.select(sweep.find(name), only or [])
    if steps is not None:
        configs = tuple(config.with_steps(steps) for config in configs)
    folder = to or Path("runs") / name
    options: dict[str, Any] = {"jobs": jobs, "threads": threads, "together": together, "ray": ray, "gpus": gpus}
    try:
        states = sweep.run(configs, folder, encode=not no_encode, device=device, **options)
    except KeyboardInterrupt as stop:
        raise console.interruption(
            f"stopped{', with snapshots' * (not ray)}. To continue: {stopping.rerun_command()}"
        ) from stop
    failed = [state for state in states if state.state == "failed"]
    for state in failed:
        console.tell(f"{state.run}: {state.error}", style="red")
    done = sum(state.state == "done" for state in states)
    console.say(f"{done} of {len(states)} runs are done, {len(failed)} failed")
    console.say(folder / "index.csv")
    if done < len(states):
        raise typer.Exit(1)


app.command()(outputs.encode)
app.command()(outputs.export)


@app.command()
def draw(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    row: Annotated[int, typer.Option(metavar="N", help="The row of the dataset to traverse from.")] = 0,
) -> None:
    """Draw runs into their folders: latent traversals (PNG, GIF), reconstructions, losses."""
    from baselines.outputs import pictures
    from baselines.run import Run

    for opened in [Run.open(run) for run in runs]:
        if opened.step < opened.config.steps:
            console.tell(f"{opened.folder}: not finished, drawn at step {opened.step:,} of {opened.config.steps:,}")
        for path in pictures.draw_all(opened, row=row):
            console.say(path)
        tell_explained(opened)


app.command("list")(outputs.list_)


def _change_values(values: dict[str, Any], changes: dict[str, Any]) -> None:
    """Change keys of a config; another objective or architecture starts with its own defaults."""
    for name, group in (("objective", "hyperparameters"), ("architecture", "architecture_parameters")):
        previous = values.get(name)
        if previous is not None and changes.get(name, previous) != previous and values.pop(group, None):
            console.tell(f"{name}: {changes[name]} replaces {previous} and starts with its own defaults")
    values |= changes


def _with_settings(values: dict[str, Any], settings: list[str], option_names: Collection[str]) -> dict[str, Any]:
    """Assign every setting to the keys of the objective, the architecture or the config.

    A key in ``option_names``, which was set by its own option, cannot be set again.
    """
    from baselines import objectives, validation
    from baselines.config import RunConfig
    from baselines.nets import architectures

    pairs: dict[str, Any] = {}
    for key, value in (validation.setting("--set", text) for text in settings):
        if key in pairs:
            raise InvalidInput(f"--set {key}: expected one value, received {pairs[key]} and {value}.")
        pairs[key] = value
    for key in pairs.keys() & option_names:
        raise InvalidInput(f"--{key} and --set {key}={pairs[key]}: use only one of them.")
    config_keys = {f.name for f in dataclasses.fields(RunConfig)}
    _change_values(values, {key: value for key, value in pairs.items() if key in config_keys})
    architecture = validation.typed("architecture", values.get("architecture", "conv"), str)
    groups = {
        "hyperparameters": {f.name for f in dataclasses.fields(objectives.find(values["objective"]))},
        "architecture_parameters": set(architectures.parameters(architecture, {})),
    }
    for key, value in pairs.items():
        if key in config_keys:
            continue
        group = next((name for name, keys in groups.items() if key in keys), None)
        if group is None:
            kind = f"--set key for {values['objective']} and {architecture}"
            raise UnknownName(kind, key, config_keys.union(*groups.values()))
        parameters = values.get(group, {})
        if not isinstance(parameters, dict):
            raise InvalidInput(f"{group}: expected an object of keys and values, received {parameters!r}.")
        values[group] = {**parameters, key: value}
    return values
