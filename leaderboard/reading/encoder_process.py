"""The process that runs a stranger's encoder: limits first, then the graph, then batches of images until they end.

It is started by `leaderboard.reading.encoders`, talks over its standard streams, and has no other files: once the model
is here it may open none, and a connection is a file, so there is no network either.

Both sides send messages: a line of JSON, and as many bytes as its ``bytes`` says. To it goes the model, with
``seconds`` and ``memory``, then batches of images in numpy's format. It answers what the graph takes and gives, then
codes in the same format, or what it refused.

Internal.
"""

from __future__ import annotations

import importlib
import io
import json
import resource
import sys
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data.errors import InvalidInput, OffaxisError
from leaderboard.reading import graphs

LARGEST = 2**30
"""Bytes of a batch, and of its codes."""

LINE = 65_536
"""Bytes of a message's first line."""

NUMBERS = 65_536
"""Numbers that an image may be encoded as."""


def main() -> None:
    """Serve one encoder."""
    importlib.import_module("onnx")  # all that is needed is loaded before no more files can be opened
    onnxruntime = importlib.import_module("onnxruntime")
    asked, content = received(sys.stdin.buffer)
    confine(asked["seconds"], asked["memory"])
    try:
        signature = graphs.inspect(content)
        session = _session(onnxruntime, content)
        send(sys.stdout.buffer, signature._asdict())
        while batch := received(sys.stdin.buffer)[1]:
            send(sys.stdout.buffer, {}, packed(_encoded(session, signature, unpacked(batch))))
    except OffaxisError as error:
        fields = {name: getattr(error, name) for name in ("what", "expected", "received", "remedy")}
        send(sys.stdout.buffer, {"refused": fields})


def confine(seconds: int, memory: int) -> None:
    """Limit this process for good.

    Args:
        seconds: of processor time.
        memory: bytes of address space.
    """
    for name, most in (
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_AS", memory),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_NOFILE", 0),
    ):
        resource.setrlimit(getattr(resource, name), (most, most))


def _session(onnxruntime: Any, content: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises a class of its own for each status code
        raise _failed("a model that can be loaded", error) from error


def _encoded(session: Any, signature: graphs.Signature, images: NDArray[Any]) -> NDArray[np.float32]:
    try:
        (codes,) = session.run([signature.output], {signature.source: images})
    except Exception as error:
        raise _failed("a model that takes the images", error) from error
    kind = codes.dtype.kind if isinstance(codes, np.ndarray) else ""
    if kind != "f" or codes.ndim not in (2, 3) or len(codes) != len(images) or not 0 < codes[0].size <= NUMBERS:
        received = f"{codes.dtype} of shape {codes.shape}" if kind else type(codes).__name__
        raise InvalidInput(
            "encoder.onnx: wrong shape",
            expected=f"floats of shape ({len(images)}, latents) or ({len(images)}, units, numbers)",
            received=received,
        )
    if not np.isfinite(codes).all():
        raise InvalidInput("encoder.onnx: not finite", expected="finite codes", received="NaN or infinity")
    return np.asarray(codes, np.float32)


def _failed(expected: str, error: Exception) -> OffaxisError:
    text = " ".join(str(error).split())[:300]
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in ("alloc", "memory")):
        return InvalidInput(
            "encoder.onnx: too much memory", expected="a model that fits the memory it is given", received=text
        )
    return InvalidInput("encoder.onnx: does not run", expected=expected, received=text)


def packed(values: NDArray[Any]) -> bytes:
    """Write an array in numpy's format."""
    content = io.BytesIO()
    np.save(content, values, allow_pickle=False)
    return content.getvalue()


def unpacked(content: bytes) -> NDArray[Any]:
    """Read what ``packed`` wrote."""
    found: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    return found


def send(stream: IO[bytes], header: dict[str, Any], content: bytes = b"") -> None:
    """Write a message."""
    stream.write(json.dumps(header | {"bytes": len(content)}).encode() + b"\n")
    stream.write(content)
    stream.flush()


def received(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read what ``send`` wrote; nothing where the other side has ended."""
    line = stream.readline(LINE)
    if not line.endswith(b"\n"):
        return {}, b""
    header: dict[str, Any] = json.loads(line)
    return header, stream.read(min(header["bytes"], LARGEST))


if __name__ == "__main__":
    main()
