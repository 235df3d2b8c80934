"""Runs on one's own images: trained, stopped, opened and refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from baselines import RunConfig, train
from baselines.outputs import pictures
from baselines.run import Run, Snapshots, default_folder
from benchmark_data import DamagedFile, InvalidInput, UnknownName, from_images

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
        InvalidInput, match=r"dataset of .*: expected the images called 'mine', received none. Give them"
    ):
        opened.encode_rows([0])
    np.testing.assert_array_equal(run.encode_rows([0, 1]), opened.encode(PIXELS[:2]).mean)


def test_it_goes_on_with_the_same_images_only(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    Snapshots(folder).remove(4)
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        train(config(), folder, dataset=from_images("mine", PIXELS[::-1]))
    again = train(config(), folder, dataset=MINE)
    for name in ("weights.npz", "optimiser.npz"):
        file = f"snapshots/step_00000004/{name}"
        assert (again.folder / file).read_bytes() == (run.folder / file).read_bytes()


def test_the_dataset_is_the_configs(tmp_path):
    with pytest.raises(InvalidInput, match="dataset: expected the config's, 'yours', received 'mine'"):
        train(config(dataset="yours"), tmp_path / "run", dataset=MINE)
    with pytest.raises(UnknownName, match="dataset: expected one of"):
        train(config(), tmp_path / "run")
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


def test_pictures_need_the_images_and_codes_a_task(run, tmp_path):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    assert pictures.draw_all(Run.open(folder, dataset=MINE))
    with pytest.raises(InvalidInput, match=r"codes for the leaderboard: expected .*, received 'mine'. Encode other"):
        Run.open(folder, dataset=MINE).encode_task()
    with pytest.raises(InvalidInput, match="expected the images called 'mine', received none"):
        pictures.draw_all(Run.open(folder))


@pytest.mark.parametrize("shape", [None, [16, 16], "16"])
def test_a_record_without_a_shape_is_named(run, tmp_path, shape):
    folder = shutil.copytree(run.folder, tmp_path / "run")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"image_shape": shape}))
    with pytest.raises(DamagedFile, match=r"run.json: expected a run's record with image_shape, received"):
        Run.open(folder).encode(PIXELS[:1])
