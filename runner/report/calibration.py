"""The table of a calibration: how often a judge errs, by kind of answer."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table

from runner.calibration.file import COMPLETE, Calibration, ProbeTally
from runner.calibration.probes import KINDS, RIGHT, SPECIFIC, VAGUE, WORDS
from runner.report.console import counted, text
from runner.stats.judge_error import CAVEATS

_RATES = {RIGHT: "TPR", SPECIFIC: "FPR", VAGUE: "FPR"}


def calibration_table(made: Calibration) -> Group:
    """Return rates of every kind, Youden's J, categories, and what must be known beside them."""
    data = f"{made.harness}{' (synthetic)' if made.synthetic else ''}"
    # How many repeats an imported record has may not be known.
    repeats = counted(made.repeats, "repeat") if isinstance(made.repeats, int) else f"{made.repeats} repeats"
    title = f"judge {made.judge} ({made.rows.get('judge.model')}) on {data}, {repeats}"
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = (
        "probes",
        "n",
        "graded",
        "passed",
        "rate",
        "95% interval",
        "mean over repeats",
        "flips",
        "abstained",
        "errors",
    )
    for name in names:
        table.add_column(name, justify="left" if name in ("probes", "95% interval") else "right")
    for kind in KINDS:
        if kind in made.kinds and made.kinds[kind].probes:
            table.add_row(*_row(f"{WORDS[kind]} ({_RATES[kind]})", made.kinds[kind]))
    for category, kinds in made.categories.items():
        name = f"{category} {made.category_names.get(category, category)}"
        for kind in KINDS:
            if kind in kinds and kinds[kind].probes:
                table.add_row(*_row(f"  {name}, {WORDS[kind]}", kinds[kind]), style="dim")
    return Group(text(title, "italic"), table, *(text(line, style) for line, style in _lines(made)))


def _row(name: str, tally: ProbeTally) -> list[Any]:
    interval = "" if tally.low is None or tally.high is None else f"{tally.low:.3f} .. {tally.high:.3f}"
    return [
        text(name),
        str(tally.probes),
        str(tally.graded),
        str(tally.passed),
        _share(tally.rate, ".3f"),
        interval,
        _share(tally.mean_over_repeats, ".4f"),
        _share(tally.flip_rate, ".1%"),
        str(tally.abstained or ""),
        str(tally.errors or ""),
    ]


def _share(value: float | None, pattern: str) -> str:
    return "–" if value is None else format(value, pattern)


def _lines(made: Calibration) -> list[tuple[str, str]]:
    lines = []
    for wrong, item in made.youden.items():
        line = f"J = TPR − FPR with {WORDS[wrong].partition(', ')[2]} wrong answers: {item.j:+.3f} ({item.low:+.3f} .. "
        line += f"{item.high:+.3f})"
        lines.append((line + ("; the judge carries no information" if item.j <= 0 else ""), ""))
    if made.fakes:
        lines.append((f"FAKE: {', '.join(made.fakes)}: a first look, never a calibration of anything", "bold red"))
    if made.state != COMPLETE:
        lines.append((f"{made.state}: {made.reason}; a gate refuses it", "bold red"))
    missing = [WORDS[kind] for kind in (RIGHT, SPECIFIC) if not (kind in made.kinds and made.kinds[kind].graded)]
    if missing and made.state == COMPLETE:
        lines.append(
            (f"no {' and no '.join(missing)} answer: rates are told, a gate corrects nothing with them", "yellow")
        )
    lines += [(line, "dim") for line in _origin_lines(made)]
    return lines


def _origin_lines(made: Calibration) -> list[str]:
    lines = []
    wording = made.wording
    if wording.by == "reader":
        lines.append(
            f"worded by the reader {wording.model}: {wording.reader}, by templates: {wording.template} "
            f"({wording.refused} replies did not pass: {wording.check})"
        )
    elif wording.by == "templates":
        lines.append(
            f"worded by templates (labelled in probes.jsonl), seed {made.seed}; --phrasing reader asks a model"
        )
    else:
        lines.append("recorded answers: " + ", ".join(f"{WORDS[k]} {name}" for k, name in made.runs.items()))
    if made.left_out:
        lines.append("left out: " + ", ".join(f"{n} {reason}" for reason, n in made.left_out.items()))
    if made.eligible and made.asked and sum(made.eligible.values()) < made.asked:
        lines.append(
            f"{made.asked} probes of each kind were asked for; the slice holds {sum(made.eligible.values())} items"
        )
    for role, spent in made.usage.items():
        cost = "unknown price" if isinstance(spent.usd, str) else f"${spent.usd:.4f}"
        tokens = f"{spent.input_tokens:,} in and {spent.output_tokens:,} out tokens ({spent.tokens})"
        lines.append(f"{role}: {counted(spent.calls, 'call')}, {tokens}, {cost}")
    if RIGHT in made.kinds and made.kinds[RIGHT].graded:
        lines.append("a correction with it " + "; ".join(CAVEATS))
    return lines
