"""Every link of the built site leads somewhere: those of the board and the theme too, which MkDocs does not check."""

from __future__ import annotations

import html.parser
import logging
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger("mkdocs.plugins.links")


class Page(html.parser.HTMLParser):
    """What a page refers to, and what can be referred to in it.

    Attributes:
        links: addresses, as they are written.
        ids: names of places in the page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and its own name."""
        self.links += [value for key, value in attrs if key in ("href", "src") and value]
        self.ids |= {value for key, value in attrs if key in ("id", "name") and value}


def broken(site: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a built site.

    Args:
        site: its folder.

    Yields:
        The page and the link that leads nowhere, or that asks another server for something the page is made of.
    """
    site = site.resolve()
    pages: dict[Path, Page] = {}

    def read(path: Path) -> Page:
        if path not in pages:
            pages[path] = Page(path.read_text("utf-8"))
        return pages[path]

    for page in sorted(site.rglob("*.html")):
        for link in dict.fromkeys(read(page).links):
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            relative = urllib.parse.unquote(address.path)
            # 404.html is shown for any address, so that its links begin at the root of the site.
            target = (site / relative.lstrip("/") if relative.startswith("/") else page.parent / relative).resolve()
            target = page if not address.path else target / "index.html" if target.is_dir() else target
            where = page.relative_to(site).as_posix()
            if not target.is_file():
                yield f"{where}: {link} leads nowhere"
            elif address.fragment and target.suffix == ".html":
                place = urllib.parse.unquote(address.fragment)
                if place not in read(target).ids and not place.startswith("__"):
                    yield f"{where}: {link}: there is no such place in that page"


def check(site: Path) -> None:
    """Warn of each broken link of a built site, which a strict build takes for an error."""
    for problem in broken(site):
        log.warning(problem)
