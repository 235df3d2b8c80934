"""Datasets by how hard they are: their order, what is told of correlations, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark_data.inspect import audit
from leaderboard import protocol
from leaderboard.commands import board
from leaderboard.report import hardness, integrity, ranking
from leaderboard.report.site import build
from leaderboard.store import giveaways, results, results_tree

SPACINGS = (1, 2, 4, 8)


def known(away, version="1.0.0", **more):
    """Giveaways of XYSquares by spacing."""
    fields = {"order": (("x", "y"),), "importance": {}, "seed": 0, "traversals": 200, "pairs": 5_000} | more
    found = {}
    for spacing, value in away.items():
        ends = {"giveaway": value, "low": value, "high": value}
        name = f"xysquares/spacing_{spacing}"
        found[name] = giveaways.Giveaway(dataset=name, version=version, **ends, **fields)
    return found


@pytest.fixture
def tables(made_result, monkeypatch):
    """Make tables of XYSquares at spacings: method -> spacing -> MIG of each seed."""
    monkeypatch.setattr(protocol, "TIERS", {"smoke": protocol.Tier("smoke", "For tests.", ())})

    def make(scores):
        return ranking.tables(
            made_result(f"xysquares/spacing_{spacing}", method, *migs)
            for method, of in scores.items()
            for spacing, migs in of.items()
        )

    return make


def test_the_harder_a_dataset_the_lower_it_stands(tables):
    migs = {1: [0.4, 0.41, 0.42, 0.43], 2: [0.3, 0.31, 0.32, 0.33], 8: [0.0, 0.01, 0.02, 0.03]}
    other = {spacing: [mig / 2 for mig in of] for spacing, of in migs.items()}
    found = hardness.hardness(
        tables({"beta_vae": migs, "ae": other, "pca": {1: [0.9]}, "rare": {8: [0.9] * 4}}), known({1: 1.0, 8: 0.0})
    )
    assert [line.dataset for line in found.lines] == [f"xysquares/spacing_{spacing}" for spacing in (1, 2, 8)]
    assert found.common == ("ae", "beta_vae"), "what all datasets have; references do not count"
    first, second, last = found.lines
    # The mean of two methods, each with a standard error of sd / 2; as wide as Student's with 3 + 3 degrees or less.
    assert first.mean == pytest.approx((0.415 + 0.2075) / 2)
    assert first.interval[0] < first.mean < first.interval[1] < first.mean + 0.02
    assert (first.giveaway.value, second.giveaway, last.giveaway.value) == (1.0, None, 0.0)


def test_an_interval_pairs_no_seeds_that_differ(made_result):
    """Of ten seeds and of the last five of them, the first five would be taken for the others."""
    many, few = (made_result("xysquares/spacing_1", name, *np.linspace(0.1, 0.3, 10)) for name in ("ae", "beta_vae"))
    others = [made_result("xysquares/spacing_8", name, *[0.1] * 5) for name in ("ae", "beta_vae")]
    for kept, has in ((slice(5), True), (slice(5, None), False)):
        part = results.result(few.task, few.method, few.runs[kept])
        tables = ranking.tables([many, part, *others])
        line, other = hardness.hardness(tables, known({1: 1.0, 8: 0.0})).lines
        assert line.mean > other.mean
        assert (line.interval is not None) is has


def test_without_a_common_method_the_giveaway_orders(tables):
    found = hardness.hardness(
        tables({"ae": {1: [0.1] * 4, 2: [0.1] * 4}, "beta_vae": {8: [0.9] * 4}}), known({1: 0.5, 2: 0.9, 8: 0.1})
    )
    assert found.common == ()
    assert [line.dataset for line in found.lines] == [f"xysquares/spacing_{spacing}" for spacing in (2, 1, 8)]
    assert all(line.mean is line.interval is None for line in found.lines)


def test_datasets_without_a_score_in_common_are_not_ordered(made_result):
    found = [made_result(f"xysquares/spacing_{spacing}", "ae", *[0.1] * 4) for spacing in (1, 8)]
    other = {"scores": {"dci.disentanglement": 0.1}, "samples": {"dci": found[1].runs[0].samples["mig"]}}
    runs = [run.model_copy(update=other) for run in found[1].runs]
    found[1] = results.result(found[1].task, "ae", runs)
    assert hardness.hardness(ranking.tables(found), known({1: 1.0, 8: 0.0})) is None


def test_a_correlation_of_three_datasets_is_not_told(tables):
    migs = {spacing: [1 / spacing] * 4 for spacing in SPACINGS}
    away = {1: 1.0, 2: 0.9, 4: 0.8, 8: 0.0}
    three = hardness.hardness(tables({"beta_vae": {s: migs[s] for s in (1, 2, 8)}}), known(away))
    assert [(one.datasets, one.correlation) for one in three.predictions] == [(3, None)]
    four = hardness.hardness(tables({"beta_vae": migs, "ae": {1: [0.1] * 4}}), known(away))
    told = {one.method: one for one in four.predictions}
    assert (told["beta_vae"].datasets, told["beta_vae"].correlation.value) == (4, 1.0)
    assert told["beta_vae"].correlation.low < 0, "four in order may be chance"
    assert told["ae"].correlation is None


def test_methods_are_compared_by_the_datasets_that_half_of_them_have(tables):
    migs = {"a": [0.5, 0.4, 0.3, 0.2, 0.9], "b": [0.5, 0.4, 0.3, 0.2], "c": [0.5, 0.4, 0.3]}
    spacings, away = (1, 2, 4, 8, 6), {1: 1.0, 2: 0.9, 4: 0.8, 8: 0.7, 6: 0.0}
    made = {name: {s: [mig] * 4 for s, mig in zip(spacings, of, strict=False)} for name, of in migs.items()}
    found = {one.method: one for one in hardness.hardness(tables(made), known(away)).predictions}
    assert {name: (one.datasets, one.shared) for name, one in found.items()} == {"a": (5, 4), "b": (4, 4), "c": (3, 4)}
    assert found["a"].correlation.value == pytest.approx(0.0)
    assert found["a"].on_shared == found["b"].on_shared == found["b"].correlation
    assert found["a"].on_shared.value == 1.0
    assert found["c"].on_shared is None


def test_a_giveaway_of_another_version_counts_as_not_measured(write_giveaways, tables, tmp_path):
    boards = tables({"beta_vae": {1: [0.1] * 4, 8: [0.1] * 4}})
    assert hardness.hardness(boards, known({1: 1.0, 8: 0.0}, version="0.9.0")) is None
    write_giveaways(tmp_path, known({1: 1.0}, version="0.9.0").values())
    (tmp_path / "reported").mkdir()
    (tmp_path / "reported" / "damaged2020.json").write_text("{", "utf-8")
    found = [str(problem) for problem in integrity.check(tmp_path)]
    for said in ("xysquares/spacing_1: expected version 1.0.0, received 0.9.0", "damaged2020.json"):
        assert sum(said in problem for problem in found) == 1


def test_divided_datasets_are_left_out(tables, made_result):
    boards = tables({"beta_vae": {1: [0.1] * 4, 8: [0.1] * 4}})
    boards += ranking.tables([made_result("xysquares/spacing_1.random", "beta_vae", *[0.9] * 4)])
    assert len(hardness.hardness(boards, known({1: 1.0})).lines) == 2


def test_a_dataset_of_a_submission_alone_changes_no_order(tables, made_result):
    boards = tables({"beta_vae": {1: [0.4] * 4, 8: [0.1] * 4}})
    new = ranking.tables([made_result("xysquares/spacing_2", "mine", *[0.9] * 4, status="recomputed")])
    measured = known({1: 0.0, 2: 0.5, 8: 1.0})
    found = hardness.hardness([*boards, *new], measured)
    assert found == hardness.hardness(boards, measured)
    assert (found.common, [line.dataset[-1] for line in found.lines]) == (("beta_vae",), ["1", "8"])
    assert len(hardness.hardness([boards[0], *new], measured).lines) == 2, "one alone would have no order"


def test_scores_that_were_handed_in_move_no_dataset(tables, made_result):
    ours = [made_result(f"xysquares/spacing_{s}", "beta_vae", *[mig] * 4) for s, mig in ((1, 0.4), (8, 0.1))]
    theirs = [
        made_result(f"xysquares/spacing_{s}", "mine", *[mig] * 4, status="recomputed")
        for s, mig in ((1, 0.1), (8, 0.9))
    ]
    alone, beside = (hardness.hardness(ranking.tables(of), known({1: 1.0, 8: 0.0})) for of in (ours, ours + theirs))
    assert beside.common == ("beta_vae",)
    assert [(line.dataset, line.mean) for line in beside.lines] == [(line.dataset, line.mean) for line in alone.lines]


def test_what_is_kept_is_what_the_audit_finds(write_giveaways, audited, make_toy, tmp_path):
    toy = make_toy()
    found, kept = audit.audit(toy, traversals=5, pairs=10), audited(toy, traversals=5, pairs=10)
    assert (kept.giveaway, kept.low, kept.high) == pytest.approx(tuple(found.giveaway), abs=1e-6)
    assert [list(group) for group in kept.order] == found.order()
    write_giveaways(tmp_path, [kept])
    assert giveaways.read(tmp_path) == {"toy/small": kept}


def test_the_page_is_complete_without_a_script(write_giveaways, tables, made_result, tmp_path):
    migs = {1: [0.4, 0.41, 0.42, 0.43], 2: [0.3, 0.31, 0.32, 0.33], 8: [0.0, 0.01, 0.02, 0.03]}
    root = tmp_path / "results"
    tables({})
    results_tree.write(root, [made_result(f"xysquares/spacing_{s}", "beta_vae", *of) for s, of in migs.items()])
    write_giveaways(root, known({1: 1.0, 2: 0.979, 8: 0.0}).values())
    text = (build.build(root, tmp_path / "site").parent / "datasets.smoke.html").read_text("utf-8")
    places = [text.index(f">xysquares/<wbr>spacing_{spacing}</a>") for spacing in (1, 2, 8)]
    assert places == sorted(places)
    assert "too few datasets" in text


def test_the_page_is_made_where_seeds_differ(write_giveaways, tables, made_result, tmp_path):
    tables({})
    for spacing in (1, 8):
        whole, other = (made_result(f"xysquares/spacing_{spacing}", name, *[0.3] * 5) for name in ("ae", "beta_vae"))
        part = results.result(whole.task, "ae", whole.runs[spacing == 8 :])
        results_tree.write(tmp_path / "r", [part, other])
    write_giveaways(tmp_path / "r", known({1: 1.0, 8: 0.0}).values())
    text = (build.build(tmp_path / "r", tmp_path / "site").parent / "datasets.smoke.html").read_text("utf-8")
    assert "Mean MIG" in text


def test_the_published_giveaways_are_of_the_datasets_as_they_are():
    assert list(integrity._find_outdated_giveaways(board.PUBLISHED)) == []
    xysquares = giveaways.read(board.PUBLISHED)["xysquares/spacing_8"]
    assert (xysquares.giveaway, xysquares.low, xysquares.high) == (0, 0, 0), "docs/audit.md says so"
