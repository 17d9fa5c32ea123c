"""Refusals, the word of an allowed verdict, and bounds of what failed questions could change."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from runner.config import GateConfig
from runner.errors import Refused
from runner.gate.arm import Arm
from runner.gate.comparison import Comparison
from runner.stats.verdict import band_from_null, excludes_zero

# Rows whose declared ablation leaves retrieval alone: equal retrieval is then what one wants, not a vacuous pair.
_AFTER_RETRIEVAL: Final = ("reader.", "judge.", "repeats")
_BUILD: Final = frozenset({"server_build", "index_revision"})  # a harmless change of code retrieves the same, and may


def too_many_lost(
    pair: Comparison,
    a: Arm,
    b: Arm,
    measured: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    headline: NDArray[np.bool_],
    settings: GateConfig,
) -> bool:
    """Refuse where too much of the headline is missing from one arm: failed there, or measurable in the other only.

    An arm must not choose its own denominator: a question that counts for the other arm and not for this one is lost
    like a failed one.
    """
    counted = headline & (measured[0] | measured[1] | ~a.data.ok | ~b.data.ok)
    total = int(counted.sum())
    pair.errors = (int((counted & ~a.data.ok).sum()), int((counted & ~b.data.ok).sum()))
    for arm, mine, failed in ((a, measured[0], pair.errors[0]), (b, measured[1], pair.errors[1])):
        lost = int((counted & ~(mine & arm.data.ok)).sum())
        if not total or lost / total <= settings.max_error_share:
            if lost > failed:
                pair.notes.append(
                    f"{pair.metric} is not measurable for {arm.name} on {lost - failed} of {total} questions"
                )
            continue
        limit = f"above gate.max_error_share={settings.max_error_share:.0%}"
        if failed >= lost - failed:
            pair.reason = (
                f"{arm.name}: {failed} of {total} questions failed ({failed / total:.1%}), {limit}; {arm.retry_advice}"
            )
        else:
            pair.reason = (
                f"{arm.name}: {pair.metric} is not measurable on {lost - failed} of {total} questions "
                f"({(lost - failed) / total:.1%}), {limit}; an arm does not choose its own denominator"
            )
        return True
    return False


def conclude(pair: Comparison, a: Arm, b: Arm, identical: bool) -> Comparison:
    """Return outcome and reason from the statistics and from what forbids a verdict."""
    verdict = pair.verdict
    assert verdict is not None
    fakes = sorted({*a.instrument.fakes, *b.instrument.fakes})
    if fakes:
        pair.outcome = "refused"
        pair.reason = f"fake provider ({', '.join(fakes)}): a first look, never a verdict"
    elif pair.comparability.null:
        pair.outcome, pair.reason = "null", "the same configuration twice (A/A)"
        try:
            pair.null_band = band_from_null(verdict)
            pair.notes.append(
                f"measured null band: {pair.null_band * 100:.1f} pp (gate.band={pair.null_band * 100:.1f})"
            )
        except Refused as error:
            if excludes_zero(verdict):
                pair.outcome, pair.reason = "refused", f"the same configuration twice (A/A); {error}"
            else:
                pair.notes.append(str(error))
    elif identical and not pair.comparability.treatment and set(pair.comparability.ablated) <= _BUILD:
        pair.outcome, pair.reason = "null", "the two builds retrieved the same for every question"
    elif identical and not any(row.startswith(_AFTER_RETRIEVAL) for row in pair.comparability.ablated):
        pair.outcome = "refused"
        pair.reason = (
            "vacuous ablation: both arms retrieved the same keys and the same context for every question, so the "
            "difference is run-to-run noise; use the pair as an A/A null, or check that the knobs reach the system"
        )
    else:
        pair.outcome = verdict.verdict
        pair.reason = (verdict.reason or "") + (", equivalent" if verdict.equivalent else "")
        threshold = verdict.min_delta
        undone = pair.bounds is not None and (
            (pair.outcome == "pass" and pair.bounds[0] <= threshold)
            or (pair.outcome == "fail" and pair.bounds[1] >= threshold)
        )
        if undone:
            pair.notes.append(f"errors_could_undo: the failed questions alone could turn this {pair.outcome}")
    return pair


def bounds(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    ok_a: NDArray[np.bool_],
    ok_b: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
) -> tuple[float, float] | None:
    """Return the difference if every failed question had gone against B, and if for it (values in [0, 1]).

    Only what failed is filled in: the side that was measured keeps its value. A question that no side measured counts
    on the accuracy axis, where every question has a label, and not where it may have had no evidence to find.
    """
    seen_a, seen_b = ok_a & np.isfinite(a), ok_b & np.isfinite(b)
    failed = chosen & ~(ok_a & ok_b)
    counted = chosen & ((seen_a & seen_b) | (failed & (seen_a | seen_b | (np.isfinite(a) & np.isfinite(b)))))
    if not (failed & counted).any():
        return None
    low = np.where(seen_b, b, 0.0) - np.where(seen_a, a, 1.0)
    high = np.where(seen_b, b, 1.0) - np.where(seen_a, a, 0.0)
    return float(low[counted].mean()), float(high[counted].mean())
