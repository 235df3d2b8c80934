"""Submissions with encoders: codes are written by them, hostile ones are told at once, and honest ones are verified."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from benchmark_data import files
from leaderboard import protocol
from leaderboard.commands import arguments, board
from leaderboard.scoring import candidates, submission
from leaderboard.store import results_tree
from tests.leaderboard import scored_submission

TASK = "toy/small"


def graph(weights, operator="MatMul", domain=""):
    """A model that multiplies pixels by a matrix."""
    nodes = [
        helper.make_node("Reshape", ["images", "shape"], ["flat"]),
        helper.make_node(operator, ["flat", "weights"], ["codes"], domain=domain),
    ]
    tensors = [
        numpy_helper.from_array(np.array([0, 192], np.int64), "shape"),
        numpy_helper.from_array(np.asarray(weights, np.float32), "weights"),
    ]
    made = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ("n", 8, 8, 3))],
        [helper.make_tensor_value_info("codes", TensorProto.FLOAT, None)],
        tensors,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def handed_in(toys, make_toy, monkeypatch, tmp_path):
    """A submission of a task with two seeds, which has encoders and no codes."""
    monkeypatch.setattr(protocol, "TRAIN", 1200)
    monkeypatch.setattr(protocol, "TEST", 600)
    tier = protocol.Tier("desk", "For tests.", (protocol.Measurement("mig"),))
    monkeypatch.setattr(protocol, "TIERS", {"desk": tier})
    toys[TASK] = make_toy(sizes=(8, 8, 8, 8))
    protocol.task.cache_clear()
    candidates._dataset_digest.cache_clear()
    file = submission.init(tmp_path / "work" / "mine", "my_vae", [TASK], tier="desk", seeds=2)
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    content["supervision"] = "unsupervised"
    for seed in content["tasks"][TASK]["seeds"]:
        seed["budget"] = {"steps": 100, "images": 6400, "seconds": 1.5, "device": "1 core"}
        weights = np.random.default_rng(seed["seed"]).standard_normal((192, 3))
        onnx.save(graph(weights), file.parent / TASK / f"seed_{seed['seed']}.onnx")
    file.write_text(json.dumps(content), "utf-8")
    return file.parent


def run(*words):
    return CliRunner().invoke(board.app, list(map(str, words)))


def test_from_encoders_to_verified_rows(handed_in, made_result, tmp_path, monkeypatch):
    problem = str(submission.check(handed_in).problems[0])
    assert "seed_0.npz: expected the codes of seed_0.onnx, received no such file" in problem
    assert f"Write them: offaxis board submit {handed_in}" in problem
    assert submission.check(handed_in, encode=submission.no_progress).problems == []
    assert run("submit", handed_in).exit_code == 0
    monkeypatch.setattr(arguments, "PUBLISHED", tmp_path / "board")
    results_tree.write(tmp_path / "board", [made_result(TASK, "beta_vae", 0.25, 0.5)])
    said = run("verify", handed_in, "--seed", "drawn later", "--to", tmp_path / "results")
    assert said.exit_code == 0, said.stdout
    assert "beta_vae" in said.stdout  # the published row stands in the same table
    assert "fresh rows drawn with --seed 'drawn later'" in said.stdout
    (result,) = results_tree.read_all(tmp_path / "results")
    assert result.trust("desk") == "verified"
    assert {run.verification.seed for run in result.runs} == {"drawn later"}


def test_codes_are_those_of_the_encoder(handed_in):
    submission.check(handed_in, encode=submission.no_progress)
    task = protocol.task(TASK)
    flat = task.load().images(task.indices).reshape(len(task.indices), -1) / 255
    wanted = flat @ np.random.default_rng(1).standard_normal((192, 3))
    found = np.load(handed_in / TASK / "seed_1.npz")
    np.testing.assert_array_equal(found["indices"], task.indices)
    np.testing.assert_allclose(found["codes"], wanted, atol=1e-4)


def test_progress_counts_the_images_of_a_run(handed_in):
    told = []
    submission.check(handed_in, encode=lambda *step: told.append(step))
    assert told[-1] == ("seed_1.npz", 1800, 1800)


def test_codes_of_another_encoder_are_scored_and_marked(handed_in):
    submission.check(handed_in, encode=submission.no_progress)
    first, second = (handed_in / TASK / f"seed_{seed}.onnx" for seed in (0, 1))
    second.write_bytes(first.read_bytes())
    said = run("verify", handed_in)
    assert said.exit_code == 1
    assert "not verified" in said.stdout
    (result,) = scored_submission.score(handed_in, fresh="x")
    assert [run.verification is not None for run in result.runs] == [True, False]
    assert [run.marks for run in result.runs] == [(), ("encoder_disagrees",)]
    assert result.trust("desk") == "recomputed"


def test_a_hostile_encoder_is_told_with_all_other_problems(handed_in):
    submission.check(handed_in, encode=submission.no_progress)
    onnx.save(graph(np.eye(192)[:, :3], "Steal", "com.evil"), handed_in / TASK / "seed_0.onnx")
    (handed_in / TASK / "seed_1.onnx").write_bytes(b"not a model")
    (handed_in / TASK / "seed_2.onnx").write_bytes(b"")
    found = " ".join(str(problem) for problem in submission.check(handed_in).problems)
    for part in ("operator of another domain", "expected a model in ONNX", "a file that submission.json does not name"):
        assert part in found
    (handed_in / TASK / "seed_1.onnx").unlink()
    (handed_in / TASK / "seed_1.onnx").symlink_to("/etc/passwd")
    assert "received a link" in " ".join(str(problem) for problem in submission.check(handed_in).problems)


def test_submit_lists_a_wrong_encoder_with_all_other_problems(handed_in):
    (handed_in / TASK / "seed_0.onnx").write_bytes(b"not a model")
    onnx.save(graph(np.eye(192)[:, :3], "Steal", "com.evil"), handed_in / TASK / "seed_1.onnx")
    form = json.loads((handed_in / "submission.json").read_text("utf-8"))
    (handed_in / "submission.json").write_text(json.dumps(form | {"supervision": ""}), "utf-8")
    said = run("submit", handed_in)
    assert said.exit_code == 1
    assert said.stdout.count("error: ") == 3
    for part in ("supervision: expected", "expected a model in ONNX", "operator of another domain"):
        assert part in said.stdout


def test_too_many_bytes_of_encoders(handed_in, monkeypatch):
    submission.check(handed_in, encode=submission.no_progress)
    monkeypatch.setattr(submission, "MAX_ENCODER_BYTES", 1000)
    (problem,) = submission.check(handed_in).problems
    assert "at most 0 MiB of encoders" in str(problem)


def test_submit_finds_codes_of_an_encoder_that_was_replaced(handed_in):
    assert run("submit", handed_in).exit_code == 0
    onnx.save(graph(np.random.default_rng(9).standard_normal((192, 3))), handed_in / TASK / "seed_1.onnx")
    said = run("submit", handed_in)
    assert said.exit_code == 1
    assert "seed_1.onnx: expected the submitted codes, within 2% of their spread, received codes that" in said.stdout
    assert said.stdout.count("error: ") == 1
    (handed_in / TASK / "seed_1.npz").unlink()  # as the message says
    assert run("submit", handed_in).exit_code == 0


def test_submit_writes_codes_once(handed_in):
    assert run("submit", handed_in).stdout.count(".npz") == 2
    assert run("submit", handed_in).stdout.count(".npz") == 0


def test_submit_goes_on_where_it_was_killed(handed_in):
    """Its temporary file was listed, removed when the codes were written again, and then missed."""
    (handed_in / TASK / f".seed_0.npz.{2**22 + 1}-{files._HOST_HASH}0a1b.part").write_bytes(b"PK")
    assert run("submit", handed_in).exit_code == 0


def test_verify_without_an_encoder(handed_in):
    submission.check(handed_in, encode=submission.no_progress)
    for seed in (0, 1):
        (handed_in / TASK / f"seed_{seed}.onnx").unlink()
    said = run("verify", handed_in)
    assert said.exit_code == 1
    assert "not verified: my_vae on toy/small@v1, seed 0: it has no ONNX encoder" in said.stdout
    assert "margin" not in said.stdout  # a table without rows


def test_a_run_without_an_encoder_is_named_beside_one_that_has_a_note(handed_in):
    submission.check(handed_in, encode=submission.no_progress)
    first, second = (handed_in / TASK / f"seed_{seed}.onnx" for seed in (0, 1))
    first.write_bytes(second.read_bytes())  # disagrees with its codes
    second.unlink()
    said = run("verify", handed_in)
    assert said.exit_code == 1
    assert "not verified: my_vae on toy/small@v1, seed 1: it has no ONNX encoder" in said.stdout
    assert said.stdout.count("it has no ONNX encoder") == 1
    assert said.stdout.count("not verified") == 2
