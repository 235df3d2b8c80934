"""A stranger's encoder in ONNX, run in a process of its own: little time, little memory, no files, no network.

The process (`leaderboard.reading.encoder_process`) limits itself before it looks at the model, judges the graph with
`leaderboard.reading.graphs`, and then encodes what it is sent. What it may not do ends it and is told by name.

Internal.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data import files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, needs
from benchmark_data.factors import Indices
from benchmark_data.types import Images
from leaderboard.reading import encoder_process, graphs

SECONDS = 900
"""Processor time for one encoder, all its images together: 9,000 images at 10 a second."""

MEMORY = 6 * 2**30
"""Bytes of address space for one encoder."""

BATCH = 128
"""Images that an encoder gets at a time, unless it fixes another number."""


class Encoder:
    """An encoder that is ready to run; use it in a ``with`` block.

    Args:
        path: the model, a regular file. What it must be: `leaderboard.reading.graphs`.
        seconds: processor time that it may take.
        memory: bytes of address space that it may take.

    Attributes:
        digest: SHA-256 of the file.

    Raises:
        DamagedFile: no regular file, too large, or no model in ONNX.
        InvalidInput: the graph holds what it may not, or takes too much; the message begins with the name of it.
        MissingExtra: onnx or onnxruntime is not installed.
    """

    def __init__(self, path: str | os.PathLike[str], *, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        needs("an ONNX encoder", "onnx", "onnx", "onnxruntime")
        self.path, self._seconds, self._memory = Path(path), seconds, memory
        model = content(self.path)
        self.digest = hashlib.sha256(model).hexdigest()
        paths = [place for place in sys.path if place]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", encoder_process.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                "PYTHONPATH": os.pathsep.join(paths),
                **{f"{kind}_NUM_THREADS": "1" for kind in ("OMP", "OPENBLAS", "MKL")},
            },
        )
        self._inward, self._outward = _stream(self._process.stdin), _stream(self._process.stdout)
        self._overdue = threading.Timer(
            10 * seconds + 60, self._process.kill
        )  # a machine may be busy with other things
        self._overdue.daemon = True
        self._overdue.start()
        try:
            header, _ = self._ask({"seconds": seconds, "memory": memory}, model)
            self.signature = graphs.Signature(
                header["source"], header["dtype"], tuple(header["shape"]), header["output"]
            )
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._overdue.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._inward, self._outward):
            with contextlib.suppress(OSError):  # what was not yet written has no reader any more
                stream.close()

    def encode(
        self,
        dataset: Dataset,
        rows: Sequence[int] | Indices,
        *,
        progress: Callable[[int], None] = lambda done: None,
    ) -> NDArray[np.float32]:
        """Encode rows of a dataset.

        Args:
            dataset: where the images come from.
            rows: rows of it, int (n,).
            progress: is told after each batch how many images it held.

        Returns:
            float32, (n, L), or (n, L, d) for units of several numbers; all finite.

        Raises:
            InvalidInput: the encoder does not take these images, gives what are no codes, or takes too much time or
                memory.
        """
        fixed = self.signature.shape[0] or None
        layout = graphs.layout(self.path, self.signature.shape, dataset)
        found: list[NDArray[np.float32]] = []
        for count, pixels in graphs.batches(dataset, rows, layout, fixed, BATCH, self._scaled):
            codes = encoder_process.unpacked(self._ask({}, encoder_process.packed(pixels))[1])
            if found and codes.shape[1:] != found[0].shape[1:]:
                raise InvalidInput(
                    f"{self.path}: wrong shape",
                    expected=f"codes of shape {found[0].shape[1:]} for every batch",
                    received=f"{codes.shape[1:]}",
                )
            found.append(codes[:count])
            progress(count)
        return np.concatenate(found)

    def _scaled(self, images: Images) -> NDArray[Any]:
        """Scale pixels to [0, 1], unless the model takes uint8."""
        return images if self.signature.dtype == "uint8" else (images / np.float32(255)).astype(self.signature.dtype)

    def _ask(self, header: dict[str, Any], message: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a message and take the answer."""
        with contextlib.suppress(OSError):  # it has ended; what it said before, or how, is told below
            encoder_process.send(self._inward, header, message)
        answer, payload = encoder_process.received(self._outward)
        if refused := answer.get("refused"):
            kind = DamagedFile if refused["what"] == "encoder.onnx" else InvalidInput
            raise kind(
                refused["what"].replace("encoder.onnx", str(self.path), 1),
                expected=refused["expected"],
                received=refused["received"],
                remedy=refused["remedy"],
            )
        if not answer:
            raise self._ended()
        return answer, payload

    def _ended(self) -> OffaxisError:
        """Describe how the process ended, which it should not have."""
        status = self._process.wait()
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return InvalidInput(
                f"{self.path}: too slow",
                expected=f"all images within {self._seconds} s of processor time",
                received="more than that",
            )
        return InvalidInput(
            f"{self.path}: it broke down",
            expected=f"a model that runs in {self._memory >> 20:,} MiB of memory",
            received=signal.Signals(-status).name if status < 0 else f"exit status {status}",
        )


def content(path: Path) -> bytes:
    """Read a model that a stranger may have put there.

    Args:
        path: the file.

    Returns:
        The bytes.

    Raises:
        DamagedFile: no regular file, too large, or it cannot be read.
    """
    return files.bounded(path, graphs.LARGEST, what="a model in ONNX", size="a model of at most")


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("the process has no streams")
    return stream
