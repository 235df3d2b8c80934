"""The examples on the pages on datasets and on audits run. What it lists is tested in tests/contracts/test_docs.py."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data.inspect import distances
from benchmark_data.inspect.audit import audit

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


AUDIT = PAGE.with_name("audit.md")


def test_the_audit_gives_what_its_page_says():
    names: dict = {}
    (example,) = re.findall(r"```python\n(.*?)```", AUDIT.read_text("utf-8"), re.DOTALL)
    exec(example, names)
    said = re.search(r"giveaway.value  # (\S+)", example)[1]
    assert names["result"].giveaway.value == pytest.approx(float(said), abs=5e-4)
    assert f"`xysquares/spacing_4` to `spacing_7` | {said} |" in AUDIT.read_text("utf-8")
    said = re.search(r"order\(\)  # (.*\]\])", example)[1]
    assert names["result"].order() == eval(said)


@pytest.mark.parametrize("name", ["xyobject", "dsprites"])
def test_the_audit_of_a_whole_dataset_gives_what_its_page_says(name):
    """Half a dozen seconds of a core each, with the default options that the page names."""
    found = audit(benchmark_data.load(name))
    value, low, high = (f"{each:.3f}" for each in found.giveaway)
    order = ", ".join(" = ".join(group) for group in found.order())
    assert f"| `{name}` | {value} | {low} to {high} | {order} |" in AUDIT.read_text("utf-8")


def test_the_distances_of_the_tutorial_come_out():
    """Exact in xysquares: all traversals of a factor are alike, and the page's figures are those of one."""
    text = (PAGE.parent / "tutorials" / "see_a_vae_fail.md").read_text("utf-8")
    said = re.search(r"up to (\d\.\d+)\. With `spacing_8` every move costs (\d\.\d+)", text.replace("\n", " "))
    near, far = (
        distances.matrices(benchmark_data.load(f"xysquares/spacing_{spacing}"), "x_R", traversals=1).perceived
        for spacing in (1, 8)
    )
    assert f"{near.max():.4f}" == said[1]
    assert {f"{each:.4f}" for each in far[~np.eye(8, dtype=bool)]} == {said[2]}


def test_the_page_has_every_form_of_the_perturbation_and_its_default():
    text = PAGE.read_text("utf-8")
    forms = {name.partition("/")[2].rpartition("_")[0] for name in benchmark_data.configs("dsprites_perturbed")}
    listed = re.findall(r"^\| `(\w+)_eps(?:05|10)`", text, re.MULTILINE)
    assert sorted(listed) == sorted(forms)
    assert f"`{benchmark_data.load('dsprites_perturbed').config}` is the default" in text


@pytest.mark.whole
def test_the_table_of_the_perturbation_is_what_the_benchmark_prints(monkeypatch):
    """Where s begins to lead on dSprites: a quarter of a minute of a core."""
    spec = importlib.util.spec_from_file_location("perturbing", PAGE.parents[1] / "benchmarks" / "perturbation.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    monkeypatch.setattr(benchmark, "EPSILONS", (0.025, 0.05, 0.075, 0.1))
    found = benchmark.measure(benchmark_data.load("dsprites"), 1000)
    leads = []
    for quantity in ("expansiveness", "global_variance"):
        of = found[found.quantity == quantity].pivot(index="epsilon", columns="factor", values="value")
        leads.append(of.index[of["s"] > of.drop(columns="s").max(axis=1)].min())
    assert f"| `dsprites` | {leads[0]:g} | {leads[1]:g} |" in PAGE.read_text("utf-8")


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
    assert names["target"].dataset.id == "dsprites"
    assert names["quick"] == names["room"].digest()
