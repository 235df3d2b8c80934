from __future__ import annotations

import contextlib
import copy
import errno
import json
import os
import shutil

import numpy as np
import pytest

import benchmark_data
from baselines import Diverged, objectives, train, train_together, untrained
from baselines.objectives import beta_vae
from baselines.run import Run
from baselines.run_folder import Snapshots
from baselines.training import claims, loop, recorder
from baselines.training.batches import draw_batch, training_rows
from benchmark_data import DamagedFile, InvalidInput, UnknownName, files
from benchmark_data.errors import OffaxisWarning


def test_it_learns(tiny, tmp_path):
    run = train(tiny(steps=60, learning_rate=1e-2, batch_size=16, history_every=59), tmp_path / "run")
    first, last = run.history[0], run.history[-1]
    assert last["reconstruction"] < 0.1 * first["reconstruction"]


def test_what_it_leaves(trained):
    assert trained.steps == [0, 4, 6]
    assert [row["step"] for row in trained.history] == [1, 2, 4, 6]
    assert list(trained.history[0]) == ["step", "loss", "reconstruction", "kl"]
    record = json.loads((trained.folder / "run.json").read_text())
    assert set(record) == {
        *("schema", "method", "dataset", "dataset_version", "dataset_digest", "seed", "supervision", "selection"),
        *("hyperparameters", "budget", "versions", "about", "image_shape", "factor_sizes", "computed"),
    }
    assert (record["method"], record["dataset"], record["seed"]) == ("beta_vae", "xysquares/spacing_1", 0)
    assert record["dataset_digest"] == trained.dataset.digest()._asdict()
    assert (record["supervision"], record["selection"]) == ("unsupervised", "none")
    assert record["hyperparameters"]["beta"] == 4.0
    assert record["hyperparameters"]["width"] == 8
    assert {key: record["budget"][key] for key in ("steps", "images")} == {"steps": 6, "images": 24}
    assert record["budget"]["seconds"] > 0
    assert record["budget"]["device"].endswith("(tensorflow)")
    assert set(record["versions"]) == {"python", "offaxis", "numpy", "keras", "tensorflow"}
    assert [p.name for p in trained.folder.rglob("*") if p.name.startswith(".")] == [".lock"]


def test_the_users_own_tensorflow_stays_as_it_was(trained):
    """Under TensorFlow's determinism an operation without a seed is refused."""
    tensorflow = pytest.importorskip("tensorflow")
    assert tensorflow.random.normal((2,)).shape == (2,)
    assert len(list(tensorflow.data.Dataset.range(3).shuffle(3))) == 3


def test_a_finished_run_is_left_alone(tiny, trained, tmp_path):
    before = {p: p.stat().st_mtime_ns for p in trained.folder.rglob("*")}
    assert repr(train(tiny(), trained.folder)) == repr(trained)
    assert {p: p.stat().st_mtime_ns for p in trained.folder.rglob("*")} == before


def test_seeds_differ_and_repeat(tiny, trained, tmp_path):
    same, other = train(tiny(), tmp_path / "same"), train(tiny(seed=1), tmp_path / "other")
    assert same.history == trained.history
    assert other.history != trained.history


def test_no_steps_leave_the_initial_weights(tiny, trained, tmp_path):
    run = train(tiny(steps=0, snapshots=[]), tmp_path / "run")
    assert run.step == 0
    images = run.dataset.images([0, 5])
    np.testing.assert_array_equal(run.encode(images).mean, Run.open(trained.folder, step=0).encode(images).mean)


def test_training_rows_are_the_same_share_for_every_seed():
    data = benchmark_data.load("xysquares/spacing_1")
    rows = training_rows(data, 0.9)
    assert len(rows) == len(set(rows.tolist())) == 235929
    np.testing.assert_array_equal(rows, training_rows(benchmark_data.load("xysquares/spacing_8"), 0.9))
    assert sorted(training_rows(data, 1.0).tolist()) == list(range(len(data)))
    assert len(training_rows(data, 1e-9)) == 1


def test_batches_hold_training_rows_only(tiny):
    data = benchmark_data.load("xysquares/spacing_8")
    rows = np.array([3, 5])
    config = tiny(dataset=data.id, batch_size=50)
    images = draw_batch(config, config.build_objective(), data, rows, 1)["images"]
    kinds = {image.tobytes() for image in images}
    assert kinds == {image.tobytes() for image in data.images(rows)}


def test_a_sampled_code_may_be_wider_than_the_latents(tiny, tmp_path, monkeypatch):
    class Wide(beta_vae.OBJECTIVE):
        def code_size(self, latents, sizes):
            return 2 * latents

    monkeypatch.setattr(objectives, "find", lambda name: Wide)
    run = train(tiny(), tmp_path / "run")
    images = run.dataset.images([0, 5])
    assert run.encode(images).log_variance.shape == (2, 6)
    found = run.activations(images)
    np.testing.assert_array_equal(found["mean"].shape, (2, 6))
    assert (found["sampled"] != found["mean"]).all()


def test_what_is_no_config_is_refused(tmp_path):
    message = r"config: expected a RunConfig, received {'dataset': 'dsprites'}\. Make one: RunConfig\(dataset=\.\.\.\)"
    with pytest.raises(InvalidInput, match=message):
        train({"dataset": "dsprites"}, tmp_path / "run")


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"split": "trian"}, UnknownName, "split of xysquares/spacing_1: .* received 'trian'"),
        ({"objective": "ada_gvae", "hyperparameters": {"changed": 9}}, InvalidInput, "hyperparameter 'changed'"),
    ],
)
def test_a_setting_that_is_refused_leaves_the_folder_free(tiny, tmp_path, wrong, error, message):
    with pytest.raises(error, match=message):
        train(tiny(**wrong), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_mean_reduction_is_the_sum_scaled(tiny):
    from baselines.model import Model

    data = benchmark_data.load("xysquares/spacing_1")
    mean = tiny(reduction="mean", hyperparameters={"beta": 0.01})
    summed = tiny(hyperparameters={"beta": 0.01 * 64 * 64 * 3 / 3})
    batch = draw_batch(mean, mean.build_objective(), data, np.arange(100), 1)
    losses = []
    for config in (mean, summed):
        model = Model(config, data.image_shape)
        losses.append(float(model.loss([v.value for v in model.variables()], batch)[0]))
    assert losses[0] * 64 * 64 * 3 == pytest.approx(losses[1], rel=1e-5)


def test_a_mean_reduction_that_changes_what_hyperparameters_mean_is_warned_of(tiny, tmp_path):
    with pytest.warns(OffaxisWarning, match=r'beta_tc_vae with reduction "mean": .* weighs 1 / L \+ beta - 1 in all'):
        train(tiny(objective="beta_tc_vae", reduction="mean", epsilon=1e-12), tmp_path / "run")
    train(tiny(reduction="mean", epsilon=1e-12), tmp_path / "other")
    with pytest.warns(OffaxisWarning, match=r'^epsilon=1e-08: reduction "mean" makes gradients too small'):
        train(tiny(reduction="mean"), tmp_path / "default")
    configs = [tiny(reduction="mean", seed=seed, epsilon=epsilon) for seed, epsilon in enumerate((1e-12, 1e-8))]
    with pytest.warns(OffaxisWarning, match=r'^epsilon=1e-08: reduction "mean" makes gradients too small'):
        train_together(configs, [tmp_path / "first", tmp_path / "second"])
    train(tiny(objective="simclr", reduction="mean"), tmp_path / "simclr")  # has no reconstruction to divide


def test_what_is_no_observer_is_refused_and_leaves_the_folder_free(tiny, tmp_path):
    for wrong in (None, [None], [print, "print"]):
        with pytest.raises(InvalidInput, match="observers: expected functions of a step and its scalars, received"):
            train(tiny(), tmp_path / "run", observers=wrong)
    assert not list(tmp_path.iterdir())


def test_an_iterator_of_observers_is_not_used_up_by_the_first_step(tiny, tmp_path):
    told = []
    run = train(tiny(history_every=1), tmp_path / "run", observers=iter([lambda step, _: told.append(step)]))
    assert told == [row["step"] for row in run.history]


def test_an_observer_gets_the_step_apart_from_the_scalars_of_the_history(tiny, tmp_path):
    rows = []
    run = train(tiny(), tmp_path / "run", observers=lambda step, scalars: rows.append((step, dict(scalars))))
    assert rows == [(row["step"], {name: row[name] for name in row if name != "step"}) for row in run.history]


def test_a_loss_that_explodes_stops_the_run_and_leaves_the_last_good_snapshot(tiny, tmp_path):
    with pytest.raises(
        Diverged,
        match=r"loss of .*run at step \d+: expected a finite number .* The last snapshot is that of step 0",
    ):
        train(tiny(learning_rate=900.0, steps=40, snapshots=[0], history_every=1), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.step == 0
    assert all(np.isfinite(row["loss"]) for row in run.history)


@pytest.mark.parametrize(("part", "name"), [("weights", "weight"), ("second", "moment")])
def test_a_state_that_is_not_finite_is_never_kept(tiny, tmp_path, monkeypatch, part, name):
    from baselines import engines

    start = engines.start

    def broken(*models, **options):
        engine = start(*models, **options)
        state = engine.copy().bring()
        getattr(state, part)["encoder/mean/bias"][0] = np.inf
        engine.load(state, "")
        return engine

    monkeypatch.setattr(engines, "start", broken)
    with pytest.raises(Diverged, match=rf"received a {name} that is not finite. The last snapshot is none"):
        train(tiny(snapshots=[]), tmp_path / "run")
    with pytest.raises(DamagedFile, match="expected a run with a snapshot, received none"):
        Run.open(tmp_path / "run")


def test_a_full_disk_keeps_the_last_good_snapshot_and_the_run_goes_on_later(tiny, trained, tmp_path, monkeypatch):
    save = np.savez

    def full(stream, **arrays):
        if any(name.startswith("first/") for name in arrays) and full.left == 0:
            stream.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        full.left -= any(name.startswith("first/") for name in arrays)
        save(stream, **arrays)

    full.left = 2
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(InvalidInput, match=r"step_00000006: expected a writable path, .*No space left"):
        train(tiny(), tmp_path / "run")
    assert Run.open(tmp_path / "run").steps == [0, 4]
    assert not list((tmp_path / "run").rglob("*.part"))
    monkeypatch.undo()
    assert train(tiny(), tmp_path / "run").history == trained.history


def test_killed_between_the_record_and_the_last_snapshot(tiny, trained, tmp_path, monkeypatch):
    write = Snapshots.write

    def killed(self, step, *state):
        if step == 6:
            raise KeyboardInterrupt
        write(self, step, *state)

    monkeypatch.setattr(Snapshots, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), tmp_path / "run")
    monkeypatch.undo()
    run = train(tiny(), tmp_path / "run")
    assert json.loads((run.folder / "run.json").read_text())["budget"]["steps"] == 6
    assert run.history == trained.history


def test_codes_of_a_last_snapshot_that_was_removed_do_not_outlive_it(tiny, trained, tmp_path):
    """Trained again, on another backend, say, the weights may be others."""
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    (folder / "codes.npz").write_bytes(b"of the weights before")
    train(tiny(), folder)
    assert (folder / "codes.npz").exists()  # nothing changes a finished run
    snapshots = Snapshots(folder)
    shutil.rmtree(snapshots.path(snapshots.last))
    train(tiny(), folder)
    assert not (folder / "codes.npz").exists()


def test_what_was_made_of_an_earlier_snapshot_during_training_does_not_stay(tiny, tmp_path):
    made = [tmp_path / "run" / name for name in ("activations.npz", "traversals.png")]
    train(tiny(history_every=1), tmp_path / "run", observers=lambda step, _: [path.touch() for path in made])
    assert not any(path.exists() for path in made)


def test_a_finished_run_gets_its_record_back(tiny, trained, tmp_path):
    folder = shutil.copytree(trained.folder, tmp_path / "run")
    held = json.loads((folder / "run.json").read_text())
    (folder / "run.json").unlink()
    train(tiny(), folder)
    assert json.loads((folder / "run.json").read_text()) == held


def test_two_processes_do_not_train_one_folder(tiny, tmp_path):
    run = train(tiny(steps=0, snapshots=[]), tmp_path / "run")
    run.folder.joinpath("run.json").unlink()  # so that it is not finished
    message = "expected a run that no other process is training, received one that another process is training"
    with claims.lock_folder(run.folder), pytest.raises(InvalidInput, match=message):
        train(tiny(steps=0, snapshots=[]), tmp_path / "run")
    assert train(tiny(steps=0, snapshots=[]), tmp_path / "run").step == 0


def test_two_processes_that_begin_one_new_folder_at_once_do_not_both_train_it(tiny, tmp_path, monkeypatch):
    """The second comes when the first has found the folder free and is about to claim it."""
    write, told = files.write_json, []

    def write_json(path, content):
        if not told:
            told.append("the first")
            with pytest.raises(InvalidInput, match="expected a run that no other process is training"):
                train(tiny(), tmp_path / "run")
        write(path, content)

    monkeypatch.setattr(recorder.files, "write_json", write_json)
    assert train(tiny(), tmp_path / "run").step == 6
    assert told


def test_a_run_that_another_process_finished_meanwhile_is_given_back(tiny, trained, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def late(folder):
        with claims.lock_folder(folder):
            shutil.copytree(trained.folder, folder, dirs_exist_ok=True)  # what the other one has done
            yield

    monkeypatch.setattr(loop, "lock_folder", late)
    history = (trained.folder / "history.jsonl").stat().st_mtime_ns
    assert train(tiny(), tmp_path / "run").step == 6
    assert (tmp_path / "run" / "history.jsonl").stat().st_mtime_ns == history, "it was not trained again"


def test_a_lock_that_a_killed_process_left_is_no_content(tiny, tmp_path):
    for name in ("run", "reference"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".lock").touch()
    assert train(tiny(steps=0, snapshots=[]), tmp_path / "run").step == 0
    untrained.write("ground_truth", benchmark_data.load("xysquares/spacing_1"), tmp_path / "reference")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(InvalidInput, match="expected a run folder or an empty one, received something else"):
        train(tiny(), tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"], "nothing is written there"


def test_a_history_that_cannot_be_written(tiny, tmp_path, monkeypatch):
    from pathlib import Path

    opened = Path.open

    def refusing(self, mode="r", *arguments, **named):
        if self.name == "history.jsonl" and mode == "a":
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(self, mode, *arguments, **named)

    monkeypatch.setattr(Path, "open", refusing)
    with pytest.raises(InvalidInput, match=r"history.jsonl: expected a writable path, .*No space left"):
        train(tiny(), tmp_path / "run")


def test_a_folder_that_holds_something_else(tiny, trained, tmp_path):
    with pytest.raises(
        InvalidInput, match=r"tiny: expected the run with seed 3, received a run with seed 0. Choose anoth"
    ):
        train(tiny(seed=3), trained.folder)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="expected a run folder or an empty one, received something else"):
        train(tiny(), tmp_path)
    with pytest.raises(InvalidInput, match="expected a run folder or an empty one"):
        train(tiny(), tmp_path / "notes.txt")
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_dataset_that_has_changed_since(tiny, trained, tmp_path):
    folder = tmp_path / "run"
    Snapshots(folder).folder.mkdir(parents=True)
    (folder / "config.json").write_bytes((trained.folder / "config.json").read_bytes())
    record = json.loads((trained.folder / "run.json").read_text())
    record["dataset_digest"]["pixels"] = "0" * 64
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(InvalidInput, match=r"dataset of .*: expected the pixels and factors that the run began with"):
        train(tiny(), folder)
    (folder / "run.json").write_text("[]")
    with pytest.raises(DamagedFile, match=r"run.json: expected"):
        train(tiny(), folder)
    finished = shutil.copytree(trained.folder, tmp_path / "finished")
    (finished / "run.json").write_text(json.dumps(record))
    for read in (lambda: train(tiny(), finished), lambda: Run.open(finished).dataset):
        with pytest.raises(InvalidInput, match=r"expected the pixels and factors that the run began with, received ot"):
            read()


def test_a_copy_of_a_published_dataset_is_that_dataset(tiny, tmp_path):
    """As a worker process receives it: its name alone does not identify it there."""
    config = tiny(dataset="dsprites_spaced/spacing_16", steps=1, snapshots=[])
    dataset = benchmark_data.load(config.dataset)
    train(config, tmp_path / "run", dataset=copy.deepcopy(dataset))
    assert Run.open(tmp_path / "run").dataset is dataset
    train(config, tmp_path / "run")


def test_an_unknown_dataset(tiny, tmp_path):
    with pytest.raises(UnknownName, match=r"dataset: expected one of .* Did you mean 'xysquares'\?"):
        train(tiny(dataset="xysquare"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_error_while_a_batch_is_drawn_comes_through(tiny, tmp_path):
    with pytest.raises(InvalidInput, match="hyperparameter 'changed': expected fewer than the 6 factors that vary"):
        train(tiny(objective="ada_gvae", hyperparameters={"changed": 6}), tmp_path / "run")
