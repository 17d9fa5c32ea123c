"""A recorded run whose answers another judge grades: found, checked and sampled before anything is spent.

The run may come from this runner or from an import: nothing is looked up but its files, neither its system nor its
harness nor its dataset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from runner.config import RunConfig, did_you_mean, own_path
from runner.errors import ConfigError, UsageError
from runner.record import journal
from runner.record.files import CensusCounts, Instrument, RunProvenance
from runner.record.provenance import file_sha256
from runner.record.rundir import RunDir, is_run, runs_under
from runner.stats.allocation import stratified_sample
from runner.types import INGEST_ERROR, NOT_SETTLED, OK, READER_ERROR, SEARCH_ERROR, Row, Texts

# What a command line may say beside run.from: which judge, how much of it, and what it may cost.
SETTABLE: Final = (
    *("concurrency", "from", "max_calls", "max_usd", "no_progress_s", "prices", "sample", "seed"),
    *("stop_after_errors", "texts"),
)
_RECORDED: Final = ("harness", "arm", "reader", "slice", "budget")
_UNASKED: Final = (INGEST_ERROR, NOT_SETTLED, SEARCH_ERROR)  # the reader was never asked
_BATCH: Final = 1 << 20  # bytes of texts decoded together


class _Answers(msgspec.Struct):
    """The part of a line of ``texts.jsonl`` that says whether there is anything to grade."""

    id: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordedAnswers:
    """A recorded run with answers.

    Attributes
    ----------
    rows
        Each question's last row, by id.
    lines
        For each question the line of ``texts.jsonl``, from 0, that holds its last texts; a question whose memory failed
        has none.
    answered
        Questions that have an answer to grade.
    rows_sha256, texts_sha256
        Of the two files as they were read.
    """

    run: RunDir
    instrument: Instrument
    provenance: RunProvenance
    rows: dict[str, Row]
    lines: dict[str, int]
    answered: set[str]
    rows_sha256: str
    texts_sha256: str

    @property
    def answers(self) -> str:
        """Return the identity of the answers: the digest of the texts of the run that asked for them."""
        source = self.provenance.source
        return (source.answers if source else "") or self.texts_sha256

    def batches(self) -> Iterator[list[Texts]]:
        """Yield the last texts of every question, in the order of the file."""
        number = 0
        for batch in journal.batches(self.run.texts_path, Texts, _BATCH):
            last = [texts for place, texts in enumerate(batch, number) if self.lines.get(texts.id) == place]
            number += len(batch)
            yield last


def config_of_recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a run with ``run.from``: the recorded run's, with the judge and the budget of this one.

    Raises
    ------
    UsageError, ConfigError
        When there is no such run, it has no answers, or the config says twice what was asked.
    RecordError
        When its config cannot be read.
    """
    run, judge = dict(values["run"]), values["judge"]
    place = str(run["from"])
    if values.get("arm") is not None:
        raise ConfigError([f"arm: cannot be chosen with run.from={place}, whose answers are recorded; leave it out"])
    source = _found(place).experiment()
    if source.axis == "recall":
        raise UsageError(
            f"run.from={place}: was measured on the recall axis (reader=none), so there are no answers to grade; "
            f"run it with a reader and a judge"
        )
    if not isinstance(judge, Mapping) or judge.get("provider", "none") in ("none", "imported"):
        raise ConfigError([f"run.from={place} needs a judge that can be asked: choose one (judge=gpt-4.1)"])
    recorded = source.model_dump(mode="json")
    unset = {name: value for name, value in RunConfig().model_dump().items() if name in SETTABLE}
    mine = {name: run[name] for name in SETTABLE if name in run}
    return {
        **{name: recorded[name] for name in _RECORDED},
        "judge": judge,
        "gate": values.get("gate", {}),
        "run": {**recorded["run"], "stop_when_decided": False, **unset, **mine},
    }


def open_recorded(place: str) -> RecordedAnswers:
    """Read a run's rows and find its answers.

    Parameters
    ----------
    place
        A run directory.

    Raises
    ------
    UsageError
        When there is no run, it is unfinished, or no answer is recorded; the line says what to do.
    RecordError
        When a file is damaged.
    """
    run = _found(place)
    instrument = run.instrument()
    provenance = run.provenance()
    rows = {row.id: row for row in run.rows()}
    expected = instrument.census.questions
    if len(rows) < expected:
        raise UsageError(
            f"run.from={place}: is not finished, {expected - len(rows)} of {expected} questions have no row; first: "
            f"python -m runner resume {place}{' --to-the-end' if run.decided() else ''}"
        )
    lines: dict[str, int] = {}
    answered: set[str] = set()
    number = 0
    for batch in journal.batches(run.texts_path, _Answers, _BATCH):
        for texts in batch:
            row = rows.get(texts.id)
            if row is not None:
                lines[texts.id] = number
                answered.discard(texts.id)
                if any(gradable(row, texts.answers)):
                    answered.add(texts.id)
            number += 1
    if not answered:
        why = "it was run with run.texts=false, or imported without them" if not number else "its reader failed on all"
        raise UsageError(f"run.from={place}: no answer is recorded ({why}), so there is nothing to grade")
    lost = sum(1 for name, row in rows.items() if row.status == OK and row.label and name not in answered)
    if lost and run.experiment().arm.system != "imported":  # other harnesses keep a label without its answer
        raise UsageError(
            f"run.from={place}: {lost} of {len(rows)} answers were graded and are not in {run.texts_path.name}; "
            f"the record is damaged: run it again, or find the whole file"
        )
    return RecordedAnswers(
        run, instrument, provenance, rows, lines, answered, file_sha256(run.rows_path), file_sha256(run.texts_path)
    )


def answers_per_repeat(row: Row, answers: Sequence[str]) -> tuple[str, ...]:
    """Return an answer per repeat; a single answer that was graded several times is repeated as often."""
    return tuple(answers) * len(row.labels) if len(answers) == 1 and row.labels else tuple(answers)


def gradable(row: Row, answers: Sequence[str]) -> list[bool]:
    """Return which repeats have an answer: none where the memory failed, else all whose reader did not fail."""
    if row.status in _UNASKED:
        return []
    said = answers_per_repeat(row, answers)
    return [not (place < len(row.labels) and row.labels[place] == READER_ERROR) for place in range(len(said))]


def sample_ids(recorded: RecordedAnswers, size: int | None, seed: int) -> list[str]:
    """Return sorted question ids: all of the run, or a sample of those with an answer.

    Each category has its share of the run, so that figures over the sample speak of the run, and within it ids are
    drawn (:func:`runner.stats.allocation.stratified_sample`): runs that answered the same questions give
    the same sample, and a larger sample holds every smaller one's share.

    Parameters
    ----------
    size
        Questions to draw; all of the run's, those without an answer included, when ``None``.
    seed
        Of the draw.
    """
    if size is None:
        return sorted(recorded.rows)
    strata: dict[str, list[str]] = {}
    for name in recorded.answered:
        strata.setdefault(recorded.rows[name].category, []).append(name)
    return sorted(stratified_sample(strata, size, seed))


def census_of(recorded: RecordedAnswers, ids: Sequence[str]) -> CensusCounts:
    """Count some of the run's questions as the instrument holds them; events as recorded."""
    rows = [recorded.rows[name] for name in ids]
    return CensusCounts(
        questions=len(rows),
        scenarios=len({row.scenario for row in rows}),
        clusters=len({row.cluster for row in rows}),
        events=recorded.instrument.census.events,
        by_category=dict(Counter(row.category for row in rows)),
    )


def unknown_key(key: str) -> str | None:
    """Return the reason why an override cannot stand beside ``run.from``; ``None`` when it can."""
    head, _, rest = key.partition(".")
    if head in (*_RECORDED, "experiment"):
        return f"{key}: cannot be set with run.from, whose answers are recorded; judge, gate and budget can be"
    name = rest.split(".")[0]
    if head == "run" and name not in SETTABLE:
        known = ", ".join(f"run.{item}" for item in SETTABLE)
        return f"{key}: cannot be set with run.from{did_you_mean(name, SETTABLE)}; there are {known}, judge and gate"
    return None


def _found(place: str) -> RunDir:
    path = own_path(place)
    if not path.is_dir():
        raise UsageError(f"run.from={place}: no such directory; give the directory of a recorded run")
    if is_run(path):
        return RunDir(path)
    inside = runs_under(path)
    if inside:
        names = ",".join(str(Path(place) / run.path.name) for run in inside)
        raise UsageError(f"run.from={place}: is a sweep; name its runs: python -m runner -m run.from={names} judge=…")
    raise UsageError(f"run.from={place}: not a run directory (no config.yaml)")
