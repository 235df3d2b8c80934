"""What the pages say can be followed: links lead somewhere, commands and options exist, the README's examples run."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer.main

import baselines.cli
import baselines.reproduction.cli
import benchmark_data.commands.data
import leaderboard.commands.board
from benchmark_data.errors import UnknownName

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *TUTORIALS])
COMMANDS = {
    "offaxis-data": benchmark_data.commands.data.app,
    "offaxis-train": baselines.cli.app,
    "offaxis-board": leaderboard.commands.board.app,
    "offaxis-study": baselines.reproduction.cli.app,
}
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
every_tutorial = pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
STEPS = 8
"""Of every training in a tutorial, in place of what the page says."""


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
    known = {"--help"}.union(*((*parameter.opts, *parameter.secondary_opts) for parameter in command.params))
    for word in words:
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in known, f"{name} {command.name}: no option {word}"


def pages():
    """Import the script that writes what pages list."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["datasets.md", "metrics.md"])
def test_what_a_page_lists_is_what_there_is(page):
    script = pages()
    assert set(script.PAGES) == {"datasets.md", "metrics.md"}
    differ = set(script.made(page).splitlines()) ^ set((ROOT / "docs" / page).read_text("utf-8").splitlines())
    assert not differ, f"docs/{page} is not what the files say. Run: {script.COMMAND}\n" + "\n".join(sorted(differ))
    assert f"\n{script.COMMAND.removeprefix('make ')}: setup\n" in (ROOT / "Makefile").read_text("utf-8")


def test_the_check_can_fail():
    with pytest.raises(AssertionError, match="no command 'lst'"):
        check("offaxis-data", ["lst"])
    with pytest.raises(AssertionError, match="no option --two"):
        check("offaxis-data", ["sheet", "sprites2d", "--two"])


def test_the_readme_runs():
    pytest.importorskip("datasets")
    pytest.importorskip("tensorflow_datasets")
    # PyTorch's is run by tests/benchmark_data/test_torch.py, where it is installed.
    first, from_tfds, from_hub, _, metrics = code(ROOT / "README.md", "python")
    names: dict = {}
    exec(first, names)
    assert names["images"].shape == (2, 64, 64, 3)
    assert names["labels"].shape == (2, 6)

    exec(from_tfds, names)
    assert names["train"].element_spec["image"].shape[1:] == (64, 64, 3)

    exec(from_hub, names)
    assert {"image", "index", "label_x_R", "value_x_R"} <= set(names["batch"])

    factors = np.random.default_rng(0).integers(3, size=(200, 2))
    halves = {"codes": factors[:100], "factors": factors[:100]}
    exec(metrics, names | halves | {"codes_test": factors[100:], "factors_test": factors[100:]})


def blocks(page):
    """What a tutorial tells the reader to run, in order, as (language, code), with few training steps."""
    found = re.findall(r"```(python|sh)\n(.*?)```", page.read_text("utf-8"), re.S)
    return [
        (language, re.sub(r"(?i)\b(steps(?: = |=| ))\d[\d_]*", rf"\g<1>{STEPS}", block)) for language, block in found
    ]


def run_command(line):
    """Run a command in this process; one that fails raises."""
    program, *words = shlex.split(line)
    status = typer.main.get_command(COMMANDS[program]).main(words, program, standalone_mode=False)
    assert not status, f"{line}: exit status {status}"


@every_tutorial
def test_a_tutorial_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, page.name, "exec"), names)
        else:
            for line in block.replace("\\\n", " ").splitlines():
                run_command(line)
    assert all(run.config.steps == STEPS for run in names["runs"].values())
    shown = re.findall(rf"\]\(images/{page.stem}/([^)]+)\)", page.read_text("utf-8"))
    assert 2 <= len(shown) <= 4
    for picture in shown:
        assert Path(picture).is_file(), f"no block makes {picture}"
        assert (page.parent / "images" / page.stem / picture).stat().st_size < 150_000


def test_every_picture_of_the_tutorials_is_shown():
    kept = {path.relative_to(TUTORIALS[0].parent).as_posix() for path in (ROOT / "docs" / "tutorials").rglob("*.png")}
    text = "".join(page.read_text("utf-8") for page in TUTORIALS)
    assert kept == set(re.findall(r"\]\((images/[^)]+)\)", text))


def test_a_command_of_a_tutorial_that_fails_fails_the_test(tmp_path):
    with pytest.raises(UnknownName, match="nowhere"):
        run_command("offaxis-data info nowhere")
    (tmp_path / "run.json").write_text("{}", "utf-8")
    with pytest.raises(AssertionError, match="exit status 1"):
        run_command(f"offaxis-board validate {tmp_path}")
