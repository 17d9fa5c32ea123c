"""What survives the boundary between two agents, by arm: the report of recorded runs of the handoff suite.

What was asked comes first, with the share that is expected to fail. Fidelity leads the figures: to return more does not
raise it, since wrong facts come along. Density beside it tells the price in tokens. Wrong predictions come last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from runner.analysis.handoff import told
from runner.errors import RecordError
from runner.record.rundir import RunDir
from runner.report.console import counted, text
from runner.report.run import figure

_LISTED: Final = 15  # wrong predictions of a kind that a terminal shows; --json has all


def entry(run: RunDir) -> dict[str, Any]:
    """What ``report --json`` adds to a run: nothing when it is no run of this suite."""
    found = told(run)
    return {} if found is None else {"handoff": found}


def section(runs: Sequence[RunDir]) -> Group | None:
    """The report of several arms side by side; ``None`` when none of them is a run of this suite."""
    arms = []
    for name, run in zip(_names(runs), runs, strict=True):
        try:
            found = told(run)
        except RecordError:  # the table of the run says so
            continue
        if found is not None:
            arms.append((name, found))
    if not arms:
        return None
    parts: list[Any] = [text("\nhandoff: composition", "bold"), *_composition_lines([found for _, found in arms])]
    parts += [text("\nhandoff: as written", "bold"), _overall(arms), *(text(line, "dim") for line in _notes(arms))]
    parts += [text("\nhandoff: pass rate (fidelity) by family", "bold"), _families(arms)]
    parts += [text("\nhandoff: passed by skill", "bold"), _skills(arms)]
    parts += [text("\nhandoff: predictions that were wrong", "bold"), *_wrong_lines(arms)]
    return Group(*parts)


def _names(runs: Sequence[RunDir]) -> list[str]:
    """Arms by name; by the name of the directory where two have the same."""
    names = [_arm(run) for run in runs]
    return [name if names.count(name) == 1 else run.path.name for name, run in zip(names, runs, strict=True)]


def _arm(run: RunDir) -> str:
    try:
        arm = run.raw_config().get("arm")
    except RecordError:
        arm = None
    return str(arm["name"]) if isinstance(arm, dict) and "name" in arm else run.path.name


Arms = Sequence[tuple[str, dict[str, Any]]]


def _composition_lines(found: Sequence[dict[str, Any]]) -> list[Text]:
    """What was asked; arms of a sweep are asked the same, and of others the largest is told."""
    made = max((item["composition"] for item in found), key=lambda item: int(item["scenarios"]))

    def listed(groups: dict[str, dict[str, int]]) -> str:
        return ", ".join(f"{name} {n['scenarios']} ({n['expected_to_fail']})" for name, n in groups.items())

    head = f"{counted(made['scenarios'], 'scenario')}, {made['expected_to_fail']} expected to fail for a plain store"
    return [
        text(head),
        text(f"by family (expected to fail): {listed(made['families'])}"),
        text(f"by skill (expected to fail): {listed(made['skills'])}", "dim"),
    ]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(columns):
        table.add_column(text(name), justify="left" if at == 0 else "right")
    return table


def _overall(arms: Arms) -> Table:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "n": lambda found: str(found["overall"]["n"]),
        "fidelity": lambda found: figure(found["overall"]["fidelity"]),
        "density": lambda found: _plain(found["overall"]["density"], 1),
        "signal": lambda found: figure(found["overall"]["signal"]),
        "pass": lambda found: figure(found["overall"]["pass"]),
        "tokens": lambda found: _plain(found["overall"]["tokens"], 0),
        "over budget": lambda found: str(found["overall"]["over_budget"] or ""),
        "no source": lambda found: str(found["overall"]["no_source_of_truth"] or ""),
        "errors": lambda found: str(found["overall"]["errors"] or ""),
        "consistent": lambda found: figure(found["consistent"]["share"]),
    }
    if any(found["overall"]["errors"] for _, found in arms):
        columns["fidelity, errors as 0"] = lambda found: figure(found["overall"]["fidelity_errors_zero"])
        columns["pass, errors as 0"] = lambda found: figure(found["overall"]["pass_errors_zero"])
    table = _table("arm", *columns)
    for name, found in arms:
        table.add_row(text(name), *(cell(found) for cell in columns.values()))
    return table


def _notes(arms: Arms) -> list[str]:
    lines = ["density: facts carried a thousand tokens. consistent: same outcome in all wordings and among distractors"]
    if any(found["overall"]["no_source_of_truth"] for _, found in arms):
        lines.append("no source: nothing survives the loss of the index, which scores 0 and is not excused")
    return lines


def _families(arms: Arms) -> Table:
    table = _table("family", *(name for name, _ in arms))
    for family in _keys(arms, "families"):
        cells = []
        for _, found in arms:
            rates = found["families"].get(family)
            cells.append("–" if rates is None else f"{figure(rates['pass'])} ({figure(rates['fidelity'])})")
        table.add_row(text(family), *cells)
    return table


def _skills(arms: Arms) -> Table:
    table = _table("skill", *(name for name, _ in arms))
    for skill in _keys(arms, "skills"):
        cells = []
        for _, found in arms:
            rates = found["skills"].get(skill)
            scored = 0 if rates is None else rates["n"] - rates["errors"]
            cells.append("–" if rates is None else f"{rates['passed']}/{scored}")
        table.add_row(text(skill), *cells)
    return table


def _keys(arms: Arms, part: str) -> list[str]:
    return sorted({key for _, found in arms for key in found[part]})


def _wrong_lines(arms: Arms) -> list[Text]:
    lines = []
    for name, found in arms:
        for kind, entries in found["wrong_predictions"].items():
            if not entries:
                continue
            lines.append(text(f"{name}: {kind} ({len(entries)})"))
            for item in entries[:_LISTED]:
                told_of = "; ".join(
                    f"{word} {', '.join(item[key])}"
                    for key, word in (("missed", "missed"), ("leaked", "leaked"), ("unsignalled", "did not say"))
                    if item.get(key)
                )
                head = f"  {item['scenario']} ({item['skill']})"
                lines.append(text(f"{head}: {told_of}" if told_of else head, "dim"))
            if len(entries) > _LISTED:
                lines.append(text(f"  … and {len(entries) - _LISTED} more (report --json has all)", "dim"))
    return lines or [text("none", "dim")]


def _plain(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
