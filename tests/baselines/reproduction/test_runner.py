"""Studies: a figure with training from nothing, what is kept when it stops, what is refused, and the commands."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import re
import shutil
import signal
import time
from pathlib import Path

import filelock
import numpy as np
import pandas as pd
import PIL.Image
import pytest
from typer.testing import CliRunner

import benchmark_data
from baselines import program
from baselines.commands import study as cli
from baselines.reproduction import catalogue, entries, pages, records, runner
from baselines.reproduction.entries import Entry, Outcome, Plan, Runs, Transfer, Verdict
from baselines.reproduction.papers import _accuracy, _heatmaps, _scores
from baselines.reproduction.papers._heatmaps import Panel, Side
from baselines.run import Run
from baselines.run_folder import Snapshots
from baselines.training import sweep, worker
from benchmark_data import DamagedFile, InvalidInput, Unavailable, UnknownName, console, files
from leaderboard import protocol
from leaderboard.analyses import transfer_accuracy
from leaderboard.metrics import downstream
from leaderboard.store import verdicts

ROOT = Path(__file__).parents[3]
FIRST, SCORES = "2205.08399/fig3", "2202.13341/fig9"


@pytest.fixture(scope="module")
def configs(tiny):
    return tuple(
        tiny(dataset=f"xysquares/spacing_{spacing}", architecture_parameters={"width": 32}) for spacing in (1, 8)
    )


def heatmaps_of(configs):
    """The entry of figure 3 with these runs."""
    panels = tuple(
        Panel(f"{c.dataset} at {share:g}", Side((c,), share), Side((c,)), model=c.dataset)
        for c in configs
        for share in (0.0, 0.7)
    )
    plan = Plan(runs=tuple(configs), settings={"panels": panels, "samples": 20})
    return dataclasses.replace(catalogue.entries()[FIRST], desk=plan)


@pytest.fixture(scope="module")
def heatmaps(configs):
    """The entry of figure 3 with two runs of six steps."""
    return heatmaps_of(configs)


@pytest.fixture(scope="module")
def made(heatmaps, sweeps_here, tmp_path_factory):
    """Its results, made once. The first attempt is broken off between the table and the picture."""
    folder = tmp_path_factory.mktemp("study")

    def broken(found, path):
        raise KeyboardInterrupt

    with sweeps_here(), pytest.raises(KeyboardInterrupt):
        runner.run(dataclasses.replace(heatmaps, draw=broken), "desk", folder, folder / "runs", jobs=1)
    assert (folder / FIRST / "table.csv.gz").exists()
    assert not (folder / FIRST / "verdict.json").exists()
    assert runner.state(heatmaps, "desk", folder, folder / "runs") == "ready"
    trained = stamps(folder)
    record = runner.run(heatmaps, "desk", folder, folder / "runs", jobs=1)
    assert stamps(folder) == trained, "finished runs are not trained again"
    return folder, record


def runs_of(folder):
    return sorted(path.parent for path in (folder / "runs").rglob("run.json"))


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in sorted((folder / "runs").rglob("weights.npz"))}


def constant(answer="supported", p=0.008, **changes):
    """An entry that trains nothing."""
    values = {
        "id": "2205.08399/fig1",
        "paper": "p",
        "claim": "C.",
        "desk": Plan(settings={"a": 1}),
        "study": Plan(),
        "compute": lambda settings, runs, tier: Outcome(pd.DataFrame({"a": [1.0]})),
        "draw": lambda found, path: PIL.Image.new("RGB", (9, 9)).save(path),
        "judge": lambda table: Verdict(answer, {"a": float(table["a"].iloc[0])}, p, "", (0.2, 0.1, 0.3), "MIG"),
    }
    return Entry(**values | changes)


def test_a_figure_that_is_made_again_and_broken_off_has_no_record(tmp_path):
    def broken(result, path):
        raise KeyboardInterrupt

    runner.run(constant(), "desk", tmp_path, tmp_path / "runs", jobs=1)
    changed = constant(
        desk=Plan(settings={"a": 2}),
        compute=lambda settings, runs, tier: Outcome(pd.DataFrame({"a": [2.0]})),
        draw=broken,
    )
    with pytest.raises(KeyboardInterrupt):
        runner.run(changed, "desk", tmp_path, tmp_path / "runs", jobs=1)
    assert not (tmp_path / changed.id / records.RECORD).exists()
    assert runner.state(changed, "desk", tmp_path, tmp_path / "runs") == "ready"


def test_a_figure_with_training_from_nothing(made):
    folder, record = made
    assert set(record) == {*records.RECORDED}
    assert record["schema"] == records.SCHEMA
    assert record == json.loads((folder / FIRST / "verdict.json").read_text("utf-8"))
    assert record["budget"]["runs"] == 2
    assert record["budget"]["steps"] == [6]
    assert list(record["trained"]) == [str(path.relative_to(folder / "runs")) for path in runs_of(folder)]
    assert all(seconds > 0 for seconds in record["trained"].values())
    table = records.read_table(folder / FIRST)
    assert table["model"].unique().tolist() == ["xysquares/spacing_1", "xysquares/spacing_8"]
    same = table[(table.layer_x == "input") & (table.layer_y == "input")]
    assert same.similarity.tolist() == pytest.approx([1] * len(same))
    for one, judge in zip(record["judged"], (_heatmaps.judge_ahead, _heatmaps.judge_learned_first), strict=True):
        verdict = judge(table)
        assert (one["verdict"], one["note"]) == ("too few seeds", verdict.note), "one seed"
        assert one["numbers"] == pytest.approx(verdict.numbers, abs=1e-5)
    assert [one["control"] for one in record["judged"]] == [False, True]
    assert (folder / FIRST / "figure.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.whole
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_study_that_is_killed_goes_on_from_the_snapshots(configs, tmp_path):
    """SIGKILL after the first run's first snapshot: the rest is trained, and every number is the same.

    All train in a worker each: with as many threads, on which the last bits depend.
    """
    entry = heatmaps_of([dataclasses.replace(config, steps=300, snapshots=[20]) for config in configs])
    whole, half = tmp_path / "whole", tmp_path / "half"

    runner.run(entry, "desk", whole, whole / "runs", jobs=1)
    first = half / "runs" / sweep.run_path(entry.desk.runs[0]) / "snapshots" / "step_00000020" / "state.json"
    child = multiprocessing.get_context("spawn").Process(
        target=runner.run, args=(entry, "desk", half, half / "runs"), kwargs={"jobs": 1}
    )
    child.start()
    while child.is_alive() and not first.exists():
        time.sleep(0.002)
    child.kill()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    with filelock.FileLock(first.parents[2] / ".lock", timeout=60):  # its worker's, which ends a moment later
        pass
    assert not (half / FIRST).exists()
    assert runner.state(entry, "desk", half, half / "runs") == "2 of 2 runs missing"
    written = first.stat().st_mtime_ns
    runner.run(entry, "desk", half, half / "runs", jobs=1)
    assert first.stat().st_mtime_ns == written
    for name in ("table.csv.gz", "figure.png"):
        assert (half / FIRST / name).read_bytes() == (whole / FIRST / name).read_bytes()


def test_what_is_finished_is_left_alone_until_it_changes(made, heatmaps):
    folder, record = made

    def never(*_):
        raise AssertionError

    again = dataclasses.replace(heatmaps, compute=never)
    assert runner.run(again, "desk", folder, folder / "runs") == record
    assert runner.state(again, "desk", folder, folder / "runs") == "done"
    plan = again.desk
    changed = dataclasses.replace(again, desk=dataclasses.replace(plan, settings=plan.settings | {"samples": 7}))
    assert runner.state(changed, "desk", folder, folder / "runs") == "ready"
    with pytest.raises(AssertionError):
        runner.run(changed, "desk", folder, folder / "runs")


def test_a_claim_that_changes_is_judged_by_the_table_that_is_there(made, heatmaps, tmp_path):
    """Nothing is computed, and no run is looked for; a record that says the same is not written again."""
    folder = tmp_path / "into"
    shutil.copytree(made[0] / heatmaps.id, folder / heatmaps.id)
    path = folder / heatmaps.id / "verdict.json"
    before = path.stat().st_mtime_ns

    def never(*_):
        raise AssertionError

    again = dataclasses.replace(heatmaps, compute=never, draw=never)
    assert runner.run(again, "desk", folder, tmp_path / "none") == made[1]
    assert path.stat().st_mtime_ns == before
    other = dataclasses.replace(
        again, claim="Another one.", second=None, judge=lambda table: Verdict("supported", {"rows": len(table)})
    )
    assert runner.state(other, "desk", folder, tmp_path / "none") == "done"
    record = runner.run(other, "desk", folder, tmp_path / "none")
    rows = len(records.read_table(folder / heatmaps.id))
    (one,) = record["judged"]
    assert (one["claim"], one["verdict"], one["numbers"]) == ("Another one.", "replicated", {"rows": float(rows)})
    assert records.read_record(folder / heatmaps.id) == record
    assert record["trained"] == made[1]["trained"]


def test_another_figure_takes_the_same_runs(made, configs, in_this_process, few_rows, monkeypatch):
    folder, _ = made
    trained = stamps(folder)
    entry = catalogue.entries()[SCORES]
    entry = dataclasses.replace(entry, desk=Plan(runs=configs, settings={"runs": configs}, codes=True))
    assert runner.state(entry, "desk", folder, folder / "runs") == "2 of 2 runs missing"  # their codes
    runner.run(entry, "desk", folder, folder / "runs", jobs=1)
    assert stamps(folder) == trained
    table = records.read_table(folder / SCORES)
    assert table["spacing"].tolist() == [1, 8]
    assert table[["mig", "dci_disentanglement"]].stack().between(0, 1).all()
    pca = [_scores.score_pca(Runs(folder / "runs"), config.dataset, "desk", ("mig",))["mig"] for config in configs]
    assert table["pca_mig"].tolist() == pytest.approx(pca)
    scores = list((folder / "runs" / "scores").iterdir())
    assert len(scores) == 2 * 2, "MIG and DCI of either run"
    codes = folder / "runs" / sweep.run_path(configs[0]) / "codes.npz"
    with np.load(codes) as held:
        arrays = dict(held)
    np.savez(codes, **arrays | {"codes": arrays["codes"][::-1]})
    _scores.scores(Runs(folder / "runs"), configs[0], "desk", ("mig",))
    assert len(list((folder / "runs" / "scores").iterdir())) == 2 * 2 + 1, "codes that are others are scored anew"
    np.savez(codes, **arrays)
    floors = [path for path in (folder / "runs" / "floors").rglob("*") if path.is_file()]
    assert len(floors) == 2 * 2
    assert all(path.suffix == ".json" for path in floors), "what looks for runs' codes must not find PCA's"
    newer = dataclasses.replace(benchmark_data.load(configs[0].dataset), version="99.0.0")
    monkeypatch.setattr(benchmark_data, "load", lambda _: newer)
    _scores.score_pca(Runs(folder / "runs"), configs[0].dataset, "desk", ("mig",))
    assert len(list((folder / "runs" / "floors").rglob("*.json"))) == 2 * 2 + 1, "another version is scored anew"


def test_an_encoder_is_asked_about_another_dataset(made, configs, in_this_process, tmp_path, monkeypatch):
    """Accuracies and reconstructions of a target, by models of both datasets."""
    monkeypatch.setattr(downstream, "_PENALTIES", (0.1, 1.0))  # ten take five times as long
    folder, _ = made
    trained = stamps(folder)
    target, source = (config.dataset for config in configs)
    settings = {"targets": {target: configs}, "train": 100, "test": 50, "labels": ("x_R",), "version": 1}
    table = dataclasses.replace(catalogue.entries()["2304.10767/table2"], desk=Plan(runs=configs, settings=settings))
    runner.run(table, "desk", folder, folder / "runs", jobs=1)
    found = records.read_table(folder / table.id)
    assert found["label"].unique().tolist() == ["x_R"]
    counts = found.groupby("source", sort=False).size().to_dict()
    assert counts == {target: 2, "most frequent class": 1, "untrained": 2, source: 2}
    untrained = Run.open(folder / "runs" / sweep.run_path(configs[0]), step=0)
    task = protocol.task(target)
    places = [*range(100), *range(len(task.train), len(task.train) + 50)]
    expected = transfer_accuracy.measure(
        {"a": untrained.encode_rows(task.indices[places], task.load())},
        *(task.labels()[places], task.scored),
        test=np.arange(150) >= 100,
    ).query("label == 'x_R' and source == 'a'")
    assert found.query("source == 'untrained'")["test"].tolist() == pytest.approx(expected["test"].tolist())
    held = {path.name: path.stat().st_mtime_ns for path in (folder / "runs" / "accuracies").iterdir()}
    assert len(held) == 3
    averages = dataclasses.replace(catalogue.entries()["2304.10767/table1"], desk=Plan(settings=settings))
    runner.run(averages, "desk", folder, folder / "runs")
    assert held == {path.name: path.stat().st_mtime_ns for path in (folder / "runs" / "accuracies").iterdir()}
    run = Run.open(folder / "runs" / sweep.run_path(configs[0]), step=0)
    shutil.copytree(run.folder, tmp_path / sweep.run_path(configs[0]))
    for version in (1, 2):
        _accuracy.accuracy(Runs(tmp_path), configs[0], target, settings | {"version": version}, step=0)
    snapshots = Snapshots(tmp_path / sweep.run_path(configs[0]))
    shutil.copy(snapshots.path(configs[0].steps) / "weights.npz", snapshots.path(0))
    _accuracy.accuracy(Runs(tmp_path), configs[0], target, settings, step=0)
    assert len(list((tmp_path / "accuracies").iterdir())) == 3, "another version, and other weights"
    settings = {"target": target, "runs": configs[1:], "images": 20, "shown": 4, "properties": ("x", "y", "size")}
    places = dataclasses.replace(catalogue.entries()["2304.10767/fig8"], desk=Plan(runs=configs[1:], settings=settings))
    numbers = runner.run(places, "desk", folder, folder / "runs", jobs=1)["judged"][0]["numbers"]
    phrases = ("rank correlation", "slope", "standard deviation after")
    assert set(numbers) == {f"{phrase} of {name}" for phrase in phrases for name in ("x", "y", "size")}
    assert all(-1 <= value <= 1 for phrase, value in numbers.items() if phrase.startswith("rank"))
    assert stamps(folder) == trained


@pytest.fixture(scope="module")
def decoders(configs):
    """The entry of figure 6 with a run, and transfers of it that retrain one layer or all four."""
    transfers = tuple(
        Transfer(source=configs[0], dataset=configs[1].dataset, heads=heads, decoder=layers, changes={"steps": 2})
        for layers in (1, 4)
        for heads in (False, True)
    )
    settings = {"transfers": transfers, "images": 20, "shown": 4}
    plan = Plan(runs=configs[:1], transfers=transfers, settings=settings)
    return dataclasses.replace(catalogue.entries()["2304.10767/fig6"], desk=plan)


def test_transfers_are_trained_after_their_sources(decoders, tmp_path, in_this_process):
    folder, runs = tmp_path / "one", tmp_path / "one" / "runs"
    transfers = decoders.desk.transfers
    assert runner.state(decoders, "desk", folder, runs) == "5 of 5 runs missing"
    with pytest.raises(DamagedFile, match=r"config\.json"):
        Runs(runs).open(transfers[0])
    record = runner.run(decoders, "desk", folder, runs, jobs=1)
    assert (record["budget"]["runs"], record["budget"]["steps"]) == (5, [2, 6])
    assert record["budget"]["datasets"] == ["xysquares/spacing_1", "xysquares/spacing_8"]
    table = records.read_table(folder / decoders.id)
    assert table[["heads", "layers"]].to_numpy().tolist() == [[False, 1], [True, 1], [False, 4], [True, 4]]
    assert table["loss"].between(0, 64 * 64 * 3).all()
    run = Runs(runs).open(transfers[1])
    assert (run.config.dataset, run.config.steps) == ("xysquares/spacing_8", 2)
    assert run.config.reset == ("decoder_1", "log_variance", "mean")
    outside = Runs(runs).config_of(dataclasses.replace(transfers[1], side="outside"))
    assert outside.reset == ("log_variance", "mean", "output")
    moved = folder.rename(tmp_path / "two")
    trained = stamps(moved)
    (moved / decoders.id / "verdict.json").unlink()
    assert runner.state(decoders, "desk", moved, moved / "runs") == "ready"
    assert runner.run(decoders, "desk", moved, moved / "runs", jobs=1)["judged"] == record["judged"]
    assert stamps(moved) == trained, "a transfer does not depend on where its source lies"


def test_transfers_count(decoders):
    plan = decoders.desk
    alone = dataclasses.replace(decoders, desk=dataclasses.replace(plan, transfers=()))
    assert runner.digest_of_inputs(alone, "desk") != runner.digest_of_inputs(decoders, "desk")
    assert list(alone.desk.all_datasets) == ["xysquares/spacing_1"]
    assert len({each.digest for each in plan.transfers}) == len(plan.transfers)
    other = dataclasses.replace(plan.transfers[0], source=dataclasses.replace(plan.runs[0], seed=1))
    assert other.digest != plan.transfers[0].digest
    with pytest.MonkeyPatch.context() as patched:
        before = runner.digest_of_inputs(decoders, "desk")
        patched.setattr(Transfer, "STARTS", "otherwise")
        assert runner.digest_of_inputs(decoders, "desk") != before
    assert (other.plain.seed, other.plain.steps, other.plain.snapshots) == (1, 2, (0,))


def test_a_run_that_diverges_is_named(tiny, tmp_path):
    config = tiny()
    (tmp_path / "runs" / sweep.run_path(config)).mkdir(parents=True)
    files.write_json(tmp_path / "runs" / sweep.run_path(config) / "config.json", config.as_json())
    worker.record_failure(tmp_path / "runs", config.digest, "the loss is NaN", diverged=True)
    with pytest.raises(InvalidInput, match=r"1 of 1 runs did not finish\. The first is xysq.*: the loss is NaN"):
        runner.run(constant(desk=Plan(runs=(config,))), "desk", tmp_path, tmp_path / "runs", jobs=1)
    assert not (tmp_path / "2205.08399").exists()


def test_a_dataset_that_is_not_there_is_named_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path / "none"))
    entry = constant(desk=Plan(datasets=("cars3d/native",)))
    with pytest.raises(Unavailable, match=r"Run `offaxis data prepare cars3d/native`"):
        runner.run(entry, "desk", tmp_path, tmp_path / "runs")


def test_results_of_a_later_tier_replace_those_of_an_earlier_one(tmp_path):
    runner.run(constant(), "desk", tmp_path, tmp_path)
    assert runner.run(constant(), "study", tmp_path, tmp_path)["tier"] == "study"
    with pytest.raises(InvalidInput, match=r"results of tier desk or a smaller one, received study\. Choose another"):
        runner.run(constant(), "desk", tmp_path, tmp_path)
    with pytest.raises(UnknownName, match=r"tier: expected one of desk, reduced, study, received 'smok'"):
        runner.run(constant(), "smok", tmp_path, tmp_path)


def test_not_every_entry_has_a_reduced_tier(tmp_path):
    assert constant().tiers == ("desk", "study")
    assert constant(reduced=Plan()).tiers == entries.TIERS
    with pytest.raises(InvalidInput, match=r"tier of 2205\.08399/fig1: expected one of desk, study, received reduced"):
        runner.run(constant(), "reduced", tmp_path, tmp_path)


def test_runs_that_are_done_are_read_while_a_sweep_is_at_work(made, heatmaps, monkeypatch):
    """The desk tier takes the board's runs, in whose folder another process may hold the lock."""
    folder, record = made

    def never(*_, **__):
        raise AssertionError

    monkeypatch.setattr(sweep, "run", never)
    again = runner.run(heatmaps, "desk", folder / "desk", folder / "runs")
    assert again["judged"] == record["judged"]
    assert again["command"] == f"offaxis study run {FIRST} --tier desk"


def test_inputs_decide(tmp_path):
    base = runner.digest_of_inputs(constant(), "desk")
    assert base == runner.digest_of_inputs(constant(paper="another"), "desk")
    assert base == runner.digest_of_inputs(constant(claim="D."), "desk"), "a claim is judged anew, and computes nothing"
    for changed in (
        constant(desk=Plan(settings={"a": 2})),
        constant(desk=Plan(settings={"a": 1}, datasets=("xysquares/spacing_1",))),
    ):
        assert runner.digest_of_inputs(changed, "desk") != base
    record = runner.run(constant(), "desk", tmp_path, tmp_path)
    assert runner.run(constant(desk=Plan(settings={"a": 2})), "desk", tmp_path, tmp_path)["inputs"] != record["inputs"]


def test_a_file_that_was_changed_by_hand_is_noticed(tmp_path):
    runner.run(constant(), "desk", tmp_path, tmp_path)
    folder = tmp_path / constant().id
    record = files.read_json(folder / "verdict.json")
    for changed in ({"files": {}}, {"budget": {}}, {"budget": record["budget"] | {"compute_seconds": "long"}}):
        files.write_json(folder / "verdict.json", record | changed)
        with pytest.raises(DamagedFile, match=r"verdict\.json is not a complete record of schema 3"):
            runner.run(constant(), "desk", tmp_path, tmp_path)
    files.write_json(folder / "verdict.json", record)
    (folder / "table.csv.gz").write_text("a\n2.0\n")
    with pytest.raises(
        DamagedFile, match=r"table\.csv\.gz is missing or differs from its hash in .* Remove the folder's verdict"
    ):
        runner.run(constant(), "desk", tmp_path, tmp_path)
    (folder / "verdict.json").write_text("{}")
    with pytest.raises(DamagedFile, match=r"verdict\.json is not a complete record of schema 3"):
        pages.report(tmp_path)


@pytest.mark.parametrize(("other", "kept"), [("not testable (below baseline)", set()), ("illustration", {("a", "x")})])
def test_a_sentence_that_is_not_testable_counts_for_holm(other, kept):
    judged = [{"claim": "x", "p": 0.03, "verdict": "replicated"}, {"claim": "y", "p": None, "verdict": other}]
    assert pages.significant_claims([{"id": "a", "judged": judged}]) == kept


def test_choosing():
    assert [entry.id for entry in catalogue.find([FIRST, FIRST])] == [FIRST]
    assert {entry.id for entry in catalogue.find(["all"])} == set(pages.entries_with_row())
    assert [entry.id for entry in catalogue.find(["2304.10767/fig1"])] == ["2205.08399/fig1"]
    assert all(entry.id.startswith("2102.06822/") for entry in catalogue.find(["2102.06822"]))
    with pytest.raises(UnknownName, match=r"Did you mean '2205\.08399/fig3'\?"):
        catalogue.find(["2205.08399/fig_3"])
    with pytest.raises(InvalidInput, match=r"expected its paper too, as in .*2205\.08399/fig3"):
        catalogue.find(["Fig3"])


def rows_of(page, what):
    """The cells of an entry's rows: one that links its picture, and those below it that have its name."""
    found = re.search(rf"\| \[{what}\]\(.*\n(\| {what} \|.*\n)*", page)
    return [line.strip("| ").split(" | ")[1:] for line in found[0].splitlines()] if found else []


def test_the_page_is_made_of_the_folders(page_tables, tmp_path):
    for number, answer in ((1, "opposed"), (4, "supported")):
        runner.run(constant(answer, id=f"2205.08399/fig{number}"), "desk", tmp_path, tmp_path)
    page = pages.report(tmp_path)
    assert (
        f"\n2 of {len(pages.entries_with_row())} entries were computed (0 of them added by us): 0 runs in 0 trainings"
        in page
    )
    assert page.count("\n## ") == len(catalogue.papers()) + 1
    effect = "+0.2 MIG (+0.1 to +0.3), p = 0.008"
    (row,) = rows_of(page, "fig1")
    assert row == ["C.", "random matrices", "no training", "–", effect, "**contradicted**"]
    assert page.count("| not run |") == len(pages.entries_with_row()) - 2
    assert "| of the papers | 2 | 2 | 1 contradicted, 1 replicated |" in page
    *lines, _, corrected = page_tables("claims").table_of_main_results(tmp_path)
    assert rows_of("\n".join(lines), "fig4") == [], "without links"
    shown = lines[-1]
    assert shown.endswith("| **replicated** |")
    assert corrected.endswith(
        "over 2 claims in [reproduction](docs/reproduction.md), 1 of 1 (in bold) and 1 "
        "others stay significant; single-method permutation tests with five seeds cannot."
    )


def test_only_a_papers_own_data_contradict_it(tmp_path):
    for dataset, verdict in (("xysquares/spacing_8", "contradicted"), ("room3d", "not replicated on a stand-in")):
        record = runner.run(constant("opposed", desk=Plan(datasets=(dataset,))), "desk", tmp_path / verdict, tmp_path)
        assert record["judged"][0]["verdict"] == verdict


def test_of_equal_differences_that_one_is_named_that_decides():
    clear, vague = (verdicts.Comparison(0.5, 0.5 - ends, 0.5 + ends, p, 5, 1) for ends, p in ((0.1, 0.01), (0.6, 0.2)))
    for parts, names in (((clear, vague), ["first", "decides"]), ((vague, clear), ["decides", "last"])):
        assert entries.combine(names, parts, {}).measure == "decides"
    clear, vague = clear.turned(), vague.turned()  # whose p-value is one after Holm
    assert entries.combine(["last", "decides"], [vague, clear], {}).measure == "decides"


def test_a_control_has_a_row_and_a_verdict_of_its_own(tmp_path):
    control = entries.Second("With a control.", lambda table: Verdict("no significant difference", {"a": 1.0}, 0.5))
    runner.run(constant(second=control), "desk", tmp_path, tmp_path)
    rows = rows_of(pages.report(tmp_path), "fig1")
    assert [(row[0], row[-1]) for row in rows] == [
        ("C.", "**replicated**"),
        ("With a control (our control).", "no significant difference"),
    ]
    found = pages.read_records(tmp_path)
    counted = "\n".join(pages.count_verdicts(found, pages.significant_claims(found.values())))
    assert "| of the papers | 1 | 1 | 1 replicated |" in counted
    assert "| controls and added questions | 1 | 0 | 1 no significant difference |" in counted


def test_the_share_of_the_papers_images(tiny):
    published = tiny(steps=1_000, batch_size=64, snapshots=[])
    small = Plan(runs=(dataclasses.replace(published, steps=100, batch_size=16),))
    entry = constant(desk=small, study=Plan(runs=(published,)))
    assert (runner.budget(entry, "desk")["images"], runner.budget(entry, "desk")["share"]) == (1_600, 0.025)
    assert runner.budget(dataclasses.replace(entry, paper_states_steps=False), "desk")["share"] is None


def test_the_committed_page_fits_a_screen():
    page = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    assert rows
    assert [cell for row in rows for cell in row if len(cell) > 160] == []


def test_the_committed_page_is_that_of_the_committed_folders():
    assert (ROOT / "docs" / "reproduction.md").read_text("utf-8") == pages.report(ROOT / "docs" / "reproduction")


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.out, "_width", 200)
    runner = CliRunner()
    done = runner.invoke(cli.app, ["run", "2202.13341/fig8", "2202.13341/fig5", "--to", "r"])
    assert done.exit_code == 0, done.output
    assert "2202.13341/fig8 (desk): REPLICATED (a property of the data, no seeds). " in done.output
    assert "2202.13341/fig5 (desk): ILLUSTRATION. " in done.output
    assert "2 of 2 done: 0 runs in 0 trainings " in done.output
    listed = runner.invoke(cli.app, ["list", "--to", "r"]).output
    assert re.search(r"2202\.13341/fig8 .* done\s*\n", listed)
    assert re.search(r"2202\.13341/fig9 .* 80 of 80 runs missing", listed)
    (tmp_path / "r" / "2202.13341" / "fig5" / records.RECORD).write_text("{")
    listed = runner.invoke(cli.app, ["list", "--to", "r"]).output
    assert [state for state in ("done", "damaged") if re.search(rf"fig[85] .* {state}\s*\n", listed)] == [
        "done",
        "damaged",
    ]
    reduced = runner.invoke(cli.app, ["list", "--tier", "reduced", "--to", "r"]).output
    assert "2202.13341/fig9" in reduced
    assert "2202.13341/fig8" not in reduced
    refused = runner.invoke(cli.app, ["run", "2202.13341/fig8", "--tier", "reduced", "--to", "d"])
    assert "tier of 2202.13341/fig8: expected one of desk, study, received reduced" in str(refused.exception)
    refused = runner.invoke(cli.app, ["run", "all", "--tier", "desky", "--to", "d"])
    assert "tier: expected one of desk, reduced, study, received 'desky'" in str(refused.exception)
    refused = CliRunner().invoke(cli.app, ["run", "2304.10767", "--tier", "reduced"])
    assert "2304.10767: no entries at tier reduced. See: offaxis study list --tier reduced" in str(refused.exception)


def test_one_of_several_that_fails_does_not_stop_the_others(tmp_path):
    blocked = tmp_path / "2202.13341" / "fig5"
    blocked.parent.mkdir()
    blocked.write_text("a file where a folder goes")
    arguments = ["run", "2202.13341/fig5", "2202.13341/fig8", "--to", str(tmp_path)]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 1
    assert "2202.13341/fig8 (desk): REPLICATED" in result.output


def test_a_wrong_name_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["offaxis", "study", "run", "2205.08399/figg3"])
    with pytest.raises(SystemExit) as stopped:
        program.main()
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: figure or table: expected one of ")
    assert "Did you mean '2205.08399/fig3'?" in error
    assert error.count("\n") == 1


def test_a_paper_is_a_file():
    for name in catalogue.papers():
        module = sweep.discovery.find("baselines.reproduction.papers", name, kind="paper")
        assert all(entry.id.startswith(f"{module.PAPER}/") for entry in module.ENTRIES)
