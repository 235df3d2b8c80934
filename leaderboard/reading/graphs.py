"""Checks of an untrusted encoder in ONNX: the size of its file and the operators of its graph, before it runs.

Allowed is a graph of standard operators (the domain ``ai.onnx``) that maps one batch of images to codes. Parts that
could run other code, read a file, run forever, or be in training mode are refused by name; whether codes depend on the
batch is left to verification.
`check_size` counts the contents of a file before it is parsed, since a parser uses a hundred bytes for a field of two.
All checks run in the process of the encoder (`leaderboard.reading.encoder_process`).

Internal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmark_data.errors import DamagedFile, InvalidInput

LARGEST = 32 * 2**20
"""The most bytes of a model."""

NODES = 5_000
"""The most operators in a graph: ViT-S has about 1,000."""

FIELDS = 200_000
"""The most fields of a file, each of which becomes an object or an entry in a parser."""

NAME = 4_096
"""The most bytes of a name."""

AXES = 8
"""The most axes of a tensor."""

BATCH = 4_096
"""The largest batch size that a model may fix."""

CONSTANTS = 64 * 2**20
"""The most numbers of all tensors in a graph together, by their shapes."""

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""Operators with random outputs."""

COUNTED = {"node": NODES, "attribute": 50_000, "input": 50_000, "initializer": 10_000, "value": 20_000}
"""The most operators, attributes, inputs of operators, constants, and values with a type in a file."""

# Messages of ONNX: field -> (name to count, type of the message in it); types without fields here are refused by name.
_MESSAGE_FIELDS: dict[str, dict[int, tuple[str, str]]] = {
    "model": {7: ("graph", "graph"), **dict.fromkeys((20, 25), ("", "functions of its own")), 26: ("", "devices")},
    "graph": {
        1: ("node", "node"),
        2: ("", "name"),
        5: ("initializer", "tensor"),
        11: ("value", "value"),
        12: ("value", "value"),
        13: ("value", "value"),
        14: ("", "notes on quantisation"),
        15: ("", "sparse constants"),
    },
    "node": {
        1: ("input", "name"),
        2: ("input", "name"),
        3: ("", "name"),
        4: ("", "name"),
        5: ("attribute", "attribute"),
        7: ("", "name"),
        10: ("", "devices"),
    },
    "attribute": {
        1: ("", "name"),
        5: ("", "tensor"),
        6: ("", "loop or branch"),
        10: ("", "tensor"),
        11: ("", "loop or branch"),
        14: ("", "types as attributes"),
        15: ("", "types as attributes"),
        22: ("", "sparse constants"),
        23: ("", "sparse constants"),
    },
    "tensor": {1: ("axes", "axes"), 3: ("", "parts of constants"), 8: ("", "name"), 13: ("", "data in another file")},
    "value": {1: ("", "name"), 2: ("", "type")},
    "type": {
        1: ("", "tensor type"),
        4: ("", "sequences"),
        5: ("", "maps"),
        **dict.fromkeys((7, 8, 9), ("", "values that are no tensors")),
    },
    "tensor type": {2: ("", "shape")},
    "shape": {1: ("axes", "dimension")},
    "dimension": {2: ("", "name")},
}


class Signature(NamedTuple):
    """Input and output of a graph.

    Attributes:
        source: name of the input.
        dtype: of the input: ``uint8``, ``float16``, ``float32`` or ``float64``.
        shape: of the input; None for axes of any size.
        output: name of the output that holds the codes.
    """

    source: str
    dtype: str
    shape: tuple[int | None, ...]
    output: str


def check_size(content: bytes, what: str = "encoder.onnx") -> None:
    """Count the protobuf fields of a file, and check the limits.

    Args:
        content: the file's bytes.
        what: its name in error messages.

    Raises:
        DamagedFile: no model in ONNX.
        InvalidInput: a limit is exceeded, or the file has a part that no encoder needs; the message names it.
    """
    counts = dict.fromkeys(("field", *COUNTED), 0)
    pending = [("model", 0, len(content))]
    while pending:
        message, offset, end = pending.pop()
        axes, fields = 0, _MESSAGE_FIELDS[message]
        while offset < end:
            field, wire, offset, field_end = _read_field_head(content, offset, end, what)
            _count(counts, "field", FIELDS, what)
            counted, kind = fields.get(field, ("", ""))
            if counted == "axes":
                # Sizes lie one to a field, or packed as numbers of which each ends with a byte below 128.
                packed = kind == "axes" and wire == 2
                axes += sum(byte < 128 for byte in content[offset : min(field_end, offset + 2_000)]) if packed else 1
                if axes > AXES:
                    raise InvalidInput(f"{what}: axes: expected at most {AXES} of a tensor, received more.")
            elif counted in COUNTED:
                _count(counts, counted, COUNTED[counted], what)
            if wire == 2 and kind == "name" and field_end - offset > NAME:
                received = f"{field_end - offset:,}"
                raise InvalidInput(f"{what}: names: expected at most {NAME:,} bytes of a name, received {received}.")
            if wire == 2 and kind in _MESSAGE_FIELDS:
                pending.append((kind, offset, field_end))
            elif kind not in ("", "name", "axes"):
                remedy = " Save the model as one file." if kind == "data in another file" else ""
                raise InvalidInput(
                    f"{what}: {kind}: expected a graph without any, received one in a {message}.{remedy}"
                )
            offset = field_end


def _count(counts: dict[str, int], name: str, limit: int, what: str) -> None:
    """Increase a count, and check its limit."""
    counts[name] += 1
    if counts[name] > limit:
        raise InvalidInput(f"{what}: too many {name}s: expected at most {limit:,}, received more.")


def _read_field_head(content: bytes, offset: int, end: int, what: str) -> tuple[int, int, int, int]:
    """Read the head of a field: its number, its wire type, and the start and end of its content."""
    key, offset = _read_varint(content, offset, end, what)
    wire = key & 7
    if wire == 2:
        size, offset = _read_varint(content, offset, end, what)
        field_end = offset + size
    elif wire == 0:
        field_end = _read_varint(content, offset, end, what)[1]
    else:
        field_end = offset + {1: 8, 5: 4}.get(wire, end)
    if field_end > end or not key >> 3:
        raise DamagedFile(f"{what}: expected a model in ONNX, received bytes that are no fields of one.")
    return key >> 3, wire, offset, field_end


def _read_varint(content: bytes, offset: int, end: int, what: str) -> tuple[int, int]:
    """Read a number of at most ten bytes; return it and the offset of the next field."""
    number = 0
    for shift in range(0, 70, 7):
        if offset >= end:
            break
        byte = content[offset]
        offset += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, offset
    raise DamagedFile(f"{what}: expected a model in ONNX, received bytes that are no fields of one.")


def inspect(content: bytes, what: str = "encoder.onnx", output: str = "") -> Signature:
    """Check a model without running it.

    Args:
        content: the file's bytes.
        what: its name in error messages.
        output: the output that holds the codes; ``codes``, ``mean`` or the only one if it is empty.

    Returns:
        Its input and output.

    Raises:
        DamagedFile: no model in ONNX.
        InvalidInput: the model has a forbidden part; the message names it.
    """
    import onnx

    check_size(content, what)
    try:
        model = onnx.load_model_from_string(content)
        nodes = len(model.graph.node)
    except Exception as error:  # protobuf's errors have no common base class
        raise DamagedFile(f"{what}: expected a model in ONNX, received {type(error).__name__}.") from error
    if not nodes:
        raise DamagedFile(f"{what}: expected a model in ONNX with operators, received none.")
    # Protobuf returns names that are not UTF-8 as bytes.
    if any(isinstance(name, bytes) for name in _graph_names(model.graph)):
        raise DamagedFile(f"{what}: expected a model in ONNX, received names that are not UTF-8.")
    _check_tensors(model.graph, what)
    _check_operators(onnx, model.graph, what)
    return _find_signature(onnx, model.graph, what, output)


def _graph_names(graph: Any) -> Iterator[str | bytes]:
    """Yield all names of a graph that are checked."""
    for node in graph.node:
        yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
        yield from (tensor.name for attribute in node.attribute for tensor in (attribute.t, *attribute.tensors))
    for values in (graph.initializer, graph.input, graph.output):
        yield from (value.name for value in values)


def _check_operators(onnx: Any, graph: Any, what: str) -> None:
    """Refuse forbidden operators; ``check_size`` has refused those that contain graphs."""
    defined_names = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input} | {""}
    for node in graph.node:
        name = f"{node.op_type[:80]} {node.name[:80]!r}" if node.name else node.op_type[:80]
        if node.domain not in ("", "ai.onnx"):
            raise InvalidInput(
                f"{what}: operator of another domain: expected standard operators, of the domain ai.onnx, received "
                f"{name} of {node.domain[:80]}."
            )
        if (
            node.op_type in RANDOM
            or (node.op_type == "Dropout" and len(node.input) > 2)  # with a training mode
            or any(attribute.name == "training_mode" and attribute.i for attribute in node.attribute)
        ):
            raise InvalidInput(f"{what}: random numbers: expected the same codes for the same image, received {name}.")
        if not onnx.defs.has(node.op_type):
            raise InvalidInput(f"{what}: unknown operator: expected standard operators, received {name}.")
        for input_name in node.input:
            if input_name not in defined_names:
                raise InvalidInput(
                    f"{what}: not in order: expected operators in the order of their inputs, without a cycle, received "
                    f"{name}, which takes {input_name[:80]!r}."
                )
        defined_names |= set(node.output)


def _check_tensors(graph: Any, what: str) -> None:
    """Refuse a graph with more numbers in constants than an encoder needs."""
    total = 0
    constants = [tensor for node in graph.node for a in node.attribute for tensor in (a.t, *a.tensors) if tensor.dims]
    for tensor in [*graph.initializer, *constants]:
        total += math.prod(max(0, size) for size in tensor.dims)
        if total > CONSTANTS or any(size < 0 for size in tensor.dims):
            raise InvalidInput(
                f"{what}: huge constants: expected at most {CONSTANTS:,} numbers altogether, received "
                f"{tensor.name[:80]!r} of shape {tuple(tensor.dims)}."
            )


def _find_signature(onnx: Any, graph: Any, what: str, output: str) -> Signature:
    """Find the images' input and the codes' output."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        received = ", ".join(value.name[:80] for value in inputs[:3])
        raise InvalidInput(f"{what}: inputs: expected one, the images, received {received or 'none'}.")
    tensor = inputs[0].type.tensor_type
    types = onnx.TensorProto
    dtypes = {types.UINT8: "uint8", types.FLOAT16: "float16", types.FLOAT: "float32", types.DOUBLE: "float64"}
    if tensor.elem_type not in dtypes or len(tensor.shape.dim) != 4:
        raise InvalidInput(
            f"{what}: input: expected images: floats or uint8 with four axes, received type {tensor.elem_type} with "
            f"{len(tensor.shape.dim)} axes."
        )
    names = [value.name for value in graph.output]
    preferred = (output,) if output else ("codes", "mean")
    selected = next((name for name in preferred if name in names), names[0] if len(names) == 1 and not output else None)
    if selected is None:
        wanted = f"one called {output}" if output else "one, or one called codes or mean"
        raise InvalidInput(
            f"{what}: outputs: expected {wanted}, received {', '.join(name[:80] for name in names[:3]) or 'none'}. "
            "Name the output."
        )
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
    if not all(size is None or 0 <= size <= 2**20 for size in shape) or (shape[0] or 0) > BATCH:
        what = f"{what}: batch" if (shape[0] or 0) > BATCH else f"{what}: input"
        raise InvalidInput(
            f"{what}: expected at most {BATCH:,} images at a time, received shape {shape}. Export it with a batch of "
            "any size."
        )
    return Signature(inputs[0].name, dtypes[tensor.elem_type], shape, selected)
