"""``offaxis-board analyse`` and ``offaxis-board transfer``: the papers' analyses on run folders or anyone's arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from benchmark_data import console, files
from benchmark_data.console import out
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName

if TYPE_CHECKING:
    import pandas as pd

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

To = Annotated[Path, typer.Option(help="The picture to write, .png; the numbers go beside it as .csv.")]
Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Run folders with activations.npz, or files of named arrays.")
]
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
    from leaderboard import inputs
    from leaderboard.analyses import sample_size as analysis

    _png(to)
    similarities = ("CKA", "Procrustes", *(["debiased CKA"] if debiased else []))
    if not files_:
        table = analysis.measure_shared(repeats=repeats, similarities=similarities)
    elif len(files_) == 2:
        x, y = (inputs.activations(file, [layer])[layer] for file in files_)
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
    import pandas as pd

    from leaderboard import inputs
    from leaderboard.analyses import latents as analysis

    _png(to)
    rows, units = [], []
    for run in runs:
        posterior = inputs.posterior(run)
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
    import pandas as pd

    from leaderboard import inputs
    from leaderboard.analyses import layers_against_input as analysis

    _png(to)
    tables = []
    for run in runs:
        found = inputs.activations(run)
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
    dataset: Annotated[str, typer.Argument(help="A dataset with a full grid, such as xysquares/spacing_4.")],
    to: Annotated[Path, typer.Option(help="The file to write, .npy.")],
    traversals: Annotated[int, typer.Option(min=1, help="Traversals of each factor.")] = 50,
    seed: Annotated[int, typer.Option(help="Where they start.")] = 0,
) -> None:
    """Write the rows of a dataset to encode for `perceived`: whole traversals of every factor."""
    import benchmark_data
    from leaderboard.analyses import perceived as analysis

    if to.suffix != ".npy":
        raise InvalidInput("--to", expected="a file name that ends in .npy", received=to.name)
    rows = analysis.traversal_rows(benchmark_data.load(dataset), traversals=traversals, seed=seed)
    with files.written_atomically(to) as temporary, temporary.open("wb") as stream:
        np.save(stream, rows, allow_pickle=False)
    out.print(f"{to}: {len(rows):,} rows of {dataset}", highlight=False, soft_wrap=True, markup=False)


@analyse.command()
def perceived(
    dataset: Annotated[str, typer.Argument(help="The dataset that the rows are of, such as xysquares/spacing_4.")],
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
    import benchmark_data
    from leaderboard import inputs
    from leaderboard.analyses import perceived as analysis

    _png(to)
    data = benchmark_data.load(dataset)
    if file is None:
        table = analysis.measure_rows(data, analysis.traversal_rows(data))
    else:
        path = file / "activations.npz" if file.is_dir() else file
        found = inputs.arrays(path)
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
    dataset: Annotated[str, typer.Argument(help="A dataset with a full grid, such as sprites2d.")],
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
    import pandas as pd

    import benchmark_data
    from leaderboard import inputs
    from leaderboard.analyses import expansiveness as analysis

    _png(to)
    with console.err.status("measuring"):
        tables = [analysis.measure_hidden(benchmark_data.load(dataset), factors=factors, samples=samples)]
        for run in runs or []:
            trained_on = benchmark_data.load(inputs.dataset_of(run))
            posterior = inputs.posterior(run)
            indices = inputs.arrays(run / "activations.npz", ["indices"])["indices"]
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
    from leaderboard import inputs
    from leaderboard.analyses import traversals as analysis

    _png(to)
    images = inputs.arrays(file, [array])[array]
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
    import pandas as pd

    import benchmark_data
    from leaderboard import inputs
    from leaderboard import transfer as evaluation

    _png(to)
    read: list[tuple[str, inputs.Codes]] = []
    for given in codes:
        name, _, path = given.partition("=")
        if not name or not path:
            raise InvalidInput("--codes", expected="NAME=PATH", received=repr(given))
        found = inputs.codes(path, dataset=target)
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
def encoders(
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
) -> None:
    """Compare source-trained with target-trained models, layer by layer, by CKA. Figure 5 of arXiv:2304.10767."""
    from leaderboard import inputs
    from leaderboard.comparisons import heatmap

    _png(to)
    if len(source) != len(target):
        raise InvalidInput(
            "runs", expected="as many of --source as of --target", received=f"{len(source)} and {len(target)}"
        )
    pairs = ((inputs.activations(x), inputs.activations(y)) for x, y in zip(source, target, strict=True))
    table = heatmap.compare_runs(pairs)
    heatmap.draw(table, to, x_name="trained on the source", y_name="trained on the target")
    _write(table.rename_axis("layer").reset_index(), to)


@transfer.command()
def shared(
    file: Annotated[Path, typer.Argument(help="Two arrays of images (n, H, W, C): targets and reconstructions.")],
    to: Annotated[Path, typer.Option(help="The picture to write, .png.")],
    columns: Annotated[int, typer.Option(min=1, help="Pairs beside each other.")] = 4,
) -> None:
    """Draw target images beside their reconstructions by a source-trained model. Figures 7 and 8 of arXiv:2304.10767.

    What the two have in common, such as position or colour, is what both domains share.
    """
    from leaderboard import inputs
    from leaderboard import transfer as evaluation

    _png(to)
    found = inputs.arrays(file, ["targets", "reconstructions"])
    evaluation.draw_shared(found["targets"], found["reconstructions"], to, columns=columns)
    out.print(str(to), soft_wrap=True, highlight=False, markup=False)


def metrics(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A run folder, a file of arrays, or an encoder in ONNX.")
    ],
    dataset: Annotated[
        str, typer.Option(help="The dataset that the codes are of. A run knows its own; a file may hold factors.")
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
    to: Annotated[Path | None, typer.Option(help="Write the scores here, .csv.")] = None,
) -> None:
    """Compute any metric on anyone's codes: a run folder, plain arrays of any framework, or an encoder in ONNX.

    The first two thirds of the rows are to learn from and the last third is held out, as in the protocol's tasks. For a
    place on the board, use evaluate or submit.
    """
    import inspect

    import pandas as pd

    from benchmark_data import discovery
    from leaderboard import inputs

    if to is not None and to.suffix != ".csv":
        raise InvalidInput("--to", expected="a file name that ends in .csv", received=to.name)
    known = discovery.names("leaderboard.metrics")
    chosen = known if names == ["all"] else names or ["mig", "dci"]
    modules = [discovery.find("leaderboard.metrics", name, kind="metric") for name in chosen]
    encoding: dict[str, Any] = {}
    if path.suffix == ".onnx":
        encoding = {"layout": None if layout == "auto" else layout, "mean": mean or (0.0,), "std": std or (1.0,)}
    with console.err.status("reading"):
        found = inputs.codes(path, dataset=dataset or None, array=array or None, **encoding)
    if found.factors is None:
        raise InvalidInput(
            str(path),
            expected="codes of a dataset, or an array called factors beside them",
            received="codes alone",
            remedy="Name the --dataset.",
        )
    train = len(found.codes) * 2 // 3
    held_out = {"codes_test": found.codes[train:], "factors_test": found.factors[train:]}
    rows = []
    with console.progress() as progress:
        work = progress.add_task("scoring", total=len(modules))
        for name, module in zip(chosen, modules, strict=True):
            progress.update(work, description=name)
            takes = inspect.signature(module.score).parameters
            options: dict[str, Any] = dict(held_out) if "codes_test" in takes else {}
            if "constant_factors" in takes:
                options["constant_factors"] = "drop"
            scores = module.score(found.codes[:train], found.factors[:train], **options)
            rows += [(name, score, value) for score, value in scores.items()]
            progress.advance(work)
    table = pd.DataFrame(rows, columns=["metric", "score", "value"])
    if to is None:
        _show(table)
    else:
        _write(table, to, shown=table)


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
        out.print(str(path), soft_wrap=True, highlight=False, markup=False)
    out.print(str(numbers), soft_wrap=True, highlight=False, markup=False)


def _show(table: pd.DataFrame, title: str = "") -> None:
    import rich.table

    headers = (rich.table.Column(str(name).replace("_", " "), overflow="fold") for name in table.columns)
    printed = rich.table.Table(*headers, box=None, pad_edge=False, title=title or None)
    for row in table.itertuples(index=False):
        printed.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row))
    out.print(printed, highlight=False)
