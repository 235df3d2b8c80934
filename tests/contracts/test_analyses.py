"""What every analysis promises: a tidy table and a picture from arrays, the same twice; inputs untouched; no NaN."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark_data import discovery
from benchmark_data.errors import InvalidInput

TESTS = Path(__file__).parents[1] / "leaderboard" / "analyses"
NAMES = [name for name in discovery.names("leaderboard.analyses") if name != "expansiveness"]  # it measures datasets
RNG = np.random.default_rng(0)

CODES, OTHERS = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 5))
IMAGES = RNG.uniform(size=(2, 4, 6, 6, 1))
FACTORS = np.arange(40)[:, None] % 4

# For each analysis: arguments of `measure`, all arrays by keyword, and columns to add before `draw`.
EXAMPLES = {
    "latents": ({"mean": CODES, "variance": CODES**2 + 0.1}, None),
    "layers_against_input": ({"layers": {"encoder_1": CODES}, "inputs": OTHERS}, {}),
    "perceived": ({"inputs": IMAGES, "mean": CODES.reshape(2, 20, 3)[:, :4]}, {}),
    "sample_size": ({"x": CODES, "y": OTHERS, "sizes": [10, 40]}, {}),
    "transfer_accuracy": (
        {"representations": {"source": CODES}, "labels": FACTORS, "names": ["f"], "classifiers": ["logistic"]},
        {},
    ),
    "traversals": ({"images": IMAGES}, None),
}


def test_every_analysis_has_an_example_here_and_tests_of_its_own():
    assert set(EXAMPLES) == set(NAMES)
    assert {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")} == {*NAMES, "expansiveness"}


@pytest.fixture(params=NAMES)
def analysis(request):
    module = discovery.find("leaderboard.analyses", request.param, kind="analysis")
    return module, *EXAMPLES[request.param]


def test_it_says_which_figure_of_which_paper(analysis):
    module, *_ = analysis
    assert "figure" in module.__doc__.lower()
    assert "(20" in module.__doc__


def test_its_functions_are_typed_and_explained(analysis):
    module, *_ = analysis
    for name in {"measure", "draw"} & set(vars(module)):
        function = getattr(module, name)
        assert all(section in function.__doc__ for section in ("Args:", "Raises:")), name
        signature = inspect.signature(function)
        assert all(parameter.annotation is not parameter.empty for parameter in signature.parameters.values()), name


def test_it_gives_a_tidy_table_of_finite_numbers_twice_the_same(analysis):
    module, arguments, _ = analysis
    before = {name: np.array(value) for name, value in arguments.items() if isinstance(value, np.ndarray)}
    table = module.measure(**arguments)
    assert isinstance(table, pd.DataFrame)
    assert len(table) > 0
    assert np.isfinite(table.select_dtypes("number").to_numpy(dtype=float)).all()
    assert table.equals(module.measure(**arguments))
    assert all(np.array_equal(arguments[name], value) for name, value in before.items()), "an input was changed"


def test_it_takes_any_layout_and_half_precision(analysis):
    module, arguments, _ = analysis
    expected = module.measure(**arguments).select_dtypes("number").to_numpy(dtype=float)
    for convert in (np.asfortranarray, lambda a: a.astype(np.float16) if a.dtype.kind == "f" else a):
        changed = {k: convert(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        found = module.measure(**changed).select_dtypes("number").to_numpy(dtype=float)
        assert np.allclose(found, expected, atol=0.02, rtol=0.02)


def test_it_refuses_nan(analysis):
    module, arguments, _ = analysis
    spoiled = copy.deepcopy(arguments)
    arrays = [a for value in spoiled.values() for a in (value.values() if isinstance(value, dict) else [value])]
    next(a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind == "f").flat[7] = np.nan
    with pytest.raises(InvalidInput, match="expected finite numbers"):
        module.measure(**spoiled)


def test_it_draws(analysis, tmp_path):
    module, arguments, columns = analysis
    if columns is None:
        return  # drawn from something else than the table; see its own tests
    module.draw(module.measure(**arguments).assign(**columns), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="table: expected the columns"):
        module.draw(pd.DataFrame({"nothing": [1]}), tmp_path / "b.png")
    assert not (tmp_path / "b.png").exists()
