"""The words for a run that is not finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.analysis.summary import summary_of
from runner.record.rundir import RunDir
from runner.record.unfinished import missing_questions
from tests.support.answersets import plain_items, write_source


@pytest.mark.parametrize(
    ("build", "state", "told", "flags"),
    [
        ("agent-memory-runner 1.0", "stopped", "ctrl-c", ""),
        ("agent-memory-runner 1.0", "decided", "no difference", " --to-the-end"),
        ("mine@sha256:0123456789ab", "stopped", "ctrl-c", " --config-dir DIR"),
        ("mine@sha256:0123456789ab", "decided", "no difference", " --to-the-end --config-dir DIR"),
    ],
)
def test_the_command_finishes_this_run(build: str, state: str, told: str, flags: str, tmp_path: Path) -> None:
    write_source(tmp_path / "run", plain_items(3, 1, 1), instrument={"server_build": build})
    run = RunDir(tmp_path / "run")
    run.write_summary(summary_of(run, run.instrument()), state, told)
    assert missing_questions(run, run.instrument(), 7) == (
        f"7 questions are missing ({told}); go on with: python -m runner resume {run.path}{flags}"
    )
