"""Results for Hugging Face: a dataset folder of all scores, and for each method what its model repository should say.

``<folder>/dataset`` is read by ``datasets.load_dataset`` as it is and can be uploaded as it is.
``<folder>/models/<method>`` holds ``.eval_results/<dataset>.<tier>.yaml`` in the Hub's evaluation-results format
(https://huggingface.co/docs/hub/eval-results), where a task is one that the published dataset's ``eval.yaml`` names
(`benchmark_data.publish.card.evaluation`), and ``README.md``, a model card whose metadata the Hub reads.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark_data.errors import DamagedFile, InvalidInput, needs
from benchmark_data.files import written_atomically
from benchmark_data.publish import card
from leaderboard import protocol
from leaderboard.report import formats, ranking, transfer_page
from leaderboard.report.ranking import Row, Table
from leaderboard.store import reported, results_tree, transfers
from leaderboard.store.results import Result

NAME = "Offaxis leaderboard"

CONFIGS = {
    "summaries": "One line for each score of each method on each task: mean over seeds, interval, rank.",
    "scores": "One line for each score of each run.",
    "reported": "Numbers as papers print them; not scored here and not ranked.",
    "transfer": "Accuracies on codes of a target dataset, by encoder and label.",
}
"""The configs of the dataset, the first of which is the default."""


def write(root: str | os.PathLike[str], folder: str | os.PathLike[str], *, owner: str, source: str = "") -> Path:
    """Export a results tree.

    Args:
        root: the results tree.
        folder: a path that is free.
        owner: user or organisation on the Hub under which the datasets are published by their names.
        source: link to the board, to be named as the source of the scores.

    Returns:
        The folder.

    Raises:
        InvalidInput: a malformed owner, or the folder exists or cannot be written.
        DamagedFile: the tree is missing or empty, or a file of it is damaged.
        MissingExtra: PyYAML or pyarrow is not installed.
    """
    if not owner or not all(letter.isalnum() or letter in "-_." for letter in owner):
        raise InvalidInput("owner", expected="a name of a user or organisation on the Hub", received=repr(owner))
    found = results_tree.read_all(root)
    if not found:
        raise DamagedFile(str(root), expected="at least one result", received="none")
    boards = ranking.tables(found)
    with written_atomically(folder) as temporary:
        _dataset(temporary / "dataset", frames(root, found))
        for method in sorted({result.method for result in found}):
            of_method = ((board, row) for board in boards for row in board.rows if row.result.method == method)
            rows = [(board, row) for board, row in of_method if row.category != "reference" and not row.warning]
            if rows:
                _model(temporary / "models" / method, rows, owner, source)
    return Path(folder)


def frames(root: str | os.PathLike[str], found: Sequence[Result]) -> dict[str, pd.DataFrame]:
    """Make the tables of the dataset.

    Args:
        root: the results tree.
        found: its results.

    Returns:
        Config -> table. Those of ``reported`` and ``transfer`` are left out where the tree has none.
    """
    made = {
        "summaries": pd.DataFrame(formats.records(ranking.tables(found)), columns=list(_TYPES)).astype(_TYPES),
        "scores": pd.DataFrame([line for result in found for line in _scores(result)]).astype({"claimed": "float64"}),
        "reported": _frame(reported.comma_separated(reported.read_all(root))),
        "transfer": _frame(transfer_page.comma_separated(transfers.read_all(root))),
    }
    return {name: made[name] for name in CONFIGS if len(made[name])}


_TYPES = {name: {int: "Int64", float: "float64", str: "string"}[kind] for name, kind in formats.FIELDS.items()}
"""Types of the summaries' columns, the same whatever a tree holds."""


def _frame(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])


def _scores(result: Result) -> Iterable[dict[str, object]]:
    for run in result.runs:
        for score, value in run.scores.items():
            yield {
                "task": result.task,
                "method": result.method,
                "title": result.title,
                "tier": run.tier,
                "seed": run.seed,
                "score": score,
                "value": value,
                "claimed": run.claimed.get(score),
                "status": run.status,
                "marks": ", ".join(run.marks),
                "quarantine": result.quarantine,
                "supervision": run.supervision,
                "selection": run.selection,
                "steps": run.budget.steps,
                "images": run.budget.images,
                "seconds": run.budget.seconds,
                "device": run.budget.device,
                "dataset_version": run.dataset_version,
                "dataset_pixels": run.dataset_digest.pixels,
                "dataset_factors": run.dataset_digest.factors,
                "rows": run.rows_digest,
                "codes": run.codes_digest,
                "date": run.date.isoformat(),
                "scored_with": ", ".join(f"{name} {version}" for name, version in run.scored_with.items()),
            }


def _dataset(folder: Path, content: dict[str, pd.DataFrame]) -> None:
    needs("exporting results", "board", "pyarrow")
    folder.mkdir(parents=True)
    for name, frame in content.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False, engine="pyarrow")
    head = {
        "pretty_name": NAME,
        "license": "mit",
        "tags": ["disentanglement", "representation-learning", "leaderboard", "benchmark"],
        "configs": [
            {"config_name": name, "data_files": f"{name}.parquet"} | ({"default": True} if name == "summaries" else {})
            for name in content
        ],
    }
    lines = [
        f"# {NAME}",
        "",
        f"Scores of disentangled representations, recomputed from codes under protocol {protocol.VERSION}.",
        "",
        "```python",
        "import datasets",
        "",
        'scores = datasets.load_dataset("PATH-OR-HUB-ID", "summaries", split="train")',
        "```",
        "",
        *(f"- `{name}`: {CONFIGS[name]}" for name in content),
    ]
    _write(folder / "README.md", f"---\n{_yaml(head)}---\n\n" + "\n".join(lines) + "\n")


def _model(folder: Path, rows: Sequence[tuple[Table, Row]], owner: str, source: str) -> None:
    entries: dict[str, list[dict[str, Any]]] = {}
    for board, row in rows:
        name = board.dataset.partition("/")[0]
        entries.setdefault(f"{name}.{board.tier}", []).append(_entry(board, row, owner, source))
    for name, found in entries.items():
        _write(folder / ".eval_results" / f"{name}.yaml", _yaml(found))
    _write(folder / "README.md", _card(rows, owner))


def task_id(board: Table) -> str:
    """Name a task of a tier as ``eval.yaml`` of the published dataset does: ``spacing_4_v1_smoke``."""
    name, _, version = board.task.partition("@")
    return card.task_id(name.partition("/")[2] or "default", f"{version}_{board.tier}")


def _entry(board: Table, row: Row, owner: str, source: str) -> dict[str, Any]:
    """Describe what a method scored on a task: the first score as the value, the others in the notes."""
    first, *others = [column for column in board.columns if column.key in row.cells]
    cell = row.cells[first.key]
    interval = "" if cell.low is None else f", 95% interval {formats.number(cell.low)} to {formats.number(cell.high)}"
    parts = [
        f"{first.title}, mean of {row.seeds} seed{'s' if row.seeds > 1 else ''}{interval}",
        *(f"{column.title} {formats.number(row.cells[column.key].mean)}" for column in others),
        f"tier {board.tier}",
        f"training per seed: {row.budget}",
        f"supervision: {row.category}",
    ]
    return {
        "dataset": {"id": f"{owner}/{board.dataset.partition('/')[0]}", "task_id": task_id(board)},
        "value": round(cell.mean, 6),
        "date": max(run.date for run in row.runs).isoformat(),
        **({"source": {"url": source, "name": NAME}} if source else {}),
        "notes": "; ".join(parts),
    }


def _card(rows: Sequence[tuple[Table, Row]], owner: str) -> str:
    """Write a model card: metadata for the Hub, and a table for people."""
    result = rows[0][1].result
    license = result.about.license.lower()
    names = sorted({board.dataset.partition("/")[0] for board, _ in rows})
    head = {
        **({"license": license} if license in card.HUB_LICENSES else {}),
        "tags": ["disentanglement", "representation-learning", "offaxis"],
        "datasets": [f"{owner}/{name}" for name in names],
        "model-index": [{"name": result.method, "results": [_indexed(board, row, owner) for board, row in rows]}],
    }
    columns = [c for key, c in protocol.COLUMNS.items() if any(key in row.cells for _, row in rows)]
    lines = [
        f"# {formats.escaped(result.title)}",
        "",
        *([formats.escaped(result.about.description), ""] if result.about.description else []),
        f"Scored from codes by the {NAME}. Mean over seeds with Student's 95% interval.",
        "",
        "| Task | Tier | " + " | ".join(column.title for column in columns) + " | Seeds | Training, per seed |",
        "| :--- | :--- |" + " ---: |" * (len(columns) + 1) + " :--- |",
    ]
    for board, row in rows:
        cells = [formats.cell(row, column.key) for column in columns]
        shown = [formats.escaped(board.task), board.tier, *cells, str(row.seeds), formats.escaped(row.budget)]
        lines.append("| " + " | ".join(shown) + " |")
    if result.about.bibtex.strip():
        lines += ["", "## Citation", "", *(f"    {line}" for line in result.about.bibtex.strip().splitlines())]
    return f"---\n{_yaml(head)}---\n\n" + "\n".join(lines) + "\n"


def _indexed(board: Table, row: Row, owner: str) -> dict[str, Any]:
    """Return an entry of the card's ``model-index``, with all scores."""
    name, _, config = board.dataset.partition("/")
    return {
        "task": {"type": "image-feature-extraction", "name": "Disentanglement"},
        "dataset": {"type": f"{owner}/{name}", "name": board.task, "config": config or "default"},
        "metrics": [
            {"type": column.key, "name": f"{column.title}, tier {board.tier}", "value": round(cell.mean, 6)}
            for column in board.columns
            if (cell := row.cells.get(column.key))
        ],
    }


def _yaml(content: object) -> str:
    needs("exporting results", "board", "yaml")
    import yaml

    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
