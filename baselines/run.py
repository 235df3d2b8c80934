"""A trained run: its networks at a snapshot, and the codes, images and activations that they compute."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import benchmark_data
from baselines.config import RunConfig
from baselines.model import Model, generator
from baselines.objectives import Posterior
from baselines.record import check_pixels, digests_of, own_images, read_record
from baselines.run_folder import Snapshots, read_config, read_history, write_arrays
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, is_whole
from benchmark_data.factors import Indices
from benchmark_data.types import Pixels
from benchmark_data.variants import splitting
from leaderboard import protocol

__all__ = ["Run"]

ENCODED = 1024
"""Images that are held in memory at once while rows are encoded."""

EXPLAINED = 256
"""Images that reconstructions are judged by, unless others are given."""


class Run:
    """A run on disk, at one of its snapshots.

    `Run.open` and ``baselines.train`` return one.

    Attributes:
        folder: the run folder.
        config: its config.
        step: the step of the snapshot that encode, decode and activations use.

    Example:
        >>> import tempfile
        >>> from baselines import RunConfig, train
        >>> config = RunConfig(dataset="dsprites", objective="beta_vae", seed=0, steps=1, architecture="fc")
        >>> folder = train(config, tempfile.mkdtemp()).folder
        >>> run = Run.open(folder)
        >>> run.decode(run.encode(run.dataset.images([0, 1])).mean).shape
        (2, 64, 64, 1)
    """

    def __init__(self, folder: Path, config: RunConfig, step: int, dataset: Dataset | None = None) -> None:
        self.folder, self.config, self.step = folder, config, step
        self._given_dataset = dataset

    def __repr__(self) -> str:
        c = self.config
        return f"<Run {self.folder}: {c.objective} on {c.dataset}, seed {c.seed}, step {self.step} of {c.steps}>"

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, step: int | None = None, dataset: Dataset | None = None) -> Run:
        """Open a run folder.

        Args:
            path: the folder.
            step: the snapshot to use; the last one if None.
            dataset: the user's images, if the run was trained on some and is to read their rows; with the name in the
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
            raise DamagedFile(f"{folder}: expected a run with a snapshot, received none. Resume it, or train it again.")
        if step is not None and (not is_whole(step) or step not in steps):
            raise InvalidInput(f"step of {folder}: expected one of {steps}, received {step!r}.")
        return cls(folder, config, steps[-1] if step is None else step, dataset)

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The dataset that the run was trained on.

        The one passed to `open`, the user's images in the folder that the run recorded, or a published one.

        Raises:
            InvalidInput: it is not published, and was not passed or has another name; or its pixels are not those that
                the run was trained on.
        """
        given, name = self._given_dataset, self.config.dataset
        dataset = own_images(self.folder, self.config) if given is None else splitting.resolve(given, name)
        if dataset is None:
            try:
                dataset = benchmark_data.load(name)
            except UnknownName as error:
                raise InvalidInput(
                    f"dataset of {self.folder}: expected the images called {name!r}, received none. Pass them to "
                    "Run.open or baselines.train as dataset=, or train with offaxis train run --images FOLDER."
                ) from error
        if dataset.prepared:
            check_pixels(self.folder, digests_of(dataset))
        return dataset

    @functools.cached_property
    def image_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of the images that the run encodes, from its record.

        Raises:
            DamagedFile: the record is missing or does not hold it.
        """
        height, width, channels = self._read_integers("image_shape", 3)
        return height, width, channels

    def _read_integers(self, key: str, count: int | None = None) -> list[int]:
        values: Any = read_record(self.folder).get(key)
        sound = isinstance(values, list) and all(is_whole(value) and value > 0 for value in values)
        if not sound or count not in (None, len(values)):
            raise DamagedFile(f"{self.folder / 'run.json'}: expected a run's record with {key}, received {values!r}.")
        return values

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
        model = Model(self.config, self.image_shape, self._read_integers("factor_sizes"))
        snapshots = Snapshots(self.folder)
        model.load(snapshots.read_weights(self.step)[0], str(snapshots.path(self.step) / "weights.npz"))
        return model

    def encode(self, images: Pixels) -> Posterior:
        """Encode images.

        Args:
            images: uint8, shape (n, H, W, C), like those of the run's dataset.

        Returns:
            ``mean`` and ``log_variance`` of the posterior, float32 (n, latents).

        Raises:
            InvalidInput: not uint8 images of the right shape.
        """
        return self.model.encode(self._check_images(images))

    def decode(self, codes: ArrayLike) -> NDArray[np.float32]:
        """Decode codes.

        Args:
            codes: shape (n, latents).

        Returns:
            float32 images in [0, 1], shape (n, H, W, C).

        Raises:
            InvalidInput: no numbers, another shape, NaN or infinity, or the objective has no decoder.
        """
        expected = f"finite numbers of shape (n, {self.model.code_size})"
        try:
            array = np.asarray(codes, np.float32)
        except (TypeError, ValueError) as error:  # text, or rows of different lengths
            raise InvalidInput(f"codes: expected {expected}, received others: {error}") from error
        if array.ndim != 2 or array.shape[1] != self.model.code_size or not len(array) or not np.isfinite(array).all():
            raise InvalidInput(f"codes: expected {expected}, received shape {array.shape}, or NaN or infinity.")
        return self.model.decode(array)

    def explained(self, images: Pixels | None = None) -> float:
        """Return the share of the pixels' variance that reconstructions from the posterior's mean explain.

        1 - sum (x - decoded x)² / sum (x - mean of the images)², over all pixels.

        Args:
            images: uint8, shape (n, H, W, C); None for the first 256 rows of the dataset's quick digest.

        Returns:
            A share in (-inf, 1]: 0 or less if all reconstructions are the same. NaN if all images are.

        Raises:
            InvalidInput: as `encode`.
        """
        if images is None:
            images = self.dataset.images(self.dataset.quick_rows()[:EXPLAINED])
        decoded = self.decode(self.encode(images).mean)
        pixels = images / np.float32(255)
        variance = float(np.square(pixels - pixels.mean(0, dtype=np.float64)).sum(dtype=np.float64))
        return 1 - float(np.square(pixels - decoded).sum(dtype=np.float64)) / variance if variance else math.nan

    def activations(self, images: Pixels) -> dict[str, NDArray[np.float32]]:
        """Take the activations of every layer.

        Args:
            images: uint8, shape (n, H, W, C).

        Returns:
            Layer -> float32 (n, p), in order from ``input`` to ``output``. The noise of ``sampled`` is that of
            the config and the step: the same every time, unless the run is made longer, and drawn apart from that of
            other runs and snapshots. Noise that two models share would pass for similarity where both ignore the image.

        Raises:
            InvalidInput: not uint8 images of the right shape.
        """
        images = self._check_images(images)
        noise_seed = int(self.config.digest[:16], 16)
        noise = generator(noise_seed, self.step).standard_normal((len(images), self.model.code_size), np.float32)
        return self.model.activations(images, noise)

    def encode_rows(self, rows: Sequence[int] | Indices, dataset: Dataset | str | None = None) -> NDArray[np.float32]:
        """Encode rows of a dataset.

        Args:
            rows: rows, int (n,).
            dataset: one whose images have the shape of the run's own, or its name; the run's own if None.

        Returns:
            Posterior means, float32 (n, latents).

        Raises:
            InvalidInput: no rows, rows that do not exist, or images of another shape.
        """
        target = self._check_dataset(dataset)
        return posterior_of(self.encode, target, target.rows(rows)).mean

    def encode_task(self) -> Path:
        """Encode the leaderboard's rows of the run's dataset into ``codes.npz``.

        Of the user's own images, for which there is no task, every row is encoded, in the shuffled order of `own_rows`,
        and the class ids are written to the same file: ``factors``, int64 (n, F), and their ``factor_names``.

        Returns:
            The file's path.

        Raises:
            InvalidInput: the run is not finished, or the file cannot be written.
        """
        return self.write_codes(self.folder / "codes.npz", self.dataset)

    def write_codes(self, path: str | os.PathLike[str], dataset: Dataset | str) -> Path:
        """Encode another dataset into a file, as `encode_task` does the run's own.

        Args:
            path: the ``.npz`` file to write.
            dataset: one with a task, or its name, or the user's own; its images have the shape of the run's.

        Returns:
            The path.

        Raises:
            InvalidInput: the run is not finished, the images have another shape, or the file cannot be written.
        """
        self.check_finished()
        path, dataset = Path(path), benchmark_data.load(dataset)
        is_user_dataset = dataset.name not in benchmark_data.names()
        indices = own_rows(dataset) if is_user_dataset else task_rows(dataset)
        arrays: dict[str, NDArray[Any]] = {"indices": indices, "codes": self.encode_rows(indices, dataset)}
        if is_user_dataset and dataset.space.names:
            arrays |= {"factors": dataset.labels(indices), "factor_names": np.array(dataset.space.names)}
        write_arrays(path, arrays)
        return path

    def write_activations(
        self,
        rows: Sequence[int] | Indices,
        path: str | os.PathLike[str] | None = None,
        dataset: Dataset | str | None = None,
    ) -> Path:
        """Write the activations of every layer for some rows of a dataset.

        Args:
            rows: rows, int (n,). The convolutional architecture takes about 0.4 MB per image.
            path: the file; ``activations.npz`` in the run folder if None, for the last snapshot only.
            dataset: as for `encode_rows`.

        Returns:
            The file's path.

        Raises:
            InvalidInput: rows that do not exist, images of another shape, a file that cannot be written, or no ``path``
                for an earlier snapshot.
        """
        if path is None and self.step != self.steps[-1]:
            received = f"none: {self.folder / 'activations.npz'} is of step {self.steps[-1]}"
            raise InvalidInput(
                f"path (--to): expected a file for step {self.step}, received {received}. Pass a new one."
            )
        target = self._check_dataset(dataset)
        indices = target.rows(rows)
        activations = self.activations(target.images(indices))
        path = self.folder / "activations.npz" if path is None else Path(path)
        write_arrays(path, {"layers": np.array(list(activations)), "indices": indices, **activations})
        return path

    def check_finished(self) -> None:
        """Check that the run is open at the last step of its training, and not at an earlier snapshot.

        Raises:
            InvalidInput: it is not, or was lengthened after it was opened.
        """
        steps = read_config(self.folder).steps
        if self.step != steps:
            expected, received = f"a finished run of {steps} steps", f"step {self.step}"
            remedy = "Open it without the argument step" if steps in self.steps else "Resume the run first"
            raise InvalidInput(f"{self.folder}: expected {expected}, received {received}. {remedy}.")

    def _check_dataset(self, dataset: Dataset | str | None) -> Dataset:
        if dataset is None:
            return self.dataset
        dataset = benchmark_data.load(dataset)
        if dataset.image_shape == self.image_shape:
            return dataset
        raise InvalidInput(
            f"images of {dataset.id}: expected shape {self.image_shape}, as {self.config.dataset} has it, received "
            f"shape {dataset.image_shape}. offaxis data list prints all shapes."
        )

    def _check_images(self, images: Pixels) -> Pixels:
        array = np.asarray(images)
        if array.dtype != np.uint8 or array.ndim != 4 or array.shape[1:] != self.image_shape or not len(array):
            raise InvalidInput(
                f"images: expected uint8 of shape (n, {', '.join(map(str, self.image_shape))}), received {array.dtype} "
                f"of shape {array.shape}. Pixels are 0 to 255 and channels last; for one image, pass images[None]."
            )
        return array


def posterior_of(encode: Callable[[Pixels], Posterior], dataset: Dataset, rows: Indices) -> Posterior:
    """Encode rows of a dataset, `ENCODED` at a time.

    Args:
        encode: from uint8 images (n, H, W, C) to arrays (n, latents), as `Run.encode` and `Model.encode`.
        dataset: the dataset.
        rows: int64, shape (m,), one at least.

    Returns:
        Means and log-variances, float32 (m, latents) each.
    """
    posteriors = [encode(images) for _, images in dataset.batches(rows, batch_size=ENCODED)]
    return Posterior(*(np.concatenate(column) for column in zip(*posteriors, strict=True)))


def task_rows(dataset: Dataset) -> Indices:
    """Return the rows that the leaderboard scores: those that ``codes.npz`` must hold, in its order."""
    try:
        rows: Indices = np.asarray(protocol.task(dataset.id).indices, np.int64)
    except UnknownName as error:
        raise InvalidInput(
            f"codes for the leaderboard: expected a dataset with a task, received {dataset.id!r}. "
            "To score encoders and run folders on other images, use leaderboard.evaluate."
        ) from error
    return rows


def own_rows(dataset: Dataset) -> Indices:
    """Return all rows of the user's own images, int64 (n,), in the order in which they are encoded.

    A list of pictures mostly stands in the order of its factors. Metrics hold out the last third of the rows, which
    would hold values that they never learnt from. So rows are shuffled, always alike, and runs have the same order.
    """
    return draws.permutation(0, len(dataset))
