"""A run for others: its encoder in ONNX, for the board to verify and for anyone to use without this package."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from baselines.outputs import onnx_graphs
from baselines.run import Run
from benchmark_data import files
from benchmark_data.errors import InvalidInput, MissingExtra

ENCODER = "encoder.onnx"
"""Name of the encoder's file, in a run folder and in an export."""

CLOSE = 1e-4
"""How far codes of the graph may be from the run's own, in parts of the largest of them: other sums round otherwise."""


def write_encoder(run: Run, path: str | os.PathLike[str] | None = None) -> Path:
    """Write a run's encoder in ONNX.

    It takes images uint8 (n, H, W, C) and gives ``codes`` float32 (n, latents), the posterior means. It is compared
    with the run on 64 images before it is written.

    Args:
        run: a finished run.
        path: the file; ``encoder.onnx`` in the run folder if None.

    Returns:
        The path.

    Raises:
        InvalidInput: the run is not finished, a layer is not known to ``baselines.outputs.onnx_graphs``, the graph
            gives other codes than the run, or the file cannot be written.
        MissingExtra: onnx or onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("an ONNX encoder", "onnxruntime", "onnx") from error
    run.check_finished()
    path = run.folder / ENCODER if path is None else Path(path)
    content = onnx_graphs.encoder(run.model.encoder, run.image_shape)
    images = run.dataset.images(np.linspace(0, len(run.dataset) - 1, 64).astype(np.int64))
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found, wanted = session.run(["codes"], {"images": images})[0], run.encode(images).mean
    apart = float(np.abs(found - wanted).max() / max(float(np.abs(wanted).max()), 1e-12))
    if not apart <= CLOSE:
        raise InvalidInput(
            f"encoder of {run.folder}",
            expected="codes of the graph that are the run's own",
            received=f"codes that differ by {apart:.2%} of the largest",
            remedy="The objective encodes in another way than its encoder network: write that into the graph.",
        )
    with files.written_atomically(path) as temporary:
        temporary.write_bytes(content)
    return path
