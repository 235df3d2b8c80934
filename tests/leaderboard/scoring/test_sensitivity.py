from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from benchmark_data import InvalidInput, UnknownName
from leaderboard.metrics import dci, mig
from leaderboard.scoring import sensitivity


def sample(seed, n):
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, 3, n), rng.integers(0, 6, n)], axis=1)
    return (factors @ [[1.0, 0.2], [0.1, 0.7]] + 0.5 * rng.normal(size=(n, 2))).astype(np.float32), factors


def test_variants_hold_the_published_score_and_differ():
    codes, factors = sample(0, 600)
    table = sensitivity.mig_variants(codes, factors)
    assert table.loc["plugin", 20] == mig.score(codes, factors)["mig"]
    assert table.loc["miller_madow", 50] == mig.score(codes, factors, bins=50, estimator="miller_madow")["mig"]
    assert table.to_numpy().std() > 0.01


def test_a_curve_ends_in_the_score_of_the_whole():
    codes, factors = sample(0, 400)
    table = sensitivity.curve("mig", codes, factors)
    assert sorted(set(table["samples"])) == [50, 100, 200, 400]
    assert table.groupby("samples").size().tolist() == [3, 3, 3, 1]
    assert table[table["samples"] == 400]["value"].tolist() == [pytest.approx(mig.score(codes, factors)["mig"])]
    assert table.equals(sensitivity.curve("mig", codes, factors))
    assert not table.equals(sensitivity.curve("mig", codes, factors, seed=1))


def test_a_curve_passes_arguments_and_held_out_data_on():
    codes, factors = sample(0, 120)
    held_out = {"codes_test": codes[:60], "factors_test": factors[:60]}
    table = sensitivity.curve("dci", codes, factors, sizes=[120], threads=1, **held_out)
    found = dict(zip(table["score"], table["value"], strict=True))
    assert found == pytest.approx(dci.score(codes, factors, **held_out), abs=0.01)
    with pytest.raises(
        InvalidInput, match="codes_test, factors_test: expected the held-out part for dci, received None"
    ):
        sensitivity.curve("dci", codes, factors)


def test_a_tensor_that_numpy_cannot_take_is_named():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("it requires grad")

    with pytest.raises(InvalidInput, match=r"received Tensor: it requires grad\. Of a tensor of PyTorch pass"):
        sensitivity.warn_if_small("mig", Tensor(), np.zeros((4, 1), int))


def test_what_a_curve_cannot_show():
    codes, factors = sample(0, 100)
    with pytest.raises(InvalidInput, match=r"sizes: expected numbers from 2 to 100, received \[101\]"):
        sensitivity.curve("mig", codes, factors, sizes=[101])
    with pytest.raises(InvalidInput, match=r"sizes: expected an integer, at least 2, received 2\.5"):
        sensitivity.curve("mig", codes, factors, sizes=[2.5])
    with pytest.raises(UnknownName, match=r"received 'mgi'\. Did you mean 'mig'"):
        sensitivity.curve("mgi", codes, factors)


def test_a_small_sample_warns_with_its_curve_and_a_large_one_does_not():
    codes, factors = sample(0, 4000)
    with pytest.warns(sensitivity.SmallSample, match=r"mig: 0\.\d+ with 20, .* with 80 samples; .* needs more"):
        sensitivity.warn_if_small("mig", codes[:80], factors[:80], sizes=[20, 40, 80])
    with pytest.warns(sensitivity.SmallSample, match="with 20 samples"):
        sensitivity.warn_if_small("mig", codes[:20], factors[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = sensitivity.warn_if_small("mig", codes, factors)
    assert max(table["samples"]) == 4000


def test_scores_that_are_known_are_not_computed_again(monkeypatch):
    codes, factors = sample(0, 160)
    seen = []
    real = mig.score
    monkeypatch.setattr(mig, "score", lambda z, v, **more: seen.append(len(z)) or real(z, v, **more))
    with pytest.warns(sensitivity.SmallSample, match=r"0\.500 with 160 samples"):
        table = sensitivity.warn_if_small("mig", codes, factors, whole={"mig": 0.5}, repeats=1)
    assert seen == [20, 40, 80]
    assert table["samples"].tolist() == [20, 40, 80, 160]
    with pytest.warns(sensitivity.SmallSample, match=r"mig: 0\.500 with 12 samples"):
        sensitivity.warn_if_small("mig", codes[:12], factors[:12], whole={"mig": 0.5})


def test_an_interval_is_as_wide_as_fresh_samples_spread():
    """The plug-in's bias on resampled rows must neither widen nor move it."""
    values = np.array([mig.score(*sample(seed, 500))["mig"] for seed in range(200)])
    table = sensitivity.intervals("mig", *sample(0, 500), resamples=200)
    width = table.loc["mig", "high"] - table.loc["mig", "low"]
    assert width == pytest.approx(2 * 1.96 * values.std(), rel=0.3)
    assert table.loc["mig", "low"] < table.loc["mig", "value"] < table.loc["mig", "high"]
    covered = 0
    for seed in range(40):
        row = sensitivity.intervals("mig", *sample(seed, 500), resamples=50).loc["mig"]
        covered += row["low"] <= values.mean() <= row["high"]
    assert covered >= 34  # 38 expected


def test_intervals_resample_both_parts():
    codes, factors = sample(0, 150)
    held_out = {"codes_test": codes[:50], "factors_test": factors[:50]}
    table = sensitivity.intervals("sap", codes, factors, resamples=20, **held_out)
    assert table.loc["sap", "low"] < table.loc["sap", "high"]
    assert table.equals(sensitivity.intervals("sap", codes, factors, resamples=20, **held_out))


def test_a_constant_factor_is_left_out_of_both_parts():
    codes, factors = sample(0, 150)
    beside = np.insert(factors, 1, 5, axis=1)
    for measured in (sensitivity.intervals, sensitivity.curve, sensitivity.warn_if_small):
        settings = {"resamples": 3} if measured is sensitivity.intervals else {"sizes": [100, 150], "repeats": 1}
        settings |= {} if measured is not sensitivity.warn_if_small else {"tolerance": 1.0}
        found, expected = (
            measured("sap", codes, table, codes_test=codes[:50], factors_test=table[:50], **settings)
            for table in (beside, factors)
        )
        assert found.equals(expected)


def test_bounds_stay_where_scores_can_be():
    codes, factors = sample(0, 120)
    table = sensitivity.intervals("mig", factors + 0.1 * codes, factors, resamples=20)
    assert 0 < table.loc["mig", "low"] <= table.loc["mig", "high"] <= 1
    independent = np.random.default_rng(0).normal(size=(120, 2))
    table = sensitivity.intervals("unsupervised", independent, factors, resamples=20)
    assert (table["low"] >= 0).all()
    z, v = np.array([[-1.0], [0.0], [1.0]] * 20), np.array([[0], [1], [2]] * 20)  # held out, R² is -3: see its test
    table = sensitivity.intervals("r_squared", z, v, codes_test=-z, factors_test=v, resamples=20)
    assert table.loc["r_squared", "low"] <= table.loc["r_squared", "value"] <= -2.5
    assert (table["low"] <= table["value"]).all()
    copied = np.hstack([codes, codes])
    row = sensitivity.intervals("unsupervised", copied, factors, resamples=3).loc["gaussian_total_correlation"]
    assert row.tolist() == [np.inf, np.inf, np.inf]


def test_bounds_are_those_that_the_metrics_file_declares(monkeypatch):
    codes, factors = sample(0, 120)
    plain = sensitivity.intervals("mig", codes, factors, resamples=20).loc["mig"]
    assert plain["low"] < plain["value"] < plain["high"]
    low, high = (plain["value"] + end for end in (-1e-4, 1e-4))
    monkeypatch.setattr(mig, "PROPERTIES", dataclasses.replace(mig.PROPERTIES, range=(low, high)))
    declared = sensitivity.intervals("mig", codes, factors, resamples=20).loc["mig"]
    assert declared.tolist() == [plain["value"], low, high]
    beyond = dataclasses.replace(mig.PROPERTIES, range=(-1.0, plain["value"] / 2), unbounded=("mig",))
    monkeypatch.setattr(mig, "PROPERTIES", beyond)
    assert sensitivity.intervals("mig", codes, factors, resamples=20).loc["mig"].equals(plain)


def test_where_only_resamples_are_infinite_the_interval_has_no_upper_bound():
    codes = np.random.default_rng(0).normal(size=(8, 5))
    factors = np.arange(8)[:, None] % 2
    row = sensitivity.intervals("unsupervised", codes, factors, resamples=20).loc["gaussian_total_correlation"]
    assert np.isfinite(row["value"])
    assert (row["low"], row["high"]) == (0.0, np.inf)


def test_what_an_interval_cannot_be_made_of():
    codes, factors = sample(0, 100)
    with pytest.raises(
        InvalidInput, match=r"resamples, confidence: expected at least 2, and in \(0, 1\), received 1, 0.95"
    ):
        sensitivity.intervals("mig", codes, factors, resamples=1)
