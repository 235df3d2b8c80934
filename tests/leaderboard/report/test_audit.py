"""What the check of a board asks of methods; the rest is tested in test_site.py and in the contracts."""

from __future__ import annotations

from leaderboard.report import audit
from leaderboard.store import results


def test_a_method_without_a_citation_is_named(made_result, tmp_path):
    about = results.About(title="A", paper="https://a.org", code="https://a.org", license="MIT")
    results.write(tmp_path, [made_result("xysquares/spacing_1", "a", 0.1, about=about)])
    results.write(tmp_path, [made_result("xysquares/spacing_1", "pca", 0.1)])
    (problem,) = audit.unattributed(tmp_path)
    assert "a.json: about: expected paper, code, license and bibtex of a published method, received no bibtex" in str(
        problem
    )
