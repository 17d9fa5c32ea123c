"""The verdict table of a gate."""

from __future__ import annotations

from typing import Any

from rich.console import Group as Lines
from rich.table import Table

from runner.gate import Arm, Comparison
from runner.gate.sweep import Group, SweepVerdict
from runner.report.console import category, counted, text
from runner.report.corrections import human_lines, judge_lines
from runner.stats.verdict import Verdict

_STYLES = {
    "pass": "bold green",
    "fail": "bold red",
    "unresolved": "yellow",
    "refused": "bold magenta",
    "null": "cyan",
    "unmeasurable": "dim",
}


def gate_tables(gate: SweepVerdict) -> Lines:
    """Return every group of a sweep as a table with its notes, then the outcome."""
    parts: list[Any] = []
    for group in gate.groups:
        parts += _group(group)
    for name, reason in gate.failed:
        parts.append(text(f"incomplete: {name}: {reason}", "bold red"))
    closing = {
        "none": "nothing to compare: one arm",
        "null": "A/A: no verdict, a measure of noise",
    }.get(gate.outcome, gate.outcome)
    parts.append(text(f"gate: {closing} (exit {gate.exit_code})", _STYLES.get(gate.outcome, "bold")))
    return Lines(*parts)


def _group(group: Group) -> list[Any]:
    first = group.arms[0]
    about, rows = first.instrument.harness, first.instrument.rows
    data = f"{about.name}{' (synthetic)' if about.synthetic else ''}"
    metric = f"{first.metric}, {rows.get('axis')} axis"
    if rows.get("axis") == "accuracy":
        repeats = counted(rows.get("repeats"), "repeat")
        metric += f", reader {rows.get('reader.model')}, judge {rows.get('judge.model')}, {repeats}"
    setting = "".join(f" · {key}={value}" for key, value in group.setting.items())
    title = text(f"{data} · {metric}{setting} · against {group.baseline}", "italic")
    table = Table(box=None, pad_edge=False, header_style="bold")
    several = any(pair.holm_p is not None for pair in group.comparisons)
    flips = any(arm.flip_rate is not None for arm in group.arms)
    money = any(arm.usd != 0.0 for arm in group.arms)
    names = ["arm", "n", f"{about.cluster}s", first.metric, "Δ pp", "95% interval", "verdict", "discord."]
    names += ["Holm p"] * several + ["flips"] * flips + ["errors"] + ["cost"] * money
    for name in names:
        table.add_column(name, justify="left" if name in ("arm", "95% interval", "verdict") else "right")
    pairs = {pair.b: pair for pair in group.comparisons}
    for arm in group.arms:
        table.add_row(*_row(arm, pairs.get(arm.name), group, several, flips, money))
    notes = [line for pair in group.comparisons for line in pair_notes(pair)]
    notes += [f"{arm.name}: FAKE {', '.join(arm.instrument.fakes)}" for arm in group.arms if arm.instrument.fakes]
    return [title, table, *(text(line, "dim") for line in dict.fromkeys(notes)), text("")]


def _row(arm: Arm, pair: Comparison | None, group: Group, several: bool, flips: bool, money: bool) -> list[Any]:
    verdict = pair.verdict if pair else None
    value = arm.headline
    if verdict is not None and verdict.mean_b is not None:
        value = verdict.mean_b
    elif pair is None and group.comparisons and group.comparisons[0].verdict is not None:
        value = group.comparisons[0].verdict.mean_a
    judged = verdict or (group.comparisons[0].verdict if pair is None and group.comparisons else None)
    count = str(judged.n if judged and judged.n else arm.scored)
    clusters = str(judged.clusters) if judged else str(arm.instrument.census.clusters)
    cells: list[Any] = [text(arm.name), count, clusters, "–" if value is None else f"{value:.3f}"]
    if pair is None:
        cells += ["", "", text("baseline", "dim"), ""]
    else:
        told = pair.outcome.upper()
        if pair.outcome == "unresolved" and pair.reason:
            told += f" {pair.reason}"
        if pair.early is not None:
            told += " by e-value"
        cells += [
            _points(verdict.delta if verdict else None),
            _interval(verdict),
            text(told, _STYLES.get(pair.outcome, "")),
            "" if verdict is None or verdict.discordance is None else f"{verdict.discordance:.1%}",
        ]
    if several:
        cells.append("" if pair is None or pair.holm_p is None else f"{pair.holm_p:.3f}")
    if flips:
        cells.append("" if arm.flip_rate is None else f"{arm.flip_rate:.1%}")
    cells.append(str(arm.errors or ""))
    if money:
        cells.append("unknown" if arm.usd is None else f"${arm.usd:.4f}")
    return cells


def pair_notes(pair: Comparison) -> list[str]:
    """Return the lines below the table for one pair: why refused, which interval decided, warnings, bounds."""
    lines = []
    if pair.outcome in ("refused", "incomplete", "unmeasurable", "null"):
        if pair.comparability.confounds:
            lines.append(f"{pair.b}: not comparable with {pair.a}:")
            lines += [f"  {confound.line()}" for confound in pair.comparability.confounds]
            lines += [f"  {pair.hint}"] if pair.hint else []
        else:
            lines.append(pair.reason if pair.reason.startswith(pair.b) else f"{pair.b}: {pair.reason}")
    lines += [f"{pair.b}: {note}" for note in pair.notes if not note.startswith("synthetic")]
    lines += [note for note in pair.notes if note.startswith("synthetic")]
    verdict = pair.verdict
    if verdict is None:
        return lines
    lines.append(f"{pair.b}: {_evidence(verdict)}{_beside(pair)}")
    for name, other in pair.others.items():
        if other.n:
            lines.append(f"{pair.b}, {name}: n {other.n}, {_points(other.delta)} pp, {_interval(other)}")
    if pair.bounds:
        low, high = pair.bounds
        lines.append(
            f"{pair.b}: with every error against it {low * 100:+.1f} pp, with every error for it {high * 100:+.1f} pp"
        )
    beside = [
        *(judge_lines(pair.corrected) if pair.corrected else ()),
        *(human_lines(pair.human) if pair.human else ()),
    ]
    lines += [f"{pair.b}: {line}" for line in beside]
    for name, part in pair.categories.items():
        p = pair.category_p.get(name)
        adjusted = "" if p is None else f", BH p {p:.3f}"
        lines.append(f"{pair.b}, category {category(name)}: n {part.n}, {_points(part.delta)} pp{adjusted}")
    return lines


def _evidence(verdict: Verdict) -> str:
    wins, ties = counted(verdict.wins, "win"), counted(verdict.ties, "tie")
    losses = counted(verdict.losses, "loss", "losses")
    parts = [f"{wins}, {losses}, {ties}"]
    if verdict.deciding_kind and verdict.deciding_kind != "percentile" and verdict.percentile is not None:
        low, high = verdict.percentile.low * 100, verdict.percentile.high * 100
        parts.append(f"decided on the {verdict.deciding_kind} interval (percentile {low:+.1f} .. {high:+.1f})")
    if verdict.sign_flip is not None:
        against = f" against {verdict.min_delta * 100:+.1f} pp" if verdict.min_delta else ""
        parts.append(f"sign-flip {_p(verdict.sign_flip.p)}{against}")
    parts.append(verdict.detects())
    if verdict.needed_n is not None:
        parts.append(f"about {verdict.needed_n} pairs would resolve it")
    elif verdict.reason in ("under_powered", "dominant_cluster") and "dominant_cluster" in verdict.warnings:
        parts.append("more clusters would resolve it, not more questions of the same ones")
    if verdict.warnings:
        parts.append("warnings: " + ", ".join(verdict.warnings))
    return "; ".join(parts)


def _beside(pair: Comparison) -> str:
    """Return how much retrieval was identical, and the rank test over repeats."""
    told = ""
    if pair.identical_share is not None:
        told += f"; identical retrieval {pair.identical_share:.0%}"
    if pair.wilcoxon_p is not None:
        against = " against 0" if pair.verdict is not None and pair.verdict.min_delta else ""
        told += f"; Wilcoxon over means {_p(pair.wilcoxon_p)}{against}"
    return told


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p {value:.3f}"


def _points(value: float | None) -> str:
    return "" if value is None else f"{round(value * 100, 1) + 0.0:+.1f}"


def _interval(verdict: Verdict | None) -> str:
    if verdict is None or verdict.deciding is None:
        return "none" if verdict is not None else ""
    # A share differs by 100 points at most, whatever a jackknife of one giant cluster extrapolates to.
    low, high = max(-1.0, verdict.deciding.low), min(1.0, verdict.deciding.high)
    return f"{_points(low)} .. {_points(high)}"
