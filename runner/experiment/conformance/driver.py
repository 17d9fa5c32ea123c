"""The tools of a check of a memory system: a few events, calls within their deadlines, and the outcomes of a clause."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from runner.config import RunConfig
from runner.errors import SystemFault
from runner.safe import mask
from runner.system import MemorySystem, dated
from runner.types import Answer, Event, Query, Receipt, Retrieval

T = TypeVar("T")
log = logging.getLogger("runner")

KEPT: Final = "kept"  # the contract holds
BROKEN: Final = "broken"  # it does not
STATED: Final = "stated"  # a limit that the system itself declares: recorded, and no breach

ClauseResult = tuple[str, str]  # KEPT, BROKEN or STATED, and what was seen

START: Final = datetime(2024, 3, 4, 9, 30)
_TOPICS: Final = (
    "The zeppelin moored beside the quarry for the night.",
    "Marmalade sandwiches were packed for the regatta.",
    "An oboe recital filled the small chapel.",
    "The glacier hike ended at a turquoise lake.",
    "A tortoise named Euclid escaped from the garden.",
    "The sourdough starter died during the power cut.",
    "Her kayak capsized near the old lighthouse.",
    "They planted saffron bulbs along the north fence.",
    "The auction sold a brass sextant to a dentist.",
    "His falcon refused to return before dusk.",
)


def events_of(prefix: str = "m") -> list[Event]:
    """Return ten events about ten things, a day apart."""
    return [
        Event(
            id=f"{prefix}{at}",
            text=text,
            time=START + timedelta(days=at),
            actor=("Ada", "Ben")[at % 2],
            kind="doc",
            session=f"s{at // 5}",
        )
        for at, text in enumerate(_TOPICS)
    ]


class SystemDriver:
    """Calls one system, each time within its deadline, on namespaces of its own."""

    def __init__(self, system: MemorySystem, limits: RunConfig) -> None:
        self.system = system
        self.capabilities = system.capabilities
        self.limits = limits
        self._namespaces: list[str] = []
        self._tag = secrets.token_hex(4)

    async def erase_all(self) -> None:
        """Erase every namespace that was used."""
        for ns in self._namespaces:
            try:
                await self.timed(self.system.erase(ns), self.limits.settle_s)
            except Exception as error:
                log.warning("erase of %s failed: %s", ns, mask(str(error)))

    # --- calls of the contract ---------------------------------------------------------------------------------------

    async def timed(self, call: Awaitable[T], seconds: float) -> T:
        """Await a call for so many seconds at most."""
        return await asyncio.wait_for(call, seconds)

    def namespace(self, name: str) -> str:
        """Return a namespace that nobody used before; it is erased in the end."""
        ns = f"check-{self._tag}-{name}"
        self._namespaces.append(ns)
        return ns

    async def store(self, ns: str, events: list[Event]) -> Receipt:
        """Reset a namespace, write events into it and wait until they are settled."""
        await self.timed(self.system.reset(ns), self.limits.write_s)
        receipt = await self.timed(self.system.write(ns, self.as_sent(events)), self.limits.write_s)
        await self.timed(self.system.settle(ns, receipt, self.limits.settle_s), self.limits.settle_s)
        return receipt

    def as_sent(self, events: list[Event]) -> list[Event]:
        """Return events as a run sends them: with the time in the text for a system without timestamps."""
        return events if self.capabilities.timestamps else list(map(dated, events))

    async def search(self, ns: str, text: str, k: int | None = 10, evidence: tuple[str, ...] = ()) -> Retrieval:
        """Search a namespace.

        Raises
        ------
        SystemFault
            When something else than a :class:`~runner.types.Retrieval` comes back.
        """
        query = _query(text, k, evidence if self.capabilities.reads_gold else None)
        retrieval = await self.timed(self.system.search(ns, query), self.limits.search_s)
        if not isinstance(retrieval, Retrieval):
            raise SystemFault(f"search returned {type(retrieval).__name__}, not a Retrieval")
        return retrieval

    async def search_for(self, ns: str, event: Event, k: int | None = 10) -> Retrieval:
        """Search a namespace with a question about one event."""
        return await self.search(ns, f"What about this: {event.text}", k, (event.id,))

    async def ask(self, ns: str, text: str) -> Answer:
        """Return the system's own answer, in words.

        Raises
        ------
        SystemFault
            When something else than an :class:`~runner.types.Answer` with a text comes back.
        """
        answer = await self.timed(self.system.ask(ns, _query(text, 10, None)), self.limits.search_s)
        if not isinstance(answer, Answer):
            raise SystemFault(f"ask returned {type(answer).__name__}, not an Answer")
        content: object = answer.text
        if not isinstance(content, str):
            raise SystemFault(f"ask answered with {type(content).__name__}, not with a text")
        if not content.strip():
            raise SystemFault("ask answered with an empty text; that nothing is known is said in words")
        return answer


def _query(text: str, k: int | None, evidence: tuple[str, ...] | None) -> Query:
    return Query(text=text, now=START + timedelta(days=30), k=k, evidence=evidence)


def rare_words(text: str) -> set[str]:
    """Return the rarer words of a text: those of five letters and more."""
    return {word.strip(".,:;!?").casefold() for word in text.split() if len(word) > 4}


def has_event(retrieval: Retrieval, event: Event) -> bool:
    """Tell whether a hit names an event, or holds half of its rarer words where it names no sources."""
    wanted = rare_words(event.text)
    for hit in retrieval.hits:
        if hit.sources is not None and event.id in hit.sources:
            return True
        if hit.sources is None and len(wanted & rare_words(hit.text)) >= max(2, len(wanted) // 2):
            return True
    return False
