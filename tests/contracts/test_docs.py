"""What the pages say can be followed: links lead somewhere, commands and options exist, the README's examples run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer.main

import baselines.cli
import baselines.cli_study
import benchmark_data.cli
import leaderboard.cli

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
COMMANDS = {
    "offaxis-data": benchmark_data.cli.app,
    "offaxis-train": baselines.cli.app,
    "offaxis-board": leaderboard.cli.app,
    "offaxis-study": baselines.cli_study.app,
}
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def code(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.S)


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@every_page
def test_commands_and_their_options_exist(page):
    text = page.read_text("utf-8").replace("\\\n", " ")
    lines = [line for block in code(page, r"\w*") for line in block.replace("\\\n", " ").splitlines()]
    for line in [*lines, *re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text)]:
        found = re.match(r"\s*(?:\$ )?(?:\S*/)?(offaxis-\w+) (.+)", line.replace("\n", " "))
        if found:
            check(found[1], shlex.split(found[2].replace("…", "..."), comments=True))


def check(name, words):
    assert name in COMMANDS, name
    command = typer.main.get_command(COMMANDS[name])
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        choices = words[0].split("|")
        assert set(choices) <= set(command.commands), f"{name}: no command {words[0]!r}"
        command, words = command.commands[choices[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    for word in words:
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in known, f"{name} {command.name}: no option {word}"


def test_the_check_can_fail():
    with pytest.raises(AssertionError, match="no command 'lst'"):
        check("offaxis-data", ["lst"])
    with pytest.raises(AssertionError, match="no option --two"):
        check("offaxis-data", ["sheet", "sprites2d", "--two"])


def test_the_readme_runs():
    import tensorflow_datasets as tfds

    pytest.importorskip("datasets")
    first, from_tfds, from_hub, metrics = code(ROOT / "README.md", "python")
    names: dict = {}
    exec(first, names)
    assert names["images"].shape == (2, 64, 64, 3)
    assert names["labels"].shape == (2, 6)

    exec(re.sub(r"train = .*", "", from_tfds), names)  # what it would build takes ten seconds
    asked = re.search(r'tfds.load\("([^"]+)"', from_tfds)[1]
    assert tfds.builder(asked).info.features["image"].shape == (64, 64, 3)

    exec(from_hub, names)
    assert {"image", "index", "label_x_R", "value_x_R"} <= set(names["record"])

    factors = np.random.default_rng(0).integers(3, size=(200, 2))
    halves = {"codes": factors[:100], "factors": factors[:100]}
    exec(metrics, names | halves | {"codes_test": factors[100:], "factors_test": factors[100:]})
