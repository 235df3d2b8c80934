"""The process that reads, checks and runs an untrusted encoder: sets limits, loads the model, encodes batches.

`leaderboard.reading.encoders` starts it with the path of the file. They communicate over its standard streams in
frames: a head (`HEAD`: kind, four numbers, the number of bytes that follow), and these bytes. It sends

- ``D``: SHA-256 of the file (32 bytes), before anything of it is parsed;
- ``S``: the model's input: an index of `DTYPES`, and four axes, -1 for any size;
- ``C``: codes of a batch, float32 (n, units, numbers), numbers 0 for (n, units);
- ``R``: a refusal, its reason in at most `REASON` bytes of text, first number 1 for a damaged file. Then it exits.

It receives ``I``: a batch of images, with their four axes.

Internal.
"""

from __future__ import annotations

import hashlib
import importlib
import struct
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data import files
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError
from leaderboard.reading import graphs, sandbox

HEAD = struct.Struct(">c4iI")

DTYPES = ("uint8", "float16", "float32", "float64")

REASON = 4_000
"""The most bytes of a refusal."""

NUMBERS = 65_536
"""The most numbers in the codes of an image."""

ANSWER = 64 * 2**20
"""The most bytes of the codes of a batch."""


def main() -> None:
    """Serve one encoder. Arguments: path, seconds, bytes of memory, name of the output, id of the parent process."""
    path, seconds, memory, output, parent = sys.argv[1:]
    sandbox.end_with(int(parent))
    stream = sys.stdout.buffer
    try:
        importlib.import_module("onnx")  # before `confine`, after which no files can be opened
        onnxruntime = importlib.import_module("onnxruntime")
        content = files.read_bounded(Path(path), graphs.LARGEST, what="a model in ONNX", size="a model of at most")
        send(stream, b"D", content=hashlib.sha256(content).digest())
        sandbox.confine(int(seconds), int(memory))
        signature = graphs.inspect(content, path, output)
        session = _load_session(onnxruntime, content, path)
        axes = [-1 if size is None else size for size in signature.shape]
        send(stream, b"S", DTYPES.index(signature.dtype), content=struct.pack(">4i", *axes))
        while (batch := _receive_batch(sys.stdin.buffer, signature.dtype)) is not None:
            codes = _encode_batch(session, signature, batch, path)
            send(stream, b"C", *codes.shape, content=codes.tobytes())
    except MemoryError:
        _refuse(stream, _memory_error(path, "more than that"))
    except OffaxisError as error:
        _refuse(stream, error)
    except Exception as error:  # no file may cause a traceback
        _refuse(stream, DamagedFile(f"{path}: expected a model in ONNX, received {type(error).__name__}."))


def send(stream: IO[bytes], kind: bytes, *numbers: int, content: bytes = b"") -> None:
    """Send a frame."""
    stream.write(HEAD.pack(kind, *numbers, *(0,) * (4 - len(numbers)), len(content)) + content)
    stream.flush()


def _refuse(stream: IO[bytes], error: OffaxisError) -> None:
    send(stream, b"R", isinstance(error, DamagedFile), content=str(error).encode(errors="replace")[:REASON])


def _receive_batch(stream: IO[bytes], dtype: str) -> NDArray[Any] | None:
    """Receive a batch of images; None if the other side has exited."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    _, *axes, size = HEAD.unpack(head)
    return np.frombuffer(stream.read(size), dtype).reshape(axes)


def _load_session(onnxruntime: Any, content: bytes, path: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises a class of its own for each status code
        raise _failure_error(path, "a model that can be loaded", error) from error


def _encode_batch(session: Any, signature: graphs.Signature, images: NDArray[Any], path: str) -> NDArray[np.float32]:
    """Encode a batch, padded with its last image to the model's batch size."""
    count, missing = len(images), (signature.shape[0] or len(images)) - len(images)
    padded = np.concatenate([images, np.repeat(images[-1:], missing, axis=0)]) if missing else images
    try:
        (codes,) = session.run([signature.output], {signature.source: padded})
    except Exception as error:
        raise _failure_error(path, "a model that takes the images", error) from error
    dtype_kind = codes.dtype.kind if isinstance(codes, np.ndarray) else ""
    if dtype_kind != "f" or codes.ndim not in (2, 3) or len(codes) != len(padded) or not 0 < codes[0].size <= NUMBERS:
        received = f"{codes.dtype} of shape {codes.shape}" if dtype_kind else type(codes).__name__
        raise InvalidInput(
            f"{path}: wrong shape: expected floats of shape ({len(padded)}, latents) or ({len(padded)}, units, "
            f"numbers), at most {NUMBERS:,} numbers an image, received {received}."
        )
    codes = np.ascontiguousarray(codes[:count], np.float32)
    if not np.isfinite(codes).all():
        raise InvalidInput(f"{path}: not finite: expected finite codes, received NaN or infinity.")
    return codes


def _failure_error(path: str, expected: str, error: Exception) -> OffaxisError:
    text = " ".join(str(error).split())[:200]
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in ("alloc", "memory")):
        return _memory_error(path, text)
    return InvalidInput(f"{path}: does not run: expected {expected}, received {text}.")


def _memory_error(path: str, received: str) -> OffaxisError:
    return InvalidInput(f"{path}: too much memory: expected a model that fits its memory, received {received}.")


if __name__ == "__main__":
    main()
