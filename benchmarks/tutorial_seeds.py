"""What the tutorials' own code comes to over seeds: a line of tutorial_seeds.csv for each quantity and seed.

    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/tutorial_seeds.py --seeds 0 1 2 3 4

The Python blocks of a page are run as they stand, with another seed in each ``RunConfig``. `make pages` writes the
ranges over seeds into the pages. Seeds that the record has are left out, so that a run that was stopped goes on.
Five seeds of all tutorials take half an hour of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_suffix(".csv")
TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
FIELDS = ("tutorial", "seed", "quantity", "of", "value", "cpu_seconds")

Values = dict[tuple[str, str], float]
"""(quantity, what it is of) -> its value."""


def layers_over_time(names: Mapping[str, Any]) -> Values:
    """Return similarities with the final state at each snapshot, and those of two strengths of beta."""
    from leaderboard.comparisons import cka

    ckas = {(f"step {step}", layer): value for step, layer, value in names["table"].itertuples(index=False)}
    strong = names["runs"][8].activations(names["images"])
    ckas |= {("beta 1 and 8", layer): cka.compare(values, strong[layer]) for layer, values in names["last"].items()}
    return ckas


def information(names: Mapping[str, Any]) -> Values:
    """Return what the best latent knows of each variable, in nats, and MIG."""
    from leaderboard.metrics import mig

    table = names["information"]
    scores = {(form, variable): table.loc[variable, form] for form in table.columns for variable in table.index}
    for form, run in names["runs"].items():
        codes = run.encode(names["datasets"][form].images(names["rows"])).mean
        scores["mig", form] = mig.score(codes, names["plain"].labels(names["rows"]))["mig"]
    return scores


def transfer(names: Mapping[str, Any]) -> Values:
    """Return accuracies averaged over labels, and similarities of two models on images of the target."""
    from leaderboard import protocol
    from leaderboard.analyses import transfer_accuracy
    from leaderboard.comparisons import cka

    averages = transfer_accuracy.averages(names["table"])
    accuracies: Values = {
        ("accuracy", source): test for source, test in averages[["source", "test"]].itertuples(index=False)
    }
    images = names["target"].images(protocol.task("dsprites").test[:500])
    source, target = (names["runs"][name].activations(images) for name in ("solids", "dsprites"))
    return accuracies | {("similarity", layer): cka.compare(values, target[layer]) for layer, values in source.items()}


MEASURED: dict[str, tuple[int, Callable[[Mapping[str, Any]], Values]]] = {
    "which_layers_learn_first": (2, layers_over_time),
    "where_does_a_perturbation_hide": (4, information),
    "will_my_encoder_transfer": (2, transfer),
}
"""Tutorial -> the number of its Python blocks that are run, and what is read from the names that they leave."""


def run(tutorial: str, seed: int) -> Values:
    """Run the blocks of a tutorial with a seed, in an empty folder, and read what they found."""
    blocks, read = MEASURED[tutorial]
    code = re.findall(r"```python\n(.*?)```", (TUTORIALS / f"{tutorial}.md").read_text("utf-8"), re.DOTALL)[:blocks]
    seeded = re.sub(r"\bsteps=STEPS,", f"steps=STEPS, seed={seed},", "\n".join(code))
    if f"seed={seed}" not in seeded:
        raise ValueError(f"{tutorial}: expected a RunConfig with steps=STEPS in its first {blocks} blocks")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(seeded, tutorial, "exec"), names)
        return read(names)


def record() -> list[dict[str, str]]:
    """Return the lines that were measured."""
    if not RECORD.exists():
        return []
    with RECORD.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def main() -> None:
    """Measure and write the lines of each tutorial and seed as soon as they are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--tutorials", nargs="+", choices=MEASURED, default=list(MEASURED))
    options = parser.parse_args()
    for seed in options.seeds:
        for tutorial in options.tutorials:
            if any((row["tutorial"], row["seed"]) == (tutorial, str(seed)) for row in record()):
                continue
            cpu, new = time.process_time(), not RECORD.exists()
            values = run(tutorial, seed)
            cost = f"{time.process_time() - cpu:.0f}"
            with RECORD.open("a", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                if new:
                    writer.writerow(FIELDS)
                writer.writerows([tutorial, seed, *key, f"{value:.4f}", cost] for key, value in values.items())
            print(tutorial, seed, f"{cost} s of a core")


if __name__ == "__main__":
    main()
