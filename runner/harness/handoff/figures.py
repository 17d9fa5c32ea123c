"""The figures of a recorded run that the report shows. Rebuilt from what is recorded, at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from runner.harness.handoff.score import HandoffScore, score_text
from runner.record.rundir import RunDir
from runner.types import NO_SOURCE_OF_TRUTH, OK, Row

_MEANS: Final = ("fidelity", "density", "signal", "fact_recall", "leakage", "pass", "tokens")
_WRONG: Final = {"fail": "expected to fail, passed", "pass": "expected to pass, failed"}
_TAGS: Final = frozenset({"scenario", "family", "skill", "expect"})


def figures(run: RunDir) -> dict[str, Any] | None:
    """Return everything that the report shows of one run, as JSON has it; ``None`` for a run of another benchmark.

    Returns
    -------
    dict
        ``composition``, the rates ``overall``, ``families`` and ``skills`` of the wording as written, ``consistent``
        over all variants, and ``wrong_predictions`` with what was missed, leaked or left unsaid, where the run kept
        its texts. A rate is over the questions without an error; ``*_errors_zero`` counts every error as 0.
    """
    rows = _rows(run)
    if not rows:
        return None
    written = [row for row in rows if row.tags.get("wording") == "0" and row.tags.get("distractors") == "0"]
    return {
        "composition": _composition(rows),
        "overall": _rates(written),
        "families": _by("family", written),
        "skills": _by("skill", written),
        "consistent": _consistent(rows),
        "wrong_predictions": _wrong(run, written),
    }


def _rows(run: RunDir) -> list[Row]:
    """Return each question's last row, by id; none when the first is of another suite, whose rows may be a million."""
    last: dict[str, Row] = {}
    for row in run.rows():
        if row.tags.keys() >= _TAGS:
            last[row.id] = row
        elif not last:
            return []
    return [last[key] for key in sorted(last)]


def _composition(rows: Iterable[Row]) -> dict[str, Any]:
    scenarios = {row.tags["scenario"]: row.tags for row in rows}

    def counts(key: str) -> dict[str, dict[str, int]]:
        every = Counter(tags[key] for tags in scenarios.values())
        failing = Counter(tags[key] for tags in scenarios.values() if tags["expect"] == "fail")
        return {name: {"scenarios": every[name], "expected_to_fail": failing[name]} for name in sorted(every)}

    return {
        "scenarios": len(scenarios),
        "expected_to_fail": sum(tags["expect"] == "fail" for tags in scenarios.values()),
        "families": counts("family"),
        "skills": counts("skill"),
    }


def _rates(rows: Sequence[Row]) -> dict[str, Any]:
    good = [row for row in rows if row.status == OK]
    out: dict[str, Any] = {"n": len(rows), "errors": len(rows) - len(good)}
    for name in _MEANS:
        out[name] = _mean([row.metrics.get(name) for row in good])
    for name in ("fidelity", "pass"):
        total = sum(row.metrics.get(name) or 0.0 for row in good)
        out[f"{name}_errors_zero"] = round(total / len(rows), 12) if rows else None
    out["passed"] = sum(row.metrics.get("pass") == 1.0 for row in good)
    out["over_budget"] = sum(row.metrics.get("over_budget") == 1.0 for row in good)
    out["no_source_of_truth"] = sum(NO_SOURCE_OF_TRUTH in row.flags for row in rows)
    return out


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 12) if known else None


def _by(tag: str, rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.tags[tag], []).append(row)
    return {name: _rates(groups[name]) for name in sorted(groups)}


def _consistent(rows: Iterable[Row]) -> dict[str, Any]:
    """Return scenarios whose variants all end alike; those with a single variant or with an error are left out."""
    outcomes: dict[str, list[float | None]] = {}
    for row in rows:
        passed = row.metrics.get("pass") if row.status == OK else None
        outcomes.setdefault(row.tags["scenario"], []).append(passed)
    complete = [found for found in outcomes.values() if len(found) > 1 and None not in found]
    same = sum(len(set(found)) == 1 for found in complete)
    return {
        "scenarios": len(complete),
        "same": same,
        "share": round(same / len(complete), 12) if complete else None,
    }


def _wrong(run: RunDir, rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return scenarios that ended otherwise than predicted for a plain store; an error is not an outcome."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _WRONG.values()}
    wrong: dict[str, Row] = {}
    for row in rows:
        passed = row.metrics.get("pass")
        expected = row.tags["expect"]
        if row.status == OK and passed is not None and expected in _WRONG and (passed == 1.0) != (expected == "pass"):
            wrong[row.id] = row
    why = _detail(run, wrong)
    for row in wrong.values():
        detail = why.get(row.id)
        item: dict[str, Any] = {"scenario": row.tags["scenario"], "skill": row.tags["skill"]}
        if detail is not None:
            item |= {"missed": detail.missed, "leaked": detail.leaked, "unsignalled": detail.unsignalled}
        found[_WRONG[row.tags["expect"]]].append(item)
    return found


def _detail(run: RunDir, rows: dict[str, Row]) -> dict[str, HandoffScore]:
    """Return scores with the labels of their facts, made again from the texts of the run; empty when it kept none."""
    found = {}
    if rows and run.texts_path.exists():
        for item in run.texts():
            row = rows.get(item.id)
            if row is None:
                continue
            budget = row.tags.get("budget", "")
            found[item.id] = score_text(
                item.gold,
                item.context,
                item.question,
                int(budget) if budget.isascii() and budget.isdigit() and len(budget) < 10 else None,
                failed=NO_SOURCE_OF_TRUTH in row.flags,
            )
    return found
