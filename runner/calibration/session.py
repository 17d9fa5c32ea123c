"""One sitting of a calibration: word the probes, grade them, write each down as it is finished.

It is a sitting like any other: every paid reply is journalled before it is used, the budget holds, an interrupt
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
from runner.calibration.probes import KINDS, Plan, Probe
from runner.calibration.reader_wording import READER, Rephrasing
from runner.config import Experiment
from runner.errors import EndpointUnusable, ModelFault, RecordError, RunnerError
from runner.experiment.answer import complete
from runner.experiment.grade import Grading, conclude
from runner.experiment.session import Observer, RunSession
from runner.experiment.stop import StopRequested
from runner.llm import Model, connect
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.record import journal
from runner.record.rundir import RunDir
from runner.types import LABELS, STATUSES, Label, Row, Texts

TEMPLATE: Final = "template:"  # prefix of how a template worded a probe
REFUSED: Final = "rephrasing_refused"  # flag: the reader's reply did not pass, or failed; the template was used


class Graded(Row, kw_only=True, omit_defaults=True):
    """One line of ``probes.jsonl``: a row, with what was graded. ``wording`` is ``reader`` or ``template:NAME``."""

    kind: str
    question: str
    text: str
    wording: str
    donor: str = ""


class Place(RunDir):
    """The directory of a calibration: ``calibration.json``, ``probes.jsonl``, ``texts.jsonl`` and ``calls.jsonl``."""

    @property
    def rows_path(self) -> Path:
        return self.path / "probes.jsonl"

    def rows(self) -> Any:
        return journal.read(self.rows_path, Graded)

    def latest(self) -> list[Graded]:
        """The last line of every probe: one that was asked again stands twice.

        Raises
        ------
        RecordError
            When a line is damaged, or no line of a probe.
        """
        last: dict[str, Graded] = {}
        for row in self.rows():
            if row.kind not in KINDS or not row.labels or not {*row.labels} <= {*LABELS, *STATUSES}:
                raise RecordError(f"{self.rows_path}: '{row.id}' is no graded probe; calibrate again elsewhere")
            last[row.id] = row
        return list(last.values())

    def repair(self) -> int:
        return sum(journal.repair(path) for path in (self.rows_path, self.texts_path, self.calls_path))


@dataclass(frozen=True)
class Setup:
    """A calibration looked up and checked; nothing is spent yet. ``header`` is its file before the first probe."""

    experiment: Experiment
    judge: Judge
    rephrasing: Rephrasing | None
    prices: Prices
    plan: Plan
    header: Calibration


class Session(RunSession):
    """Grades what is not graded yet."""

    def __init__(self, place: Place, setup: Setup, observer: Observer, *, retry_errors: bool = False) -> None:
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
        self._grading = Grading(setup.judge, models[0], self._ledger)
        self._reading = models[1] if setup.rephrasing else None

    async def _work(self) -> None:
        slots = asyncio.Semaphore(self._config.concurrency)
        async with asyncio.TaskGroup() as group:
            for probe in self._left():
                await slots.acquire()
                if self._brake.reason is not None:
                    break
                task = group.create_task(self._probe(probe))
                task.add_done_callback(lambda _: slots.release())

    def _left(self) -> Iterable[Probe]:
        return (probe for probe in self._setup.plan.probes if probe.id not in self._done)

    async def _probe(self, probe: Probe) -> None:
        try:
            self._brake.check()
            row = self._row(probe)
            row.text = await self._worded(probe, row)
            question = replace(probe.item.question, id=probe.id)  # by which its calls are known
            said: list[Label] = []
            models: list[str] = []
            for repeat in range(self._config.repeats):
                said.append(await self._grading.label(question, row.text, repeat, row, models))
            row.models = tuple(dict.fromkeys([*row.models, *models]))
            conclude(row, said)
            texts = Texts(
                id=probe.id,
                question=question.text,
                gold=question.gold,
                answers=(row.text,),
                reasons=tuple(label.reason for label in said),
            )
            self._finished(row, texts)
        except StopRequested:
            return
        except RunnerError as error:
            self._brake.pull(error)

    def _row(self, probe: Probe) -> Graded:
        item = probe.item
        return Graded(
            id=probe.id,
            scenario=item.scenario,
            cluster=item.cluster,
            category=item.question.category,
            started=time.time(),
            kind=probe.kind,
            question=item.question.id,
            text=probe.text,
            wording=TEMPLATE + probe.template,
            donor=probe.donor if probe.donor != item.question.id else "",
        )

    async def _worded(self, probe: Probe, row: Graded) -> str:
        """The text to grade: the reader's, where it is asked and its reply passes; else the template's."""
        if self._setup.rephrasing is None or self._reading is None:
            return probe.text
        request = self._setup.rephrasing.request(probe)
        question = replace(probe.item.question, id=probe.id)
        text = None
        try:
            reply = await complete(self._ledger, self._reading, request, question, READER, 0, row)
            row.models = (reply.model,)
            text = self._setup.rephrasing.accepted(probe, reply.text)
        except EndpointUnusable:
            raise
        except ModelFault:
            pass  # counted as a reply that did not pass: the template words it
        if text is None:
            row.flags = (*row.flags, REFUSED)
            return probe.text
        row.wording = READER
        return text
