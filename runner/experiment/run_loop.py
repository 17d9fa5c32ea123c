"""The loop of one run: scenarios stream in, rows stream out.

Memory is bounded by what is in flight: a scenario is dropped when its last question is written. Every finished model
call is journalled before anything is made of it, so that no kill makes a run pay twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from runner.config import ModelConfig
from runner.errors import RunnerError, SystemFault
from runner.experiment.answer import MemoryAnswers, ReaderAnswers
from runner.experiment.assemble import AskedQuestion, failed_row, row_of, texts_of
from runner.experiment.benchmark_guard import BenchmarkGuard
from runner.experiment.evidence import ScenarioEvidence
from runner.experiment.grade import AnswerGrader, GradedAnswers, JudgeGrader
from runner.experiment.ingest import Ingester
from runner.experiment.lexical_answers import LexicalScorer
from runner.experiment.model_calls import current_question
from runner.experiment.prepare import PreparedExperiment
from runner.experiment.search import Searched, Searcher
from runner.experiment.session import Observer, RunSession
from runner.llm import Model, connect
from runner.record.journal import Journal
from runner.record.rundir import RunDir
from runner.safe import mask
from runner.system import Opening
from runner.types import EXISTING, NO_SOURCE_OF_TRUTH, OK, Ingest, Question, Scenario

log = logging.getLogger("runner")


class QuestionLoop(RunSession):
    """Asks the memory, its reader and the judge for all that is not recorded yet, in one session of a run.

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
        self._grader: AnswerGrader | None = None
        self._benchmark = BenchmarkGuard(ready.harness, ready.experiment.axis)

    def opening(self, opening: Opening) -> Opening:
        """Return the opening of the system, with a way to ask models that is recorded and within the budget."""
        return Opening(
            cache_dir=opening.cache_dir, complete=self._ledger.complete_for_system, prices=self._ready.prices
        )

    # --- the loop --------------------------------------------------------------------------------------------------

    def _journals(self) -> list[Journal[Any]]:
        self._ingests: Journal[Ingest] = Journal(self._run.path / "ingest.jsonl")
        return [self._ingests]

    def _connect(self, models: list[Model]) -> None:
        ready, experiment = self._ready, self._ready.experiment
        self._reader: ReaderAnswers | None = None
        self._memory: MemoryAnswers | None = None
        if experiment.axis == "recall":
            return

        def connected(config: ModelConfig) -> Model:
            models.append(connect(config, ready.prices))
            return models[-1]

        if ready.reader is not None:
            self._reader = ReaderAnswers(ready.reader, connected(experiment.reader), self._ledger)
        else:
            self._memory = MemoryAnswers(experiment.reader, self._ledger)
        judge, simplifier = ready.judge, ready.simplifier
        judging = JudgeGrader(judge, connected(experiment.judge), self._ledger) if judge is not None else None
        lexical = None
        if simplifier is not None:
            model = connected(simplifier.config) if simplifier.config is not None else None
            lexical = LexicalScorer(simplifier, model, self._ledger)
        names = [model.config.model for model in models if model.config.provider == "openai"]
        self._ledger.spend.check_prices([name for name in names if ready.prices.usd(name, 1, 1, 0) is None])
        self._grader = AnswerGrader(self._benchmark, self._config.repeats, judging, lexical)

    async def _work(self) -> None:
        capabilities = self._ready.system.capabilities
        # A system that cannot keep two histories apart gets one at a time.
        slots = asyncio.Semaphore(self._config.scenarios_in_flight if capabilities.namespaces else 1)
        self._slots = asyncio.Semaphore(self._config.concurrency)
        ready = self._ready
        self._ingester = Ingester(ready.system, self._config, self._written)
        self._searcher = Searcher(self._benchmark, ready.system, ready.experiment.arm.recall, self._config, self._stop)
        stream = self._ready.harness.load(self._ready.experiment.slice)
        async with asyncio.TaskGroup() as group:
            while self._stop.reason is None:
                await slots.acquire()
                try:  # the generator may read files or parse megabytes: not on the loop
                    scenario = await asyncio.to_thread(_next, stream)
                except RunnerError as error:
                    self._stop.pull(error)
                    break
                if scenario is None:
                    break
                todo = [question for question in scenario.questions if question.id not in self._done]
                if not todo:
                    slots.release()
                    continue
                task = group.create_task(self._guarded(self._scenario(scenario, todo)))
                task.add_done_callback(lambda _: slots.release())

    async def _scenario(self, scenario: Scenario, todo: list[Question]) -> None:
        ns = scenario.existing or f"bench-{self._run_id}-{scenario.id}"
        try:
            try:
                self._stop.check()
                flags = (EXISTING,) if scenario.existing else await self._ingester.write(ns, scenario)
                if self._memory is not None and NO_SOURCE_OF_TRUTH in flags:
                    await self._ingester.lose(ns)  # a search of it is not sent, but an ask must find nothing
            except SystemFault as fault:
                error = mask(str(fault))
                for question in todo:
                    self._write(failed_row(self._asked(scenario, question), fault.status, error), None)
                self._stop.failed(f"{fault.status}: {error[:500]}")
                return
            evidence = ScenarioEvidence(scenario, ns, self._ready.system, self._config.search_s)
            async with asyncio.TaskGroup() as group:
                ask = partial(self._question, ns, scenario, flags, evidence)
                await self._start_each(group, self._slots, todo, ask)
        finally:
            if not scenario.existing:
                await self._erase(ns)

    async def _erase(self, ns: str) -> None:
        try:
            await asyncio.wait_for(self._ready.system.erase(ns), self._config.settle_s)
        except Exception as error:  # a failed clean-up must not take the run with it
            log.warning("erase of %s failed: %s", ns, mask(str(error)), exc_info=True)

    async def _question(
        self, ns: str, scenario: Scenario, flags: tuple[str, ...], evidence: ScenarioEvidence, question: Question
    ) -> None:
        """Search, answer and grade one question, then assemble its row and texts."""
        self._stop.check()
        current_question.set(question.id)
        asked = self._asked(scenario, question, flags)
        stored = await evidence.stored(question) if self._config.texts else None
        existing = EXISTING in flags
        graded = None
        if self._memory is not None:
            searched, graded = await self._memory_answers(self._memory, ns, question, evidence.known, existing)
        elif NO_SOURCE_OF_TRUTH in flags:
            searched = self._searcher.lost(question)
        else:
            searched = await self._searcher.search(ns, question, evidence.known, existing)
        if self._reader is not None and self._grader is not None and searched.status == OK:
            graded = await self._grader.grade(question, self._reader.over(question, searched.context))
        self._finished(row_of(asked, searched, graded), texts_of(asked, searched, graded, stored))

    async def _memory_answers(
        self, memory: MemoryAnswers, ns: str, question: Question, known: frozenset[str] | None, existing: bool
    ) -> tuple[Searched, GradedAnswers]:
        """Ask the memory itself. Each repeat retrieves anew, and the first that answers is what is measured."""
        assert self._grader is not None
        query = self._searcher.query(question, question.reading or question.text)
        graded = await self._grader.grade(
            question, memory.over(question, query, self._searcher.asker(ns, query, known))
        )
        if not graded.attempts:
            return Searched(), graded
        first = graded.attempts[0]
        return self._searcher.read_for_answer(question, first.text, first.hits, existing), graded

    def _asked(self, scenario: Scenario, question: Question, flags: tuple[str, ...] = ()) -> AskedQuestion:
        return AskedQuestion(scenario, question, time.time(), (*flags, *self._ready.harness.flags(question)))

    def _written(self, done: Ingest) -> None:
        self._last_progress = time.monotonic()
        self._ingests.append(done)


def _next(stream: Iterator[Scenario]) -> Scenario | None:
    return next(stream, None)
