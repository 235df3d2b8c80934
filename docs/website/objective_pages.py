"""A page for each objective, made from the objective's own file: its terms, its hyperparameters, how to train it."""

from __future__ import annotations

import dataclasses
import inspect
import re

from baselines import objectives
from benchmark_data import discovery
from website import markup


def pages() -> dict[str, str | bytes]:
    """Make the page of each objective.

    Returns:
        Address on the site -> Markdown.
    """
    return {f"objectives/{name}.md": page(name) for name in objectives.names()}


def page(name: str) -> str:
    """Write an objective's page.

    Args:
        name: the objective's file name.

    Returns:
        Markdown.
    """
    module = discovery.find("baselines.objectives", name, kind="objective")
    title, _, rest = (module.__doc__ or "").strip().partition("\n\n")
    method, _, paper = title.partition(":")
    summary, _, attributes = inspect.cleandoc(module.OBJECTIVE.__doc__ or "").partition("\n\nAttributes:\n")
    meanings = dict(re.findall(r"^    (\w+): ((?:.|\n     )+)", attributes, re.MULTILINE))
    fields = [field for field in dataclasses.fields(module.OBJECTIVE) if field.init]
    links = [
        f"[{words}]({getattr(module, constant)})"
        for words, constant in (("paper", "PAPER"), ("code of the method", "CODE"))
        if getattr(module, constant, "")
    ]
    parts = [f"# {method.strip().rstrip('.')}", *([paper.strip()] if paper.strip() else [])]
    parts += [" · ".join([f"`{name}`", *links]), "## What it minimises", quoted(summary)]
    if rest:
        parts.append(quoted(rest))
    parts.append("## Hyperparameters")
    if fields:
        rows = ((f"`{f.name}`", f"`{f.default!r}`", quoted(" ".join(meanings.get(f.name, "").split()))) for f in fields)
        parts.append(markup.table(["name", "default", "meaning"], rows))
    else:
        parts.append("None.")
    setting = f" --set {fields[0].name}={fields[0].default}" if fields else ""
    hyperparameters = f", hyperparameters={{{fields[0].name!r}: {fields[0].default!r}}}" if fields else ""
    parts += [
        "## Train it",
        markup.tabs(
            [
                (
                    "command line",
                    markup.code(f"offaxis train run --dataset dsprites --objective {name}{setting}", "sh"),
                ),
                (
                    "Python",
                    markup.code(
                        "import baselines\n\n"
                        f'config = baselines.RunConfig(dataset="dsprites", objective="{name}"'
                        f"{hyperparameters}, steps=20_000)\n"
                        "run = baselines.train(config)"
                    ),
                ),
            ]
        ),
        "[Training](../training.md) says what a run leaves behind, how it resumes, and how to draw it.",
        "## In the code",
        f"::: baselines.objectives.{name}",
    ]
    if getattr(module, "CITATION", ""):
        parts += ["## Citation", markup.code(module.CITATION, "bibtex")]
    return "\n\n".join(parts) + "\n"


def quoted(text: str) -> str:
    """Return the text of a docstring as Markdown: double back quotes become single ones, stars stay stars."""
    return re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(text)).replace("*", r"\*")
