"""The wheel, where nothing is installed but what it requires itself: it is light, and missing extras are one line.

The packages that no extra brings are computed from what is installed here, by following requirements; all others are
blocked. So no package index is needed.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[1]
MEGABYTES = 5
INSTALLED_MEGABYTES = 120
"""Of the wheel and all that it requires, unpacked, with the bytecode that pip compiles of what it requires."""

BLOCKER = """
import importlib.abc, os, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

import importlib.util, json
BLOCKED = set(json.loads(os.environ["OFFAXIS_TEST_BLOCKED"]))
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.partition(".")[0] in BLOCKED else real(name, package)
sys.meta_path.insert(0, Blocker())
module, function = sys.argv[1].split(":")
sys.argv[:2] = [sys.argv[2]]
del sys.argv[1:2]
"""


def requirements(texts):
    """The packages that are required whatever the extras."""
    return {re.match(r"[\w.-]+", text)[0] for text in texts if "extra ==" not in text}


def closure(names):
    """The packages that these packages require, and they themselves."""
    found, waiting = set(), {normal(name) for name in names}
    while waiting:
        name = waiting.pop()
        found.add(name)
        try:
            more = requirements(importlib.metadata.requires(name) or [])
        except importlib.metadata.PackageNotFoundError:
            continue  # another platform's
        waiting |= {normal(each) for each in more} - found
    return found


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    program = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("*.whl")
    return file


def required(wheel):
    """The packages that the wheel requires without extras, and what they require."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    return closure(requirements(line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist")))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Run a program of the wheel without extras: (exit code, standard output, standard error)."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    kept = required(wheel) | {"offaxis"}
    blocked = [
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if not {normal(owner) for owner in owners} & kept
    ]
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    main = (
        "import importlib\n"
        "loaded = importlib.import_module(module)\n"
        f"assert loaded.__file__.startswith({str(site)!r}), loaded.__file__\n"
        "getattr(loaded, function)()\n"
    )

    def run(*arguments):
        program = BLOCKER.replace("sys.argv[:2] = [sys.argv[2]]\ndel sys.argv[1:2]\n", "sys.argv[:2] = []\n") + main
        environment = os.environ | {
            "PYTHONPATH": str(site),
            "OFFAXIS_TEST_BLOCKED": json.dumps(blocked),
            "COLUMNS": "100",
        }
        done = subprocess.run(
            [sys.executable, "-c", program, scripts["offaxis"], *map(str, arguments)],
            cwd=site,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_wheel_is_light_and_holds_no_results(wheel):
    assert wheel.stat().st_size <= MEGABYTES * 10**6
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "benchmark_data/datasets/xysquares.py" in names
    assert "leaderboard/report/site/templates/index.html" in names
    assert [name for name in names if name.startswith(("leaderboard/published", "tests", "docs"))] == []
    latents = sorted(Path(name).stem for name in names if name.startswith("benchmark_data/variants/artifacts/"))
    kinds = ("conv_vae", "pca")
    assert latents == [f"{base}_{kind}" for base in ("dsprites", "room3d") for kind in kinds]


def test_the_wheel_and_what_it_requires_are_light(wheel):
    with zipfile.ZipFile(wheel) as archive:
        size = sum(member.file_size for member in archive.infolist())
    for name in required(wheel):
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # another platform's
        size += sum(path.stat().st_size for path in {Path(file.locate()) for file in files} if path.is_file())
    assert 20e6 < size <= INSTALLED_MEGABYTES * 10**6


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["offaxis", "--version"], "offaxis "),
        (["offaxis", "data", "list"], "xysquares/spacing_4"),
        (["offaxis", "data", "info", "dsprites"], "737,280"),
        (["offaxis", "data", "info", "xyobject/plain", "--splits"], "composition"),
        (["offaxis", "data", "show", "xyobject", "--to", "sheet.png"], "sheet.png: "),
        (["offaxis", "data", "verify", "xyobject"], " ok"),
        (["offaxis", "data", "prepare", "xyobject"], "75,000 images, ready"),
        (["offaxis", "data", "info", "dsprites_perturbed/conv32_eps10"], "on disk|rendered"),
        (["offaxis", "doctor"], "extra metrics"),
        (["offaxis", "board", "tasks", "xyobject"], "xyobject/plain@v1"),
        (["offaxis", "board", "--help"], "score"),
        (["offaxis", "train", "--help"], "sweep"),
        (["offaxis", "study", "--help"], "run"),
    ],
    ids=lambda value: "_".join(value[1:3]) if isinstance(value, list) else "",
)
def test_what_needs_no_extra_works(command, shown, installed):
    code, out, err = installed(*command)
    assert code == 0, err
    assert re.search(shown, out)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["offaxis", "data", "prepare", "dsprites_archive"], "archives"),
        (["offaxis", "data", "audit", "xyobject"], "metrics"),
        (["offaxis", "data", "build", "xyobject"], "tfds"),
        (["offaxis", "data", "publish", "xyobject", "--to", "hub"], "hf"),
        (["offaxis", "board", "show", "results"], "board"),
        (["offaxis", "board", "score", "codes.npz"], "metrics"),
        (["offaxis", "data", "verify", "xyobject", "--hf", "copies"], "hf"),
        (["offaxis", "data", "verify", "xyobject", "--tfds", "copies"], "tfds"),
        (["offaxis", "train", "list"], "train"),
        (["offaxis", "study", "run", "2202.13341/fig8", "--tier", "smoke"], "train"),
    ],
    ids=lambda value: "_".join(value[1:3]) if isinstance(value, list) else value,
)
def test_what_needs_an_extra_names_it_in_one_line(command, extra, installed):
    code, out, err = installed(*command)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert re.fullmatch(
        rf"error: .*: expected the package \S+, received no such package\. .*'offaxis\[{extra}\]'", line
    )


def test_published_results_are_said_to_be_elsewhere(installed):
    code, out, err = installed("offaxis", "board", "check")
    assert (code, out) == (2, "")
    assert "they are only in a clone of the repository" in err
    assert "Name a results tree" in err
