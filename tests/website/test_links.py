"""The check of links can fail; the reference shows what is public."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("other.html", ""),
        ("other.html#place", ""),
        ("#here", ""),
        ("https://example.org/anything", ""),
        ("folder", ""),
        ("gone.html", "gone.html leads nowhere"),
        ("other.html#gone", "there is no such place"),
        ("#gone", "there is no such place"),
        ("../elsewhere.html", "leads nowhere"),
    ],
)
def test_links_that_lead_nowhere_are_named(link, problem, website, tmp_path):
    site = tmp_path / "site"
    (site / "folder").mkdir(parents=True)
    (site / "page.html").write_text(f'<p id="here"><a href="{link}">x</a></p>', "utf-8")
    (site / "other.html").write_text('<h1 id="place">x</h1>', "utf-8")
    (site / "folder" / "index.html").write_text("<p>x</p>", "utf-8")
    (tmp_path / "outside.html").write_text("", "utf-8")
    found = list(website("links").broken(site))
    assert len(found) == bool(problem)
    assert problem in "".join(found)


def test_what_is_public(website, tmp_path):
    file = tmp_path / "example.py"
    file.write_text(
        "from os import path\n__all__ = ['b', 'path', 'A']\nA: int = 1\nC = 2\ndef b(): ...\ndef _d(): ...\n", "utf-8"
    )
    public = website("api").public
    assert public(file) == ["A", "b"], "in the order of the file; what is imported has its page elsewhere"
    file.write_text(file.read_text("utf-8").replace("__all__ =", "other ="), "utf-8")
    assert public(file) == ["other", "A", "C", "b"]


def test_the_reference_has_every_public_name_of_the_packages(website):
    import benchmark_data

    made = website("api").pages()
    for name in benchmark_data.__all__:
        assert f"[`{name}`][" in made["api/benchmark_data.md"], name
    assert "api/benchmark_data.torch.md" in made
    assert not [page for page in made if ".commands" in page or "._" in page]
