"""The floor of every comparison: a memory that remembers and returns nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.system import EmbeddedSystem
from runner.types import Event, Query, Retrieval


class NoMemory(EmbeddedSystem):
    """A system that takes every event and finds none: it shows what a reader knows without a memory."""

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> None:
        return None

    def keeps(self, event: Event) -> bool:
        return False

    def find(self, store: None, query: Query) -> Retrieval:
        return Retrieval()


SYSTEM = NoMemory
