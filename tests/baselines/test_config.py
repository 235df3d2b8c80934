from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest

from baselines import RunConfig
from baselines.objectives import beta_vae
from benchmark_data import DamagedFile, InvalidInput, UnknownName, files
from benchmark_data.types import ReadOnly


def config(**changes):
    return RunConfig(**{"dataset": "xysquares/spacing_1", "objective": "beta_vae"} | changes)


def test_defaults_are_the_papers():
    # Bonheme and Grześ 2022, table 1
    c = config()
    assert (c.batch_size, c.latents, c.reconstruction, c.steps) == (64, 10, "bernoulli", 300_000)
    assert (c.learning_rate, c.beta_1, c.beta_2, c.epsilon) == (1e-4, 0.9, 0.999, 1e-8)
    assert (c.snapshots, c.train_share, c.architecture) == (6000, 0.9, "conv")


def test_json_and_back(tmp_path):
    c = config(hyperparameters={"beta": 2}, steps=100, snapshots=[50, 10, 50], architecture="fc", seed=7)
    files.write_json(tmp_path / "config.json", c.as_json())
    assert RunConfig.read(tmp_path / "config.json") == c
    assert c.snapshots == (10, 50)
    assert c.hyperparameters == {"beta": 2.0}
    assert c.architecture_parameters == {"width": 1200}


def test_a_zero_has_no_sign():
    assert config(hyperparameters={"beta": -0.0}).digest == config(hyperparameters={"beta": 0.0}).digest


@pytest.mark.parametrize("key", ["train_share", "learning_rate", "reconstruction_weight"])
def test_a_whole_number_is_the_same_config_as_the_fraction_that_it_is(key):
    whole = config(**{key: 1})
    assert whole.digest == config(**{key: 1.0}).digest == RunConfig.from_json(whole.as_json()).digest


def test_snapshots_that_are_kept():
    assert [s for s in range(11) if config(steps=10, snapshots=3).keeps(s)] == [0, 3, 6, 9, 10]
    assert [s for s in range(11) if config(steps=10, snapshots=[5]).keeps(s)] == [0, 5, 10]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "beta_vea"}, r"objective: expected one of .*, received 'beta_vea'. Did you mean 'beta_vae'\?"),
        ({"architecture": "convo"}, r"architecture: .* received 'convo'. Did you mean 'conv'\?"),
        ({"reconstruction": "bernouli"}, r"reconstruction: .* Did you mean 'bernoulli'\?"),
        ({"reduction": "avg"}, r"reduction: expected one of mean, sum, received 'avg'"),
        ({"hyperparameters": {"bta": 1}}, r"hyperparameter of beta_vae: .* received 'bta'. Did you mean 'beta'\?"),
        (
            {"hyperparameters": {"architecture": "fc"}},
            r"one of beta, received 'architecture'\. This is a setting of every run: RunConfig\(architecture=",
        ),
        ({"architecture": "fc", "architecture_parameters": {"widht": 1}}, r"of fc: .* Did you mean 'width'\?"),
    ],
)
def test_unknown_names_give_the_near_match(changes, message):
    with pytest.raises(UnknownName, match=message):
        config(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hyperparameters": {"beta": "four"}},
            "hyperparameter of beta_vae 'beta': expected a number, received 'four'",
        ),
        ({"hyperparameters": {"beta": float("nan")}}, "'beta': expected a number, received nan"),
        ({"hyperparameters": {"beta": -1}}, "hyperparameter 'beta': expected at least 0, received -1"),
        ({"hyperparameters": [4]}, "hyperparameters: expected keys and values, received"),
        (
            {"architecture": "fc", "architecture_parameters": {"width": 1.5}},
            "'width': expected an integer, received 1.5",
        ),
        ({"architecture_parameters": 3}, "architecture_parameters: expected keys and values, received 3"),
        ({"latents": 0}, "latents: expected at least 1, received 0"),
        ({"latents": True}, "latents: expected an integer, received True"),
        ({"steps": -1}, "steps: expected at least 0, received -1"),
        ({"history_every": 0}, "history_every: expected at least 1, received 0"),
        ({"batch_size": 6.5}, "batch_size: expected an integer, received 6.5"),
        ({"learning_rate": -1e-4}, r"learning_rate: expected a number in \(0, 1000\), received -0.0001"),
        ({"learning_rate": 0}, r"learning_rate: expected a number in \(0, 1000\), received 0"),
        ({"beta_2": 1}, r"beta_2: expected a float32 number in \[0, 1\), received 1"),
        ({"beta_1": 0.99999999}, r"beta_1: expected a float32 number in \[0, 1\), received 0.99999999"),
        ({"learning_rate": 10**400}, "learning_rate: expected a number, received inf"),
        ({"latents": -(10**400)}, "latents: expected at least 1, received -1000"),
        ({"epsilon": 0}, r"epsilon: expected a number in \[1.1754944e-38, 1\), received 0"),
        ({"epsilon": 1e-50}, r"epsilon: expected a number in \[1.1754944e-38, 1\), received 1e-50"),
        ({"reconstruction_weight": 0}, "reconstruction_weight: expected a positive number, received 0"),
        ({"train_share": 0}, r"train_share: expected a number in \(0, 1\], received 0"),
        ({"seed": -1}, "seed: expected at least 0, received -1"),
        ({"seed": 2**63}, r"seed: expected less than 2\*\*63"),
        ({"steps": 10, "snapshots": [11]}, r"snapshots: expected steps in \[0, 10\], received \[11\]"),
        ({"snapshots": 0}, "snapshots: expected at least 1, received 0"),
        ({"snapshots": "all"}, "snapshots: expected a number of steps or a list of steps, received 'all'"),
        ({"snapshots": [1.5]}, "snapshots: expected an integer, received 1.5"),
        ({"dataset": 3}, "dataset: expected a string, received 3"),
    ],
)
def test_wrong_values_are_named(changes, message):
    with pytest.raises(InvalidInput, match=message):
        config(**changes)


PAIRED = ("beta_tc_vae", "factor_vae", "hfs", "dip_vae_i", "dip_vae_ii", "simclr", "vicreg", "lejepa", "infonce_pairs")


@pytest.mark.parametrize(
    ("objective", "name"),
    [
        *((objective, "batch_size") for objective in PAIRED),
        *((objective, "latents") for objective in ("beta_tc_vae", "factor_vae", "hfs", "ada_gvae", "ada_ml_vae")),
    ],
)
def test_of_one_image_or_latent_some_objectives_would_be_others(objective, name):
    with pytest.raises(InvalidInput, match=rf"^{name} of {objective}: expected at least 2, received 1"):
        RunConfig(dataset="xysquares/spacing_1", objective=objective, **{name: 1})
    RunConfig(dataset="xysquares/spacing_1", objective=objective, **{name: 2})
    RunConfig(dataset="xysquares/spacing_1", objective="beta_vae", **{name: 1})


def test_numpys_numbers_are_numbers():
    """Those of a search over np.linspace, say: the config holds plain ones, as if it had been given them."""
    plain = {"steps": 10, "seed": 3, "latents": 2, "learning_rate": 0.5, "snapshots": 5, "architecture": "fc"}
    nested = {"hyperparameters": {"beta": 4.0}, "architecture_parameters": {"width": 8}}
    kinds = {int: np.int64, float: np.float64, str: np.str_}
    given = {key: kinds[type(value)](value) for key, value in plain.items()}
    found = config(**given, hyperparameters={"beta": np.float64(4)}, architecture_parameters={"width": np.int32(8)})
    wanted = config(**plain, **nested)
    assert found == wanted
    assert found.digest == wanted.digest
    assert json.dumps(found.as_json()) == json.dumps(wanted.as_json())
    assert {type(value) for value in vars(found).values()} <= {int, float, str, ReadOnly, tuple}
    assert config(steps=10, snapshots=[np.int64(5)]).snapshots == (5,)
    assert type(config(steps=10, snapshots=[np.int64(5)]).snapshots[0]) is int
    with pytest.raises(InvalidInput, match="latents: expected an integer, received True"):
        config(latents=np.bool_(True))


def test_json_with_unknown_or_missing_keys():
    values = json.loads(json.dumps(config().as_json()))
    with pytest.raises(UnknownName, match=r"key of a run's config: .* received 'lerning_rate'. Did you mean 'learning"):
        RunConfig.from_json(values | {"lerning_rate": 1})
    with pytest.raises(InvalidInput, match="key of a run's config: expected a value for 'objective', received none"):
        RunConfig.from_json({"dataset": "xysquares/spacing_1"})
    with pytest.raises(InvalidInput, match="a run's config: expected an object of keys and values, received list"):
        RunConfig.from_json([])


def test_a_missing_file(tmp_path):
    with pytest.raises(DamagedFile, match=r"config.json: expected a JSON file"):
        RunConfig.read(tmp_path / "config.json")


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().steps = 3
    with pytest.raises(InvalidInput, match=r"expected no change of {'beta': 4.0}; dataclasses.replace makes a copy"):
        config().hyperparameters["beta"] = 3
    assert copy.deepcopy(config()).as_json() == config().as_json()


def test_a_hyperparameter_may_not_have_the_name_of_a_setting(monkeypatch):
    own = dataclasses.make_dataclass("Own", [("epsilon", float, 0.25)], bases=(beta_vae.OBJECTIVE,), frozen=True)
    monkeypatch.setattr(beta_vae, "OBJECTIVE", own)
    with pytest.raises(InvalidInput, match="hyperparameters of beta_vae: epsilon is a setting of every run"):
        RunConfig(dataset="dsprites", objective="beta_vae")
