"""What the check of a board asks of methods; the rest is tested in test_site.py and in the contracts."""

from __future__ import annotations

import dataclasses

import pytest

from benchmark_data.sources import Derived, Selected
from benchmark_data.variants import adversarial, splitting
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


def inverted(images, indices, labels):
    return 255 - images


def regridded(base):
    return adversarial.regridded(base, {"f0": (0, 2)}, name="toy")


def derived(base):
    return dataclasses.replace(base, source=Derived(base, inverted))


def selected(base):
    source = Selected(base, range(0, 60, 2), ("f0", "f2"))
    return dataclasses.replace(base, source=source, space=source.space, splits={}, effects={})


def divided(base):
    return splitting.split(regridded(base), "random").dataset


@pytest.mark.parametrize("variant", [derived, regridded, selected, divided])
def test_the_digest_of_a_variant_of_a_rendered_dataset_is_compared(variant, toys, made_result, tmp_path):
    toys["toy/variant"] = dataclasses.replace(variant(toys["toy/small"]), config="variant")
    results.write(tmp_path, [made_result("toy/variant", "a", 0.1)])  # whose digest is made up
    assert any("dataset_digest: expected" in str(problem) for problem in audit.check(tmp_path))
