"""A calibration from its first probe to its file."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from runner.analysis.summary import stage_usage
from runner.calibration import file, rates
from runner.calibration.file import COMPLETE, INCOMPLETE, UNUSABLE, Calibration
from runner.calibration.probes import WORDS
from runner.calibration.reader_wording import READER
from runner.calibration.session import CalibrationDir, CalibrationSession, GradedProbe, PreparedCalibration
from runner.errors import RecordError, Refused, RunnerError, UsageError
from runner.experiment.execute import session_record
from runner.experiment.session import Observer
from runner.experiment.stop import stop_signals
from runner.record import provenance
from runner.record.files import StageUsage
from runner.record.usage import add
from runner.types import REPHRASING_REFUSED, Usage

# What a directory must agree in with the command that goes on in it, as a person would name it.
_IDENTITY = ("source", "rows", "slice", "seed", "asked", "repeats")
_WORDING = ("by", "model", "params", "prompts", "templates")


def make(
    place: CalibrationDir, setup: PreparedCalibration, observer: Observer, *, retry_errors: bool = False
) -> Calibration:
    """Grade what is left of a claimed directory's probes and write ``calibration.json``.

    The file stands from the first moment, as ``incomplete``; a calibration that stops early keeps every finished line
    and goes on when it is made again in the same directory.

    Raises
    ------
    Refused
        When the directory holds a calibration of another kind.
    RunnerError
        Why it stopped before its end, after everything that was finished is on disk.
    """
    header = _begun(place, setup.header)
    place.repair()
    _save(place, header)
    problem: RunnerError | None = None
    try:
        asyncio.run(_session(place, setup, observer, retry_errors))
    except RunnerError as error:
        problem = error
    made = finished_file(place, header, len(setup.plan.probes), problem)
    try:
        _save(place, made)
    except RecordError:
        if problem is None:
            raise
    if problem is not None:
        raise problem
    return made


async def _session(place: CalibrationDir, setup: PreparedCalibration, observer: Observer, retry_errors: bool) -> None:
    session = CalibrationSession(place, setup, observer, retry_errors=retry_errors)
    prices = {"date": setup.prices.date, "sha256": setup.prices.sha256}
    with session_record(place, {"prices": prices}), stop_signals(session.interrupt):
        await session.run()


def finished_file(
    place: CalibrationDir, header: Calibration, expected: int, problem: RunnerError | None
) -> Calibration:
    """Return the file that follows from the recorded probes; ``expected`` of them make it complete."""
    rows = place.latest()
    kinds, categories = rates.tallies((row.kind, row.category, row.labels) for row in rows)
    failed = rates.too_many_errors(kinds)
    state, reason = COMPLETE, ""
    if len(rows) < expected:
        state, reason = INCOMPLETE, str(problem or f"{expected - len(rows)} probes are not graded")
    elif failed:
        state, reason = UNUSABLE, "; ".join(_failure(kind, kinds[kind], rows) for kind in failed)
    wording = msgspec.structs.replace(
        header.wording,
        reader=sum(row.wording == READER for row in rows),
        template=sum(row.wording != READER for row in rows),
        refused=sum(REPHRASING_REFUSED in row.flags for row in rows),
    )
    return msgspec.structs.replace(
        header,
        state=state,
        reason=reason,
        kinds=kinds,
        categories=categories,
        youden=rates.youden(kinds),
        wording=wording,
        served=sorted({name for row in rows for name in row.models if name}),
        usage=_usage(place),
        ended=provenance.now(),
    )


def _failure(kind: str, tally: file.ProbeTally, rows: list[GradedProbe]) -> str:
    first = next((row.error for row in rows if row.kind == kind and row.error), "")
    share = f"{tally.errors} of {tally.probes} probes ({tally.errors / tally.probes:.1%})"
    return f"{WORDS[kind]}: {share} could not be graded, above {rates.MAX_ERROR_SHARE:.0%} (for example: {first})"


def _usage(place: CalibrationDir) -> dict[str, StageUsage]:
    total: dict[str, Usage] = {}
    for call in place.calls():
        total[call.role] = add(total.get(call.role), call.completion.usage)
    return {role: stage_usage(usage) for role, usage in sorted(total.items())}


def _begun(place: CalibrationDir, fresh: Calibration) -> Calibration:
    """Return the header to go on with: that of an earlier session where there is one of the same calibration."""
    try:
        there = file.read(place.path)
    except UsageError:
        if any(path.name not in ("lock", "run.log") for path in place.path.iterdir()):
            raise UsageError(
                f"{place.path}: holds other files and no calibration; give a folder that is new or empty (--into DIR)"
            ) from None
        return msgspec.structs.replace(fresh, started=provenance.now())
    for name, mine, theirs in _differences(fresh, there):
        raise Refused(
            f"{place.path}: holds a calibration with another {name}: {theirs!r} there, {mine!r} here; go on with the "
            f"same words, or begin another one elsewhere (--into DIR)"
        )
    return msgspec.structs.replace(fresh, started=there.started)


def _differences(fresh: Calibration, there: Calibration) -> list[tuple[str, Any, Any]]:
    found = []
    mine, theirs = fresh.to_dict(), there.to_dict()
    for key in _IDENTITY:
        left, right = mine[key], theirs[key]
        if key in ("rows", "slice") and isinstance(left, dict) and isinstance(right, dict):
            prefix = "" if key == "rows" else "slice."
            names = dict.fromkeys([*left, *right])
            found += [(prefix + k, left.get(k), right.get(k)) for k in names if left.get(k) != right.get(k)]
        elif left != right:
            found.append(({"asked": "number of --probes"}.get(key, key), left, right))
    for key in _WORDING:
        if mine["wording"][key] != theirs["wording"][key]:
            found.append((f"wording ({key})", mine["wording"][key], theirs["wording"][key]))
    return found


def _save(place: CalibrationDir, made: Calibration) -> None:
    place.write_json(file.NAME, made.to_dict())
