"""The loop of one run: scenarios stream in, rows stream out.

Memory is bounded by what is in flight: a scenario is dropped when its last question is written. Every finished model
call is journalled before anything is made of it, so that no kill makes a run pay twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

from runner.config import ModelConfig
from runner.errors import IngestError, NotSettled, RunnerError, SearchError, SystemFault
from runner.experiment.answering import Answering, Grading
from runner.experiment.context import Delivered, deliver, fingerprint
from runner.experiment.evidence import Evidence
from runner.experiment.ledger import asking
from runner.experiment.ready import Ready
from runner.experiment.saying import UNTOLD, Asking, Reading, Said, Say
from runner.experiment.simplifying import Simplifying
from runner.experiment.sitting import Observer, Sitting
from runner.experiment.stopping import Halted
from runner.llm import Model, connect
from runner.record.journal import Journal
from runner.record.rundir import RunDir
from runner.safe import mask
from runner.system import Opening, dated, receipt_of
from runner.types import (
    NO_SOURCE_OF_TRUTH,
    Answer,
    Hit,
    Ingest,
    Query,
    Question,
    Receipt,
    Retrieval,
    Row,
    Scenario,
    Texts,
    Usage,
)

log = logging.getLogger("runner")
T = TypeVar("T")

# Metrics that hold whatever the order of the hits: all that a system can be measured on that does not rank.
UNRANKED = "@all"
# Flag of a row that was asked of a corpus that was there already.
EXISTING = "existing_corpus"


class Engine(Sitting):
    """One sitting of one run.

    Parameters
    ----------
    run_id
        What sets the namespaces of this run apart from those of others on one server.
    """

    def __init__(
        self, run: RunDir, ready: Ready, observer: Observer, *, run_id: str = "run", retry_errors: bool = False
    ) -> None:
        super().__init__(run, ready.experiment.run, ready.census.questions, observer, retry_errors=retry_errors)
        self._ready = ready
        self._run_id = run_id
        self._recall = ready.experiment.arm.recall
        self._answering: Answering | None = None

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
        self._reading: Reading | None = None
        self._asking: Asking | None = None
        if experiment.axis == "recall":
            return

        def connected(config: ModelConfig) -> Model:
            models.append(connect(config, ready.prices))
            return models[-1]

        if ready.reader is not None:
            self._reading = Reading(ready.reader, connected(experiment.reader), self._ledger)
        else:
            self._asking = Asking(experiment.reader, self._ledger)
        judge, simplifier = ready.judge, ready.simplifier
        grading = Grading(judge, connected(experiment.judge), self._ledger) if judge is not None else None
        simplifying = None
        if simplifier is not None:
            model = connected(simplifier.config) if simplifier.config is not None else None
            simplifying = Simplifying(simplifier, model, self._ledger)
        names = [model.config.model for model in models if model.config.provider == "openai"]
        self._ledger.spend.check_prices([name for name in names if ready.prices.usd(name, 1, 1, 0) is None])
        self._answering = Answering(ready.harness, self._config.repeats, grading, simplifying)

    async def _work(self) -> None:
        capabilities = self._ready.system.capabilities
        # A system that cannot keep two histories apart gets one at a time.
        slots = asyncio.Semaphore(self._config.scenarios_in_flight if capabilities.namespaces else 1)
        self._slots = asyncio.Semaphore(self._config.concurrency)
        # Latency is measured inside this gate: the queue in front of a system is ours, not its.
        self._searches = asyncio.Semaphore(self._ready.system.searches or self._config.concurrency)
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
                flags = (EXISTING,) if scenario.existing else await self._ingest(ns, scenario)
            except SystemFault as fault:
                for question in todo:
                    row = self._row(scenario, question)
                    row.status, row.error = fault.status, mask(str(fault))
                    self._write(row, None)
                self._brake.failed(f"{fault.status}: {mask(str(fault))[:500]}")
                return
            evidence = Evidence(scenario, ns, self._ready.system)
            async with asyncio.TaskGroup() as group:
                for question in todo:
                    await self._slots.acquire()
                    if self._brake.reason is not None:
                        self._slots.release()
                        break
                    task = group.create_task(self._question(ns, scenario, question, flags, evidence))
                    task.add_done_callback(lambda _: self._slots.release())
        except Halted:
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

    async def _ingest(self, ns: str, scenario: Scenario) -> tuple[str, ...]:
        """Write one history; flags for its rows.

        Raises
        ------
        IngestError
            When a write failed, took too long, or says that it took other than what it was given.
        NotSettled
            When what was written could not be found in time.
        """
        system, config = self._ready.system, self._config
        events = scenario.events if system.capabilities.timestamps else tuple(map(dated, scenario.events))
        await self._contract("reset", IngestError, lambda: system.reset(ns), config.write_s, "run.write_s")
        start = time.perf_counter()
        receipt = await self._contract(
            "write", IngestError, lambda: system.write(ns, events), config.write_s, "run.write_s"
        )
        written = time.perf_counter()
        await self._contract(
            "settle", NotSettled, lambda: system.settle(ns, receipt, config.settle_s), config.settle_s, "run.settle_s"
        )
        settled = time.perf_counter()
        if receipt.events != len(events):
            raise IngestError(f"{len(events)} events were written and the system took {receipt.events}")
        self._last_progress = time.monotonic()
        self._ingests.append(
            Ingest(
                scenario=scenario.id,
                receipt=receipt,
                write_seconds=written - start,
                settle_seconds=settled - written,
            )
        )
        flags = [] if system.capabilities.timestamps else ["times_in_text"]
        if receipt.truncated:
            flags.append("ingest_truncated")
        if receipt.sha256 != receipt_of(events).sha256:
            flags.append("ingest_altered")
        if scenario.drop_derived:
            flags += await self._drop_derived(ns, receipt)
        return tuple(flags)

    async def _drop_derived(self, ns: str, receipt: Receipt) -> list[str]:
        """Take away everything that can be rebuilt; a system without a source of truth has nothing left.

        Raises
        ------
        IngestError, NotSettled
            When a durable system fails to drop it, or to answer again in time.
        """
        system, config = self._ready.system, self._config
        if not system.capabilities.durable:
            return [NO_SOURCE_OF_TRUTH]
        await self._contract(
            "drop_derived", IngestError, lambda: system.drop_derived(ns), config.write_s, "run.write_s"
        )
        await self._contract(
            "settle", NotSettled, lambda: system.settle(ns, receipt, config.settle_s), config.settle_s, "run.settle_s"
        )
        return []

    async def _contract(
        self, step: str, fault: type[SystemFault], call: Callable[[], Awaitable[T]], seconds: float, key: str
    ) -> T:
        """One call of the system's contract: in time, and whatever it raises as a status."""
        try:
            return await asyncio.wait_for(call(), seconds)
        except (RunnerError, Halted, asyncio.CancelledError):
            raise
        except TimeoutError:
            raise fault(f"{step}: no answer within {seconds:g} s ({key})") from None
        except Exception as error:
            log.exception("%s failed", step)
            raise fault(f"{step}: {type(error).__name__}: {error}") from error

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
                await self._ask(self._asking, ns, question, row, texts, evidence.known)
                self._finished(row, texts if texts.answers else None)
                return
            lost = NO_SOURCE_OF_TRUTH in flags
            try:
                delivered = Delivered((), "", ()) if lost else await self._search(ns, question, row, evidence.known)
            except SystemFault as fault:
                row.status, row.error = fault.status, mask(str(fault))
                self._finished(row, None)
                return
            self._took(question, delivered, row, texts, lost=lost)
            if self._answering is not None and self._reading is not None:
                await self._answering.answer(question, row, texts, self._reading.over(question, delivered.text))
            self._finished(row, texts)
        except Halted:
            return
        except RunnerError as error:
            self._brake.pull(error)

    def _took(self, question: Question, delivered: Delivered, row: Row, texts: Texts, *, lost: bool = False) -> None:
        """Write what was delivered into the row, and what the harness measures of it."""
        row.keys = fingerprint([hit.key for hit in delivered.hits])
        row.context = fingerprint([delivered.text])
        row.hits, row.chars = len(delivered.hits), len(delivered.text)
        row.flags = (*row.flags, *delivered.flags)
        texts.hits, texts.context = delivered.hits, delivered.text
        self._measured(question, delivered.hits, row)
        row.metrics |= self._ready.harness.score_delivered(question, delivered.text, failed=lost)

    def _measured(self, question: Question, hits: Sequence[Hit], row: Row) -> None:
        row.metrics = self._ready.harness.score_retrieval(question, hits)
        row.metrics["sources_per_hit"] = _grain(hits)
        if not self._ready.system.capabilities.ranked:
            row.metrics = {k: v if k.endswith(UNRANKED) else None for k, v in row.metrics.items()}

    def _query(self, question: Question, text: str) -> Query:
        recall = self._recall
        return Query(
            text=text,
            now=question.now,
            k=recall.limit,
            max_chars=recall.max_chars,
            max_tokens=question.budget,
            project=question.project,
            agent=question.agent,
            mode=recall.mode,
            evidence=question.gold.evidence if self._ready.system.capabilities.reads_gold else None,
        )

    async def _search(self, ns: str, question: Question, row: Row, known: frozenset[str] | None) -> Delivered:
        system, recall = self._ready.system, self._recall
        query = self._query(question, question.text)
        async with self._searches:
            self._brake.check()
            start = time.perf_counter()
            retrieval = await self._contract(
                "search", SearchError, lambda: system.search(ns, query), self._config.search_s, "run.search_s"
            )
            row.usage["search"] = Usage(seconds=time.perf_counter() - start)
        if not isinstance(retrieval, Retrieval):
            raise SearchError(f"search must return a Retrieval, and returned {type(retrieval).__name__}")
        _check(retrieval.hits, known)
        row.flags = (*row.flags, *retrieval.notes, *(("search_cached",) if retrieval.cached else ()))
        return deliver(retrieval.hits, recall.limit, recall.max_chars)

    async def _ask(
        self, asking: Asking, ns: str, question: Question, row: Row, texts: Texts, known: frozenset[str] | None
    ) -> None:
        """The memory's own answers: each repeat retrieves anew, and the first one that answers is what is measured."""
        system = self._ready.system
        query = self._query(question, question.reading or question.text)
        keys: list[str] = []

        async def once() -> Answer:
            async with self._searches:
                self._brake.check()
                answer = await self._contract(
                    "ask", SearchError, lambda: system.ask(ns, query), self._config.search_s, "run.search_s"
                )
            if not isinstance(answer, Answer):
                raise SearchError(f"ask must return an Answer, and returned {type(answer).__name__}")
            if not answer.text.strip():
                raise SearchError("ask returned an empty answer; that nothing is known is to be said in words")
            _check(answer.hits or (), known)
            return answer

        say = asking.of(question, query, once)

        async def told(repeat: int, row: Row) -> Said:
            said = await say(repeat, row)
            if said.hits is not None:
                keys.append(fingerprint([hit.key for hit in said.hits]))
            if not row.context:
                self._took_answer(question, said, row, texts)
            return said

        assert self._answering is not None
        await self._answering.answer(question, row, texts, told)
        if len(keys) > 1:
            row.repeat_keys = tuple(keys)

    def _took_answer(self, question: Question, said: Said, row: Row, texts: Texts) -> None:
        """What a memory read for its answer; where it does not say, nothing of its retrieval is measurable."""
        hits = said.hits or ()
        row.keys = "" if said.hits is None else fingerprint([hit.key for hit in hits])
        row.context = fingerprint([said.text])
        row.hits = len(hits)
        texts.hits = hits
        self._measured(question, UNTOLD if said.hits is None else hits, row)

    # --- writing ---------------------------------------------------------------------------------------------------

    def _row(self, scenario: Scenario, question: Question, flags: tuple[str, ...] = ()) -> Row:
        return Row(
            id=question.id,
            scenario=scenario.id,
            cluster=scenario.cluster,
            category=question.category,
            started=time.time(),
            flags=(*flags, *self._ready.harness.flags(question)),
            tags=question.tags,
        )


def _check(hits: Sequence[object], known: frozenset[str] | None) -> None:
    """Hold hits to the contract: a wrong type or an invented source is a fault, never a miss.

    ``known`` are the events that were written; ``None`` for a corpus that was there already.

    Raises
    ------
    SearchError
        Saying what came instead.
    """
    for hit in hits:
        if not isinstance(hit, Hit):
            raise SearchError(f"hits must be of type Hit, and one is {type(hit).__name__}")
        cited: object = hit.sources
        if cited is not None and not isinstance(cited, tuple | list):
            kind = type(cited).__name__
            raise SearchError(f"hit '{hit.key}' has sources of type {kind}; they are a tuple of event ids")
        strange = next((source for source in hit.sources or () if known is not None and source not in known), None)
        if strange is not None:
            raise SearchError(
                f"hit '{hit.key}' cites '{strange}', which is no event of this scenario; sources are the ids of the "
                f"events that were written"
            )


def _grain(hits: Sequence[Hit]) -> float | None:
    """Events behind a hit, on average: recall@K counts a hit once, however many events it merges."""
    counts = [len(hit.sources) for hit in hits if hit.sources is not None]
    return sum(counts) / len(counts) if counts else None


def _next(stream: Iterator[Scenario]) -> Scenario | None:
    return next(stream, None)
