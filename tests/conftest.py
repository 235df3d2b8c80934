"""What several test modules share: golden files (``--update-golden`` rewrites them), a Ray cluster, a browser, and
shapes in types, held at run time.

Public functions say the shapes of their arrays in their types, as ``Real[ArrayLike, "n L"]`` (jaxtyping's notation: a
dtype, then an axis for each word). A name means one length within one call. The types are looked at in tests alone, so
that users need no package for them. Users may pass lists, and a function refuses what it cannot take in words of its
own; so arguments are looked at once the function has taken them.
"""

from __future__ import annotations

import ast
import base64
import functools
import importlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
from PIL import Image

from benchmark_data import Dataset, FactorSpace, FactorTable, draws

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing")
    parser.addoption(
        "--also",
        type=Path,
        metavar="FOLDER",
        help="test the files in FOLDER/datasets, FOLDER/objectives and FOLDER/metrics as if they were in the packages",
    )
    parser.addoption("--registry", action="store_true", help="ask the package index whether the extras can be had")
    parser.addoption("--kills", type=int, default=4, help="how often the run of test_resume.py is killed")


FOLDERS = {
    "datasets": "benchmark_data.datasets",
    "objectives": "baselines.objectives",
    "metrics": "leaderboard.metrics",
}
"""Where what is discovered lies."""


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts what is in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start inherit it
    folder = config.getoption("--also")
    if folder:
        for name, package in FOLDERS.items():
            importlib.import_module(package).__path__.append(str(folder.resolve() / name))


@pytest.fixture
def golden_sheet(request):
    """Compare 4 x 8 fixed images of a dataset, chosen by the counter-based generator, with a PNG pixel by pixel."""

    def check(dataset, name):
        rows = draws.permutation(1, len(dataset))[:32]
        height, width, channels = dataset.image_shape
        grid = dataset.images(rows).reshape(4, 8, height, width, channels).swapaxes(1, 2)
        sheet = grid.reshape(4 * height, 8 * width, channels).squeeze()
        path = GOLDEN / f"{name}.png"
        if request.config.getoption("--update-golden"):
            Image.fromarray(sheet).save(path, optimize=True)
        with Image.open(path) as picture:
            assert np.array_equal(np.asarray(picture), sheet), f"{path.name} differs: look at it before updating it"

    return check


@pytest.fixture
def real():
    """The folder of real images, which the project does not ship."""
    if not os.environ.get("OFFAXIS_REAL"):
        pytest.skip("OFFAXIS_REAL does not name the folder of real images")
    return Path(os.environ["OFFAXIS_REAL"])


@pytest.fixture(scope="module")
def cluster():
    """A cluster on this machine, of one node with one core.

    A node that dies is missed after some ten seconds, one that is slow to answer because others need the processor
    after minutes. Workers get their share of it: Ray would give them the lowest priority but four.
    """
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'offaxis[cluster]'")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    missed = {
        "health_check_initial_delay_ms": 1000,
        "health_check_period_ms": 1000,
        "health_check_failure_threshold": 10,
        "health_check_timeout_ms": 60_000,
        "worker_niceness": 0,
    }
    node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8, "_system_config": missed}
    made = Cluster(initialize_head=True, head_node_args=node)
    yield made
    made.shutdown()


class Browser:
    """Headless Chromium, driven over a pipe by its own debugging protocol, so that no driver needs installing."""

    def __init__(self, program: str, profile: Path) -> None:
        here_in, there_out = os.pipe()
        there_in, here_out = os.pipe()

        def as_3_and_4() -> None:
            os.dup2(there_in, 3)
            os.dup2(there_out, 4)

        for descriptor in (there_in, there_out):
            os.set_inheritable(descriptor, True)
        self.process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            preexec_fn=as_3_and_4,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there_in)
        os.close(there_out)
        self.reading, self.writing = os.fdopen(here_in, "rb"), os.fdopen(here_out, "wb")
        self.events: list[dict] = []
        self.count = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments):
        self.count += 1
        message = {"id": self.count, "method": method, "params": arguments}
        if self.session:
            message["sessionId"] = self.session
        self.writing.write(json.dumps(message).encode() + b"\0")
        self.writing.flush()
        while True:
            answer = self.next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def next(self) -> dict:
        content = bytearray()
        while (letter := self.reading.read(1)) != b"\0":
            assert letter, "Chromium has gone"
            content += letter
        message = json.loads(content)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, page: Path | str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file, or an address."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page if isinstance(page, str) else page.absolute().as_uri())
        self._loaded()

    def follow(self, script: str) -> None:
        """Evaluate what leads to another page, and wait for that page."""
        self.events.clear()
        self.run(script)
        self._loaded()

    def _loaded(self) -> None:
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.next()

    def run(self, script: str):
        """Evaluate an expression in the page and give its value."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    @property
    def complaints(self) -> list[str]:
        """Console errors, exceptions and log entries since the page was opened."""
        self.run("1")
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in kinds]

    @property
    def requests(self) -> list[str]:
        """What was asked for since the page was opened, data URIs left out."""
        self.run("1")
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith("data:")]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(300)
        self.reading.close()
        self.writing.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium; skipped where there is none, except in continuous integration."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if program is None:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail("no Chromium: install it, since CI must test the pages in a browser")
        pytest.skip("no Chromium found; install the package chromium to test the pages in a browser")
    made = Browser(program, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def shapes(function):
    """Which parameters, and ``return``, have a shape in their type: name -> jaxtyping's type of such arrays.

    Arrays, arrays or None, and mappings to arrays are looked at.
    """
    found = {}
    for name, annotation in function.__annotations__.items():
        node = ast.parse(annotation, mode="eval").body if isinstance(annotation, str) else None
        if isinstance(node, ast.BinOp):
            node = node.left
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Mapping":
            node = node.slice.elts[1]
        if isinstance(node, ast.Subscript) and hasattr(jaxtyping, getattr(node.value, "id", "")):
            dtype, axes = getattr(jaxtyping, node.value.id), ast.literal_eval(node.slice.elts[1])
            found[name] = dtype[np.ndarray, axes]
    return found


def checked(function):
    """Make a function fail that took or gave arrays of other shapes than its types say."""
    wanted, signature = shapes(function), inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        returned = function(*args, **kwargs)
        arrays = {**signature.bind(*args, **kwargs).arguments, "return": returned}
        with jaxtyping.jaxtyped("context"):
            for name, kind in wanted.items():
                given = arrays.get(name)
                for each in given.values() if isinstance(given, Mapping) else [given] if given is not None else []:
                    array = np.asarray(each)
                    array = array.astype(np.int8) if array.dtype == bool and "Bool[" not in kind.__name__ else array
                    if not isinstance(array, kind):
                        raise TypeError(f"{function.__qualname__}: {name}: {array.dtype} {array.shape} is no {kind}")
        return returned

    return call


@pytest.fixture(scope="session")
def page_tables():
    """Give an import function for the modules of docs/page_tables, imported as docs/pages.py imports them."""
    folder = str(Path(__file__).parents[1] / "docs")
    sys.path.insert(0, folder)
    yield lambda name: importlib.import_module(f"page_tables.{name}")
    sys.path.remove(folder)


@pytest.fixture(scope="session")
def shape_checks():
    """What the types say of shapes, and the function that holds another one to them."""
    return types.SimpleNamespace(shapes=shapes, checked=checked)


@pytest.fixture(scope="session", autouse=True)
def _types_are_checked():
    """Hold datasets, factors, and what measures and is loaded, to the shapes in their types."""
    rooms = r"leaderboard\.(metrics|comparisons|analyses|scoring)\.[a-z]|benchmark_data\.inspect\.distances"
    loaded = [module for name, module in sys.modules.items() if re.match(rooms, name)]
    with pytest.MonkeyPatch.context() as patch:
        for owner in (Dataset, FactorSpace, FactorTable, *loaded):
            for name, value in list(vars(owner).items()):
                if isinstance(value, types.FunctionType) and not name.startswith("_") and shapes(value):
                    patch.setattr(owner, name, checked(value))
        yield
