"""``offaxis board`` as a user meets it: help, results, one-line errors, exit codes."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from baselines import program
from benchmark_data.errors import InvalidInput, OffaxisError, Unavailable
from leaderboard import protocol, record
from leaderboard.commands import arguments
from leaderboard.scoring import candidates, measure, verification
from leaderboard.store import results, results_tree
from tests.leaderboard import scored_submission

pytestmark = pytest.mark.usefixtures("one_tier", "toys")

TIERS = protocol.TIERS
"""Those of the protocol, beside the one that tests have."""


@pytest.fixture
def board(capsys):
    """Run a command as ``main`` does; give the exit code, what it printed, and what it complained of."""

    def run(*arguments):
        code = 0
        sys.argv = ["offaxis", "board", *map(str, arguments)]
        try:
            program.main()
        except SystemExit as stop:
            code = stop.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    before = sys.argv
    yield run
    sys.argv = before


@pytest.fixture
def tree(run_folder, tmp_path):
    root = tmp_path / "results"
    results_tree.write(
        root,
        scored_submission.score_runs([run_folder(seed=0), run_folder(seed=1), run_folder("pca")], status="reproduced"),
    )
    return root


def test_two_methods_are_compared(board, made_result, tmp_path):
    root = tmp_path / "r"
    for task in ("toy/spacing_1", "toy/spacing_8"):
        results_tree.write(
            root, [made_result(task, "a", 0.8, 0.81, 0.82, 0.83), made_result(task, "b", 0.1, 0.2, 0.3, 0.4)]
        )
    code, shown, _ = board("compare", "a", "b", "--results", root, "--to", tmp_path / "pair.csv")
    assert code == 0
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert " ".join(lines[:2]) == "A = a (4 seeds, 1,000 steps), B = b (4 seeds, 1,000 steps), tier smoke"
    # Welch by hand: an error of 0.0649 with 3.06 degrees of freedom, times 3.15.
    assert any(line.startswith("toy/spacing_1 MIG 0.815 0.250 +0.565 +0.361 to +0.769 a is higher") for line in lines)
    assert any(line.startswith("mean over tasks MIG 0.815 0.250 +0.565") for line in lines)
    table = pd.read_csv(tmp_path / "pair.csv")
    assert table["verdict"].tolist() == ["a is higher"] * 3
    assert 0 < table["p_after_holm"].max() < 0.006
    code, _, error = board("compare", "a", "c", "--results", root)
    assert code
    assert "method with results: expected one of a, b" in error


def test_a_task_alone_is_judged_as_among_all_and_a_version_is_looked_at(board, made_result, tmp_path):
    root = tmp_path / "r"
    for task, below in (("toy/spacing_1", 0.11), *((f"toy/same_{k}", 0.0) for k in range(4))):
        first = [0.4, 0.45, 0.5, 0.55]
        results_tree.write(root, [made_result(task, "a", *first), made_result(task, "b", *(x - below for x in first))])
    results_tree.write(root, [made_result("toy/of_one", "a", 0.4)])
    _, whole, omissions = board("compare", "a", "b", "--results", root)
    assert "has no scores in this tier on toy/of_one" in " ".join(omissions.split())
    _, alone, omissions = board("compare", "a", "b", "--results", root, "--task", "toy/spacing_1")
    assert "not compared" not in omissions
    lines = [next(line for line in shown.splitlines() if "toy/spacing_1" in line) for shown in (whole, alone)]
    assert [" ".join(line.split()) for line in lines] == [" ".join(lines[0].split())] * 2
    assert "no significant" in lines[0]  # p = 0.02 by itself
    assert "toy/same_1" not in alone
    shown = board("compare", "a", "b", "--results", root, "--task", "toy")[1]
    assert "toy/same_1" in shown
    for command in (("show", root), ("compare", "a", "b", "--results", root)):
        assert board(*command, "--task", "toy/spacing_1@v1")[0] == 0
        code, _, error = board(*command, "--task", "toy/spacing_1@v7")
        assert code == 2
        assert "version of toy/spacing_1 with results: expected one of v1, received 'v7'" in " ".join(error.split())


def test_ones_own_method_is_compared_with_a_published_one(board, made_result, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    long = "toy/a_name_that_is_longer_than_a_third_of_a_line"
    for root, method, title in ((ours, "mine", "Mine"), (theirs, "beta_vae", "β-VAE")):
        about = record.About(title=title)
        results_tree.write(root, [made_result(t, method, 0.8, 0.81, about=about) for t in ("toy/spacing_1", long)])
    both = ["--results", ours, "--results", theirs]
    code, shown, _ = board("compare", "mine", "beta_vae", *both)
    assert code == 0
    assert long in shown
    code, shown, _ = board("compare", "mine", "β-VAE", *both, "--task", "toy/spacing_1")
    assert (code, long in shown, "toy/spacing_1" in shown) == (0, False, True)
    code, _, error = board("compare", "mine", "beta_vae", *both, "--task", "toy/spacing_2")
    assert (code, "task with results: expected one of" in error) == (2, True)
    results_tree.write(ours, [made_result("toy/spacing_1", "elsewhere", 0.8, 0.81, tier="desk")])
    for only in ((), ("--task", "toy/spacing_1")):
        code, _, error = board("compare", "elsewhere", "beta_vae", *both, *only)
        assert (
            code,
            "expected a task on which both have scores in one tier, without flags or quarantine, received none"
            in error,
        ) == (2, True)
    code, _, error = board("compare", "mine", "beta_vae", *both, *both[2:])
    assert (code, "expected one, received 2, in several results trees" in error) == (2, True)


def test_one_tier_is_shown(board, made_result, tmp_path):
    results_tree.write(tmp_path / "r", [made_result("toy/small", "a", 0.25)])
    assert "tier smoke" in board("show", tmp_path / "r", "--tier", "smoke")[1]
    code, _, error = board("show", tmp_path / "r", "--tier", "desk")
    assert (code, "tier with results: expected one of smoke, received 'desk'" in error) == (2, True)


def test_evaluate_show_build_check(board, run_folder, tmp_path, monkeypatch):
    root, site = tmp_path / "r", tmp_path / "s"
    about = {
        "title": "β-VAE",
        "paper": "https://a.org",
        "code": "https://a.org",
        "license": "MIT",
        "bibtex": "@misc{a}",
    }
    folders = [run_folder(seed=seed, about=about) for seed in (0, 1)]
    assert "--reproduced, --replace and --new require --to RESULTS" in board("score", *folders, "--reproduced")[2]
    code, out, err = board("score", *folders, "--to", root, "--reproduced")
    assert code == 0, err
    assert "β-VAE" in out
    assert "beta_vae.json" in out
    assert results_tree.read_all(root)[0].runs[0].status == "reproduced"
    assert board("show", root)[:1] == (0,)
    code, out, _ = board("build", root, "--to", site)
    assert code == 0
    assert "file://" in out
    monkeypatch.chdir(site)
    assert board("build", root, "--to", ".") == (0, f"index.html\n{(site / 'index.html').as_uri()}\n", "")
    monkeypatch.chdir(tmp_path)
    code, out, _ = board("check", root, "--against", root)
    assert code == 0
    assert out.count("ok:") == 2


def test_every_file_that_is_written_is_named(board, run_folder, tmp_path):
    code, out, _ = board("score", run_folder(), run_folder("pca"), "--to", tmp_path / "r")
    assert (code, "beta_vae.json" in out, "pca.json" in out) == (0, True, True)


def test_check_lists_all_that_is_wrong_with_a_result(board, tree):
    assert board("check", tree)[0] == 0
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    text = file.read_text("utf-8").replace('"schema": 1', '"schema": 7').replace('"latents": 3', '"latents": 0', 1)
    file.write_text(text, "utf-8")
    code, out, _ = board("check", tree)
    assert (code, out.count("error:"), "more problems" in out) == (1, 2, False), out
    assert "schema: expected 1, received 7" in out
    assert "runs.0.latents: expected more than 0, received 0" in out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supervision": "none"}, "supervision: expected 'unsupervised'"),
        ({"selection": 5}, "selection: expected a text, received 5"),
        ({"supervision": "none", "selection": 5}, r"\(1 more problems\.\)"),
        ({"dataset_version": "2.0.0"}, r"dataset_version: expected 1\.0\.0"),
        ({"codes": np.zeros((60, 0))}, "codes: expected 1 to 2048 latents, received 0"),
        *(
            ({"method": name, "supervision": "unsupervised"}, f"expected another name .* reference, received '{name}'")
            for name in ("pca", "ground_truth", "groundtruth")
        ),
    ],
)
def test_what_is_wrong_with_a_run_is_said(run_folder, changes, message):
    with pytest.raises(OffaxisError, match=message):
        candidates.load(run_folder(**changes))


def test_check_says_which_score_moved(board, tree, tmp_path, moved):
    before = tmp_path / "before"
    tree.rename(before)
    for result in results_tree.read_all(before):
        runs = [moved(r, -0.1) for r in result.runs]
        results_tree.write(tree, [results.result(result.task, result.method, runs)])
    code, out, _ = board("check", tree, "--against", before)
    assert code == 1
    assert "mig, tier desk, seed 0: expected" in out


def test_what_was_scored_before_an_error_is_kept(board, run_folder, tmp_path, monkeypatch):
    scored = measure.score_codes

    def first_alone(*arguments, **options):
        monkeypatch.setattr(measure, "score_codes", refused)
        return scored(*arguments, **options)

    def refused(*_, **__):
        raise InvalidInput("codes of factor_vae: expected codes, received others.")

    monkeypatch.setattr(measure, "score_codes", first_alone)
    code, _, err = board("score", run_folder("beta_vae"), run_folder("factor_vae"), "--to", tmp_path)
    assert code == 2
    assert "factor_vae" in err
    assert [result.method for result in results_tree.read_all(tmp_path)] == ["beta_vae"]


def test_what_may_not_be_written_is_refused_before_anything_is_scored(board, tree, run_folder, tmp_path, monkeypatch):
    def scored(*_, **__):
        raise AssertionError("it was scored")

    monkeypatch.setattr(measure, "score_codes", scored)
    (tmp_path / "file").write_text("")
    first, other = run_folder("beta_vae", seed=7), run_folder("beta_vae", seed=8, hyperparameters={"beta": 99.0})
    mine, known = run_folder("pca", seed=3, supervision="unsupervised"), run_folder("beta_vae", seed=0, noise=0.5)
    for folders, into, message in (
        ([first], tmp_path / "file", "file: expected"),
        ([first, other], tmp_path / "new", "hyperparameters of seed 8: expected"),
        ([other], tree, "hyperparameters of seed 8: expected"),
        ([mine], tmp_path / "new", "method: expected another name than that of a reference, received 'pca'"),
        ([known], tree, "seed 0: expected the codes of the stored run, received other codes"),
    ):
        code, _, err = board("score", *folders, "--to", into, "--reproduced")
        assert (code, message in err) == (2, True), err
    with pytest.raises(AssertionError, match="it was scored"):
        board("score", known, "--to", tree, "--reproduced", "--replace")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "{tmp}/absent"), "expected a results folder, received no such folder"),
        (("show", __file__), "expected a results folder, received a file"),
        (("score", "{tmp}"), "expected a run folder, which has run.json, received a folder without it"),
        (
            ("score", "nowhere", "--tier", "smoke"),
            "nowhere: no such file or folder. Pass run folders, submissions or files of codes",
        ),
        (("show", "{tree}", "--task", "toy/smal"), "Did you mean 'toy/small'?"),
        (
            ("verify", "{tmp}", "--to", "{tmp}/r"),
            "expected a run folder, which has run.json, received a folder without",
        ),
        (("verify", "{tmp}", "--to", "{tmp}/r", "--tier", "smoky"), "Did you mean 'smoke'?"),
        (("tasks", "toi"), "Did you mean 'toy'?"),
        (("compare", "a", "b", "--to", "{tmp}/a.txt"), "--to: expected a file name that ends in .csv"),
        (("build", "{tree}", "--to", "{tree}"), "expected a new or empty folder"),
        (("similarity", "{tmp}/a.npz", "{tmp}/b.npz", "--to", "x.jpg"), "expected a file name that ends in .png"),
        (
            ("check", "{tree}", "--against", "no-such-revision"),
            "expected an earlier copy of",
        ),
        (("check", "{tree}", "--against", "{tmp}"), "with results, received"),
        (("compare", "a", "b", "--results", "{tmp}"), "has no results of this protocol. Add some"),
    ],
)
def test_errors_are_one_line_and_exit_with_2(board, tree, tmp_path, arguments, message):
    code, out, err = board(*(a.format(tmp=tmp_path, tree=tree) for a in arguments))
    assert code == 2
    assert message in err
    assert "ok: " not in out
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


def test_an_unknown_command_names_the_near_one(board):
    code, _, err = board("scroe")
    assert code == 2
    assert "score" in err


def test_tasks(board):
    code, out, err = board("tasks", "toy/small")
    assert code == 0, err
    assert "toy/small@v1" in out


def test_show_of_a_task_reads_that_task_alone(board, tree):
    code, whole, _ = board("show", tree, "--task", "toy/small")
    assert "toy/small" in board("show", tree, "--task", "toy")[1]  # every task of the dataset
    assert code == 0
    (tree / "v1" / "toy" / "other").mkdir()
    (tree / "v1" / "toy" / "other" / "x.json").write_text("{")
    assert board("show", tree, "--task", "toy/small")[:2] == (0, whole)
    assert board("show", tree)[0] == 2


def test_show_of_an_own_tree_has_the_published_rows_of_its_tasks(board, made_result, tmp_path, monkeypatch):
    own, published = tmp_path / "own", tmp_path / "published"
    results_tree.write(own, [made_result("toy/small", "mine", 0.5, 0.6)])
    others = [("toy/small", "theirs", 0.1), ("toy/small", "mine", 0.9), ("toy/other", "elsewhere", 0.2)]
    results_tree.write(published, [made_result(task, method, mig, mig) for task, method, mig in others])
    monkeypatch.setattr(arguments, "PUBLISHED", published)
    rows = [row for row in json.loads(board("show", own, "--json")[1]) if row["score"] == "mig"]
    assert [(row["method"], row["mean"]) for row in rows] == [
        ("mine_published", 0.9),
        ("mine", pytest.approx(0.55)),
        ("theirs", 0.1),
    ]
    assert "mine (published)" in board("show", own)[1]
    code, shown, _ = board("compare", "mine", "theirs", "--results", own)
    assert (code, "A = mine (2 seeds, 1,000 steps), B = theirs (" in shown) == (0, True)

    results_tree.write(own, [made_result("toy/other", "mine", 0.5, tier="desk")])
    said = board("show", own)[1]
    assert [line for line in said.splitlines() if "@v1, tier" in line] == [
        "toy/other@v1, tier desk",
        "toy/small@v1, tier smoke",
    ], "a table in which nothing is one's own"
    assert "Scored in tier smoke, not here: elsewhere." in said


def test_some_published_seeds_of_ones_own_do_not_hide_the_others(board, made_result, tmp_path, monkeypatch):
    own, published = tmp_path / "own", tmp_path / "published"
    whole = made_result("toy/small", "theirs", *[0.1] * 5)
    results_tree.write(published, [whole])
    monkeypatch.setattr(arguments, "PUBLISHED", published)

    def seeds():
        rows = [row for row in json.loads(board("show", own, "--json")[1]) if row["score"] == "mig"]
        return {row["method"]: row["seeds"] for row in rows}

    results_tree.write(own, [whole.of_runs(whole.runs[:3])])
    assert seeds() == {"theirs": 3, "theirs_published": 5}
    more = [run.model_copy(update={"seed": 9, "codes_digest": "9" * 64}) for run in whole.runs[:1]]
    results_tree.write(own, [whole.of_runs([*whole.runs, *more])])
    assert seeds() == {"theirs": 6}, "all that is published, and another one"


def test_show_of_another_protocol(board, made_result, tmp_path):
    found = made_result("toy/small", "mine", 0.5)
    results_tree.write(tmp_path, [results.result("toy/small@v2", "mine", found.runs)])
    code, _, error = board("show", tmp_path)
    assert (code, "has no results of this protocol" in error) == (2, True)
    results_tree.write(tmp_path, [found])
    assert board("show", tmp_path)[0] == 0
    code, _, error = board("show", tmp_path, "--task", "toy/small@v2")
    assert (code, "expected one of v1, received 'v2'" in " ".join(error.split())) == (2, True)


def test_show_as_json(board, tree):
    code, out, _ = board("show", tree, "--json")
    assert code == 0
    rows = {row["method"]: row for row in json.loads(out) if row["score"] == "mig"}
    stored = {result.method: result for result in results_tree.read_all(tree)}
    assert rows.keys() == stored.keys()
    assert {row["seeds"] for row in rows.values()} == {1, 2}
    for method, row in rows.items():
        (of_tier,) = stored[method].summary.values()
        assert row["rank"] is None  # a rank takes five seeds
        assert row["mean"] == pytest.approx(of_tier["mig"].mean, abs=1e-6)


def test_published_results_that_are_not_installed_are_said_to_be_elsewhere(board, tree, tmp_path, monkeypatch):
    missing = tmp_path / "none"
    for module in (arguments, results_tree):
        monkeypatch.setattr(module, "PUBLISHED", missing)
    with pytest.raises(Unavailable, match="they are only in a clone of the repository"):
        results_tree.files(missing)
    assert results_tree.files(tree)
    assert arguments.published() == arguments.published(["toy/small"]) == []


def test_heatmap(board, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        np.savez(
            tmp_path / name / "activations.npz",
            indices=np.arange(50),
            layers=np.array(["first", "second"]),
            first=rng.standard_normal((50, 4)).astype(np.float32),
            second=rng.standard_normal((50, 3)).astype(np.float32),
        )
    to = tmp_path / "cka.png"
    code, _, err = board("similarity", tmp_path / "a/activations.npz", tmp_path / "b/activations.npz", "--to", to)
    assert code == 0, err
    assert to.read_bytes().startswith(b"\x89PNG")
    assert "first" in to.with_suffix(".csv").read_text()


def test_the_installed_command_starts(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "baselines.program", "board", "tasks", "xysquares"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "xysquares/spacing_4@v1" in done.stdout
    assert "xysquares/spacing_1.extrapolation@v1" in done.stdout  # a name that can be typed, not one that is cut


def test_a_submission_is_for_the_tier_that_the_board_opens_on(board, toys, monkeypatch, tmp_path):
    first = next(iter(TIERS))
    monkeypatch.setattr(protocol, "TIERS", TIERS)
    assert board("submit", tmp_path / "s", "--method", "my_vae", "--task", "toy/small")[0] == 0
    assert json.loads((tmp_path / "s" / "submission.json").read_text("utf-8"))["tier"] == first


def test_a_new_submission_says_which_config_a_datasets_name_means(board, tmp_path, toys):
    code, out, _ = board("submit", tmp_path / "d", "--method", "my_vae", "--task", "toy", "--tier", "smoke")
    assert (code, "toy: uses its default, toy/small; offaxis board tasks lists the others" in out) == (0, True)


def test_submit_check_score(board, toys, made_result, tmp_path, monkeypatch):
    monkeypatch.setattr(arguments, "PUBLISHED", tmp_path / "none")
    folder = tmp_path / "s"
    code, _, err = board("submit", folder)
    assert (code, "Name another folder, or add --method and --task." in err) == (2, True)
    begun = ("--method", "my_vae", "--task", "toy/small", "--tier", "smoke", "--seeds", "1")
    code, out, err = board("submit", folder, *begun)
    assert code == 0, err
    assert "rows.npy" in out
    file = folder / "submission.json"
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    content["supervision"] = "unsupervised"
    seed = content["tasks"]["toy/small"]["seeds"][0]
    seed["budget"]["steps"] = 10
    seed["claimed"] = {"mig": 0.999}
    file.write_text(json.dumps(content), "utf-8")
    code, out, _ = board("score", folder)
    assert code == 1
    assert "seed_0.npz: expected an npz file, received no such file. Add seed_0.onnx, encode" in out
    rows = np.load(folder / "toy/small/rows.npy")
    codes = toys["toy/small"].labels(rows) + np.sin(np.arange(180)).reshape(60, 3)
    np.savez(folder / "toy/small/seed_0.npz", indices=rows, codes=codes.astype(np.float32))
    code, _, err = board("submit", folder, *begun)
    assert (code, "already contains a submission" in err) == (2, True)
    code, out, err = board("submit", folder)
    assert (code, "ok: " in out) == (0, True)
    assert "warning: toy/small@v1: my_vae will not be ranked: it has 1 of 5 seeds; too few rows are left" in err
    code, _, err = board("score", folder, "--tier", "desk")
    assert (code, "expected --tier smoke, as in submission.json, received desk" in err) == (2, True)
    for asked in (("--metric", "mig"), ("--to", tmp_path / "scores.csv")):
        code, _, err = board("score", folder, *asked)
        expected = f"{folder}: only for scores of tasks, and cannot be combined with {asked[0]}"
        assert (code, expected in err) == (2, True)
    code, out, err = board("score", folder, "--to", tmp_path / "r", "--tier", "smoke")
    assert code == 0, err
    assert "My VAE" in out
    made = [made_result("toy/small", name, 0.25, 0.5) for name in ("beta_vae", "my_vae")]
    results_tree.write(tmp_path / "board", made)
    monkeypatch.setattr(arguments, "PUBLISHED", tmp_path / "board")
    code, out, err = board("score", folder)
    assert (code, out.count("tier smoke"), "beta_vae" in out, "my_vae (published)" in out) == (0, 1, True, True)
    results_tree.write(tmp_path / "other", [made_result("toy/small", "beta_vae", 0.25, tier="desk")])
    monkeypatch.setattr(arguments, "PUBLISHED", tmp_path / "other")
    code, out, err = board("score", folder)
    assert (code, "Scored in tier desk, not here: beta_vae." in " ".join(out.split())) == (0, True)
    code, out, err = board("score", folder, "--to", tmp_path / "r")
    assert "warning: toy/small@v1: mig of seed 0 was claimed as 0.999" in err
    content["about"]["title"] = "Another VAE"
    file.write_text(json.dumps(content), "utf-8")
    code, _, err = board("score", folder, "--to", tmp_path / "r")
    assert code == 2
    assert "about.title: expected 'My VAE', as in the results of my_vae on toy/small@v1, received 'Another VAE'" in err
    assert board("score", folder, "--to", tmp_path / "r", "--replace")[0] == 0
    assert results_tree.quarantine(tmp_path / "r/v1/toy/small/my_vae.json", "a test").quarantine == "a test"


def test_evaluate_and_heatmap_name_the_command_that_writes_what_is_missing(board, run_folder, tmp_path):
    folder = run_folder()
    (folder / "codes.npz").unlink()
    code, _, err = board("score", folder, "--to", tmp_path / "results")
    assert (code, "submitting.md describes the run folders of other programs" in err) == (2, True), err
    (folder / "config.json").write_text("{}")  # as the trainer writes
    code, _, err = board("score", folder, "--to", tmp_path / "results")
    assert (code, f"received none. Write it: offaxis train encode {folder}" in err) == (2, True), err
    code, _, err = board("score", folder, "--metric", "mig")
    assert (code, f"received none. Write it: offaxis train encode {folder}" in err) == (2, True), err
    code, _, err = board("similarity", folder, folder, "--to", tmp_path / "a.png")
    assert (code, f"received none. Write it: offaxis train encode --layers {folder}" in err) == (2, True), err


def test_metrics_of_a_run_are_of_the_data_that_it_was_trained_on(board, run_folder, tmp_path):
    folder = run_folder(seed=0)
    code, _, err = board("score", folder, run_folder(seed=1), "--metric", "mig", "--to", tmp_path / "a.csv")
    assert (code, "different methods or settings" in err) == (0, False)
    table = pd.read_csv(tmp_path / "a.csv")
    assert table[["dataset", "method", "seed"]].values.tolist() == [["toy/small", "beta_vae", seed] for seed in (0, 1)]
    assert set(table["hyperparameters"]) == {'{"beta": 1.0}'}
    code, _, err = board("score", folder, run_folder(seed=2, hyperparameters={"beta": 9.0}), "--metric", "mig")
    assert (code, "mean and sd are over runs of different methods or settings" in err) == (0, True)
    code, out, _ = board("score", folder, run_folder(dataset="toy/spacing_1"), "--metric", "mig")
    assert (code, [line.split()[-1] for line in out.splitlines() if " mig " in line]) == (0, ["–", "–"])
    file = folder / "run.json"
    content = json.loads(file.read_text("utf-8"))
    del content["dataset_digest"]
    file.write_text(json.dumps(content), "utf-8")
    assert board("score", folder / "codes.npz", "--metric", "mig", "--dataset", "toy/small")[0] == 0, "of unknown data"
    run_folder(seed=0, dataset_digest={"pixels": "0" * 64, "factors": "0" * 64})
    for path in (folder, folder / "codes.npz"):
        code, _, err = board("score", path, "--metric", "mig", *(["--dataset", "toy/small"] * (path != folder)))
        assert (code, "dataset_digest: expected" in err, "made from other data" in err) == (2, True, True), err


def test_a_folder_of_runs_says_which_runs_are_in_it(board, run_folder, tmp_path):
    parent = run_folder(seed=0).parent
    run_folder(seed=1)
    code, _, err = board("verify", parent)
    assert code == 2
    assert "expected a run folder, which has run.json, received a folder without it. It contains runs: " in err
    assert "toy-small-beta_vae-0, toy-small-beta_vae-1. Pass those instead." in err
    code, _, err = board("verify", tmp_path / "nowhere")
    assert (code, "received no such folder" in err) == (2, True)


def test_a_task_that_leaves_no_rows_to_verify_on_is_said_to_have_no_rank(board, tmp_path, monkeypatch):
    asked = ("--method", "my_vae", "--task", "toy/small", "--tier", "smoke")
    assert "toy/small@v1: too few rows are left to verify an encoder, so" in board("submit", tmp_path / "a", *asked)[2]
    monkeypatch.setattr(verification, "may_be_verified", lambda task: True)
    assert "too few rows are left" not in board("submit", tmp_path / "b", *asked)[2]


def test_what_may_stand_in_a_results_tree_is_no_result(board, tmp_path):
    (tmp_path / "reported").mkdir()
    assert board("check", tmp_path)[0] == 0


def test_a_folder_without_results_is_no_results_tree(board, tmp_path):
    (tmp_path / "my_vae").mkdir()
    (tmp_path / "my_vae" / "seed_0.npz").write_bytes(b"junk")
    code, out, err = board("check", tmp_path)
    assert code == 1
    found = " ".join((out + err).split())
    assert "holds no results, v1/<dataset>/<method>.json" in found


def test_the_task_that_is_asked_for_stands_first_and_its_ranked_tier_first(board, made_result, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "TIERS", TIERS)
    for task, tier in (("toy/spacing_1", "smoke"), ("toy/spacing_1.random", "smoke"), ("toy/spacing_1", "desk")):
        results_tree.write(tmp_path, [made_result(task, f"{tier}_vae", 0.25, tier=tier)])
    out = board("show", tmp_path, "--task", "toy/spacing_1")[1]
    assert re.findall(r"^(toy\S+, tier \w+)", out, re.M)[:2] == [
        "toy/spacing_1@v1, tier desk",
        "toy/spacing_1@v1, tier smoke",
    ]


def test_a_comparison_is_titled_by_the_tasks_of_both_and_explains_the_test_of_one_seed(board, made_result, tmp_path):
    scored = [("toy/spacing_1", "a", (0.8, 0.81)), ("toy/spacing_1", "b", (0.1, 0.2)), ("toy/spacing_8", "a", (0.8,))]
    results_tree.write(tmp_path / "r", [made_result(task, method, *migs) for task, method, migs in scored])
    _, shown, _ = board("compare", "a", "b", "--results", tmp_path / "r")
    assert "A = a (2 seeds, 1,000 steps), B = b (2 seeds, 1,000 steps), tier" in " ".join(shown.split())
    assert "Where a method has one seed" not in shown
    results_tree.write(tmp_path / "r", [made_result("toy/spacing_8", "b", 0.1, 0.2)])
    _, shown, _ = board("compare", "a", "b", "--results", tmp_path / "r")
    assert "Where a method has one seed" in shown
