"""Transfer pairs: divided as published, loadable everywhere, and true to the datasets that they are made from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import datasets
import numpy as np
import pytest
import tensorflow_datasets as tfds

import benchmark_data
from benchmark_data import Factor, FactorSpace, InvalidInput, Rendered, Unavailable, draws, from_images, hf
from benchmark_data import tfds as builders
from benchmark_data.publish import card
from benchmark_data.publish.verify import verify
from benchmark_data.types import Source
from benchmark_data.variants import pairs
from leaderboard.analyses import transfer_accuracy

GOLDEN = Path(__file__).parents[2] / "golden" / "pair_rows.json"
ALL = {
    full_name: benchmark_data.load(full_name)
    for name in ("celeba_cars3d", "solids_dsprites", "symsol_dsprites")
    for full_name in benchmark_data.configs(name)
}
every = pytest.mark.parametrize("pair", ALL.values(), ids=ALL)
SPLITS = ["source_train", "source_test", "target_train", "target_test"]


@pytest.fixture(scope="module")
def tiny(tiny_grid):
    """A pair of 12 and 25 images."""

    def pixels(labels):  # local, so that it travels to worker processes by value
        return np.repeat(labels.sum(1), 35).astype(np.uint8).reshape(-1, 5, 7, 1) * np.uint8(10)

    other = dataclasses.replace(
        tiny_grid,
        name="tiny_other",
        space=FactorSpace(Factor("x", np.arange(5) / 4), Factor("shape", range(5), "categorical")),
        source=Rendered(pixels),
        splits={},
        license="Apache-2.0",
    )
    return pairs.both_ways(grid=tiny_grid, other=other)


def test_the_pairs_are_those_of_the_papers_and_their_stand_in():
    assert {name: [side.dataset.id for side in pairs.sides(pair).values()] for name, pair in ALL.items()} == {
        "celeba_cars3d/to_cars3d": ["celeba/64_bicubic_padded", "cars3d/64_lanczos"],
        "celeba_cars3d/to_celeba": ["cars3d/64_lanczos", "celeba/64_bicubic_padded"],
        "solids_dsprites/to_dsprites": ["solids", "dsprites"],
        "solids_dsprites/to_solids": ["dsprites", "solids"],
        "symsol_dsprites/to_dsprites": ["symsol_reduced/published", "dsprites"],
        "symsol_dsprites/to_symsol": ["dsprites", "symsol_reduced/published"],
    }


def test_a_pair_is_found_by_its_target():
    assert benchmark_data.load("symsol_dsprites", target="symsol") is ALL["symsol_dsprites/to_symsol"]
    assert benchmark_data.load("celeba_cars3d") is ALL["celeba_cars3d/to_cars3d"]


@every
def test_both_sides_have_the_pairs_image_format(pair):
    assert pair.image_shape == (64, 64, 3 if pair.name == "celeba_cars3d" else 1)
    assert all(side.dataset.image_shape == pair.image_shape for side in pairs.sides(pair).values())


@every
def test_splits_divide_each_side_nine_to_one(pair):
    assert list(pair.splits) == SPLITS
    rows = pair.extra("row", range(len(pair)))
    for name, side in pairs.sides(pair).items():
        assert (side.train, side.test) == (pair.splits[f"{name}_train"], pair.splits[f"{name}_test"])
        train, test = rows[side.train], rows[side.test]
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(side.dataset)))
        assert len(test) == -(-len(side.dataset) // 10)
        order = draws.permutation(0, len(side.dataset))
        assert np.array_equal(np.concatenate([test, train]), order)
        assert transfer_accuracy.held_out(test, len(side.dataset)).all()
        assert not transfer_accuracy.held_out(train, len(side.dataset)).any()


def test_the_published_rows_never_change(request):
    found = {}
    for name, pair in ALL.items():
        found[name] = {"version": pair.version}
        for side_name, side in pairs.sides(pair).items():
            found[name][side_name] = f"{side.dataset.id} {side.dataset.version}"
        for split, rows in pair.splits.items():
            sha256 = hashlib.sha256(pair.extra("row", rows).astype("<i8").tobytes()).hexdigest()
            found[name][split] = {"rows": len(rows), "sha256": sha256}
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(json.dumps(found, indent=2) + "\n")
    assert json.loads(GOLDEN.read_text()) == found


@every
def test_each_side_keeps_its_label_names_and_class_ids(pair):
    assert pair.space.names == ("side", *(name for side in pairs.sides(pair).values() for name in side.factors))
    factors = dict(zip(pair.space.names, pair.space.factors, strict=True))
    for side in pairs.sides(pair).values():
        for name, base in zip(side.factors, side.dataset.space.factors, strict=True):
            assert name.endswith(f"_{base.name}")
            assert factors[name].labels == (*base.labels, pairs.DOES_NOT_APPLY)
            assert factors[name].values[:-1] == base.values
            assert np.isnan(factors[name].values[-1])
            assert factors[name].as_json()["values"] == [*base.values, None]


def test_a_dataset_may_be_paired_with_itself():
    """Row 25 is the target's: the source's factor does not apply, and has the class after its 20."""
    mine = from_images("mine", np.arange(20, dtype=np.uint8)[:, None, None, None], {"a": range(20)})
    pair = pairs.both_ways(a=mine, b=mine).configs["to_b"]
    of_base = int(pair.extra("row", [25])[0])
    assert pair.labels([25]).tolist() == [[1, 20, of_base]] == [[1, 20, 8]]
    rows = np.arange(40)
    labels, of_target = pair.labels(rows), rows >= 20
    np.testing.assert_array_equal(labels[:, 0], of_target)
    np.testing.assert_array_equal(labels[rows, np.where(of_target, 2, 1)], pair.extra("row", rows))
    assert (labels[rows, np.where(of_target, 1, 2)] == 20).all()
    np.testing.assert_array_equal(pair.images(rows).ravel(), pair.extra("row", rows))


@pytest.mark.parametrize("pair", ["solids_dsprites/to_dsprites", "solids_dsprites/to_solids"])
def test_rows_are_rows_of_the_base(pair):
    pair = ALL[pair]
    chosen = draws.permutation(4, len(pair))[:40]
    rows, labels, images, values = (
        pair.extra("row", chosen),
        pair.labels(chosen),
        pair.images(chosen),
        pair.values(chosen),
    )
    for number, (name, side) in enumerate(pairs.sides(pair).items()):
        own = [pair.space.column(factor) for factor in side.factors]
        mine = np.isin(chosen, [*side.train, *side.test])
        assert mine.any()
        assert (labels[mine, 0] == number).all(), name
        assert np.array_equal(labels[mine][:, own], side.dataset.labels(rows[mine]))
        assert np.array_equal(values[mine][:, own], side.dataset.values(rows[mine]))
        assert np.array_equal(images[mine], side.dataset.images(rows[mine]))
        assert (labels[~mine][:, own] == np.array(pair.space.sizes)[own] - 1).all()
        assert np.isnan(values[~mine][:, own]).all()


@pytest.mark.parametrize("missing", ["grid", "other"])
def test_a_pair_is_prepared_when_both_sides_are(tiny, missing):
    class Archive(Source):
        ready, asked = False, ()

        def images(self, indices, labels):
            raise Unavailable("tiny: expected a prepared dataset, received nothing there.")

        def prepare(self, **options):
            self.ready, self.asked = True, options

    archive = Archive()
    sides = {"grid": tiny.configs["to_other"].source.source, "other": tiny.configs["to_other"].source.target}
    sides[missing] = dataclasses.replace(sides[missing], source=archive)
    pair = pairs.both_ways(**sides).configs["to_other"]
    assert not pair.prepared
    pair.prepare(keep_downloads=False)
    assert pair.prepared
    assert archive.asked == {"manual_dir": None, "keep_downloads": False}


@every
def test_a_pair_may_be_published_if_both_sides_may(pair, tmp_path):
    if pair.name == "solids_dsprites":
        assert pair.redistributable
        assert set(pair.license.split("; ")) == {"MIT (solids)", "Apache-2.0 (dsprites)"}
    else:
        with pytest.raises(InvalidInput, match=r"expected a licence that permits .* unstated"):
            hf.publish(pair, tmp_path)


def test_licences_of_both_sides_are_named(tiny):
    assert tiny.configs["to_other"].license == "MIT (grid); Apache-2.0 (other)"


def check(records, pair, split):
    rows = pair.splits[split]
    assert len(records) == len(rows)
    labels, values, of_base = pair.labels(rows), pair.values(rows), pair.extra("row", rows)
    for i, record in enumerate(records):
        assert (record["index"], record["extra_row"]) == (rows[i], of_base[i])
        assert np.array_equal(np.asarray(record["image"]).reshape(pair.image_shape), pair.images([rows[i]])[0])
        for column, name in enumerate(pair.space.names):
            assert record[f"label_{name}"] == labels[i, column]
            assert np.array_equal(record[f"value_{name}"], np.float32(values[i, column]), equal_nan=True)


def test_every_copy_holds_the_pair(tiny, tmp_path):
    builders.builder_class(tiny)
    pair = tiny.configs["to_other"]
    folder = builders.build(pair, tmp_path / "tfds")
    hf.publish(pair, tmp_path / "hf")
    assert list(pair.splits) == SPLITS
    for split in SPLITS:
        check(tfds.data_source("offaxis_grid_other/to_other", split=split, data_dir=tmp_path / "tfds"), pair, split)
        check(hf.as_dataset(pair, split=split), pair, split)
        published = datasets.load_dataset(
            str(tmp_path / "hf"), "to_other", split=split, cache_dir=str(tmp_path / "published")
        )
        check(published, pair, split)
    copies = [("tfds", tmp_path / "tfds"), ("hf", tmp_path / "hf")]
    assert [finding.problem for finding in verify(pair, copies, full=True)] == ["", "", ""]
    for record in (folder / "metadata.json", tmp_path / "hf/to_other" / card.RECORD):
        assert "NaN" not in record.read_text()


def test_what_makes_no_pair(tiny, tiny_grid):
    wide = dataclasses.replace(tiny_grid, image_shape=(5, 8, 1))
    with pytest.raises(
        InvalidInput, match=r"expected two datasets with images of one shape, received a \(5, 7, 1\), b "
    ):
        pairs.both_ways(a=tiny_grid, b=wide)
    with pytest.raises(InvalidInput, match="expected two datasets with images of one shape, received none"):
        pairs.both_ways()
    with pytest.raises(InvalidInput, match="tiny_grid: expected a transfer pair, received another dataset"):
        pairs.sides(tiny_grid)
