"""``gate.calibration``: the difference corrected for the judge's own errors, beside the raw one, never in its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runner.calibration import file, rates
from runner.calibration.file import COMPLETE, Calibration
from runner.calibration.probes import RIGHT, SPECIFIC, VAGUE, WORDS
from runner.config import GateConfig, own_path
from runner.errors import Refused, UsageError
from runner.gate.arm import Arm
from runner.gate.comparison import Comparison, Correction, JudgeCorrection
from runner.record.instrument import UNKNOWN, WHY, mismatches, rows_named
from runner.score.label_metrics import ACCURACY
from runner.stats.judge_error import (
    JudgeRates,
    correct_for_judge,
)
from runner.stats.verdict import Verdict, verdict_of

MIN_PROBES: Final = 20  # of each class in a category, below which it is not corrected by itself


def add_judge_correction(groups: Sequence[tuple[Sequence[Arm], Sequence[Comparison]]], settings: GateConfig) -> None:
    """Add the corrected difference to every pair that has a verdict.

    Parameters
    ----------
    groups
        Arms that were compared, and their pairs, whose ``corrected`` is set.

    Raises
    ------
    UsageError, RecordError
        When there is no such calibration, or this gate does not read labels.
    Refused
        When it was made with another judge, benchmark or number of repeats, is not usable, or lacks a class.
    """
    if settings.calibration is None:
        return
    path = own_path(settings.calibration)
    made = file.read(path)
    _require_usable(path, made)
    for arms, pairs in groups:
        named = {arm.name: arm for arm in arms}
        for pair in pairs:
            if pair.metric != ACCURACY:
                raise UsageError(
                    f"gate.calibration: {pair.metric} is not a judge's label; leave it out, or gate on answers"
                )
            if pair.verdict is not None and pair.verdict.n:  # else the arms do not compare, and that is told
                a, b = named[pair.a], named[pair.b]
                pair.corrected = _correction_of(path, made, pair, pair.verdict, a, _notes(path, made, a, b, settings))


def _require_usable(path: Path, made: Calibration) -> None:
    if made.state != COMPLETE:
        raise Refused(f"gate.calibration={path}: {made.state} ({made.reason}); finish it, or calibrate again")
    for kind in (RIGHT, SPECIFIC):
        if kind not in made.kinds or not made.kinds[kind].graded:
            raise Refused(
                f"gate.calibration={path}: has no graded {WORDS[kind]} answer, and both classes are needed; calibrate "
                f"with probes (python -m runner calibrate judge=… harness=…)"
                + (", or name a run of right answers too (--known-right DIR)" if kind == RIGHT else "")
            )


def _notes(path: Path, made: Calibration, a: Arm, b: Arm, settings: GateConfig) -> list[str]:
    """Return what must be said of a calibration that belongs to both arms.

    Raises
    ------
    Refused
        When it does not, naming the row and both values.
    """
    declared = set(rows_named(settings.same))
    trusted: dict[str, None] = {}
    mine = {row: made.rows.get(row, UNKNOWN) for row in file.ROWS}
    for arm in (a, b):
        theirs = {row: arm.instrument.rows.get(row, UNKNOWN) for row in file.ROWS}
        for row in mismatches(mine, theirs):
            if row in declared and UNKNOWN in (mine[row], theirs[row]):
                trusted[row] = None
                continue
            raise Refused(
                f"gate.calibration={path}: made with another {row}: {mine[row]!r} there, {theirs[row]!r} in {arm.name} "
                f"— {WHY.get(row, 'the instrument differs')}; calibrate with this judge and benchmark, or leave it out"
                + (f" (--declare {row}=same where you know better)" if UNKNOWN in (mine[row], theirs[row]) else "")
            )
    notes = [f"FAKE: the calibration was made with {', '.join(made.fakes)}: a first look, never a correction"]
    notes = notes if made.fakes else []
    if trusted:
        notes.append(f"declared to be the same as in the calibration by a person: {', '.join(trusted)} (gate.same)")
    served = {*a.summary.served, *b.summary.served}
    if made.served and served and not set(made.served) & served:
        notes.append(
            f"drift: the calibration was served by {', '.join(made.served)}, the arms by {', '.join(sorted(served))}"
        )
    return notes


def _correction_of(
    path: Path, made: Calibration, pair: Comparison, verdict: Verdict, a: Arm, notes: Sequence[str]
) -> JudgeCorrection | None:
    main = _corrected(verdict, rates.rates_of(made.kinds, SPECIFIC))
    if main is None:
        return None
    names = a.instrument.harness.categories
    categories = {}
    for key, kinds in made.categories.items():
        name = f"{key} {names.get(key, key)}"
        enough = all(kind in kinds and kinds[kind].graded >= MIN_PROBES for kind in (RIGHT, SPECIFIC))
        item = (
            _corrected(pair.categories[name], rates.rates_of(kinds, SPECIFIC))
            if enough and name in pair.categories
            else None
        )
        if item is not None:
            categories[name] = item
    return JudgeCorrection(
        source=str(path),
        judge=made.judge,
        made=made.ended[:10] or UNKNOWN,
        specific=main,
        vague=_corrected(verdict, rates.rates_of(made.kinds, VAGUE)),
        categories=categories,
        raw=verdict.verdict,
        notes=tuple(notes),
    )


def _corrected(verdict: Verdict, found: JudgeRates | None) -> Correction | None:
    """Return a correction with the verdict on it; ``None`` without rates or without an interval to correct."""
    interval, delta = verdict.deciding, verdict.delta
    if found is None or interval is None or delta is None:
        return None
    result = correct_for_judge(delta, min(interval.low, delta), max(interval.high, delta), found)
    if result.mean is None or result.low is None or result.high is None:
        return Correction(found, result, None)
    if verdict.reason in ("too_few_clusters", "dominant_cluster", "no_items"):
        return Correction(found, result, "unresolved")  # what forbids a verdict, forbids this one
    outcome, _, _ = verdict_of(result.mean, result.low, result.high, verdict.min_delta, verdict.band)
    return Correction(found, result, outcome)
