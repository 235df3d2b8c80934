"""Transfer: what can be read from whose codes, and what happens where classes are missing."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import benchmark_data
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.variants import pairs
from leaderboard.analyses import transfer_accuracy

NAMES = ["shape", "x"]


def target(n=300, seed=0):
    """Labels of a target dataset and three representations of it."""
    rng = np.random.default_rng(seed)
    labels = np.stack([rng.integers(0, 3, n), rng.integers(0, 2, n)], axis=1)
    noise = rng.normal(size=(n, 4))
    return labels, {
        "target": np.hstack([labels + 0.05 * noise[:, :2], noise[:, 2:]]),
        "source": np.hstack([noise[:, :1], labels[:, 1:] + 0.05 * noise[:, 1:2]]),
        "random encoder": noise,
    }


def division(n):
    mask = transfer_accuracy.held_out(range(n), n)
    return np.flatnonzero(~mask), np.flatnonzero(mask)


@pytest.fixture(scope="module")
def table():
    labels, representations = target()
    return transfer_accuracy.measure(representations, labels, NAMES)


def accuracy(table, source, classifier, label):
    return table.set_index(["source", "classifier", "label"]).test[source, classifier, label]


@pytest.mark.parametrize("classifier", transfer_accuracy.CLASSIFIERS)
def test_what_the_source_shares_can_be_read_and_the_rest_is_chance(table, classifier):
    for label in NAMES:
        assert accuracy(table, "target", classifier, label) > 0.95
    assert accuracy(table, "source", classifier, "x") > 0.95
    assert accuracy(table, "source", classifier, "shape") < 0.65
    assert accuracy(table, "random encoder", classifier, "shape") < 0.65


def test_the_most_frequent_class_is_the_floor(table):
    labels, _ = target()
    fit, held_out = division(len(labels))
    for column, label in enumerate(NAMES):
        most = np.bincount(labels[fit][:, column]).argmax()
        row = table[(table.source == transfer_accuracy.MAJORITY) & (table.label == label)]
        assert row.test.item() == np.mean(labels[held_out][:, column] == most)
        assert row.train.item() == np.mean(labels[fit][:, column] == most)


def test_one_row_for_each_source_classifier_and_label(table):
    assert len(table) == 3 * 2 * 2 + 2
    assert (table.unseen == 0).all()
    assert table.notna().all(axis=None)


def test_the_trees_are_scikit_learn_s():
    labels, representations = target(300)
    fit, held_out = np.arange(150), np.arange(150, 300)
    table = transfer_accuracy.measure(representations, labels, NAMES, classifiers=["gbt"], test=np.arange(300) >= 150)
    for source, codes in representations.items():
        for column, label in enumerate(NAMES):
            trees = GradientBoostingClassifier(random_state=0).fit(codes[fit], labels[fit, column])
            expected = np.mean(trees.predict(codes[held_out]) == labels[held_out, column])
            assert accuracy(table, source, "gbt", label) == pytest.approx(expected, abs=0.03)


def test_sorted_rows_are_read_as_well_as_shuffled_ones():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 400)[:, None]
    codes = 0.02 * (0.6 * np.eye(5)[labels[:, 0]] + 0.25 * rng.normal(size=(2000, 5)))
    order, test = rng.permutation(2000), transfer_accuracy.held_out(range(2000), 2000)
    options = {"names": ["shape"], "classifiers": ["logistic"]}
    in_order = transfer_accuracy.measure({"a": codes}, labels, test=test, **options)
    shuffled = transfer_accuracy.measure({"a": codes[order]}, labels[order], test=test[order], **options)
    assert in_order.test[0] == pytest.approx(shuffled.test[0], abs=0.02)


def test_twice_is_the_same(table):
    labels, representations = target()
    assert transfer_accuracy.measure(representations, labels, NAMES).equals(table)


def test_a_tenth_of_the_dataset_is_held_out_whichever_rows_are_encoded():
    everything = transfer_accuracy.held_out(range(1001), 1001)
    assert everything.sum() == 101
    assert transfer_accuracy.held_out([7, 1000, 7], 1001).tolist() == everything[[7, 1000, 7]].tolist()
    assert transfer_accuracy.held_out(range(30), 30).sum() == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, -1], r"rows in \[0, 999\], received rows in \[-1, 0\]"),
        ([1000], r"rows in \[0, 999\], received rows in \[1000, 1000\]"),
        ([0.7], r"integers of shape \(n,\), received float64"),
    ],
)
def test_rows_that_a_dataset_does_not_have(rows, message):
    with pytest.raises(InvalidInput, match=f"rows: expected {message}"):
        transfer_accuracy.held_out(rows, 1000)
    assert transfer_accuracy.held_out([], 1000).tolist() == []


def test_the_division_is_that_of_the_transfer_pairs():
    side = pairs.sides(benchmark_data.load("solids_dsprites/to_solids"))["target"]
    rows = benchmark_data.load("solids_dsprites/to_solids").source.extra("row", np.array(side.test))
    assert np.array_equal(np.sort(rows), np.flatnonzero(transfer_accuracy.held_out(range(112_791), 112_791)))


def test_too_few_rows():
    labels, representations = target(12)
    with pytest.raises(
        InvalidInput, match="rows: expected at least two to fit to and two to test on, received 4 and 1"
    ):
        transfer_accuracy.measure({"a": np.ones((5, 1))}, np.arange(5)[:, None], ["a"])
    with pytest.raises(InvalidInput, match=r"test: expected booleans of shape \(12,\), received int64"):
        transfer_accuracy.measure(representations, labels, NAMES, test=np.arange(12))


def test_a_class_that_is_missing_from_the_rows_to_fit_to():
    labels, representations = target(100)
    _, held_out = division(100)
    labels[held_out[:3], 0] = 9
    table = transfer_accuracy.measure(representations, labels, NAMES)
    assert table[table.label == "shape"].unseen.unique().tolist() == [0.3]
    assert (table[table.label == "shape"].test <= 0.7).all()
    assert table[table.label == "x"].unseen.unique().tolist() == [0.0]


def test_classes_with_one_sample():
    labels, representations = target(100)
    fit, _ = division(100)
    labels[fit[0], 0] = 9
    table = transfer_accuracy.measure(representations, labels, NAMES)
    assert (table.train <= 1).all()
    alone = transfer_accuracy.measure({"a": np.ones((50, 2))}, np.arange(50)[:, None], ["id"])
    assert alone.unseen.unique().tolist() == [1.0]
    assert (alone.test == 0).all()


def test_a_constant_label():
    labels, representations = target(100)
    fit, _ = division(100)
    labels[fit, 1] = 1
    with pytest.raises(
        InvalidInput, match="label x: expected at least two classes among the rows to fit to, received one"
    ):
        transfer_accuracy.measure(representations, labels, NAMES)
    with pytest.raises(InvalidInput, match=r"labels a, b: expected at least two classes .* received one\. Leave such"):
        transfer_accuracy.measure(representations, np.ones((100, 2), int), ["a", "b"])


def test_hard_codes():
    labels, _ = target(60)
    wide = np.random.default_rng(0).normal(size=(60, 80)).astype(np.float16)
    table = transfer_accuracy.measure({"constant": np.ones((60, 1)), "wide": wide}, labels, NAMES)
    floor = table[table.source == transfer_accuracy.MAJORITY].set_index("label").test
    for label in NAMES:
        for classifier in transfer_accuracy.CLASSIFIERS:
            assert accuracy(table, "constant", classifier, label) == floor[label]
    with pytest.raises(InvalidInput, match="codes of a: expected finite numbers"):
        transfer_accuracy.measure({"a": np.full((60, 2), np.nan)}, labels, NAMES)
    with pytest.raises(InvalidInput, match=r"codes of a: expected 60 rows, as in labels, received 2.*same images"):
        transfer_accuracy.measure({"a": np.ones((2, 60))}, labels, NAMES)
    with pytest.raises(InvalidInput, match=r"labels: expected shape \(n, 2\), a column for each name"):
        transfer_accuracy.measure({"a": wide}, labels[:, :1], NAMES)
    with pytest.raises(InvalidInput, match="representations: expected at least one"):
        transfer_accuracy.measure({}, labels, NAMES)
    with pytest.raises(InvalidInput, match="classifiers: expected some of gbt, logistic"):
        transfer_accuracy.measure({"a": wide}, labels, NAMES, classifiers=["svm"])


def test_table_1_averages_labels_then_seeds():
    rows = [
        ("solids", seed, "gbt", label, 1.0, accuracy)
        for seed, label, accuracy in [(0, "a", 0.2), (0, "b", 0.4), (1, "a", 0.6), (1, "b", 0.8)]
    ]
    table = pd.DataFrame(rows, columns=["source", "seed", "classifier", "label", "train", "test"])
    found = transfer_accuracy.averages(table)
    assert found.test.tolist() == pytest.approx([0.5])
    assert found.deviation.tolist() == pytest.approx([0.08**0.5])  # of 0.3 and 0.7
    assert transfer_accuracy.averages(table.assign(target="dsprites")).target.tolist() == ["dsprites"]


def test_appendix_a_has_a_column_per_label(table):
    wide = transfer_accuracy.by_label(table)
    assert list(wide.columns) == NAMES
    assert list(wide.index) == ["target", "source", "random encoder", transfer_accuracy.MAJORITY]
    assert wide.loc["source", "x"] == accuracy(table, "source", "gbt", "x")
    with pytest.raises(UnknownName, match="classifier: expected one of"):
        transfer_accuracy.by_label(table, classifier="svm")


def test_drawing_bars(tmp_path, table):
    transfer_accuracy.draw(table, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
    with pytest.raises(InvalidInput, match="table: expected a classifier"):
        transfer_accuracy.draw(table[table.classifier == "constant"], tmp_path / "b.png")


def test_a_label_may_be_called_average(monkeypatch, tmp_path):
    rows = [("a", "gbt", "average", 1.0, 0.2), ("a", "gbt", "x", 1.0, 0.6)]
    table = pd.DataFrame(rows, columns=["source", "classifier", "label", "train", "test"])
    drawn = []
    monkeypatch.setattr(transfer_accuracy.figures, "save", lambda figure, path: drawn.append(figure.axes[0]))
    transfer_accuracy.draw(table, tmp_path / "a.png")
    assert [tick.get_text() for tick in drawn[0].get_xticklabels()] == ["average", "average", "x"]
    assert [bar.get_height() for bar in drawn[0].patches] == pytest.approx([0.4, 0.2, 0.6])
