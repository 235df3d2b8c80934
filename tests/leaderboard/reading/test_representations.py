"""The same codes from every kind of file, and an encoder in ONNX without Keras."""

import json
import math
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

import benchmark_data
from benchmark_data.errors import DamagedFile, InvalidInput, MissingExtra, UnknownName
from leaderboard import protocol
from leaderboard.reading import encoders, representations

N = 60  # rows of toy/small


@pytest.fixture
def codes():
    return np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)


def write_npz(path, codes, indices):
    np.savez(path, codes=codes, indices=indices)


def write_safetensors(path, codes, indices):
    save_file({"codes": codes, "indices": indices}, path)


FORMATS = {
    "a.npz": write_npz,
    "b.safetensors": write_safetensors,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_codes_and_labels(toys, tmp_path, codes, name):
    indices = np.arange(N)[::-1].copy()
    FORMATS[name](tmp_path / name, codes, indices)
    found = representations.codes(tmp_path / name, dataset="toy/small")
    assert np.array_equal(found.codes, codes)
    assert np.array_equal(found.indices, indices)
    assert np.array_equal(found.factors, toys["toy/small"].labels(indices))
    assert found.names == ("f0", "f1", "f2")


def test_the_command_for_missing_codes_quotes_a_folder_with_a_space(tmp_path):
    folder = tmp_path / "my run"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "run.json").write_text('{"dataset": "dsprites"}')
    with pytest.raises(DamagedFile, match=r"Write it: offaxis train encode '.*/my run'"):
        representations.file_in_run_folder(folder, "codes.npz", "encode")
    absent = tmp_path / "absent.npz"
    assert representations.file_in_run_folder(absent, "codes.npz", "encode") == absent, "no folder without a file"


def test_without_indices_the_rows_are_the_task_s(toys, tmp_path, codes):
    np.save(tmp_path / "a.npy", codes)
    found = representations.codes(tmp_path / "a.npy", dataset="toy/small")
    assert np.array_equal(found.indices, protocol.task("toy/small").indices)
    np.save(tmp_path / "b.npy", codes[:50])
    with pytest.raises(
        InvalidInput, match=r"codes: expected 60 rows, those of toy/small@v1 in order, received 50.*`indices`"
    ):
        representations.codes(tmp_path / "b.npy", dataset="toy/small")


def test_a_run_folder_knows_its_dataset(toys, run_folder):
    folder = run_folder(dataset="toy/spacing_1")
    found = representations.codes(folder)
    assert found.names == ("f0", "f1", "f2")
    assert np.array_equal(found.indices, protocol.task("toy/spacing_1").indices)
    with pytest.raises(
        InvalidInput,
        match=r"codes of toy/small, received codes of toy/spacing_1.*train encode RUN --dataset toy/small",
    ):
        representations.codes(folder, dataset="toy/small")
    (folder / "codes.npz").unlink()
    with pytest.raises(DamagedFile, match=r"with codes.npz, received none. docs/submitting.md describes the"):
        representations.codes(folder)
    (folder / "config.json").write_text("{}")  # as the trainer writes
    with pytest.raises(DamagedFile, match=r"with codes.npz, received none. Write it: offaxis train encode"):
        representations.codes(folder)
    (folder / "run.json").write_text("{}")
    with pytest.raises(DamagedFile, match=r"run.json: expected the name of a dataset, received \{\}"):
        representations.codes(folder)


def test_codes_of_another_task_are_refused_wherever_their_task_can_be_known(toys, tmp_path, codes, run_folder):
    other = protocol.task("toy/spacing_1").indices
    np.savez(tmp_path / "a.npz", codes=codes, indices=other)
    told = (
        r"a\.npz: indices: expected rows of toy/small, received the rows of toy/spacing_1@v1, in its order: .*Name the"
    )
    with pytest.raises(InvalidInput, match=told):  # by the row list, which no two tasks share
        representations.codes(tmp_path / "a.npz", dataset="toy/small")
    assert representations.codes(tmp_path / "a.npz", dataset="toy/spacing_1").dataset == "toy/spacing_1"
    np.savez(tmp_path / "b.npz", codes=codes, indices=other[::-1])
    assert representations.codes(tmp_path / "b.npz", dataset="toy/small").dataset == "toy/small"
    with pytest.raises(InvalidInput, match=r"received the rows of toy/spacing_1@v1"):
        representations.codes(run_folder(indices=other))
    np.savez(folder := run_folder(dataset="toy/spacing_8") / "codes.npz", codes=codes)
    said = r"expected codes of toy/small, received codes of toy/spacing_8"
    with pytest.raises(InvalidInput, match=said):  # by the record beside it
        representations.codes(folder, dataset="toy/small")
    assert representations.codes(folder, dataset="toy/spacing_8").dataset == "toy/spacing_8"
    place = tmp_path / "submission" / "toy" / "spacing_8"
    place.mkdir(parents=True)
    (place.parents[1] / "submission.json").write_text("{}", "utf-8")
    np.savez(place / "seed_0.npz", codes=codes)
    with pytest.raises(InvalidInput, match=said):  # by its folder in a submission
        representations.codes(place / "seed_0.npz", dataset="toy/small")
    assert representations.codes(place / "seed_0.npz", dataset="toy/spacing_8").dataset == "toy/spacing_8"


def test_factors_of_data_that_is_no_dataset_here(tmp_path, codes):
    factors = np.arange(2 * N).reshape(N, 2) % 3
    np.savez(tmp_path / "a.npz", z=codes, factors=factors)
    found = representations.codes(tmp_path / "a.npz")
    assert np.array_equal(found.factors, factors)
    assert found.names == ("factor_0", "factor_1")
    np.savez(tmp_path / "b.npz", z=codes, factors=factors, factor_names=["shape", "x"])
    assert representations.codes(tmp_path / "b.npz").names == ("shape", "x")
    for names in (["shape"], ["shape", "x", "y"], [["shape", "x"]] * 2):
        np.savez(tmp_path / "b.npz", z=codes, factors=factors, factor_names=names)
        with pytest.raises(
            InvalidInput, match=r"b\.npz: factor_names: expected 2, one for each factor, received shape"
        ):
            representations.codes(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", codes)
    assert representations.codes(tmp_path / "c.npy").factors is None
    np.savez(tmp_path / "d.npz", z=codes, factors=factors[:9])
    with pytest.raises(InvalidInput, match=r"z: expected 9 rows, as in .*d\.npz: factors, received 60"):
        representations.codes(tmp_path / "d.npz")
    np.savez(tmp_path / "e.npz", z=codes.T, factors=factors)
    with pytest.raises(InvalidInput, match=r"z: expected shape \(60, latents\).*It looks transposed: pass z\.T"):
        representations.codes(tmp_path / "e.npz")


def test_which_array_holds_the_codes(tmp_path, codes):
    path = tmp_path / "a.npz"
    np.savez(path)
    with pytest.raises(InvalidInput, match=r"expected an array called codes, .* received no array\.$"):
        representations.codes(path)
    np.savez(path, a=codes, b=2 * codes)
    with pytest.raises(InvalidInput, match=r"expected an array called codes, .* received the arrays a \(60, 3\), b"):
        representations.codes(path)
    assert np.array_equal(representations.codes(path, array="b").codes, 2 * codes)
    with pytest.raises(UnknownName, match="expected one of a, b, received 'c'"):
        representations.codes(path, array="c")
    np.savez(path, a=codes, losses=codes[:, 0], steps=np.arange(3))
    assert np.array_equal(representations.codes(path).codes, codes), "the one table of floats"


def test_half_precision_and_brain_floats(tmp_path):
    save_file({"codes": np.ones((4, 2), np.float16)}, tmp_path / "a.safetensors")
    assert representations.codes(tmp_path / "a.safetensors").codes.dtype == np.float32
    header = json.dumps({"codes": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    numbers = np.array([1.0, 2.0, 3.0, 4.5], np.float32).view(np.uint32) >> 16
    content = struct.pack("<Q", len(header)) + header + numbers.astype("<u2").tobytes()
    (tmp_path / "b.safetensors").write_bytes(content)
    assert representations.codes(tmp_path / "b.safetensors").codes.tolist() == [[1.0, 2.0], [3.0, 4.5]]


def test_bad_codes_are_named(toys, tmp_path, codes):
    np.save(tmp_path / "a.npy", np.where(np.arange(3) == 1, np.nan, codes))
    with pytest.raises(InvalidInput, match=r"a.npy: codes: expected finite numbers"):
        representations.codes(tmp_path / "a.npy")
    np.savez(tmp_path / "b.npz", codes=codes, indices=np.arange(1, N + 1))
    with pytest.raises(InvalidInput, match=r"rows of toy/small: expected rows in \[0, 59\]"):
        representations.codes(tmp_path / "b.npz", dataset="toy/small")
    np.savez(tmp_path / "c.npz", codes=codes, indices=np.arange(9))
    with pytest.raises(InvalidInput, match="indices: expected 60 rows, as in codes, received 9"):
        representations.codes(tmp_path / "c.npz", dataset="toy/small")
    np.savez(tmp_path / "d.npz", codes=codes, indices=9)
    with pytest.raises(InvalidInput, match=r"rows of toy/small: expected integers of shape \(n,\)"):
        representations.codes(tmp_path / "d.npz", dataset="toy/small")


def test_layers_keep_their_order(tmp_path):
    layers = {"z_input": np.zeros((5, 2, 2, 1), np.float32), "mean": np.ones((5, 2), np.float32)}
    np.savez(tmp_path / "activations.npz", layers=np.array(["mean", "z_input"]), indices=np.arange(5), **layers)
    assert list(representations.activations(tmp_path)) == ["mean", "z_input"]
    assert list(representations.activations(tmp_path, ["z_input"])) == ["z_input"]
    np.savez(tmp_path / "plain.npz", indices=np.arange(5), **layers)
    assert list(representations.activations(tmp_path / "plain.npz")) == ["z_input", "mean"]
    save_file(layers, tmp_path / "a.safetensors", metadata={"layers": json.dumps(["z_input", "mean"])})
    assert list(representations.activations(tmp_path / "a.safetensors")) == ["z_input", "mean"]
    save_file(layers, tmp_path / "b.safetensors")
    assert sorted(representations.activations(tmp_path / "b.safetensors")) == ["mean", "z_input"]
    for damaged in ("mean", "[" * 100_000):
        save_file(layers, tmp_path / "c.safetensors", metadata={"layers": damaged})
        with pytest.raises(DamagedFile, match=r"layers: expected a JSON list of names, received (mean|\[{60})"):
            representations.activations(tmp_path / "c.safetensors")


def test_the_one_array_of_a_file_is_a_layer(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(5, 3))
    assert {name: array.shape for name, array in representations.activations(tmp_path / "a.npy").items()} == {
        "codes": (5, 3)
    }


def test_an_npz_file_by_another_name_is_no_npy_file(tmp_path):
    np.savez(tmp_path / "a.npz", np.eye(5, 3))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    for read in (representations.activations, representations.codes):
        with pytest.raises(DamagedFile, match=r"a\.npy: expected an npy file of one plain array"):
            read(tmp_path / "a.npy")


def test_layers_of_integers_are_layers_and_rows_and_labels_none(tmp_path):
    """Images of a model are often uint8."""
    images = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    labels = np.ones((4, 2), int)
    np.savez(tmp_path / "a.npz", input=images, mean=np.eye(4), indices=np.arange(4), factors=labels, targets=labels)
    found = representations.activations(tmp_path / "a.npz")
    assert list(found) == ["input", "mean"]
    assert found["input"].shape == (4, 6)


class Exploit:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_nothing_is_unpickled_and_damage_is_named(tmp_path):
    np.savez(tmp_path / "object.npz", codes=np.array([Exploit()], dtype=object))
    with pytest.raises(DamagedFile, match="codes: expected numbers or text, without Python objects, received object"):
        representations.arrays(tmp_path / "object.npz")
    for suffix in (".npz", ".npy", ".safetensors"):
        path = tmp_path / f"pickle{suffix}"
        path.write_bytes(pickle.dumps(Exploit()))
        with pytest.raises(DamagedFile, match=f"pickle{suffix}"):
            representations.arrays(path)
        path.write_bytes(b"")
        with pytest.raises(DamagedFile, match=f"pickle{suffix}"):
            representations.arrays(path)
    np.save(tmp_path / "single.npy", np.zeros(3))
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    with pytest.raises(DamagedFile, match="expected an npz file written by numpy"):
        representations.arrays(tmp_path / "single.npz")
    (tmp_path / "codes.txt").touch()
    (tmp_path / "codes").touch()
    expected = "expected a file .npz, .npy, .safetensors, or a run folder, received"
    for path, error, received in (
        (tmp_path / "absent.npz", DamagedFile, "none: there is no such file or folder"),
        (tmp_path / "absent", DamagedFile, "none: there is no such file or folder"),
        (tmp_path / "codes.txt", InvalidInput, ".txt"),
        (tmp_path / "codes", InvalidInput, "a name without an ending"),
        (tmp_path, InvalidInput, "another folder"),
    ):
        with pytest.raises(error, match=re.escape(f"{path}: {expected} {received}.")):
            representations.arrays(path)


@pytest.mark.parametrize(
    ("package", "extra", "name"),
    [("safetensors", "board", "a.safetensors"), ("onnxruntime", "onnx", "a.onnx")],
)
def test_a_missing_package_is_named(toys, monkeypatch, tmp_path, package, extra, name):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(MissingExtra, match=rf"expected the package {package}.*offaxis\[{extra}\]"):
        representations.codes(tmp_path / name, dataset="toy/small")


# An encoder in ONNX: flatten, then one matrix.


def write_model(path, shape, *, dtype=TensorProto.FLOAT, outputs=("codes",)):
    width = math.prod(axis if isinstance(axis, int) else 1 for axis in shape[1:])
    width = 192 if width == 1 else width
    weights = np.random.default_rng(1).normal(size=(width, 2)).astype(np.float32)
    if dtype == TensorProto.FLOAT16:
        weights = weights.astype(np.float16)
    kind = dtype if dtype != TensorProto.UINT8 else TensorProto.FLOAT
    nodes = [
        helper.make_node("Flatten", ["image"], ["flat"]),
        helper.make_node("Cast", ["flat"], ["numbers"], to=kind),
        helper.make_node("MatMul", ["numbers", "weights"], [outputs[0]]),
        *(helper.make_node("Neg", [outputs[0]], [name]) for name in outputs[1:]),
    ]
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("image", dtype, shape)],
        [helper.make_tensor_value_info(name, kind, [shape[0], 2]) for name in outputs],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return weights.astype(np.float64)


def test_units_of_an_encoder_are_reduced_as_those_of_its_codes_are(toys, tmp_path):
    """Three units of two numbers each: three latents, whichever of the two files is read."""
    weights = np.random.default_rng(1).normal(size=(192, 6)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["image"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weights"], ["numbers"]),
            helper.make_node("Reshape", ["numbers", "shape"], ["codes"]),
        ],
        "encoder",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 8, 8, 3])],
        [helper.make_tensor_value_info("codes", TensorProto.FLOAT, ["n", 3, 2])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(np.array([-1, 3, 2]), "shape")],
    )
    path = tmp_path / "units.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    read = representations.codes(path, dataset="toy/small")
    units = encoders.encode(path, toys["toy/small"], read.indices)
    assert (read.codes.shape, units.shape) == ((N, 3), (N, 3, 2))
    np.savez(tmp_path / "codes.npz", codes=units, indices=read.indices)
    assert np.array_equal(representations.codes(tmp_path / "codes.npz", dataset="toy/small").codes, read.codes)


def test_an_onnx_encoder_end_to_end(toys, tmp_path):
    weights = write_model(tmp_path / "a.onnx", ["n", 8, 8, 3])
    dataset = toys["toy/small"]
    found = representations.codes(tmp_path / "a.onnx", dataset="toy/small")
    pixels = dataset.images(found.indices).reshape(N, -1) / 255
    assert np.allclose(found.codes, pixels @ weights, atol=1e-5)
    assert np.array_equal(found.factors, dataset.labels(found.indices))
    with pytest.raises(InvalidInput, match="expected the dataset to encode, received none"):
        representations.codes(tmp_path / "a.onnx")


def test_codes_of_ones_own_images(tmp_path):
    """Rows are shuffled, since metrics hold out the last third; the factors follow them."""
    rng = np.random.default_rng(0)
    levels = np.repeat(np.arange(3), 10)
    images = np.repeat(80 * levels, 8 * 8 * 3).reshape(30, 8, 8, 3).astype(np.uint8)
    dataset = benchmark_data.from_images("mine", images, labels={"level": levels})
    weights = write_model(tmp_path / "a.onnx", ["n", 8, 8, 3])
    found = representations.codes(tmp_path / "a.onnx", dataset=dataset)
    assert sorted(found.indices) == list(range(30)) != list(found.indices)
    assert np.allclose(found.codes, dataset.images(found.indices).reshape(30, -1) / 255 @ weights, atol=1e-5)
    assert found.names == ("level",)
    assert np.array_equal(found.factors[:, 0], levels[found.indices])
    codes = rng.normal(size=(30, 2))
    np.save(tmp_path / "whole.npy", codes)  # in the dataset's order
    found = representations.codes(tmp_path / "whole.npy", dataset=dataset)
    assert list(found.indices) != list(range(30))
    assert np.array_equal(found.codes, codes[found.indices])
    np.savez(tmp_path / "some.npz", codes=codes[:3], indices=[4, 9, 2])
    found = representations.codes(tmp_path / "some.npz", dataset=dataset)
    assert np.array_equal(found.codes, codes[:3])
    assert np.array_equal(found.factors[:, 0], levels[[4, 9, 2]])
    np.save(tmp_path / "part.npy", codes[:3])
    with pytest.raises(
        InvalidInput, match=r"expected 30 rows, those of mine in the order of its labels, received 3\. Store their rows"
    ):
        representations.codes(tmp_path / "part.npy", dataset=dataset)
    vectors = rng.normal(size=(30, 2, 4))  # two units, whose direction the task's train rows decide
    np.save(tmp_path / "vectors.npy", vectors)
    rows = protocol.task_of(dataset).indices
    np.savez(tmp_path / "rows.npz", codes=vectors[rows], indices=rows)
    whole, by_rows = (representations.codes(tmp_path / n, dataset=dataset) for n in ("vectors.npy", "rows.npz"))
    assert np.array_equal(whole.codes, by_rows.codes)


def test_channels_first_other_types_and_fixed_batches(toys, tmp_path):
    dataset, rows = toys["toy/small"], np.arange(11)
    images = dataset.images(rows)
    weights = write_model(tmp_path / "first.onnx", ["n", 3, 8, 8])
    expected = images.transpose(0, 3, 1, 2).reshape(11, -1) / 255 @ weights
    done = []
    found = encoders.encode(tmp_path / "first.onnx", dataset, rows, batch_size=4, progress=done.append)
    assert np.allclose(found, expected, atol=1e-5)
    assert done == [4, 4, 3]
    weights = write_model(tmp_path / "bytes.onnx", [4, 8, 8, 3], dtype=TensorProto.UINT8)
    assert np.allclose(
        encoders.encode(tmp_path / "bytes.onnx", dataset, rows), images.reshape(11, -1) @ weights, rtol=1e-5
    )
    weights = write_model(tmp_path / "half.onnx", ["n", 8, 8, 3], dtype=TensorProto.FLOAT16)
    assert np.allclose(
        encoders.encode(tmp_path / "half.onnx", dataset, rows), images.reshape(11, -1) / 255 @ weights, atol=0.02
    )


def test_standardised_pixels(toys, tmp_path):
    dataset = toys["toy/small"]
    weights = write_model(tmp_path / "a.onnx", ["n", 8, 8, 3])
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    found = encoders.encode(tmp_path / "a.onnx", dataset, [0, 1], mean=mean, std=std)
    pixels = (dataset.images([0, 1]) / 255 - mean) / std
    assert np.allclose(found, pixels.reshape(2, -1) @ weights, atol=1e-4)
    with pytest.raises(InvalidInput, match="mean and std: expected one number each, or 3, std above 0"):
        encoders.encode(tmp_path / "a.onnx", dataset, [0], std=(0.0,))


def test_onnx_models_that_do_not_fit(toys, tmp_path):
    dataset = toys["toy/small"]
    weights = write_model(tmp_path / "two.onnx", ["n", 8, 8, 3], outputs=("mu", "log_var"))
    with pytest.raises(InvalidInput, match="expected one, or one called codes or mean, received mu, log_var"):
        encoders.encode(tmp_path / "two.onnx", dataset, [0])
    expected = dataset.images([0]).reshape(1, -1) / 255 @ weights
    for output, sign in (("mu", 1), ("log_var", -1)):
        found = encoders.encode(tmp_path / "two.onnx", dataset, [0], output=output)
        np.testing.assert_allclose(found, sign * expected, rtol=1e-5)
    with pytest.raises(InvalidInput, match="expected one called mean, received mu, log_var"):
        encoders.encode(tmp_path / "two.onnx", dataset, [0], output="mean")
    write_model(tmp_path / "gray.onnx", ["n", 8, 8, 1])
    with pytest.raises(
        InvalidInput, match=r"expected NHWC \(n, 8, 8, 3\) or NCHW \(n, 3, 8, 8\), received shape \(None, 8, 8, 1\)"
    ):
        encoders.encode(tmp_path / "gray.onnx", dataset, [0])
    write_model(tmp_path / "vague.onnx", ["n", "a", "b", "c"])
    with pytest.raises(
        InvalidInput, match=r"expected an input shape from which the channel axis is clear.*Export it with fixed"
    ):
        encoders.encode(tmp_path / "vague.onnx", dataset, [0])
    assert encoders.encode(tmp_path / "vague.onnx", dataset, [0], layout="NHWC").shape == (1, 2)
    with pytest.raises(InvalidInput, match="layout: expected 'NHWC' or 'NCHW', received 'HWCN'"):
        encoders.encode(tmp_path / "vague.onnx", dataset, [0], layout="HWCN")
    (tmp_path / "junk.onnx").write_bytes(b"junk")
    with pytest.raises(DamagedFile, match="expected a model in ONNX"):
        encoders.encode(tmp_path / "junk.onnx", dataset, [0])


def test_a_run_folder_without_activations(tmp_path):
    with pytest.raises(DamagedFile, match=r"a run folder with activations\.npz, received none"):
        representations.activations_file(tmp_path)


def test_encoding_needs_no_keras(tmp_path):
    write_model(tmp_path / "a.onnx", ["n", 64, 64, 3])
    program = f"""
import sys
class Block:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("keras", "tensorflow", "torch", "jax"):
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import benchmark_data
from leaderboard.reading import encoders
print(encoders.encode({str(tmp_path / "a.onnx")!r}, benchmark_data.load("xysquares"), range(3)).shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(3, 2)"


def test_damaged_activations_are_named(tmp_path):
    np.savez(tmp_path / "name.npz", layers=np.array("first"), first=np.ones((3, 2)))
    assert list(representations.activations(tmp_path / "name.npz")) == ["first"]
    np.savez(tmp_path / "empty.npz", first=np.ones((0, 2, 3)))
    assert representations.activations(tmp_path / "empty.npz")["first"].shape == (0, 6)
