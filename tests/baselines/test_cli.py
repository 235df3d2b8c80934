from __future__ import annotations

import json
import os
import shutil

import pytest
import typer.main
from typer.testing import CliRunner

from baselines import program
from baselines.commands import train as cli
from benchmark_data import OffaxisError

TINY = (
    "run --dataset xysquares/spacing_1 --objective beta_vae --steps 2 --set architecture=fc --set width=4 "
    "--set beta=2 --set batch_size=2 --set latents=2"
)


def call(command):
    return CliRunner().invoke(cli.app, command.split(), catch_exceptions=False)


def fails(command, message):
    with pytest.raises(OffaxisError, match=message):
        call(command)


def test_run_encode_traverse_resume(tmp_path, monkeypatch, few_rows):
    monkeypatch.chdir(tmp_path)
    done = call(TINY)
    assert done.exit_code == 0
    folder = tmp_path / "runs/xysquares/spacing_1/beta_vae/seed_0"
    assert done.stdout.strip() == str(folder.relative_to(tmp_path))
    assert "of the pixels' variance" in done.stderr
    assert "warning: the decoder draws little more than the mean image" in done.stderr  # after two steps
    assert "a lower beta, or --set reconstruction_weight=4 may help" in " ".join(done.stderr.split())
    config = json.loads((folder / "config.json").read_text())
    assert config["hyperparameters"] == {"beta": 2.0}
    assert config["architecture_parameters"] == {"width": 4}
    assert (config["batch_size"], config["latents"], config["steps"]) == (2, 2, 2)
    assert (folder / "codes.npz").exists()
    assert (folder / "run.json").exists()

    (folder / "codes.npz").unlink()
    assert call(f"encode {folder}").stdout.strip() == str(folder / "codes.npz")
    assert call(f"resume {folder} --no-encode").exit_code == 0
    drawing = call(f"draw {folder}")
    drawn = drawing.stdout.split()
    assert "not finished" not in drawing.stderr
    call(f"resume {folder} --no-encode --steps 3")
    shutil.rmtree(folder / "snapshots" / "step_00000003")
    assert "not finished, drawn at step 0 of 3" in call(f"draw {folder}").stderr
    assert [path.rsplit("/")[-1] for path in drawn][:2] == ["traversals.png", "traversals.gif"]


def test_codes_of_a_finished_run_are_left_alone(tmp_path, few_rows):
    codes = tmp_path / "run" / "codes.npz"
    told = []
    for _ in range(2):
        told.append("nothing to train" in call(f"{TINY} --to {tmp_path}/run").stderr)
        os.utime(codes, (7, 7))
    assert told == [False, True]
    call(f"resume {tmp_path}/run")
    assert codes.stat().st_mtime == 7
    call(f"resume {tmp_path}/run --steps 3")
    assert codes.stat().st_mtime > 7, "those of a longer run are its own"


def test_a_config_file_with_changes(tmp_path):
    values = {"dataset": "xysquares/spacing_2", "objective": "ae", "architecture": "fc", "steps": 9, "seed": 5}
    (tmp_path / "config.json").write_text(json.dumps(values))
    done = call(f"run --config {tmp_path}/config.json --steps 1 --seed 0 --set width=4 --no-encode --to {tmp_path}/run")
    assert done.exit_code == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["dataset"], config["steps"], config["seed"]) == ("xysquares/spacing_2", 1, 0)


@pytest.mark.parametrize(
    ("words", "objective", "hyperparameters", "architecture"),
    [
        ("--objective ae", "ae", {}, ("fc", {"width": 4})),
        (
            "--set objective=dip_vae_i --set lambda_d=3",
            "dip_vae_i",
            {"lambda_od": 10.0, "lambda_d": 3.0},
            ("fc", {"width": 4}),
        ),
        ("--set architecture=conv", "beta_vae", {"beta": 2.0}, ("conv", {"pixel_mean": 0.0, "pixel_std": 1.0})),
        ("--objective beta_vae --set architecture=fc", "beta_vae", {"beta": 2.0}, ("fc", {"width": 4})),
        ("--objective beta_tc_vae", "beta_tc_vae", {"beta": 6.0}, ("fc", {"width": 4})),
    ],
)
def test_a_config_file_whose_objective_or_architecture_is_changed(
    tmp_path, words, objective, hyperparameters, architecture
):
    values = {"dataset": "xysquares/spacing_1", "objective": "beta_vae", "hyperparameters": {"beta": 2}, "latents": 2}
    values |= {"architecture": "fc", "architecture_parameters": {"width": 4}, "steps": 0}
    (tmp_path / "c.json").write_text(json.dumps(values))
    done = call(f"run --config {tmp_path}/c.json {words} --no-encode --to {tmp_path}/run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["objective"], config["hyperparameters"]) == (objective, hyperparameters)
    assert (config["architecture"], config["architecture_parameters"]) == architecture
    changed = objective != "beta_vae" or architecture[0] != "fc"
    assert ("with its own defaults" in done.stderr) == changed


def test_list_names_everything():
    out = call("list").stdout
    for name in ("beta_vae", "factor_vae", "conv_dlib", "box_blur", "random_encoder", "beta=4.0"):
        assert name in out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run --objective ae", "A run needs --dataset NAME or --images FOLDER."),
        ("run --dataset xysquares/spacing_1", "A run needs --objective NAME."),
        ("run --dataset xysquares/spacing_9 --objective ae", "config of xysquares: .* Did you mean 'spacing_8'"),
        ("run --dataset xysquares/spacing_1 --objective bta_vae", "objective: .* Did you mean 'beta_vae'"),
        ("run --dataset xysquares/spacing_1 --objective beta_vae --set bta=4", "conv: .* Did you mean 'beta'"),
        (
            "run --dataset xysquares --objective ae --seed 3 --set seed=4",
            "--seed and --set seed=4: use only one of them",
        ),
        ("run --dataset xysquares --objective ae --set seed=3 --set seed=4", "--set seed: .* received 3 and 4"),
        (
            "run --dataset xysquares/spacing_1 --objective beta_vae --set beta",
            "--set: expected KEY=VALUE, received 'beta'.",
        ),
        (
            "run --dataset xysquares/spacing_1 --objective beta_vae --set beta=x",
            "'beta': expected a number, received 'x'",
        ),
        ("run --config nowhere.json", "nowhere.json: expected a JSON file"),
        ("resume nowhere", "nowhere: expected a run folder, which has config.json, received no such folder"),
        ("encode nowhere", "nowhere: expected a run folder, which has config.json, received no such folder"),
    ],
)
def test_errors_are_the_users_to_mend(command, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fails(command, message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ({"hyperparameters": 5}, "--set beta=4", "hyperparameters: expected an object of keys and values, received 5"),
        (
            {"hyperparameters": None},
            "--set beta=4",
            "hyperparameters: expected an object of keys and values, received None",
        ),
        ({"architecture": ["fc"]}, "--set beta=4", r"architecture: expected a string, received \['fc'\]"),
        ({}, "--set architecture=[1]", r"architecture: expected a string, received \[1\]"),
        ({"selection": ""}, "", "selection: expected one line of 1 to 200 characters"),
        ({"selection": "a\nb"}, "", "selection: expected one line of 1 to 200 characters"),
        ({"selection": "a" * 201}, "", "selection: expected one line of 1 to 200 characters"),
    ],
)
def test_a_config_file_with_wrong_values(values, settings, message, tmp_path):
    values = {"dataset": "xysquares/spacing_2", "objective": "beta_vae"} | values
    (tmp_path / "c.json").write_text(json.dumps(values))
    fails(f"run --config {tmp_path}/c.json {settings} --to {tmp_path}/run", message)
    assert not (tmp_path / "run").exists()


def test_a_config_file_that_is_no_object(tmp_path):
    (tmp_path / "c.json").write_text("[]")
    fails(f"run --config {tmp_path}/c.json", "c.json: expected a JSON object of settings, received list")


def test_help_is_quick_and_says_what_to_try_first(monkeypatch):
    out = call("--help").stdout
    assert "offaxis train run --dataset" in out
    for command in tuple(typer.main.get_command(cli.app).commands):
        assert call(f"{command} --help").exit_code == 0


def test_main_prints_one_line_and_exits_with_2(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["offaxis", "train", "resume", "nowhere"])
    with pytest.raises(SystemExit) as stopped:
        program.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("error: nowhere: expected a run folder, which has config.json")


def test_help_marks_what_is_required(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert call("run --help").stdout.count("Required without --config") == 2


def test_help_promises_what_is_drawn_and_no_more():
    assert "reconstructions, losses." in " ".join(call("draw --help").stdout.split())


def test_a_figure_without_its_paper():
    from baselines.commands import study

    with pytest.raises(OffaxisError, match=r"its paper too, as in .*2202\.13341/fig8.*, received 'fig8'"):
        CliRunner().invoke(study.app, ["run", "fig8"], catch_exceptions=False)
