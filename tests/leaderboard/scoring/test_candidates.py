"""Run folders in, results out; whatever is wrong with a folder is said before anything is scored."""

import json

import numpy as np
import pytest

from benchmark_data import discovery
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName
from benchmark_data.variants import splitting
from leaderboard import protocol
from leaderboard.metrics import dci, mig
from leaderboard.scoring import candidates, measure
from leaderboard.store import results
from tests.leaderboard import scored_submission


def test_scores_are_those_of_the_metrics_on_the_protocols_rows(run_folder):
    folders = [run_folder(seed=seed) for seed in (1, 0)]
    (result,) = scored_submission.score_runs(folders)
    assert (result.task, result.method, result.title) == ("toy/small@v1", "beta_vae", "β-VAE")
    assert [run.seed for run in result.runs] == [0, 1]
    task = protocol.task("toy/small")
    codes, labels = np.load(folders[1] / "codes.npz")["codes"], task.labels()
    train, test = slice(0, 40), slice(40, 60)
    expected = mig.score(codes[train], labels[train])
    expected |= {
        f"dci.{name}": value
        for name, value in dci.score(
            codes[train], labels[train], codes_test=codes[test], factors_test=labels[test]
        ).items()
    }
    assert result.runs[0].scores == pytest.approx(expected)


def test_everything_that_decides_a_score_is_recorded(run_folder):
    (result,) = scored_submission.score_runs([run_folder()], status="reproduced")
    run = result.runs[0]
    assert (run.tier, run.status, run.latents, run.dataset_version) == ("desk", "reproduced", 3, "1.0.0")
    assert run.rows_digest == protocol.task("toy/small").digest
    assert run.samples["mig"].train == 40
    assert (run.samples["dci"].train, run.samples["dci"].test) == (40, 20)
    assert run.scored_with["numpy"] == np.__version__
    assert run.budget.images == 6400


def test_several_methods_and_tasks_at_once(run_folder, one_tier):
    folders = [run_folder(m, d) for m in ("pca", "beta_vae") for d in ("toy/spacing_8", "toy/spacing_1")]
    found = list(scored_submission.score_runs(folders))
    assert [(r.task, r.method) for r in found] == [
        ("toy/spacing_1@v1", "beta_vae"),
        ("toy/spacing_1@v1", "pca"),
        ("toy/spacing_8@v1", "beta_vae"),
        ("toy/spacing_8@v1", "pca"),
    ]


def test_claims_are_kept_apart(run_folder, one_tier):
    run = next(scored_submission.score_runs([run_folder(claimed={"mig": 0.99})])).runs[0]
    assert run.claimed == {"mig": 0.99}
    assert run.scores["mig"] < 0.9


def test_a_claim_that_the_tier_does_not_compute_is_left_out(run_folder, one_tier):
    protocol.TIERS["desk"] = protocol.Tier("desk", "For tests.", (protocol.Measurement("mig"),))
    folder = run_folder(claimed={"mig": 0.99, "dci.disentanglement": 0.9})  # the second is of the other tier
    run = next(scored_submission.score_runs([folder])).runs[0]
    assert run.claimed == {"mig": 0.99}


def test_no_folders():
    with pytest.raises(InvalidInput, match="runs: expected at least one, received none"):
        list(scored_submission.score_runs([]))


def test_an_empty_folder(tmp_path):
    with pytest.raises(DamagedFile, match=r"expected a run folder, which has run\.json, received a folder without it"):
        list(scored_submission.score_runs([tmp_path]))


def test_two_descriptions_of_one_method(run_folder):
    folders = [run_folder(seed=seed, about={"title": title}) for seed, title in enumerate(("β-VAE", "VAE of mine"))]
    with pytest.raises(InvalidInput, match=r"about\.title: expected 'β-VAE', as in .*, received 'VAE of mine'"):
        list(scored_submission.score_runs(folders))


def test_the_same_seed_twice(run_folder, tmp_path):
    folder = run_folder()
    copy = tmp_path / "copy"
    folder.rename(copy)
    with pytest.raises(InvalidInput, match="expected another seed of beta_vae on toy/small than 0"):
        list(scored_submission.score_runs([run_folder(), copy]))
    with pytest.raises(InvalidInput, match=r"than 0, received the same as in .*copy"):
        list(scored_submission.score_runs([copy, copy]))
    record = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(record | {"dataset": "toy"}))
    with pytest.raises(InvalidInput, match="expected another seed of beta_vae on toy than 0"):
        list(scored_submission.score_runs([run_folder(), copy]))


@pytest.mark.parametrize("method", ["beta_vae", "pca"])
def test_the_same_codes_for_two_seeds(run_folder, one_tier, method):
    codes = np.random.default_rng(0).standard_normal((60, 3))
    folders = [run_folder(method, seed=seed, codes=codes) for seed in (0, 1)]
    with pytest.raises(InvalidInput, match=r"-1: expected codes of a separate training .*, received the same codes"):
        list(scored_submission.score_runs(folders))


def test_the_same_latents_in_another_order_are_another_training_of_a_reference_alone(run_folder):
    codes = np.random.default_rng(0).standard_normal((60, 3))
    for method in ("beta_vae", "pca"):
        group = [candidates.load(run_folder(method, seed=i, codes=codes[:, :: 1 - 2 * i])) for i in (0, 1)]
        problems = [str(problem) for problem in candidates.repeated_codes(group)]
        assert ["received up to order, sign and scale of latents the same codes" in p for p in problems] == (
            [True] if method == "beta_vae" else []
        )


def test_seeds_with_different_settings_are_no_one_method(run_folder, one_tier):
    with pytest.raises(
        InvalidInput, match=r"hyperparameters of seed 1: expected .*'beta': 1.0.*received .*'beta': 4.0"
    ):
        list(scored_submission.score_runs([run_folder(seed=0), run_folder(seed=1, hyperparameters={"beta": 4.0})]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"method": "Beta VAE"}, "method: expected a lower-case name of .*, received 'Beta VAE'"),
        ({"method": None}, "method: expected a value, received nothing"),
        ({"seed": -1}, "seed: expected at least 0, received -1"),
        ({"seed": "0"}, "seed: expected an integer, received '0'"),
        ({"supervision": "none"}, "supervision: expected 'unsupervised', .* received 'none'"),
        ({"schema": 2}, "schema: expected 1, received 2"),
        (
            {"dataset_version": "2.0.0"},
            "dataset_version: expected 1.0.0, as in the installed toy/small, received 2.0.0",
        ),
        ({"dataset_digest": {"pixels": "0" * 64, "factors": "0" * 64}}, r"dataset_digest\.pixels: .*made from other"),
        ({"budget": {"steps": -1}}, r"budget\.steps: .*received -1.*\(3 more problems\.\)"),
        ({"about": {"paper": "javascript:alert(1)"}}, r"about\.paper: expected text that matches \^\(https"),
        ({"hyperparameters": {"beta": {"low": 1}}}, r"hyperparameters\.beta: expected a finite number, .*'low': 1}\.$"),
        ({"hyperparameters": {"betas": [1, float("nan")]}}, r"hyperparameters\.betas: .*received \[1, nan\]\.$"),
        ({"about": {"titel": "x"}}, r"about\.titel: expected no such field, .*Did you mean 'title'"),
        ({"about": {"versions": 1}}, r"about\.versions: expected no such field, [^?]*(mean '(?!versions')|Remove it)"),
    ],
)
def test_run_json_is_checked_field_by_field(run_folder, fields, message):
    with pytest.raises((DamagedFile, InvalidInput), match=message):
        list(scored_submission.score_runs([run_folder(**fields)]))


def test_the_name_of_a_reference_is_refused_as_another_name_too(run_folder):
    """As in run.json: the board had a method random__encoder, called so by --method."""
    with pytest.raises(InvalidInput, match="which differs from 'random_encoder' only in underscores"):
        candidates.load(run_folder()).renamed("random__encoder")


def test_an_unknown_tier(run_folder):
    with pytest.raises(UnknownName, match=r"tier: expected one of .*Did you mean 'study'"):
        list(scored_submission.score_runs([run_folder()], tier="studi"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "valid JSON"),
        (b"\xff\xfe", "valid JSON"),
        (b"[" * 100_000, "valid JSON, received recursion limit exceeded"),
        (b"[]", "an object"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "expected valid JSON, received number out of range"),
    ],
)
def test_run_json_that_is_no_json(run_folder, content, message):
    folder = run_folder()
    (folder / "run.json").write_bytes(content)
    with pytest.raises(DamagedFile, match=message):
        list(scored_submission.score_runs([folder]))


def test_run_json_that_is_huge(run_folder):
    folder = run_folder()
    with (folder / "run.json").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(DamagedFile, match="expected at most 16,777,216 bytes, received 1,000,000,000 bytes"):
        list(scored_submission.score_runs([folder]))


def test_codes_of_other_rows(run_folder):
    right = protocol.task("toy/small").indices
    with pytest.raises(InvalidInput, match="right rows in another order"):
        list(scored_submission.score_runs([run_folder(indices=right[::-1])]))
    with pytest.raises(
        InvalidInput, match=r"indices: expected the rows of toy/small@v1: \d+ at position 1.*that order"
    ):
        list(scored_submission.score_runs([run_folder(indices=np.r_[right[:1], right[:1], right[2:]])]))
    with pytest.raises(InvalidInput, match=r"received the rows of toy/spacing_1@v1: \d+"):
        list(scored_submission.score_runs([run_folder(indices=protocol.task("toy/spacing_1").indices)]))
    with pytest.raises(
        DamagedFile, match=r"indices: expected int or uint of shape \(60\), received int64 of shape \(9,"
    ):
        list(scored_submission.score_runs([run_folder(indices=right[:9])]))


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.full((60, 2), np.nan), "codes: expected finite numbers .* received nan at row 0, column 0"),
        (
            np.zeros((60, 2, 2, 1)),
            r"codes: expected float of shape \(60, any\) or \(60, any, any\), received float32 of shape "
            r"\(60, 2, 2, 1\)",
        ),
        (np.zeros((59, 2)), r"received float32 of shape \(59, 2\)"),
        (np.zeros((60, 0)), "codes: expected 1 to 2048 latents, received 0"),
        (np.zeros((60, 2049)), "codes: expected 1 to 2048 latents, received 2049"),
    ],
)
def test_codes_that_cannot_be_scored(run_folder, codes, message):
    with pytest.raises((DamagedFile, InvalidInput), match=message):
        list(scored_submission.score_runs([run_folder(codes=codes)]))


def test_what_says_that_it_was_trained_on_held_out_rows_is_not_scored_on_them(run_folder, toys):
    toys["toy/small.holdout"] = splitting.split(toys["toy/small"]).dataset
    for told in ({"split": "train", "train_share": 1.0}, {"split": "train"}, {"beta": 4.0}):
        candidates.grouped([candidates.load(run_folder(dataset="toy/small.holdout", hyperparameters=told))], "held_out")
    for told, received in (
        ({"split": "test"}, "received 'test'"),
        ({"split": "all"}, "received 'all'"),
        ({"train_share": 0.9}, "received none, with a train_share, which is a share of all rows"),
    ):
        folder = run_folder(dataset="toy/small.holdout", hyperparameters=told)
        candidates.grouped([candidates.load(folder)], "smoke")
        with pytest.raises(InvalidInput, match=rf"run.json: hyperparameters.split: expected 'train' .*{received}"):
            list(scored_submission.score_runs([folder], tier="held_out"))
    folder = run_folder(dataset="toy/small.holdout", hyperparameters={"split": "train", "start_weights": "0" * 64})
    with pytest.raises(
        InvalidInput, match=r"run.json: hyperparameters.start_weights: expected .* random initial weights"
    ):
        list(scored_submission.score_runs([folder], tier="held_out"))
    with pytest.raises(InvalidInput, match="tier held_out of toy/small: expected a dataset that a split rule divides"):
        list(scored_submission.score_runs([run_folder()], tier="held_out"))


def test_a_measurement_without_train_rows_is_of_the_held_out_ones_alone(run_folder, monkeypatch):
    held_out = protocol.Tier(
        "smoke",
        "For tests.",
        (protocol.Measurement("mig", train=0, test=15), protocol.Measurement("dci", train=0, test=18)),
    )
    monkeypatch.setattr(protocol, "TIERS", {"smoke": held_out})
    folder = run_folder()
    (result,) = scored_submission.score_runs([folder], tier="smoke")
    codes, labels = np.load(folder / "codes.npz")["codes"], protocol.task("toy/small").labels()
    expected = mig.score(codes[40:55], labels[40:55])
    learnt, tested = slice(40, 52), slice(52, 58)  # two thirds of the first 18 test rows, and the last third
    found = dci.score(codes[learnt], labels[learnt], codes_test=codes[tested], factors_test=labels[tested])
    expected |= {f"dci.{name}": value for name, value in found.items()}
    assert result.runs[0].scores == pytest.approx(expected)
    assert {name: (s.train, s.test) for name, s in result.runs[0].samples.items()} == {"mig": (0, 15), "dci": (0, 18)}


def test_a_factor_that_is_constant_in_held_out_rows_is_left_out_there():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (90, 3))
    factors[40:, 1] = 2
    measurements = (protocol.Measurement("mig", train=0, test=50), protocol.Measurement("dci", train=0, test=50))
    found = measure.score_codes(factors.astype(np.float32), factors, measurements, train=40)
    assert found.scores["mig"] == pytest.approx(mig.score(factors[40:, [0, 2]], factors[40:, [0, 2]])["mig"], abs=0.05)
    assert len(found.parts["mig"]["gaps"]) == 2
    with pytest.raises(InvalidInput, match="one value in column 1"):
        measure.score_codes(factors[40:].astype(np.float32), factors[40:], [protocol.Measurement("mig")], train=50)


def test_scores_far_below_zero_are_what_their_rounded_parts_come_to():
    """R² divides two parts; where a held-out factor hardly varies, one of them is small."""
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(3_000, 2)), rng.integers(0, 2, (3_000, 2))
    factors[1_000:, 1] = 0
    factors[1_500, 1] = 1  # a variance of 0.0005 among the held-out rows
    by_measure = protocol.Measurement("r_squared", train=1_000, test=2_000, arguments={"readout": "linear"})
    scored = measure.score_codes(codes, factors, (by_measure,), train=1_000)
    again = discovery.find("leaderboard.metrics", "r_squared", kind="metric").combine(scored.parts["r_squared"])
    assert min(scored.scores.values()) < -1
    for name, value in again.items():
        written = scored.scores[protocol.key("r_squared", name)]
        assert abs(written - value) <= results.ROUNDING * max(1.0, abs(value))


def test_a_score_that_is_none_is_named(run_folder, monkeypatch):
    """What cannot be is refused in the project's own words, wherever it comes from."""
    wrong = measure.Measured({"mig": 1.5, "dci.disentanglement": 0.5}, {})
    monkeypatch.setattr(measure, "score_codes", lambda *_, **__: wrong)
    with pytest.raises(InvalidInput, match=r"scores of beta_vae on toy/small, seed 0: scores\.mig: expected a number"):
        list(scored_submission.score_runs([run_folder(seed=0)]))
