"""What the number of latents does to scores: drawn from result files where runs differ in nothing else.

The sweep ``desk_controls`` trains such runs, and says which commands score them into ``leaderboard/published/latents``.

Each folder there is a results tree, as the published one is. Runs count together where task, tier, method and all
hyperparameters but ``latents`` are the same. A curve takes two numbers of latents, of five seeds each.
"""

from __future__ import annotations

import collections
import io
import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from leaderboard import figures
from leaderboard.store import results, results_tree
from website import markup

ROOT = Path(__file__).parents[2]
MARK = "<!-- results: latents -->"
SEEDS = 5


class Curve(NamedTuple):
    """Scores of runs that differ in seed and number of latents alone.

    Attributes:
        task: such as ``dsprites@v1``.
        tier: of the protocol.
        title: of the method.
        scores: number of latents -> the MIG of each seed.
    """

    task: str
    tier: str
    title: str
    scores: dict[int, list[float]]

    def file(self, number: int) -> str:
        """Return the address of the figure on the site; ``number`` tells curves of one task apart."""
        return f"latents/{re.sub(r'[^a-z0-9_]+', '-', self.task)}-{number}.svg"


def trees() -> list[Path]:
    """Return the results trees that are read: the published one, and those of leaderboard/published/latents."""
    return [ROOT / "leaderboard" / "published", *sorted((ROOT / "leaderboard" / "published" / "latents").glob("*/"))]


def curves(records: Iterable[results.Result]) -> list[Curve]:
    """Gather the runs that differ in seed and number of latents alone.

    Args:
        records: results of any tasks and methods.

    Returns:
        A curve for each task, tier, method and setting with two numbers of latents or more, of five seeds each.
    """
    gathered: dict[tuple[str, str, str, str, str], dict[int, dict[int, float]]] = collections.defaultdict(
        lambda: collections.defaultdict(dict)
    )
    for result in records:
        for run in result.runs:
            if "mig" not in run.scores or run.supervision == "reference":
                continue
            rest = {key: value for key, value in run.hyperparameters.items() if key != "latents"}
            setting = json.dumps([rest, run.budget.steps], sort_keys=True)
            key = (result.task, run.tier, result.method, result.about.title or result.method, setting)
            gathered[key][run.latents][run.seed] = run.scores["mig"]
    selected = []
    for (task, tier, _, title, _), of_numbers in sorted(gathered.items()):
        enough = {n: list(seeds.values()) for n, seeds in sorted(of_numbers.items()) if len(seeds) >= SEEDS}
        if len(enough) > 1:
            selected.append(Curve(task, tier, title, enough))
    return selected


def measured_curves() -> list[Curve]:
    """Return the curves of all committed results."""
    return curves(result for tree in trees() for result in results_tree.read_all(tree))


def pages() -> dict[str, str | bytes]:
    """Draw the figures.

    Returns:
        Address on the site -> SVG; nothing where there are no such results yet.
    """
    return {curve.file(number): figure(curve) for number, curve in enumerate(measured_curves())}


def filled(markdown: str) -> str:
    """Put the figures, or a sentence that there are none yet, in the place that is left for them."""
    if MARK not in markdown:
        return markdown
    texts = [curve_text(curve, number) for number, curve in enumerate(measured_curves())]
    return markdown.replace(MARK, "\n\n".join(texts) or NOTHING)


NOTHING = (
    f"*Not measured yet.* No committed results differ in the number of latents alone, with {SEEDS} seeds each. "
    "The sweep `desk_controls` trains them (`baselines/sweeps/desk_controls.py`); the figure appears here once they "
    "are committed."
)


def curve_text(curve: Curve, number: int) -> str:
    """Write a curve: the figure, and the numbers below it."""
    rows = [
        (latents, len(scores), f"{min(scores):.3f} to {max(scores):.3f}", f"{statistics.median(scores):.3f}")
        for latents, scores in curve.scores.items()
    ]
    words = f"MIG of {curve.title} on {curve.task} against the number of latents"
    return "\n\n".join(
        [
            f"**{curve.title} on `{curve.task}`, tier `{curve.tier}`**: a dot for each seed, a line through medians.",
            f"![{words}]({curve.file(number)})",
            markup.table(["latents", "seeds", "MIG, lowest to highest", "median"], rows),
        ]
    )


def figure(curve: Curve) -> bytes:
    """Draw a curve as SVG: a dot for each seed, a line through the medians."""
    picture, axes = figures.panels(1, 1, width=5, height=3)
    panel, content = axes[0, 0], io.BytesIO()
    numbers = list(curve.scores)
    panel.plot(numbers, [statistics.median(curve.scores[n]) for n in numbers], color=figures.COLOURS[0])
    for n in numbers:
        panel.plot([n] * len(curve.scores[n]), curve.scores[n], "o", color=figures.COLOURS[0], alpha=0.5)
    panel.set(xlabel="number of latents", ylabel="MIG", xticks=numbers)
    panel.set_ylim(bottom=0)
    picture.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()
