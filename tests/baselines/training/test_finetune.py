"""Transfer: what is frozen does not move, what is reset starts anew, and a stopped transfer goes on exactly."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from baselines import RunConfig, objectives, train
from baselines.commands import train as cli
from baselines.model import Model, layer_of
from baselines.run import Run
from baselines.run_folder import Snapshots, read_arrays
from baselines.training import claims, finetune
from baselines.training.batches import training_rows
from benchmark_data import DamagedFile, InvalidInput, UnknownName, load

TARGET = "xysquares/spacing_2"
CONV_DECODER = ["decoder_1", "decoder_2", "decoder_3", "decoder_4", "decoder_5", "output"]


def weights(folder, step):
    return read_arrays(Snapshots(folder).path(step) / "weights.npz")


def fresh(config):
    target = load(config.dataset)
    return Model(config, target.image_shape, target.space.sizes).weights()


@pytest.fixture(scope="module")
def conv(tmp_path_factory):
    """A run of the papers' architecture, of one step."""
    config = RunConfig(
        dataset="xysquares/spacing_1", objective="beta_vae", latents=3, steps=1, batch_size=2, snapshots=[]
    )
    return train(config, tmp_path_factory.mktemp("source") / "conv")


@pytest.mark.parametrize(
    ("side", "heads", "decoder", "reset"),
    [
        ("inside", True, 1, {"mean", "log_variance", "decoder_1"}),  # the authors' code
        ("inside", False, 3, {"decoder_1", "decoder_2", "decoder_3"}),
        ("outside", True, 2, {"mean", "log_variance", "decoder_5", "output"}),
        ("outside", False, 6, set(CONV_DECODER)),
        ("inside", True, 0, {"mean", "log_variance"}),
    ],
)
def test_frozen_layers_stay_and_reset_layers_start_anew(conv, tmp_path, side, heads, decoder, reset):
    config = finetune.config(
        conv.folder, TARGET, side=side, heads=heads, decoder=decoder, steps=2, seed=9, snapshots=[0], train_share=0.5
    )
    assert set(config.reset) == reset
    assert (config.dataset, config.seed, config.train_share, config.latents) == (TARGET, 9, 0.5, 3)
    run = train(config, tmp_path / "run")
    source, new = weights(conv.folder, 1), fresh(config)
    before, after = weights(run.folder, 0), weights(run.folder, 2)
    assert list(source) == list(before) == list(after)
    seen = set()
    for name in source:
        layer = layer_of(name)
        seen.add(layer)
        if layer in reset:
            np.testing.assert_array_equal(before[name], new[name])
            assert (after[name] != before[name]).any(), name
            assert name.endswith("bias") or (before[name] != source[name]).any(), name
        else:
            np.testing.assert_array_equal(before[name], source[name])
            np.testing.assert_array_equal(after[name], source[name])
    assert seen == {*(f"encoder_{i}" for i in (1, 2, 3, 4, 6)), "mean", "log_variance", *CONV_DECODER}
    moments = read_arrays(Snapshots(run.folder).path(2) / "optimiser.npz")
    assert {layer_of(n.partition("/")[2]) for n, a in moments.items() if a.any()} == reset


def test_another_objective_has_its_own_defaults(conv):
    held = finetune.config(conv.folder, TARGET).hyperparameters
    other = finetune.config(conv.folder, TARGET, objective="beta_tc_vae")
    assert (other.hyperparameters["beta"], held["beta"]) == (objectives.find("beta_tc_vae").beta, 4.0)
    assert finetune.config(conv.folder, TARGET, objective="factor_vae").hyperparameters["gamma"]
    given = finetune.config(conv.folder, TARGET, objective="beta_tc_vae", hyperparameters={"beta": 2.0})
    assert given.hyperparameters["beta"] == 2.0


def test_hyperparameters_that_are_not_given_are_the_sources(tiny, tmp_path):
    units_and_gamma = {"units": 8, "gamma": 2.0}
    source = train(tiny(objective="factor_vae", hyperparameters=units_and_gamma, steps=0, snapshots=[]), tmp_path / "a")
    changed = finetune.config(source.folder, TARGET, hyperparameters={"gamma": 3.0}).hyperparameters
    assert (changed["units"], changed["gamma"]) == (8, 3.0)
    with pytest.raises(InvalidInput, match="hyperparameters: expected keys and values, received 3"):
        finetune.config(source.folder, TARGET, hyperparameters=3)


def test_what_starts_anew_is_not_what_the_source_began_with(conv, tmp_path):
    """Also with the seed of the source, and of a source that started from another itself."""
    began = fresh(conv.config)
    first = train(finetune.config(conv.folder, TARGET, decoder=6, steps=1, snapshots=[0]), tmp_path / "first")
    second = train(finetune.config(first.folder, TARGET, decoder=6, steps=1, snapshots=[0]), tmp_path / "second")
    assert conv.config.seed == first.config.seed == second.config.seed
    anew, again = weights(first.folder, 0), weights(second.folder, 0)
    kernels = [name for name in began if layer_of(name) in first.config.reset and name.endswith("kernel")]
    assert len(kernels) == 8
    for name in kernels:
        assert (anew[name] != began[name]).mean() > 0.99, name
        assert (again[name] != anew[name]).mean() > 0.99, name
        assert anew[name].std() == pytest.approx(began[name].std(), rel=0.5), name


def test_what_is_neither_frozen_nor_reset_goes_on_from_the_source(trained, tiny, tmp_path):
    config = tiny(dataset=TARGET, start_from=str(trained.folder), steps=1, snapshots=[0])
    run = train(config, tmp_path / "run")
    source, before, after = weights(trained.folder, 6), weights(run.folder, 0), weights(run.folder, 1)
    for name in source:
        np.testing.assert_array_equal(before[name], source[name])
        assert (after[name] != before[name]).any(), name
    assert run.config.start_weights == finetune.digest(source)


def test_a_network_of_the_objective_starts_anew(trained, tiny, tmp_path):
    settings = {"dataset": TARGET, "objective": "factor_vae", "hyperparameters": {"units": 4}, "snapshots": [0]}
    config = tiny(**settings, start_from=str(trained.folder), frozen=["encoder_2"], steps=1)
    run = train(config, tmp_path / "run")
    source, new = weights(trained.folder, 6), fresh(run.config)
    before, after = weights(run.folder, 0), weights(run.folder, 1)
    own = [name for name in before if name not in source]
    assert own
    for name in before:
        np.testing.assert_array_equal(before[name], new[name] if name in own else source[name])
        assert (after[name] == before[name]).all() == (layer_of(name) == "encoder_2"), name


def test_a_stopped_transfer_goes_on_exactly_without_its_source(trained, tmp_path):
    source = shutil.copytree(trained.folder, tmp_path / "source")
    config = finetune.config(source, TARGET, steps=4, snapshots=[2], history_every=1)
    whole = train(config, tmp_path / "whole")
    for kept in ("config.json", "start.npz", "run.json", "snapshots/step_00000002"):
        here, there = whole.folder / kept, tmp_path / "half" / kept
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)
    lines = (whole.folder / "history.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "half" / "history.jsonl").write_text("".join(lines[:3]))
    for name in ("config.json", "start.npz"):  # killed before its first snapshot
        (tmp_path / "begun").mkdir(exist_ok=True)
        shutil.copy(whole.folder / name, tmp_path / "begun" / name)
    shutil.rmtree(source)
    for stopped in ("half", "begun"):
        train(dataclasses.replace(config, start_weights=""), tmp_path / stopped)
        for file in ("history.jsonl", "snapshots/step_00000004/weights.npz", "snapshots/step_00000004/optimiser.npz"):
            assert (tmp_path / stopped / file).read_bytes() == (whole.folder / file).read_bytes()


def test_the_record_says_what_was_transferred_and_a_plain_run_does_not(trained, tmp_path):
    config = finetune.config(trained.folder, TARGET, steps=0)
    record = json.loads((train(config, tmp_path / "run").folder / "run.json").read_text())["hyperparameters"]
    assert record["start_weights"] == config.start_weights
    assert record["reset"] == ["decoder_1", "log_variance", "mean"]
    assert "encoder_2" in record["frozen"]
    plain = json.loads((trained.folder / "run.json").read_text())["hyperparameters"]
    assert not {"start_from", "start_weights", "reset", "frozen", "split"}.intersection(plain)


def test_training_rows_of_a_split():
    pair = load("solids_dsprites/to_dsprites")
    rows = training_rows(pair, 0.5, "target_train")
    split = pair.splits["target_train"]
    assert len(rows) == len(set(rows.tolist())) == len(split) // 2
    assert split.start <= rows.min() < rows.max() < split.stop
    with pytest.raises(UnknownName, match=r"split of solids_dsprites/to_dsprites: .* Did you mean 'target_train'"):
        training_rows(pair, 0.5, "target_trian")


def test_what_cannot_be_started_from(trained, tiny, tmp_path):
    there, into = str(trained.folder), tmp_path / "run"
    with pytest.raises(
        InvalidInput, match="start_from: expected a run folder, which reset, frozen and start_weights need"
    ):
        tiny(frozen=["mean"])
    with pytest.raises(InvalidInput, match="layers: expected each in reset or in frozen, received mean in both"):
        tiny(start_from=there, frozen=["mean"], reset=["mean"])
    with pytest.raises(InvalidInput, match="frozen: expected a list of layers' names, received 'mean'"):
        tiny(start_from=there, frozen="mean")
    with pytest.raises(UnknownName, match=r"layer with weights of .*'decoder_9'. Did you mean 'decoder_3'"):
        train(tiny(start_from=there, frozen=["decoder_9"]), into)
    for changes, message in (
        ({"latents": 4}, "latents: expected 3, that of .*, received 4"),
        (
            {"architecture_parameters": {"width": 9}},
            "architecture_parameters: expected {'width': 8}, .*, received {'width': 9}",
        ),
        (
            {"dataset": "dsprites"},
            r"image shape: expected \(64, 64, 3\), .*, received \(64, 64, 1\)\. Choose a dataset",
        ),
        ({"start_weights": "0" * 64}, "weights of .*: expected 000"),
    ):
        with pytest.raises(InvalidInput, match=message):
            train(tiny(start_from=there, **changes), into)
    with pytest.raises(DamagedFile, match=r"nowhere: expected a run folder, which has config"):
        train(tiny(start_from="nowhere"), into)
    unfinished = shutil.copytree(trained.folder, tmp_path / "unfinished")
    shutil.rmtree(unfinished / "snapshots/step_00000006")
    with pytest.raises(InvalidInput, match=r"expected a finished run of 6 steps, received step 4"):
        finetune.config(unfinished, TARGET)
    with pytest.raises(InvalidInput, match=r"decoder \(--decoder\): expected 0 to 4, the layers of .*, received 5"):
        finetune.config(there, TARGET, decoder=5)
    for decoder in ("1", 1.5, None):
        with pytest.raises(InvalidInput, match=rf"decoder \(--decoder\): .*, received {decoder!r}\."):
            finetune.config(there, TARGET, decoder=decoder)
    with pytest.raises(InvalidInput, match=r"decoder \(--decoder\): expected 1 to 4, the layers of .*, received 0"):
        finetune.config(there, TARGET, decoder=0, heads=False)
    with pytest.raises(UnknownName, match=r"side: .* Did you mean 'inside'"):
        finetune.config(there, TARGET, side="insid")
    assert not into.exists()


def test_a_damaged_copy_of_the_source_is_refused(trained, tmp_path):
    config = finetune.config(trained.folder, TARGET, steps=1)
    folder = tmp_path / "run"
    (folder).mkdir()
    (folder / "config.json").write_text(json.dumps(config.as_json()))
    np.savez(folder / "start.npz", **{n: a + 1 for n, a in weights(trained.folder, 6).items()})
    with pytest.raises(DamagedFile, match=r"start.npz: expected the weights with the hash \w{16} that the run starts"):
        train(config, folder)


def test_a_source_that_changed_before_its_weights_were_copied_is_refused(trained, tmp_path):
    config = dataclasses.replace(finetune.config(trained.folder, TARGET, steps=1), start_weights="0" * 64)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config.as_json()))
    with pytest.raises(DamagedFile, match=r"expected the weights with the hash 0{16} that the run starts from"):
        train(config, folder)


def test_the_command(trained, tmp_path, few_rows):
    command = f"transfer {trained.folder} --dataset {TARGET} --decoder 2 --steps 1 --seed 4"
    done = CliRunner().invoke(cli.app, [*command.split(), "--to", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["reset"], config["seed"], config["steps"]) == (
        ["decoder_1", "decoder_2", "log_variance", "mean"],
        4,
        1,
    )
    assert (tmp_path / "run" / "codes.npz").exists()


def transferred(*words):
    done = CliRunner().invoke(cli.app, ["transfer", *map(str, words), "--no-encode"], catch_exceptions=False)
    return done.stdout.splitlines()[-1]


def test_different_transfers_have_different_default_folders(trained, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources = [trained.folder, train(tiny(seed=1), tmp_path / "other" / trained.folder.name).folder]
    same = [(source, "--dataset", TARGET, "--steps", 1) for source in (*sources, sources[0])]
    folders = [transferred(*words) for words in [*same, (*same[0], "--set", "beta=2")]]
    assert (len(set(folders)), folders[0]) == (3, folders[2])


def test_a_transfer_to_another_objective_or_architecture(trained, tmp_path):
    asked = (trained.folder, "--dataset", TARGET, "--steps", 1, "--to", tmp_path / "run")
    message = "architecture: expected fc, that of .*, which this run starts from, received conv"
    with pytest.raises(InvalidInput, match=message):
        transferred(*asked, "--set", "architecture=conv")
    transferred(*asked, "--set", "objective=ae")
    assert Run.open(tmp_path / "run").config.objective == "ae"


@pytest.mark.parametrize(
    ("objective", "elsewhere", "supervision"),
    [
        ("regression", False, "supervised"),
        ("regression", True, "pretrained"),
        ("ae", False, "unsupervised"),
        ("ae", True, "pretrained"),
    ],
)
def test_a_run_saw_what_its_source_saw(tiny, tmp_path, objective, elsewhere, supervision):
    source = train(tiny(objective=objective, steps=1, snapshots=[]), tmp_path / "source")
    target = TARGET if elsewhere else source.config.dataset
    config = finetune.config(source.folder, target, decoder=0, objective="beta_vae", steps=1, snapshots=[])
    folder = train(config.with_steps(0), tmp_path / "run").folder
    shutil.rmtree(source.folder)
    train(tiny(objective="classifier", steps=1, snapshots=[]), source.folder)  # another run in its place
    claims.lengthen(folder, 1)
    train(Run.open(folder).config, folder)
    assert json.loads((folder / "run.json").read_text())["supervision"] == supervision


def test_an_objective_without_a_decoder_takes_the_encoder_alone(trained, tmp_path):
    config = finetune.config(trained.folder, TARGET, decoder=0, objective="simclr", steps=1, snapshots=[0])
    found, source = weights(train(config, tmp_path / "run").folder, 0), weights(trained.folder, trained.config.steps)
    kept = [name for name in found if name.startswith("encoder") and layer_of(name) not in config.reset]
    assert kept
    for name in kept:
        np.testing.assert_array_equal(found[name], source[name])
    assert not any(name.startswith("decoder") for name in found)


def test_layers_of_another_size_must_be_reset(tiny, tmp_path):
    source = train(tiny(objective="classifier", steps=1, snapshots=[]), tmp_path / "source")
    config = finetune.config(source.folder, TARGET, heads=False, objective="beta_vae", steps=1)
    with pytest.raises(InvalidInput, match=r"kernel of .*: expected shape .* the codes differ in size. Reset "):
        train(config, tmp_path / "run")
