"""``offaxis board similarity`` and ``score --metric`` as a user meets them: run folders, arrays, one-line errors."""

import json
import re
import shutil
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

import benchmark_data
from baselines import program
from leaderboard import protocol
from leaderboard.commands import metrics
from leaderboard.comparisons import heatmap
from leaderboard.doubts import SameCodes
from leaderboard.metrics import r_squared


@pytest.fixture
def board(capsys, monkeypatch):
    """Run a command as ``main`` does; give the exit code, what it printed, and what it complained of."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["offaxis", "board", *map(str, arguments)])
        code = 0
        try:
            program.main()
        except SystemExit as stop:
            code = stop.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def activations(active, n=80, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n, 12)).astype(np.float32)
    mean = (
        images[:, :3] * [1.0] * 3 if active == 3 else images[:, :3] * ([1.0] * active + [1e-3] * (3 - active))
    ).astype(np.float32)
    variance = np.broadcast_to(np.array([0.01] * active + [1.0] * (3 - active), np.float32), mean.shape)
    return {
        "input": images,
        "encoder_1": np.tanh(images @ rng.normal(size=(12, 6))),
        "mean": mean,
        "variance": variance,
    }


@pytest.fixture
def runs(tmp_path):
    """Two strengths with two seeds each."""
    folders = []
    for beta, active in ((1, 3), (8, 1)):
        for seed in range(2):
            folder = tmp_path / f"beta_{beta}_seed_{seed}"
            folder.mkdir()
            layers = activations(active, seed=seed)
            np.savez(folder / "activations.npz", layers=np.array(list(layers)), indices=np.arange(80), **layers)
            record = {"method": "beta_vae", "seed": seed, "hyperparameters": {"beta": beta}}
            (folder / "run.json").write_text(json.dumps(record))
            folders.append(folder)
    return folders


def test_a_divided_task_holds_out_its_own_rows(board, tmp_path):
    """Codes that know the train rows, of which there are fewer than two thirds, and nothing of the others."""
    task = protocol.task("dsprites_spaced/spacing_8.extrapolation")
    codes = task.labels().astype(np.float32)
    codes[len(task.train) :] = np.random.default_rng(0).permuted(codes[len(task.train) :], axis=0)
    np.savez(tmp_path / "codes.npz", codes=codes[:, :, None].repeat(2, axis=2), indices=task.indices)
    arguments = ["--dataset", task.dataset, "--metric", "r_squared", "--to", tmp_path / "s.csv"]
    code, _, err = board("score", tmp_path / "codes.npz", *arguments)
    assert code == 0, err
    learnt, held_out = np.split(task.labels(), [len(task.train)])
    expected = r_squared.score(codes[: len(learnt)], learnt, codes_test=codes[len(learnt) :], factors_test=held_out)
    (row,) = pd.read_csv(tmp_path / "s.csv").query("score == 'r_squared'").to_dict("records")
    assert row["value"] == pytest.approx(expected["r_squared"], abs=0.02)
    arguments = ["--dataset", task.dataset, "--metric", "mig", "--to", tmp_path / "m.csv"]
    code, _, err = board("score", tmp_path / "codes.npz", *arguments)
    assert (code, pd.read_csv(tmp_path / "m.csv")["value"][0] < 0.1) == (0, True), "of the held-out rows"


def test_metrics_on_anyone_s_codes(board, tmp_path):
    factors = np.arange(300)[:, None] % [3, 4]
    codes = factors + 0.01 * np.random.default_rng(0).normal(size=(300, 2))
    save_file({"codes": codes.astype(np.float32), "factors": factors}, tmp_path / "a.safetensors")
    arguments = ["--metric", "mig", "--metric", "sap", "--metric", "unsupervised", "--to", tmp_path / "a.csv"]
    code, out, err = board("score", tmp_path / "a.safetensors", *arguments)
    assert code == 0, err
    table = pd.read_csv(tmp_path / "a.csv").set_index("score").value
    assert table["mig"] > 0.9
    assert "gaussian_total_correlation" in out
    save_file({"codes": codes.astype(np.float32)}, tmp_path / "b.safetensors")
    code, _, err = board("score", tmp_path / "b.safetensors")
    assert (code, "contains codes but no factors" in err) == (2, True)
    code, _, err = board("score", tmp_path / "a.safetensors", "--metric", "mgi")
    assert (code, "Did you mean 'mig'?" in err) == (2, True)
    code, _, err = board("score", tmp_path / "a.safetensors", "--to", tmp_path / "a.txt")
    assert (code, "such as --to scores.csv" in err) == (2, True)


@pytest.mark.filterwarnings("default::leaderboard.scoring.measure.LeftOut")
def test_metrics_say_which_factor_is_left_out_and_refuse_what_they_would_not_use(board, tmp_path):
    factors = np.random.default_rng(0).integers(0, [3, 1, 2], (300, 3))
    np.savez(tmp_path / "a.npz", codes=factors + 0.0, factors=factors, factor_names=["x", "floor", "y"])
    code, out, err = board("score", tmp_path / "a.npz", "--metric", "mig")
    assert (code, "a.npz: floor: one value in the rows that metrics learn from" in err) == (0, True), out
    code, _, err = board("score", tmp_path / "a.npz", "--metric", "sap")
    assert (code, "cannot be scored" in err) == (0, False), err
    factors[:200, 0] = 0  # which varies in the rows that are held out
    np.savez(tmp_path / "a.npz", codes=factors + 0.0, factors=factors, factor_names=["x", "floor", "y"])
    _, _, err = board("score", tmp_path / "a.npz", "--metric", "mig")
    assert "a.npz: x, floor: one value in the rows that metrics learn from. Left out." in err
    held_out = {"codes_test": factors + 0.0, "factors_test": factors}
    np.savez(tmp_path / "b.npz", codes=factors + 0.0, factors=factors, **held_out)
    _, _, err = board("score", tmp_path / "b.npz", "--metric", "mig")
    assert "b.npz: factor_1: one value in the rows that metrics learn from. Left out." in err


def test_the_path_of_codes_is_not_read_as_markup(board, tmp_path):
    factors = np.random.default_rng(0).integers(0, 3, (300, 2))
    path = tmp_path / "a[" / "b].npz"  # "[/b]" closes a tag of rich
    path.parent.mkdir()
    np.savez(path, codes=factors + 0.0, factors=factors)
    code, _, err = board("score", path, "--metric", "mig")
    assert code == 0, err


def test_metrics_of_several_files_give_mean_and_spread(board, tmp_path):
    factors = np.random.default_rng(0).integers(0, 3, (300, 2))
    for name, noise in {"a": 0.0, "b": 1.0}.items():
        codes = factors + noise * np.random.default_rng(1).normal(size=(300, 2))
        np.savez(tmp_path / f"{name}.npz", codes=codes, factors=factors)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    code, out, err = board("score", *files, "--metric", "mig", "--to", tmp_path / "m.csv")
    assert code == 0, err
    table = pd.read_csv(tmp_path / "m.csv")
    values = table[table.score == "mig"].set_index("file").value
    assert list(values.index) == [str(file) for file in files]
    assert values.iloc[0] > 0.9 > values.iloc[1] + 0.3
    (line,) = (line.split() for line in out.splitlines() if line.split()[:2] == ["mig", "mig"])
    assert line[2:] == [f"{v:.3f}" for v in (values.mean(), values.std())]
    assert "mean and sd assume that the files are seeds of one encoder" in err
    for seed in (2, 3):
        codes = factors + np.random.default_rng(seed).normal(size=(300, 2))
        np.savez(tmp_path / f"c{seed}.npz", codes=codes, factors=factors)
        files.append(tmp_path / f"c{seed}.npz")
    code, out, _ = board("score", *files, "--metric", "mig", "--to", tmp_path / "m.csv")
    values = pd.read_csv(tmp_path / "m.csv").value
    half = 3.18245 * values.std() / 2  # Student's t of three degrees of freedom, over the root of four
    low, high = max(0, values.mean() - half), min(1, values.mean() + half)  # of a score from 0 to 1
    assert f"{values.mean():.3f} ({low:.3f} to {high:.3f})" in out
    np.savez(tmp_path / "b.npz", codes=np.zeros((300, 2)), factors=factors)
    with warnings.catch_warnings():
        warnings.simplefilter("default", SameCodes)
        _, _, err = board("score", *files[:2], "--metric", "mig")
    assert re.search(r"warning: .*b\.npz: the codes are the same in all rows", err)
    np.savez(tmp_path / "b.npz", codes=factors)
    code, out, err = board("score", *files[:2], "--metric", "mig")
    assert (code, out, "b.npz contains codes but no factors" in err) == (2, "", True)


def test_metrics_of_arrays_with_held_out_rows(board, tmp_path):
    from leaderboard.metrics import sap

    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], (300, 2))
    codes = factors + 0.4 * rng.normal(size=(300, 2))
    parts = {"codes": codes[:100], "factors": factors[:100], "codes_test": codes[100:], "factors_test": factors[100:]}
    np.savez(tmp_path / "arrays.npz", **parts)
    arguments = ["--metric", "sap", "--to", tmp_path / "a.csv"]
    code, _, err = board("score", tmp_path / "arrays.npz", *arguments)
    assert code == 0, err
    expected = sap.score(codes[:100], factors[:100], codes_test=codes[100:], factors_test=factors[100:])
    assert pd.read_csv(tmp_path / "a.csv").set_index("score").value.to_dict() == pytest.approx(expected)
    apart = {name: parts[name][..., None] for name in ("codes", "codes_test")}
    np.savez(tmp_path / "units.npz", **parts | apart)  # units of one number each
    assert board("score", tmp_path / "units.npz", *arguments)[0] == 0
    assert pd.read_csv(tmp_path / "a.csv").set_index("score").value.to_dict() == pytest.approx(expected)
    np.savez(tmp_path / "half.npz", codes=codes, factors=factors, codes_test=codes)
    code, _, err = board("score", tmp_path / "half.npz", "--metric", "mig")
    assert (code, "codes_test: expected codes_test and factors_test next to codes and factors" in err) == (2, True)
    np.savez(tmp_path / "named.npz", **parts, indices=np.arange(100))
    code, _, err = board("score", tmp_path / "named.npz", "--dataset", "xysquares/spacing_8", "--metric", "sap")
    received = "received codes_test and factors_test with --dataset xysquares/spacing_8"
    assert (code, received in err) == (2, True), err
    code, _, err = board("score", tmp_path / "arrays.npz", "--metric", "MIG")
    assert (code, "Did you mean 'mig'?" in err) == (2, True)


def test_metrics_of_rows_in_the_order_of_a_factor_say_so(board, tmp_path):
    """A grid written row by row: codes that are the factors miss what is held out, and one is told why."""
    x, y = np.divmod(np.arange(240), 20)
    factors = np.stack([x, y % 4], axis=1)
    shuffled = factors[np.random.default_rng(0).permutation(240)]
    for name, rows in {"a": factors, "b": shuffled}.items():
        np.savez(tmp_path / f"{name}.npz", codes=rows.astype(float), factors=rows, factor_names=np.array(["x", "y"]))
    _, out, err = board("score", tmp_path / "a.npz", "--metric", "mig")
    assert "warning: rows are sorted by x, and the last third is held out: shuffle codes and factors" in err
    assert "warning" not in out, "scripts read standard output"
    _, _, err = board("score", tmp_path / "b.npz", "--metric", "mig")
    assert "are sorted by" not in err


def test_metrics_of_a_dataset_s_rows_in_order_say_so(board, tmp_path):
    data = benchmark_data.load("dsprites")
    rows = np.arange(0, len(data), 3_001)
    for name, order in {"a": rows, "b": np.random.default_rng(0).permutation(rows)}.items():
        np.savez(tmp_path / f"{name}.npz", codes=data.labels(order).astype(float), indices=order)
    arguments = ["--dataset", "dsprites", "--metric", "mig"]
    _, _, err = board("score", tmp_path / "a.npz", *arguments)
    assert re.search("warning: rows are sorted by .*: shuffle codes and indices with one perm", err)
    _, _, err = board("score", tmp_path / "b.npz", *arguments)
    assert "are sorted by" not in err


@pytest.mark.filterwarnings("default::leaderboard.scoring.measure.LeftOut")
def test_metrics_of_a_run_s_rows_in_order_say_so(board, tmp_path):
    data = benchmark_data.load("xyobject/plain")
    for name, rows in {"in_order": np.arange(3_000), "of_the_task": protocol.task("xyobject/plain").indices}.items():
        (tmp_path / name).mkdir()
        record = {"dataset": data.id, "method": ["what another program wrote"]}
        (tmp_path / name / "run.json").write_text(json.dumps(record), "utf-8")
        np.savez(tmp_path / name / "codes.npz", codes=data.labels(rows).astype(float), indices=rows)
        code, _, err = board("score", tmp_path / name, "--metric", "mig")
        assert (code, "rows are sorted by" in err) == (0, name == "in_order")


def test_metrics_of_rows_that_are_held_out_and_learned_from_say_so(board, tmp_path):
    data = benchmark_data.load("xyobject/plain")
    once = np.random.default_rng(0).permutation(len(data))[:600]
    for name, rows in {"once": once, "twice": np.tile(once, 2)}.items():
        np.savez(tmp_path / f"{name}.npz", codes=data.labels(rows).astype(float), indices=rows)
    arguments = ["--dataset", "xyobject/plain", "--metric", "mig"]
    assert "training rows, too" not in board("score", tmp_path / "once.npz", *arguments)[2]
    _, _, err = board("score", tmp_path / "twice.npz", *arguments)
    assert "warning: 400 of 400 held-out rows are training rows, too: pass each once." in err


def test_metrics_of_codes_without_rows_say_which_they_are_taken_for(board, tmp_path):
    task = protocol.task("xyobject/plain")
    codes = task.load().labels(task.indices).astype(float)
    np.savez(tmp_path / "said.npz", codes=codes, indices=task.indices)
    np.savez(tmp_path / "unsaid.npz", codes=codes)
    arguments = ["--dataset", "xyobject/plain", "--metric", "mig"]
    assert "assumed to be" not in board("score", tmp_path / "said.npz", *arguments)[2]
    _, _, err = board("score", tmp_path / "unsaid.npz", *arguments)
    assert "no array `indices`: the 15,000 rows are assumed to be those of xyobject/plain@v1 in order." in err


@pytest.mark.filterwarnings("default::leaderboard.scoring.measure.LeftOut")
def test_all_metrics_leave_out_those_that_refuse(board, tmp_path):
    """One factor is none to tell apart from another: what needs two is left out, and said."""
    factors = np.random.default_rng(0).integers(0, 4, (90, 1))
    np.savez(tmp_path / "a.npz", codes=factors + 0.1, factors=factors)
    code, out, err = board("score", tmp_path / "a.npz", "--metric", "all")
    assert code == 0, err
    assert re.search(
        "warning: [a-z_]+ is left out: factors: expected at least two factors that vary, received one", err
    )
    assert re.search(r"\bmig +mig\b", out)
    np.savez(tmp_path / "b.npz", codes=np.eye(2), factors=np.zeros((2, 2), int))
    code, _, err = board("score", tmp_path / "b.npz", "--metric", "all")
    assert (code, ".." in err.replace("...", "")) == (2, False)
    assert "b.npz: expected a factor that varies in the rows that metrics learn from." in err


def test_metrics_of_a_run_and_of_an_encoder(board, toys, run_folder, tmp_path):
    from onnx import TensorProto, helper, numpy_helper, save

    folder = run_folder(noise=0.001)
    code, out, err = board("score", folder, "--metric", "mig")
    assert (code, "mig" in out) == (0, True), err
    # An encoder that looks at the one bright pixel of each factor: its place times its brightness.
    weights = np.zeros((192, 3), np.float32)
    for factor in range(3):
        for place in range(8):
            weights[(factor * 8 + place) * 3, factor] = place
    graph = helper.make_graph(
        [helper.make_node("Flatten", ["image"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["codes"])],
        "encoder",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 8, 8, 3])],
        [helper.make_tensor_value_info("codes", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(weights, "w")],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(tmp_path / "a.onnx"))
    arguments = ["--dataset", "toy/small", "--metric", "mig", "--to", tmp_path / "a.csv"]
    code, _, err = board("score", tmp_path / "a.onnx", *arguments)
    assert code == 0, err
    assert pd.read_csv(tmp_path / "a.csv").value.item() > 0.9


def test_scores_on_unlike_datasets_are_not_averaged(board, toys, run_folder, tmp_path):
    places = (("toy/small", 0), ("toy/spacing_1", 0), ("toy/spacing_1", 1))
    folders = [run_folder(dataset=name, seed=seed) for name, seed in places]
    code, out, err = board("score", *folders, "--metric", "mig", "--to", tmp_path / "a.csv")
    assert code == 0, err
    table = pd.read_csv(tmp_path / "a.csv")
    assert list(table["dataset"].str.partition("@")[0]) == ["toy/small", "toy/spacing_1", "toy/spacing_1"]
    mean = table.loc[1:, "value"].mean()
    assert re.search(rf"toy/spacing_1\S* +mig +mig +{mean:.3f}", out)


def test_metrics_say_how_far_they_can_be_trusted(board, tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 6], (240, 2))
    np.savez(tmp_path / "a.npz", codes=factors + 0.5 * rng.normal(size=(240, 2)), factors=factors)
    arguments = ["--metric", "mig", "--metric", "sap", "--to", tmp_path / "s.csv"]
    code, _, err = board("score", tmp_path / "a.npz", *arguments)
    assert code == 0, err
    table = pd.read_csv(tmp_path / "s.csv").set_index("score")
    assert list(table.columns) == ["file", "dataset", "method", "seed", "hyperparameters", "metric", "value"]
    assert re.search(r"warning: mig: 0\.\d+ with 20, .* with 160 samples: use more before comparing", err)
    np.savez(tmp_path / "b.npz", codes=rng.normal(size=(30, 2)), factors=np.stack([np.arange(30) == 0] * 2, 1))
    _, _, err = board("score", tmp_path / "b.npz", "--metric", "mig")
    assert "warning: mig" in err
    np.savez(tmp_path / "c.npz", codes=rng.normal(size=(240, 2)), factors=np.stack([np.arange(240) == 0] * 2, 1))
    _, _, err = board("score", tmp_path / "c.npz", "--metric", "mig")
    assert (
        "warning: mig: smaller samples cannot be scored, so the effect of sample size is "
        "unknown: factors: expected a factor with at least two" in err
    )


def test_heatmap_of_plain_arrays(board, tmp_path, runs):
    layers = {name: np.ascontiguousarray(array, np.float32) for name, array in activations(2).items()}
    save_file(layers, tmp_path / "mine.safetensors", metadata={"layers": json.dumps(list(layers))})
    code, _, err = board("similarity", runs[0], tmp_path / "mine.safetensors", "--to", tmp_path / "a.png")
    assert (
        code,
        "mine.safetensors: cannot check that its rows are those of the other file" in " ".join(err.split()),
    ) == (0, True)
    table = pd.read_csv(tmp_path / "a.csv", index_col="layer")
    assert list(table.columns) == list(table.index) == list(layers)


def test_heatmap_averages_seeds_by_any_similarity(board, tmp_path, runs):
    tables = {}
    for similarity in ("cka", "procrustes", "smaller"):
        code, _, err = board("similarity", *runs, "--measure", similarity, "--to", tmp_path / f"{similarity}.png")
        assert code == 0, err
        tables[similarity] = pd.read_csv(tmp_path / f"{similarity}.csv", index_col="layer")
    singles = []
    for seed in range(2):
        board("similarity", runs[seed], runs[2 + seed], "--to", tmp_path / "one.png")
        singles.append(pd.read_csv(tmp_path / "one.csv", index_col="layer"))
    pd.testing.assert_frame_equal(tables["cka"], (singles[0] + singles[1]) / 2)
    assert board("similarity", *runs[:2], *runs[:2], *runs[2:], *runs[2:], "--to", tmp_path / "four.png")[0] == 0
    four = pd.read_csv(tmp_path / "four.csv", index_col="layer")
    pd.testing.assert_frame_equal(four[tables["cka"].columns], tables["cka"])
    error = (singles[0] - singles[1]).abs() / 2 / 3**0.5
    half = four.filter(like=" half width").rename(columns=lambda name: name.removesuffix(" half width"))
    pd.testing.assert_frame_equal(half, 3.18245 * error, rtol=1e-4)
    assert len(four.columns) == 2 * len(tables["cka"].columns), "two seeds have no interval, four have"
    assert (tables["smaller"] <= np.minimum(tables["cka"], tables["procrustes"]) + 1e-12).all(axis=None)
    code, _, err = board("similarity", *runs[:3], "--to", tmp_path / "b.png")
    assert (code, "equally many files of both models, an even number in total; received 3" in err) == (2, True)


def test_one_call_leaves_the_files_of_another(board, tmp_path, runs):
    assert board("similarity", *runs, "--to", tmp_path / "cmp_half.png")[0] == 0
    before = (tmp_path / "cmp_half.csv").read_bytes()
    assert board("similarity", *runs[:2] * 2, *runs[2:] * 2, "--to", tmp_path / "cmp.png")[0] == 0
    assert (tmp_path / "cmp_half.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["run_4.0", "run_4.5"], ("run_4.0", "run_4.5")),
        (["runs/a/seed_0", "runs/b/seed_0"], ("a/seed_0", "b/seed_0")),
        (
            ["far/vae/seed_0", "far/vae/seed_1", "near/vae/seed_0", "near/vae/seed_1"],
            ("far/vae/seed_0", "near/vae/seed_0"),
        ),
        (["seed_0", "seed_1", "../b/seed_0", "../b/seed_1"], ("here/seed_0", "b/seed_0")),
        (["x.1.npz", "y/x.1.npz"], ("x.1", "y/x.1")),
    ],
)
def test_axes_are_named_so_that_they_differ(board, tmp_path, monkeypatch, runs, names, shown):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in names:
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".npz":
            shutil.copy(runs[0] / "activations.npz", path)
        else:
            shutil.copytree(runs[0], path)
    drawn = []
    monkeypatch.setattr(heatmap, "draw", lambda *_, x_name, y_name, **__: drawn.extend([x_name, y_name]))
    assert board("similarity", *names, "--to", "a.png")[0] == 0
    more = " and 1 more" if len(names) > 2 else ""
    assert drawn == [name + more for name in shown]


def test_a_side_of_a_heatmap_is_of_one_model(board, tmp_path, runs):
    pairs = [runs[0], runs[2], runs[1], runs[3]]  # of two strengths, seed by seed
    for given in (pairs, [path / "activations.npz" for path in pairs]):
        code, _, err = board("similarity", *given, "--to", tmp_path / "b.png")
        assert (code, "all seeds of one model, then those of the other. Among the 2 files" in err) == (2, True), err
        assert "{'beta': 1}" in err
        assert "{'beta': 8}" in err


def test_layers_of_other_images_are_not_compared(board, tmp_path, runs):
    other = tmp_path / "other"
    other.mkdir()
    np.savez(other / "activations.npz", indices=np.arange(1, 81), **activations(3))
    code, _, err = board("similarity", runs[0], other, "--to", tmp_path / "a.png")
    assert (code, f"activations of {other}: expected those of the images of {runs[0]}" in err) == (2, True)
    assert "offaxis train encode --layers RUN... --dataset NAME" in err
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similarity", "a.npz", "b.npz", "--to", "a.png"], "or a run folder, received none: there"),
        (
            ["similarity", "a.npz", "b.npz", "--to", "a.jpg"],
            "--to: expected a file name that ends in .png, received a.jpg",
        ),
        (["score", "a.npz", "--to", "r"], "such as --to scores.csv"),
        *(
            (
                ["score", "a.npz", *option],
                f"{option[0]}: only for scores of tasks, and cannot be combined with files of codes. "
                "Leave out one or the other",
            )
            for option in (["--tier", "study"], ["--method", "mine"], ["--reproduced"], ["--new"])
        ),
        (
            ["score", "a.npz", "--metric", "mig", "--replace", "--to", "b.csv"],
            "--replace: only for scores of tasks, and cannot be combined with --metric, --to b.csv",
        ),
    ],
)
def test_mistakes_take_one_line_and_write_nothing(board, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = board(*arguments)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_names_that_look_like_styles_are_printed_as_they_are(capsys):
    metrics.show(pd.DataFrame({"run[red]": ["runs/[bold]/a", "runs/[/x]"]}))
    assert [line.strip() for line in capsys.readouterr().out.split("\n")][:3] == [
        "run[red]",
        "runs/[bold]/a",
        "runs/[/x]",
    ]


def test_codes_of_user_images_are_not_those_of_a_dataset(board, run_folder):
    folder = run_folder()
    (folder / "images.json").write_text("{}")
    code, _, err = board("score", folder / "codes.npz", "--dataset", "toy/spacing_1")
    assert (code, "holds codes of user images, not of toy/spacing_1: leave out the dataset." in err) == (2, True)
