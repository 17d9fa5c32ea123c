"""``report DIR [DIR ...]``: the tables of runs and sweeps, rebuilt from what is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runner.cli import judges
from runner.errors import RecordError, UsageError
from runner.record.rundir import RunDir, is_run, runs_under
from runner.summary import summary_of


def main(argv: list[str]) -> int:
    if "--failures" in argv:
        from runner.cli import failures

        return failures.main(argv)
    places, reference = _parsed(argv)
    paths = [Path(place) for place in places]
    runs = [run for path in paths for run in runs_in(path)]
    if "--json" in argv:
        print(json.dumps(_told(runs, reference), indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    from runner.gate.smoke import over, smoke_of
    from runner.report import handoff
    from runner.report.console import console, text
    from runner.report.judges import origin
    from runner.report.run import run_table

    side_by_side = judges.tables(runs, reference)
    smokes = []
    for run in runs:
        console().print(text(name_of(run, runs), "bold"))
        try:
            smokes.append(smoke_of(run))
            about = origin(run)
            if about is not None:
                console().print(text(about, "dim"))
            console().print(run_table(run))
        except RecordError as error:
            if len(runs) == 1:
                raise
            console().print(text(error, "red"))  # the other runs are told all the same
    continuity = handoff.section(runs)
    if continuity is not None:
        console().print(continuity)
    if len(paths) == 1 and not is_run(paths[0]):
        code = judges.tell_sweep(paths[0], False, reference)
        if code is not None:
            return code
        judges.tell(side_by_side)
        from runner.cli.gate import main as gate

        return over(gate([str(paths[0])]), smokes)
    judges.tell(side_by_side)
    return over(0, smokes)


def _parsed(argv: list[str]) -> tuple[list[str], str | None]:
    """Directories, and the judge that the others are held against."""
    places: list[str] = []
    reference: str | None = None
    words = iter(argv)
    for word in words:
        if word == "--reference" or word.startswith("--reference="):
            reference = word.partition("=")[2] if "=" in word else next(words, "")
            if not reference:
                raise UsageError("--reference: name a judge of the table (--reference opus)")
        elif word.startswith("-") and word != "--json":
            raise UsageError(f"report {word}: no such flag; there are --json, --reference NAME and --failures")
        elif not word.startswith("-"):
            places.append(word)
    if not places:
        raise UsageError(
            "report takes directories (and --json, --reference NAME): python -m runner report DIR [DIR ...]"
        )
    if len({Path(place).resolve() for place in places}) < len(places):
        raise UsageError("report: a directory was named twice")
    return places, reference


def runs_in(path: Path) -> list[RunDir]:
    """A run, or the runs of a sweep.

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


def name_of(run: RunDir, runs: list[RunDir]) -> str:
    """The run's directory, with the one above where two have one name."""
    twins = sum(other.path.name == run.path.name for other in runs) > 1
    return f"{run.path.parent.name}/{run.path.name}" if twins else run.path.name


def _told(runs: list[RunDir], reference: str | None) -> dict[str, Any]:
    """Instrument and summary of every run by name; with judges of the same answers, those under ``judges``."""
    from runner.gate.smoke import smoke_of
    from runner.report import handoff

    told: dict[str, Any] = {
        name_of(run, runs): {
            "instrument": run.instrument(),
            **summary_of(run, run.instrument()),
            **handoff.entry(run),
            **({"smoke": smoke.to_dict()} if (smoke := smoke_of(run)) else {}),
        }
        for run in runs
    }
    found = judges.tables(runs, reference)
    return {"runs": told, "judges": [table.to_dict() for table in found]} if found else told
