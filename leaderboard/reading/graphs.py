"""What a stranger's encoder in ONNX may hold: a graph is walked and judged before anything of it runs.

Allowed is a graph of the standard operators (the domain ``ai.onnx``) that maps one batch of images to codes. Whatever
could run other code, read a file, go on without end, or give other codes for the same image is refused by name. Time
and memory that only show when it runs are the matter of ``leaderboard.reading.encoders``.
What it is given is made here, too, whoever runs it.

Internal.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, needs
from benchmark_data.factors import Indices
from benchmark_data.types import Images

Layout: TypeAlias = Literal["NHWC", "NCHW"]

LARGEST = 128 * 2**20
"""Bytes of a model: ResNet-50 in float32 has 102 MB, ViT-S 88."""

NODES = 5_000
"""Operators in a graph: ViT-S has about 1,000."""

CONSTANTS = 256 * 2**20
"""Bytes of all tensors in a graph, as their shapes say."""

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""Operators that give something else every time."""

CONTROL = frozenset(["If", "Loop", "Scan", "SequenceMap"])
"""Operators that repeat or choose graphs of their own."""


class Signature(NamedTuple):
    """What a graph takes and gives.

    Attributes:
        source: name of the input.
        dtype: of the input: ``uint8``, ``float16``, ``float32`` or ``float64``.
        shape: of the input; None where the graph does not say.
        output: name of the output that holds the codes.
    """

    source: str
    dtype: str
    shape: tuple[int | None, ...]
    output: str


def inspect(content: bytes, what: str = "encoder.onnx") -> Signature:
    """Judge a model without running it.

    Args:
        content: the file's bytes.
        what: what it is called in error messages.

    Returns:
        What it takes and gives.

    Raises:
        DamagedFile: too large, or no model in ONNX.
        InvalidInput: something that an encoder may not hold; the message begins with its name.
        MissingExtra: onnx is not installed.
    """
    needs("an ONNX encoder", "onnx", "onnx")
    import onnx

    if len(content) > LARGEST:
        raise DamagedFile(what, expected=f"a model of at most {LARGEST:,} bytes", received=f"{len(content):,} bytes")
    try:
        model = onnx.load_model_from_string(content)
        nodes = len(model.graph.node)
    except Exception as error:  # protobuf's errors have no common class of their own
        raise DamagedFile(what, expected="a model in ONNX", received=type(error).__name__) from error
    if not nodes:
        raise DamagedFile(what, expected="a model in ONNX with operators", received="none")
    for problem in _problems(onnx, model, what):
        raise problem
    return _signature(onnx, model.graph, what)


def _problems(onnx: Any, model: Any, what: str) -> Iterator[OffaxisError]:
    """Find what a graph may not hold."""
    graph = model.graph
    if len(graph.node) > NODES:
        yield InvalidInput(f"{what}: too many nodes", expected=f"at most {NODES:,}", received=f"{len(graph.node):,}")
        return
    if model.functions or model.training_info:
        yield InvalidInput(
            f"{what}: functions of its own",
            expected="standard operators alone",
            received=", ".join(function.name for function in model.functions)[:80] or "training information",
            remedy="Inline them when you export.",
        )
    if graph.sparse_initializer:
        yield InvalidInput(f"{what}: sparse constants", expected="dense ones", received="sparse ones")
    yield from _tensors(onnx, graph, what)
    known = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input} | {""}
    for node in graph.node:
        name = f"{node.op_type} {node.name!r}" if node.name else node.op_type
        if node.domain not in ("", "ai.onnx"):
            yield InvalidInput(
                f"{what}: operator of another domain",
                expected="standard operators, of the domain ai.onnx",
                received=f"{name[:80]} of {node.domain[:80]}",
            )
        elif node.op_type in CONTROL or any(a.HasField("g") or a.graphs for a in node.attribute):
            yield InvalidInput(f"{what}: loop or branch", expected="a graph without any", received=name[:80])
        elif node.op_type in RANDOM:
            yield InvalidInput(
                f"{what}: random numbers", expected="the same codes for the same image", received=name[:80]
            )
        elif not onnx.defs.has(node.op_type):
            yield InvalidInput(f"{what}: unknown operator", expected="standard operators", received=name[:80])
        for needed in node.input:
            if needed not in known:
                yield InvalidInput(
                    f"{what}: not in order",
                    expected="operators whose inputs come before them, without a circle",
                    received=f"{name[:80]}, which takes {needed[:80]!r}",
                )
        known |= set(node.output)


def _tensors(onnx: Any, graph: Any, what: str) -> Iterator[OffaxisError]:
    """Judge the tensors that a graph brings along."""
    total = 0
    constants = [tensor for node in graph.node for a in node.attribute for tensor in (a.t, *a.tensors) if tensor.dims]
    for tensor in [*graph.initializer, *constants]:
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            yield InvalidInput(
                f"{what}: data in another file",
                expected="all constants in the model itself",
                received=f"{tensor.name[:80]!r}, which is elsewhere",
                remedy="Save the model as one file.",
            )
            continue
        total += 8 * math.prod(max(0, size) for size in tensor.dims)
        if total > 8 * CONSTANTS or any(size < 0 for size in tensor.dims):
            yield InvalidInput(
                f"{what}: huge constants",
                expected=f"at most {CONSTANTS:,} numbers altogether",
                received=f"{tensor.name[:80]!r} of shape {tuple(tensor.dims)}",
            )
            return


def _signature(onnx: Any, graph: Any, what: str) -> Signature:
    """Find the images' input and the codes' output."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise InvalidInput(
            f"{what}: inputs",
            expected="one, the images",
            received=", ".join(value.name for value in inputs)[:80] or "none",
        )
    tensor = inputs[0].type.tensor_type
    kinds = onnx.TensorProto
    dtypes = {kinds.UINT8: "uint8", kinds.FLOAT16: "float16", kinds.FLOAT: "float32", kinds.DOUBLE: "float64"}
    if tensor.elem_type not in dtypes or len(tensor.shape.dim) != 4:
        raise InvalidInput(
            f"{what}: input",
            expected="images: floats or uint8 with four axes",
            received=f"type {tensor.elem_type} with {len(tensor.shape.dim)} axes",
        )
    names = [value.name for value in graph.output]
    chosen = next((usual for usual in ("codes", "mean") if usual in names), names[0] if len(names) == 1 else None)
    if chosen is None:
        raise InvalidInput(
            f"{what}: outputs", expected="one, or one called codes or mean", received=", ".join(names)[:80] or "none"
        )
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
    return Signature(inputs[0].name, dtypes[tensor.elem_type], shape, chosen)


def layout(
    path: str | os.PathLike[str], shape: Sequence[int | str | None], dataset: Dataset, wanted: Layout | None = None
) -> Layout:
    """Say where channels stand in the images that a model takes.

    Args:
        path: the model, for messages.
        shape: of its input; what is no number may be any.
        dataset: whose images it is to take.
        wanted: what the user says.

    Returns:
        ``"NHWC"`` or ``"NCHW"``.

    Raises:
        InvalidInput: the model does not take images of this dataset, or its shape fits both.
    """
    height, width, channels = dataset.image_shape
    layouts: dict[Layout, tuple[int, int, int]] = {
        "NHWC": (height, width, channels),
        "NCHW": (channels, height, width),
    }
    if wanted is not None and wanted not in layouts:
        raise InvalidInput("layout", expected="'NHWC' or 'NCHW'", received=repr(wanted))
    fitting = [
        name
        for name, axes in layouts.items()
        if len(shape) == 4
        and all(not isinstance(axis, int) or axis == size for axis, size in zip(shape[1:], axes, strict=True))
    ]
    if wanted is not None and wanted in fitting:
        return wanted
    if wanted is not None or not fitting:
        raise InvalidInput(
            f"input of {path}",
            expected=" or ".join(f"{name} (n, {', '.join(map(str, layouts[name]))})" for name in layouts),
            received=f"shape {tuple(shape)}" + (f" as {wanted}" if wanted else ""),
            remedy=f"The images of {dataset.id} are {height} x {width} with {channels} channels.",
        )
    if len(fitting) > 1:
        raise InvalidInput(
            f"layout of {path}",
            expected="an input shape that tells where channels stand",
            received=f"shape {tuple(shape)}",
            remedy="Say layout NHWC or NCHW.",
        )
    return fitting[0]


def batches(
    dataset: Dataset,
    rows: Sequence[int] | Indices,
    layout: Layout,
    fixed: int | None,
    size: int,
    scaled: Callable[[Images], NDArray[Any]],
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Read images as an encoder takes them.

    Args:
        dataset: where they come from.
        rows: rows of it, int (n,).
        layout: where channels stand.
        fixed: how many images the encoder wants at a time; None if it takes any number.
        size: how many it gets then.
        scaled: turns pixels, uint8 (b, H, W, C), into numbers of the encoder's type.

    Yields:
        How many images are read, and these, (b, H, W, C) or (b, C, H, W). If there are too few, the last is repeated.
    """
    for _, images in dataset.batches(rows, size=fixed or size):
        pixels = scaled(images)
        if fixed and len(images) < fixed:
            pixels = np.concatenate([pixels, np.repeat(pixels[-1:], fixed - len(images), axis=0)])
        yield len(images), np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)) if layout == "NCHW" else pixels
