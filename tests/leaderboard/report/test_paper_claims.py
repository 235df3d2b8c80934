"""Directions that papers report: found by the datasets' names, counted by intervals, whichever way they come out."""

import csv
import io

from leaderboard.report import paper_claims, ranking

NEAR, MIDDLE, FAR = (f"xysquares/spacing_{spacing}" for spacing in (1, 4, 8))
HIGH, LOW = (0.5, 0.51, 0.52), (0.1, 0.11, 0.12)


def compared(found, source, higher, lower):
    (one,) = [d for d in found if (d.source, d.higher, d.lower) == (source, higher, lower)]
    return {c.method: c.verdict for c in one.methods}


def test_spacings_are_compared_step_by_step_and_end_to_end(made_result):
    found = paper_claims.find(
        ranking.tables(
            [
                *(made_result(task, "as_told", *of) for task, of in ((NEAR, HIGH), (MIDDLE, LOW), (FAR, (0.0, 0.01)))),
                *(made_result(task, "against", *of) for task, of in ((NEAR, LOW), (MIDDLE, HIGH), (FAR, HIGH))),
                *(made_result(task, "single", of) for task, of in ((NEAR, 0.9), (FAR, 0.1))),
                *(made_result(task, "pca", *of) for task, of in ((NEAR, HIGH), (FAR, LOW))),
                made_result(NEAR, "distrusted", *HIGH, quarantine="why"),
                made_result(FAR, "distrusted", *LOW, quarantine="why"),
            ]
        )
    )
    assert [(d.higher, d.lower) for d in found] == [(NEAR, MIDDLE), (MIDDLE, FAR), (NEAR, FAR)]
    assert compared(found, paper_claims.SPACING, NEAR, MIDDLE) == {"against": "the other way", "as_told": "as reported"}
    assert compared(found, paper_claims.SPACING, MIDDLE, FAR)["against"] == "not told apart"
    assert compared(found, paper_claims.SPACING, NEAR, FAR) == {
        "against": "the other way",
        "as_told": "as reported",
        "single": "not told apart",  # one seed says nothing of its spread
    }
    assert [d.agreeing for d in found] == [1, 1, 2]
    # The median of 0.505 (0.51 less 0.005), -0.4 (0.11 less 0.51) and 0.8 (0.9 less 0.1).
    assert abs(found[2].median - 0.505) < 1e-9
    lines = list(csv.DictReader(io.StringIO(paper_claims.comma_separated(found))))
    assert len(lines) == 2 + 2 + 3
    assert lines[0]["verdict"] == "the other way"


def test_perturbed_is_compared_with_the_original_and_with_noise_of_its_size(made_result):
    names = ("sprites2d", "sprites2d_noisy/eps10", "sprites2d_noisy/eps20", "sprites2d_perturbed/pca_eps10")
    found = paper_claims.find(ranking.tables([made_result(name, "beta_vae", *HIGH) for name in names]))
    assert [(d.source, d.higher, d.lower) for d in found] == [
        (paper_claims.PERTURBED, "sprites2d", "sprites2d_perturbed/pca_eps10"),
        (paper_claims.NOISY, "sprites2d_noisy/eps10", "sprites2d_perturbed/pca_eps10"),
    ]


def test_a_board_with_neither_has_no_directions(made_result):
    assert paper_claims.find(ranking.tables([made_result("room3d", "beta_vae", *HIGH)])) == []
