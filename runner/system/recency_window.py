"""Newest first to half of the budget: a short window of the latest turns."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from runner.system import hit_of, within
from runner.system._retrieval.history_system import HistorySystem
from runner.types import Event, Query, Retrieval


class RecencyWindow(HistorySystem):
    """The end of the history, to half of every bound that the arm sets; half of the events when it sets none."""

    def find(self, store: Sequence[Event], query: Query) -> Retrieval:
        halved = replace(query, k=_half(query.k), max_chars=_half(query.max_chars), max_tokens=_half(query.max_tokens))
        if halved.k is None and halved.max_chars is None and halved.max_tokens is None:
            halved = replace(halved, k=(len(store) + 1) // 2)
        return within(map(hit_of, reversed(store)), halved)


def _half(bound: int | None) -> int | None:
    return None if bound is None else max(1, bound // 2)


SYSTEM = RecencyWindow
