"""Encoders to fetch: only those that the results were verified by, byte for byte, and not more than a clone bears."""

from __future__ import annotations

import datetime
import hashlib

import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.commands import board
from leaderboard.report import weights
from leaderboard.report.site import build
from leaderboard.store import results, results_tree

GRAPH = b"a graph, as far as this test goes"


@pytest.fixture
def exported(run_folder):
    """Make a folder as an export has it, with some encoder."""

    def make(graph=GRAPH):
        folder = run_folder(dataset="toy/small")
        (folder / "encoder.onnx").write_bytes(graph)
        (folder / "weights.safetensors").write_bytes(b"left out")
        return folder

    return make


@pytest.fixture
def root(made_result, toys, tmp_path):
    """A results tree with one run that was verified by `GRAPH`, and the run's result."""
    (plain,) = made_result("toy/small", "beta_vae", 0.25).runs
    verified = results.Verification(
        version="fresh_rows@v1",
        seed="text",
        encoder_digest=hashlib.sha256(GRAPH).hexdigest(),
        rows=9_000,
        rows_digest="0" * 64,
        deviation=0.0,
        scores={"mig": results.Compared(codes=0.25, fresh=0.25, margin=0.01)},
        date=datetime.date(2026, 1, 2),
        verified_with={},
    )
    folder = tmp_path / "results"
    run = plain.model_copy(update={"verification": verified})
    results_tree.write(folder, [results.result("toy/small@v1", "beta_vae", [run])])
    return folder


def test_an_encoder_that_scores_were_verified_by_is_published_and_linked(exported, root, tmp_path):
    (made,) = weights.add(root, [exported()])
    digest = hashlib.sha256(GRAPH).hexdigest()
    (one,) = weights.read_all(root, results_tree.read_all(root))
    assert made.folder == one.folder
    assert sorted(file.name for file in one.folder.iterdir()) == sorted(weights.FILES), "what is large stays out"
    assert one.files["encoder.onnx"] == (len(GRAPH), digest)
    assert list(weights.check(root, results_tree.read_all(root))) == []
    site = build.build(root, tmp_path / "site").parent
    text = (site / "methods" / "beta_vae.html").read_text("utf-8")
    assert f'href="../{one.name("encoder.onnx")}"' in text
    assert digest in text
    assert (site / one.name("encoder.onnx")).read_bytes() == GRAPH


def test_an_encoder_that_no_run_was_verified_by_is_refused(exported, root, made_result):
    message = "expected an encoder that seed 0 of beta_vae on toy/small@v1 was verified by, received one with SHA-256"
    with pytest.raises(InvalidInput, match=message):
        weights.add(root, [exported(b"another")])
    (root / "v1" / "toy" / "small" / "beta_vae.json").unlink()
    results_tree.write(root, [made_result("toy/small", "beta_vae", 0.25)])
    with pytest.raises(InvalidInput, match=message):
        weights.add(root, [exported()])
    assert weights.read_all(root, results_tree.read_all(root)) == ()


def test_the_check_sees_what_was_changed_afterwards(exported, root):
    (one,) = weights.add(root, [exported()])
    (one.folder / "encoder.onnx").write_bytes(b"another")
    (problem,) = weights.check(root, results_tree.read_all(root))
    assert "expected an encoder that seed 0 of beta_vae on toy/small@v1 was verified by" in str(problem)
    (one.folder / "codes.npz").write_bytes(b"")
    problem, _ = weights.check(root, results_tree.read_all(root))
    assert "codes.npz: expected encoder.onnx and run.json alone" in str(problem)


def test_what_was_broken_off_is_told_and_can_be_done_again(exported, root, monkeypatch):
    real, names = weights.written_atomically, []

    def broken_off(path):
        names.append(path.name)
        if len(names) == len(weights.FILES):
            raise KeyboardInterrupt
        return real(path)

    monkeypatch.setattr(weights, "written_atomically", broken_off)
    with pytest.raises(KeyboardInterrupt):
        weights.add(root, [exported()])
    assert names[-1] == "run.json"
    told = list(weights.check(root, results_tree.read_all(root)))
    assert "expected encoder.onnx and run.json alone" in str(told[0])
    monkeypatch.setattr(weights, "written_atomically", real)
    weights.add(root, [exported()])
    assert list(weights.check(root, results_tree.read_all(root))) == []


def test_more_than_a_clone_can_bear_is_refused(exported, root, monkeypatch):
    monkeypatch.setattr(weights, "MOST", 100)
    with pytest.raises(InvalidInput, match="weights: expected at most 100 bytes, received"):
        weights.add(root, [exported()])


def test_the_published_encoders_belong_to_results():
    known = results_tree.read_all(board.PUBLISHED)
    assert len(weights.read_all(board.PUBLISHED, known)) > 10
    assert list(weights.check(board.PUBLISHED, known)) == []
