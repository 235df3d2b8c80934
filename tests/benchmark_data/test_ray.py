"""Ray in place of local workers: the same bytes, the user's own errors, and a node that dies half-way."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import threading
import time

import pytest

from baselines import program
from benchmark_data import InvalidInput, MissingExtra, Rendered, hf, parallel
from benchmark_data import tfds as builders
from benchmark_data.publish.verify import verify

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'offaxis[cluster]'")

pytestmark = pytest.mark.whole  # clusters of two nodes, one of which is killed: they take both cores


@pytest.fixture
def small_shards(monkeypatch):
    """Cut datasets into shards of one image, and let local runs use one process."""
    monkeypatch.setattr("benchmark_data.publish.records.SHARD", 1)
    monkeypatch.setattr(parallel.joblib, "cpu_count", lambda: 1)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def where(number):
    import os

    import ray

    return number, ray.get_runtime_context().get_node_id(), os.getpid()


def local(function):
    """Return a function that travels to the nodes by value: they cannot import this module."""
    function.__module__ = "__main__"
    return function


def test_tasks_run_on_the_cluster_and_results_keep_their_order(cluster):
    with parallel.on_ray(cluster.address):
        head = ray.get_runtime_context().get_node_id()
        results = list(parallel.in_parallel(local(where), [(i,) for i in range(6)]))
    assert [number for number, *_ in results] == list(range(6))
    assert {node for _, node, _ in results} == {head}
    assert os.getpid() not in {process for *_, process in results}
    assert not ray.is_initialized()


def test_an_error_on_a_node_is_the_users_own(cluster):
    def refuse(number):
        if number == 2:
            raise InvalidInput("number: expected another one, received 2. Choose.")
        return number

    with parallel.on_ray(cluster.address):
        results = parallel.in_parallel(refuse, [(i,) for i in range(4)])
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(InvalidInput, match=r"^number: expected another one, received 2\. Choose\.$"):
            next(results)


def test_a_connection_that_is_there_is_used_and_kept(cluster):
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        with parallel.on_ray("auto"):
            assert [n for n, *_ in parallel.in_parallel(local(where), [(1,), (2,)])] == [1, 2]
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_building_and_verifying_give_the_bytes_of_a_local_run(cluster, tiny_grid, small_shards, tmp_path):
    builders.builder_class(tiny_grid)
    builders.build(tiny_grid, tmp_path / "local")
    with parallel.on_ray(cluster.address):
        builders.build(tiny_grid, tmp_path / "ray")
        findings = verify(tiny_grid, [("tfds", tmp_path / "ray")], full=True)
    expected = contents(tmp_path / "local")
    assert len(expected) > 12
    assert contents(tmp_path / "ray") == expected
    assert [finding.problem for finding in findings] == ["", ""]
    assert findings == [
        finding._replace(copy=finding.copy.replace("local", "ray"))
        for finding in verify(tiny_grid, [("tfds", tmp_path / "local")], full=True)
    ]


def test_a_node_that_dies_half_way_loses_nothing(cluster, tiny_grid, small_shards, tmp_path):
    hf.publish(tiny_grid, tmp_path / "local")
    second = cluster.add_node(num_cpus=1, object_store_memory=10**8)
    doomed, begun = second.node_id, tmp_path / "begun"
    render = tiny_grid.source.render
    last = time.time() + 600  # by far enough for a worker to start; not to wait for ever if none does
    published = threading.Event()

    def slowly(labels):
        import time

        import ray

        row = int(labels[0] @ [4, 1])
        if len(labels) == 1 and row >= 3 and ray.is_initialized():
            if ray.get_runtime_context().get_node_id() == doomed:
                begun.write_text(str(row))
                time.sleep(600)  # until the node is killed
            while not begun.exists() and time.time() < last:
                time.sleep(0.01)
        return render(labels)

    def kill():
        while not (begun.exists() or published.wait(0.01)):
            pass
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    with parallel.on_ray(cluster.address):
        assert len({node["NodeID"] for node in ray.nodes() if node["Alive"]}) == 2
        # Both nodes have a worker and have done some of this before one of them dies.
        seen = set()
        while len(seen) < 2:
            seen |= {node for _, node, _ in parallel.in_parallel(local(where), [(i,) for i in range(4)])}
        assert doomed in seen
        killer.start()
        try:
            hf.publish(dataclasses.replace(tiny_grid, source=Rendered(slowly)), tmp_path / "ray")
        finally:
            published.set()
            killer.join()
        # Ray takes the dead node off its list a moment after the node's processes have ended.
        alive = {doomed}
        while doomed in alive and time.time() < last:
            alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        assert doomed not in alive
    assert int(begun.read_text()) >= 3, "the node died while it wrote this shard"
    expected = contents(tmp_path / "local")
    assert len([name for name in expected if name.endswith(".parquet")]) == 12
    assert contents(tmp_path / "ray") == expected


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["offaxis", "data", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        program.main()
    return (stopped.value.code, *capsys.readouterr())


def test_a_ray_of_ones_own(monkeypatch, capsys):
    _, here, _ = command(monkeypatch, capsys, "verify", "dsprites")
    code, there, _ = command(monkeypatch, capsys, "verify", "dsprites", "--ray", "local")
    assert code == 0
    assert " ok" in there
    assert there == here
    assert not ray.is_initialized()


def test_no_cluster_at_the_address(monkeypatch, capsys, tmp_path):
    message = "error: --ray: expected local, or the address of a running cluster, received nowhere. Start one with"
    for arguments in (
        ["build", "xysquares"],
        ["publish", "xysquares", "--to", tmp_path / "x"],
        ["verify", "xysquares"],
    ):
        code, out, err = command(monkeypatch, capsys, *arguments, "--ray", "nowhere")
        assert (code, out) == (2, "")
        assert message in err
    assert not list(tmp_path.glob("x"))


@pytest.mark.parametrize("address", ["127.0.0.1:9", "127.0.0.1:x", "x:y:z", "127.0.0.1"])
def test_an_address_that_does_not_answer(address):
    with (
        pytest.raises(InvalidInput, match=f"--ray: expected local, or .*, received {address}"),
        parallel.on_ray(address),
    ):
        pass


def test_tasks_ask_for_gpus(cluster):
    cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=10**8)

    @local
    def seen(_):
        import ray

        return ray.get_gpu_ids()

    with parallel.on_ray(cluster.address, gpus=0.5):
        assert [len(gpus) for gpus in parallel.in_parallel(seen, [(1,), (2,)])] == [1, 1]
    with (
        pytest.raises(InvalidInput, match="--gpus: expected at most 1, which a node has, received 2"),
        parallel.on_ray(cluster.address, gpus=2),
    ):
        pass


@pytest.mark.parametrize(("address", "gpus"), [(None, 1.0), ("local", -1.0), ("local", math.nan)])
def test_gpus_that_none_can_ask_for(address, gpus):
    with pytest.raises(InvalidInput, match=r"--gpus: expected .*0.*, received"), parallel.on_ray(address, gpus=gpus):
        pass


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    missing = r"--ray: expected the package ray.*pip install 'offaxis\[cluster\]'"
    with pytest.raises(MissingExtra, match=missing), parallel.on_ray("local"):
        pass
    with parallel.on_ray(None):
        assert list(parallel.in_parallel(abs, [(-1,), (2,)])) == [1, 2]
