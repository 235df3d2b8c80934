"""Codes for others: a target's rows for the transfer evaluation, and a submission that validates and scores."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import benchmark_data
import leaderboard
from baselines import RunConfig, train
from baselines.commands import train as cli
from benchmark_data import InvalidInput
from leaderboard import protocol
from leaderboard.reading import representations
from leaderboard.scoring import submission
from tests.leaderboard import scored_submission

TINY = {
    "objective": "beta_vae",
    "architecture": "fc",
    "architecture_parameters": {"width": 8},
    "latents": 3,
    "steps": 2,
    "batch_size": 4,
    "snapshots": [],
}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Score 300 rows of each dataset, by MIG alone, so that all is done in a moment."""
    tier = protocol.Tier("smoke", "For tests.", (protocol.Measurement("mig", train=200),))
    monkeypatch.setattr(protocol, "TIERS", {"smoke": tier})
    monkeypatch.setattr(protocol, "TRAIN", 200)
    monkeypatch.setattr(protocol, "TEST", 100)
    protocol.task.cache_clear()
    yield
    protocol.task.cache_clear()


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Runs of two datasets and two seeds."""
    folder = tmp_path_factory.mktemp("seeds")
    return {
        (dataset, seed): train(RunConfig(**TINY | {"dataset": dataset, "seed": seed}), folder / dataset / str(seed))
        for dataset in ("xysquares/spacing_1", "xysquares/spacing_8")
        for seed in (0, 1)
    }


def call(command):
    return CliRunner().invoke(cli.app, command.split(), catch_exceptions=False)


def test_run_folders_make_a_submission_that_validates_and_scores(seeds, tmp_path):
    """Of several datasets together: each run's codes, budget and settings are in it."""
    done = call(f"encode {' '.join(str(run.folder) for run in seeds.values())}")
    assert done.stdout.split() == [str(run.folder / "codes.npz") for run in seeds.values()]
    evaluations = [
        leaderboard.evaluate(
            [str(seeds[dataset, seed].folder) for seed in (0, 1)], dataset, name="my_vae", tier="smoke"
        )
        for dataset in ("xysquares/spacing_1", "xysquares/spacing_8")
    ]
    folder = tmp_path / "submission"
    (evaluations[0] + evaluations[1]).submission(folder)
    content = json.loads((folder / submission.FILE).read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    (folder / submission.FILE).write_text(json.dumps(content), "utf-8")
    assert submission.check(folder).problems == []
    scored = scored_submission.score(folder)
    assert [(result.task, len(result.runs)) for result in scored] == [
        ("xysquares/spacing_1@v1", 2),
        ("xysquares/spacing_8@v1", 2),
    ]
    for (dataset, seed), run in seeds.items():
        rows = np.load(folder / dataset / "rows.npy")
        with np.load(folder / dataset / f"seed_{seed}.npz") as written:
            np.testing.assert_array_equal(written["indices"], rows)
            np.testing.assert_array_equal(written["codes"], run.encode(run.dataset.images(rows)).mean)
        record = json.loads((run.folder / "run.json").read_text())
        assert content["tasks"][dataset]["seeds"][seed]["budget"] == record["budget"]
    assert content["hyperparameters"] == record["hyperparameters"]
    assert (content["supervision"], content["versions"]) == ("unsupervised", record["versions"])


def test_codes_of_a_published_dataset_are_those_of_its_task(tmp_path):
    """Also where the dataset was handed to training, not named."""
    data = benchmark_data.load("xysquares/spacing_1")
    run = train(RunConfig(**TINY | {"dataset": data.id}), tmp_path / "run", dataset=data)
    with np.load(run.encode_task()) as written:
        np.testing.assert_array_equal(written["indices"], protocol.task(data.id).indices)


def test_codes_of_a_target_are_what_the_transfer_evaluation_reads(seeds, tmp_path):
    run, target = seeds["xysquares/spacing_1", 0], benchmark_data.load("xysquares/spacing_8")
    path = tmp_path / "codes.npz"
    done = call(f"encode {run.folder} --dataset {target.id} --to {path}")
    assert done.stdout.strip() == str(path)
    found = representations.codes(path, dataset=target.id)
    rows = protocol.task(target.id).indices
    np.testing.assert_array_equal(found.indices, rows)
    np.testing.assert_array_equal(found.codes, run.encode(target.images(rows)).mean)
    np.testing.assert_array_equal(found.factors, target.labels(rows))
    call(f"encode {run.folder} --to {tmp_path}/own.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "own.npz")["codes"], np.load(run.encode_task())["codes"])
    for command, message in (
        (
            f"encode {run.folder} --dataset dsprites --to {path}",
            r"images of dsprites: expected shape \(64, 64, 3\)",
        ),
        (f"encode {run.folder} --step 0", "--step and --images need --layers: codes for scoring are those of"),
        (f"encode {run.folder} --images 50", "--step and --images need --layers: codes for scoring are those of"),
        (f"encode {run.folder} --dataset {target.id}", "--dataset needs --to FILE.npz."),
        (f"encode {run.folder} {run.folder} --dataset {target.id} --to {path}", "accepts one run, not 2"),
        (f"encode {run.folder} {run.folder} --to {path}", "accepts one run, not 2"),
        (f"encode {run.folder} --dataset {target.id} --to {tmp_path}/codes.npy", "--to: expected a file name that"),
    ):
        with pytest.raises(InvalidInput, match=message):
            call(command)


def test_activations_of_the_run_and_of_a_target(seeds, tmp_path):
    run, target = seeds["xysquares/spacing_1", 0], benchmark_data.load("xysquares/spacing_8")
    call(f"encode --layers {run.folder} --to {tmp_path}/own.npz --images 5")
    call(f"encode --layers {run.folder} --to {tmp_path}/target.npz --images 5 --dataset {target.id} --step 2")
    for name, dataset in (("own", run.dataset), ("target", target)):
        found = representations.activations(tmp_path / f"{name}.npz")
        rows = np.load(tmp_path / f"{name}.npz")["indices"]
        np.testing.assert_array_equal(rows, protocol.task(dataset.id).test[:5])
        expected = run.activations(dataset.images(rows))
        assert list(found) == list(expected)
        np.testing.assert_array_equal(found["mean"], expected["mean"])
    two = [seeds["xysquares/spacing_1", seed].folder for seed in range(2)]
    call(f"encode --layers {two[0]} {two[1]} --images 5 --dataset {target.id}")
    representations.check_same_rows([tmp_path / "target.npz", *two])
    with pytest.raises(InvalidInput, match=rf"expected those of the images of {tmp_path}/own.npz"):
        representations.check_same_rows([tmp_path / "own.npz", *two])
    with pytest.raises(InvalidInput, match=r"both\.npz accepts one run, not 2"):
        call(f"encode --layers {two[0]} {two[1]} --to {tmp_path}/both.npz")
    with pytest.raises(InvalidInput, match=r"--to: expected a file name that ends in .npz, received x.npy"):
        call(f"encode --layers {run.folder} --to x.npy")
    with pytest.raises(InvalidInput, match=r"step of .*: expected one of \[0, 2\], received 9"):
        call(f"encode --layers {run.folder} --step 9")
