"""The examples on the pages on datasets and on audits run. What it lists is tested in tests/contracts/test_docs.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


AUDIT = PAGE.with_name("audit.md")


def test_the_audit_gives_what_its_page_says():
    names: dict = {}
    (example,) = re.findall(r"```python\n(.*?)```", AUDIT.read_text("utf-8"), re.DOTALL)
    exec(example, names)
    said = re.search(r"giveaway.value  # (\S+)", example)[1]
    assert names["found"].giveaway.value == pytest.approx(float(said), abs=5e-4)
    assert f"`xysquares/spacing_4` to `spacing_7` | {said} |" in AUDIT.read_text("utf-8")
    said = re.search(r"order\(\)  # (.*\]\])", example)[1]
    assert names["found"].order() == eval(said)


def test_the_examples_run():
    names: dict = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(example, names)
    assert names["images"].shape == (2, 64, 64, 3)
    assert (names["labels"] == 0).all()
    assert len(names["rows"]) == 10
    assert names["batch_images"].shape == (256, 64, 64, 3)
    assert names["scaled"].shape == (256, 2)
    assert (names["changed"].sum(axis=1) == 1).all()
    assert names["s"].shape == (2,)
    assert names["sizes"]["target_test"] == 73_728
    assert names["target"].dataset.id == "sprites2d"
    assert names["quick"] == names["room"].digest()
    assert names["far"].space.sizes == (3, 6, 40, 3, 32)
