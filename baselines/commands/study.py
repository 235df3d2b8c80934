"""``offaxis study``: the papers' figures and tables, from one command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from benchmark_data import console
from benchmark_data.commands.arguments import Ray
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, UnknownName, needs

app = console.command_line(
    "Reproduce figures and tables of four papers, and judge their claims.\n\n"
    "For example (a few seconds): offaxis study run 2202.13341/fig8",
)

Tier = Annotated[
    str,
    typer.Option(help="desk: rendered stand-ins, small models; reduced: fewer steps; study: the papers' settings."),
]
To = Annotated[Path | None, typer.Option(help="Folder for the results. Default: studies/TIER.")]
RunsRoot = Annotated[Path, typer.Option("--runs", help="Folder of the training runs, which entries share.")]
_RUNS = Path("runs/studies")


@app.command("list")
def list_(tier: Tier = "desk", to: To = None, runs: RunsRoot = _RUNS) -> None:
    """List the figures and tables of a tier: content, number of runs and state."""
    from baselines.reproduction import catalogue, runner

    entries = {id_: entry for id_, entry in catalogue.entries().items() if _has_tier(entry, tier) and not entry.same_as}
    rows = []
    for id_, entry in entries.items():
        try:
            state = runner.state(entry, tier, to or Path("studies") / tier, runs)
        except DamagedFile:
            state = "damaged"
        rows.append((id_, entry.claim, len(entry.plan(tier).configs), state))
    console.table(rows, "id", "claim", ">runs", "state")


def _has_tier(entry: Any, tier: str) -> bool:
    """Return whether an entry has a tier; raise `UnknownName` for an unknown tier."""
    from baselines.reproduction import entries

    if tier not in entries.TIERS:
        raise UnknownName("tier", tier, entries.TIERS)
    return tier in entry.tiers


@app.command()
def run(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="An entry such as 2205.08399/fig3, a paper such as 2205.08399, or all."),
    ],
    tier: Tier = "desk",
    to: To = None,
    runs: RunsRoot = _RUNS,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes. Default: one per core.")] = None,
    ray: Ray = None,
) -> None:
    """Train or reuse the runs, compute, draw and judge.

    Finished entries are only judged again; interrupted ones continue.
    For a paper or `all`, entries without this tier are skipped.

    Exit status 1 if one of several entries failed.
    A claim that is not replicated is not an error.
    """
    needs("this command", "train", "keras")
    from baselines.reproduction import catalogue, records, runner
    from baselines.training import stopping

    chosen_entries = tuple(entry for entry in catalogue.find(ids) if entry.id in ids or _has_tier(entry, tier))
    if not chosen_entries:
        raise InvalidInput(f"{' '.join(ids)}: no entries at tier {tier}. See: offaxis study list --tier {tier}")
    folder = to or Path("studies") / tier
    done: list[dict[str, Any]] = []
    for entry in chosen_entries:
        try:
            record = runner.run(entry, tier, folder, runs, jobs=jobs, ray=ray)
        except OffaxisError as error:
            if len(chosen_entries) == 1:
                raise
            console.tell(f"error: {entry.id}: {error}", style="red")
            continue
        except KeyboardInterrupt as interrupt:
            raise console.interruption(f"stopped. To continue: {stopping.rerun_command()}") from interrupt
        done.append(record)
        console.say(folder / entry.id)
        console.say(records.format_record(record))
    if len(chosen_entries) > 1:
        console.say(f"{len(done)} of {len(chosen_entries)} done: {records.format_cost(done)}.")
    if len(done) < len(chosen_entries):
        raise typer.Exit(1)
