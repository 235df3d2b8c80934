"""``offaxis data``: list datasets, look at them, measure them, and make copies for other libraries."""

from __future__ import annotations

import shlex
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import benchmark_data
from benchmark_data import console
from benchmark_data.archives import downloads
from benchmark_data.commands.arguments import NameOrFolder, Ray, names_like
from benchmark_data.console import out, say
from benchmark_data.errors import InvalidInput, needs
from benchmark_data.files import check_ending, write_json, written_atomically

if TYPE_CHECKING:
    from benchmark_data.dataset import Dataset

app = console.command_line("Datasets with known factors: list, look at, measure, prepare and build them.")

LICENSE_WIDTH = 10
"""Characters of a licence's name in a list of 80 columns."""

Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="Datasets or their configs, such as mpi3d/real.",
        autocompletion=names_like,
    ),
]
ManualDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", envvar=downloads.MANUAL_DIR, help="Folder with your own copies of source files."),
]


@app.command("list")
def list_datasets() -> None:
    """List every dataset and its configs."""
    from benchmark_data.commands.descriptions import source_kind

    loaded = [benchmark_data.load(config) for name in benchmark_data.names() for config in benchmark_data.configs(name)]
    rows = [
        (
            dataset.id,
            f"{len(dataset):,}",
            "x".join(map(str, dataset.image_shape)),
            str(len(dataset.space.factors)),
            source_kind(dataset),
            dataset.license if len(dataset.license) <= LICENSE_WIDTH else "see info",
        )
        for dataset in loaded
    ]
    console.table(rows, "dataset", ">images", "shape", ">factors", "source", "licence", whole=True)
    say("\nFor more: offaxis data info NAME, offaxis data show NAME --to FILE.png")


@app.command()
def info(
    name: NameOrFolder,
    splits: Annotated[bool, typer.Option("--splits", help="List the splits by published rules instead.")] = False,
) -> None:
    """Show the factors, licence, citation, known defects and digest of a dataset."""
    from benchmark_data.commands.descriptions import source_kind, value_range

    dataset = benchmark_data.named_or_folder(name)
    kind = source_kind(dataset)
    if splits:
        _list_splits(dataset, name if kind == "own" else "")
        return
    configs = () if kind == "own" else benchmark_data.configs(dataset.name)
    sources = {
        "download": "archive, to be downloaded",
        "derive": "values of a latent, to be computed by baselines.outputs.hidden_variable",
        "own": f"the pictures in {name}",
    }
    digest = dataset.digest() if dataset.prepared else None
    say(f"{dataset.id} {dataset.version}\n{dataset.description}\n")
    facts = [
        ("images", f"{len(dataset):,} of shape {dataset.image_shape}, uint8"),
        ("splits", ", ".join(f"{split}: {len(rows):,}" for split, rows in dataset.splits.items())),
        *(
            ("extra array", f"{extra_name}: {extra.meaning}, {extra.dtype} of shape {extra.shape}")
            for extra_name, extra in dataset.extras.items()
        ),
        ("configs", ", ".join(configs) if len(configs) > 1 else "this one only"),
        ("source", sources.get(kind, kind)),
        *(("file", text) for text in _describe_downloads(dataset)),
        ("licence", dataset.license + ("" if dataset.redistributable else " (copies may not be published)")),
        ("homepage", dataset.homepage),
        *(("known defect", defect) for defect in dataset.defects),
        *([("quick digest", f"pixels {digest.pixels[:16]}, factors {digest.factors[:16]}")] if digest else []),
    ]
    console.table(facts)
    out.print()
    factors = [(f.name, f.kind, str(f.size), value_range(f), f.unit) for f in dataset.space.factors]
    console.table(factors, "factor", "kind", "size", "values", "unit")
    say(f"\n{dataset.citation}")


def _describe_downloads(dataset: Dataset) -> list[str]:
    """Name the files that a dataset is downloaded as, and their hosts."""
    from benchmark_data.archives.archive import Archive
    from benchmark_data.commands.descriptions import stores

    texts = []
    for archive in (cached for cached in stores(dataset) if isinstance(cached, Archive)):
        for file in (file for distribution in archive.distributions for file in distribution.files):
            hosts = dict.fromkeys(urllib.parse.urlsplit(url).netloc for url in file.urls)
            texts.append(f"{file.name} from {', then '.join(hosts)}. {file.note}")
    return texts


def _list_splits(dataset: Dataset, folder: str) -> None:
    """List the splits of a dataset by published rules, with the digests of their row lists, and how one is used.

    Args:
        dataset: the dataset.
        folder: where the user's own images are; empty for a published dataset.
    """
    from benchmark_data.variants import splitting

    splitting.check_undivided(dataset)
    rows = []
    for name in benchmark_data.split_names(dataset):
        split = benchmark_data.split(dataset, name)
        digests = (split.digests[part][:16] for part in ("train", "test"))
        rows.append((name, f"{len(split.train):,}", f"{len(split.test):,}", *digests))
    console.table(rows, "split", ">train", ">test", "digest of train", "digest of test", whole=True)
    call, option = f"load({splitting.divided_name(dataset.id, 'random')!r})", f"--dataset {dataset.id}"
    if folder:
        call = f"split(benchmark_data.from_folder({folder!r}), 'random').dataset"
        option = f"--images {shlex.quote(folder)}"
    say(f"\nTo use one: benchmark_data.{call}, or offaxis train run {option} --split random --objective beta_vae")


@app.command()
def show(
    name: NameOrFolder, file: Annotated[Path, typer.Option("--to", metavar="FILE.png", help="The PNG to write.")]
) -> None:
    """Draw random images and a traversal of each factor into one PNG."""
    check_ending(file, ".png")
    dataset = benchmark_data.named_or_folder(name)
    if dataset.name not in benchmark_data.names() and file.resolve().is_relative_to(Path(name).resolve()):
        raise InvalidInput(
            f"--to: expected a file outside the folder {name}, whose pictures are read, received {file}."
        )
    from benchmark_data.inspect import contact_sheets

    picture = contact_sheets.sheet(dataset)
    with written_atomically(file) as temporary:
        picture.save(temporary, format="PNG", optimize=True)
    say(f"{file}: {picture.width} x {picture.height} pixels")


@app.command()
def audit(
    name: NameOrFolder,
    traversals: Annotated[int, typer.Option(min=2, help="Number of traversals of each factor.")] = 200,
    pairs: Annotated[int, typer.Option(min=2, help="Number of random pairs, and of images for collisions.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    file: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="Also write the results to this .json file."),
    ] = None,
) -> None:
    """Measure how far pixel distances reveal a dataset's factors.

    The giveaway is 1 if images look more alike the nearer their factor values
    are, and 0 if pixels do not show the order of the values. Brackets hold
    95% intervals. docs/audit.md explains each column.
    """
    needs("the audit", "metrics", "scipy", "pandas")
    check_ending(file, ".json")
    dataset = benchmark_data.named_or_folder(name)
    dataset.images([0])  # one that is not ready says so before anything is measured
    from benchmark_data.inspect import audit as audit_module
    from benchmark_data.inspect import audit_text, distances

    with console.progress() as bars:
        steps = 1 + sum(factor.size > 1 for factor in dataset.space.factors)
        bar = bars.add_task(f"audit of {dataset.id}", total=steps)
        result = audit_module.audit(
            dataset, traversals=traversals, pairs=pairs, seed=seed, progress=lambda done: bars.advance(bar, done)
        )
    say(f"{result.dataset} {result.version}: {result.images:,} images")
    headings, rows = audit_text.table(result)
    console.table(rows, *headings[:2], *(f">{heading}" for heading in headings[2:]), whole=True)
    for line in audit_text.summary(result):
        say(line)
    published_for, published_distances = distances.published(dataset.id)
    if published_distances:
        values = ", ".join(f"{factor} {distance:.4f}" for factor, distance in published_distances.items())
        say(f"published distances of {published_for} (arXiv 2202.13341): {values}")
    if file is not None:
        write_json(file, result.as_json())
        say(file)


@app.command()
def prepare(
    names: Names,
    manual_dir: ManualDir = None,
    discard_downloads: Annotated[
        bool, typer.Option("--discard-downloads", help="Delete downloaded files once they are prepared.")
    ] = False,
) -> None:
    """Download a dataset's files, check them and convert them. Rendered datasets do not need this step.

    Files on this machine are not fetched again, and interrupted downloads are
    resumed. OFFAXIS_CACHE names the folder; by default it is the user's cache
    (offaxis doctor prints it).
    """
    from benchmark_data.commands.descriptions import stores

    for dataset in list(map(benchmark_data.named_or_folder, names)):
        dataset.prepare(manual_dir=manual_dir, keep_downloads=not discard_downloads)
        digest = dataset.digest()
        say(f"{dataset.id} {dataset.version}: {len(dataset):,} images, ready")
        for cached in stores(dataset):
            say(f"  in {cached.folder}")
            for source in cached.store().meta["sources"]:
                if "sha256" in source:
                    say(f"  {source['name']}: {source['size']:,} bytes, SHA-256 {source['sha256']}, {source['origin']}")
                    if source["difference"]:
                        say(f"  warning: this is not the published file: it has {source['difference']}")
            for note, value in cached.store().meta["notes"].items():
                say(f"  {note}: {value}")
        say(f"  quick digest: pixels {digest.pixels}, factors {digest.factors}")


@app.command()
def build(
    names: Names,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="TFDS's data_dir. Default: that of TFDS.")] = None,
    ray: Ray = None,
) -> None:
    """Build files for TensorFlow Datasets, to be read by `tfds.load` and `tfds.data_source`."""
    datasets = [benchmark_data.named_or_folder(name) for name in names]
    from benchmark_data import parallel, tfds

    with parallel.on_ray(ray):
        for dataset in datasets:
            say(f"{dataset.id}: {tfds.build(dataset, to)}")


@app.command()
def publish(
    names: Names,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write; configs of one dataset share it.")],
    ray: Ray = None,
) -> None:
    """Write a folder for the Hugging Face Hub: Parquet files and a card."""
    datasets = [benchmark_data.named_or_folder(name) for name in names]
    from benchmark_data import hf, parallel
    from benchmark_data.publish import card

    if len(dataset_names := dict.fromkeys(dataset.name for dataset in datasets)) > 1:
        raise InvalidInput(f"{to}: expected configs of one dataset, received {', '.join(dataset_names)}. Publish one.")
    for dataset in datasets:
        hf.check_publishable(dataset, to)
    with parallel.on_ray(ray), console.progress() as bars:
        for dataset in datasets:
            total = sum(len(rows) for rows in dataset.splits.values()) + len(dataset)
            bar = bars.add_task(f"{dataset.id}: rows written and hashed", total=total)
            hf.publish(dataset, to, progress=lambda n: bars.advance(bar, n))  # noqa: B023
            say(f"{dataset.id}: {to / card.config_name(dataset)}")
    say(f"Upload it with: hf upload --repo-type dataset YOU/{datasets[0].name} {shlex.quote(str(to))}")


@app.command()
def verify(
    names: Names,
    tfds: Annotated[Path | None, typer.Option(metavar="DIR", help="Also check the copy in this TFDS data_dir.")] = None,
    hf: Annotated[Path | None, typer.Option(metavar="DIR", help="Also check this copy written by `publish`.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Read every row instead of 1,024.")] = False,
    ray: Ray = None,
) -> None:
    """Compute the digests of a dataset and of its copies, and compare them. Exit status 1 if they differ."""
    from benchmark_data import parallel
    from benchmark_data.publish.verify import Library, check_readable, count_rows
    from benchmark_data.publish.verify import verify as verify_copies

    requested: list[tuple[Library, Path | None]] = [("tfds", tfds), ("hf", hf)]
    copies = [(kind, path) for kind, path in requested if path is not None]
    for kind, _ in copies:
        check_readable(kind)
    rows, problems = [], []
    datasets = list(map(benchmark_data.named_or_folder, names))
    with parallel.on_ray(ray), console.progress() as bars:
        for dataset in datasets:
            bar = bars.add_task(f"{dataset.id}: rows hashed", total=count_rows(dataset, copies, full=full))
            findings = verify_copies(dataset, copies, full=full, progress=lambda n: bars.advance(bar, n))  # noqa: B023
            for finding in findings:
                hashes = [h[:16] for h in finding.digest] if finding.digest else ["", ""]
                rows.append((dataset.id, finding.copy, *hashes, "wrong" if finding.problem else "ok"))
                problems += [f"{dataset.id}, {finding.copy}: {finding.problem}"] * bool(finding.problem)
    console.table(rows, "dataset", "copy", "pixels", "factors", "result")
    for line in problems:
        say(line)
    raise typer.Exit(int(bool(problems)))
