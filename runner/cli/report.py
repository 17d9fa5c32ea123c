"""``report DIR``: the tables of a run or a sweep, rebuilt from what is recorded."""

from __future__ import annotations

import json
from pathlib import Path

from runner.errors import RecordError, UsageError
from runner.record.rundir import RunDir, is_run, runs_under
from runner.summary import summary_of


def main(argv: list[str]) -> int:
    places = [word for word in argv if not word.startswith("-")]
    unknown = [word for word in argv if word.startswith("-") and word != "--json"]
    if unknown or len(places) != 1:
        raise UsageError("report takes one directory (and --json): python -m runner report DIR")
    path = Path(places[0])
    if not path.is_dir():
        raise UsageError(f"{path}: no such directory")
    runs = [RunDir(path)] if is_run(path) else runs_under(path)
    if not runs:
        raise UsageError(f"{path}: neither a run (no config.yaml) nor a sweep")
    if "--json" in argv:
        told = {run.path.name: {"instrument": run.instrument(), **summary_of(run, run.instrument())} for run in runs}
        print(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    from runner.report.console import console, text
    from runner.report.run import run_table

    for run in runs:
        console().print(text(run.path.name, "bold"))
        try:
            console().print(run_table(run))
        except RecordError as error:
            if is_run(path):
                raise
            console().print(text(error, "red"))  # the other runs of the sweep are told all the same
    if not is_run(path):
        from runner.cli.gate import main as gate

        return gate([str(path)])
    return 0
