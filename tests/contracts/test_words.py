"""Pages, help texts and docstrings use the field's words; pages are short, and as easy to read as those of peers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from baselines import program

ROOT = Path(__file__).parents[2]
NAMES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/tutorials").glob("*.md"), *(ROOT / n for n in NAMES)])

PRIVATE = {
    r"told apart|tells? \w+ apart|(is|are) (not )?told\b|seeds? (do not |does not )?tell": "significantly different",
    r"(?<!_)squeez(e[sd]?|ing)\b": "contrast-matched",
    r"\bladder\b": "spacing sweep",
    r"\bbeside\b": "compared with, next to",
    r"\bwhoever\b|\bsomebody\b|\bone's own\b": "rebuild the sentence; your",
    r"told (of )?pairs|labels of pairs": "weakly supervised",
    r"\b(function|score|metric|method|call|seed|reader)s? gives?\b|\bit gives\b": "returns, has",
    r"\b(number|score|figure|p-value)s? (says?|tells?)\b": "indicates, reports",
    r"\bknows? (a|an|the|each|every|any|of) |\bknows? nothing": "encodes, predicts",
    r"\bgo(es)? together\b|\bgoes along\b": "correlate",
    r"\bas (it|they) stands?\b|\bwhat there is\b|\bmake[s]? up for\b": "rebuild the sentence",
    r"\bover the spacings?\b|\bnear in the factors\b|\bdecreases? of\b": "by spacing; nearby values; decrease in",
    r"\b(neighbouring|all|two|three|which) places\b": "positions",
    r"\bthe mark falls|\bfalls by itself\b": "the flag is removed",
}
"""Private words, and what the field says instead."""

VAGUE = {"each", "found", "held", "it", "made", "one", "said", "that", "this", "told"}
"""Names of values and parameters that do not say what they hold."""

GRADE = 9.5
"""Flesch-Kincaid grade of a page at most: the mean of mteb's 20 pages with prose (6.3 to 15.3, commit a905523d0)."""

WORDS = {"docs/findings.md": 3_000, "README.md": 1_350, "docs/leaderboard.md": 1_500, "docs/reproduction.md": 3_000}
ALL_WORDS = 30_000
"""Tokens with a letter or a digit, tables included: of a page, and of all together."""


def prose(text: str) -> str:
    """Drop code, tables, comments, headings and addresses from Markdown; items and paragraphs end a sentence."""
    text = re.sub(r"```.*?```|<!--.*?-->|^(?:    |\||#|!\[)[^\n]*$", "", text, flags=re.S | re.M)
    text = re.sub(r"`[^`]*`", "x", re.sub(r"\]\([^)]*\)|[*\[\]]", "", text))
    return re.sub(r"\n\s*\n|\n- |:\n", ". ", text)


def grade(text: str) -> float:
    """Compute the Flesch-Kincaid grade of prose; a group of vowels is a syllable."""
    sentences = [s for s in re.split(r"[.!?;:]+\s", prose(text)) if len(re.findall(r"[A-Za-z]{2,}", s)) > 2]
    words = [word for s in sentences for word in re.findall(r"[A-Za-z]+", s)]
    syllables = sum(max(1, len(re.findall(r"[aeiouy]+", re.sub(r"e$", "", word.lower())))) for word in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59


def helps(name: str, command: Any) -> Iterator[tuple[str, str]]:
    """Yield the help texts of a command, its parameters and its parts."""
    yield name, " ".join(filter(None, [command.help, *(getattr(each, "help", "") for each in command.params)]))
    for part, below in getattr(command, "commands", {}).items():
        yield from helps(f"{name} {part}", below)


def private(where: str, text: str) -> list[str]:
    """List the private words in a text, and what to write."""
    found = ((word, re.search(word, text, re.I)) for word in PRIVATE)
    return [f"{where}: {match[0]!r}. Write: {PRIVATE[word]}" for word, match in found if match]


def docstrings(where: str, tree: Any) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of a module or class, its constants and its public parts, without code and doctests."""
    name = where
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield name, re.sub(r"``.*?``|`[^`]*`|^ *>>>.*?(?=^\s*$|\Z)", "", node.value.value, flags=re.S | re.M)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield from docstrings(f"{where}.{node.name}", node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            name = f"{where}.{ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_fields_words_and_read_well(page):
    text, where = page.read_text("utf-8"), page.relative_to(ROOT).as_posix()
    assert not private(where, re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S))
    assert grade(text) <= GRADE
    assert len(re.findall(r"\S*\w\S*", text)) <= WORDS.get(where, 5_000)


def test_help_texts_use_the_fields_words_and_all_pages_are_short():
    assert sum(len(re.findall(r"\S*\w\S*", page.read_text("utf-8"))) for page in PAGES) <= ALL_WORDS
    assert not [line for name in program.PARTS for of in helps(name, program.load(name)) for line in private(*of)]


@pytest.mark.parametrize("package", ["baselines", "benchmark_data", "leaderboard", "benchmarks", "docs"])
def test_names_say_what_they_hold(package):
    places = []
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if is_bound else node.arg if isinstance(node, ast.arg) else ""
            if name in VAGUE:
                places.append(f"{file}:{node.lineno}: {name}")
    assert not places


@pytest.mark.parametrize("package", ["baselines", "benchmark_data", "leaderboard"])
def test_docstrings_use_the_fields_words(package):
    files = [file for file in sorted((ROOT / package).rglob("*.py")) if not re.match(r"_(?!_init__)", file.name)]
    trees = [(file.relative_to(ROOT).as_posix(), ast.parse(file.read_text("utf-8"))) for file in files]
    public = [each for each in trees if "Internal." not in (ast.get_docstring(each[1]) or "")]
    assert public
    assert not [line for each in public for of in docstrings(*each) for line in private(*of)]


def test_the_check_can_fail():
    found = docstrings("x", ast.parse('"""One `beside`.\n\n>>> beside\n"""\nY = 1\n"""Two, beside one."""'))
    assert [bool(private(*of)) for of in found] == [False, True]
    assert private("x", "Seeds do not tell them apart.")
    assert grade("Notwithstanding institutional considerations, organisational responsibilities necessitate it. ") > 20
