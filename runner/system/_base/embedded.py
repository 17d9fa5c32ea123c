"""The base of synchronous systems that run in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from runner.config import ArmConfig
from runner.errors import (
    ConfigError,
    EndpointUnusable,
    IngestError,
    NotSettled,
    RunnerError,
    SearchError,
    SystemFault,
    UsageError,
)
from runner.system._base.build_id import build_version
from runner.system._base.contract import MemorySystem, Opening, Prepared, Provenance
from runner.system._base.namespaces import Namespace, Namespaces, new_ids
from runner.system._base.text import receipt_of
from runner.system._base.threads import Threads
from runner.types import Event, Query, Receipt, Retrieval

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass
class _Indexed(Namespace):
    """Events in the order written, and the index made of them when it is first needed."""

    events: list[Event] = field(default_factory=list)
    prepared: list[Any] = field(default_factory=list)
    store: Any = None
    ready: bool = False


async def in_thread(name: str, side: Threads, fault: type[SystemFault], function: Callable[..., T], *args: Any) -> T:
    """Call a system's synchronous function in a thread; a failure there becomes the status of a row.

    Raises
    ------
    SystemFault
        ``fault`` for whatever the call raises, with its traceback in the log; a typed fault of its own as it is.
    UsageError, EndpointUnusable
        As they are: they end the run.
    """
    try:
        return await side.run(function, *args)
    except (SystemFault, UsageError, EndpointUnusable):
        raise
    except RunnerError as error:
        raise fault(str(error)) from error
    except (Exception, SystemExit) as error:
        log.exception("%s failed", name)
        reason = (str(error).splitlines() or [""])[0][:200]
        raise fault(f"system '{name}' failed: {type(error).__name__}: {reason}") from error


class EmbeddedSystem(MemorySystem):
    """A synchronous in-process system: its methods run in threads of its own, behind their own limit.

    Subclasses write :meth:`index` (all events of a namespace to whatever a search needs) and :meth:`find`; one whose
    index holds something expensive for each event makes that in :meth:`prepare`, which runs once per event; one whose
    index leaves events out says so in :meth:`keeps`. Writes to one namespace append; the index is made when it is
    settled or first searched, and once.

    The write side (:meth:`prepare`, :meth:`index`) and the read side (:meth:`find`) have ``threads`` threads each, so
    that an ingest never stands in the way of a search: they may run at the same time, of one namespace too, and a
    search during a write is answered from the index before it. A call that never returns holds up neither
    :meth:`close` nor the end of the process.
    """

    outside = False
    threads: ClassVar[int] = 2  # of each side
    searches: int | None = threads

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "threads" in cls.__dict__ and "searches" not in cls.__dict__:
            cls.searches = cls.threads  # as many searches at once as there are threads to run them

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        absent = [name for name in ("index", "find") if getattr(type(self), name) is getattr(EmbeddedSystem, name)]
        if absent:
            raise ConfigError([f"arm.system: '{arm.system}' must define {' and '.join(absent)}"])
        self._spaces: Namespaces[_Indexed] = Namespaces()
        self._writers = Threads(self.threads, f"{arm.system}-write")
        self._readers = Threads(self.threads, f"{arm.system}-read")

    async def _threaded(self, side: Threads, fault: type[SystemFault], function: Callable[..., T], *args: Any) -> T:
        return await in_thread(self.arm.system, side, fault, function, *args)

    def prepare(self, events: Sequence[Event]) -> Prepared:
        """Return the expensive part of newly written events, before they are indexed."""
        return Prepared()

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Any:
        """Build the store of one namespace from all its events, in the order written."""
        raise NotImplementedError

    def find(self, store: Any, query: Query) -> Retrieval:
        """Search one store."""
        raise NotImplementedError

    def keeps(self, event: Event) -> bool:
        """Return whether the index holds anything of an event that was written."""
        return True

    async def open(self, opening: Opening) -> Provenance:
        self.require()
        return Provenance(build=build_version(self))

    async def reset(self, ns: str) -> None:
        self._spaces[ns] = _Indexed()

    async def erase(self, ns: str) -> None:
        self._spaces.pop(ns, None)

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        space = self._spaces.setdefault(ns, _Indexed())
        async with space.lock:
            fresh = new_ids(space.ids, events)
            prepared = await self._threaded(self._writers, IngestError, self.prepare, events)
            space.events += events
            space.prepared += prepared.items
            space.ids |= fresh
            space.ready = False
        return receipt_of(events, computed=prepared.computed, reused=prepared.reused)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        await self._indexed(self._spaces.written(ns, NotSettled), IngestError)

    async def search(self, ns: str, query: Query) -> Retrieval:
        space = self._spaces.written(ns, SearchError)
        if not space.events:
            return Retrieval()
        store = await self._indexed(space, SearchError)
        return await self._threaded(self._readers, SearchError, self.find, store, query)

    async def holds(self, ns: str, events: Sequence[str]) -> frozenset[str]:
        space = self._spaces.written(ns, SearchError)
        asked = space.ids.intersection(events)
        return frozenset(event.id for event in space.events if event.id in asked and self.keeps(event))

    async def _indexed(self, space: _Indexed, fault: type[SystemFault]) -> Any:
        if space.ready:  # without the lock, which a write in progress holds
            return space.store
        async with space.lock:
            if not space.ready and space.events:
                events, prepared = tuple(space.events), tuple(space.prepared)
                space.store = await self._threaded(self._writers, fault, self.index, events, prepared)
                space.ready = True
            return space.store

    async def close(self) -> None:
        self._spaces.clear()
        await asyncio.gather(self._writers.close(), self._readers.close())
