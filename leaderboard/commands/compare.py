"""``offaxis board compare``, ``heatmap`` and ``udr``: representations of models compared with each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchmark_data import console, files
from benchmark_data.console import say
from benchmark_data.errors import InvalidInput, UnknownName, needs
from leaderboard.commands.tables import show, write

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

compare = console.command_line(
    "Compare all layers of many snapshots with each other: scores once, then any heatmap from them.\n\n"
    "A snapshot is a run folder with activations.npz, or a file of named arrays, and is called by its path."
)

Memory = Annotated[float, typer.Option(min=0.01, help="GiB of scratch space beside the activations.")]

BackendName = Annotated[
    Literal["numpy", "jax"], typer.Option(help="What multiplies matrices. jax uses a GPU where it finds one.")
]

SimilarityName = Annotated[
    Literal["cka", "cka_debiased", "procrustes", "smaller"],
    typer.Option(help="smaller: of cka and procrustes, for each pair, as the papers interpret them."),
]

Study = Annotated[str, typer.Option(help="Its name. Several studies can share a folder.")]


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
    averaged(*sides, to, similarity, memory, backend, (names[0], names[1]), title)


def averaged(
    x: list[Path],
    y: list[Path],
    to: Path,
    similarity: Literal["cka", "cka_debiased", "procrustes", "smaller"],
    memory: float,
    backend: Literal["numpy", "jax"],
    names: tuple[str, str],
    title: str = "",
) -> None:
    """Compare all layers of two models, averaged over pairs of runs: write picture and numbers, print the paths."""
    from leaderboard.comparisons import heatmap
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
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

    files.check_ending("--to", to, ".png")
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
    write(table, to)
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

    files.check_ending("--to", to, ".csv")
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
        show(table)
    else:
        write(table, to, shown=table)
