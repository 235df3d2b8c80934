"""The demo: one β-TCVAE with one budget, on XYSquares with positions 1 and 8 pixels apart (``make demo``).

The two datasets have the same factors and the same number of images. At spacing 1 the squares overlap, pixel
distance follows factor distance, and the VAE finds the factors; at spacing 8 every move changes the same number of
pixels, and it does not. After Michlo, Klein and James 2023 (arXiv 2202.13341), sections 5.3 and 5.4.

All files are kept in the demo's folder: an interrupted demo continues with the runs that are left.

Internal.
"""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import rich.markup
import rich.progress
import typer

import benchmark_data
from baselines import untrained
from baselines.config import RunConfig
from baselines.outputs import pictures
from baselines.run import Run
from baselines.training import sweep
from baselines.training.progress import display
from benchmark_data import console
from benchmark_data.errors import InvalidInput
from leaderboard import protocol
from leaderboard.report import formats, media
from leaderboard.report.site import build
from leaderboard.scoring import candidates
from leaderboard.store import results, results_tree

DATASETS = ("xysquares/spacing_1", "xysquares/spacing_8")
SEEDS = (0, 1, 2, 3, 4)
UNTRAINED = ("ground_truth", "pca", "random_encoder")

SETTINGS: dict[str, Any] = {
    "objective": "beta_tc_vae",
    "hyperparameters": {"beta": 8.0},
    "architecture": "fc",
    "architecture_parameters": {"width": 64},
    "latents": 6,
    "reconstruction": "mse",
    "reconstruction_weight": 4.0,
    "batch_size": 64,
    "learning_rate": 2e-3,
    "snapshots": (),
    "selection": "MIG at spacing 1, on seeds from 100 on",
}
"""Settings of all runs: as many latents as factors, and batches large enough to estimate the total correlation.

With 16 images per batch instead of 64, some seeds disentangle nothing. With a reconstruction weight of 1, the posterior
collapses at spacing 8, and the model draws only the mean image."""

STEPS = 1_500

WORKERS = 4
"""The maximum number of runs trained in parallel, each in a process of up to 1 GB."""

COMPARED = 1_000
"""The number of images on which reconstructions are evaluated."""

app = console.command_line("See a VAE fail on XYSquares.")


@app.command()
def main(
    to: Annotated[Path, typer.Option(help="Folder for all results.")] = Path("demo"),
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each run.")] = STEPS,
    show: Annotated[
        bool,
        typer.Option("--open/--no-open", help="Show the board in a browser at the end, if there is a screen."),
    ] = True,
) -> None:
    """Train five seeds of a small VAE on each of two datasets, score them, and show them on a board."""
    page = demo(to, steps=steps)
    if show and has_screen():
        webbrowser.open(page.resolve().as_uri())


def has_screen(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a browser can be shown: in a terminal on a desktop, but not over SSH.

    Args:
        environment: the environment variables.
    """
    desktop = sys.platform in ("darwin", "win32") or any(map(environment.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(desktop) and sys.stdout.isatty() and "SSH_CONNECTION" not in environment


def demo(folder: Path, *, steps: int = STEPS) -> Path:
    """Run the demo.

    Args:
        folder: the folder for runs, results and the board.
        steps: training steps of each run.

    Returns:
        The board's page.

    Raises:
        InvalidInput: the folder cannot be written, another demo is using it, or a run failed.
    """
    start = time.perf_counter()
    console.err.rule("Ten small VAEs with one model and budget: on squares that overlap, and on squares that do not")
    with display() as progress:
        runs = trained(folder / "runs", steps, progress)
        task = progress.add_task("score", total=None, rate="", loss="")
        folders = [run.folder for dataset_runs in runs.values() for run in dataset_runs]
        for dataset in DATASETS:
            for name in UNTRAINED:
                progress.update(task, description=f"{name} on {dataset}")
                folders.append(untrained.write(name, benchmark_data.load(dataset), folder / "runs" / dataset / name))

        progress.update(task, description="scores")
        groups = candidates.grouped(map(candidates.load, folders), "desk", status="reproduced")
        scored = [candidates.score_group(group)[0] for group in groups]
        for file in results_tree.write(folder / "results", scored, replace=True):
            media.write_pictures(results_tree.read(file).dataset, file.parent)
        for dataset, dataset_runs in runs.items():
            progress.update(task, description=f"pictures of {dataset}")
            pictures.draw_all(dataset_runs[0])
        shares = {dataset: [explained_share(run) for run in dataset_runs] for dataset, dataset_runs in runs.items()}
        progress.update(task, description="the board")
        page = build.build(folder / "results", folder / "site")
        progress.update(task, description="done")
    console.out.print(formats.terminal(scored))
    console.out.print(closing(scored, shares, page, time.perf_counter() - start), highlight=False, soft_wrap=True)
    return page


def configs(dataset: str, steps: int = STEPS, seeds: Sequence[int] = SEEDS) -> list[RunConfig]:
    """Return the demo's runs on a dataset, one for each seed."""
    return [RunConfig(dataset=dataset, seed=seed, steps=steps, **SETTINGS) for seed in seeds]


def trained(folder: Path, steps: int, progress: rich.progress.Progress) -> dict[str, list[Run]]:
    """Train the runs that are not trained yet, one per core at a time.

    Args:
        folder: the folder of the runs.
        steps: training steps of each run.
        progress: the progress display.

    Returns:
        Dataset -> its runs, ordered by seed.

    Raises:
        InvalidInput: a run failed, the folder cannot be written, or another demo is using it.
    """
    import joblib

    plan = {dataset: configs(dataset, steps) for dataset in DATASETS}
    ordered_configs = [config for group in zip(*plan.values(), strict=True) for config in group]
    for state in sweep.run(ordered_configs, folder, jobs=min(joblib.cpu_count(), WORKERS), progress=progress):
        if state.state != "done":
            raise InvalidInput(
                f"{folder / state.run}: expected a finished run, received {state.error or 'a stopped one'}. Run "
                "the demo again: it continues where it stopped."
            )
    return {dataset: [Run.open(folder / sweep.run_path(config)) for config in group] for dataset, group in plan.items()}


def explained_share(run: Run) -> float:
    """Return the share of the pixels' variance that a run's reconstructions explain: 1 - residual / variance.

    Args:
        run: a run; the first test images of its task are used, most of which it was trained on.

    Returns:
        At most 1; 0 if every reconstruction is the mean image.
    """
    return run.explained(run.dataset.images(protocol.task(run.dataset.id).test[:COMPARED]))


def closing(scored: Sequence[results.Result], shares: Mapping[str, Sequence[float]], page: Path, seconds: float) -> str:
    """Format the demo's summary: its results, what to try next, and the path of the board.

    Args:
        scored: the results.
        shares: dataset -> the explained share of each seed.
        page: the board's page.
        seconds: the duration of the demo.

    Returns:
        Text with rich's markup.
    """
    mig = {
        result.task.partition("@")[0]: [run.scores["mig"] for run in result.runs]
        for result in scored
        if result.method == SETTINGS["objective"]
    }
    (near, far), (drawn_near, drawn_far) = (
        [between(values[dataset], form) for dataset in DATASETS] for values, form in ((mig, ".3f"), (shares, "z.0%"))
    )
    return f"""
MIG of the β-TCVAE, {len(SEEDS)} seeds:
  [bold]{near}[/bold] where the squares overlap (spacing 1)
  [bold]{far}[/bold] where they do not (spacing 8)
On the board, ground-truth factors show the ceiling, PCA and a random encoder the baseline.
Reconstructions explain {drawn_near} and {drawn_far} of the pixel variance.
It took {seconds:.0f} s.

[bold]Try next[/bold] (the commands are in {rich.markup.escape(os.path.dirname(sys.executable))}):
  look at a dataset
    offaxis data show xysquares/spacing_8 --to sheet.png
  measure how closely pixel distance follows the factors
    offaxis data audit xysquares/spacing_8
  train something else
    offaxis train run --dataset dsprites --objective beta_vae --steps 2000
  list objectives, architectures, losses
    offaxis train list

[bold]The board:[/bold] {page.resolve().as_uri()}"""


def between(values: Sequence[float], form: str) -> str:
    """Format the lowest and the highest of some values.

    Example:
        >>> between([0.25, 0.5, 0.13], ".2f"), between([-0.001, 0.002], "z.0%")
        ('0.13 to 0.50', '0%')
    """
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


if __name__ == "__main__":
    console.run(app)
