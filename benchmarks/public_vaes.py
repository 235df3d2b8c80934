"""Measure eight VAEs that others trained on dSprites, and compare them with desk runs of the board.

    export OFFAXIS_REAL=FOLDER                         # holds public_vaes/*.safetensors and *.json
    python benchmarks/public_vaes.py measure           # logged KL, scores, explained variance: public_vaes.json
    python benchmarks/public_vaes.py similarity RUNS   # CKA between objectives: public_vaes_cka.csv and a picture
    python benchmarks/public_vaes.py write FOLDER      # a run folder of each, as a stranger hands it in
    python benchmarks/public_vaes_page.py              # the tables of docs/public_models.md, from the records

The models are those of github.com/YannDubs/disentangling-vae (MIT): the convolution of Burgess et al. (2018), ten
latents, seed 1234. The weights are not committed, and the last command needs none. ``similarity`` trains the desk runs
that it compares into RUNS, unless they are there.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import scipy.special
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from benchmark_data.files import write_json, written_atomically
from leaderboard import information, protocol
from leaderboard.comparisons import heatmap
from leaderboard.metrics import dci, mig, r_squared

HERE = Path(__file__).parent
RECORD = HERE / "public_vaes.json"
SIMILARITY = HERE / "public_vaes_cka.csv"
PICTURE = HERE.parent / "docs" / "images" / "public_models_cka.png"
DATASET = "dsprites"
STEPS = 345_600
BATCHES = 738
"""The authors logged the loss of one batch of 1,000 images, divided by the number of such batches in dSprites."""

ROWS = 2_000
"""Images on which layers are compared: the first test rows of the task."""

Arrays = dict[str, NDArray[np.float32]]


class Public(NamedTuple):
    """One of the models.

    Attributes:
        file: its file's name, without the ending.
        method: its name on the board.
        objective: what its loss is called.
        strength: the loss's strength, as the authors set it.
        desk: the objective of the desk runs that it corresponds to; empty if there is none.
        images: what one step takes. FactorVAE's discriminator takes a second batch.
        first: the images that the log is of: all of the batch, or its first half.
    """

    file: str
    method: str
    objective: str
    strength: str
    desk: str = ""
    images: int = 64
    first: int = 1000


MODELS = (
    Public("VAE_dsprites", "public_vae", "VAE", "β = 1"),
    Public("betaH_dsprites", "public_beta_vae", "β-VAE", "β = 4", "beta_vae"),
    Public("betaB_dsprites", "public_annealed_vae", "AnnealedVAE", "γ = 100, C = 25", "annealed_vae"),
    Public("factor_dsprites", "public_factor_vae", "FactorVAE", "γ = 6.4", "factor_vae", 128, 500),
    Public("btcvae_dsprites", "public_beta_tc_vae", "β-TCVAE", "β = 6.4", "beta_tc_vae"),
    Public("btcvae_dsprites_a0", "public_beta_tc_vae_a0", "β-TCVAE, α = 0", "β = 6.4"),
    Public("btcvae_dsprites_a5", "public_beta_tc_vae_a5", "β-TCVAE, α = 5", "β = 6.4"),
    Public("btcvae_dsprites_a-5", "public_beta_tc_vae_am5", "β-TCVAE, α = -5", "β = 6.4"),
)
DESK_RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "β-VAE, β = 1": ("beta_vae", {"hyperparameters": {"beta": 1.0}}),
    "β-VAE, β = 8": ("beta_vae", {}),
    "AnnealedVAE": ("annealed_vae", {}),
    "FactorVAE": ("factor_vae", {}),
    "β-TCVAE": ("beta_tc_vae", {}),
}
"""Name -> objective and what differs from the board's runs. With β = 1 there is none on the board."""

DESK_SEEDS = (0, 1)
LAYERS = {
    "encoder": ("conv1", "conv2", "conv3", "conv_64", "lin1", "lin2", "mu_logvar_gen"),
    "decoder": ("lin1", "lin2", "lin3", "convT_64", "convT1", "convT2", "convT3"),
}
"""The names of the weights, in order. All layers but the last are followed by a ReLU."""

COLUMNS = [
    *(f"encoder_{i}" for i in range(1, 7)),
    *("mean", "variance", "sampled"),
    *(f"decoder_{i}" for i in range(1, 7)),
    "output",
]
"""The layers of the public models. Of the desk model encoder_5 is encoder_4, flattened, and there is no decoder_6."""


def path_of(model: Public, suffix: str) -> Path:
    """Return where one of a model's files is."""
    real = os.environ.get("OFFAXIS_REAL", "")
    if not real:
        raise SystemExit("OFFAXIS_REAL is not set. Set it to the folder that holds public_vaes.")
    return Path(real) / "public_vaes" / f"{model.file}.{suffix}"


def weights_of(model: Public) -> Arrays:
    """Read a model's weights."""
    from safetensors.numpy import load_file

    weights: Arrays = load_file(path_of(model, "safetensors"))
    return weights


def untrained(shapes: Arrays, seed: int) -> Arrays:
    """Draw weights from a uniform distribution of variance 2 / fan-in (He et al. 2015); biases are zero."""
    rng = np.random.default_rng(seed)
    fans = {name: array[0].size for name, array in shapes.items() if array.ndim > 1}
    return {
        name: (np.sqrt(6 / fans[name]) * rng.uniform(-1, 1, array.shape) if name in fans else 0 * array).astype("f4")
        for name, array in shapes.items()
    }


def network(weights: Arrays, part: str, *, layers: bool = False) -> bytes:
    """Build one half of a model in ONNX.

    Args:
        weights: of the model.
        part: ``"encoder"``, from images in [0, 1], (n, 1, 64, 64), to ``codes``, the means, (n, 10); or ``"decoder"``,
            from ``codes`` to ``output``, (n, 1, 64, 64), before the sigmoid.
        layers: return ``encoder_1`` ... and ``log_variance``, or ``decoder_1`` ..., too.

    Returns:
        The file's bytes.
    """
    source, shape = ("images", ["n", 1, 64, 64]) if part == "encoder" else ("codes", ["n", 10])
    shapes: dict[str, Any] = {"pairs": [-1, 10, 2], "first": 0, "second": 1}
    if part == "decoder":
        shapes = {"grid": [-1, 32, 4, 4]}
    constants = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in shapes.items()]
    constants += [numpy_helper.from_array(array, name) for name, array in weights.items() if name.startswith(part)]
    nodes, names, last = [], [], source
    for i, layer in enumerate(LAYERS[part], 1):
        before, name = last, f"{part}_{i}"
        if layer == "lin1" and part == "encoder":
            before = "flat"
            nodes.append(helper.make_node("Flatten", [last], [before]))
        elif layer == "convT_64":
            before = "square"
            nodes.append(helper.make_node("Reshape", [last, "grid"], [before]))
        kind = "ConvTranspose" if layer.startswith("convT") else "Conv" if layer.startswith("conv") else "Gemm"
        attributes = {"transB": 1} if kind == "Gemm" else {"kernel_shape": [4, 4], "strides": [2, 2], "pads": [1] * 4}
        is_last = layer == LAYERS[part][-1]
        last = ("output" if part == "decoder" else "both") if is_last else f"{name}_linear"
        nodes.append(
            helper.make_node(kind, [before, *(f"{part}.{layer}.{w}" for w in ("weight", "bias"))], [last], **attributes)
        )
        if not is_last:
            nodes.append(helper.make_node("Relu", [last], [name]))
            names.append(last := name)
    if part == "encoder":
        nodes.append(helper.make_node("Reshape", [last, "pairs"], ["paired"]))
        nodes.append(helper.make_node("Gather", ["paired", "first"], ["codes"], axis=2))
        nodes.append(helper.make_node("Gather", ["paired", "second"], ["log_variance"], axis=2))
    outputs = ["codes"] if part == "encoder" else ["output"]
    if layers:
        outputs += [*names, *(["log_variance"] if part == "encoder" else [])]
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        part,
        [helper.make_tensor_value_info(source, kind, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def run_graph(graph: bytes, array: NDArray[np.float32]) -> Arrays:
    """Run a graph on one thread, 500 rows at a time; every output by its name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    input_name = session.get_inputs()[0].name
    parts = [session.run(names, {input_name: array[start : start + 500]}) for start in range(0, len(array), 500)]
    return {name: np.concatenate(arrays) for name, arrays in zip(names, zip(*parts, strict=True), strict=True)}


def images_of(rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
    """Return images as the models take them: float32 (n, 1, 64, 64) in [0, 1]."""
    pixels = protocol.task(DATASET).load().images(rows)
    return pixels.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)


def kl(weights: Arrays, images: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return each latent's mean KL divergence from the prior, in nats, float64 (10,)."""
    outputs = run_graph(network(weights, "encoder", layers=True), images)
    mean, log_variance = (outputs[name].astype(np.float64) for name in ("codes", "log_variance"))
    divergences: NDArray[np.float64] = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).mean(axis=0)
    return divergences


def explained(weights: Arrays, images: NDArray[np.float32]) -> float:
    """Return the share of the pixels' variance that reconstructions explain, as `baselines.run.Run.explained` does."""
    codes = run_graph(network(weights, "encoder"), images)["codes"]
    decoded = scipy.special.expit(run_graph(network(weights, "decoder"), codes)["output"].astype(np.float64))
    return float(1 - np.square(images - decoded).sum() / np.square(images - images.mean(axis=0)).sum())


def activations(weights: Arrays, images: NDArray[np.float32], seed: int) -> Arrays:
    """Return every layer's activations, named and ordered as those of `baselines.run.Run.activations`."""
    layers = run_graph(network(weights, "encoder", layers=True), images)
    mean, log_variance = layers.pop("codes"), layers.pop("log_variance")
    noise = np.random.default_rng(seed).standard_normal(mean.shape, np.float32)
    sampled = mean + np.exp(0.5 * log_variance) * noise
    decoded = run_graph(network(weights, "decoder", layers=True), sampled)
    output = decoded.pop("output")
    layers = {"input": images, **layers, "mean": mean, "variance": np.exp(log_variance), "sampled": sampled}
    layers |= {**decoded, "output": output}
    return {name: array.reshape(len(array), -1) for name, array in layers.items()}


def measure_model(model: Public) -> dict[str, Any]:
    """Compare a model with its log, and score it as the board does."""
    weights, task = weights_of(model), protocol.task(DATASET)
    logged = json.loads(path_of(model, "json").read_text("utf-8"))["logged_test_losses"]
    ours = kl(weights, images_of(range(model.first)))
    theirs = BATCHES * np.array([logged[f"kl_loss_{i}"] for i in range(len(ours))])
    codes = run_graph(network(weights, "encoder"), images_of(task.indices))["codes"]
    labels, train = task.labels(), len(task.train)
    mutual = information.pairwise(codes[:train], labels[:train])
    held_out = {"codes_test": codes[train:], "factors_test": labels[train:]}
    trees = r_squared.parts(codes[:train], labels[:train], **held_out, readout="boosting")
    parts = dci.parts(codes[:train], labels[:train], **held_out, threads=1)
    scores = {
        "kl": ours.tolist(),
        "kl_logged": theirs.tolist(),
        "mig": mig.score(codes[:train], labels[:train])["mig"],
        **{f"dci.{name}": value for name, value in dci.combine(parts).items()},
        "explained": explained(weights, images_of(task.load().quick_rows()[:256])),
        "information": dict(zip(task.scored, (mutual.information.max(axis=0) / mutual.factors).tolist(), strict=True)),
        "r_squared": dict(zip(task.scored, (1 - trees["errors"] / trees["variances"]).tolist(), strict=True)),
        "accuracy": dict(zip(task.scored, parts["accuracy_test"].tolist(), strict=True)),
    }
    rounded: dict[str, Any] = json.loads(json.dumps(scores), parse_float=lambda text: float(f"{float(text):.7g}"))
    return rounded


def measure() -> None:
    """Measure every model, and write the record."""
    record = {}
    for model in MODELS:
        record[model.method] = row = measure_model(model)
        print(f"{model.method}: KL within {difference(row):.1e} nats of the log, MIG {row['mig']:.3f}", flush=True)
    write_json(RECORD, record)


def difference(scores: Mapping[str, Any]) -> float:
    """Return the largest difference between a latent's KL divergence and the one that was logged, in nats."""
    return max(abs(ours - theirs) for ours, theirs in zip(scores["kl"], scores["kl_logged"], strict=True))


def desk_layers(runs: Path, images: NDArray[np.uint8]) -> Iterator[tuple[str, Mapping[str, NDArray[np.float32]]]]:
    """Train the desk runs that are not there, and take their activations."""
    from baselines import train
    from baselines.sweeps import desk

    for (name, (objective, changes)), seed in itertools.product(DESK_RUNS.items(), DESK_SEEDS):
        config = desk.run(DATASET, objective, seed, **changes)
        run = train(config, runs / f"{objective}{'_beta_1' if changes else ''}" / f"seed_{seed}")
        yield f"{name}; {seed}", run.activations(images)


def cka_tables(models: Iterable[tuple[str, Mapping[str, NDArray[np.float32]]]]) -> Callable[[str, str], Any]:
    """Compare all layers of all models by linear CKA; the result returns the table of two models."""
    layers = dict(models)
    joined = {f"{name}|{layer}": array for name, arrays in layers.items() for layer, array in arrays.items()}
    table, names = heatmap.compare_layers(joined, joined), {name: list(arrays) for name, arrays in layers.items()}

    def table_of(x: str, y: str) -> Any:
        part = table.loc[[f"{x}|{layer}" for layer in names[x]], [f"{y}|{layer}" for layer in names[y]]]
        return part.set_axis(names[x], axis=0).set_axis(names[y], axis=1)

    return table_of


def public_layers(images: NDArray[np.float32]) -> Iterator[tuple[str, Arrays]]:
    """Take the activations of the models, and of two untrained ones of their architecture."""
    for i, model in enumerate(MODELS):
        yield model.objective, activations(weights_of(model), images, i)
    for seed in (0, 1):
        yield f"untrained {seed}", activations(untrained(weights_of(MODELS[0]), seed), images, 100 + seed)


def similarity(runs: Path) -> None:
    """Compare layers between objectives, at full budget and of desk runs; write the record and the picture."""
    task = protocol.task(DATASET)
    rows = task.test[:ROWS]
    lines: list[list[str]] = [["budget", "x", "y", "seeds", *COLUMNS]]

    def add_line(budget: str, x: str, y: str, seeds: str, table: Any) -> None:
        same = {layer: f"{table.loc[layer, layer]:.4f}" for layer in table.index if layer in table.columns}
        lines.append([budget, x, y, seeds, *(same.get(layer, "") for layer in COLUMNS)])

    table_of = cka_tables(public_layers(images_of(rows)))
    for x, y in itertools.combinations([model.objective for model in MODELS], 2):
        add_line("345,600 steps", x, y, "1234", table_of(x, y))
    add_line("untrained", "initialisation", "initialisation", "0 and 1", table_of("untrained 0", "untrained 1"))
    tables = {
        "345,600 steps: β = 1, β = 4": table_of("VAE", "β-VAE"),
        "345,600 steps: β-VAE, FactorVAE": table_of("β-VAE", "FactorVAE"),
        "untrained: two initialisations": table_of("untrained 0", "untrained 1"),
    }
    table_of = cka_tables(desk_layers(runs, task.load().images(rows)))
    for (x, y), seed in itertools.product(itertools.combinations(DESK_RUNS, 2), DESK_SEEDS):
        add_line("1,000 steps", x, y, str(seed), table_of(f"{x}; {seed}", f"{y}; {seed}"))
    for x in DESK_RUNS:
        add_line("1,000 steps", x, x, "0 and 1", table_of(f"{x}; 0", f"{x}; 1"))
    tables |= {
        "1,000 steps: β = 1, β = 8": table_of("β-VAE, β = 1; 0", "β-VAE, β = 8; 0"),
        "1,000 steps: β-VAE, FactorVAE": table_of("β-VAE, β = 8; 0", "FactorVAE; 0"),
        "1,000 steps: β-VAE, two seeds": table_of("β-VAE, β = 8; 0", "β-VAE, β = 8; 1"),
    }
    heatmap.draw(tables, PICTURE)
    with written_atomically(SIMILARITY) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


def write(into: Path) -> None:
    """Write a run folder of each model: the encoder, the codes of the task's rows, and the record."""
    task = protocol.task(DATASET)
    dataset = task.load()
    for model in MODELS:
        target = into / model.method
        target.mkdir(parents=True, exist_ok=True)
        encoder = network(weights_of(model), "encoder")
        (target / "encoder.onnx").write_bytes(encoder)
        codes = run_graph(encoder, images_of(task.indices))["codes"]
        np.savez(target / "codes.npz", indices=task.indices, codes=codes)
        settings = json.loads(path_of(model, "json").read_text("utf-8"))["settings"]
        record = {
            "schema": 1,
            "method": model.method,
            "dataset": dataset.id,
            "dataset_version": dataset.version,
            "dataset_digest": dataset.digest()._asdict(),
            "seed": settings["seed"],
            "supervision": "unsupervised",
            "selection": "none",
            "hyperparameters": {
                "architecture": "conv_burgess",
                "strength": model.strength,
                "batch_size": model.images,
                "learning_rate": settings["lr"],
                "latents": 10,
            },
            "budget": {"steps": STEPS, "images": STEPS * model.images, "seconds": 0.0, "device": ""},
            "versions": {},
            "about": {
                "title": f"{model.objective} (public)",
                "description": "Trained by others: 30 epochs of dSprites, the convolution of Burgess et al. (2018). "
                "It has one seed, and is not ranked. Seconds of training were not recorded.",
                "authors": "Dubois, Kastanos, Lines and Melman, 2019",
                "code": "https://github.com/YannDubs/disentangling-vae",
                "license": "MIT",
            },
        }
        write_json(target / "run.json", record)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "similarity", "write"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/public_vaes"))
    options = parser.parse_args()
    if options.what == "measure":
        measure()
    elif options.what == "similarity":
        similarity(options.folder)
    else:
        write(options.folder)


if __name__ == "__main__":
    main()
