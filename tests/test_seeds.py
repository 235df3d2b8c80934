"""The benchmark of tests over seeds, as ``docs/statistics.md`` states it."""

import importlib.util
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("seeds", ROOT / "benchmarks/seeds.py")
seeds = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(seeds)


def test_the_permutation_test_alone_errs_with_methods_as_alike_as_the_boards():
    page = (ROOT / "docs/statistics.md").read_text("utf-8")
    rows = re.findall(r"^\| .* \| (\S+) \(\d+ pairs\) \| .* \| (\S+) \(\d+ pairs\) \|$", page, re.M)
    assert tuple((float(share), float(alike)) for share, alike in rows) == seeds.ALIKE
    low, high = map(int, re.search(r"false positives in (\d+)% to (\d+)% of cases", page).groups())
    options = {"rng": np.random.default_rng(0), "draws": 800, "p_value": seeds.permutation_p}
    errors = [100 * seeds.shared_seeds_error(2, share, alike=alike, **options) for share, alike in seeds.ALIKE]
    assert abs(min(errors) - low) < 2
    assert abs(max(errors) - high) < 2
