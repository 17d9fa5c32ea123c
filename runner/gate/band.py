"""``gate.band=from:DIR``: the null band, measured by an A/A sweep on the same questions."""

from __future__ import annotations

from pathlib import Path

from runner.config import GateConfig
from runner.errors import Refused, UsageError
from runner.gate.arm import Arm, open_arm
from runner.gate.judging import compare_arms
from runner.record.instrument import SYSTEM_ROWS, WHY, mismatches, rows_named
from runner.record.rundir import is_run, runs_under


def resolved(settings: GateConfig, arm: Arm) -> tuple[GateConfig, str | None]:
    """The settings with a number for a band, and what to say about where it comes from.

    Parameters
    ----------
    settings
        Of the gate; ``band`` may be ``from:DIR``.
    arm
        The baseline: the band must have been measured with its instrument, the system under test excepted.

    Raises
    ------
    UsageError
        When the directory holds no A/A pair.
    Refused
        When the pair was measured on other questions or with another instrument, is not finished, or is no evidence
        (:func:`runner.stats.verdict.band_from_null`).
    """
    if settings.band_source is None:
        return settings, None
    path = Path(settings.band_source).expanduser()
    where = f"gate.band=from:{path}"
    if not path.is_dir():
        raise UsageError(f"{where}: no such directory; name an A/A sweep (-m run.replicate=0,1 +arm=NAME)")
    opened = settings.model_copy(update={"band": 0.0, "min_delta": 0.0})
    runs = [] if is_run(path) else runs_under(path)
    nulls = [open_arm(run, run.path.name, opened) for run in runs]
    seen: list[str] = []
    for i, a in enumerate(nulls):
        for b in nulls[i + 1 :]:
            pair = compare_arms(a, b, opened)
            if not pair.comparability.null or pair.comparability.confounds:
                continue
            other = _other_instrument(a, arm, settings)
            if other:
                seen.append(other)
                continue
            if pair.null_band is None:
                raise Refused(f"{where}: {'; '.join(pair.notes[-1:]) or pair.reason}: {pair.outcome}, {pair.reason}")
            band = pair.null_band * 100
            told = f"band {band:.1f} pp, measured by the A/A pair {a.name} and {b.name} of {path.name}"
            return settings.model_copy(update={"band": band}), told
    if seen:
        raise Refused(f"{where}: measured with another instrument ({seen[0]}); run the A/A sweep with this one")
    raise UsageError(f"{where}: holds no A/A pair; make one with -m run.replicate=0,1 +arm=NAME")


def _other_instrument(null: Arm, arm: Arm, settings: GateConfig) -> str:
    """The first row in which the A/A pair differs from the arms to be compared, and why that matters."""
    if null.metric != arm.metric:
        return f"metric {null.metric} against {arm.metric}"
    declared = {*rows_named(settings.same), *rows_named(w for w in settings.treatment if w != "served")}
    mine, theirs = arm.instrument["rows"], null.instrument["rows"]
    for row in mismatches(mine, theirs):
        if row not in SYSTEM_ROWS and row not in declared:
            return f"{row}: {theirs.get(row)!r} against {mine.get(row)!r} — {WHY.get(row, 'the instrument differs')}"
    return ""
