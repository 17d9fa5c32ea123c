"""The whole history, oldest first, to the budget: what a reader can do when nothing is left out."""

from __future__ import annotations

from collections.abc import Sequence

from runner.system._retrieval.replay import Replay
from runner.types import Event, Query


class FullContext(Replay):
    """Everything in the order in which it happened; the arm leaves both bounds open."""

    def choose(self, events: Sequence[Event], query: Query) -> Sequence[Event]:
        return events


SYSTEM = FullContext
