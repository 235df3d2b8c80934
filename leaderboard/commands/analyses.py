"""``offaxis-board analyse`` and ``offaxis-board transfer``: the papers' analyses on run folders or anyone's arrays."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from benchmark_data import console, files
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import out, say
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, needs

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from leaderboard import protocol

analyse = console.command_line(
    "Analyse representations as the papers do. Each command writes a picture (.png) and its numbers (.csv).\n\n"
    "Where a command takes FILE or RUN, that is a run folder with activations.npz, or named arrays of any framework in "
    "an .npz, .safetensors or .parquet file: one array per layer, one row per image."
)
transfer = console.command_line(
    "Will an encoder that was trained on one dataset serve on another?\n\n"
    "Encode the target's images with each encoder (offaxis-board rows TARGET says which), then compare what can be "
    "read from the codes."
)

compare = console.command_line(
    "Compare all layers of many snapshots with each other: scores once, then any heatmap from them.\n\n"
    "A snapshot is a run folder with activations.npz, or a file of named arrays, and is called by its path."
)

To = Annotated[Path, typer.Option(help="The picture to write, .png; the numbers go beside it as .csv.")]
Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Run folders with activations.npz, or files of named arrays.")
]
By = Annotated[
    str, typer.Option(metavar="KEY", help="The hyperparameter that tells the runs apart, such as beta. Default: none.")
]
Debiased = Annotated[bool, typer.Option("--debiased", help="Show debiased CKA as well.")]
Memory = Annotated[float, typer.Option(min=0.01, help="GiB of scratch space beside the activations.")]
BackendName = Annotated[
    Literal["numpy", "jax"], typer.Option(help="What multiplies matrices. jax uses a GPU where it finds one.")
]
SimilarityName = Annotated[
    Literal["cka", "cka_debiased", "procrustes", "smaller"],
    typer.Option(help="smaller: of cka and procrustes, for each pair, as the papers interpret them."),
]


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

    _png(to)
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
    _write(table, to, shown=table.pivot_table(index=keys, columns="samples", values="similarity").reset_index())


@analyse.command()
def latents(runs: Runs, to: To, by: By = "") -> None:
    """Which latents are in use: active, mixed, passive; posterior collapse or not. Figure 5 of arXiv:2205.08399.

    Needs the layers mean and variance (or log_variance); uses sampled and input where they are there.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    from leaderboard.analyses import latents as analysis
    from leaderboard.reading import representations

    _png(to)
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
    _write(pd.concat(units, ignore_index=True), to.with_suffix(".units.csv"))
    _write(table, to, shown=table.drop(columns=["run", "method", "used", "cka_input_mean"]))


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
    resamples: Annotated[int, typer.Option(min=2, help="Of the bootstrap over runs.")] = 1_000,
) -> None:
    """Do metrics rank the same models alike? Figure 2 of arXiv:1811.12359, with an interval for each pair.

    Ranks are compared within each task. Tasks with fewer than four runs are left out; of a results tree references,
    marked runs and tasks that were replaced, too, as on the board.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    from leaderboard.analyses import metric_agreement as analysis
    from leaderboard.store import results

    _png(to)
    if len(paths) == 1 and not (paths[0] / "run.json").is_file():
        found = analysis.over_tasks(results.read_all(paths[0]), tier=only, resamples=resamples)
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
        table = _agreement(scores.dropna(axis="columns"), ", ".join(map(str, paths)), resamples)
    analysis.draw(table, to)
    _write(table, to, shown=table)


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
    from benchmark_data import discovery
    from leaderboard import protocol
    from leaderboard.reading import representations

    known = discovery.names("leaderboard.metrics")
    found = representations.codes(run)
    if found.factors is None:
        raise InvalidInput(f"codes of {run}", expected="codes of a dataset, with its factors", received="codes alone")
    record = files.read_json(run / "run.json")
    row: dict[str, Any] = {name: str(record[key]) for name, key in zip(("task", "method", "seed"), _RUN, strict=True)}
    for name in known if names == ["all"] else names or ["mig", "dci"]:
        module = discovery.find("leaderboard.metrics", name, kind="metric")
        sample, options = _halves(module, found.codes, found.factors)
        row |= {protocol.key(name, key): value for key, value in module.score(*sample, **options).items()}
    return row


_RUN = ("dataset", "method", "seed")


HELD_OUT = ("codes_test", "factors_test")
"""Arrays of rows that nothing is learned from."""

DEVIATIONS = 6
"""A factor's mean differs by so many between rows to learn from and held-out rows only where rows are sorted."""


def _held_out(path: Path, dataset: str) -> tuple[Any, Any] | None:
    """Read the rows that a file of arrays holds out by itself, if it does."""
    from leaderboard.reading import representations

    if path.is_dir() or path.suffix not in (".npz", ".safetensors"):
        return None
    found = representations.arrays(path)
    given = [name for name in HELD_OUT if name in found]
    if not given:
        return None
    if len(given) == 1 or dataset:
        raise InvalidInput(
            f"{path}: {given[0]}",
            expected="codes_test and factors_test, beside codes and factors",
            received=f"{' and '.join(given)}{f' beside codes of {dataset}' if dataset else ' alone'}",
            remedy="Without them the last third of the rows is held out.",
        )
    return found[HELD_OUT[0]], found[HELD_OUT[1]]


def _halves(
    module: Any, codes: Any, factors: Any, held_out: tuple[Any, Any] | None = None
) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Return the rows to learn from, and the arguments of a metric, among them the held-out rows if it asks.

    Where none are held out by the file, the first two thirds are to learn from and the last third is held out.
    """
    import inspect

    train = len(codes) * 2 // 3 if held_out is None else len(codes)
    takes = inspect.signature(module.score).parameters
    options: dict[str, Any] = {}
    if "codes_test" in takes:
        tested = (codes[train:], factors[train:]) if held_out is None else held_out
        options = dict(zip(HELD_OUT, tested, strict=True))
    if "constant_factors" in takes:
        options["constant_factors"] = "drop"
    return (codes[:train], factors[:train]), options


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

    _png(to)
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
    _write(table, to, shown=shown)


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

    if to.suffix != ".npy":
        raise InvalidInput("--to", expected="a file name that ends in .npy", received=to.name)
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

    _png(to)
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
    _write(agreement, to.with_suffix(".agreement.csv"))
    _write(table, to, shown=agreement)


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

    _png(to)
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
        _show(wide.reset_index(), analysis.QUANTITIES[str(quantity)])
    _write(table, to)


@analyse.command()
def traversals(
    file: Annotated[Path, typer.Argument(help="An array of decoded images (latents, steps, H, W, C).")],
    to: To,
    array: Annotated[str, typer.Option(help="The name of the array.")] = "images",
) -> None:
    """Draw what each latent does: a row of decoded images per latent. Figure 7 of arXiv:2202.13341."""
    from leaderboard.analyses import traversals as analysis
    from leaderboard.reading import representations

    _png(to)
    images = representations.arrays(file, [array])[array]
    table = analysis.measure(images)
    analysis.draw(images, to)
    _write(table, to, shown=table)


@transfer.command()
def accuracy(
    target: Annotated[str, typer.Argument(help="The target dataset, such as sprites2d: its labels are read.")],
    codes: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=PATH",
            help="Codes of the target's images, and what to call them: solids=FILE, 'random encoder=RUN', PCA=RUN. "
            "PATH is a run folder, a file of arrays, or an ONNX encoder. Repeat it; a name given twice is two seeds.",
        ),
    ],
    to: To,
    classifier: Annotated[
        Literal["both", "gbt", "logistic"], typer.Option(help="Boosted trees, logistic regression, or both.")
    ] = "both",
) -> None:
    """Accuracy on each label of the target from each encoder's codes. Table 1 and appendix A of arXiv:2304.10767.

    One tenth of the dataset's rows is held out, the same as in its transfer pairs. The most frequent class is the
    floor. For example:

    offaxis-board transfer accuracy sprites2d --codes sprites2d=runs/a --codes solids=solids.npz --codes PCA=runs/pca
    --to transfer.png
    """
    needs("this command", "metrics", "pandas")
    import numpy as np
    import pandas as pd

    import benchmark_data
    from leaderboard.analyses import transfer_accuracy as evaluation
    from leaderboard.reading import representations

    _png(to)
    read: list[tuple[str, representations.LabelledCodes]] = []
    for given in codes:
        name, _, path = given.partition("=")
        if not name or not path:
            raise InvalidInput("--codes", expected="NAME=PATH", received=repr(given))
        found = representations.codes(path, dataset=target)
        if read and not np.array_equal(np.asarray(found.indices), np.asarray(read[0][1].indices)):
            raise InvalidInput(
                f"indices of {path}",
                expected=f"the rows that {codes[0].partition('=')[2]} holds, in that order",
                received="others",
                remedy="Encode the same rows of the target with every encoder.",
            )
        read.append((name, found))
    labels, names = np.asarray(read[0][1].factors), read[0][1].names
    held_out = evaluation.held_out(np.asarray(read[0][1].indices), len(benchmark_data.load(target)))
    classifiers = evaluation.CLASSIFIERS if classifier == "both" else (classifier,)
    tables = []
    with console.progress() as progress:
        work = progress.add_task("fitting", total=len(read) * len(classifiers))
        for i, (name, found) in enumerate(read):

            def tell(what: str) -> None:
                progress.update(work, description=what)
                progress.advance(work)

            measured = evaluation.measure(
                {name: found.codes},
                labels,
                names,
                test=held_out,
                classifiers=classifiers,
                constant_labels="drop",
                progress=tell,
            )
            tables.append(measured.assign(target=target, seed=[other for other, _ in read[:i]].count(name)))
    table = pd.concat(tables)
    floor = table["source"] == evaluation.MAJORITY
    table = pd.concat([table[~floor], tables[0][tables[0]["source"] == evaluation.MAJORITY]], ignore_index=True)
    evaluation.draw(table, to)
    averages = evaluation.averages(table)
    _write(averages, to.with_suffix(".averages.csv"))
    _write(table, to, shown=averages)
    for fitted in classifiers:
        _show(
            evaluation.by_label(table, classifier=fitted).rename_axis("source").reset_index(),
            f"test accuracy, {fitted}",
        )


@transfer.command("heatmap")
def transfer_heatmap(
    source: Annotated[
        list[Path],
        typer.Option(
            metavar="RUN", help="Activations of a source-trained model on the target's images. Repeat: seeds."
        ),
    ],
    target: Annotated[
        list[Path], typer.Option(metavar="RUN", help="The same of a target-trained model, in the same order of seeds.")
    ],
    to: To,
    similarity: SimilarityName = "cka",
    memory: Memory = 1.0,
    backend: BackendName = "numpy",
) -> None:
    """Compare source-trained with target-trained models, layer by layer, by CKA. Figure 5 of arXiv:2304.10767."""
    if len(source) != len(target):
        raise InvalidInput(
            "runs", expected="as many of --source as of --target", received=f"{len(source)} and {len(target)}"
        )
    _heatmap(source, target, to, similarity, memory, backend, ("trained on the source", "trained on the target"))


def heatmap(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="X... Y...",
            help="Run folders with activations.npz, or files of named arrays, of the same images: those of one model, "
            "a seed each, then those of the other in the same order of seeds.",
        ),
    ],
    to: Annotated[Path, typer.Option(help="The picture to write, .png; numbers go beside it as .csv and .parquet.")],
    title: Annotated[str, typer.Option(help="What stands above the picture.")] = "",
    similarity: SimilarityName = "cka",
    memory: Memory = 1.0,
    backend: BackendName = "numpy",
) -> None:
    """Compare every layer of one model with every layer of another, averaged over seeds: a picture and its numbers."""
    if len(runs) % 2:
        raise InvalidInput("runs", expected="as many of one model as of the other", received=f"{len(runs)} in all")
    half = len(runs) // 2
    sides = runs[:half], runs[half:]
    names = tuple(side[0].stem if half == 1 else f"{side[0].parent.name}, mean of {half} runs" for side in sides)
    _heatmap(*sides, to, similarity, memory, backend, (names[0], names[1]), title)


def _heatmap(
    x: list[Path],
    y: list[Path],
    to: Path,
    similarity: Literal["cka", "cka_debiased", "procrustes", "smaller"],
    memory: float,
    backend: Literal["numpy", "jax"],
    names: tuple[str, str],
    title: str = "",
) -> None:
    from leaderboard.comparisons import heatmap
    from leaderboard.reading import representations

    _png(to)
    for pair in zip(x, y, strict=True):
        representations.check_same_rows(pair)
    pairs = ((representations.activations(a), representations.activations(b)) for a, b in zip(x, y, strict=True))
    with console.err.status("comparing"):
        table = heatmap.compare_runs(pairs, similarity=similarity, memory=memory, backend=backend)
    heatmap.draw(table, to, x_name=names[0], y_name=names[1], title=title)
    for suffix in (".csv", ".parquet"):
        heatmap.write(table, to.with_suffix(suffix))
    for suffix in (".png", ".csv", ".parquet"):
        say(to.with_suffix(suffix))


Study = Annotated[str, typer.Option(help="Its name. Several studies can share a folder.")]


@compare.command("run")
def compare_run(
    snapshots: Annotated[list[Path], typer.Argument(metavar="SNAPSHOT...", help="All of the same images.")],
    into: Annotated[Path, typer.Option(help="The folder for Gram matrices and scores. Started again, it goes on.")],
    study: Study = "study",
    debiased: Annotated[
        bool, typer.Option("--debiased", help="Debiased CKA instead of the papers' biased one.")
    ] = False,
    memory: Annotated[float, typer.Option(min=0.001, help="GiB of scratch space for each job.")] = 1.0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes. Default: one per core.")] = None,
    backend: BackendName = "numpy",
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work on this Ray cluster; local starts one on this machine."),
    ] = None,
) -> None:
    """Compute CKA between all layers of all snapshots: Parquet, partitioned by study, for pandas or DuckDB."""
    from benchmark_data import parallel
    from leaderboard.comparisons import all_pairs as comparison
    from leaderboard.reading import representations

    representations.check_same_rows([path for path in snapshots if path.exists()])
    with parallel.on_ray(ray):
        scores = comparison.run(
            {str(path): path for path in snapshots},
            into,
            study=study,
            debiased=debiased,
            memory=memory,
            jobs=jobs,
            backend=backend,
        )
    say(scores)


@compare.command("heatmap")
def compare_heatmap(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a study.")],
    x: Annotated[str, typer.Option(metavar="PATTERN", help="Snapshots, such as 'runs/a/seed_*/last.npz'.")],
    y: Annotated[
        list[str],
        typer.Option(
            metavar="PATTERN", help="What they are compared with, where * stands for the same. Repeat: a panel each."
        ),
    ],
    to: Annotated[Path, typer.Option(help="The picture to write, .png; numbers go beside it as .csv and .parquet.")],
    study: Study = "study",
    title: Annotated[str, typer.Option(help="What stands above the picture.")] = "",
) -> None:
    """Average scores of a study over seeds and draw them, a panel for each epoch or model compared with.

    A * in the patterns stands for the seed: snapshots for which it stands for the same are paired.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    from leaderboard.comparisons import all_pairs as comparison
    from leaderboard.comparisons import heatmap

    _png(to)
    known = comparison.snapshots(folder, study)
    sides = {pattern: _matching(pattern, known) for pattern in (x, *y)}
    frames = {}
    for pattern in y:
        if sides[pattern].keys() != sides[x].keys():
            raise InvalidInput(
                f"snapshots {pattern}",
                expected=f"one for each of the {len(sides[x])} that {x} stands for",
                received=f"{len(sides[pattern])}: {', '.join(sides[pattern].values())}",
            )
        pairs = [(name, sides[pattern][key]) for key, name in sides[x].items()]
        frames[pattern] = comparison.heatmap(comparison.read(folder, study, pairs), pairs)
    heatmap.draw(frames if len(y) > 1 else frames[y[0]], to, x_name=x, y_name=y[0] if len(y) == 1 else "", title=title)
    tables = [frame.rename_axis("layer").reset_index().assign(x=x, y=pattern) for pattern, frame in frames.items()]
    table = pd.concat(tables, ignore_index=True)
    with files.written_atomically(to.with_suffix(".parquet")) as temporary:
        table.to_parquet(temporary, index=False)
    _write(table, to)
    say(to.with_suffix(".parquet"))


def _matching(pattern: str, names: Iterable[str]) -> dict[tuple[str, ...], str]:
    """What the asterisks of a pattern stand for -> the name."""
    expression = "(.*)".join(re.escape(part) for part in pattern.split("*"))
    found = {match.groups(): name for name in names if (match := re.fullmatch(expression, name))}
    if not found:
        raise UnknownName("snapshot", pattern, names)
    return found


def udr(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or files of codes, of the same images.")
    ],
    similarity: Annotated[
        Literal["lasso", "spearman"], typer.Option(help="How latents of two runs are matched.")
    ] = "lasso",
    array: Annotated[str, typer.Option(help="The array that holds the codes. Default: codes or mean.")] = "",
    to: Annotated[Path | None, typer.Option(help="Write the scores here, .csv.")] = None,
) -> None:
    """Rank several runs of a method without labels, by what each has in common with the others (UDR).

    Where a run has activations.npz with a posterior, latents that are shut down are left out.
    """
    needs("this command", "metrics", "pandas")
    import numpy as np
    import pandas as pd

    from leaderboard.analyses import latents
    from leaderboard.comparisons import udr as comparison
    from leaderboard.reading import representations

    if to is not None and to.suffix != ".csv":
        raise InvalidInput("--to", expected="a file name that ends in .csv", received=to.name)
    found = [representations.bare_codes(run, array=array or None) for run in runs]
    for run, (_, rows) in zip(runs, found, strict=True):
        if (rows is None) != (found[0][1] is None) or not np.array_equal(rows, found[0][1]):  # type: ignore[arg-type]
            raise InvalidInput(
                f"indices of {run}", expected=f"the rows that {runs[0]} holds, in that order", received="others"
            )
    divergences: list[ArrayLike] = []
    for run in runs:
        if (run / "activations.npz").is_file():
            posterior = representations.posterior(run)
            divergences.append(latents.measure(posterior.mean, posterior.variance)["kl"].to_numpy())
    kl = divergences if len(divergences) == len(runs) else None
    scores = comparison.score([codes for codes, _ in found], kl=kl, similarity=similarity)
    table = pd.DataFrame({"run": [str(run) for run in runs], "udr": scores}).sort_values("udr", ascending=False)
    if to is None:
        _show(table)
    else:
        _write(table, to, shown=table)


@transfer.command()
def shared(
    file: Annotated[Path, typer.Argument(help="Two arrays of images (n, H, W, C): targets and reconstructions.")],
    to: Annotated[Path, typer.Option(help="The picture to write, .png.")],
    columns: Annotated[int, typer.Option(min=1, help="Pairs beside each other.")] = 4,
) -> None:
    """Draw target images beside their reconstructions by a source-trained model. Figures 7 and 8 of arXiv:2304.10767.

    What the two have in common, such as position or colour, is what both domains share.
    """
    from leaderboard.analyses import transfer_accuracy as evaluation
    from leaderboard.reading import representations

    _png(to)
    found = representations.arrays(file, ["targets", "reconstructions"])
    evaluation.draw_shared(found["targets"], found["reconstructions"], to, columns=columns)
    say(to)


def metrics(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Run folders, files of arrays, or encoders in ONNX; of several, such as the seeds of a method, mean "
            "and spread are shown. Arrays: codes (n, latents) and factors (n, factors), class ids; codes_test and "
            "factors_test to hold out rows of your own choice.",
        ),
    ],
    dataset: Annotated[
        str,
        typer.Option(
            help="The dataset that the codes are of, or a folder of images with one CSV file of labels. A run knows "
            "its own; a file may hold factors.",
            autocompletion=names_like,
        ),
    ] = "",
    names: Annotated[
        list[str] | None, typer.Option("--metric", help="A metric, or all. Repeat it. Default: mig and dci.")
    ] = None,
    array: Annotated[str, typer.Option(help="The array or output that holds the codes. Default: codes or mean.")] = "",
    layout: Annotated[
        Literal["auto", "NHWC", "NCHW"], typer.Option(help="ONNX: where channels stand, if its shape does not say.")
    ] = "auto",
    mean: Annotated[list[float] | None, typer.Option(help="ONNX: subtracted from pixels in [0, 1]; repeat it.")] = None,
    std: Annotated[list[float] | None, typer.Option(help="ONNX: what they are divided by; repeat it.")] = None,
    intervals: Annotated[
        int, typer.Option(metavar="RESAMPLES", min=0, help="Bootstrap intervals from so many resamples, such as 100.")
    ] = 0,
    check: Annotated[
        bool, typer.Option(help="Say which scores still move with the number of samples; costs less than the scores.")
    ] = True,
    bins: Annotated[bool, typer.Option("--bins", help="MIG with other numbers of bins and another estimator.")] = False,
    to: Annotated[
        Path | None, typer.Option(help="Write the scores here, .csv: a line for each file and score.")
    ] = None,
) -> None:
    """Compute any metric on anyone's codes: run folders, plain arrays of any framework, or encoders in ONNX.

    The first two thirds of the rows are to learn from and the last third is held out, as in the protocol's tasks,
    unless the file holds codes_test and factors_test: rows should be shuffled. For a place on the board, use evaluate
    or submit.
    """
    needs("this command", "metrics", "pandas")
    import pandas as pd

    import benchmark_data
    from benchmark_data import discovery
    from leaderboard.reading import representations

    if to is not None and to.suffix != ".csv":
        raise InvalidInput("--to", expected="a file name that ends in .csv", received=to.name)
    known = discovery.names("leaderboard.metrics")
    chosen = known if names == ["all"] else names or ["mig", "dci"]
    modules = {name: discovery.find("leaderboard.metrics", name, kind="metric") for name in chosen}
    asked = benchmark_data.named_or_folder(dataset) if dataset else None
    encoding: dict[str, Any] = {
        "layout": None if layout == "auto" else layout,
        "mean": mean or (0.0,),
        "std": std or (1.0,),
    }
    if any((layout != "auto", mean, std)) and not any(path.suffix == ".onnx" for path in paths):
        raise InvalidInput(
            "--layout, --mean, --std", expected="an encoder in ONNX, which they are for", received=str(paths[0])
        )
    samples = []
    for path in paths:  # all of them are read before any is scored
        with console.err.status(f"reading {path}"):
            options = encoding if path.suffix == ".onnx" else {}
            found = representations.codes(path, dataset=asked, array=array or None, **options)
        if found.factors is None:
            raise InvalidInput(
                str(path),
                expected="codes of a dataset, or an array called factors beside them",
                received="codes alone",
                remedy="Name the --dataset.",
            )
        samples.append((path, found, _held_out(path, dataset)))
    tables, doubts, variants = [], [], []
    with console.progress() as progress:
        work = progress.add_task("scoring", total=len(modules) * len(paths))
        for path, found, held_out in samples:
            if found.indices is None and held_out is None:
                remedy = f"offaxis-train encode {path}" if path.is_dir() else "shuffle codes and factors alike"
                doubts += [(path, f"{sentence}: {remedy}.") for sentence in _in_order(found.factors, found.names)]
            factors: Any = found.factors  # which each of them has
            constant = [name for name, ids in zip(found.names, factors.T, strict=True) if (ids == ids[0]).all()]
            if constant:
                doubts.append((path, f"{', '.join(constant)} has one value in all rows and is left out."))
            for name, module in modules.items():
                progress.update(work, description=name)
                table, doubted = _scored(name, module, found, held_out, intervals, check=check)
                tables.append(table.assign(file=str(path)))
                doubts += [(path, sentence) for sentence in doubted]
                progress.advance(work)
            if bins:
                variants.append(_binned(found, held_out).assign(file=str(path)))
    _report(pd.concat(tables, ignore_index=True), to)
    several = len(paths) > 1
    for path, sentence in doubts:
        said = f"warning: {path}: {sentence}" if several else f"warning: {sentence}"
        say(said, style="yellow")
    if bins:
        binned = pd.concat(variants, ignore_index=True)
        binned.insert(0, "file", binned.pop("file"))
        binned = binned if several else binned.drop(columns="file")
        _show(binned, "MIG by number of bins")
        if to is not None:
            _write(binned, to.with_suffix(".bins.csv"))


def _scored(
    name: str, module: Any, found: Any, held_out: tuple[Any, Any] | None, intervals: int, *, check: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Score codes by one metric.

    Returns:
        A line for each score, with its interval if intervals are asked for; and what is to be doubted.
    """
    import pandas as pd

    from leaderboard.scoring import sensitivity

    sample, options = _halves(module, found.codes, found.factors, held_out)
    scores = module.score(*sample, **options)
    scored = pd.DataFrame({"metric": name, "score": list(scores), "value": list(scores.values())})
    if intervals:
        around = sensitivity.intervals(name, *sample, resamples=max(2, intervals), **options)
        scored = scored.assign(low=around["low"].to_numpy(), high=around["high"].to_numpy())
    if not check or name == "downstream":  # which is a curve over sample sizes by itself
        return scored, []
    return scored, _doubts(name, *sample, whole=scores, **options)


def _binned(found: Any, held_out: tuple[Any, Any] | None) -> pd.DataFrame:
    """Score the rows to learn from by MIG with other numbers of bins, a line for each estimator."""
    from leaderboard.metrics import mig
    from leaderboard.scoring import sensitivity

    sample, _ = _halves(mig, found.codes, found.factors, held_out)
    variants = sensitivity.mig_variants(*sample, constant_factors="drop")
    return variants.rename_axis("estimator").reset_index().rename(columns=str)


def _report(table: pd.DataFrame, to: Path | None) -> None:
    """Print scores, and write them if they are wanted; of several files, print mean and spread of each score."""
    import pandas as pd

    several = table["file"].nunique()
    table.insert(0, "file", table.pop("file"))
    if several == 1:
        shown = table = table.drop(columns="file")
    else:
        values = table.groupby(["metric", "score"], sort=False)["value"]
        parts = {"mean": values.mean(), "sd": values.std(), "least": values.min(), "greatest": values.max()}
        shown = pd.DataFrame(parts).reset_index()
    _show(shown, f"{several} files" if several > 1 else "")
    if to is not None:
        _write(table, to)


def small_sample(where: str, codes: Any, task: protocol.Task, tier: str) -> list[str]:
    """Say so if the MIG of a run still moves with the number of samples, as it may on small datasets.

    Args:
        where: the run's place.
        codes: its codes, real numbers, shape (n, L), in the order of the task's rows.
        task: the task.
        tier: the tier that it is scored in, which says on which of the rows.

    Returns:
        A sentence with the curve, or none.
    """
    from leaderboard import protocol

    measurement = next((m for m in protocol.tier(tier).measurements if m.metric == "mig"), None)
    if measurement is None:
        return []
    n = len(task.train)
    rows = slice(0, min(measurement.train, n)) if measurement.train else slice(n, n + measurement.test)
    doubts = _doubts("mig", codes[rows], task.labels()[rows], **measurement.arguments)
    return [f"{where}: {doubt}" for doubt in doubts]


def _doubts(metric: str, codes: Any, factors: Any, **options: Any) -> list[str]:
    """Return whether a metric's first score still moves with the number of samples."""
    from leaderboard.scoring import sensitivity

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sensitivity.SmallSample)
        try:
            sensitivity.warn_if_small(metric, codes, factors, repeats=1, **options)
        except InvalidInput:
            return [f"{metric}: parts of so small a sample cannot be scored."]
    return [str(w.message) for w in caught if issubclass(w.category, sensitivity.SmallSample)]


def _in_order(factors: Any, names: Sequence[str]) -> list[str]:
    """Return which factors have other values in the last third of the rows, as no shuffle leaves them."""
    import numpy as np

    learnt, tested = np.split(factors, [len(factors) * 2 // 3])
    if not len(learnt):
        return []
    apart = np.abs(learnt.mean(axis=0) - tested.mean(axis=0))
    chance = factors.std(axis=0) * np.sqrt(1 / len(learnt) + 1 / len(tested))
    ordered = [name for name, much in zip(names, apart > DEVIATIONS * chance, strict=True) if much]
    return [f"rows stand in the order of {', '.join(ordered)}, and the last third is held out"] if ordered else []


def _png(path: Path) -> None:
    if path.suffix != ".png":
        raise InvalidInput("--to", expected="a file name that ends in .png", received=path.name)


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


def _write(table: pd.DataFrame, path: Path, *, shown: pd.DataFrame | None = None) -> None:
    """Write a table beside the picture; print one, and the paths."""
    from leaderboard import figures

    numbers = path if path.suffix == ".csv" else path.with_suffix(".csv")
    figures.write_csv(table, numbers)
    if shown is not None:
        _show(shown)
    if path != numbers:
        say(path)
    say(numbers)


def _show(table: pd.DataFrame, title: str = "") -> None:
    import rich.table
    import rich.text

    headers = (rich.text.Text(str(name).replace("_", " ")) for name in table.columns)
    columns = (rich.table.Column(header, overflow="fold") for header in headers)
    printed = rich.table.Table(*columns, box=None, pad_edge=False, title=title or None)
    for row in table.itertuples(index=False):
        cells = (f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        printed.add_row(*map(rich.text.Text, cells))
    out.print(printed, highlight=False)
