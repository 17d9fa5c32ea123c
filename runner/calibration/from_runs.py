"""A calibration from recorded runs whose answers are known to be right, or wrong.

Answers that were made wrong on purpose and then graded say how often their judge passes such answers: every CORRECT is
an error of the judge. Nothing is asked; the labels are those of the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from runner.calibration import file, rates
from runner.calibration.file import COMPLETE, UNUSABLE, Calibration
from runner.calibration.probes import KINDS, WORDS
from runner.errors import RecordError, Refused, UsageError
from runner.record import journal, provenance
from runner.record.files import Instrument
from runner.record.instrument import UNKNOWN, WHY, mismatches, rows_named
from runner.record.rundir import RunDir, is_run
from runner.types import GOLD_EXCLUDED, LABELS, OK, STATUSES

RECORDED: Final = "recorded"


class _Graded(msgspec.Struct):
    """The part of a row that says how it was graded."""

    id: str
    category: str
    status: str = OK
    error: str = ""
    label: str = ""
    labels: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class _Gold(msgspec.Struct):
    abstain: bool = False


class _Known(msgspec.Struct):
    """The part of a text that says whether to abstain was right."""

    id: str
    gold: _Gold


def from_runs(runs: Mapping[str, Path], same: Sequence[str] = ()) -> Calibration:
    """Count how a judge labelled answers whose truth is known.

    Parameters
    ----------
    runs
        By kind (``right``, ``specific``, ``vague``), a run directory all of whose answers are of that kind. Without
        ``right`` the false positives are told, and nothing can be corrected with them.
    same
        Rows of the instrument, or groups of them, that are unknown in a record and that a person declares to be the
        same in all of these runs.

    Raises
    ------
    UsageError
        When a directory is no run, is not finished, or has no judged answers.
    Refused
        When the runs were not graded by one judge on one benchmark.
    """
    opened = {kind: _opened(runs[kind], kind) for kind in KINDS if kind in runs}
    if not opened:
        raise UsageError("calibrate: name a run whose answers are known to be wrong: --known-wrong DIR")
    (first_kind, (first, _)), *others = opened.items()
    declared = set(rows_named(same))
    rows = {name: first.rows.get(name, UNKNOWN) for name in ("dataset.version", *file.ROWS)}
    for kind, (instrument, _) in others:
        theirs = {name: instrument.rows.get(name, UNKNOWN) for name in file.ROWS}
        for row in mismatches({name: rows[name] for name in file.ROWS}, theirs):
            if row in declared and UNKNOWN in (rows[row], theirs[row]):
                rows[row] = theirs[row] if rows[row] == UNKNOWN else rows[row]
                continue
            raise Refused(
                f"calibrate: {WORDS[first_kind]} and {WORDS[kind]} were not graded alike, {row}: {rows[row]!r} against "
                f"{theirs[row]!r} — {WHY.get(row, 'the instrument differs')}"
                + (f" (--declare {row}=same where you know better)" if UNKNOWN in (rows[row], theirs[row]) else "")
            )
    left_out: Counter[str] = Counter()
    graded = [
        (kind, row.category, row.labels)
        for kind, (instrument, run) in opened.items()
        for row in _rows(run, instrument, left_out)
    ]
    kinds, categories = rates.tallies(graded)
    failed = rates.too_many_errors(kinds)
    reasons = [
        f"{WORDS[kind]}: {kinds[kind].errors} of {kinds[kind].probes} answers have no label, above "
        f"{rates.MAX_ERROR_SHARE:.0%}"
        for kind in failed
    ]
    about = first.harness
    fakes = {name for instrument, _ in opened.values() for name in instrument.fakes if name.startswith("judge")}
    return msgspec.structs.replace(
        file.empty(
            source=RECORDED,
            judge=str(rows["judge.model"]),
            harness=about.name,
            synthetic=about.synthetic,
            category_names=about.categories,
            rows=rows,
            fakes=sorted(fakes),
            runs={kind: run.path.name for kind, (_, run) in opened.items()},
            repeats=_number(rows["repeats"]),
            wording=file.Wording(by=RECORDED),
        ),
        state=UNUSABLE if failed else COMPLETE,
        reason="; ".join(reasons),
        left_out=dict(sorted(left_out.items())),
        kinds=kinds,
        categories=categories,
        youden=rates.youden(kinds),
        started=provenance.now(),
        ended=provenance.now(),
    )


def _opened(path: Path, kind: str) -> tuple[Instrument, RunDir]:
    if not is_run(path):
        raise UsageError(
            f"{path}: not a run directory (no config.yaml); {WORDS[kind]} takes a run, or an import of one"
        )
    run = RunDir(path)
    instrument = run.instrument()
    if instrument.axis == "recall":
        raise UsageError(f"{path}: has no judged answers; it is on the recall axis")
    return instrument, run


def _rows(run: RunDir, instrument: Instrument, left_out: Counter[str]) -> Iterable[_Graded]:
    """Yield the graded answers of a run that count, the last row of each question.

    Raises
    ------
    UsageError
        When the run is not finished.
    RecordError
        When a row holds what no judge says.
    """
    last = {row.id: row for row in journal.read(run.rows_path, _Graded)}
    missing = instrument.census.questions - len(last)
    if missing > 0:
        raise UsageError(f"{run.path}: {missing} questions are missing; finish it: python -m runner resume {run.path}")
    abstain = {text.id for text in journal.read(run.texts_path, _Known) if text.gold.abstain}
    comparable = set(instrument.harness.comparable)
    for row in last.values():
        if GOLD_EXCLUDED in row.flags:
            left_out["items whose gold a patch excludes"] += 1
        elif row.id in abstain or row.category not in comparable:
            left_out["items whose right answer is to abstain, or outside the comparable categories"] += 1
        else:
            yield _checked(run, row)


def _checked(run: RunDir, row: _Graded) -> _Graded:
    labels = row.labels or ((row.label,) if row.status == OK else (row.status,))
    if not {*labels} <= {*LABELS, *STATUSES} - {OK}:
        raise RecordError(f"{run.rows_path}: {row.id} has a label that no judge gives: run it again")
    return msgspec.structs.replace(row, labels=labels)


def _number(value: Any) -> int | str:
    return value if isinstance(value, int) and not isinstance(value, bool) else UNKNOWN
