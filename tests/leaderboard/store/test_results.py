"""Result files: what is written is read back, what does not belong together is not merged, nothing is lost."""

import datetime
import json
import multiprocessing
import subprocess
import sys

import pytest

from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard import record, schema
from leaderboard.report import integrity
from leaderboard.store import results, results_tree
from tests.leaderboard import scored_submission

pytestmark = pytest.mark.usefixtures("one_tier")

DCI = ("disentanglement", "completeness", "informativeness_train", "informativeness_test")


@pytest.fixture
def tree(run_folder, tmp_path):
    """A results tree with two seeds of β-VAE and one of PCA on toy/small."""
    root = tmp_path / "results"
    folders = [run_folder(seed=0), run_folder(seed=1), run_folder("pca")]
    results_tree.write(root, scored_submission.score_runs(folders))
    return root


def edit(root, change, method="beta_vae"):
    """Change a result file as a careless or hostile hand would."""
    file = results_tree.path(root, "toy/small@v1", method)
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")
    return file


def test_what_is_written_is_read_back(run_folder, tmp_path):
    scored = list(scored_submission.score_runs([run_folder(seed=0), run_folder(seed=1)]))
    (file,) = results_tree.write(tmp_path, scored)
    assert file == tmp_path / "v1" / "toy" / "small" / "beta_vae.json"
    assert results_tree.read(file) == scored[0]
    assert results_tree.read_all(tmp_path) == scored


def test_runs_in_any_order_come_by_tier_and_then_by_seed(made_result):
    made = made_result("toy/small", "beta_vae", 0.1, 0.2)
    runs = [run.model_copy(update={"tier": tier}) for run in reversed(made.runs) for tier in ("smoke", "desk")]
    found = results.result(made.task, made.method, runs).runs
    assert [(run.tier, run.seed) for run in found] == [("desk", 0), ("desk", 1), ("smoke", 0), ("smoke", 1)]


def test_seeds_are_merged_into_what_is_there(tree, run_folder):
    before = results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae"))
    results_tree.write(tree, scored_submission.score_runs([run_folder(seed=7)]))
    after = results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae"))
    assert [run.seed for run in after.runs] == [0, 1, 7]
    assert after.runs[:2] == before.runs
    assert after.summary["desk"]["mig"].seeds == 3


def test_evaluating_twice_changes_no_byte(tree, run_folder):
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    before = file.read_bytes()
    results_tree.write(tree, scored_submission.score_runs([run_folder(seed=1)]))
    assert file.read_bytes() == before


def test_other_codes_for_a_seed_must_be_meant(tree, run_folder):
    other = list(scored_submission.score_runs([run_folder(seed=0, noise=2.0)]))
    with pytest.raises(InvalidInput, match=r"seed 0: expected the codes of the stored run.*: --replace"):
        results_tree.write(tree, other)
    results_tree.write(tree, other, replace=True)
    assert results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae")).runs[0] == other[0].runs[0]


@pytest.fixture
def verification():
    return results.Verification(
        version="fresh_rows@v2",
        seed="x",
        encoder_digest="0" * 64,
        rows=1,
        rows_digest="0" * 64,
        deviation=0.0,
        scores=dict.fromkeys(
            ("mig", *(f"dci.{name}" for name in DCI)), results.Compared(codes=0.5, fresh=0.5, margin=0.01)
        ),
        date=datetime.date(2026, 1, 2),
        verified_with={},
    )


def test_what_running_an_encoder_showed_is_taken_over(tree, verification):
    """By the same run: a verification, or the mark that it failed, which goes with a verification alone."""
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    plain = results_tree.read(file)

    def evaluated(**fields):
        runs = [plain.runs[0].model_copy(update=fields), *plain.runs[1:]]
        results_tree.write(tree, [results.result(plain.task, plain.method, runs)])
        return results_tree.read(file).runs[0]

    both = (*plain.runs[0].marks, results.DISAGREES)
    assert evaluated(marks=(results.DISAGREES,)).marks == both
    assert evaluated().marks == both
    found = evaluated(verification=verification, marks=())
    assert (found.verification, found.marks) == (verification, ())
    assert evaluated(marks=(results.DISAGREES,)) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(version="nonsense"), r"verification\.version: expected 'fresh_rows@v1' or 'fresh_rows@v2'"),
        (lambda c: c.update(seed=""), r"verification\.seed: expected a length of at least 1, received 0"),
        (lambda c: c.update(scores={"foo": c["scores"]["mig"]}), r"verification\.scores: expected those of the run"),
        (lambda c: c["scores"].pop("mig"), r"verification\.scores: expected those of the run, .*'mig'\]"),
        (lambda c: c["scores"]["mig"].update(fresh=0.52), r"scores\.mig: expected 0\.5000 within 0\.0100"),
    ],
)
def test_a_record_of_a_verification_that_could_not_be(tree, verification, change, message):
    record = verification.model_dump(mode="json")
    file = edit(tree, lambda c: c["runs"][0].update(verification=record))
    assert results_tree.read(file).runs[0].verification == verification
    change(record)
    edit(tree, lambda c: c["runs"][0].update(verification=record))
    with pytest.raises(DamagedFile, match=message):
        results_tree.read(file)


def test_replacing_a_run_by_itself_keeps_its_verification(tree, run_folder, verification):
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    plain = results_tree.read(file)
    runs = [run.model_copy(update={"verification": verification}) for run in plain.runs]
    results_tree.write(tree, [results.result(plain.task, plain.method, runs)])
    results_tree.write(tree, [plain], replace=True)
    assert [run.verification for run in results_tree.read(file).runs] == [verification] * 2
    results_tree.write(tree, scored_submission.score_runs([run_folder(seed=0, noise=2.0)]), replace=True)
    assert [run.verification for run in results_tree.read(file).runs] == [None, verification], (
        "other codes are unverified"
    )


@pytest.mark.parametrize("by", [0.0, 0.01])
def test_replacing_a_run_by_itself_keeps_its_marks(tree, verification, moved, by):
    """Also where its scores have moved. A verification clears them, and other codes have none."""
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    plain = results_tree.read(file)
    marks = ("seen", results.DISAGREES)
    edit(tree, lambda c: c["runs"][0].update(marks=marks))

    def replaced(**fields):
        runs = [moved(plain.runs[0], by).model_copy(update=fields), *plain.runs[1:]]
        results_tree.write(tree, [results.result(plain.task, plain.method, runs)], replace=True)
        found = results_tree.read(file)
        assert found.runs[1] == plain.runs[1]
        return found.runs[0].marks

    assert replaced(status="recomputed") == marks
    assert replaced(marks=("new", results.DISAGREES)) == (*marks, "new")
    assert replaced(verification=verification) == ()
    assert replaced(marks=marks) == marks
    assert replaced(codes_digest="1" * 64) == ()


def test_moved_scores_are_named_in_order(tree):
    run = results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae")).runs[0]
    before, after = (
        run.model_copy(update={"scores": {f"m{k:02}": score for k in reversed(range(30))}}) for score in (0.1, 0.2)
    )
    assert [key for key, _, _ in results_tree.score_drifts(before, after)] == [f"m{k:02}" for k in range(30)]


def test_a_moved_score_of_the_same_codes_is_refused(tree, moved):
    found = results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae"))

    def other(by):
        return [results.result(found.task, found.method, [moved(found.runs[0], by)])]

    results_tree.write(tree, other(0.0009))
    with pytest.raises(InvalidInput, match=r"seed 0: expected mig within .* as published for the same codes"):
        results_tree.write(tree, other(-0.0011))


def test_another_setting_takes_another_name(tree, run_folder):
    with pytest.raises(InvalidInput, match=r"hyperparameters of seed 5.*give the other setting another method name"):
        results_tree.write(tree, scored_submission.score_runs([run_folder(seed=5, hyperparameters={"beta": 9.0})]))
    with pytest.raises(InvalidInput, match=r"method: expected .*, received 'β = 9'"):
        results_tree.write(
            tree, scored_submission.score_runs([run_folder(seed=5, hyperparameters={"beta": 9.0})], method="β = 9")
        )
    results_tree.write(
        tree, scored_submission.score_runs([run_folder(seed=5, hyperparameters={"beta": 9.0})], method="beta_vae_9")
    )
    other = results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae_9"))
    assert (other.title, [run.seed for run in other.runs]) == ("beta_vae_9", [5])


@pytest.mark.parametrize(
    ("about", "field"),
    [({"title": "VAE of ours"}, "title"), ({"title": "β-VAE", "code": "https://example.org"}, "")],
)
def test_another_description_of_a_method_must_be_meant(tree, run_folder, about, field):
    """Nothing at all leaves it as it is, and what was not said before may be added."""
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    results_tree.write(tree, scored_submission.score_runs([run_folder(seed=6, about={})]))
    assert results_tree.read(file).title == "β-VAE"
    other = list(scored_submission.score_runs([run_folder(seed=7, about=about)]))
    if field:
        message = rf"beta_vae on toy/small@v1: about\.{field}: expected .*, as in the .*overwrite .*: --replace"
        with pytest.raises(InvalidInput, match=message):
            results_tree.write(tree, other)
    results_tree.write(tree, other, replace=bool(field))
    assert about.items() <= results_tree.read(file).about.model_dump().items()


def test_a_new_description_replaces_that_of_all_tasks(made_result, tmp_path):
    old, new = results.About(title="Old", code="https://example.org"), results.About(title="New")
    (kept,) = results_tree.write(tmp_path, [made_result("toy/spacing_1", "mine", 0.1, about=old)])
    results_tree.write(tmp_path, [made_result("toy/spacing_8", "mine", 0.2, about=new)], replace=True)
    about = results_tree.read(kept).about
    assert (about.title, about.code) == ("New", "https://example.org"), "what the new one leaves empty stays"
    assert [run.scores["mig"] for run in results_tree.read(kept).runs] == [0.1]


def test_of_two_citations_the_line_is_named_that_differs(tree, run_folder):
    """Each is longer than a message shows of a text."""
    title = "  title = {Understanding Disentangling in $\\beta$-{VAE}, by Many Authors of Many Places Far Away},"
    one, other = (f"@article{{key,\n{title}\n  year = {{{year}}}\n}}" for year in (2018, 2019))
    results_tree.write(tree, scored_submission.score_runs([run_folder(seed=6, about={"bibtex": one})]))
    with pytest.raises(
        InvalidInput, match=r"about\.bibtex, line 3: expected '  year = \{2018\}', .*'  year = \{2019\}'"
    ):
        results_tree.write(tree, scored_submission.score_runs([run_folder(seed=7, about={"bibtex": other})]))


def test_a_damaged_file_of_a_method_does_not_keep_it_from_another_task(tree, run_folder):
    results_tree.path(tree, "toy/small@v1", "beta_vae").write_text("{}", "utf-8")
    (written,) = results_tree.write(tree, scored_submission.score_runs([run_folder(dataset="toy/spacing_1")]))
    assert results_tree.read(written).method == "beta_vae"


def test_a_method_on_another_task_is_the_same_method(tree, run_folder):
    stranger = list(scored_submission.score_runs([run_folder(dataset="toy/spacing_1", about={"title": "VAE of ours"})]))
    with pytest.raises(
        InvalidInput, match=r"about\.title: expected 'β-VAE', as in the results of beta_vae on toy/small"
    ):
        results_tree.write(tree, stranger)
    assert not results_tree.path(tree, "toy/spacing_1@v1", "beta_vae").exists()
    results_tree.write(tree, stranger, replace=True)
    assert results_tree.path(tree, "toy/spacing_1@v1", "beta_vae").exists()


def test_a_reference_is_a_reference(run_folder):
    with pytest.raises(InvalidInput, match="method: expected another name than that of a reference, received 'pca'"):
        list(scored_submission.score_runs([run_folder("pca", supervision="unsupervised")]))


def test_results_of_different_methods_are_not_merged(tree):
    pca, beta = (results_tree.read(results_tree.path(tree, "toy/small@v1", name)) for name in ("pca", "beta_vae"))
    with pytest.raises(InvalidInput, match="pca on toy/small@v1: expected the same task and method, received beta_vae"):
        results_tree.merge(beta, pca)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "reproduced"),
        ("budget", record.Budget(steps=5, images=0, seconds=0.0, device="")),
        ("supervision", "supervised"),
        ("selection", "best of 100"),
        ("hyperparameters", {"beta": 9.0}),
    ],
)
def test_the_same_codes_with_another_status_budget_or_setting_must_be_meant(tree, field, value):
    found = results_tree.read(results_tree.path(tree, "toy/small@v1", "beta_vae"))
    runs = [run.model_copy(update={field: value}) for run in found.runs]
    other = results.result(found.task, found.method, runs, about=found.about)
    with pytest.raises(InvalidInput, match=rf"seed 0: {field}: expected .* as of the stored run .*: --replace"):
        results_tree.write(tree, [other])
    (file,) = results_tree.write(tree, [other], replace=True)
    assert getattr(results_tree.read(file).runs[0], field) == value


def test_a_folder_that_cannot_be_written(tree, run_folder, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InvalidInput, match="expected a writable path"):
        results_tree.write(blocked, scored_submission.score_runs([run_folder(seed=0)]))


def _add(root, result):
    for _ in range(5):
        results_tree.write(root, [result])


def test_writers_at_the_same_time_lose_nothing(run_folder, tmp_path):
    scored = [next(scored_submission.score_runs([run_folder(seed=seed)])) for seed in range(8)]
    writers = [multiprocessing.get_context("fork").Process(target=_add, args=(tmp_path / "r", s)) for s in scored]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert all(writer.exitcode == 0 for writer in writers)
    (result,) = results_tree.read_all(tmp_path / "r")
    assert [run.seed for run in result.runs] == list(range(8))
    assert not list((tmp_path / "r").rglob("*.part"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c["runs"][0]["scores"].update(mig=1.5),
            r"scores\.mig: expected a number in \[0, 1\], received 1\.5",
        ),
        (lambda c: c["runs"][0]["scores"].update(mig=-0.1), r"scores\.mig: expected a number in \[0, 1\]"),
        (lambda c: c["runs"][0]["scores"].update(mig=0.123), r"scores\.mig: expected .*as computed from its parts"),
        (
            lambda c: c["runs"][0]["scores"].update({"dci.completeness": 0.123}),
            r"scores\.dci\.completeness: expected .*as computed from its parts",
        ),
        (lambda c: c["runs"][0]["parts"]["mig"].update(gaps=[1.0, 1.0, 1.0]), r"scores\.mig: expected 1\.0+, as comp"),
        (
            lambda c: c["runs"][0]["parts"]["mig"].update(gaps=[9.0, -9.0, 0.5]),
            r"parts\.mig\.gaps: expected numbers in \[0, 1\], received 9",
        ),
        (
            lambda c: c["runs"][0]["parts"]["dci"].update(accuracy_test=[0.5, 0.5, -0.5]),
            r"parts\.dci\.accuracy_test: expected numbers in \[0, 1\], received -0\.5",
        ),
        (
            lambda c: c["runs"][0]["parts"]["mig"].clear(),
            r"parts\.mig: expected the parts of that metric",
        ),
        (
            lambda c: c["runs"][0]["parts"]["dci"].update(matrix=[[]]),
            r"parts\.dci: expected the parts of that metric",
        ),
        (lambda c: c["runs"][0]["parts"].update(magic={}), r"parts\.magic: expected the parts"),
        (lambda c: c["runs"].reverse(), "runs: expected one run for each tier and seed, in order"),
        (lambda c: c["runs"].append(c["runs"][1]), "runs: expected one run for each tier and seed, in order"),
        (
            lambda c: c["runs"][1].update(codes_digest=c["runs"][0]["codes_digest"]),
            "codes_digest of seed 1: expected codes of a separate training for each seed, received those of seed 0",
        ),
        (lambda c: c["runs"].clear(), "runs: expected a length of at least 1, received 0"),
        (lambda c: c["runs"][1].update(selection="best of 100"), "selection of seed 1: expected 'none'"),
        (lambda c: c["runs"][1].update(rows_digest="0" * 64), "rows_digest of seed 1"),
        (lambda c: c["runs"][1]["scores"].update(sap=0.1), "samples: expected an entry for each of"),
        (
            lambda c: c["runs"][1]["samples"].update(sap=c["runs"][1]["samples"]["mig"]),
            "samples: expected an entry for each of",
        ),
        (lambda c: c.update(schema=9), "schema: expected 1, received 9"),
        (lambda c: c["runs"][0].update(tier="/../../x"), r"runs\.0\.tier: expected a lower-case name of letters"),
        (lambda c: c.update(method="../../x"), "method: expected a lower-case name of letters"),
        (lambda c: c.update(task="toy/../x@v1"), "task: expected text that matches"),
        (
            lambda c: c.update(method="other"),
            "runs: seed 0: expected other on toy/small, received beta_vae on toy/small",
        ),
        (
            lambda c: (c.update(method="other"), [run.update(method="other") for run in c["runs"]]),
            r"expected the path to end in v1/toy/small/other\.json",
        ),
        (lambda c: c.update(quarantined=True), "quarantined: expected no such field.*Did you mean 'quarantine'"),
        (
            lambda c: c["runs"][0]["samples"]["mig"].update(trian=1),
            r"runs\.0\.samples\.mig\.trian: expected no such field.*Did you mean 'train'",
        ),
        (lambda c: c["about"].update(title="a\u202eb"), r"about\.title: expected text"),
        (lambda c: c["about"].update(title="a\nb"), r"about\.title: expected text"),
        (lambda c: c["about"].update(title="x" * 201), r"about\.title: expected .*at most 200"),
        (lambda c: c["about"].update(code="data:text/html,x"), r"about\.code: expected text that matches"),
        (lambda c: c["runs"][0].update(date="yesterday"), "date: expected a valid date"),
    ],
)
def test_damaged_files_are_named_with_the_field(tree, change, message):
    file = edit(tree, change)
    with pytest.raises(DamagedFile, match=message) as caught:
        results_tree.read(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(("off", "is_read"), [(0.001, True), (0.002, False)])
def test_a_large_score_may_be_a_hundred_thousandth_of_itself_from_its_parts(tree, off, is_read):
    def add_r_squared(content):
        for run in content["runs"]:
            run["scores"] |= {"r_squared": off - 149.25, "r_squared.r_squared_min": -299.0}
            run["parts"]["r_squared"] = {"errors": [300.0, 1.0], "variances": [1.0, 2.0]}
            run["samples"]["r_squared"] = run["samples"]["mig"]

    file = edit(tree, add_r_squared)
    if is_read:
        assert results_tree.read(file).runs[0].scores["r_squared"] == off - 149.25
    else:
        with pytest.raises(DamagedFile, match=r"scores\.r_squared: expected -149\.250000, as computed from its parts"):
            results_tree.read(file)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none(tree, number):
    file = results_tree.path(tree, "toy/small@v1", "pca")
    text = file.read_text("utf-8")
    mig = json.loads(text)["runs"][0]["scores"]["mig"]
    file.write_text(text.replace(f'"mig": {mig}', f'"mig": {number}'), "utf-8")
    with pytest.raises(DamagedFile, match="finite number"):
        results_tree.read(file)


def test_a_key_twice_is_refused(tree):
    file = results_tree.path(tree, "toy/small@v1", "beta_vae")
    text = file.read_text("utf-8")
    file.write_text(text.replace('"method":', '"method": "other", "method":', 1), "utf-8")
    with pytest.raises(DamagedFile, match=r"expected each key once, received the key 'method' twice"):
        results_tree.read(file)


@pytest.mark.parametrize(
    ("bibtex", "received"),
    [
        ("@misc{a, title = {\\input{/etc/passwd}}}", r"\\input"),
        ("@misc{a, title = {\\write18{rm}}}", r"\\write"),
        ("@misc{a, title = {\\csname in\\endcsname}}", r"\\csname"),
        ("@misc{a, title = {^^5cinput x}}", r"\^\^, which spells others in TeX"),
    ],
)
def test_bibtex_that_does_more_than_print_is_refused(bibtex, received):
    with pytest.raises(DamagedFile, match=rf"bibtex: expected .*, received {received}.*\. (Leave|Write)"):
        schema.parse_or_raise(record.About, json.dumps({"bibtex": bibtex}), "about")


def test_bibtex_with_accents_and_symbols_is_taken():
    text = r"@misc{a, author = {R{\"a}tsch and Rol{\'\i}nek and {\O}l}, title = {$\beta$-{VAE} \& \emph{co}}}"
    assert schema.parse_or_raise(record.About, json.dumps({"bibtex": text}), "about").bibtex == text


def test_a_tree_that_is_not_there(tmp_path):
    with pytest.raises(DamagedFile, match="expected a results folder, received no such folder"):
        results_tree.read_all(tmp_path / "absent")


def test_a_sound_tree_has_no_problems(tree):
    assert integrity.check(tree) == []


def test_a_hidden_file_beside_a_result_is_no_result(tree):
    """As macOS leaves one beside every file of a disk that is not its own."""
    files = results_tree.files(tree)
    files[0].with_name(f"._{files[0].name}").write_bytes(b"\0")
    assert results_tree.files(tree) == files


def test_every_problem_of_a_tree_is_listed(tree, tmp_path):
    edit(tree, lambda c: [run.update(rows_digest="0" * 64, dataset_version="2.0.0") for run in c["runs"]])
    edit(tree, lambda c: [run.update(parts={}) for run in c["runs"]])
    edit(tree, lambda c: [run["samples"]["mig"].update(train=7) for run in c["runs"]])
    edit(tree, lambda c: c.update(schema=2), "pca")
    folder = results_tree.path(tree, "toy/small@v1", "pca").parent
    (folder / "notes.txt").write_text("hello")
    (folder / "link.png").symlink_to("/etc/passwd")
    problems = [str(problem) for problem in integrity.check(tree)]
    assert len(problems) == 13
    for part in (
        "rows_digest",
        "dataset_version",
        "parts of dci: expected arrays",
        "parts of mig: expected arrays",
        "samples of mig: expected 40 train",
        "schema: expected 1",
        "notes.txt",
        "received a link",
    ):
        assert any(part in problem for problem in problems), part


def test_a_tier_that_is_unknown_is_named(tree):
    edit(tree, lambda c: [run.update(tier="nightly") for run in c["runs"]])
    assert any("tier: expected one of" in str(problem) for problem in integrity.check(tree))


def test_a_dataset_that_is_unknown_is_named(tree, toys):
    del toys["toy/small"]
    problems = [str(problem) for problem in integrity.check(tree)]
    assert len(problems) == 2
    assert all(problem.startswith("dataset: expected one of toy/spacing_1") for problem in problems), problems


def test_what_lies_beside_the_scores_is_looked_at(tree):
    (tree / "reported").mkdir()
    (tree / "reported/old.json").write_text("{}")
    (problem,) = integrity.check(tree)
    assert "old.json" in str(problem)


def test_methods_that_differ_by_an_underscore(tree, run_folder):
    results_tree.write(tree, scored_submission.score_runs([run_folder("betavae", "toy/spacing_8")]))
    assert integrity.check(tree) == [], "on another task"
    results_tree.write(tree, scored_submission.score_runs([run_folder("beta_va_e")]))
    (problem,) = integrity.check(tree)
    assert "a name that differs from 'beta_va_e' by more than underscores" in str(problem)


def test_a_score_that_moved_or_vanished_since_an_earlier_copy(tree, tmp_path, moved):
    copy = tmp_path / "before"
    tree.rename(copy)
    for result in results_tree.read_all(copy):
        runs = [moved(r, -0.01) for r in result.runs if r.seed == 0]
        results_tree.write(tree, [results.result(result.task, result.method, runs, about=result.about)])
    problems = [str(problem) for problem in integrity.score_changes(tree, copy)]
    assert len(problems) == 3
    assert "mig, tier desk, seed 0: expected" in problems[0]
    assert "seed 1: expected a run that was published, received nothing" in problems[1]
    assert integrity.score_changes(copy, copy) == []


def test_a_missing_extra_is_named():
    code = "import sys; sys.modules['pydantic'] = None\nimport leaderboard.store.results"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "reading results: expected the package pydantic" in done.stderr
    assert "pip install 'offaxis[board]'" in done.stderr
