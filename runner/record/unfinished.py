"""The words for a run that is not finished, and the command that finishes it."""

from __future__ import annotations

from runner.record.files import Instrument
from runner.record.rundir import RunDir


def resume_command(run: RunDir, instrument: Instrument) -> str:
    """Return the command that finishes a run.

    A run of a system of one's own needs its folder, which only its owner knows: ``--config-dir DIR`` stands for it.
    """
    shipped = str(instrument.rows.get("server_build", "")).startswith("agent-memory-runner ")
    stopped = " --to-the-end" if run.decided() else ""
    return f"python -m runner resume {run.path}{stopped}" + ("" if shipped else " --config-dir DIR")


def missing_questions(run: RunDir, instrument: Instrument, left: int) -> str:
    """Return how many questions of a run are missing, why, and the command that asks them."""
    recorded = run.summary()
    why = (recorded.reason if recorded else "") or "not finished"
    return f"{left} questions are missing ({why}); go on with: {resume_command(run, instrument)}"
