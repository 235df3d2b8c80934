"""The ``offaxis data`` command: what datasets there are, what they look like, how far apart their images are."""

from __future__ import annotations

import math
import shlex
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.markup
import rich.table
import typer

import benchmark_data
from benchmark_data import console
from benchmark_data.archives import downloads
from benchmark_data.commands.arguments import Name, NameOrFolder, names_like
from benchmark_data.console import out, say
from benchmark_data.errors import InvalidInput, Unavailable, needs
from benchmark_data.files import check_ending, write_json, write_text, written_atomically

if TYPE_CHECKING:
    from benchmark_data.dataset import Dataset
    from benchmark_data.inspect.distances import Matrices, PairDistance

app = console.command_line("Datasets with known factors: list them, look at them, measure them.")


LICENSE_WIDTH = 10
"""Characters of a licence's name in a list of 80 columns; what is longer is for ``info`` to tell."""


@app.command("list")
def list_datasets(json: console.Json = False) -> None:
    """List every dataset and configuration."""
    from benchmark_data.commands.descriptions import outline, source_kind

    if json:
        every = (full_name for name in benchmark_data.names() for full_name in benchmark_data.configs(name))
        out.print_json(data=[outline(benchmark_data.load(full_name)) for full_name in every])
        return
    table = rich.table.Table(box=None, pad_edge=False, collapse_padding=True)
    for column in ("dataset", "images", "shape", "factors", "source", "licence"):
        table.add_column(column, no_wrap=True, justify="right" if column in ("images", "factors") else "left")
    for name in benchmark_data.names():
        for full_name in benchmark_data.configs(name):
            dataset = benchmark_data.load(full_name)
            table.add_row(
                full_name,
                f"{len(dataset):,}",
                "x".join(map(str, dataset.image_shape)),
                str(len(dataset.space.factors)),
                source_kind(dataset),
                dataset.license if len(dataset.license) <= LICENSE_WIDTH else "see info",
            )
    out.print(table, highlight=False)
    say("\noffaxis data info NAME tells more, offaxis data sheet NAME shows the images.")


@app.command()
def info(name: NameOrFolder, json: console.Json = False) -> None:
    """Show what is known about one dataset: factors, licence, citation, known defects, digest."""
    from benchmark_data.archives.archive import Archive
    from benchmark_data.commands.descriptions import description, factor_table, source_kind, stores

    dataset = benchmark_data.named_or_folder(name)
    if json:
        out.print_json(data=description(dataset), allow_nan=False)
        return
    configs = () if source_kind(dataset) == "own" else benchmark_data.configs(dataset.name)
    say(f"{dataset.id} {dataset.version}\n{dataset.description}\n")
    facts = rich.table.Table(box=None, show_header=False, pad_edge=False)
    facts.add_row("images", f"{len(dataset):,} of shape {dataset.image_shape}, uint8")
    facts.add_row("splits", ", ".join(f"{split}: {len(rows):,}" for split, rows in dataset.splits.items()))
    for extra, known in dataset.extras.items():
        facts.add_row("beside them", f"{extra}: {known.meaning}, {known.dtype} of shape {known.shape}")
    facts.add_row("configs", ", ".join(configs) if len(configs) > 1 else "this one only")
    kind = source_kind(dataset)
    facts.add_row(
        "source",
        {
            "download": "archive, to be downloaded",
            "derive": "values of a latent, which `offaxis train derive-perturbation` makes",
            "own": f"the pictures in {rich.markup.escape(name)}",
        }.get(kind, kind),
    )
    for archive in (cached for cached in stores(dataset) if isinstance(cached, Archive)):
        for download in (download for distribution in archive.distributions for download in distribution.files):
            hosts = dict.fromkeys(urllib.parse.urlsplit(url).netloc for url in download.urls)
            facts.add_row("file", rich.markup.escape(f"{download.name} from {', then '.join(hosts)}. {download.note}"))
    facts.add_row("licence", dataset.license + ("" if dataset.redistributable else " (copies may not be published)"))
    facts.add_row("homepage", dataset.homepage)
    for defect in dataset.defects:
        facts.add_row("known defect", rich.markup.escape(defect))
    if dataset.prepared:
        digest = dataset.digest()
        facts.add_row("quick digest", f"pixels {digest.pixels[:16]}, factors {digest.factors[:16]}")
    out.print(facts, highlight=False)
    out.print()
    out.print(factor_table(dataset), highlight=False)
    say(f"\n{dataset.citation}")


@app.command()
def splits(name: Name) -> None:
    """List the splits of a dataset by published rules: their rows and the digests of the row lists."""
    from benchmark_data.variants import splitting

    dataset = benchmark_data.load(name)
    splitting.check_undivided(dataset)
    table = rich.table.Table(box=None, pad_edge=False, collapse_padding=True)
    for column in ("split", "train", "test", "digest of train", "digest of test"):
        whole = not column.startswith("digest")  # a digest is cut before a name is
        table.add_column(column, no_wrap=whole, justify="right" if column in ("train", "test") else "left")
    for each in benchmark_data.split_names(dataset):
        found = benchmark_data.split(dataset, each)
        digests = (found.digests[part][:16] for part in ("train", "test"))
        table.add_row(each, f"{len(found.train):,}", f"{len(found.test):,}", *digests)
    out.print(table, highlight=False)
    say(
        f"\n{dataset.id} divided by one of them: benchmark_data.load({splitting.joined(dataset.id, 'random')!r}), or "
        f"offaxis train run --dataset {dataset.id} --split random"
    )


@app.command()
def sheet(
    name: NameOrFolder, file: Annotated[Path, typer.Option("--out", metavar="FILE.png", help="The PNG to write.")]
) -> None:
    """Draw random images and a traversal of each factor into one PNG."""
    check_ending("--out", file, ".png")
    dataset = benchmark_data.named_or_folder(name)
    from benchmark_data.inspect import contact_sheets

    picture = contact_sheets.sheet(dataset)
    with written_atomically(file) as temporary:
        picture.save(temporary, format="PNG", optimize=True)
    say(f"{file}: {picture.width} x {picture.height} pixels")


Configs = Annotated[list[str] | None, typer.Option("--config", help="A config; may be given several times.")]
Every = Annotated[bool, typer.Option("--all", help="Every config.")]
ManualDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", envvar=downloads.MANUAL_DIR, help="Where your own copies of source files lie."),
]
Shuffled = Annotated[
    bool, typer.Option("--shuffled", help="Rows in a fixed random order, as a config of their own, for streaming.")
]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Work on this Ray cluster; local starts one on this machine."),
]


@app.command()
def distances(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME|FOLDER...",
            help="Datasets, configs, or folders of pictures with one CSV file of labels; one or more.",
            autocompletion=names_like,
        ),
    ],
    config: Configs = None,
    every: Every = False,
    pairs: Annotated[int, typer.Option(min=2, help="Random pairs for each factor.")] = 10_000,
    traversals: Annotated[int, typer.Option(min=1, help="Random traversals of each factor.")] = 200,
    factor: Annotated[
        list[str] | None, typer.Option(help="A factor to traverse; may be given several times; all by default.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the table to this file too.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--matrices", metavar="DIR", help="Write distance matrices and draw them.")
    ] = None,
) -> None:
    """Measure how far apart images are along each factor, as a VAE sees it, beside published figures.

    A distance is the mean squared error of pixels scaled to [0, 1], averaged
    over random pairs of images that differ in one factor. The correlations
    compare it with the distance between class ids: near 1, pixels alone put the
    factor's values in order. "-" stands where they are all equally far apart.

    --matrices writes matrices.csv, correlations.csv and a picture of each
    config, and one of them side by side if several of a dataset have the same
    factors. A dataset that does not hold each combination of its factors once
    has no traversals: `audit` measures it.
    """
    needs("measuring distances", "metrics", "scipy", "pandas")
    check_ending("--csv", file, ".csv")
    datasets = []
    for dataset in [each for name in names for each in chosen(name, config, every)]:
        try:
            dataset.images([0])  # one that is not ready says so before the others are measured
        except Unavailable as error:
            if not every:
                raise
            console.tell(f"left out: {error}", style="yellow")
        else:
            datasets.append(dataset)
    from benchmark_data.inspect import distances as measured

    rows: list[dict[str, object]] = []
    matrices: dict[str, dict[str, Matrices]] = {}
    for dataset in datasets:
        gridded = dataset.space.full
        varying = [each.name for each in dataset.space.factors if each.size > 1]
        if varying and not gridded:
            console.tell(
                f"{dataset.id}: random pairs only, since it does not hold each combination of its factors once; "
                f"left out: {', '.join(varying)}. offaxis data audit measures such factors"
            )
        traversed = varying if gridded or (folder and len(datasets) == 1) else []
        if factor:
            traversed = [each for each in factor if dataset.space.sizes[dataset.space.column(each)] > 1]
        matrices[dataset.id] = {}
        with console.progress() as bars:
            bar = bars.add_task(f"{dataset.id}: factors traversed", total=len(traversed))
            for each in traversed:
                matrices[dataset.id][each] = measured.matrices(dataset, each, traversals=traversals)
                bars.advance(bar)
            bar = bars.add_task(f"{dataset.id}: pairs compared", total=pairs * (len(varying) * gridded + 1))
            found = measured.pair_distances(
                dataset,
                pairs=pairs,
                progress=lambda done: bars.advance(bar, done),  # noqa: B023  called in this turn
            )
        if len(datasets) > 1:
            say(f"\n{dataset.id}" if rows else dataset.id)
        say(f"mean pixel of each channel, in 0 to 1: {numbers(measured.channel_means(dataset))}")
        rows += print_distances(dataset, found, matrices[dataset.id])
    if file is not None:
        write_table(rows, file)
    if folder is not None:
        write_matrices(datasets, matrices, folder)


def print_distances(
    dataset: Dataset, found: Mapping[str, PairDistance], matrices: Mapping[str, Matrices]
) -> list[dict[str, object]]:
    """Print how far apart one dataset's images are.

    Returns:
        What was printed, a row for each factor and one for random pairs.
    """
    from benchmark_data.inspect import distances as measured

    published_for, published = measured.published(dataset.id)
    if published:
        say(f"published for {published_for}: {numbers(measured.PUBLISHED_MEANS[published_for])}")
    table = rich.table.Table(
        "factor", "mean distance", "standard error", "published", "Pearson", "Spearman", box=None, pad_edge=False
    )
    rows: list[dict[str, object]] = []
    for factor, distance in found.items():
        nothing = measured.Correlation(math.nan, math.nan)
        agreement = measured.correlation(matrices[factor]) if factor in matrices else nothing
        beside = published.get(factor, math.nan)
        rows.append(
            {
                "dataset": dataset.id,
                "version": dataset.version,
                "factor": factor,
                "mean_distance": distance.mean,
                "standard_error": distance.error,
                "pairs": distance.pairs,
                "published_for": published_for if factor in published else "",
                "published_distance": beside,
                **agreement._asdict(),
            }
        )
        figures = [(distance.mean, 5), (distance.error, 5), (beside, 4), *((figure, 3) for figure in agreement)]
        table.add_row(factor, *("-" if math.isnan(figure) else f"{figure:.{digits}f}" for figure, digits in figures))
    out.print(table, highlight=False)
    return rows


def write_matrices(datasets: Sequence[Dataset], matrices: Mapping[str, Mapping[str, Matrices]], folder: Path) -> None:
    """Write distance matrices as numbers and as pictures.

    Args:
        datasets: the datasets.
        matrices: full name of each, factor -> the matrices.
        folder: where to write ``matrices.csv``, ``correlations.csv`` and the pictures.
    """
    from benchmark_data.inspect import contact_sheets
    from benchmark_data.inspect import distances as measured

    entries: list[dict[str, object]] = []
    correlations: list[dict[str, object]] = []
    for dataset in datasets:
        for factor, (ground_truth, perceived) in matrices[dataset.id].items():
            known = {"dataset": dataset.id, "version": dataset.version, "factor": factor}
            agreement = measured.correlation(measured.Matrices(ground_truth, perceived))
            correlations.append({**known, **agreement._asdict()})
            entries += (
                {**known, "first": i, "second": j, "ground_truth": ground_truth[i, j], "perceived": perceived[i, j]}
                for i in range(len(perceived))
                for j in range(len(perceived))
            )
    write_table(entries, folder / "matrices.csv")
    write_table(correlations, folder / "correlations.csv")
    pictures = {
        full_name.replace("/", "_"): contact_sheets.distance_matrices(m) for full_name, m in matrices.items() if m
    }
    for name in dict.fromkeys(dataset.name for dataset in datasets):
        configs = {one.id: matrices[one.id] for one in datasets if one.name == name and matrices[one.id]}
        if len(configs) > 1 and len({tuple(of_one) for of_one in configs.values()}) == 1:
            pictures[name] = contact_sheets.perceived_side_by_side(configs)
    for stem, picture in pictures.items():
        with written_atomically(folder / f"{stem}.png") as temporary:
            picture.save(temporary, format="PNG", optimize=True)
        say(f"written: {folder / stem}.png")


@app.command()
def audit(
    name: NameOrFolder,
    traversals: Annotated[int, typer.Option(min=2, help="Traversals of each factor.")] = 200,
    pairs: Annotated[int, typer.Option(min=2, help="Random pairs, and images searched for collisions.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")] = 0,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers to this file.")] = None,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a page with pictures to this file.")
    ] = None,
) -> None:
    """Measure how far a dataset's pixels give its factors away.

    The giveaway is 0 where pixel distance says nothing of the order of the
    factors' values, and 1 where it tells all of it. In brackets stand 95%
    intervals. docs/audit.md explains each column.
    """
    needs("the audit", "metrics", "scipy", "pandas")
    check_ending("--json", json, ".json")
    check_ending("--out", file, ".html")
    dataset = benchmark_data.named_or_folder(name)
    dataset.images([0])  # one that is not ready says so before anything is measured
    from benchmark_data.inspect import audit as measured
    from benchmark_data.inspect import audit_page

    with console.progress() as bars:
        steps = 1 + sum(factor.size > 1 for factor in dataset.space.factors)
        bar = bars.add_task(f"{dataset.id}: factors measured", total=steps)
        found = measured.audit(
            dataset, traversals=traversals, pairs=pairs, seed=seed, progress=lambda done: bars.advance(bar, done)
        )
    headings, rows = audit_page.table(found)
    shown = rich.table.Table(box=None, pad_edge=False, collapse_padding=True)
    for place, heading in enumerate(headings):
        shown.add_column(heading, no_wrap=True, justify="left" if place < 2 else "right")
    for row in rows:
        shown.add_row(*map(rich.markup.escape, row))
    say(f"{found.dataset} {found.version}: {found.images:,} images")
    out.print(shown, highlight=False)
    for line in audit_page.summary(found):
        say(line)
    if json is not None:
        write_json(json, found.as_json())
        say(f"written: {json}")
    if file is not None:
        write_text(file, audit_page.page(dataset, found))
        say(f"written: {file}")


def write_table(rows: Sequence[Mapping[str, object]], file: Path) -> None:
    """Write rows as CSV."""
    import pandas as pd

    with written_atomically(file) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False, lineterminator="\n")
    say(f"written: {file}")


@app.command()
def prepare(
    name: Name,
    config: Configs = None,
    every: Every = False,
    manual_dir: ManualDir = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds without a byte before a mirror is given up.")] = 60.0,
    discard_downloads: Annotated[
        bool, typer.Option("--discard-downloads", help="Remove downloaded files once they are prepared.")
    ] = False,
) -> None:
    """Fetch a dataset's files, check them and make them ready to read. Rendered datasets need none of it.

    What is on this machine is not fetched again, and what broke off is resumed.
    OFFAXIS_CACHE chooses the folder. Your own copies are used where they lie.
    """
    from benchmark_data.commands.descriptions import stores

    for dataset in chosen(name, config, every):
        dataset.prepare(manual_dir=manual_dir, timeout=timeout, keep_downloads=not discard_downloads)
        digest = dataset.digest()
        say(f"{dataset.id} {dataset.version}: {len(dataset):,} images, ready")
        for cached in stores(dataset):
            say(f"  in {cached.folder}")
            for source in cached.store().meta["sources"]:
                if "sha256" in source:
                    say(f"  {source['name']}: {source['size']:,} bytes, SHA-256 {source['sha256']}, {source['origin']}")
                    if source["difference"]:
                        say(f"  its bytes are not those whose hash was published, but {source['difference']}")
            for what, found in cached.store().meta["notes"].items():
                say(f"  {what}: {found}")
        say(f"  quick digest: pixels {digest.pixels}, factors {digest.factors}")


@app.command()
def get(
    name: Name,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write.")],
    split: Annotated[
        str | None, typer.Option(help="Such as train, train[:1000] or train[:10%]+test; all images if not given.")
    ] = None,
) -> None:
    """Write images as PNG files and their factors as one CSV file, to use without any framework.

    metadata.csv has a line for each image: its file, its row, and the class id and
    the value of each factor. It is written last, so a folder that has it is whole.
    The same command goes on where it was interrupted.
    """
    dataset = benchmark_data.load(name)
    from benchmark_data import reading
    from benchmark_data.publish import pictures

    dataset.prepare()
    rows = reading.rows_of(dataset, split)
    with console.progress() as bars:
        bar = bars.add_task(f"{dataset.id}: images written", total=len(rows))
        file = pictures.write(dataset, rows, to, split=split, progress=lambda n: bars.advance(bar, n))
    say(f"{file}: {len(rows):,} images")


@app.command("selftest")
def self_test(
    name: Name,
    config: Configs = None,
    every: Every = False,
    manual_dir: ManualDir = None,
    quick: Annotated[bool, typer.Option("--quick", help="Compare 1,024 rows of each copy instead of all.")] = False,
    work: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where copies are built, and removed again; a temporary folder.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE.md", help="Write the report here, too.")] = None,
) -> None:
    """Fetch, prepare, check and build a dataset, and print a report to paste into an issue. Exit with 1 on failure.

    For machines with internet, to find out whether the published files are what
    this package takes them for: counts, means, distances of pairs, digests, and
    the copies that TensorFlow Datasets and Hugging Face read.
    """
    from benchmark_data.commands import selftest

    check_ending("--out", to, ".md")
    datasets = chosen(name, config, every)
    reports = [selftest.run(dataset, manual_dir=manual_dir, full=not quick, folder=work) for dataset in datasets]
    text = selftest.report(reports)
    say(text)
    if to is not None:
        write_text(to, text + "\n")
    raise typer.Exit(int(any(step.failed for each in reports for step in each.steps)))


@app.command()
def build(
    name: Name,
    to: Annotated[Path | None, typer.Option(help="TFDS's data_dir; TFDS's own default if not given.")] = None,
    config: Configs = None,
    every: Every = False,
    file_format: Annotated[str | None, typer.Option(help="array_record (default), tfrecord or parquet.")] = None,
    shuffled: Shuffled = False,
    ray: Ray = None,
) -> None:
    """Build files for TensorFlow Datasets, which `tfds.load` and `tfds.data_source` then read."""
    datasets = chosen(name, config, every)
    from benchmark_data import parallel, tfds

    with parallel.on_ray(ray):
        for dataset in datasets:
            folder = tfds.build(dataset, to, file_format=file_format, shuffled=shuffled)
            out.print(f"{dataset.id}: {folder}", markup=False, highlight=False)


@app.command()
def publish(
    name: Name,
    to: Annotated[Path, typer.Option(help="The folder to write; configs of one dataset share it.")],
    config: Configs = None,
    every: Every = False,
    shuffled: Shuffled = False,
    ray: Ray = None,
) -> None:
    """Write a folder for the Hugging Face Hub: Parquet files, a card and croissant.json, to load without our code."""
    datasets = chosen(name, config, every)
    from benchmark_data import hf, parallel
    from benchmark_data.publish import card

    for dataset in datasets:
        hf.check_publishable(dataset, to)
    for dataset in datasets:
        total = sum(len(rows) for rows in dataset.splits.values()) + len(dataset)
        with parallel.on_ray(ray), console.progress() as bars:
            bar = bars.add_task(f"{dataset.id}: rows written and hashed", total=total)
            hf.publish(
                dataset,
                to,
                shuffled=shuffled,
                progress=lambda rows: bars.advance(bar, rows),  # noqa: B023  called in this turn
            )
        out.print(f"{dataset.id}: {to / card.config_name(dataset, shuffled=shuffled)}", markup=False, highlight=False)
    out.print(
        f"Upload it with: hf upload --repo-type dataset YOU/{datasets[0].name} {shlex.quote(str(to))}",
        markup=False,
        highlight=False,
    )


@app.command()
def verify(
    name: Name,
    tfds: Annotated[Path | None, typer.Option(help="Compare the copy in this data_dir of TFDS.")] = None,
    hf: Annotated[Path | None, typer.Option(help="Compare the copy in this folder made by `publish`.")] = None,
    config: Configs = None,
    every: Every = False,
    full: Annotated[bool, typer.Option("--full", help="Read every row instead of 1,024.")] = False,
    ray: Ray = None,
) -> None:
    """Recompute pixel and factor digests of a dataset and of its copies. Exit with 1 if they differ."""
    from benchmark_data import parallel
    from benchmark_data.publish.verify import Kind, check_readable, work
    from benchmark_data.publish.verify import verify as findings_of

    given: list[tuple[Kind, Path | None]] = [("tfds", tfds), ("hf", hf)]
    copies = [(kind, path) for kind, path in given if path is not None]
    for kind, _ in copies:
        check_readable(kind)
    table = rich.table.Table(box=None, pad_edge=False, collapse_padding=True)
    for column in ("dataset", "copy", "pixels", "factors", "result"):
        whole = column in ("dataset", "result")  # a digest is cut before a name is; no path and no name loses a letter
        digest = column in ("pixels", "factors")
        table.add_column(column, no_wrap=whole, overflow="ellipsis" if digest else "fold")
    wrong = []
    for dataset in chosen(name, config, every):
        with parallel.on_ray(ray), console.progress() as bars:
            bar = bars.add_task(f"{dataset.id}: rows hashed", total=work(dataset, copies, full=full))
            found = findings_of(dataset, copies, full=full, progress=lambda n: bars.advance(bar, n))  # noqa: B023
        for finding in found:
            hashes = [h[:16] for h in finding.digest] if finding.digest else ["", ""]
            result = "wrong" if finding.problem else "ok"
            table.add_row(dataset.id, rich.markup.escape(finding.copy), *hashes, result)
            wrong += [f"{dataset.id}, {finding.copy}: {finding.problem}"] * bool(finding.problem)
    out.print(table, highlight=False)
    for line in wrong:
        say(line)
    raise typer.Exit(int(bool(wrong)))


def chosen(name: str, configs: Sequence[str] | None, every: bool) -> list[Dataset]:
    """Return the datasets that a command shall work on.

    Args:
        name: a dataset, or one of its configs.
        configs: configs, where ``name`` names none; the default one if None.
        every: all configs instead.

    Returns:
        One or more datasets.

    Raises:
        UnknownName: there is no such dataset or config.
        InvalidInput: the config is said twice.
    """
    if sum(("/" in name, bool(configs), every)) > 1:
        raise InvalidInput(
            "config", expected="one of NAME/CONFIG, --config and --all", received="more than one of them"
        )
    if every:
        return [benchmark_data.load(full_name) for full_name in benchmark_data.configs(name)]
    if configs:
        return [benchmark_data.load(f"{name}/{config}") for config in configs]
    return [benchmark_data.named_or_folder(name)]


def numbers(values: Iterable[float]) -> str:
    """Write numbers in [0, 1] side by side."""
    return ", ".join(f"{value:.6f}" for value in values)


Anything = Annotated[list[str] | None, typer.Argument(show_default=False)]


@app.command("download", hidden=True, context_settings={"ignore_unknown_options": True})
def download(names: Anything = None) -> None:
    """Name the command that fetches datasets."""
    raise _called("download", "prepare", names)


@app.command("show", hidden=True, context_settings={"ignore_unknown_options": True})
def show(names: Anything = None) -> None:
    """Name the command that draws datasets."""
    raise _called("show", "sheet", names)


def _called(wrong: str, right: str, names: Sequence[str] | None) -> InvalidInput:
    """Describe what a command is called that others have under another name."""
    name = names[0] if names else "NAME"
    more = f" --out {name.replace('/', '_')}.png" if right == "sheet" else ""
    return InvalidInput(
        "command",
        expected=f"{right!r}",
        received=repr(wrong),
        remedy=f"Did you mean: offaxis data {right} {name}{more}",
    )
