"""Encoders of any framework, called with what they expect."""

from __future__ import annotations

import collections
import functools
import logging
import types

import numpy as np
import pytest

from benchmark_data.errors import InvalidInput
from leaderboard.encoding import Encoder, ScaledTwice, TrainingMode

Posterior = collections.namedtuple("Posterior", ["mean", "log_variance"])
"""What `Run.encode` gives."""

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 8, 6, 3), np.uint8)


def means(images):
    return images.mean(axis=(1, 2))


@pytest.mark.parametrize(
    ("input", "shape", "dtype", "largest"),
    [
        (None, (5, 8, 6, 3), np.uint8, IMAGES.max()),
        ("uint8_chw", (5, 3, 8, 6), np.uint8, IMAGES.max()),
        ("float32_hwc", (5, 8, 6, 3), np.float32, np.float32(IMAGES.max()) / 255),
        ("float32_chw", (5, 3, 8, 6), np.float32, np.float32(IMAGES.max()) / 255),
    ],
)
def test_a_function_is_called_with_the_input_that_is_asked_for(input, shape, dtype, largest):
    seen = []

    def encode(images):
        seen.append(images)
        return images.reshape(len(images), -1)[:, :2]

    Encoder(encode, input=input, batch_size=8)(IMAGES)
    assert seen[0].shape == shape
    assert seen[0].dtype == dtype
    assert seen[0].max() == largest


@pytest.mark.parametrize("batch_size", [1, 2, 5, 7])
def test_batches_make_no_difference(batch_size):
    codes = Encoder(means, batch_size=batch_size)(IMAGES)
    np.testing.assert_array_equal(codes, means(IMAGES))
    assert codes.dtype == means(IMAGES).dtype


def test_an_encoder_may_use_its_memory_again_and_change_its_images():
    buffer = np.empty((2, 3))

    def encode(images):
        out = buffer[: len(images)]
        out[:] = means(images)
        images[:] = 0
        return out

    given = IMAGES.copy()
    np.testing.assert_array_equal(Encoder(encode, batch_size=2)(given), means(IMAGES))
    np.testing.assert_array_equal(given, IMAGES)


def test_units_of_several_numbers_pass():
    assert Encoder(lambda images: images[:, :, 0, :])(IMAGES).shape == (5, 8, 3)


def test_an_object_with_a_method_encode_is_called_by_it():
    class Model:
        def encode(self, images):
            return means(images)

    np.testing.assert_array_equal(Encoder(Model())(IMAGES), Encoder(means)(IMAGES))


def test_models_in_default_arguments_and_lists_are_found():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    models = [torch.nn.Flatten()]
    for encode in (lambda images, model=models[0]: model(images), lambda images: models[0](images)):
        assert Encoder(encode).input == "float32_chw"


def test_a_torch_module_without_forward_is_called_by_its_method_encode():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Model(torch.nn.Module):
        def encode(self, images):
            assert images.shape[1:] == (3, 8, 6)
            assert not self.training
            return images.mean(dim=(2, 3))

    assert Encoder(Model())(IMAGES).shape == (5, 3)


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda images: (means(images), means(images)), r"model\(images\)\[0\]"),
        (lambda images: (images, means(images)), r"shapes \(5, 8, 6, 3\), \(5, 3\).*model\(images\)\[1\]"),
        (lambda images: {"drawn": images, "mu": means(images)}, r"model\(images\)\['mu'\]"),
        (lambda images: (), r"received a tuple of 0\. Pass the part"),
        (lambda images: Posterior(means(images), means(images)), r"folder, run\.folder, or `lambda .*images\)\.mean`"),
        (lambda images: means(images).T, r"return codes\.T"),
        (lambda images: images.mean(axis=(1, 2, 3)), r"codes\[:, None\]"),
        (lambda images: images, r"codes\.reshape\(len\(codes\), -1\)"),
        (lambda images: means(images)[:3], "shape"),
        (lambda images: means(images)[:, :0], r"received shape \(5, 0\)\. Return one row of numbers"),
        (lambda images: np.array([["a"]] * len(images)), r"real numbers, received dtype <U1\.$"),
        (lambda images: types.SimpleNamespace(mean=images), r"an object of type SimpleNamespace\. Return its mean"),
        (lambda images: None, r"expected one array, received None\. Let the encoder return"),
        (lambda images: means(images).tolist(), r"Return numpy\.array\(codes\)"),
    ],
)
def test_what_is_no_codes_is_refused_with_the_remedy(encode, message):
    with pytest.raises(InvalidInput, match=message):
        Encoder(encode)(IMAGES)


@pytest.mark.parametrize(("encode", "input"), [(7, None), (means, "nchw")])
def test_what_is_no_encoder_or_input_is_refused(encode, input):
    with pytest.raises(InvalidInput, match=r"encode|input"):
        Encoder(encode, input=input)


def test_an_encoder_that_fails_says_what_it_was_called_with():
    def encode(images):
        raise ValueError("expected float32")

    with pytest.raises(ValueError, match="expected float32") as raised:
        Encoder(encode)(IMAGES)
    assert "uint8 (n, H, W, C) in [0, 255]" in raised.value.__notes__[0]
    assert "float32_chw" in raised.value.__notes__[0]


def test_batches_of_two_widths_are_refused():
    with pytest.raises(InvalidInput, match="of every batch, received"):
        Encoder(lambda images: np.zeros((len(images), len(images))), batch_size=3)(IMAGES[:5])


def test_numbers_of_images_are_positive():
    with pytest.raises(InvalidInput, match="batch_size: expected at least 1, received 0"):
        Encoder(means, batch_size=0)
    with pytest.raises(InvalidInput, match="images: expected at least 1, received 0"):
        Encoder(means)(IMAGES[:0])


def test_images_in_0_to_1_are_refused():
    with pytest.raises(InvalidInput, match="images: expected uint8, received float64"):
        Encoder(means)(IMAGES / 255)


def test_a_path_is_for_evaluate():
    with pytest.raises(
        InvalidInput, match=r"received one of type str\. leaderboard\.evaluate also takes the paths .* To score codes"
    ):
        Encoder("encoder.onnx")


@pytest.mark.parametrize(("given", "kept"), [("uint8", "float32"), ("bool", "float32"), ("int64", "float64")])
def test_whole_numbers_become_real_ones_that_hold_them(given, kept):
    assert Encoder(lambda images: np.ones((len(images), 2), given))(IMAGES).dtype == kept


def test_a_torch_module_of_an_object_that_a_function_refers_to_is_found():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Trainer:
        def __init__(self):
            self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 6, 4))

        def evaluate(self):
            return Encoder(lambda images: self.model(images))(IMAGES)

        def encode(self, images):
            return self.model(images)

    trainer = Trainer()
    for codes in (trainer.evaluate(), Encoder(lambda images: trainer.encode(images))(IMAGES)):
        np.testing.assert_array_equal(codes, Encoder(trainer.model)(IMAGES))
    hidden = {"model": trainer.model}
    with pytest.raises(TypeError) as raised:
        Encoder(lambda images: hidden["model"](images))(IMAGES)
    assert "No PyTorch module was found in it: pass the module itself" in raised.value.__notes__[-1]


def test_a_torch_module_that_is_not_found_is_warned_of():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    hidden = {"model": torch.nn.Linear(1, 2)}

    def encode(images):
        return hidden["model"](torch.ones(len(images), 1))

    for hiding in (encode, torch.no_grad()(encode)):
        with pytest.warns(TrainingMode, match="calls a PyTorch module in training mode"):
            Encoder(hiding)(IMAGES)
    hidden["model"].eval()
    Encoder(torch.no_grad()(encode))(IMAGES)  # warnings are errors here


def test_a_module_is_found_in_what_a_decorator_wraps():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 6, 4), torch.nn.Dropout(0.5))

    @torch.no_grad()
    def encode(images):
        return net(images)

    for found in (Encoder(encode), Encoder(functools.partial(encode))):
        assert found.input == "float32_chw"
        assert np.array_equal(found(IMAGES), found(IMAGES))


def test_modules_in_a_list_of_an_object_are_found():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Ensemble:
        def __init__(self):
            self.nets = [torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(3 * 8 * 6))]

        def __call__(self, images):
            return self.nets[0](images)

    ensemble = Ensemble()
    for encode in (ensemble, functools.partial(lambda nets, images: nets[0](images), ensemble.nets)):
        assert Encoder(encode)(IMAGES).shape == (len(IMAGES), 3 * 8 * 6)
    assert not ensemble.nets[0][1].running_mean.any()  # was in evaluation mode


def test_images_that_are_scaled_twice_are_warned_of():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 6, 4))
    identity = torch.nn.Identity()  # takes what is no tensor, too
    mean, deviation = (torch.tensor(each)[:, None, None] for each in ([123.7, 116.3, 103.5], [58.4, 57.1, 57.4]))
    for twice in (Encoder(lambda images: net(images / 255)), Encoder(lambda images: net((images - mean) / deviation))):
        expected = r"float32 \(n, C, H, W\) in \[0, 1\], and scaled.*pass input='uint8_chw'"
        with pytest.warns(ScaledTwice, match=expected):
            twice.check(IMAGES, twice(IMAGES))
    for encoder in (
        Encoder(lambda images: net((images - mean / 255) / (deviation / 255))),
        Encoder(net),
        Encoder(lambda images: net((images - 0.5) / 0.25)),
        Encoder(lambda images: net(images / 255), input="uint8_chw"),
        Encoder(lambda images: net(torch.from_numpy(identity(images.numpy())))),
        Encoder(lambda images: net(identity(images > 0.5).float())),
    ):
        encoder.check(IMAGES, encoder(IMAGES))  # warnings are errors here


def test_images_that_are_scaled_twice_for_keras_are_warned_of():
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(4)])
    methods = keras.Layer.__call__, keras.Model.predict
    for twice in (
        Encoder(lambda images: model(images / 255)),
        Encoder(lambda images: model.predict(images / 255, verbose=0)),
    ):
        with pytest.warns(ScaledTwice, match=r"\(n, H, W, C\) in \[0, 1\], and scaled.*pass input='uint8_hwc'"):
            twice.check(IMAGES, twice(IMAGES))
    for encoder in (
        Encoder(model),
        Encoder(lambda images: model.predict(images, verbose=0)),
        Encoder(lambda images: model((images - 0.5) / 0.25)),
        Encoder(lambda images: model(images / 255), input="uint8_hwc"),
    ):
        encoder.check(IMAGES, encoder(IMAGES))  # warnings are errors here
    assert (keras.Layer.__call__, keras.Model.predict) == methods


@pytest.mark.parametrize("precision", ["bfloat16", "float64"])
def test_a_torch_module_is_called_in_its_own_precision(precision):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 6, 4)).to(getattr(torch, precision))
    assert Encoder(model)(IMAGES).shape == (len(IMAGES), 4)
    assert Encoder(model).description == f"called with PyTorch tensors on cpu, {precision} (n, C, H, W) in [0, 1]"
    assert "uint8 (n, C" in Encoder(lambda images: model(images / 255), input="uint8_chw").description


@pytest.mark.parametrize("precision", ["float16", "float64"])
def test_a_torch_module_is_exported_in_its_own_precision_without_log_messages(precision, tmp_path, caplog, request):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for package in ("onnx", "onnxscript"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 6, 4)).to(getattr(torch, precision))
    encoder = Encoder(model)
    log = logging.getLogger("torch.onnx")
    log.addHandler(caplog.handler)
    request.addfinalizer(lambda: log.removeHandler(caplog.handler))
    level = log.level
    encoder.export(tmp_path / "encoder.onnx", IMAGES[:2])
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert (messages, log.level) == ([], level)  # PyTorch warns of torchvision's operators if it is missing
    session = runtime.InferenceSession(tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"images": IMAGES})[0], encoder(IMAGES), atol=1e-2)


def test_a_variable_that_shares_an_attributes_name_is_not_the_encoders(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setitem(globals(), "model", torch.nn.Linear(1, 1))
    monkeypatch.setitem(globals(), "mine", types.SimpleNamespace(model=lambda images: images.mean((1, 2))))
    assert Encoder(eval("lambda images: mine.model(images)", globals())).input == "uint8_hwc"
    assert Encoder(eval("lambda images: model(images)", globals())).input == "float32_chw"


@pytest.mark.parametrize("how", ["module", "method", "lambda", "partial", "attribute"])
def test_a_torch_module_is_found_and_called_as_it_expects(how):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3 * 8 * 6, 4)
            self.drop = torch.nn.Dropout(0.5)

        def encode(self, images):
            assert images.dtype == torch.float32
            assert images.shape[1:] == (3, 8, 6)
            assert not torch.is_grad_enabled()
            assert not self.training
            return self.drop(self.layer(images.flatten(1)))

        forward = encode

    class Holder:
        def __init__(self, model):
            self.model = model

        def __call__(self, images):
            return self.model(images)

    model = Model()
    encode = {
        "module": model,
        "method": model.encode,
        "lambda": lambda images: (model.encode(images), 0)[0],
        "partial": functools.partial(Model.encode, model),
        "attribute": Holder(model),
    }[how]
    model.drop.train(False)
    model.train(True)
    model.drop.eval()  # a frozen part stays frozen afterwards
    encoder = Encoder(encode)
    codes = encoder(IMAGES)
    expected = model.layer(torch.from_numpy(IMAGES.transpose(0, 3, 1, 2).astype(np.float32) / 255).flatten(1))
    np.testing.assert_allclose(codes, expected.detach().numpy(), rtol=1e-5)
    assert model.training
    assert model.layer.training
    assert not model.drop.training
    assert encoder.description == "called with PyTorch tensors on cpu, float32 (n, C, H, W) in [0, 1]"


def test_a_torch_module_of_one_mode_is_called_in_it():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Graph(torch.nn.Flatten):  # as that of torch.export
        def train(self, mode=True):
            raise NotImplementedError

    assert Encoder(Graph())(IMAGES).shape == (len(IMAGES), 3 * 8 * 6)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_frozen_torchscript_module_has_no_mode():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5)).eval()
    frozen = torch.jit.freeze(torch.jit.script(model))
    np.testing.assert_array_equal(Encoder(frozen)(IMAGES), Encoder(model)(IMAGES))


def test_a_keras_model_is_called_for_inference():
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dropout(0.5)])
    codes = Encoder(model)(IMAGES)
    np.testing.assert_allclose(codes, IMAGES.reshape(5, -1) / 255, rtol=1e-6)
    np.testing.assert_array_equal(Encoder(lambda images: model(images, training=False))(IMAGES), codes)


def test_a_jax_function_is_called_with_arrays():
    jax = pytest.importorskip("jax")
    encode = jax.jit(lambda images: images.mean(axis=(1, 2)))
    np.testing.assert_allclose(Encoder(encode, input="float32_hwc")(IMAGES), means(IMAGES) / 255, rtol=1e-5)


def test_codes_of_pytorch_keep_what_float32_does_not_hold():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    whole = Encoder(lambda images: 2**25 + torch.arange(len(images))[:, None])(IMAGES)
    assert whole[:, 0].tolist() == [2**25 + i for i in range(5)]
    assert Encoder(lambda images: torch.ones(len(images), 2, dtype=torch.float64))(IMAGES).dtype == np.float64
    assert Encoder(lambda images: torch.ones(len(images), 2, dtype=torch.bfloat16))(IMAGES).dtype == np.float32
