"""Workflows: least permissions, no text of others in a script, and only commands that exist."""

import shlex
from pathlib import Path

import pytest
import yaml

WORKFLOWS = Path(__file__).parents[2] / ".github" / "workflows"


def workflow(name):
    content = yaml.safe_load((WORKFLOWS / name).read_text("utf-8"))
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    return content, content[True], steps  # YAML 1.1 reads the key `on` as true


@pytest.mark.parametrize("name", [path.name for path in WORKFLOWS.glob("*.yml")])
def test_workflows_have_least_permissions_and_run_no_text_of_others(name):
    content, on, steps = workflow(name)
    assert "pull_request_target" not in on
    assert set(content["permissions"].values()) <= {"read"}
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
    (review,) = (step["run"] for step in steps if step.get("name") == "Review")
    assert "offaxis board score --no-verify" in review
    assert "| sed 's/^/| /'" in review, "no line of a submission is a command to the runner"
    assert "|| status=1" in review, "a submission that fails does not keep the others from being reviewed"
    assert review.rstrip().endswith("exit $status")


def test_the_commands_of_ci_are_known():
    for step in workflow("ci.yml")[2]:
        for line in step.get("run", "").splitlines():
            words = shlex.split(line)
            assert words[:2] in (["make", "test"], ["python", "-m"], ["offaxis", "board"], ["git", "archive"])


def test_issue_forms_ask_for_what_a_submission_must_say():
    form = yaml.safe_load((WORKFLOWS.parent / "ISSUE_TEMPLATE" / "submission.yml").read_text("utf-8"))
    assert {"method", "supervision", "selection", "agreed"} <= {field.get("id") for field in form["body"]}


def test_the_job_that_calls_pytest_itself_installs_what_settings_and_conftest_need():
    content, _, _ = workflow("ci.yml")
    install, run = (step["run"] for step in content["jobs"]["torch"]["steps"][-2:])
    assert "-m pytest" in run
    assert {"pytest", "pytest-timeout", "jaxtyping"} <= set(shlex.split(install))
