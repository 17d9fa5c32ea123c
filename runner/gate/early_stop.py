"""An arm that was watched while it ran, looked at again from the two journals in their order.

Nothing that the run says of its own end is trusted: ``summary.json`` may say ``decided``, and the e-value is computed
once more. What is taken from the record is only that the arm was watched, and against which run, because that was laid
down before its first question.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runner.config import GateConfig
from runner.early_stop.watch import Watch, standing
from runner.gate.arm import Arm
from runner.gate.comparison import Comparison
from runner.record.columns import Columns
from runner.record.compare import Comparability
from runner.record.files import WatchEntry
from runner.stats.sequential import Crossing, SignWatch

_JUDGED: Final = ("pass", "fail", "unresolved")
EARLY: Final = "decided early by e-value"
LATER: Final = "decided by e-value, and finished all the same"


@dataclass(frozen=True)
class ReplayedWatch:
    """The e-value of a watched arm, computed once more from its rows.

    Attributes
    ----------
    signs
        The watch, after the last row of the arm.
    unit
        What is won or lost, in words.
    left
        Questions that the arm was not asked.
    to_the_end
        The command that asks them.
    """

    signs: SignWatch
    unit: str
    left: int
    to_the_end: str

    @property
    def crossing(self) -> Crossing | None:
        return self.signs.crossing

    @property
    def standing(self) -> str:
        """Wins, losses and e-value after the last row, in words."""
        return standing(self.signs.wins, self.signs.losses, self.signs.ties, self.signs.e_value, self.unit)

    def conclude(self, pair: Comparison) -> Comparison:
        """Decide the pair by the e-value, where it crossed; the interval stays beside it."""
        crossing = self.crossing
        if crossing is None:
            pair.notes.append(
                f"watched while it ran and never decided ({self.standing}): the interval decides; two chances raise "
                f"false passes from 2.5 % to about 3.5 %"
            )
            return pair
        if pair.outcome not in _JUDGED:  # what forbids a verdict forbids this one
            return pair

        interval = f"{pair.outcome}{f' {pair.reason}' if pair.reason else ''}"
        pair.early, pair.early_p = crossing, self.signs.anytime_p
        pair.outcome = "pass" if crossing.won else "fail"
        pair.reason = EARLY if self.left else LATER
        seen = standing(crossing.wins, crossing.losses, crossing.ties, crossing.e_value, self.unit)
        pair.notes.append(f"{pair.reason}: {seen} after {crossing.n} of {crossing.of} questions")
        pair.notes.append(f"the interval is shown beside it and does not decide: {interval}")
        pair.notes.append(
            f"{self.unit}s count in the order in which they finished; the null is that each is as likely to be won as "
            f"lost"
        )
        if self.left:
            pair.notes.append(
                f"a difference at a stop is biased away from 0: quote the verdict, not its size (all of it: "
                f"{self.to_the_end})"
            )
        return pair


def replay_watch(a: Arm, b: Arm, settings: GateConfig, found: Comparability) -> ReplayedWatch | None:
    """Compute the e-value of a watched arm once more; ``None`` where the e-value does not apply to this gate.

    It applies only to an arm that was watched against this very baseline, by the metric and categories of this gate,
    for a threshold of 0 under ``gate.interval: auto``; and never for an A/A pair, or while the baseline is unfinished.

    Raises
    ------
    RecordError
        When the arm's journal is damaged.
    """
    entry = watch_entry(b)
    if entry is None or found.null or a.state != "complete" or settings.min_delta or settings.interval != "auto":
        return None
    run_id = a.run.provenance().run_id
    if entry.against_run_id != run_id or entry.metric != b.metric:
        return None
    if settings.categories != b.config["gate"]["categories"]:
        return None

    about = b.instrument.harness
    counted = about.comparable if settings.categories == "comparable" else a.data.categories
    watch = Watch(a.data, b.metric, counted)
    for row in b.run.rows():
        watch.add(row)
    unit = "question" if watch.signs.single else about.cluster
    return ReplayedWatch(watch.signs, unit, b.left, b.resume)


def watch_entry(arm: Arm) -> WatchEntry | None:
    """Return what the record says of the session in which an arm was watched; ``None`` when it was in none."""
    run = arm.config["run"]
    if not run["stop_when_decided"] or run["from"]:
        return None

    sessions = arm.run.provenance().watched
    known = [entry for entry in sessions if entry.against_run_id is not None and entry.metric is not None]
    return known[-1] if known else None


def not_watched(arm: Arm) -> list[str]:
    """Return why an arm that was to be watched was not; empty when it was."""
    if not arm.config["run"]["stop_when_decided"] or arm.config["run"]["from"] or watch_entry(arm) is not None:
        return []

    why = [entry.why_not for entry in arm.run.provenance().watched if entry.why_not is not None]
    return [f"was to be watched and was not: {why[-1]}"] if why else []


def restricted_to(a: Arm, b: Arm) -> Arm:
    """Return the baseline with the questions that a stopped arm was asked, and no others."""
    return replace(a, data=_selected(a.data, np.isin(a.data.ids, b.data.ids)))


def _selected(data: Columns, rows: NDArray[np.bool_]) -> Columns:
    changed: dict[str, Any] = {
        field.name: getattr(data, field.name)[rows]
        for field in fields(data)
        if isinstance(getattr(data, field.name), np.ndarray)
    }
    return replace(data, **changed, values={name: values[rows] for name, values in data.values.items()})
