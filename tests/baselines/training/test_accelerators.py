"""Training on GPUs, as far as a machine without one can show it: eight simulated devices, steps lowered for CUDA."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ALIKE = 1e-6
"""How far weights may end from those of models that share a device in as many, over how far training moved them, and
losses, of themselves. Found on CPUs: nothing at all."""

WEIGHTS, HISTORY = 1e-4, 5e-3
"""The same for models that share a device in other numbers, as in test_together.py: one alone is computed by other
kernels than two are. Found on CPUs: 2.7e-6 and 1.2e-5 with AVX2, less than 1e-6 with AVX512."""


@pytest.fixture(scope="module")
def found(tiny, some_objectives, jax_on_cpu, tmp_path_factory, request):
    parts = ["lowered", "compiled", "copied"]
    parts += ["divided", "diverging", "moved"] if request.config.getoption("--whole") else []
    settings = tiny(learning_rate=1e-3).as_json()
    simulated = f"{jax_on_cpu['XLA_FLAGS']} --xla_force_host_platform_device_count=8"
    script = Path(__file__).with_name("accelerators.py")
    done = subprocess.run(
        [
            sys.executable,
            script,
            tmp_path_factory.mktemp("devices"),
            *map(json.dumps, (settings, some_objectives, parts)),
        ],
        env={**jax_on_cpu, "XLA_FLAGS": simulated},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: value for line in done.stdout.splitlines() for name, value in json.loads(line).items()}


def check(alike, as_on_one):
    """Check five models against those that share a device in as many, and against all five on one device."""
    assert len(alike) == len(as_on_one) == 5
    for weights, history in alike:
        assert weights <= ALIKE
        assert history <= ALIKE
    for weights, history in as_on_one:
        assert weights <= WEIGHTS
        assert history <= HISTORY


@pytest.mark.whole
@pytest.mark.parametrize(("count", "used"), [(1, 1), (4, 3), (8, 5)])
def test_models_that_are_divided_end_as_on_one_device(found, count, used):
    """Five models: on four devices two, two and one with a copy of itself; on eight one each."""
    devices, places, recorded, *differences = found["divided"][str(count)]
    assert (devices, places, recorded) == (used, used, count)
    check(*differences)


@pytest.mark.whole
def test_a_model_that_diverges_touches_no_other_on_its_device_or_elsewhere(found):
    assert found["diverging"]["stopped"] == [False, True, False, False, False]
    assert found["diverging"]["equal"] == [True] * 4  # to those beside a model that did not diverge, bit by bit


@pytest.mark.whole
@pytest.mark.parametrize("count", [1, 8])
def test_what_was_stopped_on_four_devices_goes_on_exactly_on_others(found, count):
    exact, *differences = found["moved"][str(count)]
    assert exact
    check(*differences)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_every_step_is_lowered_for_cuda_and_never_leaves_the_device(found, some_objectives, precision):
    for name in (*some_objectives, "conv"):
        lowered = found["lowered"][f"{name} {precision}"]
        assert lowered["platforms"] == ["cuda"], name
        assert lowered["devices"] == 2, name
        assert lowered["calls"] == lowered["transfers"] == [], name  # no host callback, not a word between devices
        of_codes = ("dip_vae_i", "dip_vae_ii", "lejepa", "simclr", "vicreg")  # products in their losses are float32
        inexact = ["bf16", "f32"] if name in of_codes else ["bf16"]
        assert lowered["products"] == {"float32": ["f32"], "bfloat16": inexact}[precision], name
        assert lowered["weights"] == ["float32"], name


def test_a_run_compiles_its_step_once_and_a_step_sends_what_was_drawn(found):
    compiled = found["compiled"]
    assert compiled["run"] == 1
    assert compiled["both"] == 2  # one more group, of another batch
    # from jax 0.12 on the call ends at another transfer, which it makes only where an array is not there yet
    refused = r"Disallowed (host-to-device|device-to-host) transfer"
    assert re.search(refused, compiled["refused"]), "an array from the host goes unnoticed"
    # 4 images a batch: rows of int32, noise of 3 float32, and the step; nothing else, for each of 5 models and a copy
    assert compiled["bytes"] == {"rows": 4 * 4, "noise": 4 * 3 * 4, "step": 4}
    assert compiled["sent"] == {name: 6 * size for name, size in compiled["bytes"].items()}


@pytest.mark.whole
def test_the_benchmark_of_a_device_that_sleeps_runs():
    script = Path(__file__).parents[3] / "benchmarks" / "feeding.py"
    command = [sys.executable, script, "--quick", "--models", "2", "--seconds", "0.001", "--time", "0.2"]
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps, busy = re.search(r"step of 0.001 s: (\d+) steps, busy ([\d.]+)%", done.stdout).groups()
    assert int(steps) == 200  # every step that the loop asked for, and no other
    assert 0 < float(busy) <= 100


def test_steps_go_on_while_a_copy_of_the_states_is_brought(found):
    copied = found["copied"]
    assert copied["as before"] == [True] * 3
    assert copied["as after"] == [False] * 3, "the steps moved nothing"
    assert copied["flaws"] == [""] * 3
    assert copied["broken"] == ["", "moment", ""]
