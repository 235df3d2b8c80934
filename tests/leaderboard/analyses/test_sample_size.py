import numpy as np
import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.analyses import sample_size
from leaderboard.comparisons import cka


@pytest.fixture(scope="module")
def figure_1():
    """Small enough to be quick, large enough to show the effect."""
    return sample_size.measure_shared(sizes=[60, 2000], repeats=2, similarities=("CKA", "Procrustes", "debiased CKA"))


def mean(table, share, metric, samples):
    rows = table[(table.share == share) & (table.metric == metric) & (table.samples == samples)]
    assert len(rows) == 2
    return rows.similarity.mean()


@pytest.mark.parametrize("share", [0.8, 0.5])
def test_both_approach_the_share_of_common_features(figure_1, share):
    for metric in ("CKA", "Procrustes"):
        assert mean(figure_1, share, metric, 2000) == pytest.approx(share, abs=0.06)


def test_with_nothing_shared_procrustes_overestimates_and_cka_drops(figure_1):
    assert mean(figure_1, 0.0, "CKA", 60) > 0.3
    assert mean(figure_1, 0.0, "CKA", 2000) < 0.05
    assert mean(figure_1, 0.0, "Procrustes", 2000) > 2 * mean(figure_1, 0.0, "CKA", 2000)
    assert abs(mean(figure_1, 0.0, "debiased CKA", 60)) < 0.1


def test_repeats_differ_and_a_seed_repeats():
    arguments = {"sizes": [50], "shares": [0.5], "repeats": 2}
    table = sample_size.measure_shared(**arguments)
    assert table.similarity.nunique() == len(table)
    assert table.equals(sample_size.measure_shared(**arguments))
    assert not table.equals(sample_size.measure_shared(**arguments, seed=9))


def test_sizes_may_come_in_any_order():
    arguments = {"shares": [0.5], "repeats": 1, "similarities": ["CKA"]}
    table = sample_size.measure_shared(sizes=[60, 20], **arguments)
    assert set(table.samples) == {20, 60}
    assert table.equals(sample_size.measure_shared(sizes=[20, 60], **arguments))


def test_rows_are_not_ordered_by_their_numbers():
    table = sample_size.measure_shared(shares=[0.5], sizes=[50, 2000], similarities=["CKA"], features=2, repeats=1)
    assert table.similarity.tolist() == pytest.approx([0.5, 0.5], abs=0.25)


def test_own_arrays_on_growing_samples():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = rng.normal(size=(40, 2))
    table = sample_size.measure(x, y, sizes=[10, 40, 10, 500], repeats=3)
    assert table.groupby("samples").repeat.nunique().to_dict() == {10: 3, 40: 1}
    everything = table[(table.samples == 40) & (table.metric == "CKA")].similarity.item()
    assert everything == pytest.approx(cka.compare(x, y), abs=1e-12)


def test_bad_input():
    x = np.ones((10, 2))
    for sizes in ([50], [2, 8]):
        with pytest.raises(InvalidInput, match="sizes: expected 4 samples or more, one at most 10, received"):
            sample_size.measure(x, x, sizes=sizes)
    with pytest.raises(InvalidInput, match="similarities: expected some of CKA, Procrustes, debiased CKA"):
        sample_size.measure(x, x, sizes=[10], similarities=["SVCCA"])
    with pytest.raises(InvalidInput, match=r"similarities: expected some of CKA, .*, received \[\]"):
        sample_size.measure(x, x, sizes=[10], similarities=[])
    with pytest.raises(InvalidInput, match="repeats: expected at least 1, received 0"):
        sample_size.measure(x, x, sizes=[10], repeats=0)
    for wrong, what in (
        ({"repeats": 0}, "repeats"),
        ({"sizes": []}, "sizes"),
        ({"shares": ()}, "shares"),
    ):
        with pytest.raises(InvalidInput, match=rf"{what}: expected at least 1, received 0"):
            sample_size.measure_shared(**wrong)
    with pytest.raises(InvalidInput, match=r"share: expected a number in \[0, 1\], received 1.2"):
        sample_size.shared_features(1.2, samples=10)
    with pytest.raises(InvalidInput, match="y: expected 10 rows, as in x"):
        sample_size.measure(x, x[:5], sizes=[4])
    with pytest.raises(InvalidInput, match="x: expected finite numbers"):
        sample_size.measure(x * np.nan, x, sizes=[4])
