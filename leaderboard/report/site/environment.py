"""The templates of the pages, and what they may call. All text goes through their escaping: anyone may have written it.

Internal.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmark_data.errors import needs
from leaderboard import protocol
from leaderboard.report import formats, pairwise, ranking
from leaderboard.report.site import contents, gallery
from leaderboard.store import verdicts
from leaderboard.store.results import Result

if TYPE_CHECKING:
    import jinja2

DESCRIPTION = (
    "How well methods find the factors that images were made from, scored from codes, with intervals and budgets."
)
BIBTEX = """@misc{offaxis,
  title = {Offaxis: a disentanglement benchmark whose datasets do not hand the answer to a VAE},
  author = {{The Offaxis developers}},
  year = {2026},
  note = {Version 0.1.0}
}"""
"""How to cite the benchmark; a test holds it to ``CITATION.cff``."""


@functools.cache
def environment() -> jinja2.Environment:
    """Return the templates, with what all of them may call. What they show is given to each.

    Raises:
        MissingExtra: Jinja is not installed.
    """
    needs("building pages", "board", "jinja2")
    import jinja2
    import markupsafe

    env = jinja2.Environment(
        loader=jinja2.PackageLoader("leaderboard.report.site"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, file in (("style", "style.css"), ("script", "board.js")):
        source = (importlib.resources.files("leaderboard.report.site") / "templates" / file).read_text("utf-8")
        env.globals[name] = markupsafe.Markup(source)
    env.globals.update(
        slug=ranking.slug,
        number=formats.number,
        CATEGORIES=ranking.CATEGORIES,
        NOTE=formats.NOTE.replace("In brackets", "In small print"),
        span=formats.span,
        signed=formats.signed,
        breakable=lambda name: markupsafe.Markup(re.sub(r"([/_])", r"\1<wbr>", str(markupsafe.escape(name)))),
        family=contents.family,
        statuses=contents.statuses,
        vouched=contents.vouched,
        across=pairwise.ACROSS,
        command=_command,
        tiers_of=lambda result: sorted(result.tiers, key=ranking.tier_order),
        version=protocol.VERSION,
        description=DESCRIPTION,
        citation=BIBTEX,
        seeds_needed=protocol.SEEDS,
        least_seeds=verdicts.SEEDS,
        SCALE=[gallery.colour(k / 10) for k in range(11)],
    )
    return env


def _command(result: Result, tier: str) -> str:
    """Return the command that trains a row's first run again; empty for what was not trained by this project."""
    run = result.of(tier)[0]
    if run.status == "recomputed" or "offaxis" not in run.versions or run.supervision == "reference":
        return ""
    settings = [
        f"--set {name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in run.hyperparameters.items()
        if isinstance(value, bool | int | float | str)
    ]
    words = [
        f"offaxis train run --dataset {result.dataset} --objective {result.method}",
        f"--steps {run.budget.steps} --seed {run.seed}",
        *settings,
    ]
    return " ".join(words) if _harmless(words) else ""


def _harmless(words: Sequence[str]) -> bool:
    """Return whether a command holds nothing but names, numbers and signs that no shell reads."""
    return re.fullmatch(r"[\w .,=/+-]*", " ".join(words), re.ASCII) is not None
