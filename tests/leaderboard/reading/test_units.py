from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from benchmark_data import DamagedFile, InvalidInput
from leaderboard import protocol
from leaderboard.reading import representations, units
from leaderboard.scoring import candidates
from leaderboard.store import results_tree
from tests.leaderboard import scored_submission


def vectors(n=60, count=3, size=4, seed=0, dtype=np.float64):
    """Make units that move mostly along a direction of their own."""
    rng = np.random.default_rng(seed)
    along = rng.normal(size=(n, count, 1)) * rng.normal(size=(count, size))
    return (along + 0.1 * rng.normal(size=(n, count, size)) + 5).astype(dtype)


def test_it_is_scikit_learns_first_component_of_the_train_rows_up_to_sign():
    codes = vectors()
    found = units.reduce(codes)
    for i in range(3):
        expected = PCA(1).fit(codes[:40, i]).transform(codes[:, i])[:, 0]
        sign = np.sign(found[0, i] * expected[0])
        np.testing.assert_allclose(found[:, i], sign * expected, atol=1e-9)


def test_the_sign_is_that_of_the_largest_entry():
    move = np.linspace(-1, 1, 30)[:, None]
    for direction in ([0.6, 0.8], [-0.6, 0.8], [0.6, -0.8], [-0.6, -0.8]):
        rising = np.sign(direction[1])
        found = units.reduce((move * direction)[:, None, :])[:, 0]
        np.testing.assert_allclose(np.diff(found), rising * np.diff(move[:, 0]), atol=1e-12)


def test_held_out_rows_decide_nothing():
    codes = vectors()
    other = codes.copy()
    other[40:] = np.random.default_rng(1).normal(size=(20, 3, 4)) * 100
    np.testing.assert_array_equal(units.reduce(codes)[:40], units.reduce(other)[:40])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_units_of_one_number_are_the_same_bytes(dtype):
    codes = np.random.default_rng(0).normal(size=(30, 5, 1)).astype(dtype)
    found = units.reduce(codes)
    assert found.dtype == dtype
    assert found.tobytes() == codes[:, :, 0].tobytes()


def test_units_do_not_depend_on_each_other_and_constant_ones_are_zero():
    codes = vectors()
    codes[:, 1] = 7.0
    found = units.reduce(codes)
    assert (found[:, 1] == 0).all()
    np.testing.assert_array_equal(units.reduce(codes[:, [2, 0]]), found[:, [2, 0]])


def test_bad_input():
    with pytest.raises(InvalidInput, match=r"codes: expected at least three rows.*received shape \(2, 1, 4\)"):
        units.reduce(np.zeros((2, 1, 4)))
    with pytest.raises(InvalidInput, match=r"received shape \(5, 3, 0\)"):
        units.reduce(np.zeros((5, 3, 0)))
    with pytest.raises(InvalidInput, match="train: expected at least 2, received 1"):
        units.reduce(vectors(), train=1)
    spoiled = vectors()
    spoiled[3, 1, 2] = np.nan
    with pytest.raises(InvalidInput, match="codes: expected finite numbers"):
        units.reduce(spoiled)


def write(folder, codes):
    task = protocol.task("toy/small")
    np.savez(folder / "codes.npz", indices=task.indices, codes=codes)


def test_a_run_of_units_of_one_number_is_scored_to_the_byte_as_one_of_latents(run_folder, one_tier):
    folder = run_folder()
    (plain,) = scored_submission.score_runs([folder])
    codes, _ = candidates.read_codes(folder / "codes.npz", protocol.task("toy/small"))
    write(folder, codes[:, :, None])
    (wrapped,) = scored_submission.score_runs([folder])
    assert wrapped.model_dump(exclude={"runs": {0: {"date"}}}) == plain.model_dump(exclude={"runs": {0: {"date"}}})
    assert representations.codes(folder).codes.tobytes() == codes.tobytes()


def test_a_run_of_vectors_is_scored_by_its_components(run_folder, one_tier):
    folder = run_folder()
    codes, _ = candidates.read_codes(folder / "codes.npz", protocol.task("toy/small"))
    wide = codes[:, :, None] * np.array([0.6, -0.8, 0.0], np.float32)
    write(folder, wide)
    expected = units.reduce(wide)
    np.testing.assert_array_equal(candidates.read_codes(folder / "codes.npz", protocol.task("toy/small"))[0], expected)
    np.testing.assert_array_equal(representations.codes(folder).codes, expected)
    assert abs(np.corrcoef(expected[:, 0], codes[:, 0])[0, 1]) == pytest.approx(1.0)


def test_four_axes_are_refused(run_folder):
    folder = run_folder()
    write(folder, np.zeros((60, 2, 2, 2), np.float32))
    with pytest.raises(DamagedFile, match=r"float of shape \(60, any\) or \(60, any, any\)"):
        candidates.read_codes(folder / "codes.npz", protocol.task("toy/small"))
    with pytest.raises(InvalidInput, match="codes: expected a 2-d array"):
        representations.codes(folder)


def test_results_say_by_which_rule_units_were_reduced(run_folder, one_tier, tmp_path):
    vectors = np.random.default_rng(0).standard_normal((60, 3, 2))
    (with_units,) = scored_submission.score_runs([run_folder(codes=vectors)])
    assert with_units.runs[0].units == units.VERSION
    assert b'"units": "first_component@v1"' in results_tree.write(tmp_path / "a", [with_units])[0].read_bytes()
    for plain in (vectors[:, :, 0], vectors[:, :, :1]):
        (without,) = scored_submission.score_runs([run_folder(codes=plain)])
        assert without.runs[0].units == ""
        assert b'"units"' not in results_tree.write(tmp_path / "b", [without])[0].read_bytes()


def test_a_rule_fitted_elsewhere():
    """By hand: the train rows of ``fit`` move by (3, 4) alone: the component is (0.6, 0.8) about the mean (1.5, 2)."""
    fit = np.array([[[0.0, 0.0]], [[3.0, 4.0]], [[9.0, 9.0]]])
    codes = np.array([[[1.5, 2.0]], [[4.5, 6.0]], [[1.5, 7.0]]])
    np.testing.assert_allclose(units.reduce(codes, fit=fit)[:, 0], [0, 5, 4], atol=1e-12)
    for other in (codes[:, 0], codes[:, :, :1], np.tile(codes, (1, 2, 1))):
        with pytest.raises(InvalidInput, match=r"expected rows of shape \(1, 2\), as in codes, received \("):
            units.reduce(other, fit=fit)


def test_the_train_rows_of_tasks_are_the_first_two_thirds():
    """Those that the rule is fitted on, of divided datasets, too."""
    for task in protocol.tasks():
        assert len(task.train) == 2 * len(task.indices) // 3, task.id
