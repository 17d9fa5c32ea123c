"""A sweep's directory: the jobs that it was to run, written down before the first one starts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import runner
from runner.config import flatten
from runner.errors import RecordError
from runner.record import signature
from runner.record.rundir import FORMAT, RunDir, runs_under

PLAN: Final = "sweep.json"

_UNPAIRED: Final = ("arm.", "gate.", "run.replicate", "run.from")  # what may differ inside one group of arms
_BENIGN: Final = ("run.concurrency", "run.scenarios_in_flight", "run.max_usd", "run.max_calls")


@dataclass(frozen=True)
class PlannedJob:
    """One job of a sweep: its number and the overrides that make it."""

    number: int
    words: list[str]


@dataclass(frozen=True)
class Plan:
    """The jobs that a sweep was to run. ``jobs`` is ``None`` under a sweeper that decides as it goes."""

    jobs: list[PlannedJob] | None
    config_folders: list[Path] = field(default_factory=list)


def write_plan(path: Path, jobs: Sequence[PlannedJob] | None, config_folders: Sequence[Path], cache: Path) -> None:
    """Write a sweep's jobs down before the first one starts, sealed with the key that lies in ``cache``.

    Raises
    ------
    OSError
        When the folder cannot be written.
    """
    path.mkdir(parents=True, exist_ok=True)
    value = {
        "format": FORMAT,
        "runner": runner.__version__,
        "jobs": None if jobs is None else [{"number": job.number, "overrides": job.words} for job in jobs],
        "config_folders": [str(folder.absolute()) for folder in config_folders],
    }
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    (path / PLAN).write_text(text, encoding="utf-8")
    signature.write_seal(path, text.encode(), cache)


def sealed(path: Path, cache: Path) -> bool:
    """Return whether the plan is still the one that this person's runner wrote."""
    try:
        return signature.is_sealed(path, (path / PLAN).read_bytes(), cache)
    except OSError:
        return False


def read_plan(path: Path) -> Plan:
    """Return the recorded jobs of a sweep.

    Raises
    ------
    RecordError
        When the file is damaged or of another format.
    """
    value = RunDir(path).read_json(PLAN)
    if value.get("format") != FORMAT:
        raise RecordError(f"{path / PLAN}: format {value.get('format')!r}, this version reads format {FORMAT}")
    try:
        jobs = value["jobs"]
        listed = (
            None if jobs is None else [PlannedJob(int(j["number"]), [str(w) for w in j["overrides"]]) for j in jobs]
        )
        folders = [str(folder) for folder in value.get("config_folders", [])]
        if any("\0" in folder for folder in folders):
            raise ValueError
        return Plan(listed, [Path(folder) for folder in folders])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise RecordError(f"{path / PLAN}: not a list of jobs") from None


def setting_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the runs of one group share: all of the config but the arm, the gate and the replicate."""
    return {k: v for k, v in flatten(config).items() if not k.startswith(_UNPAIRED) and k not in _BENIGN}


def number_of(path: Path) -> int | None:
    """Return the number of the job that a run of a sweep is, by the name of its folder."""
    head = path.name.split("-", 1)[0]
    return int(head) if head.isdecimal() else None


def is_sweep(path: Path) -> bool:
    return (path / PLAN).is_file()


class Sweep:
    """A sweep's folder, listed and read once, however many ask for it.

    A folder of runs without ``sweep.json`` counts as a sweep whose jobs are not known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def is_planned(self) -> bool:
        """Tell whether the folder says which jobs were to run."""
        return is_sweep(self.path)

    @cached_property
    def runs(self) -> list[RunDir]:
        """The runs, in job order."""
        return runs_under(self.path)

    @cached_property
    def plan(self) -> Plan:
        """The jobs that were to run."""
        return read_plan(self.path) if self.is_planned else Plan(None)

    @cached_property
    def failed(self) -> list[tuple[str, str]]:
        """The jobs that left no run, by name with the reason, and the runs that no job explains."""
        present = {run.path.name.split("-", 1)[0] for run in self.runs}
        notes = {
            folder.name.split("-", 1)[0]: folder
            for folder in self.path.iterdir()
            if (folder / "failure.json").is_file()
        }
        expected = {str(job.number): " ".join(job.words) for job in self.plan.jobs or []}
        unplanned = sorted(present - set(expected)) if self.plan.jobs is not None else []
        failed = [
            (f"job {number}", "has a run and no place in sweep.json: which jobs were to run is not known")
            for number in unplanned
        ]
        for number in [*expected, *(n for n in notes if n not in expected)]:
            if number in present:
                continue
            folder = notes.get(number)
            reason = RunDir(folder).read_json("failure.json").get("reason", "failed") if folder else "never started"
            failed.append((folder.name if folder else f"{number} {expected.get(number, '')}".strip(), str(reason)))
        return failed

    @property
    def first_arm(self) -> str | None:
        """The arm of the first job, as its overrides name it; of recorded answers their run, where it is missing."""
        job = self.plan.jobs[0] if self.plan.jobs else None
        for word in job.words if job else []:
            key, _, value = word.lstrip("+").partition("=")
            if key == "arm":
                return value
            if key == "run.from" and job and not any(run.path.name.startswith(f"{job.number}-") for run in self.runs):
                return Path(value.strip("'")).name
        return None
