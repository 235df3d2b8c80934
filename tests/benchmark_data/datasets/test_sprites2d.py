"""Outlines of sprites2d; test_dsprites.py compares its images with real ones."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark_data.datasets.sprites2d import outlines


def test_outlines_at_scale_1():
    square, ellipse, heart = outlines()
    assert np.ptp(square, axis=0) == pytest.approx([19.2, 19.2])
    assert np.ptp(ellipse, axis=0) == pytest.approx([2 * 12.768, 2 * 9.6 / 1.33])
    assert np.ptp(heart[:, 0]) == pytest.approx(19.2, abs=0.05)
    assert [len(outline) for outline in (square, ellipse, heart)] == [4, 100, 150]
