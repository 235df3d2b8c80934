"""Encoders on fresh rows: honest ones are verified, and those that know the task, or are not what they say, are not.

The dataset has one bright pixel for the class of each factor, so that an encoder is a matrix that can be written down.
"""

from __future__ import annotations

import datetime

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmark_data.errors import InvalidInput
from leaderboard import protocol
from leaderboard.scoring import candidates, measure, verification
from leaderboard.store import results, results_tree
from tests.leaderboard import scored_submission

SIZES = (8, 8, 8, 8)
MIXING = np.array([[1.0, 0.2, 0.0, 0.0], [0.1, 1.0, 0.0, 0.3], [0.0, 0.0, 1.0, 0.9], [0.0, 0.2, 0.8, 1.0]], np.float32)
TIER = protocol.Tier("desk", "For tests.", (protocol.Measurement("mig"),))


@pytest.fixture
def task(toys, make_toy, monkeypatch):
    """1,800 of 4,096 rows."""
    monkeypatch.setattr(protocol, "TRAIN", 1200)
    monkeypatch.setattr(protocol, "TEST", 600)
    monkeypatch.setattr(protocol, "TIERS", {"desk": TIER})
    toys["toy/small"] = make_toy(sizes=SIZES)
    protocol.task.cache_clear()
    candidates._dataset_digest.cache_clear()
    return protocol.task("toy/small")


def test_a_block_is_scored_with_the_share_of_rows_that_a_metric_has_of_the_task(task, monkeypatch):
    """200 of 1,200 rows and 60 of 600 held out: a sixth and a tenth."""
    given = []

    def scored(codes, factors, measurements, train):
        given.append(([(each.train, each.test) for each in measurements], train))
        return measure.Measured({}, {})

    monkeypatch.setattr(measure, "score_codes", scored)
    tier = protocol.Tier("desk", "For tests.", (protocol.Measurement("dci", train=600, test=300),))
    verification._score_block(np.zeros((260, 2)), np.zeros((260, 4), np.int64), task, tier, 200, 60)
    assert given == [([(100, 30)], 200)]


def weights(mixing=MIXING):
    """What makes labels times ``mixing`` of pixels: (192, 4). The pixel (i, j) says that factor i is j."""
    found = np.zeros((8, 8, 3, len(mixing[0])), np.float32)
    for i, row in enumerate(mixing):
        found[i, :, 0] = np.arange(8)[:, None] * row
    return found.reshape(192, -1)


def encoder(tmp_path, nodes=(), tensors=(), mixing=MIXING, output="honest"):
    """Write an encoder whose value ``honest`` is labels times ``mixing``, and whose output is the one that is named."""
    shape = numpy_helper.from_array(np.array([0, 192], np.int64), "shape")
    made = [
        helper.make_node("Reshape", ["images", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["honest"]),
        *(helper.make_node(*node) if isinstance(node, tuple) else node for node in nodes),
        helper.make_node("Identity", [output], ["codes"]),
    ]
    graph = helper.make_graph(
        made,
        "test",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ("n", 8, 8, 3))],
        [helper.make_tensor_value_info("codes", TensorProto.FLOAT, None)],
        [shape, *(numpy_helper.from_array(v, n) for n, v in {"weights": weights(mixing), **dict(tensors)}.items())],
    )
    path = tmp_path / "encoder.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def codes(task, mixing=MIXING):
    return task.labels().astype(np.float32) @ mixing


def test_an_honest_encoder_is_verified(task, tmp_path):
    found = verification.verify(encoder(tmp_path), codes(task), task, TIER, seed="x")
    train, test = verification.fresh_rows(task, "x")
    assert (train.shape, test.shape, found.rows) == ((6, 120), (6, 60), 1080)
    assert found.deviation == pytest.approx(0, abs=1e-6)
    assert list(found.scores) == ["mig"]
    assert (found.version, found.seed) == ("fresh_rows@v2", "x")
    assert "onnxruntime" in found.verified_with


def test_fresh_rows_are_no_rows_of_the_task_and_depend_on_the_text_alone(task):
    train, test = verification.fresh_rows(task, "x")
    rows = np.concatenate([train.ravel(), test.ravel()])
    assert len(set(rows.tolist())) == len(rows)
    assert not set(rows.tolist()) & set(task.indices.tolist())
    np.testing.assert_array_equal(train, verification.fresh_rows(task, "x")[0])
    assert (train != verification.fresh_rows(task, "y")[0]).any()


def test_codes_that_are_not_the_encoders(task, tmp_path):
    given = codes(task)
    given[:, 1] += 0.1 * given[:, 1].std() * np.random.default_rng(0).standard_normal(len(given))
    with pytest.raises(
        verification.Disagreement,
        match=r"the submitted codes, within 2% .* differ by (9\.\d%|10).*Submit the codes of",
    ):
        verification.verify(encoder(tmp_path), given, task, TIER, seed="x")
    with pytest.raises(verification.Disagreement, match=r"codes of shape \(3,\), as submitted, received shape \(4,\)"):
        verification.verify(encoder(tmp_path), codes(task)[:, :3], task, TIER, seed="x")


def test_codes_that_another_machine_rounds_otherwise_are_the_encoders(task, tmp_path):
    given = codes(task)
    given *= 1 + 1e-3 * np.random.default_rng(0).standard_normal(given.shape).astype(np.float32)
    assert 0 < verification.verify(encoder(tmp_path), given, task, TIER, seed="x").deviation < 0.02


def test_an_encoder_that_knows_the_tasks_rows(task, tmp_path):
    """It compares an image with all of the task's, and where one is the same gives the labels that belong to it."""
    images = task.load().images(task.indices).reshape(len(task.indices), -1).astype(np.float32) / 255
    labels = task.labels().astype(np.float32)
    nodes = [
        ("MatMul", ["flat", "known"], ["alike"]),
        ("Greater", ["alike", "almost"], ["same"]),
        helper.make_node("Cast", ["same"], ["which"], to=TensorProto.FLOAT),
        ("MatMul", ["which", "correction"], ["corrected"]),
        ("Add", ["honest", "corrected"], ["cheating"]),
    ]
    pixels = 12.0  # 4 factors, a pixel each, 3 channels
    tensors = {"known": images.T.copy(), "almost": np.float32(pixels - 0.5), "correction": labels - codes(task)}
    path = encoder(tmp_path, nodes, tensors, output="cheating")
    with pytest.raises(
        verification.Disagreement,
        match=r"mig of 0\.\d+ on fresh rows, as on the task's, within 0\.\d+.*verify it again with another --seed",
    ):
        verification.verify(path, labels, task, TIER, seed="x")


def test_labels_among_the_codes_of_an_encoder_with_a_latent_of_great_scale(task, tmp_path):
    """The great latent makes the tolerance of the others wide, and labels stand where the task's first rows end."""
    mixing = np.hstack([MIXING, 1e6 * MIXING[:, :1]])
    given = codes(task, mixing)
    after = np.r_[6 * 120 : 1200, 1200 + 6 * 60 : 1800]
    given[after, :4] = task.labels()[after]
    with pytest.raises(verification.Disagreement, match=r"mig of 0\.\d+ on fresh rows"):
        verification.verify(encoder(tmp_path, mixing=mixing), given, task, TIER, seed="x")


def test_an_encoder_that_looks_at_the_rest_of_the_batch(task, tmp_path):
    nodes = [
        helper.make_node("ReduceMean", ["honest"], ["mean"], axes=[0]),
        ("Sub", ["honest", "mean"], ["centred"]),
    ]
    with pytest.raises(
        verification.Disagreement, match=r"the same codes of an image in any batch.*Export it in inference mode"
    ):
        verification.verify(encoder(tmp_path, nodes, output="centred"), codes(task), task, TIER, seed="x")


def test_units_are_reduced_as_on_the_tasks_rows(task, tmp_path):
    nodes = [("Reshape", ["honest", "units"], ["split"])]
    path = encoder(tmp_path, nodes, {"units": np.array([0, 2, 2], np.int64)}, output="split")
    found = verification.verify(path, codes(task).reshape(-1, 2, 2), task, TIER, seed="x")
    assert found.deviation == pytest.approx(0, abs=1e-6)


def test_too_few_fresh_rows(task, toys, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "TRAIN", 2600)
    monkeypatch.setattr(protocol, "TEST", 1300)
    protocol.task.cache_clear()
    with pytest.raises(InvalidInput, match=r"toy/small@v1: expected 720 rows .* received 126 train and 66 test rows"):
        verification.fresh_rows(protocol.task("toy/small"), "x")


def test_too_few_fresh_rows_of_one_part():
    task = protocol.task("xyobject/plain.recombination.to_element")  # which tests on 64 rows, all that there are
    with pytest.raises(InvalidInput, match="a third of them in each part, received 6000 train and 0 test rows"):
        verification.fresh_rows(task, "x")


@pytest.mark.parametrize("seed", ["", "x" * 201, "a\nb"])
def test_a_text_that_cannot_be_recorded(task, seed):
    with pytest.raises(InvalidInput, match="seed of the fresh rows: expected a text of 1 to 200 printable characters"):
        verification.fresh_rows(task, seed)


def test_margins_are_students():
    """By hand: means 2 and 5, variances 1 and 1 in three blocks, t(4 df, 0.975) = 2.776: 2.776 sqrt(2/3) = 2.2668."""
    first, second = ([{"a": 10.0 + v} for v in side] for side in ((1, 2, 3), (4, 5, 6)))
    found = verification.compare(first, second, error=0.05)["a"]
    assert (found.codes, found.fresh) == (12, 15)
    assert found.margin == pytest.approx(2.776445 * (2 / 3) ** 0.5 + results.DRIFT, abs=1e-5)


def test_an_honest_run_is_refused_as_rarely_as_is_said():
    """5 scores of one normal distribution, 2,000 runs, an error of 5%: 100 are expected, and 10 are one sigma."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(2_000):
        sides = [[dict(zip("abcde", 1e4 * rng.standard_normal(5), strict=True)) for _ in range(6)] for _ in "ab"]
        compared = verification.compare(*sides, error=0.05)
        refused += any(abs(one.codes - one.fresh) > one.margin for one in compared.values())
    assert 60 < refused < 140


def test_a_run_folder_with_an_encoder_is_verified_when_it_is_scored(task, run_folder, tmp_path):
    folder = run_folder(codes=codes(task))
    (folder / "encoder.onnx").write_bytes(encoder(tmp_path).read_bytes())
    (group,) = candidates.grouped([candidates.load(folder)], "desk")
    found, notes = candidates.score_group(group, "x")
    assert (found.trust("desk"), notes, found.runs[0].marks) == ("verified", [], ())
    (alone,) = scored_submission.score_runs([folder])
    assert (alone.trust("desk"), alone.runs[0].scores) == ("recomputed", found.runs[0].scores)


def test_a_run_whose_encoder_disagrees_is_marked(task, run_folder, tmp_path):
    folder = run_folder(codes=codes(task))
    (folder / "encoder.onnx").write_bytes(encoder(tmp_path, mixing=MIXING[::-1].copy()).read_bytes())
    (group,) = candidates.grouped([candidates.load(folder)], "desk")
    found, notes = candidates.score_group(group, "x")
    assert (found.trust("desk"), found.runs[0].marks) == ("recomputed", ("encoder_disagrees",))
    assert "the submitted codes" in notes[0]
    (folder / "encoder.onnx").write_bytes(b"not a model")
    found, notes = candidates.score_group(group, "x")
    assert (found.trust("desk"), found.runs[0].marks) == ("recomputed", ())
    assert "expected a model in ONNX" in notes[0]


def test_a_verification_joins_the_scores_that_are_there(task, run_folder, tmp_path):
    folder = run_folder(codes=codes(task))
    before = results_tree.write(tmp_path / "results", scored_submission.score_runs([folder]))[0].read_bytes()
    (folder / "encoder.onnx").write_bytes(encoder(tmp_path).read_bytes())
    (file,) = results_tree.write(tmp_path / "results", scored_submission.score_runs([folder], fresh="x"))
    assert results_tree.read(file).trust("desk") == "verified"
    kept = file.read_bytes()
    results_tree.write(tmp_path / "results", scored_submission.score_runs([folder], fresh="another"))
    assert file.read_bytes() == kept
    assert b"verification" not in before


def test_what_does_not_agree_cannot_be_stored_as_verified():
    with pytest.raises(ValueError, match=r"scores\.mig: expected 0\.5000 within 0\.0100, received 0\.6000"):
        results.Verification(
            version="fresh_rows@v2",
            seed="x",
            encoder_digest="0" * 64,
            rows=1,
            rows_digest="0" * 64,
            deviation=0.0,
            scores={"mig": results.Compared(codes=0.5, fresh=0.6, margin=0.01)},
            date=datetime.date(2026, 1, 1),
            verified_with={},
        )
