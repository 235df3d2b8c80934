"""Datasets with a hidden variable: images that a small pattern changes, and nothing else.

Zietlow, Rolinek and Martius, "Demystifying Inductive Biases for (Beta-)VAE Based Architectures", ICML 2021 (arXiv
2102.06822), section 4. A fixed pattern of -1 and 1 moves up and down with a scalar s of the image and is added to it,
scaled by a small epsilon (equation 8). The generative factors stay what they are, but s now dominates how images differ
locally, and a VAE that aligns its latents with local variance encodes s in place of a factor. The control is uniform
noise of the same magnitude that means nothing. It moves a pixel by as much at most, and has a third of the pattern's
variance, since the pattern is at its extremes everywhere.

Where pixels are 0 or 255 a pattern would be clipped away by half. So, in the perturbed set and in the control alike, x
is first mapped to epsilon + (1 - 2 epsilon) x; with the pattern f in [-1, 1] that is, in all,

    epsilon + (1 - 2 epsilon) x + epsilon f  =  (1 - 2 epsilon) x + 2 epsilon (1 + f) / 2,

a mixture of the image and an image of the pattern: nothing clips. The price is contrast: a pixel may move by up to
2 epsilon in all, and the factors lose 1 - (1 - 2 epsilon)^2 of their variance. So a second control, ``squeezed``, makes
the room and leaves it empty.

The scalar is either the first principal component of the base dataset's pixels (``pca``) or a latent of a beta-VAE or
beta-TCVAE that was trained on it (``conv_vae``; equation 6). It is standardised, and ``rows_per_std`` says by how many
rows of pixels the pattern moves when s moves by one standard deviation. There are two editions. In the first, of 8
rows, s leads globally on sprites2d before it leads locally, against the paper's design, and its ``vae`` is a fully
connected model's. In the second, of 32 rows, s leads locally first: at an epsilon of 0.1 it leads locally on sprites2d
and on room3d, and globally on sprites2d (`benchmarks/perturbation.py` prints both; docs/datasets.md has its tables).

To see at which strength models begin to encode s, ``patterned`` has s as a further factor that is independent of the
others (section 5.2 of the paper).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import discovery, draws
from benchmark_data.archives import npz, store
from benchmark_data.dataset import Dataset, Family
from benchmark_data.errors import DamagedFile, InvalidInput, Unavailable, needs
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.files import written_atomically
from benchmark_data.sources import Derived, Images

__all__ = [
    "EPSILONS",
    "KINDS",
    "HiddenVariable",
    "blend",
    "noise",
    "noisy",
    "pattern",
    "patterned",
    "perturbed",
    "principal_component",
    "squeezed",
    "write_hidden",
]

EPSILONS = (0.05, 0.1, 0.15, 0.2)
DEFAULT = 0.1
"""Where, in the paper, the hidden variable begins to lead locally."""

ROWS_PER_STD = 32.0
"""Rows by which the pattern moves with one standard deviation of s."""

FIRST_ROWS_PER_STD = 8.0
"""The same in the first edition."""

KINDS = {
    "pca": "the first principal component of the base's pixels",
    "vae": "the latent with the least noise of the beta-VAE with the lowest MIG among several trained on the base",
    "conv_vae": (
        "the latent with the least noise of the convolutional beta-VAE or beta-TCVAE with the lowest MIG among ten or "
        "more trained on the base, whose mean MIG is 0.15 or more"
    ),
}
"""What the hidden variable is."""

EDITIONS = (
    (FIRST_ROWS_PER_STD, ("pca", "vae")),
    (ROWS_PER_STD, ("pca", "conv_vae")),
)
"""Rows by which the pattern moves, and the hidden variables, of each edition. The last one is what one gets."""

PATTERNED = (0.025, 0.05, 0.075, 0.1, 0.15)
"""Strengths at which s is a factor of its own: on both sides of where it begins to lead locally."""

LEVELS = 64
"""Values of s where it is a factor."""

SEED = 2021
SAMPLE = 16_384
"""Images from which the principal component is computed: the first of `draws.permutation`."""

UNIT = 4096
"""Steps to one standard deviation in a table of s."""

PACKAGED = Path(__file__).with_name("artifacts")
"""Hidden variables that come with the package. Tables are packed by LZMA, which makes the wheel smaller.

Those of ``conv_vae`` come with a checkout alone, for the wheel's size (`LATENTS`).
"""

LATENTS = {
    "sprites2d": "5adc55e890fa362c63694af29ee99afaec3f2e6feccf84248ea27c93482b6c78",
    "room3d": "1de2f6d9c9c7a2bcfa6d750c46814dd7bf88d123b7b3208977dcea971e5c622f",
}
"""Base -> the digest of its ``conv_vae``, on which published pixels rest: no other latent goes by its name."""

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]


def blend(images: Images, pattern: Bytes, *, epsilon: float) -> Images:
    """Change images by at most epsilon in each direction, after making room for it.

    Args:
        images: uint8, shape (n, H, W, C).
        pattern: the pattern f in [-1, 1] as bytes: 0 is -1 and 255 is 1. uint8, shape (n, H, W, 1) or as the images.
        epsilon: in (0, 0.5), of the range of pixels.

    Returns:
        (1 - 2 epsilon) x + 2 epsilon (1 + f) / 2, rounded to uint8, shape (n, H, W, C).

    Raises:
        InvalidInput: epsilon is out of range.

    Example:
        >>> black_and_white = np.array([0, 0, 255, 255], np.uint8).reshape(1, 1, 4, 1)
        >>> low_and_high = np.array([0, 255, 0, 255], np.uint8).reshape(1, 1, 4, 1)
        >>> blend(black_and_white, low_and_high, epsilon=0.1).ravel().tolist()
        [0, 51, 204, 255]
    """
    if not 0 < epsilon < 0.5:
        raise InvalidInput(f"epsilon: expected a number between 0 and 0.5, received {epsilon!r}.")
    levels = np.arange(256)
    table = np.rint((1 - 2 * epsilon) * levels + 2 * epsilon * levels[:, None]).astype(np.uint8)
    return table[pattern, images]


def pattern(s: ArrayLike, height: int, width: int, *, rows_per_std: float = ROWS_PER_STD) -> Bytes:
    """Return the pattern that goes with each value of the hidden variable (equation 8).

    Args:
        s: standardised values, finite, shape (n,).
        height: of the images.
        width: of the images.
        rows_per_std: rows by which the pattern moves when s moves by 1.

    Returns:
        f(s) as bytes, 0 for -1 and 255 for 1, uint8, shape (n, height, width, 1): row i, column j shows row
        round(rows_per_std s / c_j) + i of a fixed random pattern, where c_j is 1, 2, 3 or 4.

    Raises:
        InvalidInput: s is not finite, or so large that no pattern was ever meant for it.

    Example:
        >>> once, again, far = pattern([0.5, 0.5, 2.5], 64, 64)
        >>> bool((once == again).all()), round(float((once != far).mean()), 1)
        (True, 0.5)
    """
    rows = np.asarray(s, np.float64) * rows_per_std
    if not (np.abs(rows) < 10_000).all():
        raise InvalidInput(f"s: expected standardised values, received values up to {np.abs(s).max():g}.")
    factors = 1 + (draws.bits(SEED, [0], width)[0] % np.uint64(4)).astype(np.int64)
    top = np.rint(rows[:, None] / factors).astype(np.int64)
    first = int(top.min())
    band = _random_signs(np.arange(first, int(top.max()) + height), width)
    shown = top[:, None] - first + np.arange(height)[:, None]
    moved: Bytes = band[shown, np.arange(width)][..., None]
    return moved


def _random_signs(rows: Indices, width: int) -> Bytes:
    """Return rows of the fixed pattern; negative rows too."""
    words = draws.bits(SEED + 1, rows, -(-width // 64)).astype("<u8", copy=False)
    return np.unpackbits(words.view(np.uint8), axis=1, count=width, bitorder="little") * np.uint8(255)


def noise(indices: Indices, height: int, width: int) -> Bytes:
    """Return the control's pattern: uniform noise, independent for every row and pixel and the same in all channels.

    Args:
        indices: rows, int64, shape (n,).
        height: of the images.
        width: of the images.

    Returns:
        uint8, uniform, shape (n, height, width, 1).

    Example:
        >>> noise(np.array([0, 7]), 10, 10).shape
        (2, 10, 10, 1)
    """
    pixels = height * width
    words = draws.bits(SEED + 2, indices, -(-pixels // 8)).astype("<u8", copy=False)
    return words.view(np.uint8)[:, :pixels].reshape(len(indices), height, width, 1)


@dataclasses.dataclass(frozen=True)
class HiddenVariable:
    """A scalar of each image of a dataset, from a small file with its own digest and provenance.

    The file is a numpy archive without pickles. It holds ``provenance``, JSON text, and either ``direction`` (int16,
    one weight for each pixel), ``mean`` and ``std``: s = (direction . x - mean) / std; or ``table`` (int16, one entry
    for each row): s = table / `UNIT`. Products of bytes and int16 are whole numbers, so that s and every pixel that
    depends on it are the same on every machine.

    Args:
        base: the dataset.
        kind: one of `KINDS`.
    """

    base: Dataset
    kind: str

    @property
    def packaged(self) -> bool:
        """Whether the file comes with the package."""
        return (PACKAGED / f"{self.base.name}_{self.kind}.npz").is_file()

    @property
    def path(self) -> Path:
        """Where the file is: shipped with the package, or in the cache."""
        if self.packaged:
            return PACKAGED / f"{self.base.name}_{self.kind}.npz"
        return store.root() / "artifacts" / self.base.id / self.base.version / f"{self.kind}.npz"

    @property
    def ready(self) -> bool:
        """Whether the file is there."""
        return self.path.is_file()

    def values(self, images: Images, indices: Indices) -> Floats:
        """Return s.

        Args:
            images: the base's, uint8, shape (n, H, W, C).
            indices: their rows, int64, shape (n,).

        Returns:
            float64, shape (n,), with mean 0 and standard deviation 1 over the dataset, up to sampling.

        Raises:
            Unavailable: there is no such file yet.
            DamagedFile: the file was damaged, or belongs to another version of the base.
        """
        if not self.ready:
            rows_per_std = FIRST_ROWS_PER_STD if self.kind == "vae" else ROWS_PER_STD
            form = _config(self.kind, rows_per_std, DEFAULT)
            raise Unavailable(
                f"{self.base.name}_perturbed",
                expected=f"a prepared dataset, with values of its hidden variable in {self.path}",
                received="nothing there",
                remedy=self._copy
                if self.latent
                else f"Run: offaxis data prepare {self.base.name}_perturbed/{form}"
                if self._published
                else "Call the dataset's prepare().",
            )
        arrays = self._arrays
        if "table" in arrays:
            return arrays["table"][indices] / float(UNIT)
        # Exact in any order of summation: whole numbers below 2**53.
        product = images.reshape(len(images), -1).astype(np.float64) @ arrays["direction"].astype(np.float64)
        standard: Floats = (product - arrays["mean"]) / arrays["std"]
        return standard

    @property
    def provenance(self) -> dict[str, Any]:
        """How the values were made: method, base with version and digest, and what the maker recorded."""
        return _recorded(self._arrays)

    @property
    def latent(self) -> str:
        """The digest that a latent must have, of `LATENTS`; empty where any will do."""
        return LATENTS.get(self.base.id, "") if self.kind == "conv_vae" else ""

    @property
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        """The file's arrays."""
        return _opened(self.path, self.base.id, self.base.version, self.latent)

    @property
    def _copy(self) -> str:
        """What to do where a wheel lacks the file."""
        file = _shipped(self.base.name, self.kind)
        return f"A wheel lacks it, for its size: copy {file} of a checkout of Offaxis there."

    @property
    def _published(self) -> bool:
        """Whether commands know the perturbed form: it is one of ``benchmark_data/datasets``."""
        return f"{self.base.name}_perturbed" in discovery.names("benchmark_data.datasets")

    def prepare(self) -> None:
        """Compute the principal component, unless the file is there.

        Raises:
            Unavailable: values of a VAE are missing: training is for `baselines`.
        """
        if self.ready:
            return
        if self.kind != "pca":
            if self.latent:
                remedy = self._copy
            elif not self._published:
                remedy = "Compute s of every row, and write it with benchmark_data.variants.perturbation.write_hidden."
            elif self.kind == "vae":
                remedy = (
                    "It is of the first edition, which nothing makes anew: take "
                    f"{self.base.name}_perturbed/{_config('conv_vae', ROWS_PER_STD, DEFAULT)} or "
                    f"{_config('pca', ROWS_PER_STD, DEFAULT)} of the second."
                )
            else:
                remedy = f"Run: offaxis train derive-perturbation {self.base.id}, which makes conv_vae"
            raise Unavailable(
                f"hidden variable of {self.base.id}: expected values of a latent in {self.path}, received nothing "
                f"there. {remedy}"
            )
        provenance = {"method": "first principal component", "images": min(SAMPLE, len(self.base))}
        write_hidden(self, principal_component(self.base), provenance=provenance)


def _shipped(base: str, kind: str) -> str:
    """Return where a checkout has a hidden variable."""
    return f"benchmark_data/variants/artifacts/{base}_{kind}.npz"


@functools.lru_cache(maxsize=16)
def _opened(path: Path, base: str, version: str, latent: str) -> Mapping[str, NDArray[Any]]:
    """Read a file once and check it, also that it holds a published latent, if its digest is not empty."""
    try:
        arrays = npz.read_all(path, remedy="Remove the file and make it again.")
        provenance = json.loads(str(arrays["provenance"]))
        recorded = provenance["digest"], provenance["base"], provenance["base_version"]
    except (ValueError, KeyError) as error:
        raise DamagedFile(f"{path}: expected values of a hidden variable, received {error}.") from error
    wanted = _digest(arrays), base, version
    if recorded != wanted:
        raise DamagedFile(
            f"{path}: expected values with the digest {recorded[0]} for {base} {version}, received digest {wanted[0]} "
            f"for {recorded[1]} {recorded[2]}. Remove the file and make it again."
        )
    if latent and recorded[0] != latent:
        raise DamagedFile(
            f"{path}: expected the latent with the digest {latent}, on which published pixels rest, received another "
            f"one, {recorded[0]}. Remove the file, and copy {_shipped(base, 'conv_vae')} of a checkout of Offaxis "
            "there."
        )
    return arrays


def _recorded(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what a file says of how it was made."""
    return dict(json.loads(str(arrays["provenance"])))


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash the arrays, in a form that does not depend on the machine."""
    content = hashlib.sha256()
    for name in sorted(set(arrays) - {"provenance"}):
        array = arrays[name]
        content.update(f"{name} {array.dtype.kind} {array.shape}".encode())
        content.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return content.hexdigest()


def write_hidden(
    hidden: HiddenVariable, arrays: Mapping[str, ArrayLike], *, provenance: Mapping[str, Any], path: Path | None = None
) -> Path:
    """Write the file that `HiddenVariable` reads.

    Args:
        hidden: the variable.
        arrays: ``table`` (standardised floats, one for each row of the base), or ``direction`` (int16), ``mean`` and
            ``std``.
        provenance: JSON: the method and whatever else tells how the values were made. Base, version and digests of
            base and values are added.
        path: where to write; by default where ``hidden`` looks for it.

    Returns:
        The path.

    Raises:
        InvalidInput: the arrays are not these, a table has another length, is not finite or reaches beyond 7.9.

    Example:
        >>> import tempfile, benchmark_data
        >>> hidden = HiddenVariable(benchmark_data.load("xysquares"), "vae")
        >>> s = hidden.base.labels(range(len(hidden.base)))[:, 0] / 4 - 1
        >>> path = Path(tempfile.mkdtemp()) / "s.npz"
        >>> write_hidden(hidden, {"table": s}, provenance={"method": "by hand"}, path=path) == path
        True
    """
    stored = {name: np.asarray(array) for name, array in arrays.items()}
    if set(stored) == {"table"}:
        table = stored["table"].astype(np.float64)
        if table.shape != (len(hidden.base),) or not (np.abs(table) < 7.9).all():
            raise InvalidInput(
                f"hidden variable of {hidden.base.id}: expected standardised values of shape ({len(hidden.base)},), "
                f"each within 7.9 of 0, received shape {table.shape}, values up to {np.abs(table).max(initial=0):g}."
            )
        stored = {"table": np.rint(table * UNIT).astype(np.int16)}
    elif set(stored) != {"direction", "mean", "std"}:
        raise InvalidInput(
            f"hidden variable of {hidden.base.id}: expected a table, or a direction with mean and std, received "
            f"{', '.join(sorted(stored)) or 'nothing'}."
        )
    base = hidden.base
    record = {
        **provenance,
        "base": base.id,
        "base_version": base.version,
        "base_digest": base.digest()._asdict(),
        "digest": _digest(stored),
    }
    path = path or hidden.path
    content: dict[str, Any] = {**stored, "provenance": np.array(json.dumps(record, sort_keys=True))}
    with written_atomically(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **content)
    return path


def principal_component(base: Dataset, *, sample: int = SAMPLE) -> dict[str, ArrayLike]:
    """Compute the first principal component of a dataset's pixels, in batches.

    Args:
        base: the dataset.
        sample: how many images to look at, the first of a fixed permutation; all of them in a smaller dataset.

    Returns:
        ``direction``, int16, shape (H * W * C,), the component scaled so that its largest weight is 32767; ``mean`` and
        ``std`` of its product with the images, float64.

    Raises:
        InvalidInput: all images are the same.
    """
    needs("principal components", "metrics", "scipy")
    from scipy.sparse.linalg import LinearOperator, eigsh

    rows = draws.sample(SEED, len(base), sample)
    batches = [images.reshape(len(images), -1) for _, images in base.batches(rows, size=1024)]
    pixels = batches[0].shape[1]
    centre = sum(batch.sum(0, dtype=np.float64) for batch in batches) / len(rows)

    def covariance(vector: Floats) -> Floats:
        total = np.zeros(pixels)
        for batch in batches:
            centred = batch - centre
            total += centred.T @ (centred @ vector)
        return total / len(rows)

    start = draws.normal(SEED, [0], pixels)[0]
    if not covariance(start).any():
        raise InvalidInput(f"images of {base.id}: expected images that differ, received one image, many times.")
    operator = LinearOperator((pixels, pixels), matvec=covariance, dtype=np.float64)
    component = eigsh(operator, k=1, v0=start, tol=1e-10)[1][:, 0]
    component *= np.sign(component @ start)
    direction = np.rint(32767 * component / np.abs(component).max()).astype(np.int16)
    products = np.concatenate([batch.astype(np.float64) @ direction.astype(np.float64) for batch in batches])
    return {"direction": direction, "mean": products.mean(), "std": products.std()}


@dataclasses.dataclass(frozen=True)
class _Perturbed(Derived):
    """A change that needs a hidden variable beside the base."""

    hidden: HiddenVariable

    @property
    def ready(self) -> bool:
        """Whether base and hidden variable are there."""
        return super().ready and self.hidden.ready

    def prepare(self, **options: Any) -> None:
        """Prepare the base, then the hidden variable."""
        super().prepare(**options)
        self.hidden.prepare()


def _perturb(
    images: Images, indices: Indices, labels: Indices, *, hidden: HiddenVariable, epsilon: float, rows_per_std: float
) -> Images:
    """Add the pattern of the hidden variable."""
    shown = pattern(hidden.values(images, indices), *images.shape[1:3], rows_per_std=rows_per_std)
    return blend(images, shown, epsilon=epsilon)


def _add_noise(images: Images, indices: Indices, labels: Indices, *, epsilon: float) -> Images:
    """Add noise that means nothing."""
    return blend(images, noise(indices, *images.shape[1:3]), epsilon=epsilon)


def _squeeze(images: Images, indices: Indices, labels: Indices, *, epsilon: float) -> Images:
    """Make the room and leave it empty."""
    table = np.rint((1 - 2 * epsilon) * np.arange(256) + 255 * epsilon).astype(np.uint8)
    squeezed: Images = table[images]
    return squeezed


def perturbed(base: Dataset) -> Family:
    """Make the perturbed forms of a dataset.

    Args:
        base: the dataset.

    Returns:
        ``<base>_perturbed`` with configs ``pca_eps05``, ... ``vae_eps20`` of the first edition and
        ``pca32_eps05``, ... ``conv32_eps20`` of the second, at `EPSILONS`, in percent. Rows, factors and
        format are the base's.
    """
    forms = []
    for rows_per_std, kinds in EDITIONS:
        first = rows_per_std == FIRST_ROWS_PER_STD
        for kind in kinds:
            hidden = HiddenVariable(base, kind)
            for epsilon in EPSILONS:
                change = functools.partial(_perturb, hidden=hidden, epsilon=epsilon, rows_per_std=rows_per_std)
                form = _derived(
                    base,
                    suffix="perturbed",
                    config=_config(kind, rows_per_std, epsilon),
                    epsilon=epsilon,
                    parameters={"hidden": kind, "epsilon": epsilon, "rows_per_std": rows_per_std},
                    source=_Perturbed(base, change, hidden),
                    what=(
                        f"with a faint pattern of strength {epsilon:g} that moves up and down with a hidden variable "
                        f"of the image: {KINDS[kind]}. The pattern moves by {rows_per_std:g} rows for one standard "
                        "deviation. The factors are untouched, but what moves pixels most, locally, is no longer one "
                        "of them."
                    ),
                )
                defects = [FIRST_EDITION] if first else []
                if kind == "vae" and not hidden.packaged:
                    defects.append(NOT_MADE.format(base=base.name))
                forms.append(dataclasses.replace(form, defects=(*base.defects, *defects)))
    return Family(*forms, default=_config("pca", ROWS_PER_STD, DEFAULT))


def _config(kind: str, rows_per_std: float, epsilon: float) -> str:
    """Return a form's name: ``pca_eps10`` in the first edition, ``pca32_eps10`` or ``conv32_eps10`` in the second."""
    form = kind if rows_per_std == FIRST_ROWS_PER_STD else f"{kind.removesuffix('_vae')}{rows_per_std:g}"
    return f"{form}_eps{round(100 * epsilon):02d}"


FIRST_EDITION = (
    "The first edition: on sprites2d the hidden variable leads globally before it leads locally, against the design of "
    f"the paper. Prefer the configurations whose names hold {ROWS_PER_STD:g}."
)


NOT_MADE = (
    "Nothing makes the values of its latent, a first edition's, for {base}: those of sprites2d and room3d alone are "
    "there. The second edition's conv32_* take their place."
)


def noisy(base: Dataset) -> Family:
    """Make the control of `perturbed`: uniform noise of the same magnitude, but a third of its variance and no meaning.

    Args:
        base: the dataset.

    Returns:
        ``<base>_noisy`` with configs ``eps05``, ``eps10``, ... at `EPSILONS`, in percent.
    """
    what = (
        f"with uniform noise of strength {{epsilon:g}}, drawn once for each row and pixel: the control of "
        f"{base.name}_perturbed, changed by as much at most, with a third of its variance, and by nothing that a model "
        "could encode."
    )
    return _controls(base, "noisy", _add_noise, what)


def squeezed(base: Dataset) -> Family:
    """Make the other control of `perturbed`: less contrast by as much, and nothing in the room that it makes.

    Args:
        base: the dataset.

    Returns:
        ``<base>_squeezed`` with configs ``eps05``, ``eps10``, ... at `EPSILONS`, in percent.
    """
    what = (
        f"with the contrast that {base.name}_perturbed and {base.name}_noisy leave it at strength {{epsilon:g}}, and "
        "no pattern: the control for what the loss of contrast alone does."
    )
    return _controls(base, "squeezed", _squeeze, what, moves=False)


def _controls(base: Dataset, suffix: str, change: Callable[..., Images], what: str, *, moves: bool = True) -> Family:
    """Change a dataset at each of `EPSILONS`; ``what`` is the description, with a place for the strength."""
    return Family(
        *(
            _derived(
                base,
                suffix=suffix,
                config=f"eps{round(100 * epsilon):02d}",
                epsilon=epsilon,
                parameters={"epsilon": epsilon},
                source=Derived(base, functools.partial(change, epsilon=epsilon)),
                what=what.format(epsilon=epsilon),
                moves=moves,
            )
            for epsilon in EPSILONS
        ),
        default=f"eps{round(100 * DEFAULT):02d}",
    )


def patterned(base: Dataset) -> Family:
    """Make a pattern's strength a question to models: s is a further factor, independent of the others.

    Zietlow et al. 2021, section 5.2 and figure 4 (c). Each row of the base is shown once, with a value of s that is
    drawn for it (`benchmark_data.draws`, seed `SEED` + 3).

    Args:
        base: the dataset.

    Returns:
        ``<base>_patterned`` with configs ``eps025``, ``eps050``, ... at `PATTERNED`, in thousandths. The factors are
        the base's and ``s``, of `LEVELS` values with mean 0 and variance 1; the labels are a table, no grid.
    """
    forms = []
    for epsilon in PATTERNED:
        form = _derived(
            base,
            suffix="patterned",
            config=f"eps{round(1000 * epsilon):03d}",
            epsilon=epsilon,
            parameters={"epsilon": epsilon},
            source=Derived(base, functools.partial(_show_s, epsilon=epsilon)),
            what=(
                f"with a faint pattern of strength {epsilon:g} that moves up and down with one more factor, s, which "
                f"is drawn for every row, independently of the others. The pattern moves by {ROWS_PER_STD:g} rows for "
                "one standard deviation of s."
            ),
        )
        space = FactorTable(
            *base.space.factors,
            Factor("s", _levels().tolist(), "ordinal", unit="standard deviations"),
            rows=len(base),
            read=functools.partial(_with_s, base),
        )
        reason = "A faint pattern moves with s beneath everything else; no simple measure of one image finds it."
        forms.append(dataclasses.replace(form, space=space, effects={**base.effects, "s": reason}))
    return Family(*forms, default=f"eps{round(1000 * DEFAULT):03d}")


def _levels() -> Floats:
    """Return the values of s: evenly spaced, with mean 0 and variance 1."""
    levels = np.arange(LEVELS) - (LEVELS - 1) / 2
    values: Floats = levels * np.sqrt(12 / (LEVELS**2 - 1))
    return values


def _with_s(base: Dataset) -> Indices:
    """Return the base's labels with a column for s."""
    rows = np.arange(len(base))
    s = (draws.bits(SEED + 3, rows, 1) % np.uint64(LEVELS)).astype(np.int64)
    return np.concatenate([base.labels(rows), s], axis=1)


def _show_s(images: Images, indices: Indices, labels: Indices, *, epsilon: float) -> Images:
    """Add the pattern of the last factor."""
    return blend(images, pattern(_levels()[labels[:, -1]], *images.shape[1:3]), epsilon=epsilon)


def _derived(
    base: Dataset,
    *,
    suffix: str,
    config: str,
    epsilon: float,
    parameters: Mapping[str, object],
    source: Derived,
    what: str,
    moves: bool = True,
) -> Dataset:
    return dataclasses.replace(
        base,
        name=f"{base.name}_{suffix}",
        config=config,
        parameters=parameters,
        version="1.0.0",
        source=source,
        description=(
            f"{base.name} {what} Pixels are {'first ' if moves else ''}mapped from [0, 1] to "
            f"[{epsilon:g}, {1 - epsilon:g}]"
            + (f", so that nothing clips; a pixel then moves by at most {epsilon:g}. " if moves else ". ")
            + f"The base: {base.description}"
        ),
        citation=f"{base.citation}\n{CITATION}",
    )


CITATION = """@inproceedings{zietlow2021demystifying,
  title = {Demystifying Inductive Biases for (Beta-){VAE} Based Architectures},
  author = {Zietlow, Dominik and Rolinek, Michal and Martius, Georg},
  booktitle = {Proceedings of the 38th International Conference on Machine Learning},
  year = {2021},
  eprint = {2102.06822},
  archivePrefix = {arXiv}
}"""
