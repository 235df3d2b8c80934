"""Datasets with known factors of variation, for numpy, PyTorch, TensorFlow Datasets and Hugging Face.

>>> import benchmark_data
>>> dataset = benchmark_data.load("xysquares/spacing_4")
>>> dataset.images([0, 1, 2]).shape
(3, 64, 64, 3)
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from benchmark_data import discovery
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, OffaxisError, Unavailable, UnknownName

if TYPE_CHECKING:
    from benchmark_data.archives.user_images import from_folder, from_images
    from benchmark_data.dataset import Dataset, Digest, Family
    from benchmark_data.factors import Factor, FactorSpace, FactorTable
    from benchmark_data.sources import Derived, Rendered
    from benchmark_data.variants.splitting import Split, split_rules

__all__ = [
    "DamagedFile",
    "Dataset",
    "Derived",
    "Digest",
    "Factor",
    "FactorSpace",
    "FactorTable",
    "Family",
    "InvalidInput",
    "MissingExtra",
    "OffaxisError",
    "Rendered",
    "Split",
    "Unavailable",
    "UnknownName",
    "configs",
    "from_folder",
    "from_images",
    "load",
    "named_or_folder",
    "names",
    "split",
    "split_names",
    "split_rules",
]

__getattr__, __dir__ = discovery.on_demand(
    __name__,
    {
        "benchmark_data.dataset": ("Dataset", "Digest", "Family"),
        "benchmark_data.factors": ("Factor", "FactorSpace", "FactorTable"),
        "benchmark_data.archives.user_images": ("from_folder", "from_images"),
        "benchmark_data.sources": ("Derived", "Rendered"),
        "benchmark_data.variants.splitting": ("Split", "split_rules"),
    },
)


def names() -> tuple[str, ...]:
    """List the datasets, one for each file in ``benchmark_data/datasets``.

    Returns:
        The names in alphabetical order, without configurations.

    Example:
        >>> {"dsprites", "xysquares"} <= set(names())
        True
    """
    return discovery.names("benchmark_data.datasets")


def configs(name: str) -> tuple[str, ...]:
    """List the full names of a dataset's configurations.

    Args:
        name: a dataset's name, such as ``"xysquares"``.

    Returns:
        Full names as declared, such as ``("xysquares/spacing_1", ...)``; just the name for a dataset that stands alone.

    Raises:
        UnknownName: there is no such dataset.

    Example:
        >>> configs("xysquares")[:2]
        ('xysquares/spacing_1', 'xysquares/spacing_2')
    """
    from benchmark_data.dataset import Family

    declared = discovery.find("benchmark_data.datasets", name, kind="dataset").DATASET
    return tuple(d.id for d in declared.configs.values()) if isinstance(declared, Family) else (name,)


def load(name: Dataset | str, **parameters: object) -> Dataset:
    """Return a dataset by name. Nothing is downloaded or rendered until images are requested.

    Args:
        name: ``"<dataset>"`` or ``"<dataset>/<config>"``; either may be followed by the name of a split, as in
            ``"dsprites/composition"`` or ``"xysquares/spacing_4.random"``: see `benchmark_data.variants.splitting`.
            A dataset is returned as it is.
        **parameters: instead of a config, the parameters that identify it, such as ``spacing=4``.

    Returns:
        The dataset.

    Raises:
        UnknownName: no such dataset, config, split or parameter; the message names the closest match and all choices.
        InvalidInput: parameters are passed together with a config or a split, or for a dataset that has none.

    Example:
        >>> load("xysquares", spacing=4).id
        'xysquares/spacing_4'
        >>> load("xysquares/spacing_9")
        Traceback (most recent call last):
        ...
        benchmark_data.errors.UnknownName: config of xysquares: expected one of spacing_1, ..., received 'spacing_9'...
    """
    from benchmark_data.dataset import Dataset, Family
    from benchmark_data.variants import splitting

    if isinstance(name, Dataset) and not parameters:
        return name
    if not isinstance(name, str):
        raise InvalidInput(f"name of a dataset: expected a string, such as 'dsprites', received {name!r}.")
    base_name, rule = splitting.parse_divided_name(name)
    if rule and not parameters:
        return _load_divided(load(base_name).id, rule)
    request, (name, _, config) = name, name.partition("/")
    if not name or request == f"{name}/" or (os.path.isdir(request) and name not in names()):
        raise UnknownName("dataset", request, names(), f"To read a folder: benchmark_data.from_folder({request!r})")
    declared: Dataset | Family = discovery.find("benchmark_data.datasets", name, kind="dataset").DATASET
    known_configs = declared.configs if isinstance(declared, Family) else {}
    if config and config not in known_configs and not rule:
        prefix, _, suffix = config.replace("/", ".", 1).partition(".")
        # A slash in place of the dot.
        if prefix in known_configs and suffix and splitting.parse_divided_name(f"{name}/{suffix}")[1] == suffix:
            raise InvalidInput(
                f"name of a dataset: expected {splitting.divided_name(f'{name}/{prefix}', suffix)}, received {request}."
            )
        if prefix in known_configs and suffix:
            raise UnknownName(f"split of {name}/{prefix}", suffix, splitting.split_rules())
        raise UnknownName(f"config of {name}", config, known_configs or splitting.split_rules())
    if parameters and (config or isinstance(declared, Dataset)):
        selector = "a split" if rule else "a config"
        raise InvalidInput(
            f"parameters of {name}: expected {f'{selector} or parameters, not both' if config else 'no parameters'}, "
            f"received {', '.join(f'{key}={value!r}' for key, value in parameters.items())}."
        )
    if isinstance(declared, Dataset):
        return declared
    return declared.configs[config] if config else declared.find(parameters)


def named_or_folder(name: str) -> Dataset:
    """Return a dataset by name or, if there is none of that name, the images of a folder.

    Args:
        name: a name as for `load`, or a folder as for `from_folder`.

    Returns:
        The dataset.

    Raises:
        UnknownName: there is no such dataset and no such folder.
        InvalidInput: as `from_folder`.
        DamagedFile: as `from_folder`.

    Example:
        >>> named_or_folder("xysquares/spacing_4").id
        'xysquares/spacing_4'
    """
    from pathlib import Path

    from benchmark_data.archives import user_images

    is_dataset = name.partition("/")[0] in names()
    if not is_dataset:
        if name and Path(name).is_dir():
            return user_images.from_folder(name)
        remedy = (
            "This is a file: pass a folder, or arrays to benchmark_data.from_images." if Path(name).is_file() else ""
        )
        raise UnknownName("dataset or existing folder", name, names(), remedy)
    return load(name)


@functools.lru_cache(maxsize=32)
def _load_divided(base_name: str, split_name: str) -> Dataset:
    """Return a divided dataset by the full name of its base and the name of its split: the same one each time."""
    return split(base_name, split_name).dataset


def split_names(dataset: Dataset | str) -> tuple[str, ...]:
    """List the splits of a dataset: every rule that applies to it, with its variants and without seeds.

    Args:
        dataset: a dataset or its name.

    Returns:
        Names that `split` takes; none for a dataset that is divided already. ``correlated`` accepts more: any pairs
        of factors, any sigma.

    Raises:
        UnknownName: there is no such dataset.

    Example:
        >>> [name for name in split_names("xysquares") if not name.startswith("correlated")]
        ['composition', 'extrapolation', 'holdout', 'interpolation', 'random', 'recombination.to_element',
         'recombination.to_range', 'recombination.extrapolation']
        >>> split_names("celeba")
        ('holdout', 'random')
    """
    from benchmark_data.variants import splitting

    return splitting.split_names(load(dataset))


def split(dataset: Dataset | str, name: str = "holdout", *, seed: int | None = None) -> Split:
    """Divide a dataset's rows by a rule.

    Args:
        dataset: a dataset or its name.
        name: the split: a rule, with its variant where it has several. `split_names` lists them.
        seed: seed of a rule that draws rows at random, in [0, 2**63). Default: the one in the name, or 0.

    Returns:
        The rows. They are the same on every machine.

    Raises:
        UnknownName: there is no such dataset, rule, variant or factor.
        InvalidInput: the dataset is divided already, the rule needs a full grid or an ordered factor, or the seed is
            out of range or given to a rule that draws nothing.

    Example:
        >>> halves = split("dsprites", "recombination.extrapolation")
        >>> len(halves.train), len(halves.test), halves.digests["train"][:8]
        (368640, 368640, 'ad951064')
    """
    from benchmark_data.variants import splitting

    return splitting.split(load(dataset), name, seed=seed)
