"""Write the tables of docs/public_models.md from committed records: `python benchmarks/public_vaes_page.py`.

The records are those of benchmarks/public_vaes.py, benchmarks/explained.csv and the published results of the desk tier.
The test of the page compares, and names this command.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import scipy.stats

from leaderboard import protocol
from leaderboard.store import giveaways, intervals, results_tree

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from public_vaes import DATASET, MODELS, RECORD, SIMILARITY, difference  # noqa: E402

EXPLAINED = HERE / "explained.csv"
PAGE = HERE.parent / "docs" / "public_models.md"
PUBLISHED = HERE.parent / "leaderboard" / "published"
STRENGTHS = {"beta": "β", "gamma": "γ", "c_max": "C"}
PARTS: dict[str, tuple[str, ...]] = {
    "encoder, convolutions": tuple(f"encoder_{i}" for i in range(1, 5)),
    "encoder, last dense": ("encoder_6",),
    "mean": ("mean",),
    "variance": ("variance",),
    "sampled": ("sampled",),
    "decoder": tuple(f"decoder_{i}" for i in range(1, 7)),
    "output": ("output",),
}
"""Title of a column -> the layers that it averages. The desk model has no decoder_6."""


def row(*cells: str) -> str:
    """Write one row of a table."""
    return f"| {' | '.join(cells)} |"


def table_of_checks(record: Mapping[str, Any]) -> list[str]:
    """Write how near each model's KL divergences are to those that its authors logged."""
    lines = [
        row(
            "model",
            "strength",
            "KL, nats",
            "latents with KL above 0.1",
            "largest difference from the log, nats",
        )
    ]
    lines.append(row("---", "---", "---:", "---:", "---:"))
    for model in MODELS:
        scores = record[model.method]
        active = sum(value > 0.1 for value in scores["kl"])
        cells = (f"{sum(scores['kl']):.1f}", str(active), f"{difference(scores):.0e}")
        lines.append(row(model.objective, model.strength, *cells))
    return lines


def desk_scores(method: str) -> tuple[str, int, dict[str, list[float]]]:
    """Return the strengths, the steps and the scores of a method's desk runs, with what their decoders explain."""
    result = results_tree.read(results_tree.path(PUBLISHED, f"{DATASET}@v1", method))
    runs = [run for run in result.runs if run.tier == "desk"]
    settings = runs[0].hyperparameters
    strengths = ", ".join(f"{sign} = {settings[name]:g}" for name, sign in STRENGTHS.items() if name in settings)
    scores = {key: [run.scores[key] for run in runs] for key in ("mig", "dci.disentanglement")}
    with EXPLAINED.open(encoding="utf-8", newline="") as stream:
        lines = [line for line in csv.DictReader(stream) if (line["dataset"], line["objective"]) == (DATASET, method)]
    return strengths, runs[0].budget.steps, scores | {"explained": [float(line["explained"]) for line in lines]}


def over_seeds(values: Sequence[float]) -> str:
    """Write a mean with its 95% interval, or that there is nothing."""
    if not values:
        return "not measured"
    ends = intervals.mean_interval(values)
    return f"{statistics.mean(values):.3f}" + (f" ({ends[0]:.3f} to {ends[1]:.3f})" if ends else "")


def table_of_distances(record: Mapping[str, Any]) -> list[str]:
    """Write the public models' scores and those of the corresponding desk runs."""
    keys = {"MIG": "mig", "DCI D": "dci.disentanglement", "explained variance": "explained"}
    titles = [f"{title}, {kind}" for title in keys for kind in ("public", "desk")]
    lines = [
        row("objective", "strength, public", "strength, desk", *titles),
        row(*["---"] * 3, *["---:"] * len(titles)),
    ]
    for model in MODELS:
        public = record[model.method]
        strengths, _, scores = desk_scores(model.desk) if model.desk else ("no counterpart", 0, {})
        cells = [(f"{public[key]:.3f}", over_seeds(scores[key]) if scores else "") for key in keys.values()]
        lines.append(row(model.objective, model.strength, strengths, *itertools.chain(*cells)))
    return lines


def table_of_similarity() -> list[str]:
    """Write the CKA of corresponding layers, averaged over pairs, with the lowest and the highest pair."""
    with SIMILARITY.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))

    def chosen(budget: str, *, same: bool = False, pair: set[str] | None = None) -> list[dict[str, str]]:
        return [
            line
            for line in lines
            if line["budget"] == budget and (line["x"] == line["y"]) == same and pair in (None, {line["x"], line["y"]})
        ]

    groups = {
        "345,600 steps: β = 1, β = 4": chosen("345,600 steps", pair={"VAE", "β-VAE"}),
        "345,600 steps: α = -5, α = 5": chosen("345,600 steps", pair={"β-TCVAE, α = -5", "β-TCVAE, α = 5"}),
        "345,600 steps: all pairs": chosen("345,600 steps"),
        "1,000 steps: β = 1, β = 8": chosen("1,000 steps", pair={"β-VAE, β = 1", "β-VAE, β = 8"}),
        "1,000 steps: all pairs, same seed": chosen("1,000 steps"),
        "1,000 steps: same objective, other seed": chosen("1,000 steps", same=True),
        "untrained, other initialisation": chosen("untrained", same=True),
    }
    table = [row("models", "pairs", *PARTS), row("---", "---:", *["---:"] * len(PARTS))]
    for title, pairs in groups.items():
        cells = []
        for layers in PARTS.values():
            averages = [statistics.mean(float(pair[layer]) for layer in layers if pair[layer]) for pair in pairs]
            spread = f" ({min(averages):.2f} to {max(averages):.2f})" if len(averages) > 1 else ""
            cells.append(f"{statistics.mean(averages):.2f}{spread}")
        table.append(row(title, str(len(pairs)), *cells))
    return table


def table_of_order(record: Mapping[str, Any]) -> list[str]:
    """Write how the models' rank correlations with the audit's predicted order range, by what is encoded of factors."""
    audit = giveaways.read(PUBLISHED)[DATASET]
    factors = sorted(audit.importance, key=lambda name: -audit.importance[name])
    positions = {name: position for position, group in enumerate(audit.order) for name in group}
    expected = [-positions[name] for name in factors]
    sizes = {factor.name: factor.size for factor in protocol.task(DATASET).load().space.factors}
    correlations: dict[str, list[float]] = {}
    for model in MODELS:
        scores = record[model.method]
        measures = {
            "R² of boosted trees on all latents": [scores["r_squared"][name] for name in factors],
            "information of the best latent, as a share of the factor's entropy": [
                scores["information"][name] for name in factors
            ],
            "accuracy above chance": [
                (scores["accuracy"][name] - 1 / sizes[name]) / (1 - 1 / sizes[name]) for name in factors
            ],
        }
        for title, values in measures.items():
            correlations.setdefault(title, []).append(float(scipy.stats.spearmanr(expected, values).statistic))
    lines = [row("measure", "ρ, lowest to highest model", "median"), row("---", "---:", "---:")]
    for title, rhos in correlations.items():
        lines.append(row(title, f"{min(rhos):.2f} to {max(rhos):.2f}", f"{statistics.median(rhos):.2f}"))
    return lines


def page() -> str:
    """Return the text of the page as the records have it."""
    record = json.loads(RECORD.read_text("utf-8"))
    tables: dict[str, Callable[[], list[str]]] = {
        "checks": lambda: table_of_checks(record),
        "distances": lambda: table_of_distances(record),
        "similarity": table_of_similarity,
        "order": lambda: table_of_order(record),
    }

    def filled(mark: re.Match[str]) -> str:
        return "\n".join([f"<!-- measured: {mark[1]} -->", *tables[mark[1]](), "<!-- end -->"])

    pattern = r"<!-- measured: (\w+) -->\n.*?<!-- end -->"
    return re.sub(pattern, filled, PAGE.read_text("utf-8"), flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
