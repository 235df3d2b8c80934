"""What does a board of thousands of results cost: to build, to ask and to look at?

    python benchmarks/board_size.py

The 13 tasks with most published methods in tier desk are filled up to 384 methods each: copies of the published ones
under other names, with the gaps that MIG is made of scaled, so that methods differ. Every step is a process of its own;
what counts is its processor time and its peak memory, which other work on the machine changes least. With ``chromium``
the first page is opened at 1,300 px, and the time until it has been painted with its first table is read from the page.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmark_data import discovery, draws
from leaderboard import protocol
from leaderboard.store import results, results_tree

PUBLISHED = Path(results.__file__).parents[1] / "published"
TIER = "desk"
TASKS = 13


def fill(root: Path, methods: int, seeds: int) -> int:
    """Write a results tree.

    Args:
        root: a new folder.
        methods: on each task, among them the references.
        seeds: of each method.

    Returns:
        How many result files there are.
    """
    by_task = _by_task()
    names = sorted(set.intersection(*(set(published) for published in by_task.values())))
    for number, (task, published) in enumerate(by_task.items()):
        folder = results_tree.path(root, task, "x").parent
        folder.mkdir(parents=True)
        for name in ("sheet.png", "factors.png"):
            picture = results_tree.path(PUBLISHED, task, "x").with_name(name)
            if picture.is_file():
                shutil.copy(picture, folder / name)
        references = [name for name in names if published[name].runs[0].supervision == "reference"]
        trained = [name for name in names if name not in references]
        for k in range(methods):
            name = references[k] if k < len(references) else trained[k % len(trained)]
            base, is_reference = published[name], k < len(references)
            method = name if is_reference else f"{name}_{k}"
            result = results.result(
                task,
                method,
                [run.model_copy(update={"method": method}) for run in _runs(base.runs_in(TIER), k, number, seeds)],
                about=base.about if is_reference else base.about.model_copy(update={"title": f"{base.title} {k}"}),
            )
            text = json.dumps(result.model_dump(mode="json", by_alias=True), indent=2, sort_keys=True)
            results_tree.path(root, task, result.method).write_text(text, "utf-8")
    return methods * len(by_task)


def _by_task() -> dict[str, dict[str, results.Result]]:
    by_task: dict[str, dict[str, results.Result]] = {}
    for result in results_tree.read_all(PUBLISHED):
        if TIER in result.tiers:
            by_task.setdefault(result.task, {})[result.method] = result
    return dict(sorted(by_task.items(), key=lambda item: -len(item[1]))[:TASKS])


def _runs(runs: Sequence[results.Scored], method: int, task: int, seeds: int) -> list[results.Scored]:
    """Return runs that are made of those of a published result: the gaps of MIG are scaled by chance."""
    combine = discovery.find("leaderboard.metrics", "mig", kind="metric").combine
    skill = draws.uniform(0, [method], 1)[0, 0]
    copies = []
    for seed, luck in enumerate(draws.uniform(1 + method, [task], seeds)[0]):
        run = runs[seed % len(runs)]
        share = 0.3 + 0.6 * skill + 0.1 * luck
        gaps = tuple((share * np.array(run.parts["mig"]["gaps"])).round(6).tolist())
        scores = run.scores | {"mig": round(combine({"gaps": gaps})["mig"], 6)}
        parts = run.parts | {"mig": {"gaps": gaps}}
        digest = hashlib.sha256(f"{method} {task} {seed}".encode()).hexdigest()
        copies.append(run.model_copy(update={"seed": seed, "scores": scores, "parts": parts, "codes_digest": digest}))
    return copies


def measure(title: str, *command: str) -> None:
    """Run a command; print its processor time and the peak memory of its process.

    Args:
        title: what it does, in words.
        *command: program and arguments.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    print(f"{title:<44} {usage.ru_utime + usage.ru_stime:8.2f} s {usage.ru_maxrss / 1024:8.0f} MiB", flush=True)


def board_command(*arguments: str) -> list[str]:
    """Return a command line of ``offaxis board``."""
    return [sys.executable, "-m", "baselines.program", "board", *arguments]


def paint_times(page: Path, chromium: str) -> str:
    """Open a page, and read when it had been painted with a table on it.

    Args:
        page: an HTML file.
        chromium: the program.

    Returns:
        Milliseconds since the navigation, and the number of nodes, in words.
    """
    probe = (
        "<script>addEventListener('load', () => requestAnimationFrame(() => setTimeout(() => {"
        "const paint = performance.getEntriesByName('first-contentful-paint')[0];"
        "document.title = `seen ${Math.round(paint ? paint.startTime : -1)} ms to the first paint, ` +"
        "`${Math.round(performance.now())} ms to the whole page, ` +"
        "`${document.querySelectorAll('*').length} nodes`; }, 0)));</script>"
    )
    text = page.read_text("utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace(
        "</head>", probe + "</head>", 1
    )
    with tempfile.TemporaryDirectory() as folder:
        copy = page.with_name("probe.html")
        copy.write_text(text, "utf-8")
        try:
            dom = subprocess.run(
                [
                    *(chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"),
                    *("--window-size=1300,900", "--virtual-time-budget=20000", "--dump-dom", copy.as_uri()),
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        finally:
            copy.unlink()
    match = re.search(r"<title>seen (.*?)</title>", dom)
    return html.unescape(match[1]) if match else "the page said nothing"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--methods", type=int, default=384, help="on each task")
    parser.add_argument("--seeds", type=int, default=protocol.SEEDS, help="of each method; 5 are ranked")
    parser.add_argument("--at", type=Path, help="keep the results and the board in this folder, and use what is there")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "", help="the browser's program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.at or Path(scratch)
        root, site = folder / "results", folder / "site"
        if not root.exists():
            fill(root, options.methods, options.seeds)
        files = results_tree.files(root)
        print(f"{len(files):,} results, {len({file.parent for file in files})} tasks")
        shutil.rmtree(site, ignore_errors=True)
        measure("help", *board_command("--help"))
        measure("build", *board_command("build", str(root), "--to", str(site)))
        task = results_tree.read(files[len(files) // 2]).dataset
        measure(f"show --task {task}", *board_command("show", str(root), "--task", task))
        measure("tasks", *board_command("tasks"))
        size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
        print(f"index.html {(site / 'index.html').stat().st_size / 1e6:.2f} MB, site {size / 1e6:.1f} MB")
        if options.chromium:
            for _ in range(3):
                print(f"index.html in Chromium: {paint_times(site / 'index.html', options.chromium)}")


if __name__ == "__main__":
    main()
