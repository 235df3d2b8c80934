"""The page of an objective: its terms, its hyperparameters with their defaults, and commands that exist."""

from __future__ import annotations

import dataclasses

import pytest

import baselines
from baselines import objectives
from benchmark_data import discovery


@pytest.mark.parametrize("name", objectives.names())
def test_a_page_has_every_hyperparameter_and_its_meaning(name, website):
    text = website("objective_pages").page(name)
    for field in dataclasses.fields(discovery.find("baselines.objectives", name, kind="objective").OBJECTIVE):
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{field.name}` | `{field.default!r}` |")]
        assert len(row.split(" | ")[2]) > 10, f"{field.name}: the class's docstring says nothing of it"


def test_the_python_example_is_a_config(website):
    text = website("objective_pages").page("beta_tc_vae")
    code = text.partition("    import baselines\n")[2].partition("    run =")[0]
    names = {"baselines": baselines}
    exec(code.replace("\n    ", "\n").strip(), names)
    assert names["config"].hyperparameters["beta"] == 6.0
