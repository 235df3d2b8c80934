from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from baselines.nets.backend import ops
from baselines.objectives.vicreg import OBJECTIVE

CASE = json.loads((Path(__file__).parents[2] / "fixtures" / "beyond_pixels.json").read_text())["vicreg"]


def test_loss_and_gradients_are_those_of_the_authors_code(make_batch, check_reference):
    def loss(first, second):
        batch = make_batch(np.zeros((2, 1)), np.zeros((2, 1)), call=lambda name, codes: codes)
        batch = type(batch)(**{**vars(batch), "codes": ops.concatenate([first, second])})
        return sum(term.weight * term.value for term in OBJECTIVE().terms(batch).values())

    check_reference(loss, CASE, CASE["first"], CASE["second"])
