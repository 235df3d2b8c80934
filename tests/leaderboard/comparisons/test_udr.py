from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import Lasso

from benchmark_data import InvalidInput
from leaderboard.comparisons import udr


def runs(count=4, n=600):
    """Runs that found the same latents, in their own order and sign, with some noise."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 5))
    return [(z * rng.choice([-1, 1], 5))[:, rng.permutation(5)] + 0.1 * rng.normal(size=(n, 5)) for _ in range(count)]


def straightforward(matrices, i):
    """The authors' formula, from matrices[j][i] of run j's latents (rows) against run i's (columns)."""

    def strength(r):
        return (np.mean(r.max(0) ** 2 / r.sum(0)) + np.mean(r.max(1) ** 2 / r.sum(1))) / 2

    return np.median([strength(matrices[j][i]) for j in range(len(matrices)) if j != i])


@pytest.mark.parametrize("similarity", ["lasso", "spearman"])
def test_udr_equals_the_formula(similarity):
    z = [(run - run.mean(0)) / run.std(0) for run in runs()]
    if similarity == "lasso":
        matrices = [[np.abs(Lasso(alpha=0.1).fit(a, b).coef_).T for b in z] for a in z]
    else:
        matrices = [[np.abs([[scipy.stats.spearmanr(x, y)[0] for y in b.T] for x in a.T]) for b in z] for a in z]
    expected = [straightforward(matrices, i) for i in range(len(z))]
    assert udr.score(runs(), similarity=similarity) == pytest.approx(expected, abs=1e-9)


def test_the_run_that_others_do_not_agree_with_ranks_last():
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))
    good = runs()
    scores = udr.score([*good, good[0] @ rotation])
    assert min(scores[:4]) > 0.85
    assert scores[4] < 0.6


def test_uninformative_latents_are_left_out():
    x, y = runs(2)
    noisy = np.hstack([x, np.random.default_rng(2).normal(size=(600, 3))])
    with_kl = udr.compare(noisy, y, kl_x=[1, 1, 1, 1, 1, 0.01, 0, 0])
    assert with_kl == pytest.approx(udr.compare(x, y))
    assert udr.compare(noisy, y) < with_kl
    assert udr.compare(np.hstack([x, np.ones((600, 2))]), y) == pytest.approx(with_kl)
    assert udr.compare(np.ones((600, 2)), y) == 0.0


def test_the_regression_has_all_latents_as_that_of_the_authors():
    x, y = runs(2)
    doubled = np.hstack([x, x[:, :1]])
    doubled[:, [0, -1]] += 0.5 * np.random.default_rng(2).normal(size=(600, 2))
    a, b = ((z - z.mean(0)) / z.std(0) for z in (doubled, y))
    matrix = np.abs(Lasso(alpha=0.1).fit(a, b).coef_).T[1:]  # of two latents that are alike, one is left out
    strengths = [(matrix.max(axis) ** 2 / matrix.sum(axis)).mean() for axis in (0, 1)]
    assert udr.compare(doubled, y, kl_x=[0, 1, 1, 1, 1, 1]) == pytest.approx(np.mean(strengths))
    assert np.mean(strengths) != pytest.approx(udr.compare(doubled[:, 1:], y), abs=1e-3)


def test_the_ideal_is_what_matched_latents_score():
    """The lasso takes its penalty, 0.1, from a coefficient of 1. The columns have no covariance at all."""
    x = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]] * 10)
    scores = {name: udr.compare(x, -x[:, ::-1], similarity=name) for name in ("lasso", "spearman")}
    assert scores == {"lasso": pytest.approx(0.9), "spearman": pytest.approx(1.0)}
    assert udr.PROPERTIES.ideal == "0.9 with the lasso, 1 by rank"


def test_unrelated_runs_score_near_zero():
    rng = np.random.default_rng(3)
    assert udr.compare(rng.normal(size=(600, 5)), rng.normal(size=(600, 5))) < 0.05


def test_what_cannot_be_ranked():
    x, y = runs(2)
    with pytest.raises(InvalidInput, match="runs: expected at least two, received 1"):
        udr.score([x])
    with pytest.raises(InvalidInput, match=r"runs\[1\]: expected 600 rows, as in runs\[0\], received 100"):
        udr.score([x, y[:100]])
    with pytest.raises(InvalidInput, match="y: expected 600 rows, as in x, received 100"):
        udr.compare(x, y[:100])
    for kl in ([1, 2, 3], ["a"] * 5, [1, 2, 3, 4, np.nan], [[1], [1, 2]]):
        with pytest.raises(InvalidInput, match="divergence of x: expected 5 "):
            udr.compare(x, y, kl_x=kl)
    with pytest.raises(InvalidInput, match="kl: expected one array for each of 2 runs, received 1"):
        udr.score([x, y], kl=[[1] * 5])
    with pytest.raises(InvalidInput, match="similarity: expected 'lasso' or 'spearman', received 'cca'"):
        udr.compare(x, y, similarity="cca")
