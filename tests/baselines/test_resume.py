"""A run that is killed and resumed ends like one that was left alone: the same bytes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from baselines import RunConfig, train
from baselines.run import Snapshots

CONFIG = RunConfig(
    dataset="xysquares/spacing_1",
    objective="beta_vae",
    architecture="fc",
    architecture_parameters={"width": 16},
    steps=60,
    batch_size=8,
    snapshots=[20],
    history_every=7,
    seed=3,
)

# Reports every snapshot once it is written, and then waits a moment to be killed.
SCRIPT = """
import json, sys
from baselines import RunConfig, train
from baselines.run import Snapshots

write = Snapshots.write
def reporting(self, step, *state):
    write(self, step, *state)
    print(step, flush=True)
Snapshots.write = reporting
train(RunConfig.from_json(json.loads(sys.argv[2])), sys.argv[1], checkpoint_seconds=0.0)
"""


def kill_after(step: int, folder: Path) -> int:
    """Train in another process, kill it at the first snapshot from this step on; give the last one reported."""
    command = [sys.executable, "-c", SCRIPT, str(folder), json.dumps(CONFIG.as_json())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= step:
                process.send_signal(signal.SIGKILL)
                break
        reported = [int(line), *map(int, process.stdout)]
    assert process.returncode == -signal.SIGKILL
    return reported[-1]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in ("run.json", "state.json")  # these hold seconds
    }


def test_kill_and_resume_end_with_the_same_bytes(tmp_path: Path) -> None:
    for step in (12, 35):
        reported = kill_after(step, tmp_path / "killed")
        assert Snapshots(tmp_path / "killed").steps()[-1] >= reported >= step
    train(CONFIG, tmp_path / "killed")
    train(CONFIG, tmp_path / "whole")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert Snapshots(tmp_path / "killed").steps() == [20, 60]
    budgets = [json.loads((tmp_path / name / "run.json").read_text())["budget"] for name in ("killed", "whole")]
    assert budgets[0]["images"] == budgets[1]["images"] == 480
