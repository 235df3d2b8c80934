"""``offaxis study``: the papers' figures and tables, from one command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from benchmark_data import console
from benchmark_data.errors import OffaxisError, needs

app = console.command_line(
    "Make the figures and tables of four papers again, and judge their claims.\n\n"
    "A first one, a few seconds: offaxis study run 2202.13341/fig8",
)

Tier = Annotated[
    str,
    typer.Option(help="desk: rendered stand-ins, small models. reduced: fewer steps. study: the papers' own."),
]
Into = Annotated[Path | None, typer.Option(help="Folder for the results. Default: studies/TIER.", show_default=False)]
RunsRoot = Annotated[Path, typer.Option("--runs", help="Where training runs go, shared by all entries.")]
_RUNS = Path("runs/studies")


@app.command("list")
def list_(tier: Tier = "desk", into: Into = None, runs: RunsRoot = _RUNS, json: console.Json = False) -> None:
    """List the figures and tables of a tier: content, training time and state."""
    from baselines.reproduction import catalogue, entries, runner

    known = {id_: entry for id_, entry in catalogue.entries().items() if _has(entry, tier)}
    plans = {id_: entry.plan(tier) for id_, entry in known.items()}
    states = {id_: runner.state(entry, tier, into or Path("studies") / tier, runs) for id_, entry in known.items()}
    if json:
        console.out.print_json(data=[_outline(entry, tier, str(states[id_])) for id_, entry in known.items()])
        return
    rows = [
        (id_, entry.claim, len(plans[id_].configs), f"{entries.hours([plans[id_]]):,.2f}", states[id_].short)
        for id_, entry in known.items()
    ]
    console.table(rows, "id", "claim", ">runs", ">hours", "state")
    console.say("")
    for each in entries.TIERS:
        all_plans = [entry.plan(each) for entry in known.values() if each in entry.tiers]
        count = len({digest for plan in all_plans for digest in plan.configs})
        device = "of an A100, at the rate that arXiv 2205.08399 states" if each == "study" else "on 2 cores"
        console.say(f"All {len(all_plans)}, tier {each}: {count} runs, {entries.hours(all_plans):,.1f} hours {device}.")


def _outline(entry: Any, tier: str, state: str) -> dict[str, Any]:
    """Return what a program may want to know of an entry, hours by tier."""
    from baselines.reproduction import entries

    plan = entry.plan(tier)
    return {
        **{"id": entry.id, "paper": entry.paper, "claim": entry.claim, "tier": tier},
        **{"datasets": list(dict.fromkeys(plan.all_datasets)), "runs": len(plan.configs), "state": state},
        "hours": {each: round(entries.hours([entry.plan(each)]), 4) for each in entry.tiers},
    }


def _has(entry: Any, tier: str) -> bool:
    """Say whether an entry has a tier; that there is no such tier at all is for the entry to say."""
    from baselines.reproduction import entries

    return tier not in entries.TIERS or tier in entry.tiers


@app.command()
def run(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="Such as 2205.08399/fig3, or 2205.08399, or all.", show_default=False),
    ],
    tier: Tier = "desk",
    into: Into = None,
    runs: RunsRoot = _RUNS,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes. Default: one per core.")] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Train on this Ray cluster; local starts one here.")
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Only what needs no more training.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Compute also what is done, from the same runs: the code has changed.")
    ] = False,
) -> None:
    """Train or reuse the runs, compute, draw and judge. What is finished is only judged; what was stopped goes on.

    Of a paper, or of all, those are made that have the tier.

    Exit status 1 if one of several could not be made. That a claim does not hold is no error.
    """
    needs("this command", "train", "keras")
    from baselines.reproduction import catalogue, records, runner
    from baselines.training import stopping

    chosen = tuple(entry for entry in catalogue.find(ids) if entry.id in ids or _has(entry, tier))
    folder = into or Path("studies") / tier
    if ready:
        states = {entry.id: runner.state(entry, tier, folder, runs) for entry in chosen}
        for entry in chosen:
            if not states[entry.id].ready:
                console.say(f"{entry.id}: left out, {states[entry.id]}")
        chosen = tuple(entry for entry in chosen if states[entry.id].ready)
    done: list[dict[str, Any]] = []
    for entry in chosen:
        try:
            record = runner.run(entry, tier, folder, runs, jobs=jobs, ray=ray, again=again)
        except OffaxisError as error:
            if len(chosen) == 1:
                raise
            console.tell(f"error: {entry.id}: {error}", style="red")
            continue
        except KeyboardInterrupt as interrupt:
            how = f"stopped, with snapshots of runs in training. To go on: {stopping.again()}"
            raise console.interrupted(how) from interrupt
        done.append(record)
        console.say(folder / entry.id)
        console.say(records.line(record))
    if len(chosen) > 1:
        console.say(f"{len(done)} of {len(chosen)} done: {records.spent(done)}.")
    if len(done) < len(chosen):
        raise typer.Exit(1)
