"""The section of a report: what survives the boundary between two agents, by arm.

What was asked comes first, with the share that is expected to fail. Fidelity leads the figures: to return more does not
raise it, since wrong facts come along. Density beside it tells the price in tokens. Wrong predictions come last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from runner.harness._base.report import Line, Table, figure

_LISTED: Final = 15  # wrong predictions of a kind that a terminal shows; --json has all

Arms = Sequence[tuple[str, dict[str, Any]]]


def section(arms: Arms) -> list[Line | Table]:
    """Return the section of several arms side by side, from their :func:`~runner.harness.handoff.figures.figures`."""
    return [
        Line("\nhandoff: composition", "bold"),
        *_composition([found for _, found in arms]),
        Line("\nhandoff: as written", "bold"),
        _overall(arms),
        *(Line(line, "dim") for line in _notes(arms)),
        Line("\nhandoff: pass rate (fidelity) by family", "bold"),
        _families(arms),
        Line("\nhandoff: passed by skill", "bold"),
        _skills(arms),
        Line("\nhandoff: predictions that were wrong", "bold"),
        *_wrong(arms),
    ]


def _composition(found: Sequence[dict[str, Any]]) -> list[Line]:
    """Return what was asked; arms of a sweep are asked the same, and of others the largest is shown."""
    made = max((item["composition"] for item in found), key=lambda item: int(item["scenarios"]))

    def listed(groups: dict[str, dict[str, int]]) -> str:
        return ", ".join(f"{name} {n['scenarios']} ({n['expected_to_fail']})" for name, n in groups.items())

    many = "scenario" if made["scenarios"] == 1 else "scenarios"
    head = f"{made['scenarios']} {many}, {made['expected_to_fail']} expected to fail for a plain store"
    return [
        Line(head),
        Line(f"by family (expected to fail): {listed(made['families'])}"),
        Line(f"by skill (expected to fail): {listed(made['skills'])}", "dim"),
    ]


def _overall(arms: Arms) -> Table:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "n": lambda found: str(found["overall"]["n"]),
        "fidelity": lambda found: figure(found["overall"]["fidelity"]),
        "density": lambda found: figure(found["overall"]["density"], 1),
        "signal": lambda found: figure(found["overall"]["signal"]),
        "pass": lambda found: figure(found["overall"]["pass"]),
        "tokens": lambda found: figure(found["overall"]["tokens"], 0),
        "over budget": lambda found: str(found["overall"]["over_budget"] or ""),
        "no source": lambda found: str(found["overall"]["no_source_of_truth"] or ""),
        "errors": lambda found: str(found["overall"]["errors"] or ""),
        "consistent": lambda found: figure(found["consistent"]["share"]),
    }
    if any(found["overall"]["errors"] for _, found in arms):
        columns["fidelity, errors as 0"] = lambda found: figure(found["overall"]["fidelity_errors_zero"])
        columns["pass, errors as 0"] = lambda found: figure(found["overall"]["pass_errors_zero"])
    return Table(("arm", *columns), [(name, *(cell(found) for cell in columns.values())) for name, found in arms])


def _notes(arms: Arms) -> list[str]:
    lines = ["density: facts carried a thousand tokens. consistent: same outcome in all wordings and among distractors"]
    if any(found["overall"]["no_source_of_truth"] for _, found in arms):
        lines.append("no source: nothing survives the loss of the index, which scores 0 and is not excused")
    return lines


def _families(arms: Arms) -> Table:
    rows = []
    for family in _keys(arms, "families"):
        cells = []
        for _, found in arms:
            rates = found["families"].get(family)
            cells.append("–" if rates is None else f"{figure(rates['pass'])} ({figure(rates['fidelity'])})")
        rows.append((family, *cells))
    return Table(("family", *(name for name, _ in arms)), rows)


def _skills(arms: Arms) -> Table:
    rows = []
    for skill in _keys(arms, "skills"):
        cells = []
        for _, found in arms:
            rates = found["skills"].get(skill)
            scored = 0 if rates is None else rates["n"] - rates["errors"]
            cells.append("–" if rates is None else f"{rates['passed']}/{scored}")
        rows.append((skill, *cells))
    return Table(("skill", *(name for name, _ in arms)), rows)


def _keys(arms: Arms, part: str) -> list[str]:
    return sorted({key for _, found in arms for key in found[part]})


def _wrong(arms: Arms) -> list[Line]:
    lines = []
    for name, found in arms:
        for kind, entries in found["wrong_predictions"].items():
            if not entries:
                continue
            lines.append(Line(f"{name}: {kind} ({len(entries)})"))
            for item in entries[:_LISTED]:
                told_of = "; ".join(
                    f"{word} {', '.join(item[key])}"
                    for key, word in (("missed", "missed"), ("leaked", "leaked"), ("unsignalled", "did not say"))
                    if item.get(key)
                )
                head = f"  {item['scenario']} ({item['skill']})"
                lines.append(Line(f"{head}: {told_of}" if told_of else head, "dim"))
            if len(entries) > _LISTED:
                lines.append(Line(f"  … and {len(entries) - _LISTED} more (report --json has all)", "dim"))
    return lines or [Line("none", "dim")]
