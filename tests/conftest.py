"""What several test modules share: golden files, compared or, with ``--update-golden``, rewritten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmark_data import draws

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing")
    parser.addoption("--kills", type=int, default=4, help="how often the run of test_resume.py is killed")


@pytest.fixture
def golden_sheet(request):
    """Compare 4 x 8 fixed images of a dataset, chosen by the counter-based generator, with a PNG pixel by pixel."""

    def check(dataset, name):
        rows = draws.permutation(1, len(dataset))[:32]
        height, width, channels = dataset.image_shape
        grid = dataset.images(rows).reshape(4, 8, height, width, channels).swapaxes(1, 2)
        sheet = grid.reshape(4 * height, 8 * width, channels).squeeze()
        path = GOLDEN / f"{name}.png"
        if request.config.getoption("--update-golden"):
            Image.fromarray(sheet).save(path, optimize=True)
        with Image.open(path) as picture:
            assert np.array_equal(np.asarray(picture), sheet), f"{path.name} differs: look at it before updating it"

    return check
