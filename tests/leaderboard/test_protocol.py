"""The published row lists do not move, and anyone can make them again."""

import hashlib

import numpy as np
import pytest

import benchmark_data
from benchmark_data import draws
from benchmark_data.dataset import Dataset
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import Factor, FactorSpace
from benchmark_data.sources import Rendered
from leaderboard import protocol

# Published with v1. A change here is a new protocol version, not an edit.
PUBLISHED = {
    "xysquares/spacing_1@v1": "d2ccaa8c56e4729de37a7077150853eb43825f5115ac1be50d56f105a052f6ea",
    "xysquares/spacing_4@v1": "19910c1062b9a1c70920bfb080730a33b074175e3c0669aaccb976030006f9d9",
    "xysquares/spacing_8@v1": "90ae66687aaa13180ecccd327df11278e7d2533e15a08a9f14da1c1275cad4aa",
}


def toy(*sizes: int) -> Dataset:
    return Dataset(
        name="toy",
        version="1.0.0",
        space=FactorSpace(*(Factor(f"f{i}", range(size)) for i, size in enumerate(sizes))),
        source=Rendered(lambda labels: np.zeros((len(labels), 4, 4, 1), np.uint8)),
        image_shape=(4, 4, 1),
        description="Black.",
        citation="none",
        license="MIT",
        homepage="none",
    )


@pytest.fixture
def load_toy(monkeypatch):
    def use(*sizes):
        monkeypatch.setattr(benchmark_data, "load", lambda name: toy(*sizes))
        protocol.task.cache_clear()
        return protocol.task("toy")

    yield use
    protocol.task.cache_clear()


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_rows_stay_what_they_are(name):
    assert protocol.task(name).digest == PUBLISHED[name]


def test_rows_can_be_made_again_from_the_description_alone():
    """The recipe of the module's docstring, in plain Python integers."""
    seed = int.from_bytes(hashlib.sha256(b"offaxis:xysquares/spacing_4@v1").digest()[:8], "big")
    top = 2**64

    def mix(x):
        x = (x + 0x9E3779B97F4A7C15) % top
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % top
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % top
        return x ^ (x >> 31)

    start = mix(seed)
    keys = [mix(mix((start + i) % top)) for i in range(262_144)]
    rows = sorted(range(262_144), key=keys.__getitem__)[:15_000]
    assert protocol.task("xysquares/spacing_4").indices.tolist() == rows


def test_train_and_test_share_no_row_and_tasks_differ():
    task = protocol.task("xysquares/spacing_4")
    assert (len(task.train), len(task.test)) == (10_000, 5_000)
    assert len(np.unique(task.indices)) == 15_000
    assert not np.array_equal(task.indices, protocol.task("xysquares/spacing_8").indices)


@pytest.mark.parametrize(("sizes", "train", "test"), [((3, 5), 10, 5), ((7,), 4, 3), ((20, 30, 30), 10_000, 5_000)])
def test_a_small_dataset_is_used_whole_two_to_one(load_toy, sizes, train, test):
    task = load_toy(*sizes)
    assert (len(task.train), len(task.test)) == (train, test)
    if train < 10_000:
        assert sorted(task.indices) == list(range(train + test))


def test_a_factor_with_one_value_is_left_out(load_toy):
    task = load_toy(1, 3, 1, 5)
    assert (task.scored, task.left_out) == (("f1", "f3"), ("f0", "f2"))
    assert task.labels().shape == (15, 2)
    assert task.labels().max(axis=0).tolist() == [2, 4]


def test_too_small_a_dataset(load_toy):
    with pytest.raises(InvalidInput, match="task on toy: expected at least 3 rows, received 2 rows"):
        load_toy(2)


def test_names():
    assert protocol.task("xysquares/spacing_4@v1") is protocol.task("xysquares/spacing_4@v1")
    assert protocol.task("xysquares").id == "xysquares/spacing_8@v1"
    assert protocol.task_of("xysquares@v1") is protocol.task_of(protocol.task("xysquares@v1"))
    with pytest.raises(UnknownName, match="protocol version of xysquares/spacing_4: expected one of v1, received 'v2'"):
        protocol.task("xysquares/spacing_4@v2")
    with pytest.raises(UnknownName, match="Did you mean 'xysquares'"):
        protocol.task("xysquare")
    with pytest.raises(
        UnknownName,
        match=r"tier: expected one of desk, held_out, smoke, study, received 'smokey'\. Did you mean 'smoke'",
    ):
        protocol.tier("smokey")


def test_every_configuration_of_every_dataset_is_a_task():
    assert {t.dataset for t in protocol.tasks()} >= {"xysquares/spacing_1", "xysquares/spacing_8"}


def test_the_lists_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        protocol.task("xysquares/spacing_4").train[0] = 1


def test_a_binary_factor_is_scored():
    task = protocol.task("celeba")
    assert task.scored == task.load().space.names


def test_a_transfer_pair_is_no_task_and_is_not_scored():
    """Its factors do not apply to half of its rows, so that MIG or DCI over them would be of the side, not of them."""
    assert not any("solids_dsprites" in t.dataset for t in protocol.tasks())
    assert {"solids", "dsprites"} <= {t.dataset for t in protocol.tasks()}
    pair = protocol.task("solids_dsprites/to_dsprites")  # a model that was trained on it still has rows to encode
    assert len(pair.indices) == protocol.TRAIN + protocol.TEST
    with pytest.raises(
        InvalidInput, match=r"received a transfer pair\. Encode solids or dsprites, and score its codes"
    ):
        pair.labels()


DIVIDED = ("dsprites/composition", "xysquares/spacing_1.random")


@pytest.mark.parametrize("name", DIVIDED)
def test_a_task_on_held_out_rows_learns_from_one_part_and_tests_on_the_other(name):
    task, dataset = protocol.task(name), benchmark_data.load(name)
    assert (len(task.train), len(task.test)) == (10_000, 5_000)
    assert np.isin(task.train, dataset.splits["train"]).all()
    assert np.isin(task.test, dataset.splits["test"]).all()
    assert len(np.unique(task.indices)) == 15_000
    drawn = draws.permutation(protocol.seed(f"{task.id}:test"), len(dataset.splits["test"]))[:5_000]
    assert task.test.tolist() == (dataset.splits["test"].start + drawn).tolist()
    assert task.id in {each.id for each in protocol.tasks()}


def test_a_task_takes_three_rows(toys):
    for count in (2, 3):
        toys[f"toy/{count}"] = benchmark_data.from_images(f"rows_{count}", np.zeros((count, 4, 4, 1), np.uint8))
    assert [name for name in protocol.datasets() if name.startswith("rows")] == ["rows_3"]


def test_a_part_with_fewer_rows_is_used_whole():
    task = protocol.task("room3d/recombination.to_element")
    assert (len(task.train), len(task.test)) == (10_000, 72)


def test_the_published_tasks_on_held_out_rows_stay_what_they_are():
    # Published with the rules. A change here is a new protocol version, not an edit.
    digests = {name: protocol.task(name).digest[:16] for name in DIVIDED}
    assert digests == {"dsprites/composition": "093fe1ac7ef5fc2e", "xysquares/spacing_1.random": "89da5ef8e2a8441a"}
