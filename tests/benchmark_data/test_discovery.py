"""Finding modules by folder."""

from __future__ import annotations

import concurrent.futures
import importlib
import sys
import time

import pytest

import benchmark_data
from benchmark_data import InvalidInput, UnknownName, discovery


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "a_package_of_this_test"
    folder.mkdir()
    for name in ("__init__", "beta", "alpha", "_helper"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n")
    (folder / "broken.py").write_text("import a_module_that_does_not_exist\n")
    (folder / "notes.txt").write_text("no module")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def test_names_are_the_files_without_importing_them(package):
    assert discovery.names(package) == ("alpha", "beta", "broken")
    assert f"{package}.alpha" not in sys.modules


def test_a_new_file_is_found(package, tmp_path):
    (tmp_path / package / "gamma.py").write_text("NAME = 'gamma'\n")
    assert discovery.find(package, "gamma", kind="thing").NAME == "gamma"


def test_a_helper_is_not_found_although_it_is_loaded(package):
    importlib.import_module(f"{package}._helper")
    with pytest.raises(UnknownName, match="received '_helper'"):
        discovery.find(package, "_helper", kind="thing")


def test_find(package):
    assert discovery.find(package, "beta", kind="thing").NAME == "beta"
    with pytest.raises(UnknownName, match=r"thing: expected one of alpha, beta, broken, received 'alfa'.* 'alpha'\?"):
        discovery.find(package, "alfa", kind="thing")
    with pytest.raises(UnknownName, match="received '_helper'"):
        discovery.find(package, "_helper", kind="thing")


def test_a_thread_waits_for_a_module_that_another_one_is_loading(package, tmp_path):
    (tmp_path / package / "slow.py").write_text("import time\ntime.sleep(0.3)\nNAME = 'slow'\n")
    discovery.names(package)  # the package itself is loaded
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(discovery.find, package, "slow", kind="thing")
        while f"{package}.slow" not in sys.modules and not first.done():
            time.sleep(0.001)
        assert threads.submit(lambda: discovery.find(package, "slow", kind="thing").NAME).result() == "slow"


def test_a_package_lists_what_it_holds_and_what_it_imports_on_demand():
    assert {*benchmark_data.__all__, "draws"} <= set(dir(benchmark_data))


def test_a_module_that_fails_is_named_with_its_error(package):
    with pytest.raises(
        InvalidInput, match=r"thing broken: its code raised ModuleNotFoundError: No module named 'a_mod"
    ):
        discovery.find(package, "broken", kind="thing")


def test_an_error_of_a_plug_ins_code_names_it_and_the_line():
    def code(number):
        return 1 / number

    line = code.__code__.co_firstlineno + 1
    with pytest.raises(
        InvalidInput, match=rf"thing x: its code raised ZeroDivisionError: .* \(line {line} of "
    ) as found:
        discovery.call("thing x", code, 0)
    assert isinstance(found.value.__cause__, ZeroDivisionError)
    with pytest.raises(InvalidInput, match="thing x: expected its code to return less than 1, received 1"):
        discovery.call("thing x", code, 1, returns="less than 1", sound=lambda found: found < 1)
    assert discovery.call("thing x", code, 2, returns="less than 1", sound=lambda found: found < 1) == 0.5


def test_load_by_name_config_and_parameter():
    assert benchmark_data.load("xysquares").id == "xysquares/spacing_8"
    assert benchmark_data.load("xysquares/spacing_4") is benchmark_data.load("xysquares", spacing=4)
    assert "dsprites" in benchmark_data.names()
    assert benchmark_data.configs("dsprites") == ("dsprites",)
    assert benchmark_data.configs("xysquares") == tuple(f"xysquares/spacing_{i}" for i in range(1, 9))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("xysquare", {}, r"dataset: expected one of .* received 'xysquare'\. Did you mean 'xysquares'\?"),
        ("", {}, "dataset: expected one of"),
        ("xysquares/", {}, r"received 'xysquares/'\. To read a folder: benchmark_data\.from_folder\('xysquares/'\)"),
        ("../xysquares", {}, r"dataset: expected one of .* received '\.\.'"),
        ("xysquares/spacing9", {}, r"config of xysquares: expected one of .* Did you mean 'spacing_[1-8]'\?"),
        ("xysquares/spacing_4.compos", {}, r"split of xysquares/spacing_4: .* Did you mean 'composition'\?"),
        ("dsprites/big", {}, r"config of dsprites: expected one of composition, .*, received 'big'"),
        ("xysquares", {"spacing": 9}, "parameters of xysquares: expected one of spacing=1, .* received 'spacing=9'"),
        (
            "xysquares",
            {"space": 4},
            r"parameter of xysquares: expected one of spacing, received 'space'\. Did you mean",
        ),
    ],
)
def test_names_that_are_not_there(name, parameters, message):
    with pytest.raises(UnknownName, match=message):
        benchmark_data.load(name, **parameters)


def test_parameters_where_they_have_no_place():
    with pytest.raises(InvalidInput, match="parameters of xysquares: expected a config or parameters, not both"):
        benchmark_data.load("xysquares/spacing_4", spacing=4)
    with pytest.raises(InvalidInput, match="parameters of dsprites: expected no parameters, received scale=2"):
        benchmark_data.load("dsprites", scale=2)
    with pytest.raises(UnknownName, match="dataset: expected one of"):
        benchmark_data.configs("nothing")


def test_a_split_after_a_slash_in_place_of_a_dot():
    with pytest.raises(
        InvalidInput, match=r"expected xysquares/spacing_4\.random\.seed_1, received xysquares/spacing_4/"
    ):
        benchmark_data.load("xysquares/spacing_4/random.seed_1")
    with pytest.raises(UnknownName, match=r"config of xysquares: expected one of .*, received 'spacing_4/'"):
        benchmark_data.load("xysquares/spacing_4/")
