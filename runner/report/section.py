"""The section that a benchmark brings to the report of its runs, beside their tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as RichTable

from runner import harness as harnesses
from runner.errors import ConfigError, RecordError
from runner.harness import Harness
from runner.harness._base.faults import own_code
from runner.harness._base.report import Line, Table
from runner.record.rundir import RunDir
from runner.report.console import text


def figures_of(run: RunDir) -> dict[str, Any]:
    """Return what ``report --json`` adds to a run: the figures of its benchmark under its name, where it has any.

    Raises
    ------
    ConfigError
        When the code of a benchmark of one's own fails.
    """
    kind = _benchmark(run)
    figures = None if kind is None else _figures(kind, run)
    return {} if kind is None or figures is None else {kind.name: figures}


def sections(runs: Sequence[RunDir]) -> list[RenderableType]:
    """Return the sections of all benchmarks that have one, the arms of each side by side."""
    arms: dict[type[Harness], list[tuple[str, dict[str, Any]]]] = {}
    shown: list[RenderableType] = []
    for name, run in zip(_names(runs), runs, strict=True):
        try:
            kind = _benchmark(run)
            figures = None if kind is None else _figures(kind, run)
        except RecordError:  # the table of the run says so
            continue
        except ConfigError as error:
            shown.append(text(error, "red"))
            continue
        if kind is not None and figures is not None:
            arms.setdefault(kind, []).append((name, figures))
    for kind, found in arms.items():
        try:
            with own_code(kind.name, "report_section()"):
                shown.append(Group(*map(_rendered, kind.report_section(found))))
        except ConfigError as error:
            shown.append(text(error, "red"))
    return shown


def _benchmark(run: RunDir) -> type[Harness] | None:
    """Return the class of a shipped benchmark, or of one in a folder that the command line named; else ``None``."""
    name = run.instrument().harness.name
    return harnesses.find(name) if name in harnesses.names() else None


def _figures(kind: type[Harness], run: RunDir) -> dict[str, Any] | None:
    with own_code(kind.name, "report_figures()"):
        figures = kind.report_figures(run)
        json.dumps(figures, allow_nan=False)
    return figures


def _names(runs: Sequence[RunDir]) -> list[str]:
    """Return arms by name; by the name of the directory where two have the same."""
    names = [_arm(run) for run in runs]
    return [name if names.count(name) == 1 else run.path.name for name, run in zip(names, runs, strict=True)]


def _arm(run: RunDir) -> str:
    try:
        arm = run.raw_config().get("arm")
    except RecordError:
        arm = None
    return str(arm["name"]) if isinstance(arm, dict) and "name" in arm else run.path.name


def _rendered(part: Line | Table) -> RenderableType:
    if isinstance(part, Line):
        return text(part.text, part.style)
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(part.columns):
        table.add_column(text(name), justify="left" if at == 0 else "right")
    for row in part.rows:
        table.add_row(*map(text, row))
    return table
