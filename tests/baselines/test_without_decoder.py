"""A run whose objective has no decoder: nothing of one is in its files, pictures or outputs."""

from __future__ import annotations

import json

import pytest

from baselines import Run, RunConfig, train
from baselines.commands.train import tell_explained
from baselines.outputs import export, pictures
from benchmark_data import InvalidInput


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    config = RunConfig(
        dataset="xysquares/spacing_8",
        objective="infonce_pairs",
        architecture="fc",
        architecture_parameters={"width": 8},
        latents=6,
        steps=2,
        batch_size=4,
    )
    return train(config, tmp_path_factory.mktemp("runs") / "run")


def test_there_is_no_decoder_and_nothing_of_one(run, capsys):
    assert run.model.decoder is None
    assert all(name.startswith("encoder/") for name in run.model.weights())
    assert set(run.history[0]) == {"step", "loss", "info_nce"}
    assert list(run.activations(run.dataset.images([0, 1])))[-1] == "mean"
    assert {path.name for path in pictures.draw_all(run)} == {"losses.png"}
    tell_explained(run)
    assert capsys.readouterr() == ("", "")
    with pytest.raises(InvalidInput, match="decoding: expected an objective with a decoder, received infonce_pairs"):
        run.decode(run.encode_rows([0]))
    told = json.loads((run.folder / "run.json").read_text())
    assert told["supervision"] == "weakly_supervised"
    assert not [key for key in told["hyperparameters"] if key.startswith("reconstruction") or key == "reduction"]


def test_its_encoder_is_exported(run):
    assert export.write_encoder(run).name == "encoder.onnx"
