"""Convert a run's encoder from Keras layers to a graph of standard ONNX operators.

Keras' own export needs tf2onnx, which requires older packages than TensorFlow; an encoder has only a dozen kinds of
layers. The input is images, uint8 (n, H, W, C), the output ``codes``, float32 (n, latents), the posterior means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baselines.nets.backend import to_numpy
from benchmark_data.errors import InvalidInput

OPSET = 17
"""Version of the operator set."""

IR = 8
"""The version of the file format for it."""


class _Writer:
    """Builds a graph, one operator at a time."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """Add a tensor; return its name."""
        name = f"constant_{len(self.tensors)}"
        self.tensors.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def __call__(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add an operator; return the name of its output."""
        name = output or f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name


def encoder(image: Any, code: Any, image_shape: tuple[int, int, int]) -> bytes:
    """Convert an encoder.

    Args:
        image: Keras' symbolic input images, float32 (n, H, W, C) in [0, 1].
        code: Keras' symbolic output, (n, latents).
        image_shape: (H, W, C).

    Returns:
        An ONNX model, as bytes; the same for the same weights.

    Raises:
        InvalidInput: the model has a layer that is not supported.
    """
    import onnx
    import onnx.helper
    import onnx.numpy_helper

    write = _Writer(onnx)
    pixels = write("Cast", "images", to=onnx.TensorProto.FLOAT)
    values = {id(image): write("Div", pixels, write.constant(255.0))}
    for node in _list_nodes(code):
        operation = node.operation
        kind = type(operation).__name__
        if kind == "InputLayer":
            continue
        if kind not in _OPERATIONS:
            raise InvalidInput(
                f"layer {operation.name} of the encoder: expected one of {', '.join(sorted(_OPERATIONS))}, received "
                f"{kind}. Add its conversion to baselines/outputs/onnx_graphs.py."
            )
        (output,) = node.output_tensors
        values[id(output)] = _OPERATIONS[kind](write, node, *_input_names(write, node, values))
    codes = write("Identity", values[id(code)], output="codes")
    helper, tensor_types = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        write.nodes,
        "encoder",
        [helper.make_tensor_value_info("images", tensor_types.UINT8, ["n", *image_shape])],
        [helper.make_tensor_value_info(codes, tensor_types.FLOAT, ["n", int(code.shape[1])])],
        write.tensors,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR, producer_name="offaxis"
    )
    return model.SerializeToString(deterministic=True)


def _list_nodes(code: Any) -> list[Any]:
    """List the layer calls that a symbolic tensor depends on, inputs first."""
    nodes: list[Any] = []
    visited: set[int] = set()

    def visit(tensor: Any) -> None:
        history = tensor._keras_history
        node = history.operation._inbound_nodes[history.node_index]
        if id(node) in visited:
            return
        visited.add(id(node))
        for input_tensor in node.input_tensors:
            visit(input_tensor)
        nodes.append(node)

    visit(code)
    return nodes


def _input_names(write: _Writer, node: Any, values: Mapping[int, str]) -> list[str]:
    """Return the names of an operation's inputs: outputs of others, or constants. Some layers take them as one list."""
    args = node.arguments.args or node.input_tensors  # none are positional where a layer was called by keyword
    args = args[0] if isinstance(args[0], list) else args
    return [values[id(x)] if id(x) in values else write.constant(to_numpy(x)) for x in args]


def _write_activation(write: _Writer, x: str, layer: Any) -> str:
    name = layer.activation.__name__
    if name == "linear":
        return x
    if name == "relu":
        return write("Relu", x)
    if name == "tanh":
        return write("Tanh", x)
    if name == "gelu":
        erf = write("Erf", write("Mul", x, write.constant(2**-0.5)))
        return write("Mul", write("Mul", x, write.constant(0.5)), write("Add", erf, write.constant(1.0)))
    raise InvalidInput(f"activation of {layer.name}: expected linear, relu, tanh or gelu, received {name}.")


def _write_conv(write: _Writer, node: Any, x: str) -> str:
    layer = node.operation
    x = write("Transpose", x, perm=[0, 3, 1, 2])
    kernel = write.constant(to_numpy(layer.kernel).transpose(3, 2, 0, 1))
    bias = [] if layer.bias is None else [write.constant(to_numpy(layer.bias))]
    padding = {"same": "SAME_UPPER", "valid": "VALID"}[layer.padding]
    strides, dilations = list(layer.strides), list(layer.dilation_rate)
    x = write("Conv", x, kernel, *bias, auto_pad=padding, strides=strides, dilations=dilations)
    return _write_activation(write, write("Transpose", x, perm=[0, 2, 3, 1]), layer)


def _write_dense(write: _Writer, node: Any, x: str) -> str:
    layer = node.operation
    x = write("MatMul", x, write.constant(to_numpy(layer.kernel)))
    x = x if layer.bias is None else write("Add", x, write.constant(to_numpy(layer.bias)))
    return _write_activation(write, x, layer)


def _write_layer_normalization(write: _Writer, node: Any, x: str) -> str:
    layer = node.operation
    scale, shift = write.constant(to_numpy(layer.gamma)), write.constant(to_numpy(layer.beta))
    return write("LayerNormalization", x, scale, shift, axis=-1, epsilon=float(layer.epsilon))


def _write_reshape(write: _Writer, node: Any, x: str) -> str:
    return write("Reshape", x, write.constant([-1, *map(int, node.output_tensors[0].shape[1:])], np.int64))


def _write_along(write: _Writer, x: str, operator: str, axes: Any, **attributes: Any) -> str:
    """Apply an operator whose axes are a tensor."""
    return write(operator, x, write.constant(np.atleast_1d(axes), np.int64), **attributes)


def _write_one_hot(write: _Writer, node: Any, x: str) -> str:
    depth, off_on_values = write.constant(node.operation.num_classes, np.int64), write.constant([0.0, 1.0])
    return write("OneHot", x, depth, off_on_values, axis=-1)


def _write_rescaling(write: _Writer, node: Any, x: str) -> str:
    layer = node.operation
    return write("Add", write("Mul", x, write.constant(layer.scale)), write.constant(layer.offset))


_OPERATIONS: Mapping[str, Callable[..., str]] = {
    "Conv2D": _write_conv,
    "Dense": _write_dense,
    "LayerNormalization": _write_layer_normalization,
    "Matmul": lambda write, node, *inputs: write("MatMul", *inputs),
    "Softmax": lambda write, node, x: write("Softmax", x, axis=node.operation.axis),
    "Transpose": lambda write, node, x: write("Transpose", x, perm=node.operation.axes),
    "Flatten": _write_reshape,
    "Rescaling": _write_rescaling,
    "Reshape": _write_reshape,
    "Multiply": lambda write, node, *inputs: write("Mul", *inputs),
    "Add": lambda write, node, *inputs: write("Add", *inputs),
    "Absolute": lambda write, node, x: write("Abs", x),
    "Argmin": lambda write, node, x: write("ArgMin", x, axis=-1, keepdims=0),
    "ExpandDims": lambda write, node, x: _write_along(write, x, "Unsqueeze", node.operation.axis),
    "OneHot": _write_one_hot,
    "StopGradient": lambda write, node, x: x,
    "Subtract": lambda write, node, *inputs: write("Sub", *inputs),
    "Sum": lambda write, node, x: _write_along(write, x, "ReduceSum", node.operation.axis, keepdims=0),
}
"""Class of a Keras operation -> its converter, called with the graph, Keras' node and the names of its inputs."""
