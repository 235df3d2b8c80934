"""No machine of the tests has a GPU: ``nvidia-smi``, the driver's files and the backends' device lists are made up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from baselines import train
from baselines.commands import train as cli
from baselines.engines import devices
from baselines.training import sweep, worker
from benchmark_data import InvalidInput, UnknownName

SMI = "NVIDIA A100-SXM4-40GB, 550.54.15"


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """A machine without a GPU, whatever this one has."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(devices, "GPU_DEVICE_FILE", tmp_path / "nvidia0")
    monkeypatch.setattr(devices, "CPU_FLAGS", tmp_path / "nowhere")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    devices._driver_version.cache_clear()
    yield
    devices._driver_version.cache_clear()


@pytest.fixture
def plugged(tmp_path):
    """Plug GPUs in: write an ``nvidia-smi`` that lists them, or fails."""

    def plug(*rows, status=0):
        (tmp_path / "bin").mkdir(exist_ok=True)
        script = tmp_path / "bin" / "nvidia-smi"
        printed = "".join(f"echo '{row}'\n" for row in rows)
        script.write_text(f"#!/bin/sh\n{printed}exit {status}\n")
        script.chmod(0o755)

    return plug


@pytest.fixture
def fake(monkeypatch):
    """Return a backend that sees these GPUs."""

    def make(name, *gpus, **settings):
        if name == "jax":
            cards = [types.SimpleNamespace(platform="gpu", device_kind=gpu) for gpu in gpus]
            cpu = types.SimpleNamespace(platform="cpu", device_kind="cpu")
            config = types.SimpleNamespace(jax_platforms=None, jax_default_matmul_precision=None, **settings)
            config.update = lambda key, value: setattr(config, key, value)
            module = types.SimpleNamespace(
                config=config, local_devices=lambda: [cpu] if config.jax_platforms == "cpu" else cards or [cpu]
            )
        else:
            visible = list(gpus)
            module = types.SimpleNamespace(
                config=types.SimpleNamespace(
                    threading=types.SimpleNamespace(get_intra_op_parallelism_threads=lambda: 0),
                    get_visible_devices=lambda kind: visible,
                    set_visible_devices=lambda chosen, kind: visible.clear(),
                    experimental=types.SimpleNamespace(
                        get_device_details=lambda gpu: {"device_name": gpu},
                        tensor_float_32_execution_enabled=lambda: True,
                    ),
                )
            )
        monkeypatch.setattr(devices.backend, "name", lambda: name)
        monkeypatch.setattr(devices.backend, "versions", lambda *packages: dict.fromkeys(packages, "1.2"))
        monkeypatch.setattr(devices, name, module)

    return make


def test_gpus_are_found_by_nvidia_smi_or_by_the_drivers_file(plugged, monkeypatch):
    assert devices.installed_gpus() is None
    devices.GPU_DEVICE_FILE.touch()
    assert devices.installed_gpus() == (("an NVIDIA GPU",), "")
    plugged(status=9)  # a driver that does not answer
    assert devices.installed_gpus() == (("an NVIDIA GPU",), "")
    plugged(SMI, SMI)
    assert devices.installed_gpus() == (("NVIDIA A100-SXM4-40GB",) * 2, "550.54.15")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert devices.installed_gpus() is not None
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert devices.installed_gpus() is None


@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_a_gpu_that_the_backend_cannot_use_is_told_with_one_command(plugged, fake, name):
    fake(name)
    assert devices.advice("auto", "float32") == []
    plugged(SMI)
    (told,) = devices.advice("auto", "float32")
    assert told.startswith(
        f"NVIDIA A100-SXM4-40GB is not used, since {name} was installed without CUDA. Install it with: "
    )
    assert told.endswith({"jax": "pip install 'offaxis[gpu]'", "tensorflow": "'offaxis[tensorflow-gpu]'"}[name])
    assert devices.advice("cpu", "float32") == []  # asked for
    with pytest.raises(InvalidInput, match=rf"expected a GPU that {name} can use, received NVIDIA A100-SXM4-40GB and"):
        devices.choose("gpu")
    with pytest.warns(devices.SlowDevice, match="A100"):
        devices.warn("float32")


def test_jax_that_was_told_to_stay_on_the_processor_is_left_alone(plugged, fake):
    plugged(SMI)
    fake("jax")
    devices.jax.config.jax_platforms = "cpu"
    assert devices.advice("auto", "float32") == []


@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_a_gpu_that_the_backend_uses(plugged, fake, name):
    plugged(SMI, SMI)
    fake(name, "A100", "A100")
    devices.choose("gpu")
    assert devices.advice("auto", "bfloat16") == []
    assert devices.device_summary() == f"2 x A100 (driver 550.54.15), with {name} 1.2"
    assert devices.record("bfloat16") == {
        "backend": name,
        "device": "A100",
        "devices": 2,
        "driver": "550.54.15",
        "threads": devices.threads(),
        "precision": "bfloat16",
        "tensorfloat32": True,
        "deterministic": name == "tensorflow",
    }
    devices.choose("cpu")
    assert devices.usable_gpus() == []
    assert "CPU cores" in devices.device_summary()
    assert devices.record("float32")["tensorfloat32"] is False


def test_jax_is_deterministic_and_exact_where_it_is_told_so(plugged, fake, monkeypatch):
    fake("jax", "A100")
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")
    devices.jax.config.jax_default_matmul_precision = "highest"
    found = devices.record("float32")
    assert (found["deterministic"], found["tensorfloat32"], found["driver"]) == (True, False, "")


@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_the_threads_that_computed(fake, monkeypatch, name):
    """Those of ``--threads``; else the cores; else what the program itself told TensorFlow."""
    fake(name)
    for variable, value in worker.thread_limits(3).items():
        monkeypatch.setenv(variable, value)
    count = devices.threads.__wrapped__  # not kept for the process
    assert count() == 3
    for variable in worker.thread_limits(3):
        monkeypatch.delenv(variable)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 5, 6}, raising=False)
    assert count() == 4
    if name == "tensorflow":
        devices.tensorflow.config.threading.get_intra_op_parallelism_threads = lambda: 5
        assert count() == 5


def test_choices_that_cannot_be_had(fake):
    fake("tensorflow")
    with pytest.raises(
        UnknownName, match=r"--device: expected one of auto, cpu, gpu, received 'gpuu'. Did you mean 'gpu'"
    ):
        devices.choose("gpuu")
    with pytest.raises(InvalidInput, match=r"--device gpu: .* received a machine without one. Omit --dev"):
        devices.choose("gpu")
    fake("tensorflow", "A100")

    def refuse(chosen, kind):
        raise RuntimeError("Visible devices cannot be modified after being initialized")

    devices.tensorflow.config.set_visible_devices = refuse
    with pytest.raises(
        InvalidInput, match="--device cpu: expected a process that has not used a GPU yet, received one that"
    ):
        devices.choose("cpu")


@pytest.mark.parametrize(
    ("flags", "warned"),
    [("fma avx512f", True), ("avx512f avx512_bf16", False), ("amx_bf16 amx_tile", False), (None, False)],
)
def test_bfloat16_where_the_processor_has_no_instructions_for_it(fake, tmp_path, monkeypatch, flags, warned):
    fake("tensorflow")
    if flags:
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : {flags}\n")
        monkeypatch.setattr(devices, "CPU_FLAGS", tmp_path / "cpuinfo")
    told = devices.advice("auto", "bfloat16")
    assert [sentence[:59] for sentence in told] == [
        "this processor has neither AVX512_BF16 nor AMX: it emulates"
    ] * warned
    assert devices.advice("auto", "float32") == []


TINY = (
    "run --dataset xysquares/spacing_1 --objective ae --steps 2 --set architecture=fc --set width=4 "
    "--set batch_size=2 --set latents=2 --no-encode"
)


def call(command):
    return CliRunner().invoke(cli.app, command.split(), catch_exceptions=False)


def test_the_first_line_says_what_a_run_computes_on(plugged, tmp_path):
    done = call(f"{TINY} --to {tmp_path}/run")
    first, *rest = done.stderr.splitlines()
    assert first.startswith("device: ")
    assert "CPU cores" in first
    assert ", with tensorflow 2." in first
    assert not any(line.startswith("warning") and "CUDA" in line for line in rest)
    plugged(SMI)
    first, second, *_ = call(f"resume {tmp_path}/run --no-encode").stderr.splitlines()
    assert first.startswith("device: ")
    assert second.startswith("warning: NVIDIA A100-SXM4-40GB is not used, since tensorflow was installed without CUDA.")
    with pytest.raises(InvalidInput, match="--device gpu"):
        call(f"{TINY} --device gpu --to {tmp_path}/gpu")
    assert not (tmp_path / "gpu").exists()
    assert "CUDA" not in call(f"{TINY} --device cpu --to {tmp_path}/cpu").stderr
    record = json.loads((tmp_path / "cpu" / "run.json").read_text())
    assert record["computed"].items() > devices.record("float32").items()
    assert (record["computed"]["backend"], record["computed"]["deterministic"]) == ("tensorflow", True)


def test_training_from_python_warns_too(plugged, tiny, tmp_path):
    plugged(SMI)
    with pytest.warns(devices.SlowDevice, match="NVIDIA A100-SXM4-40GB is not used"):
        train(tiny(), tmp_path / "run")


def test_a_sweep_refuses_a_device_that_is_not_there(tiny, tmp_path, in_this_process, plugged):
    with pytest.raises(UnknownName, match=r"received 'cuda:0'. For CUDA, use gpu"):
        devices.choose("cuda:0")
    with pytest.raises(UnknownName, match="--device: expected one of auto, cpu, gpu, received 'tpu'"):
        sweep.run([tiny()], tmp_path, device="tpu")
    with pytest.raises(InvalidInput, match=r"--device gpu: expected a GPU that tensorflow can use, .* Omit --device"):
        sweep.run([tiny()], tmp_path / "none", jobs=1, device="gpu", encode=False)
    assert not (tmp_path / "none").exists()
    plugged(SMI)  # which the backend cannot use, as only a worker finds out
    (state,) = sweep.run([tiny()], tmp_path, jobs=1, device="gpu", encode=False)
    assert state.state == "failed"
    assert state.error.startswith("--device gpu: expected a GPU that tensorflow can use")


def environment(program, **variables):
    keys = ("TF_FORCE_GPU_ALLOW_GROWTH", "XLA_PYTHON_CLIENT_PREALLOCATE", "KERAS_BACKEND")
    own = {key: value for key, value in os.environ.items() if key not in keys}
    show = f"{program}; import os; print(*[os.environ.get(key) for key in {keys!r}])"
    done = subprocess.run([sys.executable, "-c", show], env=own | variables, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_memory_is_taken_as_it_is_needed_and_jax_stands_in_for_tensorflow():
    load = "from baselines.nets import backend; backend._load('jax')"
    assert environment(load) == ["true", "false", "None"]
    assert environment(load, TF_FORCE_GPU_ALLOW_GROWTH="false", XLA_PYTHON_CLIENT_PREALLOCATE="true")[:2] == [
        "false",
        "true",
    ]
    hidden = "import importlib.util as u; f = u.find_spec"
    hidden += "; u.find_spec = lambda name, *rest: None if name in ('tensorflow', 'torch') else f(name, *rest)"
    assert environment(f"{hidden}; from baselines.nets import backend; backend.name()")[2] == "jax"


def test_bfloat16_trains_beside_float32(tiny, trained, tmp_path):
    """Weights stay float32, and what is computed differs by bfloat16's 8 bits of mantissa: 2**-8 for a number."""
    run = train(tiny(precision="bfloat16"), tmp_path / "run")
    assert {array.dtype for part in run.model.weights().items() for array in part[1:]} == {np.dtype(np.float32)}
    assert run.encode(run.dataset.images([0])).mean.dtype == np.float32
    assert [row["step"] for row in run.history] == [row["step"] for row in trained.history]
    for ours, theirs in zip(run.history, trained.history, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=2**-8)
    assert run.history != trained.history  # it is not float32 in disguise
    record = json.loads((run.folder / "run.json").read_text())
    assert record["hyperparameters"]["precision"] == record["computed"]["precision"] == "bfloat16"
    again = train(tiny(precision="bfloat16"), tmp_path / "again")
    assert again.history == run.history


def test_precision_is_part_of_a_config_only_where_it_is_not_the_default(tiny, trained):
    assert tiny().digest == tiny(precision="float32").digest != tiny(precision="bfloat16").digest
    assert "precision" not in json.loads((trained.folder / "run.json").read_text())["hyperparameters"]
    with pytest.raises(UnknownName, match="precision: expected one of bfloat16, float32, received 'float16'"):
        tiny(precision="float16")


def test_pytorchs_gpu_is_the_one_that_a_tensor_is_on(monkeypatch):
    cuda = types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False))
    backends = types.SimpleNamespace(cuda=cuda, cudnn=types.SimpleNamespace(allow_tf32=True))
    card = types.SimpleNamespace(get_device_name=lambda: "NVIDIA H100")
    module = types.SimpleNamespace(cuda=card, backends=backends, get_num_threads=lambda: 3)
    monkeypatch.setattr(devices, "torch", module)
    monkeypatch.setattr(devices.backend, "name", lambda: "torch")
    monkeypatch.setattr(devices.backend, "versions", lambda *packages: dict.fromkeys(packages, "2.13"))
    monkeypatch.setenv("KERAS_TORCH_DEVICE", "cuda")
    for is_cuda, name in ((True, "NVIDIA H100"), (False, devices.backend.describe_host())):
        monkeypatch.setattr(devices, "ops", types.SimpleNamespace(zeros=lambda size, on=is_cuda: Tensor(on)))
        assert devices.device_summary() == f"{name}, with torch 2.13"
        found = devices.record("float32")
        assert (found["tensorfloat32"], found["deterministic"], found["devices"]) == (is_cuda, not is_cuda, 1)
        assert devices.threads.__wrapped__() == 3
    with pytest.raises(InvalidInput, match="--device gpu: expected a GPU that torch can use"):
        devices.choose("gpu")
    devices.choose("cpu")
    assert os.environ["KERAS_TORCH_DEVICE"] == "cpu"


class Tensor(NamedTuple):
    """As much of one of PyTorch's as is looked at."""

    is_cuda: bool
