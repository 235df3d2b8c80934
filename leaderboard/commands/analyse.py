"""``offaxis board analyse``: the papers' analyses on run folders or anyone's arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from benchmark_data import console, files
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import say
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, needs
from leaderboard.commands.tables import Runs, To, show, write

if TYPE_CHECKING:
    import pandas as pd

analyse = console.command_line(
    "Analyse representations as the papers do. Each command writes a picture (.png) and its numbers (.csv).\n\n"
    "Where a command takes FILE or RUN, that is a run folder with activations.npz, or named arrays of any framework in "
    "an .npz or .safetensors file: one array per layer, one row per image."
)

By = Annotated[
    str, typer.Option(metavar="KEY", help="The hyperparameter that tells the runs apart, such as beta. Default: none.")
]

Debiased = Annotated[bool, typer.Option("--debiased", help="Show debiased CKA as well.")]


@analyse.command("sample-size")
def sample_size(
    to: To,
    files_: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[X Y]", help="Activations of two models. Without them: the paper's own matrices."),
    ] = None,
    layer: Annotated[str, typer.Option(help="The layer of X and Y to compare.")] = "mean",
    repeats: Annotated[int, typer.Option(min=1, help="Independent samples of each size.")] = 5,
    debiased: Debiased = False,
) -> None:
    """How many samples do CKA and Procrustes need? Figure 1 of arXiv:2205.08399, or the same for layers of yours."""
    from leaderboard.analyses import sample_size as analysis
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
    similarities = ("CKA", "Procrustes", *(["debiased CKA"] if debiased else []))
    if not files_:
        table = analysis.measure_shared(repeats=repeats, similarities=similarities)
    elif len(files_) == 2:
        representations.check_same_rows(files_)
        x, y = (representations.activations(file, [layer])[layer] for file in files_)
        table = analysis.measure(x, y, repeats=repeats, similarities=similarities)
    else:
        raise InvalidInput("X Y", expected="two files, or none", received=str(len(files_)))
    analysis.draw(table, to)
    keys = [key for key in ("share", "metric") if key in table]
    write(table, to, shown=table.pivot_table(index=keys, columns="samples", values="similarity").reset_index())


@analyse.command()
def latents(runs: Runs, to: To, by: By = "") -> None:
    """Which latents are in use: active, mixed, passive; posterior collapse or not. Figure 5 of arXiv:2205.08399.

    Needs the layers mean and variance (or log_variance); uses sampled and input where they are there.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    from leaderboard.analyses import latents as analysis
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
    rows, units = [], []
    for run in runs:
        posterior = representations.posterior(run)
        facts = _facts(run, by)
        summary = analysis.summarise(
            posterior.mean, posterior.variance, sampled=posterior.sampled, inputs=posterior.inputs, seed=facts["seed"]
        )
        rows.append(facts | summary._asdict())
        units.append(analysis.measure(posterior.mean, posterior.variance).assign(**facts))
    table = pd.DataFrame(rows)
    analysis.draw(table, to)
    write(pd.concat(units, ignore_index=True), to.with_suffix(".units.csv"))
    write(table, to, shown=table.drop(columns=["run", "method", "used", "cka_input_mean"]))


@analyse.command("metric-agreement")
def metric_agreement(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS | RUN...", help="A results tree; or run folders with codes, scored anew."),
    ],
    to: To,
    names: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Of run folders: a metric, or all. Repeat it. Default: mig and dci."),
    ] = None,
    only: Annotated[
        str, typer.Option("--tier", metavar="TIER", help="Of a results tree: only the runs of this tier.")
    ] = "",
    resamples: Annotated[int, typer.Option(min=2, help="Of the bootstrap.")] = 1_000,
) -> None:
    """Do metrics rank the same models alike? Figure 2 of arXiv:1811.12359, with an interval for each pair.

    Ranks are compared within each task. Tasks with fewer than four runs are left out; of a results tree references,
    marked runs and tasks that were replaced, too, as on the board. Intervals of a results tree are of a bootstrap over
    methods, those of run folders over runs.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    from leaderboard.analyses import metric_agreement as analysis
    from leaderboard.store import results_tree

    files.check_ending("--to", to, ".png")
    if len(paths) == 1 and not (paths[0] / "run.json").is_file():
        found = analysis.over_tasks(results_tree.read_all(paths[0]), tier=only, resamples=resamples)
        if found is None:
            raise InvalidInput(
                str(paths[0]),
                expected=f"{analysis.LEAST} trained runs of a task or more, and at least two scores that all runs have",
                received="fewer",
                remedy="References and marked runs do not count. Runs of different tiers may differ in scores: --tier.",
            )
        table = found.table()
    else:
        with console.progress() as progress:
            scores = pd.DataFrame([_rescored(path, names) for path in progress.track(paths, description="scoring")])
        scores = scores.replace([float("inf"), float("-inf")], float("nan"))
        if lacking := scores.columns[scores.isna().any()].tolist():
            console.warn(f"left out, since some run has no finite score: {', '.join(lacking)}")
        table = _agreement(scores.drop(columns=lacking), ", ".join(map(str, paths)), resamples)
    analysis.draw(table, to)
    write(table, to, shown=table)


def _agreement(scores: pd.DataFrame, what: str, resamples: int) -> pd.DataFrame:
    """Correlate the scores of run folders, within each task that has enough of them."""
    from leaderboard.analyses import metric_agreement as analysis

    counts = scores["task"].map(scores["task"].value_counts())
    kept = scores[counts >= analysis.LEAST].reset_index(drop=True)
    if kept.empty:
        raise InvalidInput(what, expected=f"at least {analysis.LEAST} runs of one task", received=f"{counts.max()}")
    numbers = kept.drop(columns=["task", "method", "seed"])
    return analysis.measure(numbers, list(numbers.columns), groups=kept["task"].tolist(), resamples=resamples)


def _rescored(run: Path, names: list[str] | None) -> dict[str, Any]:
    """Score the codes of a run folder: its task, method and seed, and each score under the key that results use."""
    from leaderboard import protocol
    from leaderboard.reading import representations
    from leaderboard.scoring import measure

    found = representations.codes(run)
    if found.factors is None:
        raise InvalidInput(f"codes of {run}", expected="codes of a dataset, with its factors", received="codes alone")
    record = files.read_json(run / "run.json")
    row: dict[str, Any] = {name: str(record[key]) for name, key in zip(("task", "method", "seed"), _RUN, strict=True)}
    for name, module in measure.named(names).items():
        sample, options = measure.divided(module, found.codes, found.factors)
        try:
            scores = module.score(*sample, **options)
        except InvalidInput as error:
            if names != ["all"]:
                raise
            console.warn(f"{run}: {name} is left out: {error}")
        else:
            row |= {protocol.key(name, key): value for key, value in scores.items()}
    return row


_RUN = ("dataset", "method", "seed")


@analyse.command("layers-against-input")
def layers_against_input(
    runs: Runs,
    to: To,
    by: By = "",
    layers: Annotated[
        str, typer.Option(metavar="PREFIX", help="Only layers whose name begins so; '' for all but the input.")
    ] = "encoder",
    procrustes: Annotated[
        bool, typer.Option("--procrustes", help="Show Procrustes as well; slow for wide layers.")
    ] = False,
) -> None:
    """How similar is each layer to the input, and does it depend on the seed? Figure 6 of arXiv:2205.08399.

    Needs the layer input. Runs that share the hyperparameter of --by are seeds: their mean and deviation are drawn.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    from leaderboard.analyses import layers_against_input as analysis
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
    tables = []
    for run in runs:
        found = representations.activations(run)
        if "input" not in found:
            raise UnknownName(f"layer of {run}", "input", found)
        chosen = {name: array for name, array in found.items() if name.startswith(layers) and name != "input"}
        if not chosen:
            raise UnknownName(f"beginning of a layer of {run}", layers, found)
        measured = analysis.measure(
            chosen, found["input"], similarities=("CKA", "Procrustes") if procrustes else ("CKA",)
        )
        facts = _facts(run, by)
        tables.append(measured.assign(**facts, group=f"{by} = {facts['strength']}" if by else ""))
    table = pd.concat(tables, ignore_index=True)
    analysis.draw(table, to)
    shown = table.pivot_table(index=["group", "layer"], columns="metric", values="similarity", sort=False).reset_index()
    write(table, to, shown=shown)


@analyse.command("traversal-rows")
def traversal_rows(
    dataset: Annotated[
        str,
        typer.Argument(help="A dataset with a full grid, such as xysquares/spacing_4.", autocompletion=names_like),
    ],
    to: Annotated[Path, typer.Option(help="The file to write, .npy.")],
    traversals: Annotated[int, typer.Option(min=1, help="Traversals of each factor.")] = 50,
    seed: Annotated[int, typer.Option(help="Where they start.")] = 0,
) -> None:
    """Write the rows of a dataset to encode for `perceived`: whole traversals of every factor."""
    import numpy as np

    import benchmark_data
    from leaderboard.analyses import perceived as analysis

    files.check_ending("--to", to, ".npy")
    rows = analysis.traversal_rows(benchmark_data.load(dataset), traversals=traversals, seed=seed)
    with files.written_atomically(to) as temporary, temporary.open("wb") as stream:
        np.save(stream, rows, allow_pickle=False)
    say(f"{to}: {len(rows):,} rows of {dataset}")


@analyse.command()
def perceived(
    dataset: Annotated[
        str,
        typer.Argument(
            help="The dataset that the rows are of, such as xysquares/spacing_4.", autocompletion=names_like
        ),
    ],
    to: To,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="indices, and any of mean, variance (or log_variance) and output. Without it: the input alone.",
        ),
    ] = None,
    output: Annotated[
        Literal["none", "logits", "pixels"], typer.Option(help="What the layer output holds: it is the reconstruction.")
    ] = "none",
) -> None:
    """Does each level of a VAE see the distances that its input has? Figure 4 of arXiv:2202.13341.

    Encode the rows that `traversal-rows` writes.
    """
    import numpy as np

    import benchmark_data
    from leaderboard.analyses import perceived as analysis
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
    data = benchmark_data.load(dataset)
    if file is None:
        table = analysis.measure_rows(data, analysis.traversal_rows(data))
    else:
        path = file / "activations.npz" if file.is_dir() else file
        found = representations.arrays(path)
        if "indices" not in found:
            raise UnknownName(f"array of {path}", "indices", found)
        if output != "none" and "output" not in found:
            raise UnknownName(f"array of {path}", "output", found)
        levels: dict[str, Any] = {name: found[name] for name in ("mean", "variance") if name in found}
        if "log_variance" in found:
            levels["variance"] = np.exp(found["log_variance"])
        if output == "pixels":
            levels["reconstructions"] = found["output"]
        elif output == "logits":
            import scipy.special

            levels["reconstructions"] = scipy.special.expit(found["output"].astype(np.float64))
        table = analysis.measure_rows(data, found["indices"], **levels)
    analysis.draw(table, to)
    agreement = analysis.agreement(table)
    write(agreement, to.with_suffix(".agreement.csv"))
    write(table, to, shown=agreement)


@analyse.command()
def expansiveness(
    dataset: Annotated[
        str, typer.Argument(help="A dataset with a full grid, such as sprites2d.", autocompletion=names_like)
    ],
    to: To,
    factors: Annotated[
        list[str] | None,
        typer.Option("--factor", metavar="NAME", help="Show the local expansiveness of this factor; repeat it."),
    ] = None,
    samples: Annotated[int, typer.Option(min=2, help="Random images.")] = 500,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run", metavar="RUN", help="A run on the dataset or on a perturbed form of it, for panel (c); repeat it."
        ),
    ] = None,
) -> None:
    """What leads locally, and what globally, as a perturbation grows. Figure 4 of arXiv:2102.06822.

    The perturbation hides a variable s in the images, independent of the factors. With runs that hold activations.npz,
    also the noise of the latent that encodes each factor; there s is the perturbed dataset's own.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    import benchmark_data
    from leaderboard.analyses import expansiveness as analysis
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
    with console.err.status("measuring"):
        tables = [analysis.measure_hidden(benchmark_data.load(dataset), factors=factors, samples=samples)]
        for run in runs or []:
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
    write(table, to)


@analyse.command()
def traversals(
    file: Annotated[Path, typer.Argument(help="An array of decoded images (latents, steps, H, W, C).")],
    to: To,
    array: Annotated[str, typer.Option(help="The name of the array.")] = "images",
) -> None:
    """Draw what each latent does: a row of decoded images per latent. Figure 7 of arXiv:2202.13341."""
    from leaderboard.analyses import traversals as analysis
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
    images = representations.arrays(file, [array])[array]
    table = analysis.measure(images)
    analysis.draw(images, to)
    write(table, to, shown=table)


def _facts(run: Path, by: str) -> dict[str, Any]:
    """What ``run.json`` says that tells runs apart; for other files their name."""
    record = files.read_json(run / "run.json") if (run / "run.json").is_file() else {}
    settings = record.get("hyperparameters", {}) if isinstance(record, dict) else None
    if not isinstance(settings, dict):
        raise DamagedFile(str(run / "run.json"), expected="the record of a run", received=json.dumps(record)[:60])
    if by and by not in settings:
        raise UnknownName(f"hyperparameter of {run}", by, settings)
    strength = settings[by] if by else run.stem
    return {
        "run": str(run),
        "method": str(record.get("method", "")),
        "seed": int(record.get("seed", 0)),
        "strength": strength if isinstance(strength, (int, float, str)) else json.dumps(strength),
    }
