from __future__ import annotations

import shutil
import types

import numpy as np
import PIL.Image
import pytest

from baselines import train
from baselines.outputs import pictures
from baselines.run import Run
from benchmark_data import InvalidInput
from leaderboard import figures


def test_every_picture_is_written(trained, tmp_path):
    run = Run.open(shutil.copytree(trained.folder, tmp_path / "run"))
    paths = pictures.draw_all(run)
    assert [p.name for p in paths] == [*("traversals.png", "traversals.gif", "reconstructions.png", "losses.png")]
    with PIL.Image.open(paths[0]) as picture:
        assert picture.size == (pictures.LABEL + 9 * 66 - 2, pictures.HEAD + 3 * 66 - 2)
    with PIL.Image.open(paths[1]) as picture:
        assert picture.n_frames == 16
        assert picture.size == (2 * 66 - 2, 2 * 66 - 2)  # three latents in two lines
    with PIL.Image.open(paths[2]) as picture:
        # the first image stands to the right of the label
        first = np.asarray(picture)[:64, pictures.LABEL : pictures.LABEL + 64]
        np.testing.assert_array_equal(first, run.dataset.images(run.dataset.quick_rows()[:1])[0])


def test_traversals_begin_with_the_latent_that_says_most(trained, tmp_path, monkeypatch):
    run = Run.open(shutil.copytree(trained.folder, tmp_path / "run"))
    drawn, draw = [], pictures._draw_grid
    monkeypatch.setattr(pictures, "_draw_grid", lambda *args: drawn.append(args) or draw(*args))
    monkeypatch.setattr(pictures, "kl_to_prior", lambda posterior: np.float32([[0.5, 3.0, 1.0]]))
    pictures.traversals(run, row=7)
    (tiles, labels, heads), (frame, _), *_ = drawn
    extent = run.model.objective.traversed
    assert labels == ["z1  KL 3.00", "z2  KL 1.00", "z0  KL 0.50"]
    assert (heads[0], heads[-1]) == (f"{-extent:+.1f}", f"{extent:+.1f}")
    codes = run.encode(run.dataset.images([7])).mean.repeat(3, axis=0)
    codes[[0, 1, 2], [1, 2, 0]] = -extent
    first = np.rint(run.decode(codes) * 255).astype(int)
    assert (first[0] != first[1]).any()
    np.testing.assert_allclose(tiles[:, 0].astype(int), first, atol=1)
    np.testing.assert_array_equal(frame.reshape(4, 64, 64, 3), [*tiles[:, 0], np.zeros_like(tiles[0, 0])])


def test_losses_with_every_term(tiny, tmp_path, monkeypatch):
    settings = {"objective": "annealed_vae", "hyperparameters": {}, "snapshots": []}
    run = train(tiny(**settings), tmp_path / "run")
    drawn = {}
    monkeypatch.setattr(figures, "save", lambda figure, path: drawn.update({path.name: figure}))
    pictures.losses(run)
    panels = drawn["losses.png"].axes
    assert [panel.get_title() for panel in panels] == ["loss", "reconstruction", "kl", "capacity gap"]
    assert panels[2].lines[0].get_ydata().tolist() == [row["kl"] for row in run.history]


def test_losses_that_reach_zero_have_no_logarithm(tmp_path, monkeypatch):
    history = [{"step": 5, "loss": 1.0, "gap": 3.0}, {"step": 9, "loss": 0.5, "gap": 0.0}]
    drawn = []
    monkeypatch.setattr(figures, "save", lambda figure, path: drawn.append(figure))
    pictures.losses(types.SimpleNamespace(history=history, folder=tmp_path))
    assert [panel.get_yscale() for panel in drawn[0].axes] == ["log", "linear"]


def test_one_channel_and_a_deterministic_code(tiny, tmp_path):
    run = train(tiny(dataset="dsprites", objective="ae", hyperparameters={}, steps=0, snapshots=[]), tmp_path / "run")
    assert [p.name for p in pictures.draw_all(run)] == ["traversals.png", "traversals.gif", "reconstructions.png"]
    with pytest.raises(InvalidInput, match="expected a run with a history, received no steps"):
        pictures.losses(run)


def test_labels_stand_beside_the_middle_of_their_line_and_heads_above_that_of_their_column():
    tiles = np.full((2, 3, 20, 30, 1), 255, np.uint8)
    page = np.asarray(pictures._draw_grid(tiles, ["", "xx"], ["", "", "xx"]))
    y, x = np.nonzero(page.min(axis=2) < 128)
    above = y < pictures.HEAD
    assert x[above].mean() == pytest.approx(pictures.LABEL + 2 * (30 + pictures.GAP) + 15, abs=4)
    assert y[~above].mean() == pytest.approx(pictures.HEAD + (20 + pictures.GAP) + 10, abs=4)
    assert x[~above].max() < pictures.LABEL
