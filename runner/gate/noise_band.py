"""``gate.band=from:DIR``: the null band, measured by an A/A sweep on the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from runner.config import GateConfig, digest, own_path
from runner.errors import Refused, UsageError
from runner.gate.arm import Arm, open_arm
from runner.gate.compare_arms import compare_arms
from runner.record.instrument import SYSTEM_ROWS, WHY, mismatches, rows_named
from runner.record.rundir import is_run, runs_under


def resolve_band(settings: GateConfig, arms: Sequence[Arm]) -> tuple[GateConfig, str | None]:
    """Return the settings with a number for a band, and what to say about where it comes from.

    Parameters
    ----------
    settings
        Of the gate; ``band`` may be ``from:DIR``.
    arms
        Those compared, the baseline first: the band must have been measured with its instrument. That it was measured
        with another memory than any of them is said, and allowed.

    Raises
    ------
    UsageError
        When the directory holds no A/A pair.
    Refused
        When the pair was measured on other questions or with another instrument, is not finished, or says nothing
        (:func:`runner.stats.verdict.band_from_null`).
    """
    if settings.band_source is None:
        return settings, None
    arm, compared = arms[0], [one.config for one in arms]
    path = own_path(settings.band_source)
    where = f"gate.band=from:{path}"
    if not path.is_dir():
        raise UsageError(f"{where}: no such directory; name an A/A sweep (-m run.replicate=0,1 +arm=NAME)")
    opened = settings.model_copy(update={"band": 0.0, "min_delta": 0.0})
    runs = [] if is_run(path) else runs_under(path)
    nulls = [open_arm(run, run.path.name, opened) for run in runs]
    other: list[str] = []
    bands: dict[str, float] = {}
    for a, b in combinations(nulls, 2):
        pair = compare_arms(a, b, opened)
        if not pair.comparability.null or pair.comparability.confounds:
            continue
        differs = _other_instrument(a, arm, settings)
        if differs:
            other.append(differs)
        elif pair.null_band is None:
            why = pair.notes[-1] if pair.outcome == "null" and pair.notes else pair.reason
            raise Refused(f"{where}: the A/A pair {a.name} and {b.name} does not measure noise: {why}")
        else:
            bands[f"{a.name} and {b.name}"] = pair.null_band * 100
    if bands:
        widest = max(bands, key=lambda name: bands[name])
        of = f", the widest of {len(bands)}" if len(bands) > 1 else ""
        note = f"band {bands[widest]:.1f} pp, measured by the A/A pair {widest} of {path.name}{of}"
        memories = {digest(null.config["arm"] | {"name": ""}) for null in nulls}
        if memories.isdisjoint(digest(one["arm"] | {"name": ""}) for one in compared):
            note += f": of another memory ({nulls[0].config['arm']['name']}), which may be louder or quieter than these"
        return settings.model_copy(update={"band": bands[widest]}), note
    if other:
        raise Refused(f"{where}: measured with another instrument ({other[0]}); run the A/A sweep with this one")
    raise UsageError(f"{where}: holds no A/A pair; make one with -m run.replicate=0,1 +arm=NAME")


def _other_instrument(null: Arm, arm: Arm, settings: GateConfig) -> str:
    """Return the first row in which the A/A pair differs from the arms to be compared, and why that matters."""
    if null.metric != arm.metric:
        return f"metric {null.metric} against {arm.metric}"
    declared = {*rows_named(settings.same), *rows_named(w for w in settings.treatment if w != "served")}
    mine, theirs = arm.instrument.rows, null.instrument.rows
    for row in mismatches(mine, theirs):
        if row not in SYSTEM_ROWS and row not in declared:
            return f"{row}: {theirs.get(row)!r} against {mine.get(row)!r} — {WHY.get(row, 'the instrument differs')}"
    return ""
