"""Codes for others: a target's rows for the transfer evaluation, and a submission that validates and scores."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import benchmark_data
from baselines import RunConfig, train
from baselines.commands import train as cli
from baselines.outputs import encode
from baselines.run import Run
from benchmark_data import DamagedFile, InvalidInput
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


@pytest.fixture
def asked(tmp_path):
    """A submission's folder as its author gets it, with what only people know filled in."""
    tasks = ("xysquares/spacing_1", "xysquares/spacing_8")
    file = submission.init(tmp_path / "submission", "my_vae", tasks, tier="smoke", seeds=2)
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    file.write_text(json.dumps(content), "utf-8")
    return file.parent


def call(command):
    return CliRunner().invoke(cli.app, command.split(), catch_exceptions=False)


def test_a_filled_submission_validates_and_scores(seeds, asked):
    before = [str(problem) for problem in submission.check(asked).problems]
    assert any("supervision" in problem for problem in before)
    done = call(f"encode {' '.join(str(run.folder) for run in seeds.values())} --to {asked}")
    expected = [asked / dataset / f"seed_{seed}.npz" for dataset, seed in seeds]
    assert done.stdout.split() == [str(path) for path in expected]
    assert submission.check(asked).problems == []
    scored = scored_submission.score(asked)
    assert [(result.task, len(result.runs)) for result in scored] == [
        ("xysquares/spacing_1@v1", 2),
        ("xysquares/spacing_8@v1", 2),
    ]
    content = json.loads((asked / "submission.json").read_text())
    for (dataset, seed), run in seeds.items():
        rows = np.load(asked / dataset / "rows.npy")
        found = np.load(asked / dataset / f"seed_{seed}.npz")
        np.testing.assert_array_equal(found["indices"], rows)
        np.testing.assert_array_equal(found["codes"], run.encode(run.dataset.images(rows)).mean)
        record = json.loads((run.folder / "run.json").read_text())
        assert content["tasks"][dataset]["seeds"][seed]["budget"] == record["budget"]
    assert content["hyperparameters"] == record["hyperparameters"]
    assert (content["supervision"], content["versions"]) == ("unsupervised", record["versions"])


def test_what_its_author_wrote_stays(seeds, asked):
    path = asked / "submission.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"supervision": "supervised"}))
    encode.fill(asked, list(seeds.values()))
    assert json.loads(path.read_text())["supervision"] == "supervised"


def test_how_settings_were_chosen_is_told_to_the_board(asked, tmp_path):
    config = RunConfig(**TINY | {"dataset": "xysquares/spacing_1", "seed": 0, "selection": "beta by MIG"})
    encode.fill(asked, [train(config, tmp_path / "run")])
    assert json.loads((asked / submission.FILE).read_text("utf-8"))["selection"] == "beta by MIG"


def test_codes_of_a_published_dataset_are_those_of_its_task(tmp_path):
    """Also where the dataset was handed to training, not named."""
    data = benchmark_data.load("xysquares/spacing_1")
    run = train(RunConfig(**TINY | {"dataset": data.id}), tmp_path / "run", dataset=data)
    with np.load(run.encode_task()) as written:
        np.testing.assert_array_equal(written["indices"], protocol.task(data.id).indices)


def test_a_run_of_a_familys_default_dataset_fills_that_datasets_place(asked, tmp_path):
    run = train(RunConfig(**TINY | {"dataset": "xysquares", "seed": 0}), tmp_path / "run")
    assert encode.fill(asked, [run]) == [asked / "xysquares/spacing_8/seed_0.npz"]


def test_runs_that_a_submission_does_not_ask_for(seeds, asked, tmp_path):
    run = seeds["xysquares/spacing_1", 0]

    def changed(**changes):
        return train(RunConfig(**TINY | {"dataset": "xysquares/spacing_1", "seed": 1} | changes), tmp_path / "run")

    before = sorted(asked.rglob("*"))
    with pytest.raises(InvalidInput, match="runs: expected one for each dataset and seed, received two with the same"):
        encode.fill(asked, [run, run])
    with pytest.raises(InvalidInput, match=r"xysquares/spacing_1, seed 7 of .*: expected a dataset and seed of"):
        encode.fill(asked, [changed(seed=7)])
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(InvalidInput, match=r"hyperparameters of .*run: expected the same as in the other runs"):
        encode.fill(asked, [run, changed(hyperparameters={"beta": 9})])
    text = (asked / submission.FILE).read_text("utf-8")
    (asked / submission.FILE).write_text(json.dumps(json.loads(text) | {"hyperparameters": {"beta": 5}}), "utf-8")
    with pytest.raises(InvalidInput, match=r"hyperparameter beta of .*: expected 5, as in .*, received "):
        encode.fill(asked, [run])
    (asked / submission.FILE).write_text(text, "utf-8")
    other = Run.open(shutil.copytree(seeds["xysquares/spacing_1", 1].folder, tmp_path / "other"))
    record = json.loads((other.folder / "run.json").read_text())
    (other.folder / "run.json").write_text(json.dumps(record | {"method": "annealed_vae"}))
    with pytest.raises(InvalidInput, match=r"method of .*other: expected the same as in the other runs"):
        encode.fill(asked, [run, other])
    with pytest.raises(
        DamagedFile,
        match=r"nothing/submission.json: expected a submission, .* Begin one: off",
    ):
        encode.fill(tmp_path / "nothing", [run])
    (asked / "submission.json").write_text('{"tasks": {"xysquares/spacing_1": 3}}')
    with pytest.raises(DamagedFile, match=r"submission.json: expected tasks with seeds, received something else"):
        encode.fill(asked, [run])
    assert sorted(asked.rglob("*")) == before


@pytest.mark.parametrize(
    ("earlier", "later", "message"),
    [
        (
            {},
            {"reconstruction_weight": 9.0},
            "hyperparameter reconstruction_weight of .*: expected None, .*, received 9",
        ),
        ({"objective": "ae"}, {"objective": "classifier"}, "supervision of .*: expected at most unsupervised, .*, rec"),
    ],
)
def test_a_later_call_is_held_to_an_earlier_one(asked, tmp_path, earlier, later, message):
    """Also to settings that run.json leaves out at their defaults."""
    own = TINY | {"dataset": "xysquares/spacing_8"}
    first, second = (
        train(RunConfig(**own | changes | {"seed": seed}), tmp_path / str(seed))
        for seed, changes in enumerate((earlier, later))
    )
    encode.fill(asked, [first])
    encode.fill(asked, [first])
    with pytest.raises(InvalidInput, match=message):
        encode.fill(asked, [second])


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
    with pytest.raises(InvalidInput, match="--to FILE accepts one run, not 2"):
        call(f"encode --layers {two[0]} {two[1]} --to {tmp_path}/both.npz")
    with pytest.raises(InvalidInput, match=r"--to: expected a file name that ends in .npz, received x.npy"):
        call(f"encode --layers {run.folder} --to x.npy")
    with pytest.raises(InvalidInput, match=r"step of .*: expected one of \[0, 2\], received 9"):
        call(f"encode --layers {run.folder} --step 9")
