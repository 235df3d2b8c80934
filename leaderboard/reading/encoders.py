"""Run an encoder in ONNX in a separate process: bounded time and memory, no files, no network.

Every file is untrusted: the process (`leaderboard.reading.encoder_process`) reads, checks and runs it under the limits
of `leaderboard.reading.sandbox`. This side sends images and receives frames of bounded size. It does not parse the
file, nor allocate memory by numbers in it.

Internal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, needs
from benchmark_data.factors import Indices
from leaderboard.reading import encoder_process, sandbox

Layout: TypeAlias = Literal["NHWC", "NCHW"]

ENCODE_SECONDS = 900
"""The most seconds of processor time for all images of an encoder: 9,000 images at 10 a second."""

CHECK_SECONDS = 20
"""The most seconds of processor time to check an encoder, including the loading of the model by onnxruntime."""

MEMORY = 2**30
"""The most bytes that an encoder may use in addition to the empty process, if the system can limit memory."""

BATCH = 128
"""Images per batch, unless the model fixes another number."""

BATCH_BYTES = 64 * 2**20
"""The most bytes of images per batch."""

CODES_BYTES = 2**30
"""The most bytes of codes for all images of an encoder."""

_EXIT_SECONDS = 5.0
"""Seconds to wait for the exit of a process that no longer answers, to report its exit status."""


class OnnxEncoder:
    """An encoder that is ready to run; use it in a ``with`` block, in the thread that created it.

    Linux ends its process with that thread.

    Args:
        path: the model, a regular file that `leaderboard.reading.graphs` accepts.
        output: the output that holds the codes; ``codes``, ``mean`` or the only one if it is empty.
        seconds: the most processor time that it may use.

    Attributes:
        digest: SHA-256 of the file.
        dtype: of the input images: ``uint8``, ``float16``, ``float32`` or ``float64``.
        shape: of the input images, None for any size.

    Raises:
        DamagedFile: no regular file, too large, or no model in ONNX.
        InvalidInput: the graph has a forbidden or oversized part, which the message names; or the system cannot limit
            processes.
        MissingExtra: onnx or onnxruntime is not installed.
    """

    def __init__(self, path: str | os.PathLike[str], *, output: str = "", seconds: int = ENCODE_SECONDS) -> None:
        needs("an ONNX encoder", "onnx", "onnx", "onnxruntime")
        if os.name != "posix":
            raise InvalidInput("Encoders run on Linux and macOS, where a process can be limited. Submit codes here.")
        self.path, self._seconds = Path(path), seconds
        paths = os.pathsep.join(folder for folder in sys.path if folder)
        thread_limits = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        library_paths = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        arguments = (str(self.path), str(seconds), str(MEMORY), output, str(os.getpid()))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", encoder_process.__name__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": paths, **thread_limits, **library_paths},
            start_new_session=True,  # so that Ctrl-C reaches this side only, which ends it
        )
        self._stdin, self._stdout = (cast("IO[bytes]", pipe) for pipe in (self._process.stdin, self._process.stdout))
        self._timed_out = False
        # The machine may be busy with other processes.
        self._timer = threading.Timer(4 * seconds + 60, self._kill_on_timeout)
        self._timer.daemon = True
        self._timer.start()
        try:
            self.digest = self._receive_frame(b"D", 32)[1].hex()
            (dtype_index, *_), axes = self._receive_frame(b"S", 16)
            self.dtype = encoder_process.DTYPES[dtype_index]
            self.shape = tuple(None if size < 0 else size for size in struct.unpack(">4i", axes))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> OnnxEncoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._timer.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):  # the reader of unwritten data may have exited
                stream.close()

    def encode(
        self,
        dataset: Dataset,
        rows: Sequence[int] | Indices,
        *,
        layout: Layout | None = None,
        mean: Sequence[float] = (0.0,),
        std: Sequence[float] = (1.0,),
        batch_size: int = BATCH,
        progress: Callable[[int], None] = lambda done: None,
    ) -> NDArray[np.float32]:
        """Encode rows of a dataset.

        Args:
            dataset: the dataset of the images.
            rows: rows of it, int (n,).
            layout: the order of axes; by default inferred from the shape of the model's input.
            mean: of pixels in [0, 1], for each channel, or one for all; models with float input receive
                (pixels / 255 - mean) / std.
            std: of pixels in [0, 1], likewise, above 0.
            batch_size: images per batch, if the model does not fix it.
            progress: called after each batch with its number of images.

        Returns:
            float32, (n, L), or (n, L, d) for units of several numbers; all finite.

        Raises:
            InvalidInput: the encoder does not accept these images, does not return codes, or exceeds its time or
                memory.
        """
        channel_layout = find_layout(self.path, self.shape, dataset, layout)
        scaling = (np.asarray(mean, np.float32), np.asarray(std, np.float32))
        if any(value.shape not in ((1,), (dataset.image_shape[2],)) for value in scaling) or not (scaling[1] > 0).all():
            raise InvalidInput(
                f"mean and std: expected one number each, or {dataset.image_shape[2]}, std above 0, received {mean} "
                f"and {std}."
            )
        largest_batch = BATCH_BYTES // (int(np.prod(dataset.image_shape)) * np.dtype(self.dtype).itemsize)
        encoded: list[NDArray[np.float32]] = []
        for _, images in dataset.batches(rows, batch_size=max(1, min(self.shape[0] or batch_size, largest_batch))):
            pixels = images if self.dtype == "uint8" else (images / np.float32(255) - scaling[0]) / scaling[1]
            codes = self._encode_batch(pixels.transpose(0, 3, 1, 2) if channel_layout == "NCHW" else pixels)
            if encoded and codes.shape[1:] != encoded[0].shape[1:]:
                raise InvalidInput(
                    f"{self.path}: wrong shape: expected codes of shape {encoded[0].shape[1:]} for every batch, "
                    f"received {codes.shape[1:]}."
                )
            if codes[0].nbytes * len(rows) > CODES_BYTES:
                raise InvalidInput(
                    f"{self.path}: too wide: expected at most {CODES_BYTES >> 30} GiB of codes for {len(rows):,} "
                    f"images, received {codes[0].nbytes:,} bytes for each."
                )
            encoded.append(codes)
            progress(len(images))
        return np.concatenate(encoded)

    def _encode_batch(self, images: NDArray[np.generic]) -> NDArray[np.float32]:
        """Send a batch of images and receive their codes."""
        content = np.ascontiguousarray(images, self.dtype).tobytes()
        with contextlib.suppress(OSError):  # it has exited; its refusal or exit status is raised below
            encoder_process.send(self._stdin, b"I", *images.shape, content=content)
        (count, units, numbers, _), payload = self._receive_frame(b"C", encoder_process.ANSWER)
        shape = (count, units, numbers) if numbers else (count, units)
        if count != len(images) or min(shape) < 1 or 4 * count * units * (numbers or 1) != len(payload):
            raise self._process_error()
        return np.frombuffer(payload, np.float32).reshape(shape)

    def _receive_frame(self, kind: bytes, max_bytes: int) -> tuple[tuple[int, ...], bytes]:
        """Receive a frame of a kind, of at most ``max_bytes`` bytes: its numbers and its content."""
        head = self._stdout.read(encoder_process.HEAD.size)
        if len(head) == encoder_process.HEAD.size:
            received_kind, *numbers, size = encoder_process.HEAD.unpack(head)
            if received_kind == b"R" and size <= encoder_process.REASON:
                text = self._stdout.read(size).decode(errors="replace")
                raise (DamagedFile if numbers[0] else InvalidInput)(text)
            if received_kind == kind and size <= max_bytes:
                content = self._stdout.read(size)
                if len(content) == size:
                    return tuple(numbers), content
        raise self._process_error()

    def _kill_on_timeout(self) -> None:
        self._timed_out = True
        self._process.kill()

    def _process_error(self) -> OffaxisError:
        """Return an error that states how the process ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_EXIT_SECONDS)
        status = self._process.poll()
        self._process.kill()
        time_limit = f"{4 * self._seconds + 60} s" if self._timed_out else f"{self._seconds} s of processor time"
        if self._timed_out or status == -signal.SIGXCPU:
            what, expected, received = "too slow", f"all images within {time_limit}", "more than that"
        elif status == -signal.SIGSYS:
            what, expected, received = "refused", "no system calls except for computation", "a forbidden system call"
        elif status == -signal.SIGKILL:
            what, expected = "killed", "a process that is not killed"
            received = "SIGKILL, for example because the machine ran out of memory"
        else:
            what, expected = "it crashed", f"a model that runs in {MEMORY >> 20:,} MiB of memory"
            cause = "a malformed answer" if status is None else sandbox.signal_name(status)
            received = cause or f"exit status {status}"
        return InvalidInput(f"{self.path}: {what}: expected {expected}, received {received}.")


def check(path: str | os.PathLike[str]) -> None:
    """Check an encoder without encoding images, in at most `CHECK_SECONDS` seconds of processor time.

    Raises:
        DamagedFile: as ``OnnxEncoder``.
        InvalidInput: as ``OnnxEncoder``.
        MissingExtra: as ``OnnxEncoder``.
    """
    OnnxEncoder(path, seconds=CHECK_SECONDS).close()


def encode(
    path: str | os.PathLike[str],
    dataset: Dataset,
    rows: Sequence[int] | Indices,
    *,
    output: str = "",
    **encoding: Any,
) -> NDArray[np.float32]:
    """Encode rows of a dataset with an encoder in ONNX, in a separate process.

    Args:
        path: the model.
        dataset: the dataset of the images.
        rows: rows of it, int (n,).
        output: as for `OnnxEncoder`.
        **encoding: as for `OnnxEncoder.encode`.

    Returns:
        float32, (n, L), or (n, L, d) for units of several numbers.

    Raises:
        DamagedFile: as ``OnnxEncoder``.
        InvalidInput: as ``OnnxEncoder`` and its ``encode``.
        MissingExtra: as ``OnnxEncoder``.
    """
    with OnnxEncoder(path, output=output) as encoder:
        return encoder.encode(dataset, rows, **encoding)


def find_layout(
    path: str | os.PathLike[str], shape: Sequence[int | None], dataset: Dataset, wanted: Layout | None = None
) -> Layout:
    """Find the order of axes of a model's input.

    Args:
        path: the model, for messages.
        shape: of its input, None for any size.
        dataset: the dataset of the images.
        wanted: the user's choice, if any.

    Returns:
        ``"NHWC"`` or ``"NCHW"``.

    Raises:
        InvalidInput: the model does not accept images of this dataset, or its shape fits both orders.
    """
    height, width, channels = dataset.image_shape
    layouts: dict[Layout, tuple[int, int, int]] = {
        "NHWC": (height, width, channels),
        "NCHW": (channels, height, width),
    }
    if wanted is not None and wanted not in layouts:
        raise InvalidInput(f"layout: expected 'NHWC' or 'NCHW', received {wanted!r}.")
    fitting = [
        name
        for name, axes in layouts.items()
        if all(axis in (None, size) for axis, size in zip(shape[1:], axes, strict=True))
    ]
    if wanted is not None and wanted in fitting:
        return wanted
    if wanted is not None or not fitting:
        expected = " or ".join(f"{name} (n, {', '.join(map(str, axes))})" for name, axes in layouts.items())
        received = f"shape {tuple(shape)}" + (f" as {wanted}" if wanted else "")
        raise InvalidInput(
            f"input of {path}: expected {expected}, received {received}. The images of {dataset.id} are {height} x "
            f"{width} with {channels} channels."
        )
    if len(fitting) > 1:
        raise InvalidInput(
            f"layout of {path}: expected an input shape from which the channel axis is clear, received shape "
            f"{tuple(shape)}. Export it with fixed height, width and channels."
        )
    return fitting[0]
