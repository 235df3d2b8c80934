"""The demo: one β-VAE, one budget, on XYSquares with places 1 px and 8 px apart. ``make demo`` runs it.

The two datasets have the same factors and the same number of images. With a spacing of 1 the squares overlap, distance
in pixels follows distance in the factors, and the VAE finds something of them; with a spacing of 8 every move costs the
same, and it does not. After Michlo, Klein and James 2023 (arXiv 2202.13341), sections 5.3 and 5.4.

Everything is kept in the folder that is given: what a killed demo has trained is not trained again.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import benchmark_data
from baselines import presets, references
from baselines.config import RunConfig
from baselines.outputs import pictures
from baselines.run import Run
from baselines.training.loop import columns, train
from benchmark_data import console
from leaderboard import protocol
from leaderboard.comparisons import heatmap
from leaderboard.reading import representations
from leaderboard.report import formats, media
from leaderboard.report.site import build
from leaderboard.scoring import evaluate
from leaderboard.store import results

DATASETS = ("xysquares/spacing_1", "xysquares/spacing_8")
SEEDS = (0, 1)
REFERENCES = ("ground_truth", "pca", "random_encoder")

SETTINGS = {**presets.SETTINGS, "objective": "beta_vae", "hyperparameters": {"beta": presets.BETA}, "snapshots": ()}
"""Of all runs."""

STEPS = 2_500

COMPARED = 1_000
"""Images that layers are compared on."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, score, draw, and write the board.

    Args:
        arguments: the command line; that of the process if None.
    """
    parser = argparse.ArgumentParser(prog="python -m baselines.demo", description="See a VAE fail on XYSquares.")
    parser.add_argument("--into", type=Path, default=Path("demo"), help="where everything goes (default: demo)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"training steps of each run (default: {STEPS})")
    options = parser.parse_args(arguments)
    demo(options.into, steps=options.steps)


def demo(folder: Path, *, steps: int = STEPS) -> Path:
    """Run the demo.

    Args:
        folder: where runs, results and the board go.
        steps: training steps of each of the four runs.

    Returns:
        The board's page.

    Raises:
        InvalidInput: the folder cannot be written, or holds a demo of another budget.
    """
    start = time.perf_counter()
    console.err.rule("Four small VAEs: the same model and budget, squares that overlap or do not")
    with console.progress(*columns()) as progress:
        runs = {
            dataset: [
                train(
                    RunConfig(dataset=dataset, seed=seed, steps=steps, **SETTINGS),
                    folder / "runs" / dataset / f"beta_vae_{seed}",
                    progress=progress,
                )
                for seed in SEEDS
            ]
            for dataset in DATASETS
        }
        work = progress.add_task("encode", total=None, rate="", loss="")
        folders = [encoded(run) for trained in runs.values() for run in trained]
        for dataset in DATASETS:
            for name in REFERENCES:
                progress.update(work, description=f"{name} on {dataset}")
                folders.append(references.write(name, benchmark_data.load(dataset), folder / "runs" / dataset / name))

        def told(what: str, done: int, total: int) -> None:
            progress.update(work, description=what, completed=done, total=total)

        scored = list(evaluate.evaluate(folders, tier="smoke", status="reproduced", progress=told))
        for file in results.write(folder / "results", scored, replace=True):
            media.of_dataset(results.read(file).dataset, file.parent)
        for dataset, trained in runs.items():
            progress.update(work, description=f"pictures of {dataset}")
            draw(trained, results.path(folder / "results", protocol.task(dataset).id, "beta_vae"))
        progress.update(work, description="the board")
        page = build.build(folder / "results", folder / "site")
        progress.update(work, description="done")
    console.out.print(formats.terminal(scored))
    console.out.print(closing(scored, page, time.perf_counter() - start), highlight=False)
    return page


def encoded(run: Run) -> Path:
    """Write a run's codes and give its folder."""
    run.encode_task()
    return run.folder


def draw(runs: Sequence[Run], result: Path) -> None:
    """Draw latent traversals of the first seed, and the CKA of the first seed's layers with those of the second.

    Args:
        runs: two seeds of one method on one dataset.
        result: the method's result file; the pictures go beside it, where the board finds them.
    """
    for run in runs:
        pictures.draw_all(run)
    for what in ("traversals.gif", "traversals.png", "reconstructions.png"):
        shutil.copy(runs[0].folder / what, result.with_name(f"{result.stem}.{what}"))
    rows = protocol.task(runs[0].dataset.id).test[:COMPARED]
    layers = [representations.activations(run.write_activations(rows)) for run in runs]
    table = heatmap.compare_layers(*layers)
    table.to_csv(result.with_name(f"{result.stem}.cka.csv"))
    x, y = (f"seed {run.config.seed}" for run in runs)
    heatmap.draw(table, result.with_name(f"{result.stem}.cka.png"), x_name=x, y_name=y, title=runs[0].dataset.id)


def closing(scored: Sequence[results.Result], page: Path, seconds: float) -> str:
    """Say what was seen, where the board is, and what to try next.

    Args:
        scored: the results.
        page: the board's page.
        seconds: what the demo took.

    Returns:
        A text with rich's markup.
    """
    mig = {
        result.task.partition("@")[0]: np.mean([run.scores["mig"] for run in result.runs])
        for result in scored
        if result.method == "beta_vae"
    }
    near, far = (mig[dataset] for dataset in DATASETS)
    return f"""
The β-VAE's MIG is [bold]{near:.3f}[/bold] where the squares overlap (spacing 1) and [bold]{far:.3f}[/bold]
where they do not (spacing 8). Ground-truth factors show the ceiling, PCA and a random encoder the floor.
It took {seconds:.0f} s.

[bold]The board:[/bold] {page.resolve().as_uri()}

[bold]Try next:[/bold]
  offaxis-data sheet xysquares/spacing_8 --out sheet.png        look at a dataset
  offaxis-data distances xysquares/spacing_4                    what a VAE perceives of each factor
  offaxis-train run --dataset sprites2d --objective beta_vae    train something else
  offaxis-train list                                            objectives, architectures, losses
(The commands are in .venv/bin.)"""


if __name__ == "__main__":
    main()
