"""Tasks in worker processes: their order, their errors, and how a dataset gets to them. Ray has a file of its own."""

from __future__ import annotations

import signal

import joblib
import pytest

import benchmark_data
from benchmark_data import parallel
from benchmark_data.errors import InvalidInput, MissingExtra, OffaxisError, UnknownName


def test_a_handle_is_a_name_only_where_that_names_the_same_dataset(tiny_grid):
    xysquares = benchmark_data.load("xysquares/spacing_3")
    assert parallel.handle(xysquares) == "xysquares/spacing_3"
    assert parallel.open_handle("xysquares/spacing_3") is xysquares
    assert parallel.handle(tiny_grid) is tiny_grid


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)


@pytest.mark.parametrize("cores", [1, 2])
def test_results_come_in_the_order_of_the_tasks(cores, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    assert list(parallel.in_parallel(divmod, [(i, 3) for i in range(7)])) == [divmod(i, 3) for i in range(7)]


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("a: expected b, received c. d"),
        UnknownName("colour", "re", ["red", "green"]),
        MissingExtra("feature", "package", "extra"),
    ],
)
def test_an_error_in_a_worker_process_arrives_whole(error):
    def fail(_):
        raise error

    with pytest.raises(type(error)) as caught:
        list(parallel.in_parallel(fail, [(0,), (1,)]))
    assert str(caught.value) == str(error)
    assert str(caught.value) == str(error)


def test_a_killed_worker_is_told_in_one_sentence():
    """As by the system where it has no memory left."""
    with pytest.raises(OffaxisError, match="A worker process was killed, possibly because memory ran out"):
        list(parallel.in_parallel(signal.raise_signal, [(signal.SIGKILL,), (signal.SIGKILL,)]))


@pytest.mark.parametrize("given", ["cache", "~/cache"])
def test_nodes_of_a_cluster_hear_where_the_cache_is_in_full(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OFFAXIS_CACHE", given)
    assert parallel._environment() == {"OFFAXIS_CACHE": str(tmp_path / "cache")}
    monkeypatch.delenv("OFFAXIS_CACHE")
    assert parallel._environment() == {}
