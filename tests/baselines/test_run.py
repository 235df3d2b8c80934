from __future__ import annotations

import dataclasses
import json
import math
import shutil

import numpy as np
import pytest

import benchmark_data
from baselines import train
from baselines.run import Run, task_rows
from baselines.run_folder import read_history
from baselines.training import claims
from benchmark_data import DamagedFile, InvalidInput
from leaderboard import protocol
from leaderboard.comparisons import cka


@pytest.fixture
def copy(trained, tmp_path):
    """A copy of the trained run that may be damaged."""
    return shutil.copytree(trained.folder, tmp_path / "run")


def test_encode_decode(trained):
    images = trained.dataset.images([0, 7, 9])
    posterior = trained.encode(images)
    assert posterior.mean.shape == posterior.log_variance.shape == (3, 3)
    assert posterior.mean.dtype == np.float32
    decoded = trained.decode(posterior.mean)
    assert decoded.shape == (3, 64, 64, 3)
    assert decoded.dtype == np.float32
    assert 0 <= decoded.min() <= decoded.max() <= 1
    assert repr(trained).endswith("tiny: beta_vae on xysquares/spacing_1, seed 0, step 6 of 6>")


def test_what_reconstructions_explain(trained, monkeypatch):
    images = trained.dataset.images(np.arange(0, 200_000, 999))
    pixels = images / np.float32(255)
    mean = pixels.mean(0)
    for decoded, share in ((pixels, 1), (np.broadcast_to(mean, pixels.shape), 0), (mean + (pixels - mean) / 2, 0.75)):
        monkeypatch.setattr(trained, "decode", lambda codes, decoded=decoded: decoded)
        assert trained.explained(images) == pytest.approx(share, abs=1e-6)
    monkeypatch.undo()
    first = trained.dataset.images(trained.dataset.quick_rows()[:256])
    assert trained.explained() == trained.explained(first)
    assert math.isnan(trained.explained(images[:1].repeat(201, axis=0)))
    assert math.isnan(trained.explained(np.full_like(images, 37)))


def test_encoding_does_not_depend_on_the_batch(trained):
    rows = list(range(300))
    np.testing.assert_allclose(
        trained.encode_rows(rows)[290:], trained.encode(trained.dataset.images(rows[290:])).mean, rtol=1e-4, atol=1e-5
    )


def test_a_dataset_by_name(trained):
    np.testing.assert_array_equal(trained.encode_rows([3], "xysquares/spacing_1"), trained.encode_rows([3]))


def test_no_rows_are_refused(trained):
    with pytest.raises(InvalidInput, match="rows of xysquares/spacing_1: expected at least one row"):
        trained.encode_rows([])


def test_a_snapshot_by_its_step(trained):
    images = trained.dataset.images([3])
    assert (Run.open(trained.folder, step=4).encode(images).mean != trained.encode(images).mean).any()
    with pytest.raises(InvalidInput, match=r"step of .*: expected one of \[0, 4, 6\], received 5"):
        Run.open(trained.folder, step=5)
    with pytest.raises(InvalidInput, match=r"step of .*, received 4\.0\."):
        Run.open(trained.folder, step=4.0)


def test_encode_task_writes_the_protocols_rows(copy):
    with np.load(Run.open(copy).encode_task(), allow_pickle=False) as codes:
        indices = protocol.task("xysquares/spacing_1").indices
        np.testing.assert_array_equal(codes["indices"], indices)
        np.testing.assert_array_equal(task_rows(Run.open(copy).dataset), indices)
        assert codes["indices"].dtype == np.int64
        assert codes["codes"].shape == (15_000, 3)
        assert codes["codes"].dtype == np.float32
    with pytest.raises(
        InvalidInput, match=r"expected a finished run of 6 steps, received step 4. Open it without the argument step"
    ):
        Run.open(copy, step=4).encode_task()
    shutil.rmtree(copy / "snapshots" / "step_00000006")
    with pytest.raises(InvalidInput, match=r"received step 4. Resume the run first"):
        Run.open(copy).encode_task()


def test_write_activations(copy):
    path = Run.open(copy).write_activations([5, 1, 8])
    with np.load(path, allow_pickle=False) as found:
        layers = found["layers"].tolist()
        assert layers[0] == "input"
        assert layers[-1] == "output"
        assert {"mean", "variance", "sampled"} < set(layers)
        assert sorted(found.files) == sorted([*layers, "layers", "indices"])
        assert found["indices"].tolist() == [5, 1, 8]
        assert all(found[layer].dtype == np.float32 and len(found[layer]) == 3 for layer in layers)
    other = copy / "elsewhere.npz"
    assert Run.open(copy).write_activations([0], other) == Run.open(copy, step=4).write_activations([0], other) == other
    with pytest.raises(
        InvalidInput, match=r"path .* for step 4, received none: .*activations.npz is of step 6. Pass a new"
    ):
        Run.open(copy, step=4).write_activations([0])
    with pytest.raises(InvalidInput, match="rows of xysquares/spacing_1: expected at least one row"):
        Run.open(copy).write_activations([])


def test_sampled_is_the_same_every_time(trained):
    images = trained.dataset.images([0, 1])
    one, two = trained.activations(images), trained.activations(images)
    np.testing.assert_array_equal(one["sampled"], two["sampled"])
    assert (one["sampled"] != one["mean"]).all()


@pytest.fixture(scope="module")
def collapsed(trained, tmp_path_factory):
    """Open two runs with one seed whose posteriors are the prior for every image."""

    def run(beta):
        config = dataclasses.replace(trained.config, snapshots=[], hyperparameters={"beta": beta}, steps=1)
        opened = train(config, tmp_path_factory.mktemp("collapsed") / "run")
        runs = [opened, Run.open(opened.folder, step=0)]
        for each in runs:
            heads = ("encoder/mean/", "encoder/log_variance/")
            weights = {name: 0 * w if name.startswith(heads) else w for name, w in each.model.weights().items()}
            each.model.load(weights)
        return runs

    return [run(beta) for beta in (1.0, 8.0)]


def test_noise_that_two_models_or_two_snapshots_have_drawn_is_no_similarity(collapsed):
    (one, earlier), (other, _) = collapsed
    images = one.dataset.images(range(500))
    sampled = [run.activations(images)["sampled"] for run in (one, earlier, other)]
    assert cka.compare(sampled[0], sampled[0]) == pytest.approx(1)
    assert cka.compare(sampled[0], sampled[1]) < 0.1
    assert cka.compare(sampled[0], sampled[2]) < 0.1


@pytest.mark.parametrize(
    "images", [np.zeros((2, 64, 64, 3)), np.zeros((64, 64, 3), np.uint8), np.zeros((0, 64, 64, 3), np.uint8)]
)
def test_wrong_images_are_refused(trained, images):
    with pytest.raises(InvalidInput, match=r"images: expected uint8 of shape \(n, 64, 64, 3\), received"):
        trained.encode(images)
    with pytest.raises(InvalidInput, match="images: expected uint8"):
        trained.activations(images)


def test_wrong_codes_are_refused(trained):
    for codes in (np.zeros((2, 4)), np.full((2, 3), np.nan)):
        with pytest.raises(
            InvalidInput, match=r"codes: expected finite numbers of shape \(n, 3\), received shape \(2, "
        ):
            trained.decode(codes)
    for codes in ([[1, 2, 3], [4]], [["a", "b", "c"]]):
        with pytest.raises(InvalidInput, match=r"codes: expected finite numbers of shape \(n, 3\), received others: "):
            trained.decode(codes)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", None),
        ("config.json", b"{"),
        ("config.json", b'{"dataset": "xysquares/spacing_1", "objective": "beta_vae", "step": 3}'),
        ("history.jsonl", b'{"step": 1}\nnot json\n'),
        ("history.jsonl", b"[1]\n"),
        ("history.jsonl", b'{"step": 1, "loss": NaN}'),
        ("history.jsonl", b'{"step": 1, "loss": 1e999}'),
        ("history.jsonl", b"[" * 100_000),
        ("snapshots/step_00000006/weights.npz", "not finite"),
        ("snapshots/step_00000006/weights.npz", "too large for float32"),
        ("snapshots/step_00000006/state.json", b'{"step": 4, "seconds": 1.0}'),
        ("run.json", b"[]"),
        ("run.json", "without its seed"),
        ("snapshots/step_00000006/weights.npz", None),
        ("snapshots/step_00000006/weights.npz", b"not an archive"),
        ("snapshots/step_00000006/weights.npz", "cut"),
        ("snapshots/step_00000006/weights.npz", "flipped"),
    ],
)
def test_a_damaged_file_is_named(copy, file, content):
    path = copy / file
    whole = path.read_bytes()
    if content is None:
        path.unlink()
    elif content == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif content == "not finite":
        with np.load(path) as arrays:
            np.savez(path, **{name: np.full_like(array, np.nan) for name, array in arrays.items()})
    elif content == "too large for float32":
        with np.load(path) as arrays:
            np.savez(path, **{name: np.full(array.shape, 1e300) for name, array in arrays.items()})
    elif content == "without its seed":
        path.write_text(json.dumps({key: value for key, value in json.loads(whole).items() if key != "seed"}))
    elif content == "flipped":
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    else:
        path.write_bytes(content)

    def use() -> None:
        run = Run.open(copy)
        run.encode(run.dataset.images([0]))
        assert run.history

    with pytest.raises(DamagedFile, match=path.name):
        use()


@pytest.mark.parametrize(("file", "content"), [("optimiser.npz", b""), ("state.json", b"{}"), ("state.json", b"[")])
def test_a_damaged_snapshot_is_not_resumed(copy, tiny, file, content):
    from baselines import train

    shutil.rmtree(copy / "snapshots" / "step_00000006")
    (copy / "snapshots" / "step_00000004" / file).write_bytes(content)
    with pytest.raises(DamagedFile, match=f"step_00000004/{file}"):
        train(tiny(), copy)


def test_a_snapshot_in_the_place_of_another_is_refused(copy):
    """Its weights would have passed for those of six steps."""
    shutil.rmtree(copy / "snapshots" / "step_00000006")
    shutil.copytree(copy / "snapshots" / "step_00000004", copy / "snapshots" / "step_00000006")
    with pytest.raises(DamagedFile, match=r"state\.json: expected step 6 and seconds, received"):
        Run.open(copy).encode(np.zeros((1, 64, 64, 3), np.uint8))


def test_pickles_are_never_read(copy):
    path = copy / "snapshots" / "step_00000006" / "weights.npz"
    with path.open("wb") as stream:
        np.savez(stream, weights=np.array([{"a": 1}], object))
    with pytest.raises(
        DamagedFile, match=r"weights.npz: .*: expected numbers or text, without Python objects, received object"
    ):
        Run.open(copy).encode(np.zeros((1, 64, 64, 3), np.uint8))


def test_no_such_folder(tmp_path):
    with pytest.raises(DamagedFile, match=r"nowhere: expected a run folder, which has config"):
        Run.open(tmp_path / "nowhere")


def test_a_torn_last_line_is_left_out_when_a_run_goes_on(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text("".join(f'{{"step": {step}, "loss": 0.5}}\n' for step in (1, 2, 3)) + '{"st')
    assert [row["step"] for row in read_history(path, until=2)] == [1, 2]
    with pytest.raises(DamagedFile, match="line 4"):
        read_history(path)
    assert read_history(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([1, 4], "received none for step 2. Restore it, or remove the snapshots after step 0 and resume"),
        ([], "received none for step 1. Restore it"),
        ([1, 2, 2, 4], "received one out of order for step 2. Restore it"),
        ([1, 2], "up to the snapshot of step 4, in order, received none for step 4"),
    ],
)
def test_a_history_with_a_hole_is_not_gone_on_with(copy, tiny, trained, lines, message):
    path = copy / "history.jsonl"
    own = {row["step"]: json.dumps(row) + "\n" for row in trained.history}
    shutil.rmtree(copy / "snapshots" / "step_00000006")
    path.write_text("".join(own[step] for step in lines))
    with pytest.raises(DamagedFile, match=message):
        train(tiny(), copy)
    shutil.rmtree(copy / "snapshots" / "step_00000004")
    assert train(tiny(), copy).history == trained.history, "what the message says to do helps"


def test_a_run_that_was_made_longer_has_a_line_of_its_earlier_end(tiny, tmp_path):
    short = tiny(steps=5, snapshots=[], history_every=3)
    train(short, tmp_path)
    assert train(claims.lengthen(tmp_path, 7), tmp_path).step == 7
    assert [row["step"] for row in train(claims.lengthen(tmp_path, 8), tmp_path).history] == [1, 3, 5, 6, 7, 8]


@pytest.mark.parametrize("line", ['{"step": 1}', '{"step": "1", "loss": 2}', '{"step": 1, "loss": "high"}', "[1]"])
def test_a_line_of_a_history_has_a_step_and_a_loss(line, tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(DamagedFile, match="line 1: expected a JSON object of finite numbers, with a step and a loss"):
        read_history(path)


def test_rows_of_a_dataset_without_a_task():
    mine = benchmark_data.from_images("mine", np.zeros((4, 8, 8, 1), np.uint8))
    with pytest.raises(
        InvalidInput, match="codes for the leaderboard: expected a dataset with a task, received 'mine'"
    ):
        task_rows(mine)
