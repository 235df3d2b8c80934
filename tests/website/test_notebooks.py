"""Each tutorial as a notebook: the Markdown's own blocks, run from top to bottom with a few training steps."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
every_tutorial = pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
STEPS = 8
"""Of every training in a tutorial, in place of what the page says."""
IMAGES = 400
"""In place of 2,000, where they are encoded or scored."""


def here(source):
    """Let a cell's commands run in the notebook's process, which need not load TensorFlow or pandas anew for each.

    That all can be started by their names is for test_wheel.py.
    """
    if not source.startswith("%%sh"):
        return source
    called = ["from baselines import program"]
    for command in source.removeprefix("%%sh -e\n").replace("\\\n", " ").splitlines():
        name, *words = shlex.split(command)
        assert name == "offaxis", command
        called.append(f"assert not program.load({words[0]!r}).main({words[1:]!r}, standalone_mode=False)")
    return "\n".join(called)


def notebook(page, website):
    """Make a notebook of a Markdown file, with few training steps and images."""
    nbformat = pytest.importorskip("nbformat")
    made = nbformat.reads(website("notebooks").text(page), 4)
    nbformat.validate(made)
    for cell in made.cells:
        if cell.cell_type == "code":
            source = re.sub(r"(?i)\b(steps(?: = |=| ))\d[\d_]*", rf"\g<1>{STEPS}", cell.source)
            cell.source = here(re.sub(r"\b2_?000\b", str(IMAGES), source))
    return made


@pytest.fixture(scope="module")
def execute(tmp_path_factory):
    """Run a notebook in an empty folder, with this environment's commands.

    All notebooks run in one kernel, which loads TensorFlow once; each begins without the names of those before.
    """
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    empty = nbformat.v4.new_notebook()
    client = nbclient.NotebookClient(empty, kernel_name="python3", startup_timeout=600)

    def run(made):
        folder = tmp_path_factory.mktemp("notebook")
        made.cells.insert(0, nbformat.v4.new_code_cell(f"%reset_selective -f .\nimport os\nos.chdir({str(folder)!r})"))
        client.nb = made
        client.execute(cleanup_kc=False)
        return folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
        patch.setenv("PYTHONWARNINGS", "ignore")
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        yield run
        client.nb = empty
        client.execute()  # and ends the kernel


@every_tutorial
def test_a_notebook_has_the_words_and_the_code_of_its_page(page, website):
    text = page.read_text("utf-8")
    parts = list(website("notebooks").parts(text))
    code = [source.removeprefix("%%sh -e\n") for kind, source in parts if kind == "code" and "IPython" not in source]
    assert code == [block.rstrip() for block in re.findall(r"```(?:python|sh)\n(.*?)```", text, re.S)]
    words = "\n".join(source for kind, source in parts if kind == "markdown")
    assert [*re.findall(r"^#+ .*", words, re.M)] == re.findall(r"^#+ .*", text, re.M)
    assert not re.search(r"\]\((?!https?:)", words), "a link that leads nowhere outside of the site"
    assert "<!--" not in words


@every_tutorial
def test_a_notebook_runs_from_top_to_bottom(page, website, execute):
    made = notebook(page, website)
    folder = execute(made)
    shown = re.findall(rf"\]\(images/{page.stem}/([^)]+)\)", page.read_text("utf-8"))
    assert len(shown) <= 4
    for picture in shown:
        assert (folder / picture).is_file(), f"no cell makes {picture}"
        assert (page.parent / "images" / page.stem / picture).stat().st_size < 150_000
    assert sum(
        "image/png" in output.get("data", {}) for cell in made.cells for output in cell.get("outputs", [])
    ) >= len(shown[:2])


@pytest.mark.parametrize("cell", ["raise ValueError('cell')", "%%sh -e\noffaxis data info nowhere\necho done"])
def test_a_cell_that_fails_fails_the_run(cell, website, execute, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    language, _, code = ("sh", "", cell.partition("\n")[2]) if cell.startswith("%%sh") else ("python", "", cell)
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```{language}\n{code}\n```\n", "utf-8")
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        execute(nbformat.reads(website("notebooks").text(page), 4))
