"""The run folder: what a run leaves on disk, and the models and codes that one gets back from it.

==============================  ===================================================================================
``config.json``                 the resolved config; the same config gives the same run
``run.json``                    what the leaderboard reads: method, dataset and digest, seed, budget, versions
``history.jsonl``               one JSON object per recorded step: step, loss, reconstruction and the objective's terms
``snapshots/step_00006000/``    ``weights.npz``, ``optimiser.npz`` and ``state.json`` (step, seconds of training)
``codes.npz``                   ``indices`` int64 (n,), ``codes`` float32 (n, latents): means for the task's rows
``activations.npz``             ``layers``, ``indices`` and one float32 (n, p) array per layer, from input to output
==============================  ===================================================================================

A snapshot appears whole or not at all. Random numbers depend on the seed and the step alone, so the step is the
position of the random generator, and nothing else needs to be saved.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.model import Model, generator
from baselines.objectives import Posterior
from benchmark_data import discovery, draws, files, parallel
from benchmark_data.archives import npz
from benchmark_data.dataset import Dataset, Digest
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName
from benchmark_data.factors import Indices
from benchmark_data.sources import Images
from benchmark_data.variants import splitting

__all__ = ["Run", "Snapshots", "about"]

SCHEMA = 1
"""Version of ``run.json``."""

ENCODED = 1024
"""Images that are held in memory at once while rows are encoded."""

EXPLAINED = 256
"""Images that reconstructions are judged by, unless others are given."""


class State(NamedTuple):
    """A run's state after a step: float32 arrays by the weights' names.

    Attributes:
        weights: the weights.
        first: Adam's first moments.
        second: Adam's second moments.
    """

    weights: Mapping[str, NDArray[Any]]
    first: Mapping[str, NDArray[Any]]
    second: Mapping[str, NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays to an ``.npz`` file, atomically.

    Raises:
        InvalidInput: the file cannot be written.
    """
    with files.written_atomically(path) as temporary:
        save_arrays(temporary, arrays)


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to a file that is not yet under its final name."""
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read an ``.npz`` file whole.

    Raises:
        DamagedFile: the file is missing, is no such file, or holds Python objects.
    """
    return npz.read_all(path, remedy="Restore the file, or remove the folder that holds it and resume the run.")


def write_record(
    folder: Path,
    *,
    method: str,
    dataset: Dataset,
    digest: Digest,
    full_digest: Digest | None = None,
    seed: int,
    supervision: str,
    hyperparameters: Mapping[str, Any],
    device: str,
    versions: Mapping[str, str],
    selection: str = "none",
    steps: int = 0,
    images: int = 0,
    seconds: float = 0.0,
    computed: Mapping[str, Any] | None = None,
    computed_before: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write ``run.json``: all that the leaderboard knows of a run beside its codes.

    Args:
        folder: the run folder.
        method: name of the objective or reference.
        dataset: what it was trained on.
        digest: the dataset's quick digest.
        full_digest: the digest of all its rows, where its name does not stand for them.
        seed: the run's seed.
        supervision: ``unsupervised``, ``weakly_supervised``, ``supervised`` or ``reference``.
        hyperparameters: plain values by name.
        device: what it ran on.
        versions: version by package.
        selection: how this run was chosen among others.
        steps: optimiser steps taken.
        images: images seen, counting repeats.
        seconds: wall-clock seconds of training, over all resumes.
        computed: how it was computed, as `baselines.training.devices.record` gives it; nothing for what nobody trained.
        computed_before: how earlier parts of the run were computed, where otherwise.

    Raises:
        InvalidInput: the file cannot be written.
    """
    files.write_json(
        folder / "run.json",
        {
            "schema": SCHEMA,
            "method": method,
            "dataset": dataset.id,
            "dataset_version": dataset.version,
            "dataset_digest": digest._asdict(),
            **({"dataset_full_digest": full_digest._asdict()} if full_digest else {}),
            "image_shape": dataset.image_shape,
            "factor_sizes": dataset.space.sizes,
            "seed": seed,
            "supervision": supervision,
            "selection": selection,
            "hyperparameters": dict(hyperparameters),
            "budget": {"steps": steps, "images": images, "seconds": round(seconds, 3), "device": device},
            "versions": dict(versions),
            "about": about(method),
            **({"computed": dict(computed)} if computed else {}),
            **({"computed_before": list(map(dict, computed_before))} if computed_before else {}),
        },
    )


def about(method: str) -> dict[str, str]:
    """Return what the leaderboard prints of a method, from its file.

    Args:
        method: name of an objective or a reference.

    Returns:
        ``title`` and ``description``, from the file's first line, ``title: description``; ``authors`` with the year,
        where the description begins with them; ``paper``, ``code`` (an implementation that this one agrees with),
        ``license`` (of that code, SPDX) and ``bibtex``, from the constants ``PAPER``, ``CODE``, ``CODE_LICENSE`` and
        ``CITATION``, empty where the file has none. Nothing for a method that has no file.

    Example:
        >>> about("factor_vae")["title"], about("factor_vae")["authors"]
        ('FactorVAE', 'Kim and Mnih, 2018')
    """
    for package in ("baselines.objectives", "baselines.references"):
        if method in discovery.names(package):
            module = discovery.find(package, method, kind="method")
            line = (module.__doc__ or "").partition("\n")[0]
            title, _, description = line.partition(": ")
            cited = re.match(r"([A-Z]\w+(?: et al\.| and [A-Z]\w+)), .*?\b(\d{4})\b", description)
            return {
                "title": title,
                "description": description[:1].upper() + description[1:],
                "authors": f"{cited[1]}, {cited[2]}" if cited else "",
                "paper": getattr(module, "PAPER", ""),
                "code": getattr(module, "CODE", ""),
                "license": getattr(module, "CODE_LICENSE", ""),
                "bibtex": getattr(module, "CITATION", ""),
            }
    return {}


class Snapshots:
    """The snapshots of a run folder.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "snapshots"

    def path(self, step: int) -> Path:
        """Return the folder of the snapshot after a step."""
        return self.folder / f"step_{step:08d}"

    def steps(self) -> list[int]:
        """List the steps that have a snapshot, in order."""
        if not self.folder.is_dir():
            return []
        found = (re.fullmatch(r"step_(\d{8,})", p.name) for p in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    @property
    def last(self) -> int | None:
        """The step of the last snapshot; None where there is none yet, not even that of the state before training."""
        return max(self.steps(), default=None)

    def write(self, step: int, state: State, seconds: float) -> None:
        """Write a snapshot, whole or not at all.

        Args:
            step: the step that was done last.
            state: weights and moments after it.
            seconds: seconds of training so far.

        Raises:
            InvalidInput: the folder cannot be written, or the disk is full.
        """
        moments = {f"{part}/{n}": a for part in ("first", "second") for n, a in getattr(state, part).items()}
        with files.written_atomically(self.path(step)) as temporary:
            temporary.mkdir()
            save_arrays(temporary / "weights.npz", state.weights)
            save_arrays(temporary / "optimiser.npz", moments)
            files.write_json(temporary / "state.json", {"step": step, "seconds": seconds})

    def read(self, step: int) -> tuple[State, float]:
        """Read a snapshot.

        Args:
            step: after which step it was taken.

        Returns:
            The state, and the seconds of training so far.

        Raises:
            DamagedFile: a file is missing or does not hold what it should; the message names it.
        """
        folder = self.path(step)
        moments = read_arrays(folder / "optimiser.npz")
        first, second = (
            {n.removeprefix(f"{part}/"): a for n, a in moments.items() if n.startswith(f"{part}/")}
            for part in ("first", "second")
        )
        facts = files.read_json(folder / "state.json")
        if not isinstance(facts, dict) or facts.get("step") != step or not isinstance(facts.get("seconds"), float):
            raise DamagedFile(
                str(folder / "state.json"), expected=f"step {step} and seconds", received=json.dumps(facts)[:80]
            )
        return State(read_arrays(folder / "weights.npz"), first, second), facts["seconds"]

    def remove(self, step: int) -> None:
        """Remove a snapshot; it is gone at once, however long the files take."""
        doomed = self.path(step).with_name(f".{self.path(step).name}.part")
        os.replace(self.path(step), doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def is_trained(folder: Path, config: RunConfig) -> bool:
    """Return whether a folder holds all that training leaves of a run: the snapshot of its last step, and its record.

    A killed process leaves none without the other, since the record comes first; somebody may have removed it. A run
    whose config names another value for a setting is not this one, though it lies where this one would: a default may
    have changed since.

    Args:
        folder: the run folder, which may not be there.
        config: the run's config.
    """
    if Snapshots(folder).last != config.steps or not (folder / "run.json").exists():
        return False
    try:
        held = files.read_json(folder / "config.json")
    except DamagedFile:
        return False
    return isinstance(held, dict) and _of_one_run(held, json.loads(json.dumps(config.as_json())))


def _of_one_run(held: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Return whether all that a config on disk names has this value.

    Where a source lies is no setting; its weights' hash is one, where it is known.
    """
    for name, value in held.items():
        if isinstance(value, dict) and isinstance(ours.get(name), dict):
            if not _of_one_run(value, ours[name]):
                return False
        elif ours.get(name) != value and name != "start_from" and (name != "start_weights" or ours[name]):
            return False
    return True


def read_history(path: Path, *, until: int | None = None) -> list[dict[str, float]]:
    """Read a history.

    Args:
        path: a ``history.jsonl``; one that is not there is empty.
        until: leave out what comes after this step. The last line may then be torn, as a killed process leaves it.

    Returns:
        One dictionary for each recorded step.

    Raises:
        DamagedFile: a line is not what it should be.
    """
    rows: list[dict[str, float]] = []
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedFile(str(path), expected="lines of JSON", received=str(error)) from error
    *lines, last = text.split("\n")
    if last and until is None:
        lines.append(last)
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            step = row["step"]
            if not isinstance(step, int) or not all(isinstance(row[name], int | float) for name in ("loss", *row)):
                raise TypeError
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(
                f"{path}, line {number}",
                expected="a JSON object of numbers, with a step and a loss",
                received=repr(line[:60]),
            ) from error
        if until is None or step <= until:
            rows.append(row)
    return rows


class Run:
    """A run on disk, at one of its snapshots.

    Use `Run.open`; ``baselines.train`` gives one too.

    Attributes:
        folder: the run folder.
        config: its config.
        step: the step of the snapshot that encode, decode and activations use.
    """

    def __init__(self, folder: Path, config: RunConfig, step: int, dataset: Dataset | None = None) -> None:
        self.folder, self.config, self.step = folder, config, step
        self._own = dataset

    def __repr__(self) -> str:
        c = self.config
        return f"<Run {self.folder}: {c.objective} on {c.dataset}, seed {c.seed}, step {self.step} of {c.steps}>"

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, step: int | None = None, dataset: Dataset | None = None) -> Run:
        """Open a run folder.

        Args:
            path: the folder.
            step: the snapshot to use; the last one if None.
            dataset: the dataset, for a run on one's own images whose rows are asked for; its full name is that of the
                run's config, up to a split by a rule.

        Returns:
            The run.

        Raises:
            DamagedFile: no such folder, no snapshot yet, or a config that cannot be read.
            InvalidInput: there is no snapshot of that step.
        """
        folder = Path(path)
        config = read_config(folder)
        steps = Snapshots(folder).steps()
        if not steps:
            raise DamagedFile(
                str(folder),
                expected="a run with a snapshot",
                received="none",
                remedy="Resume the run, or train it again.",
            )
        if step is not None and step not in steps:
            raise InvalidInput(f"step of {folder}", expected=f"one of {steps}", received=str(step))
        return cls(folder, config, steps[-1] if step is None else step, dataset)

    @functools.cached_property
    def own_images(self) -> Dataset | None:
        """The user's own images that the run was trained on: given, or found in the folder that the run remembers.

        Raises:
            InvalidInput: those that were given have another name, or those in the folder have changed since.
        """
        if self._own is not None:
            return splitting.of(self._own, self.config.dataset)
        found = own_images(self.folder, self.config)
        if found is not None:
            same_pixels(self.folder, digests_of(found))
        return found

    @property
    def dataset(self) -> Dataset:
        """The dataset that the run was trained on.

        Raises:
            InvalidInput: it is no published one, and was not given, or another was.
        """
        if self.own_images is not None:
            return self.own_images
        try:
            return benchmark_data.load(self.config.dataset)
        except UnknownName as error:
            raise InvalidInput(
                f"dataset of {self.folder}",
                expected=f"the images called {self.config.dataset!r}",
                received="none",
                remedy="Give them to Run.open as dataset=, or train with offaxis train run --images FOLDER.",
            ) from error

    @functools.cached_property
    def image_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of the images that the run encodes, from its record.

        Raises:
            DamagedFile: the record is missing or does not hold it.
        """
        height, width, channels = self._recorded("image_shape", 3)
        return height, width, channels

    def _recorded(self, key: str, count: int | None = None) -> list[int]:
        path = self.folder / "run.json"
        record = files.read_json(path)
        found = record.get(key) if isinstance(record, dict) else None
        if not isinstance(found, list) or count not in (None, len(found)):
            raise DamagedFile(str(path), expected=f"a run's record with {key}", received=repr(found))
        return found

    @property
    def steps(self) -> list[int]:
        """The steps that have a snapshot, in order."""
        return Snapshots(self.folder).steps()

    @property
    def history(self) -> list[dict[str, float]]:
        """The recorded steps: step, loss, reconstruction and the objective's terms."""
        return read_history(self.folder / "history.jsonl")

    @functools.cached_property
    def model(self) -> Model:
        """The networks with the snapshot's weights."""
        model = Model(self.config, self.image_shape, self._recorded("factor_sizes"))
        self._load(model, self.step)
        return model

    def _load(self, model: Model, step: int) -> None:
        path = Snapshots(self.folder).path(step) / "weights.npz"
        model.load(read_arrays(path), str(path))

    def encode_over_time(self, images: Images) -> Iterator[tuple[int, Posterior]]:
        """Encode the same images at every snapshot.

        Args:
            images: uint8, shape (n, H, W, C).

        Yields:
            A snapshot's step, and the posterior as `encode` gives it, first step first.

        Raises:
            InvalidInput: not uint8 images of the right shape.
        """
        images = self._checked(images)
        model = Model(self.config, self.image_shape, self._recorded("factor_sizes"))
        for step in self.steps:
            self._load(model, step)
            yield step, model.encode(images)

    def encode(self, images: Images) -> Posterior:
        """Encode images.

        Args:
            images: uint8, shape (n, H, W, C), as the run's dataset gives them.

        Returns:
            ``mean`` and ``log_variance`` of the posterior, float32 (n, latents).

        Raises:
            InvalidInput: not uint8 images of the right shape.
        """
        return self.model.encode(self._checked(images))

    def decode(self, codes: ArrayLike) -> NDArray[np.float32]:
        """Decode codes.

        Args:
            codes: shape (n, latents).

        Returns:
            float32 images in [0, 1], shape (n, H, W, C).

        Raises:
            InvalidInput: the shape is wrong.
        """
        array = np.asarray(codes, np.float32)
        if array.ndim != 2 or array.shape[1] != self.model.code_size or not len(array):
            raise InvalidInput("codes", expected=f"shape (n, {self.model.code_size})", received=f"shape {array.shape}")
        return self.model.decode(array)

    def explained(self, images: Images | None = None) -> float:
        """Return the share of the pixels' variance that reconstructions from the posterior's mean explain.

        1 - sum (x - decoded x)² / sum (x - mean of the images)², over all pixels.

        Args:
            images: uint8, shape (n, H, W, C); None for the first 256 rows of the dataset's quick digest.

        Returns:
            A share in (-inf, 1]: 0 or less for a decoder that draws one picture, whatever the image. NaN where all
            images are equal.

        Raises:
            InvalidInput: as `encode`.
        """
        if images is None:
            images = self.dataset.images(self.dataset.quick_rows()[:EXPLAINED])
        decoded = self.decode(self.encode(images).mean)
        pixels = images / np.float32(255)
        variance = float(np.square(pixels - pixels.mean(0)).sum(dtype=np.float64))
        return 1 - float(np.square(pixels - decoded).sum(dtype=np.float64)) / variance if variance else math.nan

    def activations(self, images: Images) -> dict[str, NDArray[np.float32]]:
        """Take the activations of every layer.

        Args:
            images: uint8, shape (n, H, W, C).

        Returns:
            Layer -> float32 (n, p), in order from ``input`` to ``output``. The noise of ``sampled`` is this snapshot's
            own: the same every time, and drawn apart from that of any other run and of any other snapshot. Noise that
            two models share would pass for similarity where both ignore the image.

        Raises:
            InvalidInput: not uint8 images of the right shape.
        """
        images = self._checked(images)
        own = int(self.config.digest[:16], 16)
        noise = generator(own, self.step).standard_normal((len(images), self.model.code_size), np.float32)
        return self.model.activations(images, noise)

    def encode_rows(self, rows: Sequence[int] | Indices, dataset: Dataset | None = None) -> NDArray[np.float32]:
        """Encode rows of a dataset.

        Args:
            rows: rows, int (n,).
            dataset: one whose images have the shape of the run's own; the run's own if None.

        Returns:
            Posterior means, float32 (n, latents).

        Raises:
            InvalidInput: no rows, rows that do not exist, or images of another shape.
        """
        chosen = self._fitting(dataset)
        codes: NDArray[np.float32] = posterior_of(self.encode, chosen, chosen.rows(rows)).mean
        return codes

    def encode_task(self) -> Path:
        """Encode the leaderboard's rows of the run's dataset into ``codes.npz``.

        Of the user's own images, for which there is no task, every row is encoded, shuffled as `own_rows` says, and the
        class ids are written beside the codes: ``factors``, int64 (n, F), and their ``factor_names``.

        Returns:
            The file's path.

        Raises:
            InvalidInput: the run is not finished, or the file cannot be written.
        """
        self.check_finished()
        path, dataset = self.folder / "codes.npz", self.dataset
        if self.own_images is None:
            indices = task_rows(dataset)
            write_arrays(path, {"indices": indices, "codes": self.encode_rows(indices)})
            return path
        indices = own_rows(dataset)
        arrays: dict[str, NDArray[Any]] = {"indices": indices, "codes": self.encode_rows(indices, dataset)}
        if dataset.space.names:
            arrays |= {"factors": dataset.labels(indices), "factor_names": np.array(dataset.space.names)}
        write_arrays(path, arrays)
        return path

    def write_activations(
        self,
        rows: Sequence[int] | Indices,
        path: str | os.PathLike[str] | None = None,
        dataset: Dataset | None = None,
    ) -> Path:
        """Write the activations of every layer for some rows of a dataset.

        Args:
            rows: rows, int (n,). The convolutional architecture takes about 0.4 MB per image.
            path: where to; ``activations.npz`` in the run folder if None.
            dataset: as for `encode_rows`.

        Returns:
            The file's path.

        Raises:
            InvalidInput: rows that do not exist, images of another shape, or a file that cannot be written.
        """
        chosen = self._fitting(dataset)
        indices = chosen.rows(rows)
        found = self.activations(chosen.images(indices))
        path = self.folder / "activations.npz" if path is None else Path(path)
        write_arrays(path, {"layers": np.array(list(found)), "indices": indices, **found})
        return path

    def check_finished(self) -> None:
        """Check that the run is open at the last step of its training, and not at an earlier snapshot.

        Raises:
            InvalidInput: it is not.
        """
        if self.step != self.config.steps:
            raise InvalidInput(
                str(self.folder),
                expected=f"a finished run of {self.config.steps} steps",
                received=f"step {self.step}",
                remedy="Resume the run first.",
            )

    def _fitting(self, dataset: Dataset | None) -> Dataset:
        if dataset is None:
            return self.dataset
        if dataset.image_shape == self.image_shape:
            return dataset
        raise InvalidInput(
            f"images of {dataset.id}",
            expected=f"shape {self.image_shape}, as {self.config.dataset} has it",
            received=f"shape {dataset.image_shape}",
            remedy="A transfer pair brings both to one format: offaxis data list.",
        )

    def _checked(self, images: Images) -> Images:
        array = np.asarray(images)
        if array.dtype != np.uint8 or array.ndim != 4 or array.shape[1:] != self.image_shape or not len(array):
            raise InvalidInput(
                "images",
                expected=f"uint8 of shape (n, {', '.join(map(str, self.image_shape))})",
                received=f"{array.dtype} of shape {array.shape}",
            )
        return array


def posterior_of(encode: Callable[[Images], Posterior], dataset: Dataset, rows: Indices) -> Posterior:
    """Encode rows of a dataset, `ENCODED` at a time.

    Args:
        encode: from uint8 images (n, H, W, C) to arrays (n, latents), as `Run.encode` and `Model.encode`.
        dataset: the dataset.
        rows: int64, shape (m,), one at least.

    Returns:
        Means and log-variances, float32 (m, latents) each.
    """
    parts = [encode(images) for _, images in dataset.batches(rows, size=ENCODED)]
    return Posterior(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def remember_images(folder: Path, images: str | os.PathLike[str]) -> None:
    """Write into a run folder where its images are, for all that opens the run later.

    Args:
        folder: the run folder.
        images: a folder of pictures, as `benchmark_data.from_folder` reads it.

    Raises:
        InvalidInput: the file cannot be written.
    """
    files.write_json(folder / "images.json", {"folder": str(Path(images).resolve())})


def own_images(folder: Path, config: RunConfig) -> Dataset | None:
    """Return the dataset of a run that was trained on a folder of pictures, or None of any other run.

    Args:
        folder: the run folder.
        config: its config.

    Returns:
        The pictures that are in the folder now. Whether they are those that the run began with, `same_pixels` checks.

    Raises:
        DamagedFile: ``images.json`` does not name a folder, or a picture is damaged.
        InvalidInput: the folder is not there any more, or holds no pictures.
    """
    path = folder / "images.json"
    if not path.exists():
        return None
    held = files.read_json(path)
    if not isinstance(held, dict) or not isinstance(held.get("folder"), str):
        raise DamagedFile(str(path), expected="the folder of the run's images", received=json.dumps(held)[:80])
    name, *_ = config.dataset.partition("/")
    return splitting.of(benchmark_data.from_folder(held["folder"], name), config.dataset)


class Digests(NamedTuple):
    """What tells the images of a run from others: the quick digest and, of one's own images, that of every row."""

    quick: Digest
    full: Digest | None


def digests_of(dataset: Dataset) -> Digests:
    """Return what tells a dataset's images from others.

    Args:
        dataset: the dataset, whose images are ready. One's own images are all read, once.

    Returns:
        The quick digest, and the full one of a dataset whose name does not stand for its pixels.
    """
    return Digests(dataset.digest(), None if parallel.has_name(dataset) else dataset.digest(full=True))


def same_pixels(folder: Path, digests: Digests) -> None:
    """Check that a run is of these images; one that has no record yet may be of any.

    Full digests are compared where the record has one. An earlier version recorded quick digests alone.

    Args:
        folder: the run folder.
        digests: the dataset's, as `digests_of` gives them.

    Raises:
        InvalidInput: it began with other pixels or factors.
        DamagedFile: its record does not hold what it should.
    """
    path = folder / "run.json"
    if not path.exists():
        return
    held = files.read_json(path)
    if not isinstance(held, dict) or "dataset_digest" not in held:
        raise DamagedFile(str(path), expected="a run's record", received="something else")
    same = held["dataset_digest"] == digests.quick._asdict()
    if digests.full and "dataset_full_digest" in held:
        same = held["dataset_full_digest"] == digests.full._asdict()
    if not same:
        mended = "Restore those images" if digests.full else "Use the version of the dataset that run.json names"
        raise InvalidInput(
            f"dataset of {folder}",
            expected="the pixels and factors that the run began with",
            received="others",
            remedy=f"{mended}, or train again in another folder.",
        )


LOCK = ".lock"
"""The file in a run folder that is locked while a process trains the run. It says nothing by being there."""


def is_free(folder: Path) -> bool:
    """Return whether a new run may be written to a folder: it is not there, or holds nothing.

    The lock, and what a process leaves that is killed while it writes the first file, are nothing.
    """
    if not folder.is_dir():
        return not folder.exists()
    return all(path.name == LOCK or files.is_unfinished(path) for path in folder.iterdir())


def default_folder(config: RunConfig) -> Path:
    """Return the folder of a run for which none is named: ``runs/<dataset>/<objective>/seed_<seed>``.

    Example:
        >>> print(default_folder(RunConfig(dataset="sprites2d", objective="beta_vae", seed=3)).as_posix())
        runs/sprites2d/beta_vae/seed_3
    """
    return Path("runs", config.dataset, config.objective, f"seed_{config.seed}")


def read_config(folder: Path) -> RunConfig:
    """Read a run folder's config.

    Raises:
        DamagedFile: the folder or the file is missing, or the file does not hold a config.
    """
    path = files.in_run(folder, "config.json")
    try:
        return RunConfig.read(path)
    except (InvalidInput, LookupError) as error:
        raise DamagedFile(str(path), expected="a run's config", received=str(error)) from error


def task_rows(dataset: Dataset) -> Indices:
    """Return the rows that the leaderboard scores: those that ``codes.npz`` must hold, in its order.

    Raises:
        InvalidInput: the leaderboard has no task on the dataset, as on one's own images.
    """
    from leaderboard import protocol

    try:
        rows: Indices = np.asarray(protocol.task(dataset.id).indices, np.int64)
    except UnknownName as error:
        raise InvalidInput(
            "codes for the leaderboard",
            expected="a dataset that it has a task on",
            received=repr(dataset.id),
            remedy="Encode other images with Run.encode or Run.encode_rows.",
        ) from error
    return rows


def own_rows(dataset: Dataset) -> Indices:
    """Return all rows of a dataset of one's own, in the order in which they are encoded.

    A list of pictures mostly stands in the order of its factors. Metrics hold out the last third of the rows, which
    would hold values that they never learnt from. So rows are shuffled, always alike, and runs have the same order.

    Args:
        dataset: one's own images.

    Returns:
        int64, shape (n,): each row once.
    """
    return draws.permutation(0, len(dataset))


def clear_leftovers(folder: Path) -> None:
    """Remove what a killed process left under temporary names."""
    leftovers: Iterable[Path] = [*folder.glob(".*.part"), *folder.glob("snapshots/.*.part")]
    for path in leftovers:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
