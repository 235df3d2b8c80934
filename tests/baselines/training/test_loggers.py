"""What observers are told, and what they make of it."""

from __future__ import annotations

import sys
import types

import pytest

from baselines import train
from baselines.nets.backend import tensorflow
from baselines.training import loggers
from benchmark_data import MissingExtra


def told():
    lines = []
    return lines, lambda step, scalars: lines.append({"step": step, **scalars})


def events(folder):
    """Read all scalars of a folder of event files as TensorBoard does: (tag, step, value)."""
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for record in tensorflow.data.TFRecordDataset(str(path)):
            event = tensorflow.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                assert value.metadata.plugin_data.plugin_name == "scalars"
                found.append((value.tag, event.step, float(tensorflow.make_ndarray(value.tensor))))
    return found


def test_observers_are_told_the_history_once(tiny, trained, tmp_path):
    lines, observe = told()
    run = train(tiny(), tmp_path / "run", observers=[observe, observe])
    assert lines[::2] == lines[1::2] == run.history == trained.history
    train(tiny(), tmp_path / "run", observers=[observe])
    assert len(lines) == 2 * len(run.history), "a finished run has nothing to tell"


def test_tensorboard_files_hold_the_history(tiny, tmp_path):
    folder = tmp_path / "run"
    with loggers.tensorboard(folder) as observe:
        assert not folder.exists()
        run = train(tiny(), folder, observers=[observe])
        assert events(folder / "tensorboard"), "nothing waits for the end"
    expected = [(tag, row["step"], row[tag]) for row in run.history for tag in ("loss", "reconstruction", "kl")]
    found = events(folder / "tensorboard")
    assert [event[:2] for event in found] == [event[:2] for event in expected]
    assert [event[2] for event in found] == pytest.approx([event[2] for event in expected], rel=1e-6)
    with loggers.tensorboard(folder) as observe:
        train(tiny(), folder, observers=[observe])
    assert events(folder / "tensorboard") == found


def test_tensorboard_without_tensorflow(tmp_path, monkeypatch):
    class Absent:
        def __getattr__(self, name):
            raise MissingExtra("training", "tensorflow", "train")

    monkeypatch.setattr("baselines.nets.backend.tensorflow", Absent())
    with (
        pytest.raises(MissingExtra, match=r"event files: expected the package tensorflow, .*'offaxis\[tensorflow\]'"),
        loggers.tensorboard(tmp_path),
    ):
        pass


@pytest.fixture
def wandb(monkeypatch):
    """As much of Weights & Biases as is used, which notes what it is told."""

    class Run:
        def __init__(self, **settings):
            self.settings, self.lines, self.codes = settings, [], []
            package.runs.append(self)

        def log(self, scalars, step):
            self.lines.append({"step": step, **scalars})

        def __enter__(self):
            return self

        def __exit__(self, failure, *_):
            self.codes.append(failure)
            return failure is None

    package = types.ModuleType("wandb")
    package.runs, package.init = [], Run
    monkeypatch.setitem(sys.modules, "wandb", package)
    return package


def test_wandb_gets_the_config_and_the_history(tiny, tmp_path, wandb):
    config = tiny()
    with loggers.wandb(config, tmp_path / "run", project="squares") as observe:
        run = train(config, tmp_path / "run", observers=[observe])
    (sent,) = wandb.runs
    assert sent.lines == run.history
    assert sent.codes == [None]
    assert sent.settings["project"] == "squares"
    assert sent.settings["config"] == config.as_json()
    assert (sent.settings["resume"], sent.settings["dir"]) == ("allow", str(tmp_path / "run"))
    with loggers.wandb(config, tmp_path / "run", project="squares") as observe:
        train(config, tmp_path / "run", observers=[observe])
    assert len(wandb.runs) == 1


def test_wandb_hears_of_a_failure_and_knows_the_run_again(tiny, tmp_path, wandb):
    def fails():
        with loggers.wandb(tiny(), tmp_path, project="p") as observe:
            observe(1, {"loss": 1.0})
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            fails()
    with loggers.wandb(tiny(seed=1), tmp_path, project="p") as observe:
        observe(1, {"loss": 1.0})
    assert [run.codes for run in wandb.runs] == [[KeyboardInterrupt], [KeyboardInterrupt], [None]]
    first, again, other = (run.settings["id"] for run in wandb.runs)
    assert first == again != other


def test_wandb_is_not_installed(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with (
        pytest.raises(MissingExtra, match=r"Weights & Biases: expected the package wandb, .* pip install wandb"),
        loggers.wandb(tiny(), tmp_path, project="p"),
    ):
        pass
