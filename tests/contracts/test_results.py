"""What is published: every result sound, every table up to date."""

from pathlib import Path

import pytest

from leaderboard import audit, cli, plots, reported, results, tables

FILES = results.files(cli.PUBLISHED)
SITE = Path(__file__).parents[2] / "docs" / "board"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(cli.PUBLISHED).as_posix())
def test_a_published_result_is_read(file):
    assert results.read(file).runs


def test_the_published_tree_is_sound():
    assert [str(problem) for problem in audit.check(cli.PUBLISHED)] == []
    assert reported.read_all(cli.PUBLISHED)


def test_every_published_task_has_its_references():
    tasks = {result.task for result in results.read_all(cli.PUBLISHED)}
    for task in tasks:
        here = {r.method for r in results.read_all(cli.PUBLISHED) if r.task == task}
        assert {"ground_truth", "pca", "random_encoder"} <= here, task


@pytest.mark.skipif(not FILES, reason="nothing is published yet")
def test_the_built_board_is_up_to_date():
    assert audit.stale(cli.PUBLISHED, SITE) == [], "run: offaxis-board build --to docs/board"


def test_no_two_lines_of_a_plot_look_alike():
    boards = tables.tables(results.read_all(cli.PUBLISHED))
    drawn = [*plots.ladders(boards), *plots.pairs(boards)]
    assert max(len(plot.legend) for plot in drawn) > plots.COLOURS
    for plot in drawn:
        looks = {(line.colour, line.shape, line.hollow) for line in plot.legend}
        assert len(looks) == len(plot.legend)
