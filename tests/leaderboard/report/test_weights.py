"""Encoders to fetch: only those that the results were verified by, byte for byte, and not more than a clone bears."""

from __future__ import annotations

import datetime
import hashlib
import json

import pytest
import typer.testing

from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard.commands import board
from leaderboard.report import weights
from leaderboard.report.site import build
from leaderboard.store import results, results_tree

GRAPH = b"a graph, as far as this test goes"


@pytest.fixture
def exported(run_folder):
    """Make a folder as an export has it; what it holds may be changed."""

    def make(scores, **changed):
        folder = run_folder(dataset="toy/small")
        content = {
            "encoder.onnx": GRAPH,
            "config.json": b"{}",
            "scores.json": json.dumps({"tier": "smoke", "scores": scores}).encode(),
            "README.md": b"# A card",
            "weights.safetensors": b"left out",
        } | changed
        for name, bytes_ in content.items():
            (folder / name).write_bytes(bytes_)
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
    done = typer.testing.CliRunner().invoke(
        board.app, ["publish-weights", str(exported({"mig": 0.25})), "--into", str(root)]
    )
    assert done.exit_code == 0, done.output
    digest = hashlib.sha256(GRAPH).hexdigest()
    assert digest in done.output
    (one,) = weights.read_all(root)
    assert sorted(file.name for file in one.folder.iterdir()) == sorted(weights.FILES), "what is large stays out"
    assert one.files["encoder.onnx"] == (len(GRAPH), digest)
    assert list(weights.check(root, results_tree.read_all(root))) == []
    site = build.build(root, tmp_path / "site").parent
    text = (site / "methods" / "beta_vae.html").read_text("utf-8")
    assert f'href="../{one.name("encoder.onnx")}"' in text
    assert digest in text
    assert (site / one.name("encoder.onnx")).read_bytes() == GRAPH


@pytest.mark.parametrize(
    ("scores", "changed", "message"),
    [
        ({"mig": 0.25}, {"encoder.onnx": b"another"}, "expected the encoder that the run was verified by"),
        ({"mig": 0.26}, {}, "mig: expected 0.250000, received 0.260000"),
        ({}, {}, "mig: expected 0.250000, received nan"),
        ({"mig": float("nan")}, {}, "mig: expected 0.250000, received nan"),
    ],
)
def test_an_encoder_that_does_not_belong_to_the_run_is_refused(exported, root, scores, changed, message):
    with pytest.raises(InvalidInput, match=message):
        weights.add(root, [exported(scores, **changed)])
    assert weights.read_all(root) == ()


def test_a_run_that_nobody_verified_has_no_encoder_to_vouch_for(exported, root, made_result):
    (root / "v1" / "toy" / "small" / "beta_vae.json").unlink()
    results_tree.write(root, [made_result("toy/small", "beta_vae", 0.25)])
    with pytest.raises(InvalidInput, match="expected a run that was verified, received one that was not"):
        weights.add(root, [exported({"mig": 0.25})])
    (root / "v1" / "toy" / "small" / "beta_vae.json").unlink()
    with pytest.raises(InvalidInput, match="expected a run among the results, received none"):
        weights.add(root, [exported({"mig": 0.25})])


@pytest.mark.parametrize(("name", "content"), [("scores.json", b"[]"), ("scores.json", b'{"tier": 1, "scores": 2}')])
def test_a_folder_that_is_no_export(exported, root, name, content):
    with pytest.raises(DamagedFile, match="expected a tier and its scores"):
        weights.add(root, [exported({}, **{name: content})])


def test_the_check_sees_what_was_changed_afterwards(exported, root):
    (one,) = weights.add(root, [exported({"mig": 0.25})])
    (one.folder / "encoder.onnx").write_bytes(b"another")
    (problem,) = weights.check(root, results_tree.read_all(root))
    assert "expected the encoder that the run was verified by" in str(problem)
    (one.folder / "codes.npz").write_bytes(b"")
    (problem,) = weights.check(root, results_tree.read_all(root))
    assert "expected only encoder.onnx" in str(problem)
    assert "codes.npz" in str(problem)


def test_what_was_broken_off_is_told_and_can_be_done_again(exported, root, monkeypatch):
    real, names = weights.written_atomically, []

    def broken_off(path):
        names.append(path.name)
        if len(names) == len(weights.FILES):
            raise KeyboardInterrupt
        return real(path)

    monkeypatch.setattr(weights, "written_atomically", broken_off)
    with pytest.raises(KeyboardInterrupt):
        weights.add(root, [exported({"mig": 0.25})])
    assert names[-1] == "run.json"
    told = list(weights.check(root, results_tree.read_all(root)))
    assert len(told) == len(weights.FILES) - 1
    assert "expected run.json beside it" in str(told[0])
    monkeypatch.setattr(weights, "written_atomically", real)
    weights.add(root, [exported({"mig": 0.25})])
    assert list(weights.check(root, results_tree.read_all(root))) == []


def test_more_than_a_clone_can_bear_is_refused(exported, root, monkeypatch):
    monkeypatch.setattr(weights, "MOST", 100)
    with pytest.raises(InvalidInput, match="weights: expected at most 100 bytes, received"):
        weights.add(root, [exported({"mig": 0.25})])


def test_the_published_encoders_are_at_most_fifteen_megabytes():
    found = weights.read_all(board.PUBLISHED)
    assert sum(size for one in found for size, _ in one.files.values()) <= weights.MOST == 15 * 2**20
    assert list(weights.check(board.PUBLISHED, results_tree.read_all(board.PUBLISHED))) == []
