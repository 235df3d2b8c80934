"""Run folders of a toy dataset, so that the board can be tested without training anything."""

from __future__ import annotations

import base64
import datetime
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data.dataset import Dataset
from benchmark_data.errors import UnknownName
from benchmark_data.factors import Factor, FactorSpace
from benchmark_data.sources import Rendered
from leaderboard import protocol
from leaderboard.scoring import evaluate
from leaderboard.store import results


def toy(config: str = "small", sizes: tuple[int, ...] = (4, 3, 5)) -> Dataset:
    """A dataset of 60 images: one bright pixel for each factor's class id."""

    def render(labels):
        images = np.zeros((len(labels), 8, 8, 3), np.uint8)
        for column in range(labels.shape[1]):
            images[np.arange(len(labels)), column, labels[:, column]] = 255
        return images

    return Dataset(
        name="toy",
        config=config,
        version="1.0.0",
        space=FactorSpace(*(Factor(f"f{i}", range(size)) for i, size in enumerate(sizes))),
        source=Rendered(render),
        image_shape=(8, 8, 3),
        description="One bright pixel for each factor.",
        citation="@misc{toy}",
        licence="MIT",
        homepage="https://example.org",
    )


@pytest.fixture
def toys(monkeypatch):
    """Put ``toy/spacing_1``, ``toy/spacing_8`` and ``toy/small`` in the place of the real datasets."""
    datasets = {f"toy/{config}": toy(config) for config in ("small", "spacing_1", "spacing_8")}
    monkeypatch.setattr(benchmark_data, "names", lambda: ("toy",))
    monkeypatch.setattr(benchmark_data, "configs", lambda name: tuple(datasets))

    def load(name):
        found = datasets.get(name if "/" in name else f"{name}/small")
        if found is None:
            raise UnknownName("dataset", name, datasets)
        return found

    monkeypatch.setattr(benchmark_data, "load", load)
    _forget()
    yield datasets
    _forget()


def _forget():
    protocol.task.cache_clear()
    evaluate.dataset_digest.cache_clear()


@pytest.fixture
def only_mig(monkeypatch):
    """Leave out the slow trees of DCI."""
    tier = protocol.Tier("smoke", "For tests.", (protocol.Measurement("mig"),))
    monkeypatch.setattr(protocol, "TIERS", {"smoke": tier})


@pytest.fixture
def run_folder(toys, tmp_path):
    """Make a run folder: codes are the factors with noise."""

    def make(method="beta_vae", dataset="toy/small", seed=0, noise=0.1, *, codes=None, indices=None, **fields):
        task = protocol.task(dataset)
        rng = np.random.default_rng([ord(letter) for letter in f"{method} {seed}"])
        labels = task.load().labels(task.indices)
        codes = labels + noise * rng.standard_normal(labels.shape) if codes is None else codes
        folder = tmp_path / "runs" / f"{dataset.replace('/', '-')}-{method}-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(
            folder / "codes.npz",
            indices=task.indices if indices is None else indices,
            codes=np.asarray(codes, np.float32),
        )
        version, digest = evaluate.dataset_digest(dataset)
        run = {
            "schema": 1,
            "method": method,
            "dataset": dataset,
            "dataset_version": version,
            "dataset_digest": digest.model_dump(),
            "seed": seed,
            "supervision": "reference" if method in ("pca", "ground_truth", "random_encoder") else "unsupervised",
            "selection": "none",
            "hyperparameters": {"beta": 1.0},
            "budget": {"steps": 100, "images": 6400, "seconds": 1.5, "device": "1 core"},
            "versions": {"numpy": np.__version__},
            "about": {"title": "β-VAE"} if method == "beta_vae" else {},
        }
        run |= fields
        (folder / "run.json").write_text(json.dumps({k: v for k, v in run.items() if v is not None}), "utf-8")
        return folder

    return make


@pytest.fixture
def made_result():
    """Make a result of made-up scores: (task, method, MIG of each seed) -> Result."""

    def make(task, method, *migs, about=None, quarantine="", **fields):
        given = {
            "tier": "smoke",
            "status": "recomputed",
            "date": datetime.date(2026, 1, 2),
            "dataset_version": "1.0.0",
            "dataset_digest": results.Digests(pixels="0" * 64, factors="0" * 64),
            "rows_digest": "0" * 64,
            "latents": 10,
            "samples": {"mig": results.Sample(train=10_000, test=0, arguments={"bins": 20})},
            "supervision": "reference" if method in ("pca", "ground_truth", "random_encoder") else "unsupervised",
            "selection": "none",
            "hyperparameters": {},
            "budget": results.Budget(steps=1_000, images=64_000, seconds=12.0, device="2 cores"),
            "trained_with": {},
            "scored_with": {},
        } | fields
        runs = [
            results.Run(**given, seed=seed, scores={"mig": mig}, codes_digest=f"{seed:064x}")
            for seed, mig in enumerate(migs)
        ]
        return results.result(f"{task}@v1", method, runs, about=about, quarantine=quarantine)

    return make


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

    def open(self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.absolute().as_uri())
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
        self.process.wait(20)
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
