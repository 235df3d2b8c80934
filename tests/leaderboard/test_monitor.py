"""Scores inside a training loop."""

from __future__ import annotations

import numpy as np
import pytest

import benchmark_data
import leaderboard.metrics
from benchmark_data import draws
from benchmark_data.errors import InvalidInput, UnknownName
from leaderboard import BatchedMetric, Monitor, protocol
from leaderboard.encoding import OtherCodes
from leaderboard.metrics import dci, mig
from leaderboard.scoring.measure import LeftOut


def encode(images):
    return images.reshape(len(images), -1)[:, ::997].astype(np.float32)


def test_scores_are_those_of_the_metrics_on_the_tasks_first_rows():
    scores = Monitor("dsprites", samples=(300, 150), batch_size=64)(encode)
    dataset, task = benchmark_data.load("dsprites"), protocol.task("dsprites")
    (codes, factors), (codes_test, factors_test) = (
        (encode(dataset.images(rows)), dataset.labels(rows)) for rows in (task.train[:300], task.test[:150])
    )
    expected = dci.score(codes, factors, codes_test=codes_test, factors_test=factors_test)
    assert scores["mig"] == mig.score(codes, factors)["mig"]
    assert {key: value for key, value in scores.items() if key != "mig"} == {
        f"dci.{key}": value for key, value in expected.items()
    }


def test_held_out_rows_decide_nothing_of_units():
    def spoiled(images):
        codes = images[:, 20:40, 20:30, 0].astype(np.float32)
        codes[images_of_train:] *= np.linspace(-9, 9, 10)
        return codes

    images_of_train = 300
    monitor = Monitor("dsprites", metrics=["mig"], samples=(images_of_train, 1000), batch_size=1300)
    assert monitor(spoiled) == monitor(lambda images: images[:, 20:40, 20:30, 0].astype(np.float32))


def test_units_of_several_numbers_are_reduced():
    scores = Monitor("dsprites", metrics=["mig"], samples=(300, 150))(lambda images: images[:, 20:40, 20:30, 0])
    assert set(scores) == {"mig"}


@pytest.mark.parametrize(
    "samples", [(0, 100), (20_000, 100), (100, 6_000), (2.5, 100), ("a", 1), (True, 100), (100, 1)]
)
def test_more_rows_than_there_are_are_refused(samples):
    with pytest.raises(InvalidInput, match=r"samples: expected 2 to \d+ (train|test) rows of dsprites, received"):
        Monitor("dsprites", samples=samples)


def test_two_numbers_of_samples_are_asked_for():
    with pytest.raises(InvalidInput, match=r"samples: expected two numbers, .*, received 1000"):
        Monitor("dsprites", samples=1000)


def test_an_unknown_input_is_refused_before_a_training_begins():
    with pytest.raises(InvalidInput, match=r"input: expected one of uint8_hwc, .*, received 'nchw'"):
        Monitor("dsprites", samples=(10, 10), input="nchw")


def test_a_metric_of_codes_alone_does_not_mind_constant_factors():
    metric = BatchedMetric("unsupervised")
    metric.update(np.random.default_rng(0).normal(size=(100, 2)), np.zeros((100, 1), int))
    assert metric.compute()["unsupervised.gaussian_total_correlation"] >= 0


def test_tensors_in_bfloat16_are_taken():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    factors = np.arange(40)[:, None] % 2
    metric = BatchedMetric("mig")
    metric.update(torch.from_numpy(factors).to(torch.bfloat16), torch.from_numpy(factors))
    assert metric.compute()["mig"] == pytest.approx(1.0)


def test_no_images_in_a_batch_are_refused():
    with pytest.raises(InvalidInput, match="batch_size: expected at least 1, received 0"):
        Monitor("dsprites", batch_size=0)


def test_batches_of_two_widths_are_refused():
    metric = BatchedMetric("mig")
    metric.update(np.eye(4, 2), np.eye(4, 1, dtype=int))
    with pytest.raises(InvalidInput, match=r"codes: expected batches of one width, received \(2,\), then \(3,\)"):
        metric.update(np.zeros((4, 3)), np.zeros((4, 1), int))
    assert metric.compute()["mig"] > 0  # of the batch that was taken


@pytest.mark.parametrize("tensors", [False, True])
def test_a_buffer_that_is_used_again_does_not_change_earlier_batches(tensors):
    codes, factors = np.zeros((20, 1), np.float32), np.zeros((20, 1), int)
    batch = codes, factors
    if tensors:
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        batch = torch.from_numpy(codes), torch.from_numpy(factors)
    metric = BatchedMetric("mig")
    for value in (0, 1):
        codes[:], factors[:] = value, value
        metric.update(*batch)
    assert metric.compute()["mig"] == pytest.approx(1.0)


@pytest.mark.parametrize(("rows", "factors"), [(4, np.zeros((5, 1), int)), (4, 1), (None, 1)])
def test_batches_need_as_many_rows_of_factors_as_of_codes(rows, factors):
    codes = 1.0 if rows is None else np.zeros((rows, 2))
    with pytest.raises(InvalidInput, match="factors: expected one row for each of the codes, of shape "):
        BatchedMetric("mig").update(codes, factors)


@pytest.mark.parametrize("metric", ["all", ["mig"]])
def test_a_batched_metric_is_one(metric):
    with pytest.raises(InvalidInput, match="metric: expected the name of one"):
        BatchedMetric(metric)


def test_a_score_is_no_metric():
    with pytest.raises(UnknownName, match=r"received 'dci\.disentanglement'\. Did you mean 'dci'\?"):
        BatchedMetric("dci.disentanglement")


def test_unknown_names_are_refused():
    with pytest.raises(UnknownName, match="metric"):
        Monitor("dsprites", metrics=["migg"])
    with pytest.raises(UnknownName):
        Monitor("sprites3d")


@pytest.fixture
def newcomer(tmp_path, monkeypatch):
    """Put a metric of somebody's own where metrics are found."""

    def make(name, returned):
        (tmp_path / f"{name}.py").write_text(f"def score(codes, factors):\n    return {returned}\n", "utf-8")
        monkeypatch.setattr(leaderboard.metrics, "__path__", [*leaderboard.metrics.__path__, str(tmp_path)])
        return name

    return make


@pytest.mark.parametrize(
    ("name", "returned", "message"),
    [
        ("own_none", "None", "expected its code to return numbers by name, and no NaN, received None"),
        ("own_nan", "{'x': float('nan')}", "return numbers by name, and no NaN, received {'x': nan}"),
        ("own_text", "{'x': 'high'}", "return numbers by name, and no NaN, received {'x': 'high'}"),
        ("own_error", "codes['z']", r"its code raised IndexError: .* \(line 2 of .*own_error\.py\)"),
    ],
)
def test_a_wrong_metric_is_named_with_what_it_did(newcomer, name, returned, message):
    monitor = Monitor("dsprites", metrics=newcomer(name, returned), samples=(30, 15))
    with pytest.raises(InvalidInput, match=f"metric {name}: .*{message}"):
        monitor(encode)
    with pytest.raises(InvalidInput, match=f"metric {name}: .*{message}"):
        leaderboard.evaluate(encode, "xysquares/spacing_8", metrics=[name], progress=False)


@pytest.mark.parametrize("name", ["mig", "dci"])
def test_batches_are_scored_together(name):
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(90, 3)), rng.integers(3, size=(90, 2))
    metric = BatchedMetric(name)
    with pytest.raises(InvalidInput, match="no codes yet"):
        metric.compute()
    for part in range(3):
        metric.update(codes[part * 30 :][:30], factors[part * 30 :][:30])
    if name == "mig":
        assert metric.compute() == mig.score(codes, factors)
    else:
        codes, factors = (array[draws.permutation(0, 90)] for array in (codes, factors))
        expected = dci.score(codes[:60], factors[:60], codes_test=codes[60:], factors_test=factors[60:])
        assert metric.compute() == {f"dci.{key}": value for key, value in expected.items()}
    metric.reset()
    metric.update(codes[:30], factors[:30])
    assert len(metric._batches) == 1


@pytest.mark.parametrize("name", ["mig", "dci"])
def test_a_factor_that_does_not_vary_in_the_batches_is_left_out(name):
    metric = BatchedMetric(name)
    kinds = np.arange(60) % 3
    metric.update(kinds[:, None].astype(float), np.stack([kinds, 0 * kinds], axis=1))
    with pytest.warns(LeftOut, match=f"{name}: factor 1: one value in the rows that metrics learn from. Left out"):
        assert metric.compute()["mig" if name == "mig" else "dci.informativeness_test"] == pytest.approx(1.0)


def test_a_factor_that_does_not_vary_in_the_monitors_rows_is_named():
    labels = {"kind": np.arange(90) % 3, "rare": np.arange(90) == 0}
    own = benchmark_data.from_images("mine", np.zeros((90, 4, 4, 1), np.uint8), labels)
    with pytest.warns(LeftOut, match="mine: rare: one value in the rows that metrics learn from. Left out"):
        Monitor(own, metrics="mig", samples=(9, 3))


def test_codes_that_are_drawn_are_warned_of():
    with pytest.warns(OtherCodes, match="draws random numbers"):
        Monitor("xysquares/spacing_8", "mig", (60, 20))(lambda images: np.random.default_rng().random((len(images), 2)))


def test_what_is_held_out_does_not_come_of_the_order_of_the_batches():
    labels = np.sort(np.arange(90) % 3)[:, None]
    metric = BatchedMetric("dci")
    metric.update(labels.astype(float), labels)
    assert metric.compute()["dci.informativeness_test"] == 1.0, "in order, the last third is a class not seen before"


def test_the_pairs_of_a_transfer_have_no_scores():
    with pytest.raises(InvalidInput, match="transfer"):
        leaderboard.Monitor("solids_dsprites", metrics=["mig"], samples=(20, 10))
