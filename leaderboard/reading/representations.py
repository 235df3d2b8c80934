"""Codes and activations from the files of any framework, or from an encoder in ONNX.

==================  ==================================================================================================
a run folder        ``codes.npz`` and ``activations.npz``, with ``run.json`` in the same folder
``.npz``            named arrays; ``layers``, an array of names, sets the order of layers
``.npy``            one array, named ``codes``
``.safetensors``    named tensors; ``layers`` in the metadata, a JSON list of names, sets the order of layers
``.onnx``           an encoder: its inputs are the images of a dataset
==================  ==================================================================================================

Rows are always samples. ``indices`` are their rows in the dataset; without it they must be the rows of the dataset's
task, in order, or all rows of the user's own images. Codes of three axes are units of several numbers, which
``leaderboard.reading.units`` reduces to one each. ``factors`` holds class ids, for data without a dataset here. Nothing
is unpickled.
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
from benchmark_data.archives import npz
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, needs
from benchmark_data.factors import Indices
from benchmark_data.files import path_in_run, read_json
from leaderboard import protocol
from leaderboard.arrays import check_codes, check_rows
from leaderboard.reading import encoders, units

__all__ = ["LabelledCodes", "activations", "arrays", "check_same_rows", "codes"]

Array: TypeAlias = NDArray[Any]
FilePath: TypeAlias = str | os.PathLike[str]

_NOT_LAYERS = ("layers", "indices", "factors", "codes", "factors_test", "codes_test")


class LabelledCodes(NamedTuple):
    """Codes, and the indices and factors of their samples.

    Attributes:
        codes: float32 or float64, shape (n, L).
        indices: rows of the dataset, int64 (n,); None without a dataset.
        factors: class ids, int64 (n, F), of a dataset's factors that have more than one value, or all those in the
            file; None if unknown.
        names: the names of those factors, F of them.
        assumption: the rows that are assumed, in words, if the file does not state them.
        dataset: its full name; empty without one.
    """

    codes: Array
    indices: Indices | None
    factors: Indices | None
    names: tuple[str, ...]
    assumption: str = ""
    dataset: str = ""


def arrays(path: FilePath, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Read named arrays from a file.

    Args:
        path: a ``.npz``, ``.npy`` or ``.safetensors`` file.
        names: the arrays to read; all of them if None.

    Returns:
        Name to array, in the order of ``names``, or else in the file's.

    Raises:
        DamagedFile: no such file, not of the format of its suffix, or holding pickled objects.
        UnknownName: there is no such array; the message lists those in the file.
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
    readers = {".npz": _read_npz, ".npy": _read_npy, ".safetensors": _read_safetensors}
    expected = f"a file {', '.join(readers)}, or a run folder"
    if not path.exists():
        raise DamagedFile(f"{path}: expected {expected}, received none: there is no such file or folder.")
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
        Layer name to array (n, p), in order from input to output; arrays with more axes are flattened.

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
    layers = _recorded_layers(path) if layers is None else layers
    layer_arrays = arrays(path, layers)
    if layers is None:
        excluded = () if path.suffix == ".npy" else _NOT_LAYERS  # its one array is a layer, whatever its name
        layer_arrays = {k: v for k, v in layer_arrays.items() if k not in excluded and v.ndim >= 2 and _is_layer(v)}
    if not layer_arrays:
        raise InvalidInput(f"{path}: expected a layer, floats (n, ...) or integers (n, a, b, ...), received none.")
    if scalars := [name for name, array in layer_arrays.items() if not array.ndim]:
        raise InvalidInput(f"layer {scalars[0]} of {path}: expected shape (n, ...), received a single number.")
    counts = {name: len(array) for name, array in layer_arrays.items()}
    if len(set(counts.values())) > 1:
        raise InvalidInput(f"layers of {path}: expected the same samples in each, received {counts}.")
    return {name: array.reshape(len(array), math.prod(array.shape[1:])) for name, array in layer_arrays.items()}


def _is_layer(array: Array) -> bool:
    """Return whether an array is a layer: floats, or images of integers; other integers are labels."""
    return array.dtype.kind == "f" or (array.dtype.kind in "iu" and (array.ndim >= 3 or array.dtype == np.uint8))


def activations_file(path: FilePath) -> Path:
    """Return the file that ``activations`` reads: ``activations.npz`` of a run folder, or the path itself."""
    return file_in_run_folder(path, "activations.npz", "encode --layers")


def check_same_rows(paths: Sequence[FilePath]) -> list[str]:
    """Check that activations are of the same images, if their files have an array ``indices``.

    Args:
        paths: run folders or files as for ``activations``.

    Returns:
        Files without ``indices``, if others have them.

    Raises:
        InvalidInput: two of them have different rows, the same in another order, or rows of different images.
        DamagedFile: as ``activations``.
        MissingExtra: as ``arrays``.
    """
    first: tuple[FilePath, dict[str, Array]] | None = None
    without_rows: list[str] = []
    for path in paths:
        file = activations_file(path)
        row_arrays: dict[str, Array] = {}
        for name in ("indices", "input"):  # equal rows of two folders of pictures are other images
            with contextlib.suppress(UnknownName):
                row_arrays |= arrays(file, [name])
        if "indices" not in row_arrays:
            without_rows.append(str(path))
            continue
        first = first or (path, row_arrays)
        if not all(np.array_equal(first[1][name], row_arrays[name]) for name in first[1].keys() & row_arrays.keys()):
            raise InvalidInput(
                f"activations of {path}: expected those of the images of {first[0]}, in the same order, received those "
                "of others. Write activations of the same images: offaxis train encode --layers RUN... --dataset NAME"
            )
    return without_rows if first else []


def codes(path: FilePath, *, dataset: Dataset | str | None = None, array: str | None = None) -> LabelledCodes:
    """Read codes, and look up the factors of their samples.

    Args:
        path: a run folder, a file as for ``arrays``, or an ONNX encoder.
        dataset: the dataset that was encoded, or its full name, such as ``"dsprites"``; by default that of a run
            folder. Without one, and for a run on the user's own images, factors are those in the file, if any. Codes of
            the user's own images without ``indices`` are put in random order.
        array: the name of the array of codes. By default ``codes``, else ``mean``, else the only array that could be.

    Returns:
        The codes, checked: float32 or float64, shape (n, L), with the factors of their samples, int64 (n, F).

    Raises:
        DamagedFile: as ``arrays``.
        UnknownName: there is no such array or dataset.
        InvalidInput: as ``arrays``; or codes that are no finite 2-d array, rows that the dataset does not have, another
            number of rows than the task's and no ``indices``; or a run, a submission's folder or the row list of a task
            on another dataset than ``dataset``.
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
        task = protocol.task_of(dataset)
        raw_codes = encoders.encode(path, task.load(), task.indices, output=array or "")
        reduced_codes = units.reduce(raw_codes, f"codes of {path}", train=len(task.train))
        return _label_codes(reduced_codes, task.indices, task)
    dataset = _dataset_of_codes(path, dataset)
    path = file_in_run_folder(path, "codes.npz", "encode")
    file_arrays = arrays(path)
    name = codes_name(path, file_arrays, array)
    if dataset is None:
        return _codes_with_own_factors(path, file_arrays, name)
    return _codes_of_dataset(dataset, path, file_arrays, name)


def _dataset_of_codes(path: Path, dataset: Dataset | str | None) -> Dataset | str | None:
    """Return the dataset of a run folder's record, else the given one; refuse one that contradicts the record."""
    is_own = is_on_own_images(path if path.is_dir() else path.parent)
    given = None if dataset is None else benchmark_data.load(dataset)
    if given is not None and is_own and given.name in benchmark_data.names():
        raise InvalidInput(f"{path} holds codes of user images, not of {given.id}: leave out the dataset.")
    recorded = _recorded_dataset(path)
    wanted = recorded if given is None else given.id
    if recorded and wanted != recorded:
        raise InvalidInput(
            f"codes of {path}: expected codes of {wanted}, received codes of {recorded}. Write them: "
            f"offaxis train encode RUN --dataset {wanted} --to codes.npz"
        )
    return recorded if recorded and path.is_dir() else dataset


def _codes_of_dataset(dataset: Dataset | str, path: Path, file_arrays: Mapping[str, Array], name: str) -> LabelledCodes:
    """Label codes with the factors of the dataset's rows: those in ``indices``, else those of its task."""
    task, rows, what = protocol.task_of(dataset), file_arrays.get("indices"), f"{path}: {name}"
    is_user_dataset = task.user_dataset is not None
    is_of_task = not is_user_dataset if rows is None else np.array_equal(rows, task.indices)
    raw, fit, train = file_arrays[name], None, len(task.train) if is_of_task else None
    if is_user_dataset and rows is None and np.ndim(raw) == 3 and len(raw) == len(task.load()):
        fit, train = raw[task.indices], len(task.train)  # the file has the order of the labels, not of the task
    checked = check_codes(units.reduce(raw, what, train=train, fit=fit), what)
    if rows is not None and not is_user_dataset:
        _check_rows_of_task(rows, task, f"{path}: indices")
    labelled = _label_codes(checked, rows, task)
    stored = file_arrays.get("factors") if is_user_dataset else None
    if stored is not None and rows is not None and not np.array_equal(task.load().labels(rows), stored):
        raise InvalidInput(
            f"{path}: factors: expected those of {task.dataset}, received others: these are codes of other images. "
            "Leave out the dataset, or encode it: offaxis train encode RUN --dataset FOLDER --to codes.npz"
        )
    return labelled


def _codes_with_own_factors(path: Path, file_arrays: Mapping[str, Array], name: str) -> LabelledCodes:
    """Label codes with the array ``factors`` of their file, if there is one."""
    what = f"{path}: {name}"
    checked = check_codes(units.reduce(file_arrays[name], what), what)
    if "factors" not in file_arrays:
        return LabelledCodes(checked, None, None, ())
    checked, factors = check_rows(checked, file_arrays["factors"], what=(what, f"{path}: factors"))
    names = file_arrays.get("factor_names", np.array([f"factor_{i}" for i in range(factors.shape[1])]))
    if names.shape != factors.shape[1:]:
        raise InvalidInput(
            f"{path}: factor_names: expected {factors.shape[1]}, one for each factor, received shape {names.shape}."
        )
    return LabelledCodes(checked, None, factors, tuple(str(name) for name in names))


def dataset_of(folder: FilePath) -> str:
    """Return the full name of the dataset that a run was trained on, from its ``run.json``."""
    path = path_in_run(Path(folder), "run.json")
    record = read_json(path)
    if not isinstance(record, Mapping) or not isinstance(record.get("dataset"), str):
        raise DamagedFile(f"{path}: expected the name of a dataset, received {json.dumps(record)[:80]}.")
    return str(record["dataset"])


def is_on_own_images(folder: Path) -> bool:
    """Return whether a run folder holds a run that `baselines` trained on the user's images."""
    if (folder / "images.json").is_file():
        return True
    is_run = (folder / "config.json").is_file() and (folder / "run.json").is_file()
    return is_run and dataset_of(folder).partition("/")[0] not in benchmark_data.names()


def file_in_run_folder(path: FilePath, name: str, command: str) -> Path:
    """Return the file in a run folder, or the file itself; if it is missing, the error names the command for it."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / name).is_file():
        remedy = "docs/submitting.md describes the run folders of other programs."
        if (path / "config.json").is_file():
            remedy = f"Write it: offaxis train {command} {shlex.quote(str(path))}"
            if name == "codes.npz" and is_on_own_images(path) and not (path / "images.json").is_file():
                remedy = f"Pass its images again: baselines.Run.open({str(path)!r}, dataset=...) has encode_task()."
        raise DamagedFile(f"{path}: expected a run folder with {name}, received none. {remedy}")
    return path / name


def _recorded_dataset(path: Path) -> str:
    """Return the dataset of codes by the record of their run folder or submission; empty without one."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir() or (path.name == "codes.npz" and (folder / "run.json").is_file()):
        return "" if is_on_own_images(folder) else dataset_of(folder)  # own images, which only the file labels
    for parent in list(folder.absolute().parents)[:3]:
        name = folder.absolute().relative_to(parent).as_posix()
        if (parent / "submission.json").is_file() and name.partition("/")[0] in benchmark_data.names():
            return benchmark_data.load(name).id
    return ""


def _check_rows_of_task(indices: Array, task: protocol.Task, what: str) -> None:
    """Refuse codes whose rows are those of another dataset's task, in its order: they are codes of that dataset."""
    is_like_a_task = indices.shape == task.indices.shape and not np.array_equal(indices, task.indices)
    other_task = protocol.task_id_of_rows(indices) if is_like_a_task else ""  # which draws the rows of every task
    if other_task:
        raise InvalidInput(
            f"{what}: expected rows of {task.dataset}, received the rows of {other_task}, in its order: these are "
            f"codes of {other_task.partition('@')[0]}. Name the dataset that was encoded. If these rows of "
            f"{task.dataset} were meant, shuffle codes and indices with one permutation."
        )


def _label_codes(codes: Array, indices: Array | None, task: protocol.Task) -> LabelledCodes:
    dataset, assumption = task.load(), ""
    if indices is None:
        if task.user_dataset is None:
            count, assumption = len(task.indices), f"those of {task.id} in order"
        else:
            count, assumption = len(dataset), f"those of {task.dataset} in the order of its labels"
        if len(codes) != count:
            raise InvalidInput(
                f"codes: expected {count} rows, {assumption}, received {len(codes)}. Store their rows of the dataset "
                "in the file, as an array `indices`; or leave out the dataset if the file has an array `factors`."
            )
        codes, indices = codes if task.user_dataset is None else codes[task.indices], task.indices
    rows = dataset.rows(indices)
    if len(rows) != len(codes):
        raise InvalidInput(f"indices: expected {len(codes)} rows, as in codes, received {len(rows)}.")
    labels = protocol.labels(dataset, rows, task.scored)
    return LabelledCodes(check_codes(codes), rows, labels, task.scored, assumption, dataset.id)


def codes_name(path: Path, file_arrays: Mapping[str, Array], array: str | None) -> str:
    """Return the name of the array of codes in a file, as `codes` finds it."""
    if array is not None:
        if array not in file_arrays:
            raise UnknownName(f"array of {path}", array, file_arrays)
        return array
    for default in ("codes", "mean"):
        if default in file_arrays:
            return default
    candidates = [name for name, values in file_arrays.items() if values.ndim == 2 and values.dtype.kind == "f"]
    if len(candidates) != 1:
        received = ", ".join(f"{name} {values.shape}" for name, values in file_arrays.items())
        raise InvalidInput(
            f"codes in {path}: expected an array called codes, or one 2-d array of floats, received "
            f"{f'the arrays {received}. Name the array: --array NAME' if file_arrays else 'no array'}."
        )
    return candidates[0]


def _recorded_layers(path: Path) -> list[str] | None:
    """Return the names of layers in order; None if the file does not state them."""
    if path.suffix == ".npz" and path.is_file():
        with npz.open_npz(path) as file:
            return [str(name) for name in np.ravel(file.array("layers"))] if "layers" in file.names else None
    if path.suffix == ".safetensors" and path.is_file():
        with _open_safetensors(path) as file:
            layers_json = (file.metadata() or {}).get("layers")
        if layers_json is None:
            return None
        try:
            names = json.loads(layers_json)
        except (RecursionError, ValueError):
            names = None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DamagedFile(f"{path}: layers: expected a JSON list of names, received {layers_json[:60]}.")
        return names
    return None


def _read_npz(path: Path, names: Sequence[str] | None) -> dict[str, Array]:
    with npz.open_npz(path) as file:
        return {name: file.array(name) for name in _present_names(path, names, file.names)}


def _read_npy(path: Path, names: Sequence[str] | None) -> dict[str, Array]:
    try:
        array = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except Exception as error:
        raise _damaged_file(path, "an npy file of one plain array", error) from error
    return dict.fromkeys(_present_names(path, names, ["codes"]), array)


def _open_safetensors(path: Path) -> Any:
    needs("reading safetensors", "board", "safetensors")
    import safetensors

    try:
        return safetensors.safe_open(path, framework="numpy")
    except Exception as error:
        raise _damaged_file(path, "a safetensors file", error) from error


def _read_safetensors(path: Path, names: Sequence[str] | None) -> dict[str, Array]:
    with contextlib.suppress(ImportError):
        import ml_dtypes  # noqa: F401, bfloat16 is read as a type of it, once it is imported
    with _open_safetensors(path) as file:
        wanted = _present_names(path, names, list(file.keys()))
        try:
            tensors = {name: file.get_tensor(name) for name in wanted}
        except Exception as error:  # a dtype that numpy lacks
            raise _damaged_file(path, "tensors of a type that numpy has, such as float32", error) from error
    # numpy treats a type of ml_dtypes as opaque bytes
    return {name: array.astype(np.float32) if array.dtype.kind == "V" else array for name, array in tensors.items()}


def _present_names(path: Path, wanted: Sequence[str] | None, available: Sequence[str]) -> list[str]:
    for name in wanted or ():
        if name not in available:
            raise UnknownName(f"array of {path}", name, available)
    return list(available if wanted is None else wanted)


def _damaged_file(path: Path, expected: str, error: Exception) -> DamagedFile:
    first_line = next(iter(str(error).splitlines()), "")[:200]
    return DamagedFile(f"{path}: expected {expected}, received {type(error).__name__}: {first_line}.")
