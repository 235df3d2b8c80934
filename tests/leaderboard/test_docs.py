"""The page on submitting says what is so, and its PyTorch example makes a valid submission."""

import json
import re
from pathlib import Path

import pytest

from leaderboard.scoring import submission

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "submitting.md").read_text("utf-8")


def test_the_pytorch_example_makes_a_valid_submission(toys, only_mig, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict = {}
    exec(compile(example, "submitting.md", "exec"), names)
    file = submission.init(tmp_path / "s", "my_vae", ["toy/small"], tier="smoke", seeds=2)

    for seed in range(2):

        def model(images, seed=seed):
            array = images.numpy()
            assert array.shape[1:] == (3, 8, 8)
            assert 0 <= array.min() <= array.max() <= 1
            return torch.from_numpy(array.reshape(len(array), -1)[:, seed::5])

        names["encode"](model, file.parent, "toy/small", seed)
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "My VAE", "authors": "A. Author", "license": "MIT"}
    content["supervision"] = "unsupervised"
    for seed in content["tasks"]["toy/small"]["seeds"]:
        seed["budget"]["steps"] = 1
    file.write_text(json.dumps(content), "utf-8")
    assert submission.check(file.parent).problems == []
    assert len(submission.score(file.parent)[0].runs) == 2


@pytest.mark.parametrize("page", ["submitting.md", "publishing.md"])
def test_every_command_on_the_pages_exists(page):
    from baselines import cli as training
    from leaderboard.commands import board

    text = (DOCS / page).read_text("utf-8")
    for program, app in (("offaxis-board", board.app), ("offaxis-train", training.app)):
        known = {command.name or command.callback.__name__ for command in app.registered_commands}
        known |= {group.name for group in app.registered_groups}
        named = set(re.findall(rf"^(?:\w+=\S+ )?{program} ([\w-]+)", text, re.MULTILINE))
        named |= set(re.findall(rf"`{program} ([\w-]+)", text))
        assert named
        assert named <= known, named - known
