"""Strangers' encoders: what a graph may not hold is refused by name before it runs, and the rest when it does.

The graphs are written here, operator by operator. Codes that are expected are worked out with numpy.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import benchmark_data
from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard.reading import encoder_process, encoders, graphs, sandbox

IMAGES = ("n", 8, 8, 3)


def model(
    nodes,
    *,
    tensors=(),
    shape=IMAGES,
    kind=TensorProto.FLOAT,
    outputs=("codes",),
    given=TensorProto.FLOAT,
    opsets=(("", 17),),
    **more,
):
    """A model whose nodes take ``images`` and give ``codes``."""
    graph = helper.make_graph(
        [node if not isinstance(node, tuple) else helper.make_node(*node) for node in nodes],
        "test",
        [helper.make_tensor_value_info("images", kind, shape)],
        [helper.make_tensor_value_info(name, given, None) for name in outputs],
        list(tensors),
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in opsets], ir_version=8, **more)
    return made.SerializeToString()


def constant(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


SHAPED = constant("shape", [0, -1], np.int64)
FLAT = ("Reshape", ["images", "shape"], ["codes"])
HONEST = model([FLAT], tensors=[SHAPED])


def outside():
    tensor = TensorProto(name="weights", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../../etc/passwd")
    return tensor


def branch():
    empty = helper.make_graph([helper.make_node("Identity", ["images"], ["inner"])], "inner", [], [])
    return helper.make_node("If", ["yes"], ["codes"], then_branch=empty, else_branch=empty)


def loop():
    body = helper.make_graph([helper.make_node("Identity", ["inside"], ["outside"])], "body", [], [])
    return helper.make_node("Loop", ["", "", "images"], ["codes"], body=body)


def function():
    made = helper.make_function("mine", "Trick", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], [])
    return helper.make_model(
        helper.make_graph([helper.make_node("Identity", ["images"], ["codes"])], "g", [], []), functions=[made]
    )


HOSTILE = {
    "huge constants": model(
        [FLAT], tensors=[SHAPED, TensorProto(name="big", data_type=TensorProto.FLOAT, dims=[2**40])]
    ),
    "huge constants in a node": model(
        [FLAT, helper.make_node("Constant", [], ["big"], value=TensorProto(data_type=1, dims=[2**20, 2**20]))],
        tensors=[SHAPED],
    ),
    "huge constants, less than none": model(
        [FLAT], tensors=[SHAPED, TensorProto(name="big", data_type=TensorProto.FLOAT, dims=[-5])]
    ),
    "loop or branch": model([loop()]),
    "loop or branch: If": model([branch()], tensors=[constant("yes", True, bool)]),
    "data in another file": model([FLAT], tensors=[SHAPED, outside()]),
    "data in another file, in a node": model([helper.make_node("Constant", [], ["w"], value=outside()), FLAT]),
    "operator of another domain": model(
        [helper.make_node("Steal", ["images"], ["codes"], domain="com.evil")], opsets=(("", 17), ("com.evil", 1))
    ),
    "operator of another domain: ml": model(
        [helper.make_node("Normalizer", ["images"], ["codes"], domain="ai.onnx.ml")],
        opsets=(("", 17), ("ai.onnx.ml", 3)),
    ),
    "unknown operator": model([("Steal", ["images"], ["codes"])]),
    "functions of its own": function().SerializeToString(),
    "random numbers": model([("RandomNormalLike", ["images"], ["codes"])]),
    "random numbers: Dropout": model(
        [("Dropout", ["images", "half", "yes"], ["codes"])],
        tensors=[constant("half", 0.5), constant("yes", True, bool)],
    ),
    "random numbers: BatchNormalization": model(
        [helper.make_node("BatchNormalization", ["images", *["one"] * 4], ["codes"], training_mode=1)],
        tensors=[constant("one", 1.0)],
    ),
    "not in order": model([("Relu", ["later"], ["codes"]), ("Relu", ["images"], ["later"])]),
    "not in order: a circle": model([("Add", ["codes", "images"], ["codes"])]),
    "too many nodes": model([("Relu", ["images"], [f"v{i}"]) for i in range(graphs.NODES + 1)]),
    "inputs": model(
        [("Identity", ["weights"], ["codes"])], tensors=[constant("images", 1.0), constant("weights", 1.0)]
    ),
    "input": model([FLAT], tensors=[SHAPED], shape=("n", 192)),
    "input: text": model([FLAT], tensors=[SHAPED], kind=TensorProto.STRING),
    "outputs": model([("Relu", ["images"], ["a"]), ("Relu", ["images"], ["b"])], outputs=("a", "b")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_graph_may_not_hold_is_refused_by_name(name):
    with pytest.raises(
        InvalidInput, match=f"encoder.onnx: {name.partition(':')[0].partition(',')[0].partition(' in a')[0]}"
    ):
        graphs.inspect(HOSTILE[name])


@pytest.mark.parametrize("name", [b"Relu", b"images", b"codes", b"middle", b"scale"])
def test_names_that_are_no_text(name):
    """Of an operator, the graph's input, its output, a value between and a constant."""
    nodes = [("Mul", ["images", "scale"], ["middle"]), ("Relu", ["middle"], ["codes"])]
    content = model(nodes, tensors=[constant("scale", 1.0)])
    assert content.count(name)
    with pytest.raises(DamagedFile, match=r"received names that are not UTF-8\."):
        graphs.inspect(content.replace(name, b"\xff" + name[1:]))


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08" + b"\xff" * 100, b"\x80\x04K\x01."])
def test_what_is_no_model(content):
    with pytest.raises(DamagedFile, match="expected a model in ONNX"):
        graphs.inspect(content)


def test_a_model_that_is_too_large(tmp_path):
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    with (tmp_path / "encoder.onnx").open("r+b") as stream:
        stream.truncate(graphs.LARGEST + 1)
    with pytest.raises(DamagedFile, match=f"expected a model of at most {graphs.LARGEST:,} bytes"):
        encoders.OnnxEncoder(tmp_path / "encoder.onnx")


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "real.onnx").write_bytes(HONEST)
    (tmp_path / "encoder.onnx").symlink_to(tmp_path / "real.onnx")
    with pytest.raises(DamagedFile, match="expected a regular file, received a link"):
        encoders.OnnxEncoder(tmp_path / "encoder.onnx")
    with pytest.raises(DamagedFile, match="received No such file"):
        encoders.OnnxEncoder(tmp_path / "none.onnx")


def test_what_an_honest_graph_takes_and_gives():
    assert graphs.inspect(HONEST) == ("images", "float32", (None, 8, 8, 3), "codes")


def test_an_input_that_an_operator_does_without_is_no_unknown_one():
    """The empty name stands for it, such as for the least value of Clip."""
    nodes = [("Clip", ["images", "", "most"], ["clipped"]), ("Reshape", ["clipped", "shape"], ["codes"])]
    content = model(nodes, tensors=[SHAPED, constant("most", 0.5)])
    assert graphs.inspect(content) == ("images", "float32", (None, 8, 8, 3), "codes")


@pytest.fixture
def encoded(toys, tmp_path):
    """Run a model on rows of the toy dataset."""

    def run(content, rows=range(5), **limits):
        path = tmp_path / "encoder.onnx"
        path.write_bytes(content)
        with encoders.OnnxEncoder(path, **limits) as encoder:
            return encoder.encode(toys["toy/small"], np.array(rows))

    return run


def test_floats_are_pixels_divided_by_255(encoded, toys):
    images = toys["toy/small"].images(np.arange(60))
    np.testing.assert_array_equal(encoded(HONEST, range(60)), (images / np.float32(255)).reshape(60, -1))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_every_level_of_a_pixel_stays_apart(kind, tmp_path):
    """Pixels divided in float32 and in float64 are the same numbers for each level of a uint8."""
    levels = np.arange(8 * 8 * 3 * 2, dtype=np.uint8).reshape(2, 8, 8, 3)  # 384 numbers: from 0 to 255, and on
    mine = benchmark_data.from_images("mine", levels)
    cast = helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT)
    content = model([cast, ("Reshape", ["pixels", "shape"], ["codes"])], tensors=[SHAPED], kind=kind)
    path = tmp_path / "encoder.onnx"
    path.write_bytes(content)
    with encoders.OnnxEncoder(path) as encoder:
        theirs = encoder.encode(mine, [0, 1])
    assert len(np.unique(theirs)) == 256
    exact = (levels / 255).astype(np.float16 if kind == TensorProto.FLOAT16 else np.float32)
    np.testing.assert_array_equal(theirs, exact.reshape(2, -1).astype(np.float32))


def test_bytes_are_pixels_as_they_are(encoded, toys):
    cast = helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT)
    content = model([cast, ("Reshape", ["pixels", "shape"], ["codes"])], tensors=[SHAPED], kind=TensorProto.UINT8)
    np.testing.assert_array_equal(encoded(content), toys["toy/small"].images(np.arange(5)).reshape(5, -1))


def test_channels_first_and_batches_of_a_fixed_size(encoded, toys):
    fixed = constant("shape", [4, -1], np.int64)
    content = model([FLAT], tensors=[fixed], shape=(4, 3, 8, 8))
    images = toys["toy/small"].images(np.arange(6)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(encoded(content, range(6)), (images / np.float32(255)).reshape(6, -1))


def test_units_of_several_numbers_stay_apart(encoded):
    content = model([FLAT], tensors=[constant("shape", [0, 3, -1], np.int64)])
    assert encoded(content).shape == (5, 3, 64)


def test_images_of_another_shape(encoded):
    content = model([FLAT], tensors=[SHAPED], shape=("n", 16, 16, 3))
    with pytest.raises(InvalidInput, match=r"input of .*: expected NHWC \(n, 8, 8, 3\)"):
        encoded(content)


@pytest.mark.parametrize(
    ("shape", "received"),
    [([-1], "shape \\(960,\\)"), ([1, -1], "shape \\(1, 960\\)"), ([0, 2, 2, -1], "shape \\(5, 2, 2")],
)
def test_codes_of_the_wrong_shape(encoded, shape, received):
    content = model([FLAT], tensors=[constant("shape", shape, np.int64)])
    with pytest.raises(
        InvalidInput, match=f"wrong shape: expected floats of shape .5, latents.* received .*{received}"
    ):
        encoded(content)


def test_codes_that_are_no_floats(encoded):
    cast = helper.make_node("Cast", ["flat"], ["codes"], to=TensorProto.INT64)
    nodes = [("Reshape", ["images", "shape"], ["flat"]), cast]
    content = model(nodes, tensors=[SHAPED], given=TensorProto.INT64)
    with pytest.raises(InvalidInput, match=r"wrong shape: .* received int64"):
        encoded(content)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_codes_that_are_not_finite(encoded, zero):
    content = model(
        [("Reshape", ["images", "shape"], ["flat"]), ("Div", ["flat", "zero"], ["codes"])],
        tensors=[SHAPED, constant("zero", zero)],
    )
    with pytest.raises(InvalidInput, match="not finite: expected finite codes, received NaN or infinity"):
        encoded(content)


def test_codes_that_float32_cannot_hold(encoded):
    cast = helper.make_node("Cast", ["flat"], ["wide"], to=TensorProto.DOUBLE)
    nodes = [("Reshape", ["images", "shape"], ["flat"]), cast]
    tensors = [SHAPED, constant("huge", 1e300, float)]
    content = model([*nodes, ("Add", ["wide", "huge"], ["codes"])], tensors=tensors, given=TensorProto.DOUBLE)
    with pytest.raises(InvalidInput, match="not finite"):
        encoded(content)


def test_a_graph_that_cannot_be_loaded(encoded):
    with pytest.raises(InvalidInput, match="does not run: expected a model that can be loaded"):
        encoded(model([("Conv", ["images", "shape"], ["codes"])], tensors=[SHAPED]))


def test_a_graph_that_takes_too_much_memory(encoded):
    """A tensor of 2**36 numbers from a graph of a few hundred bytes."""
    content = model(
        [
            ("Expand", ["one", "size"], ["big"]),
            ("ReduceSum", ["big"], ["sum"]),
            ("Reshape", ["images", "shape"], ["flat"]),
            ("Add", ["flat", "sum"], ["codes"]),
        ],
        tensors=[SHAPED, constant("one", [[1.0]]), constant("size", [2**18, 2**18], np.int64)],
    )
    with pytest.raises(InvalidInput, match=r"too much memory|it crashed"):
        encoded(content)


def test_a_graph_that_is_slow(encoded):
    """Products of matrices of 3,000 x 3,000, two hundred after another: 10**13 operations."""
    tensors = [SHAPED, constant("one", [[1.0]]), constant("size", [3000, 3000], np.int64)]
    nodes = [
        ("ReduceMax", ["images"], ["most"]),
        ("Mul", ["most", "one"], ["some"]),
        ("Reshape", ["some", "single"], ["cell"]),
        ("Expand", ["cell", "size"], ["m0"]),
        *(("MatMul", [f"m{i}", "m0"], [f"m{i + 1}"]) for i in range(200)),
        ("ReduceMax", ["m200"], ["end"]),
        ("Reshape", ["images", "shape"], ["flat"]),
        ("Add", ["flat", "end"], ["codes"]),
    ]
    content = model(nodes, tensors=[*tensors, constant("single", [1, 1], np.int64)])
    with pytest.raises(InvalidInput, match="too slow: expected all images within 2 s of processor time"):
        encoded(content, seconds=2)


def test_other_graphs_are_refused_through_the_process_too(encoded):
    with pytest.raises(
        InvalidInput, match=r"encoder\.onnx: loop or branch: expected a graph without any, received one"
    ):
        encoded(HOSTILE["loop or branch"])
    with pytest.raises(DamagedFile, match="expected a model in ONNX"):
        encoded(b"not a model")


ENDED = {
    "unlink": "os.unlink(path)",
    "rename": "os.rename(path, path + '2')",
    "mode": "os.chmod(path, 0o777)",
    "cut": "os.truncate(path, 0)",
    "folder": "os.mkdir(path + '3')",
    "link": "os.symlink(path, path + '4')",
    "signal": "os.kill(os.getppid(), 0)",
    "fork": "os.fork()",
    "program": "os.execv('/bin/true', ['true'])",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "socket": "socket.socket()",
}
REFUSED = {
    "signal by a pipe": "import fcntl; fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid())",
    "cores of another": "os.sched_setaffinity(os.getppid(), {0})",
    "read": "open('/etc/hostname')",
    "write": "open(path, 'w')",
    "list": "os.listdir('/')",
    "look": "os.stat('/')",
    "memory": "bytearray(2**31)",
    "priority": "os.setpriority(0, 0, 1)",
    "limit": "resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))",
    "limit of another": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "limit at an address whose low half is 0": "set_limit(2**36)",
}
COMPUTED = {
    "numpy": "np.ones((200, 200)) @ np.ones((200, 200))",
    "thread": "thread = threading.Thread(target=print); thread.start(); thread.join()",
    "time": "time.sleep(0.01)",
    "own limits": "resource.prlimit(0, resource.RLIMIT_CPU)",
}


@pytest.mark.skipif(not sandbox.has_seccomp(), reason="system calls are filtered on Linux alone, on x86_64 and aarch64")
@pytest.mark.parametrize("attempt", [*ENDED, *REFUSED, *COMPUTED])
def test_what_the_process_may_do(attempt, tmp_path):
    """After its limits are set: no file, no program, no signal, no connection, and no more memory; it can compute."""
    path = tmp_path / "there"
    path.write_text("kept")
    program = f"""
import ctypes, os, platform, resource, socket, threading, time
import numpy as np
from leaderboard.reading import sandbox
def set_limit(address):
    libc, flags = ctypes.CDLL(None, use_errno=True), 0x32  # private, anonymous, at this address
    libc.mmap.restype = ctypes.c_void_p
    assert libc.mmap(ctypes.c_void_p(address), ctypes.c_size_t(4096), 3, flags, -1, ctypes.c_long(0)) == address
    arguments = map(ctypes.c_long, (sandbox.PRLIMIT[platform.machine()], 0, resource.RLIMIT_CORE, address, 0))
    if libc.syscall(*arguments):
        raise OSError(ctypes.get_errno(), "refused")
path = {str(path)!r}
sandbox.confine(60, 2**28)
try:
    {(ENDED | REFUSED | COMPUTED)[attempt]}
    print("done")
except (OSError, MemoryError, ValueError) as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if attempt in ENDED:
        assert done.returncode == -signal.SIGSYS
    else:
        expected = "done" if attempt in COMPUTED else "Error"
        assert (done.returncode, expected in done.stdout) == (0, True), done.stderr
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("there", "kept")]


def test_where_calls_are_not_filtered_no_file_can_be_opened(monkeypatch):
    program = """
from leaderboard.reading import sandbox
sandbox.has_seccomp = lambda: False
sandbox.confine(60, 2**28)
try:
    open("/etc/hostname")
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Too many open files\n"


def test_ctrl_c_in_the_terminal_does_not_reach_the_process(tmp_path):
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    with encoders.OnnxEncoder(tmp_path / "encoder.onnx") as running:
        assert os.getsid(running._process.pid) == running._process.pid


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends a process with its parent on Linux alone")
def test_the_process_ends_with_its_parent(tmp_path):
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    program = f"""
from leaderboard.reading import encoders
running = encoders.OnnxEncoder({str(tmp_path / "encoder.onnx")!r})
print(running._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    child = Path(f"/proc/{int(done.stdout)}/stat")
    with contextlib.suppress(FileNotFoundError):  # else the process is gone
        for _ in range(200):
            if child.read_text().rpartition(")")[2].split()[0] == "Z":
                return
            time.sleep(0.05)
        pytest.fail("the process goes on")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "killed: expected a process that is not killed, received SIGKILL"),
        (signal.SIGSEGV, "it crashed: expected a model that runs in 1,024 MiB of memory, received SIGSEGV"),
        (signal.SIGXCPU, "too slow: expected all images within 900 s of processor time"),
        (signal.SIGSYS, "refused: expected no system calls except for computation"),
    ],
)
def test_what_ended_the_process_is_told(number, words, toys, tmp_path):
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    with encoders.OnnxEncoder(tmp_path / "encoder.onnx") as running:
        running._process.send_signal(number)
        with pytest.raises(InvalidInput, match=words):
            running.encode(toys["toy/small"], [0, 1])


def test_a_process_that_is_killed_after_its_time_was_too_slow(toys, tmp_path):
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    with encoders.OnnxEncoder(tmp_path / "encoder.onnx") as running:
        running._kill_on_timeout()
        with pytest.raises(InvalidInput, match="too slow: expected all images within 3660 s, received more"):
            running.encode(toys["toy/small"], [0, 1])


def test_an_answer_out_of_form_is_refused(toys, tmp_path, monkeypatch):
    """What a process sends that is no longer ours: another length, another number of images, a long refusal."""
    monkeypatch.setattr(encoders, "_EXIT_SECONDS", 0.1)  # it does not end
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    head = encoder_process.HEAD
    for answer, words in (
        (head.pack(b"C", 2, 3, 0, 0, 2**31), "a malformed answer"),
        (head.pack(b"C", 3, 1, 0, 0, 12) + bytes(12), "a malformed answer"),
        (head.pack(b"R", 0, 0, 0, 0, 2**30), "a malformed answer"),
        (head.pack(b"Z", 0, 0, 0, 0, 0), "a malformed answer"),
        (head.pack(b"R", 0, 0, 0, 0, 6) + b"a\x1b[2Jb", r"a\\x1b\[2Jb"),
    ):
        with encoders.OnnxEncoder(tmp_path / "encoder.onnx") as running:
            kept, running._stdout = running._stdout, io.BytesIO(answer)
            with pytest.raises(InvalidInput, match=words):
                running.encode(toys["toy/small"], [0, 1])
        kept.close()


def field(number, content):
    """A field of protobuf: a number, or bytes with their length."""
    if isinstance(content, int):
        return varint(8 * number) + varint(content)
    return varint(8 * number + 2) + varint(len(content)) + content


def varint(number):
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def raw(graph, before=b""):
    """A model of a graph that is given as bytes; the rest is that of an honest one."""
    return field(1, 8) + field(8, field(2, 17)) + before + field(7, graph)


def tensor(*parts):
    return raw(field(5, b"".join(parts)))


def node(*parts):
    return raw(field(1, b"".join(parts)))


MANY = 300_000
NESTED = field(1, 1)
for _ in range(200):
    NESTED = field(4, field(1, NESTED))

AMPLIFIED = {
    "too many nodes": raw(field(1, b"") * MANY),
    "too many nodes: with an operator": raw(field(1, field(4, b"Relu")) * MANY),
    "too many attributes": node(field(5, b"") * MANY),
    "too many attributes: in many nodes": raw(field(1, field(5, b"") * 1_000) * 100),
    "too many inputs": node(field(1, b"") * MANY),
    "too many inputs: outputs": node(field(2, b"") * MANY),
    "too many initializers": raw(field(5, b"") * MANY),
    "too many values": raw(field(11, b"") * MANY),
    "too many values: outputs": raw(field(12, b"") * MANY),
    "too many values: within": raw(field(13, b"") * MANY),
    "too many fields": raw(b"", field(14, b"") * MANY),
    "too many fields: opsets": raw(b"", field(8, b"") * MANY),
    "too many fields: unknown": raw(b"", field(99, 1) * MANY),
    "too many fields: of a graph": raw(field(16, b"") * MANY),
    "too many fields: of a node": node(field(9, b"") * MANY),
    "too many fields: numbers of an attribute": node(field(5, field(8, 1) * MANY)),
    "too many fields: texts of an attribute": node(field(5, field(9, b"") * MANY)),
    "too many fields: texts of a tensor": tensor(field(6, b"") * MANY),
    "too many fields: numbers of a tensor": tensor(field(7, 1) * MANY),
    "too many fields: a graph many times": field(7, b"") * MANY,
    "axes": tensor(field(1, 127) * 1_000_000),
    "axes: packed": tensor(field(1, b"\x7f" * 1_000_000)),
    "axes: of a constant in a node": node(field(5, field(5, field(1, b"\x7f" * 1_000_000)))),
    "axes: of an input": raw(field(11, field(2, field(1, field(2, field(1, b"") * 1_000_000))))),
    "axes: sizes beyond 64 bits": tensor(field(1, b"\xff" * 9 + b"\x01") * 100),
    "names": node(field(4, b"x" * 10_000_000)),
    "names: of an input": raw(field(11, field(1, b"x" * 1_000_000))),
    "names: of a tensor": tensor(field(8, b"x" * 1_000_000)),
    "names: of a graph": raw(field(2, b"x" * 1_000_000)),
    "names: of a size": raw(field(11, field(2, field(1, field(2, field(1, field(2, b"x" * 1_000_000))))))),
    "loop or branch": node(field(5, field(6, field(1, b"") * MANY))),
    "loop or branch: graphs": node(field(5, field(11, b"") * MANY)),
    "functions of its own": raw(b"", field(25, b"") * MANY),
    "functions of its own: training": raw(b"", field(20, b"") * MANY),
    "sparse constants": raw(field(15, b"") * MANY),
    "sparse constants: in a node": node(field(5, field(22, b""))),
    "sequences": raw(field(11, field(2, NESTED))),
    "maps": raw(field(11, field(2, field(5, b"")))),
    "types as attributes": node(field(5, field(14, NESTED))),
    "data in another file": tensor(field(13, b"") * MANY),
    "huge constants": raw(field(1, field(4, b"Relu")) + field(5, field(1, b"\xff" * 8 + b"\x7f"))),
    "batch": model([FLAT], tensors=[SHAPED], shape=(400_000, 8, 8, 3)),
    "batch: of 2 ** 40": model([FLAT], tensors=[SHAPED], shape=(2**40, 8, 8, 3)),
    "input": model([FLAT], tensors=[SHAPED], shape=("n", 2**40, 8, 3)),
    "does not run": model([("Conv", ["images", "shape"], ["codes"])], tensors=[SHAPED]),
}
DAMAGED = {
    "a field that is longer than the file": raw(b"") + varint(8 * 7 + 2) + varint(2**40),
    "a number without an end": raw(b"") + b"\xff" * 30,
    "a group": raw(b"\x0b" * 1_000),
    "half a model": HONEST[: len(HONEST) // 2],
    "nothing but zeros": bytes(1_000_000),
    "text": b"not a model",
}


@pytest.mark.parametrize("name", AMPLIFIED)
def test_little_files_that_would_take_much_are_refused_by_name(name, tmp_path):
    """Bytes of which a parser would make hundreds of times as many, or go over again and again."""
    path = tmp_path / "encoder.onnx"
    path.write_bytes(AMPLIFIED[name])
    with pytest.raises(InvalidInput, match=f"encoder.onnx: {name.partition(':')[0]}") as found:
        encoders.OnnxEncoder(path, seconds=5).close()
    assert str(found.value).endswith(" Save the model as one file.") == (name == "data in another file")


@pytest.mark.parametrize("name", DAMAGED)
def test_bytes_that_are_no_model(name, tmp_path):
    path = tmp_path / "encoder.onnx"
    path.write_bytes(DAMAGED[name])
    with pytest.raises(DamagedFile, match=r"encoder\.onnx: expected a model in ONNX"):
        encoders.OnnxEncoder(path, seconds=5).close()


def test_a_long_refusal_does_not_stop_either_side(tmp_path):
    names = [f"{'x' * 4_000}{number}" for number in range(40)]
    content = model([("Relu", ["images"], [name]) for name in names], outputs=tuple(names))
    (tmp_path / "encoder.onnx").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"encoder\.onnx: outputs: expected one") as found:
        encoders.check(tmp_path / "encoder.onnx")
    assert len(str(found.value)) < 1_000


def test_names_are_printed_without_what_moves_a_terminal(tmp_path):
    (tmp_path / "encoder.onnx").write_bytes(model([("St\x1b[2Jeal\u202e", ["images"], ["codes"])]))
    with pytest.raises(InvalidInput) as found:
        encoders.check(tmp_path / "encoder.onnx")
    assert r"St\x1b[2Jeal\u202e" in str(found.value)


def test_a_fixed_batch_costs_this_side_nothing(encoded, toys):
    content = model([FLAT], tensors=[SHAPED], shape=(4_096, 8, 8, 3))
    images = toys["toy/small"].images(np.arange(3))
    np.testing.assert_array_equal(encoded(content, range(3)), (images / np.float32(255)).reshape(3, -1))


def test_every_message_that_onnx_nests_is_weighed_or_refused():
    """By the descriptors of ONNX; versions of operators and notes hold texts alone."""
    messages = {
        "model": onnx.ModelProto,
        "graph": onnx.GraphProto,
        "node": onnx.NodeProto,
        "attribute": onnx.AttributeProto,
        "tensor": onnx.TensorProto,
        "value": onnx.ValueInfoProto,
        "type": onnx.TypeProto,
        "tensor type": onnx.TypeProto.Tensor,
        "shape": onnx.TensorShapeProto,
        "dimension": onnx.TensorShapeProto.Dimension,
    }
    assert messages.keys() == graphs._MESSAGE_FIELDS.keys()
    texts = ("OperatorSetIdProto", "StringStringEntryProto")
    for kind, message in messages.items():
        fields = [f for f in message.DESCRIPTOR.fields if f.message_type and f.message_type.name not in texts]
        assert [field.name for field in fields if field.number not in graphs._MESSAGE_FIELDS[kind]] == [], kind


def test_onnx_knows_every_operator_that_is_refused():
    """So that a slip of the pen in the list shows."""
    assert {name for name in graphs.RANDOM if not onnx.defs.has(name)} == set()


def test_the_largest_fixed_batch():
    shape = (graphs.BATCH, 8, 8, 3)
    assert graphs.inspect(model([FLAT], tensors=[SHAPED], shape=shape)).shape == shape
    with pytest.raises(InvalidInput, match="batch: expected at most"):
        graphs.inspect(model([FLAT], tensors=[SHAPED], shape=(graphs.BATCH + 1, 8, 8, 3)))


def test_of_two_outputs_codes_are_taken_before_means():
    nodes = [("Relu", ["images"], ["mean"]), ("Relu", ["images"], ["codes"])]
    assert graphs.inspect(model(nodes, outputs=("mean", "codes"))).output == "codes"
