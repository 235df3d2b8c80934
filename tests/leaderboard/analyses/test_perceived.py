import numpy as np
import pandas as pd
import pytest

import benchmark_data
from benchmark_data import draws
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.inspect import distances
from leaderboard.analyses import perceived


def xysquares(spacing, factor="x_R", traversals=4):
    dataset = benchmark_data.load("xysquares", spacing=spacing)
    starts = np.random.default_rng(0).integers(0, len(dataset), traversals)
    return np.stack([dataset.images(dataset.space.traverse(int(start), factor)) for start in starts])


def matrix(table, level):
    part = table[table.level == level]
    return part.pivot(index="first", columns="second", values="distance").to_numpy()


def test_xysquares_as_counted_by_hand():
    """At spacing 8 two places share no pixel: 128 of 12,288 numbers differ by 1. At spacing 4 neighbours share half."""
    table = perceived.measure(inputs=xysquares(8))
    assert matrix(table, "ground truth")[0].tolist() == list(range(8))
    off = ~np.eye(8, dtype=bool)
    assert np.allclose(matrix(table, "input")[off], 128 / 12288)
    assert np.allclose(table.deviation, 0)
    assert perceived.agreement(table)[["pearson", "spearman"]].isna().all(axis=None)
    near = matrix(perceived.measure(inputs=xysquares(4)), "input")
    assert near[0, 1] == pytest.approx(64 / 12288)
    assert near[0, 2] == pytest.approx(128 / 12288)


def test_distances_that_follow_the_factor_correlate_with_it():
    spearman = [perceived.agreement(perceived.measure(inputs=xysquares(s))).spearman.item() for s in (1, 4)]
    assert spearman[0] > 0.95 > spearman[1] > 0


def test_the_same_at_the_input_as_the_distances_of_the_dataset():
    dataset = benchmark_data.load("xysquares", spacing=3)
    found = distances.matrices(dataset, "y_G", traversals=5)
    rows = (draws.uniform(0, np.arange(5), 1)[:, 0] * len(dataset)).astype(int)
    images = np.stack([dataset.images(dataset.space.traverse(int(row), "y_G")) for row in rows])
    table = perceived.measure(inputs=images)
    assert np.allclose(matrix(table, "input"), found.perceived)
    assert np.array_equal(matrix(table, "ground truth"), found.ground_truth)
    assert perceived.agreement(table).pearson.item() == pytest.approx(distances.correlation(found).pearson)


def test_levels_by_hand():
    mean = np.array([[[0.0, 0.0], [3.0, 4.0]]])
    variance = np.array([[[1.0, 1.0], [4.0, 1.0]]])
    table = perceived.measure(mean=mean, variance=variance, reconstructions=np.array([[[0.0], [0.5]]]))
    assert table.level.unique().tolist() == ["ground truth", "mean", "KL", "reconstruction"]
    assert matrix(table, "mean")[0, 1] == pytest.approx(5.0)
    assert matrix(table, "KL")[0, 1] == pytest.approx(0.5 * (1 / 4 + np.log(4) - 1 + 9 / 4) + 0.5 * 16)
    assert matrix(table, "KL")[1, 0] == pytest.approx(0.5 * (4 - np.log(4) - 1 + 9) + 0.5 * 16)
    assert matrix(table, "reconstruction")[0, 1] == 0.25


def test_floats_keep_their_range():
    images = np.array([[[0], [51]]], np.uint8)
    scaled = [perceived.measure(inputs=each) for each in (images, images / 255, images.astype(float))]
    assert [matrix(table, "input")[0, 1] for table in scaled] == pytest.approx([0.04, 0.04, 51**2])


def test_averaged_over_traversals():
    table = perceived.measure(mean=np.array([[[0.0], [1.0]], [[0.0], [3.0]]]))
    row = table[(table.level == "mean") & (table["first"] == 0) & (table.second == 1)]
    assert (row.distance.item(), row.deviation.item()) == (2.0, 1.0)


def test_agreement_with_another_level():
    """Inverted images are as far apart as the images are."""
    images = np.array([[[0.0], [0.1], [0.4], [0.9]]])
    table = perceived.measure(inputs=images, mean=images**2, reconstructions=1 - images)
    found = perceived.agreement(table, against="input").set_index("level")
    assert found.index.tolist() == ["ground truth", "mean", "reconstruction"]
    assert found.loc["reconstruction"][["pearson", "spearman"]].tolist() == pytest.approx([1.0, 1.0])
    assert found.pearson["ground truth"] == pytest.approx(
        perceived.agreement(table).set_index("level").pearson["input"]
    )
    with pytest.raises(UnknownName, match="level: expected one of ground truth, input, mean, rec"):
        perceived.agreement(table, against="KL")


def test_the_tables_of_several_runs_together():
    images = np.random.default_rng(0).uniform(size=(4, 5, 2))
    parts = [perceived.measure(inputs=part, mean=part**2) for part in (images[:2], images[2:])]
    together = pd.concat([table.assign(seed=seed) for seed, table in enumerate(parts)])
    whole = perceived.agreement(perceived.measure(inputs=images, mean=images**2))
    pd.testing.assert_frame_equal(perceived.agreement(together), whole)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.masked_greater(np.zeros((2, 3, 4)), 0.5), "inputs: expected a plain array, received a masked array"),
        ([[[1, 2], [3]]], "inputs: expected an array, received"),
    ],
)
def test_what_is_no_plain_array_is_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        perceived.measure(inputs=given)


def test_hard_input():
    constant = perceived.measure(mean=np.zeros((2, 3, 4)))
    assert np.isnan(perceived.agreement(constant).spearman.item())
    two = perceived.agreement(perceived.measure(mean=np.array([[[0.0], [1.0]]])))
    assert np.isnan(two.pearson.item()), "with two values there is one distance, and nothing to order"
    with pytest.raises(InvalidInput, match=r"arrays along traversals: expected at least one, .* received none"):
        perceived.measure()
    with pytest.raises(InvalidInput, match=r"received inputs \(1, 3\), mean \(1, 2\)"):
        perceived.measure(inputs=np.zeros((1, 3, 2)), mean=np.zeros((1, 2, 2)))
    with pytest.raises(InvalidInput, match="mean: expected posterior means next to the variances"):
        perceived.measure(variance=np.ones((1, 3, 2)))
    with pytest.raises(InvalidInput, match="variance: expected positive numbers, received 0"):
        perceived.measure(mean=np.zeros((1, 3, 2)), variance=np.zeros((1, 3, 2)))
    with pytest.raises(InvalidInput, match="inputs: expected finite numbers"):
        perceived.measure(inputs=np.full((1, 3, 2), np.nan))
    with pytest.raises(InvalidInput, match=r"inputs: expected an array \(traversals, values, ...\)"):
        perceived.measure(inputs=np.zeros((3, 1, 2)))


def test_drawing_factors_of_different_sizes(tmp_path):
    tables = [
        perceived.measure(inputs=xysquares(4), mean=np.random.default_rng(0).normal(size=(4, 8, 2))).assign(
            factor="x_R"
        ),
        perceived.measure(inputs=np.eye(3)[None]).assign(factor="shape"),
    ]
    perceived.draw(pd.concat(tables), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
