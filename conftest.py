"""For every test: the user's caches are out of reach, and ``--light`` leaves out what needs a heavy package.

A home folder of the test run's own stands in for the user's, and every variable that could lead to another place of the
user's is taken away. ``--prepared`` leaves the datasets that the user has prepared where tests can read them.

With ``--light`` a test is skipped when it imports TensorFlow, Keras, jax, PyTorch or Ray, directly or not, or starts
another program than git, such as a browser or another Python. No list of such tests is kept.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs
import pytest
import threadpoolctl

HOME = "OFFAXIS_TEST_HOME"
"""The home folder of a test run, for the workers and programs that it starts."""

PLACES = (
    "OFFAXIS_CACHE",
    "OFFAXIS_MANUAL_DIR",
    "TFDS_DATA_DIR",
    "HF_HOME",
    "HF_DATASETS_CACHE",
    "HF_HUB_CACHE",
    "KERAS_HOME",
    "TORCH_HOME",
    "MPLCONFIGDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)
"""Variables that say where the user keeps things."""

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
"""Variables that say with how many threads libraries compute. Before numpy is loaded, they are set to one here: tests
run beside each other on all cores, where several threads each wait for one another and take processor time for it."""

for variable in THREADS:
    os.environ.setdefault(variable, "1")
threadpoolctl.threadpool_limits(1)  # where a plugin of pytest has loaded numpy before

collect_ignore = (
    [] if importlib.util.find_spec("torch") else ["benchmark_data/torch.py", "baselines/engines/torch_engine.py"]
)
"""Doctests of a module whose package is not installed. Tests proper say so and skip."""

HEAVY = {"tensorflow", "tensorflow_datasets", "keras", "jax", "torch", "ray"}


def pytest_addoption(parser):
    parser.addoption("--light", action="store_true", help="skip tests that need TensorFlow, jax, Ray, a browser, ...")
    parser.addoption(
        "--whole", action="store_true", help="test all objectives, architectures and configs, and what takes a minute"
    )
    parser.addoption("--prepared", action="store_true", help="let tests read the datasets in your own cache")


def pytest_configure(config):
    if config.getoption("--whole"):
        os.environ["OFFAXIS_TEST_WHOLE"] = "1"  # for what is chosen when a file is collected
    if HOME not in os.environ:
        kept = os.environ.get("OFFAXIS_CACHE") or platformdirs.user_cache_dir("offaxis")
        home = Path(tempfile.mkdtemp(prefix="offaxis-tests-"))
        config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
        for place in PLACES:
            os.environ.pop(place, None)
        os.environ |= {HOME: str(home), "HOME": str(home), "USERPROFILE": str(home)}
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # what a failed test wrote stays there
        tempfile.tempdir = str(home / "temporary")
        os.mkdir(tempfile.tempdir)
        os.environ |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), tempfile.tempdir)
        os.environ["OFFAXIS_CACHE"] = kept if config.getoption("--prepared") else str(home / "offaxis")


def pytest_collection_modifyitems(config, items):
    """Leave what is marked ``whole`` to ``--whole``, which a weekly workflow runs."""
    for item in items:
        if item.get_closest_marker("whole") and not config.getoption("--whole"):
            item.add_marker(pytest.mark.skip(reason="takes long: pytest --whole"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Begin with what is collected: pytest-xdist starts its workers, and these ask the system what it is, before.

    What is imported here stays until the end, so that there is nothing for the garbage collector in it.
    """
    starts_workers = getattr(session.config.option, "numprocesses", None) and not hasattr(session.config, "workerinput")
    if session.config.getoption("--light") and not starts_workers:
        sys.meta_path.insert(0, NoHeavyPackage())
        subprocess.Popen.__init__ = only_git(subprocess.Popen.__init__)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path, config):
    """Leave out doctests of modules that import a heavy package: pytest would keep such a module, half imported."""
    if config.getoption("--light") and collection_path.parent.name == "benchmark_data":
        return collection_path.name in ("hf.py", "tfds.py", "torch.py") or None


class NoHeavyPackage(importlib.abc.MetaPathFinder):
    """Skips whatever imports a heavy package."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            pytest.skip(f"needs {name}, which --light leaves out", allow_module_level=True)


def only_git(start):
    """Skip whatever starts another program than git, or than pgrep, by which joblib ends its processes."""

    def init(self, args, *rest, **options):
        program = Path(args if isinstance(args, str) else str(args[0])).name
        if not program.startswith(("git", "pgrep")):
            pytest.skip(f"starts {program}, which --light leaves out", allow_module_level=True)
        start(self, args, *rest, **options)

    return init
