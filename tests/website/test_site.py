"""The site as `make docs` builds it: strictly, with every page, for phones and desktops, asking nobody for anything."""

from __future__ import annotations

import functools
import http.server
import importlib.resources
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import benchmark_data
from baselines import objectives
from benchmark_data import discovery

ROOT = Path(__file__).parents[2]
LOOKED_AT = (
    "index.html",
    "questions.html",
    "datasets/xysquares.html",
    "metrics/mig.html",
    "objectives/beta_vae.html",
    "api/benchmark_data.html",
    "tutorials/see_a_vae_fail.html",
)
"""A page of each kind."""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site as `make docs` does, into another folder. A minute of one core."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def address(site):
    """Serve the site on this machine, since browsers keep a page that is a file from reading the search index."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_make_docs_is_strict():
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ndocs: setup\n")[2].partition("\n\n")[0]
    assert "mkdocs build --strict" in recipe


def test_there_is_a_page_for_everything(site):
    expected = {f"datasets/{name}.html" for name in benchmark_data.names()}
    expected |= {f"metrics/{name}.html" for name in discovery.names("leaderboard.metrics")}
    expected |= {f"objectives/{name}.html" for name in objectives.names()}
    expected |= {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")}
    expected |= {
        f"tutorials/{page.stem}.{kind}" for page in (ROOT / "docs/tutorials").glob("*.md") for kind in ("html", "ipynb")
    }
    expected |= {"index.html", "contributing.html", "changelog.html", "security.html", *LOOKED_AT}
    assert {name for name in expected if not (site / name).is_file()} == set()


def test_no_page_that_is_made_is_kept_in_the_repository(site):
    for folder in ("datasets", "metrics", "objectives", "api"):
        assert not (ROOT / "docs" / folder).exists()


def test_a_warning_fails_the_build(tmp_path):
    """The configuration that is built strictly takes each kind of broken link for a warning."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Start\n\n[a](gone.md) [b](#gone) [c](/gone)\n", "utf-8")
    validation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nvalidation:\n")[2].partition("\n\n")[0]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\nvalidation:\n{validation}\n", "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("WARNING") == 3


@pytest.mark.parametrize("page", LOOKED_AT)
def test_nothing_is_asked_of_other_servers(page, address, browser):
    browser.open(f"{address}/{page}")
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith((f"{address}/", "blob:"))] == []
    assert browser.run("[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)") == []


@pytest.mark.parametrize("page", [*LOOKED_AT, "reproduction.html", "datasets.html", "metrics.html"])
def test_no_page_scrolls_sideways_on_a_phone(page, address, browser):
    browser.open(f"{address}/{page}", width=390, height=844)
    assert browser.run("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("page", "width", "dark"),
    [
        *(("index.html", width, dark) for width in (390, 1300) for dark in (False, True)),
        *((page, 390, False) for page in LOOKED_AT[1:]),  # as the first page has what is around each of them
        *((page, 1300, True) for page in LOOKED_AT[1:]),
    ],
)
def test_axe_finds_no_serious_fault(page, width, dark, address, browser):
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    browser.open(f"{address}/{page}", dark=dark)
    browser.run("localStorage.clear()")  # as one who has not been there: the theme keeps a choice of colours
    browser.open(f"{address}/{page}", width=width, dark=dark)
    assert browser.run("document.body.getAttribute('data-md-color-scheme')") == ("slate" if dark else "default")
    browser.run(f"{axe}; 1")
    found = browser.run(
        "axe.run({resultTypes: ['violations']})"
        ".then((r) => r.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html}`))"
    )
    assert [text for text in found if text.startswith(("serious", "critical"))] == []


def test_the_search_finds_a_dataset(address, browser):
    browser.open(f"{address}/index.html")
    found = browser.run(
        """(async () => {
            const box = document.querySelector('[data-md-component=search-query]');
            document.querySelector('[data-md-toggle=search]').click();
            box.focus(); box.value = 'xysquares'; box.dispatchEvent(new Event('keyup', {bubbles: true}));
            for (let i = 0; i < 200; i++) {
                const links = [...document.querySelectorAll('.md-search-result__link')].map((l) => l.href);
                if (links.length) return links;
                await new Promise((done) => setTimeout(done, 100));
            }
            return [];
        })()"""
    )
    assert any("datasets/xysquares.html" in link for link in found)
