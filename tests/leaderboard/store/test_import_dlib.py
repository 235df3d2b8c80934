"""disentanglement_lib's JSON, written as its own code writes it (gin's text as values, pandas' columns)."""

import datetime
import json

import pandas as pd
import pytest

from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard.store import import_dlib, reported

PAPER = {"key": "old2019", "authors": "A. Author", "title": "Old numbers", "year": 2019, "link": "https://example.org"}


def record(metric, seed=0, beta="4.0", dataset="'dsprites_full'", **scores):
    return {
        "train_config.dataset.name": dataset,
        "train_config.model.name": "'beta_vae'",
        "train_config.model.model": "@vae()",
        "train_config.model.random_seed": str(seed),
        "train_config.vae.beta": beta,
        "train_config.encoder.num_latent": "10",
        "train_results.elapsed_time": 3600.0,
        "postprocess_config.postprocess.postprocess_fn": "@mean_representation",
        "evaluation_config.evaluation.evaluation_fn": f"@{metric}",
        "evaluation_results.elapsed_time": 9.5,
        "evaluation_results.uuid": "0-1-2",
        **{f"evaluation_results.{name}": value for name, value in scores.items()},
    }


def aggregated(path, *records):
    """What ``dlib_aggregate_results`` does: ``pd.DataFrame(records).to_json(path)``."""
    pd.DataFrame(list(records)).to_json(path)
    return path


def test_seeds_become_one_number_with_its_spread(tmp_path):
    file = aggregated(
        tmp_path / "results.json",
        record("mig", 0, discrete_mig=0.1),
        record("mig", 1, discrete_mig=0.3),
        record("mig", 0, beta="16.0", discrete_mig=0.5),
        record("dci", 0, disentanglement=0.25, completeness=0.5, informativeness_train=1.0, informativeness_test=0.75),
        record("mig", 0, dataset="'cars3d'", discrete_mig=float("nan")),
    )
    paper = import_dlib.read(file, **PAPER, today=datetime.date(2026, 1, 2))
    found = {(row.setting, row.score): (row.mean, row.spread, row.seeds) for row in paper.rows}
    four = "beta = 4.0; mean representation; dsprites_full"
    assert found == {
        (four, "MIG"): (pytest.approx(0.2), pytest.approx(0.02**0.5), 2),
        ("beta = 16.0; mean representation; dsprites_full", "MIG"): (0.5, None, 1),
        (four, "DCI Disentanglement"): (0.25, None, 1),
        (four, "DCI Completeness"): (0.5, None, 1),
        (four, "dci: informativeness_train"): (1.0, None, 1),
        (four, "DCI Informativeness"): (0.75, None, 1),
    }
    assert {(row.dataset, row.method) for row in paper.rows} == {("dsprites", "beta_vae")}
    assert (paper.read, paper.link) == (datetime.date(2026, 1, 2), "https://example.org")


def test_one_evaluation_is_enough(tmp_path):
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps(record("sap_score", SAP_score=0.07)))
    (row,) = import_dlib.read(file, **PAPER).rows
    assert (row.score, row.mean, row.printed, row.place) == ("SAP", 0.07, "0.07", "evaluation.json")


def test_it_is_written_once_and_read_with_the_papers(tmp_path):
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps(record("mig", discrete_mig=0.07)))
    paper = import_dlib.read(file, **PAPER)
    assert reported.write(tmp_path / "r", paper).name == "old2019.json"
    assert reported.read_all(tmp_path / "r") == [paper]
    with pytest.raises(InvalidInput, match="expected a key that is free, received old2019"):
        reported.write(tmp_path / "r", paper)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "expected valid JSON"),
        (b"\xff", "expected valid JSON"),
        (b"[1]", "expected a JSON object of columns, received list"),
        (b"{}", "expected a JSON object of columns"),
        (b'{"a": {"0": 1}}', "received no score with a dataset and a model"),
        (json.dumps(record("mig", discrete_mig=None)).encode(), "received no score"),
        (json.dumps(record("mig", dataset="'../x'", discrete_mig=1.0)).encode(), r"rows\.0\.dataset: expected text"),
    ],
)
def test_files_that_are_something_else(tmp_path, content, message):
    file = tmp_path / "x.json"
    file.write_bytes(content)
    with pytest.raises(DamagedFile, match=message):
        import_dlib.read(file, **PAPER)


def test_a_key_that_is_none(tmp_path):
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps(record("mig", discrete_mig=0.07)))
    with pytest.raises(DamagedFile, match="key: expected text that matches"):
        import_dlib.read(file, **PAPER | {"key": "../x"})
