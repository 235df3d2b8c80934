"""Rows in any order: what numpy readers, and through them every other reader, get is what the dataset holds."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import re

import numpy as np
import pytest

import benchmark_data
from benchmark_data import Factor, FactorSpace, Rendered, draws, from_images, reading
from benchmark_data.errors import InvalidInput, Unavailable, UnknownName


def test_fields_are_those_of_the_dataset(tiny_family):
    dataset = tiny_family.configs["plus_1"]
    fields = ("image", "label", "value", "scaled", "index", "extra_rotation", "extra_landmark")
    data = reading.Images(dataset, split="test", fields=fields)
    assert len(data) == 3
    rows = [10, 8]
    found = data[[2, 0]]
    expected = [dataset.images(rows), dataset.labels(rows), dataset.values(rows).astype(np.float32)]
    expected += [(dataset.labels(rows) / [1, 299]).astype(np.float32), np.array(rows)]
    expected += [dataset.extra("rotation", rows).astype(np.float32), dataset.extra("landmark", rows).astype(np.int64)]
    for field, array, right in zip(fields, found, expected, strict=True):
        assert array.dtype == right.dtype, field
        assert np.array_equal(array, right), field
    for number in (2, 0):
        item = data[number]
        assert [np.array_equal(a, b[[2, 0].index(number)]) for a, b in zip(item, expected, strict=True)] == [True] * 7


def test_one_field_is_given_bare_and_chosen_factors_in_their_order(tiny_family):
    dataset = tiny_family.configs["plus_2"]
    assert np.array_equal(reading.Images(dataset, fields="image")[3], dataset.images([3])[0])
    data = reading.Images(dataset, factors=["identity", "smiling"], fields="label")
    assert np.array_equal(data[:], dataset.labels(range(11))[:, ::-1])


def test_fields_may_come_from_anything_that_yields_them(tiny_grid):
    listed, yielded = (reading.Images(tiny_grid, fields=kind(("index", "label"))) for kind in (list, iter))
    assert [part.tolist() for part in yielded[3]] == [part.tolist() for part in listed[3]]
    assert len(yielded[3]) == len(yielded[3]) == 2


def test_items_end_and_count_from_the_end(tiny_grid):
    chosen = np.array([7, 3, 3])
    data = reading.Images(tiny_grid, rows=chosen, fields="index")
    chosen[:] = 0  # as a caller who shuffles them for another set
    assert [int(row) for row in data] == [7, 3, 3]  # a loop needs IndexError at the end
    assert int(data[-3]) == 7
    with pytest.raises(IndexError, match="item 3 of 3"):
        data[3]
    items = data.__getitems__([1, 0])
    assert [int(row) for row in items] == [3, 7]
    assert items.whole.tolist() == [3, 7]
    assert data[[]].tolist() == []
    assert reading.Images("dsprites_perturbed", fields="image")[5:5].shape == (0, 64, 64, 1)
    for wrong in ([3], [-1], [0.5], [[0]]):
        with pytest.raises(InvalidInput, match=r"items of tiny_grid: expected integers of shape \(n,\) in \[0, 2\]"):
            data.__getitems__(wrong)


def test_batches_cover_every_row_once(tiny_grid):
    data = reading.Images(tiny_grid, fields="index")
    assert [batch.tolist() for batch in data.batches(5)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11]]
    shuffled = np.concatenate(list(data.batches(5, shuffle_seed=3)))
    assert sorted(shuffled) == list(range(12))
    assert shuffled.tolist() == reading.order(range(12), seed=3).tolist() != list(range(12))


def test_order_is_a_permutation_that_seed_and_epoch_decide():
    rows = range(100, 1100)
    orders = {(seed, epoch): tuple(reading.order(rows, seed=seed, epoch=epoch)) for seed in (0, 1) for epoch in (0, 1)}
    assert len(set(orders.values())) == 4
    for order in orders.values():
        assert sorted(order) == list(rows)
    assert orders[0, 1] == tuple(reading.order(rows, seed=0, epoch=1))
    with pytest.raises(InvalidInput, match=r"rows: expected integers of shape \(n,\), received float64"):
        reading.order(np.array([0.9, 1.9]))


@pytest.mark.parametrize("seed", [None, 5])
def test_processes_share_all_rows(seed):
    shares = [reading.order(range(11), seed=seed, shard=(i, 3)) for i in range(3)]
    assert [len(share) for share in shares] == [4, 4, 3]
    assert sorted(np.concatenate(shares)) == list(range(11))
    assert [len(reading.order(range(11), seed=seed, shard=(i, 3), even=True)) for i in range(3)] == [3, 3, 3]
    for shard in ((3, 3), (-1, 3), 2, (0,), (0, 2.0), (0, "2"), "02"):
        message = rf"shard: expected \(index of this process.*received {re.escape(repr(shard))}"
        with pytest.raises(InvalidInput, match=message):
            reading.order(range(11), shard=shard)


SPLITS = ["train", "test[1:]", "train[:25%]", "train[3:6]", "train[-2:]", "train[10%:-30%]", "test[1:]+train[:1]"]


@pytest.mark.parametrize("split", SPLITS)
def test_splits_are_read_as_tfds_reads_them(split, tiny_family):
    tfds = pytest.importorskip("tensorflow_datasets")
    dataset = tiny_family.configs["plus_1"]
    infos = {
        name: tfds.core.SplitInfo(name=name, shard_lengths=[len(rows)], num_bytes=0, filename_template=None)
        for name, rows in dataset.splits.items()
    }
    absolute = tfds.core.ReadInstruction.from_spec(split).to_absolute(infos)
    expected = [row for part in absolute for row in dataset.splits[part.splitname][part.from_ : part.to]]
    assert list(reading.rows_of(dataset, split)) == expected


def test_a_share_from_the_end_that_is_no_row_is_none(tiny_family):
    """Of 8 rows 2% are none. TFDS rounds the bound to 0, which it reads as the first row: it gives all 8."""
    dataset = tiny_family.configs["plus_1"]
    with pytest.raises(InvalidInput, match=r"at least one row, received 'train\[-2%:\]', which has none"):
        reading.rows_of(dataset, "train[-2%:]")
    assert reading.rows_of(dataset, "train[:-2%]") == dataset.splits["train"]
    assert list(reading.rows_of(dataset, "train[-25%:]")) == list(dataset.splits["train"])[-2:]


@pytest.mark.parametrize(
    ("size", "message"),
    [(0, "at least 1, received 0"), (-1, "at least 1, received -1"), (2.5, r"an integer, at least 1, received 2\.5")],
)
def test_a_batch_without_rows_is_refused_at_once(size, message, tiny_grid):
    with pytest.raises(InvalidInput, match=f"batch_size: expected {message}"):
        reading.Images(tiny_grid).batches(size)
    with pytest.raises(InvalidInput, match=f"length: expected {message}"):
        reading.Pairs(tiny_grid, length=size)


def test_wrong_choices_are_named(tiny_family, tiny_grid):
    dataset = tiny_family.configs["plus_1"]
    for split, kind, message in (
        ("trian", UnknownName, "split of tiny_family/plus_1: .*Did you mean 'train'"),
        ("train[:x]", InvalidInput, r"bounds in rows or percent, .* received 'train\[:x\]'"),
        ("train[:200%]", InvalidInput, r"bounds of at most 100%, received 'train\[:200%\]'"),
        ("train[:0]", InvalidInput, r"at least one row, received 'train\[:0\]'"),
    ):
        with pytest.raises(kind, match=message):
            reading.Images(dataset, split=split)
    with pytest.raises(InvalidInput, match="a split or rows, not both"):
        reading.Images(dataset, split="train", rows=[1])
    with pytest.raises(UnknownName, match=r"field of tiny_family/plus_1: .*extra_rotation.*Did you mean 'label'"):
        reading.Images(dataset, fields=("image", "lable"))
    with pytest.raises(UnknownName, match=r"factor: .*Did you mean 'angle'"):
        reading.Images(tiny_grid, factors=["angel"])
    with pytest.raises(Unavailable, match="offaxis data prepare shapes3d"):
        reading.Images("shapes3d")


def test_what_travels_to_a_worker_is_little_more_than_a_name():
    data = reading.Images("dsprites", split="train[:90%]", fields=("image", "index"))
    sent = pickle.dumps(data)
    assert len(sent) < 1000
    received = pickle.loads(sent)  # noqa: S301  what this test made
    assert np.array_equal(received[[5, 600_000]][0], data[[5, 600_000]][0])


def test_a_pair_is_a_function_of_seed_and_number():
    pairs = reading.Pairs("xysquares", seed=4, fields="index")
    first, second, changed = pairs[:1000]
    backwards = pairs[list(range(999, -1, -1))]
    assert all(np.array_equal(a, b[::-1]) for a, b in zip((first, second, changed), backwards, strict=True))
    others = reading.Pairs("xysquares", seed=5, fields="index")[:1000]
    assert (first != others[0]).mean() > 0.99
    assert len(np.unique(first)) > 990  # of 262,144 rows, 1,000 draws repeat one in 500


def test_a_seed_of_pairs_is_checked_at_once():
    with pytest.raises(InvalidInput, match=r"seed: expected an integer in \[0, 2\*\*64\), received -1"):
        reading.Pairs("xysquares", seed=-1)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_pairs_keep_all_but_k_factors(k):
    _, _, changed = reading.Pairs("xysquares", changed=k)[:20]
    assert (changed.sum(axis=1) == k).all()
    drawn = reading.Pairs("xysquares", changed=k, fields="label")[:6000]
    differ = drawn[0] != drawn[1]
    assert not (differ & ~drawn[2]).any()
    # A new value is the old one in one case of eight.
    assert abs(differ.sum() / drawn[2].sum() - 7 / 8) < 0.02
    assert np.abs(drawn[2].mean(axis=0) - k / 6).max() < 0.03
    distinct = reading.Pairs("xysquares", changed=k, distinct=True, fields="label")[:500]
    assert np.array_equal(distinct[0] != distinct[1], distinct[2])


def test_pairs_of_any_k_draw_each_k_as_often():
    changed = reading.Pairs("xysquares", fields="index")[:10_000][2].sum(axis=1)
    counts = np.bincount(changed, minlength=7)
    assert counts[0] == counts[6] == 0
    assert np.abs(counts[1:6] / 10_000 - 1 / 5).max() < 0.02  # five times the standard error


def test_pairs_of_named_factors():
    pairs = reading.Pairs("room3d", changed=["shape", "scale"], distinct=True, fields="label", length=50)
    assert len(pairs) == 50
    first, second, changed = pairs[:]
    names = np.array(benchmark_data.load("room3d").space.names)
    assert set(names[(first != second).all(axis=0)]) == {"shape", "scale"}
    assert np.array_equal(changed, first != second)
    chosen = reading.Pairs("room3d", changed=["shape"], factors=["scale", "shape"])[0]
    assert chosen[2].tolist() == [False, True]


def test_both_images_are_of_the_chosen_rows():
    """The first 64 rows of XYSquares are a grid of two factors."""
    first, second, changed = reading.Pairs("xysquares", split="train[:64]", fields="index", length=1000)[:]
    assert set(first) == set(second) == set(range(64))
    assert changed.sum(axis=0).tolist()[:4] == [0] * 4
    mixed = reading.Pairs("xysquares", rows=draws.permutation(0, 8**6), fields="index", length=200)
    assert len(np.unique(mixed[:][1])) > 150


def test_pairs_that_cannot_be(tiny_family, tiny_grid):
    with pytest.raises(InvalidInput, match="pairs of tiny_family/plus_1: expected a full grid"):
        reading.Pairs(tiny_family.configs["plus_1"])
    for changed in (0, 3):
        with pytest.raises(
            InvalidInput, match=f"changed: expected 1 to 2, the number of factors that vary, received {changed}"
        ):
            reading.Pairs(tiny_grid, changed=changed)
    with pytest.raises(InvalidInput, match="changed: expected factors that vary, each once, received a factor twice"):
        reading.Pairs("xysquares", changed=["x_R", "x_R"])
    squares = range(737280 // 3)
    with pytest.raises(InvalidInput, match="received a factor twice, or one with a single value here"):
        reading.Pairs("dsprites", rows=squares, changed=["shape", "posX"])
    with pytest.raises(InvalidInput, match="changed: expected factors that vary, each once, received none"):
        reading.Pairs(tiny_grid, changed=[])
    for count in (1, 2):  # one image is the whole grid of no factors
        with pytest.raises(InvalidInput, match=r"pairs of mine: expected a full grid .* FactorTable\(, rows=1"):
            reading.Pairs(from_images("mine", np.zeros((count, 4, 4, 1), np.uint8)), rows=[0])


def test_partners_are_not_drawn_from_what_is_held_out():
    """Of a divided dataset all rows make a grid again, and those of SmallNORB, which has two parts by itself."""
    with pytest.raises(InvalidInput, match=r"pairs of xysquares/spacing_1\.composition: expected a f"):
        reading.Pairs("xysquares/spacing_1.composition", split="train")
    grid = FactorSpace(Factor("a", (0, 1)), Factor("b", (0, 1, 2)))
    whole = from_images("mine", np.zeros((6, 4, 4, 1), np.uint8), dict(zip("ab", grid.labels(range(6)).T, strict=True)))
    assert len(reading.Pairs(whole)) == 6
    for rows, received in ((range(5), "FactorTable"), ([0, 2, 4], "rows that are not consecutive")):
        with pytest.raises(InvalidInput, match=f"pairs of mine: expected a full grid .* part .* received {received}"):
            reading.Pairs(whole, rows=rows)
    received = "rows that are not consecutive"
    for rule in ("holdout", "correlated.posx-posy-0.1"):  # the latter draws rows with replacement
        with pytest.raises(
            InvalidInput, match=f"pairs of dsprites: expected a full grid .* part .* received {received}"
        ):
            reading.Pairs("dsprites", rows=benchmark_data.split("dsprites", rule).train)
    with pytest.raises(
        InvalidInput, match=r"pairs of xysquares/spacing_8: expected a full grid .* received FactorTable"
    ):
        reading.Pairs("xysquares", split="train[:10]")


def test_partners_are_drawn_within_a_part_that_is_a_grid():
    """As objectives on pairs are trained on it."""
    dataset = benchmark_data.load("xysquares/spacing_1.extrapolation")
    part = dataset.splits["train"]
    first, second, changed = reading.Pairs(dataset, split="train", fields="index", length=500)[:]
    assert len(part) < len(dataset)
    assert {*first, *second} <= {*part}
    assert len({*second}) > 300
    differ = dataset.space.labels(first) != dataset.space.labels(second)
    assert not differ[~changed].any()
    alone = reading.Pairs(dataset, split="train", changed=1, distinct=True, fields="label", length=200)
    first, second, changed = alone[:]
    np.testing.assert_array_equal(first != second, changed)


def test_one_factor_is_a_list_of_one(tiny_grid):
    with pytest.raises(InvalidInput, match=r"factors of tiny_grid: expected a list of names, .* received 'kind'"):
        reading.Images(tiny_grid, factors="kind")


def test_bounds_in_rows_lie_within_the_split(tiny_family):
    """As TFDS and ``datasets`` ask, which raise a ValueError of their own."""
    dataset = tiny_family.configs["plus_1"]
    assert reading.rows_of(dataset, "train[-8:8]") == range(8)
    for split in ("train[:9]", "train[-9:]", "test[1:]+train[9:]"):
        with pytest.raises(InvalidInput, match=r"split of tiny_family/plus_1: expected bounds of at most 8 rows, rec"):
            reading.rows_of(dataset, split)


def test_a_name_with_a_point_is_read(tiny_family):
    dataset = tiny_family.configs["plus_1"]
    dataset = dataclasses.replace(dataset, splits={"train.small": range(3), "rest": range(3, 8)})
    assert reading.rows_of(dataset, "train.small[1:]+rest[:1]").tolist() == [1, 2, 3]
    named = dataclasses.replace(dataset, splits={"in-distribution": range(4), "the rest": range(4, 12)})
    assert reading.rows_of(named, "in-distribution[:25%] + the rest[:2]").tolist() == [0, 4, 5]


def test_a_split_is_a_text(tiny_grid):
    with pytest.raises(InvalidInput, match=r"split of tiny_grid: expected a string, such as 'train', .* \['train'\]"):
        reading.Images(tiny_grid, split=["train"])


def test_a_negative_epoch_is_named(tiny_grid):
    with pytest.raises(InvalidInput, match="epoch: expected at least 0, received -1"):
        reading.Images(tiny_grid).batches(4, shuffle_seed=0, epoch=-1)


def test_what_changes_is_a_number_or_a_list_of_names(tiny_grid):
    assert np.array_equal(
        reading.Pairs(tiny_grid, changed=np.int64(1), fields="index")[:][1],
        reading.Pairs(tiny_grid, changed=1, fields="index")[:][1],
    )
    for changed in ("shape", 1.0):
        with pytest.raises(InvalidInput, match=f"changed: expected a number of factors, or a .* received {changed!r}"):
            reading.Pairs(tiny_grid, changed=changed)


@pytest.mark.parametrize("reader", ["reading", "torch", "tfds", "hf"])
def test_readers_look_at_what_a_source_of_ones_own_gives(reader, tiny_grid):
    """Each of them asks the source itself, since it has looked up the class ids."""
    pytest.importorskip(
        {"tfds": "tensorflow_datasets", "hf": "datasets"}.get(reader, reader.replace("reading", "numpy"))
    )
    module = importlib.import_module(f"benchmark_data.{reader}")

    def later(labels):  # right where one row is looked at, to see whether the dataset is ready
        images = tiny_grid.source.render(labels)
        return images if len(images) == 1 else images / 255

    mine = dataclasses.replace(tiny_grid, source=Rendered(later))
    read = {
        "reading": lambda: module.Images(mine)[:4],
        "torch": lambda: module.Images(mine)[:4],
        "tfds": lambda: list(module.as_dataset(mine, batch_size=4)),
        "hf": lambda: module.as_dataset(mine)[:4],
    }[reader]
    expected = r"images of tiny_grid: expected uint8 of shape \(4, 5, 7, 1\) from its source, .* received float64"
    with pytest.raises(Exception, match=expected):  # TensorFlow makes an error of its own of it
        read()


@pytest.mark.parametrize(("name", "divided"), [("dsprites", "/holdout"), ("xysquares/spacing_4", ".holdout")])
def test_a_test_split_is_named_where_it_is(name, divided):
    dataset = benchmark_data.load(name)
    message = re.escape(f"split of {name}: expected one of train, received 'test'. {name}{divided} has the splits")
    for ask in (lambda: dataset.splits["test"], lambda: reading.Images(dataset, split="test[:10%]")):
        with pytest.raises(UnknownName, match=message):
            ask()
    assert set(benchmark_data.load(f"{name}{divided}").splits) == {"train", "test"}
    assert pickle.loads(pickle.dumps(dataset.splits)) == dataset.splits  # noqa: S301
