"""Adds the pages that are made from code to the site, while MkDocs builds it (`make docs`): see docs/website.

Links that a page has outside of ``docs``, which work in the repository, are made to work on the site: README is the
first page, CONTRIBUTING and CHANGELOG are pages, other files are copied. Nothing is written into ``docs``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from website import api, dataset_pages, latents, links, metric_pages, notebooks, objective_pages

DOCS = Path(__file__).parent
ROOT = DOCS.parent

MOVED = {
    **{"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"},
    **{"CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"},
}
"""Page of the repository -> where it is on the site."""

MAKERS = {
    "datasets/*": dataset_pages.pages,
    "metrics/*": metric_pages.pages,
    "objectives/*": objective_pages.pages,
    "api/*": api.pages,
}
"""Entry of the navigation -> what makes its pages: address on the site -> text or bytes."""

LINK = re.compile(r"(\]\(|\b(?:href|src)=\")([^)\s\"#]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that are made into the navigation."""
    _pages_by_entry.clear()
    config.nav = _fill_nav(config.nav)
    if (DOCS / "board" / "index.html").is_file():
        config.nav.append({"Board": "board/index.html"})
    return config


_pages_by_entry: dict[str, dict[str, str | bytes]] = {}


def _pages(entry: str) -> dict[str, str | bytes]:
    """Make the pages of an entry once in a build."""
    if entry not in _pages_by_entry:
        _pages_by_entry[entry] = MAKERS[entry]()
    return _pages_by_entry[entry]


def _fill_nav(nav: Any) -> Any:
    if isinstance(nav, list):
        return [_fill_nav(entry) for entry in nav]
    if isinstance(nav, dict):
        return {title: _fill_nav(entry) for title, entry in nav.items()}
    if nav == "api/*":
        return api.nav(_pages(nav))
    return [page for page in _pages(nav) if page.endswith(".md")] if nav in MAKERS else nav


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add pages that are made, notebooks, and what pages of ``docs`` link to outside of it."""
    for source, target in MOVED.items():
        files.append(_file(config, target, (ROOT / source).read_text("utf-8")))
    for pages in (*map(_pages, MAKERS), latents.pages()):
        for target, content in pages.items():
            files.append(_file(config, target, content))
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        files.append(_file(config, f"tutorials/{page.stem}.ipynb", notebooks.text(page)))
    addresses = {file.src_uri for file in files}
    for path in sorted(set(_linked_files())):
        target = _copy_target(path)
        if target not in addresses:
            files.append(_file(config, target, (ROOT / path).read_bytes()))
    return files


def _file(config: MkDocsConfig, target: str, content: str | bytes) -> File:
    return File.generated(config, target, content=content)


def _copy_target(path: str) -> str:
    """Return where a file of the repository is copied to; MkDocs leaves out names that begin with a dot."""
    return f"files/{path.removeprefix('.')}"


def _linked_files() -> Iterator[str]:
    """Yield the files of the repository outside of ``docs`` that pages link to."""
    for page in [*(ROOT / name for name in MOVED), *DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")]:
        for _, target in LINK.findall(page.read_text("utf-8")):
            path = _in_repository(page, target)
            if path and not path.startswith("docs/") and path not in MOVED and (ROOT / path).is_file():
                yield path


def _in_repository(page: Path, target: str) -> str:
    """Return where a link leads within the repository; empty for an address."""
    if "://" in target or target.startswith("mailto:"):
        return ""
    return posixpath.normpath(posixpath.join(page.parent.relative_to(ROOT).as_posix(), target))


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links to files of the repository lead to their places on the site; fill in what is drawn from results."""
    address = page.file.src_uri
    source = next((ROOT / name for name, target in MOVED.items() if target == address), DOCS / address)
    if address in {target for entry in MAKERS for target in _pages(entry)}:
        return markdown

    def relink(link: re.Match[str]) -> str:
        path = _in_repository(source, link[2])
        if not path or not (ROOT / path).exists():
            return link[0]
        if path in MOVED:
            target = MOVED[path]
        elif path.startswith("docs/"):
            target = path.removeprefix("docs/")
        else:
            target = _copy_target(path)
        return link[1] + posixpath.relpath(target, posixpath.dirname(address) or ".")

    markdown = LINK.sub(relink, markdown)
    if address.startswith("tutorials/"):
        markdown = notebooks.with_link(markdown, Path(address).stem)
    return latents.filled(markdown)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Check every link of every page that was built."""
    links.check(Path(config.site_dir))
