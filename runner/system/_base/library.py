"""The base of systems whose synchronous client library runs in this process, with one store per namespace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from msgspec import structs

from runner.config import ArmConfig
from runner.errors import IngestError, NotSettled, SearchError, SystemFault
from runner.system._base.contract import MemorySystem, Prepared
from runner.system._base.embedded import in_thread
from runner.system._base.namespaces import Namespace, Namespaces, new_ids
from runner.system._base.text import clean, receipt_of
from runner.system._base.threads import Threads
from runner.types import EMPTY_QUERY, Event, Query, Receipt, Retrieval

S = TypeVar("S")
log = logging.getLogger(__name__)

_PARTING_S: Final = 10.0  # that the stores have to close when a run ends


@dataclass
class _Stored(Namespace, Generic[S]):
    store: S | None = None


class LibrarySystem(MemorySystem, Generic[S]):
    """A client library behind threads.

    Subclasses write :meth:`create`, :meth:`put`, :meth:`find` and :meth:`drop`. Each namespace has a store of its own,
    made when it is first written to, so that no scenario is seen, ranked against or slowed down by another, and an
    erase takes everything with it. One write at a time goes into a store; ``writers`` namespaces are written at once,
    and one search runs at a time: what is measured is the library, not its lock.
    """

    writers: ClassVar[int] = 4
    outside = False  # but for its models, which its arm states as any model is
    searches: int | None = 1

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._spaces: Namespaces[_Stored[S]] = Namespaces()
        self._writers = Threads(self.writers, f"{arm.system}-write")
        self._readers = Threads(1, f"{arm.system}-read")

    # --- what a subclass writes -------------------------------------------------------------------------------------

    def create(self, ns: str) -> S:
        """A store as empty as a fresh install."""
        raise NotImplementedError

    def put(self, store: S, ns: str, events: Sequence[Event]) -> Prepared:
        """Write events in their order."""
        raise NotImplementedError

    def find(self, store: S, ns: str, query: Query) -> Retrieval:
        """Search one store; its query has text."""
        raise NotImplementedError

    def drop(self, store: S) -> None:
        """Leave nothing of a store."""

    def held_events(self, store: S, ids: frozenset[str]) -> frozenset[str] | None:
        """Return those of these written events that a memory of the store came from; ``None`` when it cannot tell."""
        return None

    def sendable(self, event: Event) -> Event:
        """Return the event as the library can carry it; the receipt shows one that changes."""
        text = clean(event.text)
        return event if text == event.text else structs.replace(event, text=text)

    # --- the contract -----------------------------------------------------------------------------------------------

    async def reset(self, ns: str) -> None:
        await self._let_go(ns, IngestError)
        self._spaces[ns] = _Stored()

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        space = self._spaces.setdefault(ns, _Stored())
        async with space.lock:
            ids = new_ids(space.ids, events)
            sent = [self.sendable(event) for event in events]
            if space.store is None:
                space.store = await self._write_side(IngestError, self.create, ns)
            prepared = await self._write_side(IngestError, self.put, space.store, ns, sent)
            space.ids |= ids
        times = "native" if self.capabilities.timestamps else "in_text"
        return receipt_of(sent, times=times, computed=prepared.computed, reused=prepared.reused)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        self._spaces.written(ns, NotSettled)

    async def search(self, ns: str, query: Query) -> Retrieval:
        space = self._spaces.written(ns, SearchError)
        if space.store is None or not space.ids:
            return Retrieval()
        if not query.text.strip():
            return Retrieval(notes=(EMPTY_QUERY,))
        return await in_thread(self.arm.system, self._readers, SearchError, self.find, space.store, ns, query)

    async def holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        space = self._spaces.written(ns, SearchError)
        asked = frozenset(space.ids.intersection(events))
        return asked if space.store is None else self.held_events(space.store, asked)

    async def erase(self, ns: str) -> None:
        await self._let_go(ns, SystemFault)

    async def close(self) -> None:
        parting = asyncio.gather(*(self._let_go(ns, SystemFault) for ns in list(self._spaces)), return_exceptions=True)
        with suppress(TimeoutError):  # a call that never returns may hold every thread
            await asyncio.wait_for(parting, _PARTING_S)
        await asyncio.gather(self._writers.close(), self._readers.close())

    # --- helpers ----------------------------------------------------------------------------------------------------

    async def _write_side(self, fault: type[SystemFault], function: Any, *args: Any) -> Any:
        return await in_thread(self.arm.system, self._writers, fault, function, *args)

    async def _let_go(self, ns: str, fault: type[SystemFault]) -> None:
        space = self._spaces.pop(ns, None)
        if space is not None and space.store is not None:
            await self._write_side(fault, self.drop, space.store)
