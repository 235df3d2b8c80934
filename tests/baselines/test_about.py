"""What the leaderboard prints of a baseline comes from the first line of its file."""

import re

import pytest

from baselines.record import about
from benchmark_data import discovery
from leaderboard.record import About

METHODS = [*discovery.names("baselines.objectives"), *discovery.names("baselines.untrained")]


@pytest.mark.parametrize("method", METHODS)
def test_every_baseline_has_a_title_that_the_leaderboard_takes(method):
    found = about(method)
    assert About(**found).title == found["title"]
    assert 0 < len(found["title"]) < 30
    assert found["description"]


@pytest.mark.parametrize("method", discovery.names("baselines.objectives"))
def test_every_objective_can_be_read_of_and_cited(method):
    found = About(**about(method))
    assert found.paper.startswith("https://")
    assert found.code.startswith("https://")
    key, year = re.match(r"@\w+\{(\w+),", found.bibtex), re.search(r"\byear = \{(\d{4})\}", found.bibtex)
    assert key
    assert year
    assert year[1] in key[1]
    assert found.bibtex.count("{") == found.bibtex.count("}")
    where = {"article": "journal", "inproceedings": "booktitle"}[found.bibtex[1:].partition("{")[0]]
    assert re.search(rf"^  {where} = \{{", found.bibtex, re.MULTILINE), "BibTeX prints such an entry without a place"


def test_authors_and_year():
    assert about("beta_vae")["authors"] == "Higgins et al., 2017"
    assert about("factor_vae")["authors"] == "Kim and Mnih, 2018"
    assert about("classifier")["authors"] == "Bonheme and Grześ, 2022"
    assert about("vicreg")["authors"] == "Bardes, Ponce and LeCun, 2022"
    assert about("ae")["authors"] == ""


def test_a_method_without_a_file():
    assert about("no_such_method") == {}
