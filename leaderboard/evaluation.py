"""From any encoder to scores, a comparison with published rows, and a row of the board."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import rich.progress

import benchmark_data
from benchmark_data import console
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, OffaxisError, UnknownName, check_count, is_whole
from benchmark_data.files import written_atomically
from leaderboard import properties, protocol
from leaderboard.arrays import to_float32
from leaderboard.doubts import warn_if_continuous, warn_if_same
from leaderboard.encoding import Input
from leaderboard.reading import units
from leaderboard.record import METHOD_FIELDS, About, Budget, Supervision
from leaderboard.scoring import candidates, measure, submission
from leaderboard.scoring.candidates import Candidate
from leaderboard.source import Source, make_record, note_images_on_error, project_on_components
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
    tier: str | None = None,
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
            or the path of a run folder, whose record states seed, steps and supervision (``pretrained`` on other
            datasets than its own). A list holds one encoder for each training seed.
        tasks: names of datasets, such as ``"xysquares/spacing_8"``; or folders, as `benchmark_data.from_folder` takes
            them, or datasets of your own, whose scores can be printed and compared, not saved.
        name: what the encoder is called in tables: lower-case letters, digits and underscores.
        tier: ``"desk"``, ``"smoke"``, ``"study"`` or ``"held_out"``: determines the rows per metric and the published
            rows to compare with. Default: ``"held_out"`` if split rules divide all datasets, else ``"desk"``.
        metrics: names of files in ``leaderboard/metrics`` to compute instead of the tier's; ``"all"`` for those that
            can be computed from the codes.
        seeds: training seed of each encoder. Default: 0, 1, 2 and so on.
        input: what a function is called with (`leaderboard.encoding.Input`). Default: chosen by what is passed, and
            stated in the result.
        batch_size: images per call.
        pca: number of principal components, fitted on the task's train rows, that replace the codes.
        steps: optimiser steps that training took; 0 for encoders that are hand-made, untrained or pretrained.
        supervision: what training saw besides images: ``"unsupervised"``, ``"weakly_supervised"`` or ``"supervised"``;
            ``"pretrained"`` if it saw other images than the task's.
        about: one sentence on the encoder, shown on the board.
        progress: show progress in a terminal or notebook.

    Returns:
        The scores, which print as a table.

    Raises:
        InvalidInput: an encoder does not return codes, a metric cannot be computed from them, run folders have other
            settings, or an argument is invalid. Names and numbers are checked before anything is encoded.
        UnknownName: there is no such task, tier or metric.
        Unavailable: a dataset must be prepared first.
        DamagedFile: a run folder has no codes yet, or it or an ONNX file does not hold what it should.
        MissingExtra: the extra ``board`` is not installed.

    Warns:
        OtherCodes: a function returned other codes for the same images in another batch.
        ScaledTwice: a PyTorch module or Keras layer was called with images that were scaled to [0, 1] twice.

    Example:
        >>> columns = lambda images: images.max(axis=1).argmax(axis=1)  # x of each square, three of six factors
        >>> evaluation = evaluate(columns, "xysquares/spacing_8", metrics=["mig"])
        >>> evaluation.frame().round(2)[["task", "seed", "mig"]].to_dict("records")
        [{'task': 'xysquares/spacing_8', 'seed': 0, 'mig': 0.5}]
    """
    encoders = list(encode) if isinstance(encode, list | tuple) else [encode]
    chosen_tasks = [protocol.task_of(dataset) for dataset in (tasks if isinstance(tasks, list | tuple) else [tasks])]
    seed_list = np.ravel(range(len(encoders)) if seeds is None else seeds).tolist()
    if not encoders or not chosen_tasks:
        received = f"{len(encoders)} encoders and {len(chosen_tasks)} tasks"
        raise InvalidInput(f"evaluate: expected at least one encoder and one task, received {received}.")
    if not len(seed_list) == len(set(seed_list)) == len(encoders):
        raise InvalidInput(
            f"seeds: expected {len(encoders)}, one for each encoder, all different, received {seed_list}."
        )
    if repeated := {chosen.id for chosen in chosen_tasks if [other.id for other in chosen_tasks].count(chosen.id) > 1}:
        raise InvalidInput(f"tasks: expected each once, received {min(repeated)} more than once.")
    for what, count in (("batch_size", batch_size), ("pca", 1 if pca is None else pca)):
        check_count(what, count, 1)
    tier = protocol.tier(tier or protocol.default_tier(chosen_tasks)).name
    measure.metrics_by_name(metrics)
    sources = [Source(encoder, input, batch_size) for encoder in encoders]
    seeded_sources = list(zip(seed_list, sources, strict=True))
    steps = int(steps) if is_whole(steps) else steps  # numpy's, too
    details = make_record(lambda: About(title=name, description=about), About)
    records = [
        [source.record(task, name, seed, steps, supervision, pca) for seed, source in seeded_sources]
        for task in chosen_tasks
    ]
    runs = [source.run for source in sources if source.run]
    if len(methods := {run.method for run in runs}) > 1:
        raise InvalidInput(f"{name}: expected runs of one method, received {sorted(methods)}. Evaluate each alone.")
    if runs and (seeds is not None or steps or supervision != "unsupervised"):
        raise InvalidInput("Run folders have their own seeds, steps and supervision. Leave these arguments out.")
    recorded = [record.seed for record in records[0]]
    if len(set(recorded)) < len(recorded):
        raise InvalidInput(f"seeds: expected each once, received {recorded}. Pass runs of one setting, each once.")
    for task, task_records in zip(chosen_tasks, records, strict=True):
        for record in task_records:
            candidates.check_part(task, tier, record.hyperparameters, name)
            for field in METHOD_FIELDS:
                expected, received = getattr(task_records[0], field), getattr(record, field)
                if received != expected:
                    raise InvalidInput(
                        f"{name}: {field} of seed {record.seed}: expected {expected}, as of seed {recorded[0]}, "
                        f"received {received}. Seeds of one encoder must have equal settings: evaluate others apart."
                    )
        if dataset := task.user_dataset:
            warn_if_continuous(task.labels(), task.scored, task.dataset)
            measure.warn_if_left_out(dataset.labels(task.train), dataset.space.names, task.dataset)
    for task in chosen_tasks[1:]:  # so that an encoder that does not take its images says so before others are scored
        for batch_encoder in filter(None, (source.function_encoder for source in sources)):
            with note_images_on_error(name, task):
                batch_encoder(task.load().images(task.indices[: batch_encoder.batch_size]))
    rows = []
    with rich.progress.Progress(console=console.err, transient=True, disable=not progress) as bars:
        for task, task_records in zip(chosen_tasks, records, strict=True):
            bar = bars.add_task(task.dataset, total=len(sources) * len(task.indices))
            for (seed, source), record in zip(seeded_sources, task_records, strict=True):
                with note_images_on_error(name, task):
                    raw_codes = source.encode(task, functools.partial(bars.advance, bar))
                if pca is not None:
                    raw_codes = project_on_components(raw_codes, pca, len(task.train))
                run_name = f"{name} on {task.dataset}, seed {seed}"
                codes = to_float32(units.reduce(raw_codes, run_name, train=len(task.train)), run_name)
                warn_if_same(codes, run_name)
                rows.append(_score(Candidate(run_name, record, details, codes, raw_codes), task, tier, metrics, source))
            for error in candidates.repeated_codes([row.candidate for row in rows[-len(sources) :]]):
                raise error
    return Evaluation(name, tier, tuple(rows), metrics is not None)


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


def _score(
    candidate: Candidate, task: protocol.Task, tier: str, metrics: str | Sequence[str] | None, source: Source
) -> _Row:
    """Score a run by the metrics of its tier, or by others."""
    scored = candidates.score(candidate, tier) if metrics is None and task.user_dataset is None else None
    scores = scored.scores if scored else candidates.score_by(metrics, candidate, task, tier)
    return _Row(task, candidate, scores, scored, source)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """Scores of an encoder, or of one encoder for each seed, on tasks. Printed, it is a table.

    Attributes:
        name: the name of the encoder.
        tier: the tier whose published rows the scores are compared with.
        rows: one for each task and seed. Internal.
        shows_all: whether metrics were selected; all their scores are printed.

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
    shows_all: bool = False

    def __add__(self, other: Evaluation) -> Evaluation:
        """Join the scores of a method on other tasks, as with a model for each dataset.

        Args:
            other: an evaluation on other tasks with the same name, tier, seeds and settings.

        Returns:
            The scores on all tasks, to compare, save and submit together.

        Raises:
            InvalidInput: both have scores of a task, or the name, the tier, the seeds or a setting differ.

        Example:
            >>> columns = lambda images: images.max(axis=1).argmax(axis=1)
            >>> near, far = (evaluate(columns, f"xysquares/spacing_{n}", metrics="mig", tier="smoke") for n in (4, 8))
            >>> (near + far).frame().round(2)[["task", "mig"]].to_dict("records")
            [{'task': 'xysquares/spacing_4', 'mig': 0.5}, {'task': 'xysquares/spacing_8', 'mig': 0.5}]
        """
        if not isinstance(other, Evaluation):
            return NotImplemented
        ours, theirs = self._settings, other._settings
        if differing := [key for key in ours if ours[key] != theirs[key]]:
            received = f"received {ours[differing[0]]} and {theirs[differing[0]]}"
            raise InvalidInput(f"{self.name} + {other.name}: expected the same {differing[0]} in both, {received}.")
        if common := sorted({*self._tasks} & {*other._tasks}):
            raise InvalidInput(f"{self.name}: expected different tasks in both, received {common[0]} twice.")
        return dataclasses.replace(self, rows=self.rows + other.rows, shows_all=self.shows_all or other.shows_all)

    def frame(self) -> pd.DataFrame:
        """Return one row for each task and seed: the encoder's name, the tier, and a column for each score."""
        import pandas as pd

        run_names = {"encoder": self.name, "tier": self.tier}
        records = [(row.candidate.record, row.scores) for row in self.rows]
        return pd.DataFrame([{**run_names, "task": run.dataset, "seed": run.seed, **scores} for run, scores in records])

    def compare(self, method: str | Evaluation, *, published: str | os.PathLike[str] = PUBLISHED) -> pd.DataFrame:
        """Compare the scores with those of another method, task by task.

        Several seeds are compared by Welch's test. A single encoder is tested as one more seed of the other method; the
        verdict is then on this encoder, not on how it was trained.

        Args:
            method: a published one such as ``"beta_vae"`` or, by its title, ``"β-VAE"``; or the evaluation
                of another encoder in the same tier, also on a dataset of your own.
            published: the results tree with the rows of a method that is given by name.

        Returns:
            For each task and score: both means, their difference with its 95% interval, ``p`` after Holm's correction
            over all tasks with the score, tested or not, the numbers of seeds, the optimiser steps of both,
            ``verdict``, and ``note``, the reason if nothing was tested: too few seeds, or neither is above an untrained
            encoder by 0.01.

        Raises:
            UnknownName: the method has no published results.
            InvalidInput: both have the same name, or one that of a column of the table; or the other was evaluated in
                another tier, or on another dataset of the same name.
        """
        import pandas as pd

        tree = Path(published)
        if isinstance(method, Evaluation):
            if method.tier != self.tier:
                raise InvalidInput(f"{method.name}: expected an evaluation in tier {self.tier}, not {method.tier}.")
        elif not isinstance(method, str):
            raise InvalidInput(
                f"method: expected a name or an evaluation, received a {type(method).__name__}. Call compare for each."
            )
        elif method not in (files_by_method := {file.stem: file for file in results_tree.files(tree)}):
            titles = {results_tree.read(file).title: name for name, file in files_by_method.items()}
            if method not in titles:
                raise UnknownName("method with published results", method, files_by_method)
            method = titles[method]
        names = {"ours": self.name, "theirs": method if isinstance(method, str) else method.name}
        for name in names.values():
            if names["ours"] == names["theirs"] or name in COMPARISON.keys() - names.keys():
                raise InvalidInput(
                    f"compare: two columns would be named {name!r}. Pass another name= to evaluate, or rename one: "
                    f"dataclasses.replace(result, name='my_{name}')."
                )
        table = pd.DataFrame([row for task in self._tasks for row in self._comparison_rows(task, method, tree)])
        for _, group in table.dropna(subset=["ours", "theirs"]).groupby("score"):
            adjusted = verdicts.holm(group["p"].fillna(1.0).to_numpy())
            table.loc[group.index, "p"] = np.where(group["p"].isna(), math.nan, adjusted)
        for index, row in table[table["p"].notna()].iterrows():
            direction = "higher" if row["difference"] > 0 else "lower"
            significant = row["p"] <= intervals.ERROR
            table.loc[index, "verdict"] = f"significantly {direction}" if significant else "no significant difference"
        return table.rename(columns=names)

    def save(self, folder: str | os.PathLike[str], *, replace: bool = False) -> list[Path]:
        """Write the scores into a results tree, which ``offaxis board`` commands read together with the published rows.

        Args:
            folder: the results tree; it is created if missing. New seeds are added to existing ones.
            replace: replace stored seeds that have other codes.

        Returns:
            The files that were written.

        Raises:
            InvalidInput: ``evaluate`` was called with metrics other than the tier's, or the name is an untrained
                baseline's; stored seeds have other settings or, without ``replace``, other codes; or the folder cannot
                be written. Nothing is written then.
        """
        new_results = [self._result(task) for task in self._tasks]
        for result in new_results:
            file = results_tree.path(folder, result.task, self.name)
            if file.exists():  # what does not fit is refused before anything is written
                results_tree.merge(results_tree.read(file), result, replace=replace)
        return results_tree.write(folder, new_results, replace=replace)

    def submission(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write a folder that ``offaxis board submit`` takes.

        Args:
            folder: a path that is free.

        Returns:
            What is missing before it can be submitted, and before it is verified, one line each.

        Raises:
            InvalidInput: a dataset is the user's own, the name is an untrained baseline's, or the folder exists or
                cannot be written.
        """
        own_datasets = [task for task in self._tasks if task.partition("/")[0] not in benchmark_data.names()]
        if own_datasets:
            raise InvalidInput(f"{own_datasets[0]} is your own dataset: only tasks of the board can be submitted.")
        seeds = sorted({row.candidate.record.seed for row in self.rows})
        candidate = self.rows[0].candidate
        missing = [
            f"{submission.FILE}: fill in authors and license; versions and each seed's budget where known; "
            f"check supervision, {candidate.record.supervision}, and selection, {candidate.record.selection}."
        ]

        def fill(form: dict[str, Any]) -> None:
            form["about"]["description"] = candidate.about.description
            known = candidate.record
            form |= {key: getattr(known, key) for key in (*METHOD_FIELDS, "versions")}
            for record in (row.candidate.record for row in self.rows):
                seed_entry = {"seed": record.seed, "budget": record.budget.model_dump()}
                form["tasks"][record.dataset]["seeds"][seeds.index(record.seed)] |= seed_entry

        submission.init(folder, self.name, self._tasks, tier=self.tier, seeds=len(seeds), fill=fill)
        export_errors: dict[str, None] = {}
        for row in self.rows:
            record = row.candidate.record
            base_path = Path(folder) / record.dataset / f"seed_{record.seed}"
            with written_atomically(base_path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
                np.savez(file, indices=row.task.indices, codes=row.candidate.submitted_codes)
            try:
                with written_atomically(base_path.with_suffix(".onnx")) as temporary:
                    row.source.write_onnx(temporary, row.candidate)
            except OffaxisError as error:
                export_errors[str(error).removeprefix(f"{temporary}: ")] = None
        missing += [
            f"encoder: {reason.rstrip('.')}. For a verified row, export it to ONNX, in float32, as seed_<n>.onnx next "
            "to its codes."
            for reason in export_errors
        ]
        if len(seeds) < protocol.SEEDS:
            missing.append(f"seeds: {len(seeds)} of the {protocol.SEEDS} that a rank requires.")
        return missing

    def __str__(self) -> str:
        """Return the mean of each score with its 95% interval over seeds, and what is to be known of the encoder."""
        import pandas as pd

        cells: dict[str, dict[str, str]] = {}
        for task in self._tasks:
            rows = self._rows_of_task(task)
            common_scores = [key for key in rows[0].scores if all(key in row.scores for row in rows)]
            shown_scores = [key for key in common_scores if self.shows_all or key in protocol.COLUMNS] or common_scores
            values = {key: [row.scores[key] for row in rows] for key in shown_scores}
            cells[task] = {"seeds": str(len(rows))}
            if rows[0].task.user_dataset:
                cells[task]["images"] = f"{len(rows[0].task.indices):,}"
            for key, scores in values.items():
                cells[task][key] = intervals.format_mean(scores, properties.score_range(key))
        step_range = intervals.format_range([row.budget.steps for row in self.rows])
        descriptions = list(dict.fromkeys(row.source.description for row in self.rows))
        description = "; ".join(descriptions[:2]) + f"; and {len(descriptions) - 2} more" * (len(descriptions) > 2)
        _, *unit_shape = self.rows[0].candidate.submitted_codes.shape
        if len(unit_shape) == 2:
            description += f"; {unit_shape[0]} units of {unit_shape[1]} numbers, reduced to one number each"
        table = pd.DataFrame.from_dict(cells, orient="columns" if self.shows_all else "index")
        header = f"{self.name}, tier {self.tier}, {step_range} steps of training; {description}"
        return f"{header}\n{table.to_string(na_rep='')}"

    __repr__ = __str__

    @property
    def _settings(self) -> dict[str, Any]:
        """What all tasks of a submission share."""
        first, seeds = self.rows[0].candidate, sorted({row.candidate.record.seed for row in self.rows})
        settings = {key: getattr(first.record, key) for key in METHOD_FIELDS}
        return {"name": self.name, "tier": self.tier, "seeds": seeds, "about": first.about.description} | settings

    @property
    def _tasks(self) -> list[str]:
        return list(dict.fromkeys(row.candidate.record.dataset for row in self.rows))

    def _rows_of_task(self, task: str) -> list[_Row]:
        return [row for row in self.rows if row.candidate.record.dataset == task]

    def _result(self, task: str) -> Result:
        """Return the result that the board stores of a task."""
        runs = [row.scored for row in self._rows_of_task(task)]
        if None in runs:
            raise InvalidInput(
                "Scores of chosen metrics, or on your own dataset, cannot be stored as results of the board. Evaluate "
                "without metrics=, on tasks of the board; or write a table: result.frame().to_csv('scores.csv')."
            )
        about = self.rows[0].candidate.about
        return results.result(protocol.task(task).id, self.name, [run for run in runs if run], about=about)

    def _read_runs(self, task: str, method: str, tree: Path) -> tuple[Scored, ...]:
        """Return the runs that are published of a method on a task, in the tier and of the same version of the data."""
        file = results_tree.path(tree, f"{task}@{protocol.VERSION}", method)
        result = results_tree.read(file) if file.is_file() else None
        runs = result.runs_in(self.tier) if result and not result.quarantine else ()
        version = self._rows_of_task(task)[0].candidate.record.dataset_version
        return tuple(run for run in runs if run.dataset_version == version)

    def _comparison_rows(self, task: str, other: str | Evaluation, tree: Path) -> Iterator[dict[str, Any]]:
        """Yield a line for each score that both have, or one that says why there is none."""
        rows = self._rows_of_task(task)
        method = other if isinstance(other, str) else other.name
        table_row = COMPARISON | {"task": task, "n": len(rows), "steps": max(row.budget.steps for row in rows)}
        other_runs = self._read_runs(task, other, tree) if isinstance(other, str) else other._rows_of_task(task)
        untrained = self._read_runs(task, "random_encoder", tree) or self._read_runs(task, "random_encoder", PUBLISHED)
        if not other_runs:
            note = f"{method} has no published row on this task in tier {self.tier}, or it is quarantined or outdated"
            yield table_row | {"note": note if isinstance(other, str) else f"{method} was not evaluated on this task"}
            return
        if isinstance(other_runs[0], _Row) and not protocol.is_same_dataset(
            rows[0].task.load(), other_runs[0].task.load()
        ):
            raise InvalidInput(f"{method} was evaluated on another dataset named {task}. Evaluate both on the same.")
        table_row["steps_other"] = max(run.budget.steps for run in other_runs)
        notes = [f"{method}: {mark}" for run in other_runs for mark in run.marks]
        scores = dict.fromkeys(key for row in rows for key in row.scores)
        for score in [key for key in scores if self.shows_all or key in protocol.COLUMNS] or scores:
            ours, theirs = ([run.scores[score] for run in runs if score in run.scores] for runs in (rows, other_runs))
            table_row |= {"n": len(ours), "n_other": len(theirs)}
            if not theirs:
                note = f"{method} has no such score on this task"
                yield table_row | {"score": score, "ours": float(np.mean(ours)), "note": note}
                continue
            comparison, verdict = verdicts.compare_methods([ours], [theirs]), ""
            single = 1 in (len(ours), len(theirs))
            seeded_method = method if len(ours) == 1 else self.name
            note = f"a single encoder: p is for its score as one more seed of {seeded_method}" if single else ""
            if comparison.p is None:
                note = f"no verdict, which requires {intervals.SEEDS} seeds of {'one of the two' if single else 'both'}"
            baseline = [run.scores[score] for run in untrained if score in run.scores and not run.marks]
            if verdicts.is_at_chance(float(np.mean(ours)), float(np.mean(theirs)), baseline):
                comparison, verdict = comparison._replace(p=None), verdicts.NEITHER
                note = f"no test: neither is {verdicts.CHANCE:g} above an untrained encoder ({np.mean(baseline):.3f})"
            yield table_row | {
                "score": score,
                "ours": float(np.mean(ours)),
                "theirs": float(np.mean(theirs)),
                "difference": comparison.difference,
                "low": comparison.low,
                "high": comparison.high,
                "p": math.nan if comparison.p is None else comparison.p,
                "verdict": verdict,
                "note": "; ".join(dict.fromkeys([*notes, *([note] if note else [])])),
            }


COMPARISON: dict[str, Any] = (
    dict.fromkeys(("task", "score"), "")
    | dict.fromkeys(("ours", "theirs", "difference", "low", "high", "p"), math.nan)
    | {"n": 0, "n_other": 0, "steps": 0, "steps_other": None, "verdict": "", "note": ""}
)
"""A row of `Evaluation.compare` before anything is known; the names of the two take the place of ours and theirs."""
