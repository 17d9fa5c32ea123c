"""BM25 over the events' words: no model, no key, seconds for a whole benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.system import EmbeddedSystem, hit_of, spoken, within
from runner.system._retrieval.bm25_index import Bm25Index
from runner.system._retrieval.ranking import order
from runner.types import Event, Query, Retrieval

Store = tuple[Sequence[Event], Bm25Index]


class BM25(EmbeddedSystem):
    """Events that share a word with the question, best first; ties in event order."""

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Store:
        return events, Bm25Index([spoken(event) for event in events])

    def find(self, store: Store, query: Query) -> Retrieval:
        events, lexical = store
        scores = lexical.score(query.text)
        return within((hit_of(events[at], float(scores[at])) for at in order(scores, above=0.0)), query)


SYSTEM = BM25
