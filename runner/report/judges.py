"""Tables of judges: what one is about to grade, what that costs, and several over the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.table import Table

from runner.analysis.judge_table import JudgeFigures, JudgeTable
from runner.experiment.plan.regrade_forecast import JudgeForecast
from runner.experiment.regrade import Regrade
from runner.harness._base.report import figure
from runner.record.rundir import RunDir
from runner.report.console import counted, text
from runner.score.label_metrics import ACCURACY


def headline(ready: Regrade, where: str) -> str:
    """Return one line: whose answers, who grades them, how many, where it is recorded."""
    about, experiment = ready.source.instrument.harness, ready.experiment
    data = f"{about.name}{' (synthetic)' if about.synthetic else ''}"
    answered = counted(len(ready.source.answered.intersection(ready.ids)), "question")
    sample = f" (a sample of {len(ready.source.answered)})" if experiment.run.sample is not None else ""
    return (
        f"judge {experiment.judge.name} over the answers of {ready.source.run.path.name} ({experiment.arm.name} on "
        f"{data}): {answered}{sample}, {counted(experiment.run.repeats, 'repeat')} → {where}"
    )


def origin(run: RunDir) -> str | None:
    """Return in a line whose answers a run grades; ``None`` when it asked for them itself."""
    source = run.provenance().source
    if source is None:
        return None
    return f"answers of {source.run}, graded by {run.experiment().judge.name}"


def judge_plan(forecasts: Sequence[JudgeForecast]) -> Group:
    """Return jobs as rows; categories and warnings below."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    left = ("answers of", "judge")
    for name in (*left, "questions", "answered", "repeats", "refusals", "calls", "tokens in / out", "cost"):
        table.add_column(name, justify="left" if name in left else "right")
    for job in forecasts:
        cost = "unknown" if job.usd is None else f"${job.usd:.2f}" if job.usd else "0"
        counts = (job.questions, job.answered, job.repeats, job.refusals)
        table.add_row(
            text(f"{job.run} ({job.arm})"),
            text(job.judge),
            *map(str, counts),
            f"{job.calls:,}",
            f"~{job.input_tokens:,} / ~{job.output_tokens:,}" if job.calls else "0",
            cost,
        )
    lines = ["answered by category: " + ", ".join(f"{name} {n}" for name, n in forecasts[0].by_category.items())]
    lines.append("refusals: answers that are an explicit refusal get their label without a call")
    if any(job.usd is None for job in forecasts):
        lines.append("cost unknown: the price file does not list the model, or a command tells its cost afterwards")
    lines += [f"warning: {line}" for job in forecasts for line in job.warnings]
    lines.append("nothing was spent")
    return Group(table, *(text(line, "dim") for line in dict.fromkeys(lines)))


def judge_tables(tables: Sequence[JudgeTable]) -> Group:
    """Return every table, one below the other."""
    return Group(*(part for table in tables for part in _table(table)))


def _table(found: JudgeTable) -> list[Any]:
    title = f"judges of the same answers · {found.harness} · {found.arm} · against {found.reference}"
    table = Table(box=None, pad_edge=False, header_style="bold")
    left = ("questions of", "judge", "95% interval")
    names = ("questions of", "judge", "n", ACCURACY, "95% interval", "agrees", "kappa")
    for name in (*names, f"only {found.reference} accepts", "only it accepts", "McNemar p", "errors"):
        table.add_column(text(name), justify="left" if name in left else "right")
    for section in found.sections:
        if not section.questions:
            continue
        wide = section.name.startswith("overall")
        for place, line in enumerate(section.judges):
            table.add_row(text(section.name if not place else ""), *_cells(line, wide))
    notes = [*_directions(found), *found.notes]
    notes += [
        f"{name}: the same model, parameters and rubric as {found.reference}: it differs by its own flips"
        for name in found.alike
    ]
    notes.append(
        f"intervals resample {found.cluster}s and are of each accuracy by itself; the answers are the same, so compare "
        f"judges by who accepts what"
    )
    if found.fakes:
        notes.append(f"FAKE: {', '.join(found.fakes)}: a first look, never a result")
    return [text(title, "italic"), table, *(text(line, "dim") for line in dict.fromkeys(notes)), text("")]


def _cells(line: JudgeFigures, wide: bool) -> list[Any]:
    interval = (
        "" if not wide else "none" if line.interval is None else f"{line.interval.low:.3f} .. {line.interval.high:.3f}"
    )
    cells: list[Any] = [text(line.judge), str(line.n), figure(line.accuracy), interval]
    against = line.against
    if against is None:
        cells += [text("reference", "dim"), "", "", "", ""]
    else:
        cells += [
            figure(against.agreement),
            figure(against.kappa),
            str(against.only_reference),
            str(against.only_judge),
        ]
        cells.append(_p(against.mcnemar_p) if wide else "")
    return [*cells, str(line.errors or "")]


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _directions(found: JudgeTable) -> list[str]:
    """Return which way each judge errs, over the first set of questions."""
    lines = []
    section = found.sections[0]
    for line in section.judges:
        against = line.against
        if against is None:
            continue
        if not against.n:
            lines.append(f"{line.judge}: no question was labelled by it and by {found.reference}")
            continue
        agreed = against.n - against.only_reference - against.only_judge
        kappa = "" if against.kappa is None else f" (kappa {against.kappa:.2f})"
        one_way = not (against.only_reference and against.only_judge)
        way = (
            f": {against.direction}, {'in one direction only' if one_way else 'on balance'}"
            if against.direction
            else ""
        )
        left = f"; {against.errors} left out where either failed" if against.errors else ""
        lines.append(
            f"{line.judge} agrees with {found.reference} on {agreed} of {against.n}{kappa}: rejects "
            f"{against.only_reference} that it accepts, accepts {against.only_judge} that it rejects{way}{left}"
        )
    return lines
