"""Every split rule on every grid: two lists without a common row, the same everywhere, and as published.

``docs/splits.csv`` has their counts and digests; ``pytest tests/contracts/test_splits.py --update-golden`` rewrites it
after a rule was added. A rule whose lists would change gets another name instead.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import FactorTable
from benchmark_data.variants import splitting

PAGE = Path(__file__).parents[2] / "docs" / "splits.csv"
GRIDS = ("room3d", "xysquares/spacing_1", "xyobject/plain", "dsprites", "shapes3d", "mpi3d/real")
COLUMNS = ("dataset", "split", "train_rows", "test_rows", "train_sha256", "test_sha256")


def names(dataset):
    """All splits; of the correlated ones the first pair with its three sigmas, since each takes a second or more."""
    found = benchmark_data.split_names(dataset)
    correlated = [name for name in found if name.startswith("correlated")]
    return [name for name in found if name not in correlated[3:]]


CASES = [(dataset, name) for dataset in GRIDS for name in names(dataset)]


@pytest.fixture(scope="module")
def found():
    return {case: benchmark_data.split(*case) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case))
def test_a_split_is_two_ascending_lists_without_a_common_row(case, found):
    split = found[case]
    for rows in (split.train, split.test):
        assert rows.dtype == np.int64
        assert rows.ndim == 1
        assert len(rows)
        assert rows[0] >= 0
        assert rows[-1] < len(split.base)
        assert (np.diff(rows) >= 0).all()
        with pytest.raises(ValueError, match="read-only"):
            rows[0] = 1
    assert not np.isin(split.test, split.train).any()
    assert (np.diff(split.test) > 0).all()
    repeats = case[1].startswith("correlated")
    assert (np.diff(split.train) > 0).all() != repeats
    assert (split.weights is not None) == repeats
    if split.weights is not None:
        assert not split.weights.flags.writeable
        assert not split.weights[split.test].any(), "a sampler by weight must not draw what is held out"
        assert (split.weights[split.train] > 0).all()
    left_out = case == ("mpi3d/real", "recombination.extrapolation")  # the column 20, as published
    if not repeats and not left_out:
        assert len(split.train) + len(split.test) == len(split.base)


@pytest.mark.parametrize("rule", splitting.split_rules())
def test_a_rule_says_in_its_first_line_what_it_does_and_applies_somewhere(rule):
    assert splitting.summary(rule).endswith(".")
    assert any(name.partition(".")[0] == rule for _, name in CASES)


@pytest.mark.parametrize("rule", splitting.split_rules())
def test_a_seed_matters_where_the_rule_draws_and_is_refused_elsewhere(rule):
    module = splitting._find_rule(rule)
    name = next(name for name in names("xyobject") if name.partition(".")[0] == rule)
    first = benchmark_data.split("xyobject", name)
    if module.DRAWN:
        other = benchmark_data.split("xyobject", name, seed=1)
        assert other.name == f"{name}.seed_1"
        assert other.digests["train"] != first.digests["train"]
        assert benchmark_data.split("xyobject", other.name).digests == other.digests
    else:
        with pytest.raises(InvalidInput, match="expected none, since the rule is not random, received 1"):
            benchmark_data.split("xyobject", name, seed=1)


@pytest.mark.parametrize("rule", splitting.split_rules())
def test_a_table_is_divided_or_refused(rule):
    table = FactorTable(rows=50, read=lambda: np.zeros((50, 0), np.int64))
    module = splitting._find_rule(rule)
    if rule in ("holdout", "random"):
        assert sorted([*module.divide(table).train, *module.divide(table).test]) == list(range(50))
    else:
        with pytest.raises(InvalidInput, match=r"expected a dataset that is a full grid .* holdout and random\."):
            module.divide(table)


def test_published_counts_and_digests_stay_what_they_are(found, request):
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for (dataset, name), split in found.items():
        table.writerow([dataset, name, len(split.train), len(split.test), *split.digests.values()])
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text.getvalue(), "utf-8")
    expected = "run: pytest tests/contracts/test_splits.py --update-golden, if a rule or a grid was added"
    assert PAGE.read_text("utf-8") == text.getvalue(), expected
