"""The page on submitting says what is so, and its PyTorch example makes a valid submission."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from leaderboard import protocol
from leaderboard.reading import encoders, graphs
from leaderboard.record import RunFile
from leaderboard.scoring import candidates, submission, verification
from tests.leaderboard import scored_submission

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "submitting.md").read_text("utf-8")


def examples():
    """What the page's Python defines."""
    names: dict = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(example, "submitting.md", "exec"), names)
    return names


@pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec:FutureWarning")  # PyTorch's exporter has it
def test_the_pytorch_export_is_an_encoder_that_is_taken(toys, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    pytest.importorskip("onnxscript", reason="PyTorch's export needs it: pip install onnx onnxscript")
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(36, 2)
    )
    examples()["export"](model, (8, 8, 3), tmp_path / "encoder.onnx")
    images = toys["toy/small"].images(range(60))
    with torch.no_grad():
        wanted = model(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255).numpy()
    with encoders.OnnxEncoder(tmp_path / "encoder.onnx") as encoder:
        np.testing.assert_allclose(encoder.encode(toys["toy/small"], range(60)), wanted, atol=1e-5)


def test_the_numbers_of_the_verification_are_those_of_the_program():
    page = " ".join(PAGE.split())
    assert verification.VERSION in page
    assert (
        f"draw of up to {verification.BLOCKS * (protocol.TRAIN + protocol.TEST) // verification.SHARE:,} rows" in page
    )
    for text in (
        f"On {verification.CHECKED_ROWS} rows",
        f"at most {verification.DEVIATION:.0%} of its standard deviation (counted as at least",
        f"it refuses {verification.ERROR:.1%} of honest runs",
        f"fewer than {verification.MIN_BLOCK_ROWS * verification.BLOCKS} images outside",
        f"{encoders.ENCODE_SECONDS // 60} minutes of processor time and {encoders.MEMORY >> 30} GiB",
        f"{graphs.LARGEST >> 20} MiB, {graphs.NODES:,} operators",
    ):
        assert text in page, text


def test_the_pytorch_example_makes_a_valid_submission(toys, one_tier, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    names = examples()
    file = submission.init(tmp_path / "s", "my_vae", ["toy/small"], tier="smoke", seeds=2)

    for seed in range(2):

        class Model(torch.nn.Module):
            def forward(self, images, seed=seed):
                array = images.numpy()
                assert array.shape[1:] == (3, 8, 8)
                assert 0 <= array.min() <= array.max() <= 1
                assert not self.training
                return torch.from_numpy(array.reshape(len(array), -1)[:, seed::5])

        names["encode"](Model(), file.parent, "toy/small", seed)
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    content["supervision"] = "unsupervised"
    for seed in content["tasks"]["toy/small"]["seeds"]:
        seed["budget"]["steps"] = 1
    file.write_text(json.dumps(content), "utf-8")
    assert submission.check(file.parent).problems == []
    assert len(scored_submission.score(file.parent)[0].runs) == 2


def test_the_example_of_a_run_folder_is_scored_and_names_every_field(toys, one_tier, tmp_path):
    (example,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "def write_run" in text)
    names: dict = {}
    exec(compile(example, "submitting.md", "exec"), names)
    folder = tmp_path / "runs" / "my_vae_0"
    task = protocol.task("toy/small")
    names["write_run"](folder, "toy/small", 0, task.labels() + np.random.default_rng(0).standard_normal((60, 3)))
    assert isinstance(candidates.load(folder), candidates.Candidate)
    (result,) = scored_submission.score_runs([folder])
    assert (result.method, result.task, len(result.runs)) == ("my_vae", "toy/small@v1", 1)
    fields = RunFile.model_fields
    keys = {field.alias or name: field.is_required() for name, field in fields.items()}
    written = json.loads((folder / "run.json").read_text("utf-8"))
    assert written.keys() == {name for name, required in keys.items() if required}
    table = re.search(r"\| field of `run.json` .*?\n\n", PAGE, re.S).group()
    named = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == keys.keys()
