"""What the pages say can be followed: links lead somewhere, commands and options exist, the README's examples run."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import leaderboard
from baselines import program

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *TUTORIALS])
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def code(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.S)


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_names_that_a_new_file_must_have_are_those_of_the_file_to_copy():
    rows = [row for row in (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines() if row.startswith("| a")]
    assert len(rows) == 8
    for row in rows:
        files = [path for path in re.findall(r"[\w/]+\.py", row) if (ROOT / path).is_file()]
        text = "".join((ROOT / path).read_text("utf-8") for path in files)
        assert [name for name in re.findall(r"`([A-Z_]{4,})`", row) if not re.search(rf"\b{name}\b", text)] == [], row


@every_page
def test_commands_and_their_options_exist(page):
    text = page.read_text("utf-8").replace("\\\n", " ")
    lines = [line for block in code(page, r"\w*") for line in block.replace("\\\n", " ").splitlines()]
    for line in [*lines, *re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text)]:
        found = re.match(r"\s*(?:\$ )?(?:\S*/)?offaxis (\S.*)", line.replace("\n", " "))
        if found and not found[1].startswith("|"):
            check(shlex.split(found[1].replace("…", "..."), comments=True))


@functools.cache
def part(name):
    """A part of the program, which takes a while to put together."""
    return program.load(name)


def check(words):
    if words[0].startswith("-"):
        return
    assert words[0] in program.PARTS, f"no part {words[0]!r}"
    name, command, words = words[0], part(words[0]), words[1:]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        choices = words[0].split("|")
        assert set(choices) <= set(command.commands), f"{name}: no command {words[0]!r}"
        command, words = command.commands[choices[0]], words[1:]
    known = {"--help"}.union(*((*parameter.opts, *parameter.secondary_opts) for parameter in command.params))
    for word in words:
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in known, f"{name} {command.name}: no option {word}"


def pages():
    """Import the script that writes what pages list."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        spec.loader.exec_module(module)
    return module


SCRIPT = pages()


@pytest.mark.parametrize("page", SCRIPT.PAGES)
def test_what_a_page_lists_is_what_there_is(page):
    script = SCRIPT
    differ = set(script.page_text(page).splitlines()) ^ set((ROOT / "docs" / page).read_text("utf-8").splitlines())
    assert not differ, f"docs/{page} is not what the files say. Run: {script.COMMAND}\n" + "\n".join(sorted(differ))
    assert f"\n{script.COMMAND.removeprefix('make ')}: setup\n" in (ROOT / "Makefile").read_text("utf-8")


def test_the_check_can_fail():
    with pytest.raises(AssertionError, match="no command 'lst'"):
        check(["data", "lst"])
    with pytest.raises(AssertionError, match="no option --two"):
        check(["data", "show", "dsprites", "--two"])


def test_the_readme_runs():
    pytest.importorskip("datasets")
    pytest.importorskip("tensorflow_datasets")
    # PyTorch's is run by tests/benchmark_data/test_torch.py, where it is installed.
    evaluation, first, _, for_tensorflow_and_the_hub = code(ROOT / "README.md", "python")
    names: dict = {}
    exec(first, names)
    assert names["images"].shape == (2, 64, 64, 3)
    assert names["labels"].shape == (2, 6)

    exec(for_tensorflow_and_the_hub, names)
    assert names["train"].element_spec["image"].shape[1:] == (64, 64, 3)
    assert {"image", "index", "label_x_R", "value_x_R"} <= set(names["batch"])

    exec(evaluation, names)
    (line,) = names["result"].compare("beta_vae").query("score == 'mig'").to_dict("records")
    assert (line["n"], line["steps"]) == (1, 0)
    assert line["verdict"]


def test_the_page_on_your_encoder_runs():
    keras = pytest.importorskip("keras")
    score, _, compare, watch, _, _, in_keras, batched = code(ROOT / "docs" / "your_encoder.md", "python")
    names: dict = {}
    exec(score.replace("name=", "tier='smoke', progress=False, name="), names)
    assert "xysquares/spacing_8" in str(names["result"])
    exec(compare, names)
    exec(watch, names)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    exec(in_keras, names | {"model": model, "keras": keras})
    logs: dict = {}
    exec(in_keras + "\nscores.on_epoch_end(0, logs)", names | {"model": model, "logs": logs})
    assert {"mig", "dci.disentanglement"} <= logs.keys()
    exec(batched, names)
    assert "mig" in names["mig"].compute()


@pytest.fixture(scope="module")
def in_torch():
    """A small model and a monitor, and what the page on encoders defines for PyTorch."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(64 * 64 * 3, 3)

        def encode(self, images):
            assert not self.training
            return self.layer(images.flatten(1))

        def loss(self, images):
            return self.layer(images.flatten(1)).square().mean()

    names: dict = {}
    for example in code(ROOT / "docs" / "your_encoder.md", "python")[4:6]:
        exec(example, names)
    monitor = leaderboard.Monitor("xysquares/spacing_8", metrics=["mig"], samples=(200, 100))
    return Model(), torch.rand(2, 4, 3, 64, 64), monitor, names


def test_the_page_on_your_encoder_runs_in_a_loop_of_pytorch(in_torch, capsys):
    model, batches, monitor, names = in_torch
    names["fit"](model, [(images, None) for images in batches], monitor, epochs=2)
    assert capsys.readouterr().out.count("{'mig': ") == 2
    assert model.training


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_the_page_on_your_encoder_runs_in_lightning(in_torch, tmp_path):
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed: pip install lightning")
    model, batches, monitor, names = in_torch

    class Module(lightning.LightningModule, type(model)):
        def training_step(self, images):
            return self.loss(images)

        def configure_optimizers(self):
            import torch

            return torch.optim.Adam(self.parameters())

    trainer = lightning.Trainer(
        max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu",
        callbacks=[names["disentanglement"](monitor)], default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Module(), batches)
    assert "mig" in trainer.callback_metrics


@pytest.mark.parametrize("image_features", ["none", "array", "output"])
def test_the_recipe_for_a_hub_runs_on_a_stub(image_features, monkeypatch):
    """CLIP and SigLIP have a method for images: it returns an array, or an output as of DINO since transformers 5."""

    class Tensor(np.ndarray):
        def numpy(self):
            return np.asarray(self)

    class Model:
        def eval(self):
            return self

        def __call__(self, pixels):
            features = np.stack(pixels).max(axis=1).argmax(axis=1).astype(np.float32)
            return types.SimpleNamespace(pooler_output=np.tile(features, 4).view(Tensor))

    if image_features != "none":
        Model.get_image_features = lambda self, pixels: (
            self(pixels).pooler_output if image_features == "array" else self(pixels)
        )
    prepare = lambda images, return_tensors: {"pixels": images}  # noqa: E731
    hub = types.SimpleNamespace(
        AutoImageProcessor=types.SimpleNamespace(from_pretrained=lambda name: prepare),
        AutoModel=types.SimpleNamespace(from_pretrained=lambda name: Model()),
    )
    nn = types.SimpleNamespace(Module=type("Module", (), {}))
    monkeypatch.setitem(sys.modules, "transformers", hub)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(no_grad=contextlib.nullcontext, nn=nn))
    recipe = code(ROOT / "docs" / "your_encoder.md", "python")[1]
    names: dict = {"leaderboard": leaderboard}
    exec(recipe.replace("name=", "metrics=['mig'], progress=False, name="), names)
    assert "dinov2_small" in str(names["result"])
    grey = names["frozen"]("any")(np.zeros((2, 64, 64, 1), np.uint8))
    assert grey.shape == (2, 12)


def test_every_picture_of_the_tutorials_is_shown():
    kept = {path.relative_to(TUTORIALS[0].parent).as_posix() for path in (ROOT / "docs" / "tutorials").rglob("*.png")}
    text = "".join(page.read_text("utf-8") for page in TUTORIALS)
    assert kept == set(re.findall(r"\]\((images/[^)]+)\)", text))


def test_the_pages_with_made_parts_are_known():
    """A page that has the marks of a made part is filled in."""
    marked = {page for page in PAGES if "<!-- table: " in page.read_text("utf-8")}
    assert marked == {(ROOT / "docs" / page).resolve() for page in SCRIPT.PAGES}


def test_the_questions_are_answered_by_code_that_runs():
    names: dict = {}
    for example in code(ROOT / "docs" / "questions.md", "python"):
        exec(example.replace('assert "tensorflow" not in sys.modules', ""), names)
    assert names["images"].shape == (3, 64, 64, 1)
    assert names["batch"].shape == (256, 64, 64, 3)
    assert 0 < names["angular_distance"] < 0.3


def test_numpy_is_enough_to_load_a_dataset():
    """The first answer of the questions, in a process of its own."""
    example = code(ROOT / "docs" / "questions.md", "python")[0]
    subprocess.run([sys.executable, "-c", example], check=True, cwd=ROOT)
