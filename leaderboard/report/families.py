"""Tables that belong together: configurations of a dataset that differ in one number."""

from __future__ import annotations

from collections.abc import Sequence

import benchmark_data
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from benchmark_data.sources import Derived
from leaderboard.report.ranking import Table


def dataset(name: str) -> Dataset | None:
    """Return a dataset; None if it is unknown here, as that of an old result may be."""
    try:
        return benchmark_data.load(name)
    except UnknownName:
        return None


def numeric_sweeps(boards: Sequence[Table]) -> list[tuple[str, str, str, list[tuple[float, Table]]]]:
    """Find configurations of a dataset that differ in one number only.

    Args:
        boards: all tables.

    Returns:
        (dataset, parameter, tier, [(value, table), ...] in the order of the values), two tables or more in each; in the
        order of the tables.
    """
    tables_by_name = {(board.dataset, board.tier): board for board in boards}
    sweeps: dict[tuple[str, tuple[str, ...], str, str], dict[float, Table]] = {}
    bases: dict[tuple[str, tuple[str, ...], str, str], Table] = {}
    for board in boards:
        loaded = dataset(board.dataset)
        for parameter, value in loaded.parameters.items() if loaded else ():
            if loaded is None or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            fixed = tuple(str(v) for k, v in sorted(loaded.parameters.items()) if k != parameter)
            key = (loaded.name, fixed, parameter, board.tier)
            sweeps.setdefault(key, {})[float(value)] = board
            base = loaded.source.base.id if isinstance(loaded.source, Derived) else ""
            if parameter == "epsilon" and (base, board.tier) in tables_by_name:
                bases[key] = tables_by_name[base, board.tier]
    return [
        (
            " ".join([key[0], *filter(str.isalpha, key[1])]),
            key[2],
            key[3],
            sorted((({0.0: bases[key]} if key in bases else {}) | values).items()),
        )
        for key, values in sweeps.items()
        if len(values) > 1
    ]
