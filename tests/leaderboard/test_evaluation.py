"""From any encoder to scores, a comparison with published rows, and a row of the board."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import gc
import json
import math
import shutil
import types
import weakref
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import benchmark_data
import leaderboard
from benchmark_data.errors import InvalidInput, UnknownName
from leaderboard import evaluation, protocol, source
from leaderboard.doubts import ContinuousFactors, SameCodes
from leaderboard.encoding import OtherCodes
from leaderboard.metrics import mig, sap
from leaderboard.scoring import candidates, submission
from leaderboard.scoring.measure import LeftOut
from leaderboard.store import results_tree

TASK = "xysquares/spacing_8"
PLACES = np.stack([np.ones((64, 64)), *np.meshgrid(np.arange(64), np.arange(64))])
SUMS = np.einsum("shw,cd->hwcsd", PLACES, np.eye(3)).reshape(64 * 64 * 3, 9).astype(np.float32)
"""Of an image, as one row: what its channels add up to, and the same weighted with x and with y of each pixel."""


def squares(images):
    """Return x and y of each square: the centre of each channel, which is the factors themselves."""
    total, x, y = np.split(images.reshape(len(images), -1).astype(np.float32) @ SUMS, 3, axis=1)
    return np.concatenate([x / total, y / total], axis=1)


def blurred(seed):
    """Return an encoder of a few random sums of pixels, another one for each seed."""
    weights = np.random.default_rng(seed).normal(size=(64 * 64 * 3, 6)).astype(np.float32)
    return lambda images: images.reshape(len(images), -1).astype(np.float32) @ weights


@pytest.fixture(scope="module")
def solved():
    return leaderboard.evaluate(
        squares, TASK, name="squares", tier="smoke", steps=np.int64(33), about="reads the squares", progress=False
    )


@pytest.fixture(scope="module")
def random():
    return leaderboard.evaluate(
        [blurred(seed) for seed in range(5)], [TASK], name="sums", tier="smoke", steps=7, progress=False
    )


@pytest.fixture(scope="module")
def tree(random, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    random.save(folder)
    return folder


def test_scores_are_those_of_the_metrics_on_the_tasks_rows(random):
    task = protocol.task(TASK)
    expected = mig.score(blurred(3)(task.load().images(task.train)), task.labels()[: len(task.train)])["mig"]
    frame = random.frame()
    assert frame["seed"].tolist() == [0, 1, 2, 3, 4]
    assert frame["mig"][3] == pytest.approx(expected, rel=1e-4)
    assert "sums, tier smoke, 7 steps" in str(random)
    assert "uint8 (n, H, W, C) in [0, 255]" in str(random)


def test_an_encoder_that_solves_a_task_keeps_its_place(solved, tree):
    assert solved.frame()["mig"][0] > 0.99
    assert solved.rows[0].scored.marks == ()
    line = solved.compare("sums", published=tree).set_index("score").loc["mig"]
    assert line["verdict"] == "significantly higher"
    assert line["difference"] == pytest.approx(line["squares"] - line["sums"])
    assert (line["n"], line["n_other"], line["steps"], line["steps_other"]) == (1, 5, 33, 7)
    assert line["low"] < line["difference"] < line["high"]


def test_several_seeds_are_compared_by_welch(random, tree):
    lines = dataclasses.replace(random, name="mine").compare("sums", published=tree)
    assert lines["difference"].abs().max() < 1e-12
    assert set(lines["verdict"]) == {"no significant difference"}


def test_a_single_encoder_is_named_on_either_side(solved, random, tree, tmp_path):
    solved.save(tmp_path)
    one_published = dataclasses.replace(random, name="mine").compare(solved.name, published=tmp_path)
    for lines, whose in ((solved.compare("sums", published=tree), "sums"), (one_published, "mine")):
        note = f"a single encoder: p is for its score as one more seed of {whose}"
        assert lines.set_index("score")["note"]["mig"] == note


def test_what_is_not_compared_is_said(random, tree, tmp_path):
    other = leaderboard.evaluate(squares, "xysquares/spacing_4", name="squares", tier="smoke", progress=False)
    (line,) = other.compare("sums", published=tree).to_dict("records")
    assert line["note"] == "sums has no published row on this task in tier smoke, or it is quarantined or outdated"
    other.save(tmp_path)
    single = dataclasses.replace(other, name="mine").compare("squares", published=tmp_path)
    assert single["note"].str.contains("no verdict").all()
    with pytest.raises(UnknownName, match="beta_vae"):
        random.compare("beta_va", published=leaderboard.PUBLISHED)
    other = leaderboard.evaluate(squares, TASK, metrics=["mcc"], progress=False)
    assert other.compare("β-VAE").equals(other.compare("beta_vae")), "tables show its title"
    assert set(other.compare("beta_vae")["note"]) == {"beta_vae has no such score on this task"}


def test_a_quarantined_row_is_not_compared(random, tree, tmp_path):
    published = shutil.copytree(tree, tmp_path / "published")
    (file,) = results_tree.files(published)
    results_tree.quarantine(file, "trained on the test rows")
    (line,) = dataclasses.replace(random, name="mine").compare("sums", published=published).to_dict("records")
    assert line["note"].endswith("or it is quarantined or outdated")
    content = json.loads(file.read_text()) | {"quarantine": ""}
    for run in content["runs"]:
        run["dataset_version"] = "0.9.0"
    file.write_text(json.dumps(content))
    (line,) = dataclasses.replace(random, name="mine").compare("sums", published=published).to_dict("records")
    assert line["note"].endswith("or it is quarantined or outdated")


def test_methods_at_chance_are_not_told_apart(random, tree, tmp_path, monkeypatch):
    published = shutil.copytree(tree, tmp_path / "published")
    (file,) = results_tree.files(published)
    text = file.read_text("utf-8").replace('"method": "sums"', '"method": "random_encoder"')
    file.with_name("random_encoder.json").write_text(text.replace('"unsupervised"', '"reference"'), "utf-8")
    monkeypatch.setattr(evaluation, "PUBLISHED", published)
    for its in (published, tree):  # a tree of one's own has no untrained encoder
        lines = dataclasses.replace(random, name="mine").compare("sums", published=its)
        assert set(lines["verdict"]) == {"neither above untrained"}
        assert lines["note"].str.contains("neither is 0.01 above an untrained encoder").all()


@pytest.mark.parametrize("name", ["sums", "p", "steps_other"])
def test_two_columns_of_one_name_are_refused(random, tree, name):
    with pytest.raises(InvalidInput, match=f"compare: two columns would be named '{name}'"):
        dataclasses.replace(random, name=name).compare("sums", published=tree)
    if name != "sums":
        with pytest.raises(InvalidInput, match=f"compare: two columns would be named '{name}'"):
            random.compare(dataclasses.replace(random, name=name))


@pytest.mark.parametrize("verdict", ["neither above untrained", ""], ids=["at chance", "too few seeds"])
def test_a_task_that_is_not_tested_counts_for_holm(random, monkeypatch, verdict):
    """Two tasks, of which one is not tested: the p-value of the other is doubled, as in `offaxis board compare`."""
    known = {"score": "mig", "ours": 1.5, "theirs": 0.5, "difference": 1.0, "p": 0.01, "verdict": ""}
    lines = [{"task": task} | known for task in ("a", "b")]
    lines[1] |= {"p": math.nan, "verdict": verdict}
    monkeypatch.setattr(leaderboard.Evaluation, "_tasks", ["a", "b"])
    monkeypatch.setattr(
        leaderboard.Evaluation, "_comparison_rows", lambda self, task, method, tree: [lines["ab".index(task)]]
    )
    found = random.compare("beta_vae")
    assert found["p"].tolist() == pytest.approx([0.02, math.nan], nan_ok=True)
    assert found["verdict"].tolist() == ["significantly higher", verdict]


def test_saved_scores_are_read_as_the_boards_are(random, tree):
    (file,) = results_tree.files(tree)
    runs = results_tree.read(file).runs
    assert [run.scores for run in runs] == [row.scores for row in random.rows]
    assert [run.seed for run in runs] == [0, 1, 2, 3, 4]


def test_a_model_for_each_dataset_is_one_method(solved, random, tmp_path):
    """As most methods are trained: scores on both tasks are compared, saved and handed in together."""
    other = "xysquares/spacing_4"
    settings = {"tier": "smoke", "steps": 33, "about": "reads the squares", "progress": False}
    joined = solved + leaderboard.evaluate(lambda images: -squares(images), other, name="squares", **settings)
    assert [task for task in (TASK, other) if task in str(joined)] == joined.frame()["task"].tolist() == [TASK, other]
    assert len(joined.save(tmp_path / "results")) == 2
    joined.submission(tmp_path / "handed_in")
    content = json.loads((tmp_path / "handed_in" / "submission.json").read_text("utf-8"))
    assert set(content["tasks"]) == {TASK, other}
    for row in joined.rows:
        with np.load(tmp_path / "handed_in" / row.candidate.record.dataset / "seed_0.npz") as stored:
            assert (stored["codes"] == row.candidate.submitted_codes).all()
    with pytest.raises(InvalidInput, match="squares: expected different tasks in both, received xysquares/spacing_8"):
        joined + solved
    with pytest.raises(
        InvalidInput, match=r"squares \+ sums: expected the same name in both, received squares and sums"
    ):
        solved + random
    weak = leaderboard.evaluate(squares, other, name="squares", supervision="weakly_supervised", **settings)
    with pytest.raises(InvalidInput, match="expected the same supervision in both, received unsupervised and weakly"):
        solved + weak


def test_joined_scores_show_the_metrics_that_were_chosen_for_either(solved):
    """Scores that were chosen for the second alone were hidden; a sum with anything else ended in an AttributeError."""
    settings = {"name": "squares", "tier": "smoke", "steps": 33, "progress": False}
    other = leaderboard.evaluate(
        squares, "xysquares/spacing_4", metrics=["mig", "sap"], about="reads the squares", **settings
    )
    assert "sap" in str(solved + other)
    with pytest.raises(TypeError, match="unsupported operand"):
        solved + 1
    undescribed = leaderboard.evaluate(squares, "xysquares/spacing_4", metrics="mig", **settings)
    with pytest.raises(InvalidInput, match="expected the same about in both"):
        solved + undescribed


def test_chosen_metrics_have_no_place_on_the_board(tmp_path):
    found = leaderboard.evaluate(squares, TASK, metrics=["mig", "sap"], progress=False)
    assert {"mig", "sap"} <= set(found.frame().columns)
    with pytest.raises(InvalidInput, match="without metrics="):
        found.save(tmp_path)
    assert "encoder" in found.submission(tmp_path / "handed_in")[1], "which holds codes, and no scores"


def test_a_submission_is_whole_but_for_what_is_said(solved, tmp_path, monkeypatch):
    written, write = [], submission.write_json
    monkeypatch.setattr(submission, "write_json", lambda file, form: (written.append(form), write(file, form)))
    missing = solved.submission(tmp_path / "handed_in")
    assert [line.partition(":")[0] for line in missing] == ["submission.json", "encoder", "seeds"]
    file = tmp_path / "handed_in" / "submission.json"
    content = json.loads(file.read_text("utf-8"))
    assert written == [content], "the form is written once, with all that is known"
    assert content["supervision"] == "unsupervised"
    assert content["about"]["description"] == "reads the squares"
    assert [seed["budget"]["steps"] for seed in content["tasks"][TASK]["seeds"]] == [33]
    content |= {"versions": {"numpy": "2"}}
    content["about"] |= {"authors": "A. Author", "license": "MIT"}
    for seed in content["tasks"][TASK]["seeds"]:
        seed["budget"]["device"] = "cpu"
    file.write_text(json.dumps(content), "utf-8")
    checked = submission.check(tmp_path / "handed_in")
    assert checked.problems == []
    np.testing.assert_array_equal(checked.candidates[0].codes, solved.rows[0].candidate.codes)


def test_a_dataset_of_your_own_is_scored_on_rows_drawn_as_a_tasks(tmp_path):
    labels = np.stack(np.unravel_index(np.arange(96) % 12, (4, 3)), axis=1)
    images = np.zeros((96, 8, 8, 1), np.uint8)
    images[:, 0, :2, 0] = labels
    own = benchmark_data.from_images("mine", images, {"kind": labels[:, 0], "place": labels[:, 1]})
    found = leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], own, progress=False)
    task = protocol.task_of(own)
    (line,) = found.frame().to_dict("records")
    assert (line["task"], line["dci.disentanglement"]) == ("mine", pytest.approx(1.0))
    assert (line["encoder"], line["tier"], line["seed"]) == ("my_encoder", "desk", 0)
    assert line["mig"] == mig.score(labels[task.train], labels[task.train])["mig"]
    assert "mine" in str(found)
    assert (task.id, len(task.train), len(task.test)) == ("mine@v1", 64, 32)
    assert found.rows[0].candidate.codes.tolist() == labels[task.indices].tolist()
    assert "no published row on this task" in found.compare("beta_vae")["note"][0]
    with pytest.raises(InvalidInput, match="on your own dataset, cannot be stored as results of the board"):
        found.save(tmp_path)
    with pytest.raises(InvalidInput, match="mine is your own dataset: only tasks of the board can be submitted"):
        found.submission(tmp_path)
    with pytest.raises(InvalidInput, match=r"method: expected a name or an evaluation, received a list\."):
        found.compare(["ae", "beta_vae"])
    for samples in (None, (40, 20)):
        assert leaderboard.Monitor(own, metrics=["mig"], samples=samples)(lambda batch: batch[:, 0, :2, 0])["mig"] > 0.9


def test_a_changed_dataset_under_a_published_name_is_refused():
    base = benchmark_data.load("xysquares/spacing_8")
    black = dataclasses.replace(base, source=benchmark_data.Derived(base, lambda images, rows, labels: images * 0))
    for read in (
        lambda: leaderboard.evaluate(lambda images: images[:, 0, :3, 0], black),
        lambda: leaderboard.Monitor(black),
    ):
        with pytest.raises(
            InvalidInput, match=r"spacing_8 as returned by benchmark_data\.load, received another dataset"
        ):
            read()
    assert protocol.task_of(dataclasses.replace(black, name="mine", config="")).id == "mine@v1"
    assert protocol.task_of(copy.deepcopy(base)).id == "xysquares/spacing_8@v1", "as a worker process gets it"


def test_a_folder_of_images_is_a_task(tmp_path):
    for value in range(30):
        Image.new("L", (4, 4), value % 3).save(tmp_path / f"{value}.png")
    (tmp_path / "labels.csv").write_text("file_name,shade\n" + "".join(f"{v}.png,{v % 3}\n" for v in range(30)))
    for folder in (tmp_path, str(tmp_path)):
        found = leaderboard.evaluate(lambda batch: batch[:, 0, 0].astype(float), folder, metrics="mig", progress=False)
        assert found.frame()["task"].tolist() == [tmp_path.name]
    with pytest.raises(UnknownName, match=r"dataset or existing folder: expected one of .*, received 'nowhere'"):
        leaderboard.evaluate(squares, "nowhere")


def test_two_encoders_of_your_own_are_compared(random, solved, tmp_path):
    solved.save(tmp_path)
    pd.testing.assert_frame_equal(random.compare(solved), random.compare(solved.name, published=tmp_path))
    elsewhere = leaderboard.evaluate(squares, "xysquares/spacing_4", tier="smoke", progress=False)
    assert random.compare(elsewhere)["note"].tolist() == ["my_encoder was not evaluated on this task"]
    with pytest.raises(InvalidInput, match="squares: expected an evaluation in tier smoke, not desk"):
        random.compare(dataclasses.replace(solved, tier="desk"))


def test_two_encoders_are_compared_on_a_dataset_of_your_own():
    labels = np.indices((4, 8)).reshape(2, -1).T.repeat(3, axis=0)
    images = np.zeros((96, 8, 8, 1), np.uint8)
    images[:, 0, :2, 0] = labels
    names = {"kind": labels[:, 0], "place": labels[:, 1]}
    mine, again = (benchmark_data.from_images("mine", images, names) for _ in range(2))
    tables = [np.random.default_rng(seed).normal(size=(4, 8, 2)) for seed in range(4)]
    noise = [lambda batch, of=table: of[tuple(batch[:, 0, :2, 0].T)] for table in tables]
    exact = [lambda batch, of=one: batch[:, 0, :2, 0] + 0.01 * of(batch) for one in noise]
    worse = leaderboard.evaluate(noise, mine, name="noise", progress=False)
    better = leaderboard.evaluate(exact, again, name="exact", progress=False)
    line = better.compare(worse).set_index("score").loc["mig"]
    assert (line["verdict"], line["n"], line["n_other"]) == ("significantly higher", 4, 4)
    assert line["exact"] - line["noise"] == line["difference"] > 0.5
    chosen = [
        leaderboard.evaluate(encoders, mine, name=name, metrics=["mig", "edi"], progress=False)
        for encoders, name in ((noise, "noise"), (exact, "exact"))
    ]
    first, *others = chosen[1].rows
    partial = dataclasses.replace(chosen[1], rows=(dataclasses.replace(first, scores={"mig": 0.9}), *others))
    counts = partial.compare(chosen[0]).set_index("score")["n"].to_dict()
    assert counts.keys() == others[0].scores.keys(), "all that were chosen are compared, not those of the tier alone"
    assert counts == dict.fromkeys(counts, 3) | {"mig": 4}
    other = benchmark_data.from_images("mine", 255 - images, names)
    with pytest.raises(InvalidInput, match="noise was evaluated on another dataset named mine"):
        leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], other, progress=False).compare(worse)


def test_a_factor_of_one_value_is_left_out_of_a_dataset_of_your_own():
    labels = np.arange(96) % 3
    images = np.zeros((96, 8, 8, 1), np.uint8)
    images[:, 0, 0, 0] = labels
    own = benchmark_data.from_images("mine", images, {"kind": labels, "colour": ["red"] * 96})
    with pytest.warns(LeftOut, match="mine: colour: one value in the rows that metrics learn from"):
        found = leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], own, metrics=["mig"], progress=False)
    assert found.frame()["mig"].tolist() == pytest.approx([1.0])


def test_factors_whose_values_do_not_recur_are_warned_of():
    values = np.random.default_rng(0).random(96)
    images = np.zeros((96, 8, 8, 1), np.uint8)
    images[:, 0, 0, 0] = 255 * values
    own = benchmark_data.from_images("mine", images, {"size": values, "kind": np.arange(96) % 3})
    with pytest.warns(ContinuousFactors, match="mine: size: most of 96 rows .*numpy.digitize"):
        leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], own, metrics=["mig"], progress=False)
    with pytest.warns(ContinuousFactors, match="mine: size: most of 60 rows"):
        leaderboard.Monitor(own, samples=(40, 20))


def test_a_factor_with_one_value_among_the_train_rows_is_left_out_and_said():
    labels, rare = np.arange(96) % 3, np.zeros(96, int)
    images = np.zeros((96, 8, 8, 1), np.uint8)
    images[:, 0, 0, 0] = labels
    rare[protocol.task_of(benchmark_data.from_images("mine", images, {"kind": labels})).test[0]] = 1
    own = benchmark_data.from_images("mine", images, {"kind": labels, "rare": rare})
    for metrics in (None, ["mig"]):
        with pytest.warns(LeftOut, match="mine: rare: one value in the rows that metrics learn from"):
            found = leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], own, metrics=metrics, progress=False)
        assert found.frame()["mig"].tolist() == pytest.approx([1.0])
    with pytest.raises(InvalidInput, match="tier held_out of mine: expected a dataset that a split rule divides"):
        leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], own, tier="held_out", progress=False)
    constant = benchmark_data.from_images("mine", images, {"rare": rare})
    with pytest.raises(InvalidInput, match="mine: expected a factor that varies in the rows that metrics"):
        leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], constant, progress=False)


def test_a_dataset_of_ones_own_is_not_kept():
    images = np.zeros((96, 8, 8, 1), np.uint8)
    images[:, 0, 0, 0] = np.arange(96) % 3
    own = benchmark_data.from_images("mine", images, {"kind": np.arange(96) % 3})
    leaderboard.evaluate(lambda batch: batch[:, 0, :2, 0], own, metrics=["mig"], progress=False)
    kept = weakref.ref(own)
    del own
    gc.collect()
    assert kept() is None


def test_a_dataset_without_labels_is_refused_at_once():
    own = benchmark_data.from_images("mine", np.zeros((9, 8, 8, 1), np.uint8))
    with pytest.raises(InvalidInput, match="mine has no labels"):
        leaderboard.evaluate(lambda batch: pytest.fail("encoded"), own, progress=False)


def test_codes_that_are_all_the_same_are_warned_of():
    with pytest.warns(SameCodes, match=f"my_encoder on {TASK}, seed 0: the codes are the same in all rows"):
        leaderboard.evaluate(lambda batch: np.zeros((len(batch), 2)), TASK, metrics=["mig"], progress=False)


def standardised(images):
    codes = squares(images)
    return (codes - codes.mean(axis=0)) / (codes.std(axis=0) + 1e-9)


@pytest.mark.parametrize(
    "encode",
    [standardised, lambda images: np.random.default_rng().normal(size=(len(images), 2))],
    ids=["batch", "random"],
)
def test_codes_that_another_batch_changes_are_warned_of(encode):
    with pytest.warns(OtherCodes, match="Encoded again, images have other codes: the encoder draws random"):
        leaderboard.evaluate(encode, TASK, tier="smoke", metrics=["mig"], progress=False)


def test_of_all_metrics_those_that_refuse_the_codes_are_left_out(monkeypatch):
    def refuse(codes, factors):
        raise InvalidInput("too few")

    monkeypatch.setattr(sap, "score", refuse)
    monkeypatch.setattr(evaluation.measure, "metrics_by_name", lambda names: {"mig": mig, "sap": sap})
    with pytest.warns(LeftOut, match="sap is left out: too few"):
        found = leaderboard.evaluate(squares, TASK, metrics="all", progress=False)
    assert list(found.rows[0].scores) == ["mig"]
    with pytest.raises(InvalidInput, match="too few"):
        leaderboard.evaluate(squares, TASK, metrics=["mig", "sap"], progress=False)
    monitor = leaderboard.Monitor(TASK, metrics="all", samples=(100, 50))
    with pytest.warns(LeftOut, match="sap is left out: too few"):
        assert list(monitor(squares)) == ["mig"]


def test_scores_go_to_another_process_without_the_encoder(solved, tmp_path):
    """Copied as pickle does, which takes no lambda."""
    again = copy.deepcopy(solved)
    assert str(again) == str(solved)
    assert again.frame().equals(solved.frame())
    assert "an encoder in another process cannot be exported" in again.submission(tmp_path / "handed_in")[1]


def test_a_dataset_of_the_board_is_its_task():
    assert protocol.task_of(benchmark_data.load("xysquares", spacing=8)) is protocol.task(TASK)


def test_principal_components_take_the_place_of_codes():
    wide = leaderboard.evaluate(
        lambda images: images[:, ::4, ::4].reshape(len(images), -1), TASK, metrics=["mig"], pca=5, progress=False
    )
    codes = wide.rows[0].candidate.codes
    assert codes.shape[1] == 5
    train = codes[: len(protocol.task(TASK).train)]
    assert np.abs(np.corrcoef(train.T) - np.eye(5)).max() < 1e-3
    assert (np.diff(train.var(axis=0)) <= 0).all()
    with pytest.raises(InvalidInput, match="pca: expected 1 to"):
        leaderboard.evaluate(squares, TASK, metrics=["mig"], pca=7, progress=False)
    with pytest.raises(InvalidInput, match="expected finite numbers"):
        leaderboard.evaluate(lambda images: squares(images) * np.nan, TASK, metrics=["mig"], pca=2, progress=False)


def test_components_are_those_of_the_training_rows():
    codes = np.random.default_rng(0).normal(size=(60, 4))
    moved = np.where(np.arange(60)[:, None] < 40, codes, 9 - 3 * codes)
    both = [source.project_on_components(each, 2, 40) for each in (codes, moved)]
    np.testing.assert_array_equal(both[0][:40], both[1][:40])
    np.testing.assert_allclose(both[0][:40].mean(axis=0), 0, atol=1e-6)


def test_components_beyond_the_rank_of_the_codes_score_nothing():
    migs = [
        leaderboard.evaluate(
            lambda images: np.hstack([squares(images)] * 3), TASK, metrics=["mig"], pca=count, progress=False
        ).frame()["mig"][0]
        for count in (6, 12)
    ]
    assert migs[0] == pytest.approx(migs[1], abs=1e-6), "rounding noise is a function of the image, too"


@pytest.mark.parametrize("tier", ["smoke", "desk"])
def test_chosen_metrics_are_measured_as_the_tier_measures_them(toys, one_tier, tier, monkeypatch):
    few = protocol.Measurement("dci", train=100, test=50, arguments={"mode": "fast", "seed": 0})
    monkeypatch.setitem(protocol.TIERS, "smoke", protocol.Tier("smoke", "For tests.", (few,)))

    def encode(images):
        return images.reshape(len(images), -1)[:, :5].astype(np.float32) ** 2

    both = [
        leaderboard.evaluate(encode, "toy/small", tier=tier, metrics=metrics, progress=False).rows[0].scores
        for metrics in (None, ["dci"])
    ]
    assert both[1] == {key: value for key, value in both[0].items() if key.startswith("dci.")}


def test_no_seed_has_trained_on_held_out_rows(monkeypatch):
    task = protocol.task("dsprites/extrapolation")
    records = [
        types.SimpleNamespace(seed=seed, supervision="unsupervised", selection="none", hyperparameters=hyper)
        for seed, hyper in ((0, {}), (1, {"train_share": 0.5}))
    ]
    encoders = [functools.partial(squares), functools.partial(squares)]
    for order in (records, records[::-1]):
        given = iter(order)
        monkeypatch.setattr(source.Source, "record", lambda *_, given=given: next(given))
        with pytest.raises(InvalidInput, match="Rows that were trained on are not held out"):
            leaderboard.evaluate(encoders, task.dataset, tier="held_out", progress=False)


def test_units_of_several_numbers_are_scored():
    pixels = lambda images: images[:, ::24, ::48].reshape(-1, 3, 6)[:, :, :4]  # noqa: E731
    found = leaderboard.evaluate(pixels, TASK, metrics=["mig"], progress=False)
    assert found.rows[0].candidate.codes.shape[1] == 3
    assert "in [0, 255]; 3 units of 4 numbers, reduced to one number each" in str(found)
    with pytest.raises(
        InvalidInput, match=r"This is one unit of 4 numbers: to use them as latents, return codes\[:, 0\]"
    ):
        leaderboard.evaluate(lambda images: images[:, :1, 20:24, 0], TASK, metrics=["mig"], progress=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encode": []}, "expected at least one encoder and one task, received 0 encoders and 1 tasks"),
        ({"tasks": []}, "received 1 encoders and 0 tasks"),
        ({"tasks": [TASK, TASK]}, f"tasks: expected each once, received {TASK}@v1 more than once"),
        ({"seeds": [1, 2]}, r"seeds: expected 1, one for each encoder, all different, received \[1, 2\]"),
        ({"seeds": 3, "encode": [squares, squares]}, r"seeds: expected 2, .* received \[3\]"),
        ({"seeds": [0, 0], "encode": [squares, squares]}, r"seeds: expected 2, .* received \[0, 0\]"),
        ({"seeds": [[1]], "tier": "des"}, "tier: .* received 'des'"),
        ({"tier": ["desk"]}, "tier: .* received"),
        ({"metrics": 5}, "metrics: expected names, such as .* received 5"),
        ({"metrics": []}, r"metrics: expected names, such as .* received \[\]"),
        ({"metrics": [5]}, r"metrics: expected names, such as .* received \[5\]"),
        ({"encode": "nowhere"}, "neither an ONNX file nor a run folder at nowhere"),
        ({"encode": "nowhere.bin"}, "neither an ONNX file nor a run folder"),
        ({"encode": types.SimpleNamespace}, "a function from images to codes, .* received the class SimpleNamespace"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises((InvalidInput, UnknownName), match=message):
        leaderboard.evaluate(**({"encode": squares, "tasks": TASK, "progress": False} | arguments))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tasks": [TASK, "xysquare"]}, UnknownName, "Did you mean 'xysquares'"),
        ({"tasks": squares}, InvalidInput, "task: expected a dataset or its name, .*, received a function"),
        ({"tasks": [TASK, 8]}, InvalidInput, "task: expected a dataset or its name, .*, received a int"),
        ({"tier": "table"}, UnknownName, "tier"),
        ({"metrics": ["migg"]}, UnknownName, "Did you mean 'mig'"),
        ({"name": "My Net"}, InvalidInput, "evaluate: name: .*received 'My Net'"),
        ({"about": "a bell \x07"}, InvalidInput, "evaluate: about: "),
        ({"encode": [squares, "nowhere.onnx"]}, InvalidInput, "neither an ONNX file nor a run folder at nowhere.onnx"),
        ({"supervision": "semi"}, InvalidInput, "supervision: .*received 'semi'"),
        ({"steps": -3}, InvalidInput, "budget.steps|steps: .*received -3"),
        ({"batch_size": 0}, InvalidInput, "batch_size: expected at least 1, received 0"),
        ({"pca": "3"}, InvalidInput, "pca: expected an integer, at least 1, received '3'"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_encoded(arguments, error, message):
    def encode(images):
        raise AssertionError

    with pytest.raises(error, match=message):
        leaderboard.evaluate(**({"encode": encode, "tasks": TASK, "progress": False} | arguments))


def test_codes_that_are_no_numbers_are_named_with_the_task():
    with pytest.raises(
        InvalidInput, match=f"my_encoder on {TASK}, seed 0: expected finite numbers .*, received nan at"
    ):
        leaderboard.evaluate(lambda images: np.full((len(images), 2), np.nan), TASK, metrics="mig", progress=False)


def test_an_error_in_an_encoder_names_the_task():
    def encode(images):
        raise RuntimeError("expected 1 channel")

    with pytest.raises(RuntimeError, match="expected 1 channel") as found:
        leaderboard.evaluate(encode, TASK, progress=False)
    assert found.value.__notes__[-1] == (f"While my_encoder encoded {TASK}, images (64, 64, 3).")


def test_images_that_an_encoder_does_not_take_are_found_before_others_are_scored():
    seen = []

    def colours(images):
        seen.append(len(images))
        return images[:, 0, 0, [0, 1, 2]]

    with pytest.raises(IndexError) as found:
        leaderboard.evaluate(colours, ["xysquares/spacing_8", "dsprites"], batch_size=32, progress=False)
    assert found.value.__notes__[-1] == "While my_encoder encoded dsprites, images (64, 64, 1)."
    assert seen == [32]


def test_a_run_folder_is_scored_by_its_codes(solved, tmp_path):
    from leaderboard import record

    one = solved.rows[0].candidate
    record.write(tmp_path, json.loads(one.record.model_dump_json()))
    np.savez(tmp_path / "codes.npz", indices=one.task.indices, codes=one.codes)
    found = leaderboard.evaluate(tmp_path, TASK, metrics=["mig"], progress=False)
    assert found.frame()["mig"][0] == solved.frame()["mig"][0]
    with pytest.raises(InvalidInput, match="input applies only to functions: ONNX files and run folders define"):
        leaderboard.evaluate(tmp_path, TASK, input="float32_chw", metrics=["mig"], progress=False)
    (tmp_path / "mine.onnx").touch()
    with pytest.raises(InvalidInput, match="input applies only to functions: ONNX files and run folders define"):
        leaderboard.evaluate(tmp_path / "mine.onnx", TASK, input="float32_chw", metrics=["mig"], progress=False)
    with pytest.raises(InvalidInput, match=r"no encoder\.onnx"):
        leaderboard.evaluate(tmp_path, "xysquares/spacing_4", metrics=["mig"], progress=False)
    assert isinstance(candidates.load(tmp_path), candidates.Candidate)
    with pytest.raises(InvalidInput, match=r"seeds: expected each once, received \[0, 0\]. Pass runs of one"):
        leaderboard.evaluate([tmp_path, tmp_path], TASK, metrics=["mig"], progress=False)
    with pytest.raises(InvalidInput, match="Run folders have their own seeds, steps and supervision"):
        leaderboard.evaluate([tmp_path], TASK, seeds=[4], metrics=["mig"], progress=False)
    other = shutil.copytree(tmp_path, tmp_path / "other")
    content = json.loads((other / "run.json").read_text()) | {"seed": 1, "hyperparameters": {"beta": 8}}
    record.write(other, content)
    with pytest.raises(
        InvalidInput, match=r"hyperparameters of seed 1: expected \{\}, as of seed 0, received \{'beta': 8"
    ):
        leaderboard.evaluate([tmp_path, other], TASK, metrics=["mig"], progress=False)
    record.write(other, content | {"selection": "best of 6 by MIG", "versions": {"torch": "2.9"}})
    leaderboard.evaluate(other, TASK, name="chosen", tier="smoke", progress=False).submission(tmp_path / "handed_in")
    form = json.loads((tmp_path / "handed_in" / submission.FILE).read_text())
    assert (form["selection"], form["versions"]) == ("best of 6 by MIG", {"torch": "2.9"})
    record.write(other, content | {"hyperparameters": {}, "method": "another"})
    with pytest.raises(InvalidInput, match=r"expected runs of one method, received \['another', 'squares'\]"):
        leaderboard.evaluate([tmp_path, other], TASK, metrics=["mig"], progress=False)
    with pytest.raises(InvalidInput, match=r"evaluate: name: .* received '\.\./evil'"):
        leaderboard.evaluate(tmp_path, TASK, name="../evil", metrics=["mig"], progress=False)


def test_a_run_folder_on_another_task_has_that_tasks_data(solved, tmp_path, monkeypatch):
    from leaderboard import record

    one = solved.rows[0].candidate
    record.write(tmp_path, json.loads(one.record.model_dump_json()) | {"claimed": {"mig": 0.5}})
    np.savez(tmp_path / "codes.npz", indices=one.task.indices, codes=one.codes)
    (tmp_path / "encoder.onnx").write_bytes(b"a graph")
    monkeypatch.setattr(source.encoders.OnnxEncoder, "__init__", lambda self, path: None)
    monkeypatch.setattr(source.encoders.OnnxEncoder, "__enter__", lambda self: self)
    monkeypatch.setattr(source.encoders.OnnxEncoder, "__exit__", lambda self, *error: None)
    monkeypatch.setattr(
        source.encoders.OnnxEncoder,
        "encode",
        lambda self, dataset, rows, progress: np.random.default_rng(0).normal(size=(len(rows), 3)),
    )
    other = protocol.task("xysquares/spacing_1")
    found = leaderboard.evaluate(tmp_path, other.dataset, tier="smoke", pca=2, progress=False)
    (row,) = found.rows
    version, digest = candidates.dataset_digest(other)
    assert (row.scored.dataset, row.scored.dataset_version, row.scored.dataset_digest) == (
        other.dataset,
        version,
        digest,
    )
    # It saw other images than the task's: of those no split held rows out, and no claim is of this task.
    seen = {"pca": 2, "split": f"all of {one.record.dataset}"}
    assert row.scored.hyperparameters == one.record.hyperparameters | seen
    assert (row.scored.supervision, row.scored.claimed, row.scored.latents) == ("pretrained", {}, 2)
    with pytest.raises(InvalidInput, match=f"tier held_out.*received 'all of {one.record.dataset}'"):
        candidates.check_part(protocol.task("dsprites/composition"), "held_out", row.scored.hyperparameters, "run")
    found.save(tmp_path / "results")
    missing = found.submission(tmp_path / "handed_in")
    assert "principal components, and an encoder in another process cannot be exported" in missing[1]
    assert not (tmp_path / "handed_in" / other.dataset / "seed_0.onnx").exists()


def test_a_score_may_be_infinite():
    """A copied latent makes the total correlation infinite, as its metric says."""
    found = leaderboard.evaluate(
        lambda images: images[:, 20, [20, 21, 20], 0] + np.arange(len(images))[:, None] * 0.01,
        TASK,
        metrics="unsupervised",
        progress=False,
    )
    assert (found.frame()["unsupervised.gaussian_total_correlation"] == math.inf).all()
    assert "inf" in str(found)


def test_a_pytorch_module_is_handed_in_with_its_graph(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    pytest.importorskip("onnxscript", reason="PyTorch's export needs it: pip install onnx onnxscript")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 8, 8), torch.nn.Flatten(), torch.nn.Linear(256, 3))
    found = leaderboard.evaluate(lambda images: model(images)[:, :2], TASK, tier="smoke", progress=False)
    missing = found.submission(tmp_path / "handed_in")
    assert [line.partition(":")[0] for line in missing] == ["submission.json", "seeds"]
    assert (tmp_path / "handed_in" / TASK / "seed_0.onnx").is_file()


def test_an_exported_graph_that_returns_other_codes_is_refused(solved, tmp_path, monkeypatch):
    candidate = solved.rows[0].candidate
    writer = types.SimpleNamespace(onnx_path=None, function_encoder=mock.Mock())
    refusal = pytest.raises(InvalidInput, match="returns other codes than the encoder")
    for error, expectation in ((0.0, contextlib.nullcontext()), (0.1, refusal)):
        graph = mock.MagicMock()
        graph.return_value.__enter__.return_value.encode.return_value = candidate.submitted_codes[:64] + error
        monkeypatch.setattr(source.encoders, "OnnxEncoder", graph)
        with expectation:
            source.Source.write_onnx(writer, tmp_path / "encoder.onnx", candidate)


def test_one_encoder_is_not_two_seeds(solved):
    with pytest.raises(InvalidInput, match=r"seed 1: expected codes of a separate training .* as in my_encoder"):
        leaderboard.evaluate([squares, squares], TASK, metrics="mig", progress=False)


def test_stored_seeds_are_replaced_only_if_asked(random, solved, tmp_path):
    """A loop that evaluates one model at a time, each as seed 0, must not lose all but the last."""
    (file,) = random.save(tmp_path)
    stored = file.read_bytes()
    random.save(tmp_path)
    assert file.read_bytes() == stored
    row = random.rows[0]
    changed = dataclasses.replace(row, scored=row.scored.model_copy(update={"codes_digest": "1" * 64}))
    other = dataclasses.replace(random, rows=(changed,))
    with pytest.raises(InvalidInput, match=r"seed 0: expected the codes of the stored run.*in Python replace=True"):
        other.save(tmp_path)
    assert file.read_bytes() == stored
    other.save(tmp_path, replace=True)
    assert [run.codes_digest for run in results_tree.read(file).runs][:2] == [
        "1" * 64,
        random.rows[1].scored.codes_digest,
    ]


def test_what_is_not_saved_of_one_task_is_not_saved_of_another(solved, tmp_path):
    """On the second task, the seed that is there has other settings."""
    (row,) = solved.rows
    name = "xysquares/spacing_1"
    other = dataclasses.replace(
        row,
        candidate=dataclasses.replace(row.candidate, record=row.candidate.record.model_copy(update={"dataset": name})),
        scored=row.scored.model_copy(update={"dataset": name, "seed": 7, "codes_digest": "1" * 64}),
    )
    first, second = dataclasses.replace(solved, rows=(other,)).save(tmp_path) + solved.save(tmp_path)
    content = json.loads(second.read_text("utf-8"))
    content["runs"][0] |= {"seed": 8, "codes_digest": "2" * 64, "hyperparameters": {"beta": 9.0}}
    second.write_text(json.dumps(content), "utf-8")
    content = json.loads(first.read_text("utf-8"))
    content["runs"][0]["date"] = "2026-01-02"
    first.write_text(json.dumps(content), "utf-8")
    before = first.read_bytes(), second.read_bytes()
    with pytest.raises(InvalidInput, match=r"squares on xysquares/spacing_8@v1.*hyperparameters of seed 8"):
        dataclasses.replace(solved, rows=(other, row)).save(tmp_path)
    assert (first.read_bytes(), second.read_bytes()) == before


def test_files_of_a_submission_bear_the_seeds_own_numbers(tmp_path):
    found = leaderboard.evaluate(squares, TASK, seeds=[7], metrics="mig", progress=False)
    found.submission(tmp_path / "mine")
    assert [file.name for file in (tmp_path / "mine" / TASK).glob("*.npz")] == ["seed_7.npz"]


def test_scores_that_were_asked_for_are_printed():
    found = leaderboard.evaluate(squares, TASK, metrics=["mig", "mcc"], progress=False)
    assert "mcc" in str(found)


@pytest.mark.parametrize("moved", [lambda codes: codes.astype(float) + 1e9, lambda codes: codes * 1e-60])
def test_codes_that_float32_cannot_hold_are_refused(moved):
    with pytest.raises(InvalidInput, match="float32 can represent, received smaller differences in column 0"):
        leaderboard.evaluate(lambda images: moved(squares(images).astype(float)), TASK, metrics="mig", progress=False)


def test_seeds_that_were_trained_for_different_lengths_are_printed_as_such(random, tree):
    def trained(row, steps):
        known = row.candidate.record
        record = known.model_copy(update={"budget": known.budget.model_copy(update={"steps": steps})})
        return dataclasses.replace(row, candidate=dataclasses.replace(row.candidate, record=record))

    rows = tuple(trained(row, steps) for row, steps in zip(random.rows, (3000, 1000, 3000, 3000, 3000), strict=True))
    assert "1,000 to 3,000 steps of training" in str(dataclasses.replace(random, rows=rows))
    compared = dataclasses.replace(random, rows=rows[1:], name="mine").compare("sums", published=tree)
    assert set(compared["steps"]) == {3000}, "the most, of seeds of which the first has 1,000"


def test_rows_that_were_trained_on_are_not_scored_where_they_are_held_out():
    """An encoder that has learned the train rows by heart, and encodes nothing of the others."""
    task = protocol.task("dsprites_spaced/spacing_8.extrapolation")
    data = task.load()
    pairs = zip(data.images(task.train), data.labels(task.train), strict=True)
    by_heart = {image.tobytes(): labels + 0.01 * (labels % 2) for image, labels in pairs}
    noise = np.random.default_rng(0).normal(size=(256, len(data.space.names)))

    def encode(images):
        return np.array([by_heart.get(image.tobytes(), noise[image.sum() % 256]) for image in images])

    metrics = ["mig", "jemmig", "mcc", "r_squared"]
    held_out = leaderboard.evaluate(encode, task.dataset, tier="held_out", metrics=metrics, progress=False).rows[0]
    by_default = leaderboard.evaluate(encode, task.dataset, metrics=metrics, progress=False)
    assert (by_default.tier, by_default.rows[0].scores) == ("held_out", held_out.scores)
    desk = leaderboard.evaluate(encode, task.dataset, tier="desk", metrics=metrics, progress=False).rows[0]
    watched = leaderboard.Monitor(task.dataset, metrics, samples=(300, 200))(encode)
    for key in ("mig", "jemmig.jemmig", "mcc.pearson"):
        key = key if key in held_out.scores else key.partition(".")[0]
        assert max(held_out.scores[key], watched[key]) < desk.scores[key] - 0.2
    with pytest.raises(InvalidInput, match="expected a dataset that a split rule divides"):
        leaderboard.evaluate(encode, "dsprites", tier="held_out", metrics=["mig"], progress=False)


def test_held_out_scores_need_a_divided_dataset():
    with pytest.raises(InvalidInput, match="expected a dataset that a split rule divides"):
        leaderboard.evaluate(squares, TASK, tier="held_out", progress=False)
