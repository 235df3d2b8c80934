"""Write a run's history, record and snapshots during training, and detect divergence. Internal."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias, get_args

from baselines.config import RunConfig
from baselines.engines import devices
from baselines.engines.engine import Copy
from baselines.nets import backend
from baselines.record import Digests, objective_code, read_record, settings, write_record
from baselines.run_folder import Snapshots, clear_leftovers, read_history, remove_derived_files
from benchmark_data import files
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, OffaxisError
from leaderboard.record import Supervision

Observer: TypeAlias = Callable[[int, Mapping[str, float]], None]
"""Called with a step and its scalars in the history: loss, reconstruction and the objective's terms."""

EXPLOSION_FACTOR = 1e3
"""A loss above this multiple of the first one counts as exploded."""


class Diverged(OffaxisError):
    """The loss or a weight is no longer a finite number, or has exploded."""


class Recorder:
    """A run that is being trained, and its folder.

    Args:
        config: the run's config.
        folder: its folder.
        dataset: its dataset.
        digests: the dataset's digests, from `digests_of`.
        observers: functions called with each line of the history.
        pool: a pool of one thread, which writes the snapshots.

    Attributes:
        step: the last completed step.
        loss: the last recorded loss, as text; empty if there is none yet.
        stopped: the error because of which the run cannot continue, or None.
    """

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        dataset: Dataset,
        digests: Digests,
        observers: Sequence[Observer],
        pool: ThreadPoolExecutor,
    ) -> None:
        self.config, self.folder, self.snapshots = config, folder, Snapshots(folder)
        self.stopped: Diverged | None = None
        self._dataset, self._digests, self._observers, self._pool = dataset, digests, observers, pool
        self._pending_write: Future[None] | None = None
        clear_leftovers(folder)
        self.step = self.snapshots.last or 0
        self._computed_before = _read_computed(folder) if self.step else []
        record = read_record(folder) or (read_record(Path(config.start_from)) if config.start_from else {})
        levels = {record.get("supervision", "unsupervised"), config.build_objective().supervision}
        levels |= {"pretrained"} if record.get("dataset", dataset.id) != dataset.id else set()  # on other images
        self._supervision = max(levels, key=get_args(Supervision).index)
        self._history = folder / "history.jsonl"
        rows = whole_history(folder, config)
        files.write_text(self._history, "".join(_format_line(row) for row in rows))
        self._loss_limit = _explosion_threshold(rows[0]["loss"]) if rows else math.inf
        self.loss = f"{rows[-1]['loss']:.4g}" if rows else ""

    @property
    def running(self) -> bool:
        """Whether the run has steps left and has not diverged."""
        return self.step < self.config.steps and self.stopped is None

    @property
    def is_recorded_step(self) -> bool:
        """Whether the history has a line for the last completed step."""
        return _is_recorded(self.config, self.step)

    def record(self, scalars: Mapping[str, float]) -> None:
        """Add a line to the history: loss, reconstruction and the objective's terms.

        Raises:
            Diverged: a scalar is not finite, or the loss has exploded.
        """
        leading = {name: scalars[name] for name in ("loss", "reconstruction") if name in scalars}
        row = {"step": self.step, **leading, **scalars}  # the order of the columns
        self.loss = f"{row['loss']:.4g}"
        if not all(math.isfinite(value) for value in row.values()) or row["loss"] > self._loss_limit:
            raise self._divergence_error(self.loss)
        if self.step == 1:
            self._loss_limit = _explosion_threshold(row["loss"])
        _append(self._history, row)
        for observe in self._observers:
            observe(self.step, {name: value for name, value in row.items() if name != "step"})

    def keep(self, copy: Copy, seconds: float) -> None:
        """Write a snapshot and the record in the thread, and remove earlier snapshots that the config does not keep.

        Args:
            copy: weights and moments after the last completed step, perhaps still on the device: the thread that
                writes the snapshot fetches them.
            seconds: seconds of training so far.

        Raises:
            Diverged: a weight is not finite, or a moment of Adam, whose weight would not change any more.
            InvalidInput: the previous snapshot could not be written.
        """
        if copy.flaw:
            raise self._divergence_error(f"a {copy.flaw} that is not finite")
        self.raise_write_error()  # at most one waits, since memory would fill up with a slow disk
        self._pending_write = self._pool.submit(self._write_snapshot, self.step, copy, seconds)

    def raise_write_error(self, *, wait: bool = True) -> None:
        """Raise the error of the last snapshot's write, if any; with ``wait``, once the write has ended."""
        if self._pending_write is not None and (wait or self._pending_write.done()):
            self._pending_write.result()

    def describe(self, step: int, seconds: float) -> None:
        """Write the run's record after a step, with the seconds of training so far."""
        computed = {**devices.record(self.config.precision), "objective_code": objective_code(self.config.objective)}
        computed_before = [entry for entry in self._computed_before if entry != computed]
        images = step * self.config.images_per_step
        write_record(
            self.folder,
            self._dataset,
            self._digests,
            method=self.config.objective,
            budget={"steps": step, "images": images, "seconds": round(seconds, 3), "device": devices.describe_device()},
            seed=self.config.seed,
            supervision=self._supervision,
            selection=self.config.selection,
            hyperparameters=settings(self.config),
            versions=backend.versions("numpy", "keras", backend.name()),
            computed=computed,
            **({"computed_before": computed_before} if computed_before else {}),
        )

    def _write_snapshot(self, step: int, copy: Copy, seconds: float) -> None:
        _flush(self._history)
        if step == self.config.steps:  # made of an earlier snapshot, while the run was trained
            remove_derived_files(self.folder)
        self.describe(step, seconds)  # before the snapshot, so that a run with its last snapshot always has its record
        self.snapshots.write(step, copy.bring(), seconds)
        for other_step in self.snapshots.steps():
            if other_step != step and not self.config.keeps(other_step):
                self.snapshots.remove(other_step)

    def _divergence_error(self, received: str) -> Diverged:
        self.raise_write_error()
        last = self.snapshots.last
        return Diverged(
            f"loss of {self.folder} at step {self.step}: expected a finite number that does not explode, received "
            f"{received}. The last snapshot is {('none' if last is None else f'that of step {last}')}. Try a "
            "smaller learning rate or weaker terms."
        )


def whole_history(folder: Path, config: RunConfig) -> list[dict[str, float]]:
    """Read a run's history up to its last snapshot, and check that no line is missing.

    A power cut or an editor may lose some. A run that was lengthened has a line for its earlier end, too.
    """
    path, snapshots = folder / "history.jsonl", Snapshots(folder)
    last = snapshots.last or 0
    rows = read_history(path, until=last)
    steps = [int(row["step"]) for row in rows]
    expected = [step for step in range(1, last + 1) if _is_recorded(config, step)]
    wrong = sorted({*expected} - {*steps}) or [after for before, after in itertools.pairwise(steps) if after <= before]
    if wrong:
        last_good_step = max((step for step in snapshots.steps() if step < wrong[0]), default=0)
        raise DamagedFile(
            f"{path}: expected a line for each recorded step up to the snapshot of step {last}, in order, received "
            f"{'one out of order' if wrong[0] in steps else 'none'} for step {wrong[0]}. Restore it, "
            f"or remove the snapshots after step {last_good_step} and resume: the run continues from there."
        )
    return rows


def _read_computed(folder: Path) -> list[dict[str, Any]]:
    """Read the record of the devices and versions that computed a run so far."""
    record = read_record(folder)
    return [*record.get("computed_before", []), *([record["computed"]] if "computed" in record else [])]


def _explosion_threshold(loss: float) -> float:
    return EXPLOSION_FACTOR * max(1.0, abs(loss))


def _format_line(row: Mapping[str, float]) -> str:
    return json.dumps(row, allow_nan=False) + "\n"


def _is_recorded(config: RunConfig, step: int) -> bool:
    return step in (1, config.steps) or step % config.history_every == 0


def _flush(path: Path) -> None:
    """Flush appended lines to disk, so that no power cut leaves a snapshot without its history."""
    try:
        with path.open("ab") as stream:
            os.fsync(stream.fileno())
    except OSError as error:
        raise files.unwritable(path, error) from error


def _append(path: Path, row: Mapping[str, float]) -> None:
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(_format_line(row))
    except OSError as error:
        raise files.unwritable(path, error) from error
