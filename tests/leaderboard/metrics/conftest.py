"""The reference implementation's own values, and the arrays that they belong to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "metric_cases.json").read_text())["cases"]
"""Computed with disentanglement_lib's metric code (commit 86a644d), scikit-learn 1.9.1 and numpy 2.4.6."""


def make_codes(case):
    """Make a case's arrays: codes and factors of the training part, then of the test part."""
    rng = np.random.default_rng(case["seed"])
    sizes = np.array(case["factor_sizes"])
    f, latents, n = len(sizes), case["n_latents"], case["n_train"] + case["n_test"]
    factors = np.stack([rng.integers(0, size, size=n) for size in sizes], axis=1)
    z = (factors - (sizes - 1) / 2) / np.maximum((sizes - 1) / 2, 1)
    noise = rng.normal(size=(n, latents))
    if case["kind"] == "aligned":  # one latent for each factor
        codes = 0.05 * noise
        codes[:, :f] += z
    elif case["kind"] == "rotated":  # the same under a random rotation
        rotation, _ = np.linalg.qr(rng.normal(size=(latents, latents)))
        codes = np.hstack([z, np.zeros((n, latents - f))]) @ rotation + 0.05 * noise
    elif case["kind"] == "warped":  # sparsely mixed and squashed
        weights = rng.normal(size=(f, latents)) * (rng.random((f, latents)) < 0.4)
        codes = np.tanh(z @ weights) + 0.1 * noise
    elif case["kind"] == "noise":
        codes = noise
    else:  # collapsed: half of the factors, the other latents shut down
        codes = 1e-3 * noise
        codes[:, : f // 2] += z[:, : f // 2] + 0.1 * noise[:, : f // 2]
    codes, split = codes.astype(np.float32), case["n_train"]
    assert abs(codes[:split].sum(dtype=np.float64) - case["expected"]["codes_sum"]) < 1e-4
    assert factors[:split].sum() == case["expected"]["factors_sum"]
    return codes[:split], factors[:split], codes[split:], factors[split:]


@pytest.fixture(params=CASES, ids=lambda case: case["name"])
def reference(request):
    """Expected values and arrays of each case."""
    return request.param["expected"], *make_codes(request.param)


_SINCE_2020 = json.loads((Path(__file__).parents[2] / "fixtures" / "metrics_since_2020.json").read_text())
"""Values of the authors' own code; each source names repository and commit. Computed with the versions named there."""


@pytest.fixture
def recorded():
    """Return a function that yields the cases of a source in the fixture."""
    return _recorded


def _recorded(source):
    """Yield name, expected values, and codes and factors of both parts, for each case of a source in the fixture."""
    cases = {case["name"]: case for case in CASES}
    assert len(_SINCE_2020[source]["cases"]) >= 3
    for name, expected in _SINCE_2020[source]["cases"].items():
        yield name, expected, make_codes(cases[name]) if name in cases else None
