import numpy as np
import pytest

import benchmark_data
from benchmark_data import UnknownName
from benchmark_data.datasets.xyobject import PALETTE

PLAIN = benchmark_data.load("xyobject")
SHADED = benchmark_data.load("xyobject", shaded=True)


def test_the_grid_is_that_of_disent():
    assert PLAIN.id == "xyobject/plain"
    assert PLAIN.space.names == ("x", "y", "scale", "color")
    assert PLAIN.space.sizes == (25, 25, 5, 24)
    assert SHADED.space.names == ("x", "y", "scale", "intensity", "color")
    assert SHADED.space.sizes == (25, 25, 5, 4, 6)
    assert len(PLAIN) == len(SHADED) == 75_000


def drawn_one_by_one(x, y, scale, intensity, color):
    """The definition in plain loops: floor division of the shade, centres shared by all sizes."""
    size = 7 + 2 * scale
    margin = (15 - size) // 2
    red, green, blue = [(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1)][color]
    image = np.zeros((64, 64, 3), np.uint8)
    for row in range(2 * y + margin, 2 * y + margin + size):
        for column in range(2 * x + margin, 2 * x + margin + size):
            image[row, column] = [255 * on * (intensity + 1) // 4 for on in (red, green, blue)]
    return image


def test_images_are_the_definition():
    rows = np.random.default_rng(0).integers(0, 75_000, 40)
    expected = np.stack([drawn_one_by_one(*row) for row in SHADED.labels(rows)])
    assert np.array_equal(SHADED.images(rows), expected)


def test_both_configs_show_the_same_images_row_by_row():
    rows = np.arange(0, 75_000, 997)
    assert np.array_equal(PLAIN.images(rows), SHADED.images(rows))
    assert np.array_equal(PLAIN.labels(rows)[:, 3], SHADED.labels(rows)[:, 3] * 6 + SHADED.labels(rows)[:, 4])


def test_mean_is_the_published_one():
    # disent publishes .0098188 for the whole dataset. The mean does not depend on the place, so one place is the whole.
    assert PLAIN.images(np.arange(5 * 24)).mean() / 255 == pytest.approx(0.0098188, abs=5e-8)
    rows = np.random.default_rng(0).integers(0, 75_000, 200)
    lit = PLAIN.images(rows).any(-1).sum((1, 2))
    assert np.array_equal(lit, PLAIN.values(rows)[:, 2] ** 2)


def test_palette_is_shade_by_shade():
    assert PALETTE[:, 0, 0].tolist() == [63, 127, 191, 255]
    assert PLAIN.space.factors[3].labels[:7] == (
        "red_1",
        "yellow_1",
        "green_1",
        "cyan_1",
        "blue_1",
        "magenta_1",
        "red_2",
    )


def test_an_unknown_parameter_is_refused():
    with pytest.raises(UnknownName, match="parameter of xyobject: expected one of shaded, received 'shade'"):
        benchmark_data.load("xyobject", shade=True)


def test_contact_sheet(golden_sheet):
    golden_sheet(PLAIN, "xyobject")
