"""The hidden variable of a perturbed dataset: a scalar of each image, in a small file with its digest and provenance.

It is the first principal component of the base's pixels, which `HiddenVariable.prepare` computes, or a latent of a VAE,
which `baselines` trains. Those of dsprites and room3d, from which published datasets are made, come with the package.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery, draws
from benchmark_data.archives import npz, store
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable, needs
from benchmark_data.factors import Indices
from benchmark_data.files import written_atomically
from benchmark_data.types import Pixels

__all__ = ["KINDS", "HiddenVariable", "principal_component", "write_hidden"]

KINDS = {
    "pca": "the first principal component of the base's pixels",
    "conv_vae": (
        "the latent with the least noise of the convolutional beta-VAE or beta-TCVAE with the lowest MIG among ten or "
        "more trained on the base, whose mean MIG is 0.15 or more"
    ),
}
"""Kinds of hidden variables."""

SEED = 2021
PCA_IMAGES = 16_384
"""Number of images from which the principal component is computed, the first of `draws.permutation`."""

STEPS_PER_STD = 4096
"""Steps per standard deviation in a table of s."""

ARTIFACTS = Path(__file__).with_name("artifacts")
"""Hidden variables that come with the package."""

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class HiddenVariable:
    """A scalar of each image of a dataset.

    The file is a numpy archive without pickles. It holds ``provenance``, JSON text, and either ``direction`` (int16,
    one weight for each pixel), ``mean`` and ``std``: s = (direction . x - mean) / std; or ``table`` (int16, one entry
    for each row): s = table / `STEPS_PER_STD`. Products of bytes and int16 are whole numbers, so that s and every pixel
    that depends on it are the same on every machine.

    Args:
        base: the dataset.
        kind: one of `KINDS`.
    """

    base: Dataset
    kind: str

    @property
    def path(self) -> Path:
        """Path of the file, in the package or in the cache."""
        packaged = ARTIFACTS / f"{self.base.id}_{self.kind}.npz"
        if packaged.is_file():
            return packaged
        return store.root() / "artifacts" / self.base.id / self.base.version / f"{self.kind}.npz"

    @property
    def ready(self) -> bool:
        """Whether the file exists."""
        return self.path.is_file()

    def values(self, images: Pixels, indices: Indices) -> Floats:
        """Return s.

        Args:
            images: images of the base, uint8, shape (n, H, W, C).
            indices: their rows, int64, shape (n,).

        Returns:
            float64, shape (n,), with mean 0 and standard deviation 1 over the dataset, up to sampling.

        Raises:
            Unavailable: the file does not exist yet.
            DamagedFile: the file is damaged, or is for another version or other pixels of the base.
        """
        arrays = self._read_arrays()
        if "table" in arrays:
            return arrays["table"][indices] / float(STEPS_PER_STD)
        # Exact in any order of summation: whole numbers below 2**53.
        product = images.reshape(len(images), -1).astype(np.float64) @ arrays["direction"].astype(np.float64)
        return (product - arrays["mean"]) / arrays["std"]

    @property
    def provenance(self) -> dict[str, Any]:
        """How the values were made: method, base with version and digest, and the maker's own records."""
        return dict(json.loads(str(self._read_arrays()["provenance"])))

    def _read_arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return the file's arrays."""
        if not self.ready:
            raise self._missing_error()
        arrays = _read_file(self.path, self.base.id, self.base.version)
        if self.path.parent != ARTIFACTS and json.loads(str(arrays["provenance"]))["base_digest"] != self._base_digest:
            raise DamagedFile(
                f"{self.path}: expected values for these pixels of {self.base.id}, received values for others. Remove "
                "the file and make it again."
            )
        return arrays

    @functools.cached_property
    def _base_digest(self) -> dict[str, str]:
        return self.base.digest()._asdict()

    def _missing_error(self) -> Unavailable:
        """Return an error that explains how to make the file."""
        name = f"{self.base.name}_perturbed"
        if self.kind != "pca":
            remedy = (
                "Compute it with baselines.outputs.hidden_variable.derive, or write your own values with "
                "benchmark_data.variants.hidden.write_hidden."
            )
        elif name in discovery.names("benchmark_data.datasets"):
            remedy = f"Run: offaxis data prepare {name}"
        else:
            remedy = "Call the dataset's prepare()."
        return Unavailable(f"The hidden variable {self.kind} of {self.base.id} is not in {self.path}. {remedy}")

    def prepare(self) -> None:
        """Compute the principal component, unless the file exists.

        Raises:
            Unavailable: values of a VAE are missing: training is for `baselines`.
        """
        if self.ready:
            return
        if self.kind != "pca":
            raise self._missing_error()
        provenance = {"method": "first principal component", "images": min(PCA_IMAGES, len(self.base))}
        write_hidden(self, principal_component(self.base), provenance=provenance)


@functools.lru_cache(maxsize=16)
def _read_file(path: Path, base: str, version: str) -> Mapping[str, NDArray[Any]]:
    """Read a file once and check it."""
    try:
        arrays = npz.read_all(path, remedy="Remove the file and make it again.")
        provenance = json.loads(str(arrays["provenance"]))
        *recorded, _ = (provenance[name] for name in ("digest", "base", "base_version", "base_digest"))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{path}: expected values of a hidden variable, received {error}.") from error
    expected = [_digest(arrays), base, version]
    if recorded != expected:
        raise DamagedFile(
            f"{path}: expected values with the digest {recorded[0]} for {base} {version}, received digest "
            f"{expected[0]} for {recorded[1]} {recorded[2]}. Remove the file and make it again."
        )
    return arrays


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash the arrays, in a form that does not depend on the machine."""
    sha256 = hashlib.sha256()
    for name in sorted(set(arrays) - {"provenance"}):
        array = arrays[name]
        sha256.update(f"{name} {array.dtype.kind} {array.shape}".encode())
        sha256.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return sha256.hexdigest()


def write_hidden(
    hidden: HiddenVariable, arrays: Mapping[str, ArrayLike], *, provenance: Mapping[str, Any], path: Path | None = None
) -> Path:
    """Write the file that `HiddenVariable` reads.

    Args:
        hidden: the variable.
        arrays: ``table`` (standardised floats, one for each row of the base), or ``direction`` (int16), ``mean`` and
            ``std``.
        provenance: JSON: the method and other records of how the values were made. Base, version and digests of base
            and values are added.
        path: the file; by default the path of ``hidden``.

    Returns:
        The path.

    Raises:
        InvalidInput: the arrays are not these, a table has another length, is not finite or exceeds 7.9 in magnitude;
            or without ``path``, the file is the package's own, from which published datasets are made.

    Example:
        >>> import tempfile, benchmark_data
        >>> hidden = HiddenVariable(benchmark_data.load("xysquares"), "conv_vae")
        >>> s = hidden.base.labels(range(len(hidden.base)))[:, 0] / 4 - 1
        >>> path = Path(tempfile.mkdtemp()) / "s.npz"
        >>> write_hidden(hidden, {"table": s}, provenance={"method": "by hand"}, path=path) == path
        True
    """
    if path is None and hidden.path.parent == ARTIFACTS:
        raise InvalidInput(f"hidden variable of {hidden.base.id}: {hidden.path} is published. Pass another path.")
    path = path or hidden.path
    stored = {name: np.asarray(array) for name, array in arrays.items()}
    if set(stored) == {"table"}:
        table = stored["table"].astype(np.float64)
        if table.shape != (len(hidden.base),) or not (np.abs(table) < 7.9).all():
            raise InvalidInput(
                f"hidden variable of {hidden.base.id}: expected standardised values of shape ({len(hidden.base)},), "
                f"each within 7.9 of 0, received shape {table.shape}, values up to {np.abs(table).max(initial=0):g}."
            )
        stored = {"table": np.rint(table * STEPS_PER_STD).astype(np.int16)}
    elif set(stored) != {"direction", "mean", "std"}:
        raise InvalidInput(
            f"hidden variable of {hidden.base.id}: expected a table, or a direction with mean and std, received "
            f"{', '.join(sorted(stored)) or 'nothing'}."
        )
    else:
        direction, mean, std = (stored[name] for name in ("direction", "mean", "std"))
        direction_shape = (math.prod(hidden.base.image_shape),)
        is_valid_direction = direction.dtype == np.int16 and direction.shape == direction_shape
        if not (is_valid_direction and np.isfinite(mean) and 0 < std < math.inf):
            raise InvalidInput(
                f"hidden variable of {hidden.base.id}: expected a direction of int16, shape {direction_shape}, and a "
                f"finite mean and std, received {direction.dtype}, shape {direction.shape}, mean {mean} and std {std}."
            )
    base = hidden.base
    record = {
        **provenance,
        "base": base.id,
        "base_version": base.version,
        "base_digest": base.digest()._asdict(),
        "digest": _digest(stored),
    }
    content: dict[str, Any] = {**stored, "provenance": np.array(json.dumps(record, sort_keys=True))}
    with written_atomically(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **content)
    _read_file.cache_clear()
    return path


def principal_component(base: Dataset) -> dict[str, ArrayLike]:
    """Compute the first principal component of a dataset's pixels, in batches.

    Args:
        base: the dataset. The first `PCA_IMAGES` images of a fixed permutation are used, or all of a smaller dataset.

    Returns:
        ``direction``, int16, shape (H * W * C,), the component scaled so that its largest weight is 32767; ``mean`` and
        ``std`` of its product with the images, float64.

    Raises:
        InvalidInput: all images are the same.
    """
    needs("principal components", "metrics", "scipy")
    from scipy.sparse.linalg import LinearOperator, eigsh

    rows = draws.sample(SEED, len(base), PCA_IMAGES)
    batches = [images.reshape(len(images), -1) for _, images in base.batches(rows, batch_size=1024)]
    pixel_count = batches[0].shape[1]
    centre = sum(batch.sum(0, dtype=np.float64) for batch in batches) / len(rows)

    def covariance(vector: Floats) -> Floats:
        total = np.zeros(pixel_count)
        for batch in batches:
            centred = batch - centre
            total += centred.T @ (centred @ vector)
        return total / len(rows)

    start = draws.normal(SEED, [0], pixel_count)[0]
    if not covariance(start).any():
        raise InvalidInput(f"images of {base.id}: expected images that differ, received identical images.")
    operator = LinearOperator((pixel_count, pixel_count), matvec=covariance, dtype=np.float64)
    component = eigsh(operator, k=1, v0=start, tol=1e-10)[1][:, 0]
    component *= np.sign(component @ start)
    direction = np.rint(32767 * component / np.abs(component).max()).astype(np.int16)
    products = np.concatenate([batch.astype(np.float64) @ direction.astype(np.float64) for batch in batches])
    return {"direction": direction, "mean": products.mean(), "std": products.std()}
