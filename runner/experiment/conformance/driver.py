"""What a check of a memory system is made of: a few events, calls of the contract in time, and how a clause stands."""

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

Stands = tuple[str, str]  # how a clause stands (KEPT, BROKEN or STATED), and what was seen

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
    """Ten events about ten things, a day apart."""
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


class Contract:
    """Calls of one system, each within its deadline, on namespaces of its own."""

    def __init__(self, system: MemorySystem, limits: RunConfig) -> None:
        self.system = system
        self.can = system.capabilities
        self.limits = limits
        self._used: list[str] = []
        self._tag = secrets.token_hex(4)

    async def leave(self) -> None:
        """Erase every namespace that was used."""
        for ns in self._used:
            try:
                await self.timed(self.system.erase(ns), self.limits.settle_s)
            except Exception as error:
                log.warning("erase of %s failed: %s", ns, mask(str(error)))

    # --- calls of the contract ---------------------------------------------------------------------------------------

    async def timed(self, call: Awaitable[T], seconds: float) -> T:
        return await asyncio.wait_for(call, seconds)

    def space(self, name: str) -> str:
        """A namespace that nobody used before, erased in the end."""
        ns = f"check-{self._tag}-{name}"
        self._used.append(ns)
        return ns

    async def store(self, ns: str, events: list[Event]) -> Receipt:
        """Reset, write, settle."""
        await self.timed(self.system.reset(ns), self.limits.write_s)
        receipt = await self.timed(self.system.write(ns, self.told(events)), self.limits.write_s)
        await self.timed(self.system.settle(ns, receipt, self.limits.settle_s), self.limits.settle_s)
        return receipt

    def told(self, events: list[Event]) -> list[Event]:
        """As a run tells them: with the time in the text for a system that takes none."""
        return events if self.can.timestamps else list(map(dated, events))

    async def search(self, ns: str, text: str, k: int | None = 10, evidence: tuple[str, ...] = ()) -> Retrieval:
        query = _query(text, k, evidence if self.can.reads_gold else None)
        found = await self.timed(self.system.search(ns, query), self.limits.search_s)
        if not isinstance(found, Retrieval):
            raise SystemFault(f"search returned {type(found).__name__}, not a Retrieval")
        return found

    async def find(self, ns: str, event: Event, k: int | None = 10) -> Retrieval:
        """What comes back for a question about one event."""
        return await self.search(ns, f"What about this: {event.text}", k, (event.id,))

    async def ask(self, ns: str, text: str) -> Answer:
        """The system's own answer, in words.

        Raises
        ------
        SystemFault
            When it is none, or empty.
        """
        answer = await self.timed(self.system.ask(ns, _query(text, 10, None)), self.limits.search_s)
        if not isinstance(answer, Answer):
            raise SystemFault(f"ask returned {type(answer).__name__}, not an Answer")
        said: object = answer.text
        if not isinstance(said, str):
            raise SystemFault(f"ask answered with {type(said).__name__}, not with a text")
        if not said.strip():
            raise SystemFault("ask answered with an empty text; that nothing is known is said in words")
        return answer


def _query(text: str, k: int | None, evidence: tuple[str, ...] | None) -> Query:
    return Query(text=text, now=START + timedelta(days=30), k=k, evidence=evidence)


def words(text: str) -> set[str]:
    """The rarer words of a text: those of five letters and more."""
    return {word.strip(".,:;!?").casefold() for word in text.split() if len(word) > 4}


def holds(found: Retrieval, event: Event) -> bool:
    """Whether a result holds an event: by its source, or for a system that rewrites by most of its rarer words."""
    wanted = words(event.text)
    for hit in found.hits:
        if hit.sources is not None and event.id in hit.sources:
            return True
        if hit.sources is None and len(wanted & words(hit.text)) >= max(2, len(wanted) // 2):
            return True
    return False
