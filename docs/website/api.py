"""The reference of the public names: a page for each file at the top of a package, and one for each of its rooms.

What is public is what a file's ``__all__`` says; a file without one shows every name that it defines and that does not
begin with an underscore. Datasets, metrics and objectives have pages of their own. Command lines have none, nor has a
file without ``__all__`` whose docstring, or whose folder's, says internal.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from website import markup

ROOT = Path(__file__).parents[2]
PACKAGES = ("benchmark_data", "baselines", "leaderboard")

ELSEWHERE = {
    "benchmark_data.datasets": "datasets.md",
    "baselines.objectives": "training.md",
    "leaderboard.metrics": "metrics.md",
}
"""Room -> the page that leads to those of its files."""

NO_LIBRARY = ("commands", "cli", "demo", "papers", "sweeps", "published", "site")
"""Names of files and folders that hold commands, settings or data, and nothing to import."""


def pages() -> dict[str, str | bytes]:
    """Make the pages of all packages.

    Returns:
        Address on the site -> Markdown.
    """
    texts: dict[str, str | bytes] = {}
    for package in PACKAGES:
        texts[f"api/{package}.md"] = package_page(package)
        for path in sorted((ROOT / package).iterdir()):
            name = f"{package}.{path.stem}"
            if path.name.startswith(("_", ".")) or path.stem in NO_LIBRARY:
                continue
            if path.suffix == ".py" and is_public(path):
                texts[f"api/{name}.md"] = f"# `{name}`\n\n{module_directive(name)}\n"
            elif (path / "__init__.py").exists() and (any(modules(path, name)) or not is_internal(path)):
                texts[f"api/{name}.md"] = folder_page(name)
    return texts


def nav(texts: dict[str, Any]) -> list[dict[str, list[str | dict[str, str]]]]:
    """Return the navigation: a section for each package, its own page first."""
    return [
        {
            package: [
                f"api/{package}.md",
                *(
                    {page.removeprefix("api/")[:-3]: page}
                    for page in texts
                    if page.startswith(f"api/{package}.") and page != f"api/{package}.md"
                ),
            ]
        }
        for package in PACKAGES
    ]


def package_page(package: str) -> str:
    """Write what a package's own ``__all__`` names, each with what it is and a link to its description."""
    module = importlib.import_module(package)
    parts = [f"# `{package}`", str(module.__doc__).strip().partition("\n\n")[0]]
    own_names, elsewhere, rows = [], [], []
    for name in getattr(module, "__all__", ()):
        path = ROOT / package / name
        if path.with_suffix(".py").exists() or path.is_dir():
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            rows.append((f"[`{name}`]({package}.{name}.md)", docstring(file).partition("\n")[0]))
            continue
        value = getattr(module, name)
        origin = getattr(value, "__module__", package)
        target = f"{origin}.{getattr(value, '__qualname__', name)}"
        if origin != package and not is_shown(origin, name):
            target = f"{package}.{name}"
            elsewhere.append(f"::: {target}")
        own_names += [name] if origin == package else []
        doc = value.__doc__ if callable(value) else ""  # of a value it is its type's
        rows.append((f"[`{name}`][{target}]", str(doc or "").strip().partition("\n")[0]))
    if rows:
        parts.append(markup.table(["name", "what it is"], rows))
    if own_names:
        parts.append(directive(package, own_names))
    return "\n\n".join(parts + elsewhere) + "\n"


def is_shown(module: str, name: str) -> bool:
    """Say whether a name that a module defines is on the module's own page."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    return path.exists() and is_public(path) and name in public(path)


def folder_page(name: str) -> str:
    """Write the page of a folder: what it is, and what each of its files offers."""
    folder = ROOT / name.replace(".", "/")
    parts = [f"# `{name}`", docstring(folder / "__init__.py")]
    if name in ELSEWHERE:
        parts.append(f"Each file has [a page of its own](../{ELSEWHERE[name]}).")
    else:
        parts += [module_directive(module) for module in modules(folder, name)]
    names = public(folder / "__init__.py")
    if names:
        parts.append(directive(name, names))
    parts += [f"::: {name}.{member}" for member in reexported(folder / "__init__.py", name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def reexported(path: Path, name: str) -> list[str]:
    """Return the names that a folder takes from its private files and lists in ``__all__``."""
    tree = ast.parse(path.read_text("utf-8"))
    imported = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{name}._")
        for alias in node.names
    ]
    listed = set(getattr(importlib.import_module(name), "__all__", ())) if imported else set()
    return [member for member in imported if member in listed]


def modules(folder: Path, name: str) -> Iterator[str]:
    """Yield the importable names of a folder's public files."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and path.stem not in NO_LIBRARY and is_public(path):
            yield f"{name}.{path.stem}"


def module_directive(name: str) -> str:
    """Write the directive that shows a file's public names."""
    return directive(name, public(ROOT / f"{name.replace('.', '/')}.py"))


def directive(name: str, members: list[str]) -> str:
    """Write the directive that shows some names of a module."""
    return f"::: {name}\n    options:\n      members: {members}"


def public(path: Path) -> list[str]:
    """Return the public names that a file defines, in the order in which it defines them; those it imports stay out."""
    tree = ast.parse(path.read_text("utf-8"))
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    defined[target.id] = node
    listed = defined.pop("__all__", None)
    if isinstance(listed, ast.Assign):
        names = set(ast.literal_eval(listed.value))
        return [name for name in defined if name in names]
    return [name for name in defined if not name.startswith("_")]


def docstring(path: Path) -> str:
    """Return a file's docstring."""
    return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""


def is_public(file: Path) -> bool:
    """Say whether users may import a file: it has ``__all__``, or nothing calls it internal."""
    if file.name.startswith("_"):
        return False
    tree = ast.parse(file.read_text("utf-8"))
    listed = any(isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(tree))
    return listed or not (is_internal(file.parent) or "internal" in docstring(file).lower())


def is_internal(folder: Path) -> bool:
    """Say whether a folder's docstring calls it internal."""
    return "internal" in docstring(folder / "__init__.py").lower()
