"""Transfer training: start from a run, keep some of its layers as they are, and train the others on another dataset.

Bonheme and Grześ, "How good are variational autoencoders at transfer learning?" (2023, arXiv 2304.10767), figures 6 and
9: of a VAE that was trained on the source, the heads of mean and variance and the first k layers of the decoder,
counted from the inside or from the outside, start anew and are trained on the target; all the others are frozen.

Three keys of a config define it: ``start_from``, ``reset`` and ``frozen``. Encoder and decoder come from the source;
networks of the objective's own, such as FactorVAE's discriminator, start anew. What starts anew has other weights than
the source began with, also if both runs have one seed (`baselines.model.initial_rng`). A copy of the source's weights
is kept in the run folder, ``start.npz``, and their hash in its config, so that a stopped run goes on exactly though the
source may be gone. Frozen weights are constants of the loss: they have no gradient, and none is computed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from baselines.config import RunConfig
from baselines.model import Model, layer_of
from baselines.run import Run
from baselines.run_folder import Snapshots, read_arrays, read_config, write_arrays
from benchmark_data.dataset import Dataset
from benchmark_data.errors import DamagedFile, InvalidInput, UnknownName, is_whole

__all__ = ["config", "layers", "resolve_source"]

HEADS = ("mean", "log_variance")

Weights = Mapping[str, NDArray[Any]]


def config(
    source: str | os.PathLike[str],
    dataset: str,
    *,
    heads: bool = True,
    decoder: int = 1,
    side: str = "inside",
    **changes: Any,
) -> RunConfig:
    """Make the config of a transfer as in the paper: what is not reset is frozen.

    Args:
        source: the folder of a finished run.
        dataset: the target, of the same image shape.
        heads: reset and train the heads of mean and variance; frozen otherwise.
        decoder: how many layers of the decoder to reset and train, of those that have weights. The authors' code has
            the heads and one.
        side: count them from the latents (``"inside"``, figure 6) or from the image (``"outside"``, figure 9).
        **changes: other keys of the config, such as ``steps``, ``seed`` or ``split``; the rest is the source's, also
            the hyperparameters that are not given.

    Returns:
        The config, ready for `baselines.train`; another objective has its own defaults, unless they are given, too.

    Raises:
        DamagedFile: there is no such run.
        InvalidInput: the source is not finished, its decoder has fewer layers, or nothing is left to train.
        UnknownName: another side, or there is no such key.

    Example:
        >>> import tempfile
        >>> from baselines import train
        >>> first = RunConfig(dataset="dsprites", objective="beta_vae", seed=0, steps=1, architecture="fc")
        >>> source = train(first, tempfile.mkdtemp()).folder
        >>> config(source, "dsprites_noisy", steps=100).reset
        ('decoder_1', 'log_variance', 'mean')
    """
    weights = read_source(source)
    decoder_layers = layers(weights, "decoder")
    if side not in ("inside", "outside"):
        raise UnknownName("side", side, ("inside", "outside"))
    least = 0 if heads else 1  # of a model that is frozen throughout, nothing would be trained
    if not is_whole(decoder) or not least <= decoder <= len(decoder_layers):
        raise InvalidInput(
            f"decoder (--decoder): expected {least} to {len(decoder_layers)}, the layers of the decoder of {source}, "
            f"received {decoder!r}."
        )
    trained_layers = decoder_layers[:decoder] if side == "inside" else decoder_layers[len(decoder_layers) - decoder :]
    reset = (*(HEADS if heads else ()), *trained_layers)
    frozen = [layer for layer in (*layers(weights, "encoder"), *decoder_layers) if layer not in reset]
    source_config = read_config(Path(source))
    source_config = source_config.with_steps(changes.get("steps", source_config.steps))
    is_same_objective = changes.get("objective", source_config.objective) == source_config.objective
    given = changes.get("hyperparameters", {})
    if isinstance(given, Mapping):  # or the config refuses it
        changes["hyperparameters"] = {**(source_config.hyperparameters if is_same_objective else {}), **given}
    transfer = {"start_from": os.fspath(source), "start_weights": digest(weights), "reset": reset, "frozen": frozen}
    return RunConfig.from_json(source_config.as_json() | {"dataset": dataset, "split": ""} | transfer | changes)


def resolve_source(config: RunConfig, folder: Path, dataset: Dataset) -> RunConfig:
    """Fill in the hash of the weights that a run starts from, and check that it can.

    Args:
        config: any config; without ``start_from`` it is returned unchanged.
        folder: the run folder. If it holds the run already, the source is not looked at.
        dataset: the config's dataset.

    Returns:
        The config with ``start_weights``.

    Raises:
        DamagedFile: there is no such source.
        InvalidInput: the source is not finished, its weights are not those that the config names, or it has another
            architecture, number of latents or image shape.
        UnknownName: there is no layer of this name to reset or freeze.
    """
    if not config.start_from:
        return config
    if (folder / "config.json").exists():
        stored = read_config(folder)
        if not config.start_weights:
            return dataclasses.replace(config, start_weights=stored.start_weights)
        same_weights = config.start_weights == stored.start_weights  # wherever they lie
        return dataclasses.replace(config, start_from=stored.start_from) if same_weights else config
    weights = read_source(config.start_from)
    source_digest = digest(weights)
    source = Run.open(config.start_from)
    requirements = {
        "weights": (config.start_weights or source_digest, source_digest),
        "architecture": (config.architecture, source.config.architecture),
        "architecture_parameters": (config.architecture_parameters, source.config.architecture_parameters),
        "latents": (config.latents, source.config.latents),
        "image shape": (dataset.image_shape, source.image_shape),
    }
    for what, (expected, actual) in requirements.items():
        if expected != actual:
            if what == "weights":
                remedy = "Restore the source, or omit start_weights to start from its current weights."
                raise InvalidInput(f"weights of {config.start_from}: expected {expected}, received {actual}. {remedy}")
            source_text = f"that of {config.start_from}, which this run starts from"
            remedy = " Choose a dataset of such images." if what == "image shape" else ""
            raise InvalidInput(f"{what}: expected {actual}, {source_text}, received {expected}.{remedy}")
    layer_names = [layer for network in ("encoder", "decoder") for layer in layers(weights, network)]
    for layer in (*config.reset, *config.frozen):
        if layer not in layer_names:
            raise UnknownName(f"layer with weights of {config.start_from}", layer, layer_names)
    return dataclasses.replace(config, start_weights=source_digest)


def start(model: Model, folder: Path) -> None:
    """Set the weights that a run starts from; a model whose config names none is left alone.

    Args:
        model: at its initial weights, which reset layers keep.
        folder: the run folder; ``start.npz`` in it is made if it is not there.

    Raises:
        DamagedFile: the file, or the source if the file is not there, does not hold the weights that the config names.
        InvalidInput: the file cannot be written.
    """
    path = folder / "start.npz"
    if path.exists() or not model.config.start_from:
        load_source_weights(model, path)
    else:
        write_arrays(path, load_source_weights(model))


def load_source_weights(model: Model, path: Path | None = None) -> Weights:
    """Set the weights that a run starts from, and write nothing.

    Args:
        model: as of `start`.
        path: the file that holds them; the last ones of the source if None.

    Returns:
        The weights; none of a model whose config names no source.

    Raises:
        DamagedFile: the file or the source does not hold the weights that the config names.
        InvalidInput: a layer that is kept has another shape.
    """
    config = model.config
    if not config.start_from:
        return {}
    weights = read_arrays(path) if path else read_source(config.start_from)
    source = str(path or config.start_from)
    if digest(weights) != config.start_weights:
        raise DamagedFile(
            f"{source}: expected the weights with the hash {config.start_weights[:16]} that the run starts from, "
            f"received {digest(weights)[:16]}. Restore them, or train again in another folder."
        )
    initial = model.weights()  # no decoder's where the objective has none
    kept = {name: array for name, array in weights.items() if layer_of(name) not in config.reset and name in initial}
    for name, array in kept.items():
        if (shape := initial[name].shape) != array.shape:
            raise InvalidInput(
                f"{name} of {source}: expected shape {shape}, received {array.shape}, since the codes differ in size. "
                f"Reset {layer_of(name)}."
            )
    model.load({**initial, **kept}, source)
    return weights


def read_source(folder: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read the last weights of a finished run's encoder and decoder.

    Args:
        folder: the run folder.

    Returns:
        By name, ``<network>/<layer>/<weight>``, from the first layer to the last.

    Raises:
        DamagedFile: there is no such run, or its weights are damaged.
        InvalidInput: it is not finished.
    """
    run = Run.open(folder)
    run.check_finished()
    weights = Snapshots(run.folder).read_weights(run.step)[0]
    return {name: array for name, array in weights.items() if name.startswith(("encoder/", "decoder/"))}


def layers(names: Iterable[str], network: str) -> list[str]:
    """List a network's layers that have weights, in order.

    Args:
        names: names of weights, in order.
        network: ``encoder`` or ``decoder``.

    Returns:
        Names of layers.

    Example:
        >>> layers(["encoder/encoder_1/kernel", "encoder/encoder_1/bias", "decoder/output/bias"], "encoder")
        ['encoder_1']
    """
    return list(dict.fromkeys(layer_of(name) for name in names if name.startswith(f"{network}/")))


def digest(weights: Weights) -> str:
    """Hash weights.

    Args:
        weights: arrays by name.

    Returns:
        SHA-256 of names, shapes and float32 values, in hexadecimal.

    Example:
        >>> import numpy as np
        >>> one, other = {"a": np.zeros(2), "b": np.ones(1)}, {"b": np.ones(1), "a": np.zeros(2)}
        >>> digest(one) == digest(other), digest(one) == digest({"a": np.zeros(2), "b": np.zeros(1)})
        (True, False)
    """
    hasher = hashlib.sha256()
    for name in sorted(weights):
        hasher.update(f"{name} {weights[name].shape}".encode())
        hasher.update(weights[name].astype("<f4").tobytes())
    return hasher.hexdigest()
