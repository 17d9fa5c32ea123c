"""Lines that say what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path

from runner.cli._words import own_folders
from runner.cli._words.directories import resume_line, shown
from runner.record.rundir import RunDir


def go_on(run: RunDir) -> str:
    """Return how to go on with a run that is not finished."""
    changed = " (after a change to your own system's code, start a new run)" if own_folders.added else ""
    return f"Go on with: {resume_line(run.path)}{changed}"


def finish_all_the_same(run: RunDir) -> str:
    """Return how to finish an arm that was decided early."""
    return f"To finish it all the same: {resume_line(run.path)} --to-the-end"


def compare_judges(run: RunDir, source: str) -> str:
    """Return the command that shows a judge beside the one that graded the same answers before."""
    names = " ".join(shlex.quote(shown(path)) for path in (Path(source), run.path))
    return f"the two judges side by side: python -m runner report {names}"
