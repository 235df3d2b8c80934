"""The scores of a submission and of run folders, as `offaxis board score` computes them."""

from leaderboard.scoring import candidates, submission


def score(folder, *, published=(), fresh=""):
    """Return a result for each task, or raise the first problem."""
    checked = submission.check(folder, published=published)
    if checked.problems:
        raise checked.problems[0]
    groups = candidates.grouped(checked.candidates, checked.submission.tier)
    return [candidates.score_group(group, fresh)[0] for group in groups]


def score_runs(folders, *, tier="desk", method="", status="recomputed", fresh=""):
    """Yield a result for each task and method, or raise the first problem before any is scored."""
    runs = [candidates.load(folder).renamed(method) for folder in folders]
    for group in candidates.grouped(runs, tier, status=status):
        yield candidates.score_group(group, fresh)[0]
