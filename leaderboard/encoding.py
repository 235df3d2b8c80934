"""Any encoder as one function from uint8 images to codes: plain functions, PyTorch, Keras and JAX."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import logging
import math
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput, OffaxisWarning, check_count, needs
from benchmark_data.types import Pixels
from leaderboard.arrays import as_plain_array

__all__ = ["Encoder", "Input"]

Input: TypeAlias = Literal["uint8_hwc", "uint8_chw", "float32_hwc", "float32_chw"]
"""What an encoder is called with: uint8 in [0, 255] or float32 in [0, 1], channels last or first."""

CODES = (
    "To score codes: offaxis board score codes.npz --dataset NAME. To compare them with published rows, put them into "
    "a run folder: docs/submitting.md, Runs of your own."
)
"""What to do with codes instead of an encoder."""


class TrainingMode(OffaxisWarning):
    """An encoder calls a PyTorch module that `Encoder` did not find and that is in training mode."""


class OtherCodes(OffaxisWarning):
    """An encoder returned other codes for the same images: it draws random numbers, or depends on the batch."""


class ScaledTwice(OffaxisWarning):
    """An encoder divided images in [0, 1] by 255 again before it called its PyTorch module or Keras layer."""


class Encoder:
    """Calls an encoder batch by batch with what it expects, and returns its codes as numpy arrays.

    PyTorch modules and Keras layers are found in what is passed: the object itself, the object of a bound method, the
    arguments of a ``functools.partial``, the variables that a function or lambda refers to, the attributes of a
    callable object. While a module encodes, it is in evaluation mode and no gradient is kept; its mode is restored
    afterwards.

    Args:
        encode: called with a batch of images, returns codes (n, L), or (n, K, d) for K units of d numbers. An object
            that is not callable, or a PyTorch module without ``forward``, is called by its method ``encode``.
        input: what ``encode`` is called with. Default: ``"float32_chw"`` as a tensor on the module's device if a
            PyTorch module was found, ``"float32_hwc"`` if a Keras layer was, ``"uint8_hwc"`` otherwise.
        batch_size: images per call.

    Raises:
        InvalidInput: ``encode`` cannot be called, ``input`` is unknown, or ``batch_size`` is no positive integer.

    Example:
        >>> encoder = Encoder(lambda images: images.mean(axis=(1, 2)))
        >>> encoder(np.full((3, 64, 64, 1), 255, np.uint8)).tolist()
        [[255.0], [255.0], [255.0]]
        >>> encoder.description
        'called with numpy arrays, uint8 (n, H, W, C) in [0, 255]'
    """

    def __init__(self, encode: Any, *, input: Input | None = None, batch_size: int = 256) -> None:
        has_no_forward = getattr(getattr(encode, "forward", None), "__name__", "") == "_forward_unimplemented"
        if (not callable(encode) or has_no_forward) and not isinstance(encode, str):
            encode = getattr(encode, "encode", encode)
        if not callable(encode) or isinstance(encode, type):
            received = f"the class {encode.__name__}" if callable(encode) else f"one of type {type(encode).__name__}"
            raise InvalidInput(
                f"encode: expected a function from images to codes, or a model (an instance), received {received}. "
                f"leaderboard.evaluate also takes the paths of ONNX files and run folders. {CODES}"
            )
        check_input(input)
        check_count("batch_size", batch_size, 1)
        self._encode = encode
        objects = list(_referenced_objects(encode))
        torch, keras = sys.modules.get("torch"), sys.modules.get("keras")
        self._modules = [value for value in objects if torch and isinstance(value, torch.nn.Module)]
        self._layers = [value for value in objects if keras and isinstance(value, keras.Layer)]
        # With Keras on PyTorch, a layer is a module, too: called as Keras calls it.
        self._modules = [module for module in self._modules if not any(module is layer for layer in self._layers)]
        default: Input = "float32_chw" if self._modules else "float32_hwc" if self._layers else "uint8_hwc"
        self.input = input or default
        self.batch_size = batch_size
        self._keywords = {"training": False} if any(encode is layer for layer in self._layers) else {}

    @property
    def device(self) -> str:
        """Where the PyTorch module is; empty for other encoders."""
        tensors = (tensor for module in self._modules for tensor in (*module.parameters(), *module.buffers()))
        return str(next((tensor.device for tensor in tensors), "cpu")) if self._modules else ""

    @property
    def description(self) -> str:
        """What the encoder is called with, in words."""
        kind, layout = self.input.split("_")
        shape = "(n, H, W, C)" if layout == "hwc" else "(n, C, H, W)"
        limits = "[0, 255]" if kind == "uint8" else "[0, 1]"
        batch = f"PyTorch tensors on {self.device}" if self._modules else "numpy arrays"
        return f"called with {batch}, {self._dtype} {shape} in {limits}"

    @property
    def _dtype(self) -> str:
        """The data type of a batch: floats have that of the PyTorch module's weights."""
        weights = (tensor for module in self._modules for tensor in module.parameters() if tensor.is_floating_point())
        dtype = next((str(tensor.dtype).removeprefix("torch.") for tensor in weights), "float32")
        return dtype if self.input.startswith("float32") else "uint8"

    def __call__(self, images: Pixels) -> NDArray[np.floating[Any]]:
        """Encode images.

        Args:
            images: uint8, shape (n, H, W, C).

        Returns:
            Codes, float32, or float64 where float32 does not hold their type, shape (n, L) or (n, K, d).

        Raises:
            InvalidInput: no images, images that are not uint8, or the encoder did not return such codes.
        """
        check_count("images", len(images), 1)
        if images.dtype != np.uint8:
            raise InvalidInput(f"images: expected uint8, received {images.dtype}. Scale them to [0, 255].")
        codes = []
        with _evaluation_mode(self._modules):
            for start in range(0, len(images), self.batch_size):
                batch = images[start : start + self.batch_size].copy()  # which an encoder may change
                codes.append(_check_batch_codes(self._call_encoder(batch), len(batch)))
                if codes[-1].shape[1:] != codes[0].shape[1:]:
                    first, last = codes[0].shape[1:], codes[-1].shape[1:]
                    shapes = [", ".join(map(str, ("n", *shape))) for shape in (first, last)]
                    raise InvalidInput(f"codes: expected shape ({shapes[0]}) of every batch, received ({shapes[1]}).")
        return np.concatenate(codes)

    def check(self, images: Pixels, codes: NDArray[np.floating[Any]]) -> None:
        """Encode three images again, in reverse order; warn of other codes than before, and of pixels scaled twice."""
        batch = images[2::-1]
        ranges: list[float] = []

        def note_range(_: Any, arguments: tuple[Any, ...]) -> None:
            is_batch = arguments and None not in (shape := getattr(arguments[0], "shape", ()))
            if is_batch and not ranges and math.prod(shape) == batch.size:
                values = as_numpy(arguments[0]).astype(float)
                ranges.append(float(np.ptp(values, axis=0).max()))  # of each pixel: channels may have other offsets

        with contextlib.ExitStack() as stack:
            if self._modules:
                stack.enter_context(_before_forward(note_range))
            elif self._layers:
                stack.enter_context(_before_keras(note_range))
            repeated_codes = self(batch)[::-1]
        if (np.abs(repeated_codes - codes[:3]) > 0.01 * (np.abs(codes[:3]) + codes.std())).any():
            message = "draws random numbers or depends on the rest of the batch. Return means, in inference mode."
            warnings.warn(f"Encoded again, images have other codes: the encoder {message}", OtherCodes, stacklevel=4)
        if self.input.startswith("float32") and ranges and ranges[0] < 0.02 * (np.ptp(batch, axis=0).max() / 255):
            message = f"the encoder was {self.description}, and scaled them again. Remove its scaling, or pass input="
            warnings.warn(f"Images were scaled twice: {message}'uint8_{self.input[-3:]}'.", ScaledTwice, stacklevel=4)

    def export(self, path: str | os.PathLike[str], example: Pixels) -> None:
        """Write the encoder in ONNX, from uint8 (n, H, W, C) to ``codes``, for a verified row.

        Args:
            path: the file, ``encoder.onnx`` or so.
            example: a few images, uint8 (n, H, W, C).

        Raises:
            InvalidInput: the encoder is no PyTorch module, or PyTorch cannot export it.
            MissingExtra: onnx or onnxscript is not installed.
        """
        if not self._modules:
            raise InvalidInput("Only encoders with a PyTorch module can be exported to ONNX.")
        needs("the export of an encoder", "", "onnx", "onnxscript")
        torch = sys.modules["torch"]
        encode, layout, dtype = self._encode, self.input[-3:], getattr(torch, self._dtype)

        class Graph(torch.nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self, modules: list[Any]) -> None:
                super().__init__()
                self.parts = torch.nn.ModuleList(modules)

            def forward(self, images: Any) -> Any:
                images = images.permute(0, 3, 1, 2) if layout == "chw" else images
                return encode((images.float() / 255).to(dtype) if dtype.is_floating_point else images)

        batch = torch.export.Dim("n", min=1, max=4096)
        names = {"input_names": ["images"], "output_names": ["codes"]}
        images = torch.from_numpy(example).to(self.device)
        log = logging.getLogger("torch.onnx")
        level = log.level
        with _evaluation_mode(self._modules), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's own, of its exporter
            log.setLevel(logging.ERROR)  # its exporter also logs each operator of torchvision, if that is not installed
            try:
                graph = Graph(self._modules).eval()
                torch.onnx.export(
                    graph, (images,), path, dynamic_shapes=({0: batch},), external_data=False, verbose=False, **names
                )
            except Exception as error:
                raise InvalidInput(
                    f"PyTorch cannot export the encoder ({str(error).partition(chr(10))[0]})."
                ) from error
            finally:
                log.setLevel(level)

    def _call_encoder(self, images: Pixels) -> Any:
        """Call the encoder; its own errors say what it was called with."""
        try:
            return self._encode(self._prepare_batch(images), **self._keywords)
        except Exception as error:
            error.add_note(
                f"The encoder was {self.description}. If it expects another layout or range, pass input= "
                f"one of {', '.join(get_args(Input))}." + " They are tensors: omit from_numpy." * bool(self._modules)
            )
            if "torch" in sys.modules and not self._modules:
                error.add_note("No PyTorch module was found in it: pass the module itself, or call torch.from_numpy.")
            raise

    def _prepare_batch(self, images: Pixels) -> Any:
        """Return a batch as the encoder expects it."""
        kind, layout = self.input.split("_")
        batch: NDArray[Any] = images.astype(np.float32) / 255 if kind == "float32" else images
        if layout == "chw":
            batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
        if not self._modules:
            return batch
        return sys.modules["torch"].from_numpy(batch).to(self.device, getattr(sys.modules["torch"], self._dtype))


def _referenced_objects(encode: Any) -> Iterator[Any]:
    """Yield an encoder and the objects that it is made of or refers to."""
    yield encode
    if isinstance(encode, functools.partial):
        yield from (*_referenced_objects(encode.func), *_flatten((*encode.args, *encode.keywords.values())))
    elif inspect.ismethod(encode):
        yield encode.__self__
        yield from _flatten(getattr(encode.__self__, "__dict__", {}).values())
    elif inspect.isfunction(encode):
        encode = inspect.unwrap(encode)  # what torch.no_grad() decorates
        variables = inspect.getclosurevars(encode)
        # Python 3.11 lists globals, too, that only have the name of an attribute, such as `model` of `mine.model`.
        global_names = {opcode.argval for opcode in dis.get_instructions(encode) if opcode.opname == "LOAD_GLOBAL"}
        referenced = (value for name, value in variables.globals.items() if name in global_names)
        defaults = (*(encode.__defaults__ or ()), *(encode.__kwdefaults__ or {}).values())
        for value in _flatten((*variables.nonlocals.values(), *referenced, *defaults)):
            yield value
            if inspect.ismethod(value):
                yield (value := value.__self__)
            if not isinstance(value, type | types.ModuleType | types.FunctionType):  # such as self.model of a trainer
                yield from _flatten(getattr(value, "__dict__", {}).values())
    elif hasattr(encode, "__dict__"):
        yield from _flatten(vars(encode).values())


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yield each value, or the items of a list or tuple."""
    for value in values:
        yield from value if isinstance(value, list | tuple) else [value]


@contextlib.contextmanager
def _evaluation_mode(modules: list[Any]) -> Iterator[None]:
    """Put PyTorch modules into evaluation mode without gradients, and restore their mode afterwards."""
    if not modules:
        with _warn_of_training_mode() if "torch.nn.modules.module" in sys.modules else contextlib.nullcontext():
            yield
        return
    submodules = [submodule for module in modules for submodule in module.modules()]
    modes = [(submodule, submodule.training) for submodule in submodules if hasattr(submodule, "training")]
    try:
        for module in modules:
            with contextlib.suppress(NotImplementedError):  # a graph of torch.export has one mode
                module.eval()
        with sys.modules["torch"].no_grad():
            yield
    finally:
        for submodule, was_training in modes:
            submodule.training = was_training


@contextlib.contextmanager
def _warn_of_training_mode() -> Iterator[None]:
    """Warn if PyTorch modules run in training mode: some that were not found."""
    training_modules: list[Any] = []
    with _before_forward(lambda module, _: training_modules.extend([module] * module.training)):
        yield
    keras = sys.modules.get("keras")  # whose layers may be modules and do not heed this mode
    if any(not keras or not isinstance(module, keras.Layer) for module in training_modules):
        warnings.warn(
            "The encoder calls a PyTorch module in training mode, in which dropout is active: call its eval() first, "
            "or pass the module itself or a lambda that refers to it.",
            TrainingMode,
            stacklevel=5,
        )


@contextlib.contextmanager
def _before_forward(function: Callable[[Any, tuple[Any, ...]], None]) -> Iterator[None]:
    """Call a function with each PyTorch module that is called, and its arguments."""
    hook = sys.modules["torch.nn.modules.module"].register_module_forward_pre_hook(function)
    try:
        yield
    finally:
        hook.remove()


@contextlib.contextmanager
def _before_keras(function: Callable[[Any, tuple[Any, ...]], None]) -> Iterator[None]:
    """Call a function with each Keras layer that is called outside of compiled code, and its arguments."""
    keras = sys.modules["keras"]

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(layer: Any, *arguments: Any, **keywords: Any) -> Any:
            with contextlib.suppress(NotImplementedError, TypeError):  # tensors without values
                function(layer, arguments)
            return method(layer, *arguments, **keywords)

        return call

    kinds = {"__call__": keras.Layer, "predict": keras.Model}
    owners = {name: next(base for base in kind.__mro__ if name in vars(base)) for name, kind in kinds.items()}
    methods = {name: vars(owner)[name] for name, owner in owners.items()}
    try:
        for name, owner in owners.items():
            setattr(owner, name, noted(methods[name]))
        yield
    finally:
        for name, owner in owners.items():
            setattr(owner, name, methods[name])


def check_input(input: object) -> None:
    """Check that ``input`` is None or an `Input`."""
    if input is not None and input not in get_args(Input):
        raise InvalidInput(f"input: expected one of {', '.join(get_args(Input))}, received {input!r}.")


def as_numpy(values: Any) -> NDArray[Any]:
    """Return an array, or a PyTorch tensor, as an array of numpy, which has no bfloat16."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if values.dtype.is_floating_point and values.dtype.itemsize < 4 else values
    array = as_plain_array(values, "batch")
    return array.astype(np.float32) if str(array.dtype) == "bfloat16" else array


def _check_batch_codes(codes: Any, n: int) -> NDArray[np.floating[Any]]:
    """Return the codes of a batch of n images as real numbers, shape (n, L) or (n, K, d)."""
    if codes is None:
        raise InvalidInput("codes: expected one array, received None. Let the encoder return its codes.")
    if isinstance(codes, tuple | list | dict):
        parts = codes if isinstance(codes, dict) else dict(enumerate(codes))
        shapes = {name: tuple(getattr(part, "shape", ())) for name, part in parts.items()}
        # Rather than images drawn again.
        likely = next((name for name, shape in shapes.items() if len(shape) == 2), 0)
        remedy = f"Pass the part that holds the codes, for example `lambda images: model(images)[{likely!r}]`."
        if hasattr(codes, "log_variance"):  # of baselines.Run
            remedy = "Pass the run's folder, run.folder, or `lambda images: run.encode(images).mean`."
        elif isinstance(codes, list) and len(codes) == n:
            remedy = "Return numpy.array(codes)."
        shape_list = f", of shapes {', '.join(map(str, shapes.values()))}" if 0 < len(shapes) < 10 else ""
        raise InvalidInput(
            f"codes: expected one array, received a {type(codes).__name__} of {len(codes)}{shape_list}. {remedy}"
        )
    array = as_numpy(codes)
    if array.dtype.kind not in "fiub":
        if hasattr(codes, "dtype"):
            raise InvalidInput(f"codes: expected real numbers, received dtype {array.dtype}.")
        remedy = " Return its mean, for example `lambda images: model(images).mean`." * hasattr(codes, "mean")
        raise InvalidInput(f"codes: expected real numbers, received an object of type {type(codes).__name__}.{remedy}")
    is_one_unit = array.ndim == 3 and array.shape[1] == 1 < array.shape[2]
    if array.ndim not in (2, 3) or len(array) != n or not array.size or is_one_unit:
        remedy = "Return one row of numbers for each image."
        if array.ndim == 2 and array.shape[1] == n:
            remedy = "They look transposed: return codes.T."
        elif array.ndim == 1 and len(array) == n:
            remedy = "For a single latent, return codes[:, None]."
        elif is_one_unit and len(array) == n:
            remedy = f"This is one unit of {array.shape[2]} numbers: to use them as latents, return codes[:, 0]."
        elif array.ndim > 3 and len(array) == n:
            remedy = "Pass the function that encodes, as model.encode; flatten maps: codes.reshape(len(codes), -1)."
        raise InvalidInput(
            f"codes: expected shape ({n}, latents) for {n} images, received shape {array.shape}. {remedy}"
        )
    return array.astype(np.result_type(array, np.float32))  # a copy, since encoders may use their memory again
