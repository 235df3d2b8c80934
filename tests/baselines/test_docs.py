"""The page on training says what is so: its Python runs, with fewer steps, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import tensorflow_datasets as tfds

from baselines import Run

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


class MyPhotos(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """A user's own dataset for TensorFlow Datasets, whose images differ in size."""

    name = "my_photos"
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        return tfds.core.DatasetInfo(
            builder=self, features=tfds.features.FeaturesDict({"image": tfds.features.Image()})
        )

    def _split_generators(self, manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for i in range(6):
            yield i, {"image": np.full((40 + i, 30, 3), 40 * i, np.uint8)}


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Photographs of the user, built for TensorFlow Datasets and as files in a folder."""
    MyPhotos(data_dir=tmp_path / "tfds").download_and_prepare()
    load = tfds.load
    monkeypatch.setattr(tfds, "load", lambda name, **options: load(name, data_dir=tmp_path / "tfds", **options))
    (tmp_path / "photos").mkdir()
    for i in range(5):
        PIL.Image.fromarray(np.full((20, 30 + i), 50 * i, np.uint8)).save(tmp_path / "photos" / f"{i}.png")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_every_example_runs(photos, capsys):
    names: dict = {}
    for block in BLOCKS:
        fewer = re.sub(
            r"steps=[\d_]+", "steps=2, batch_size=2, architecture='fc', architecture_parameters={'width': 8}", block
        )
        fewer = fewer.replace('{"gamma": 35}', "{'gamma': 35, 'units': 8}")
        exec(compile(fewer, "training.md", "exec"), names)
    assert sorted(str(path.parent) for path in Path("runs").rglob("run.json")) == [
        "runs/my_photos/beta_vae/seed_0",
        "runs/my_photos/beta_vae/seed_1",
        *(f"runs/together/beta_{beta}/seed_{seed}" for beta in (1, 16, 4) for seed in (0, 1)),
        "runs/watched",
        "runs/xysquares/spacing_8/factor_vae/seed_1",
    ]
    assert re.findall(r"^(\d+) [\d.]+$", capsys.readouterr().out, re.M) == ["1", "2"]
    assert names["pictures"].shape == (3, 64, 64, 3)
    grey = names["mine"].images(range(5))[:, 0, 0]
    np.testing.assert_array_equal(grey, np.repeat(50 * np.arange(5)[:, None], 3, axis=1))
    run = Run.open("runs/my_photos/beta_vae/seed_0")
    assert run.encode(names["mine"].images([0])).mean.shape == (1, 10)
    assert len(BLOCKS) == 6


def test_the_examples_of_ones_own_images_are_short():
    for block in BLOCKS[-2:]:
        assert len([line for line in block.splitlines() if line and "import" not in line]) == 5
