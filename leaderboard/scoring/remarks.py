"""Remarks on a submission: methods without a rank, scores for a reviewer to check. Internal."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard import protocol
from leaderboard.scoring import verification
from leaderboard.scoring.candidates import Candidate
from leaderboard.store import results
from leaderboard.store.results import Result


def unranked(candidates: Sequence[Candidate], published: Sequence[Result] = (), *, tier: str) -> list[str]:
    """Say for each task whether a method will be ranked, as far as that is known before its scores are verified.

    Args:
        candidates: its runs, checked.
        published: results on the board; their seeds of the same name, task and tier count, too.
        tier: the tier of the protocol to score in.

    Returns:
        Sentences: for each task and method the reasons against a rank, or that it will be ranked once verified;
        and notes on names that are taken and on budgets of 0 steps.
    """
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault((candidate.task.id, candidate.record.method), []).append(candidate)
    on_board = {(result.task, result.method): result for result in published}
    sentences = []
    for (task, method), group in sorted(groups.items()):
        earlier = on_board.get((task, method))
        if earlier and earlier.title != group[0].about.title:
            sentences.append(
                f"{task}: {method} is {earlier.title!r} on the board. If yours is another method, rename it."
            )
        seeds = {member.record.seed for member in group} | {
            run.seed for run in (earlier.runs_in(tier) if earlier else ())
        }
        lacking = sorted(member.record.seed for member in group if member.encoder is None)
        reasons = []
        if group[0].record.supervision == "reference":
            reasons = ["references are never ranked"]
        else:
            if len(seeds) < protocol.SEEDS:
                reasons.append(f"it has {len(seeds)} of {protocol.SEEDS} seeds")
            if not verification.may_be_verified(group[0].task):
                reasons.append("too few rows are left to verify an encoder")
            elif lacking:
                numbers = ", ".join(map(str, lacking))
                reasons.append(f"no ONNX encoder to verify seed{'s' * (len(lacking) > 1)} {numbers}")
        untrained = not any(member.record.budget.steps for member in group)
        if untrained and group[0].record.supervision not in ("reference", "pretrained"):
            sentences.append(f"{task}: {method} has budgets of 0 steps. If it was trained, fill in its steps.")
        outlook = (
            f"will not be ranked: {'; '.join(reasons)}" if reasons else "will be ranked once its encoders are verified"
        )
        sentences.append(f"{task}: {method} {outlook}.")
    return sentences


def outliers(scored: Sequence[Result], published: Sequence[Result]) -> list[str]:
    """Describe unusual scores for a reviewer, by comparison with untrained baselines on the same task and tier.

    Args:
        scored: results of a submission.
        published: results on the board.

    Returns:
        One sentence for each score of a table that is above that of the ground-truth factors or below that of the
        random encoder, each claim that differs by more than ``results.DRIFT``, and each mark.
    """
    sentences = []
    on_board = {(result.task, result.method): result for result in published}
    for result in scored:
        for tier, summaries in result.summary.items():
            for key in [key for key in protocol.COLUMNS if key in summaries]:
                summary = summaries[key]
                for reference, sign, word in (("ground_truth", 1, "above"), ("random_encoder", -1, "below")):
                    reference_result = on_board.get((result.task, reference))
                    reference_summary = reference_result.summary.get(tier, {}).get(key) if reference_result else None
                    if reference_summary and sign * (summary.mean - reference_summary.mean) > results.DRIFT:
                        sentences.append(
                            f"{result.task}: {key} {summary.mean:.3f} is {word} that of {reference}, "
                            f"{reference_summary.mean:.3f}."
                        )
        for run in result.runs:
            sentences += [f"{result.task}: seed {run.seed} is flagged: {mark}." for mark in run.marks]
            for key, claim in run.claimed.items():
                recomputed = run.scores[key]
                if abs(claim - recomputed) > results.DRIFT:
                    sentences.append(
                        f"{result.task}: {key} of seed {run.seed} was claimed as {claim:.3f} and is {recomputed:.3f}."
                    )
    return sentences
