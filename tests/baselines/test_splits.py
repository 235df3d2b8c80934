"""Training on what a split rule leaves: which rows, exact resume, the record, the codes that its task asks for."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import typer.testing

import benchmark_data
from baselines import RunConfig, train
from baselines.commands import train as cli
from baselines.record import settings
from baselines.run_folder import default_folder, read_config
from baselines.sweeps import desk_splits
from baselines.training import sweep
from baselines.training.batches import batches, draw_batch, training_rows
from benchmark_data import InvalidInput, UnknownName
from leaderboard import protocol
from leaderboard.scoring import candidates

SPLIT = {"dataset": "xysquares/spacing_1", "split": "extrapolation", "train_share": 1.0}


class Stop(Exception):
    """What a user's Ctrl-C comes to in a test."""


def test_a_config_names_the_divided_dataset(tiny):
    config = tiny(**SPLIT)
    assert (config.dataset, config.split) == ("xysquares/spacing_1.extrapolation", "train")
    assert RunConfig.from_json(config.as_json()) == config
    assert tiny(**SPLIT | {"split": "extrapolation:test"}).split == "test"
    assert str(default_folder(config)) == "runs/xysquares/spacing_1.extrapolation/beta_vae/seed_0"
    other = tiny(dataset="xysquares/spacing_1.extrapolation", split="train", train_share=1.0)
    assert other.digest == config.digest != tiny().digest


def test_a_divided_dataset_without_a_part_is_trained_on_its_part_train(tiny):
    config = tiny(dataset="dsprites/composition", train_share=1.0)
    dataset = benchmark_data.load(config.dataset)
    rows = training_rows(dataset, config.train_share, config.split)
    assert not np.isin(protocol.task(config.dataset).test, rows).any()
    assert len(rows) == len(dataset.splits["train"])
    assert config.digest == tiny(dataset="dsprites", split="composition", train_share=1.0).digest
    assert settings(config)["split"] == "train", "it is recorded"


def test_digests_of_configs_without_a_rule_are_what_they_were():
    """Taken before there were rules: runs are found by them."""
    plain = RunConfig(dataset="xysquares/spacing_1", objective="beta_vae")
    pair = RunConfig(dataset="symsol_dsprites/to_dsprites", objective="ae", split="target_train")
    assert plain.digest[:16] == "2650124edd479c84"
    assert pair.digest[:16] == "f5843769466fe4d7"


def test_only_the_rules_rows_are_trained_on(tiny):
    config = tiny(**SPLIT)
    dataset = benchmark_data.load(config.dataset)
    found = benchmark_data.split("xysquares/spacing_1", "extrapolation")
    rows = training_rows(dataset, config.train_share, config.split)
    assert sorted(dataset.extra("row", rows)) == found.train.tolist()
    held_out = training_rows(dataset, 1.0, "test")
    assert sorted(dataset.extra("row", held_out)) == found.test.tolist()
    drawn = [
        draw_batch(config, config.build_objective(), dataset, rows, step, images=False)["rows"] for step in range(1, 50)
    ]
    assert dataset.labels(np.concatenate(drawn)).max() == 5  # of 8 values the last two are held out
    with pytest.raises(UnknownName, match=r"split of xysquares/spacing_8: expected one of composition, .*, train, rec"):
        training_rows(benchmark_data.load("xysquares"), 1.0, "validation")


def test_a_run_that_was_stopped_ends_with_the_same_bytes(tiny, tmp_path):
    config = tiny(**SPLIT, steps=8, snapshots=[3], history_every=1)

    def stop(step, scalars):
        if step == 6:
            raise Stop

    whole = train(config, tmp_path / "whole")
    with pytest.raises(Stop):
        train(config, tmp_path / "stopped", observers=[stop])
    again = train(read_config(tmp_path / "stopped"), tmp_path / "stopped")
    for name in ("snapshots/step_00000008/weights.npz", "snapshots/step_00000008/optimiser.npz", "history.jsonl"):
        assert (again.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    record = json.loads((again.folder / "run.json").read_text())
    assert record["dataset"] == "xysquares/spacing_1.extrapolation"
    assert (record["hyperparameters"]["split"], record["hyperparameters"]["train_share"]) == ("train", 1.0)
    assert record["dataset_digest"] == benchmark_data.load(record["dataset"]).digest()._asdict()


def test_the_command_trains_and_its_codes_are_scored_on_held_out_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["--set", "architecture=fc", "--set", "width=8", "--set", "latents=3", "--set", "batch_size=4"]
    words = ["run", "--dataset", "xysquares/spacing_1", "--objective", "ae", "--split", "composition", "--steps", "2"]
    done = typer.testing.CliRunner().invoke(cli.app, [*words, *small])
    assert done.exit_code == 0, done.output
    folder = tmp_path / "runs/xysquares/spacing_1.composition/ae/seed_0"
    task = protocol.task("xysquares/spacing_1.composition")
    run = candidates.load(folder)
    assert (run.record.dataset, run.codes.shape) == ("xysquares/spacing_1.composition", (15_000, 3))
    dataset, split = task.load(), benchmark_data.split("xysquares/spacing_1", "composition")
    assert np.isin(dataset.extra("row", task.train), split.train).all()
    assert np.isin(dataset.extra("row", task.test), split.test).all()


def test_ones_own_images_are_divided_by_a_rule_for_any_dataset(tiny, tmp_path):
    mine = benchmark_data.from_images("mine", np.arange(40 * 64, dtype=np.uint64).astype(np.uint8).reshape(40, 8, 8))
    run = train(tiny(dataset="mine", split="holdout"), tmp_path / "run", dataset=mine)
    assert (run.config.dataset, run.dataset.id, run.dataset.splits["test"]) == (
        "mine/holdout",
        "mine/holdout",
        range(36, 40),
    )
    with pytest.raises(InvalidInput, match="split rule 'composition': expected a dataset that is a full grid"):
        train(tiny(dataset="mine", split="composition"), tmp_path / "other", dataset=mine)


def test_pairs_are_drawn_within_the_part_to_train_on(tiny):
    """The rule extrapolation leaves the grid of the first six values of each factor."""
    config = tiny(**SPLIT | {"train_share": 0.5}, objective="ada_gvae")
    dataset = benchmark_data.load(config.dataset)
    first = set(training_rows(dataset, 0.5, "train").tolist())
    with batches([config], dataset, [0], images=False) as feed:
        drawn = np.stack([batch["rows"].reshape(2, -1) for (batch,) in feed])
    assert dataset.splits["train"].stop == 6**6
    assert drawn.max() < 6**6
    assert first.issuperset(drawn[:, 0].ravel().tolist())
    assert not first.issuperset(drawn[:, 1].ravel().tolist()), "partners are from the whole part"
    one, other = (dataset.labels(drawn[:, view].ravel()) for view in (0, 1))
    assert 0 < (one != other).sum() < one.size


def test_pairs_need_a_part_that_is_a_grid(tiny, tmp_path):
    with pytest.raises(
        InvalidInput, match="objective on pairs: expected a dataset that is a full grid of factors, or a part that is"
    ):
        train(tiny(**{**SPLIT, "split": "composition"}, objective="ada_gvae"), tmp_path / "run")


def test_the_desks_sweep_has_four_seeds_of_every_rule_with_the_desks_settings():
    every = sweep.find("desk_splits")
    configs = [config for config in every if config.objective == "beta_vae"]
    assert len({config.digest for config in configs}) == len(desk_splits.RULES) * 4
    assert {protocol.task(config.dataset).id for config in configs} <= {task.id for task in protocol.tasks()}
    plain = {c.seed: c for c in sweep.find("desk") if (c.dataset, c.objective) == ("dsprites", "beta_vae")}
    for config in configs:
        own = {"dataset": config.dataset, "split": "train", "train_share": 1.0}
        assert config == dataclasses.replace(plain[config.seed], **own)
    hfs = [config for config in every if config not in configs]
    assert len({config.digest for config in hfs}) == len(desk_splits.CORRELATED) * 4
    beside = {(c.dataset, c.seed): c for c in configs}
    whole = next(c for c in sweep.find("desk_since2020") if (c.dataset, c.objective) == ("dsprites", "hfs"))
    for config in hfs:
        own = {name: getattr(whole, name) for name in ("objective", "hyperparameters", "selection")}
        assert config == dataclasses.replace(beside[config.dataset, config.seed], **own)
