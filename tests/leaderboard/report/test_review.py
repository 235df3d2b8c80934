"""Reviews of submissions, and the workflows that ask for them."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmark_data.errors import DamagedFile
from leaderboard.report import review
from leaderboard.scoring import candidates, submission
from leaderboard.store import results_tree

pytestmark = pytest.mark.usefixtures("one_tier", "toys")

WORKFLOWS = Path(__file__).parents[3] / ".github" / "workflows"


@pytest.fixture
def submissions(toys, tmp_path):
    """A folder with one good submission whose author means harm by its texts, and one that is empty."""
    file = submission.init(tmp_path / "submissions" / "my_vae", "my_vae", ["toy/small"], tier="smoke", seeds=1)
    rows = np.load(file.parent / "toy/small/rows.npy")
    labels = toys["toy/small"].labels(rows)
    codes = labels + np.random.default_rng(0).standard_normal(labels.shape)
    np.savez(file.parent / "toy/small/seed_0.npz", indices=rows, codes=codes.astype(np.float32))
    content = json.loads(file.read_text("utf-8"))
    content["about"] |= {"title": "<img src=x> @someone [a](b)", "authors": "A", "license": "MIT"}
    content["supervision"] = "unsupervised"
    content["tasks"]["toy/small"]["seeds"][0] |= {
        "budget": {"steps": 1, "images": 64, "seconds": 1.0, "device": "1 core"},
        "claimed": {"mig": 0.99},
    }
    file.write_text(json.dumps(content), "utf-8")
    (file.parents[1] / "other").mkdir()
    return file.parents[1]


def test_a_report_has_scores_beside_references_and_what_to_look_at(submissions, run_folder):
    published = list(candidates.results_of([run_folder("pca", noise=1.0), run_folder("beta_vae")]))
    text, valid = review.report(submissions / "my_vae", published)
    assert valid
    assert "### toy/small@v1" in text
    assert "- **Rank:** toy/small@v1: my\\_vae will not be ranked: it has 1 of 5 seeds; the task leaves too few" in text
    assert "| pca |" in text
    assert "VAE |" not in text.replace("| pca |", ""), "only references stand beside it"
    assert "**Warning:** toy/small@v1: mig of seed 0 was claimed as 0.990" in text
    assert "<img" not in text
    assert not re.search(r"(?<!\w)@someone", text)
    assert "[a](b)" not in text


def test_a_report_lists_what_is_wrong_and_goes_on(submissions):
    text, valid = review.report(submissions, [])
    assert not valid
    assert "## my\\_vae\n\nValid." in text
    assert "## other\n\nNot valid: 1 problem. Nothing was scored.\n\n- other/submission.json: expected" in text


def test_a_report_is_printable(submissions):
    (submissions / "mine\x1b[2J\u202e").mkdir()
    text, _ = review.report(submissions, [])
    assert all(line.isprintable() for line in text.splitlines())
    assert "x1b" in text


def test_a_report_fits_into_a_comment(submissions):
    for number in range(1_500):
        (submissions / "other" / f"stray_{number}_{'x' * 60}").touch()
    shutil.copy(submissions / "my_vae" / "submission.json", submissions / "other")
    text, _ = review.report(submissions, [])
    assert len(text) < 65_000
    assert "it is too long for a comment" in text


def test_folders_that_hold_no_submissions(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(DamagedFile, match="expected 1 to 50 submissions, each in a folder, received 0 folders"):
        review.report(tmp_path / "empty", [])
    for name in ("absent", "link"):
        with pytest.raises(DamagedFile, match="expected a folder of submissions"):
            review.report(tmp_path / name, [])


def workflow(name):
    content = yaml.safe_load((WORKFLOWS / name).read_text("utf-8"))
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    return content, content[True], steps  # YAML 1.1 reads the key `on` as true


@pytest.mark.parametrize("name", [path.name for path in WORKFLOWS.glob("*.yml")])
def test_workflows_have_least_permissions_and_run_no_text_of_others(name):
    content, on, steps = workflow(name)
    assert "pull_request_target" not in on
    writes = {k for k, v in content["permissions"].items() if v != "read"}
    assert writes == ({"pull-requests"} if name == "submission-comment.yml" else set())
    for step in steps:
        assert "github.event" not in step.get("run", ""), "text of others comes in by the environment, not the script"
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_the_submission_workflow_installs_only_the_base_branch():
    _, on, steps = workflow("submission.yml")
    assert on == {"pull_request": {"paths": ["submissions/**"]}}
    board, handed_in = (step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout"))
    assert (board["ref"], board["path"]) == ("${{ github.event.pull_request.base.sha }}", "board")
    assert (handed_in["path"], handed_in["sparse-checkout"]) == ("pull-request", "submissions")
    (install,) = (step["run"] for step in steps if "pip install" in step.get("run", ""))
    assert "pull-request" not in install


def test_the_comment_workflow_waits_for_the_submission_workflow():
    _, on, steps = workflow("submission-comment.yml")
    name = workflow("submission.yml")[0]["name"]
    assert on == {"workflow_run": {"workflows": [name], "types": ["completed"]}}
    assert not any(step.get("uses", "").startswith("actions/checkout") for step in steps)


def test_the_command_of_the_submission_workflow_runs_here(submissions, run_folder, tmp_path, monkeypatch, capsys):
    """The same line, on folders as the workflow lays them out."""
    (command,) = (step["run"] for step in workflow("submission.yml")[2] if step.get("name") == "Review")
    results_tree.write(tmp_path / "board/leaderboard/published", candidates.results_of([run_folder("pca", noise=1.0)]))
    shutil.rmtree(submissions / "other")
    shutil.move(submissions, tmp_path / "pull-request" / "submissions")
    monkeypatch.chdir(tmp_path)
    python, *words = shlex.split(command)
    assert (python, words[:2]) == ("python", ["-m", "leaderboard.report.review"])
    with pytest.raises(SystemExit) as stop:
        review.main(*words[2:])
    assert not stop.value.code
    written = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "| pca |" in written
    assert written.strip() in capsys.readouterr().out


def test_the_commands_of_ci_are_known():
    for step in workflow("ci.yml")[2]:
        for line in step.get("run", "").splitlines():
            words = shlex.split(line)
            assert words[:2] in (["make", "test"], ["python", "-m"], ["offaxis", "board"])


def test_issue_forms_ask_for_what_a_submission_must_say():
    form = yaml.safe_load((WORKFLOWS.parent / "ISSUE_TEMPLATE" / "submission.yml").read_text("utf-8"))
    assert {"method", "supervision", "selection", "agreed"} <= {field.get("id") for field in form["body"]}
