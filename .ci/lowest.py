"""Tests the lowest declared versions in an environment of its own: `python .ci/lowest.py`.

They are those of the base dependencies and of the extras `archives`, `metrics` and `board`, read from pyproject.toml.
What runs are the tests of `benchmark_data` that need no other extra, and those of the metrics. `--to FOLDER` keeps
the environment.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("archives", "metrics", "board")
TESTS = ("tests/benchmark_data", "tests/leaderboard/metrics", "tests/leaderboard/test_arrays.py")
OTHER_EXTRAS = ("tests/benchmark_data/test_ray.py", "tests/benchmark_data/variants/test_pairs.py")
"""Tests among them that need another extra, all of them."""

TOOLS = ("pytest", "pytest-timeout", "hypothesis", "packaging", "jaxtyping")


def lowest() -> list[str]:
    """Return the dependencies, each pinned to its lowest declared version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = (project["optional-dependencies"][extra] for extra in EXTRAS)
    declared = dict.fromkeys(itertools.chain(project["dependencies"], *extras))
    return [dependency.replace(">=", "==") for dependency in declared if not dependency.startswith("offaxis[")]


def main() -> int:
    """Make the environment, say what is in it, and run the tests.

    Returns:
        0 if they pass.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, help="a folder for the environment; a temporary one if not given")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.to or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        venv.create(folder, with_pip=True, clear=True)
        python = folder / "bin" / "python"
        print("lowest versions:", *lowest(), flush=True)
        steps = (
            ["-m", "pip", "install", "--quiet", *lowest(), *TOOLS],
            ["-m", "pip", "install", "--quiet", "--no-deps", "--editable", str(ROOT)],
            ["-m", "pytest", "--light", "-q", *TESTS, *(f"--ignore={file}" for file in OTHER_EXTRAS)],
        )
        for step in steps:
            if (status := subprocess.run([str(python), *step], cwd=ROOT, check=False).returncode) != 0:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
