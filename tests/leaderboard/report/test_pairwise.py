"""Two methods compared: differences by hand, tests by scipy."""

import csv
import io

import pytest
import scipy.stats

from benchmark_data.errors import InvalidInput, UnknownName
from leaderboard.report import pairwise, ranking
from leaderboard.store import results, verdicts

NEAR, FAR = "xysquares/spacing_1", "xysquares/spacing_8"
A = {NEAR: (0.50, 0.52, 0.54, 0.56, 0.58), FAR: (0.10, 0.12, 0.14, 0.16, 0.18)}
B = {NEAR: (0.20, 0.21, 0.22, 0.20, 0.22), FAR: (0.11, 0.13, 0.13, 0.18, 0.20)}


@pytest.fixture
def boards(made_result):
    found = [made_result(task, name, *scores[task]) for name, scores in (("a", A), ("b", B)) for task in (NEAR, FAR)]
    found += [made_result(NEAR, "few", 0.9, 0.8), made_result(NEAR, "pca", 0.1)]
    found += [made_result(FAR, "elsewhere", *A[FAR], tier="desk"), made_result(FAR, "few", 0.3, tier="desk")]
    return ranking.tables(found)


def of(boards, *names, tier=""):
    return pairwise.compare(pairwise.of_tier(boards, *names, tier), *names)


def test_differences_and_their_tests(boards):
    pair = of(boards, "a", "b")
    assert (pair.tier, pair.first, pair.second) == ("smoke", ("a", "a"), ("b", "b"))
    near, far, across = pair.differences
    assert [one.task for one in pair.differences] == [NEAR, FAR, pairwise.ACROSS]
    assert near.comparison.difference == pytest.approx(0.33)
    tests = [scipy.stats.ttest_ind(A[task], B[task], equal_var=False) for task in (NEAR, FAR)]
    # Holm over the two tasks, and the interval of each task alone.
    assert [near.p, far.p] == pytest.approx(verdicts.holm([test.pvalue for test in tests]))
    assert (near.comparison.low, near.comparison.high) == pytest.approx(tuple(tests[0].confidence_interval()))
    assert [pair.verdict(one) for one in pair.differences] == [
        "a is higher",
        "no significant difference",
        "a is higher",
    ]
    assert across.comparison.difference == pytest.approx((0.33 - 0.01) / 2)
    assert (across.first, across.second) == pytest.approx((0.34, 0.18))
    assert list(pair.by_task) == [NEAR, FAR, pairwise.ACROSS]


def test_two_methods_at_chance_are_not_compared(made_result):
    """As `leaderboard.Evaluation.compare` has it: they differ clearly, and neither is 0.01 above untrained."""
    low, high = [0.001, 0.002, 0.003, 0.002, 0.001], [0.007, 0.008, 0.009, 0.008, 0.007]
    scores = (("a", low), ("b", high), ("random_encoder", [0.0]))
    found = [made_result(FAR, name, *migs) for name, migs in scores]
    (alone,) = of(ranking.tables(found[:2]), "a", "b").differences
    assert alone.p < 0.001
    mistrusted = made_result(FAR, "random_encoder", 0.0, quarantine="other images")
    assert of(ranking.tables([*found[:2], mistrusted]), "a", "b").differences == (alone,)
    pair = of(ranking.tables(found), "a", "b")
    (one,) = pair.differences
    assert (one.p, pair.verdict(one)) == (None, verdicts.NEITHER)
    assert pairwise.comma_separated(pair).endswith(f",{verdicts.NEITHER}\n")
    both = [*found, *(made_result(NEAR, name, *migs) for name, migs in scores)]
    everywhere = of(ranking.tables(both), "a", "b").differences
    assert [(one.task, one.p) for one in everywhere] == [(NEAR, None), (FAR, None)], "no mean over tasks either"


def test_seeds_that_differ_between_tasks_are_not_averaged(made_result):
    """Seeds 0 to 4 on one task and 1 to 5 on the other would be paired by their order."""
    found = [made_result(task, name, *scores[task]) for name, scores in (("a", A), ("b", B)) for task in (NEAR, FAR)]
    moved = tuple(run.model_copy(update={"seed": run.seed + 1}) for run in found[1].runs)
    found[1] = found[1].model_copy(update={"runs": moved})
    pair = of(ranking.tables(found), "a", "b")
    assert [one.task for one in pair.differences] == [NEAR, FAR]
    assert pair.left_out == ("mean over tasks: seeds of a differ between tasks",)
    found[1] = found[1].model_copy(update={"runs": moved[:4]})  # fewer, and none of them the others' first
    assert of(ranking.tables(found), "a", "b").left_out == pair.left_out
    found[1] = made_result(FAR, "a", *A[FAR][:4])
    pair = of(ranking.tables(found), "a", "b")
    assert pair.left_out == ()
    assert [one.seeds for one in pair.differences] == [(5, 5), (4, 5), (4, 5)]


def test_what_is_marked_or_in_quarantine_is_not_compared(made_result):
    found = [made_result(task, name, *scores[task]) for name, scores in (("a", A), ("b", B)) for task in (NEAR, FAR)]
    found[0] = made_result(NEAR, "a", *A[NEAR], quarantine="saw the labels")
    (one,) = of(ranking.tables(found), "a", "b").differences
    assert one.task == FAR
    found[1] = made_result(FAR, "a", *A[FAR], quarantine="saw the labels")
    with pytest.raises(InvalidInput, match="in one tier, without flags or quarantine, received none"):
        of(ranking.tables(found), "a", "b")


def test_tasks_that_one_of_the_two_lacks_are_named(made_result):
    found = [made_result(task, "a", *A[NEAR]) for task in (NEAR, "xysquares/spacing_4", FAR)]
    found += [made_result(NEAR, "b", *B[NEAR]), made_result("dsprites", "pca", 0.1)]
    (said,) = of(ranking.tables(found), "a", "b").left_out
    assert said == f"b has no scores in this tier on xysquares/spacing_4, {FAR}"


def test_a_marked_reference_is_left_out_as_marked(made_result):
    found = [made_result(task, name, *A[task]) for name in ("pca", "b") for task in (NEAR, FAR)]
    runs = tuple(run.model_copy(update={"marks": ("encoder_disagrees",)}) for run in found[0].runs)
    found[0] = results.result(found[0].task, "pca", runs)
    pair = of(ranking.tables(found), "pca", "b")
    assert [one.task for one in pair.differences] == [FAR]
    assert any("encoder_disagrees" in text for text in pair.left_out), pair.left_out


def test_few_seeds_come_to_no_verdict(boards):
    (one,) = of(boards, "few", "a").differences
    assert (one.answer, one.p) == ("too few seeds", None)
    assert one.comparison.difference == pytest.approx(0.85 - 0.54)
    line = next(csv.DictReader(io.StringIO(pairwise.comma_separated(of(boards, "few", "a")))))
    assert (line["low"], line["p_after_holm"], line["verdict"]) == ("", "", "too few seeds")
    assert (line["seeds"], line["seeds_other"]) == ("2", "5")
    assert (line["few"], line["a"]) == ("0.850000", "0.540000")


def test_a_single_encoder_is_compared_as_one_more_seed(made_result):
    """As `leaderboard.Evaluation.compare` has it, and on the mean over tasks by the seeds that are on both."""
    found = [made_result(task, "a", *A[task]) for task in (NEAR, FAR)]
    found += [made_result(NEAR, "single", 0.9), made_result(FAR, "single", 0.1)]
    pair = of(ranking.tables(found), "single", "a")
    means = [(near + far) / 2 for near, far in zip(A[NEAR], A[FAR], strict=True)]
    for difference, score, others in zip(pair.differences, (0.9, 0.1, 0.5), (A[NEAR], A[FAR], means), strict=True):
        assert difference.comparison == pytest.approx(verdicts.compare_single(score, others)), difference.task
        assert difference.seeds == (1, 5)
    assert [pair.verdict(one) for one in pair.differences] == [
        "single is higher",
        "no significant difference",
        "single is higher",
    ]
    turned = of(ranking.tables(found), "a", "single").differences
    assert [one.comparison for one in turned] == [one.comparison.turned() for one in pair.differences]
    found[0] = made_result(NEAR, "a", *A[NEAR], 0.9)
    *_, across = of(ranking.tables(found), "single", "a").differences
    assert across.comparison == pytest.approx(verdicts.compare_single(0.5, means))


def test_the_first_tier_that_has_both_is_taken(boards):
    assert of(boards, "elsewhere", "few").tier == "desk"
    assert of(boards, "a", "few").tier == "smoke"
    assert of(boards, "a", "few", tier="smoke").tier == "smoke"


@pytest.mark.parametrize(
    ("names", "tier", "error", "message"),
    [
        (("a", "c"), "", UnknownName, "method with results in this tier: expected one of"),
        (("a", "a"), "", InvalidInput, "expected two different ones, received a twice"),
        (("a", "b"), "study", UnknownName, "tier with results: expected one of"),
        (("pca", "elsewhere"), "", InvalidInput, "expected a task on which both have scores in one tier"),
    ],
)
def test_what_cannot_be_compared(boards, names, tier, error, message):
    with pytest.raises(error, match=message):
        of(boards, *names, tier=tier)
