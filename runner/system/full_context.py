"""The whole history, oldest first, to the budget: it shows what a reader can do with everything."""

from __future__ import annotations

from collections.abc import Sequence

from runner.system._retrieval.history_system import HistorySystem
from runner.types import Event, Query


class FullContext(HistorySystem):
    """Everything in the order in which it happened; the arm leaves both bounds open."""

    def choose(self, events: Sequence[Event], query: Query) -> Sequence[Event]:
        return events


SYSTEM = FullContext
