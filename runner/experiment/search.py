"""What a question gets out of a memory: hits within the budget, or the memory's own answer; and its metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from runner.config import Recall, RunConfig
from runner.errors import SearchError
from runner.experiment import system_guard
from runner.experiment.answer import UNTOLD, AnswerAttempt
from runner.experiment.benchmark_guard import BenchmarkGuard
from runner.experiment.deadline import with_deadline
from runner.experiment.recall_budget import Delivered, deliver, fingerprint
from runner.experiment.stop import StopFlag
from runner.system import MemorySystem
from runner.types import Answer, Hit, Query, Question, Row, Texts, Usage

# Metrics that hold whatever the order of the hits: all that a system can be measured on that does not rank.
UNRANKED: Final = "@all"
# Flags of a row: it was asked of a corpus that was there already; its hits do not name the events they came from.
EXISTING: Final = "existing_corpus"
SOURCES_UNTOLD: Final = "sources_untold"


class Retrieving:
    """One system's read side, for the questions of one benchmark."""

    def __init__(
        self, measured: BenchmarkGuard, system: MemorySystem, recall: Recall, config: RunConfig, brake: StopFlag
    ) -> None:
        self._measured_by, self._system, self._brake = measured, system, brake
        self._recall, self._config = recall, config
        # Latency is measured inside this gate: the queue in front of a system is ours, not its.
        self._in_flight = asyncio.Semaphore(system.searches or config.concurrency)

    def took(self, question: Question, delivered: Delivered, row: Row, texts: Texts, *, lost: bool = False) -> None:
        """Write what was delivered into the row, and what the harness measures of it."""
        row.keys = fingerprint([hit.key for hit in delivered.hits])
        row.context = fingerprint([delivered.text])
        row.hits, row.chars = len(delivered.hits), len(delivered.text)
        row.flags = (*row.flags, *delivered.flags)
        texts.hits, texts.context = delivered.hits, delivered.text
        self._measured(question, delivered.hits, row)
        row.metrics |= self._measured_by.delivered(question, delivered.text, failed=lost)
        self._measured_by.require_headline(row.metrics)

    def _measured(self, question: Question, hits: Sequence[Hit], row: Row) -> None:
        if not hits and not self._system.capabilities.sources and EXISTING not in row.flags:
            hits = UNTOLD  # what names no events when it finds something cannot be measured when it finds nothing
        elif any(hit.sources is None for hit in hits) and EXISTING not in row.flags:
            row.flags = (*row.flags, SOURCES_UNTOLD)
        row.metrics = self._measured_by.retrieval(question, hits)
        row.metrics["sources_per_hit"] = _grain(hits)
        if not self._system.capabilities.ranked:
            row.metrics = {k: v if k.endswith(UNRANKED) else None for k, v in row.metrics.items()}

    def query(self, question: Question, text: str) -> Query:
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
            evidence=question.gold.evidence if self._system.capabilities.reads_gold else None,
        )

    async def search(self, ns: str, question: Question, row: Row, known: frozenset[str] | None) -> Delivered:
        system, recall = self._system, self._recall
        query = self.query(question, question.text)
        async with self._in_flight:
            self._brake.check()
            start = time.perf_counter()
            found = await with_deadline(
                "search", SearchError, lambda: system.search(ns, query), self._config.search_s, "run.search_s"
            )
            row.usage["search"] = Usage(seconds=time.perf_counter() - start)
        retrieval = system_guard.retrieval(found, known)
        row.flags = (*row.flags, *retrieval.notes, *(("search_cached",) if retrieval.cached else ()))
        return deliver(retrieval.hits, recall.limit, recall.max_chars)

    def ask(self, ns: str, query: Query, known: frozenset[str] | None) -> Callable[[], Awaitable[Answer]]:
        """What asks the memory for an answer of its own, once a call."""

        async def once() -> Answer:
            async with self._in_flight:
                self._brake.check()
                found = await with_deadline(
                    "ask", SearchError, lambda: self._system.ask(ns, query), self._config.search_s, "run.search_s"
                )
            return system_guard.answer(found, known)

        return once

    def took_answer(self, question: Question, said: AnswerAttempt, row: Row, texts: Texts) -> None:
        """What a memory read for its answer; where it does not say, nothing of its retrieval is measurable."""
        hits = said.hits or ()
        row.keys = "" if said.hits is None else fingerprint([hit.key for hit in hits])
        row.context = fingerprint([said.text])
        row.hits = len(hits)
        texts.hits = hits
        self._measured(question, UNTOLD if said.hits is None else hits, row)


def _grain(hits: Sequence[Hit]) -> float | None:
    """Events behind a hit, on average: recall@K counts a hit once, however many events it merges."""
    counts = [len(hit.sources) for hit in hits if hit.sources is not None]
    return sum(counts) / len(counts) if counts else None
