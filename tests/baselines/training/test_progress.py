"""What a display shows of runs: one bar for those that are trained side by side."""

from __future__ import annotations

import pytest

from baselines.training import progress


@pytest.fixture
def shown(tiny, monkeypatch):
    """Show three runs at the given steps, two seconds after they began."""
    now = [0.0, 2.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now.pop(0))

    def show(steps, losses, stopped, starts=(0, 0, 0)):
        display = progress.display()
        bar = progress.Bar(display, [tiny(seed=seed) for seed in (5, 7, 4)[: len(steps)]], starts[: len(steps)], [])
        bar.show(steps, losses, stopped)
        (task,) = display.tasks
        return task.description, task.completed, task.fields["rate"], task.fields["loss"]

    return show


@pytest.mark.parametrize(
    ("steps", "losses", "stopped", "expected"),
    [
        # a batch has 4 images: 100 steps in 2 seconds are 200 images per second
        ([100] * 3, ["5", "5", "5"], [False] * 3, (100, "200 img/s each", "loss 5")),
        ([100] * 3, ["9", "10.5", "-1"], [False] * 3, (100, "200 img/s each", "loss -1 to 10.5")),
        ([150, 100, 50], ["", "", "2"], [False] * 3, (100, "200 img/s each", "loss 2")),
        ([100, 3, 100], ["5", "nan", "6"], [False, True, False], (100, "200 img/s each", "loss 5 to 6, 1 stopped")),
        ([100] * 3, ["nan", "8", "7"], [True] * 3, (100, "200 img/s each", "stopped: 7 to nan")),
    ],
)
def test_runs_side_by_side(shown, steps, losses, stopped, expected):
    assert shown(steps, losses, stopped) == ("beta_vae/4 to 7 (3 runs) xysquares/spacing_1", *expected)


@pytest.mark.parametrize("stopped", [[False, False], [True, False], [False, True]])
def test_the_rate_is_that_of_the_steps_since_each_run_began(shown, stopped):
    assert shown([50, 2950], ["5", "5"], stopped, starts=(0, 2900))[2] == "100 img/s each"


def test_one_run(shown):
    assert shown([100], ["0.5"], [False]) == ("beta_vae/5 xysquares/spacing_1", 100, "200 img/s", "loss 0.5")


def test_runs_that_go_on_begin_where_they_stopped(tiny):
    display = progress.display()
    progress.Bar(display, [tiny(seed=5), tiny(seed=7)], [4, 2], ["0.5", ""])
    (task,) = display.tasks
    assert (task.completed, task.fields["rate"], task.fields["loss"]) == (3, "", "loss 0.5")


def test_a_run_alone_that_stopped(shown):
    assert shown([100], ["nan"], [True])[-1] == "stopped: nan"


def test_runs_of_one_seed_that_differ_otherwise_are_counted(tiny):
    assert progress.describe([tiny(seed=3), tiny(seed=3, latents=2)]) == "beta_vae/3 (2 runs) xysquares/spacing_1"
