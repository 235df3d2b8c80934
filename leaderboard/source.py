"""Encoders in any form (a function, a file in ONNX, a run folder), and the records of their runs. Internal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from benchmark_data.archives import npz
from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard import encoding, protocol, record
from leaderboard.arrays import check_codes
from leaderboard.encoding import Input
from leaderboard.metrics.r_squared import ROUNDING
from leaderboard.reading import encoders, representations
from leaderboard.record import Budget, RunRecord, Supervision
from leaderboard.schema import M, pydantic, to_errors
from leaderboard.scoring import candidates
from leaderboard.scoring.candidates import Candidate


def make_record(make: Callable[[], M], model: type[M]) -> M:
    """Build a record from the caller's values; errors name the arguments of `evaluate`."""
    try:
        return make()
    except pydantic.ValidationError as error:
        message = str(to_errors(error, "evaluate", model)[0])
        for field, argument in (("method", "name"), ("title", "name"), ("description", "about")):
            message = message.replace(f"evaluate: {field}:", f"evaluate: {argument}:")
        raise InvalidInput(message) from None


def project_on_components(codes: NDArray[Any], count: int, train: int) -> NDArray[np.float32]:
    """Project codes on their principal components, fitted on the first ``train`` rows."""
    flat = check_codes(codes.reshape(len(codes), -1)).astype(np.float64)
    if not 1 <= count <= min(flat.shape[1], train):
        raise InvalidInput(
            f"pca: expected 1 to {min(flat.shape[1], train)} components of these codes, received {count}."
        )
    flat -= flat[:train].mean(axis=0)
    variances, directions = np.linalg.eigh(flat[:train].T @ flat[:train])
    directions *= variances > ROUNDING**2 * variances[-1]  # the others are rounding errors
    return np.asarray(flat @ directions[:, ::-1][:, :count], np.float32)


class Source:
    """One encoder: a function, a file in ONNX or a run folder."""

    def __init__(self, encode: Any, input: Input | None, batch_size: int) -> None:
        self.path = Path(encode) if isinstance(encode, str | os.PathLike) else None
        self.run = record.read(self.path) if self.path and self.path.is_dir() else None
        is_on_board = self.run and self.run.dataset.partition("/")[0] in benchmark_data.names()
        self.candidate = candidates.load(self.path) if self.path and is_on_board else None
        if self.path and self.run is None and not (self.path.suffix == ".onnx" and self.path.is_file()):
            raise InvalidInput(f"There is neither an ONNX file nor a run folder at {self.path}. {encoding.CODES}")
        if self.path and input is not None:
            raise InvalidInput("input applies only to functions: ONNX files and run folders define their own input.")
        self.function_encoder = None if self.path else encoding.Encoder(encode, input=input, batch_size=batch_size)
        self.onnx_path = self.path
        if self.path and self.run:
            self.onnx_path = file if os.path.lexists(file := self.path / "encoder.onnx") else None
        self.description = self.function_encoder.description if self.function_encoder else f"read from {self.path}"
        """The encoder's input, or its path, in words."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the encoder, which may be a lambda: scores go from process to process without it."""
        return self.__dict__ | {"function_encoder": None}

    def record(
        self, task: protocol.Task, name: str, seed: int, steps: int, supervision: Supervision, pca: int | None
    ) -> RunRecord:
        """Return the record of the run: that of the run folder, or one with the caller's values."""
        version, digest = candidates.dataset_digest(task)
        pca_setting: dict[str, Any] = {} if pca is None else {"pca": pca}
        if known := self.run:
            dataset_fields = {"dataset": task.dataset, "dataset_version": version, "dataset_digest": digest}
            update: dict[str, Any] = {"method": name, "hyperparameters": {**known.hyperparameters, **pca_setting}}
            if not self._has_codes_of(task):  # it saw other images, of which no split held these rows out
                update["hyperparameters"]["split"] = f"{known.hyperparameters.get('split', 'all')} of {known.dataset}"
                update["claimed"] = {}
                update["supervision"] = "reference" if known.supervision == "reference" else "pretrained"
            fields = known.model_dump(by_alias=True) | dataset_fields | update
            return make_record(lambda: type(known).model_validate(fields), type(known))
        device = self.function_encoder.device if self.function_encoder else ""
        return make_record(
            lambda: RunRecord(
                method=name,
                supervision=supervision,
                selection="none",
                hyperparameters=pca_setting,
                versions={},
                dataset=task.dataset,
                dataset_version=version,
                dataset_digest=digest,
                seed=seed,
                budget=Budget(steps=steps, images=0, seconds=0.0, device=device),
            ),
            RunRecord,
        )

    def _has_codes_of(self, task: protocol.Task) -> bool:
        """Return whether the encoder is a run folder whose codes are of a task's dataset."""
        if self.candidate:
            return self.candidate.task.id == task.id
        return self.run is not None and self.run.dataset_digest == candidates.dataset_digest(task)[1]

    def _read_own_codes(self, task: protocol.Task) -> NDArray[Any]:
        """Read the codes of a run on the user's images, which are of all rows, in any order."""
        n = len(task.load())
        layout = {"indices": npz.ArraySpec("iu", (n,)), "codes": npz.ArraySpec("f", (n, None))}
        layout |= {"factors": npz.ArraySpec("iu", (n, None)), "factor_names": npz.ArraySpec("U", (None,))}
        arrays = npz.read_named(representations.file_in_run_folder(self.path or "", "codes.npz", "encode"), layout)
        rows, order = arrays["indices"], np.argsort(arrays["indices"])
        if (rows[order] != range(n)).any() or not np.array_equal(task.load().labels(rows), arrays["factors"]):
            expected = f"indices: expected rows 0 to {n - 1} of {task.dataset}, each once, with their factors"
            raise DamagedFile(f"{self.path}/codes.npz: {expected}, received others. Encode the run again.")
        return arrays["codes"][order[task.indices]]

    def encode(self, task: protocol.Task, progress: Callable[[int], None] = lambda done: None) -> NDArray[Any]:
        """Return the codes of a task's rows, (n, L) or (n, K, d)."""
        if self._has_codes_of(task):
            progress(len(task.indices))
            return self.candidate.submitted_codes if self.candidate else self._read_own_codes(task)
        dataset, rows = task.load(), task.indices
        if self.function_encoder:
            chunk_size = 16 * self.function_encoder.batch_size  # never all images of a task in memory
            codes = []
            for start in range(0, len(rows), chunk_size):
                images = dataset.images(rows[start : start + chunk_size])
                codes.append(self.function_encoder(images))
                progress(len(images))
            self.function_encoder.check(images, codes[-1])
            return np.concatenate(codes)
        if self.onnx_path is None:
            raise InvalidInput(
                f"{self.path} has codes of {self.run.dataset if self.run else ''} alone and no "
                "encoder.onnx. Export the run to score it on other tasks: offaxis train export."
            )
        with encoders.OnnxEncoder(self.onnx_path) as encoder:
            return encoder.encode(dataset, rows, progress=progress)

    def write_onnx(self, path: Path, candidate: Candidate) -> None:
        """Write the encoder in ONNX and check its codes in the sandbox, or raise an error."""
        if "pca" in candidate.record.hyperparameters or not (self.onnx_path or self.function_encoder):
            raise InvalidInput(
                "A run folder without encoder.onnx (first: offaxis train export RUN), principal components, and an "
                "encoder in another process cannot be exported."
            )
        if self.onnx_path:
            path.write_bytes(self.onnx_path.read_bytes())
        elif self.function_encoder:
            dataset, rows = candidate.task.load(), candidate.task.indices[:64]
            self.function_encoder.export(path, dataset.images(rows[:2]))
            with encoders.OnnxEncoder(path) as encoder:
                codes, expected_codes = encoder.encode(dataset, rows), candidate.submitted_codes[:64]
            if not np.allclose(codes, expected_codes, rtol=1e-3, atol=1e-3 * expected_codes.std()):
                raise InvalidInput("The exported graph returns other codes than the encoder.")


@contextlib.contextmanager
def note_images_on_error(name: str, task: protocol.Task) -> Iterator[None]:
    """Say of an error which images were encoded."""
    try:
        yield
    except Exception as error:
        error.add_note(f"While {name} encoded {task.dataset}, images {task.load().image_shape}.")
        raise
