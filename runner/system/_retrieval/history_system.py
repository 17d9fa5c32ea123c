"""Systems that search nothing: they hand back a part of the history, chosen without reading the question's words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runner.system import Capabilities, EmbeddedSystem, hit_of, within
from runner.types import Event, Query, Retrieval


class HistorySystem(EmbeddedSystem):
    """The history, chosen and ordered by :meth:`choose`, cut to the budget."""

    capabilities = Capabilities(ranked=False)

    def choose(self, events: Sequence[Event], query: Query) -> Iterable[Event]:
        """The events to return, in order."""
        raise NotImplementedError

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Sequence[Event]:
        return events

    def find(self, store: Sequence[Event], query: Query) -> Retrieval:
        return within(map(hit_of, self.choose(store, query)), query)
