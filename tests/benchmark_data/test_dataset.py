"""What a dataset says of itself, what a family refuses, and what a digest means. The contract suite does the rest."""

from __future__ import annotations

import copy
import dataclasses
import hashlib

import numpy as np
import pytest

import benchmark_data
from benchmark_data import (
    Dataset,
    Derived,
    Digest,
    Factor,
    FactorSpace,
    FactorTable,
    Family,
    InvalidInput,
    Rendered,
    UnknownName,
    reading,
)
from benchmark_data.dataset import CHUNK
from benchmark_data.sources import Selected


def toy(rows=10, **changes):
    """Images of one grey level each: their own row, modulo 256."""
    space = FactorSpace(Factor("row", range(rows)))
    fields = {
        "name": "toy",
        "version": "1.0.0",
        "space": space,
        "source": Rendered(lambda labels: np.tile(labels.astype(np.uint8)[:, :, None, None], (1, 2, 2, 1))),
        "image_shape": (2, 2, 1),
        "description": "A toy.",
        "citation": "@misc{toy, year = {2000}}",
        "license": "MIT",
        "homepage": "https://example.org",
    }
    return Dataset(**fields | changes)


def test_id_length_and_repr():
    assert (toy().id, toy(config="small").id, len(toy())) == ("toy", "toy/small", 10)
    assert repr(toy()) == "<Dataset toy 1.0.0: 10 images (2, 2, 1), FactorSpace(row=10)>"


def test_one_split_of_everything_unless_told():
    assert toy().splits == {"train": range(10)}
    assert toy(splits={"a": range(3), "b": range(3, 10)}).splits["b"] == range(3, 10)


@pytest.mark.parametrize("name", ["test", "validation"])
def test_a_split_to_test_on_is_made_by_a_rule(name):
    with pytest.raises(UnknownName, match=r"xysquares/spacing_8\.holdout has the splits train and test; for your own"):
        benchmark_data.load("xysquares").splits[name]


def test_a_dataset_does_not_change():
    """Every caller of `load` has the same dataset."""
    dataset = benchmark_data.load("xysquares")
    with pytest.raises(InvalidInput, match=r"expected no change of {'train': range\(0, 262144\)}; dataclasses.replace"):
        dataset.splits["test"] = range(10)
    for change in (dataset.splits.clear, dataset.parameters.popitem, lambda: dataset.effects.update(x_R="")):
        with pytest.raises(InvalidInput, match=r"expected no change of {'\w+': .*}"):
            change()
    mine = dataclasses.replace(dataset, name="mine", config="", splits={"test": range(10)})
    assert (len(mine.splits["test"]), list(dataset.splits)) == (10, ["train"])


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", ""])
def test_a_version_is_three_numbers(version):
    with pytest.raises(InvalidInput, match=r"version of toy: expected three numbers such as 1.0.0, received"):
        toy(version=version)


def test_rendered_data_is_always_there():
    dataset = toy()
    assert dataset.prepared
    dataset.prepare()
    assert dataset.extras == {}
    with pytest.raises(UnknownName, match="extra array of toy: expected one of"):
        dataset.extra("rotation", [0])


def test_derived_images_see_pixels_rows_and_labels():
    base = toy()

    def change(images, indices, labels):
        assert images.shape == (2, 2, 2, 1)
        return (images + indices[:, None, None, None] + labels[:, :, None, None]).astype(np.uint8)

    derived = dataclasses.replace(base, name="derived", source=Derived(base, change))
    assert derived.images([4, 1])[:, 0, 0, 0].tolist() == [12, 3]
    assert derived.prepared


def test_a_table_of_labels():
    table = FactorTable(Factor("kind", (0, 1), "binary"), rows=3, read=lambda: np.array([[0], [1], [1]]))
    dataset = toy(space=table)
    assert len(dataset) == 3
    assert dataset.images([2, 0])[:, 0, 0, 0].tolist() == [1, 0]
    assert dataset.values([1]).tolist() == [[1.0]]


def test_batches_go_through_everything_in_order():
    chosen = np.arange(3)
    for batch, _ in toy().batches(chosen):
        batch[:] = 0
    assert chosen.tolist() == [0, 1, 2]
    rows, images = zip(*toy().batches(batch_size=4), strict=True)
    assert [len(batch) for batch in rows] == [4, 4, 2]
    assert np.concatenate(rows).tolist() == list(range(10))
    assert np.concatenate(images)[:, 0, 0, 0].tolist() == list(range(10))


def by_hand(dataset, blocks):
    pixels = [hashlib.sha256(dataset.images(block).tobytes()).hexdigest() for block in blocks]
    factors = [hashlib.sha256(dataset.labels(block).astype("<i8").tobytes()).hexdigest() for block in blocks]
    return Digest(*(hashlib.sha256("".join(hashes).encode()).hexdigest() for hashes in (pixels, factors)))


def test_a_digest_is_the_hash_of_the_blocks_hashes():
    dataset = toy(rows=CHUNK + 100)
    assert dataset.digest(full=True) == by_hand(dataset, [range(CHUNK), range(CHUNK, CHUNK + 100)])
    assert dataset.digest() == by_hand(dataset, [dataset.quick_rows()])
    assert dataset.digest() != dataset.digest(full=True)


def test_blocks_may_be_hashed_elsewhere():
    dataset = toy(rows=2 * CHUNK)
    blocks = [dataset.block_digest(range(start, start + CHUNK)) for start in (0, CHUNK)]
    assert Digest.of(blocks) == dataset.digest(full=True)


def test_a_digest_sees_one_pixel_and_one_label():
    dataset = toy()
    changed = dataclasses.replace(
        dataset,
        source=Derived(
            dataset, lambda images, rows, labels: images + (rows == 7)[:, None, None, None].astype(np.uint8)
        ),
    )
    assert changed.digest().pixels != dataset.digest().pixels
    assert changed.digest().factors == dataset.digest().factors
    swapped = dataclasses.replace(
        dataset,
        space=FactorTable(
            Factor("row", range(10)), rows=10, read=lambda: np.array([[0], [1], [2], [3], [4], [5], [6], [8], [7], [9]])
        ),
        source=Derived(dataset, lambda images, rows, labels: images),
    )
    assert swapped.digest().factors != dataset.digest().factors
    assert swapped.digest().pixels == dataset.digest().pixels


def family():
    configs = [
        toy(config=f"{size}_{colour}", parameters={"size": size, "colour": colour})
        for size in (1, 2)
        for colour in ("red", "blue")
    ]
    return Family(*configs, default="2_blue")


def test_a_family_fills_up_with_the_defaults():
    assert family().find({}).config == "2_blue"
    assert family().find({"size": 1}).config == "1_blue"
    assert family().find({"size": 1, "colour": "red"}).config == "1_red"


def test_a_family_names_what_it_does_not_have():
    with pytest.raises(
        UnknownName, match=r"parameter of toy: expected one of colour, size, received 'color'.* 'colour'\?"
    ):
        family().find({"color": "red"})
    with pytest.raises(
        UnknownName,
        match=r"""parameters of toy: expected one of .*size=1, colour='red'.* received "size=3, colour='blue'\"""",
    ):
        family().find({"size": 3})


@pytest.mark.parametrize(
    ("configs", "default"),
    [
        ([toy(config="a"), toy(config="a")], "a"),
        ([toy(config="a")], "b"),
        ([toy(config="a"), toy(config="b", name="other")], "a"),
        ([], "a"),
    ],
    ids=["twice", "no default", "two names", "empty"],
)
def test_a_family_that_makes_no_sense(configs, default):
    with pytest.raises(InvalidInput, match="family of datasets: expected one name, different configs, and a default"):
        Family(*configs, default=default)


def test_datasets_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        benchmark_data.load("dsprites").version = "2.0.0"


def test_an_index_says_what_to_use_instead():
    """What PyTorch's DataLoader(dataset) comes to."""
    for use in (lambda: toy()[0], lambda: list(toy())):
        with pytest.raises(InvalidInput, match=r"toy\[0\]: expected a call of a method, such as images\(.*recipes\.md"):
            use()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (slice(0, 5), r"received slice\(0, 5, None\)\. Pass range\(start, stop, step\)\."),
        (np.arange(10) < 3, r"received a mask of shape \(10,\)\. Pass numpy\.flatnonzero\(mask\)\."),
        (3, r"received int64 of shape \(\)\. For one image, pass a list of one row\."),
        ([[1, 2]], r"received int64 of shape \(1, 2\)\. Pass rows\.ravel\(\)\."),
        ([[1], [2, 3]], r"received setting an array element with a sequence"),
        ([0.5], r"received float64 of shape \(1,\)\. Round and cast them to int64\."),
        (iter([0]), r"received object of shape \(\)\. Pass a list, a range or an array of integers\."),
    ],
)
def test_a_selection_that_is_no_list_of_rows_says_how_to_write_it(rows, message):
    for ask in (toy().images, toy().labels, toy().values, toy().scaled):
        with pytest.raises(InvalidInput, match="rows of toy: expected integers of shape .*" + message):
            ask(rows)


def test_chosen_factors_and_scaled_ones():
    space = FactorSpace(Factor("a", (1, 2, 4)), Factor("one", (9,)), Factor("b", range(5)))
    dataset = toy(space=space)
    assert dataset.labels([7, 14], ["b", "a"]).tolist() == [[2, 1], [4, 2]]
    assert dataset.values([7, 14], ["a"]).tolist() == [[2.0], [4.0]]
    assert dataset.scaled([7, 14]).tolist() == [[0.5, 0.0, 0.5], [1.0, 0.0, 1.0]]
    assert dataset.scaled([7], ["b"]).tolist() == [[0.5]]
    with pytest.raises(UnknownName, match=r"factor: expected one of a, b, one, received 'A'\. Did you mean 'a'\?"):
        dataset.labels([0], ["A"])
    with pytest.raises(InvalidInput, match=r"factors of toy: expected a list of names, such as .*, received 'a'"):
        dataset.labels([0], "a")


def test_a_text_for_a_number_is_told_from_it():
    with pytest.raises(
        UnknownName, match=r"received \"size='1', colour='blue'\"\. Did you mean \"size=1, colour='blue"
    ):
        family().find({"size": "1"})


@pytest.mark.parametrize("ask", [benchmark_data.load, benchmark_data.split, benchmark_data.split_names, reading.Images])
def test_a_dataset_is_asked_for_by_name(ask):
    with pytest.raises(InvalidInput, match="name of a dataset: expected a string, such as 'dsprites', received 3"):
        ask(3)


def test_a_dataset_is_loaded_already():
    dataset = toy()
    assert benchmark_data.load(dataset) is dataset
    with pytest.raises(InvalidInput, match="name of a dataset: expected a string"):
        benchmark_data.load(dataset, spacing=4)


@pytest.mark.parametrize(
    ("spoil", "received"),
    [
        (lambda images: images / 255, r"float64 of shape \(3, 2, 2, 1\)"),
        (lambda images: images[..., 0], r"uint8 of shape \(3, 2, 2\)"),
        (lambda images: images[:1], r"uint8 of shape \(1, 2, 2, 1\)"),
        (lambda images: images.tolist(), "list"),
    ],
)
def test_what_a_source_of_ones_own_gives_is_checked(spoil, received):
    """By `images`, and by readers, which know class ids already and ask the dataset without them being looked up."""
    good = toy()
    rendered = dataclasses.replace(good, source=Rendered(lambda labels: spoil(good.source.render(labels))))
    derived = dataclasses.replace(good, source=Derived(good, lambda images, rows, labels: spoil(images)))
    message = (
        rf"images of toy: expected uint8 of shape \(3, 2, 2, 1\) from its source, for 3 rows, received {received}\."
    )
    for wrong in (rendered, derived):
        with pytest.raises(InvalidInput, match=message):
            wrong.images([0, 1, 2])
        with pytest.raises(InvalidInput, match=message):
            wrong.images_from_labels(np.arange(3), wrong.labels(range(3)))


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_without_rows_is_refused_at_once(size):
    with pytest.raises(InvalidInput, match=f"batch_size: expected at least 1, received {size}"):
        toy().batches(range(10), batch_size=size)


def test_a_folder_of_ones_own_files_may_be_a_text(tmp_path):
    class Archive(Rendered):
        ready = False

        def prepare(self, *, manual_dir=None, keep_downloads=True):
            asked.append((manual_dir, keep_downloads))

    asked: list = []
    dataset = toy(source=Archive(toy().source.render))
    dataset.prepare(manual_dir=str(tmp_path), keep_downloads=False)
    dataset.prepare()
    assert asked == [(tmp_path, False), (None, True)]
    with pytest.raises(TypeError, match="manualdir"):
        toy().prepare(manualdir="x")  # though it needs no preparing


@pytest.mark.parametrize(("name", "said"), [("xysquares/composition", "split"), ("xysquares/spacing_3", "config")])
def test_parameters_stand_beside_neither_config_nor_split(name, said):
    with pytest.raises(InvalidInput, match=f"expected a {said} or parameters, not both, received spacing=4"):
        benchmark_data.load(name, spacing=4)


def test_a_path_in_place_of_a_name_is_named_whole():
    with pytest.raises(UnknownName, match=r"dataset: .* received '/abs/folder'. To read a folder: .*from_folder"):
        benchmark_data.load("/abs/folder")


def test_a_folder_in_place_of_a_name_is_told_how_to_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "pics").mkdir(parents=True)
    (tmp_path / "dsprites").mkdir()  # a name stays one
    assert benchmark_data.load("dsprites").id == "dsprites"
    with pytest.raises(UnknownName, match=r"To read a folder: benchmark_data.from_folder\('mine/pics'\)"):
        benchmark_data.load("mine/pics")


def test_a_selection_may_keep_no_factor():
    space = Selected(benchmark_data.load("dsprites"), range(5, 15), ()).space
    assert space.labels([1, 2]).shape == (2, 0)


def test_datasets_can_be_compared_and_cached(tiny_grid):
    mine = benchmark_data.from_images("mine", np.zeros((3, 8, 8, 1), np.uint8))
    other = benchmark_data.from_images("mine", np.ones((3, 8, 8, 1), np.uint8))
    assert mine != other
    assert mine in {mine, tiny_grid}
    assert hash(copy.deepcopy(mine)) == hash(mine)
