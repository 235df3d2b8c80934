"""Numbers from papers: cited, dated, never ranked, and as the papers print them."""

import csv
import io
import json

import pytest

from benchmark_data.errors import DamagedFile
from leaderboard.commands import board
from leaderboard.store import reported


def number(papers, key, **wanted):
    """The one number of a paper that fits."""
    (paper,) = [paper for paper in papers if paper.key == key]
    (row,) = [row for row in paper.rows if all(getattr(row, name) == value for name, value in wanted.items())]
    return row.printed


@pytest.fixture(scope="module")
def published():
    return reported.read_all(board.PUBLISHED)


def test_numbers_are_those_of_the_papers(published):
    # Zietlow et al., table 1, rows dSprites and Shapes3D; table 2.
    zietlow = {"key": "zietlow2021", "score": "MIG"}
    assert number(published, **zietlow, place="Table 1", dataset="dsprites", method="β-VAE") == "0.23 ± 0.08"
    assert number(published, **zietlow, place="Table 1", dataset="dsprites_perturbed", method="β-VAE") == "0.07 ± 0.04"
    assert number(published, **zietlow, place="Table 1", dataset="shapes3d_perturbed", method="AE") == "0.05 ± 0.05"
    assert number(published, **zietlow, place="Table 2", dataset="shapes3d_noisy", method="β-VAE") == "0.66 ± 0.05"
    # Bonheme and Grzes, table 1 and appendix A.
    bonheme = {"key": "bonheme2023", "dataset": "celeba_cars3d"}
    mean, label = "accuracy, mean of labels", "accuracy, Wearing Lipstick"
    assert number(published, **bonheme, setting="from CelebA to Cars3D", score=mean) == "0.42"
    assert number(published, **bonheme, setting="from Cars3D to CelebA", score=label) == "0.67"


def test_tables_are_complete(published):
    # Table 1: 4 models on 4 datasets. Table 2: 3 models on 4, and a tuned one on noisy dSprites.
    # Table 1: 8 pairs. Appendix A: 2 x 3 labels, 2 x 5 labels, 2 x 8 labels.
    assert {paper.key: len(paper.rows) for paper in published} == {
        "zietlow2021": 16 + 13,
        "bonheme2023": 8 + 6 + 10 + 16,
    }


def test_every_paper_is_cited_and_dated(published):
    for paper in published:
        assert paper.link.startswith("https://")
        assert paper.bibtex.startswith("@")
        assert paper.notes


def test_csv(published):
    records = list(csv.DictReader(io.StringIO(reported.comma_separated(published))))
    assert len(records) == sum(len(paper.rows) for paper in published)
    assert records[0]["source"] == published[0].key


def test_a_file_under_another_name(tmp_path):
    (tmp_path / "reported").mkdir()
    source = board.PUBLISHED / "reported" / "zietlow2021.json"
    (tmp_path / "reported" / "other.json").write_bytes(source.read_bytes())
    with pytest.raises(DamagedFile, match=r"expected the name zietlow2021\.json, as its key says"):
        reported.read_all(tmp_path)


def test_a_damaged_file(tmp_path):
    (tmp_path / "reported").mkdir()
    (tmp_path / "reported" / "a.json").write_text(json.dumps({"schema": 1}))
    with pytest.raises(DamagedFile, match="expected a value, received nothing"):
        reported.read_all(tmp_path)


def test_a_tree_without_any(tmp_path):
    assert reported.read_all(tmp_path) == []
