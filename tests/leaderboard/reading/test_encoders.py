"""Strangers' encoders: what a graph may not hold is refused by name before it runs, and the rest when it does.

The graphs are written here, operator by operator. Codes that are expected are worked out with numpy.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import benchmark_data
from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard.reading import encoders, graphs, representations

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


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08" + b"\xff" * 100, b"\x80\x04K\x01."])
def test_what_is_no_model(content):
    with pytest.raises(DamagedFile, match="expected a model in ONNX"):
        graphs.inspect(content)


def test_a_model_that_is_too_large(monkeypatch, tmp_path):
    monkeypatch.setattr(graphs, "LARGEST", 10)
    with pytest.raises(DamagedFile, match="expected a model of at most 10 bytes"):
        graphs.inspect(HONEST)
    (tmp_path / "encoder.onnx").write_bytes(HONEST)
    with pytest.raises(DamagedFile, match="expected a model of at most 10 bytes"):
        encoders.Encoder(tmp_path / "encoder.onnx")


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "real.onnx").write_bytes(HONEST)
    (tmp_path / "encoder.onnx").symlink_to(tmp_path / "real.onnx")
    with pytest.raises(DamagedFile, match="expected a regular file, received a link"):
        encoders.Encoder(tmp_path / "encoder.onnx")
    with pytest.raises(DamagedFile, match="received No such file"):
        encoders.Encoder(tmp_path / "none.onnx")


def test_what_an_honest_graph_takes_and_gives():
    assert graphs.inspect(HONEST) == ("images", "float32", (None, 8, 8, 3), "codes")


@pytest.fixture
def encoded(toys, tmp_path):
    """Run a model on rows of the toy dataset."""

    def run(content, rows=range(5), **limits):
        path = tmp_path / "encoder.onnx"
        path.write_bytes(content)
        with encoders.Encoder(path, **limits) as encoder:
            return encoder.encode(toys["toy/small"], np.array(rows))

    return run


def test_floats_are_pixels_divided_by_255(encoded, toys):
    images = toys["toy/small"].images(np.arange(60))
    np.testing.assert_array_equal(encoded(HONEST, range(60)), (images / np.float32(255)).reshape(60, -1))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_a_stranger_s_encoder_sees_the_pixels_that_one_s_own_sees(kind, tmp_path):
    """One is given pixels divided in float32, the other in float64: the same numbers for each level of a uint8."""
    levels = np.arange(8 * 8 * 3 * 2, dtype=np.uint8).reshape(2, 8, 8, 3)  # 384 numbers: from 0 to 255, and on
    mine = benchmark_data.from_images("mine", levels)
    cast = helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT)
    content = model([cast, ("Reshape", ["pixels", "shape"], ["codes"])], tensors=[SHAPED], kind=kind)
    path = tmp_path / "encoder.onnx"
    path.write_bytes(content)
    with encoders.Encoder(path) as encoder:
        theirs = encoder.encode(mine, [0, 1])
    assert len(np.unique(theirs)) == 256
    np.testing.assert_array_equal(theirs, representations.encode(path, mine, [0, 1]))


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
    with pytest.raises(InvalidInput, match=r"too much memory|it broke down"):
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
    with pytest.raises(InvalidInput, match="too slow: expected all images within 4 s of processor time"):
        encoded(content, seconds=4)


def test_other_graphs_are_refused_through_the_process_too(encoded):
    with pytest.raises(
        InvalidInput, match=r"encoder\.onnx: loop or branch: expected a graph without any, received Loop"
    ):
        encoded(HOSTILE["loop or branch"])
    with pytest.raises(DamagedFile, match="expected a model in ONNX"):
        encoded(b"not a model")


def test_the_process_can_open_nothing():
    """After its limits are set: no file, no connection, no other process's output."""
    program = """
import socket
from leaderboard.reading import encoder_process
encoder_process.confine(60, 2**33)
attempts = (lambda: open("/etc/hostname"), socket.socket, lambda: socket.create_connection(("127.0.0.1", 9)))
for attempt in attempts:
    try:
        attempt()
    except OSError as error:
        print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == ["Too many open files"] * 3


def test_onnx_knows_every_operator_that_is_refused():
    """So that a slip of the pen in the list shows."""
    assert {name for name in graphs.RANDOM | graphs.CONTROL if not onnx.defs.has(name)} == set()
