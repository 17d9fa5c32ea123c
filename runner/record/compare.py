"""The comparability of two runs: treatment, confounds, budget, vacuous ablations, drift.

The arm's own keys are the treatment. A row of the instrument that differs is a confound and refuses the comparison,
unless a person declares it to be the treatment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.config import flatten
from runner.record.files import Figures
from runner.record.instrument import SYSTEM_ROWS, UNKNOWN, WHY, incomparable, mismatches, rows_named

_VERBATIM = "verbatim"
_MODE = "arm.ingest.mode"
_REWRITERS = ("arm.ingest.model", "arm.ingest.prompt", "arm.ingest.part_chars")


@dataclass(frozen=True)
class Confound:
    """A row that does not match and that nobody declared."""

    row: str
    a: Any
    b: Any
    why: str

    def line(self) -> str:
        return f"{self.row}: {self.a!r} against {self.b!r} — {self.why}"


@dataclass(frozen=True)
class Comparability:
    """The differences between two runs, and what that allows one to say."""

    treatment: dict[str, tuple[Any, Any]]  # the arm's keys that differ
    confounds: list[Confound]
    ablated: list[str] = field(default_factory=list)  # declared rows that do differ
    declared: list[str] = field(default_factory=list)  # unknown rows that a person declared to be the same
    notes: list[str] = field(default_factory=list)

    @property
    def null(self) -> bool:
        """The same configuration twice: an A/A pair."""
        return not self.treatment and not self.ablated

    @property
    def bundle(self) -> list[str]:
        """Independent treatment keys when there is more than one."""
        # Another system brings another build and embedder: that is one swap.
        swapped = "arm.system" in self.treatment
        keys = list(self.treatment) + [row for row in self.ablated if not (swapped and row in SYSTEM_ROWS)]
        return keys if len(keys) > 1 else []


def _arm_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    # A setting that one version has and the other has not is one change, not two: empty sections do not count.
    left, right = ({k: v for k, v in flatten(arm).items() if v != {}} for arm in (a, b))
    changed = {}
    for key in list(left) + [key for key in right if key not in left]:
        if key != "name" and left.get(key) != right.get(key):
            changed[f"arm.{key}"] = (left.get(key), right.get(key))
    # Who rewrites a history counts only where one is rewritten: verbatim against notes is one change.
    modes = {str(arm.get("ingest.mode") or _VERBATIM) for arm in (left, right)}
    if _VERBATIM in modes:
        changed = {k: v for k, v in changed.items() if not k.startswith(_REWRITERS)}
    if len(modes) == 1:
        changed.pop(_MODE, None)
    if "arm.system" in changed:
        # Another system has other knobs: the swap is one treatment, the shared read side is still told apart, and so
        # is what both are told.
        kept = ("arm.system", _MODE)
        changed = {k: v for k, v in changed.items() if k in kept or k.startswith("arm.recall.")}
    return changed


def compare(
    config_a: Mapping[str, Any],
    config_b: Mapping[str, Any],
    rows_a: Mapping[str, Any],
    rows_b: Mapping[str, Any],
    declared: Sequence[str] = (),
    same: Sequence[str] = (),
) -> Comparability:
    """Compare two recorded runs.

    Parameters
    ----------
    config_a, config_b
        Recorded configs as plain mappings.
    rows_a, rows_b
        Recorded instrument rows.
    declared
        Instrument rows that a person declares to be the treatment (``gate.treatment``).
    same
        Rows, or groups of rows, that are unknown and that a person declares to be the same (``gate.same``). What is
        known on both sides and differs cannot be declared away.

    Raises
    ------
    UsageError
        When a declared word names no row.
    """
    declared, same = rows_named(w for w in declared if w != "served"), rows_named(same)
    treatment = _arm_changes(config_a.get("arm", {}), config_b.get("arm", {}))
    swapped = "arm.system" in treatment
    confounds, ablated, trusted, blind, notes = [], [], [], [], []
    for row in mismatches(rows_a, rows_b):
        left, right = rows_a.get(row, UNKNOWN), rows_b.get(row, UNKNOWN)
        follows = row in SYSTEM_ROWS and swapped and UNKNOWN not in (left, right)
        # A knob that switches the reranker on is the treatment; the model it then uses only follows from it.
        follows = follows or (row == "reranker" and "none" in (left, right) and bool(treatment))
        # A history that is rewritten is another index.
        rewritten = any(name == _MODE or name.startswith(_REWRITERS) for name in treatment)
        follows = follows or (row == "index_revision" and rewritten and UNKNOWN not in (left, right))
        if row in declared:
            if left != right:
                ablated.append(row)
            else:
                blind.append(row)
        elif row in same and incomparable(row, left, right):
            trusted.append(row)
        elif follows:
            notes.append(f"{row}: {_short(left)} against {_short(right)}, which follows from the treatment")
        else:
            confounds.append(Confound(row, left, right, WHY.get(row, "the instrument differs")))
    for key in ("arm.recall.limit", "arm.recall.max_chars"):
        if key in treatment:
            left, right = treatment[key]
            notes.append(f"unequal recall budget: {key} {_bound(left)} against {_bound(right)}")
    if blind:
        notes.append(f"unknown in both runs, declared to be part of the treatment: {', '.join(blind)}")
    if trusted:
        notes.append(f"declared to be the same by a person, not recorded: {', '.join(trusted)} (gate.same)")
    if ablated:
        notes.append(f"an ablation of {', '.join(ablated)}, declared by gate.treatment")
    found = Comparability(treatment, confounds, ablated, trusted, notes)
    if found.bundle:
        notes.append(f"a bundle of {len(found.bundle)} treatments, not one: {', '.join(found.bundle)}")
    return found


def _short(value: Any) -> str:
    """Return a value as a note shows it, a hash by its first digits."""
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b", r"\1…", str(value))


def _bound(value: Any) -> str:
    return "unbounded" if value is None else str(value)


def drift(a: Figures, b: Figures) -> list[str]:
    """Return notes on served models that differ and windows that do not overlap."""
    notes = []
    served_a, served_b = set(a.served), set(b.served)
    # An arm whose every answer was a refusal never asked the judge: it cannot say which one was served.
    unasked = any(not (judge := figures.usage.get("judge")) or not judge.calls for figures in (a, b))
    nested = unasked and (served_a <= served_b or served_b <= served_a)
    if served_a != served_b and (served_a or served_b) and not nested:
        notes.append(
            f"drift: the servers say they served {', '.join(sorted(served_a)) or 'nothing'} "
            f"against {', '.join(sorted(served_b)) or 'nothing'}"
        )
    window_a, window_b = a.window, b.window
    if served_a and served_b and window_a and window_b and (window_a[1] < window_b[0] or window_b[1] < window_a[0]):
        gap = max(window_b[0] - window_a[1], window_a[0] - window_b[1])
        if gap > 3600:
            notes.append(f"drift: the arms ran {gap / 3600:.1f} hours apart; a provider may have changed in between")
    return notes
