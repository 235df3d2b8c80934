"""``offaxis board transfer``: will an encoder that was trained on one dataset serve on another?"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmark_data import console, files
from benchmark_data.commands.arguments import names_like
from benchmark_data.console import say
from benchmark_data.errors import InvalidInput, needs
from leaderboard.commands.compare import BackendName, Memory, SimilarityName, averaged
from leaderboard.commands.tables import To, show, write

transfer = console.command_line(
    "Will an encoder that was trained on one dataset serve on another?\n\n"
    "Encode the target's images with each encoder (offaxis board rows TARGET says which), then compare what can be "
    "read from the codes."
)


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

    offaxis board transfer accuracy sprites2d --codes sprites2d=runs/a --codes solids=solids.npz --codes PCA=runs/pca
    --to transfer.png
    """
    needs("this command", "metrics", "pandas")
    import numpy as np
    import pandas as pd

    import benchmark_data
    from leaderboard.analyses import transfer_accuracy as evaluation
    from leaderboard.reading import representations

    files.check_ending("--to", to, ".png")
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
    write(averages, to.with_suffix(".averages.csv"))
    write(table, to, shown=averages)
    for fitted in classifiers:
        show(
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
    averaged(source, target, to, similarity, memory, backend, ("trained on the source", "trained on the target"))


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

    files.check_ending("--to", to, ".png")
    found = representations.arrays(file, ["targets", "reconstructions"])
    evaluation.draw_shared(found["targets"], found["reconstructions"], to, columns=columns)
    say(to)


@transfer.command("evaluate")
def transfer_evaluate(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="The dataset whose labels are read.", autocompletion=names_like),
    ],
    codes: Annotated[
        list[str],
        typer.Option(
            metavar="RUN | RUN=FILE | METHOD:SOURCE=FILE",
            help="A run folder on the target itself, or a reference; a run on another dataset and its codes of the "
            "target's rows; or such codes by any encoder, trained on SOURCE. Repeat it; METHOD:SOURCE given twice is "
            "two seeds.",
        ),
    ],
    into: Annotated[Path, typer.Option(help="The results tree to write to. It is made where it is missing.")],
) -> None:
    """Measure what classifiers read from codes of a target, and add it to the transfer matrix of a results tree.

    offaxis board transfer evaluate sprites2d --codes runs/solids/beta_vae=codes.npz --codes runs/pca --into results
    """
    from leaderboard import protocol
    from leaderboard.scoring import candidates, transfer_matrix
    from leaderboard.store import transfers

    task = protocol.task(target)
    encoded: list[transfer_matrix.Encoded] = []
    for given in codes:
        name, equals, path = given.partition("=")
        method, colon, source = name.partition(":")
        if (Path(given) / "run.json").is_file():
            one = transfer_matrix.of_run(given, target=target)
        elif equals and (Path(name) / "run.json").is_file():
            one = transfer_matrix.of_run(name, path, target)
        elif equals and colon:
            seed = sum((one.method, one.source) == (method, source) for one in encoded)
            one = transfer_matrix.Encoded(method, source, seed, candidates.read_codes(path, task), method)
        else:
            raise InvalidInput("--codes", expected="a run folder, RUN=FILE or METHOD:SOURCE=FILE", received=repr(given))
        encoded.append(one)
    fits, fitted = 2 * len(encoded), itertools.count(1)
    with console.working("fitting", fits) as told:
        measured = transfer_matrix.measure(target, encoded, progress=lambda what: told(what, next(fitted), fits))
        written = transfers.write(into, measured)
    for file in written:
        say(file)
