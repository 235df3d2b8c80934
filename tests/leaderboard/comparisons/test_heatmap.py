from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from PIL import Image

from benchmark_data import InvalidInput, MissingExtra
from leaderboard.comparisons import _products, cka, heatmap, procrustes
from leaderboard.store import intervals


def layers(seed, n=40):
    rng = np.random.default_rng(seed)
    x = np.random.default_rng(9).normal(size=(n, 60)).astype(np.float32)
    hidden = np.tanh(x @ rng.normal(size=(60, 80)) / 8).astype(np.float32)
    return {"input": x, "encoder/1": hidden, "encoder/z_mean": hidden[:, :5] + 1, "dead": np.ones((n, 3), np.float32)}


@pytest.mark.parametrize(
    ("similarity", "compare"),
    [
        ("cka", cka.compare),
        ("cka_debiased", lambda x, y: cka.compare(x, y, debiased=True)),
        ("procrustes", procrustes.compare),
        ("smaller", lambda x, y: min(cka.compare(x, y), procrustes.compare(x, y))),
    ],
)
def test_every_cell_is_the_comparison_of_its_pair(similarity, compare):
    x, y = layers(0), layers(1)
    frame = heatmap.compare_layers(x, y, similarity=similarity)
    assert list(frame.index) == list(x)
    assert list(frame.columns) == list(y)
    for a in x:
        for b in y:
            assert frame.loc[a, b] == pytest.approx(compare(x[a], y[b]), abs=1e-5)


def test_layers_that_cannot_be_compared():
    with pytest.raises(InvalidInput, match="expected at least one layer on each side, received 4 and 0"):
        heatmap.compare_layers(layers(0), {})
    with pytest.raises(InvalidInput, match="activations: expected layers by name"):
        heatmap.compare_layers([np.eye(4)], [np.eye(4)])
    with pytest.raises(InvalidInput, match=r"similarity: expected 'cka' or .*'smaller', received 'svcca'"):
        heatmap.compare_layers(layers(0), layers(1), similarity="svcca")


def wide_layers(seed, n=300):
    """Rectified layers far from zero, some wider than the sample, as conv activations are."""
    rng = np.random.default_rng(seed)
    x = np.random.default_rng(9).normal(size=(n, 20))
    weights = [rng.normal(size=(20, p)) for p in (700, 40, 1, 400)]
    return {f"layer {i}": np.maximum(x @ w + 4, 0).astype(np.float32) for i, w in enumerate(weights)}


@pytest.mark.parametrize("memory", [0.008, 0.5])
@pytest.mark.parametrize("debiased", [False, True])
def test_tiles_of_any_size_give_the_direct_values(memory, debiased):
    x, y = wide_layers(0), wide_layers(1)
    frame = heatmap.compare_layers(x, y, similarity="cka_debiased" if debiased else "cka", memory=memory)
    direct = [[cka.compare(a, b, debiased=debiased) for b in y.values()] for a in x.values()]
    np.testing.assert_allclose(frame, direct, atol=1e-6)


@pytest.mark.parametrize("scale", [np.float32(1e-30), np.float32(1), np.float32(1e30), 1e-100])
def test_any_scale_gives_the_same_heatmap(scale):
    x, y = wide_layers(0), wide_layers(1)
    scaled = {name: array.astype(type(scale)) * scale for name, array in x.items()}
    np.testing.assert_allclose(heatmap.compare_layers(scaled, y), heatmap.compare_layers(x, y), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_layer_of_zeros_is_like_none(dtype):
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(dtype)
    frame = heatmap.compare_layers({"zeros": np.zeros((8, 2), dtype)}, {"x": x, "zeros": np.zeros((8, 4), dtype)})
    assert frame.to_numpy().tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("debiased", [False, True])
def test_a_spread_of_a_few_roundings_of_the_mean_is_centred(dtype, debiased):
    z = np.abs(np.random.default_rng(0).normal(size=(400, 10))).astype(dtype)
    variance = (1 - np.finfo(dtype).eps * z).astype(dtype)
    similarity = "cka_debiased" if debiased else "cka"
    found = heatmap.compare_layers({"variance": variance}, {"z": z}, similarity=similarity).iloc[0, 0]
    assert found == pytest.approx(cka.compare(variance, z, debiased=debiased), abs=1e-6)


@pytest.mark.parametrize("memory", [1e-6, 4.1e-3])  # less than one row needs; less than 64 rows do
def test_too_little_memory_is_named(memory):
    with pytest.raises(InvalidInput, match=rf"memory: expected at least 0\.00 GiB, received {memory:g}"):
        heatmap.compare_layers(wide_layers(0), wide_layers(1), memory=memory)


def test_wide_layers_narrow_to_the_same_procrustes_similarity():
    x, y = wide_layers(0), wide_layers(1)
    frame = heatmap.compare_layers(x, y, similarity="procrustes")
    for a in x:
        for b in y:
            u, v = ((z - z.mean(0)) / np.linalg.norm(z - z.mean(0)) for z in (x[a].astype(float), y[b].astype(float)))
            assert frame.loc[a, b] == pytest.approx(np.linalg.norm(v.T @ u, "nuc"), abs=1e-5)


def decaying_layers(seed, n=300):
    """Layers that a few directions hold, as those of trained models, one with a long tail of others."""
    rng = np.random.default_rng(seed)
    x = np.random.default_rng(9).normal(size=(n, 200)) / np.arange(1, 201)
    own = {f"decay {power}": x * np.arange(1, 201) ** power for power in (-1.0, 0.0, 0.8)}
    return {name: layer @ rng.normal(size=(200, 250)) / 15 for name, layer in own.items()}


def test_a_pair_whose_lower_bound_is_no_less_than_cka_is_not_compared(monkeypatch):
    x, y = decaying_layers(0), decaying_layers(1)
    by_cka, by_procrustes = (heatmap.compare_layers(x, y, similarity=name) for name in ("cka", "procrustes"))
    compared = []
    whole = procrustes.similarity

    def counted(a, b):
        compared.append(max(a.shape[1], b.shape[1]) > 128)
        return whole(a, b)

    monkeypatch.setattr(procrustes, "similarity", counted)
    frame = heatmap.compare_layers(x, y, similarity="smaller")
    pd.testing.assert_frame_equal(frame, np.minimum(by_cka, by_procrustes), atol=1e-5)
    assert 0 < sum(compared) < frame.size
    assert 0 < (by_procrustes < by_cka).to_numpy().sum() <= sum(compared)


def test_layers_of_other_samples_are_refused():
    with pytest.raises(InvalidInput, match="input: expected 40 rows, as in the first layer, received 30"):
        heatmap.compare_layers(layers(0), layers(1, n=30))
    with pytest.raises(InvalidInput, match="activations: expected at least 4 samples, received 3"):
        heatmap.compare_layers(layers(0, n=3), layers(1, n=3), similarity="cka_debiased")
    x = {"x": np.eye(3)}
    for similarity in ("cka", "procrustes", "smaller"):
        assert heatmap.compare_layers(x, x, similarity=similarity).loc["x", "x"] == pytest.approx(1)


def test_layers_whose_first_row_is_the_same_are_different_layers():
    x = np.random.default_rng(0).normal(size=(50, 4))
    y = np.vstack([x[:1], np.random.default_rng(1).normal(size=(49, 4))])
    found = heatmap.compare_layers({"x": x}, {"x": x, "y": y}).loc["x"]
    assert found["x"] == pytest.approx(1)
    assert found["y"] == pytest.approx(cka.compare(x, y))


def test_runs_are_averaged_seed_by_seed():
    pairs = [(layers(seed), layers(seed + 10)) for seed in range(3)]
    expected = np.mean([heatmap.compare_layers(x, y) for x, y in pairs], axis=0)
    frame, half = heatmap.compare_runs(pair for pair in pairs)
    np.testing.assert_allclose(frame, expected)
    assert list(frame.index) == list(half.index) == list(pairs[0][0])
    with pytest.raises(
        InvalidInput, match=r"pair 1: expected the layers of pair 0: input, .*, received input and input"
    ):
        heatmap.compare_runs([pairs[0], ({"input": np.eye(4)}, {"input": np.eye(4)})])
    with pytest.raises(InvalidInput, match="pairs: expected at least one, received none"):
        heatmap.compare_runs([])


def test_intervals_over_seeds_are_students_and_stand_in_the_picture(tmp_path):
    pairs = [(layers(seed), layers(seed + 10)) for seed in range(4)]
    frame, half = heatmap.compare_runs(pairs)
    seeds = [heatmap.compare_layers(x, y).iloc[1, 2] for x, y in pairs]
    low, high = scipy.stats.t.interval(0.95, 3, loc=np.mean(seeds), scale=scipy.stats.sem(seeds))
    assert (frame - half).iloc[1, 2] == pytest.approx(low)
    assert (frame + half).iloc[1, 2] == pytest.approx(high)
    assert heatmap.SEEDS == intervals.SEEDS
    for few in (2, 3):
        assert heatmap.compare_runs(pairs[:few]).half_width.isna().all(axis=None)
    one, none = heatmap.compare_runs(pairs[:1])
    assert none.isna().all(axis=None)
    for name, shown in (("without", None), ("with", half), ("of_one", none)):
        heatmap.draw(one if shown is none else frame, tmp_path / f"{name}.png", half_width=shown)
    heatmap.draw(one, tmp_path / "one.png")
    read = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    assert read["with"] != read["without"]
    assert read["of_one"] == read["one"]
    with pytest.raises(InvalidInput, match="half_width: expected that of one table, received 2 tables"):
        heatmap.draw({"a": frame, "b": frame}, tmp_path / "two.png", half_width=half)
    with pytest.raises(InvalidInput, match="half_width: expected that of one table, received 1 tables and shape"):
        heatmap.draw(frame, tmp_path / "two.png", half_width=half.iloc[1:])


def test_a_heatmap_is_a_png_with_the_input_at_the_top_left(tmp_path):
    frame = heatmap.compare_layers(layers(0), layers(0))
    heatmap.draw(frame, tmp_path / "h.png", x_name="epoch 2", y_name="epoch 26")
    with Image.open(tmp_path / "h.png") as picture:
        pixels = np.asarray(picture.convert("L"), dtype=int)
    assert min(pixels.shape) > 200
    assert pixels.min() < 20
    assert list(tmp_path.iterdir()) == [tmp_path / "h.png"]


def test_several_tables_stand_beside_each_other(tmp_path):
    frame = heatmap.compare_layers(layers(0), layers(1))
    heatmap.draw(frame, tmp_path / "one.png")
    heatmap.draw({"epoch 2": frame, "epoch 26": frame, "epoch 100": frame}, tmp_path / "three.png")
    heatmap.draw({f"epoch {number}": frame for number in range(5)}, tmp_path / "five.png")
    with Image.open(tmp_path / "one.png") as one, Image.open(tmp_path / "three.png") as three:
        assert 2 * one.width < three.width < 4 * one.width
        assert three.height < 1.3 * one.height
        with Image.open(tmp_path / "five.png") as five:
            assert five.width == three.width, "three in a row, however many there are"
            assert five.height > 1.7 * one.height
    with pytest.raises(InvalidInput, match="tables: expected at least one, received none"):
        heatmap.draw({}, tmp_path / "none.png")


def test_drawing_without_matplotlib_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"drawing: expected the package matplotlib.*offaxis\[board\]"):
        heatmap.draw(heatmap.compare_layers(layers(0), layers(0)), tmp_path / "h.png")


def test_tiles_wider_than_a_strip_are_multiplied_whole_and_in_float64(monkeypatch):
    """1 + 2**-24 is 1 in float32; strips of two numbers, the last of one."""
    monkeypatch.setattr(_products, "_STRIP_WIDTH", 2)
    tiles = np.float32([[1, 2**-12, 1, 0, 3], [1, 1, 1, 1, 1]])
    assert _products.products(tiles).tolist() == [[11 + 2**-24, 5 + 2**-12], [5 + 2**-12, 5]]
