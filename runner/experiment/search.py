"""The search of one question: hits within the budget, or those of the memory's own answer, and their metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from runner.config import Recall, RunConfig
from runner.errors import SearchError, SystemFault
from runner.experiment import system_guard
from runner.experiment.benchmark_guard import BenchmarkGuard, Scores
from runner.experiment.deadline import with_deadline
from runner.experiment.recall_budget import Context, cut_to_budget, fingerprint
from runner.experiment.stop import StopFlag
from runner.safe import mask
from runner.score.retrieval import SOURCES_PER_HIT
from runner.system import MemorySystem
from runner.types import OK, SEARCH_CACHED, SOURCES_UNTOLD, Answer, Hit, Query, Question, Usage

# Metrics that hold whatever the order of the hits: all that a system can be measured on that does not rank.
UNRANKED: Final = "@all"
# Stands for the hits of an answer whose memory does not say what it read: not measurable, which is not nothing.
UNKNOWN_HITS: Final = (Hit(key="", text=""),)


@dataclass(frozen=True)
class Searched:
    """The result of one search, measured.

    Attributes
    ----------
    context
        The text for a reader; empty where the memory answers by itself.
    keys, context_digest
        Digests of the ordered keys, and of the context (or of the memory's own answer).
    status, error
        The fault of a search that failed; it has no hits and no metrics then.
    used
        The time of the search, where one was sent.
    """

    hits: tuple[Hit, ...] = ()
    context: str = ""
    keys: str = ""
    context_digest: str = ""
    metrics: Scores = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    used: tuple[tuple[str, Usage], ...] = ()
    status: str = OK
    error: str = ""


class Searcher:
    """Searches one memory system for the questions of one benchmark."""

    def __init__(
        self, benchmark: BenchmarkGuard, system: MemorySystem, recall: Recall, config: RunConfig, stop: StopFlag
    ) -> None:
        self._benchmark, self._system, self._stop = benchmark, system, stop
        self._recall, self._config = recall, config
        # Latency is measured inside this semaphore: the queue in front of a system is the run's, not the system's.
        self._in_flight = asyncio.Semaphore(system.searches or config.concurrency)

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

    async def search(self, ns: str, question: Question, known: frozenset[str] | None, existing: bool) -> Searched:
        """Search one namespace and measure what came back; a fault of the system is the status of the result.

        Parameters
        ----------
        known
            Ids of the events that were written; ``None`` for a corpus that was there already.
        existing
            Whether it is such a corpus.
        """
        system, recall = self._system, self._recall
        query = self.query(question, question.text)
        used: tuple[tuple[str, Usage], ...] = ()
        try:
            async with self._in_flight:
                self._stop.check()
                start = time.perf_counter()
                returned = await with_deadline(
                    "search", SearchError, lambda: system.search(ns, query), self._config.search_s, "run.search_s"
                )
                used = (("search", Usage(seconds=time.perf_counter() - start)),)
            retrieval = system_guard.retrieval(returned, known)
        except SystemFault as fault:
            return Searched(used=used, status=fault.status, error=mask(str(fault)))
        flags = (*retrieval.notes, *((SEARCH_CACHED,) if retrieval.cached else ()))
        context = cut_to_budget(retrieval.hits, recall.limit, recall.max_chars)
        searched = self._delivered(question, context, existing, lost=False)
        return replace(searched, flags=(*flags, *searched.flags), used=used)

    def lost(self, question: Question) -> Searched:
        """Measure a question of a memory that had nothing left to search."""
        return self._delivered(question, Context(), existing=False, lost=True)

    def asker(self, ns: str, query: Query, known: frozenset[str] | None) -> Callable[[], Awaitable[Answer]]:
        """Return the call that asks the memory for an answer of its own."""

        async def ask() -> Answer:
            async with self._in_flight:
                self._stop.check()
                returned = await with_deadline(
                    "ask", SearchError, lambda: self._system.ask(ns, query), self._config.search_s, "run.search_s"
                )
            return system_guard.answer(returned, known)

        return ask

    def read_for_answer(self, question: Question, text: str, hits: tuple[Hit, ...] | None, existing: bool) -> Searched:
        """Measure what a memory read for its own answer; where it does not say, nothing is measurable."""
        metrics, flags = self._measured(question, UNKNOWN_HITS if hits is None else hits, existing)
        return Searched(
            hits=hits or (),
            keys="" if hits is None else fingerprint([hit.key for hit in hits]),
            context_digest=fingerprint([text]),
            metrics=metrics,
            flags=flags,
        )

    def _delivered(self, question: Question, context: Context, existing: bool, lost: bool) -> Searched:
        metrics, flags = self._measured(question, context.hits, existing)
        metrics |= self._benchmark.delivered(question, context.text, failed=lost)
        self._benchmark.require_headline(metrics)
        return Searched(
            hits=context.hits,
            context=context.text,
            keys=fingerprint([hit.key for hit in context.hits]),
            context_digest=fingerprint([context.text]),
            metrics=metrics,
            flags=(*context.flags, *flags),
        )

    def _measured(self, question: Question, hits: Sequence[Hit], existing: bool) -> tuple[Scores, tuple[str, ...]]:
        flags: tuple[str, ...] = ()
        if not hits and not self._system.capabilities.sources and not existing:
            hits = UNKNOWN_HITS  # what names no events when it finds something cannot be measured when it finds nothing
        elif any(hit.sources is None for hit in hits) and not existing:
            flags = (SOURCES_UNTOLD,)
        metrics = self._benchmark.retrieval(question, hits)
        metrics[SOURCES_PER_HIT.name] = _sources_per_hit(hits)
        if not self._system.capabilities.ranked:
            metrics = {name: value if name.endswith(UNRANKED) else None for name, value in metrics.items()}
        return metrics, flags


def _sources_per_hit(hits: Sequence[Hit]) -> float | None:
    """Return the mean number of events behind a hit: recall@K counts a hit once, however many events it merges."""
    counts = [len(hit.sources) for hit in hits if hit.sources is not None]
    return sum(counts) / len(counts) if counts else None
