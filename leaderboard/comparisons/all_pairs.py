"""CKA between the layers of all pairs of many snapshots: the scale of the papers, 470 million scores.

Each snapshot's Gram matrices are made once and kept in a file, tile by tile, so that a score is the inner product of
two rows of two files, and the scores of a block of snapshots against another are one matrix product read in strips. A
task is one file of Gram matrices or one block of scores; tasks run in worker processes or, inside
``benchmark_data.parallel.on_ray``, on a Ray cluster. What is done is kept: a study that was broken off
goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from benchmark_data import console
from benchmark_data.errors import DamagedFile, InvalidInput, needs
from benchmark_data.files import read_json, write_json, written_atomically
from benchmark_data.parallel import in_parallel
from leaderboard.arrays import check_codes
from leaderboard.comparisons._products import Backend, tiles
from leaderboard.reading import representations

BLOCK = 32
"""Snapshots on either side of a block of scores."""

_TILE = 1000
_KEYS = ["x", "layer_x", "y", "layer_y"]
_PLAIN = set(string.ascii_letters + string.digits + "_-.")


def run(
    snapshots: Mapping[str, str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    study: str = "study",
    debiased: bool = False,
    memory: float = 1.0,
    jobs: int | None = None,
    backend: Backend = "numpy",
) -> Path:
    """Compare all layers of all snapshots with each other.

    Args:
        snapshots: name to the run folder or file of its activations (see
            ``leaderboard.reading.representations.activations``), all of the same samples in the same order.
            Names say what is to be told apart later, such as ``"beta_vae/beta=4/seed=0/step=11520"``.
        folder: where to keep everything. Several studies can share a folder, and then the Gram matrices too. These take
            about 2 n² bytes per layer and may be removed when all is done.
        study: its name, by which the table is partitioned.
        debiased: use debiased CKA (see ``leaderboard.comparisons.cka``).
        memory: GiB for the strips of Gram matrices of one block, per job.
        jobs: worker processes; None for one per core. Ray uses the cores of its nodes.
        backend: what makes the Gram matrices: ``"numpy"``, or ``"jax"`` on a GPU where it finds one.

    Returns:
        The folder of the table, ``folder/scores``: Parquet, partitioned by ``study``, with a row for each pair of
        snapshots and each pair of their layers: ``x``, ``layer_x``, ``y``, ``layer_y``, ``similarity`` (float32). A
        pair stands there once, with x before y in the order given or equal to it. Read it with ``pandas.read_parquet``
        or DuckDB.

    Raises:
        InvalidInput: no snapshots, different samples, activations that changed since their Gram matrices were made, or
            a folder that holds another study of that name.
        DamagedFile: a file holds no activations, or no Gram matrices.
        MissingExtra: Parquet without pyarrow.
    """
    needs("writing Parquet", "board", "pyarrow")
    if not snapshots:
        raise InvalidInput("snapshots: expected at least one, received none.")
    if not study or not set(study) <= _PLAIN:
        raise InvalidInput(f"study: expected letters, digits, '_', '-' and '.', received {study!r}.")
    folder, names = Path(folder), list(snapshots)
    _claim(folder / f"{study}.json", {"schema": 1, "snapshots": names, "debiased": debiased, "block": BLOCK})
    paths = [folder / "grams" / _slug(name, debiased) for name in names]
    sources = [representations.activations_file(snapshots[name]) for name in names]
    todo = [
        (str(source), str(path), debiased, backend)
        for source, path in zip(sources, paths, strict=True)
        if not _made(path, source)
    ]
    target = folder / "scores" / f"study={study}"
    groups = [slice(start, start + BLOCK) for start in range(0, len(names), BLOCK)]
    work = [
        (names[x], [str(p) for p in paths[x]], names[y], [str(p) for p in paths[y]], str(part), memory)
        for (i, x), (j, y) in itertools.combinations_with_replacement(enumerate(groups), 2)
        if not (part := target / f"part-{i:04d}-{j:04d}.parquet").exists()
    ]
    with console.progress() as bars:
        list(bars.track(in_parallel(make_grams, todo, jobs), len(todo), description="Gram matrices"))
        samples = [_described(path).samples for path in paths]
        for name, n in zip(names, samples, strict=True):
            if n != samples[0]:
                raise InvalidInput(
                    f"{snapshots[name]}: expected {samples[0]} samples, as in {snapshots[names[0]]}, received {n}."
                )
        list(bars.track(in_parallel(score_block, work, jobs), len(work), description="blocks of scores"))
    return folder / "scores"


def snapshots(folder: str | os.PathLike[str], study: str = "study") -> list[str]:
    """List the snapshots of a study.

    Args:
        folder: as in ``run``.
        study: its name.

    Returns:
        Their names, in order.

    Raises:
        DamagedFile: there is no such study, or what describes it is damaged.
    """
    path = Path(folder) / f"{study}.json"
    content: Any = read_json(path)
    names = content.get("snapshots") if isinstance(content, dict) else None
    if not isinstance(names, list):
        raise DamagedFile(f"{path}: expected the description of a study, received {str(content)[:60]}.")
    return [str(name) for name in names]


def read(folder: str | os.PathLike[str], study: str, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Read the scores of some pairs of snapshots, without reading all.

    Args:
        folder: as in ``run``.
        study: its name.
        pairs: names of snapshots.

    Returns:
        The columns of the table that ``run`` describes, of these snapshots.

    Raises:
        DamagedFile: there are no scores.
    """
    path = Path(folder) / "scores" / f"study={study}"
    if not path.is_dir():
        raise DamagedFile(f"{path}: expected the scores of a study, received none. Run the study first.")
    names = sorted({name for pair in pairs for name in pair})
    return pd.read_parquet(path, filters=[("x", "in", names), ("y", "in", names)])


class Grams(NamedTuple):
    """A file of Gram matrices.

    Attributes:
        path: of the matrices, npy, float32 (layers, k).
        layers: their names.
        norms: float64 (layers,), the Frobenius norm of each; 0 for a constant layer.
        samples: n.
    """

    path: Path
    layers: list[str]
    norms: NDArray[np.float64]
    samples: int


def make_grams(activations: str, path: str, debiased: bool, backend: Backend) -> None:
    """Make one snapshot's file of Gram matrices, and beside it one that describes them, which is written last.

    Args:
        activations: a file of them.
        path: where to write, without suffix.
        debiased: as in ``run``.
        backend: as in ``run``.

    Raises:
        InvalidInput: layers that do not match, or a file that cannot be written.
        DamagedFile: not a file of activations.
        UnknownName: the file lacks a layer that it names.
    """
    found = representations.activations(activations)
    layers = {name: check_codes(array, f"{activations}: {name}") for name, array in found.items()}
    n = len(next(iter(layers.values())))
    if n < 4:
        raise InvalidInput(f"{activations}: expected at least four samples, received {n}.")
    sizes = [min(_TILE, n - start) for start in range(0, n, _TILE)]
    columns = sum(a * b for i, a in enumerate(sizes) for b in sizes[: i + 1])
    squares, at = np.zeros(len(layers)), 0
    with written_atomically(Path(path).with_suffix(".npy")) as temporary:
        file = open_memmap(temporary, mode="w+", dtype=np.float32, shape=(len(layers), columns))
        for weight, stack in tiles(list(layers.values()), _TILE, debiased=debiased, backend=backend):
            # A tile below the diagonal stands for two, so that the rows' inner products are the matrices' own.
            part = np.asarray(stack) * np.float32(np.sqrt(weight))
            file[:, at : at + part.shape[1]] = part
            squares += np.einsum("ij,ij->i", part, part, dtype=np.float64)
            at += part.shape[1]
        file.flush()
        del file
    description = {
        "layers": list(layers),
        "norms": np.sqrt(squares).tolist(),
        "samples": n,
        "source": _stamp(Path(activations)),
    }
    write_json(Path(path).with_suffix(".json"), description)


def score_block(
    names_x: list[str], paths_x: list[str], names_y: list[str], paths_y: list[str], part: str, memory: float
) -> None:
    """Score each snapshot of one group with each of another, and write the scores to one Parquet file.

    Args:
        names_x: the first group.
        paths_x: their Gram matrices, without suffix.
        names_y: the second group; if it is the first, each pair is written once.
        paths_y: their Gram matrices.
        part: the file to write.
        memory: GiB for the strips.

    Raises:
        DamagedFile: a file of Gram matrices is missing or cut short.
        InvalidInput: the file cannot be written.
    """
    xs, ys = ([_described(Path(path)) for path in paths] for paths in (paths_x, paths_y))
    files_x, files_y = ([_opened(gram) for gram in grams] for grams in (xs, ys))
    layers_x, layers_y = (sum(len(gram.layers) for gram in grams) for grams in (xs, ys))
    sums = np.zeros((layers_x, layers_y))
    width = max(1024, min(2**16, int(memory * 2**30 / (4 * (layers_x + layers_y)))))
    for start in range(0, files_x[0].shape[1], width):
        x, y = (np.concatenate([file[:, start : start + width] for file in files]) for files in (files_x, files_y))
        sums += x @ y.T  # float32 within a strip, float64 over them
    scale = np.outer(*(np.concatenate([gram.norms for gram in grams]) for grams in (xs, ys)))
    similarity = np.minimum(np.divide(sums, scale, out=np.zeros_like(scale), where=scale > 0), 1.0).astype(np.float32)
    tables, row = [], 0
    for i, (name_x, gram_x) in enumerate(zip(names_x, xs, strict=True)):
        column = 0
        for j, (name_y, gram_y) in enumerate(zip(names_y, ys, strict=True)):
            cells = similarity[row : row + len(gram_x.layers), column : column + len(gram_y.layers)]
            column += len(gram_y.layers)
            if names_x == names_y and j < i:
                continue
            index = pd.MultiIndex.from_product([[name_x], gram_x.layers, [name_y], gram_y.layers], names=_KEYS)
            tables.append(pd.DataFrame({"similarity": cells.ravel()}, index).reset_index())
        row += len(gram_x.layers)
    with written_atomically(part) as temporary:
        pd.concat(tables).to_parquet(temporary, index=False)


def heatmap(scores: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Average the scores of pairs of snapshots into one heatmap: equation 6 of Bonheme and Grzes (2023).

    Args:
        scores: the table of a study.
        pairs: names of snapshots, one pair for each seed, whichever comes first in the study.

    Returns:
        One row per layer of the first of each pair, one column per layer of the second, as
        ``leaderboard.comparisons.heatmap.compare_layers`` gives it.

    Raises:
        InvalidInput: no pairs, a pair that is not in the table, or pairs with different layers.
    """
    if not pairs:
        raise InvalidInput("pairs: expected at least one, received none.")
    frames: list[pd.DataFrame] = []
    for x, y in pairs:
        straight = scores[(scores["x"] == x) & (scores["y"] == y)]
        turned = scores[(scores["x"] == y) & (scores["y"] == x)]
        if straight.empty and turned.empty:
            raise InvalidInput(f"pairs: expected snapshots of the study, received {x!r} and {y!r}.")
        if straight.empty:
            straight = turned.rename(columns={"layer_x": "layer_y", "layer_y": "layer_x"})
        frame = straight.set_index(["layer_x", "layer_y"])["similarity"].astype(np.float64).unstack()
        frame = frame.loc[straight["layer_x"].unique(), straight["layer_y"].unique()]
        if frames and not (frame.index.equals(frames[0].index) and frame.columns.equals(frames[0].columns)):
            raise InvalidInput(
                f"layers of {x!r} and {y!r}: expected those of the first pair: {', '.join(frames[0].index)} and "
                f"{', '.join(frames[0].columns)}, received {', '.join(frame.index)} and {', '.join(frame.columns)}."
            )
        frames.append(frame)
    mean = np.mean([frame.to_numpy() for frame in frames], axis=0)
    return pd.DataFrame(mean, index=frames[0].index.tolist(), columns=frames[0].columns.tolist())


def _made(path: Path, source: Path) -> bool:
    """Return whether a snapshot's Gram matrices are there; refuse if its activations changed since."""
    if not path.with_suffix(".json").exists():
        return False
    if source.exists() and (stamp := read_json(path.with_suffix(".json")).get("source")) != _stamp(source):
        raise InvalidInput(
            f"{source}: expected the activations that its Gram matrices were made of, {stamp}, received "
            f"{_stamp(source)}. Choose another folder for what changed."
        )
    return True


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}


def _described(path: Path) -> Grams:
    """Read what stands beside a file of Gram matrices."""
    content: Any = read_json(path.with_suffix(".json"))
    try:
        norms = np.array(content["norms"], dtype=np.float64)
        return Grams(path.with_suffix(".npy"), list(content["layers"]), norms, int(content["samples"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"{path.with_suffix('.json')}: expected a description of Gram matrices, received {error!r}."
        ) from error


def _opened(gram: Grams) -> NDArray[np.float32]:
    try:
        return np.asanyarray(np.load(gram.path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise DamagedFile(
            f"{gram.path}: expected a file of Gram matrices, received {error}. Remove "
            f"{gram.path.with_suffix('.json').name} beside it to have it made again."
        ) from error


def _claim(path: Path, content: dict[str, Any]) -> None:
    """Describe what the folder holds, or refuse to add something else to it."""
    if not path.exists():
        write_json(path, content)
    elif (found := read_json(path)) != content:
        raise InvalidInput(
            f"{path}: expected a study like this one, {content}, received {found}. Choose another folder."
        )


def _slug(name: str, debiased: bool) -> str:
    """Make a file name that no two snapshots share and no file system minds."""
    return hashlib.sha256(f"{name}\0{debiased}".encode()).hexdigest()[:16]
