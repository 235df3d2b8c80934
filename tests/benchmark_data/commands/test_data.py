"""The commands that list, describe, draw and measure; what they print and how they fail."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from PIL import Image

import benchmark_data
from baselines import program


@pytest.fixture
def command(monkeypatch, capsys):
    """Run ``offaxis data`` in this process: (exit code, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["offaxis", "data", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            program.main()
        return (stopped.value.code, *capsys.readouterr())

    return run


def test_list_has_one_line_for_each_config(command):
    code, out, _ = command("list")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["dataset", "images", "shape", "factors", "source", "licence"]
    listed = {line.split()[0]: line.split()[1:] for line in lines[1:] if line}
    for name in benchmark_data.names():
        for full_name in benchmark_data.configs(name):
            assert full_name in listed
    assert listed["dsprites"] == ["737,280", "64x64x1", "5", "rendered", "Apache-2.0"]
    assert listed["dsprites_archive"] == ["737,280", "64x64x1", "5", "download", "Apache-2.0"]


def test_list_fits_a_narrow_terminal(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = command("list")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


def test_a_shell_that_knows_no_width_gets_a_table():
    listing = [sys.executable, "-c", "from baselines import program; program.main()", "data", "list"]
    listed = subprocess.run(listing, env={**os.environ, "COLUMNS": "0"}, capture_output=True, text=True, check=True)
    assert "dsprites_archive" in listed.stdout


def test_splits_are_listed_by_names_that_can_be_typed(command):
    code, shown, _ = command("info", "xyobject", "--splits")
    assert code == 0
    found = benchmark_data.split("xyobject", "composition")
    assert re.search(
        rf"^composition +{len(found.train):,} +{len(found.test):,} +{found.digests['train'][:8]}", shown, re.M
    )
    assert all(re.search(rf"^{re.escape(name)} ", shown, re.M) for name in benchmark_data.split_names("xyobject"))
    assert "offaxis train run --dataset xyobject/plain --split random --objective beta_vae" in shown


@pytest.mark.parametrize("name", ["xyobject/plain", "My pictures"])
def test_what_is_said_of_splits_can_be_typed(name, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "My pictures").mkdir()
    for level in range(20):
        Image.new("L", (4, 4), level).save(f"My pictures/{level}.png")
    _, shown, _ = command("info", name, "--splits")
    python, line = re.search(r"^To use one: (.*), or offaxis (.*)$", shown, re.M).groups()
    divided = eval(python, {"benchmark_data": benchmark_data})
    trained = []
    monkeypatch.setattr("baselines.commands.train._train", lambda *arguments: trained.append(arguments))
    monkeypatch.setattr("sys.argv", ["offaxis", *shlex.split(line)])
    with pytest.raises(SystemExit, match="0"):
        program.main()
    [(config, _, _, own, _)] = trained
    assert (config.dataset, config.split) == (divided.id, "train")
    assert (own is None) == (name == "xyobject/plain")


def test_info(command):
    code, out, err = command("info", "dsprites")
    assert (code, err) == (0, "")
    dataset = benchmark_data.load("dsprites")
    for shown in (
        "dsprites 1.0.0",
        dataset.description,
        dataset.citation,
        "737,280 of shape (64, 64, 1), uint8",
        "rendered",
        "Apache-2.0",
        dataset.homepage,
        "Orientations 0 and 39 are both upright",
        dataset.digest().pixels[:16],
    ):
        assert shown in out
    rows = [line.split() for line in out.splitlines()]
    assert ["orientation", "cyclic", "40", "0,", "0.161107,", "...,", "6.28319", "rad"] in rows
    assert ["shape", "categorical", "3", "square,", "ellipse,", "heart"] in rows


def test_info_of_a_config_names_its_siblings(command):
    _, out, _ = command("info", "xysquares/spacing_4")
    assert "xysquares/spacing_4 1.0.0" in out
    assert "xysquares/spacing_1" in out
    assert "place" in out


def test_info_of_an_archive_that_is_not_here_downloads_nothing(command, tmp_path):
    code, out, _ = command("info", "dsprites_archive")
    assert code == 0
    assert "archive, to be downloaded" in out
    assert "quick digest" not in out
    assert not list(tmp_path.iterdir())


def test_sheet_writes_a_png(command, tmp_path):
    file = tmp_path / "new folder" / "sheet.png"
    code, out, _ = command("show", "xysquares/spacing_4", "--to", file)
    assert code == 0
    with Image.open(file) as picture:
        assert picture.format == "PNG"
        assert f"{picture.width} x {picture.height} pixels" in out
    assert [path.name for path in file.parent.iterdir()] == ["sheet.png"]


def test_what_a_latent_is_missing_for_is_said(command):
    _, out, _ = command("list")
    (line,) = (line for line in out.splitlines() if line.startswith("shapes3d_perturbed/conv32_eps10"))
    assert line.split()[4] == "derive"
    _, out, _ = command("info", "shapes3d_perturbed/conv32_eps10")
    assert "values of a latent, to be computed by baselines.outputs.hidden_variable" in " ".join(out.split())


@pytest.mark.parametrize("name", ["info", "audit"])
def test_an_unknown_name_gives_the_near_match(command, name):
    code, out, err = command(name, "sprite2d")
    assert (code, out) == (2, "")
    assert err.startswith("error: dataset")
    assert err.endswith("received 'sprite2d'. Did you mean 'dsprites'?\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "xysquares/spacing_9"), "config of xysquares: expected one of spacing_1"),
        (("show", "dsprites_archive", "--to", "sheet.png"), "dsprites_archive: expected a prepared dataset"),
        (("audit", "dsprites_archive"), "dsprites_archive: expected a prepared dataset"),
        (("audit", "xysquares", "--pairs", "1"), "Invalid value for '--pairs'"),
        (("show", "xysquares"), "Missing option '--to'"),
        (("lst",), "No such command 'lst'"),
    ],
)
def test_errors_that_the_user_can_mend(command, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder(command, tmp_path):
    (tmp_path / "file").write_text("")
    for file, arguments in (
        ("x.png", ("show", "xysquares", "--to")),
        ("x.json", ("audit", "xysquares", "--pairs", 2, "--traversals", 2, "--to")),
    ):
        code, _, err = command(*arguments, tmp_path / "file" / file)
        assert code == 2
        assert f"error: {tmp_path}/file/{file}: expected a writable path" in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_audit(command, tmp_path):
    options = "--traversals", 4, "--pairs", 20, "--seed", 3
    code, out, err = command("audit", "xysquares/spacing_8", *options, "--to", tmp_path / "a.json")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "xysquares/spacing_8 1.0.0: 262,144 images"
    assert " ".join(lines[1].split()) == "learned factor values distance ratio above correlation overlap equal"
    # Every move costs 128 of 12,288 pixels; the ratio to random pairs depends on the 20 that were drawn.
    assert lines[2].split()[:4] == ["1", "x_R", "8", "0.0104"]
    assert lines[2].split()[-5:] == ["0.00", "[0.00,", "0.00]", "0.00", "0.000"]
    assert "giveaway: 0.00 [0.00, 0.00]" in lines
    assert "expected order of learning: x_R = y_R = x_G = y_G = x_B = y_B" in lines
    assert "published distances of xysquares/spacing_8 (arXiv 2202.13341): x_R 0.0104" in out
    written = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert written["giveaway"] == {"value": 0, "low": 0, "high": 0}
    assert (written["seed"], written["factors"]["x_R"]["traversals"], written["collisions"]["of"]) == (3, 4, 20)


def test_audit_of_a_folder(command, tmp_path):
    """Levels 0, 51 and 153: pairs at 0.04, 0.16 and 0.36; ranks 1.5, 1.5, 3 against 1, 2, 3."""
    for level in (0, 51, 153):
        Image.new("L", (4, 4), level).save(tmp_path / f"{level}.png")
    (tmp_path / "labels.csv").write_text("file_name,level\n0.png,0\n51.png,1\n153.png,7\n", "utf-8")
    code, out, err = command("audit", tmp_path, "--pairs", 20)
    assert code == 0, err
    assert "giveaway: 0.87 [0.87, 0.87]" in out.splitlines()
    assert "collisions: 0 of 3 images equal one with other labels (the whole dataset)" in out.splitlines()
    code, out, err = command("info", tmp_path)
    assert (code, re.search(r"^level +ordinal +3 +0, 1, 7", out, re.MULTILINE) is not None) == (0, True), err
    sheet = tmp_path.with_suffix(".png")
    code, out, err = command("show", tmp_path, "--to", sheet)
    assert (code, sheet.is_file()) == (0, True), err
    picture = (tmp_path / "0.png").read_bytes()
    code, out, err = command("show", tmp_path, "--to", tmp_path / "0.png")
    assert (code, (tmp_path / "0.png").read_bytes() == picture) == (2, True)
    assert "--to: expected a file outside the folder" in " ".join(err.split())


def test_audit_says_why_names_have_no_correlation(command, tmp_path):
    for level, name in ((0, "cat"), (90, "dog"), (200, "cow")):
        Image.new("L", (4, 4), level).save(tmp_path / f"{name}.png")
    (tmp_path / "labels.csv").write_text("file_name,animal\ncat.png,cat\ndog.png,dog\ncow.png,cow\n", "utf-8")
    code, out, err = command("audit", tmp_path, "--pairs", 20)
    assert code == 0, err
    assert "no correlation or overlap, since their values have no order: animal" in out.splitlines()


def test_audit_fails_in_one_line(command, tmp_path, monkeypatch):
    code, out, err = command("audit", "nowhere")
    assert (code, out) == (2, "")
    assert err.startswith("error: dataset or existing folder: expected one of")
    code, _, err = command("audit", tmp_path)
    assert code == 2
    assert "expected files that end in .png, .jpg or .jpeg, received none" in err


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        ("show xysquares --to a.jpgx", ".png"),
        ("audit xysquares --to a.txt", ".json"),
    ],
)
def test_a_file_whose_name_says_something_else_is_refused_before_anything_is_measured(
    command, monkeypatch, words, ending
):
    monkeypatch.setattr(benchmark_data.Dataset, "images", lambda *_: pytest.fail("it was begun"))
    *_, option, file = words.split()
    code, _, err = command(*words.split())
    assert (code, f"{option}: expected a file name that ends in {ending}, received {file}" in err) == (2, True)
    assert not os.path.exists(file)


def completed(words):
    """What the shell is told: bash asks by these variables."""
    environment = os.environ | {
        "_OFFAXIS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    start = "import sys; sys.argv = ['offaxis']; from baselines.program import main; main()"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, env=environment, check=False)
    return done.stdout.split()


def test_the_shell_completes_commands_and_names():
    assert completed(["offaxis", "data", "aud"]) == ["audit"]
    assert completed(["offaxis", "data", "info", "xysquares/spacing_4"]) == ["xysquares/spacing_4"]
    assert completed(["offaxis", "data", "info", "dsprites_sq"])[0] == "dsprites_squeezed"
