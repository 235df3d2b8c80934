"""Every dataset keeps the contract of `benchmark_data.Dataset`: a new file is tested before its author writes a test.

What needs pixels runs on the datasets that can give them at once: the rendered ones, and any archive that happens to be
prepared on this machine (`Dataset.prepared`). Of a family that is made of another dataset one config stands for all
where pixels are read or a dataset is sent; with ``--whole`` each is tested.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import benchmark_data
from benchmark_data import Dataset, Factor, FactorSpace, InvalidInput, Unavailable, draws
from benchmark_data.datasets import color_dsprites, scream_dsprites, solids
from benchmark_data.expected_effects import Effect
from benchmark_data.sources import Derived, Rendered
from benchmark_data.types import Source
from benchmark_data.variants import pairs
from tests.contracts import label_check

GOLDEN = Path(__file__).parents[1] / "golden" / "digests.json"
ALL = {
    full_name: benchmark_data.load(full_name)
    for name in benchmark_data.names()
    for full_name in benchmark_data.configs(name)
}
READY = {name: dataset for name, dataset in ALL.items() if dataset.prepared}
NOT_READY = {name: dataset for name, dataset in ALL.items() if not dataset.prepared}

TRIED = {
    name: dataset
    for name, dataset in READY.items()
    if isinstance(dataset.source, Rendered)
    or dataset is benchmark_data.load(dataset.name)
    or os.environ.get("OFFAXIS_TEST_WHOLE")
}
SENT = TRIED | {name: dataset for name, dataset in NOT_READY.items() if dataset is benchmark_data.load(dataset.name)}

every = pytest.mark.parametrize("dataset", ALL.values(), ids=ALL)
ready = pytest.mark.parametrize("dataset", TRIED.values(), ids=TRIED)
sent = pytest.mark.parametrize("dataset", SENT.values(), ids=SENT)


def some_rows(dataset: Dataset, count: int = 24) -> np.ndarray:
    """Random rows, with the first and the last, in no order."""
    return np.concatenate([draws.sample(8, len(dataset), count), [len(dataset) - 1, 0]])


@pytest.mark.parametrize("module", [color_dsprites, scream_dsprites, solids])
def test_what_a_row_holds_has_nothing_to_do_with_its_place_in_a_shuffle(module):
    """Else a split is by colour, not at random: rows are shuffled by draw 0 of a small seed."""
    held = draws.uniform(module.SEED, range(2000), 5)
    for seed in range(10):
        place = draws.uniform(seed, range(2000), 1)[:, 0]
        assert max(abs(np.corrcoef(place, column)[0, 1]) for column in held.T) < 0.1


def test_there_is_something_to_test():
    assert {"xysquares/spacing_1", "xysquares/spacing_8", "dsprites"} <= set(READY)
    assert "dsprites_archive" in ALL


@pytest.mark.parametrize("name", benchmark_data.names())
def test_the_file_name_is_the_name(name):
    for full_name in benchmark_data.configs(name):
        dataset = benchmark_data.load(full_name)
        assert dataset.name == name
        assert dataset.id == full_name
    assert benchmark_data.load(name).id in benchmark_data.configs(name)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)


@every
def test_parameters_find_the_config(dataset):
    if dataset.config:
        assert benchmark_data.load(dataset.name, **dataset.parameters) is dataset
        assert re.fullmatch(r"[a-z0-9][a-z0-9_]*", dataset.config)


@every
def test_metadata_is_filled(dataset):
    assert re.fullmatch(r"\d+\.\d+\.\d+", dataset.version), "version: three numbers, such as 1.0.0"
    assert dataset.license.strip(), "license: of the images; an SPDX name where there is one"
    assert dataset.license != "unstated" or not dataset.redistributable, "redistributable: not without a licence"
    assert dataset.homepage.startswith("http"), "homepage: where the images are described"
    said = "description: what is to be seen, in whole sentences of more than 60 letters; pages and cards begin with it"
    assert len(dataset.description) > 60, said
    assert dataset.description.endswith((".", "!", ")")), said
    citation = "citation: an entry of BibTeX with a year, its braces closed"
    assert re.match(r"@\w+\{\w+,", dataset.citation), citation
    keys = re.findall(r"^@\w+\{(\w+),", dataset.citation, re.MULTILINE)
    assert len(keys) == len(set(keys)), "BibTeX refuses a key that it has"
    assert dataset.citation.count("{") == dataset.citation.count("}"), citation
    assert not re.search(r"""\{['"`^]""", dataset.citation), "the backslash of an accent is missing"
    assert "year" in dataset.citation, citation
    assert all(len(defect) > 20 and defect.endswith(".") for defect in dataset.defects), "defects: whole sentences"


@every
def test_image_shape(dataset):
    height, width, channels = dataset.image_shape
    assert min(height, width) >= 16, "image_shape: a height and width of at least 16"
    assert channels in (1, 2, 3), "image_shape: channels last, at most 3"


@every
def test_factors(dataset):
    space = dataset.space
    assert len(set(space.names)) == len(space.names) == len(space.factors)
    for factor in space.factors:
        assert re.fullmatch(r"\w+", factor.name), "a factor's name: letters, digits and _"
        assert len(factor.values) == len(factor.labels) == factor.size
        assert len(set(factor.values)) == factor.size, f"{factor.name}: two classes have one value"
        # Of a transfer pair, a factor of one side has a last class without a value for the rows of the other.
        assert all(
            math.isfinite(value) or (value is factor.values[-1] and label == pairs.DOES_NOT_APPLY)
            for value, label in zip(factor.values, factor.labels, strict=True)
        )
        if factor.kind in ("ordinal", "cyclic"):
            assert list(factor.values) == sorted(factor.values), f"{factor.name}: values of ordered classes rise"
        if factor.kind == "binary":
            assert factor.size == 2, f"{factor.name}: a binary factor has two classes"
    if isinstance(space, FactorSpace):
        assert len(dataset) == math.prod(space.sizes), "a full grid has a row for every combination of classes"


@every
def test_splits_hold_every_row_once(dataset):
    ranges = sorted(dataset.splits.values(), key=lambda rows: rows.start)
    assert sum(map(len, ranges)) == len(dataset)
    assert [rows.start for rows in ranges] == [0, *(rows.stop for rows in ranges[:-1])]
    assert all(rows.step == 1 for rows in ranges)
    assert all(re.fullmatch(r"[a-z_]+", split) for split in dataset.splits)


@every
def test_repr_names_it_and_is_one_line(dataset):
    assert repr(dataset).startswith(f"<Dataset {dataset.id} {dataset.version}: {len(dataset)} images")
    assert "\n" not in repr(dataset)


@pytest.mark.skipif(not NOT_READY, reason="every archive is prepared on this machine")
@pytest.mark.parametrize("dataset", NOT_READY.values(), ids=NOT_READY)
def test_what_is_not_here_says_how_to_get_it(dataset):
    rows = [0, len(dataset) - 1] if len(dataset) else [0]  # of a pair, one side may be ready
    with pytest.raises(Unavailable, match=r" Run: offaxis data prepare \w| Compute it with "):
        dataset.images(rows)


@ready
def test_images(dataset):
    rows = some_rows(dataset)
    images = dataset.images(rows)
    assert images.dtype == np.uint8, "images are uint8, 0 to 255"
    assert images.shape == (len(rows), *dataset.image_shape), "images have the shape that the dataset declares"
    assert images.flags.c_contiguous, "images are in one piece: np.ascontiguousarray"
    assert len(np.unique(images.reshape(len(rows), -1), axis=0)) > 2, "almost all images of a sample are the same"
    assert images.any(axis=(1, 2, 3)).all(), "an image is black"


@ready
def test_the_same_rows_give_the_same_images_in_any_order(dataset):
    rows = some_rows(dataset)
    images = dataset.images(rows)
    order = draws.permutation(3, len(rows))
    assert np.array_equal(dataset.images(rows), images), (
        "the same rows a second time: render has no state, draws no chance"
    )
    assert np.array_equal(dataset.images(rows[order]), images[order]), "an image hangs on the rows around it"
    assert np.array_equal(dataset.images(rows[5:6]), images[5:6]), "an image hangs on how many are asked for"
    assert np.array_equal(dataset.images([rows[3]] * 2), images[[3, 3]])


@ready
def test_images_are_the_callers_own(dataset):
    before = dataset.images([0])
    changed = dataset.images([0])
    changed[:] = 255 - changed
    assert np.array_equal(dataset.images([0]), before)


@ready
def test_any_integers_select_rows(dataset):
    expected = dataset.images([0, 1])
    for rows in ((0, 1), range(2), np.array([0, 1], np.uint8), np.array([0, 1], np.int32)):
        assert np.array_equal(dataset.images(rows), expected)


@ready
def test_labels(dataset):
    rows = some_rows(dataset)
    labels = dataset.labels(rows)
    assert labels.dtype == np.int64
    assert labels.shape == (len(rows), len(dataset.space.factors))
    assert (labels >= 0).all()
    assert (labels < dataset.space.sizes).all()
    values = dataset.values(rows)
    assert values.dtype == np.float64
    for column, factor in enumerate(dataset.space.factors):
        assert np.array_equal(values[:, column], [factor.values[label] for label in labels[:, column]], equal_nan=True)


@ready
def test_labels_round_trip_through_the_grid(dataset):
    if isinstance(dataset.space, FactorSpace):
        rows = some_rows(dataset)
        assert np.array_equal(dataset.space.index(dataset.labels(rows)), rows)
        assert dataset.labels([1])[0, -1] == 1, "the last factor varies fastest"
        assert dataset.labels([len(dataset) - 1])[0].tolist() == [size - 1 for size in dataset.space.sizes]


@ready
def test_every_factor_shows(dataset):
    """Along each factor some image differs from the first: no factor is dead."""
    if isinstance(dataset.space, FactorSpace):
        for name in dataset.space.names:
            images = dataset.images(dataset.space.traverse(len(dataset) // 3, name))
            assert (images != images[:1]).any(), name


@every
def test_what_every_factor_does_is_declared(dataset):
    missing = [name for name in dataset.space.names if name not in dataset.effects]
    assert not missing, (
        f"no effect is declared of {', '.join(missing)}. Say in DATASET what one sees as the class id rises, such as "
        f"effects={{{missing[0]!r}: expected_effects.right()}}, or in a sentence why no measure shows it; "
        "benchmark_data/expected_effects.py has the list"
    )
    for name, effect in dataset.effects.items():
        assert isinstance(effect, Effect) or len(effect) > 20, f"{name}: expected an effect, or a sentence why none"


def one_of_many(dataset) -> bool:
    """Whether labels are those of a base that is tested itself, and of a config that others stand for."""
    return isinstance(dataset.source, Derived) and dataset is not benchmark_data.load(dataset.name)


@ready
def test_labels_say_what_the_pixels_show(dataset):
    """Two columns that are swapped, or a factor that is counted from the wrong end, look like any other labels."""
    if one_of_many(dataset):
        pytest.skip("looked at in the family's default")
    problems = label_check.problems(dataset)
    assert not problems, "\n".join(problems)


class Mislabelled:
    """Pixels of other labels than those given: two columns swapped, or one counted from the wrong end."""

    def __init__(self, dataset, change):
        self.dataset, self.change = dataset, change

    def images(self, indices, labels):
        return self.dataset.images(self.dataset.space.index(self.change(labels.copy())))


@pytest.mark.parametrize("name", ["dsprites", "xyobject/shaded", "xysquares/spacing_8"])
def test_faults_in_labels_would_show(name):
    """What is declared is enough: each column reversed, and each pair of one size swapped, is noticed and named."""
    dataset = benchmark_data.load(name)
    factors = dataset.space.factors
    for column, factor in enumerate(factors):

        def reverse(labels, column=column, size=factor.size):
            labels[:, column] = size - 1 - labels[:, column]
            return labels

        faulty = dataclasses.replace(dataset, source=Mislabelled(dataset, reverse))
        assert any(p.startswith(f"{factor.name}:") and "wrong end" in p for p in label_check.problems(faulty)), factor
    for a, b in itertools.combinations(range(len(factors)), 2):
        if factors[a].size == factors[b].size:

            def swap(labels, a=a, b=b):
                labels[:, [a, b]] = labels[:, [b, a]]
                return labels

            found = label_check.problems(dataclasses.replace(dataset, source=Mislabelled(dataset, swap)))
            assert any(p.startswith(f"{factors[a].name}:") and "swapped" in p for p in found), (a, b)


@every
@pytest.mark.parametrize("ask", ["images", "labels", "values"])
def test_bad_selections(dataset, ask):
    give = getattr(dataset, ask)
    name = re.escape(f"rows of {dataset.id}: expected ")
    with pytest.raises(InvalidInput, match=name + "at least one row, received an empty selection"):
        give([])
    with pytest.raises(InvalidInput, match=name + r"integers of shape \(n,\), received float64 of shape \(1,\)"):
        give([0.0])
    with pytest.raises(InvalidInput, match=name + r"integers of shape \(n,\), received int64 of shape \(\)"):
        give(0)
    with pytest.raises(InvalidInput, match=name + r"integers of shape \(n,\), received a mask of shape \(2,\)\. Pass"):
        give([True, False])
    if len(dataset):
        with pytest.raises(
            InvalidInput, match=name + rf"rows in \[0, {len(dataset) - 1}\], received rows in \[-1, 0\]"
        ):
            give([0, -1])
        with pytest.raises(
            InvalidInput, match=name + rf"rows in \[0, {len(dataset) - 1}\], received rows in \[0, {len(dataset)}\]"
        ):
            give([0, len(dataset)])


@sent
def test_it_travels_to_another_process(dataset):
    """By pickle, and small: pixels, tables and caches stay where they are."""
    if dataset.prepared:
        dataset.labels([0])
    sent = pickle.dumps(dataset)
    assert len(sent) < 100_000
    received = pickle.loads(sent)  # noqa: S301  our own
    assert repr(received) == repr(dataset)
    assert repr(received.space.factors) == repr(dataset.space.factors)
    if dataset.prepared:
        rows = some_rows(dataset)
        assert received.block_digest(rows) == dataset.block_digest(rows)


@ready
def test_batches_of_any_size_are_the_images(dataset):
    rows = some_rows(dataset)
    expected = dataset.images(rows)
    for size in (5, 24, 1000):
        batches = list(dataset.batches(rows, batch_size=size))
        assert max(len(batch) for batch, _ in batches) <= size
        assert np.array_equal(np.concatenate([batch for batch, _ in batches]), rows)
        assert np.array_equal(np.concatenate([images for _, images in batches]), expected)


@ready
def test_quick_digest_is_the_hash_of_the_pixels_whatever_the_batches(dataset):
    rows = dataset.quick_rows()
    assert len(rows) == len(set(rows.tolist())) == min(1024, len(dataset))
    pixels = hashlib.sha256()
    for _, images in dataset.batches(rows, batch_size=100):
        pixels.update(images.tobytes())
    factors = hashlib.sha256(dataset.labels(rows).astype("<i8").tobytes())
    found = dataset.digest()
    assert found.pixels == hashlib.sha256(pixels.hexdigest().encode()).hexdigest()
    assert found.factors == hashlib.sha256(factors.hexdigest().encode()).hexdigest()


def test_golden_digests(request):
    """Pixels that are drawn from whole numbers never change without a new version of the dataset."""
    found = {
        name: {"version": dataset.version, **dataset.digest()._asdict()}
        for name, dataset in READY.items()
        if dataset.name.startswith(("xyobject", "xysquares", "dsprites"))
    }
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(json.dumps(found, indent=2) + "\n")
    assert json.loads(GOLDEN.read_text()) == found


def test_a_broken_dataset_would_fail():
    """The suite can fail: a dataset whose images depend on the order of rows breaks the test of order."""
    space = FactorSpace(Factor("x", range(40)))

    class Careless(Source):
        def images(self, indices, labels):
            return np.arange(len(indices), dtype=np.uint8)[:, None, None, None] + np.zeros((1, 16, 16, 1), np.uint8)

    known = benchmark_data.load("dsprites")
    careless = Dataset(
        name="careless",
        version="1.0.0",
        space=space,
        source=Careless(),
        image_shape=(16, 16, 1),
        **{field: getattr(known, field) for field in ("description", "citation", "license", "homepage")},
    )
    with pytest.raises(AssertionError):
        test_the_same_rows_give_the_same_images_in_any_order(careless)
