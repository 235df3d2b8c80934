"""The scores of a submission, as `offaxis board score` computes them."""

from leaderboard.scoring import candidates, submission


def score(folder, *, published=(), fresh=""):
    """Return a result for each task, or raise the first problem."""
    checked = submission.check(folder, published=published)
    if checked.problems:
        raise checked.problems[0]
    groups = candidates.grouped(checked.candidates, checked.submission.tier)
    return [candidates.score_group(group, fresh)[0] for group in groups]
