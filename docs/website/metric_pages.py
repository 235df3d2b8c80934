"""A page for each metric: what its own file says of it, scores of known codes, and how libraries differ."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data import discovery
from leaderboard import properties
from website import markup

OVERVIEW = Path(__file__).parents[1] / "metrics.md"

NAMED = {"r²": "r_squared", "explicitness": "modularity_explicitness", "number of samples": ""}
"""What the table of settings calls a metric, where it is not the file's name; empty for all metrics."""


def pages() -> dict[str, str | bytes]:
    """Make the page of each metric.

    Returns:
        Address on the site -> Markdown.
    """
    return {f"metrics/{name}.md": page(name) for name in discovery.names("leaderboard.metrics")}


def page(name: str) -> str:
    """Write a metric's page.

    Args:
        name: the metric's file name.

    Returns:
        Markdown.
    """
    metric = properties.find(name)
    module = discovery.find("leaderboard.metrics", name, kind="metric")
    title, _, rest = (module.__doc__ or "").strip().partition("\n\n")
    facts = [
        ("question", metric.asks),
        ("ideal", metric.ideal if isinstance(metric.ideal, str) else f"{metric.ideal:g}"),
        ("range", metric.interval),
        ("random codes", metric.chance),
        ("reference", metric.source),
        ("needs held-out rows", "yes" if takes_held_out(module.score) else "no"),
    ]
    by_codes = scores_of_known_codes(name)
    parts = [
        f"# {name}",
        title,
        markup.table(["", ""], facts),
        *([prose(rest)] if rest else []),
        "## What moves the score, and what does not",
        "\n".join(f"- {line}" for line in movements(metric, next(iter(next(iter(by_codes.values())))))),
        "## Scores of codes that are known",
        "Codes of 600 samples of three factors with 3, 4 and 5 values, and 300 more held out where the metric learns "
        "something. *Rotated*: the first two columns are turned by 45°. These numbers are computed while this page is "
        "made.",
        markup.table(
            ["codes", *next(iter(by_codes.values()))],
            ((codes, *(f"{value:.3f}" for value in scores.values())) for codes, scores in by_codes.items()),
        ),
    ]
    rows = settings(name)
    if rows:
        parts += [
            "## Knobs on which libraries differ",
            "Two numbers of one name are comparable only if these agree.",
            markup.table(["knob", "here", "elsewhere"], rows),
        ]
    parts += [
        "## Compute it",
        markup.code(example(name, module.score)),
        f"For a run folder, arrays of any framework or an ONNX encoder: `offaxis board score FILE --metric {name}`.",
        f"::: leaderboard.metrics.{name}.score\n    options:\n      heading_level: 3",
        "[All metrics](../metrics.md), and how far a score can be trusted.",
    ]
    return "\n\n".join(parts) + "\n"


def prose(text: str) -> str:
    """Return the text of a docstring as Markdown: code in single back quotes, indented formulas as code."""
    return re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(text))


def takes_held_out(score: Any) -> bool:
    """Say whether a metric learns from one part of the rows and is judged on another."""
    return "codes_test" in inspect.signature(score).parameters


def movements(metric: properties.Properties, main: str) -> list[str]:
    """Say in words what the properties of a metric with this main score state. Tests hold the metric to each."""
    copied = {
        "same": "leave the score as it is",
        "zero": "lower the score to 0: there is no gap to the second best",
        "no higher": "never raise the score",
        "infinite": "make the score infinite",
    }
    lines = ["The order and the sign of latents do not matter."]
    if metric.scale_dependent or metric.scale_matters:
        changed = listed(metric.scale_dependent) if metric.scale_dependent else metric.scale_matters
        lines.append(f"Multiplying all codes by a number changes {changed}.")
    else:
        lines.append("Multiplying all codes by a number does not matter.")
    if isinstance(metric.copied_latent, str):
        lines.append(f"Copies of every latent {copied[metric.copied_latent]}.")
    else:
        lines += [f"For `{key}`, copies of every latent {copied[what]}." for key, what in metric.copied_latent.items()]
    if metric.with_idle_latents != 1.0 and not isinstance(metric.ideal, str):
        lines.append(f"`{main}` of perfect codes with as many constant latents is {metric.with_idle_latents:g}.")
    if metric.rotation_lowers:
        lines.append(f"A rotation of two latents that are the factors lowers `{main}`.")
    if metric.numbering_matters:
        lines.append(f"Renumbering the classes changes the score: {metric.numbering_matters}")
    if metric.factor_order_matters:
        lines.append(f"The order of the factors' columns changes the score: {metric.factor_order_matters}")
    if metric.noise_scores:
        lines.append(f"With few samples, noise may score as high as informative codes: {metric.noise_scores}")
    if not metric.uses_factors:
        lines.append("The score does not use the factors.")
    return [line if line.endswith((".", "!", "?")) else f"{line}." for line in lines]


def listed(names: tuple[str, ...]) -> str:
    """Write names side by side, as code."""
    return ", ".join(f"`{name}`" for name in names)


def known_codes() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return factors int64 (900, 3), and codes float64 (900, 3) of which one knows what they are."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4, 5], size=(900, 3))
    codes = factors / np.array([2, 3, 4]) - 0.5
    turned = codes.copy()
    turned[:, :2] = codes[:, :2] @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    return factors, {
        "the factors themselves": codes,
        "with noise, of a tenth of the range": codes + 0.1 * rng.normal(size=codes.shape),
        "rotated": turned,
        "noise alone": rng.normal(size=codes.shape),
    }


def scores_of_known_codes(name: str) -> dict[str, dict[str, float]]:
    """Compute a metric on codes that are known: what they are -> score -> value."""
    module = discovery.find("leaderboard.metrics", name, kind="metric")
    factors, codes = known_codes()
    scores = {}
    for title, values in codes.items():
        arguments: dict[str, Any] = dict(properties.find(name).quick)
        if takes_held_out(module.score):
            arguments |= {"codes_test": values[600:], "factors_test": factors[600:]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few samples: the page says how many
            scores[title] = module.score(values[:600], factors[:600], **arguments)
    return scores


def settings(name: str) -> list[list[str]]:
    """Return the rows of the table of settings in docs/metrics.md that speak of a metric."""
    text = OVERVIEW.read_text("utf-8").partition("## Settings in which libraries differ")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:2] == "| "]
    return [row for row in rows if row[0] != "knob" and name in meant(row[0])]


def meant(knob: str) -> set[str]:
    """Return the metrics that a knob of the overview speaks of.

    Example:
        >>> sorted(meant("MCC, R²: factors"))
        ['mcc', 'r_squared']
    """
    metrics = set()
    names = discovery.names("leaderboard.metrics")
    for word in re.split(r", | and ", knob.partition(":")[0].removesuffix(" scores").removesuffix(" score")):
        named = NAMED.get(word.lower(), word)
        plain = re.sub(r"\W", "", named.lower().removesuffix(" score"))
        metrics |= {name for name in names if not named or name == named or plain == name.replace("_", "")}
        if plain == "infomec":
            metrics.add("infomec_tripod")
    return metrics


def example(name: str, score: Any) -> str:
    """Return code that computes a metric."""
    held_out = ", codes_test=codes_test, factors_test=factors_test" if takes_held_out(score) else ""
    return f"""
from leaderboard.metrics import {name}

{name}.score(codes, factors{held_out})  # codes: real numbers (n, L); factors: class ids (n, F)
"""
