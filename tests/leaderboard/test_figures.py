import sys

import numpy as np
import pandas as pd
import pytest

from benchmark_data.errors import InvalidInput, MissingExtra
from leaderboard import figures


def test_a_figure_is_written_whole(tmp_path):
    figure, axes = figures.panels(1, 1)
    frame = pd.DataFrame({"x": [1, 1, 2, 2], "y": [0.0, 1.0, 2.0, 2.0]})
    figures.curve(axes[0, 0], frame, "x", "y", style=0, label="a")
    line, band = axes[0, 0].get_lines()[0], axes[0, 0].collections
    assert line.get_ydata().tolist() == [0.5, 2.0]
    assert len(band) == 1
    assert band[0].get_paths()[0].vertices[:, 1].max() == 2.0
    assert band[0].get_paths()[0].vertices[:, 1].min() == 0.5 - 0.5**0.5  # of two values, with n - 1 as in bars
    figures.save(figure, tmp_path / "new" / "a.png")
    assert (tmp_path / "new" / "a.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.png"]


def test_one_value_has_no_band():
    _, axes = figures.panels(1, 1)
    figures.curve(axes[0, 0], pd.DataFrame({"x": [1, 2], "y": [0.0, 1.0]}), "x", "y", style=3)
    assert len(axes[0, 0].collections) == 0


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"drawing: expected the package matplotlib.*offaxis\[board\]"):
        figures.panels(1, 1)


def test_tables_that_cannot_be_drawn():
    with pytest.raises(InvalidInput, match="table: expected the columns b, received a"):
        figures.check_columns(pd.DataFrame({"a": [1]}), ["a", "b"])
    with pytest.raises(InvalidInput, match="table: expected at least one row"):
        figures.check_columns(pd.DataFrame({"a": []}), ["a"])
    with pytest.raises(InvalidInput, match="column 'a' of the table: expected finite numbers, received one in row 1"):
        figures.check_columns(pd.DataFrame({"a": [1.0, np.nan]}), ["a"])
    figures.check_columns(pd.DataFrame({"a": [1.0], "b": [np.nan]}), ["a"])  # b is not drawn


def test_csv_keeps_every_digit(tmp_path):
    frame = pd.DataFrame({"a": [1 / 3, 0.1]})
    figures.write_csv(frame, tmp_path / "a.csv")
    name, *numbers = (tmp_path / "a.csv").read_text().split()
    assert (name, [float(number) for number in numbers]) == ("a", [1 / 3, 0.1])
