"""``offaxis board similarity`` and ``analyse``: representations compared, and the papers' analyses of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from benchmark_data import console, files
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import say
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, needs
from leaderboard.commands.tables import show, write

if TYPE_CHECKING:
    from benchmark_data.dataset import Dataset


def similarity(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="X... Y...",
            help="Run folders with activations.npz, or files of named arrays, of the same images: the seeds of one "
            "model, then those of another in the same order.",
        ),
    ],
    to: Annotated[Path, typer.Option(metavar="FILE", help="The picture, .png; numbers go to .csv and .parquet.")],
    measure: Annotated[
        Literal["cka", "cka_debiased", "procrustes", "smaller"],
        typer.Option(help="smaller: of cka and procrustes, for each pair of layers."),
    ] = "cka",
) -> None:
    """Compare every layer of one model with every layer of another, averaged over seeds."""
    from leaderboard.comparisons import heatmap
    from leaderboard.reading import representations

    if len(runs) % 2:
        raise InvalidInput(f"Give as many files of one model as of the other, not {len(runs)} in all.")
    files.check_ending("--to", to, ".png")
    half = len(runs) // 2
    sides = runs[:half], runs[half:]
    for pair in zip(*sides, strict=True):
        representations.check_same_rows(pair)
    pairs = ((representations.activations(x), representations.activations(y)) for x, y in zip(*sides, strict=True))
    with console.err.status("comparing"):
        table = heatmap.compare_runs(pairs, similarity=measure)
    x, y = (side[0].stem if half == 1 else f"{side[0].parent.name}, mean of {half} runs" for side in sides)
    heatmap.draw(table, to, x_name=x, y_name=y)
    for suffix in (".csv", ".parquet"):
        heatmap.write(table, to.with_suffix(suffix))
    for suffix in (".png", ".csv", ".parquet"):
        say(to.with_suffix(suffix))


def latents(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Active, mixed and passive latents of runs, against --by."""
    import pandas as pd

    from leaderboard.analyses import latents as analysis
    from leaderboard.reading import representations

    rows, units = [], []
    for run in paths:
        posterior = representations.posterior(run)
        facts = _facts(run, by)
        summary = analysis.summarise(
            posterior.mean, posterior.variance, sampled=posterior.sampled, inputs=posterior.inputs, seed=facts["seed"]
        )
        rows.append(facts | summary._asdict())
        units.append(analysis.measure(posterior.mean, posterior.variance).assign(**facts))
    table = pd.DataFrame(rows)
    analysis.draw(table, to)
    show(table.drop(columns=["run", "method", "used", "cka_input_mean"]))
    write(pd.concat(units, ignore_index=True), to.with_suffix(".units.csv"))
    write(table, to.with_suffix(".csv"))


def metric_agreement(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Rank correlations of metrics over a results tree."""
    from leaderboard.analyses import metric_agreement as analysis
    from leaderboard.store import results_tree

    if len(paths) != 1:
        raise InvalidInput(f"metric-agreement takes one results tree, not {len(paths)} paths.")
    found = analysis.over_tasks(results_tree.read_all(paths[0]))
    if found is None:
        raise InvalidInput(
            f"{paths[0]} needs a task with {analysis.LEAST} trained runs or more, which have two scores in common."
        )
    table = found.table()
    analysis.draw(table, to)
    show(table)
    write(table, to.with_suffix(".csv"))


def transfer(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Labels of --dataset predicted from codes, each NAME=PATH."""
    import numpy as np
    import pandas as pd

    from leaderboard.analyses import transfer_accuracy as analysis
    from leaderboard.reading import representations

    target = _required(dataset)
    read: list[tuple[str, representations.LabelledCodes]] = []
    for given in map(str, paths):
        name, _, path = given.rpartition("=")
        found = representations.codes(path, dataset=dataset)
        if read and not np.array_equal(np.asarray(found.indices), np.asarray(read[0][1].indices)):
            raise InvalidInput(f"{path} holds codes of other rows than {paths[0]}. Encode the same rows, in one order.")
        read.append((name or Path(path).stem, found))
    if not read:
        raise InvalidInput("transfer takes codes of the target's images, such as solids=codes.npz.")
    first = read[0][1]
    held_out = analysis.held_out(np.asarray(first.indices), len(target))
    tables = []
    for i, (name, found) in enumerate(read):
        with console.err.status(f"classifiers of {name}"):
            measured = analysis.measure(
                {name: found.codes}, np.asarray(first.factors), first.names, test=held_out, constant_labels="drop"
            )
        tables.append(measured.assign(target=dataset, seed=[other for other, _ in read[:i]].count(name)))
    parts = [part[part["source"] != analysis.MAJORITY] for part in tables]
    table = pd.concat([*parts, tables[0][tables[0]["source"] == analysis.MAJORITY]], ignore_index=True)
    analysis.draw(table, to)
    averages = analysis.averages(table)
    show(averages)
    for fitted in analysis.CLASSIFIERS:
        by_label = analysis.by_label(table, classifier=fitted).rename_axis("source").reset_index()
        show(by_label, f"test accuracy, {fitted}")
    write(averages, to.with_suffix(".averages.csv"))
    write(table, to.with_suffix(".csv"))


def udr(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Unsupervised ranking of runs of one method; --to FILE.csv."""
    import numpy as np
    import pandas as pd

    from leaderboard.analyses import latents as posteriors
    from leaderboard.comparisons import udr as analysis
    from leaderboard.reading import representations

    found = [representations.bare_codes(run) for run in paths]
    for run, (_, rows) in zip(paths, found, strict=True):
        if (rows is None) != (found[0][1] is None) or not np.array_equal(rows, found[0][1]):  # type: ignore[arg-type]
            raise InvalidInput(f"{run} holds codes of other rows than {paths[0]}. Encode the same rows, in one order.")
    kl = None
    if all((run / "activations.npz").is_file() for run in paths):  # latents that are shut down are left out
        each = map(representations.posterior, paths)
        kl = [posteriors.measure(posterior.mean, posterior.variance)["kl"].to_numpy() for posterior in each]
    scores = analysis.score([codes for codes, _ in found], kl=kl)
    table = pd.DataFrame({"run": [str(run) for run in paths], "udr": scores}).sort_values("udr", ascending=False)
    show(table)
    write(table, to)


ANALYSES: dict[str, Callable[[Sequence[Path], Path, str, str], None]] = {
    "latents": latents,
    "metric-agreement": metric_agreement,
    "transfer": transfer,
    "udr": udr,
}
TABLES = ("udr",)
"""Those that write a table and no picture."""

HELP = "Analyse representations or results as the papers do.\n\n" + "\n\n".join(
    f"{name}: {analysis.__doc__}" for name, analysis in ANALYSES.items()
)


def analyse(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The analysis.", autocompletion=lambda: list(ANALYSES))],
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Run folders, files of arrays, or a results tree.")
    ] = None,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The picture, .png; its numbers go to .csv.")] = ...,  # type: ignore[assignment]
    by: Annotated[str, typer.Option(metavar="KEY", help="The hyperparameter that groups runs, such as beta.")] = "",
    dataset: Annotated[str, typer.Option(help="A dataset, where one is needed.", autocompletion=names_like)] = "",
) -> None:
    """Call an analysis by its name."""
    if name not in ANALYSES:
        raise UnknownName("analysis", name, ANALYSES)
    needs("this command", "metrics", "pandas")
    files.check_ending("--to", to, ".csv" if name in TABLES else ".png")
    ANALYSES[name](paths or [], to, by, dataset)
    if name not in TABLES:
        say(to)


def _required(dataset: str) -> Dataset:
    """Load the dataset that an analysis needs."""
    import benchmark_data

    if not dataset:
        raise InvalidInput("This analysis needs a dataset. Add --dataset NAME.")
    return benchmark_data.load(dataset)


def _facts(run: Path, by: str) -> dict[str, Any]:
    """Return what ``run.json`` records of a run, for other files their name."""
    record = files.read_json(run / "run.json") if (run / "run.json").is_file() else {}
    settings = record.get("hyperparameters", {}) if isinstance(record, dict) else None
    if not isinstance(settings, dict):
        raise DamagedFile(f"{run / 'run.json'} is not the record of a run.")
    if by and by not in settings:
        raise UnknownName(f"hyperparameter of {run}", by, settings)
    strength = settings[by] if by else run.stem
    return {
        "run": str(run),
        "method": str(record.get("method", "")),
        "seed": int(record.get("seed", 0)),
        "strength": strength if isinstance(strength, (int, float, str)) else json.dumps(strength),
    }
