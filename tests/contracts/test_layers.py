"""Which file may import which: packages, rooms and files, each in one direction; and what an import may load."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("benchmark_data", "baselines", "leaderboard")
MAY_IMPORT = {
    "benchmark_data": {"benchmark_data"},
    "leaderboard": {"benchmark_data", "leaderboard"},
    "baselines": {"benchmark_data", "leaderboard", "baselines"},
}
HEAVY = ("tensorflow", "keras", "torch", "jax", "datasets", "tensorflow_datasets", "matplotlib", "numba", "ray")


ROOMS = {
    "benchmark_data": (
        "errors draws factors files discovery console types expected_effects dataset sources",
        "splits",
        "inspect",
        "archives",
        "variants",
        "__init__",
        "datasets",
        "parallel",
        "publish",
        "reading",
        "tfds hf torch",
        "commands",
    ),
    "leaderboard": (
        "arrays doubts encoding figures information properties protocol schema record",
        "reading",
        "metrics",
        "comparisons",
        "store",
        "analyses",
        "scoring",
        "report",
        "source",
        "evaluation monitor",
        "__init__",
        "commands",
    ),
    "baselines": (
        "validation presets",
        "nets",
        "objectives",
        "config",
        "sweeps",
        "model",
        "run_folder record",
        "engines",
        "run",
        "untrained",
        "training",
        "__init__",
        "outputs",
        "reproduction",
        "demo",
        "commands program",
    ),
}
"""The rooms of each package, in order: a room imports those before it, never one behind it. A room is a folder, or some
files of the package's own folder."""

DISCOVERED = {
    *(
        "benchmark_data/datasets",
        "benchmark_data/splits",
        "baselines/objectives",
        "baselines/untrained",
        "baselines/sweeps",
    ),
    *("baselines/reproduction/papers", "leaderboard/metrics", "leaderboard/comparisons", "leaderboard/analyses"),
}
"""Folders whose files are found by name. They may hold any number."""

MOST = 15
"""Files in any other folder, beside its ``__init__.py``. More than these, and a reader does not know which to open."""

LATE = {
    "benchmark_data/__init__.py": "what the package passes on is loaded when it is used, not with numpy before",
    "benchmark_data/commands/doctor.py": "a command starts before it loads what it runs",
    "baselines/commands/train.py": "a command starts before it loads what it runs",
    "baselines/commands/study.py": "a command starts before it loads what it runs",
    "benchmark_data/commands/data.py": "a command starts before it loads what it runs",
    "leaderboard/commands/board.py": "a command starts before it loads what it runs",
    "leaderboard/commands/similarity.py": "a command starts before it loads what it runs",
    "leaderboard/commands/metrics.py": "a command starts before it loads what it runs",
    "leaderboard/commands/arguments.py": "a command starts before it loads what it runs",
    "leaderboard/commands/scores.py": "a command starts before it loads what it runs",
    "baselines/commands/outputs.py": "a command starts before it loads what it runs",
    "baselines/nets/architectures.py": "the convolutions are classes of Keras, which is loaded when a network is made",
    "baselines/training/worker.py": "threads are set before anything that counts them is loaded",
    "leaderboard/metrics/dci.py": "the compiled trees need numba, which only the fast mode takes",
    "leaderboard/metrics/downstream.py": "the compiled trees need numba, which only one classifier takes",
}
"""Files that import ours within a function, and why. Such imports count for circles and for rooms like all others."""


def imported(tree: ast.AST) -> set[str]:
    """Top-level names of the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or ".").split(".")[0] if not node.level else ".")
    return found


def test_imported_sees_every_form():
    source = "import a.b\nfrom c import d\nfrom . import e\ndef f():\n    import g"
    assert imported(ast.parse(source)) == {"a", "c", ".", "g"}


def module(file: Path) -> str:
    """The dotted name of a file's module."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {module(file): file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))}


def of_ours(tree: ast.AST, known=FILES) -> set[str]:
    """Our modules that a syntax tree imports, anywhere in it. ``from a import b`` is ``a.b`` where that is a module."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names}
    return found & set(known)


def within_functions(tree: ast.AST) -> set[str]:
    """Our modules that functions of a file import."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return set().union(*(of_ours(function) for function in functions))


class Imports(NamedTuple):
    """What a file imports: packages, modules of ours, and modules of ours within functions."""

    packages: set[str]
    ours: set[str]
    late: set[str]


@pytest.fixture(scope="module")
def imports() -> dict[str, Imports]:
    """What every module imports. Its syntax tree is let go of: those of all files fill memory."""
    found = {}
    for name, file in FILES.items():
        tree = ast.parse(file.read_text("utf-8"))
        found[name] = Imports(imported(tree), of_ours(tree), within_functions(tree))
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_downwards_only(package, imports):
    files = [name for name in FILES if name.split(".")[0] == package]
    assert files
    for name in files:
        siblings = imports[name].packages & {*PACKAGES, "."}
        assert siblings <= MAY_IMPORT[package], f"{name} imports {siblings - MAY_IMPORT[package]}"


def test_the_judge_needs_no_keras(imports):
    for name, found in imports.items():
        if name.split(".")[0] in ("benchmark_data", "leaderboard"):
            assert "keras" not in found.packages, name


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; none where there is no circle."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_files_import_each_other_in_a_circle(imports):
    assert circle({name: found.ours for name, found in imports.items()}) == []


def test_circle_finds_one_that_a_function_hides():
    known = dict.fromkeys(["a", "a.b", "a.c", "a.d"])
    sources = {"a.b": "from a import c", "a.c": "def f():\n    from a.d import x", "a.d": "import a.b"}
    hidden = {name: of_ours(ast.parse(source), known) for name, source in sources.items()}
    assert hidden == {"a.b": {"a.c"}, "a.c": {"a.d"}, "a.d": {"a.b"}}
    assert set(circle(hidden)) == {"a.b", "a.c", "a.d"}


def place(name: str) -> int:
    """The place of a module's room among those of its package."""
    package, _, rest = name.partition(".")
    room = rest.partition(".")[0] or "__init__"
    places = [i for i, rooms in enumerate(ROOMS[package]) if room in rooms.split()]
    assert len(places) == 1, f"say in ROOMS of {Path(__file__).name} which room {name} belongs to"
    return places[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_imports_only_those_before_it(package, imports):
    wrong = [
        f"{name} imports {other}"
        for name, found in imports.items()
        for other in sorted(found.ours)
        if name.split(".")[0] == other.split(".")[0] == package and place(other) > place(name)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_of_the_table_is_there(package):
    named = [name for rooms in ROOMS[package] for name in rooms.split()]
    there = {p.stem for p in (ROOT / package).iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert sorted(named) == sorted(there)


def test_only_some_files_import_ours_within_a_function(imports):
    late = {FILES[name].relative_to(ROOT).as_posix() for name, found in imports.items() if found.late}
    assert late == set(LATE)


def test_no_room_is_crowded():
    folders = {file.parent for file in FILES.values()}
    crowded = {}
    for folder in folders:
        files = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
        if folder.relative_to(ROOT).as_posix() not in DISCOVERED and len(files) > MOST:
            crowded[folder.name] = files
    assert crowded == {}
    assert {(ROOT / folder).is_dir() for folder in DISCOVERED} == {True}


def test_no_file_is_long():
    long = {name: count for name, file in FILES.items() if (count := len(file.read_text("utf-8").splitlines())) > 500}
    assert long == {}


def test_storing_a_result_loads_no_drawing():
    program = "import leaderboard.store.results, sys\nprint(*{'PIL', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def loaded_by(statement: str, packages: tuple[str, ...] = HEAVY) -> set[str]:
    """The packages, of those named, that a statement leaves in ``sys.modules`` of a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*[m for m in {packages!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import benchmark_data; benchmark_data.load('xysquares').images([0])",
        "import benchmark_data.commands.data",
        "import benchmark_data.reading; benchmark_data.reading.Images('xysquares')[[0]]",
        "import leaderboard",
        "import leaderboard.commands.board",
        "import baselines",
        "import baselines.commands.train",
    ],
)
def test_imports_are_light(statement):
    assert loaded_by(statement) == set()


@pytest.mark.parametrize(
    "statement",
    [
        "import benchmark_data",
        "import baselines",
        "import benchmark_data.commands.data",
        "import benchmark_data.commands.doctor",
        "import baselines.commands.train",
        "import baselines.commands.study",
        "import leaderboard.commands.board",
    ],
)
def test_a_package_and_the_help_of_commands_load_without_numpy(statement):
    assert loaded_by(statement, ("numpy", "PIL", "pandas", "http.server")) == set()


def test_submodules_need_no_import_of_their_own():
    program = (
        "import benchmark_data, leaderboard; leaderboard.metrics.mig.score; leaderboard.comparisons.cka.compare; "
        "leaderboard.analyses.udr_absent"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("AttributeError: module 'leaderboard.analyses' has no attribute 'udr_absent'\n")


@pytest.mark.parametrize("package", ["benchmark_data", "baselines"])
def test_what_a_package_passes_on_is_listed_before_it_is_loaded(package):
    program = f"import {package} as p; print(sorted(set(p.__all__) - set(dir(p)))); p.absent"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n"
    assert f"AttributeError: module '{package}' has no attribute 'absent'" in done.stderr


def test_loaded_by_can_fail():
    assert loaded_by("import matplotlib") == {"matplotlib"}
