"""Export a run: files with which the board verifies it, and others use it without this package.

======================  ===========================================================================================
``encoder.onnx``        images uint8 (n, H, W, C) to ``codes`` float32 (n, latents), the posterior means
``weights.safetensors`` all weights by name, ``<network>/<layer>/<weight>``, with the config in the metadata
``codes.npz``           ``indices`` and ``codes`` of the task's rows, as in the run folder
``run.json``            the record of the run for the board, as in the run folder
``config.json``         all settings of the run
======================  ===========================================================================================
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import numpy as np

import benchmark_data
from baselines.outputs import onnx_graphs
from baselines.run import Run
from benchmark_data import files
from benchmark_data.errors import InvalidInput, needs
from leaderboard.reading import encoders, graphs

ENCODER = "encoder.onnx"
"""Name of the encoder's file, in a run folder and in an export."""

CLOSE = 1e-4
"""The largest difference of the graph's codes from the run's, relative to the largest code: rounding differs."""


def write_encoder(run: Run, path: str | os.PathLike[str] | None = None) -> Path:
    """Write a run's encoder in ONNX.

    Its input is images, uint8 (n, H, W, C), its output ``codes``, float32 (n, latents), the posterior means. It is
    compared with the run on 64 images before it is written.

    Args:
        run: a finished run.
        path: the file; ``encoder.onnx`` in the run folder if None.

    Returns:
        The path.

    Raises:
        InvalidInput: the run is not finished, its encoder exceeds the board's limit, ``baselines.outputs.onnx_graphs``
            does not support a layer, the graph's codes differ from the run's, or the file cannot be written.
        MissingExtra: onnx or onnxruntime is not installed.
    """
    needs("an ONNX encoder", "onnx", "onnx", "onnxruntime")
    run.check_finished()
    path = run.folder / ENCODER if path is None else Path(path)
    content = onnx_graphs.encoder(
        run.model.encoder.inputs[0], run.model.code(run.model.encoder.outputs[0]), run.image_shape
    )
    if len(content) > graphs.LARGEST:
        raise InvalidInput(
            f"encoder of {run.folder}: expected at most {graphs.LARGEST:,} bytes, received {len(content):,}. Train a "
            "smaller network, such as with --set width=256, or submit only its codes, which are not ranked."
        )
    rows = np.linspace(0, len(run.dataset) - 1, 64).astype(np.int64)
    run_codes = run.encode(run.dataset.images(rows)).mean
    with files.written_atomically(path) as temporary:
        temporary.write_bytes(content)
        graph_codes = encoders.encode(temporary, run.dataset, rows, layout="NHWC")
        relative_error = float(np.abs(graph_codes - run_codes).max() / max(float(np.abs(run_codes).max()), 1e-12))
        if not relative_error <= CLOSE:
            raise InvalidInput(
                f"encoder of {run.folder}: expected the ONNX graph to return the run's codes, received codes that "
                f"differ by {relative_error:.2%} of the largest. The objective encodes differently from its encoder "
                "network: add this to the graph."
            )
    return path


def export(run: Run, to: str | os.PathLike[str]) -> Path:
    """Write a folder with all files that others need to use a run.

    Args:
        run: a finished run on a dataset with a task on the leaderboard.
        to: the folder, which must not exist.

    Returns:
        The folder.

    Raises:
        InvalidInput: as for ``write_encoder``; or the run is on the user's own images, or the folder exists or cannot
            be written.
        MissingExtra: onnx, onnxruntime or safetensors is not installed.
        UnknownName: there is no task on the run's dataset.
    """
    to = Path(to)
    run.check_finished()
    if (run.folder / "images.json").exists() or run.config.dataset.partition("/")[0] not in benchmark_data.names():
        raise InvalidInput(
            f"{run.folder}: expected a run on a dataset with a task on the board, received one on your own images, "
            f"{run.config.dataset!r}. To write only its encoder, omit --to: offaxis train export "
            f"{shlex.quote(str(run.folder))}"
        )
    with files.written_atomically(to) as temporary:
        temporary.mkdir()
        write_encoder(run, temporary / ENCODER)
        _write_weights(run, temporary / "weights.safetensors")
        run.write_codes(temporary / "codes.npz", run.dataset)
        for name in ("run.json", "config.json"):
            shutil.copyfile(run.folder / name, temporary / name)
    return to


def name(run: Run) -> str:
    """Return the name of a run's export among others, such as ``dsprites.beta_vae.seed_0_5f874bb2``."""
    return f"{run.config.dataset.replace('/', '.')}.{run.config.objective}.{run.folder.absolute().name}"


def _write_weights(run: Run, path: Path) -> None:
    """Write all weights, with the config in the metadata."""
    needs("weights as safetensors", "board", "safetensors")
    import safetensors.numpy

    # A single entry, since safetensors writes several in arbitrary order.
    metadata = {"run": json.dumps({"config": run.config.as_json(), "step": run.step}, sort_keys=True)}
    path.write_bytes(safetensors.numpy.save(dict(sorted(run.model.weights().items())), metadata=metadata))
