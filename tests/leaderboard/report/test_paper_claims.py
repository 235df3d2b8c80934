"""Directions that papers report: found by the datasets' names, tested together, whichever way they come out."""

import csv
import io

import pytest

from leaderboard.report import paper_claims, ranking
from leaderboard.store import results, verdicts

NEAR, MIDDLE, FAR = (f"xysquares/spacing_{spacing}" for spacing in (1, 4, 8))
HIGH, LOW, NONE = (0.5, 0.51, 0.52, 0.53, 0.54), (0.1, 0.11, 0.12, 0.13, 0.14), (0.0, 0.01, 0.02, 0.03, 0.04)


def find(*made):
    return {(one.higher, one.lower): one for one in paper_claims.find(ranking.tables(made))}


def test_spacings_are_compared_step_by_step_and_end_to_end(made_result):
    made = [
        *(made_result(task, "as_told", *of) for task, of in ((NEAR, HIGH), (MIDDLE, LOW), (FAR, NONE))),
        *(made_result(task, "too", *of) for task, of in ((NEAR, HIGH), (MIDDLE, LOW), (FAR, NONE))),
        *(made_result(task, "single", of) for task, of in ((NEAR, 0.9), (FAR, 0.1))),
        *(made_result(task, "pca", *of) for task, of in ((NEAR, LOW), (FAR, LOW))),
        made_result(NEAR, "distrusted", *HIGH, quarantine="why"),
        made_result(FAR, "distrusted", *LOW, quarantine="why"),
    ]
    found = find(*made)
    assert list(found) == [(NEAR, MIDDLE), (MIDDLE, FAR), (NEAR, FAR)]
    assert [one.title for one in found.values()] == ["agrees"] * 3
    ends = found[NEAR, FAR]
    assert [one.method for one in ends.methods] == ["as_told", "single", "too"]
    # 0.52 less 0.02, for both that have seeds enough.
    assert ends.comparison.difference == pytest.approx(0.5)
    # PCA's mean is 0.12 where there is one.
    assert [one.floor for one in found.values()] == pytest.approx([0.12, 0.1, 0.12])
    # No drawn split is as far apart: 2 / 10,000, times 3 for the first of three rows.
    assert ends.p == pytest.approx(6e-4)


def test_what_others_hand_in_decides_nothing(made_result, monkeypatch):
    told = [made_result(task, "told", *of, status="recomputed") for task, of in ((NEAR, HIGH), (FAR, LOW))]
    assert find(*told) == {}
    monkeypatch.setattr(results.Result, "trust", lambda self, tier: "verified")
    assert [row.note for board in ranking.tables(told) for row in board.rows] == ["", ""], "they are ranked"
    assert find(*told) == {}
    ours = [made_result(task, "ours", *of) for task, of in ((NEAR, HIGH), (FAR, LOW))]
    assert [one.method for one in find(*told, *ours)[NEAR, FAR].methods] == ["ours"]


def test_the_other_way_and_no_way(made_result):
    found = find(
        *(
            made_result(task, name, *of)
            for name in ("a", "b")
            for task, of in ((NEAR, LOW), (MIDDLE, HIGH), (FAR, HIGH))
        )
    )
    assert found[NEAR, MIDDLE].title == "disagrees"
    assert found[MIDDLE, FAR].title == "inconclusive"
    assert found[MIDDLE, FAR].p == 1


def test_a_fall_from_the_floor_is_not_judged(made_result):
    """Means of 0.02 and 0.12 do not reach 0.1, and not PCA's 0.52."""
    made = [made_result(task, "a", *of) for task, of in ((NEAR, NONE), (FAR, (0.0,) * 5))]
    assert [one.title for one in find(*made).values()] == ["floor"]
    made = [made_result(task, "a", *of) for task, of in ((NEAR, LOW), (FAR, NONE))]
    assert [one.title for one in find(*made).values()] == ["agrees"]
    found = find(*made, made_result(NEAR, "pca", *HIGH))[NEAR, FAR]
    assert (found.title, found.p, found.methods[0].reached) == ("floor", None, False)


def test_few_seeds_come_to_no_verdict(made_result):
    found = find(*(made_result(task, "a", *of[:3]) for task, of in ((NEAR, HIGH), (FAR, LOW))))
    assert [(one.title, one.p) for one in found.values()] == [("too few seeds", None)]


def test_the_counts_add_up(made_result):
    made = [made_result(task, "a", *of) for task, of in ((NEAR, HIGH), (MIDDLE, LOW), (FAR, NONE))]
    made += [made_result(task, "a", *LOW[:2]) for task in ("sprites2d", "sprites2d_perturbed/pca_eps10")]
    found = list(find(*made).values())
    counts = paper_claims.counted(found)
    assert counts == {"agrees": 3, "too few seeds": 1}
    assert sum(counts.values()) == len(found)


def test_the_file_has_a_line_for_each_direction_and_method(made_result):
    found = find(*(made_result(task, name, *of) for name in ("a", "b") for task, of in ((NEAR, HIGH), (FAR, LOW))))
    lines = list(csv.DictReader(io.StringIO(paper_claims.comma_separated(list(found.values())))))
    assert [line["method"] for line in lines] == ["all", "a", "b"]
    assert [line["verdict"] for line in lines] == ["agrees", "", ""]
    assert [line["count"] for line in lines] == ["2", "5", "5"]
    assert float(lines[0]["difference"]) == pytest.approx(0.4)


def test_perturbed_is_compared_with_the_original_and_with_noise_of_its_size(made_result):
    names = ("sprites2d", "sprites2d_noisy/eps10", "sprites2d_noisy/eps20", "sprites2d_perturbed/pca_eps10")
    found = paper_claims.find(ranking.tables([made_result(name, "beta_vae", *HIGH) for name in names]))
    assert [(d.source, d.higher, d.lower) for d in found] == [
        (paper_claims.PERTURBED, "sprites2d", "sprites2d_perturbed/pca_eps10"),
        (paper_claims.NOISY, "sprites2d_noisy/eps10", "sprites2d_perturbed/pca_eps10"),
    ]


PLAIN, SQUEEZED, PERTURBED = "sprites2d", "sprites2d_squeezed/eps10", "sprites2d_perturbed/pca_eps10"


@pytest.mark.parametrize(
    ("squeezed", "verdict"), [(HIGH, "agrees"), (LOW, "inconclusive"), (NONE, "floor"), (LOW[:2], "too few seeds")]
)
def test_a_fall_that_the_loss_of_contrast_explains_agrees_with_nobody(made_result, squeezed, verdict):
    """From 0.52 to 0.12: that agrees where squeezed data have 0.52 as well, and not where they have 0.12."""
    made = [made_result(PLAIN, name, *HIGH) for name in "ab"] + [made_result(PERTURBED, name, *LOW) for name in "ab"]
    alone = find(*made)[PLAIN, PERTURBED]
    assert (alone.title, alone.control) == ("agrees", None)
    other_size = [made_result("sprites2d_squeezed/eps20", name, *LOW) for name in "ab"]
    assert find(*made, *other_size)[PLAIN, PERTURBED] == alone
    found = find(*made, *(made_result(SQUEEZED, name, *squeezed) for name in "ab"))
    assert [one for one in found if SQUEEZED in one] == []
    one = found[PLAIN, PERTURBED]
    assert (one.title, one.control.dataset) == (verdict, SQUEEZED)
    assert one.comparison == alone.comparison
    assert one.p is None or one.p >= alone.p
    lines = list(csv.DictReader(io.StringIO(paper_claims.comma_separated([one]))))
    assert [(line["higher"], line["method"], line["verdict"]) for line in lines[:2]] == [
        (PLAIN, "all", verdict),
        (SQUEEZED, "all", "control"),
    ]


@pytest.mark.parametrize(("perturbed", "verdict"), [(HIGH, "disagrees"), (LOW, "inconclusive")])
def test_more_than_on_squeezed_data_disagrees_though_less_than_on_the_original(made_result, perturbed, verdict):
    """A sentence that says two things is contradicted where one of them is: 0.92, 0.12 and 0.52 in between."""
    values = {PLAIN: [0.4 + each for each in HIGH], SQUEEZED: LOW, PERTURBED: perturbed}
    made = [made_result(task, name, *of) for task, of in values.items() for name in "ab"]
    one = find(*made)[PLAIN, PERTURBED]
    assert one.comparison.difference > 0
    assert one.title == verdict


def test_of_two_comparisons_one_against_decides_then_one_without_a_verdict(made_result):
    """As `verdicts.judge_all` has it of the parts of a claim."""
    clear, none = verdicts.Comparison(0.5, 0.4, 0.6, 0.001, 5, 1), verdicts.Comparison(0.1, 0.0, 0.2, None, 5, 0)
    against, hardly = (verdicts.Comparison(-0.2, -0.4, 0.0, p, 5, 1) for p in (0.02, 0.03))
    just = verdicts.Comparison(0.1, 0.0, 0.2, 0.045, 5, 1)
    made = [made_result(task, "a", *HIGH) for task in (PLAIN, PERTURBED)]
    one = find(*made)[PLAIN, PERTURBED]
    parts = ((clear, against), (none, hardly), (just, hardly), (clear, hardly), (none, against), (clear, clear))
    for first, second in parts:
        found = one._replace(comparison=first, control=paper_claims.Control(SQUEEZED, second)).decisive
        ((answer, _),) = verdicts.judge([found])
        assert answer == verdicts.judge_all([first, second])[0]


def test_a_board_with_neither_has_no_directions(made_result):
    assert paper_claims.find(ranking.tables([made_result("room3d", "beta_vae", *HIGH)])) == []
