"""Directories on a command line: recorded ones that are named, and the new one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from runner.cli._words import own_folders
from runner.errors import UsageError
from runner.record.rundir import RunDir, is_run, runs_under


def distinct(verb: str, words: Sequence[str]) -> list[Path]:
    """Return the directories that words name.

    Raises
    ------
    UsageError
        When one is named twice.
    """
    paths = [Path(word) for word in words]
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError(f"{verb}: a directory was named twice")
    return paths


def runs_in(path: Path) -> list[RunDir]:
    """Return a run, or the runs of a sweep.

    Raises
    ------
    UsageError
        When the directory is neither.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: no such directory")
    runs = [RunDir(path)] if is_run(path) else runs_under(path)
    if not runs:
        raise UsageError(f"{path}: neither a run (no config.yaml) nor a sweep")
    return runs


def name_of(run: RunDir, runs: Sequence[RunDir]) -> str:
    """Return the name of a run's directory, with the one above where two have one name."""
    twins = sum(other.path.name == run.path.name for other in runs) > 1
    return f"{run.path.parent.name}/{run.path.name}" if twins else run.path.name


def new(label: str) -> Path:
    """Return a new directory below ``outputs``, named by the time."""
    now = datetime.now()
    return Path("outputs") / f"{now:%Y-%m-%d}" / f"{now:%H%M%S-%f}-{label}"


def resume_line(path: Path) -> str:
    """Return the command that goes on with a run or a sweep, with the person's own folders."""
    mine = "".join(f" --config-dir {shlex.quote(shown(folder))}" for folder in own_folders.added)
    return f"python -m runner resume {shlex.quote(shown(path))}{mine}"


def shown(path: Path) -> str:
    """Return a path as a person would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
