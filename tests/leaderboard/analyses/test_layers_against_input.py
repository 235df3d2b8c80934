import numpy as np
import pandas as pd
import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.analyses import layers_against_input
from leaderboard.comparisons import cka, procrustes


def model(seed, n=30):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n, 4, 4, 1))
    hidden = images.reshape(n, 16) @ rng.normal(size=(16, 8))
    return images, {"encoder_1": hidden.reshape(n, 2, 2, 2), "encoder_2": np.tanh(hidden[:, :3])}


def test_each_layer_is_compared_with_the_flattened_input():
    images, layers = model(0)
    table = layers_against_input.measure(layers, images, similarities=("CKA", "Procrustes"))
    assert table.layer.tolist() == ["encoder_1", "encoder_1", "encoder_2", "encoder_2"]
    pixels = images.reshape(30, -1)
    first = layers["encoder_1"].reshape(30, -1)
    assert table.similarity[0] == pytest.approx(cka.compare(pixels, first))
    assert table.similarity[1] == pytest.approx(procrustes.compare(pixels, first))


def test_hard_input():
    images, layers = model(0)
    assert layers_against_input.measure({"dead": np.zeros((30, 5))}, images).similarity.item() == 0.0
    with pytest.raises(InvalidInput, match="layers: expected at least one"):
        layers_against_input.measure({}, images)
    with pytest.raises(InvalidInput, match="similarities: expected some of"):
        layers_against_input.measure(layers, images, similarities=("cka",))
    with pytest.raises(InvalidInput, match=r"encoder_1: expected an array \(samples, ...\), received shape \(30,\)"):
        layers_against_input.measure({"encoder_1": np.zeros(30)}, images)
    with pytest.raises(InvalidInput, match="expected 30 rows"):
        layers_against_input.measure({"encoder_1": np.zeros((20, 4))}, images)
    with pytest.raises(InvalidInput, match="encoder_1: expected finite numbers"):
        layers_against_input.measure({"encoder_1": np.full((30, 4), np.inf)}, images)


def test_no_similarity_is_refused():
    images, layers = model(0)
    with pytest.raises(InvalidInput, match=r"similarities: expected some of CKA, .*, received \[\]"):
        layers_against_input.measure(layers, images, similarities=())


def test_drawing_over_layers_and_over_time(tmp_path):
    tables = []
    for seed in range(2):
        images, layers = model(seed)
        tables.append(layers_against_input.measure(layers, images).assign(seed=seed, group="β = 1", step=0))
    table = pd.concat(tables)
    layers_against_input.draw(table, tmp_path / "layers.png")
    layers_against_input.draw(pd.concat([table, table.assign(step=100)]), tmp_path / "steps.png")
    assert (tmp_path / "layers.png").read_bytes() != (tmp_path / "steps.png").read_bytes()
