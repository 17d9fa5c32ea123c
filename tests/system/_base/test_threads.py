"""Threads of embedded systems: a stuck call holds up nobody, and neither side of a memory holds up the other."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import SearchError
from runner.system import EmbeddedSystem, Prepared
from runner.system._base.threads import Threads
from runner.types import Event, Hit, Query, Retrieval
from tests.conftest import ROOT

ARM = ArmConfig(name="own", system="own")

STUCK = """
import asyncio, sys, threading, time
from runner.config import ArmConfig
from runner.system import EmbeddedSystem, Opening
from runner.types import Event, Query, Retrieval
class Own(EmbeddedSystem):
    def __init__(self, stuck):
        super().__init__(ArmConfig(name="own", system="own"))
        self.stuck = stuck
    def prepare(self, events):
        self.maybe("prepare"); return super().prepare(events)
    def index(self, events, prepared):
        self.maybe("index"); return events
    def find(self, store, query):
        self.maybe("find"); return Retrieval()
    def maybe(self, where):
        if where == self.stuck:
            threading.Event().wait()
async def main(stuck):
    system = Own(stuck)
    await system.open(Opening())
    try:
        async with asyncio.timeout(0.2):
            await system.write("a", [Event(id="1", text="x")])
            await system.search("a", Query(text="x"))
    except TimeoutError:
        start = time.monotonic()
        await system.close()
        print(stuck, "closed", time.monotonic() - start < 3.0)
async def all():
    await asyncio.gather(*map(main, sys.argv[1:]))
asyncio.run(all())
print("ended")
"""


def test_a_call_that_never_returns_does_not_keep_the_process() -> None:
    steps = ["find", "index", "prepare"]
    done = subprocess.run(
        [sys.executable, "-c", STUCK, *steps], capture_output=True, text=True, timeout=30, check=True, cwd=ROOT
    )
    *closed, ended = done.stdout.splitlines()
    assert (sorted(closed), ended) == ([f"{step} closed True" for step in steps], "ended")
    assert done.stderr == ""


class Slow(EmbeddedSystem):
    """Its second write waits until it is let go."""

    def __init__(self) -> None:
        super().__init__(ARM)
        self.begun, self.go = threading.Event(), threading.Event()

    def prepare(self, events: Sequence[Event]) -> Prepared:
        if events[0].id != "first":
            self.begun.set()
            assert self.go.wait(20)
        return Prepared()

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Any:
        return [event.id for event in events]

    def find(self, store: Any, query: Query) -> Retrieval:
        return Retrieval(hits=tuple(Hit(key=name, text=name) for name in store))


def test_an_ingest_never_delays_a_search() -> None:
    async def found(system: Slow, ns: str) -> list[str]:
        async with asyncio.timeout(10):
            return [hit.key for hit in (await system.search(ns, Query(text="x"))).hits]

    async def session() -> None:
        system = Slow()
        for ns in ("a", "b"):
            receipt = await system.write(ns, [Event(id="first", text="x")])
            await system.settle(ns, receipt, 1.0)
        writes = [  # more than there are threads
            asyncio.create_task(system.write(ns, [Event(id="second", text="x")])) for ns in ("a", "c", "d", "e")
        ]
        await asyncio.to_thread(system.begun.wait, 10)
        assert await found(system, "b") == ["first"]
        assert await found(system, "a") == ["first"]  # the index before the write that goes on
        system.go.set()
        await asyncio.gather(*writes)
        assert await found(system, "a") == ["first", "second"]
        await system.close()

    asyncio.run(session())


def test_as_many_searches_as_threads() -> None:
    class One(EmbeddedSystem):
        threads = 1

    class Its(EmbeddedSystem):
        threads = 3
        searches = 2

    assert (EmbeddedSystem.searches, One.searches, Its.searches) == (2, 1, 2)


def test_calls_run_at_most_so_many_at_a_time_and_in_order() -> None:
    running: list[int] = []
    most: list[int] = []
    begun: list[int] = []
    lock = threading.Lock()

    def call(at: int) -> int:
        with lock:
            running.append(at)
            begun.append(at)
            most.append(len(running))
        time.sleep(0.01)
        with lock:
            running.remove(at)
        return at * at

    async def session() -> None:
        threads = Threads(2, "t")
        assert await asyncio.gather(*(threads.run(call, at) for at in range(10))) == [at * at for at in range(10)]
        await threads.close()
        with pytest.raises(RuntimeError, match="closed"):
            await threads.run(call, 1)

    asyncio.run(session())
    assert max(most) == 2
    assert begun == sorted(begun)


def test_a_wait_that_is_given_up_drops_what_has_not_begun() -> None:
    ran: list[str] = []

    async def session() -> None:
        threads, gate = Threads(1, "t"), threading.Event()
        first = asyncio.create_task(threads.run(gate.wait, 10))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(threads.run(ran.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        gate.set()
        assert await first
        await threads.run(ran.append, "third")
        await threads.close()

    asyncio.run(session())
    assert ran == ["third"]


@pytest.mark.parametrize("error", [StopIteration("none left"), SystemExit(3), KeyError("k")])
def test_whatever_a_system_raises_is_a_fault_of_the_search(error: BaseException) -> None:
    class Raises(EmbeddedSystem):
        def index(self, events: Any, prepared: Any) -> Any:
            return events

        def find(self, store: Any, query: Query) -> Retrieval:
            raise error

    async def session() -> None:
        system = Raises(ARM)
        await system.write("a", [Event(id="1", text="x")])
        async with asyncio.timeout(10):
            with pytest.raises(SearchError, match="system 'own' failed"):
                await system.search("a", Query(text="x"))
        await system.close()

    asyncio.run(session())
