"""Newcomers to the contracts: the templates pass, planted mistakes do not.

Each newcomer is a file in a folder of its own, which ``--also`` puts beside the datasets, objectives or metrics of a
test run in another process, exactly as a file that a stranger adds. What the run says of it is the outcome.
"""

from __future__ import annotations

import collections
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "docs" / "templates"
KINDS = {"dataset": "datasets", "metric": "metrics", "objective": "objectives"}


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def template(kind: str, *changes: tuple[str, str]) -> str:
    return changed((TEMPLATES / f"{kind}.py").read_text("utf-8"), *changes)


NOTHING_DECLARED = (
    '    effects={"radius": expected_effects.larger(), "x": expected_effects.right(), "y": expected_effects.down()},\n',
    "",
)
PROPERTIES = re.compile(r"\nPROPERTIES = Properties\(.*?\n\)\n", re.DOTALL)
GOOD = {
    "dataset": {"template": template("dataset")},
    "metric": {
        "template": template("metric"),
        # the gap between the two best latents: a copy of the best closes it
        "gap": template(
            "metric",
            ('chance="(K - 1) / (n - 1) for K classes",', 'chance="near 0",\n    copied_latent="zero",'),
            (
                "explained.append((between / (latents**2).sum(axis=0)).max())",
                "best = np.sort(np.append(between / (latents**2).sum(axis=0), 0.0))\n"
                "        explained.append(best[-1] - best[-2])",
            ),
        ),
    },
    "objective": {"template": template("objective")},
}
"""Newcomers that nothing is wrong with, by kind and name."""

FAULTS = {
    "dataset": {
        "swapped": (
            "test_labels_say",
            template("dataset", ("radius, x, y = (", "radius, y, x = (")),
            r"x: .*: y does\. Are two label",
        ),
        "reversed": (
            "test_labels_say",
            template("dataset", ("SPACE.values(labels).T)", "SPACE.values([3, 15, 0] + labels * [-1, -1, 1]).T)")),
            r"x: .*Is the factor counted from the wrong end\?",
        ),
        "ignored": (
            "test_every_factor_shows",
            template("dataset", ("(rows - y) ** 2", "(rows - 32) ** 2 + 0 * y")),
            "^AssertionError: y",
        ),
        "batched": (
            "test_the_same_rows_give",
            template("dataset", ("    return np.uint8(255)", "    inside[0] ^= True\n    return np.uint8(255)")),
            "array_equal",
        ),
        "undeclared": (
            "test_what_every_factor",
            template("dataset", NOTHING_DECLARED),
            "no effect is declared of radius, x, y. Say in DATASET",
        ),
    },
    "metric": {
        "numbering": (
            "test_numbers_of_classes",
            template(
                "metric",
                (
                    "explained.append((between / (latents**2).sum(axis=0)).max())",
                    "explained.append(max(np.corrcoef(latent, column)[0, 1] ** 2 for latent in latents.T))",
                ),
            ),
            "other numbers for the same classes change the score",
        ),
        "order": (
            "test_order_and_sign",
            template("metric", ("(latents**2).sum(axis=0)).max()", "(latents**2).sum(axis=0))[0]")),
            "assert .* == ",
        ),
        "lower": (
            "test_the_main_score_tells",
            template("metric", ("float(np.mean(explained))", "1 - float(np.mean(explained))")),
            r"assert .* > \(.* \+ 0\.2\)",
        ),
        "silent": (
            "test_it_says_what_it_is",
            PROPERTIES.sub("\n", template("metric")),
            "expected PROPERTIES.*Write below the imports: PROPERTIES = Properties",
        ),
        "mistyped": (
            "test_it_says_what_it_is",
            PROPERTIES.sub('\nPROPERTIES = {"asks": "is it a text?"}\n', template("metric")),
            "expected PROPERTIES.*received a dict",
        ),
        "untold_gap": (
            "test_a_copy_of_every",
            GOOD["metric"]["gap"].replace('    copied_latent="zero",\n', ""),
            "PROPERTIES say of a copied latent: correlation_ratio same",
        ),
    },
    "objective": {
        "weight": (
            "test_a_posterior_pays",
            template("objective", ("Term(self.strength * share", "Term(-self.strength * share")),
            "is the sign of the divergence flipped",
        ),
        "value": (
            "test_a_posterior_pays",
            template("objective", ("ops.mean(batch.kl)", "-ops.mean(batch.kl)")),
            "is the sign of the divergence flipped",
        ),
        "forgotten": (
            "test_a_posterior_pays",
            template("objective", ("ops.mean(batch.kl)", "0 * ops.mean(batch.kl)")),
            "is the sign of the divergence flipped",
        ),
    },
}
"""Newcomers with one mistake each, by kind and name: the test that must notice it, the file, what the test must say."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Run the contracts over all newcomers, once: by kind and name, what failed and how many tests passed."""
    folder = tmp_path_factory.mktemp("newcomers")
    chosen = []
    for kind, room in KINDS.items():
        (folder / room).mkdir()
        for name, text in {**GOOD[kind], **{name: text for name, (_, text, _) in FAULTS[kind].items()}}.items():
            text = text.replace(f'name="{kind}"', f'name="newcomer_{name}"')
            (folder / room / f"newcomer_{name}.py").write_text(text, "utf-8")
        chosen += [f"newcomer_{name}" for name in GOOD[kind]]
        chosen += [f"(newcomer_{name} and {test})" for name, (test, *_) in FAULTS[kind].items()]
    contracts = [ROOT / "tests" / "contracts" / f"test_{room}.py" for room in KINDS.values()]
    command = [sys.executable, "-m", "pytest", *contracts, "-k", " or ".join(chosen), "--also", folder, "-q"]
    command += ["-p", "no:cacheprovider", "--junitxml", folder / "outcomes.xml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (folder / "outcomes.xml").is_file(), done.stdout + done.stderr
    failed, passed = collections.defaultdict(list), collections.Counter()
    for case in ET.parse(folder / "outcomes.xml").iter("testcase"):
        name = re.search(r"newcomer_([a-z_]+)", case.get("name", ""))
        if not name:
            raise AssertionError(f"{case.get('name')}: {done.stdout}")
        (kind,) = (kind for kind, room in KINDS.items() if case.get("classname").endswith(f"test_{room}"))
        wrong = [*case.iter("failure"), *case.iter("error")]
        if wrong:
            failed[kind, name[1]].append(f"{wrong[0].get('message')} {wrong[0].text}\n{case.get('name')}")
        elif not list(case.iter("skipped")):
            passed[kind, name[1]] += 1
    return failed, passed


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, good in GOOD.items() for name in good])
def test_a_correct_newcomer_passes(outcomes, kind, name):
    failed, passed = outcomes
    assert failed.get((kind, name), []) == []
    assert passed[kind, name] > 5


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, faults in FAULTS.items() for name in faults])
def test_a_planted_mistake_is_named(outcomes, kind, name):
    failed, _ = outcomes
    assert (kind, name) in failed, "the contract passes"
    message = FAULTS[kind][name][2]
    found = failed[kind, name]
    assert any(re.search(message, text, re.DOTALL | re.MULTILINE) for text in found), found


def test_there_is_a_template_for_each_noun():
    assert sorted(path.stem for path in TEMPLATES.glob("*.py")) == sorted(KINDS)
