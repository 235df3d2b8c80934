"""Encoders in ONNX that give what the networks give, and folders that others can recompute every score from."""

from __future__ import annotations

import shutil

import numpy as np
import onnx
import onnxruntime
import pytest
from typer.testing import CliRunner

import benchmark_data
from baselines import train
from baselines.commands import train as cli
from baselines.nets import architectures
from baselines.nets.backend import keras
from baselines.outputs import export, onnx_graphs
from baselines.run import Run
from baselines.training import claims
from benchmark_data.errors import InvalidInput
from leaderboard import protocol
from leaderboard.reading import graphs, representations
from leaderboard.scoring import submission
from tests.leaderboard import scored_submission


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Score 300 rows of each dataset, by MIG alone."""
    tier = protocol.Tier("desk", "For tests.", (protocol.Measurement("mig", train=200),))
    monkeypatch.setattr(protocol, "TIERS", {"desk": tier})
    monkeypatch.setattr(protocol, "TRAIN", 200)
    monkeypatch.setattr(protocol, "TEST", 100)
    protocol.task.cache_clear()
    yield
    protocol.task.cache_clear()


def run(content, images):
    return onnxruntime.InferenceSession(content).run(["codes"], {"images": images})[0]


def ends(network):
    return network.inputs[0], network.outputs[0]


@pytest.mark.parametrize(
    ("name", "small"),
    [
        *((name, {"width": 32} if name == "fc" else {}) for name in architectures.ARCHITECTURES),
        ("conv", {"pixel_mean": 0.1, "pixel_std": 0.2}),  # as in the sweeps of Michlo et al.
    ],
)
def test_the_graph_of_every_architecture_gives_what_the_network_gives(name, small):
    """Images whose sides differ, so that a mistaken axis shows."""
    rng = np.random.default_rng(0)
    network, _ = architectures.find(name)((32, 48, 3), 5, rng, **small)
    for variable in network.trainable_variables:  # zeros and ones of the start would hide what is left out
        variable.assign(np.asarray(variable.value) + 0.05 * rng.standard_normal(variable.shape).astype(np.float32))
    images = rng.integers(0, 256, (7, 32, 48, 3), dtype=np.uint8)
    content = onnx_graphs.encoder(*ends(network), (32, 48, 3))
    wanted = np.asarray(network(np.divide(images, 255, dtype=np.float32))[0])
    np.testing.assert_allclose(run(content, images), wanted, atol=2e-5 * np.abs(wanted).max())
    assert wanted.std(axis=0).min() > 1e-3
    assert graphs.inspect(content) == ("images", "uint8", (None, 32, 48, 3), "codes")
    assert onnx_graphs.encoder(*ends(network), (32, 48, 3)) == content


def test_layers_of_your_own_are_written_as_they_are():
    """Without a bias, without padding, dilated, and with a softmax over rows."""
    rng = np.random.default_rng(0)
    image = keras.Input((12, 10, 1))
    x = keras.layers.Conv2D(3, 3, padding="valid", dilation_rate=2, use_bias=False, name="conv")(image)
    x = keras.ops.softmax(x, axis=1)
    code = keras.layers.Dense(2, use_bias=False, name="code")(keras.layers.Flatten()(x))
    network = keras.Model(image, code)
    images = rng.integers(0, 256, (7, 12, 10, 1), dtype=np.uint8)
    content = onnx_graphs.encoder(*ends(network), (12, 10, 1))
    wanted = np.asarray(network(np.divide(images, 255, dtype=np.float32)))
    np.testing.assert_allclose(run(content, images), wanted, atol=1e-6)


def test_what_is_used_twice_is_written_once():
    image = keras.Input((2, 2, 1))
    x = keras.layers.Dense(3, name="shared")(keras.layers.Flatten()(image))
    content = onnx_graphs.encoder(image, keras.ops.add(x, keras.ops.absolute(x)), (2, 2, 1))
    operators = [node.op_type for node in onnx.load_model_from_string(content).graph.node]
    assert operators.count("MatMul") == 1


def test_codes_of_quantised_latents(tiny, tmp_path):
    """Their code is the nearest of a few values, which the graph must round to as well."""
    made = train(tiny(objective="qlae", reduction="mean", epsilon=1e-12), tmp_path / "run")
    export.write_encoder(made)
    images = made.dataset.images(np.arange(0, 40_000, 200))
    found = run((tmp_path / "run" / "encoder.onnx").read_bytes(), images)
    np.testing.assert_allclose(found, made.encode(images).mean, atol=1e-5)
    assert max(len(np.unique(column.round(4))) for column in found.T) <= 10


def test_a_layer_that_is_not_known():
    image = keras.Input((8, 8, 1))
    pooled = keras.layers.GlobalAveragePooling2D(name="pool")(image)
    with pytest.raises(
        InvalidInput, match=r"layer pool of the encoder: expected one of .* received GlobalAveragePooling2D"
    ):
        onnx_graphs.encoder(image, pooled, (8, 8, 1))
    dense = keras.layers.Dense(2, "selu", name="odd")(keras.layers.Flatten()(image))
    with pytest.raises(InvalidInput, match="activation of odd: expected linear, relu, tanh or gelu, received selu"):
        onnx_graphs.encoder(image, dense, (8, 8, 1))


@pytest.fixture
def trained(trained, tmp_path):
    """A copy of the shared run: an export first writes codes to the run's own folder."""
    return Run.open(shutil.copytree(trained.folder, tmp_path / "run"))


def test_an_export_holds_all_that_others_need(trained, tmp_path):
    folder = export.export(trained, tmp_path / "out")
    assert sorted(file.name for file in folder.iterdir()) == [
        *("codes.npz", "config.json", "encoder.onnx", "run.json", "weights.safetensors")
    ]
    found = representations.arrays(folder / "weights.safetensors")
    for name, values in trained.model.weights().items():
        np.testing.assert_array_equal(found[name], values)
    rows = protocol.task(trained.config.dataset).indices
    codes = run((folder / "encoder.onnx").read_bytes(), trained.dataset.images(rows))
    np.testing.assert_allclose(codes, np.load(folder / "codes.npz")["codes"], atol=1e-5)
    trained.write_codes(trained.folder / "codes.npz", benchmark_data.load("xysquares/spacing_2"))
    again = export.export(trained, tmp_path / "again")
    assert (again / "codes.npz").read_bytes() == (folder / "codes.npz").read_bytes(), (
        "the run's own, whatever lay there"
    )


def test_a_graph_that_encodes_in_another_way_than_the_run_is_not_written(trained, tmp_path, monkeypatch):
    other = Run.open(trained.folder)
    network = other.model.encoder
    network.get_layer("mean").bias.assign(network.get_layer("mean").bias + 1)
    monkeypatch.setattr(other, "encode", trained.encode)
    with pytest.raises(
        InvalidInput, match="expected the ONNX graph to return the run's codes, received codes that differ"
    ):
        export.write_encoder(other, tmp_path / "encoder.onnx")
    assert not (tmp_path / "encoder.onnx").exists()


def test_an_encoder_that_the_board_does_not_take_is_told_by_its_run(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "LARGEST", 1_000)
    with pytest.raises(InvalidInput, match=r"encoder of .*: expected at most 1,000 bytes, received .*smaller network"):
        export.write_encoder(trained, tmp_path / "encoder.onnx")


def test_a_run_that_is_not_finished(trained, tmp_path):
    with pytest.raises(InvalidInput, match="expected a finished run of 6 steps, received step 4"):
        export.export(Run.open(trained.folder, step=4), tmp_path / "out")
    claims.lengthen(trained.folder, 8)
    with pytest.raises(InvalidInput, match="expected a finished run of 8 steps, received step 6"):
        trained.encode_task()  # opened before


def test_commands(trained, tmp_path):
    done = CliRunner().invoke(cli.app, ["export", str(trained.folder), "--to", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert (tmp_path / "out" / "encoder.onnx").exists()


def test_of_several_runs_each_has_its_folder(trained, tmp_path):
    again = shutil.copytree(trained.folder, tmp_path / "again")
    done = CliRunner().invoke(cli.app, ["export", str(trained.folder), str(again), "--to", str(tmp_path / "out")])
    assert done.exit_code == 0, done.exception
    named = f"{trained.config.dataset.replace('/', '.')}.{trained.config.objective}"
    assert {one.name for one in (tmp_path / "out").iterdir()} == {f"{named}.{trained.folder.name}", f"{named}.again"}


def test_scores_come_out_of_codes_to_every_printed_digit_and_of_the_encoder_nearly(trained, tmp_path):
    """What the board publishes of a run has no codes: the encoder gives them again, up to the rounding of sums."""
    trained.encode_task()
    folder = export.export(trained, tmp_path / "out")
    (from_codes,) = scored_submission.score_runs([folder])
    (of_the_run,) = scored_submission.score_runs([trained.folder])
    assert from_codes.runs[0].scores == of_the_run.runs[0].scores
    (folder / "codes.npz").unlink()
    assert submission.encode_run(folder) == folder / "codes.npz"
    assert submission.encode_run(folder) is None, "what is there stays"
    (again,) = scored_submission.score_runs([folder])
    assert again.runs[0].scores == pytest.approx(from_codes.runs[0].scores, abs=2e-3)


def test_an_encoder_whose_codes_are_less_than_the_run_s_is_not_written(trained, tmp_path, monkeypatch):
    other = Run.open(trained.folder)
    bias = other.model.encoder.get_layer("mean").bias
    bias.assign(bias - 1)
    monkeypatch.setattr(other, "encode", trained.encode)
    with pytest.raises(InvalidInput, match="received codes that differ"):
        export.write_encoder(other, tmp_path / "encoder.onnx")


def test_an_encoder_of_a_run_that_is_not_finished(trained, tmp_path):
    with pytest.raises(InvalidInput, match="expected a finished run of 6 steps, received step 4"):
        export.write_encoder(Run.open(trained.folder, step=4), tmp_path / "encoder.onnx")
