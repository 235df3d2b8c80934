"""What is published: every result sound, every table up to date."""

import collections
import functools

import pytest

from leaderboard import protocol
from leaderboard.commands import board
from leaderboard.report import integrity, ranking
from leaderboard.report.site import plots
from leaderboard.store import reported, results_tree

FILES = results_tree.files(board.PUBLISHED)


@pytest.fixture(scope="module", autouse=True)
def _each_file_is_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results_tree, "read", functools.cache(results_tree.read))
        yield


@pytest.fixture(scope="module")
def published():
    return results_tree.read_all(board.PUBLISHED)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(board.PUBLISHED).as_posix())
def test_a_published_result_is_read(file):
    assert results_tree.read(file).runs


def test_the_published_tree_is_sound():
    assert [str(problem) for problem in integrity.check(board.PUBLISHED)] == []
    assert reported.read_all(board.PUBLISHED)


def test_results_of_both_licenses_and_of_the_first_datasets_are_still_there(published):
    assert {result.about.license for result in published} >= {"Apache-2.0", "MIT"}
    assert {result.dataset for result in published} >= {"dsprites", "xysquares/spacing_1"}


def test_every_published_task_has_its_references(published):
    methods = collections.defaultdict(set)
    for result in published:
        methods[result.task].add(result.method)
    for task, here in methods.items():
        assert {"ground_truth", "pca", "random_encoder"} <= here, task


def test_methods_trained_here_have_all_seeds_of_a_rank_at_tier_desk(published):
    for result in published:
        seeds = {run.seed for run in result.runs_in("desk")}
        untrained = result.runs[0].supervision in ("reference", "pretrained")
        if seeds and result.trained_here("desk") and not untrained:
            assert len(seeds) >= protocol.SEEDS, f"{result.method} on {result.task}"


def test_no_two_lines_of_a_plot_look_alike(published):
    boards = ranking.tables(published)
    drawn = plots.scores_vs_parameter(boards)
    assert max(len(plot.legend) for plot in drawn) > plots.COLOURS
    for plot in drawn:
        looks = {(line.colour, line.shape, line.hollow) for line in plot.legend}
        assert len(looks) == len(plot.legend)


def test_every_published_method_can_be_looked_up_and_cited(published):
    for result in published:
        if any(result.trained_here(tier) for tier in result.tiers) and result.runs[0].supervision != "reference":
            missing = [
                name for name in ("paper", "code", "license", "bibtex") if not getattr(result.about, name).strip()
            ]
            assert missing == [], (
                f"{result.method} on {result.task}: write them into the method's file, and score it again"
            )
