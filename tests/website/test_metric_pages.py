"""The page of a metric: what its file says, the settings of the overview, and scores that are computed for it."""

from __future__ import annotations

import pytest

from benchmark_data import discovery
from leaderboard import properties


@pytest.fixture(scope="module")
def pages(website):
    return website("metric_pages")


def test_every_setting_of_the_overview_is_on_a_metrics_page(pages):
    names = discovery.names("leaderboard.metrics")
    text = pages.OVERVIEW.read_text("utf-8").partition("| setting |")[2].partition("\n\n")[0]
    listed = [line.strip("| ").partition(" | ")[0] for line in text.splitlines()[2:]]
    assert len(listed) > 15
    shown = {row[0] for name in names for row in pages.settings(name)}
    assert shown == set(listed)
    assert all(len(row) == 3 for name in names for row in pages.settings(name))


@pytest.mark.parametrize(
    ("knob", "metrics"),
    [
        ("MIG: estimator", {"mig"}),
        ("FactorVAE and BetaVAE scores: batches", {"factor_vae", "beta_vae"}),
        ("BetaVAE score, explicitness: classifier", {"beta_vae", "modularity_explicitness"}),
        ("InfoMEC: estimator", {"infomec", "infomec_tripod"}),
        ("JEMMIG, DCIMIG, MIG-sup, EDI: bins", {"jemmig", "dcimig", "mig_sup", "edi"}),
        ("DCI-ES: probes", {"dci_es"}),
    ],
)
def test_which_metrics_a_knob_speaks_of(knob, metrics, pages):
    assert pages.meant(knob) == metrics


def test_a_knob_of_all_metrics(pages):
    assert pages.meant("number of samples") == set(discovery.names("leaderboard.metrics"))


def test_a_page_says_what_the_file_says(pages):
    text = pages.page("mig")
    says = properties.find("mig")
    for row in (f"| question | {says.asks} |", f"| random codes | {says.chance} |", f"| reference | {says.source} |"):
        assert row in text
    assert "| ideal | 1 |" in text
    assert "- For `mig`, copies of every latent lower the score to 0: there is no gap to the second best." in text
    assert "::: leaderboard.metrics.mig.score" in text
    assert "| needs held-out rows | no |" in text
    assert "codes_test=codes_test" in pages.page("dci")
    assert "- Multiplying all codes by a number changes the accuracies of logistic regression" in pages.page(
        "downstream"
    )
    assert "- `omes` of perfect codes" not in pages.page("omes"), "which depends on the factors' values"


def test_scores_of_known_codes(pages):
    """MIG is 1 for codes that are the factors, next to 0 for noise, and lower for two of three that are turned."""
    found = {codes: scores["mig"] for codes, scores in pages.scores_of_known_codes("mig").items()}
    assert found["the factors themselves"] == pytest.approx(1, abs=0.02)  # factors drawn at random are not quite even
    assert found["noise alone"] < 0.05
    assert found["noise alone"] < found["rotated"] < found["the factors themselves"]
