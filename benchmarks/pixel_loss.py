"""Is it the pixel loss? MIG and linear R² of runs with and without one, and the figure of docs/pixel_loss.md.

    python benchmarks/pixel_loss.py runs/beyond_pixels runs/beyond_pixels_conv runs/desk runs/desk_since2020
    python benchmarks/pixel_loss.py

Of each finished run in the folders: MIG of the task's train rows, and the R² of least squares that are fitted to them,
on its test rows, the mean over the factors (``leaderboard.metrics.r_squared``). The random encoder is the network of
InfoNCE on pairs before its first step; ICA, which has no architecture, is `baselines.untrained.ica` with as many
latents. What the file holds already is kept.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import benchmark_data
from baselines import Run, untrained
from baselines.sweeps import beyond_pixels, desk
from benchmark_data import files
from leaderboard import figures, protocol
from leaderboard.metrics import mig, r_squared

RECORD = Path(__file__).with_suffix(".csv")
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "pixel_loss.png"
SCORES = {"mig": "MIG", "r_squared": "linear R²"}
SHOWN = {
    "infonce_pairs": "InfoNCE on pairs",
    "simclr": "SimCLR",
    "vicreg": "VICReg",
    "lejepa": "LeJEPA",
    "slow_vae": "SlowVAE (pairs, pixels)",
    "beta_tc_vae": "β-TCVAE (pixels)",
    "random_encoder": "random encoder",
}
"""The methods of the figure."""


def scores(task: protocol.Task, codes: NDArray[Any]) -> list[float]:
    """Compute both scores from the codes of a task's rows, in its order."""
    factors = benchmark_data.load(task.dataset).labels(task.indices)
    train, test = slice(0, len(task.train)), slice(len(task.train), None)
    held_out = r_squared.score(codes[train], factors[train], codes_test=codes[test], factors_test=factors[test])
    return [mig.score(codes[train], factors[train])["mig"], held_out["r_squared"]]


def measure(folder: Path, existing: set[tuple[str, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield task, method, architecture, seed and scores of the finished runs below a folder and of their controls."""
    for path in sorted(folder.rglob("codes.npz")):
        config = files.read_json(path.with_name("config.json"))
        task, method, seed = config["dataset"], config["objective"], config["seed"]
        network = config["architecture"]
        if task not in beyond_pixels.TASKS or method not in (*SHOWN, *desk.OBJECTIVES, "regression"):
            continue
        wanted = {method: lambda path=path: np.load(path)["codes"]}
        if method == "infonce_pairs":
            rows = protocol.task(task).indices
            start, size = Run.open(path.parent, step=0), config["latents"]
            ica = untrained.find("ica", {"latents": size})
            wanted["random_encoder"] = lambda start=start, rows=rows: start.encode_rows(rows)
            wanted["ica"] = lambda ica=ica, start=start, rows=rows, seed=seed: ica.codes(start.dataset, rows, seed=seed)
        for name, codes in wanted.items():
            key = (task, name, "" if name == "ica" else network, str(seed))
            if key not in existing:
                yield *key, *(f"{score:.4f}" for score in scores(protocol.task(task), codes()))


def draw(lines: list[dict[str, str]]) -> None:
    """Draw both scores over the spacing: the mean of the seeds, and each seed as a dot."""
    figure, ((*panels,),) = figures.panels(1, 2, width=4.8, height=3.2)
    for panel, (score, title) in zip(panels, SCORES.items(), strict=True):
        for colour, (method, name) in zip(figures.COLOURS, SHOWN.items(), strict=False):
            points = [
                (int(line["task"].rpartition("_")[2]), float(line[score]))
                for line in lines
                if (line["method"], line["architecture"]) == (method, "fc") and line["task"].startswith("xysquares/")
            ]
            spacings = sorted({spacing for spacing, _ in points})
            means = [np.mean([value for x, value in points if x == spacing]) for spacing in spacings]
            style = "-" if method in beyond_pixels.OBJECTIVES else "--"
            panel.plot(spacings, means, style, color=colour, label=name)
            panel.plot(*zip(*points, strict=True), ".", color=colour, markersize=3)
        panel.set(title=title, xlabel="spacing", xscale="log", ylim=(-0.05, 1.05))
        panel.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    figures.save(figure, FIGURE)


def main() -> None:
    """Measure what the record lacks, write it, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="folders of runs")
    options = parser.parse_args()
    head = ("task", "method", "architecture", "seed", *SCORES)
    lines = list(csv.DictReader(RECORD.open(encoding="utf-8", newline=""))) if RECORD.exists() else []
    existing = {tuple(line[name] for name in head[:4]) for line in lines}
    for folder in options.runs:
        for row in measure(folder, existing):
            print(*row, flush=True)
            lines.append(dict(zip(head, map(str, row), strict=True)))
    lines.sort(key=lambda line: (*(line[name] for name in head[:3]), int(line["seed"])))
    files.write_text(RECORD, files.comma_separated(head, [[line[name] for name in head] for line in lines]))
    draw(lines)


if __name__ == "__main__":
    main()
