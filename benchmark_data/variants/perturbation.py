"""Perturbed datasets: images with a faint pattern that follows a hidden variable.

Zietlow, Rolinek and Martius, "Demystifying Inductive Biases for (Beta-)VAE Based Architectures", ICML 2021 (arXiv
2102.06822), section 4. A fixed pattern of -1 and 1 is scaled by a small epsilon, added to the image, and moves up and
down with a scalar s of the image (equation 8). The generative factors are unchanged, but s now dominates the local
variance, and a VAE that aligns its latents with local variance encodes s instead of a factor. The control is uniform
noise that depends on no variable. It changes a pixel by at most as much, and has a third of the pattern's variance,
since the pattern takes only its extreme values.

At pixels of 0 or 255, half of the pattern would be clipped. So x is first mapped to epsilon + (1 - 2 epsilon) x, in the
perturbed dataset and in the control. With the pattern f in [-1, 1] the result is

    epsilon + (1 - 2 epsilon) x + epsilon f  =  (1 - 2 epsilon) x + 2 epsilon (1 + f) / 2,

a mixture of the image and an image of the pattern, which is never clipped. This reduces contrast: a pixel may change by
up to 2 epsilon in total, and the factors lose 1 - (1 - 2 epsilon)^2 of their variance. So a second control,
``squeezed``, has the reduced contrast and no pattern.

The scalar is either the first principal component of the base dataset's pixels (``pca``) or a latent of a beta-VAE or
beta-TCVAE trained on it (``conv_vae``; equation 6). It is standardised; `ROWS_PER_STD` is the number of rows by which
the pattern moves when s changes by one standard deviation. With 32 rows, s dominates local variance before global
variance: at an epsilon of 0.1 it dominates local variance on dsprites and on room3d, and global variance on dsprites
(`benchmarks/perturbation.py` prints both; docs/datasets.md shows the table).

To measure at which strength models begin to encode s, ``patterned`` has s as a further factor that is independent of
the others (section 5.2 of the paper).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.dataset import Dataset, Family
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Factor, FactorTable, Indices
from benchmark_data.sources import Derived
from benchmark_data.types import Pixels
from benchmark_data.variants.hidden import KINDS, SEED, Floats, HiddenVariable

__all__ = ["EPSILONS", "blend", "noise", "noisy", "pattern", "patterned", "perturbed", "squeezed"]

EPSILONS = (0.05, 0.1, 0.15, 0.2)
DEFAULT = 0.1
"""The strength at which, in the paper, the hidden variable begins to dominate local variance."""

ROWS_PER_STD = 32.0
"""Rows by which the pattern moves when s changes by one standard deviation."""

PATTERNED = (0.025, 0.05, 0.075, 0.1, 0.15)
"""Strengths of ``patterned`` datasets: below and above the one at which s begins to dominate local variance."""

LEVELS = 64
"""The number of values of s in ``patterned`` datasets."""

Bytes = NDArray[np.uint8]


def blend(images: Pixels, pattern: Bytes, *, epsilon: float) -> Pixels:
    """Change images by at most epsilon in each direction, after reducing their contrast so that no pixel is clipped.

    Args:
        images: uint8, shape (n, H, W, C).
        pattern: the pattern f in [-1, 1] as bytes: 0 is -1 and 255 is 1. uint8, shape (n, H, W, 1) or as the images.
        epsilon: the strength, in (0, 0.5), as a share of the pixel range.

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


def pattern(s: ArrayLike, height: int, width: int) -> Bytes:
    """Return the pattern for each value of the hidden variable (equation 8).

    Args:
        s: standardised values, finite, shape (n,).
        height: height of the images in pixels.
        width: width of the images in pixels.

    Returns:
        f(s) as bytes, 0 for -1 and 255 for 1, uint8, shape (n, height, width, 1): row i, column j shows row
        round(32 s / c_j) + i of a fixed random pattern, where c_j is 1, 2, 3 or 4.

    Raises:
        InvalidInput: s is not finite, or its magnitude is 312.5 or more.

    Example:
        >>> once, again, far = pattern([0.5, 0.5, 2.5], 64, 64)
        >>> bool((once == again).all()), round(float((once != far).mean()), 1)
        (True, 0.5)
    """
    shifts = np.asarray(s, np.float64) * ROWS_PER_STD
    if not (np.abs(shifts) < 10_000).all():
        raise InvalidInput(f"s: expected standardised values, within 312.5 of 0, received up to {np.abs(s).max():g}.")
    divisors = 1 + (draws.bits(SEED, [0], width)[0] % np.uint64(4)).astype(np.int64)
    top_rows = np.rint(shifts[:, None] / divisors).astype(np.int64)
    first_row = int(top_rows.min())
    signs = _random_signs(np.arange(first_row, int(top_rows.max()) + height), width)
    shown_rows = top_rows[:, None] - first_row + np.arange(height)[:, None]
    return signs[shown_rows, np.arange(width)][..., None]


def _random_signs(rows: Indices, width: int) -> Bytes:
    """Return rows of the fixed pattern; rows may be negative."""
    words = draws.bits(SEED + 1, rows, -(-width // 64)).astype("<u8", copy=False)
    return np.unpackbits(words.view(np.uint8), axis=1, count=width, bitorder="little") * np.uint8(255)


def noise(indices: Indices, height: int, width: int) -> Bytes:
    """Return the control's pattern: uniform noise, independent for every row and pixel and the same in all channels.

    Its seed is 2023, so a split with seed 2023 depends on the pixel (0, 7): use another seed to split these datasets.

    Args:
        indices: rows, int64, shape (n,).
        height: height of the images in pixels.
        width: width of the images in pixels.

    Returns:
        uint8, uniform, shape (n, height, width, 1).

    Example:
        >>> noise(np.array([0, 7]), 10, 10).shape
        (2, 10, 10, 1)
    """
    pixel_count = height * width
    words = draws.bits(SEED + 2, indices, -(-pixel_count // 8)).astype("<u8", copy=False)
    return words.view(np.uint8)[:, :pixel_count].reshape(len(indices), height, width, 1)


@dataclasses.dataclass(frozen=True)
class _Perturbed(Derived):
    """A change that needs a hidden variable in addition to the base."""

    hidden: HiddenVariable

    @property
    def ready(self) -> bool:
        """Whether base and hidden variable are prepared."""
        return super().ready and self.hidden.ready

    def prepare(self, **options: Any) -> None:
        """Prepare the base, then the hidden variable."""
        super().prepare(**options)
        self.hidden.prepare()


def _perturb(images: Pixels, indices: Indices, labels: Indices, *, hidden: HiddenVariable, epsilon: float) -> Pixels:
    """Add the pattern of the hidden variable."""
    return blend(images, pattern(hidden.values(images, indices), *images.shape[1:3]), epsilon=epsilon)


def _add_noise(images: Pixels, indices: Indices, labels: Indices, *, epsilon: float) -> Pixels:
    """Add noise that depends on no variable."""
    return blend(images, noise(indices, *images.shape[1:3]), epsilon=epsilon)


def _squeeze(images: Pixels, indices: Indices, labels: Indices, *, epsilon: float) -> Pixels:
    """Reduce the contrast as `blend` does, and add nothing."""
    table = np.rint((1 - 2 * epsilon) * np.arange(256) + 255 * epsilon).astype(np.uint8)
    return table[images]


def perturbed(base: Dataset) -> Family:
    """Make the perturbed forms of a dataset.

    Args:
        base: the dataset.

    Returns:
        ``<base>_perturbed`` with configs ``pca32_eps05``, ... ``conv32_eps20`` at `EPSILONS`, in percent. Rows, factors
        and format are the base's.
    """
    forms = [_perturbed_dataset(base, kind, epsilon) for kind in KINDS for epsilon in EPSILONS]
    return Family(*forms, default=_config_name("pca", DEFAULT))


def _perturbed_dataset(base: Dataset, kind: str, epsilon: float) -> Dataset:
    """Make one perturbed form."""
    hidden = HiddenVariable(base, kind)
    return _derived_dataset(
        base,
        suffix="perturbed",
        config=_config_name(kind, epsilon),
        epsilon=epsilon,
        hidden=kind,
        source=_Perturbed(base, functools.partial(_perturb, hidden=hidden, epsilon=epsilon), hidden),
        description=(
            f"with a faint pattern of strength {epsilon:g} that moves up and down with a hidden variable of the image: "
            f"{KINDS[kind]}. The pattern moves by {ROWS_PER_STD:g} rows for one standard deviation. The factors are "
            "untouched, but what moves pixels most, locally, is no longer one of them."
        ),
    )


def _config_name(kind: str, epsilon: float) -> str:
    """Return a form's name, such as ``pca32_eps10`` or ``conv32_eps10``."""
    return f"{kind.removesuffix('_vae')}{ROWS_PER_STD:g}_eps{round(100 * epsilon):02d}"


def noisy(base: Dataset) -> Family:
    """Make the noise control of `perturbed`: uniform noise of the same magnitude and a third of the variance.

    Args:
        base: the dataset.

    Returns:
        ``<base>_noisy`` with configs ``eps05``, ``eps10``, ... at `EPSILONS`, in percent.
    """
    description = (
        f"with uniform noise of strength {{epsilon:g}}, drawn once for each row and pixel: the control of "
        f"{base.name}_perturbed, changed by as much at most, with a third of its variance, and by nothing that a model "
        "could encode."
    )
    return _control_family(base, "noisy", _add_noise, description)


def squeezed(base: Dataset) -> Family:
    """Make the contrast control of `perturbed`: its reduced contrast without a pattern.

    Args:
        base: the dataset.

    Returns:
        ``<base>_squeezed`` with configs ``eps05``, ``eps10``, ... at `EPSILONS`, in percent.
    """
    description = (
        f"with the contrast that {base.name}_perturbed and {base.name}_noisy leave it at strength {{epsilon:g}}, and "
        "no pattern: the control for what the loss of contrast alone does."
    )
    return _control_family(base, "squeezed", _squeeze, description, adds_perturbation=False)


def _control_family(
    base: Dataset, suffix: str, change: Callable[..., Pixels], description: str, *, adds_perturbation: bool = True
) -> Family:
    """Change a dataset at each of `EPSILONS`; the description has a placeholder for the strength."""
    return Family(
        *(
            _derived_dataset(
                base,
                suffix=suffix,
                config=f"eps{round(100 * epsilon):02d}",
                epsilon=epsilon,
                source=Derived(base, functools.partial(change, epsilon=epsilon)),
                description=description.format(epsilon=epsilon),
                adds_perturbation=adds_perturbation,
            )
            for epsilon in EPSILONS
        ),
        default=f"eps{round(100 * DEFAULT):02d}",
    )


def patterned(base: Dataset) -> Family:
    """Make datasets with s as a further factor, to measure at which strength of the pattern models encode it.

    Zietlow et al. 2021, section 5.2 and figure 4 (c). Each row of the base is shown once, with a random
    value of s (`benchmark_data.draws`, seed `SEED` + 3).

    Args:
        base: the dataset.

    Returns:
        ``<base>_patterned`` with configs ``eps025``, ``eps050``, ... at `PATTERNED`, in thousandths. The factors are
        the base's and ``s``, of `LEVELS` values with mean 0 and variance 1; the labels are a table, not a grid.
    """
    forms = []
    for epsilon in PATTERNED:
        form = _derived_dataset(
            base,
            suffix="patterned",
            config=f"eps{round(1000 * epsilon):03d}",
            epsilon=epsilon,
            source=Derived(base, functools.partial(_add_pattern_of_s, epsilon=epsilon)),
            description=(
                f"with a faint pattern of strength {epsilon:g} that moves up and down with one more factor, s, which "
                f"is drawn for every row, independently of the others. The pattern moves by {ROWS_PER_STD:g} rows for "
                "one standard deviation of s."
            ),
        )
        space = FactorTable(
            *base.space.factors,
            Factor("s", _values_of_s().tolist(), "ordinal", unit="standard deviations"),
            rows=len(base),
            read=functools.partial(_labels_with_s, base),
        )
        reason = "A faint pattern moves with s beneath everything else; no simple measure of one image finds it."
        forms.append(dataclasses.replace(form, space=space, effects={**base.effects, "s": reason}))
    return Family(*forms, default=f"eps{round(1000 * DEFAULT):03d}")


def _values_of_s() -> Floats:
    """Return the values of s: evenly spaced, with mean 0 and variance 1."""
    levels = np.arange(LEVELS) - (LEVELS - 1) / 2
    return levels * np.sqrt(12 / (LEVELS**2 - 1))


def _labels_with_s(base: Dataset) -> Indices:
    """Return the base's labels with a column for s."""
    rows = np.arange(len(base))
    s = (draws.bits(SEED + 3, rows, 1) % np.uint64(LEVELS)).astype(np.int64)
    return np.concatenate([base.labels(rows), s], axis=1)


def _add_pattern_of_s(images: Pixels, indices: Indices, labels: Indices, *, epsilon: float) -> Pixels:
    """Add the pattern of the last factor."""
    return blend(images, pattern(_values_of_s()[labels[:, -1]], *images.shape[1:3]), epsilon=epsilon)


def _derived_dataset(
    base: Dataset,
    *,
    suffix: str,
    config: str,
    epsilon: float,
    source: Derived,
    description: str,
    adds_perturbation: bool = True,
    **parameters: object,
) -> Dataset:
    return dataclasses.replace(
        base,
        name=f"{base.name}_{suffix}",
        config=config,
        parameters={**parameters, "epsilon": epsilon},
        version="1.0.0",
        source=source,
        description=(
            f"{base.name} {description} Pixels are {'first ' if adds_perturbation else ''}mapped from [0, 1] to "
            f"[{epsilon:g}, {1 - epsilon:g}]"
            + (f", so that nothing clips; a pixel then moves by at most {epsilon:g}. " if adds_perturbation else ". ")
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
