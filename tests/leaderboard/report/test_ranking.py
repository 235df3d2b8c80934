"""Tables: order, ranks and ties; hostile text in every format; the same bytes from the same files."""

import csv
import dataclasses
import datetime
import html
import io
import re
import typing

import markdown_it
import pytest
import rich.console

from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard import protocol
from leaderboard.record import About, Budget, Digests, Supervision
from leaderboard.report import formats, overall, pairwise, ranking
from leaderboard.report.site import build
from leaderboard.store import results, results_tree
from leaderboard.store.results import Compared, Sample, Scored, Verification

HOSTILE = "<script>alert(1)</script>|`*_$%&#{}~^\\\"'"


@pytest.fixture
def markdown(page_tables):
    return page_tables("markdown")


def test_every_kind_of_supervision_has_a_group():
    assert set(ranking.CATEGORIES) == set(typing.get_args(Supervision))


def run(mig, seed=0, **fields):
    given = {
        "method": "m",
        "dataset": "xysquares/spacing_8",
        "seed": seed,
        "tier": "study",
        "status": "reproduced",
        "scores": {"mig": mig},
        "date": datetime.date(2026, 1, 2),
        "dataset_version": "1.0.0",
        "dataset_digest": Digests(pixels="0" * 64, factors="0" * 64),
        "rows_digest": "0" * 64,
        "codes_digest": f"{seed:064x}",
        "latents": 10,
        "samples": {
            score.partition(".")[0]: Sample(train=10_000, test=0, arguments={"bins": 20})
            for score in fields.get("scores", ("mig",))
        },
        "supervision": "unsupervised",
        "selection": "none",
        "hyperparameters": {},
        "budget": Budget(steps=1_000, images=64_000, seconds=12.3 + seed, device="2 cores"),
        "versions": {},
        "scored_with": {},
    }
    return Scored(**{**given, **fields})


def result(task, method, runs, **fields):
    """Make a result of runs that become the method's on the task."""
    own = {"method": method, "dataset": task.partition("@")[0]}
    return results.result(task, method, [run.model_copy(update=own) for run in runs], **fields)


def method(name, *migs, quarantine="", about=None, task="xysquares/spacing_8@v1", **fields):
    runs = [run(mig, seed, **fields) for seed, mig in enumerate(migs)]
    return result(task, name, runs, about=about, quarantine=quarantine)


def order(*found):
    board = ranking.table("xysquares/spacing_8@v1", "study", found)
    return [(row.rank, row.result.method) for row in board.rows]


def test_rank_is_by_the_mean_and_ties_share_it():
    found = [
        method("d", *[0.1] * 5),
        method("c", *[0.2] * 5),
        method("b", *[0.2004] * 5),  # 0.200 as printed, like c
        method("a", *[0.3] * 5),
    ]
    assert order(*found) == [(1, "a"), (2, "b"), (2, "c"), (4, "d")]


def test_a_row_of_another_version_of_the_dataset_has_no_rank_and_is_not_compared():
    found = [method("a", *[0.3] * 5), method("b", *[0.2] * 5), method("old", *[0.9] * 5, dataset_version="0.9.0")]
    assert order(*found) == [(1, "a"), (2, "b"), (None, "old")]
    board = ranking.table("xysquares/spacing_8@v1", "study", found)
    assert board.notes[0] == (
        "Not ranked (of the dataset's version 0.9.0, not 1.0.0): old. Train or encode again with the current "
        "version of the dataset, and score again."
    )
    with pytest.raises(InvalidInput, match="expected a task on which both have scores"):
        pairwise.compare([board], "a", "old")


def test_what_is_not_ranked_comes_after_what_is_and_says_why():
    board = ranking.table(
        "xysquares/spacing_8@v1",
        "study",
        [
            method("few", 0.9, 0.9),
            method("marked", *[0.9] * 5, marks=("encoder_disagrees",)),
            method("distrusted", *[0.9] * 5, quarantine="trained on the test rows"),
            method("whole", *[0.1] * 5),
            method("pca", *[0.2] * 5, supervision="reference"),
        ],
    )
    assert [(row.rank, row.result.method, row.note) for row in board.rows] == [
        (1, "whole", ""),
        (None, "distrusted", "in quarantine: trained on the test rows"),
        (None, "few", "2 of 5 seeds"),
        (None, "marked", "flagged: encoder_disagrees"),
        (None, "pca", "a reference"),
    ]


@pytest.mark.parametrize(("there", "note"), [([0.1] * 5, "no MIG"), ([], "no DCI D"), (None, "no score of the table")])
def test_a_method_without_the_first_score_is_not_ranked(there, note):
    sample = Sample(train=1, test=1, arguments={})
    score, samples = ("sap", {"sap": sample}) if there is None else ("dci.completeness", {"dci": sample})
    found = [method("m", *[0.5] * 5, scores={score: 0.5}, samples=samples)]
    if there == []:
        found.append(method("n", 0.5, scores={"dci.disentanglement": 0.5}, samples=samples))
    found += [method("other", *there)] if there else []
    board = ranking.table("xysquares/spacing_8@v1", "study", found)
    assert next((row.rank, row.note) for row in board.rows if row.result.method == "m") == (None, note)


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        ("none", False),
        ("None ", False),
        ("UDR over 6 betas", True),
        ("none; UDR over 6 betas", True),
        ("none: defaults; steps as of a pilot by MIG", True),
    ],
)
def test_settings_that_were_chosen_among_others_are_told_from_those_that_were_not(selection, selected):
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", 0.1, selection=selection)])
    assert board.rows[0].selected is selected


def test_categories_are_ranked_apart():
    found = [method("own", *[0.1] * 5), method("helped", *[0.9] * 5, supervision="weakly_supervised")]
    board = ranking.table("xysquares/spacing_8@v1", "study", found)
    assert {category: [row.rank for row in rows] for category, rows in board.groups.items()} == {
        "unsupervised": [1],
        "weakly_supervised": [1],
    }


def test_tiers_and_tasks_are_never_mixed():
    both = result("xysquares/spacing_8@v1", "m", [run(0.1, 0), run(0.2, 0, tier="held_out", budget=run(0).budget)])
    boards = ranking.tables([both, method("m", 0.3, task="xysquares/spacing_10@v1")])
    assert [(b.task, b.tier, b.rows[0].cells["mig"].mean) for b in boards] == [
        ("xysquares/spacing_8@v1", "study", 0.1),
        ("xysquares/spacing_8@v1", "held_out", 0.2),
        ("xysquares/spacing_10@v1", "study", 0.3),
    ]


def test_what_nobody_counted_is_not_in_a_range():
    uncounted = method("own", 0.1, budget=Budget(steps=500, images=0, seconds=0.0, device=""))
    both = ranking.table("xysquares/spacing_8@v1", "study", [uncounted, method("m", 0.2)])
    assert "500 to 1,000 steps, 64,000 images, 12 s on 2 cores; 0.33% of the images of a run" in both.caption
    alone = ranking.table("xysquares/spacing_8@v1", "study", [uncounted])
    assert "; 500 steps. " in alone.caption


def test_shares_of_the_images_of_a_paper_go_from_the_least_to_the_greatest():
    budgets = [Budget(steps=500, images=images, seconds=0.0, device="") for images in (288_000, 64_000)]
    both = [method(name, 0.1, budget=budget) for name, budget in zip("ab", budgets, strict=True)]
    caption = ranking.table("xysquares/spacing_8@v1", "study", both).caption
    assert "; 0.33% to 1.5% of the images of a run" in caption


def test_nearly_all_images_of_a_paper_are_a_plain_percentage():
    nearly = method("own", 0.1, budget=Budget(steps=500, images=19_150_000, seconds=0.0, device=""))
    assert "; 100% of the images of a run" in ranking.table("xysquares/spacing_8@v1", "study", [nearly]).caption


def test_every_table_states_sample_size_and_budget(markdown):
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", 0.1, 0.2)])
    assert board.caption == (
        "Training: model not stated, 10 latents; 1,000 steps, 64,000 images, 13 s (median) on 2 cores; "
        "0.33% of the images of a run of Locatello et al. (2019). Tier study: MIG on 10,000 images."
    )
    assert board.rows[0].cost == "1,000 steps, 13 s (median)"
    assert "1,000 steps, 64,000 images" in markdown.table(board)


@pytest.mark.parametrize(
    ("budgets", "text", "short"),
    [
        ([(10, 640, 7, "a"), (10, 640, 7, "a")], "10 steps, 640 images, 7 s on a", "10 steps, 7 s"),
        (
            [(10, 640, 7, "b"), (20, 0, 9, "a")],
            "10 to 20 steps, 640 images, 8 s (median) on a, b",
            "10 to 20 steps, 8 s (median)",
        ),
        ([(10, 0, 0, ""), (10, 0, 7, "")], "10 steps, 7 s", "10 steps, 7 s"),
        ([(0, 0, 3, "a")], "none", "none"),
    ],
)
def test_a_cost_is_a_range_or_a_median_where_runs_differ(budgets, text, short):
    fields = "steps", "images", "seconds", "device"
    runs = [
        run(0.1, i).model_copy(update={"budget": Budget(**dict(zip(fields, b, strict=True)))})
        for i, b in enumerate(budgets)
    ]
    assert (ranking.budget(runs), ranking.budget(runs, full=False)) == (text, short)


def test_markdown(markdown):
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", 0.1, 0.2, 0.1, 0.2), method("n", 0.3)])
    # Student's interval: 0.15 and 3.182 times 0.0577 / 2.
    lines = markdown.table(board).splitlines()
    assert lines[4:7:2] == [
        "Not ranked (1 of 5 seeds): n. A rank requires 5 seeds.",
        "Not ranked (4 of 5 seeds): m. A rank requires 5 seeds.",
    ]
    assert lines[8:] == [
        "| Rank | Method | MIG | Seeds |",
        "| ---: | :--- | ---: | ---: |",
        "| | *Unsupervised* | | |",
        "| – | n | 0.300 | 1 |",
        "| – | m | 0.150 [0.058, 0.242] | 4 |",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("_a_ b_ _c __d__ a_b_c x__y", "*a* **b** * c", "`a` ``b", "~~a~~ ~b~", r"\* a\b", "&amp; &lt;", "<b>a</b>"),
        *("[a](b) [c]: d", "![a](b)", "# a", "- a", "+ a", "> a", "--- a", "a - b (c) {d} e! f# 1+1", "a|b"),
    ],
)
def test_text_in_markdown_stays_text(markdown, text):
    page = markdown_it.MarkdownIt().enable(["table", "strikethrough"]).render(markdown.escaped(text))
    assert page.count("<") == 2, "one paragraph"
    assert html.unescape(page) == f"<p>{text}</p>\n"


@pytest.mark.parametrize("migs", [(0.1,), (0.1, 0.1, 0.1)])
def test_few_seeds_have_no_interval(markdown, migs):
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", *migs)])
    assert "[" not in markdown.table(board).splitlines()[-1]
    (record,) = csv.DictReader(io.StringIO(formats.comma_separated([board])))
    assert (record["mean"], record["low"], record["high"]) == ("0.100000", "", "")


def test_an_interval_stays_within_the_range_of_the_score():
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", 0.0, 0.0, 0.0, 0.9)])
    assert board.rows[0].cells["mig"].low == 0.0


def test_a_score_whose_range_is_not_known_has_no_interval():
    runs = [
        run(0.5, seed, scores={"mig": 0.5, "dci.informativeness_train": x}) for seed, x in enumerate((0.9, 1, 1, 1))
    ]
    board = ranking.table("xysquares/spacing_8@v1", "study", [result("xysquares/spacing_8@v1", "m", runs)])
    cell = board.rows[0].cells["dci.informativeness_train"]
    assert (round(cell.mean, 3), cell.low, cell.high) == (0.975, None, None)


def test_results_without_a_score_that_tables_show_have_no_table(tmp_path):
    runs = [run(0.5, scores={"sap": 0.5})]
    found = [result("xysquares/spacing_8@v1", "m", runs)]
    assert ranking.tables(found) == []
    results_tree.write(tmp_path / "r", found)
    with pytest.raises(DamagedFile, match=r"expected a result with one of the scores mig, .* received none of these"):
        build.build(tmp_path / "r", tmp_path / "s")


def test_results_of_another_protocol_are_not_mixed_in(tmp_path):
    ours, others = (method("m", *[mig] * 5, task=f"xysquares/spacing_8@{v}") for mig, v in ((0.1, "v1"), (0.9, "v2")))
    assert [board.task for board in ranking.tables([others, ours])] == ["xysquares/spacing_8@v1"]
    pages = list(build.files(write(tmp_path / "one", ours)))
    assert list(build.files(write(tmp_path / "both", others, ours))) == pages
    with pytest.raises(DamagedFile, match="expected v1 results, received none"):
        build.build(write(tmp_path / "other", others), tmp_path / "site")


def test_training_is_told_per_seed():
    (record,) = formats.records(ranking.tables([method("m", 0.1, 0.2)]))
    assert (record["steps"], record["seconds"]) == (1_000, 12.8)


def test_csv_is_tidy_and_no_spreadsheet_runs_it():
    about = About(title="=cmd|' /C calc'!A0")
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", 0.1, 0.2, about=about)])
    (record,) = csv.DictReader(io.StringIO(formats.comma_separated([board])))
    assert record["title"] == "'=cmd|' /C calc'!A0"
    assert (record["score"], record["seeds"], record["note"]) == ("mig", "2", "2 of 5 seeds")


def test_hostile_text_stays_text_in_markdown(markdown):
    board = ranking.table("xysquares/spacing_8@v1", "study", [method("m", 0.1, about=About(title=HOSTILE))])
    text = markdown.table(board)
    assert "<" not in text
    assert len(re.findall(r"(?<!\\)\|", text.splitlines()[-1])) == 5


def test_the_terminal_prints_what_strangers_write_as_it_is(capsys):
    found = method("m", 0.1)
    run = found.runs[0]
    run = run.model_copy(update={"budget": run.budget.model_copy(update={"device": "rtx [cuda] [/x]"})})
    rich.console.Console(width=120).print(formats.terminal([found.model_copy(update={"runs": (run,)})]))
    assert "on rtx [cuda] [/x];" in " ".join(capsys.readouterr().out.split())


def test_terminal_shows_a_table_for_each_task(capsys):
    about = About(title="[red]β[/red]")
    found = [method("m", 0.1, 0.2, 0.1, 0.2, about=about), method("pca", 0.05, supervision="reference")]
    console = rich.console.Console(width=80, file=io.StringIO())
    console.print(formats.terminal(found))
    shown = console.file.getvalue()
    assert "xysquares/spacing_8@v1, tier study" in shown
    assert "[red]β[/red]" in shown
    assert "0.058–0.242" in shown
    assert "Not ranked (4 of 5 seeds): [red]β[/red]. A rank requires 5 seeds" in " ".join(shown.split())
    assert "Unsupervised" in shown


def test_terminal_keeps_names_beside_four_intervals_and_says_why_a_row_has_no_rank():
    """Typed as `offaxis board score my_ica` in 80 columns: two methods that seeds leave open, and one's own."""
    keys = ("mig", "dci.disentanglement", "dci.completeness", "dci.informativeness_test")
    seeds = [dict.fromkeys(keys, 0.1 + 0.1 * seed) for seed in range(5)]
    samples = {name: Sample(train=10_000, test=5_000, arguments={}) for name in ("mig", "dci")}
    results_of = {
        "β-TCVAE": {"status": "reproduced"},
        "Random encoder": {"status": "reproduced"},
        "My own ICA": {"status": "recomputed"},
    }
    found = [
        result(
            "xysquares/spacing_8@v1",
            f"m{place}",
            [run(0, seed, **fields, scores=scores, samples=samples) for seed, scores in enumerate(seeds)],
            about=About(title=title),
        )
        for place, (title, fields) in enumerate(results_of.items())
    ]
    narrow, console = (rich.console.Console(width=width, file=io.StringIO()) for width in (60, 80))
    narrow.print(formats.terminal(found))
    assert all(title in narrow.file.getvalue() for title in ("β-TCVAE", "My own ICA")), "rather than every interval"
    console.print(formats.terminal(found))
    shown = console.file.getvalue()
    assert all(title in shown for title in results_of)
    assert shown.count("(1–2)") == 2
    assert "Seeds\n" in shown
    assert "Not ranked (recomputed from codes, not verified): My own ICA. Add its encoder" in " ".join(shown.split())


def write(root, *found):
    results_tree.write(root, found)
    return root


def test_building_twice_gives_the_same_bytes(tmp_path):
    root = write(tmp_path / "results", method("m", 0.1, 0.2), method("pca", 0.1, supervision="reference"))
    pages = [build.build(root, tmp_path / name) for name in ("a", "b")]
    contents = [
        {str(f.relative_to(p.parent)): f.read_bytes() for f in p.parent.rglob("*") if f.is_file()} for p in pages
    ]
    assert contents[0] == contents[1]
    assert {
        "index.html",
        "tasks/xysquares.spacing_8.html",
        "methods/m.html",
        "tables/all.csv",
    } <= set(contents[0])


def content(site):
    return {file.relative_to(site).as_posix(): file.read_bytes() for file in site.rglob("*") if file.is_file()}


def test_a_build_that_fails_leaves_the_board_as_it_was(tmp_path, monkeypatch):
    root = write(tmp_path / "results", method("m", 0.1, 0.2))
    site = build.build(root, tmp_path / "site").parent
    before = content(site)
    write(root, method("n", 0.3))
    whole = build.files

    def broken(*args, **options):
        yield from whole(*args, **options)
        raise DamagedFile("a picture: expected one, received none.")

    with monkeypatch.context() as patch:
        patch.setattr(build, "files", broken)
        with pytest.raises(DamagedFile, match="a picture"):
            build.build(root, site)
    assert content(site) == before
    build.build(root, site)
    assert (site / "methods" / "n.html").exists()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["results", "site"], "nothing is left behind"


def test_what_is_gone_from_the_results_goes_from_the_site(tmp_path):
    root = write(tmp_path / "results", method("m", 0.1), method("n", 0.2))
    site = build.build(root, tmp_path / "site").parent
    results_tree.path(root, "xysquares/spacing_8@v1", "n").unlink()
    build.build(root, site)
    assert not (site / "methods" / "n.html").exists()
    (site / "methods" / ".DS_Store").write_text("Finder's")
    build.build(root, site)
    (site / "CNAME").write_text("one's own")
    with pytest.raises(InvalidInput, match="received a folder with CNAME"):
        build.build(root, site)
    assert (site / "CNAME").read_text() == "one's own"


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    root = write(tmp_path / "results", method("m", 0.1))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("one")
    for name in ("home", "file"):
        with pytest.raises(InvalidInput, match="expected a new or empty folder, or one that was built before"):
            build.build(root, tmp_path / name)
    assert len(results_tree.read_all(root)) == 1


def test_an_empty_tree(tmp_path):
    (tmp_path / "results").mkdir()
    with pytest.raises(DamagedFile, match="expected v1 results, received none"):
        build.build(tmp_path / "results", tmp_path / "site")


def test_a_table_says_who_is_not_in_it_and_what_to_do(markdown):
    task = "xysquares/spacing_8@v1"
    marks = [(), (), ("encoder_disagrees",), (), ()]  # of one run are of the method
    flagged = result(task, "perfect", [run(0.99, seed, marks=marks[seed]) for seed in range(5)])
    held = result(task, "held", [run(0.5, seed) for seed in range(5)], quarantine="saw the labels")
    reference = method("pca", *[0.3] * 5, supervision="reference")  # has no rank by its nature, and no note
    found = [method("m", *[0.1] * 5), flagged, held, reference, result(task, "other", [run(0.2, tier="desk")])]
    desk, study = ranking.tables(found)
    assert study.notes == [
        "Not ranked (flagged: encoder_disagrees): perfect. Add its encoder in ONNX next to the codes, and run "
        "`offaxis board verify`, which removes the flag.",
        "Not ranked (in quarantine: saw the labels): held. The board's maintainers can lift it.",
        "Scored in tier desk, not here: other. To be ranked here, a method needs runs of tier study.",
    ]
    assert desk.notes[-1].startswith("Scored in tier study, not here: m; perfect; held; pca.")
    for note in study.notes:
        assert markdown.escaped(note) in markdown.table(study)


def test_where_no_fresh_rows_are_left_no_encoder_is_asked_for():
    for task in ("dsprites_spaced/spacing_16@v1", "room3d_equal/composition@v1"):
        (table,) = ranking.tables([method("codes", *[0.2] * 5, task=task, status="recomputed")])
        assert "Too few rows are left to verify an encoder on" in table.notes[0]


def test_a_table_of_a_quick_look_speaks_of_no_seeds_and_encoders():
    task = "xysquares/spacing_8@v1"
    quick = method("m", 0.1, tier="smoke", status="recomputed")
    desk, smoke = ranking.tables([quick, result(task, "other", [run(0.2, tier="desk")])])
    assert smoke.notes == [
        "Scored in tier desk, not here: other. Tier smoke is for a quick look. For a rank, score in tier desk."
    ]
    assert "To be ranked here, a method needs runs of tier desk." in desk.notes[-1]


def test_natural_order():
    assert sorted(["s_10", "s_9", "s_1"], key=protocol.natural_key) == ["s_1", "s_9", "s_10"]


def test_the_ranks_that_seeds_leave_open(markdown):
    found = [
        method("best", 0.50, 0.52, 0.54, 0.56, 0.58),
        method("close", 0.49, 0.51, 0.53, 0.55, 0.57),
        method("far", *[0.1] * 5),
    ]
    board = ranking.table("xysquares/spacing_8@v1", "study", found)
    assert [(row.rank, row.place) for row in board.rows] == [(1, (1, 2, 1)), (2, (1, 2, 1)), (3, (3, 3, 2))]
    assert "| 2 (1–2) | close |" in markdown.table(board)
    assert "| 3 | far |" in markdown.table(board)
    records = list(csv.DictReader(io.StringIO(formats.comma_separated([board]))))
    assert [(r["rank_low"], r["rank_high"], r["band"]) for r in records] == [
        ("1", "2", "1"),
        ("1", "2", "1"),
        ("3", "3", "2"),
    ]


def test_a_record_names_the_score_that_its_rank_is_of():
    runs = [run(0.3, seed, scores={"mig": 0.3, "dci.completeness": 0.5}) for seed in range(5)]
    found = [result("xysquares/spacing_8@v1", "m", runs), method("n", 0.1)]
    records = list(formats.records(ranking.tables(found)))
    assert [(one["method"], one["score"], one["rank"], one["ranked_by"]) for one in records] == [
        ("m", "mig", 1, "mig"),
        ("m", "dci.completeness", 1, "mig"),
        ("n", "mig", None, None),
    ]


def test_tiers_come_in_the_order_of_the_protocol():
    both = result("xysquares/spacing_8@v1", "m", [run(0.1, 0), run(0.2, 0, tier="desk", budget=run(0).budget)])
    assert [board.tier for board in ranking.tables([both])] == ["desk", "study"]
    assert sorted(["odd", "held_out", "smoke", "study", "desk"], key=ranking.tier_order)[::4] == ["desk", "odd"]


def test_standings_across_tasks():
    one, two = "xysquares/spacing_1@v1", "xysquares/spacing_8@v1"
    found = [
        method("a", *[0.9] * 5, task=one),
        method("b", *[0.8] * 5, task=one),
        method("c", *[0.7] * 5, task=one),
        method("a", *[0.1] * 5, task=two),
        method("b", *[0.1] * 5, task=two),
        method("c", 0.9, task=two),  # one seed: not ranked here, so not compared across tasks
        method("pca", *[0.5] * 5, task=one, supervision="reference"),
        method("pca", *[0.5] * 5, task=two, supervision="reference"),
    ]
    board = overall.overall(ranking.tables(found))
    first, second = board.standings
    assert (first.method, first.rank, first.place) == ("a", 1, (1, 1, 1))
    assert (second.method, second.rank, second.place) == ("b", 2, (2, 2, 2))
    assert (first.mean, second.mean) == pytest.approx((0.5, 0.45))
    assert first.interval == pytest.approx((0.5, 0.5))
    assert board.tasks == ("xysquares/spacing_1", "xysquares/spacing_8")


def test_the_interval_of_a_mean_over_tasks_lies_within_the_range_of_the_score():
    tasks = ("xysquares/spacing_1@v1", "xysquares/spacing_8@v1")
    board = overall.overall(ranking.tables(method("a", *[0.0] * 4, 0.3, task=task) for task in tasks))
    low, high = board.standings[0].interval
    assert low == 0.0
    assert high == pytest.approx(0.06 + 2.776 * 0.06, abs=1e-3)


def test_a_task_that_few_methods_have_does_not_take_the_place_of_the_others():
    one, two, rare = "xysquares/spacing_1@v1", "xysquares/spacing_8@v1", "dsprites@v1"
    found = [method(name, *[0.5] * 5, task=task) for name in "abc" for task in (one, two)]
    found += [method(name, *[0.9] * 5, task=rare) for name in "ad"]
    found += [method("d", *[0.9] * 5, task=one)]
    boards = ranking.tables(found)
    assert [board.dataset for board in overall.shared(boards)] == [
        "xysquares/spacing_1",
        "xysquares/spacing_8",
        "dsprites",
    ], "two of four is half of them"
    boards = ranking.tables([*found, *(method("e", *[0.5] * 5, task=task) for task in (one, two))])
    board = overall.overall(boards)
    assert board.tasks == ("xysquares/spacing_1", "xysquares/spacing_8")
    assert [standing.method for standing in board.standings] == ["a", "b", "c", "e"]
    assert {standing.mean for standing in board.standings} == {0.5}, "the rare task is in no mean"


def test_submissions_on_a_few_tasks_change_no_mean_of_others():
    one, two = "xysquares/spacing_1@v1", "xysquares/spacing_8@v1"
    found = [method(name, *[0.5] * 5, task=task) for name in "ab" for task in (one, two)]
    boards = ranking.tables(found)
    tables = {board.task: board for board in boards}
    few = ranking.table(one, "study", [method(name, *[0.9] * 5, task=one, status="recomputed") for name in "cdefg"])
    ranked = [dataclasses.replace(row, rank=1, note="") for row in few.rows]
    more = dataclasses.replace(tables[one], groups={"unsupervised": (*tables[one].rows, *ranked)})
    assert overall.shared([more, tables[two]]) == (more, tables[two])
    alone = dataclasses.replace(few, groups={"unsupervised": tuple(ranked)})
    assert overall.shared([alone]) == (alone,), "where nothing was trained here, all count"
    disjoint = ranking.tables(method(name, *[0.5] * 5, task=task) for name, task in zip("ab", (one, two), strict=True))
    disjoint += ranking.tables([method("c", *[0.5] * 5, task="dsprites@v1")])
    assert overall.shared(disjoint) == tuple(disjoint), "no task has half of the methods"
    assert overall.overall(disjoint) is None


def test_without_ranks_all_tasks_are_averaged_over():
    boards = ranking.tables([method("a", 0.5, task="xysquares/spacing_1@v1"), method("b", 0.5, task="dsprites@v1")])
    assert overall.shared(boards) == tuple(boards)


def test_means_over_tasks_that_are_printed_alike_share_a_rank():
    one, two = "xysquares/spacing_1@v1", "xysquares/spacing_8@v1"
    found = [
        method(name, *[mean] * 5, task=task)
        for name, mean in zip("abc", (0.3, 0.3, 0.2), strict=True)
        for task in (one, two)
    ]
    board = overall.overall(ranking.tables(found))
    assert [(standing.method, standing.rank) for standing in board.standings] == [("a", 1), ("b", 1), ("c", 3)]


def test_a_rank_lies_within_the_ranks_that_the_seeds_leave_open():
    """b and c are printed as equal, though their seeds, which have no spread, are not."""
    one, two = "xysquares/spacing_1@v1", "xysquares/spacing_8@v1"
    found = [
        method(name, *[mean] * 5, task=task)
        for name, mean in (("a", 0.5), ("b", 0.3004), ("c", 0.3001), ("d", 0.2))
        for task in (one, two)
    ]
    boards = ranking.tables(found)
    for rows in (boards[0].rows, overall.overall(boards).standings):
        assert [(row.rank, row.place) for row in rows] == [
            (1, (1, 1, 1)),
            (2, (2, 3, 2)),
            (2, (2, 3, 2)),
            (4, (4, 4, 3)),
        ]


def test_a_method_with_other_seeds_on_a_task_has_no_rank_over_tasks_and_the_page_says_so(tmp_path):
    one, two = "xysquares/spacing_1@v1", "xysquares/spacing_8@v1"
    found = [method(name, *[0.3] * 5, task=task) for name, task in (("a", one), ("a", two), ("b", one))]
    found.append(result(two, "b", [run(0.9, seed) for seed in range(5, 10)]))
    board = overall.overall(ranking.tables(found))
    assert ([standing.method for standing in board.standings], board.left_out) == (["a"], ("b",))
    shown = build.build(write(tmp_path / "results", *found), tmp_path / "site").read_text("utf-8")
    assert "No rank across tasks, since their seeds differ between tasks: b." in " ".join(shown.split())
    found[-1] = result(two, "b", [run(0.9, seed) for seed in range(10)])
    assert overall.overall(ranking.tables(found)).left_out == ()


def test_there_are_no_standings_on_one_task():
    assert overall.overall(ranking.tables([method("a", *[0.9] * 5)])) is None


def test_who_is_ranked(tmp_path):
    """Trained here, verified, and recomputed from codes alone: five seeds each, so that nothing else decides."""
    verification = Verification(
        version="fresh_rows@v2",
        seed="x",
        encoder_digest="0" * 64,
        rows=1,
        rows_digest="0" * 64,
        deviation=0.0,
        scores={"mig": Compared(codes=0.5, fresh=0.5, margin=0.01)},
        date=datetime.date(2026, 1, 2),
        verified_with={},
    )
    made = {
        "ours": {"status": "reproduced"},
        "verified": {"status": "recomputed", "verification": verification},
        "handed_in": {"status": "recomputed"},
    }
    found = [
        result("dsprites@v1", method, [run(0.5, seed, **fields) for seed in range(5)])
        for method, fields in made.items()
    ]
    assert {row.result.method: row.trust for row in ranking.table("dsprites@v1", "study", found).rows} == {
        "handed_in": "recomputed",
        "ours": "recomputed",
        "verified": "verified",
    }
    (board,) = ranking.tables(found)
    assert {row.result.method for row in board.rows if row.rank} == {"ours", "verified"}
    assert {row.note for row in board.rows if not row.rank} == {"recomputed from codes, not verified"}
    assert len(board.rows) == 3
    partly = [run(0.5, 0, verification=verification), *(run(0.5, seed) for seed in range(1, 5))]
    assert result("dsprites@v1", "partly", partly).trust("study") == "recomputed"
    shown = build.build(write(tmp_path / "results", *found), tmp_path / "site").read_text("utf-8")
    assert "verified: its encoder was run here" in shown


def test_who_leads_and_how_sure_that_is(tmp_path):
    seeds = (0.0, 0.01, 0.02, 0.03, 0.04)
    tasks = ("xysquares/spacing_1@v1", "xysquares/spacing_8@v1")

    def of(name, *means, **fields):
        return [
            result(task, name, [run(mean + more, k, **fields) for k, more in enumerate(seeds)])
            for task, mean in zip(tasks, means, strict=True)
        ]

    def said(*found):
        shown = build.build(write(tmp_path / str(len(found)) / "results", *found), tmp_path / str(len(found)) / "site")
        return " ".join(shown.read_text("utf-8").split())

    found = [*of("a", 0.5, 0.5), *of("b", 0.51, 0.4), *of("c", 0.1, 0.1)]
    assert "First of 3 methods ranked on all 2 tasks; tests allow no other rank." in said(*found)
    near = said(*of("a", 0.5, 0.5), *of("b", 0.501, 0.498))
    assert "First of 2 methods ranked on all 2 tasks; tests allow ranks 1 to 2." in near
    assert "The only method with a rank over all 2 tasks." in said(*of("a", 0.5, 0.5))
