"""What was added, removed and scored anew on the board, and when: a ledger that is kept beside the results.

``<root>/ledger.json`` lists events, oldest first; each bears a digest of what the row then held. So the state that was
recorded last can be worked out from the ledger, and compared with the tree: what differs is pending, and a board shows
it, too. Nothing is typed in: ``offaxis board ledger --record`` writes what the files say.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from benchmark_data.files import write_json
from leaderboard.store import results_tree, schema
from leaderboard.store.results import Result, Run
from leaderboard.store.schema import Field, Line, Model, Name

FILE = "ledger.json"

Change: TypeAlias = Literal[
    "added", "removed", "re-scored", "new codes", "more seeds", "fewer seeds", "changed", "quarantined", "trusted again"
]
"""What happened to a row. ``re-scored`` is said of the same codes with other scores, ``new codes`` of another training
or encoding, and ``changed`` where an entry of before does not hold which codes it was of."""

RowId: TypeAlias = tuple[str, str, str]
"""Task, tier and method."""


class Event(Model):
    """One change of one row.

    Attributes:
        date: of the newest evaluation of the row, UTC; for what no evaluation tells, the day of the record.
        change: what happened.
        task: the task's name.
        tier: the tier's name.
        method: the method's name.
        seeds: of the row afterwards; 0 for a removed one.
        mean: of the score that ranks, afterwards; None for a removed row.
        before: of the same score before; None for an added row.
        digest: of what the row holds: seeds, digests of codes, scores, and whether it is in quarantine.
        codes: the last digits of the digests of its codes, by seed; none in entries that were written without.
    """

    date: datetime.date
    change: Change
    task: Annotated[str, Field(pattern=schema.DATASET + r"@v[0-9]+$")]
    tier: Line
    method: Name
    seeds: int = Field(ge=0)
    mean: float | None
    before: float | None
    digest: Annotated[str, Field(pattern=r"^([0-9a-f]{16}|)$")]
    codes: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")], ...] = ()

    @property
    def row(self) -> RowId:
        """Task, tier and method."""
        return self.task, self.tier, self.method


class Ledger(Model):
    """All events, oldest first."""

    events: tuple[Event, ...] = ()


def read(root: str | os.PathLike[str]) -> tuple[Event, ...]:
    """Read the ledger of a results tree.

    Args:
        root: the results tree.

    Returns:
        Its events, oldest first; none where there is no ledger.

    Raises:
        DamagedFile: the file is no ledger.
    """
    file = Path(root) / FILE
    if not file.exists():
        return ()
    return schema.validated(Ledger, schema.content(file), str(file)).events


def pending(events: Sequence[Event], found: Iterable[Result], today: datetime.date | None = None) -> tuple[Event, ...]:
    """Compare results with what a ledger says of them.

    Args:
        events: the ledger.
        found: the results as they are.
        today: the date of a removal and of a quarantine, which no evaluation tells; that of the newest event or
            evaluation if None.

    Returns:
        What is not in the ledger yet, by date, task, tier and method.
    """
    last = {event.row: event for event in events}
    held: set[RowId] = set()  # rows in quarantine
    for event in events:
        if event.change == "quarantined":
            held.add(event.row)
        elif event.change in ("added", "removed", "trusted again"):
            held.discard(event.row)
    now = {(result.task, tier, result.method): result for result in found for tier in result.tiers}
    dates = [event.date for event in events] + [run.date for result in now.values() for run in result.runs]
    day = today or max(dates, default=datetime.date(1970, 1, 1))
    changes: list[Event] = []
    for row, result in now.items():
        before = last.get(row)
        event = _event(row, result, before, row in held, day)
        if before is None or before.digest != event.digest:
            changes.append(event)
    for row, event in last.items():
        if row not in now and event.change != "removed":
            task, tier, method = row
            changes.append(
                Event(
                    date=day,
                    change="removed",
                    task=task,
                    tier=tier,
                    method=method,
                    seeds=0,
                    mean=None,
                    before=event.mean,
                    digest="",
                )
            )
    return tuple(sorted(changes, key=lambda event: (event.date, event.row)))


def record(root: str | os.PathLike[str], today: datetime.date) -> tuple[Event, ...]:
    """Write what is pending into the ledger of a results tree.

    Where the last entry of a row does not hold of which codes it was, and the row is as it was then, they are added.

    Args:
        root: the results tree.
        today: the date of removals and quarantines.

    Returns:
        What was written.

    Raises:
        DamagedFile: the tree or the ledger is damaged.
        InvalidInput: the folder cannot be written.
    """
    root = Path(root)
    with results_tree.locked(root):
        events = read(root)
        found = results_tree.read_all(root)
        new = pending(events, found, today)
        if events or new:
            known = {(result.task, tier, result.method): result for result in found for tier in result.tiers}
            kept = tuple(_with_codes(event, known.get(event.row)) for event in events)
            if new or kept != events:
                write_json(root / FILE, Ledger(events=(*kept, *new)).model_dump(mode="json"))
    return new


def _event(row: RowId, result: Result, before: Event | None, held: bool, day: datetime.date) -> Event:
    """Describe what a row holds now, as a change of what it held before, in quarantine or not."""
    task, tier, method = row
    runs = result.of(tier)
    main = next(iter(result.summary[tier]))
    key = "mig" if "mig" in result.summary[tier] else main
    mean = round(result.summary[tier][key].mean, 6)
    change: Change = "added"
    date = max(run.date for run in runs)
    if before is not None and before.change == "removed":
        before = None
    if before is not None:
        if before.digest == _digest(runs, not result.quarantine):  # the one thing that has changed; it may have come so
            held = not result.quarantine
        if held != bool(result.quarantine):
            change, date = ("trusted again" if held else "quarantined"), day
        else:
            change = _of_codes(before, runs)
    return Event(
        date=date,
        change=change,
        task=task,
        tier=tier,
        method=method,
        seeds=len(runs),
        mean=mean,
        before=before.mean if before is not None else None,
        digest=_digest(runs, bool(result.quarantine)),
        codes=_codes(runs),
    )


def _of_codes(before: Event, runs: Sequence[Run]) -> Change:
    """Tell the same codes with other scores from other codes, and from those of more or fewer seeds."""
    then, now = set(before.codes), set(_codes(runs))
    if not then:
        return "more seeds" if len(runs) > before.seeds else "changed"
    if now > then:
        return "more seeds"
    if now < then:
        return "fewer seeds"
    return "re-scored" if now == then else "new codes"


def _with_codes(event: Event, result: Result | None) -> Event:
    """Add of which codes an entry is, where it does not say so and the row is as it was then."""
    if event.codes or result is None or event.digest != _digest(result.of(event.tier), bool(result.quarantine)):
        return event
    return event.model_copy(update={"codes": _codes(result.of(event.tier))})


def _codes(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(run.codes_digest[-12:] for run in runs)


def _digest(runs: Sequence[Run], quarantine: bool) -> str:
    held = [[run.seed, run.codes_digest, sorted(run.scores.items())] for run in runs]
    text = json.dumps([held, quarantine], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
