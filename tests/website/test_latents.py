"""The figure over the number of latents: drawn from result files alone, or said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.store import results_tree

PUBLISHED = Path(__file__).parents[2] / "leaderboard" / "published"


@pytest.fixture
def latents(website):
    return website("latents")


def with_latents(number, seeds, **hyperparameters):
    """A published result whose runs have other numbers of latents, seeds and made-up scores."""
    kept = results_tree.read(results_tree.path(PUBLISHED, "dsprites@v1", "beta_vae"))
    runs = tuple(
        kept.runs[0].model_copy(
            update={
                "latents": number,
                "seed": seed,
                "scores": {"mig": number / 100 + seed / 1000},
                "hyperparameters": {**kept.runs[0].hyperparameters, "latents": number, **hyperparameters},
            }
        )
        for seed in range(seeds)
    )
    return kept.model_copy(update={"runs": runs})


def test_runs_that_differ_in_the_number_of_latents_alone_make_a_curve(latents):
    (curve,) = latents.curves([with_latents(5, 5), with_latents(10, 6)])
    assert (curve.task, curve.title) == ("dsprites@v1", "β-VAE")
    assert {number: len(scores) for number, scores in curve.scores.items()} == {5: 5, 10: 6}
    text = latents.curve_text(curve, 0)
    assert "| 5 | 5 | 0.050 to 0.054 | 0.052 |" in text
    assert "| 10 | 6 | 0.100 to 0.105 |" in text
    assert curve.file(0) in text
    assert b"<svg" in latents.figure(curve)


@pytest.mark.parametrize(
    "found",
    [
        [with_latents(5, 5)],
        [with_latents(5, 5), with_latents(10, 4)],
        [with_latents(5, 5), with_latents(10, 5, beta=3.5)],
    ],
    ids=["one number", "four seeds", "another setting"],
)
def test_other_runs_make_none(found, latents):
    assert latents.curves(found) == []


def test_a_page_without_such_results_says_so(latents, monkeypatch):
    monkeypatch.setattr(latents, "trees", list)
    assert "*Not measured yet.*" in latents.filled(f"before\n\n{latents.MARK}\n\nafter")
    assert latents.filled("nothing to fill") == "nothing to fill"
    assert latents.pages() == {}
