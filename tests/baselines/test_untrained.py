from __future__ import annotations

import json

import numpy as np
import pytest

import benchmark_data
from baselines import untrained
from baselines.nets import backend
from benchmark_data import InvalidInput, UnknownName, draws
from benchmark_data.dataset import Dataset
from leaderboard import protocol

DATA = benchmark_data.load("xysquares/spacing_1")
ROWS = np.arange(0, 60_000, 97)
FITTED = ("ica", "pca")


@pytest.mark.parametrize("name", untrained.names())
def test_codes_are_finite_and_repeat(name):
    parameters = {"sample": 64, "latents": 4} if name in FITTED else {}
    made = untrained.find(name, parameters)
    codes = made.codes(DATA, ROWS[:40], seed=1)
    assert len(codes) == 40
    assert codes.ndim == 2
    assert np.isfinite(codes).all()
    np.testing.assert_array_equal(codes, made.codes(DATA, ROWS[:40], seed=1))


def test_ground_truth_is_the_factors():
    codes = untrained.find("ground_truth").codes(DATA, ROWS, seed=0)
    np.testing.assert_array_equal(codes, DATA.values(ROWS))


def test_pca_keeps_the_most_variance():
    rows = draws.permutation(0, len(DATA))[:150]  # those it is fitted to
    codes = untrained.find("pca", {"latents": 3, "sample": 150}).codes(DATA, rows, seed=0)
    images = DATA.images(rows).reshape(150, -1) / 255
    centred = images - images.mean(0)
    best = np.sort(np.linalg.eigvalsh(centred @ centred.T))[::-1][:3] / 150
    assert codes.var(0) == pytest.approx(best, rel=1e-3)
    assert np.abs(np.corrcoef(codes.T) - np.eye(3)).max() < 1e-3


def test_ica_finds_what_pca_cannot_turn_to():
    """Places where squares overlap: each component is one factor's, and PCA's are mixtures."""
    rows = draws.permutation(0, len(DATA))[:500]

    def correlations(name):
        codes = untrained.find(name, {"latents": 6}).codes(DATA, rows, seed=0)
        return codes, np.abs(np.corrcoef(codes.T, DATA.values(rows).T))[:6, 6:]

    codes, found = correlations("ica")
    assert codes.std(0) == pytest.approx(np.ones(6), rel=0.1)
    assert sorted(found.argmax(1)) == list(range(6))
    assert (found.max(1) > 0.95).all()
    assert (np.sort(found, axis=1)[:, -2] < 0.2).all()
    assert (correlations("pca")[1].max(1) < 0.95).all()


@pytest.mark.parametrize("name", untrained.names())
def test_a_reference_is_fitted_to_the_rows_to_train_on_of_a_divided_dataset(name, monkeypatch):
    divided = benchmark_data.load("xysquares/spacing_1.composition")
    seen, look = [], Dataset.images
    monkeypatch.setattr(Dataset, "images", lambda self, rows: seen.append((self.id, rows)) or look(self, rows))
    untrained.find(name, {"sample": 64, "latents": 4} if name in FITTED else {}).codes(divided, ROWS[:5], seed=1)
    fitted = [rows for of, rows in seen if of == divided.id and len(rows) > 5]
    assert len(fitted) == (name in FITTED)
    assert all(np.isin(rows, divided.splits["train"]).all() for rows in fitted)


@pytest.mark.parametrize(("seed", "message"), [(-1, "seed: expected at least 0"), (2**63, "seed: expected less than")])
def test_a_seed_that_a_record_cannot_hold_is_refused(seed, message, tmp_path):
    with pytest.raises(InvalidInput, match=message):
        untrained.write("ground_truth", DATA, tmp_path / "reference", seed=seed)
    assert not (tmp_path / "reference").exists()


@pytest.mark.parametrize("name", FITTED)
def test_there_are_fewer_latents_than_images(name):
    """Less their mean, 12 images differ in 11 directions; FastICA would divide by the variance of a twelfth one."""
    few = benchmark_data.from_images("few", DATA.images(ROWS[:12]))
    codes = untrained.find(name, {"latents": 11, "sample": 20}).codes(few, np.arange(12), seed=0)
    assert (codes.std(0) > 0.01).all()
    with pytest.raises(InvalidInput, match="expected at most 11, with 12 images of 12288 numbers, received 12"):
        untrained.find(name, {"latents": 12, "sample": 20}).codes(few, ROWS[:5] * 0, seed=0)


def test_the_random_encoder_is_random_by_its_seed():
    made = untrained.find("random_encoder", {"latents": 2})
    codes = [made.codes(DATA, ROWS[:5], seed=seed) for seed in (0, 1)]
    assert codes[0].shape == (5, 2)
    assert (codes[0] != codes[1]).all()


@pytest.mark.parametrize("last", ["write_arrays", "write_record"])
def test_what_was_killed_while_it_was_written_is_written_again(last, tmp_path, monkeypatch):
    def killed(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"baselines.untrained.{last}", killed)
        with pytest.raises(KeyboardInterrupt):
            untrained.write("ground_truth", DATA, tmp_path / "run")
    folder = untrained.write("ground_truth", DATA, tmp_path / "run")
    assert {path.name for path in folder.iterdir()} == {"codes.npz", "run.json"}


def test_another_seed_takes_another_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(untrained, "task_rows", lambda dataset: ROWS[:5])
    untrained.write("random_encoder", DATA, tmp_path / "r", seed=0)
    with pytest.raises(InvalidInput, match="with the same parameters and seed, received something else"):
        untrained.write("random_encoder", DATA, tmp_path / "r", seed=7)
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    assert {"numpy", "keras", backend.name()} <= set(record["versions"]), "the backend computes the last bits"


def test_the_folder_is_a_runs(tmp_path):
    folder = untrained.write("ground_truth", DATA.id, tmp_path / "run", seed=3)
    record = json.loads((folder / "run.json").read_text())
    assert (record["method"], record["supervision"], record["seed"]) == ("ground_truth", "reference", 3)
    assert {key: record["budget"][key] for key in ("steps", "images", "seconds")} == {
        "steps": 0,
        "images": 0,
        "seconds": 0,
    }
    assert record["dataset_digest"] == DATA.digest()._asdict()
    with np.load(folder / "codes.npz", allow_pickle=False) as codes:
        np.testing.assert_array_equal(codes["indices"], protocol.task(DATA.id).indices)
        assert codes["codes"].shape == (15_000, 6)
        assert codes["codes"].dtype == np.float32
    assert untrained.write("ground_truth", DATA, folder, seed=3) == folder
    with pytest.raises(InvalidInput, match="expected an empty folder, or one that holds pca for xysquares/spacing_1"):
        untrained.write("pca", DATA, folder)


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        (
            "pcaa",
            {},
            UnknownName,
            r"untrained baseline: expected one of ground_truth, ica, pca, .* 'pca'\?",
        ),
        ("pca", {"latent": 3}, UnknownName, r"parameter of pca: .* Did you mean 'latents'\?"),
        ("pca", {"latents": 0}, InvalidInput, "latents: expected at least 1, received 0"),
        ("pca", {"sample": 3}, InvalidInput, "sample: expected more than 10, received 3"),
        ("pca", {"latents": 1, "sample": 1}, InvalidInput, "sample: expected more than 1, received 1"),
        ("ica", {"latents": 4, "sample": 4}, InvalidInput, "sample: expected more than 4, received 4"),
        ("ica", {"latents": 0}, InvalidInput, "latents: expected at least 1, received 0"),
        ("random_encoder", {"architecture": "fcc"}, UnknownName, "architecture: expected one of"),
        ("random_encoder", {"latents": 0}, InvalidInput, "latents: expected at least 1"),
    ],
)
def test_wrong_parameters(name, parameters, error, message):
    with pytest.raises(error, match=message):
        untrained.find(name, parameters)
