"""A finished run goes on for more steps, to the weights of one long run."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baselines import objectives, record, train
from baselines.commands import train as cli
from baselines.engines import devices
from baselines.run import Run
from baselines.run_folder import read_config
from baselines.training import claims, finetune, recorder, sweep
from benchmark_data import InvalidInput, OffaxisError, files
from benchmark_data.errors import OffaxisWarning


def resume(*words):
    return CliRunner().invoke(cli.app, ["resume", *map(str, words)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("objective", "hyperparameters"), [("beta_vae", {}), ("annealed_vae", {"iteration_threshold": 8})]
)
def test_a_longer_run_is_one_long_run(tiny, tmp_path, objective, hyperparameters):
    settings = {"objective": objective, "hyperparameters": hyperparameters}
    train(tiny(**settings), tmp_path / "grown")
    made = ("codes.npz", "encoder.onnx", "traversals.png", "losses.png")
    for name in made:
        (tmp_path / "grown" / name).touch()
    assert resume(tmp_path / "grown", "--steps", 11, "--no-encode").exit_code == 0
    whole = train(tiny(**settings, steps=11), tmp_path / "whole")
    grown = Run.open(tmp_path / "grown")
    assert grown.config == whole.config
    assert grown.steps == whole.steps == [0, 4, 11]
    for file in (f"snapshots/step_00000011/{name}.npz" for name in ("weights", "optimiser")):
        assert (grown.folder / file).read_bytes() == (whole.folder / file).read_bytes()
    assert not [name for name in made if (grown.folder / name).exists()], "those were the shorter run's"


def test_killed_while_a_run_is_made_longer_it_keeps_no_codes_of_the_shorter_one(trained, tmp_path, monkeypatch):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    (folder / "codes.npz").touch()

    def killed(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmark_data.files._sync", killed)  # no file takes its name any more
    with pytest.raises(KeyboardInterrupt):
        claims.lengthen(folder, 9)
    assert read_config(folder).steps == 6
    assert not (folder / "codes.npz").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--device", "gpu"), "--device gpu: expected a GPU"),
        (("--device", "tpu"), "--device: expected one of"),
        (("--steps", "5"), "steps: expected at least 6"),
    ],
)
def test_a_longer_run_that_is_refused_keeps_what_was_made_of_the_shorter_one(
    trained, tmp_path, monkeypatch, words, message
):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    (folder / "codes.npz").touch()
    (folder / "encoder.onnx").touch()
    before = (folder / "config.json").read_bytes()
    monkeypatch.setattr(devices, "usable_gpus", list)
    with pytest.raises(OffaxisError, match=message):
        resume(folder, "--steps", 9, *words)
    assert (folder / "codes.npz").exists()
    assert (folder / "encoder.onnx").exists()
    assert (folder / "config.json").read_bytes() == before
    with pytest.raises(OffaxisError, match="steps: expected an integer, at least 0, received '9'"):
        claims.lengthen(folder, "9")


def test_a_run_that_another_process_has_made_longer_is_not_made_shorter(trained, tmp_path, monkeypatch):
    folder, lock = shutil.copytree(trained.folder, tmp_path / "run"), claims.lock_folder

    @contextlib.contextmanager
    def after_another(folder):
        with lock(folder):
            files.write_json(folder / "config.json", files.read_json(folder / "config.json") | {"steps": 12})
            yield

    monkeypatch.setattr(claims, "lock_folder", after_another)
    with pytest.raises(InvalidInput, match="steps: expected at least 12"):
        claims.lengthen(folder, 9)
    assert read_config(folder).steps == 12


@pytest.mark.parametrize("wrong", ["weights.npz", "optimiser.npz", "history.jsonl", "pixels", "config.json"])
def test_a_longer_run_that_cannot_go_on_keeps_what_was_made_of_the_shorter_one(trained, tmp_path, wrong):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    (folder / "codes.npz").touch()
    if wrong == "pixels":
        record = json.loads((folder / "run.json").read_text())
        record["dataset_digest"]["pixels"] = "0" * 64
        (folder / "run.json").write_text(json.dumps(record))
    elif wrong == "history.jsonl":
        (folder / wrong).write_text("")
    elif wrong == "config.json":
        files.write_json(folder / wrong, files.read_json(folder / wrong) | {"seed": 7})
    else:
        (folder / "snapshots" / "step_00000006" / wrong).write_bytes(b"torn")
    with pytest.raises(OffaxisError, match=wrong):
        resume(folder, "--steps", 9)
    assert (folder / "codes.npz").exists()
    assert read_config(folder).steps == 6


def test_fewer_steps_and_a_longer_run_in_the_same_folder_are_refused(tiny, trained, tmp_path):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    with pytest.raises(
        InvalidInput,
        match=r"steps: expected at least 6, the steps of .*, received 5. For fewer steps, train a new run",
    ):
        resume(folder, "--steps", 5)
    with pytest.raises(InvalidInput, match=rf"To make it longer: offaxis train resume {folder} --steps 9"):
        train(tiny(steps=9), folder)
    with pytest.raises(InvalidInput, match="Choose another folder, or resume that run"):
        train(tiny(steps=9, seed=4), folder)
    before = (folder / "config.json").read_bytes()
    assert resume(folder, "--steps", 6, "--no-encode").exit_code == 0
    assert (folder / "config.json").read_bytes() == before


# Settings that run.json leaves out where they are the defaults, and the words on how they were selected.
EDITS = [("reconstruction_weight", 2.0), ("precision", "bfloat16"), ("selection", "a pilot")]


@pytest.mark.parametrize(
    ("name", "value"), [("seed", 7), ("learning_rate", 0.5), ("steps", 5), ("beta_1", 0.5), *EDITS]
)
def test_a_config_that_was_edited_after_training_is_refused(trained, tmp_path, name, value):
    """The record would have said that all steps had the new seed or rate, also those that were taken before."""
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    files.write_json(folder / "config.json", files.read_json(folder / "config.json") | {name: value})
    with pytest.raises(InvalidInput, match=f"expected the {name} that the run began with, received another. Restore"):
        train(read_config(folder), folder)
    assert files.read_json(folder / "run.json") == files.read_json(trained.folder / "run.json")


def test_a_run_of_an_objective_whose_file_has_changed_says_so(trained, tmp_path, monkeypatch):
    config = trained.config
    folder = shutil.copytree(trained.folder, tmp_path / sweep.run_path(config))
    assert train(config, folder).step == config.steps, "the same file: nothing is said, or the suite would fail"
    computed = files.read_json(folder / "run.json")["computed"]
    assert computed["objective_code"] == record.objective_code(config.objective) != record.objective_code("ae")
    shared = Path(objectives.__file__).with_name("_pairs.py")
    with monkeypatch.context() as patch:  # a file that objectives share counts, too
        patch.setattr(
            files, "hash_of", lambda path, real=files.hash_of: "changed" if Path(path) == shared else real(path)
        )
        assert record.objective_code.__wrapped__(config.objective) != computed["objective_code"]
    for module in (record, recorder):
        monkeypatch.setattr(module, "objective_code", lambda name: "another file")
    with pytest.warns(OffaxisWarning, match=f"seed_0.*the code of the objective {config.objective} has changed since"):
        train(config, folder)
    with pytest.warns(
        OffaxisWarning, match="The steps are kept. To train with the new code, remove the folder or choose"
    ):
        assert [state.state for state in sweep.run([config], tmp_path, encode=False)] == ["done"]
    claims.lengthen(folder, config.steps + 1)
    with pytest.warns(OffaxisWarning, match="has changed"):
        train(read_config(folder), folder)
    now = files.read_json(folder / "run.json")
    assert [each["objective_code"] for each in (now["computed"], *now["computed_before"])] == [
        "another file",
        computed["objective_code"],
    ]


def test_a_resumed_run_computes_with_the_threads_that_it_had(trained, tmp_path, monkeypatch):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    known = files.read_json(folder / "run.json")
    files.write_json(folder / "run.json", known | {"computed": known["computed"] | {"threads": 3}})
    chosen = []
    monkeypatch.setattr(cli.Options, "choose_device", lambda options: chosen.append(options.threads))
    resume(folder, "--no-encode")
    resume(folder, "--no-encode", "--threads", 1)
    assert chosen == [3, 1]


def test_a_run_whose_layers_are_all_frozen_is_refused(trained, tiny, tmp_path):
    weights = trained.model.weights()
    layers = [layer for network in ("encoder", "decoder") for layer in finetune.layers(weights, network)]
    with pytest.raises(InvalidInput, match="frozen: expected at least one layer to train, received all layers"):
        train(tiny(start_from=str(trained.folder), frozen=layers), tmp_path / "run")
    assert not (tmp_path / "run").exists()
