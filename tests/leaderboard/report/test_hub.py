"""The export: a dataset that plain `datasets` reads, evaluation results and cards that huggingface_hub reads."""

import csv
import io
import re

import datasets
import huggingface_hub
import pytest
import yaml
from huggingface_hub._eval_results import parse_eval_result_entries

from benchmark_data.errors import DamagedFile, InvalidInput
from benchmark_data.publish import card
from leaderboard import protocol
from leaderboard.report import formats, hub, ranking
from leaderboard.store import results_tree
from leaderboard.store.results import About

ABOUT = About(
    title="β-VAE | [x](y)",
    description="A *VAE*\n---\ntags: [evil]",
    license="MIT",
    bibtex="@misc{x,\n title = {```},\n}",
)


@pytest.fixture
def root(made_result, tmp_path, toys):
    found = [
        made_result("toy/small", "beta_vae", 0.1, 0.2, about=ABOUT),
        made_result("toy/spacing_1", "beta_vae", *[0.3] * 5, about=ABOUT, tier="study"),
        made_result("toy/small", "pca", 0.4),
        made_result("toy/small", "distrusted", 0.9, quarantine="saw the labels"),
    ]
    results_tree.write(tmp_path / "results", found)
    return tmp_path / "results"


@pytest.fixture
def folder(root, tmp_path):
    return hub.write(root, tmp_path / "export", owner="someone", source="https://example.org/board")


def test_plain_datasets_reads_the_results(folder, root, tmp_path):
    summaries = datasets.load_dataset(str(folder / "dataset"), split="train", cache_dir=str(tmp_path / "cache"))
    expected = list(csv.DictReader(io.StringIO(formats.comma_separated(ranking.tables(results_tree.read_all(root))))))
    assert [(row["task"], row["method"], f"{row['mean']:.6f}") for row in summaries] == [
        (row["task"], row["method"], row["mean"]) for row in expected
    ]
    scores = datasets.load_dataset(str(folder / "dataset"), "scores", split="train", cache_dir=str(tmp_path / "cache"))
    assert len(scores) == 2 + 5 + 1 + 1
    assert scores.features["claimed"].dtype == "float64"
    assert {row["quarantine"] for row in scores if row["method"] == "distrusted"} == {"saw the labels"}


def test_types_do_not_hang_on_what_a_tree_holds(made_result, tmp_path, toys):
    """A text stays as its author wrote it, and what nobody has is not of another type."""
    titles = ["-VAE", "=HYPERLINK(1)"]
    trees = [[made_result("toy/small", "a", 0.1, about=About(title=titles[0]))]]
    trees.append([made_result("toy/small", name, *[0.3] * 5, about=About(title=titles[1])) for name in "ab"])
    made = [hub.frames(tmp_path, tree)["summaries"] for tree in trees]
    assert list(made[0].title) == titles[:1]
    assert set(made[1].title) == {titles[1]}
    assert dict(made[0].dtypes) == dict(made[1].dtypes)
    assert str(made[0].dtypes["rank"]) == "Int64"


def test_evaluation_results_are_those_of_the_hub(folder):
    files = sorted(folder.rglob(".eval_results/*.yaml"))
    assert [f"{file.parent.parent.name}/{file.name}" for file in files] == [
        "beta_vae/toy.smoke.yaml",
        "beta_vae/toy.study.yaml",
    ], "references are no one's models"
    (entry,) = parse_eval_result_entries(yaml.safe_load(files[0].read_text("utf-8")))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("someone/toy", "small_v1_smoke", 0.15)
    assert (entry.date, entry.source_url) == ("2026-01-02", "https://example.org/board")
    assert "MIG, mean of 2 seeds; tier smoke; training per seed: 1,000 steps" in entry.notes


def test_tasks_are_those_that_the_published_dataset_names():
    known = {f"{protocol.VERSION}_{tier}" for tier in protocol.TIERS if tier != "held_out"}  # of divided datasets
    assert set(card.EVALUATIONS) == known
    board = ranking.Table("room3d@v1", "smoke", (), {})
    assert hub.task_id(board) == "default_v1_smoke"


def test_a_card_has_metadata_and_only_text_of_the_author(folder):
    text = (folder / "models" / "beta_vae" / "README.md").read_text("utf-8")
    loaded = huggingface_hub.ModelCard(text)
    assert loaded.data.license == "mit"
    assert loaded.data.tags == ["disentanglement", "representation-learning", "offaxis"]
    assert loaded.data.datasets == ["someone/toy"]
    assert [(r.dataset_name, r.metric_type, r.metric_value) for r in loaded.data.eval_results] == [
        ("toy/small@v1", "mig", 0.15),
        ("toy/spacing_1@v1", "mig", 0.3),
    ]
    assert text.count("\n---\n") == 1
    assert r"# β\-VAE \| \[x\]\(y\)" in text
    assert "    @misc{x," in text
    assert not re.search(r"^```", text, re.MULTILINE)


@pytest.mark.parametrize("owner", ["", "a/b", "a b", "a\nb"])
def test_an_owner_that_is_none(root, tmp_path, owner):
    with pytest.raises(InvalidInput, match="owner: expected a name of a user or organisation"):
        hub.write(root, tmp_path / "e", owner=owner)


def test_nothing_to_export_or_a_folder_that_is_taken(root, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DamagedFile, match="expected at least one result, received none"):
        hub.write(tmp_path / "empty", tmp_path / "e", owner="someone")
    with pytest.raises(InvalidInput, match="expected a path that is free"):
        hub.write(root, tmp_path / "empty", owner="someone")
