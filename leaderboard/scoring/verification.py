"""Verify that scores are those of an encoder of pixels: run it on images drawn after submission, and score those codes.

Submitted codes could be computed from labels, or by a program that recognises the task's rows, which are public. So an
encoder in ONNX (`leaderboard.reading.encoders`) encodes *fresh rows*: drawn from the dataset's rows outside the task by
a seed, a text that is chosen after the encoder is fixed and published with the result. A run is verified if three
conditions hold (version ``fresh_rows@v2``):

1. The encoder returns the submitted codes. On 512 rows of the task, drawn by the seed, the root mean square of the
   difference is at most 2% of each latent's spread, or of a hundredth of the largest spread if that is more.
2. It encodes each image independently: the same rows in another order, and so in other batches, have the same codes.
3. Each score of the fresh rows agrees with that of the task's rows within the sampling error. Six disjoint blocks of
   each, drawn by the seed, a tenth of the task in size, are scored. If they have one distribution, block scores differ
   by chance alone: the difference of the two means must lie within Student's t interval (10 degrees of freedom, pooled
   variance) at an error of 0.001 for all scores of the run together (Bonferroni), to which 0.001 is added, since a
   score without any spread has no interval.

So one of a thousand honest runs is refused; it may be verified again with another seed.

Version 1 used the task's first rows as blocks. Knowing that, one could submit other codes for the rest, and a latent of
large scale to widen the tolerance of the others.

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
"""The number of blocks of the task's rows, and of fresh rows, whose scores are compared."""

SHARE = 10
"""A block has one row for this many rows of the task."""

MIN_BLOCK_ROWS = 120
"""The fewest rows of a block, at least a third of them train and a third test rows, for its scores to be meaningful."""

CHECKED_ROWS = 512
"""The number of the task's rows whose submitted codes are compared with the encoder's."""

DEVIATION = 0.02
"""The largest deviation of codes from the encoder's, as a share of their spread: machines differ in rounding."""

ERROR = 0.001
"""The rate at which honest runs are refused."""


class Disagreement(InvalidInput):
    """The encoder returns other codes than were submitted, or its codes of fresh rows have other scores."""


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
        codes: the submitted codes of the task's rows, in their order: (n, L), or (n, L, d).
        task: the task.
        tier: the tier whose metrics are compared.
        seed: the seed of the draws, a text of 1 to 200 printable characters.

    Returns:
        The record of the verification.

    Raises:
        Disagreement: the encoder returns other codes, other codes in another batch, or codes with other scores on fresh
            rows.
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
    """Check on some of the task's rows that codes are those of their encoder; raises like `verify` otherwise."""
    with encoders.OnnxEncoder(encoder) as onnx_encoder:
        _code_deviation(onnx_encoder, codes, task, "submit")


def _compare_scores(
    onnx_encoder: encoders.OnnxEncoder, codes: NDArray[Any], task: protocol.Task, tier: protocol.Tier, seed: str
) -> tuple[dict[str, results.Compared], Indices]:
    """Compare the scores of submitted codes with those of the encoder's codes of fresh rows.

    Returns score -> comparison, and the fresh rows. For the arguments and errors see `verify`.
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
                "fails by chance: verify it again with another --seed. If it fails again, it encodes the task's rows "
                "differently from other rows: train one that does not depend on which rows are scored."
            )
    return compared, rows


def fresh_rows(task: protocol.Task, seed: str) -> tuple[Indices, Indices]:
    """Draw rows that are not the task's.

    Args:
        task: the task.
        seed: a text. The rows are the first of a shuffle (`benchmark_data.draws`) whose number is the first eight
            bytes, big-endian, of SHA-256 of ``offaxis:<task>:fresh:<seed>``.

    Returns:
        Train rows, int64 (blocks, rows of a block), and test rows likewise; no row is in both, or in the task. In a
        divided dataset they are rows of its parts ``train`` and ``test``.

    Raises:
        InvalidInput: a malformed seed, or blocks of fewer fresh rows than `MIN_BLOCK_ROWS`, or than a third of it in
            train or test rows.
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
            f"fresh rows of {task.id}: expected {BLOCKS * MIN_BLOCK_ROWS} rows outside the task, a third of them in "
            f"each part, received {BLOCKS * sizes[0]} train and {BLOCKS * sizes[1]} test rows. Scores on this dataset "
            "cannot be verified."
        )
    train, test = (rows[: BLOCKS * size].reshape(BLOCKS, size) for rows, size in zip(unused, sizes, strict=True))
    return train, test


def may_be_verified(task: protocol.Task) -> bool:
    """Return whether a dataset has enough rows outside the task to verify an encoder.

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
    """Return the number of fresh rows and their digest, to check the record of a verification.

    Args:
        task: the task.
        seed: as in ``fresh_rows``.

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
        first: score -> value, for each block.
        second: likewise, for the same number of blocks.
        error: the probability that any score of equal distributions lies outside its margin.

    Returns:
        Score -> the two means, and the margin of their difference: the half-width of Student's t interval with pooled
        variance, at ``error`` divided by the number of scores, plus 0.001.
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
    """Return the deviation of submitted codes from the encoder's on some of the task's rows; refuse if too large."""
    positions = _draw_positions(task, "checked", seed, len(task.indices), CHECKED_ROWS)
    dataset, rows = task.load(), task.indices[positions]
    encoded = onnx_encoder.encode(dataset, rows).astype(np.float64)
    submitted = codes[positions].astype(np.float64)
    if encoded.shape != submitted.shape:
        raise _other_codes_error(
            onnx_encoder.path, f"codes of shape {submitted.shape[1:]}, as submitted", f"shape {encoded.shape[1:]}"
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
            f"{batch_deviation:.1%}. Export it in inference mode: codes must not depend on the rest of the batch."
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
    """Draw ``count`` of ``total`` positions by a seed."""
    return draws.sample(protocol.seed(f"{task.id}:{what}:{seed}"), total, count)


def _draw_unused(shuffle_seed: int, rows: Indices, task: protocol.Task, count: int) -> Indices:
    """Shuffle rows, leave out the task's, and return at least the first ``count``, or all if there are fewer."""
    shuffled = rows[draws.sample(shuffle_seed, len(rows), count + len(task.indices))]
    return shuffled[~np.isin(shuffled, task.indices)]


def _score_block(
    codes: NDArray[Any], factors: Indices, task: protocol.Task, tier: protocol.Tier, train_size: int, test_size: int
) -> dict[str, float]:
    """Score a block: each metric is computed on the same share of rows as of the task."""
    measurements = [
        dataclasses.replace(
            m, train=m.train * train_size // max(1, len(task.train)), test=m.test * test_size // max(1, len(task.test))
        )
        for m in tier.measurements
    ]
    return measure.score_codes(codes.astype(np.float32), factors, measurements, train=train_size).scores


def _other_codes_error(encoder: object, expected: str, received: str) -> Disagreement:
    return Disagreement(
        f"{encoder}: expected {expected}, received {received}. Submit the codes of this encoder (in a "
        "submission, remove its .npz and call offaxis board submit), or the encoder of these codes."
    )
