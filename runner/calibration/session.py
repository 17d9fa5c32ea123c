"""One session of a calibration: word the probes, grade them, write each down as it is finished.

It is a session like any other: every paid reply is journalled before it is used, the budget holds, an interrupt
finishes what is in flight, and a kill loses nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from runner.calibration.file import Calibration
from runner.calibration.probes import KINDS, Probe, ProbePlan
from runner.calibration.reader_wording import READER, ReaderWording
from runner.config import Experiment
from runner.errors import EndpointUnusable, ModelFault, RecordError
from runner.experiment.grade import JudgeGrader, conclude
from runner.experiment.session import Observer, RunSession
from runner.llm import Model, connect
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.record import journal
from runner.record.rundir import RunDir
from runner.record.usage import by_stage
from runner.types import LABELS, REPHRASING_REFUSED, STATUSES, Question, Row, Texts, Usage

TEMPLATE: Final = "template:"  # prefix of how a template worded a probe


class GradedProbe(Row, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``probes.jsonl``: a row, with what was graded. ``wording`` is ``reader`` or ``template:NAME``."""

    kind: str
    question: str
    text: str
    wording: str
    donor: str = ""


class CalibrationDir(RunDir):
    """The directory of a calibration: ``calibration.json``, ``probes.jsonl``, ``texts.jsonl`` and ``calls.jsonl``."""

    @property
    def rows_path(self) -> Path:
        return self.path / "probes.jsonl"

    def rows(self) -> Any:
        return journal.read(self.rows_path, GradedProbe)

    def latest(self) -> list[GradedProbe]:
        """Return the last line of every probe; one that was asked again stands twice.

        Raises
        ------
        RecordError
            When a line is damaged, or no line of a probe.
        """
        last: dict[str, GradedProbe] = {}
        for row in self.rows():
            if row.kind not in KINDS or not row.labels or not {*row.labels} <= {*LABELS, *STATUSES}:
                raise RecordError(f"{self.rows_path}: '{row.id}' is no graded probe; calibrate again elsewhere")
            last[row.id] = row
        return list(last.values())

    def repair(self) -> int:
        return sum(journal.repair(path) for path in (self.rows_path, self.texts_path, self.calls_path))


@dataclass(frozen=True)
class PreparedCalibration:
    """A calibration looked up and checked; nothing is spent yet. ``header`` is its file before the first probe."""

    experiment: Experiment
    judge: Judge
    rephrasing: ReaderWording | None
    prices: Prices
    plan: ProbePlan
    header: Calibration


@dataclass(frozen=True)
class WordedProbe:
    """The wording of a probe, what its reader served and used, and a flag where the reader's reply did not pass."""

    text: str
    wording: str
    flags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    used: tuple[tuple[str, Usage], ...] = ()


class CalibrationSession(RunSession):
    """Grades what is not graded yet."""

    def __init__(
        self, place: CalibrationDir, setup: PreparedCalibration, observer: Observer, *, retry_errors: bool = False
    ) -> None:
        run = setup.experiment.run
        super().__init__(place, run, len(setup.plan.probes), observer, retry_errors=retry_errors)
        self._setup = setup
        self._reading: Model | None = None

    def _connect(self, models: list[Model]) -> None:
        setup = self._setup
        configs = [setup.experiment.judge, *([setup.experiment.reader] if setup.rephrasing else [])]
        for config in configs:
            models.append(connect(config, setup.prices))
        names = [config.model for config in configs if config.provider == "openai"]
        self._ledger.spend.check_prices([name for name in names if setup.prices.usd(name, 1, 1, 0) is None])
        self._judge = JudgeGrader(setup.judge, models[0], self._ledger)
        self._reading = models[1] if setup.rephrasing else None

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            await self._start_each(group, asyncio.Semaphore(self._config.concurrency), self._left(), self._probe)

    def _left(self) -> Iterable[Probe]:
        return (probe for probe in self._setup.plan.probes if probe.id not in self._done)

    async def _probe(self, probe: Probe) -> None:
        self._stop.check()
        started = time.time()
        item, question = probe.item, replace(probe.item.question, id=probe.id)  # by which its calls are known
        worded = await self._worded(probe, question)
        graded = [await self._judge.grade(question, worded.text, repeat) for repeat in range(self._config.repeats)]
        conclusion = conclude([one.label for one in graded])
        row = GradedProbe(
            id=probe.id,
            scenario=item.scenario,
            cluster=item.cluster,
            category=item.question.category,
            status=conclusion.status,
            error=conclusion.error,
            label=conclusion.label,
            labels=conclusion.labels,
            metrics=conclusion.metrics,
            flags=worded.flags,
            usage=by_stage([*worded.used, *(use for one in graded for use in one.used)]),
            started=started,
            models=tuple(dict.fromkeys([*worded.models, *(name for one in graded for name in one.models)])),
            kind=probe.kind,
            question=item.question.id,
            text=worded.text,
            wording=worded.wording,
            donor=probe.donor if probe.donor != item.question.id else "",
        )
        texts = Texts(
            id=probe.id,
            question=question.text,
            gold=question.gold,
            answers=(worded.text,),
            reasons=tuple(one.label.reason for one in graded),
        )
        self._finished(row, texts)

    async def _worded(self, probe: Probe, question: Question) -> WordedProbe:
        """Return the text to grade: the reader's, where it is asked and its reply passes; else the template's."""
        template = WordedProbe(probe.text, TEMPLATE + probe.template)
        if self._setup.rephrasing is None or self._reading is None:
            return template
        request = self._setup.rephrasing.request(probe)
        try:
            reply = await self._ledger.complete(self._reading, request, question.id, READER, 0)
        except EndpointUnusable:
            raise
        except ModelFault:  # counted as a reply that did not pass: the template words it
            return WordedProbe(template.text, template.wording, (REPHRASING_REFUSED,))
        text = self._setup.rephrasing.accepted(probe, reply.text)
        return WordedProbe(
            probe.text if text is None else text,
            template.wording if text is None else READER,
            (REPHRASING_REFUSED,) if text is None else (),
            (reply.model,),
            ((READER, reply.usage),),
        )
