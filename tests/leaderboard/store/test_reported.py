"""Numbers from papers: cited, dated, never ranked, and as the papers print them."""

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
    # Bonheme and Grześ, table 1 and appendix A.
    bonheme = {"key": "bonheme2023", "dataset": "celeba_cars3d"}
    mean, label = "accuracy, mean of labels", "accuracy, Wearing Lipstick"
    assert number(published, **bonheme, setting="from CelebA to Cars3D", score=mean) == "0.42"
    assert number(published, **bonheme, setting="from Cars3D to CelebA", score=label) == "0.67"
    # Lin et al., tables 1 and 3, on dSprites.
    lin = {"key": "lin2020", "dataset": "dsprites"}
    assert number(published, **lin, place="Table 1", method="InfoGAN-CR", score="DCI") == "0.71 ± 0.01"
    assert number(published, **lin, place="Table 1", method="β-TCVAE", score="MIG") == "0.45"
    assert number(published, **lin, method="InfoGAN-CR with ModelCentrality", score="FactorVAE") == "0.92 ± 0.00"
    # Zhu et al., tables 1 and 5.
    zhu = {"key": "zhu2021", "dataset": "dsprites"}
    assert number(published, **zhu, method="+exp", score="MIG × 100") == "17.2 ± 6.8"
    assert number(published, **zhu, method="Cascade-VAE", score="FVM × 100") == "81.74 ± 2.97"
    assert number(published, key="zhu2021", dataset="shapes3d", method="β-VAE") == "91"
    # Wu and Zheng, table 2.
    wu = {"key": "wu2024", "place": "Table 2"}
    assert number(published, **wu, dataset="shapes3d", method="FactorVAE", score="FVAE") == "0.840 ± 0.066"
    assert number(published, **wu, dataset="cars3d", method="DisDiff-VQ", score="FVAE") == "0.976 ± 0.018"
    assert number(published, **wu, setting="real", method="VCT", score="DCI") == "0.475 ± 0.005"
    assert number(published, **wu, setting="real-complex", method="VCT", score="DCI") == "0.467 ± 0.064"
    assert number(published, **wu, setting="real-complex", method="FDAE", score="MIG") == "0.197 ± 0.021"


def test_tables_are_complete(published):
    # zietlow2021, table 1: 4 models on 4 datasets. Table 2: 3 models on 4, and a tuned one on noisy dSprites.
    # bonheme2023, table 1: 8 pairs. Appendix A: 2 x 3 labels, 2 x 5 labels, 2 x 8 labels.
    # lin2020, table 1: 6 rows with 7 numbers, 9 with 21 together. Table 3: 6 rows with 7.
    # zhu2021, table 1: 3 rows with 4 numbers. Table 2: one of its rows. Table 5: 5 models on 2 datasets but for one.
    # wu2024, table 2: 14 models, 9 numbers each; VCT has 3 more and DisDiff-VQ 3 fewer.
    assert {paper.key: len(paper.rows) for paper in published} == {
        "lin2020": 6 * 7 + 21 + 6 * 7,
        "zietlow2021": 16 + 13,
        "zhu2021": 12 + 4 + 9,
        "bonheme2023": 8 + 6 + 10 + 16,
        "wu2024": 14 * 9,
    }


def test_papers_are_in_the_order_of_years(published):
    order = [(paper.year, paper.key) for paper in published]
    assert order == sorted(order)


def test_the_usual_datasets_are_covered(published):
    found = {row.dataset for paper in published if paper.year >= 2019 for row in paper.rows}
    assert found >= {"dsprites", "shapes3d", "cars3d", "mpi3d"}


def test_no_number_stands_twice(published):
    for paper in published:
        cells = [(row.place, row.method, row.dataset, row.setting, row.score) for row in paper.rows]
        assert len(set(cells)) == len(cells), paper.key


def test_every_paper_is_cited_and_dated(published):
    for paper in published:
        assert paper.link.startswith("https://")
        assert paper.bibtex.startswith("@")
        assert paper.notes
        assert paper.differs
        assert all(row.evaluator and row.place for row in paper.rows)


@pytest.mark.parametrize(
    ("mean", "spread", "digits", "printed"),
    [(0.84, 0.066, {"digits": 3}, "0.840 ± 0.066"), (91.0, None, {"digits": 0}, "91"), (0.4, None, {}, "0.40")],
)
def test_a_number_keeps_its_digits(mean, spread, digits, printed):
    row = reported.Reported(
        dataset="toy", setting="", method="a", score="b", mean=mean, spread=spread, seeds=None, place="", **digits
    )
    assert row.printed == printed


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
