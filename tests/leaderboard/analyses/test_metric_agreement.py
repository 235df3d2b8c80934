from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmark_data import InvalidInput
from leaderboard.analyses import metric_agreement as analysis
from leaderboard.store import results

NAMES = ["good", "alike", "unrelated"]


def made(runs, seed=0):
    """Make scores of which the first two follow the same quality and the third does not."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=runs)
    return np.stack([quality, np.exp(quality) + 0.1 * rng.normal(size=runs), rng.normal(size=runs)], axis=1)


def pair(table, a, b):
    return table[(table.metric == a) & (table.other == b)].iloc[0]


def test_correlations_are_those_of_scipy_and_intervals_hold_what_was_made():
    scores = made(60)
    table = analysis.measure(scores, NAMES, resamples=300)
    expected = spearmanr(scores).statistic
    for i, a in enumerate(NAMES):
        for j, b in enumerate(NAMES):
            if i != j:
                row = pair(table, a, b)
                assert row.correlation == pytest.approx(expected[i, j], abs=1e-12)
                assert -1 <= row.low <= row.correlation <= row.high <= 1
    assert pair(table, "good", "alike").low > 0.8
    assert pair(table, "good", "unrelated").low < 0 < pair(table, "good", "unrelated").high


def test_an_interval_covers_the_truth_as_often_as_it_says():
    """Independent scores, whose true correlation is 0: 90% intervals of 100 made samples; by the binomial distribution
    fewer than 79 or more than 98 have a probability below 0.1%."""
    rng = np.random.default_rng(0)
    covered = 0
    for i in range(100):
        row = analysis.measure(rng.normal(size=(40, 2)), ["a", "b"], resamples=100, confidence=0.9, seed=i).iloc[0]
        covered += row.low <= 0 <= row.high
    assert 79 <= covered <= 98


def test_an_interval_lies_about_its_correlation_over_many_tasks():
    """Resamples repeat runs, and so correlate less: by 0.013 here, more than half of a half interval."""
    rng = np.random.default_rng(0)
    first, noise = rng.normal(size=(2, 20 * 45))
    scores = np.stack([first, 0.9 * first + np.sqrt(1 - 0.9**2) * noise], axis=1)
    row = analysis.measure(scores, ["a", "b"], groups=np.repeat(np.arange(20), 45).tolist(), resamples=100).iloc[0]
    assert (row.low + row.high) / 2 == pytest.approx(row.correlation, abs=0.004)
    assert 0.02 < row.high - row.low < 0.06


def test_seeds_of_a_method_are_drawn_together():
    """Nine methods of five equal seeds are nine numbers: their interval is that of nine runs."""
    methods = np.repeat([f"m{i}" for i in range(9)], 5).tolist()
    nine = made(9)
    five = np.repeat(nine, 5, axis=0)
    alone = analysis.measure(nine, NAMES, methods=[f"m{i}" for i in range(9)], resamples=200)
    together = analysis.measure(five, NAMES, methods=methods, resamples=200)
    apart = analysis.measure(five, NAMES, resamples=200)
    numbers = ["correlation", "low", "high"]
    np.testing.assert_allclose(together[numbers], alone[numbers], atol=1e-12)
    wide, narrow = (row.high - row.low for row in (pair(of, "good", "unrelated") for of in (together, apart)))
    assert wide > 1.5 * narrow
    few = analysis.measure(five[:15], NAMES, methods=methods[:15], resamples=10)
    assert (few.low.tolist(), few.high.tolist()) == ([-1.0] * 6, [1.0] * 6)
    with pytest.raises(InvalidInput, match="methods: expected 45, one for each run, received 2"):
        analysis.measure(five, NAMES, methods=["a", "b"])


def test_an_easy_and_a_hard_task_do_not_make_metrics_agree():
    """Two metrics that are independent within each task and both higher on the second: pooled they correlate."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 2)) + np.repeat([[0.0], [10.0]], 40, axis=0)
    tasks = ["hard"] * 40 + ["easy"] * 40
    pooled, within = (
        analysis.measure(scores, ["a", "b"], groups=groups, resamples=50).correlation[0] for groups in (None, tasks)
    )
    assert pooled > 0.6
    by_hand = np.mean([spearmanr(scores[:40]).statistic, spearmanr(scores[40:]).statistic])
    assert within == pytest.approx(by_hand, abs=1e-12)
    assert abs(within) < 0.3


def test_a_constant_metric_correlates_with_nothing():
    scores = np.stack([np.arange(6.0), np.full(6, 0.1)], axis=1)
    assert (
        analysis.measure(scores, ["a", "b"], resamples=10)[["correlation", "low", "high"]].to_numpy().tolist()
        == [[0.0, 0.0, 0.0]] * 2
    )


def test_bad_input():
    scores = made(6)
    with pytest.raises(InvalidInput, match="names: expected 3 different ones"):
        analysis.measure(scores, ["a", "a", "b"])
    with pytest.raises(InvalidInput, match="groups: expected 6, one for each run, received 2"):
        analysis.measure(scores, NAMES, groups=["a", "b"])
    with pytest.raises(InvalidInput, match="at least 4 runs of each task, received 1 of 'b'"):
        analysis.measure(scores, NAMES, groups=["a"] * 5 + ["b"])
    with pytest.raises(InvalidInput, match="resamples, confidence: expected at least 2"):
        analysis.measure(scores, NAMES, resamples=1)


@pytest.fixture
def scored(made_result):
    """Make a result of two scores, MIG and R², which is the lower, the higher MIG is."""
    samples = {name: results.Sample(train=1, test=0, arguments={}) for name in ("mig", "r_squared")}

    def make(task, method, *migs, **more):
        plain = made_result(task, method, *migs, **more)
        runs = [
            run.model_copy(
                update={"scores": run.scores | {"r_squared": 1 - run.scores["mig"]}, "samples": samples, "parts": {}}
            )
            for run in plain.runs
        ]
        return results.result(plain.task, method, runs)

    return make


def test_over_tasks_only_trained_runs_of_tasks_with_enough_of_them_count(scored):
    enough = scored("xysquares/spacing_1", "beta_vae", 0.1, 0.2, 0.3, 0.4)
    few = scored("xysquares/spacing_2", "beta_vae", 0.1, 0.2)
    untrained = scored("xysquares/spacing_2", "pca", 0.1, 0.2, 0.3)
    marked = scored("xysquares/spacing_2", "labels", 0.1, 0.2, 0.3, marks=("ground_truth",))
    assert analysis.over_tasks([few, untrained, marked], tier="smoke") is None
    assert analysis.over_tasks([enough], tier="desk") is None
    found = analysis.over_tasks([enough, few, untrained, marked], tier="smoke", resamples=50)
    assert (found.names, found.runs, found.tasks) == (("mig", "r_squared"), 4, 1)
    assert found.correlations.round(9).tolist() == [[1.0, -1.0], [-1.0, 1.0]]


def test_a_single_score_agrees_with_nothing(made_result):
    assert analysis.over_tasks([made_result("xysquares/spacing_1", "beta_vae", *[0.1] * 5)], tier="smoke") is None
