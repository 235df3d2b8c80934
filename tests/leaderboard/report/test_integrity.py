"""What the check of a board asks of methods; the rest is tested in test_site.py and in the contracts."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from benchmark_data.sources import Derived, Selected
from benchmark_data.variants import splitting
from leaderboard.commands.arguments import PUBLISHED
from leaderboard.report import integrity
from leaderboard.store import results, results_tree


def inverted(images, indices, labels):
    return 255 - images


def derived(base):
    return dataclasses.replace(base, source=Derived(base, inverted))


def selected(base):
    source = Selected(base, range(0, 60, 2), ("f0", "f2"))
    return dataclasses.replace(base, source=source, space=source.space, splits={}, effects={})


def divided(base):
    return splitting.split(base, "random").dataset


@pytest.mark.parametrize("variant", [derived, selected, divided])
def test_the_digest_of_a_variant_of_a_rendered_dataset_is_compared(variant, toys, made_result, tmp_path):
    toys["toy/variant"] = dataclasses.replace(variant(toys["toy/small"]), config="variant")
    results_tree.write(tmp_path, [made_result("toy/variant", "a", 0.1)])  # whose digest is made up
    assert any("dataset_digest: expected" in str(problem) for problem in integrity.check(tmp_path))


@pytest.mark.parametrize(
    ("fields", "record", "message"),
    [
        (
            {"scores": 0.99},
            {},
            "scores.mig: expected 0.3255 within 0.2, as verified on tenths of the rows, received 0.99",
        ),
        ({}, {"rows": 1}, "verification.rows: expected 9000, as "),
        (
            {},
            {"deviation": 5.0},
            "verification: expected a deviation of at most 0.02 and a past date, received 5 and ",
        ),
        ({}, {"date": datetime.date(2999, 1, 1)}, " and 2999-01-01."),
        ({}, {"seed": "another"}, "verification.rows_digest: expected "),
        ({}, {"seed": "\u00a0"}, "verification: seed of the fresh rows: expected a text"),
    ],
    ids=["a score", "rows", "deviation", "date", "text", "no text"],
)
def test_what_contradicts_the_record_of_a_verification_is_named(tmp_path, fields, record, message):
    """A published row, made better by hand: parts, scores and summary agree, and the record was left."""
    published = results_tree.read(results_tree.path(PUBLISHED, "xysquares/spacing_1@v1", "beta_vae"))
    runs = []
    for run in published.runs_in("desk"):
        changed = dict(fields)
        if mig := changed.pop("scores", None):
            gaps = {"gaps": (mig,) * len(run.parts["mig"]["gaps"])}
            changed |= {"scores": run.scores | {"mig": mig}, "parts": run.parts | {"mig": gaps}}
        changed["verification"] = run.verification.model_copy(update=record)
        runs.append(run.model_copy(update=changed))
    results_tree.write(tmp_path, [results.result(published.task, published.method, runs, about=published.about)])
    found = [str(problem) for problem in integrity.check(tmp_path)]
    assert len(found) == len(runs)
    assert message in found[0]


def test_parts_of_fewer_factors_than_the_task_has_are_named(tmp_path):
    """The highest gap alone, with the score and the summary that it comes to."""
    published = results_tree.read(results_tree.path(PUBLISHED, "dsprites@v1", "random_encoder"))
    run = published.runs[0]
    gaps = run.parts["mig"]["gaps"]
    for mig, parts, widths in (
        (max(gaps), {"gaps": (max(gaps),)}, "[1]"),
        (run.scores["mig"], {"gaps": gaps, "more": ((0.5,), (0.5, 0.5))}, "[1, 2, 5]"),
        (run.scores["mig"], {"gaps": gaps, "more": ()}, "[0, 5]"),
    ):
        changed = run.model_copy(update={"scores": run.scores | {"mig": mig}, "parts": run.parts | {"mig": parts}})
        found = results.result(published.task, published.method, [changed], about=published.about)
        results_tree.write(tmp_path, [found], replace=True)
        (problem,) = integrity.check(tmp_path)
        assert (
            f"parts of mig: expected arrays with a number for each of 5 factors, received numbers for {widths}"
            in str(problem)
        )
