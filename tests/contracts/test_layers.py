"""The one-way arrow between the packages, and what an import may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("benchmark_data", "baselines", "leaderboard")
MAY_IMPORT = {
    "benchmark_data": {"benchmark_data"},
    "leaderboard": {"benchmark_data", "leaderboard"},
    "baselines": {"benchmark_data", "leaderboard", "baselines"},
}
HEAVY = ("tensorflow", "keras", "torch", "jax", "datasets", "tensorflow_datasets", "matplotlib", "numba", "ray")


def imported(source: str) -> set[str]:
    """Top-level names of the modules that a source text imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or ".").split(".")[0] if not node.level else ".")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_downwards_only(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for file in files:
        siblings = imported(file.read_text()) & {*PACKAGES, "."}
        assert siblings <= MAY_IMPORT[package], f"{file.relative_to(ROOT)} imports {siblings - MAY_IMPORT[package]}"


def test_the_judge_needs_no_keras():
    for package in ("benchmark_data", "leaderboard"):
        for file in (ROOT / package).rglob("*.py"):
            assert "keras" not in imported(file.read_text()), file


def test_imported_sees_every_form():
    source = "import a.b\nfrom c import d\nfrom . import e\ndef f():\n    import g"
    assert imported(source) == {"a", "c", ".", "g"}


def loaded_by(statement: str) -> set[str]:
    """The heavy packages that a statement leaves in ``sys.modules`` of a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import benchmark_data; benchmark_data.load('xysquares').images([0])",
        "import benchmark_data.cli",
        "import benchmark_data.reading; benchmark_data.reading.Images('xysquares')[[0]]",
        "import leaderboard",
        "import leaderboard.commands.board",
        "import baselines",
        "import baselines.cli",
    ],
)
def test_imports_are_light(statement):
    assert loaded_by(statement) == set()


def test_loaded_by_can_fail():
    assert loaded_by("import matplotlib") == {"matplotlib"}
