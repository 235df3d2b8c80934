"""The page of recipes runs as it stands, and gives what it says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import benchmark_data

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text("utf-8")
SECTIONS = {part.partition("\n")[0]: re.findall(r"```python\n(.*?)```", part, re.S) for part in PAGE.split("\n## ")[1:]}


def run(names, *sections):
    for section in sections:
        assert SECTIONS[section], section
        for block in SECTIONS[section]:
            exec(compile(block, f"recipes.md: {section}", "exec"), names)
    return names


NUMPY = ("numpy, one line each", "Combinations and values that training never sees")


def test_numpy(capsys):
    names = run({}, *NUMPY)
    data = names["data"]
    assert (len(names["train"]), len(names["test"])) == (663_552, 73_728)
    assert names["images"].shape == (64, 64, 64, 1)
    assert names["shape_and_size"].shape == (64, 2)
    assert (names["scaled"].min(), names["scaled"].max()) == (0, 1)
    assert names["values"].max() <= 2 * np.pi
    changed = data.labels(names["one"]) != data.labels(names["other"])
    assert (changed.sum(axis=1) == 2).all()
    assert names["traversal"].shape == (32, 64, 64, 1)
    assert not np.array_equal(names["first"], names["second"])
    np.testing.assert_array_equal(names["unseen"], names["also_unseen"])
    assert names["weights"].shape == (737_280,)
    x, y = data.labels(names["together"].train, ["posX", "posY"]).T
    assert np.corrcoef(x, y)[0, 1] > 0.9
    out = capsys.readouterr().out
    assert f"73728 to test on> {benchmark_data.split('dsprites').digests['test'][:16]}" in out


def test_images_of_dsprites_that_are_tested_and_trained_on():
    """Counted by a hash of the pixels of every image."""
    dsprites = benchmark_data.load("dsprites")
    hashes = np.empty(len(dsprites), np.int64)
    for rows, images in dsprites.batches(np.arange(len(dsprites)), batch_size=4096):
        bits = np.packbits(images.reshape(len(rows), -1) > 0, axis=1)
        hashes[rows] = [hash(image.tobytes()) for image in bits]
    assert f"{len(np.unique(hashes)):,} of all sprites are different" in " ".join(dsprites.defects)
    orientations = dsprites.labels(np.arange(len(dsprites)), ["orientation"]).ravel()
    others = hashes[orientations != 39]
    assert f"{len(others) - len(np.unique(others)):,} sprites still repeat another" in " ".join(dsprites.defects)
    found = {}
    for rule in ("holdout", "composition", "random", "extrapolation", "interpolation"):
        split = benchmark_data.split(dsprites, rule)
        found[rule] = int(np.isin(hashes[split.test], hashes[split.train]).sum())
    shown = dict(re.findall(r"([\d,]+) under\s`(\w+)`", PAGE))
    assert {rule: f"{count:,}" for rule, count in found.items()} == {rule: count for count, rule in shown.items()}


def test_every_line_of_the_first_recipe_is_one_line():
    """A title is what the reader takes it for: each thing takes one line, an image pair two."""
    lines = [line for line in SECTIONS[NUMPY[0]][0].splitlines() if line and "import" not in line]
    assert len(lines) == 9


def test_tensorflow_datasets():
    tfds = pytest.importorskip("tensorflow_datasets")
    names = run({}, "TensorFlow Datasets")
    assert names["record"]["extra_row"] == benchmark_data.split("xyobject", "composition").test[0]
    assert len(next(iter(names["chosen"]))) == 3
    assert all(record["label_scale"] == 4 for record in tfds.as_numpy(names["one_scale"].take(3)))
    positions = names["positions"]
    assert positions["image"].shape == (256, 64, 64, 1)
    assert np.corrcoef(positions["label_posX"], positions["label_posY"])[0, 1] > 0.9


def test_hugging_face(capsys):
    pytest.importorskip("datasets")
    names = run({}, "Hugging Face")
    assert names["row"]["extra_row"] == benchmark_data.split("xyobject", "composition").test[0]
    assert set(next(iter(names["few"]))) == {"image", "label_x", "label_y"}
    assert 0 <= next(iter(names["scaled"]))["x"] <= 1
    assert np.corrcoef(names["positions"]["label_posX"], names["positions"]["label_posY"])[0, 1] > 0.9
    assert "(64, 64, 3)" in capsys.readouterr().out


def test_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    names = run({"torch": torch}, *NUMPY, "PyTorch")
    assert names["batch"].shape == (64, 1, 64, 64)
    assert names["targets"].shape == (64, 2)
    assert names["batch"].max() == 1
    x, y = names["positions"].T.numpy()
    assert np.corrcoef(x, y)[0, 1] > 0.8
