"""Many models in one program: on jax in a process of its own, on TensorFlow one after another."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from baselines import RunConfig, train_together
from baselines.training.loop import groups
from benchmark_data import InvalidInput

WEIGHTS = 1e-4
"""How far the weights may end from those of a run alone, over how far training moved them: rounding gives 3e-6, a
learning rate that is 1% off gives 1e-2."""

NOISE = {"simclr": 0.1, "infonce_pairs": 1e-3}
"""The same for losses of directions alone. Some weights have no gradient but rounding, and Adam makes steps of it: on
processors with AVX2 0.04 and 2e-4. Of these the history is what tells."""

HISTORY = 5e-3
"""How far the history's scalars may be, relatively: rounding gives up to 2e-4, a learning rate that is 1% off 2e-2."""


@pytest.fixture(scope="module")
def found(tiny, some_objectives, jax_on_cpu, tmp_path_factory):
    settings = json.dumps(tiny(learning_rate=1e-3).as_json())
    names = json.dumps(some_objectives)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("together.py"), tmp_path_factory.mktemp("jax"), settings, names],
        env=jax_on_cpu,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: value for line in done.stdout.splitlines() for name, value in json.loads(line).items()}


def test_together_they_end_as_alone(found, some_objectives):
    assert set(found["same_as_alone"]) == set(some_objectives)
    for name, (steps, weights, history) in found["same_as_alone"].items():
        assert steps == [[0, 4, 6]] * 3, name
        assert weights < NOISE.get(name, WEIGHTS), name
        assert history < HISTORY, name


def test_objectives_take_the_strengths_of_many_models(found, some_objectives):
    shapes = found["every_objective_takes_strengths"]
    assert set(shapes) == set(some_objectives)
    assert all(shape == [2] for history in shapes.values() for shape in history.values())


def test_a_group_that_was_killed_goes_on_each_run_from_its_own_step(found):
    killed = found["killed"]
    assert killed["at"] == [[0, 4], [0], [0]]
    assert killed["after"] == killed["again"] == [[0, 4, 6]] * 3
    assert killed["images"] == [24] * 3
    for weights, history in killed["differences"]:
        assert weights < WEIGHTS
        assert history < HISTORY


def test_a_run_that_diverges_stops_alone(found):
    diverging = found["diverging"]
    first, second, third = diverging["stopped"]
    assert first is None
    assert third is None
    assert "expected a finite number that does not explode" in second
    assert "The last snapshot is that of step" in second
    assert diverging["steps"][0] == diverging["steps"][2] == [0, 4, 12]
    assert diverging["steps"][1][-1] < 12
    assert diverging["finite"]
    ((description, completed, loss),) = diverging["shown"]
    assert (description, completed) == ("beta_vae/0 to 2 (3 runs) xysquares/spacing_1", 12)
    assert re.fullmatch(r"loss \S+( to \S+)?, 1 stopped", loss)


def test_pixels_on_the_device_are_the_datasets(found):
    held = found["on_the_device"]
    assert held["held"]
    assert held["limit"]
    assert held["few"]
    assert held["free"]  # a CPU has no memory of its own
    assert held["difference"] == [0.0, 0.0]


def test_convolutions_are_those_of_keras(found):
    assert len(found["layers"]) == 6
    for name, differences in found["layers"].items():
        assert max(differences) < 1e-5, name


@pytest.mark.whole
def test_the_benchmark_for_a_gpu_runs_without_one_and_goes_on_where_it_was_cut_off(tmp_path):
    script = Path(__file__).parents[3] / "benchmarks" / "gpu_training.py"
    results = tmp_path / "results.json"
    command = [sys.executable, script, "--quick", "--seconds", "0.1", "--models", "2", "--results", results]
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}

    def call(*options):
        return subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)

    cut = call("--limit", "0")
    assert "no training was measured" in cut.stderr
    assert not results.exists()
    done = call()
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line[:4] == "| 2 "]
    assert [row[:2] for row in rows] == [["2", "float32"], ["2", "bfloat16"]]
    for row in rows:
        rate, per_model = (float(cell.replace(",", "")) for cell in row[2:4])
        assert rate > 0
        assert per_model == pytest.approx(rate / 2, rel=0.1, abs=1)
    assert "--quick: tiny networks" in done.stdout

    measured = json.loads(results.read_text())
    assert {"matmul 0 -", "ours 2 float32", "ours 2 bfloat16"} <= set(measured)
    held = {key: row for key, row in measured.items() if key != "ours 2 bfloat16"}
    results.write_text(json.dumps(held))
    again = call()
    assert again.returncode == 0, again.stderr
    after = json.loads(results.read_text())
    assert set(after) == set(measured)
    assert {key: after[key] for key in held} == held  # what was there was not measured again


def test_operations_of_the_papers_network_counted_by_hand():
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    from gpu_training import flop

    from baselines.model import Model

    sys.path.pop(0)
    model = Model(RunConfig(dataset="xysquares/spacing_8", objective="beta_vae"), (64, 64, 3))
    halves = 16 * (32**2 * 3 * 32 + 16**2 * 32 * 32 + 8**2 * 32 * 64 + 4**2 * 64 * 64)  # the decoder's mirror these
    dense = 2 * 1024 * 256 + 3 * 256 * 10
    first = 16 * 32**2 * 3 * 32
    assert flop(model) == 2 * (3 * (2 * halves + dense) - first)


def test_on_tensorflow_they_are_trained_one_after_another(tiny, trained, tmp_path):
    told = []
    runs = train_together(
        [tiny(), tiny(seed=1, hyperparameters={"beta": 1.0})],
        [tmp_path / "a", tmp_path / "b"],
        observers=[[], [lambda step, scalars: told.append(step)]],
    )
    assert [run.steps for run in runs] == [[0, 4, 6]] * 2
    assert runs[0].history == trained.history
    assert told == [row["step"] for row in runs[1].history]


def test_runs_that_do_not_go_together(tiny, tmp_path):
    configs = [tiny(), tiny(latents=4)]
    assert groups([*configs, tiny(seed=7, hyperparameters={"beta": 0.5}, learning_rate=0.1)]) == [[0, 2], [1]]
    with pytest.raises(InvalidInput, match="latents of runs that are trained together: expected the same for all, 3,"):
        train_together(configs, [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(InvalidInput, match="folders: expected a different one for each of 2 runs"):
        train_together([tiny(), tiny(seed=1)], [tmp_path / "a"] * 2)
    with pytest.raises(InvalidInput, match="folders: expected a different one for each of 2 runs"):
        train_together([tiny(), tiny(seed=1)], [tmp_path / "a", tmp_path / "b" / ".." / "a"])
    with pytest.raises(InvalidInput, match=r"folders: expected a different one for each of 0 runs \(at least one\)"):
        train_together([])
    with pytest.raises(InvalidInput, match=r"observers: expected 2 lists, received 1\. Pass one for each run"):
        train_together([tiny(), tiny(seed=1)], [tmp_path / "a", tmp_path / "b"], observers=[[print]])
    assert not list(tmp_path.iterdir())
