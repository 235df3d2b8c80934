"""Runs on one's own images: trained, stopped, opened and refused."""

from __future__ import annotations

import json
import shlex
import shutil

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from typer.testing import CliRunner

import leaderboard
from baselines import RunConfig, lengthen, train
from baselines.commands import train as cli
from baselines.outputs import pictures
from baselines.run import Run
from baselines.run_folder import Snapshots, default_folder
from benchmark_data import DamagedFile, InvalidInput, UnknownName, from_folder, from_images
from leaderboard.commands import scores
from leaderboard.reading import representations
from leaderboard.scoring import candidates
from tests.leaderboard import scored_submission

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 16, 16, 1), np.uint8)
MINE = from_images("mine", PIXELS, {"kind": np.arange(40) % 4})
SETTINGS = {
    "dataset": "mine",
    "architecture": "fc",
    "architecture_parameters": {"width": 8},
    "latents": 2,
    "steps": 4,
    "batch_size": 4,
    "snapshots": [2],
}


def config(objective="beta_vae", **changes):
    return RunConfig(objective=objective, **SETTINGS | changes)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on own images, in the folder that a run gets when none is named. Do not write to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("work"))
        made = train(config(), dataset=MINE)
        assert made.folder == default_folder(config())
        assert (made.folder / "run.json").exists()
        return Run.open(made.folder.absolute(), dataset=MINE)


def test_a_run_is_opened_and_used_without_the_images(run):
    opened = Run.open(run.folder)
    assert opened.image_shape == (16, 16, 1)
    assert opened.encode(PIXELS[:3]).mean.shape == (3, 2)
    assert opened.decode([[0.0, 1.0]]).shape == (1, 16, 16, 1)
    assert next(iter(opened.activations(PIXELS[:2]))) == "input"
    with pytest.raises(
        InvalidInput, match=r"dataset of .*: expected the images called 'mine', received none. Pass them"
    ):
        opened.encode_rows([0])
    np.testing.assert_array_equal(run.encode_rows([0, 1]), opened.encode(PIXELS[:2]).mean)


def test_a_run_on_images_in_memory_is_made_longer(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    (folder / "codes.npz").touch()
    call = rf"steps 4\. To make it longer: baselines\.lengthen\('{folder}', 6, dataset=\.\.\.\), then train as before"
    with pytest.raises(InvalidInput, match=call):  # no command has the images
        train(config(steps=6), folder, dataset=MINE)
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the images called 'mine', received none"):
        lengthen(folder, 6)
    with pytest.raises(InvalidInput, match=r"dataset: expected a Dataset, such as from .*, received 'mine'"):
        lengthen(folder, 6, "mine")
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        lengthen(folder, 6, from_images("mine", PIXELS[::-1]))
    assert (folder / "codes.npz").exists()
    assert lengthen(str(folder), 6, MINE) == config(steps=6)
    grown, whole = train(config(steps=6), folder, dataset=MINE), train(config(steps=6), tmp_path / "w", dataset=MINE)
    weights = [each.folder / "snapshots" / "step_00000006" / "weights.npz" for each in (grown, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert not (folder / "codes.npz").exists()


def test_a_run_on_a_split_reads_the_rows_of_the_split_from_the_images_that_are_given(tmp_path):
    done = train(config(split="holdout"), tmp_path / "run", dataset=MINE)
    opened = Run.open(done.folder, dataset=MINE)
    assert opened.dataset.id == done.dataset.id == "mine/holdout"
    np.testing.assert_array_equal(opened.encode_rows([0, 39]), done.encode_rows([0, 39]))
    with pytest.raises(InvalidInput, match="dataset: expected 'mine/holdout', as in the config, received 'yours'"):
        Run.open(done.folder, dataset=from_images("yours", PIXELS)).encode_rows([0])


def test_it_goes_on_with_the_same_images_only(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    Snapshots(folder).remove(4)
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        train(config(), folder, dataset=from_images("mine", PIXELS[::-1]))
    again = train(config(), folder, dataset=MINE)
    for name in ("weights.npz", "optimiser.npz"):
        file = f"snapshots/step_00000004/{name}"
        assert (again.folder / file).read_bytes() == (run.folder / file).read_bytes()


def test_a_finished_run_does_not_pass_for_one_of_other_images_of_the_same_name(run):
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        train(config(), run.folder, dataset=from_images("mine", PIXELS[::-1]))
    assert train(config(), run.folder, dataset=MINE).step == 4
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        Run.open(run.folder, dataset=from_images("mine", PIXELS[::-1])).encode_task()


@pytest.fixture(scope="module")
def many():
    """More images than the quick digest looks at, and the same with one other of those that it does not look at."""
    pixels = np.random.default_rng(0).integers(0, 256, (1100, 16, 16, 1), np.uint8)
    other = pixels.copy()
    row = min(set(range(1100)) - set(from_images("mine", pixels).quick_rows().tolist()))
    other[row] = 255 - other[row]
    return from_images("mine", pixels), from_images("mine", other)


def test_it_goes_on_with_the_same_images_only_of_many_too(many, tmp_path):
    first, other = many
    assert first.digest() == other.digest()
    done = train(config(steps=2), tmp_path / "run", dataset=first)
    assert (
        json.loads((done.folder / "run.json").read_text())["dataset_full_digest"] == first.digest(full=True)._asdict()
    )
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        train(config(steps=2), done.folder, dataset=other)
    assert train(config(steps=2), done.folder, dataset=first).step == 2


def test_it_is_scored_once_its_images_are_passed_again(tmp_path):
    done = train(config(), tmp_path / "run", dataset=MINE)
    with pytest.raises(DamagedFile, match=r"Pass its images again: baselines\.Run\.open\(.*, dataset=\.\.\.\) has enc"):
        leaderboard.evaluate(done.folder, MINE, progress=False)
    Run.open(done.folder, dataset=MINE).encode_task()
    assert "4 steps of training" in str(leaderboard.evaluate(done.folder, MINE, progress=False))


def test_the_dataset_is_the_configs(tmp_path):
    with pytest.raises(InvalidInput, match="dataset: expected 'yours', as in the config, received 'mine'"):
        train(config(dataset="yours"), tmp_path / "run", dataset=MINE)
    with pytest.raises(UnknownName, match=r"^dataset: expected one of .* 'mine'\. For your own images: .*dataset="):
        train(config(), tmp_path / "run")
    with pytest.raises(UnknownName, match=r"^config of xysquares: .* Did you mean 'spacing_8'\?$"):
        train(config(dataset="xysquares/spacing_80"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_classifier_of_ones_own_labels(tmp_path):
    done = train(config("classifier"), tmp_path / "run", dataset=MINE)
    assert Run.open(done.folder).encode(PIXELS[:1]).mean.shape == (1, 4)  # a number for each class
    assert json.loads((done.folder / "run.json").read_text())["factor_sizes"] == [4]
    with pytest.raises(
        InvalidInput, match="classifier: expected a dataset whose factors are known, received no factors"
    ):
        train(config("classifier"), tmp_path / "other", dataset=from_images("mine", PIXELS))


def test_pairs_need_a_grid(tmp_path):
    with pytest.raises(InvalidInput, match="objective on pairs: expected a dataset that is a full grid of factors"):
        train(config("ada_gvae"), tmp_path / "run", dataset=MINE)


@pytest.mark.parametrize("objective", ["simclr", "vicreg", "lejepa"])
def test_views_are_of_images_of_three_channels_at_most(objective, tmp_path):
    transparent = from_images("mine", PIXELS.repeat(4, axis=3))
    with pytest.raises(
        InvalidInput, match=rf"{objective}: expected images of at most 3 channels, received shape \(16, "
    ):
        train(config(objective), tmp_path / "run", dataset=transparent)
    assert not (tmp_path / "run").exists()


def test_pictures_need_the_images_and_codes_hold_labels(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    assert pictures.draw_all(Run.open(folder, dataset=MINE))
    with np.load(Run.open(folder, dataset=MINE).encode_task()) as codes:
        assert sorted(codes["indices"]) == list(range(40))
        np.testing.assert_array_equal(codes["factors"], MINE.labels(codes["indices"]))
        assert codes["factor_names"].tolist() == ["kind"]
        np.testing.assert_array_equal(codes["codes"], run.encode_rows(codes["indices"]))
    with pytest.raises(InvalidInput, match="expected the images called 'mine', received none"):
        pictures.draw_all(Run.open(folder))


@pytest.mark.parametrize("shape", [None, [16, 16], "16"])
def test_a_record_without_a_shape_is_named(run, tmp_path, shape):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"image_shape": shape}))
    with pytest.raises(DamagedFile, match=r"run.json: expected a run's record with image_shape, received"):
        Run.open(folder).encode(PIXELS[:1])


@pytest.fixture
def photos(tmp_path):
    """Forty grey PNG files of 16 x 16 pixels and what is known of them."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, image in enumerate(PIXELS):
        PIL.Image.fromarray(image[..., 0]).save(folder / f"{number:02}.png")
    lines = "".join(f"{number:02}.png,{number % 4}\n" for number in range(40))
    (folder / "labels.csv").write_text(f"file_name,kind\n{lines}", "utf-8")
    return folder


def typed(*words):
    result = CliRunner().invoke(cli.app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


SMALL = ("--set", "architecture=fc", "--set", "width=8", "--set", "latents=2", "--set", "batch_size=4")


def test_a_folder_below_home_and_pairs_of_all_pictures(photos, tmp_path, monkeypatch):
    """A shell leaves ``--images=~/photos`` alone; the second image of a pair is not of the train rows."""
    pictures = photos.rename(photos.parent / "grid")
    kinds = "".join(f"{number:02}.png,{number % 4},{number // 4}\n" for number in range(40))
    (pictures / "labels.csv").write_text(f"file_name,kind,group\n{kinds}", "utf-8")
    monkeypatch.setenv("HOME", str(pictures.parent))
    asked = ("run", "--images", "~/grid", "--objective", "ada_gvae", *SMALL, "--to", tmp_path / "run", "--steps", 1)
    assert "36 trained on, the rest at most as second images of pairs (train_share)" in typed(*asked)
    assert json.loads((tmp_path / "run" / "images.json").read_text()) == {"folder": str(pictures)}


def test_a_folder_of_pictures_from_the_command_line(photos, tmp_path):
    """Trained, stopped, gone on with, encoded, scored and drawn: the run remembers where its pictures are."""
    folder = tmp_path / "run"
    asked = ("run", "--images", photos, "--objective", "beta_vae", *SMALL, "--to", folder)
    assert "images: 40 of photos, 36 trained on, the rest held out (train_share)" in typed(*asked, "--steps", 4)
    assert json.loads((folder / "images.json").read_text()) == {"folder": str(photos)}
    typed("resume", folder, "--steps", 6)
    opened = Run.open(folder)
    assert (opened.step, opened.config.dataset, opened.dataset.digest()) == (6, "photos", from_folder(photos).digest())
    np.testing.assert_array_equal(opened.encode_rows([0, 39]), opened.encode(PIXELS[[0, 39]]).mean)
    assert "traversals.png" in typed("draw", folder)
    typed("encode", folder)
    found = representations.codes(folder)
    assert (found.codes.shape, found.names) == ((40, 2), ("kind",))
    typed("encode", "--layers", folder, "--images", 5)
    assert len(representations.activations(folder)["input"]) == 5
    typed("encode", "--layers", folder, "--images", 40)
    assert len(representations.activations(folder)["input"]) == 40
    with pytest.raises(InvalidInput, match=r"--images: expected at most 40 of photos, received 41"):
        typed("encode", "--layers", folder, "--images", 41)


def test_pictures_in_the_order_of_a_factor_are_scored_and_compared_in_another(photos, tmp_path):
    """A table of pictures mostly stands in order; the held-out third would hold what was never learnt from."""
    lines = "".join(f"{number:02}.png,{number // 10}\n" for number in range(40))
    (photos / "labels.csv").write_text(f"file_name,x\n{lines}", "utf-8")
    folder = tmp_path / "run"
    said = typed("run", "--images", photos, "--objective", "ae", *SMALL, "--steps", 1, "--to", folder)
    assert "More steps may help." in " ".join(said.split())  # a weight of an autoencoder's only term does nothing
    factors = representations.codes(folder).factors
    assert set(factors[:26, 0]) == set(factors[26:, 0]) == {0, 1, 2, 3}
    typed("encode", "--layers", folder, "--images", 20)
    with np.load(folder / "activations.npz") as held, np.load(folder / "codes.npz") as codes:
        np.testing.assert_array_equal(held["indices"], codes["indices"][:20])
        assert set(held["indices"] // 10) == {0, 1, 2, 3}


def test_two_folders_of_pictures_are_compared_and_are_no_task_of_the_board(photos, tmp_path):
    """Runs on two variants of one's own pictures: drawn together, and their layers on the images of one of them."""
    other = shutil.copytree(photos, tmp_path / "far")
    runs = [tmp_path / "run", tmp_path / "run_far"]
    for folder, run in zip((photos, other), runs, strict=True):
        typed("run", "--images", folder, "--objective", "ae", *SMALL, "--steps", 1, "--to", run)
    assert typed("draw", *runs).count("traversals.png") == 2
    typed("encode", runs[0], "--dataset", other, "--to", tmp_path / "codes.npz")
    found = representations.codes(tmp_path / "codes.npz")
    np.testing.assert_array_equal(found.codes, representations.codes(runs[0]).codes)  # of the same pictures
    assert found.names == ("kind",)
    typed("encode", "--layers", *runs, "--dataset", photos)
    representations.check_same_rows(runs)
    PIL.Image.new("L", (16, 16)).save(other / "00.png")
    (other / "labels.csv").write_text((other / "labels.csv").read_text().replace("00.png,0", "00.png,1"), "utf-8")
    typed("encode", runs[0], "--dataset", other, "--to", tmp_path / "changed.npz")
    typed("encode", "--layers", runs[0], "--dataset", other, "--to", tmp_path / "layers.npz")
    with pytest.raises(InvalidInput, match=r"received those of others\. Write activations of the same images"):
        representations.check_same_rows([runs[1], tmp_path / "layers.npz"])
    assert representations.codes(tmp_path / "changed.npz", dataset=from_folder(other)).names == ("kind",)
    with pytest.raises(InvalidInput, match="expected those of photos, received others: these are codes of other"):
        representations.codes(tmp_path / "changed.npz", dataset=from_folder(photos))
    with pytest.raises(
        InvalidInput,
        match=r"received one on your own pictures, 'far'. To score it by metrics of your choice: offaxis bo",
    ):
        list(scored_submission.score_runs(runs[1:], tier="smoke"))


def test_a_run_on_pictures_has_one_score_however_it_is_computed(photos, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, seed in zip(folders, (3, 7), strict=True):
        asked = ("--objective", "beta_vae", *SMALL, "--set", f"seed={seed}", "--steps", 2, "--to", folder)
        typed("run", "--images", photos, "--dataset", "mine", *asked)
    scores.score(folders, names=["mig", "sap"], to=tmp_path / "scores.csv")
    scores.score(folders[:1])  # mig and dci, without a word of tasks
    table = pd.read_csv(tmp_path / "scores.csv").pivot(index="file", columns="metric", values="value")
    assert set(pd.read_csv(tmp_path / "scores.csv")["dataset"]) == {"mine"}
    names = {"metrics": ["mig", "sap"], "progress": False}
    evaluated = leaderboard.evaluate(folders, photos, **names)
    assert evaluated.frame()["seed"].tolist() == [3, 7]
    assert {row.budget.steps for row in evaluated.rows} == {2}
    opened = [Run.open(folder) for folder in folders]
    called = leaderboard.evaluate([lambda images, run=run: run.encode(images).mean for run in opened], photos, **names)
    for frame in (evaluated.frame(), called.frame()):
        np.testing.assert_allclose(frame[["mig", "sap"]], table[["mig", "sap"]], atol=1e-9)
    other = from_images("mine", 255 - PIXELS, {"kind": np.arange(40) % 4})
    with pytest.raises(InvalidInput, match=r"a has codes of mine alone and no encoder\.onnx"):
        leaderboard.evaluate(folders[0], other, **names)


def test_a_run_on_images_from_python_is_scored_by_its_folder(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    Run.open(folder, dataset=MINE).encode_task()
    scores.score([folder], to=tmp_path / "scores.csv")
    written = pd.read_csv(tmp_path / "scores.csv")
    assert set(written["metric"]) == {"mig", "dci"}
    expected = leaderboard.evaluate(folder, MINE, metrics=["mig"], progress=False).frame()["mig"][0]
    assert written["value"][written["metric"] == "mig"].item() == pytest.approx(expected, abs=1e-9)
    with pytest.raises(InvalidInput, match="expected a run on a dataset of the board, received one on your own pict"):
        candidates.load(folder)
    (folder / "config.json").unlink()  # of another program, whose record names no dataset of the board
    with pytest.raises(UnknownName, match="received 'mine'"):
        scores.score([folder])


@pytest.mark.parametrize("rows", [np.arange(1, 41), np.arange(40) % 39, np.roll(np.arange(40), 1)])
def test_codes_of_a_run_on_own_images_are_refused_if_rows_are_shifted_repeated_or_others(run, tmp_path, rows):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    codes = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    arrays = {"codes": codes, "factors": MINE.labels(range(40)), "factor_names": np.array(["kind"])}
    np.savez(folder / "codes.npz", indices=np.arange(40), **arrays)
    assert len(leaderboard.evaluate(folder, MINE, metrics=["mig"], progress=False).rows) == 1
    np.savez(folder / "codes.npz", indices=rows, **arrays)
    with pytest.raises(DamagedFile, match=r"codes\.npz: indices: expected rows 0 to 39 of mine, each once, with their"):
        leaderboard.evaluate(folder, MINE, metrics=["mig"], progress=False)


def test_pictures_that_have_changed_or_gone_are_refused(photos, tmp_path):
    folder = tmp_path / "run"
    asked = ("run", "--images", photos, "--dataset", "mine", "--objective", "ae", *SMALL, "--to", folder)
    typed(*asked, "--steps", 2)
    assert Run.open(folder).config.dataset == "mine"
    PIL.Image.new("L", (16, 16)).save(photos / "00.png")
    with pytest.raises(InvalidInput, match="expected the pixels and factors that the run began with, received others"):
        typed("resume", folder, "--steps", 4)
    codes = (folder / "codes.npz").read_bytes()
    for command in (["encode"], ["draw"], ["encode", "--layers"], ["export"]):
        with pytest.raises(InvalidInput, match="expected the pixels and factors that the run began with"):
            typed(*command, folder)
    assert (folder / "codes.npz").read_bytes() == codes
    assert not list(folder.glob("*.png"))
    shutil.rmtree(photos)
    with pytest.raises(InvalidInput, match=r"The images of .*run are no longer in .*photos\. Pass their new folder: "):
        typed("draw", folder)
    (folder / "images.json").write_text("[]")
    with pytest.raises(DamagedFile, match=r"images\.json: expected the folder of the run's images, received \[\]"):
        typed("draw", folder)


def test_divided_pictures_that_have_moved_are_found_again(photos, tmp_path):
    folder, moved = tmp_path / "my run", tmp_path / "moved"
    asked = ("--split", "random", "--objective", "ae", *SMALL, "--steps", 2, "--to", folder)
    typed("run", "--images", photos, "--dataset", "mine", *asked)
    photos.rename(moved)
    with pytest.raises(InvalidInput, match=r"run are no longer in .*photos\. Pass their new folder: ") as raised:
        typed("resume", folder, "--steps", 3)
    words = shlex.split(str(raised.value).rpartition("new folder: ")[2])
    assert words[2:] == ["run", "--config", f"{folder}/config.json", "--images", "FOLDER", "--to", str(folder)]
    typed("run", "--config", folder / "config.json", "--images", moved, "--to", folder)
    typed("resume", folder, "--steps", 3)
    assert Run.open(folder).step == 3


def test_a_transfer_to_ones_own_pictures_goes_on_as_any_run(photos, tmp_path):
    source, folder = tmp_path / "source", tmp_path / "run"
    typed("run", "--images", photos, "--objective", "ae", *SMALL, "--steps", 1, "--no-encode", "--to", source)
    typed("transfer", source, "--images", photos, "--dataset", "mine", "--steps", 2, "--to", folder)
    assert json.loads((folder / "images.json").read_text()) == {"folder": str(photos)}
    typed("resume", folder, "--steps", 3)
    opened = Run.open(folder)
    assert (opened.step, opened.config.dataset, opened.config.start_from) == (3, "mine", str(source))
    assert len(representations.codes(folder).codes) == 40
    with pytest.raises(InvalidInput, match=r"A transfer needs --dataset NAME"):
        typed("transfer", source)


@pytest.mark.parametrize("command", [("run", "--objective", "ae"), ("transfer", "source")])
def test_a_folder_in_place_of_a_dataset_is_told_where_it_belongs(photos, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"the folder .*photos. To train on the pictures in it, use --images photos"):
        typed(*command, "--dataset", photos.name)


def test_own_pictures_are_no_export_with_scores(photos, tmp_path):
    folder = tmp_path / "run"
    typed("run", "--images", photos, "--objective", "ae", *SMALL, "--steps", 1, "--no-encode", "--to", folder)
    with pytest.raises(InvalidInput, match=r"one on your own images, 'photos'. To write only its encoder, omit --to: "):
        typed("export", folder, "--to", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (folder / "codes.npz").exists()
    assert "encoder.onnx" in typed("export", folder)


def test_a_run_keeps_in_mind_its_own_pictures_where_others_are_named(photos, tmp_path):
    folder, others = tmp_path / "run", tmp_path / "others" / "photos"  # two folders of one name
    shutil.copytree(photos, others)
    PIL.Image.new("L", (16, 16)).save(others / "00.png")
    asked = ("--objective", "ae", *SMALL, "--steps", 2, "--to", folder)
    typed("run", "--images", photos, *asked)
    with pytest.raises(InvalidInput, match="expected the pixels and factors that the run began with, received others"):
        typed("run", "--images", others, *asked)
    assert json.loads((folder / "images.json").read_text()) == {"folder": str(photos)}


def test_pictures_without_labels_are_encoded_too(photos, tmp_path):
    (photos / "labels.csv").unlink()
    typed("run", "--images", photos, "--objective", "ae", *SMALL, "--steps", 1, "--to", tmp_path / "run")
    assert representations.codes(tmp_path / "run").factors is None


def test_an_architecture_that_does_not_fit_the_pictures_leaves_the_folder_to_one_that_does(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, image in enumerate(PIXELS[:5]):
        PIL.Image.fromarray(image[:8, :8, 0]).save(folder / f"{number}.png")
    asked = ("run", "--images", folder, "--objective", "ae", "--steps", 1, "--to", tmp_path / "run")
    with pytest.raises(InvalidInput, match="expected height and width that are multiples of 16"):
        typed(*asked)
    assert not (tmp_path / "run").exists()
    typed(*asked, *SMALL)
    assert Run.open(tmp_path / "run").step == 1
