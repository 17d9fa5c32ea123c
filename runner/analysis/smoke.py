"""The smoke test: a run against the thresholds of its benchmark. Offline, from what is recorded.

A threshold is reached when the value is at least as large: the boundary passes. A metric that nothing was measured of
(0 over 0) is not reached, a question that failed fails the whole test, and with a fake provider nothing is a pass: a
green test of an embedder without meaning would report what was never measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from runner.record.columns import columns
from runner.record.files import Instrument
from runner.record.rundir import RunDir
from runner.types import OK

FAILED: Final = 3  # exit codes, as of a gate
INCOMPLETE: Final = 1
REFUSED: Final = 5

_SHOWN: Final = 200  # characters of a question and its error
_DIGITS: Final = 12  # as a summary rounds, so that the order in which rows were finished decides nothing


def reached(value: float | None, threshold: float) -> bool:
    """Return whether a value is at least its threshold; what was not measured never is."""
    return value is not None and round(value, _DIGITS) >= round(threshold, _DIGITS)


@dataclass(frozen=True)
class Check:
    """A threshold and its value: the mean over ``n`` measured questions, ``None`` when there are none."""

    metric: str
    value: float | None
    threshold: float
    n: int

    @property
    def reached(self) -> bool:
        return reached(self.value, self.threshold)


@dataclass(frozen=True)
class Smoke:
    """A run held against its thresholds.

    Attributes
    ----------
    checks
        One per threshold.
    errors
        Questions that failed, whatever their category.
    first
        The first of them and its error, as the record has them.
    left
        Questions that were not asked.
    fakes
        Providers without meaning.
    """

    checks: tuple[Check, ...]
    errors: int = 0
    left: int = 0
    fakes: tuple[str, ...] = ()
    first: str = ""

    @property
    def outcome(self) -> str:
        """``refused``, ``incomplete``, ``fail`` or ``pass``."""
        if self.fakes:
            return "refused"
        if self.errors or (not self.left and not all(check.reached for check in self.checks)):
            return "fail"
        return "incomplete" if self.left else "pass"

    @property
    def exit_code(self) -> int:
        return {"refused": REFUSED, "fail": FAILED, "incomplete": INCOMPLETE}.get(self.outcome, 0)

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "errors": self.errors,
            "left": self.left,
            "fakes": list(self.fakes),
            "thresholds": [
                {
                    "metric": check.metric,
                    "value": check.value,
                    "threshold": check.threshold,
                    "n": check.n,
                    "reached": check.reached,
                }
                for check in self.checks
            ],
        }


def smoke_of(run: RunDir, instrument: Instrument | None = None) -> Smoke | None:
    """Return a run held against the thresholds that its instrument names; ``None`` where it names none.

    Parameters
    ----------
    run
        A recorded run.
    instrument
        Its instrument, where it was read already.

    Raises
    ------
    RecordError
        When the record cannot be read.
    """
    recorded = run.instrument() if instrument is None else instrument
    about = recorded.harness
    thresholds = about.thresholds
    if not thresholds:
        return None
    data = columns(run, list(thresholds))
    counted = data.of_categories(about.comparable)
    checks = []
    for metric, threshold in thresholds.items():
        values = data.values[metric]
        measured = values[counted & data.ok & ~data.excluded & np.isfinite(values)]
        value = round(float(measured.mean()), _DIGITS) if len(measured) else None
        checks.append(Check(metric, value, float(threshold), len(measured)))
    return Smoke(
        checks=tuple(checks),
        errors=int((~data.ok).sum()),
        left=max(0, recorded.census.questions - len(data)),
        fakes=tuple(recorded.fakes),
        first=_first_error(run) if not data.ok.all() else "",
    )


def _first_error(run: RunDir) -> str:
    """Return id and error of the first question whose last row is one."""
    failed: dict[str, str] = {}
    for row in run.rows():
        if row.status == OK:
            failed.pop(row.id, None)
        else:
            failed[row.id] = f"{row.status}: {row.error}" if row.error else row.status
    return next((" ".join(f"{name}, {error}".split())[:_SHOWN] for name, error in failed.items()), "")


def exit_code_of_sweep(code: int, smokes: Iterable[Smoke | None]) -> int:
    """Return the exit code of a sweep: a failed smoke test of any job comes first, then the gate.

    Parameters
    ----------
    code
        The gate's.
    smokes
        Of every job, ``None`` where its benchmark has no thresholds.
    """
    codes = {smoke.exit_code for smoke in smokes if smoke is not None}
    if FAILED in codes:
        return FAILED
    return code or max(codes, default=0)
