"""The transfer matrix: measured, written, merged, laid out; and what does not belong is refused."""

import csv
import functools
import io
import json

import numpy as np
import pytest

from benchmark_data.errors import DamagedFile, InvalidInput
from leaderboard import protocol
from leaderboard.report import transfer_page
from leaderboard.report.site import build
from leaderboard.scoring import candidates, transfer_matrix
from leaderboard.store import results_tree, transfers

pytestmark = pytest.mark.usefixtures("one_tier", "toys")


def encoded(source="toy/spacing_8", method="beta_vae", seed=0, noise=0.1):
    labels = protocol.task("toy/small").labels()
    codes = labels + noise * np.random.default_rng(seed).standard_normal(labels.shape)
    return transfer_matrix.Encoded(method, source, seed, codes.astype(np.float32), method.title())


@functools.cache
def measure_once():
    rows = [encoded(seed=0), encoded(seed=1), encoded("none", "random_encoder", noise=9.0)]
    return list(transfer_matrix.measure("toy/small", rows, classifiers=["logistic"]))


@pytest.fixture
def measured():
    return measure_once()


def test_what_is_written_is_read_back_and_seeds_are_merged(measured, tmp_path):
    assert [(one.source, one.method, len(one.runs)) for one in measured] == [
        ("toy/spacing_8", "beta_vae", 2),
        ("none", "random_encoder", 1),
    ]
    (first, _) = transfers.write(tmp_path, measured)
    assert first == tmp_path / "transfer/v1/toy/small/beta_vae.toy-spacing_8.json"
    assert transfers.read_all(tmp_path) == measured
    (again, _) = (one.model_copy(update={"runs": (one.runs[0].model_copy(update={"seed": 4}),)}) for one in measured)
    transfers.write(tmp_path, [again])
    assert [run.seed for run in transfers.read_all(tmp_path)[0].runs] == [0, 1, 4]
    assert results_tree.files(tmp_path) == []


def test_the_matrix_has_encoders_by_labels(measured):
    (matrix,) = transfer_page.matrices(measured)
    assert matrix.targets == (("toy/small", ("average", "f0", "f1", "f2")),)
    assert [(line.source, line.title) for line in matrix.lines] == [
        ("toy/spacing_8", "Beta_Vae"),
        ("none", "Random_Encoder"),
        ("", "most frequent class"),
    ]
    best, chance, floor = ([mean for mean, _ in line.cells] for line in matrix.lines)
    assert best[0] > chance[0]
    assert best[0] == pytest.approx(np.mean(best[1:]))
    assert {ends for line in matrix.lines for _, ends in line.cells} == {None}, "fewer than four seeds"
    # 60 images, 6 of them held out; the most frequent of 3 to 5 even classes is right for few of them.
    assert floor[0] < 0.6
    lines = list(csv.DictReader(io.StringIO(transfer_page.comma_separated(measured))))
    assert len(lines) == 3 * (3 + 3)
    assert "toy/small 54 and 6" in transfer_page.caption(measured)


def test_one_label_has_no_average(measured):
    one = measured[0]
    alone = [run.model_copy(update={"accuracies": run.accuracies[:1]}) for run in one.runs]
    (matrix,) = transfer_page.matrices([one.model_copy(update={"runs": tuple(alone)})])
    assert matrix.targets == (("toy/small", ("f0",)),)
    assert [len(line.cells) for line in matrix.lines] == [1, 1]


def test_a_label_may_be_called_average(measured):
    content = measured[0].model_dump_json(by_alias=True)
    renamed = transfers.Transfer.model_validate_json(content.replace('"f1"', '"average"'))
    (before,), (after,) = transfer_page.matrices([measured[0]]), transfer_page.matrices([renamed])
    assert after.targets == (("toy/small", ("average", "f0", "average", "f2")),)
    assert [line.cells for line in after.lines] == [line.cells for line in before.lines]


def test_the_page(measured, run_folder, tmp_path, browser):
    root = tmp_path / "results"
    results_tree.write(root, candidates.results_of([run_folder()]))
    transfers.write(root, measured)
    site = build.build(root, tmp_path / "site").parent
    browser.open(site / "transfer.html", width=360)
    assert browser.complaints == []
    assert browser.run("document.documentElement.scrollWidth") <= 360
    assert browser.run("[...document.querySelectorAll('tbody th')].map((e) => e.textContent)") == [
        "toy/spacing_8",
        "nothing",
        "any",
    ]
    assert 'href="transfer.html"' in (site / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(source="../x"), "source: expected text that matches"),
        (lambda c: c.update(method="other"), r"expected the path .*other\.toy-spacing_8\.json"),
        (lambda c: c["runs"].reverse(), "each seed once, in order"),
        (lambda c: c["runs"][0]["accuracies"].pop(), "each classifier and label once for every seed"),
        (
            lambda c: c["runs"][0]["accuracies"][0].update(test=1.5),
            "accuracies.0.test: expected at most 1.0, received 1.5",
        ),
    ],
)
def test_a_damaged_file_is_named(measured, tmp_path, change, message):
    (file, _) = transfers.write(tmp_path, measured)
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(DamagedFile, match=message):
        transfers.read_all(tmp_path)


def test_nothing_to_measure_a_seed_twice_or_a_name_that_is_none():
    with pytest.raises(
        InvalidInput, match=r"seeds of beta_vae of toy/spacing_8: expected each once, received 0 twice\."
    ):
        next(transfer_matrix.measure("toy/small", [encoded(), encoded()]))
    with pytest.raises(InvalidInput, match="expected those of at least one encoder, received none"):
        next(transfer_matrix.measure("toy/small", []))
    with pytest.raises(InvalidInput, match="method: expected text that matches"):
        next(transfer_matrix.measure("toy/small", [encoded(method="Beta VAE")], classifiers=["logistic"]))


def test_accuracies_on_other_rows_are_not_merged(measured, tmp_path):
    transfers.write(tmp_path, measured)
    other = [one.model_copy(update={"rows_digest": "0" * 64}) for one in measured]
    with pytest.raises(InvalidInput, match="expected accuracies on the rows that are on the board"):
        transfers.write(tmp_path, other)


def test_a_run_on_the_target_is_its_own_source(run_folder):
    assert transfer_matrix.of_run(run_folder()).source == "toy/small"
    assert transfer_matrix.of_run(run_folder("random_encoder")).source == "none"
