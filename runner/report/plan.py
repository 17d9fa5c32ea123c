"""The tables of ``plan``."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table

from runner.experiment.plan.forecast import Forecast
from runner.report.console import text


def plan_tables(forecasts: list[Forecast]) -> Group:
    """Return jobs as rows; categories, knobs and warnings below."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = (
        "arm",
        "system",
        "axis",
        "questions",
        "scored",
        "clusters",
        "events",
        "calls",
        "tokens in / out",
        "cost",
        "detects pp",
    )
    for name in names:
        table.add_column(name, justify="left" if name in ("arm", "system", "axis") else "right")
    for job in forecasts:
        cost = "unknown" if job.usd is None else f"${job.usd:.2f}" if job.usd else "0"
        tokens = f"~{job.input_tokens:,} / ~{job.output_tokens:,}" if job.calls else "0"
        best, *_, likely = [*job.detectable.values()] * 2  # one value where the correlation is 0
        table.add_row(
            text(job.arm),
            job.system,
            job.axis,
            str(job.questions),
            str(job.scored),
            str(job.clusters),
            f"{job.events:,}",
            f"{job.calls:,}",
            tokens,
            cost,
            f"{_pp(best)} – {_pp(likely)}",
        )
    lines: list[str] = []
    first = forecasts[0]
    if any(set(name.split()) != {"all"} for name in first.by_category):  # one of that name is what the column says
        lines.append("questions by category: " + ", ".join(f"{name} {n}" for name, n in first.by_category.items()))
    assumed = first.assumed
    correlation = f"0 and of {assumed.icc:.3g}" if assumed.icc else "0"
    lines.append(
        f"detects: about the difference in points found with 80 % power if the arms disagree on "
        f"{assumed.discordance * 100:.3g} % of the questions, with an intraclass correlation of {correlation}"
    )
    lines.append(
        f"measured by {assumed.source}"
        if assumed.source
        else "both are assumed, not measured (--like DIR takes them from a recorded sweep)"
    )
    for job in forecasts:
        if job.knobs:
            lines.append(
                f"{job.arm} sends: " + ", ".join(f"{name}={_knob(value)}" for name, value in job.knobs.items())
            )
        lines += [f"{job.arm}: {name} is inert here: {why}" for name, why in job.inert.items()]
    lines += [f"warning: {line}" for job in forecasts for line in job.warnings]
    lines.append("nothing was spent")
    return Group(table, *(text(line, "dim") for line in dict.fromkeys(lines)))


def _pp(value: float | None) -> str:
    return "none" if value is None else f"{value * 100:.1f}"


def _knob(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
