"""Loading Keras: what happens to Ctrl-C meanwhile."""

import contextlib
import importlib
import os
import signal
import sys

import pytest

from baselines.nets import backend


@pytest.fixture
def interrupts():
    """Ctrl-C as in a shell's foreground, also where the tests run in its background."""
    held = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, held)


def test_ctrl_c_while_keras_loads_is_not_lost_in_what_a_library_catches(monkeypatch, interrupts):
    """As TensorFlow has it: a broad except around an import. Training would begin, and nobody could stop it."""
    loaded = []

    def loading(name):
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGINT)
        loaded.append(name)

    monkeypatch.setattr(importlib, "import_module", loading)
    with pytest.raises(KeyboardInterrupt):
        backend._load.__wrapped__("tensorflow")
    assert loaded == ["tensorflow"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_keras_loads_where_standard_error_is_closed(monkeypatch, interrupts):
    monkeypatch.setattr(importlib, "import_module", lambda name: None)
    monkeypatch.setattr(sys, "stderr", None)
    assert backend._load.__wrapped__("tensorflow") is None


def test_what_is_ignored_stays_ignored(monkeypatch, interrupts):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    monkeypatch.setattr(importlib, "import_module", lambda name: signal.raise_signal(signal.SIGINT))
    assert backend._load.__wrapped__("tensorflow") is None


@pytest.mark.parametrize(
    ("installed", "chosen"),
    [(("tensorflow", "torch", "jax"), "tensorflow"), (("torch", "jax"), "torch"), (("jax",), "jax")],
)
def test_the_default_backend_is_the_first_that_is_installed(monkeypatch, installed, chosen):
    monkeypatch.setenv("KERAS_BACKEND", "numpy")  # and away again
    monkeypatch.delenv("KERAS_BACKEND")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in installed else None)
    monkeypatch.setattr(importlib, "import_module", lambda name: name)
    assert backend._load.__wrapped__("keras") == "keras"
    assert os.environ["KERAS_BACKEND"] == chosen
