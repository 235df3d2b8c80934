import numpy as np
import pytest
from PIL import Image

from benchmark_data.errors import InvalidInput
from leaderboard.analyses import traversals


def grid(channels=1):
    images = np.zeros((3, 4, 8, 8, channels))
    images[1] = np.linspace(0, 1, 4)[:, None, None, None]
    return images


def test_change_along_each_latent():
    table = traversals.measure(grid())
    assert table.change.tolist() == [0.0, 1.0, 0.0]
    assert table.path.tolist() == pytest.approx([0.0, 3 * (1 / 3) ** 2, 0.0])
    assert traversals.measure((grid() * 255).astype(np.uint8)).change.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("channels", [1, 3])
def test_the_picture_has_a_row_per_latent(tmp_path, channels):
    path = tmp_path / "a.png"
    traversals.draw(grid(channels), path, names=["a", "b", "c"], values=[-2, -1, 1, 2])
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("L")).astype(float)
    # The middle row brightens to the right; the others stay black.
    height, width = pixels.shape
    middle = pixels[int(0.55 * height), int(0.2 * width) : int(0.95 * width)]
    assert middle[-10:].mean() > 200 > middle[:10].mean()
    assert pixels[int(0.85 * height), int(0.9 * width)] == 0


def test_hard_input(tmp_path):
    with pytest.raises(InvalidInput, match=r"images: expected shape \(rows, columns, H, W, C\)"):
        traversals.measure(np.zeros((4, 8, 8, 1)))
    with pytest.raises(
        InvalidInput, match=r"expected uint8, or floats in \[0, 1\], received float64 in \[0, 3\].*sigmoid"
    ):
        traversals.measure(grid() * 3)
    with pytest.raises(InvalidInput, match=r"expected uint8, or floats in \[0, 1\], received float64 in \[-1, 1\]"):
        traversals.measure(2 * grid() - 1)
    with pytest.raises(InvalidInput, match="images: expected finite numbers"):
        traversals.measure(grid() * np.nan)
    with pytest.raises(InvalidInput, match="names: expected 3, received 1"):
        traversals.draw(grid(), tmp_path / "a.png", names=["a"])
    with pytest.raises(InvalidInput, match="values: expected 4, received 2"):
        traversals.draw(grid(), tmp_path / "a.png", values=[0, 1])
