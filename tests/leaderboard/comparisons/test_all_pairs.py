from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from benchmark_data import DamagedFile, InvalidInput, parallel
from leaderboard.comparisons import all_pairs, cka, heatmap


def layers(seed, n=60):
    rng = np.random.default_rng(seed)
    x = np.random.default_rng(9).normal(size=(n, 30)).astype(np.float32)
    hidden = np.maximum(x @ rng.normal(size=(30, 90)) + 1, 0).astype(np.float32)
    return {"input": x, "hidden": hidden, "dead": np.ones((n, 2), np.float32)}


@pytest.fixture
def snapshots(tmp_path):
    """Five files of activations, by name."""
    paths = {}
    for seed in range(5):
        paths[f"vae/seed={seed}"] = tmp_path / f"{seed}.npz"
        np.savez(tmp_path / f"{seed}.npz", layers=np.array(list(layers(seed))), **layers(seed))
    return paths


@pytest.fixture
def small(monkeypatch):
    """Tiles and blocks so small that several of each are needed."""
    monkeypatch.setattr(all_pairs, "_TILE", 25)
    monkeypatch.setattr(all_pairs, "BLOCK", 2)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("debiased", [False, True])
def test_every_score_is_the_comparison_of_its_layers(snapshots, tmp_path, debiased):
    folder = all_pairs.run(snapshots, tmp_path / "out", study="one", debiased=debiased, jobs=1, memory=1e-5)
    table = pd.read_parquet(folder)
    assert len(table) == 15 * 9  # pairs of five, each with itself too, times pairs of layers
    assert set(table["study"]) == {"one"}
    assert not table.duplicated(["x", "layer_x", "y", "layer_y"]).any()
    for row in table.sample(30, random_state=0).itertuples():
        x, y = (layers(int(name[-1])) for name in (row.x, row.y))
        expected = cka.compare(x[row.layer_x], y[row.layer_y], debiased=debiased)
        assert row.similarity == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("small")
def test_a_study_goes_on_where_it_stopped(snapshots, tmp_path):
    folder = all_pairs.run(snapshots, tmp_path / "out", jobs=1)
    parts = sorted(folder.rglob("*.parquet"))
    before = pd.read_parquet(folder)
    parts[2].unlink()
    kept = {part: part.stat().st_mtime_ns for part in parts if part.exists()}
    for matrices in (tmp_path / "out" / "grams").glob("*.npy"):
        kept[matrices] = matrices.stat().st_mtime_ns
    all_pairs.run(snapshots, tmp_path / "out", jobs=1)
    assert sorted(folder.rglob("*.parquet")) == parts
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    pd.testing.assert_frame_equal(pd.read_parquet(folder), before)


def test_scores_need_no_activations_once_gram_matrices_are_made(snapshots, tmp_path):
    all_pairs.run(snapshots, tmp_path / "out", study="all", jobs=1)
    snapshots["vae/seed=0"].unlink()
    some = dict(list(snapshots.items())[:2])
    assert len(pd.read_parquet(all_pairs.run(some, tmp_path / "out", study="some", jobs=1) / "study=some")) == 3 * 9


def test_worker_processes_give_the_same_table(snapshots, tmp_path, monkeypatch):
    monkeypatch.setattr(all_pairs, "BLOCK", 3)
    one = pd.read_parquet(all_pairs.run(snapshots, tmp_path / "one", jobs=1))
    two = pd.read_parquet(all_pairs.run(snapshots, tmp_path / "two", jobs=2))
    pd.testing.assert_frame_equal(one, two)


def test_pairs_of_a_study_average_to_a_heatmap(snapshots, tmp_path):
    scores = pd.read_parquet(all_pairs.run(snapshots, tmp_path / "out", jobs=1))
    pairs = [("vae/seed=0", "vae/seed=1"), ("vae/seed=4", "vae/seed=2")]
    frame = all_pairs.heatmap(scores, pairs)
    expected = heatmap.compare_runs([(layers(0), layers(1)), (layers(4), layers(2))])
    pd.testing.assert_frame_equal(frame, expected, atol=1e-5, check_names=False)
    with pytest.raises(InvalidInput, match="pairs: expected snapshots of the study, received 'vae/seed=0' and 'none'"):
        all_pairs.heatmap(scores, [("vae/seed=0", "none")])
    with pytest.raises(InvalidInput, match="pairs: expected at least one, received none"):
        all_pairs.heatmap(scores, [])


def test_pairs_with_other_layers_are_not_averaged():
    rows = [(x, f"{x}_1", y, f"{y}_1", 0.5) for x, y in (("a", "b"), ("c", "b"))]
    scores = pd.DataFrame(rows, columns=["x", "layer_x", "y", "layer_y", "similarity"])
    with pytest.raises(
        InvalidInput, match="layers of 'c' and 'b': expected those of the first pair: a_1 and b_1, received c_1 and b_1"
    ):
        all_pairs.heatmap(scores, [("a", "b"), ("c", "b")])


def test_some_scores_of_a_study_are_read_without_the_others(snapshots, tmp_path, monkeypatch):
    monkeypatch.setattr(all_pairs, "BLOCK", 2)
    all_pairs.run(snapshots, tmp_path / "out", study="one", jobs=1)
    assert all_pairs.snapshots(tmp_path / "out", "one") == list(snapshots)
    pair = ("vae/seed=4", "vae/seed=0")
    scores = all_pairs.read(tmp_path / "out", "one", [pair])
    assert set(scores["x"]) == set(scores["y"]) == set(pair)
    everything = pd.read_parquet(tmp_path / "out" / "scores")
    pd.testing.assert_frame_equal(all_pairs.heatmap(scores, [pair]), all_pairs.heatmap(everything, [pair]))
    with pytest.raises(DamagedFile, match=r"two\.json: expected a JSON file"):
        all_pairs.snapshots(tmp_path / "out", "two")
    with pytest.raises(DamagedFile, match=r"expected the scores of a study, received none\. Run the study first"):
        all_pairs.read(tmp_path / "out", "two", [pair])


def test_tasks_travel_to_a_cluster_and_give_the_same_table(snapshots, tmp_path, monkeypatch):
    """Ray itself has tests of its own; here its place is taken by what it does to a task."""
    sent = []

    def in_ray(function, tasks, gpus):
        for task in tasks:
            sent.append(function.__name__)
            call, arguments = pickle.loads(pickle.dumps((function, task)))  # noqa: S301
            yield call(*arguments)

    here = pd.read_parquet(all_pairs.run(snapshots, tmp_path / "here", jobs=1))
    monkeypatch.setattr(parallel, "_in_ray", in_ray)
    token = parallel._ray.set(0.0)
    try:
        there = pd.read_parquet(all_pairs.run(snapshots, tmp_path / "there"))
    finally:
        parallel._ray.reset(token)
    assert sent == ["make_grams"] * 5 + ["score_block"]
    pd.testing.assert_frame_equal(here, there)


def test_what_a_study_refuses(snapshots, tmp_path):
    with pytest.raises(InvalidInput, match="snapshots: expected at least one, received none"):
        all_pairs.run({}, tmp_path / "out")
    with pytest.raises(InvalidInput, match=r"study: expected letters, digits, .*, received 'a/b'"):
        all_pairs.run(snapshots, tmp_path / "out", study="a/b")
    all_pairs.run(snapshots, tmp_path / "out", jobs=1)
    with pytest.raises(InvalidInput, match=r"study\.json: expected a study like this one.*Choose another folder"):
        all_pairs.run(dict(list(snapshots.items())[:2]), tmp_path / "out", jobs=1)
    np.savez(snapshots["vae/seed=1"], **layers(7))
    with pytest.raises(InvalidInput, match=r"1\.npz: expected the activations that its Gram matrices were made of"):
        all_pairs.run(snapshots, tmp_path / "out", jobs=1)
    np.savez(tmp_path / "other.npz", **layers(1, n=50))
    with pytest.raises(InvalidInput, match=r"other\.npz: expected 60 samples, as in .*0\.npz, received 50"):
        all_pairs.run({"a": snapshots["vae/seed=0"], "b": tmp_path / "other.npz"}, tmp_path / "more", jobs=1)
    np.savez(tmp_path / "uneven.npz", a=np.ones((9, 2), np.float32), b=np.ones((8, 2), np.float32))
    with pytest.raises(InvalidInput, match=r"layers of .*uneven\.npz: expected the same samples in each"):
        all_pairs.run({"a": tmp_path / "uneven.npz"}, tmp_path / "uneven", jobs=1)
    np.savez(tmp_path / "few.npz", a=np.ones((3, 2), np.float32))
    with pytest.raises(InvalidInput, match=r"few\.npz: expected at least four samples, received 3"):
        all_pairs.run({"a": tmp_path / "few.npz"}, tmp_path / "few", jobs=1)


def test_a_damaged_file_of_gram_matrices_is_named(snapshots, tmp_path):
    all_pairs.run(snapshots, tmp_path / "out", study="one", jobs=1)
    matrices = next((tmp_path / "out" / "grams").glob("*.npy"))
    matrices.write_bytes(matrices.read_bytes()[:1000])
    with pytest.raises(DamagedFile, match=r"expected a file of Gram matrices.*Remove .*\.json beside it"):
        all_pairs.run(snapshots, tmp_path / "out", study="two", jobs=1)
    matrices.with_suffix(".json").write_text("{}")
    with pytest.raises((DamagedFile, InvalidInput), match="expected"):
        all_pairs.run(snapshots, tmp_path / "out", study="three", jobs=1)
