"""The loop of one run: scenarios stream in, rows stream out.

Memory is bounded by what is in flight: a scenario is dropped when its last question is written. Every finished model
call is journalled before anything is made of it, so that no kill makes a run pay twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Any

from runner.config import ModelConfig
from runner.errors import RunnerError, SystemFault
from runner.experiment.answer import AnswerAttempt, MemoryAnswers, ReaderAnswers
from runner.experiment.benchmark_guard import BenchmarkGuard
from runner.experiment.evidence import Evidence
from runner.experiment.grade import Grader, Grading
from runner.experiment.ingest import Ingesting
from runner.experiment.lexical_answers import Simplifying
from runner.experiment.model_calls import asking
from runner.experiment.prepare import PreparedExperiment
from runner.experiment.recall_budget import Delivered, fingerprint
from runner.experiment.search import EXISTING, Retrieving
from runner.experiment.session import Observer, RunSession
from runner.experiment.stop import StopRequested
from runner.llm import Model, connect
from runner.record.journal import Journal
from runner.record.rundir import RunDir
from runner.safe import mask
from runner.system import Opening
from runner.types import NO_SOURCE_OF_TRUTH, Ingest, Question, Row, Scenario, Texts

log = logging.getLogger("runner")


class QuestionLoop(RunSession):
    """One sitting of one run.

    Parameters
    ----------
    run_id
        What sets the namespaces of this run apart from those of others on one server.
    """

    def __init__(
        self,
        run: RunDir,
        ready: PreparedExperiment,
        observer: Observer,
        *,
        run_id: str = "run",
        retry_errors: bool = False,
    ) -> None:
        super().__init__(run, ready.experiment.run, ready.census.questions, observer, retry_errors=retry_errors)
        self._ready = ready
        self._run_id = run_id
        self._answering: Grader | None = None
        self._measured = BenchmarkGuard(ready.harness, ready.experiment.axis)

    def opening(self, opening: Opening) -> Opening:
        """The opening of the system, with a way to ask models that is recorded and within the budget."""
        return Opening(
            cache_dir=opening.cache_dir, complete=self._ledger.complete_for_system, prices=self._ready.prices
        )

    # --- the loop --------------------------------------------------------------------------------------------------

    def _journals(self) -> list[Journal[Any]]:
        self._ingests: Journal[Ingest] = Journal(self._run.path / "ingest.jsonl")
        return [self._ingests]

    def _connect(self, models: list[Model]) -> None:
        ready, experiment = self._ready, self._ready.experiment
        self._reading: ReaderAnswers | None = None
        self._asking: MemoryAnswers | None = None
        if experiment.axis == "recall":
            return

        def connected(config: ModelConfig) -> Model:
            models.append(connect(config, ready.prices))
            return models[-1]

        if ready.reader is not None:
            self._reading = ReaderAnswers(ready.reader, connected(experiment.reader), self._ledger)
        else:
            self._asking = MemoryAnswers(experiment.reader, self._ledger)
        judge, simplifier = ready.judge, ready.simplifier
        grading = Grading(judge, connected(experiment.judge), self._ledger) if judge is not None else None
        simplifying = None
        if simplifier is not None:
            model = connected(simplifier.config) if simplifier.config is not None else None
            simplifying = Simplifying(simplifier, model, self._ledger)
        names = [model.config.model for model in models if model.config.provider == "openai"]
        self._ledger.spend.check_prices([name for name in names if ready.prices.usd(name, 1, 1, 0) is None])
        self._answering = Grader(self._measured, self._config.repeats, grading, simplifying)

    async def _work(self) -> None:
        capabilities = self._ready.system.capabilities
        # A system that cannot keep two histories apart gets one at a time.
        slots = asyncio.Semaphore(self._config.scenarios_in_flight if capabilities.namespaces else 1)
        self._slots = asyncio.Semaphore(self._config.concurrency)
        ready = self._ready
        self._ingesting = Ingesting(ready.system, self._config, self._written)
        self._retrieving = Retrieving(
            self._measured, ready.system, ready.experiment.arm.recall, self._config, self._brake
        )
        stream = self._ready.harness.load(self._ready.experiment.slice)
        async with asyncio.TaskGroup() as group:
            while self._brake.reason is None:
                await slots.acquire()
                try:  # the generator may read files or parse megabytes: not on the loop
                    scenario = await asyncio.to_thread(_next, stream)
                except RunnerError as error:
                    self._brake.pull(error)
                    break
                if scenario is None:
                    break
                todo = [question for question in scenario.questions if question.id not in self._done]
                if not todo:
                    slots.release()
                    continue
                task = group.create_task(self._scenario(scenario, todo))
                task.add_done_callback(lambda _: slots.release())

    async def _scenario(self, scenario: Scenario, todo: list[Question]) -> None:
        ns = scenario.existing or f"bench-{self._run_id}-{scenario.id}"
        try:
            try:
                self._brake.check()
                flags = (EXISTING,) if scenario.existing else await self._ingesting.history(ns, scenario)
                if self._asking is not None and NO_SOURCE_OF_TRUTH in flags:
                    await self._ingesting.lose(ns)  # a search of it is not sent, but an ask must find nothing
            except SystemFault as fault:
                for question in todo:
                    row = self._row(scenario, question)
                    row.status, row.error = fault.status, mask(str(fault))
                    self._write(row, None)
                self._brake.failed(f"{fault.status}: {mask(str(fault))[:500]}")
                return
            evidence = Evidence(scenario, ns, self._ready.system, self._config.search_s)
            async with asyncio.TaskGroup() as group:
                for question in todo:
                    await self._slots.acquire()
                    if self._brake.reason is not None:
                        self._slots.release()
                        break
                    task = group.create_task(self._question(ns, scenario, question, flags, evidence))
                    task.add_done_callback(lambda _: self._slots.release())
        except StopRequested:
            return
        except RunnerError as error:
            self._brake.pull(error)
        finally:
            if not scenario.existing:
                await self._erase(ns)

    async def _erase(self, ns: str) -> None:
        try:
            await asyncio.wait_for(self._ready.system.erase(ns), self._config.settle_s)
        except Exception as error:  # a failed clean-up must not take the run with it
            log.warning("erase of %s failed: %s", ns, mask(str(error)), exc_info=True)

    async def _question(
        self, ns: str, scenario: Scenario, question: Question, flags: tuple[str, ...], evidence: Evidence
    ) -> None:
        try:
            self._brake.check()
            asking.set(question.id)
            row = self._row(scenario, question, flags)
            texts = Texts(id=question.id, question=question.text, gold=question.gold)
            if self._config.texts:
                texts.evidence, texts.stored = await evidence.of(question)
                texts.links = self._ready.system.capabilities.links
            if self._asking is not None:
                await self._asked(self._asking, ns, question, row, texts, evidence.known)
                self._finished(row, texts if texts.answers else None)
                return
            lost = NO_SOURCE_OF_TRUTH in flags
            try:
                delivered = (
                    Delivered((), "", ()) if lost else await self._retrieving.search(ns, question, row, evidence.known)
                )
            except SystemFault as fault:
                row.status, row.error = fault.status, mask(str(fault))
                self._finished(row, None)
                return
            self._retrieving.took(question, delivered, row, texts, lost=lost)
            if self._answering is not None and self._reading is not None:
                await self._answering.answer(question, row, texts, self._reading.over(question, delivered.text))
            self._finished(row, texts)
        except StopRequested:
            return
        except RunnerError as error:
            self._brake.pull(error)

    async def _asked(
        self, asking: MemoryAnswers, ns: str, question: Question, row: Row, texts: Texts, known: frozenset[str] | None
    ) -> None:
        """The memory's own answers: each repeat retrieves anew, and the first one that answers is what is measured."""
        query = self._retrieving.query(question, question.reading or question.text)
        say = asking.of(question, query, self._retrieving.ask(ns, query, known))
        keys: list[str] = []

        async def told(repeat: int, row: Row) -> AnswerAttempt:
            said = await say(repeat, row)
            if said.hits is not None:
                keys.append(fingerprint([hit.key for hit in said.hits]))
            if not row.context:
                self._retrieving.took_answer(question, said, row, texts)
            return said

        assert self._answering is not None
        await self._answering.answer(question, row, texts, told)
        if len(keys) > 1:
            row.repeat_keys = tuple(keys)

    def _written(self, done: Ingest) -> None:
        self._last_progress = time.monotonic()
        self._ingests.append(done)

    # --- writing ---------------------------------------------------------------------------------------------------

    def _row(self, scenario: Scenario, question: Question, flags: tuple[str, ...] = ()) -> Row:
        return Row(
            id=question.id,
            scenario=scenario.id,
            cluster=question.cluster or scenario.cluster,
            category=question.category,
            started=time.time(),
            flags=(*flags, *self._ready.harness.flags(question)),
            tags=question.tags,
        )


def _next(stream: Iterator[Scenario]) -> Scenario | None:
    return next(stream, None)
