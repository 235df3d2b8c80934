"""From any encoder to scores, a comparison with published rows, and a row of the board."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rich.progress
from numpy.typing import NDArray

import benchmark_data
from benchmark_data import console
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, OffaxisError, UnknownName, check_count, needs
from benchmark_data.files import written_atomically
from leaderboard import protocol
from leaderboard.arrays import check_codes, narrowed, warn_if_continuous, warn_if_same
from leaderboard.encoding import Input
from leaderboard.metrics.r_squared import ROUNDING
from leaderboard.reading import units
from leaderboard.record import About, Budget, Supervision
from leaderboard.scoring import candidates, measure, submission
from leaderboard.scoring.candidates import Candidate
from leaderboard.source import Source, stated
from leaderboard.store import intervals, results, results_tree, verdicts
from leaderboard.store.results import Result, Scored
from leaderboard.store.results_tree import PUBLISHED

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evaluation", "evaluate"]


def evaluate(
    encode: Any,
    tasks: str | Dataset | Sequence[str | Dataset],
    *,
    name: str = "my_encoder",
    tier: str = "desk",
    metrics: str | Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    input: Input | None = None,
    batch_size: int = 256,
    pca: int | None = None,
    steps: int = 0,
    supervision: Supervision = "unsupervised",
    about: str = "",
    progress: bool = True,
) -> Evaluation:
    """Score an encoder on tasks of the board.

    Args:
        encode: a function from images to codes, (n, L), or (n, K, d) for K units of d numbers; a PyTorch module, Keras
            model, JAX function or object with a method ``encode``; the path of an ONNX file, which runs in the sandbox;
            or the path of a run folder, whose own seed, steps and supervision count; on another dataset than its own it
            is ``pretrained``. A list holds one encoder for each training seed.
        tasks: names of datasets, such as ``"xysquares/spacing_8"``; or folders, as `benchmark_data.from_folder` takes
            them, or datasets of your own, whose scores can be printed and compared, not saved.
        name: what the encoder is called in tables: lower-case letters, digits and underscores.
        tier: ``"desk"``, ``"smoke"``, ``"study"`` or ``"held_out"``: determines the rows per metric and the published
            rows to compare with.
        metrics: names of files in ``leaderboard/metrics`` to compute instead of the tier's; ``"all"`` for every one
            that does not refuse the codes.
        seeds: training seed of each encoder. Default: 0, 1, 2 and so on.
        input: what a function is called with (`leaderboard.encoding.Input`). Default: chosen by what is passed, and
            stated in the result.
        batch_size: images per call.
        pca: number of principal components, fitted on the task's train rows, that take the place of the codes.
        steps: optimiser steps that training took; 0 for encoders that are hand-made, untrained or pretrained.
        supervision: what training saw besides images: ``"unsupervised"``, ``"weakly_supervised"`` or ``"supervised"``;
            ``"pretrained"`` if it saw other images than the task's.
        about: one sentence on the encoder, shown on the board.
        progress: show progress in a terminal or notebook.

    Returns:
        The scores, which print as a table.

    Raises:
        InvalidInput: an encoder does not return codes, a metric cannot be computed from them, or an argument is
            invalid. Names and numbers are checked before anything is encoded.
        UnknownName: there is no such task, tier or metric.
        MissingExtra: the extra ``board`` is not installed.

    Example:
        >>> columns = lambda images: images.max(axis=1).argmax(axis=1)  # x of each square, three of six factors
        >>> found = evaluate(columns, "xysquares/spacing_8", metrics=["mig"])
        >>> found.frame().round(2)[["task", "seed", "mig"]].to_dict("records")
        [{'task': 'xysquares/spacing_8', 'seed': 0, 'mig': 0.5}]
    """
    needs("leaderboard.evaluate", "board", "pandas", "pydantic")
    all_encoders = list(encode) if isinstance(encode, list | tuple) else [encode]
    chosen = [protocol.of(one) for one in (tasks if isinstance(tasks, list | tuple) else [tasks])]
    numbers = np.atleast_1d(range(len(all_encoders)) if seeds is None else seeds).tolist()
    if not all_encoders or not chosen or not len(numbers) == len(set(numbers)) == len(all_encoders):
        raise InvalidInput("evaluate takes at least one encoder, one task, and one seed of its own for each encoder.")
    if again := {one.id for one in chosen if [other.id for other in chosen].count(one.id) > 1}:
        raise InvalidInput(f"tasks: expected each once, received {min(again)} more than once.")
    for what, count in (("batch_size", batch_size), ("pca", 1 if pca is None else pca)):
        check_count(what, count, 1)
    protocol.tier(tier)
    measure.named(metrics)
    sources = [Source(one, input, batch_size) for one in all_encoders]
    seeded = list(zip(numbers, sources, strict=True))
    said = stated(lambda: About(title=name, description=about), About)
    records = [[source.record(task, name, seed, steps, supervision, pca) for seed, source in seeded] for task in chosen]
    own = [known.seed for known in records[0]]
    if len(set(own)) < len(own):
        raise InvalidInput(f"seeds: expected each once, received {own}, as the run folders say. Leave copies out.")
    for task, of_task in zip(chosen, records, strict=True):
        if task.own is None:
            for known in of_task:
                candidates.check_part(task, tier, known.hyperparameters, name)
        else:
            warn_if_continuous(task.labels(), task.scored, task.dataset)
            measure.warn_if_left_out(task.labels()[: len(task.train)], task.scored, task.dataset)
    for task in chosen[1:]:  # so that an encoder that does not take its images says so before others are scored
        for call in filter(None, (source.call for source in sources)):
            with _told(name, task):
                call(task.load().images(task.indices[: call.batch_size]))
    rows = []
    with rich.progress.Progress(console=console.err, transient=True, disable=not progress) as bars:
        for task, of_task in zip(chosen, records, strict=True):
            bar = bars.add_task(task.dataset, total=len(sources) * len(task.indices))
            for (seed, source), known in zip(seeded, of_task, strict=True):
                with _told(name, task):
                    given = source.encode(task, functools.partial(bars.advance, bar))
                if pca is not None:
                    given = _components(given, pca, len(task.train))
                where = f"{name} on {task.dataset}, seed {seed}"
                codes = narrowed(units.reduced(given, where, train=len(task.train)), where)
                warn_if_same(codes, where)
                rows.append(_scored(Candidate(where, known, said, codes, given), task, tier, metrics, source))
            for twice in candidates.trained_twice([row.candidate for row in rows[-len(sources) :]]):
                raise twice
    return Evaluation(name, tier, tuple(rows), asked=metrics is not None)


@contextlib.contextmanager
def _told(name: str, task: protocol.Task) -> Iterator[None]:
    """Say of an error which images were encoded."""
    try:
        yield
    except Exception as error:
        error.add_note(f"While {name} encoded {task.dataset}, images {task.load().image_shape}.")
        raise


@dataclasses.dataclass(frozen=True)
class _Row:
    """An encoder on a task."""

    task: protocol.Task
    candidate: Candidate
    scores: dict[str, float]
    scored: Scored | None
    source: Source

    @property
    def budget(self) -> Budget:
        return self.candidate.record.budget

    @property
    def marks(self) -> Sequence[str]:
        return self.scored.marks if self.scored else ()


def _scored(
    candidate: Candidate, task: protocol.Task, tier: str, metrics: str | Sequence[str] | None, source: Source
) -> _Row:
    """Score a run by the metrics of its tier, or by others."""
    if metrics is None and task.own is None:
        run = candidates.score(candidate, tier)
        return _Row(task, candidate, run.scores, run, source)
    of_tier = {one.metric: one for one in protocol.tier(tier).measurements}
    chosen = []
    for name, metric in measure.named(list(of_tier) if metrics is None else metrics).items():
        drop = {"constant_factors": "drop"} if measure.takes(metric, "constant_factors") else {}
        test = protocol.TEST if measure.takes(metric, measure.TEST_NAMES[0]) else 0
        one = of_tier.get(name, protocol.Measurement(name, test=test))
        chosen.append(dataclasses.replace(one, arguments={**one.arguments, **drop}))
    scores: dict[str, float] = {}
    for one in chosen:
        with measure.refusals(one.metric, metrics):
            scores |= measure.score_codes(candidate.codes, task.labels(), [one], train=len(task.train)).scores
    return _Row(task, candidate, scores, None, source)


def _components(codes: NDArray[Any], count: int, train: int) -> NDArray[np.float32]:
    """Project codes on their principal components, fitted on the first ``train`` rows."""
    flat = check_codes(codes.reshape(len(codes), -1)).astype(np.float64)
    if not 1 <= count <= min(flat.shape[1], train):
        raise InvalidInput(f"pca must be from 1 to {min(flat.shape[1], train)} for these codes, not {count}.")
    flat -= flat[:train].mean(axis=0)
    variances, directions = np.linalg.eigh(flat[:train].T @ flat[:train])
    directions *= variances > ROUNDING**2 * variances[-1]  # along the others there is nothing but rounding
    return np.asarray(flat @ directions[:, ::-1][:, :count], np.float32)


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation:
    """Scores of an encoder, or of one encoder for each seed, on tasks. Printed, it is a table.

    Attributes:
        name: the name of the encoder.
        tier: the tier whose published rows the scores are compared with.
        rows: one for each task and seed. Internal.
        asked: whether metrics were selected; all their scores are printed.

    Example:
        >>> columns = lambda images: images.max(axis=1).argmax(axis=1)  # x of each square, three of six factors
        >>> evaluate(columns, "xysquares/spacing_8", tier="smoke")
        my_encoder, tier smoke, 0 steps of training; called with numpy arrays, uint8 (n, H, W, C) in [0, 255]
                            seeds    mig dci.disentanglement dci.completeness dci.informativeness_test
        xysquares/spacing_8     1  0.499               0.307            0.500                    0.565
    """

    name: str
    tier: str
    rows: tuple[_Row, ...]
    asked: bool = False

    def frame(self) -> pd.DataFrame:
        """Return one row for each task and seed, with a column for each score."""
        import pandas as pd

        records = [(row.candidate.record, row.scores) for row in self.rows]
        return pd.DataFrame([{"task": known.dataset, "seed": known.seed, **scores} for known, scores in records])

    def compare(self, method: str | Evaluation, *, published: str | os.PathLike[str] = PUBLISHED) -> pd.DataFrame:
        """Compare the scores with those of another method, task by task.

        Several seeds are compared by Welch's test. A single encoder has no spread: Student's t compares the seeds of
        the other with its score, and the verdict is on this encoder, not on how it was trained.

        Args:
            method: a published one such as ``"beta_vae"`` or, by its title, ``"β-VAE"``; or the evaluation
                of another encoder in the same tier, also on a dataset of your own.
            published: the results tree with the rows of a method that is given by name.

        Returns:
            For each task and score: both means, their difference with its 95% interval, ``p`` after Holm's correction
            over the tasks of the score, the numbers of seeds, the optimiser steps of both, ``verdict``, and ``note``,
            which says why nothing was tested: too few seeds, or neither is above an untrained encoder by 0.01.

        Raises:
            UnknownName: nothing is published of the method.
            InvalidInput: the encoder has the method's name, or that of a column of the table; or the other was
                evaluated in another tier, or on another dataset of the same name.
        """
        import pandas as pd

        tree = Path(published)
        if isinstance(method, Evaluation):
            if method.tier != self.tier:
                raise InvalidInput(f"{method.name}: expected an evaluation in tier {self.tier}, not {method.tier}.")
        elif not isinstance(method, str):
            raise InvalidInput(f"method: expected one name, received {method!r}. Compare with each by itself.")
        elif method not in (known := {file.stem: file for file in results_tree.files(tree)}):
            titles = {results_tree.read(file).title: name for name, file in known.items()}
            if method not in titles:
                raise UnknownName("method with published results", method, known)
            method = titles[method]
        found = pd.DataFrame([line for task in self._tasks for line in self._against(task, method, tree)])
        for _, lines in found[found["p"].notna() | (found["verdict"] == verdicts.NEITHER)].groupby("score"):
            adjusted = verdicts.holm(lines["p"].fillna(1.0).to_numpy())
            found.loc[lines.index, "p"] = np.where(lines["p"].isna(), math.nan, adjusted)
        for index, line in found[found["p"].notna()].iterrows():
            side = "higher" if line["difference"] > 0 else "lower"
            clear = line["p"] <= intervals.ERROR
            found.loc[index, "verdict"] = f"significantly {side}" if clear else "no significant difference"
        return found

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the scores into a results tree, which ``offaxis board`` commands read together with the published rows.

        Args:
            folder: the results tree; it is created if missing. New seeds are added to existing ones; the same seeds
                replace them, all at once.

        Returns:
            The files that were written.

        Raises:
            InvalidInput: ``evaluate`` was called with metrics other than the tier's; some but not all of the seeds
                exist, so that two encoders would share a row; existing seeds have other settings; or the folder cannot
                be written. Nothing is written then.
        """
        made = [self._result(task) for task in self._tasks]
        for result in made:
            file = results_tree.path(folder, result.task, self.name)
            old = results_tree.read(file) if file.exists() else result
            there, new = ({run.seed for run in one.of(self.tier)} for one in (old, result))
            if there & new and there - new:
                raise InvalidInput(
                    f"{file} has seeds {sorted(there)} of {self.name}, of which only {sorted(there & new)} would be "
                    "replaced. Evaluate all seeds together, give this encoder another name=, or delete the file."
                )
            results_tree.merge(old, result, replace=True)  # refuses what does not fit before anything is written
        return results_tree.write(folder, made, replace=True)

    def submission(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write a folder that ``offaxis board submit`` takes.

        Args:
            folder: a path that is free.

        Returns:
            What is missing before it can be handed in, and before it counts as verified.

        Raises:
            InvalidInput: a dataset is the user's own, or the folder exists or cannot be written.
        """
        own = [task for task in self._tasks if task.partition("/")[0] not in benchmark_data.names()]
        if own:
            raise InvalidInput(f"{own[0]}, a dataset of your own, has no place on the board.")
        seeds = sorted({row.candidate.record.seed for row in self.rows})
        first = self.rows[0].candidate
        missing = [
            f"{submission.FILE}: fill in authors and license; versions and each seed's budget where known; "
            f"check supervision, {first.record.supervision}."
        ]

        def fill(form: dict[str, Any]) -> None:
            form["about"]["description"] = first.about.description
            form |= {"supervision": first.record.supervision, "hyperparameters": first.record.hyperparameters}
            for known in (row.candidate.record for row in self.rows):
                seed = {"seed": known.seed, "budget": known.budget.model_dump()}
                form["tasks"][known.dataset]["seeds"][seeds.index(known.seed)] |= seed

        submission.init(folder, self.name, self._tasks, tier=self.tier, seeds=len(seeds), fill=fill)
        unexported: dict[str, None] = {}
        for row in self.rows:
            known = row.candidate.record
            place = Path(folder) / known.dataset / f"seed_{known.seed}"
            with written_atomically(place.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
                np.savez(file, indices=row.task.indices, codes=row.candidate.given)
            try:
                with written_atomically(place.with_suffix(".onnx")) as temporary:
                    row.source.write_onnx(temporary, row.candidate)
            except OffaxisError as error:
                unexported[str(error)] = None
        missing += [
            f"encoder: {why.rstrip('.')}. For a verified row, export it to ONNX as seed_<n>.onnx next to its codes."
            for why in unexported
        ]
        if len(seeds) < protocol.SEEDS:
            missing.append(f"seeds: {len(seeds)} of the {protocol.SEEDS} that a rank takes.")
        return missing

    def __str__(self) -> str:
        """Return the mean of each score with its 95% interval over seeds, and what is to be known of the encoder."""
        import pandas as pd

        lines: dict[str, dict[str, str]] = {}
        for task in self._tasks:
            rows = self._of(task)
            scored = [key for key in rows[0].scores if all(key in row.scores for row in rows)]
            shown = [key for key in scored if self.asked or key in protocol.COLUMNS] or scored
            values = {key: [row.scores[key] for row in rows] for key in shown}
            lines[task] = {"seeds": str(len(rows))} | {key: _in_words(of_key) for key, of_key in values.items()}
        steps = [row.budget.steps for row in self.rows]
        span = " to ".join(f"{end:,}" for end in sorted({min(steps), max(steps)}))
        called = "; ".join(dict.fromkeys(row.source.description for row in self.rows))
        said = [
            f"{self.name}, tier {self.tier}, {span} steps of training; called with {called}",
            pd.DataFrame.from_dict(lines, orient="columns" if self.asked else "index").to_string(na_rep=""),
        ]
        return "\n".join(said)

    __repr__ = __str__

    @property
    def _tasks(self) -> list[str]:
        return list(dict.fromkeys(row.candidate.record.dataset for row in self.rows))

    def _of(self, task: str) -> list[_Row]:
        return [row for row in self.rows if row.candidate.record.dataset == task]

    def _result(self, task: str) -> Result:
        """Return the result that the board stores of a task."""
        runs = [row.scored for row in self._of(task)]
        if None in runs:
            raise InvalidInput(
                "Scores of chosen metrics, or on a dataset of your own, have no place on the board. Evaluate without "
                "metrics=, on tasks of the board."
            )
        about = self.rows[0].candidate.about
        return results.result(protocol.task(task).id, self.name, [run for run in runs if run], about=about)

    def _published(self, task: str, method: str, tree: Path) -> tuple[Scored, ...]:
        """Return the runs that are published of a method on a task, in the tier."""
        file = results_tree.path(tree, f"{task}@{protocol.VERSION}", method)
        found = results_tree.read(file) if file.is_file() else None
        return found.of(self.tier) if found and not found.quarantine else ()

    def _against(self, task: str, other: str | Evaluation, tree: Path) -> Iterator[dict[str, Any]]:
        """Yield a line for each score that both have, or one that says why there is none."""
        rows = self._of(task)
        method = other if isinstance(other, str) else other.name
        empty = dict.fromkeys(("difference", "low", "high", "p"), math.nan)
        what, steps = {"task": task, "score": ""}, max(row.budget.steps for row in rows)
        counts = {"n": len(rows), "n_other": 0, "steps": steps, "steps_other": None}
        rest = empty | counts | {"verdict": "", "note": ""}
        if self.name in (method, *what, *rest):
            raise InvalidInput(
                f"compare: {self.name!r} would name two columns. Call evaluate with another name, such as my_{method}."
            )
        line = {**what, self.name: math.nan, method: math.nan, **rest}
        theirs = self._published(task, other, tree) if isinstance(other, str) else other._of(task)
        untrained = self._published(task, "random_encoder", tree) or self._published(task, "random_encoder", PUBLISHED)
        if not theirs:
            note = f"{method} has no published row on this task in tier {self.tier}, or a quarantined one"
            yield line | {"note": note if isinstance(other, str) else f"{method} was not evaluated on this task"}
            return
        if isinstance(theirs[0], _Row) and not protocol.same(rows[0].task.load(), theirs[0].task.load()):
            raise InvalidInput(f"{method} was evaluated on another dataset {task}. Evaluate both on the same.")
        line |= {"n_other": len(theirs), "steps_other": max(run.budget.steps for run in theirs)}
        notes = [f"{method}: {mark}" for run in theirs for mark in run.marks]
        for score in [key for key in rows[0].scores if key in protocol.COLUMNS] or rows[0].scores:
            ours, others = ([run.scores[score] for run in side if score in run.scores] for side in (rows, theirs))
            if not others:
                note = f"{method} has no such score on this task"
                yield line | {"score": score, self.name: float(np.mean(ours)), "note": note}
                continue
            found, note = _compared(ours, others, method if len(ours) == 1 else self.name)
            verdict = ""
            chance = [run.scores[score] for run in untrained if score in run.scores]
            if verdicts.at_chance(float(np.mean(ours)), float(np.mean(others)), chance):
                found, verdict = found._replace(p=None), verdicts.NEITHER
                note = f"no test: neither is {verdicts.CHANCE:g} above an untrained encoder ({np.mean(chance):.3f})"
            yield line | {
                "score": score,
                self.name: float(np.mean(ours)),
                method: float(np.mean(others)),
                "difference": found.difference,
                "low": found.low,
                "high": found.high,
                "p": math.nan if found.p is None else found.p,
                "verdict": verdict,
                "note": "; ".join(dict.fromkeys([*notes, *([note] if note else [])])),
            }


def _compared(ours: list[float], others: list[float], several: str) -> tuple[verdicts.Comparison, str]:
    """Compare scores of seeds; of a single encoder, as a constant, with the seeds of ``several``."""
    if len(ours) == 1 or len(others) == 1:
        size = max(len(ours), len(others))
        first, second = (side * size if len(side) == 1 else side for side in (ours, others))
        found = verdicts.compare([first], [second], paired=True)
        note = f"a single encoder: the seeds of {several} are compared with its score"
        if size < intervals.SEEDS:
            return found._replace(p=None), f"no verdict, which takes {intervals.SEEDS} seeds of one of the two"
        return found, note
    found = verdicts.welch([ours], [others])
    return found, "" if found.p is not None else f"no verdict, which takes {intervals.SEEDS} seeds of both"


def _in_words(values: list[float]) -> str:
    """Return a mean with its 95% interval over seeds, as text."""
    interval = intervals.mean_interval(values) if len(values) > 1 and np.isfinite(values).all() else None
    return f"{np.mean(values):.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")
