"""Held-out and correlated rows: which rule is compared with which, R² of each factor, and the page."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard import protocol
from leaderboard.report import generalisation, ranking
from leaderboard.report.site import build
from leaderboard.store import results, results_tree

ERRORS = {"random": [0.2, 0.5, 1.0, 1.0, 1.0], "extrapolation": [0.4, 0.5, 2.0, 1.0, 1.0]}
"""Mean squared errors of five factors in units of their variance over the whole dataset."""

VARIANCES = [np.var(range(size)) for size in (3, 6, 40, 32, 32)]
"""Those of shape, scale, orientation, posX and posY over the whole dataset."""


@pytest.fixture
def divided(made_result):
    """Make results of a method on dsprites divided by rules, with four seeds."""

    def make(**errors):
        found = []
        for rule, of in errors.items():
            varies = (float(rule != "recombination.to_range"), 1.0, 1.0, 1.0, 1.0)
            plain = made_result(f"dsprites/{rule}", "beta_vae", 0.1, 0.11, 0.12, 0.13, tier="held_out")
            runs = []
            for run in plain.runs:
                moved = [(error + run.seed / 1000) * of_all for error, of_all in zip(of, VARIANCES, strict=True)]
                each = [1 - error for error, varying in zip(moved, varies, strict=True) if varying]
                parts = {"r_squared": {"errors": tuple(moved), "variances": varies}}
                scores = run.scores | {"r_squared": sum(each) / len(each), "r_squared.r_squared_min": min(each)}
                samples = run.samples | {"r_squared": run.samples["mig"]}
                runs.append(run.model_copy(update={"scores": scores, "parts": parts, "samples": samples}))
            found.append(results.result(plain.task, plain.method, runs))
        return found

    return make


def test_a_rule_is_compared_with_its_reference(divided):
    (study,) = generalisation.studies(ranking.tables(divided(**ERRORS)))
    assert (study.dataset, study.method, [line.rule for line in study.lines]) == (
        "dsprites",
        "beta_vae",
        ["random", "extrapolation"],
    )
    base, other = study.lines
    assert (base.reference, base.changes, other.reference) == ("", {}, "random")
    # R² is the mean of 0.8, 0.5, 0, 0 and 0 on random rows, and of 0.6, 0.5, -1, 0 and 0 beyond: 0.24 lower.
    difference = other.changes["r_squared_whole"]
    assert difference.comparison.difference == pytest.approx(-0.24)
    assert (difference.answer, other.changes["mig"].answer) == ("supported", "no significant difference")
    names = protocol.task("dsprites/random").scored
    assert list(other.factors) == list(names)
    value, (low, high) = other.factors[names[2]]
    assert value == pytest.approx(-1 - 0.0015)
    assert low < value < high


def test_a_rule_that_holds_a_factor_constant_is_compared_on_the_same_factors(divided):
    errors = {"random": [1.0, 0.2, 0.2, 0.2, 0.2], "recombination.to_range": [1.0, 0.2, 0.2, 0.2, 0.2]}
    (study,) = generalisation.studies(ranking.tables(divided(**errors)))
    changes = study.lines[1].changes
    assert list(changes) == ["r_squared_whole"], "MIG there is of other factors"
    assert changes["r_squared_whole"].comparison.difference == pytest.approx(0)


def test_parts_of_fewer_factors_end_no_page(divided):
    """The tree's check names them; what is read may have any number."""
    reference, found = divided(**ERRORS)
    parts = {"r_squared": {"errors": (0.5,) * 4, "variances": (1.0,) * 4}}
    scores = {"r_squared": 0.5, "r_squared.r_squared_min": 0.5}
    runs = [run.model_copy(update={"parts": parts, "scores": run.scores | scores}) for run in found.runs]
    (study,) = generalisation.studies(ranking.tables([reference, results.result(found.task, found.method, runs)]))
    assert [bool(line.factors) for line in study.lines] == [True, False]


def test_correlated_rows_are_compared_with_those_that_have_the_same_rows_to_test_on():
    assert generalisation.reference("correlated.posx-posy-0.1") == "holdout"
    assert generalisation.reference("recombination.to_range") == "random"


def test_without_a_reference_there_is_nothing_to_compare(divided):
    assert generalisation.studies(ranking.tables(divided(extrapolation=ERRORS["extrapolation"]))) == ()


def test_a_result_in_quarantine_is_compared_with_none(divided):
    reference, found = divided(**ERRORS)
    marked = results.result(found.task, found.method, found.runs, quarantine="wrong codes")
    assert generalisation.studies(ranking.tables([reference, marked])) == ()


def test_the_page_says_what_is_lost(divided, tmp_path):
    root = tmp_path / "results"
    results_tree.write(root, divided(**ERRORS))
    site = build.build(root, tmp_path / "site").parent
    text = (site / "splits.held_out.html").read_text("utf-8")
    assert "-0.240" in text
    assert "<small>lower</small>" in text
    assert '<th scope="col" class="number">R² (whole)</th>' in text, "not the R² of the other pages"
    assert ">R²</button>" in (site / "tasks" / "dsprites.extrapolation.html").read_text("utf-8")
    assert "At most 1, higher is better" in (site / "index.html").read_text("utf-8")
