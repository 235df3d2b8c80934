"""The ledger: what it says of changes, and that it can be worked out from the files."""

import datetime
import json

import pytest

from benchmark_data.errors import DamagedFile
from leaderboard.report import ledger
from leaderboard.store import results_tree

TODAY = datetime.date(2026, 3, 4)
TASK = "xysquares/spacing_8"


def said(events):
    return [(e.date.isoformat(), e.change, e.method, e.tier, e.seeds, e.before, e.mean) for e in events]


def test_what_is_new_what_has_gone_and_what_was_scored_anew(tmp_path, made_result):
    results_tree.write(tmp_path, [made_result(TASK, "a", 0.1, 0.3), made_result(TASK, "b", 0.5)])
    assert said(ledger.record(tmp_path, TODAY)) == [
        ("2026-01-02", "added", "a", "smoke", 2, None, 0.2),
        ("2026-01-02", "added", "b", "smoke", 1, None, 0.5),
    ]
    assert ledger.record(tmp_path, TODAY) == (), "nothing has changed"

    results_tree.path(tmp_path, f"{TASK}@v1", "b").unlink()
    results_tree.write(tmp_path, [made_result(TASK, "a", 0.1, 0.3, 0.5), made_result(TASK, "c", 0.9, tier="desk")])
    assert said(ledger.record(tmp_path, TODAY)) == [
        ("2026-01-02", "added", "c", "desk", 1, None, 0.9),
        ("2026-01-02", "more seeds", "a", "smoke", 3, 0.2, 0.3),
        ("2026-03-04", "removed", "b", "smoke", 0, 0.5, None),
    ]

    again = made_result(TASK, "a", 0.1, 0.3, 0.2, date=datetime.date(2026, 2, 1))
    results_tree.write(tmp_path, [again], replace=True)
    assert said(ledger.record(tmp_path, TODAY)) == [("2026-02-01", "re-scored", "a", "smoke", 3, 0.3, 0.2)]
    results_tree.write(tmp_path, [made_result(TASK, "b", 0.4)])
    assert said(ledger.record(tmp_path, TODAY)) == [("2026-01-02", "added", "b", "smoke", 1, None, 0.4)]
    assert len(ledger.read(tmp_path)) == 7


def test_other_codes_are_told_from_the_same_codes_scored_anew(tmp_path, made_result):
    """Rows that are trained again look like rows that are scored again, but for the codes."""

    def changed(*scores, first=0):
        result = made_result(TASK, "a", *scores)
        runs = [run.model_copy(update={"codes_digest": f"{first + run.seed:064x}"}) for run in result.runs]
        return result.model_copy(update={"runs": tuple(runs)})

    events = ledger.pending((), [changed(0.1, 0.3)])
    cases = {
        "re-scored": changed(0.1, 0.2),
        "new codes": changed(0.1, 0.3, first=7),
        "more seeds": changed(0.1, 0.3, 0.5),
        "fewer seeds": changed(0.1),
    }
    for change, result in cases.items():
        assert [event.change for event in ledger.pending(events, [result])] == [change]
    assert [e.change for e in ledger.pending(events, [changed(0.1, 0.3, 0.5, first=7)])] == ["new codes"]
    without = tuple(event.model_copy(update={"codes": ()}) for event in events)
    assert [event.change for event in ledger.pending(without, [changed(0.1, 0.2)])] == ["changed"]


def test_an_entry_that_lacks_its_codes_gets_them_while_the_row_is_as_it_was(tmp_path, made_result):
    results_tree.write(tmp_path, [made_result(TASK, "a", 0.1), made_result(TASK, "b", 0.5)])
    events = ledger.record(tmp_path, TODAY)
    without = ledger.Ledger(events=tuple(event.model_copy(update={"codes": ()}) for event in events))
    (tmp_path / "ledger.json").write_text(without.model_dump_json(), "utf-8")
    results_tree.write(tmp_path, [made_result(TASK, "b", 0.6)], replace=True)
    assert [event.change for event in ledger.record(tmp_path, TODAY)] == ["changed"]
    assert [len(event.codes) for event in ledger.read(tmp_path)] == [1, 0, 1]


def test_quarantine_is_a_change(tmp_path, made_result):
    (file,) = results_tree.write(tmp_path, [made_result(TASK, "a", 0.1)])
    ledger.record(tmp_path, TODAY)
    results_tree.quarantine(file, "trained on the test rows")
    assert said(ledger.record(tmp_path, TODAY)) == [("2026-03-04", "quarantined", "a", "smoke", 1, 0.1, 0.1)]
    assert ledger.record(tmp_path, TODAY) == ()
    results_tree.quarantine(file, "")
    assert said(ledger.record(tmp_path, TODAY)) == [("2026-03-04", "trusted again", "a", "smoke", 1, 0.1, 0.1)]


def test_what_is_scored_in_quarantine_is_not_put_there_again(tmp_path, made_result):
    (file,) = results_tree.write(tmp_path, [made_result(TASK, "a", 0.1)])
    ledger.record(tmp_path, TODAY)
    changes = []

    def change(reason, *scores):
        results_tree.write(tmp_path, [made_result(TASK, "a", *scores)])
        results_tree.quarantine(file, reason)
        changes.extend(event.change for event in ledger.record(tmp_path, TODAY))

    change("why", 0.1)
    change("why", 0.1, 0.2)
    change("why", 0.1, 0.2, 0.3)
    change("", 0.1, 0.2, 0.3)
    change("why", 0.1, 0.2, 0.3, 0.4)
    change("", 0.1, 0.2, 0.3, 0.4, 0.5)
    change("", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    more = "more seeds"
    assert changes == ["quarantined", more, more, "trusted again", "quarantined", "trusted again", more]


def test_what_is_pending_needs_no_clock(tmp_path, made_result):
    """A board is a pure function of the files: a removal that is not recorded has the date of the newest evaluation."""
    first, second = made_result(TASK, "a", 0.1), made_result(TASK, "b", 0.5, date=datetime.date(2026, 2, 3))
    events = ledger.pending((), [first, second])
    assert [event.date.isoformat() for event in events] == ["2026-01-02", "2026-02-03"]
    assert said(ledger.pending(events, [first])) == [("2026-02-03", "removed", "b", "smoke", 0, 0.5, None)]
    assert ledger.pending((), []) == ()


def test_a_damaged_ledger_is_named(tmp_path):
    (tmp_path / "ledger.json").write_text(json.dumps({"events": [{"change": "invented"}]}), "utf-8")
    with pytest.raises(DamagedFile, match=r"ledger\.json: events\.0\."):
        ledger.read(tmp_path)
