"""The processes of an arm, and the namespaces that each of them holds.

A namespace belongs to the process that it was reset in, for as long as it lives. A process that ended is started again
by the next reset, never in the middle of a scenario: what it held is gone, and a search that finds nothing because of
that would look like a memory that forgot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from runner.system._bridge.faults import BridgeError


class Connection(Protocol):
    """A process or session that can end by itself."""

    why: str  # it can be asked no more; empty while it can

    async def stop(self) -> None:
        """End it with all that it started."""


C = TypeVar("C", bound=Connection)


class ProcessPool(Generic[C]):
    """The processes of one arm.

    Parameters
    ----------
    start
        Starts one.
    count
        The most processes, each for many namespaces.
    each
        Whether every reset starts a new one instead, ended when its namespace is erased.
    """

    def __init__(self, start: Callable[[], Awaitable[C]], count: int, *, each: bool) -> None:
        self._start = start
        self._each = each
        self._slots: list[C | None] = [None] * count
        self._locks = [asyncio.Lock() for _ in range(count)]
        self._visiting = asyncio.Lock()
        self._spare: C | None = None
        self._place: dict[str, int] = {}  # of a namespace in the slots
        self._home: dict[str, C] = {}

    async def first(self) -> C:
        """Start one, to be asked what it is."""
        started = await self._start()
        if self._each:
            self._spare = started
        else:
            self._slots[0] = started
        return started

    async def reset(self, ns: str) -> C:
        """Return a running process for a namespace that begins; start one if need be.

        Raises
        ------
        BridgeError
            When it cannot be started.
        """
        if self._each:
            await self.drop(ns)
            found, self._spare = self._spare, None
            if found is None or found.why:
                found = await self._start()
            self._home[ns] = found
            return found
        place = self._place.get(ns)
        if place is None:
            held = list(self._place.values())
            place = self._place[ns] = min(range(len(self._slots)), key=held.count)
        async with self._locks[place]:
            kept = self._slots[place]
            if kept is None or kept.why:
                if kept is not None:
                    await kept.stop()
                self._slots[place] = None
                kept = self._slots[place] = await self._start()
        self._home[ns] = kept
        return kept

    async def visit(self, ns: str) -> C:
        """Return a running process for a namespace that is there already and outlives its processes.

        Raises
        ------
        BridgeError
            When it cannot be started.
        """
        async with self._visiting:
            home = self._home.get(ns)
            return home if home is not None and not home.why else await self.reset(ns)

    def holder(self, ns: str) -> C:
        """Return the process that holds a namespace.

        Raises
        ------
        BridgeError
            When it has ended since.
        """
        home = self._home.get(ns)
        if home is None:
            raise BridgeError("no process holds this namespace")
        if home.why:
            raise BridgeError(f"{home.why} (earlier in this scenario; it is started again for the next one)")
        return home

    async def drop(self, ns: str) -> None:
        """Let a namespace go."""
        self._place.pop(ns, None)
        home = self._home.pop(ns, None)
        if home is not None and self._each:
            await home.stop()

    async def close(self) -> None:
        """End all of them."""
        ending = {id(one): one for one in (*self._slots, *self._home.values(), self._spare) if one is not None}
        self._home.clear()
        self._place.clear()
        self._slots = [None] * len(self._slots)
        self._spare = None
        await asyncio.gather(*(one.stop() for one in ending.values()))
