"""The run of a sweep that another one will be gated against, known while the sweep is still under way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.config import Experiment
from runner.errors import RunnerError
from runner.record.rundir import RunDir, runs_under
from runner.record.sweepdir import is_sweep, number_of, read_plan, setting_of


def baseline_of(run: RunDir, experiment: Experiment) -> RunDir | str:
    """Return the baseline of an arm of a sweep, or a line that says why there is none to watch it against.

    It is the arm named by ``gate.baseline``, else the first one with the same settings, which is how the gate chooses;
    where the gate may yet choose another, there is none.

    Parameters
    ----------
    run
        The arm's run, in the folder of its sweep.
    experiment
        Its config.
    """
    sweep = run.path.parent
    mine = number_of(run.path)
    if not is_sweep(sweep) or mine is None:
        return "it is no arm of a sweep, so that there is no baseline"
    setting = setting_of(experiment.model_dump(mode="json"))
    group = [other for other in runs_under(sweep) if other.path != run.path and _setting(other) == setting]
    wanted = experiment.gate.baseline
    if wanted is not None:
        named = [other for other in group if wanted in (_arm(other), other.path.name)]
        earlier = [other for other in named if _number(other) < mine]
        if wanted in (experiment.arm.name, run.path.name) and not earlier:
            return "it is the baseline"
        if not named:
            return f"gate.baseline={wanted} has not run yet (put it first)"
        return named[0]
    earlier = [other for other in group if _number(other) < mine]
    if not earlier:
        return "it is the baseline, the first arm with its settings"
    missing = _missing_before(sweep, _number(earlier[0]))
    if missing is not None:
        return f"job {missing} of the sweep has no run, so that it is not sure which arm is the baseline"
    return earlier[0]


def _number(run: RunDir) -> int:
    number = number_of(run.path)
    return 1 << 30 if number is None else number


def _config(run: RunDir) -> dict[str, Any]:
    try:
        return run.experiment().model_dump(mode="json")
    except RunnerError:  # an unreadable run is nobody's baseline; the gate says what is wrong with it
        return {}


def _setting(run: RunDir) -> dict[str, Any] | None:
    config = _config(run)
    return setting_of(config) if config else None


def _arm(run: RunDir) -> str | None:
    arm = _config(run).get("arm")
    return arm.get("name") if isinstance(arm, dict) else None


def _missing_before(sweep: Path, number: int) -> int | None:
    """Return the first job of the plan before this one that left no run."""
    present = {number_of(run.path) for run in runs_under(sweep)}
    jobs = read_plan(sweep).jobs or []
    return next((job.number for job in jobs if job.number < number and job.number not in present), None)
