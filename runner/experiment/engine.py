"""The loop of one run: scenarios stream in, rows stream out.

Memory is bounded by what is in flight: a scenario is dropped when its last question is written. Every finished model
call is journalled before anything is made of it, so that no kill makes a run pay twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from runner.config import mask
from runner.errors import EndpointUnusable, IngestError, ModelFault, RunnerError, SearchError, Stopped, SystemFault
from runner.experiment.context import Delivered, deliver, fingerprint
from runner.experiment.spend import Spend
from runner.llm import Model, Request, connect
from runner.record.journal import Journal
from runner.record.rundir import RunDir
from runner.record.usage import add
from runner.stats.agreement import majority_label
from runner.types import (
    JUDGE_ERROR,
    JUDGE_UNPARSEABLE,
    OK,
    READER_ERROR,
    STATUSES,
    Call,
    Completion,
    Ingest,
    Label,
    Query,
    Question,
    Row,
    Scenario,
    Texts,
    Usage,
)

if TYPE_CHECKING:
    from runner.experiment import Ready

log = logging.getLogger("runner")


class Observer(Protocol):
    """What watches a run: a progress bar, or nothing."""

    def begin(self, total: int, done: int) -> None: ...

    def row(self, row: Row, usd: float) -> None: ...

    def note(self, text: str) -> None: ...

    def end(self) -> None: ...


class _Halted(Exception):
    """Inside the loop only: the run is stopping, start nothing more."""


class Engine:
    """One sitting of one run."""

    def __init__(self, run: RunDir, ready: Ready, observer: Observer, *, retry_errors: bool = False) -> None:
        self._run = run
        self._ready = ready
        self._observer = observer
        self._config = ready.experiment.run
        self._recall = ready.experiment.arm.recall
        self._spend = Spend(self._config)
        self._done: set[str] = set()
        self._paid: dict[tuple[str, str, int], Call] = {}
        self._retry_errors = retry_errors
        self._halt: RunnerError | None = None
        self._interrupts = 0
        self._failed_in_a_row = 0
        self._last_progress = time.monotonic()
        self._main: asyncio.Task[None] | None = None
        self._readers: Model | None = None
        self._judges: Model | None = None

    # --- stopping --------------------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Ctrl-C: finish what is in flight and stop; a second one drops what is in flight."""
        self._interrupts += 1
        self._stop(Stopped("interrupted"))
        if self._interrupts == 1:
            self._observer.note("stopping: waiting for the calls in flight (Ctrl-C again drops them)")
        elif self._main is not None:
            self._main.cancel()

    def _stop(self, reason: RunnerError) -> None:
        if self._halt is None:
            self._halt = reason

    def _go_on(self) -> None:
        if self._halt is not None:
            raise _Halted

    # --- the loop --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Ask what is not recorded yet.

        Raises
        ------
        RunnerError
            Why the run stopped before its end, after what was in flight is written.
        """
        self._recall_the_past()
        self._observer.begin(self._ready.census.questions, len(self._done))
        experiment = self._ready.experiment
        self._rows: Journal[Row] = Journal(self._run.rows_path)
        self._texts: Journal[Texts] = Journal(self._run.texts_path)
        self._calls: Journal[Call] = Journal(self._run.calls_path)
        self._ingests: Journal[Ingest] = Journal(self._run.path / "ingest.jsonl")
        journals: list[Journal[Any]] = [self._rows, self._texts, self._calls, self._ingests]
        try:
            if self._ready.reader is not None:
                self._readers = connect(experiment.reader, self._ready.prices)
                self._judges = connect(experiment.judge, self._ready.prices)
                names = [m.model for m in (experiment.reader, experiment.judge) if m.provider == "openai"]
                self._spend.check_prices([n for n in names if self._ready.prices.usd(n, 1, 1, 0) is None])
            self._main = asyncio.current_task()
            watch = asyncio.create_task(self._watch(journals))
            try:
                await self._scenarios()
            except asyncio.CancelledError:
                if self._halt is None:
                    raise
            finally:
                watch.cancel()
        finally:
            self._observer.end()
            for model in (self._readers, self._judges):
                if model is not None:
                    await model.close()
            for journal in journals:
                try:
                    journal.close()
                except OSError as error:
                    log.warning("%s: %s", journal.path, error.strerror)
        if self._halt is not None:
            raise self._halt

    def _recall_the_past(self) -> None:
        """Load what earlier sittings finished: row ids, and the calls of questions that have no row yet."""
        unparseable = set()
        for row in self._run.rows():
            if row.status != OK and self._retry_errors:
                self._done.discard(row.id)
                if JUDGE_UNPARSEABLE in row.labels:
                    unparseable.add(row.id)
            else:
                self._done.add(row.id)
        for call in self._run.calls():
            self._spend.count(call.completion.usage)
            # The reply that could not be parsed is what a retry asks again; the answer it graded is kept.
            if call.question not in self._done and not (call.role == "judge" and call.question in unparseable):
                self._paid[call.question, call.role, call.repeat] = call

    async def _watch(self, journals: Sequence[Journal[Any]]) -> None:
        while True:
            await asyncio.sleep(1.0)
            for journal in journals:
                try:
                    await asyncio.to_thread(journal.sync)
                except OSError as error:
                    self._stop(RunnerError(f"{journal.path}: cannot be written ({error.strerror})"))
            if time.monotonic() - self._last_progress > self._config.no_progress_s:
                self._stop(
                    Stopped(f"nothing finished for {self._config.no_progress_s:g} s (run.no_progress_s); see run.log")
                )
                if self._main is not None:
                    self._main.cancel()

    async def _scenarios(self) -> None:
        slots = asyncio.Semaphore(self._config.scenarios_in_flight)
        self._slots = asyncio.Semaphore(self._config.concurrency)
        # Latency is measured inside this gate: the queue in front of a system is ours, not its.
        self._searches = asyncio.Semaphore(self._ready.system.searches or self._config.concurrency)
        stream = self._ready.harness.load(self._ready.experiment.slice)
        async with asyncio.TaskGroup() as group:
            while self._halt is None:
                await slots.acquire()
                try:  # the generator may read files or parse megabytes: not on the loop
                    scenario = await asyncio.to_thread(_next, stream)
                except RunnerError as error:
                    self._stop(error)
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
        system = self._ready.system
        ns = f"bench-{scenario.id}"
        try:
            try:
                self._go_on()
                flags = await self._ingest(ns, scenario)
            except SystemFault as fault:
                for question in todo:
                    self._write(self._failed(scenario, question, fault.status, str(fault)), None, count=False)
                self._count_failure(f"{fault.status}: {mask(str(fault))[:500]}")
                return
            async with asyncio.TaskGroup() as group:
                for question in todo:
                    await self._slots.acquire()
                    if self._halt is not None:
                        self._slots.release()
                        break
                    task = group.create_task(self._question(ns, scenario, question, flags))
                    task.add_done_callback(lambda _: self._slots.release())
        except _Halted:
            return
        except RunnerError as error:
            self._stop(error)
        finally:
            try:
                await system.erase(ns)
            except Exception as error:  # a failed clean-up must not take the run with it
                log.warning("erase of %s failed: %s", ns, mask(str(error)), exc_info=True)

    async def _ingest(self, ns: str, scenario: Scenario) -> tuple[str, ...]:
        system = self._ready.system
        try:
            await system.reset(ns)
            start = time.perf_counter()
            receipt = await system.write(ns, scenario.events)
            written = time.perf_counter()
            await system.settle(ns, receipt, self._config.settle_s)
            settled = time.perf_counter()
        except (RunnerError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("ingest of %s", scenario.id)
            raise IngestError(f"{type(error).__name__}: {error}") from error
        self._last_progress = time.monotonic()
        self._ingests.append(
            Ingest(
                scenario=scenario.id,
                receipt=receipt,
                write_seconds=written - start,
                settle_seconds=settled - written,
            )
        )
        flags = () if receipt.times == "native" else (f"times_{receipt.times}",)
        return (*flags, *(("ingest_truncated",) if receipt.truncated else ()))

    async def _question(self, ns: str, scenario: Scenario, question: Question, flags: tuple[str, ...]) -> None:
        try:
            self._go_on()
            row = Row(
                id=question.id,
                scenario=scenario.id,
                cluster=scenario.cluster,
                category=question.category,
                started=time.time(),
                flags=(*flags, *self._ready.harness.flags(question)),
            )
            try:
                delivered = await self._search(ns, question, row)
            except SystemFault as fault:
                row.status, row.error = fault.status, mask(str(fault))
                self._write(row, None)
                return
            row.metrics = self._ready.harness.score_retrieval(question, delivered.hits)
            texts = Texts(
                id=question.id,
                question=question.text,
                gold=question.gold,
                hits=delivered.hits,
                context=delivered.text,
            )
            if self._ready.reader is not None:
                await self._answer(question, delivered.text, row, texts)
            self._write(row, texts)
        except _Halted:
            return
        except RunnerError as error:
            self._stop(error)

    async def _search(self, ns: str, question: Question, row: Row) -> Delivered:
        system = self._ready.system
        query = Query(
            text=question.text,
            now=question.now,
            k=self._recall.limit,
            max_chars=self._recall.max_chars,
            mode=self._recall.mode,
            evidence=question.gold.evidence if system.capabilities.reads_gold else None,
        )
        try:
            async with self._searches:
                self._go_on()
                start = time.perf_counter()
                retrieval = await asyncio.wait_for(system.search(ns, query), self._config.search_s)
                seconds = time.perf_counter() - start
        except (RunnerError, _Halted, asyncio.CancelledError):
            raise
        except TimeoutError:
            raise SearchError(f"no answer within {self._config.search_s:g} s (run.search_s)") from None
        except Exception as error:
            log.exception("search for %s", question.id)
            raise SearchError(f"{type(error).__name__}: {error}") from error
        row.usage["search"] = Usage(seconds=seconds)
        if retrieval.usage is not None:  # a search that asks a model, such as a query expansion
            self._spend.count(retrieval.usage)
            row.usage["search model"] = retrieval.usage
        delivered = deliver(retrieval.hits, self._recall.limit, self._recall.max_chars)
        row.keys = fingerprint([hit.key for hit in delivered.hits])
        row.context = fingerprint([delivered.text])
        row.hits, row.chars = len(delivered.hits), len(delivered.text)
        row.flags = (*row.flags, *delivered.flags, *retrieval.notes)
        return delivered

    # --- answering and judging -------------------------------------------------------------------------------------

    async def _answer(self, question: Question, context: str, row: Row, texts: Texts) -> None:
        labels: list[str] = []
        answers: list[str] = []
        reasons: list[str] = []
        models: list[str] = []
        for repeat in range(self._config.repeats):
            label, answer = await self._once(question, context, repeat, row, models)
            labels.append(label.value)
            answers.append(answer)
            reasons.append(label.reason)
        row.labels, row.models = tuple(labels), tuple(dict.fromkeys(models))
        texts.answers, texts.reasons = tuple(answers), tuple(reasons)
        row.label = majority_label(labels)
        valid = [answer for label, answer in zip(labels, answers, strict=True) if label not in STATUSES]
        if not valid:
            row.status = next((label for label in reversed(labels) if label in STATUSES), JUDGE_ERROR)
            row.error, row.label = mask(reasons[-1]), ""
            return
        scored = [self._ready.harness.score_answer(question, answer) for answer in valid]
        for name in scored[0]:
            values = [item[name] for item in scored if item.get(name) is not None]
            row.metrics[name] = sum(v for v in values if v is not None) / len(values) if values else None

    async def _once(
        self, question: Question, context: str, repeat: int, row: Row, models: list[str]
    ) -> tuple[Label, str]:
        """One answer and its label; a fault of either model is a label of its own, never WRONG."""
        reader, judge = self._ready.reader, self._ready.judge
        assert reader is not None
        assert judge is not None
        try:
            reply = await self._call(self._readers, "reader", question, repeat, reader.request(question, context), row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=READER_ERROR, reason=str(fault)), ""
        models.append(reply.model)
        if reply.finish == "length":
            row.flags = (*row.flags, "answer_truncated")
        answer = reply.text.strip()
        request = judge.request(question, answer)
        if isinstance(request, Label):
            return request, answer
        try:
            verdict = await self._call(self._judges, "judge", question, repeat, request, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=JUDGE_ERROR, reason=str(fault)), answer
        models.append(verdict.model)
        return judge.label(question, verdict), answer

    async def _call(
        self, model: Model | None, role: str, question: Question, repeat: int, request: Request, row: Row
    ) -> Completion:
        """A recorded call, or a new one that is recorded before it is used."""
        assert model is not None
        call = self._paid.pop((question.id, role, repeat), None)
        if call is None or call.request != request.sha256:
            self._go_on()
            try:
                self._spend.reserve()
            except Stopped as stop:
                self._stop(stop)
                raise _Halted from None
            usage: Usage | None = None
            try:
                completion = await model.complete(request)
                usage = completion.usage
            finally:
                self._spend.settle(usage)
            self._last_progress = time.monotonic()
            call = Call(question=question.id, role=role, repeat=repeat, request=request.sha256, completion=completion)
            self._calls.append(call)
        row.usage[role] = add(row.usage.get(role), call.completion.usage)
        return call.completion

    # --- writing ---------------------------------------------------------------------------------------------------

    def _failed(self, scenario: Scenario, question: Question, status: str, error: str) -> Row:
        return Row(
            id=question.id,
            scenario=scenario.id,
            cluster=scenario.cluster,
            category=question.category,
            status=status,
            error=mask(error),
            started=time.time(),
            flags=self._ready.harness.flags(question),
        )

    def _write(self, row: Row, texts: Texts | None, *, count: bool = True) -> None:
        """The long part first: a row on disk always has its texts."""
        row.error = row.error[:500]
        if texts is not None and self._config.texts:
            self._texts.append(texts)
        self._rows.append(row)
        self._last_progress = time.monotonic()
        self._observer.row(row, self._spend.usd)
        if row.status == OK:
            self._failed_in_a_row = 0
            return
        log.warning("%s: %s: %s", row.id, row.status, row.error)
        if count:
            self._count_failure(f"{row.status}: {row.error}")

    def _count_failure(self, what: str) -> None:
        """One thing failed: a question, or a whole scenario that could not be ingested."""
        self._failed_in_a_row += 1
        limit = self._config.stop_after_errors
        if limit is not None and self._failed_in_a_row >= limit:
            self._stop(Stopped(f"{limit} failures in a row (run.stop_after_errors), the last {what}"))


def _next(stream: Iterator[Scenario]) -> Scenario | None:
    return next(stream, None)
