"""The ceiling of retrieval: the evidence events only. No other system is given the gold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runner.errors import SearchError
from runner.system import Capabilities
from runner.system._retrieval.history_system import HistorySystem
from runner.types import Event, Query


class Oracle(HistorySystem):
    """Returns what the benchmark names as evidence, oldest first; a question without evidence gets nothing."""

    capabilities = Capabilities(reads_gold=True)  # ranked: no hit of it is better than another

    def choose(self, events: Sequence[Event], query: Query) -> Iterable[Event]:
        if query.evidence is None:
            raise SearchError("the oracle was not given the evidence: fill Query.evidence when capabilities.reads_gold")
        wanted = frozenset(query.evidence)
        return (event for event in events if event.id in wanted)


SYSTEM = Oracle
