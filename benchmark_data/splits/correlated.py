"""Correlated: pairs of factors that are correlated in training and independent in testing.

Träuble et al., "On Disentangled Representations Learned from Correlated Data", ICML 2021, and Roth et al.,
"Disentanglement of Correlated Factors via Hausdorff Factorized Support", ICLR 2023 (arXiv 2210.07347), whose pairs of
factors are listed here. A row of the grid has the weight

    exp(-(c_a - c_b)^2 / (2 sigma^2)),

the product of this over the pairs of factors (a, b), with the factors' values c scaled to [0, 1]. The smaller sigma,
the stronger the correlation: 0.4 is weak, 0.1 strong.

A variant names the pairs, in lower case, and sigma: ``posx-posy-0.1``, ``shape-scale-posx-posy-0.4``. Any pairs and any
sigma above 0, in its shortest decimal form, are valid; `variants` lists the paper's on the grids of dSprites, Shapes3D
and MPI3D. A factor whose name has a hyphen, or differs from another one in case only, cannot be named.

A tenth of the grid, the same rows as for the rule ``holdout``, is for testing, where factors are independent. From the
other nine tenths, as many rows as they have are drawn with replacement, by their weights, for training. (The paper
draws from the whole grid and scores on it.) The k-th row is chosen by ``draws.bits(seed, [k], 2)[0, 1]`` modulo the sum
of the weights, which are rounded to multiples of 2**-24 for this, so that the list is the same on every machine.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import FactorSpace
from benchmark_data.splits import _rule, _schott2022, holdout, recombination

DRAWN = True

SIGMAS = ("0.1", "0.2", "0.4")

UNITS = 2**24

Pairs = tuple[tuple[str, str], ...]

PUBLISHED: Mapping[tuple[str, ...], tuple[Pairs, ...]] = {
    recombination.DSPRITES: (
        (("shape", "scale"),),
        (("posX", "posY"),),
        (("shape", "posY"),),
        (("shape", "posX"), ("scale", "posY")),
        (("shape", "scale"), ("posX", "posY")),
    ),
    recombination.SHAPES3D: (
        (("floor_hue", "wall_hue"),),
        (("shape", "scale"),),
        (("shape", "wall_hue"),),
        (("shape", "object_hue"),),
        (("scale", "floor_hue"), ("shape", "wall_hue")),
        (("scale", "shape"), ("floor_hue", "wall_hue")),
        (("shape", "object_hue"), ("shape", "scale")),
        (("scale", "orientation"), ("shape", "wall_hue"), ("object_hue", "floor_hue")),
        (("object_hue", "orientation"), ("shape", "scale"), ("floor_hue", "wall_hue")),
    ),
    _schott2022.MPI3D: (
        (("camera_height", "background_color"),),
        (("object_color", "object_size"),),
        (("horizontal_axis", "vertical_axis"),),
        (("object_color", "object_shape"), ("horizontal_axis", "vertical_axis")),
        (("object_color", "horizontal_axis"), ("object_shape", "vertical_axis")),
        (("object_color", "background_color"), ("camera_height", "horizontal_axis"), ("object_shape", "vertical_axis")),
        (("object_color", "object_shape"), ("horizontal_axis", "vertical_axis"), ("background_color", "camera_height")),
    ),
}
"""Names of a grid's factors -> the pairs of the paper's experiments: one pair, two, three."""


def variants(space: _rule.Space) -> tuple[str, ...]:
    """List the paper's pairs on its three grids, and every single pair on others, each with three sigmas.

    Args:
        space: a grid.

    Returns:
        Their names; `divide` accepts others.

    Raises:
        InvalidInput: the space is no grid, or fewer than two factors vary that a variant can name.
    """
    space = _rule.check_grid(space, "correlated")
    varying = [name for name in _names_by_word(space).values() if space.sizes[space.column(name)] > 1]
    pair_sets = PUBLISHED.get(space.names, tuple((pair,) for pair in itertools.combinations(varying, 2)))
    if not pair_sets:
        raise InvalidInput(
            "split rule 'correlated': expected two or more factors that vary, with names that have no hyphen and "
            f"differ in more than case, received {space!r}."
        )
    names = ("-".join(itertools.chain(*pairs)).lower() for pairs in pair_sets)
    return tuple(f"{name}-{sigma}" for name in names for sigma in SIGMAS)


def _names_by_word(space: FactorSpace) -> dict[str, str]:
    """Return the factors that a variant can name, by their names in lower case."""
    words = [name.lower() for name in space.names]
    spellings = zip(words, space.names, strict=True)
    return {word: name for word, name in spellings if "-" not in word and words.count(word) == 1}


def weights(space: FactorSpace, pairs: Pairs, sigma: float) -> NDArray[np.float64]:
    """Compute the weights of the rows of a grid.

    Args:
        space: the grid.
        pairs: pairs of factors.
        sigma: the width, above 0.

    Returns:
        float64 in [0, 1], shape (N,).

    Raises:
        UnknownName: there is no such factor.

    Example:
        >>> from benchmark_data.factors import Factor
        >>> space = FactorSpace(Factor("x", range(2)), Factor("y", range(3)))
        >>> weights(space, (("x", "y"),), 0.5).round(3).tolist()
        [1.0, 0.607, 0.135, 0.135, 0.607, 1.0]
    """
    product = np.ones(space.sizes)
    for pair in pairs:
        first, second = (_scaled(space, space.column(name)) for name in pair)
        product = product * np.exp(-((first - second) ** 2) / (2 * sigma**2))
    return product.ravel()


def _scaled(space: FactorSpace, column: int) -> NDArray[np.float64]:
    """Return a factor's values, scaled to [0, 1], along its axis of the grid."""
    values = np.asarray(space.factors[column].values)
    if not np.isfinite(values).all():
        name = space.names[column]
        raise InvalidInput(
            f"factor {name!r} of split rule 'correlated': expected a finite value for each class, received {values}."
        )
    scaled: NDArray[np.float64] = (values - values.min()) / max(values.max() - values.min(), np.finfo(np.float64).tiny)
    return scaled.reshape([-1 if axis == column else 1 for axis in range(len(space.sizes))])


def divide(space: _rule.Space, *, variant: str = "", seed: int = 0) -> _rule.Parts:
    """Divide a grid.

    Args:
        space: a grid.
        variant: pairs of factors and sigma, such as ``posx-posy-0.1``.
        seed: seed of the draws.

    Returns:
        The rows, train rows with repeats, and the weights of all rows, 0 for the test rows.

    Raises:
        InvalidInput: the space is no grid, or the variant names no pairs, a factor twice in one pair, or no sigma; or a
            class of a factor has no value.
        UnknownName: there is no such factor.

    Example:
        >>> from benchmark_data.factors import Factor
        >>> space = FactorSpace(Factor("x", range(10)), Factor("y", range(10)))
        >>> parts = divide(space, variant="x-y-0.1")
        >>> x, y = space.labels(parts.train).T
        >>> len(parts.train), len(parts.test), bool(abs(x - y).max() < 5)
        (90, 10, True)
    """
    space = _rule.check_grid(space, "correlated")
    pairs, sigma = parse_variant(space, variant)
    row_weights = weights(space, pairs, sigma)
    candidates, test, _ = holdout.divide(space, seed=seed)
    cumulative_weights = np.cumsum(np.rint(row_weights[candidates] * UNITS).astype(np.uint64))
    if not cumulative_weights.any():
        raise InvalidInput(
            f"sigma of {variant!r}: expected a larger value, since all weights round to 0, received {sigma:g}."
        )
    drawn = draws.bits(seed, np.arange(len(candidates)), 2)[:, 1] % cumulative_weights[-1]
    row_weights[test] = 0.0  # a user's sampler must not draw them
    return _rule.Parts(candidates[np.searchsorted(cumulative_weights, np.sort(drawn), side="right")], test, row_weights)


def parse_variant(space: FactorSpace, variant: str) -> tuple[Pairs, float]:
    """Parse a variant.

    Args:
        space: the grid.
        variant: such as ``posx-posy-0.1``.

    Returns:
        The pairs of factors, as the grid spells them, and sigma.

    Raises:
        InvalidInput: it does not have this form.
        UnknownName: there is no such factor.
    """
    *words, sigma_text = variant.split("-")
    names_by_word = _names_by_word(space)
    # One spelling, so that the same rows have one name: not .1, 0.10 or 0_1, which Python reads as 1.
    sigma = float(sigma_text) if re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", sigma_text) else math.nan
    if not words or len(words) % 2 or not 1e-150 < sigma < 1e150:  # sigma**2 must be finite and above 0
        raise InvalidInput(
            "variant of split rule 'correlated': expected pairs of factors and sigma, such as "
            f"{', '.join(variants(space)[:2])}, received {variant!r}."
        )
    for word in words:
        if word.lower() not in names_by_word:
            raise UnknownName("factor of split rule 'correlated'", word, names_by_word.values())
    names = [names_by_word[word.lower()] for word in words]
    pairs = tuple(zip(names[::2], names[1::2], strict=True))
    if any(first == second for first, second in pairs):
        raise InvalidInput(
            f"variant of split rule 'correlated': expected pairs of two different factors, received {variant!r}."
        )
    return pairs, sigma
