"""Is a score that of an encoder of pixels? We encode images that nobody could choose beforehand, and score those codes.

Codes can be made of labels, or come from a program that knows the task's rows, which are public. So an encoder in ONNX
(`leaderboard.reading.encoders`) encodes *fresh rows*: drawn from all rows of the dataset that the task does not have,
by a text that is made up when the encoder cannot be changed any more, and published with the result. A run is verified
if three things hold (version ``fresh_rows@v2``):

1. The encoder gives the codes that were handed in. On 512 rows of the task, drawn by the text, the root mean square of
   the difference is at most 2% of each number's spread, which counts as at least a hundredth of the greatest one.
2. It encodes each image by itself: the same rows in another order, and so in other batches, get the same codes.
3. Each score of the fresh rows agrees with that of the task's rows within the sampling error. Six disjoint blocks of
   either, drawn by the text, each a tenth of the task, are scored alike. Block scores of the same distribution differ
   by chance alone, and the difference of their two means must lie within Student's t interval (10 degrees of freedom,
   pooled variance) at an error of 0.001 for all scores of the run together (Bonferroni), to which 0.001 is added, since
   a score without any spread has no interval.

So of a thousand honest runs one is refused; another text may be drawn then, and both are published.

Version 1 took the task's first rows for its blocks. Whoever knew that could hand in other codes for the rest, beside a
latent of great scale, which makes the tolerance of the others wide.

Internal.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput
from benchmark_data.factors import Indices
from benchmark_data.variants.splitting import Divided, rows_digest
from leaderboard import protocol
from leaderboard.reading import encoders, units
from leaderboard.scoring import measure
from leaderboard.store import results

VERSION: results.VerifiedBy = "fresh_rows@v2"

BLOCKS = 6
"""Blocks of rows whose scores are compared, of the task's rows and of fresh ones."""

SHARE = 10
"""A block has a row for every so many rows of the task: a tenth of them."""

MIN_BLOCK_ROWS = 120
"""Rows that a block must have, a third of them or more of either part, for its scores to mean anything."""

CHECKED_ROWS = 512
"""Rows of the task whose codes are compared one by one."""

DEVIATION = 0.02
"""How far codes may be from the encoder's, in parts of their spread: other machines round in other ways."""

ERROR = 0.001
"""How often an honest run is refused."""


class Disagreement(InvalidInput):
    """The encoder does not give what was handed in."""


def verify(
    encoder: str | os.PathLike[str],
    codes: NDArray[Any],
    task: protocol.Task,
    tier: protocol.Tier,
    *,
    seed: str,
) -> results.Verification:
    """Verify codes by their encoder.

    Args:
        encoder: its file, ``encoder.onnx``.
        codes: of the task's rows in their order, as they were handed in: (n, L), or (n, L, d).
        task: the task.
        tier: whose metrics are compared.
        seed: text to draw rows by, of 1 to 200 characters.

    Returns:
        How it was verified.

    Raises:
        Disagreement: the encoder gives other codes, other codes in another batch, or other scores on fresh rows.
        InvalidInput: there are too few fresh rows; or what ``leaderboard.reading.encoders.OnnxEncoder`` refuses.
        DamagedFile: as ``leaderboard.reading.encoders.OnnxEncoder``.
        MissingExtra: as ``leaderboard.reading.encoders.OnnxEncoder``.
    """
    with encoders.OnnxEncoder(encoder) as onnx_encoder:
        deviation = _code_deviation(onnx_encoder, codes, task, seed)
        compared, rows = _compare_scores(onnx_encoder, codes, task, tier, seed)
    return results.Verification(
        version=VERSION,
        seed=seed,
        encoder_digest=onnx_encoder.digest,
        rows=len(rows),
        rows_digest=rows_digest(rows),
        deviation=round(deviation, 6),
        scores=compared,
        date=datetime.datetime.now(datetime.UTC).date(),
        verified_with=measure.versions(("offaxis", "numpy", "onnx", "onnxruntime", "scikit-learn")),
    )


def check_codes(encoder: str | os.PathLike[str], codes: NDArray[Any], task: protocol.Task) -> None:
    """Raise as `verify` where codes, on some of the task's rows, are not those of their encoder."""
    with encoders.OnnxEncoder(encoder) as onnx_encoder:
        _code_deviation(onnx_encoder, codes, task, "submit")


def _compare_scores(
    onnx_encoder: encoders.OnnxEncoder, codes: NDArray[Any], task: protocol.Task, tier: protocol.Tier, seed: str
) -> tuple[dict[str, results.Compared], Indices]:
    """Compare the scores of a task's codes with those that an encoder's codes of fresh rows have.

    Returns score -> what was compared, and the fresh rows. For the arguments and what is raised see `verify`.
    """
    train, test = fresh_rows(task, seed)
    dataset, rows = task.load(), np.concatenate([train.ravel(), test.ravel()])
    fresh_codes = onnx_encoder.encode(dataset, rows)
    if fresh_codes.shape[1:] != codes.shape[1:]:
        raise Disagreement(
            f"{onnx_encoder.path}: expected codes of shape {codes.shape[1:]}, as on the task's rows, received shape "
            f"{fresh_codes.shape[1:]}. Export an encoder whose output has one shape, whatever the images."
        )
    task_latents = units.reduce(codes, train=len(task.train))
    fresh_latents = units.reduce(fresh_codes, train=len(task.train), fit=codes)
    fresh_labels = protocol.labels(dataset, rows, task.scored)
    train_size, test_size = train.shape[1], test.shape[1]
    train_positions = _draw_positions(task, "train block", seed, len(task.train), train.size)
    test_positions = len(task.train) + _draw_positions(task, "test block", seed, len(task.test), test.size)
    task_scores, fresh_scores = [], []
    for block in range(BLOCKS):
        # Positions of its train rows, and of its test rows, which come after all train rows.
        in_block = np.concatenate(
            [np.arange(train_size) + block * train_size, train.size + np.arange(test_size) + block * test_size]
        )
        drawn = np.concatenate([train_positions, test_positions])[in_block]
        task_scores.append(_score_block(task_latents[drawn], task.labels()[drawn], task, tier, train_size, test_size))
        fresh_scores.append(
            _score_block(fresh_latents[in_block], fresh_labels[in_block], task, tier, train_size, test_size)
        )
    compared = compare(task_scores, fresh_scores)
    for key, comparison in compared.items():
        if not abs(comparison.codes - comparison.fresh) <= comparison.margin:
            raise Disagreement(
                f"{onnx_encoder.path}: expected {key} of {comparison.codes:.4f} on fresh rows, as on the task's, "
                f"within {comparison.margin:.4f}, received {comparison.fresh:.4f}. One honest run in {1 / ERROR:,.0f} "
                "fails by chance: verify it again, by another text. If it fails again, it encodes the task's rows "
                "unlike others: train one that does not know them."
            )
    return compared, rows


def fresh_rows(task: protocol.Task, seed: str) -> tuple[Indices, Indices]:
    """Draw rows that are not the task's.

    Args:
        task: the task.
        seed: text to draw by. The rows are the first of a shuffle (`benchmark_data.draws`) whose number is the first
            eight bytes, big-endian, of SHA-256 of ``offaxis:<task>:fresh:<seed>``.

    Returns:
        Train rows, int64 (blocks, rows of a block), and test rows likewise; no row is in both, or in the task. Of a
        divided dataset they are rows of either part.

    Raises:
        InvalidInput: an empty seed, or fewer fresh rows than `MIN_BLOCK_ROWS` for each block, or than a third of it of
            either part.
    """
    if not 1 <= len(seed) <= 200 or not seed.isprintable():
        raise InvalidInput(
            f"seed of the fresh rows: expected a text of 1 to 200 printable characters, received {seed[:80]!r}."
        )
    dataset = task.load()
    shuffle_seed = protocol.seed(f"{task.id}:fresh:{seed}")
    wanted_sizes = [len(part) // SHARE for part in (task.train, task.test)]
    most_rows = BLOCKS * sum(wanted_sizes)
    if isinstance(dataset.source, Divided):
        parts = [dataset.splits[name] for name in ("train", "test")]
        unused = [_draw_unused(shuffle_seed, part.start + np.arange(len(part)), task, most_rows) for part in parts]
        sizes = [min(size, len(rows) // BLOCKS) for size, rows in zip(wanted_sizes, unused, strict=True)]
    else:
        rows = _draw_unused(shuffle_seed, np.arange(len(dataset)), task, most_rows)
        block_size = min(sum(wanted_sizes), len(rows) // BLOCKS)
        sizes = [block_size * wanted_sizes[0] // max(1, sum(wanted_sizes)), 0]
        sizes[1] = block_size - sizes[0]
        unused = [rows, rows[BLOCKS * sizes[0] :]]
    if min(sum(sizes), *(3 * size for size in sizes)) < MIN_BLOCK_ROWS:
        raise InvalidInput(
            f"fresh rows of {task.id}: expected {BLOCKS * MIN_BLOCK_ROWS} rows that the task does not have, a third of "
            f"them in either part, received {BLOCKS * sizes[0]} train and {BLOCKS * sizes[1]} test rows. Scores on "
            "this dataset cannot be verified."
        )
    train, test = (rows[: BLOCKS * size].reshape(BLOCKS, size) for rows, size in zip(unused, sizes, strict=True))
    return train, test


def may_be_verified(task: protocol.Task) -> bool:
    """Return whether a task leaves enough rows of its dataset to verify an encoder on.

    Example:
        >>> may_be_verified(protocol.task("dsprites")), may_be_verified(protocol.task("dsprites_spaced/spacing_8"))
        (True, False)
    """
    try:
        fresh_rows(task, "any")
    except InvalidInput:
        return False
    return True


@functools.lru_cache(maxsize=64)
def fresh_rows_digest(task: protocol.Task, seed: str) -> tuple[int, str]:
    """Return how many fresh rows a text draws, and their digest, for anyone who checks a record.

    Args:
        task: the task.
        seed: text to draw by.

    Returns:
        The number of rows, and SHA-256 of them as little-endian int64, train rows first.

    Raises:
        InvalidInput: as ``fresh_rows``.
    """
    rows = np.concatenate([part.ravel() for part in fresh_rows(task, seed)])
    return len(rows), rows_digest(rows)


def compare(
    first: Sequence[dict[str, float]], second: Sequence[dict[str, float]], *, error: float = ERROR
) -> dict[str, results.Compared]:
    """Compare scores of two sets of blocks.

    Args:
        first: score -> value, of each block.
        second: likewise, as many.
        error: how often any score of the same distribution is taken for another.

    Returns:
        Score -> the two means, and how far apart they may be: Student's t interval of the difference of two means with
        pooled variance, at ``error`` divided by the number of scores, plus 0.001.
    """
    blocks, compared = len(first), {}
    quantile = scipy.special.stdtrit(2 * blocks - 2, 1 - error / (2 * len(first[0])))  # over all scores (Bonferroni)
    for key in first[0]:
        a, b = (np.array([block[key] for block in side]) for side in (first, second))
        standard_error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / blocks)
        compared[key] = results.Compared(
            codes=round(float(a.mean()), 6),
            fresh=round(float(b.mean()), 6),
            margin=round(float(quantile * standard_error + results.DRIFT), 6),
        )
    return compared


def _code_deviation(onnx_encoder: encoders.OnnxEncoder, codes: NDArray[Any], task: protocol.Task, seed: str) -> float:
    """Compare an encoder's codes of some of the task's rows with those that were handed in."""
    positions = _draw_positions(task, "checked", seed, len(task.indices), CHECKED_ROWS)
    dataset, rows = task.load(), task.indices[positions]
    encoded = onnx_encoder.encode(dataset, rows).astype(np.float64)
    submitted = codes[positions].astype(np.float64)
    if encoded.shape != submitted.shape:
        raise _other_codes_error(
            onnx_encoder.path, f"codes of shape {submitted.shape[1:]}, as handed in", f"shape {encoded.shape[1:]}"
        )
    order = np.argsort(rows)
    reencoded = np.empty_like(encoded)
    reencoded[order] = onnx_encoder.encode(dataset, rows[order])
    spread = submitted.std(axis=0)
    spread = np.maximum(spread, 0.01 * spread.max() + 1e-12)
    batch_deviation = float((np.sqrt(((reencoded - encoded) ** 2).mean(axis=0)) / spread).max())
    if batch_deviation > DEVIATION:
        raise Disagreement(
            f"{onnx_encoder.path}: expected the same codes of an image in any batch, received codes that differ by "
            f"{batch_deviation:.1%}. Export it in inference mode: batch normalisation and dropout then take nothing "
            "from the batch."
        )
    deviation = float((np.sqrt(((submitted - encoded) ** 2).mean(axis=0)) / spread).max())
    if deviation > DEVIATION:
        raise _other_codes_error(
            onnx_encoder.path,
            f"the submitted codes, within {DEVIATION:.0%} of their spread",
            f"codes that differ by {deviation:.1%}",
        )
    return deviation


def _draw_positions(task: protocol.Task, what: str, seed: str, total: int, count: int) -> Indices:
    """Draw so many of so many positions by a text."""
    return draws.sample(protocol.seed(f"{task.id}:{what}:{seed}"), total, count)


def _draw_unused(shuffle_seed: int, rows: Indices, task: protocol.Task, count: int) -> Indices:
    """Shuffle rows, leave out the task's, and return the first of them: all, or at least so many."""
    shuffled = rows[draws.sample(shuffle_seed, len(rows), count + len(task.indices))]
    return shuffled[~np.isin(shuffled, task.indices)]


def _score_block(
    codes: NDArray[Any], factors: Indices, task: protocol.Task, tier: protocol.Tier, train_size: int, test_size: int
) -> dict[str, float]:
    """Score a block: each metric gets as large a part of it as it gets of the task."""
    measurements = [
        dataclasses.replace(
            m, train=m.train * train_size // max(1, len(task.train)), test=m.test * test_size // max(1, len(task.test))
        )
        for m in tier.measurements
    ]
    return measure.score_codes(codes.astype(np.float32), factors, measurements, train=train_size).scores


def _other_codes_error(encoder: object, expected: str, received: str) -> Disagreement:
    return Disagreement(
        f"{encoder}: expected {expected}, received {received}. Hand in the codes that this encoder gives (in a "
        "submission, remove its .npz and call offaxis board submit), or the encoder that gave these."
    )
