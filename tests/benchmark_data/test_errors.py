"""Errors in one form, which survive the way between processes."""

from __future__ import annotations

import pickle
import sys

import pytest

from benchmark_data import DamagedFile, InvalidInput, MissingExtra, OffaxisError, Unavailable, UnknownName
from benchmark_data.errors import needs

INVALID = InvalidInput("rows: expected integers, received floats. Round them.")
UNKNOWN = UnknownName("dataset", "dsprite", ["shapes3d", "dsprites"])
MISSING = MissingExtra("publishing", "pyarrow", "hf")
EVERY = [
    OffaxisError("a: expected b, received c."),
    INVALID,
    UNKNOWN,
    MISSING,
    DamagedFile("f.json: expected JSON, received nothing."),
    Unavailable("dsprites: expected a prepared dataset, received nothing. Prepare it."),
]


def test_form():
    assert str(INVALID) == "rows: expected integers, received floats. Round them."
    assert str(EVERY[0]) == "a: expected b, received c."
    assert str(InvalidInput("rows must be integers. Round them.")) == "rows must be integers. Round them."


def test_an_unknown_name_lists_what_there_is_and_what_is_near():
    assert str(UNKNOWN) == "dataset: expected one of dsprites, shapes3d, received 'dsprite'. Did you mean 'dsprites'?"
    assert str(UnknownName("dataset", "qqq", ["dsprites"])) == "dataset: expected one of dsprites, received 'qqq'."
    assert str(UnknownName("dataset", 3, [])) == "dataset: expected one of (none), received 3."


def test_the_near_match_looks_past_case_and_is_never_what_was_given():
    assert str(UnknownName("factor", "posx", ["posY", "posX", "shape"])).endswith("Did you mean 'posX'?")
    assert str(UnknownName("metric", "MIG", ["mig", "dci", "sap"])).endswith("Did you mean 'mig'?")
    assert str(UnknownName("factor", "a", ["a"])).endswith("received 'a'.")
    assert str(UnknownName("factor", "abc", ["abc", "abd"])).endswith("Did you mean 'abd'?")


def test_of_a_long_list_the_nearest_are_shown():
    error = str(UnknownName("figure", "fig_3", [f"fig{i}" for i in range(50)]))
    assert error.startswith("figure: expected one of fig3, fig")
    assert error.endswith(" and 42 more, received 'fig_3'. Did you mean 'fig3'?")


def test_a_missing_extra_says_what_to_install():
    assert str(MISSING).endswith(
        "expected the package pyarrow, received no such package. Install it with: pip install 'offaxis[hf]'"
    )


def test_what_an_extra_must_bring_is_looked_for_without_loading_it():
    needs("sums", "arithmetic", "math", "this")  # the second one prints a poem where it is imported
    assert "this" not in sys.modules
    with pytest.raises(
        MissingExtra, match=r"sums: expected the package abacus, .* pip install 'offaxis\[arithmetic\]'"
    ):
        needs("sums", "arithmetic", "math", "abacus")


def test_a_package_is_named_as_it_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match="expected the package scikit-learn"):
        needs("DCI", "metrics", "sklearn")


@pytest.mark.parametrize(("error", "standard"), [(INVALID, ValueError), (UNKNOWN, LookupError), (MISSING, ImportError)])
def test_errors_are_pythons_own_too(error, standard):
    assert isinstance(error, standard)
    assert isinstance(error, OffaxisError)


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
def test_errors_come_back_whole_from_another_process(error):
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.args == error.args


def test_a_list_of_the_greatest_length_is_shown_whole():
    names = [f"n{i:02}" for i in range(UnknownName.LISTED)]
    assert f"expected one of {', '.join(names)}, received" in str(UnknownName("figure", "zzz", names))
