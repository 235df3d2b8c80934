"""Codes and activations from the files of any framework, or from an encoder in ONNX.

==================  ==================================================================================================
a run folder        ``codes.npz`` and ``activations.npz``, with ``run.json`` in the same folder
``.npz``            named arrays; ``layers``, an array of names, sets the order of layers
``.npy``            one array, named ``codes``
``.safetensors``    named tensors; ``layers`` in the metadata, a JSON list of names, sets the order of layers
``.onnx``           an encoder: its inputs are the images of a dataset
==================  ==================================================================================================

Rows are always samples. ``indices`` are their rows in the dataset; without it they must be the rows of the dataset's
task, in order. Codes of three axes are units of several numbers, which ``leaderboard.reading.units`` reduces to one
each. ``factors`` holds class ids, for data without a dataset here. Nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from benchmark_data import draws
from benchmark_data.archives import npz
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, needs
from benchmark_data.factors import Indices
from benchmark_data.files import in_run, read_json
from leaderboard import protocol
from leaderboard.arrays import check_codes, check_rows
from leaderboard.reading import encoders, units

__all__ = [
    "LabelledCodes",
    "Posterior",
    "activations",
    "arrays",
    "check_same_rows",
    "codes",
    "posterior",
]

Array: TypeAlias = NDArray[Any]
FilePath: TypeAlias = str | os.PathLike[str]

_NOT_LAYERS = ("layers", "indices", "factors", "codes", "factors_test", "codes_test")


class LabelledCodes(NamedTuple):
    """Codes, and the indices and factors of their samples.

    Attributes:
        codes: float32 or float64, shape (n, L).
        indices: rows of the dataset, int64 (n,); None where there is no dataset.
        factors: class ids, int64 (n, F), of the factors that have more than one value; None where they are unknown.
        names: the names of those factors, F of them.
        taken_for: the rows that are assumed, in words, where the file does not state them.
        dataset: its full name; empty where there is none.
    """

    codes: Array
    indices: Indices | None
    factors: Indices | None
    names: tuple[str, ...]
    taken_for: str = ""
    dataset: str = ""


def arrays(path: FilePath, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Read named arrays from a file.

    Args:
        path: a ``.npz``, ``.npy`` or ``.safetensors`` file.
        names: the arrays to read; all of them if None.

    Returns:
        Name to array, in the order asked for, or else in the file's.

    Raises:
        DamagedFile: no such file, not of the format that its name says, or holding pickled objects.
        UnknownName: there is no such array; the message lists those that there are.
        InvalidInput: an unknown suffix.
        MissingExtra: the package that reads the format is not installed.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "codes.npz"
        >>> np.savez(file, codes=np.zeros((5, 2)), indices=np.arange(5))
        >>> {name: array.shape for name, array in arrays(file).items()}
        {'codes': (5, 2), 'indices': (5,)}
    """
    path = Path(path)
    readers = {".npz": _npz, ".npy": _npy, ".safetensors": _safetensors}
    expected = f"a file {', '.join(readers)}, or a run folder"
    if not path.exists():
        raise DamagedFile(f"{path}: expected {expected}, received none: there is nothing of that name.")
    if path.suffix not in readers:
        received = path.suffix or ("another folder" if path.is_dir() else "a name without an ending")
        raise InvalidInput(f"{path}: expected {expected}, received {received}.")
    if not path.is_file():
        raise DamagedFile(f"{path}: expected a file, received a folder.")
    return readers[path.suffix](path, names)


def activations(path: FilePath, layers: Sequence[str] | None = None) -> dict[str, Array]:
    """Read the activations of layers.

    Args:
        path: a run folder with ``activations.npz``, or a file as for ``arrays``.
        layers: the layers to read; all of them if None.

    Returns:
        Layer name to array (n, p), in order from input to output; what has more axes is flattened.

    Raises:
        DamagedFile: as ``arrays``; or a run folder without activations.
        UnknownName: there is no such layer.
        InvalidInput: as ``arrays``; or layers of different samples, or none.
        MissingExtra: as ``arrays``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "activations.npz"
        >>> np.savez(path, conv_1=np.zeros((2, 4, 4, 8)), mean=np.zeros((2, 6)))
        >>> {layer: array.shape for layer, array in activations(path).items()}
        {'conv_1': (2, 128), 'mean': (2, 6)}
    """
    path = activations_file(path)
    layers = _order(path) if layers is None else layers
    found = arrays(path, layers)
    if layers is None:
        others = () if path.suffix == ".npy" else _NOT_LAYERS  # its one array is a layer, whatever it is called
        found = {k: v for k, v in found.items() if k not in others and v.ndim >= 2 and _is_layer(v)}
    if not found:
        raise InvalidInput(f"{path}: expected a layer, floats (n, ...) or integers (n, a, b, ...), received none.")
    if single := [name for name, array in found.items() if not array.ndim]:
        raise InvalidInput(f"layer {single[0]} of {path}: expected shape (n, ...), received a single number.")
    counts = {name: len(array) for name, array in found.items()}
    if len(set(counts.values())) > 1:
        raise InvalidInput(f"layers of {path}: expected the same samples in each, received {counts}.")
    return {name: array.reshape(len(array), math.prod(array.shape[1:])) for name, array in found.items()}


def _is_layer(array: Array) -> bool:
    """Return whether an array is a layer: floats, or images of integers; other integers are labels of some kind."""
    return array.dtype.kind == "f" or (array.dtype.kind in "iu" and (array.ndim >= 3 or array.dtype == np.uint8))


def activations_file(path: FilePath) -> Path:
    """Return the file that ``activations`` reads: ``activations.npz`` of a run folder, or the path itself."""
    return inside(path, "activations.npz", "encode --layers")


def check_same_rows(paths: Sequence[FilePath]) -> None:
    """Check that activations are of the same images, where their files say of which rows they are.

    Args:
        paths: run folders or files as for ``activations``.

    Raises:
        InvalidInput: two of them hold other rows, the same in another order, or those of other images.
        DamagedFile: as ``activations``.
        MissingExtra: as ``arrays``.
    """
    first: tuple[FilePath, dict[str, Array]] | None = None
    for path in paths:
        file = activations_file(path)
        found: dict[str, Array] = {}
        for name in ("indices", "input"):  # equal rows of two folders of pictures are other images
            with contextlib.suppress(UnknownName):
                found |= arrays(file, [name])
        if "indices" not in found:
            continue
        first = first or (path, found)
        if not all(np.array_equal(first[1][name], found[name]) for name in first[1].keys() & found.keys()):
            raise InvalidInput(
                f"activations of {path}: expected those of the images that {first[0]} has, in that order, received "
                "those of others. Write them of the same images: offaxis train encode --layers RUN... "
                "--dataset NAME"
            )


class Posterior(NamedTuple):
    """A Gaussian posterior over samples, with what went in.

    Attributes:
        mean: shape (n, L).
        variance: shape (n, L).
        sampled: one draw of each, shape (n, L), if the file has it.
        inputs: the images, shape (n, p), if the file has them.
    """

    mean: Array
    variance: Array
    sampled: Array | None
    inputs: Array | None


def posterior(path: FilePath) -> Posterior:
    """Read the posterior from a run's activations.

    Args:
        path: a run folder or file as for ``activations``, with the arrays ``mean`` and ``variance`` or
            ``log_variance``, and perhaps ``sampled`` and ``input``.

    Returns:
        The posterior.

    Raises:
        InvalidInput: there is no variance: the model has no posterior.
        DamagedFile: as ``activations``.
        UnknownName: as ``activations``.
        MissingExtra: as ``activations``.
    """
    found = activations(path)
    if "mean" not in found:
        raise UnknownName(f"layer of {path}", "mean", found)
    if "variance" not in found and "log_variance" not in found:
        raise InvalidInput(
            f"{path}: expected a layer variance or log_variance, received the layers {', '.join(found)}. A "
            "deterministic autoencoder has no posterior."
        )
    variance = found["variance"] if "variance" in found else np.exp(found["log_variance"].astype(np.float64))
    return Posterior(found["mean"], variance, found.get("sampled"), found.get("input"))


def codes(
    path: FilePath, *, dataset: Dataset | str | None = None, array: str | None = None, **encoding: Any
) -> LabelledCodes:
    """Read codes, and look up the factors of their samples.

    Args:
        path: a run folder, a file as for ``arrays``, or an ONNX encoder.
        dataset: the dataset that the codes were made from, or its full name, such as ``"dsprites"``. A run folder
            knows its own. Without one, and for a run on the user's own images, factors are those in the file, if any.
            Of a dataset that has no task, such as the user's own images, rows are taken in random order.
        array: the name of the array of codes. By default ``codes``, else ``mean``, else the only array that could be.
        **encoding: for `leaderboard.reading.encoders.encode`, where the file is an ONNX encoder.

    Returns:
        The codes, checked: float32 or float64, shape (n, L), with the factors of their samples, int64 (n, F).

    Raises:
        DamagedFile: as ``arrays``.
        UnknownName: there is no such array or dataset.
        InvalidInput: as ``arrays``; or codes that are no finite 2-d array, rows that the dataset does not have, another
            number of rows than the task's and no ``indices``; or a run, a submission's folder or the row list of a task
            on another dataset than the one that is asked for.
        MissingExtra: as ``arrays``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "codes.npz"
        >>> np.savez(path, codes=np.float32([[0.1], [0.9]]), indices=[0, 262143])  # rows of the dataset
        >>> codes(path, dataset="xysquares/spacing_8").factors.tolist()
        [[0, 0, 0, 0, 0, 0], [7, 7, 7, 7, 7, 7]]
    """
    path = Path(path)
    if path.suffix == ".onnx":
        if dataset is None:
            raise InvalidInput(f"{path}: expected the dataset to encode, received none. Name one: --dataset NAME.")
        asked = _asked(dataset)
        given = encoders.encode(path, asked.dataset, asked.rows, output=array or "", **encoding)
        found = units.reduced(given, f"codes of {path}", train=asked.train)
        return _labelled(found, asked.rows, asked)
    own = (path if path.is_dir() else path.parent) / "images.json"
    if dataset is not None and own.exists() and _loaded(dataset).name in benchmark_data.names():
        raise InvalidInput(f"{path} holds codes of user images, not of {_loaded(dataset).id}: leave out the dataset.")
    if said := _said_of(path):
        wanted = said if dataset is None else _loaded(dataset).id
        if wanted != said:
            raise InvalidInput(
                f"codes of {path}: expected codes of {wanted}, received codes of {said}. Write them: "
                f"offaxis train encode RUN --dataset {wanted} --to codes.npz"
            )
        dataset = said if path.is_dir() else dataset
    path = inside(path, "codes.npz", "encode")
    found_arrays = arrays(path)
    name = codes_name(path, found_arrays, array)
    given, what = found_arrays[name], f"{path}: {name}"
    if dataset is not None:
        asked, rows = _asked(dataset), found_arrays.get("indices")
        train = asked.train if rows is None or np.array_equal(rows, asked.rows) else None
        checked = check_codes(units.reduced(given, what, train=train), what)
        if rows is not None:
            _not_of_another_task(rows, asked, f"{path}: indices")
        labelled = _labelled(checked, rows, asked)
        told = found_arrays.get("factors") if asked.train is None else None
        if told is not None and rows is not None and not np.array_equal(asked.dataset.labels(rows), told):
            raise InvalidInput(
                f"{path}: factors: expected those of {asked.id}, received others: these are codes of other images. "
                "Leave out the dataset, or encode it: offaxis train encode RUN --dataset FOLDER --to codes.npz"
            )
        return labelled
    checked = check_codes(units.reduced(given, what), what)
    if "factors" not in found_arrays:
        return LabelledCodes(checked, None, None, ())
    checked, factors = check_rows(checked, found_arrays["factors"], what=(what, f"{path}: factors"))
    names = found_arrays.get("factor_names", np.array([f"factor_{i}" for i in range(factors.shape[1])]))
    if names.shape != factors.shape[1:]:
        raise InvalidInput(
            f"{path}: factor_names: expected {factors.shape[1]}, one for each factor, received shape {names.shape}."
        )
    return LabelledCodes(checked, None, factors, tuple(str(name) for name in names))


def dataset_of(folder: FilePath) -> str:
    """Return the full name of the dataset that a run was trained on, from its ``run.json``."""
    path = in_run(Path(folder), "run.json")
    record = read_json(path)
    if not isinstance(record, Mapping) or not isinstance(record.get("dataset"), str):
        raise DamagedFile(f"{path}: expected the name of a dataset, received {json.dumps(record)[:80]}.")
    return str(record["dataset"])


def inside(path: FilePath, name: str, command: str) -> Path:
    """Return the file in a run folder, or the file itself; where it is missing, name the command that writes it."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / name).is_file():
        remedy = (
            f"Write it: offaxis train {command} {shlex.quote(str(path))}"
            if (path / "config.json").is_file()
            else "docs/submitting.md says what a run folder of another program holds."
        )
        raise DamagedFile(f"{path}: expected a run folder with {name}, received none. {remedy}")
    return path / name


class _Asked(NamedTuple):
    """A dataset's rows to encode, how many of them are train rows (None without a task), and the scored factors."""

    dataset: Dataset
    rows: Indices
    train: int | None
    id: str
    scored: tuple[str, ...]


def _loaded(dataset: Dataset | str) -> Dataset:
    return benchmark_data.load(dataset) if isinstance(dataset, str) else dataset


def _asked(dataset: Dataset | str) -> _Asked:
    """Return the rows of a dataset's task or, where it has none, random rows, as many as a task has."""
    loaded = _loaded(dataset)
    if loaded.name in benchmark_data.names():
        task = protocol.task(loaded.id)
        return _Asked(loaded, task.indices, len(task.train), task.id, task.scored)
    rows = draws.permutation(0, len(loaded))[: protocol.TRAIN + protocol.TEST]
    scored = tuple(factor.name for factor in loaded.space.factors if factor.size > 1)
    return _Asked(loaded, rows, None, loaded.id, scored)


def _said_of(path: Path) -> str:
    """Return the dataset that a run folder or a submission says its codes are of; empty where nothing says it."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir() or (path.name == "codes.npz" and (folder / "run.json").is_file()):
        return "" if (folder / "images.json").exists() else dataset_of(folder)  # own images, which only the file labels
    for above in list(folder.absolute().parents)[:3]:
        name = folder.absolute().relative_to(above).as_posix()
        if (above / "submission.json").is_file() and name.partition("/")[0] in benchmark_data.names():
            return benchmark_data.load(name).id
    return ""


def _not_of_another_task(indices: Array, asked: _Asked, what: str) -> None:
    """Refuse codes of the rows that another dataset's task asks for, in its order: they are that one's codes."""
    own = asked.train is None or np.array_equal(indices, asked.rows)
    other = "" if own else protocol.of_rows(indices)
    if other:
        raise InvalidInput(
            f"{what}: expected rows of {asked.dataset.id}, received the rows of {other}, in its order: these are codes "
            f"of {other.partition('@')[0]}. Name the dataset that was encoded. If these rows of {asked.dataset.id} "
            "were meant, shuffle codes and indices alike."
        )


def _labelled(codes: Array, indices: Array | None, asked: _Asked) -> LabelledCodes:
    taken_for = ""
    if indices is None:  # the rows of the task, or all rows of the user's own images
        taken_for = f"those of {asked.id} in order"
        if len(codes) != (count := len(asked.dataset if asked.train is None else asked.rows)):
            raise InvalidInput(
                f"codes: expected {count} rows, {taken_for}, received {len(codes)}. Store the rows of the dataset "
                "beside them, as an array `indices`; or name no dataset if the codes have an array `factors` of their "
                "own."
            )
        codes, indices = codes[asked.rows] if asked.train is None else codes, asked.rows
    rows = asked.dataset.rows(indices)
    if len(rows) != len(codes):
        raise InvalidInput(f"indices: expected {len(codes)} rows, as in codes, received {len(rows)}.")
    labels = protocol.labels(asked.dataset, rows, asked.scored)
    return LabelledCodes(check_codes(codes), rows, labels, asked.scored, taken_for, asked.dataset.id)


def codes_name(path: Path, found: Mapping[str, Array], array: str | None) -> str:
    """Return the name of the array of codes in a file, as `codes` finds it."""
    if array is not None:
        if array not in found:
            raise UnknownName(f"array of {path}", array, found)
        return array
    for usual in ("codes", "mean"):
        if usual in found:
            return usual
    possible = [name for name, values in found.items() if values.ndim == 2 and values.dtype.kind == "f"]
    if len(possible) != 1:
        received = ", ".join(f"{name} {values.shape}" for name, values in found.items())
        raise InvalidInput(
            f"codes in {path}: expected an array called codes, or one 2-d array of floats, received "
            f"{f'the arrays {received}. Name the array: --array NAME' if found else 'no array'}."
        )
    return possible[0]


def _order(path: Path) -> list[str] | None:
    """The layers in order, where the file says so."""
    if path.suffix == ".npz" and path.is_file():
        with npz.opened(path) as file:
            return [str(name) for name in np.ravel(file.array("layers"))] if "layers" in file.names else None
    if path.suffix == ".safetensors" and path.is_file():
        with _opened_safetensors(path) as file:
            listed = (file.metadata() or {}).get("layers")
        if listed is None:
            return None
        try:
            names = json.loads(listed)
        except ValueError:
            names = None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DamagedFile(f"{path}: layers: expected a JSON list of names, received {listed[:60]}.")
        return names
    return None


def _npz(path: Path, names: Sequence[str] | None) -> dict[str, Array]:
    with npz.opened(path) as file:
        return {name: file.array(name) for name in _present(path, names, file.names)}


def _npy(path: Path, names: Sequence[str] | None) -> dict[str, Array]:
    try:
        array = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except Exception as error:
        raise _damaged(path, "an npy file of one plain array", error) from error
    return dict.fromkeys(_present(path, names, ["codes"]), array)


def _opened_safetensors(path: Path) -> Any:
    needs("reading safetensors", "board", "safetensors")
    import safetensors

    try:
        return safetensors.safe_open(path, framework="numpy")
    except Exception as error:
        raise _damaged(path, "a safetensors file", error) from error


def _safetensors(path: Path, names: Sequence[str] | None) -> dict[str, Array]:
    with contextlib.suppress(ImportError):
        import ml_dtypes  # noqa: F401, bfloat16 is read as a type of it, once it is imported
    with _opened_safetensors(path) as file:
        wanted = _present(path, names, list(file.keys()))
        try:
            found = {name: file.get_tensor(name) for name in wanted}
        except Exception as error:  # a dtype that numpy does not have
            raise _damaged(path, "tensors of a type that numpy has, such as float32", error) from error
    # numpy takes a type of ml_dtypes for opaque bytes
    return {name: a.astype(np.float32) if a.dtype.kind == "V" else a for name, a in found.items()}


def _present(path: Path, wanted: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    for name in wanted or ():
        if name not in there:
            raise UnknownName(f"array of {path}", name, there)
    return list(there if wanted is None else wanted)


def _damaged(path: Path, expected: str, error: Exception) -> DamagedFile:
    first = next(iter(str(error).splitlines()), "")[:200]
    return DamagedFile(f"{path}: expected {expected}, received {type(error).__name__}: {first}.")
