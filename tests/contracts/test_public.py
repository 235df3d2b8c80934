"""The public face: what users may rely on, that it can be imported, and that its docstrings say what they must.

A file is public if it has ``__all__``, or if it is found by name: then its noun's contract says what is public in it.
All other files begin with an underscore, or say that they are internal, or lie in a folder that says so.

The docstring of an entry function must say, as far as it applies: every parameter, what is returned, what is raised,
the shape of arrays, and the unit or the range of numbers. Any other public function needs a line. What computes or
divides as papers do names one, or says that it is our own. A method that a base class declares is documented there; a
docstring may point to another one with "see".
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark_data import Dataset, MissingExtra, discovery
from benchmark_data.types import Source

ROOT = Path(__file__).parents[2]
PACKAGES = ("benchmark_data", "baselines", "leaderboard")
NOUNS = {
    "benchmark_data/datasets": ("DATASET",),
    "benchmark_data/splits": ("divide",),
    "baselines/objectives": ("OBJECTIVE",),
    "baselines/untrained": ("BASELINE",),
    "baselines/sweeps": ("SWEEP",),
    "baselines/reproduction/papers": ("ENTRIES",),
    "leaderboard/metrics": ("score",),
    "leaderboard/comparisons": ("compare",),
    "leaderboard/analyses": ("measure",),
}
"""Folders whose files are found by name, and what is public in each."""

ENTRIES = {"score", "compare", "measure", "divide", "as_dataset", "loader", "publish", "build"}
"""Entry functions, beside what the packages' own ``__init__`` files pass on: what users call first."""

NO_EXAMPLE = {
    "baselines": "training takes too long for a docstring; docs/training.md shows it",
    "baselines.presets": "constants",
    "baselines.training.claims": "it takes a trained run; docs/training.md shows it",
    "leaderboard": "it holds rooms alone",
}
"""Public files without a running example, and why."""

UNITS = re.compile(
    r"""\b(nats|bits|seconds|inches|pixels?|GiB|bytes|rows|share|units?|standard\ deviations?|weight|quantile|R²
    |ratio|times|class\ ids|values?|multiples)\b|accurac|[\[(]-?[01],|\bas\ (of|for|in)\ `|at\ (least|most)\ \d""",
    re.VERBOSE,
)
"""What says the unit or the range of a number; so does a pointer to another function."""

SOURCE = re.compile(r"\b(19|20)\d\d\b|\b\d{4}\.\d{5}\b|of this project, and not of a paper")
COMPUTE = ("splits", "objectives", "untrained", "metrics", "comparisons", "analyses")
"""Rooms in which what papers define is computed."""

ARRAYS = re.compile(r"ArrayLike|NDArray|\b(Pixels|Indices|Floats|Bytes|Codes|LabelledCodes|Matrix)\b")


def module(file):
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


@functools.cache
def parsed(file):
    """A file's syntax tree. Most files are not public, and are parsed by the tests that look at them."""
    return ast.parse(file.read_text("utf-8"))


def listed(file):
    """The names in a file's ``__all__``; None where it has none."""
    if "\n__all__ = " not in file.read_text("utf-8"):
        return None
    for node in parsed(file).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return None


def says_internal(file):
    folders = [parent / "__init__.py" for parent in file.parents if parent.is_relative_to(ROOT) and parent != ROOT]
    return any("Internal" in (ast.get_docstring(parsed(each)) or "") for each in (file, *folders))


def noun(file):
    return NOUNS.get(file.parent.relative_to(ROOT).as_posix())


PUBLIC = {module(file): (file, names) for file in FILES if (names := listed(file)) is not None}
every_public_file = pytest.mark.parametrize("name", PUBLIC)


@pytest.mark.parametrize("file", FILES, ids=module)
def test_a_file_is_public_or_says_that_it_is_internal(file):
    empty = file.name == "__init__.py" and not any(not isinstance(node, ast.Expr) for node in parsed(file).body)
    private = file.name.startswith("_") and file.name != "__init__.py"
    assert empty or private or listed(file) is not None or noun(file) or says_internal(file), (
        "list in __all__ what users may rely on, or end the docstring with: Internal."
    )


@every_public_file
def test_public_names_can_be_imported(name):
    names = PUBLIC[name][1]
    try:
        found = importlib.import_module(name)
    except MissingExtra as error:
        pytest.skip(str(error))
    for each in names:
        if not hasattr(found, each):
            importlib.import_module(f"{name}.{each}")
    assert len(set(names)) == len(names)
    assert not [each for each in names if each.startswith("_")]


@every_public_file
def test_a_public_file_shows_an_example_that_runs(name):
    assert (">>>" in PUBLIC[name][0].read_text("utf-8")) != (name in NO_EXAMPLE)


@functools.cache
def functions():
    """The public functions and the public methods of public classes: (module, qualified name) -> syntax tree."""
    found = {}
    for file in FILES:
        names = listed(file) or noun(file) or ()
        for node in parsed(file).body if names else ():
            if isinstance(node, ast.FunctionDef) and node.name in names:
                found[module(file), node.name] = node
            elif isinstance(node, ast.ClassDef) and node.name in (listed(file) or ()):
                found |= {
                    (module(file), f"{node.name}.{method.name}"): method
                    for method in node.body
                    if isinstance(method, ast.FunctionDef)
                    and not method.name.startswith("_")
                    and (node.name == "Source" or not hasattr(Source, method.name) or node.name == "Dataset")
                    and not any("property" in ast.unparse(each) for each in method.decorator_list)
                }
    return found


def is_entry(name):
    """Whether a public function, or the class of a method, is what users call first."""
    first = {each for package in PACKAGES for each in listed(ROOT / package / "__init__.py") or ()}
    return name.partition(".")[0] in ENTRIES | first


def missing(function, entry=True):
    """What a function's docstring fails to say."""
    doc = ast.get_docstring(function) or ""
    if not doc:
        yield "a docstring"
    if not entry:
        return
    if re.search(r"\bsee `", doc) and "Args:" not in doc and "Returns:" not in doc:
        return
    spec = function.args
    parameters = [each for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if each.arg not in ("self", "cls")]
    returns = ast.unparse(function.returns) if function.returns else "None"
    short = "\n" not in doc
    for each in parameters:
        if "Args:" in doc and not re.search(rf"^ *(\w+, )*{each.arg}(, \w+)*: ", doc, re.M):
            yield f"Args: {each.arg}"
    if parameters and "Args:" not in doc and not short:
        yield "Args"
    begins = re.match(r"Return|List|Yield|Open|Whether|What|How", doc)
    if returns not in ("None", "NoReturn") and not (begins and short) and not re.search("Returns:|Yields:", doc):
        yield "Returns"
    types = " ".join([returns, *(ast.unparse(each.annotation) for each in parameters if each.annotation)])
    if ARRAYS.search(types) and not re.search(r"shape|\((n|m|\d|H|F|L|len)\b", doc):
        yield "the shape of arrays"
    for each in parameters:
        if each.annotation and re.search(r"\bfloat\b", ast.unparse(each.annotation)) and "Args:" in doc:
            said = re.search(rf"^ *(?:\w+, )*{each.arg}(?:, \w+)*: (.*?)(?=^ *[*\w, ]+: |^\w|\Z)", doc, re.M | re.S)
            if said and not UNITS.search(said[1]):
                yield f"the unit or the range of {each.arg}"
    if re.search(r"\bfloat\b|\bFloat", returns):
        said = re.search(r"(?:Returns|Yields):\n(.*?)(?=\n\n\w|\Z)", doc, re.S)
        if not UNITS.search(said[1] if said else doc):
            yield "the unit or the range of what is returned"
    if any(isinstance(node, ast.Raise) for node in ast.walk(function)) and "Raises:" not in doc:
        yield "Raises"


@pytest.mark.parametrize(("where", "name"), functions())
def test_a_public_docstring_says_what_it_must(where, name):
    assert list(missing(functions()[where, name], is_entry(name))) == []


def test_missing_finds_what_is_missing():
    source = """
def f(x: ArrayLike, y: int, z: float) -> Pixels:
    '''Do it.

    Args:
        x: an array.
        z: how long to wait.
    '''
    raise ValueError

def g(x: int) -> float:
    '''Return how long it takes.'''

def h(x: int) -> float:
    '''Return how many seconds it takes.'''
"""
    f, g, h = ast.parse(source).body
    unit = "the unit or the range of"
    assert list(missing(f)) == ["Args: y", "Returns", "the shape of arrays", f"{unit} z", "Raises"]
    assert list(missing(g)) == [f"{unit} what is returned"]
    assert list(missing(h)) == list(missing(f, entry=False)) == []


@pytest.mark.parametrize("file", [file for file in FILES if noun(file) and file.parent.name in COMPUTE], ids=module)
def test_a_file_that_computes_names_its_source(file):
    text = file.read_text("utf-8")
    assert file.name.startswith("_") or SOURCE.search(text), "name the paper and its year, or say that it is our own"


UNSHAPED = re.compile(r"\bArrayLike\b|\bNDArray\b")


def unshaped(function):
    """The parameters whose type is an array of no shape."""
    spec = function.args
    for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        written = re.sub(
            r"[A-Z]\w+\[(ArrayLike|NDArray\[[\w.]+\]), '[^']*'\]", "", ast.unparse(each.annotation or each)
        )
        if each.annotation and UNSHAPED.search(written):
            yield each.arg


SHAPED = (
    "leaderboard.arrays",
    "leaderboard.metrics",
    "leaderboard.comparisons",
    "leaderboard.analyses",
    "leaderboard.scoring",
)


@pytest.mark.parametrize(("where", "name"), [key for key in functions() if key[0].startswith(SHAPED)])
def test_arrays_that_the_judge_takes_have_shapes_in_their_types(where, name):
    assert list(unshaped(functions()[where, name])) == []


def test_unshaped_finds_arrays_without_a_shape():
    source = "def f(a: ArrayLike, b: Real[ArrayLike, 'n L'] | None, c: Mapping[str, NDArray[np.int64]], d: int): pass"
    assert list(unshaped(ast.parse(source).body[0])) == ["a", "c"]


@pytest.mark.parametrize("metric", discovery.names("leaderboard.metrics"))
def test_the_types_of_a_metric_say_its_shapes(metric, shape_checks):
    found = shape_checks.shapes(discovery.find("leaderboard.metrics", metric, kind="metric").score)
    assert {"codes", "factors"} <= set(found)


@pytest.mark.parametrize("comparison", ["cka", "procrustes", "udr"])
def test_the_types_of_a_comparison_say_its_shapes(comparison, shape_checks):
    assert {"x", "y"} <= set(
        shape_checks.shapes(importlib.import_module(f"leaderboard.comparisons.{comparison}").compare)
    )


def test_shapes_are_held_while_tests_run(shape_checks):
    for name in ("images", "labels", "values", "scaled"):
        assert "return" in shape_checks.shapes(getattr(Dataset, name))
        assert hasattr(getattr(Dataset, name), "__wrapped__")


def given(codes: Real[ArrayLike, "n L"], factors: Real[ArrayLike, "n F"]) -> Float64[np.ndarray, " n"]:  # noqa: F821
    """Of this file alone."""
    return np.zeros(3)


def test_a_wrong_shape_is_caught(shape_checks):
    call = shape_checks.checked(given)
    assert call([[1, 2]] * 3, [[True]] * 3).shape == (3,)
    with pytest.raises(TypeError, match="given: factors"):
        call([[1, 2]] * 3, [[0]] * 4)
    with pytest.raises(TypeError, match="given: codes"):
        call([1, 2, 3], [[0]] * 3)
    with pytest.raises(TypeError, match="given: return"):
        call([[1, 2]] * 4, [[0]] * 4)


def test_types_with_shapes_need_no_package_at_run_time():
    program = "import benchmark_data, leaderboard.metrics.mig, sys; print('jaxtyping' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_what_newcomers_copy_says_what_it_must():
    text = (ROOT / "docs" / "templates" / "metric.py").read_text("utf-8")
    (score,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    assert [*missing(score), *unshaped(score)] == []
