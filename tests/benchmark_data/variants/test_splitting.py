"""A divided dataset is a dataset: names, rows, pixels, pickling, builders, and what is said of a wrong name."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
import re

import numpy as np
import pytest

import benchmark_data
from baselines import program
from benchmark_data import parallel
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.sources import OfBase
from benchmark_data.variants import splitting

NAME = "xyobject/plain.recombination.to_range"


@pytest.fixture
def divided():
    return benchmark_data.load(NAME)


def test_one_line_gives_nine_tenths_and_one_tenth():
    found = benchmark_data.split("dsprites")
    assert (found.name, len(found.train), len(found.test)) == ("holdout", 663_552, 73_728)
    assert sorted(np.concatenate([found.train, found.test])) == list(range(737_280))


def test_digests_are_those_of_the_lists_as_little_endian_int64():
    found = benchmark_data.split("xyobject", "composition")
    expected = hashlib.sha256(np.asarray(found.train, "<i8").tobytes()).hexdigest()
    assert found.digests == {"train": expected, "test": hashlib.sha256(found.test.astype("<i8").tobytes()).hexdigest()}


def test_a_divided_dataset_has_the_pixels_and_labels_of_its_base(divided):
    found = benchmark_data.split("xyobject", "recombination.to_range")
    assert divided is benchmark_data.load(NAME)
    assert (divided.id, found.dataset.id) == (NAME, NAME)
    assert divided.splits == {"train": range(73_500), "test": range(73_500, 75_000)}
    rows = [0, 73_499, 73_500, 74_999, 3]
    of_base = np.concatenate([found.train, found.test])[rows]
    assert divided.extra("row", rows).tolist() == of_base.tolist()
    np.testing.assert_array_equal(divided.images(rows), found.base.images(of_base))
    np.testing.assert_array_equal(divided.labels(rows), found.base.labels(of_base))
    assert divided.space.names == found.base.space.names
    assert divided.prepared
    assert divided.digest() != found.base.digest()
    assert "Divided by the rule recombination.to_range: some combinations of values are left out" in divided.description


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smallnorb/stereo.holdout", ["The rule mixes the splits that smallnorb/stereo has itself: train, test."]),
        ("celeba/native.random", ["The rule mixes the splits that celeba/native has itself: train, validation, test."]),
        ("xyobject/holdout", []),
    ],
)
def test_a_rule_that_mixes_the_official_splits_says_so(name, said):
    divided = benchmark_data.load(name)
    assert list(divided.defects[len(divided.source.base.defects) :]) == said


def test_names_of_divided_datasets():
    assert benchmark_data.load("xysquares/composition").id == "xysquares/spacing_8.composition"
    assert benchmark_data.load("dsprites/random.seed_2").id == "dsprites/random.seed_2"
    assert benchmark_data.load("dsprites/correlated.posX-posY-0.1").id == "dsprites/correlated.posx-posy-0.1"
    assert benchmark_data.split("dsprites", "random.seed_2").digests == (
        benchmark_data.split("dsprites", "random", seed=2).digests
    )


def test_a_worker_gets_the_name_alone_and_a_pickle_holds_no_rows(divided):
    assert parallel.handle(divided) == NAME
    again = pickle.loads(pickle.dumps(divided))  # noqa: S301  our own bytes
    assert len(pickle.dumps(divided)) < 20_000
    np.testing.assert_array_equal(again.labels([0, 74_999]), divided.labels([0, 74_999]))
    np.testing.assert_array_equal(again.images([5]), divided.images([5]))


def test_ones_own_images_are_divided_too():
    mine = benchmark_data.from_images("mine", np.arange(30, dtype=np.uint8).reshape(30, 1, 1, 1))
    found = benchmark_data.split(mine, "random")
    assert (len(found.train), len(found.test)) == (9, 21)
    images = found.dataset.images(range(30)).ravel()
    assert images.tolist() == np.concatenate([found.train, found.test]).tolist()
    assert splitting.resolve(mine, "mine") is mine
    assert splitting.resolve(mine, "mine/random").id == "mine/random"
    assert isinstance(parallel.handle(found.dataset), benchmark_data.Dataset)
    with pytest.raises(InvalidInput, match="dataset: expected 'yours', as in the config, received 'mine'"):
        splitting.resolve(mine, "yours")
    with pytest.raises(InvalidInput, match=r"expected 'mine2/random', as in the config, received 'mine'"):
        splitting.resolve(mine, "mine2/random")
    with pytest.raises(InvalidInput, match=r"expected 'xysquares/spacing_2\.random', .* 'xysquares/spacing_1'"):
        splitting.resolve(benchmark_data.load("xysquares/spacing_1"), "xysquares/spacing_2.random")


@pytest.mark.parametrize(
    ("dataset", "split", "message"),
    [
        ("dsprites", "compositon", r"split rule: expected one of .* Did you mean 'composition'\?"),
        ("dsprites", 3, r"split rule: expected a string, such as .holdout., received 3\."),
        ("dsprites", "composition.a", r"split rule 'composition': expected no variant, received 'a'\. Write just"),
        ("dsprites", "recombination", r"variant of split rule 'recombination': expected one of extrapolation, to_el"),
        ("celeba", "extrapolation", r"expected a dataset that is a full grid .* Rules for any dataset: holdout and"),
        ("dsprites", "random.seed_9223372036854775808", r"seed of split .* expected an integer in \[0, 2\*\*63\)"),
    ],
)
def test_a_wrong_split(dataset, split, message):
    with pytest.raises((InvalidInput, UnknownName), match=message):
        benchmark_data.split(dataset, split)


def test_a_seed_is_a_whole_number():
    """It becomes part of the name: 1.5 would draw what 1 does, and call it something else."""
    table = benchmark_data.load("solids")
    assert benchmark_data.split(table, "random", seed=np.int64(2)).name == "random.seed_2"
    assert benchmark_data.split(table, "random.seed_3", seed=0).name == "random"
    with pytest.raises(InvalidInput, match=r"seed of split 'random': expected an integer in .*, received 1\.5"):
        benchmark_data.split(table, "random", seed=1.5)


def test_a_dataset_without_configs_lists_the_rules():
    with pytest.raises(UnknownName, match=r"config of dsprites: expected one of composition, .* Did you mean 'random'"):
        benchmark_data.load("dsprites/randm")


def test_a_divided_dataset_is_not_divided_again(divided, monkeypatch, capsys):
    """Its name could not be read: a dataset's name tells of one rule."""
    message = rf"splits of {re.escape(NAME)}: expected an undivided dataset, .* Divide xyobject/plain instead"
    with pytest.raises(InvalidInput, match=message):
        benchmark_data.split(divided, "random")
    assert benchmark_data.split_names(divided) == ()
    monkeypatch.setattr("sys.argv", ["offaxis", "data", "info", NAME, "--splits"])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "expected an undivided dataset" in " ".join(capsys.readouterr().err.split())


def test_a_name_of_ones_own_that_looks_like_a_split_travels_whole(divided):
    """`load` refuses this one as a variant that the rule has not, which is no unknown name."""
    mine = dataclasses.replace(divided, config="plain.composition.mine")
    assert parallel.handle(mine) is mine


def test_splits_of_a_table_are_those_that_need_no_grid():
    assert benchmark_data.split_names("smallnorb/left") == ("holdout", "random")


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("", ("dsprites", "")),
        ("train", ("dsprites", "train")),
        ("composition", ("dsprites/composition", "train")),
        ("recombination.to_range:test", ("dsprites/recombination.to_range", "test")),
    ],
)
def test_a_rule_and_a_part_of_it(text, settled):
    assert splitting.parse_split("dsprites", text) == settled


def test_a_variant_behind_a_colon_is_told_where_it_belongs():
    with pytest.raises(InvalidInput, match=r"received 'posX,posY'. A rule's variant follows a full stop, such as"):
        splitting.parse_split("dsprites", "correlated:posX,posY")


def test_records_of_tfds(divided):
    pytest.importorskip("tensorflow_datasets")
    from benchmark_data import tfds as provider

    record = next(iter(provider.as_dataset(NAME, split="test[7:8]")))
    assert record["index"] == 73_507
    assert record["extra_row"] == benchmark_data.split("xyobject", "recombination.to_range").test[7]
    np.testing.assert_array_equal(record["image"], divided.images([73_507])[0])
    np.testing.assert_array_equal(record["factors"], divided.labels([73_507])[0])


def test_records_of_hugging_face(divided):
    pytest.importorskip("datasets")
    from benchmark_data import hf

    record = hf.as_dataset(NAME, split="test")[0]
    assert record["index"] == 73_500
    assert record["extra_row"] == benchmark_data.split("xyobject", "recombination.to_range").test[0]
    np.testing.assert_array_equal(np.asarray(record["image"]), divided.images([73_500])[0])


def test_a_process_without_rows_has_no_extras_either():
    pair = benchmark_data.load("solids_dsprites")
    same_rows = dataclasses.replace(pair, source=OfBase(pair))
    assert same_rows.source.extra("row", np.arange(2)).tolist() == pair.extra("row", [0, 1]).tolist()
    assert same_rows.source.extra("row", np.empty(0, np.int64)).shape == (0,)
