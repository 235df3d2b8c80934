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
    backend: Annotated[Literal["numpy", "jax"], typer.Option(help="jax uses a GPU if there is one.")] = "numpy",
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
        table = heatmap.compare_runs(pairs, similarity=measure, backend=backend)
    x, y = (side[0].stem if half == 1 else f"{side[0].parent.name}, mean of {half} runs" for side in sides)
    heatmap.draw(table, to, x_name=x, y_name=y)
    for suffix in (".csv", ".parquet"):
        heatmap.write(table, to.with_suffix(suffix))
    for suffix in (".png", ".csv", ".parquet"):
        say(to.with_suffix(suffix))


def sample_size(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Samples that CKA and Procrustes need, for layers X and Y."""
    from leaderboard.analyses import sample_size as analysis
    from leaderboard.reading import representations

    if len(paths) not in (0, 2):
        raise InvalidInput(f"sample-size takes two files or none, not {len(paths)}.")
    if paths:
        representations.check_same_rows(paths)
        x, y = (representations.activations(file, ["mean"])["mean"] for file in paths)
        table = analysis.measure(x, y)
    else:
        table = analysis.measure_shared()
    analysis.draw(table, to)
    keys = [key for key in ("share", "metric") if key in table]
    show(table.pivot_table(index=keys, columns="samples", values="similarity").reset_index())
    write(table, to.with_suffix(".csv"))


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


def layers(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """CKA of each encoder layer with the input, against --by."""
    import pandas as pd

    from leaderboard.analyses import layers_against_input as analysis
    from leaderboard.reading import representations

    tables = []
    for run in paths:
        found = representations.activations(run)
        if "input" not in found:
            raise UnknownName(f"layer of {run}", "input", found)
        chosen = {name: array for name, array in found.items() if name.startswith("encoder")}
        if not chosen:
            raise UnknownName(f"beginning of a layer of {run}", "encoder", found)
        facts = _facts(run, by)
        measured = analysis.measure(chosen, found["input"], similarities=("CKA",))
        tables.append(measured.assign(**facts, group=f"{by} = {facts['strength']}" if by else ""))
    table = pd.concat(tables, ignore_index=True)
    analysis.draw(table, to)
    show(table.pivot_table(index=["group", "layer"], columns="metric", values="similarity", sort=False).reset_index())
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


def perceived(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Distances that the levels of a VAE keep of --dataset."""
    import numpy as np

    from leaderboard.analyses import perceived as analysis
    from leaderboard.reading import representations

    data = _required(dataset)
    if not paths:
        table = analysis.measure_rows(data, analysis.traversal_rows(data))
    else:
        path = paths[0] / "activations.npz" if paths[0].is_dir() else paths[0]
        found = representations.arrays(path)
        if "indices" not in found:
            raise UnknownName(f"array of {path}", "indices", found)
        levels: dict[str, Any] = {name: found[name] for name in ("mean", "variance") if name in found}
        if "log_variance" in found:
            levels["variance"] = np.exp(found["log_variance"])
        table = analysis.measure_rows(data, found["indices"], **levels)
    analysis.draw(table, to)
    agreement = analysis.agreement(table)
    show(agreement)
    write(agreement, to.with_suffix(".agreement.csv"))
    write(table, to.with_suffix(".csv"))


def expansiveness(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Variance that leads as a perturbation of --dataset grows."""
    import pandas as pd

    import benchmark_data
    from leaderboard.analyses import expansiveness as analysis
    from leaderboard.reading import representations

    with console.err.status("measuring"):
        tables = [analysis.measure_hidden(_required(dataset))]
        for run in paths:
            trained_on = benchmark_data.load(representations.dataset_of(run))
            posterior = representations.posterior(run)
            indices = representations.arrays(run / "activations.npz", ["indices"])["indices"]
            measured = analysis.measure_run(trained_on, indices, posterior.mean, posterior.variance)
            tables.append(measured.assign(seed=_facts(run, "")["seed"]))
    table = pd.concat(tables, ignore_index=True)
    analysis.draw(table, to)
    for quantity, part in table[table["quantity"] != "level"].groupby("quantity", sort=False):
        wide = part.pivot_table(index="epsilon", columns="factor", values="value", sort=False)
        show(wide.reset_index(), analysis.QUANTITIES[str(quantity)])
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


def difficulty(paths: Sequence[Path], to: Path, by: str, dataset: str) -> None:
    """Datasets of a results tree, hardest first; --to FILE.csv."""
    from leaderboard.report import families, hardness, ranking
    from leaderboard.store import giveaways, results_tree

    if len(paths) != 1:
        raise InvalidInput(f"difficulty takes one results tree, not {len(paths)} paths.")
    boards = ranking.tables(results_tree.read_all(paths[0]))
    here = filter(None, (families.dataset(name) for name in sorted({board.dataset for board in boards})))
    for data in giveaways.unknown(paths[0], (each for each in here if each.prepared)):
        with console.err.status(f"auditing {data.id}"):
            giveaways.write(paths[0], [giveaways.audited(data)])
    known = giveaways.read(paths[0])
    tiers = sorted({board.tier for board in boards}, key=ranking.tier_order)
    each = (hardness.hardness([board for board in boards if board.tier == name], known) for name in tiers)
    found = next(filter(None, each), None)
    if found is None:
        raise InvalidInput(f"{paths[0]} needs scores of trained methods on two datasets, and the giveaway of one.")
    console.out.print(hardness.terminal(found), highlight=False)
    for one in found.predictions:
        say(hardness.sentence(found.column, one))
    files.write_text(to, hardness.comma_separated(found))


ANALYSES: dict[str, Callable[[Sequence[Path], Path, str, str], None]] = {
    "difficulty": difficulty,
    "expansiveness": expansiveness,
    "latents": latents,
    "layers": layers,
    "metric-agreement": metric_agreement,
    "perceived": perceived,
    "sample-size": sample_size,
    "transfer": transfer,
    "udr": udr,
}
TABLES = ("difficulty", "udr")
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
