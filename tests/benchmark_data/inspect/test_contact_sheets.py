"""Pictures of datasets: their pixels are the dataset's pixels, and small golden files hold their looks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import benchmark_data
from benchmark_data import Factor, FactorTable, InvalidInput, Rendered, draws
from benchmark_data.inspect import contact_sheets

GOLDEN = Path(__file__).parents[2] / "golden"


def tile(picture, left, top, size=64):
    return np.asarray(picture)[top : top + size, left : left + size]


@pytest.mark.parametrize("name", ["xysquares", "dsprites", "dsprites_spaced"])
def test_golden_contact_sheet(name, request):
    picture = contact_sheets.contact_sheet(benchmark_data.load(name), rows=2, columns=4)
    path = GOLDEN / f"contact_sheet_{name}.png"
    if request.config.getoption("--update-golden"):
        picture.quantize(16).save(path, optimize=True)
    with Image.open(path) as golden:
        assert np.array_equal(np.asarray(golden.convert("RGB")), np.asarray(picture)), (
            f"{path.name} differs: look at it"
        )


def test_contact_sheet_shows_different_rows_of_the_dataset():
    dataset = benchmark_data.load("xysquares/spacing_2")
    picture = contact_sheets.contact_sheet(dataset, rows=2, columns=3, seed=9)
    expected = dataset.images(draws.permutation(9, len(dataset))[:6])
    found = [tile(picture, 4 + column * 68, 4 + row * 68) for row in range(2) for column in range(3)]
    assert np.array_equal(np.stack(found), expected)
    other = contact_sheets.contact_sheet(dataset, rows=2, columns=3, seed=10)
    assert np.asarray(other).shape == np.asarray(picture).shape
    assert (np.asarray(other) != np.asarray(picture)).any()


def test_traversals_show_every_value_of_a_small_factor():
    dataset = benchmark_data.load("dsprites")
    row = 123_456
    picture = contact_sheets.traversals(dataset, row=row, columns=6)
    width = picture.width - 6 * 68
    for line, factor in enumerate(("shape", "scale")):
        expected = dataset.images(dataset.space.traverse(row, factor))
        found = [tile(picture, width + column * 68, 4 + line * 84) for column in range(len(expected))]
        assert np.array_equal(np.stack(found)[..., :1], expected)


def test_traversals_end_with_the_last_value():
    dataset = benchmark_data.load("dsprites")
    picture = contact_sheets.traversals(dataset, row=7, columns=4)
    last = dataset.images(dataset.space.traverse(7, "posY")[-1:])[0]
    assert np.array_equal(tile(picture, picture.width - 68, 4 + 4 * 84)[..., :1], last)


def labelled(values, channels=1, size=8):
    """A table whose images are filled with ten times their label; label 2 never occurs."""
    table = np.array([[0], [1], [3], [0], [1]])
    return dataclasses.replace(
        benchmark_data.load("xysquares"),
        name="toy",
        config="",
        space=FactorTable(
            Factor("kind", range(values), "categorical", labels=("a", "bee", "c", "dromedaries and camels")),
            rows=5,
            read=lambda: table,
        ),
        source=Rendered(
            lambda labels: np.broadcast_to(10 * labels[:, :, None, None], (len(labels), size, size, channels)).astype(
                "u1"
            )
        ),
        image_shape=(size, size, channels),
        splits={},
    )


def test_tables_show_one_image_for_each_value_that_occurs():
    picture = contact_sheets.traversals(labelled(4))
    assert [tile(picture, picture.width - 68 * (3 - i), 4)[0, 0, 0] for i in range(3)] == [0, 10, 30]


def test_columns_are_spread_over_the_values_that_occur():
    """Four rows of two of 100 values: evenly over all of them, neither was met, and there was nothing to show."""
    space = FactorTable(Factor("age", range(100)), rows=4, read=lambda: np.array([[50], [52], [50], [52]]))
    assert contact_sheets.traversals(dataclasses.replace(labelled(4), space=space)).width > 2 * 64


def test_columns_are_spread_over_the_values_that_the_shown_rows_have():
    """Sixty of 100 values in rows that agree, none of them among ten spread evenly over all."""
    spread = np.linspace(0, 99, 10).round().astype(int)
    values = np.concatenate([np.setdiff1d(np.arange(100), spread)[:60], np.arange(100)])
    labels = {"x": values, "y": (np.arange(160) >= 60).astype(int)}
    pixels = np.broadcast_to(values[:, None, None, None], (160, 64, 64, 1)).astype("u1")
    picture = contact_sheets.traversals(benchmark_data.from_images("mine", pixels, labels), row=0)
    shown = [tile(picture, picture.width - 68 * (10 - place), 4)[0, 0, 0] for place in range(10)]
    assert shown == values[:60][np.linspace(0, 59, 10).round().astype(int)].tolist()


@pytest.mark.parametrize("kept", [12, 11])
def test_a_table_of_every_combination_holds_the_other_factors_fixed(kept):
    """Levels 60 a + 10 b, as a folder and its CSV file give them: a grid written row by row, and all of it but one."""
    a, b = np.divmod(np.arange(12)[:kept], 4)
    pixels = np.broadcast_to((60 * a + 10 * b)[:, None, None, None], (kept, 64, 64, 1)).astype("u1")
    picture = contact_sheets.traversals(benchmark_data.from_images("mine", pixels, {"a": a, "b": b}), row=1)
    left = picture.width - 4 * 68
    assert [tile(picture, left + 68 * place, 4)[0, 0, 0] for place in range(3)] == [10, 70, 130]
    assert [tile(picture, left + 68 * place, 4 + 84)[0, 0, 0] for place in range(4)] == [0, 10, 20, 30]


def test_small_images_are_enlarged_and_two_channels_stand_side_by_side():
    picture = contact_sheets.contact_sheet(labelled(4, channels=2), rows=1, columns=5)
    assert picture.size == (5 * (128 + 4) + 4, 64 + 8)


def test_flat_images_are_enlarged_by_their_longer_side():
    flat = benchmark_data.from_images("flat", np.zeros((5, 2, 100, 1), np.uint8))
    assert contact_sheets.contact_sheet(flat, rows=1, columns=5).size == (5 * (100 + 4) + 4, 2 + 8)


def test_a_small_dataset_fills_what_it_can():
    assert contact_sheets.contact_sheet(labelled(4), rows=4, columns=8).size == (5 * 68 + 4, 72)


def test_sheet_holds_both():
    dataset = benchmark_data.load("dsprites")
    whole = contact_sheets.sheet(dataset)
    below = np.asarray(contact_sheets.traversals(dataset))
    assert np.array_equal(np.asarray(whole)[-16 - len(below) : -16, : below.shape[1]], below)


def test_images_without_factors_have_a_sheet_and_no_traversals():
    data = benchmark_data.from_images("mine", np.zeros((5, 8, 8, 1), np.uint8))
    assert contact_sheets.sheet(data).height > contact_sheets.contact_sheet(data, rows=3, columns=11).height
    with pytest.raises(InvalidInput, match="traversals of mine: expected a dataset with factors, received none"):
        contact_sheets.traversals(data)


def test_bad_input():
    dataset = benchmark_data.load("xysquares")
    with pytest.raises(InvalidInput, match=r"expected a Dataset, as from benchmark_data.load\(name\), received 'xy"):
        contact_sheets.traversals("xysquares")
    with pytest.raises(InvalidInput, match="rows of a sheet: expected at least 1, received 0"):
        contact_sheets.contact_sheet(dataset, rows=0)
    with pytest.raises(InvalidInput, match="columns of a sheet: expected at least 1, received -1"):
        contact_sheets.contact_sheet(dataset, columns=-1)
    with pytest.raises(InvalidInput, match="columns of a traversal: expected at least 2, received 1"):
        contact_sheets.traversals(dataset, columns=1)
    with pytest.raises(InvalidInput, match=r"rows of xysquares/spacing_8: expected rows in \[0, 262143\]"):
        contact_sheets.traversals(dataset, row=262_144)


def test_a_factor_of_two_values_shows_both_outside_a_grid():
    """Twelve answers of yes or no: hardly two rows agree in eleven of them."""
    answers = np.random.default_rng(0).integers(0, 2, (40, 12))
    images = np.zeros((40, 8, 8, 1), np.uint8)
    mine = benchmark_data.from_images("mine", images, {f"q{i}": column for i, column in enumerate(answers.T)})
    values, rows = contact_sheets._find_example_rows(mine, "q3", 0, np.arange(40), mine.labels(np.arange(40)))
    assert values.tolist() == [0, 1]
    assert answers[rows, 3].tolist() == [0, 1]


def test_captions_of_large_numbers_tell_them_apart():
    factor = Factor("year", (0.12345, 1991, 1992, 2003.5))
    font = contact_sheets.ImageFont.load_default(contact_sheets.TEXT)
    captions = [contact_sheets._caption(factor, value, 64, font) for value in range(4)]
    assert captions == ["0.123", "1991", "1992", "2003.5"]
