"""The tables of ``power``."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table

from runner.report.console import counted, text
from runner.stats.clustered import Bounds
from runner.stats.planning.intervals import MOST_CLUSTERS, MOST_PAIRS, Width
from runner.stats.planning.outlook import Outlook
from runner.stats.planning.sample_size import Needed

_STYLES = {"pass": "bold green", "fail": "bold red", "unresolved": "yellow"}
_WHY = {
    "on_the_threshold": "never: it lies on the threshold",
    "beyond_discordance": "cannot be: more than the arms disagree",
    "beyond_reason": "no number will do",
}


def power_tables(found: Outlook, unit: str, notes: list[str]) -> Group:
    """Return what is detected, how many questions it takes, and how wide the intervals are."""
    goal, assumed = found.goal, found.assumed
    each = "" if found.n == found.clusters else f", {found.n / found.clusters:.4g} each on average"
    lines = [
        text(f"{counted(found.n, 'question')} in {counted(found.clusters, unit)}{each}", "bold"),
        text(
            f"arms that disagree on {assumed.discordance:.1%} of the questions, intraclass correlation "
            f"{assumed.icc:.3g}" + (f" ({assumed.source})" if assumed.source else "")
        ),
    ]
    threshold = f" to lie above {goal.min_delta * 100:+g} pp" if goal.min_delta else ""
    if found.detects is None and found.detects_if_independent is None:
        lines.append(text(f"detects nothing: {found.why_not}", "yellow"))
    else:
        lines.append(
            text(
                f"detects{threshold} with {goal.power:.0%} power: {_pp(found.detects)} "
                f"({_pp(found.detects_if_independent)} if questions of one {unit} did not go together)"
            )
        )
    parts: list[Any] = [*lines, text(""), _needed(found, unit)]
    if found.table:
        parts += [text(""), _widths(found)]
    else:
        notes = [
            *notes,
            f"how wide the interval is: not shown for more than {MOST_PAIRS} questions or {MOST_CLUSTERS} {unit}s",
        ]
    parts += [text(line, "dim") for line in _legend(found, unit, notes)]
    return Group(*parts)


def _pp(value: float | None) -> str:
    return "nothing" if value is None else f"{round(value * 100, 1) + 0.0:+.1f} pp"


def _needed(found: Outlook, unit: str) -> Table:
    alone = found.n == found.clusters
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("true difference", justify="right")
    table.add_column("questions", justify="right")
    if not alone:
        table.add_column(f"in {unit}s of this size", justify="right")
        table.add_column(f"or in these {found.clusters} {unit}s", justify="right")
    table.add_column("")
    for row in found.needed:
        cells = [f"{row.effect * 100:+.3g} pp", _count(row.n)]
        if not alone:
            cells += [_count(row.clusters), _count(row.in_same_clusters)]
        table.add_row(*cells, text(_remark(row, found.n), "dim"))
    return table


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _remark(row: Needed, n: int) -> str:
    if row.why is not None:
        return _WHY[row.why]
    return "there are enough" if row.n is not None and row.n <= n else ""


def _widths(found: Outlook) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = ("how wide the interval is", "wins / ties / losses", "mean Δ pp", "percentile 95%", "decides", "reading")
    for name in names:
        table.add_column(name, justify="right" if name in names[1:5] else "left")
    for row in found.table:
        table.add_row(*_width(row))
    return table


def _width(row: Width) -> list[Any]:
    verdict = row.verdict
    shown = verdict.percentile
    fragile = " (fragile_pass)" if "fragile_pass" in verdict.warnings else ""
    return [
        text(row.what),
        f"{row.wins} / {row.ties} / {row.losses}",
        "" if verdict.delta is None else f"{round(verdict.delta * 100, 1) + 0.0:+.1f}",
        "none" if shown is None else _bounds(Bounds(shown.low, shown.high)),
        "nothing" if verdict.deciding is None or verdict.reason == "too_few_clusters" else _bounds(verdict.deciding),
        text(row.verdict_words + fragile, _STYLES[verdict.verdict]),
    ]


def _bounds(bounds: Bounds) -> str:
    low, high = (round(value * 100, 1) + 0.0 for value in (bounds.low, bounds.high))
    return f"{low:+.1f} .. {high:+.1f}"


def _legend(found: Outlook, unit: str, notes: list[str]) -> list[str]:
    lines = []
    if found.n != found.clusters:
        lines.append(
            f"the rows are laid out so that {unit}s differ as the intraclass correlation says; in fewer {unit}s the "
            f"same wins prove less"
        )
    kinds = {row.verdict.deciding_kind for row in found.table}
    if "widened" in kinds:
        lines.append(f"{found.clusters} {unit}s are few: a percentile interval is too narrow, the widened one decides")
    if "cr3_t" in kinds:
        lines.append(f"one {unit} dominates: the CR3-t interval decides")
    return [*lines, *notes, "nothing was spent"]
