"""Splits: the training and test rows of a dataset by a published rule.

A rule is a file of the same name in ``benchmark_data/splits``. The name of a split is ``RULE``, or ``RULE.VARIANT`` for
a rule with variants, followed by ``.seed_N`` if the rule is random and N is not 0: ``composition``,
``recombination.to_range``, ``correlated.posx-posy-0.1``, ``random.seed_3``.

Like a transfer pair, a divided dataset is itself a dataset, with the training rows first: ``dsprites`` divided
by ``composition`` is ``dsprites/composition``, and ``xysquares/spacing_4`` is ``xysquares/spacing_4.composition``. It
has the splits ``train`` and ``test``, and ``extra_row`` is the row of the base for each row. So readers, builders,
digests, training and tasks treat it like any other dataset.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_data import discovery
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, is_whole
from benchmark_data.factors import FactorTable, Indices
from benchmark_data.sources import OfBase
from benchmark_data.types import Extra

__all__ = ["DEFAULT", "Divided", "Split", "split", "split_names", "split_rules", "summary"]

RULES = "benchmark_data.splits"

DEFAULT = "holdout"
"""The default rule: nine tenths of the rows for training, one tenth for testing."""


def rows_digest(rows: Indices) -> str:
    """Return SHA-256 of a list of rows as little-endian int64, in hexadecimal."""
    return hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """A dataset's rows, divided by a rule.

    Attributes:
        base: the dataset.
        name: the split's name, such as ``composition``.
        train: training rows of the base, int64 (n,), ascending; a rule that draws with replacement repeats rows.
        test: test rows of the base, int64 (m,), ascending, none of them in ``train``.
        weights: the weight of every row of the base, float64 (N,) in [0, 1], 0 for rows in ``test``; None if the rule
            does not weight rows.

    Example:
        >>> import benchmark_data
        >>> composition = benchmark_data.split("dsprites", "composition")
        >>> composition
        <Split composition of dsprites: 192312 rows to train on, 544968 to test on>
        >>> composition.base.images(composition.train[:2]).shape
        (2, 64, 64, 1)
        >>> composition.dataset.id, composition.dataset.splits["test"]
        ('dsprites/composition', range(192312, 737280))
    """

    base: Dataset
    name: str
    train: Indices
    test: Indices
    weights: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        counts = f"{len(self.train)} rows to train on, {len(self.test)} to test on"
        return f"<Split {self.name} of {self.base.id}: {counts}>"

    @functools.cached_property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of each row list as little-endian int64, in hexadecimal: ``train`` and ``test``."""
        return MappingProxyType({"train": rows_digest(self.train), "test": rows_digest(self.test)})

    @functools.cached_property
    def dataset(self) -> Dataset:
        """The divided dataset: the training rows, then the test rows, with the splits ``train`` and ``test``."""
        source = Divided(self.base, self.name)
        vars(source)["rows"] = np.concatenate([self.train, self.test])
        train_count, row_count = len(self.train), len(self.train) + len(self.test)
        base = self.base
        mixing_defect = f"The rule mixes the splits that {base.id} has itself: {', '.join(base.splits)}."
        return dataclasses.replace(
            base,
            config=f"{base.config}.{self.name}" if base.config else self.name,
            space=_SplitLabels(source, row_count),
            source=source,
            splits={"train": range(train_count), "test": range(train_count, row_count)},
            description=f"{base.description} Divided by the rule {self.name}: {summary(self.name)}",
            defects=(*base.defects, mixing_defect) if len(base.splits) > 1 else base.defects,
        )


@dataclasses.dataclass(frozen=True)
class Divided(OfBase):
    """The source of a divided dataset's pixels: its base.

    Args:
        base: the dataset that is divided.
        name: the split's name.
    """

    name: str

    @functools.cached_property
    def rows(self) -> Indices:
        """The base's row for each row, int64: the training rows, then the test rows."""
        base_split = split(self.base, self.name)
        return np.concatenate([base_split.train, base_split.test])

    def __getstate__(self) -> dict[str, Any]:
        """Omit the rows, which the rule determines."""
        return {"base": self.base, "name": self.name}

    @property
    def extras(self) -> Mapping[str, Extra]:
        """The base's extra arrays, and the base's row of each row."""
        return {**self.base.extras, "row": Extra((), "int64", "row in the dataset that is divided")}

    def base_rows(self, indices: Indices) -> Indices:
        """Return the base's row for each row: int64, shape (n,)."""
        return self.rows[indices]

    def extra(self, name: str, indices: Indices) -> NDArray[Any]:
        """Return rows of an extra array."""
        return self.base_rows(indices) if name == "row" else super().extra(name, indices)


class _SplitLabels(FactorTable):
    """The base's class ids, looked up on access."""

    def __init__(self, source: Divided, rows: int) -> None:
        super().__init__(*source.base.space.factors, rows=rows, read=self._all_labels)
        self._source = source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SplitLabels) and self._source == other._source

    def _labels(self, rows: Indices) -> Indices:
        return self._source.base.space.labels(self._source.rows[rows])

    @property
    def full(self) -> bool:
        """False: partners drawn from the whole grid would include held-out rows."""
        return False


@functools.cache  # a study's thousands of configs ask
def split_rules() -> tuple[str, ...]:
    """List the split rules, one for each file in ``benchmark_data/splits``.

    Returns:
        The names in alphabetical order.

    Example:
        >>> split_rules()
        ('composition', 'correlated', 'extrapolation', 'holdout', 'interpolation', 'random', 'recombination')
    """
    return discovery.names(RULES)


def split_names(base: Dataset) -> tuple[str, ...]:
    """List the splits of a dataset: see `benchmark_data.split_names`."""
    if parse_divided_name(base.id)[1]:
        return ()
    names = []
    for rule_name in split_rules():
        rule = _find_rule(rule_name)
        try:
            if hasattr(rule, "variants"):
                names += [f"{rule_name}.{variant}" for variant in rule.variants(base.space)]
            else:
                rule.divide(base.space)
                names.append(rule_name)
        except InvalidInput:
            continue
    return tuple(names)


def split(base: Dataset, name: str = DEFAULT, *, seed: int | None = None) -> Split:
    """Divide a dataset's rows by a rule: see `benchmark_data.split`."""
    check_undivided(base)
    if not isinstance(name, str):
        raise InvalidInput(f"split rule: expected a string, such as 'holdout', received {name!r}.")
    rule_name, variant, named_seed = _parse_name(name)
    rule = _find_rule(rule_name)
    seed = named_seed if seed is None else seed
    if not is_whole(seed) or not 0 <= seed < 2**63:
        raise InvalidInput(f"seed of split {name!r}: expected an integer in [0, 2**63), received {seed!r}.")
    if variant and not hasattr(rule, "variants"):
        raise InvalidInput(
            f"split rule {rule_name!r}: expected no variant, received {variant!r}. Write just {rule_name!r}."
        )
    if seed and not rule.DRAWN:
        raise InvalidInput(f"seed of split {name!r}: expected none, since the rule is not random, received {seed}.")
    seed = int(seed)  # as the name has it
    parts = rule.divide(base.space, variant=variant, seed=seed)
    for array in (parts.train, parts.test, parts.weights):
        if array is not None:
            array.flags.writeable = False
    full_name = ".".join([rule_name, *([variant] if variant else []), *([f"seed_{seed}"] if seed else [])])
    return Split(base, full_name, parts.train, parts.test, parts.weights)


def check_undivided(dataset: Dataset) -> None:
    """Check by its name that a dataset is undivided, since a name contains at most one rule.

    Args:
        dataset: the dataset.

    Raises:
        InvalidInput: it is already divided.
    """
    base, rule = parse_divided_name(dataset.id)
    if rule:
        raise InvalidInput(
            f"splits of {dataset.id}: expected an undivided dataset, received one that is divided by {rule!r}. "
            f"Divide {base} instead."
        )


def _find_rule(name: str) -> ModuleType:
    return discovery.find(RULES, name, kind="split rule")


def _parse_name(name: str) -> tuple[str, str, int]:
    """Split the name of a split into rule, variant and seed."""
    rule_and_variant, _, seed = name.rpartition(".seed_")
    if not re.fullmatch(r"\d{1,99}", seed):
        rule_and_variant, seed = name, "0"
    rule, _, variant = rule_and_variant.partition(".")
    return rule, variant.lower(), int(seed)


def summary(name: str) -> str:
    """Return the first line of a rule's file, without its title.

    Args:
        name: the name of a split.

    Returns:
        One sentence.

    Raises:
        UnknownName: there is no such rule.

    Example:
        >>> summary("extrapolation")
        'the last values of every ordered factor are seen in testing only.'
    """
    line = (_find_rule(_parse_name(name)[0]).__doc__ or "").partition("\n")[0]
    return line.partition(": ")[2]


def parse_divided_name(dataset: str) -> tuple[str, str]:
    """Split the name of a divided dataset into base and split.

    Args:
        dataset: such as ``dsprites/composition`` or ``xysquares/spacing_4.random.seed_1``.

    Returns:
        The base's name and the split's; the latter is empty if the name contains no rule.

    Example:
        >>> parse_divided_name("xysquares/spacing_4.random.seed_1"), parse_divided_name("xysquares/spacing_4")
        (('xysquares/spacing_4', 'random.seed_1'), ('xysquares/spacing_4', ''))
        >>> parse_divided_name("dsprites/composition")
        ('dsprites', 'composition')
    """
    name, _, config = dataset.partition("/")
    words, rules = config.split("."), split_rules()
    for i, word in enumerate(words):
        if word in rules:
            return "/".join(filter(None, (name, ".".join(words[:i])))), ".".join(words[i:])
    return dataset, ""


def divided_name(dataset: str, name: str) -> str:
    """Return the name of a divided dataset.

    Args:
        dataset: the base's name.
        name: the split's.

    Returns:
        Such as ``dsprites/composition``.

    Example:
        >>> divided_name("xysquares/spacing_4", "composition")
        'xysquares/spacing_4.composition'
    """
    return f"{dataset}.{name}" if "/" in dataset else f"{dataset}/{name}"


def parse_split(dataset: str, part: str) -> tuple[str, str]:
    """Parse the part of a dataset: ``RULE[.VARIANT][:PART]`` or one of its own splits.

    Args:
        dataset: a dataset's name.
        part: one of the dataset's own splits; or ``RULE[.VARIANT][:PART]``, where PART is ``train`` by default; or
            empty, which for a divided dataset means ``train`` (held-out rows must be requested explicitly).

    Returns:
        The name of the dataset that has the part as its split, and the name of that split.

    Raises:
        InvalidInput: the rule has no such part.

    Example:
        >>> parse_split("dsprites", "composition:test"), parse_split("dsprites", "random")
        (('dsprites/composition', 'test'), ('dsprites/random', 'train'))
        >>> parse_split("smallnorb", "train")
        ('smallnorb', 'train')
        >>> parse_split("dsprites/composition", ""), parse_split("smallnorb", "")
        (('dsprites/composition', 'train'), ('smallnorb', ''))
    """
    if not part:
        return dataset, "train" if parse_divided_name(dataset)[1] else ""
    name, _, chosen_part = part.partition(":")
    if not name or name.partition(".")[0] not in split_rules():  # most have none, and need not list the folder
        return dataset, part
    if chosen_part not in ("", "train", "test"):
        raise InvalidInput(
            f"split {part!r}: expected train or test after the colon, received {chosen_part!r}. A rule's variant "
            f"follows a full stop, such as correlated.posX-posY-0.1. List them: offaxis data info {dataset} --splits"
        )
    return divided_name(dataset, name), chosen_part or "train"


def resolve(dataset: object, name: str) -> Dataset:
    """Return the dataset with a full name: ``dataset`` itself, or ``dataset`` divided by the rule in the name.

    Args:
        dataset: the dataset.
        name: its name, or its name when divided.

    Returns:
        The dataset, divided if the name contains a rule.

    Raises:
        InvalidInput: ``dataset`` is not a dataset, or the name is that of another one.

    Example:
        >>> import benchmark_data
        >>> mine = benchmark_data.from_images("mine", np.zeros((20, 8, 8, 1), np.uint8))
        >>> resolve(mine, "mine/holdout").splits
        {'train': range(0, 18), 'test': range(18, 20)}
    """
    if not isinstance(dataset, Dataset):
        received = f"received {repr(dataset)[:80]}. For a published dataset, pass only its name in the config."
        raise InvalidInput(f"dataset: expected a Dataset, such as from benchmark_data.from_images, {received}")
    base, rule = parse_divided_name(name)
    if name == dataset.id:
        return dataset
    if base != dataset.id:
        raise InvalidInput(f"dataset: expected {name!r}, as in the config, received {dataset.id!r}.")
    return split(dataset, rule).dataset
