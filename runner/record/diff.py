"""The difference of two recorded runs: what changed, or everything."""

from __future__ import annotations

from typing import Any

from runner.config import flatten
from runner.record.rundir import RunDir

ABSENT = "-"
_TOO_LARGE = 1e15  # beyond, a difference says nothing


def _facts(run: RunDir) -> dict[str, dict[str, Any]]:
    instrument = run.instrument()
    summary = run.summary()
    metrics = {
        f"{group}.{name}": value
        for group, values in (summary.groups if summary else {}).items()
        for name, value in values.items()
    }
    return {
        "config": flatten(run.experiment().model_dump(mode="json")),
        "instrument": flatten(instrument.rows),
        "metrics": metrics,
    }


def diff(a: RunDir, b: RunDir, *, everything: bool = False) -> list[dict[str, Any]]:
    """Return rows ``{section, key, a, b, change}``; only changed ones unless ``everything``.

    ``change`` is ``b - a`` where both are numbers, else ``None``.
    """
    left, right = _facts(a), _facts(b)
    rows = []
    for section in left:
        keys = list(left[section]) + [key for key in right[section] if key not in left[section]]
        for key in keys:
            one, two = left[section].get(key, ABSENT), right[section].get(key, ABSENT)
            if everything or one != two:
                rows.append({"section": section, "key": key, "a": one, "b": two, "change": _change(one, two)})
    return rows


def _change(one: Any, two: Any) -> float | None:
    if isinstance(one, bool) or isinstance(two, bool):
        return None
    if isinstance(one, int | float) and isinstance(two, int | float) and max(abs(one), abs(two)) < _TOO_LARGE:
        return float(two - one)
    return None
