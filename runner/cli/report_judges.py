"""Judges of the same answers on the command line: the table that stands where a gate has nothing to compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from runner.errors import RecordError, RunnerError
from runner.record.rundir import RunDir
from runner.record.sweepdir import Sweep
from runner.record.unfinished import missing_questions

JUDGES = "judges.json"


def tables(runs: Sequence[RunDir], reference: str | None = None) -> list[Any]:
    """Return a table for every set of answers that several of the runs grade; none for ordinary runs.

    Raises
    ------
    UsageError
        When ``reference`` names no judge here.
    """
    if reference is None and len(runs) < 2:
        return []
    from runner.analysis.judge_table import judge_tables

    return judge_tables(runs, reference)


def show(found: Sequence[Any]) -> None:
    """Print tables, if there are any."""
    if found:
        from runner.report.console import console
        from runner.report.judges import judge_tables

        console().print(judge_tables(found))


def show_sweep(sweep: Sweep, as_json: bool, reference: str | None = None) -> int | None:
    """Show a sweep of judges over one recorded run; return ``None`` for any other sweep, which has a verdict.

    Its runs differ in the instrument on purpose: there is no verdict, and nothing is refused. 1 when a run failed.
    """
    runs, failed = sweep.runs, list(sweep.failed)
    try:
        sources = {run.experiment().run.from_ for run in runs}
    except RecordError:
        return None
    if len(sources) != 1 or None in sources:
        return None
    from runner.analysis.judge_table import judge_table

    graded = []
    for run in runs:
        reason = _unfinished(run)
        if reason:
            failed.append((run.path.name, reason))
        if run.rows_path.is_file() and run.rows_path.stat().st_size:
            graded.append(run)
    table = judge_table(graded, reference) if graded else None
    record = {
        "exit_code": 1 if failed else 0,
        "incomplete": [{"job": name, "reason": reason} for name, reason in failed],
        "table": None if table is None else table.to_dict(),
    }
    if as_json:
        print(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from runner.report.console import console, text

        show([table] if table is not None else [])
        for name, reason in failed:
            console().print(text(f"incomplete: {name}: {reason}", "bold red"))
        if not failed:
            console().print(text("one run's answers, several judges: nothing to gate (exit 0)", "bold"))
    try:
        RunDir(sweep.path).write_json(JUDGES, record)
    except RecordError as error:
        print(f"warning: {error}; the table above stands", file=sys.stderr)
    return 1 if failed else 0


def _unfinished(run: RunDir) -> str:
    """Return why the labels of a run are incomplete; empty when they are complete."""
    from runner.analysis.summary import summary_of

    try:
        instrument = run.instrument()
        summary = summary_of(run, instrument)
    except RunnerError as error:
        return str(error)
    if summary.left:
        return missing_questions(run, instrument, summary.left)
    if summary.rows and summary.errors == summary.rows:
        return "every question failed"
    return ""
