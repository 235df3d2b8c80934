"""Scripts of benchmarks, docs and CI: the options that they read are declared, the names that they use are there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("benchmark_data", "baselines", "leaderboard")
SCRIPTS = sorted(file for folder in (".ci", "benchmarks", "docs") for file in (ROOT / folder).glob("*.py"))


def undeclared_options(tree: ast.AST) -> set[str]:
    """Return what a function reads of the result of its ``parse_args`` and does not name as an option."""
    named, parsed, read = set(), set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                named.add(text.lstrip("-").replace("-", "_"))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="parse_args"))):
                parsed.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                read.add((name, attribute))
    return {attribute for name, attribute in read if name in parsed} - named


def module_names(file: Path) -> set[str]:
    """Return the names that a module defines or imports at its top, and its submodules."""
    names = {path.stem for path in file.parent.iterdir()} if file.name == "__init__.py" else set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    return names


def missing_names(tree: ast.Module) -> set[str]:
    """Return what is read of the project's modules, as ``module.name``, and is not there."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
            folder = ROOT.joinpath(*node.module.split("."))
            for alias in node.names:
                files = (folder / f"{alias.name}.py", folder / alias.name / "__init__.py")
                for file in filter(Path.exists, files):
                    modules.setdefault(alias.asname or alias.name, set()).update(module_names(file))
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return {
        f"{node.value.id}.{node.attr}"
        for node in read
        if node.value.id in modules and node.attr not in modules[node.value.id] and not node.attr.startswith("__")
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_use_what_is_there(script):
    tree = ast.parse(script.read_text("utf-8"))
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] or [tree]
    assert not [name for scope in scopes for name in undeclared_options(scope)]
    assert not missing_names(tree)


def test_the_checks_can_fail():
    options = "parser.add_argument('--to')\noptions = parser.parse_args()\nprint(options.into, options.to)"
    assert undeclared_options(ast.parse(options)) == {"into"}
    names = "from leaderboard.store import giveaways\ngiveaways.audited(giveaways.read)"
    assert missing_names(ast.parse(names)) == {"giveaways.audited"}
