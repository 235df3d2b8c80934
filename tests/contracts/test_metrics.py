"""What every metric must do. A file in ``leaderboard/metrics`` is held to this before its author writes a test."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_data import InvalidInput, discovery

NAMES = discovery.names("leaderboard.metrics")
QUICK = {
    "beta_vae": {"points": 200, "points_test": 100},
    "dci_es": {"depths": (1, 2, 4, 8), "trees": 25},
    "downstream": {"classifiers": ("gbt",), "sizes": (30, 150)},
    "factor_vae": {"votes": 200, "votes_test": 100},
}
"""Arguments that only make a metric faster."""

TOLERANCE = {
    "dci": 0.02,
    "dci_es": 0.05,
    "downstream": 0.05,
    "beta_vae": 0.02,
    "infomec": 0.02,
    "infomec_tripod": 0.02,
    "modularity_explicitness": 0.005,
}
"""Where trees break ties at random, neighbours tie or a solver stops early; exact to rounding elsewhere."""

SCALE_MATTERS = {"sap", "beta_vae", "omes"}
"""Metrics with a penalty or a threshold that does not scale with the codes, as their docstrings say."""

AXES_MATTER = {
    "mig",
    "dci",
    "sap",
    "modularity_explicitness",
    "irs",
    "mig_sup",
    "jemmig",
    "dcimig",
    "edi",
    "infomec",
    "infomec_tripod",
    "mcc",
    "minimality_sufficiency",
}
"""Metrics that a rotation of two latents lowers. Classifiers of all latents do not see it, and votes may agree."""

NOISE_PASSES = {"infomec", "infomec_tripod", "omes"}
"""Metrics whose main score does not tell knowledge from noise: ratios of small numbers, or what moves with every
factor. Each has a test of its own that says what noise scores."""

SIZES = (3, 4)
few = settings(max_examples=5, deadline=None, derandomize=True)


def module(name):
    return discovery.find("leaderboard.metrics", name, kind="metric")


def call(name, codes, factors, codes_test=None, factors_test=None, **more):
    """Call a metric as the evaluator does: with held-out data where it asks for them."""
    score = module(name).score
    held_out = {}
    if "codes_test" in inspect.signature(score).parameters:
        held_out = {
            "codes_test": codes if codes_test is None else codes_test,
            "factors_test": factors if factors_test is None else factors_test,
        }
    return score(codes, factors, **held_out, **QUICK.get(name, {}), **more)


def main_score(name, codes, factors):
    return next(iter(call(name, codes, factors).values()))


def sample(seed, n=240):
    """Factors that cover their grid evenly, codes that mix them, and noise."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*map(range, SIZES), indexing="ij"), -1).reshape(-1, len(SIZES))
    factors = rng.permutation(np.tile(grid, (n // len(grid), 1)))
    codes = factors @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(n, 4))
    return codes.astype(np.float32), factors


def perfect(factors, seed=0):
    return (factors + 0.01 * np.random.default_rng(seed).normal(size=factors.shape)).astype(np.float32)


def noise(factors, seed=0):
    return np.random.default_rng(seed).normal(size=factors.shape).astype(np.float32)


def close(name, scores):
    return {key: pytest.approx(value, abs=TOLERANCE.get(name, 1e-6)) for key, value in scores.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_module_says_range_ideal_and_chance(name):
    text = " ".join((module(name).__doc__ or "").split())
    assert re.search(r"[Rr]ange [\[(]", text), "the module docstring must state the range"
    for word in ("; ideal 1", "; 0 for independent"):
        if word in text:
            break
    else:
        pytest.fail("the module docstring must state the ideal value")
    assert "hance" in text or "independent" in text, "the module docstring must state the chance level"
    assert re.search(r"\(\d{4}\)", text), "the module docstring must name its source"


@pytest.mark.parametrize("name", NAMES)
def test_arguments_after_the_arrays_are_keywords(name):
    parameters = list(inspect.signature(module(name).score).parameters.values())
    assert [p.name for p in parameters[:2]] == ["codes", "factors"]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[2:])


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_python_floats_in_range(name):
    upper = 1.0 if "[0, 1]" in module(name).__doc__ else math.inf
    for codes, factors in (sample(0), (perfect(sample(0)[1]), sample(0)[1]), (noise(sample(0)[1]), sample(0)[1])):
        scores = call(name, codes, factors)
        assert scores
        for key, value in scores.items():
            assert type(value) is float, key
            assert 0.0 <= value <= (math.inf if key == "active_latents" else upper), key


@pytest.mark.parametrize("name", NAMES)
def test_the_same_arrays_give_the_same_scores_and_stay_as_they_were(name):
    codes, factors = sample(1)
    kept = codes.copy(), factors.copy()
    np.random.seed(0)  # noqa: NPY002
    first = call(name, codes, factors)
    np.random.seed(1)  # noqa: NPY002
    assert call(name, codes, factors) == first
    np.testing.assert_array_equal(codes, kept[0])
    np.testing.assert_array_equal(factors, kept[1])


@pytest.mark.parametrize("name", NAMES)
def test_memory_layout_and_precision_of_storage_change_nothing(name):
    codes, factors = sample(2)
    half = codes.astype(np.float16)
    expected = call(name, half.astype(np.float32), factors)
    assert call(name, half, factors.astype(np.uint8)) == expected
    wide = np.zeros((len(codes), 8), np.float32)
    wide[:, ::2] = half
    assert call(name, wide[:, ::2], np.asfortranarray(factors)) == expected


@pytest.mark.parametrize("name", NAMES)
@few
@given(
    seed=st.integers(0, 99),
    order=st.permutations(range(4)),
    signs=st.lists(st.sampled_from([-1, 1]), min_size=4, max_size=4),
)
def test_order_and_sign_of_latents_do_not_matter(name, seed, order, signs):
    codes, factors = sample(seed)
    turned = codes[:, order] * np.float32(signs)
    assert call(name, turned, factors) == close(name, call(name, codes, factors))


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99), order=st.permutations(range(2)), shift=st.integers(-5, 5))
def test_order_of_factors_and_names_of_classes_do_not_matter(name, seed, order, shift):
    codes, factors = sample(seed)
    if name in ("beta_vae", "factor_vae"):
        order = [0, 1]  # which factor a batch fixes is drawn by its place
    assert call(name, codes, factors[:, order] + shift) == close(name, call(name, codes, factors))


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99), power=st.integers(1, 6))
def test_scale_does_not_matter_where_the_docstring_does_not_say_so(name, seed, power):
    assert (name in SCALE_MATTERS) == ("their scale matters" in " ".join(module(name).__doc__.split()))
    if name in SCALE_MATTERS:
        return
    codes, factors = sample(seed)
    expected = call(name, codes, factors)
    expected.pop("gaussian_wasserstein", None)  # in squared units of the codes
    scaled = call(name, codes * np.float32(2**power), factors)
    assert {key: scaled[key] for key in expected} == close(name, expected)


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99), order=st.permutations(range(4)))
def test_perfect_codes_score_one(name, seed, order):
    if "ideal 1" not in module(name).__doc__:
        pytest.skip("the metric does not look at factors")
    factors = sample(seed)[1]
    if name == "sap":
        factors = np.minimum(factors, 1)  # thresholds tell values apart one from the rest if there are two
        factors = np.random.default_rng(seed).permutation(np.stack(np.divmod(np.arange(240) % 4, 2), 1))
    codes = np.hstack([4.0 * factors - 2, np.zeros_like(factors)])[:, order]
    expected = {
        "sap": 0.5,  # the gap to a guess of two
        "modularity_explicitness": 0.5,  # two idle latents, here and in the next two
        "mig_sup": 0.5,
        "minimality_sufficiency": 0.5,
        "omes": (3 / 4 * 1 / 2 + 5 / 6 * 2 / 3) / 2,  # pairs that differ in one of K values correlate by -1 / (K - 1)
    }.get(name, 1.0)
    assert main_score(name, codes, factors) == pytest.approx(expected, abs=TOLERANCE.get(name, 1e-6))


@pytest.mark.parametrize("name", sorted(AXES_MATTER))
@few
@given(seed=st.integers(0, 99), angle=st.floats(0.6, 0.95))
def test_turned_codes_score_lower(name, seed, angle):
    _, factors = sample(seed)
    codes = perfect(factors, seed) / np.float32(factors.std(axis=0))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert main_score(name, codes @ turn, factors) < main_score(name, codes, factors) - 0.05


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_a_copy_of_every_latent(name, seed):
    codes, factors = sample(seed)
    once, twice = call(name, codes, factors), call(name, np.hstack([codes, codes]), factors)
    if name in ("mig", "sap"):
        assert twice[name] == 0.0
    elif name == "unsupervised":
        assert twice["gaussian_total_correlation"] == math.inf
    elif name == "dci":
        assert twice["disentanglement"] == pytest.approx(once["disentanglement"], abs=0.03)
        assert twice["completeness"] <= once["completeness"] + 0.02
    elif name == "dci_es":
        assert twice["informativeness"] == pytest.approx(once["informativeness"], abs=0.05)
        assert twice["size"] == once["size"] / 2
    elif name == "edi":
        assert twice["modularity"] >= once["modularity"] - 1e-9
        assert twice["compactness"] < once["compactness"]
        assert twice["explicitness"] == pytest.approx(once["explicitness"], abs=1e-9)
    elif name.startswith("infomec"):
        assert twice["infoc"] < once["infoc"]
        assert twice["infom"] == pytest.approx(once["infom"], abs=1e-6)
        assert twice["infoe"] == pytest.approx(once["infoe"], abs=0.02)
    elif name == "jemmig":
        assert twice[name] < once[name]
    elif name == "mcc":
        assert all(twice[key] >= value - 1e-9 for key, value in once.items())
    elif name == "omes":
        assert twice["overlap"] == pytest.approx(once["overlap"], abs=1e-9)
    else:
        once.pop("active_latents", None)
        assert {key: twice[key] for key in once} == {
            key: pytest.approx(value, abs=TOLERANCE.get(name, 1e-6)) for key, value in once.items()
        }


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_a_latent_that_collapses_takes_its_factor_along(name, seed):
    if "ideal 1" not in module(name).__doc__:
        pytest.skip("the metric does not look at factors")
    _, factors = sample(seed)
    codes = perfect(factors, seed)
    collapsed = codes.copy()
    collapsed[:, 1] = 1e-3 * noise(factors, seed)[:, 1]
    assert main_score(name, collapsed, factors) <= main_score(name, codes, factors) + TOLERANCE.get(name, 1e-6)


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_the_main_score_tells_knowledge_from_noise(name, seed):
    if "ideal 1" not in module(name).__doc__:
        pytest.skip("the metric does not look at factors")
    if name in NOISE_PASSES:
        pytest.skip("noise may score high, as its docstring says and its own test holds")
    _, factors = sample(seed)
    train = len(factors) * 2 // 3

    def told(codes):
        if "codes_test" not in inspect.signature(module(name).score).parameters:
            return main_score(name, codes, factors)
        # held out for once: a forest knows its training part by heart
        scores = call(name, codes[:train], factors[:train], codes[train:], factors[train:])
        return next(iter(scores.values()))

    known, unknown = told(perfect(factors, seed)), told(noise(factors, seed))
    assert known > unknown + 0.2


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_a_constant_latent_adds_no_knowledge(name, seed):
    codes, factors = sample(seed)
    padded = np.hstack([codes, np.full((len(codes), 1), 0.1, np.float32)])
    before, after = main_score(name, codes, factors), main_score(name, padded, factors)
    assert after <= before + TOLERANCE.get(name, 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_constant_codes_score_no_better_than_chance(name):
    _, factors = sample(0)
    scores = call(name, np.full((len(factors), 3), 0.1, np.float32), factors)
    assert all(math.isfinite(value) for value in scores.values())
    assert next(iter(scores.values())) <= 0.5


@pytest.mark.parametrize("name", NAMES)
def test_a_single_latent_and_more_latents_than_samples(name):
    _, factors = sample(0)
    for codes in (perfect(factors)[:, :1], np.random.default_rng(0).normal(size=(len(factors), 260))):
        scores = call(name, codes, factors)
        assert not any(math.isnan(value) for value in scores.values())


@pytest.mark.parametrize("name", NAMES)
def test_classes_missing_from_either_part(name):
    codes, factors = sample(0)
    some = factors[:, 1] < 3
    for train, test in ((some, slice(None)), (slice(None), some)):
        scores = call(name, codes[train], factors[train], codes[test], factors[test])
        assert all(math.isfinite(value) for value in scores.values())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_codes_that_are_not_finite_are_refused(name, value):
    codes, factors = sample(0)
    codes[3, 1] = value
    with pytest.raises(InvalidInput, match=r"codes.*: expected finite numbers.* at row 3, column 1"):
        call(name, codes, factors)


@pytest.mark.parametrize("name", NAMES)
def test_transposed_codes_are_named(name):
    codes, factors = sample(0)
    with pytest.raises(InvalidInput, match=r"codes: .*transposed: pass codes\.T"):
        call(name, codes.T, factors)


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_factor_is_refused_or_dropped(name):
    if "constant_factors" not in inspect.signature(module(name).score).parameters:
        pytest.skip("the metric does not look at factors")
    codes, factors = sample(0)
    with_constant = np.insert(factors, 1, 7, axis=1)
    with pytest.raises(InvalidInput, match="factors: expected at least two values of each factor"):
        call(name, codes, with_constant)
    assert call(name, codes, with_constant, constant_factors="drop") == call(name, codes, factors)


@pytest.mark.parametrize("name", ["mig", "sap", "modularity_explicitness", "irs", "unsupervised"])
def test_many_rows_give_what_fewer_do(name):
    """200,000 here; benchmarks/many_rows.py runs a million and says what time and memory that takes."""
    codes, factors = sample(0, n=200_004)
    score = module(name).modularity if name == "modularity_explicitness" else module(name).score
    held_out = {"codes_test": codes[:5000], "factors_test": factors[:5000]} if name == "sap" else {}
    many, fewer = score(codes, factors, **held_out), score(codes[:20_000], factors[:20_000], **held_out)
    if isinstance(many, float):
        many, fewer = {name: many}, {name: fewer}
    tolerance = 0.05 if name == "sap" else 0.02  # its machines' penalty weighs less among more samples
    assert many == {key: pytest.approx(value, abs=tolerance, rel=0.02) for key, value in fewer.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_factor_with_many_classes(name):
    if name == "modularity_explicitness":
        pytest.skip("its 183 machines take too long here; its own test has a case")
    rng = np.random.default_rng(0)
    factors = np.stack([rng.permutation(np.arange(366) % 183), np.arange(366) % 2], axis=1)
    scores = call(name, perfect(factors), factors)
    assert not any(math.isnan(value) for value in scores.values())
