"""Codes that are labels are marked at any noise up to 5% of a factor's range; codes of encoders never are."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

import benchmark_data
from leaderboard import protocol
from leaderboard.scoring import leaks

DATASETS = ("sprites2d", "room3d", "xysquares/spacing_8")
MAPS = {
    "as they are": lambda x: x,
    "scaled": lambda x: 7 - 300 * x,
    "exponential": lambda x: np.exp(2 * x),
    "logistic": lambda x: 1 / (1 + np.exp(-6 * (x - 0.5))),
    "cubic": lambda x: (2 * x - 1) ** 3,
    "logarithm": lambda x: np.log(x + 1.5),
    "folded": lambda x: np.cos(3 * x),
}


@pytest.fixture(scope="module")
def labels():
    """Class ids of each task's rows, and the same in parts of the factor's range."""
    found = {}
    for name in DATASETS:
        ids = protocol.task(name).labels()
        found[name] = (ids, ids / ids.max(axis=0))
    return found


def drawn(kind, shape, seed):
    """Noise with standard deviation 1."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) if kind == "normal" else rng.uniform(-(3**0.5), 3**0.5, shape)


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("level", [0.0, 1e-4, 1e-3, 0.01, 0.02, 0.05])
def test_labels_with_noise_are_marked(labels, dataset, level):
    ids, scaled = labels[dataset]
    for seed, kind in enumerate(("normal", "uniform")):
        codes = scaled + level * drawn(kind, scaled.shape, seed)
        assert [latent for latent in codes.T if not leaks.suspected(latent, ids)] == []


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("name", MAPS)
def test_labels_through_a_smooth_map_are_marked(labels, dataset, name):
    """Noise comes before the map: in some classes it is wider then than in others."""
    ids, scaled = labels[dataset]
    codes = MAPS[name](scaled + 0.05 * drawn("normal", scaled.shape, 2))
    assert [latent for latent in codes.T if not leaks.suspected(latent, ids)] == []


@pytest.mark.parametrize("dataset", DATASETS)
def test_one_label_among_honest_latents_is_marked_wherever_it_stands(labels, dataset):
    """Classes are renamed at random, too. The honest latents are random projections of all labels."""
    ids, scaled = labels[dataset]
    rng = np.random.default_rng(3)
    honest = np.tanh(scaled @ rng.standard_normal((scaled.shape[1], 6)))
    assert leaks.leaks(honest, ids) == ()
    for column in range(ids.shape[1]):
        renamed = rng.permutation(ids[:, column].max() + 1)[ids[:, column]] / ids[:, column].max()
        codes = np.insert(honest, 1 + column, renamed + 0.03 * drawn("normal", len(ids), 4), axis=1)
        assert leaks.leaks(codes.astype(np.float32), ids) == ("codes_equal_labels",)


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_latent_that_knows_a_little_of_the_other_factors_is_an_encoders(labels, dataset):
    """A factor explains 99% of its latent, and half of the rest is another factor."""
    ids, scaled = labels[dataset]
    other = np.roll(scaled, 1, axis=1)
    rest = other / other.std(axis=0) + drawn("normal", scaled.shape, 5)
    codes = scaled + 0.07 * scaled.std(axis=0) * rest
    assert leaks.explained(codes[:, 0], ids[:, 0]) > 0.98
    assert leaks.leaks(codes, ids) == ()


@pytest.mark.parametrize("dataset", DATASETS)
def test_what_cannot_be_seen(labels, dataset):
    """Labels mixed with each other, and labels with much noise: docs/submitting.md says so."""
    ids, scaled = labels[dataset]
    mixed = scaled @ np.linalg.qr(np.random.default_rng(6).standard_normal((scaled.shape[1],) * 2))[0]
    assert leaks.leaks(mixed, ids) == ()
    assert leaks.leaks(scaled + 0.5 * drawn("normal", scaled.shape, 7), ids) == ()


def test_codes_of_pixels_are_not_marked():
    """Pixels themselves, averaged over patches, of which some follow one factor closely: 64 latents on 3,000 rows."""
    for name in ("sprites2d", "xysquares/spacing_8", "room3d"):
        rows = protocol.task(name).indices[:3000]
        dataset = benchmark_data.load(name)
        images = dataset.images(rows).mean(axis=3)
        codes = images.reshape(len(rows), 8, 8, 8, 8).mean(axis=(2, 4)).reshape(len(rows), -1)
        ids = dataset.labels(rows)[:, [dataset.space.column(factor) for factor in protocol.task(name).scored]]
        assert leaks.leaks(codes, ids) == ()


def test_a_dataset_of_one_factor_is_judged_by_what_is_seen():
    """Solids have a shape and no other label. What stands in for an encoder is the shape with brightness mixed in."""
    whole = protocol.task("solids")
    task = dataclasses.replace(whole, train=whole.train[:2000], test=whole.test[:1000])
    ids = task.labels()
    more = functools.partial(leaks.appearance, task)
    seen = more()
    assert (seen.shape, seen.min(), seen.max()) == ((3000, 6), 0, 9)
    assert {len(np.unique(column)) for column in seen.T} == {10}
    noise = drawn("normal", ids.shape, 9)
    for level in (0.001, 0.01, 0.05):
        assert leaks.leaks(ids / 4 + level * noise, ids, more) == ("codes_equal_labels",)
    assert leaks.leaks(ids / 4 + 0.02 * seen[:, :1] / seen.std() + 0.02 * noise, ids, more) == ()


def test_a_latent_that_never_moves_and_a_dataset_of_one_factor():
    ids = np.arange(600)[:, None] % 5
    assert leaks.leaks(np.zeros((600, 2)), ids) == ()
    assert leaks.leaks(3.0 * ids, ids) == ("codes_equal_labels",)  # there is no other factor that could have a say
    assert leaks.leaks(ids + 0.01 * drawn("normal", ids.shape, 8), ids) == ()


def test_explained_by_hand():
    """Class means 1 and 3 about 2 have variance 1; within the classes it is 1, too: a half."""
    assert leaks.explained(np.array([0.0, 2.0, 2.0, 4.0]), np.array([0, 0, 1, 1])) == 0.5
