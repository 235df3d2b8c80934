import dataclasses

import numpy as np
import pandas as pd
import pytest

import benchmark_data
from benchmark_data import draws
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import Factor, FactorTable
from leaderboard import figures
from leaderboard.analyses import expansiveness


def test_neighbours_on_the_grid():
    dataset = benchmark_data.load("xysquares", spacing=8)
    rows = dataset.space.index([[0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0], [7, 0, 0, 0, 0, 0]])
    images, step = expansiveness.neighbours(dataset, rows, "x_R")
    assert step == pytest.approx(1 / np.arange(8).std())
    places = images[..., 0].any(axis=2).argmax(axis=2) // 8
    assert places.tolist() == [[1, 1], [4, 2], [6, 6]]
    with pytest.raises(UnknownName, match="factor: expected one of"):
        expansiveness.neighbours(dataset, rows, "z")


def test_a_cyclic_factor_goes_round():
    dataset = benchmark_data.load("xysquares", spacing=8)
    factors = tuple(dataclasses.replace(f, kind="cyclic") for f in dataset.space.factors)
    ring = dataclasses.replace(dataset, space=type(dataset.space)(*factors))
    images, _ = expansiveness.neighbours(ring, [0], "x_R")
    assert (images[..., 0].any(axis=2).argmax(axis=2) // 8).tolist() == [[1, 7]]


def test_expansiveness_of_xysquares_by_hand():
    """A move at spacing 8 changes 128 numbers by 1: sqrt(128) over the step. At spacing 1 it changes 16."""
    for spacing, changed in ((8, 128), (1, 16)):
        dataset = benchmark_data.load("xysquares", spacing=spacing)
        moved, step = expansiveness.neighbours(dataset, [0, 99], "y_G")
        found = expansiveness.local_expansiveness(dataset.images([0, 99]), moved, step=step)
        assert found == pytest.approx(np.sqrt(changed) / step)


def test_global_variance_of_a_whole_grid_by_hand():
    """8 places x 64 pixels x 1/8 (1 - 1/8) = 56, and 2 x 64 x 1/4 = 32; either is the noise of the other's means."""
    dataset = benchmark_data.load("xysquares", spacing=8)
    rows = np.concatenate([dataset.space.traverse(0, "x_R"), dataset.space.traverse(1, "x_R")])
    labels = dataset.labels(rows)
    images = dataset.images(rows)
    assert expansiveness.explained_variance(images, labels[:, 0]) == pytest.approx(56 - 7 / 8 * 32)
    assert expansiveness.explained_variance(images, labels[:, 5]) == pytest.approx(32 - 1 / 14 * 56)


def test_debiased_is_near_zero_for_a_factor_that_explains_nothing():
    noise = draws.normal(0, np.arange(600), 50)
    column = np.arange(600) % 40
    assert abs(expansiveness.explained_variance(noise, column)) < 50 * 39 / 600 / 5
    with pytest.raises(InvalidInput, match="factor: expected fewer values than samples, received"):
        expansiveness.explained_variance(noise[:5], np.arange(5))


def test_a_factor_that_is_not_encoded_has_no_latent_of_its_own():
    """Latent 1 is a; latent 0 tells two of the three values of b. c is in none, and must not be given a's low noise."""
    rows = np.array([(a, b, c) for a in range(4) for b in range(3) for c in range(2)])
    mean = np.stack([np.minimum(rows[:, 1], 1), rows[:, 0]], axis=1).astype(float)
    variance = np.broadcast_to([0.09, 0.01], mean.shape)
    table = expansiveness.own_latents(mean, variance, rows, ["a", "b", "c"])
    assert table.latent.tolist() == [1, 0, -1]
    assert table.noise.tolist() == pytest.approx([0.1, 0.3, 1.0])
    # Of b, of entropy ln 3, a latent that joins two of its values knows that of (1/3, 2/3).
    assert table.share.tolist() == pytest.approx([1.0, (np.log(3) - 2 / 3 * np.log(2)) / np.log(3), 0.0], abs=1e-9)
    with pytest.raises(InvalidInput, match="factors: expected at least two values of each factor, received one value"):
        expansiveness.own_latents(mean, variance, rows * [1, 1, 0], ["a", "b", "c"])
    with pytest.raises(InvalidInput, match="names: expected 3, one for each factor, received 1"):
        expansiveness.own_latents(mean, variance, rows, ["a"])


def test_where_no_latent_knows_anything_none_is_the_factor_s_own():
    table = expansiveness.own_latents(np.zeros((4, 2)), np.full((4, 2), 0.04), [[0], [0], [1], [1]], ["a"])
    assert table.values.tolist() == [["a", 0.0, -1, 1.0]]


def test_where_the_ends_of_a_circle_are_one_value_both_neighbours_are_beside_it():
    """Orientations 0 and 39 of dsprites are one angle: up and down from either lead to 1 and 38."""
    base = benchmark_data.load("dsprites")
    shape, scale, places = 0, 5, [16, 16]
    rows = base.space.index([[shape, scale, orientation, *places] for orientation in (0, 39, 1, 38)])
    images, _ = expansiveness.neighbours(base, rows[:2], "orientation")
    for ways in images:
        for way, beside in zip(ways, base.images(rows[2:]), strict=True):
            assert np.array_equal(way, beside)


def test_hidden_in_a_dataset():
    """At spacing 1 a move changes 16 of 12,288 numbers by 1; one of the pattern changes half of all by 2 epsilon."""
    base = benchmark_data.load("xysquares", spacing=1)
    arguments = {"epsilons": [0.0, 0.05], "factors": ["x_R"], "samples": 40}
    table = expansiveness.measure_hidden(base, **arguments)
    found = table.set_index(["quantity", "epsilon", "factor"]).value
    step = expansiveness.unit_step(8)
    assert found["expansiveness", 0.0, "x_R"] == pytest.approx(4 / step)
    assert found["expansiveness", 0.05, "x_R"] == pytest.approx(0.9 * 4 / step, rel=0.02)
    assert found["expansiveness", 0.0, "s"] == found["global_variance", 0.0, "s"] == 0.0
    assert found["expansiveness", 0.05, "s"] == pytest.approx(0.1 * np.sqrt(12288 / 2) / step, rel=0.1)
    assert found["global_variance", 0.05, "s"] == pytest.approx(12288 * 0.05**2, rel=0.15)
    assert table.equals(expansiveness.measure_hidden(base, **arguments))
    with pytest.raises(InvalidInput, match="samples: expected at least 2, received 1"):
        expansiveness.measure_hidden(base, samples=1)
    with pytest.raises(InvalidInput, match="number of epsilons: expected at least 1, received 0"):
        expansiveness.measure_hidden(base, epsilons=[])
    with pytest.raises(InvalidInput, match="factors of xysquares/spacing_1: expected at least one with an order"):
        expansiveness.measure_hidden(base, factors=[])
    with pytest.raises(InvalidInput, match=r"epsilon: expected a number between 0 and 0.5, received 0.7"):
        expansiveness.measure_hidden(base, epsilons=[0.7], factors=["x_R"], samples=2)


def test_hard_input():
    images = np.zeros((4, 2))
    factors = [[0], [1], [0], [1]]
    assert expansiveness.explained_variance(images, factors) == 0.0
    with pytest.raises(InvalidInput, match="step: expected a positive number, received 0"):
        expansiveness.local_expansiveness(images, images[:, None], step=0)
    with pytest.raises(InvalidInput, match=r"moved: expected shape \(4, moves, 2\), received shape \(4, 2\)"):
        expansiveness.local_expansiveness(images, images, step=1)
    with pytest.raises(InvalidInput, match="factors: expected a factor with at least two values"):
        expansiveness.explained_variance(images, [1, 1, 1, 1])
    with pytest.raises(InvalidInput, match="moved: expected finite numbers, received NaN"):
        expansiveness.local_expansiveness(images, np.full((4, 1, 2), np.nan), step=1)
    with pytest.raises(InvalidInput, match="images: expected uint8, or floats"):
        expansiveness.explained_variance(images.astype(int), [0, 1, 0, 1])
    with pytest.raises(InvalidInput, match="size of the factor: expected at least 2"):
        expansiveness.unit_step(Factor("f", [1.0]).size)
    table = FactorTable(Factor("a", (0, 1)), rows=2, read=lambda: np.array([[0], [1]]))
    dataset = dataclasses.replace(benchmark_data.load("xysquares"), space=table)
    with pytest.raises(InvalidInput, match="expected a full grid of factors"):
        expansiveness.neighbours(dataset, [0], "a")


def test_quantities_are_drawn_from_zero_or_from_the_least_if_that_is_below(monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "save", lambda figure, path: drawn.append(figure))
    rows = [("a", q, v, e) for q, low in (("expansiveness", 1), ("noise", -1)) for e, v in ((0, low), (1, 2))]
    expansiveness.draw(pd.DataFrame(rows, columns=["factor", "quantity", "value", "epsilon"]), "a.png")
    assert [panel.get_title()[:4] for panel in drawn[0].axes] == ["(a) ", "(c) "]
    positive, negative = (panel.get_ylim()[0] for panel in drawn[0].axes)
    assert positive == 0
    assert negative < -1


def test_drawing(tmp_path):
    base = benchmark_data.load("xysquares", spacing=1)
    table = expansiveness.measure_hidden(base, epsilons=[0.0, 0.1], factors=["x_R"], samples=20)
    expansiveness.draw(table, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
    with pytest.raises(InvalidInput, match="table: expected one of the quantities"):
        expansiveness.draw(table.assign(quantity="loudness"), tmp_path / "b.png")


def test_images_without_moves_are_refused():
    with pytest.raises(InvalidInput, match=r"moved: expected shape \(4, moves, 2\), received shape \(4, 0, 2\)"):
        expansiveness.local_expansiveness(np.zeros((4, 2)), np.zeros((4, 0, 2)), step=1)
