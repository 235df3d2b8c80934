"""Faster convolutions for jax and PyTorch; on TensorFlow they are Keras' own.

XLA's convolution is slower than one matrix product in two cases: on a CPU, and for many models in parallel, since a
convolution with a different kernel for each model becomes a grouped convolution, but a matrix product a batched one. On
PyTorch, Keras pads and slices by copying, which PyTorch's functions do in place. The weights are those of Keras'
layers.
"""

from __future__ import annotations

from typing import Any

from baselines.nets import backend
from baselines.nets.backend import jax, keras, ops, torch


class Conv2D(keras.layers.Conv2D):  # type: ignore[misc]  # Keras is loaded when it is needed
    """A convolution whose kernel is square, a multiple of its stride wide, and padded ``"same"``."""

    def call(self, inputs: Any) -> Any:
        """Convolve: (n, H, W, C) to (n, H / stride, W / stride, filters)."""
        stride = self.strides[0]
        if backend.name() == "tensorflow":
            return super().call(inputs)
        if backend.name() == "jax":
            return self.activation(convolve(inputs, self.kernel, stride) + self.bias)
        return self.activation(_call_torch(torch.nn.functional.conv2d, inputs, self.kernel, self.bias, stride))


class Conv2DTranspose(keras.layers.Conv2DTranspose):  # type: ignore[misc]
    """A transposed convolution whose kernel is square, a multiple of its stride wide, and padded ``"same"``."""

    def call(self, inputs: Any) -> Any:
        """Convolve: (n, h, w, C) to (n, h stride, w stride, filters)."""
        stride, kernel = self.strides[0], self.kernel
        if backend.name() == "tensorflow":
            return super().call(inputs)
        if backend.name() == "torch":
            return self.activation(_call_torch(torch.nn.functional.conv_transpose2d, inputs, kernel, self.bias, stride))
        n, height, width, _ = inputs.shape
        output = jax.ShapeDtypeStruct((n, height * stride, width * stride, self.filters), inputs.dtype)
        transposed = jax.linear_transpose(lambda x: convolve(x, ops.convert_to_tensor(kernel), stride), output)
        return self.activation(transposed(inputs)[0] + self.bias)


def _call_torch(function: Any, images: Any, kernel: Any, bias: Any, stride: int) -> Any:
    """Call a function of PyTorch, in which channels come before positions and the kernel's axes are reversed.

    The images are not copied: their memory layout is PyTorch's ``channels_last``.
    """
    weights = ops.convert_to_tensor(kernel).permute(3, 2, 0, 1)
    padding = (kernel.shape[0] - stride) // 2
    output = function(images.permute(0, 3, 1, 2), weights, ops.convert_to_tensor(bias), stride, padding)
    return output.permute(0, 2, 3, 1)


def convolve(images: Any, kernel: Any, stride: int) -> Any:
    """Convolve with one matrix product, padding ``"same"``.

    Args:
        images: (n, H, W, C); H and W are multiples of the stride.
        kernel: (k, k, C, F); k is a multiple of the stride, and an even number larger.
        stride: of both axes.

    Returns:
        (n, H / stride, W / stride, F).
    """
    size, _, channels, filters = kernel.shape
    _, height, width, _ = images.shape
    padding = ((size - stride) // 2,) * 2
    blocks, rows, columns = size // stride, height // stride, width // stride
    x = ops.pad(images, ((0, 0), padding, padding, (0, 0)))
    x = ops.reshape(x, (-1, rows + blocks - 1, stride, columns + blocks - 1, stride, channels))
    x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
    x = ops.reshape(x, (-1, rows + blocks - 1, columns + blocks - 1, stride * stride * channels))
    windows = [x[:, i : i + rows, j : j + columns] for i in range(blocks) for j in range(blocks)]
    matrix = ops.reshape(kernel, (blocks, stride, blocks, stride, channels, filters))
    matrix = ops.reshape(ops.transpose(matrix, (0, 2, 1, 3, 4, 5)), (-1, filters))
    return ops.matmul(ops.concatenate(windows, axis=-1), matrix)
