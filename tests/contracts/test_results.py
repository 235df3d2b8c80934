"""What is published: every result sound, every table up to date."""

import collections
from pathlib import Path

import pytest

from leaderboard.commands import board
from leaderboard.report import audit, ranking
from leaderboard.report.site import plots
from leaderboard.store import reported, results_tree

FILES = results_tree.files(board.PUBLISHED)
SITE = Path(__file__).parents[2] / "docs" / "board"


@pytest.fixture(scope="module")
def published():
    return results_tree.read_all(board.PUBLISHED)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(board.PUBLISHED).as_posix())
def test_a_published_result_is_read(file):
    assert results_tree.read(file).runs


def test_the_published_tree_is_sound():
    assert [str(problem) for problem in audit.check(board.PUBLISHED)] == []
    assert reported.read_all(board.PUBLISHED)


def test_every_published_task_has_its_references(published):
    methods = collections.defaultdict(set)
    for result in published:
        methods[result.task].add(result.method)
    for task, here in methods.items():
        assert {"ground_truth", "pca", "random_encoder"} <= here, task


@pytest.mark.skipif(not FILES, reason="nothing is published yet")
def test_the_built_board_is_up_to_date():
    assert audit.stale(board.PUBLISHED, SITE) == [], "run: offaxis board build --to docs/board"


def test_no_two_lines_of_a_plot_look_alike(published):
    boards = ranking.tables(published)
    drawn = [*plots.scores_vs_parameter(boards), *plots.pairs(boards)]
    assert max(len(plot.legend) for plot in drawn) > plots.COLOURS
    for plot in drawn:
        looks = {(line.colour, line.shape, line.hollow) for line in plot.legend}
        assert len(looks) == len(plot.legend)


def test_every_published_method_can_be_looked_up_and_cited():
    assert [str(problem) for problem in audit.unattributed(board.PUBLISHED)] == []
