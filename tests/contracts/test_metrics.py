"""What every metric must do. A file in ``leaderboard/metrics`` is held to this before its author writes a test.

What a metric may do otherwise than most it says in its own ``PROPERTIES``, and is held to that.
"""

from __future__ import annotations

import importlib
import inspect
import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmark_data import InvalidInput, discovery
from leaderboard import properties
from leaderboard.properties import Properties

NAMES = discovery.names("leaderboard.metrics")

SIZES = (3, 4)
few = settings(max_examples=3, deadline=None, derandomize=True, phases=[Phase.generate])  # no shrinking


def module(name):
    return discovery.find("leaderboard.metrics", name, kind="metric")


def told(name) -> Properties:
    """Read what the metric says of itself; one that says nothing fails one test, the first below."""
    try:
        return properties.find(name)
    except InvalidInput as error:
        pytest.skip(str(error))


def call(name, codes, factors, codes_test=None, factors_test=None, **more):
    """Call a metric as the evaluator does: with held-out data where it asks for them."""
    score = module(name).score
    held_out = {}
    if "codes_test" in inspect.signature(score).parameters:
        held_out = {
            "codes_test": codes if codes_test is None else codes_test,
            "factors_test": factors if factors_test is None else factors_test,
        }
    return score(codes, factors, **held_out, **told(name).quick, **more)


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
    return {key: pytest.approx(value, abs=told(name).tolerance) for key, value in scores.items()}


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is(name):
    found = properties.find(name)
    assert found.asks.endswith("?"), "asks: expected a question"
    assert found.chance, "chance: expected what the score is by chance, in words"
    assert (module(name).__doc__ or "").strip(), "expected a module docstring: what is computed, and from which paper"
    for text in (found.numbering_matters, found.factor_order_matters, found.noise_scores):
        assert text == "" or len(text) > 20, "expected a reason, in words"


@pytest.mark.parametrize("name", NAMES)
def test_scores_that_it_names_are_scores_that_it_returns(name):
    found, returned = told(name), set(call(name, *sample(0)))
    copied = {} if isinstance(found.copied_latent, str) else found.copied_latent
    named = {*found.unbounded, *found.scale_dependent, *copied}
    assert named <= returned, f"PROPERTIES name {sorted(named - returned)}, score returns {sorted(returned)}"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_of_a_score_makes_it_up(name):
    metric = module(name)
    assert hasattr(metric, "parts") == hasattr(metric, "combine"), "expected both of parts and combine, or neither"
    if hasattr(metric, "combine"):
        codes, factors = sample(0)
        held_out = {"codes_test": codes, "factors_test": factors}
        more = held_out if "codes_test" in inspect.signature(metric.parts).parameters else {}
        assert metric.combine(metric.parts(codes, factors, **more)) == call(name, codes, factors)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_after_the_arrays_are_keywords(name):
    parameters = list(inspect.signature(module(name).score).parameters.values())
    assert [p.name for p in parameters[:2]] == ["codes", "factors"]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[2:])


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_python_floats_in_range(name):
    found = told(name)
    low, high = found.range
    for codes, factors in (sample(0), (perfect(sample(0)[1]), sample(0)[1]), (noise(sample(0)[1]), sample(0)[1])):
        scores = call(name, codes, factors)
        assert scores
        for key, value in scores.items():
            assert type(value) is float, key
            assert not math.isnan(value), key
            assert key in found.unbounded or low <= value <= high, f"{key} = {value} is not in {found.interval}"


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
@given(seed=st.integers(0, 99))
def test_order_of_factors_does_not_matter(name, seed):
    if told(name).factor_order_matters:
        pytest.skip(told(name).factor_order_matters)
    codes, factors = sample(seed)
    assert call(name, codes, factors[:, ::-1]) == close(name, call(name, codes, factors))


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_numbers_of_classes_do_not_matter(name, seed):
    """Class ids are names: which number a class has is not for a score to see."""
    if told(name).numbering_matters:
        pytest.skip(told(name).numbering_matters)
    codes, factors = sample(seed)
    renamed = np.random.default_rng(seed).permutation(19)[factors] - 5
    found, expected = call(name, codes, renamed), call(name, codes, factors)
    assert found == close(name, expected), (
        "other numbers for the same classes change the score; if they must, say why in PROPERTIES: numbering_matters"
    )


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99), power=st.integers(1, 6))
def test_scale_of_codes_does_not_matter(name, seed, power):
    codes, factors = sample(seed)
    expected, scaled = call(name, codes, factors), call(name, codes * np.float32(2**power), factors)
    kept = set(expected) - set(told(name).scale_dependent)
    assert {key: scaled[key] for key in kept} == close(name, {key: expected[key] for key in kept}), (
        "the scale of codes changes the score; if it must, name it in PROPERTIES: scale_dependent"
    )


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99), order=st.permutations(range(4)))
def test_perfect_codes_reach_the_ideal(name, seed, order):
    found = told(name)
    if not found.uses_factors:
        pytest.skip("the metric does not look at factors")
    factors = sample(seed)[1]
    if found.binary_factors:
        factors = np.random.default_rng(seed).permutation(np.stack(np.divmod(np.arange(240) % 4, 2), 1))
    codes = np.hstack([4.0 * factors - 2, np.zeros_like(factors)])[:, order]
    ideal = float(str(found.ideal).split()[0])
    expected = ideal * found.with_idle_latents
    assert main_score(name, codes, factors) == pytest.approx(expected, abs=found.tolerance)


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99), angle=st.floats(0.6, 0.95))
def test_turned_codes_score_lower(name, seed, angle):
    if not told(name).rotation_lowers:
        pytest.skip("a rotation need not lower the score")
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
    said, tolerance = told(name).copied_latent, told(name).tolerance
    for key, effect in (dict.fromkeys(once, said) if isinstance(said, str) else said).items():
        expected = {
            "same": pytest.approx(once[key], abs=tolerance),
            "zero": pytest.approx(0.0, abs=tolerance),
            "no higher": min(twice[key], once[key] + tolerance),
            "infinite": math.inf,
        }[effect]
        assert twice[key] == expected, f"PROPERTIES say of a copied latent: {key} {effect}"


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_a_latent_that_collapses_takes_its_factor_along(name, seed):
    if not told(name).uses_factors:
        pytest.skip("the metric does not look at factors")
    _, factors = sample(seed)
    codes = perfect(factors, seed)
    collapsed = codes.copy()
    collapsed[:, 1] = 1e-3 * noise(factors, seed)[:, 1]
    assert main_score(name, collapsed, factors) <= main_score(name, codes, factors) + told(name).tolerance


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_the_main_score_tells_knowledge_from_noise(name, seed):
    if not told(name).uses_factors:
        pytest.skip("the metric does not look at factors")
    if told(name).noise_scores:
        pytest.skip(told(name).noise_scores)
    _, factors = sample(seed)
    train = len(factors) * 2 // 3

    def score(codes):
        if "codes_test" not in inspect.signature(module(name).score).parameters:
            return main_score(name, codes, factors)
        # held out for once: a forest knows its training part by heart
        scores = call(name, codes[:train], factors[:train], codes[train:], factors[train:])
        return next(iter(scores.values()))

    known, unknown = score(perfect(factors, seed)), score(noise(factors, seed))
    assert known > unknown + 0.2


@pytest.mark.parametrize("name", NAMES)
def test_held_out_codes_that_are_noise_lower_a_score_and_none_of_training(name):
    if "codes_test" not in inspect.signature(module(name).score).parameters:
        pytest.skip("the metric takes no held-out rows")
    _, factors = sample(0)
    known, unknown = (
        call(name, perfect(factors), factors, held_out, factors) for held_out in (perfect(factors), noise(factors))
    )
    assert any(known[key] > unknown[key] + 0.2 for key in known)
    assert all(known[key] == unknown[key] for key in known if "train" in key)


@pytest.mark.parametrize("name", NAMES)
@few
@given(seed=st.integers(0, 99))
def test_a_constant_latent_adds_no_knowledge(name, seed):
    codes, factors = sample(seed)
    padded = np.hstack([codes, np.full((len(codes), 1), 0.1, np.float32)])
    before, after = main_score(name, codes, factors), main_score(name, padded, factors)
    assert after <= before + told(name).tolerance


@pytest.mark.parametrize("name", NAMES)
def test_constant_codes_score_no_better_than_chance(name):
    _, factors = sample(0)
    scores = call(name, np.full((len(factors), 3), 0.1, np.float32), factors)
    assert all(math.isfinite(value) for value in scores.values())
    assert next(iter(scores.values())) <= 0.5


@pytest.mark.parametrize("name", NAMES)
def test_a_single_latent_and_more_latents_than_samples(name):
    _, factors = sample(0, n=156)
    for codes in (perfect(factors)[:, :1], np.random.default_rng(0).normal(size=(len(factors), 160))):
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


DRAWN = [name for name in NAMES if "seed" in inspect.signature(module(name).score).parameters]


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, True, None])
def test_a_seed_that_is_none_is_refused(name, seed):
    with pytest.raises(InvalidInput, match=r"seed: expected an integer from 0 to 4294967295, received "):
        call(name, *sample(0), seed=seed)


@pytest.mark.parametrize("name", NAMES)
def test_transposed_codes_are_named(name):
    codes, factors = sample(0)
    with pytest.raises(InvalidInput, match=r"codes: .*transposed: pass codes\.T"):
        call(name, codes.T, factors)


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_factor_is_refused_or_dropped(name):
    if not told(name).uses_factors:
        pytest.skip("the metric does not look at factors")
    codes, factors = sample(0)
    with_constant = np.insert(factors, 1, 7, axis=1)
    with pytest.raises(InvalidInput, match="factors: expected at least two values of each factor"):
        call(name, codes, with_constant)
    if "constant_factors" not in inspect.signature(module(name).score).parameters:
        pytest.skip("the metric refuses constant factors and has no argument to drop them")
    assert call(name, codes, with_constant, constant_factors="drop") == call(name, codes, factors)


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_give_what_fewer_do(name):
    """200,000 here; benchmarks/many_rows.py runs a million and says what time and memory that takes."""
    found = told(name)
    if not found.many_rows:
        pytest.skip("the metric takes minutes for 200,000 rows")
    codes, factors = sample(0, n=200_004)
    held_out = codes[:5000], factors[:5000]
    many, fewer = call(name, codes, factors, *held_out), call(name, codes[:20_000], factors[:20_000], *held_out)
    near = {key: pytest.approx(value, abs=found.many_rows_tolerance, rel=0.02) for key, value in fewer.items()}
    assert many == near


@pytest.mark.parametrize("name", NAMES)
def test_a_factor_with_many_classes(name):
    if not told(name).many_classes:
        pytest.skip("183 classes take too long here")
    rng = np.random.default_rng(0)
    factors = np.stack([rng.permutation(np.arange(366) % 183), np.arange(366) % 2], axis=1)
    scores = call(name, perfect(factors), factors)
    assert not any(math.isnan(value) for value in scores.values())


@pytest.mark.filterwarnings("ignore::leaderboard.arrays.LostSpread")
def test_factor_vae_says_that_small_latents_have_no_vote():
    """Its page said that multiplying codes by a number does not matter."""
    factors = np.stack(np.meshgrid(range(4), range(5), indexing="ij"), -1).reshape(-1, 2).repeat(5, axis=0)
    score = importlib.import_module("leaderboard.metrics.factor_vae").score
    scores = [score(z, factors, codes_test=z, factors_test=factors)["factor_vae"] for z in (factors, factors * 1e-3)]
    assert scores[0] > scores[1] == 0
    assert told("factor_vae").scale_matters
