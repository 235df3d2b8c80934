"""``offaxis doctor``: what it says of an installation."""

from __future__ import annotations

import importlib.metadata

import pytest

from baselines import program
from benchmark_data import console
from benchmark_data.commands import doctor

REQUIRES = [
    "numpy>=1.26",
    "pooch>=1.8; extra == 'archives'",
    'h5py>=3.10; extra == "archives"',
    "tensorflow-cpu>=2; (platform_system == 'Linux') and extra == 'tensorflow'",
    "tensorflow>=2; (platform_system != 'Linux') and extra == 'tensorflow'",
    "keras>=3; extra == 'train'",
    "offaxis[archives,tensorflow]; extra == 'train'",
    "ruff; extra == 'test'",
]


@pytest.fixture
def installation(monkeypatch):
    """Pretend that these packages are installed, and no others."""

    def pretend(*names):
        def version(name):
            if name not in names:
                raise importlib.metadata.PackageNotFoundError(name)
            return "9.9"

        monkeypatch.setattr(importlib.metadata, "version", version)
        monkeypatch.setattr(importlib.metadata, "requires", lambda name: REQUIRES)

    return pretend


def test_what_an_extra_lacks(installation):
    installation("offaxis", "numpy", "pooch", "tensorflow-cpu")
    assert doctor.missing_of_extras() == {"archives": ["h5py"], "tensorflow": [], "train": ["keras", "h5py"]}
    installation("offaxis", "pooch", "h5py", "keras")
    assert doctor.missing_of_extras() == {
        "archives": [],
        "tensorflow": ["tensorflow-cpu"],
        "train": ["tensorflow-cpu"],
    }


def test_a_build_of_tensorflow_that_another_one_would_overwrite_goes_first(installation):
    install = "pip install 'offaxis[tensorflow-gpu]'"
    installation("offaxis", "tensorflow-cpu")
    assert doctor._describe_extra("tensorflow-gpu", ["tensorflow"], {}) == (
        f"lacks tensorflow: pip uninstall tensorflow-cpu, which has the same files, then {install}"
    )
    installation("offaxis")
    assert doctor._describe_extra("tensorflow-gpu", ["tensorflow"], {}) == f"lacks tensorflow: {install}"


def test_what_it_prints(installation, monkeypatch, tmp_path, capsys):
    installation("offaxis", "numpy", "pooch", "tensorflow-cpu")
    monkeypatch.setenv("OFFAXIS_CACHE", str(tmp_path))
    monkeypatch.setattr(console.out, "width", 400)  # no line breaks, however long the paths
    monkeypatch.setattr("sys.argv", ["offaxis", "doctor"])
    with pytest.raises(SystemExit) as stopped:
        program.main()
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    for line in (
        "extra archives lacks h5py: pip install 'offaxis[archives]'",
        "extra tensorflow ready",
        "backend tensorflow tensorflow-cpu 9.9",
        "backend torch not installed",
    ):
        assert line in " ".join(out.split())
    assert str(tmp_path) in out


def test_a_gpu_is_ready_only_where_a_tensor_was_put_on_it(installation, monkeypatch, tmp_path):
    installation("offaxis", "jax", "torch")
    monkeypatch.setattr(doctor, "GPU_DEVICE_FILE", tmp_path)
    monkeypatch.setattr(doctor, "ON_GPU", {"jax": "raise SystemExit(1)", "torch": "print('on cuda:0 A100')"})
    found = doctor.on_gpus()
    assert found == {"jax": "this backend cannot use it; see docs/gpu.md", "torch": "on cuda:0 A100"}
    assert doctor._describe_extra("gpu", [], found) == "installed, but jax cannot use the GPU"
    assert doctor._describe_extra("gpu", [], found | {"jax": "on H100"}) == "ready"
    monkeypatch.setattr(doctor, "GPU_DEVICE_FILE", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.on_gpus() == {}
