"""Worker threads that never hold a process open.

``concurrent.futures`` joins its threads when the interpreter ends, so that one call that never returns keeps the
process for ever. These are daemon threads: what is stuck is left behind.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]

GRACE_S = 1.0  # that a close gives to calls still running, so that what they use is not closed under them


class Threads:
    """At most ``count`` calls at a time, in order of arrival, in daemon threads that start when first needed."""

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._pending: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._started = 0
        self._closed = False

    def submit(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Queue a call.

        Raises
        ------
        RuntimeError
            After :meth:`close`.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name}: closed; no call is taken any more")
            self._pending.add(future)
            start = self._started < min(self._count, len(self._pending))
            self._started += start
            self._jobs.put((future, function, args))
        future.add_done_callback(self._done)
        if start:
            threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True).start()
        return future

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Return the result of a call. Cancelling the wait drops a call that has not begun and leaves one that has."""
        return await asyncio.wrap_future(self.submit(function, *args))

    async def close(self, grace_s: float = GRACE_S) -> None:
        """Drop the calls that have not begun, and wait at most ``grace_s`` for the others."""
        with self._lock:
            self._closed = True
            left = list(self._pending)
            for _ in range(self._started):
                self._jobs.put(None)
        running = [future for future in left if not future.cancel()]
        deadline = asyncio.get_running_loop().time() + grace_s
        while running and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
            running = list(wait(running, 0).not_done)

    def _done(self, future: Future[Any]) -> None:
        with self._lock:
            self._pending.discard(future)


async def in_own_thread(function: Callable[..., T], *args: Any) -> T:
    """Run one call in a thread of its own, such as loading a model: one that hangs does not hold up the process."""
    threads = Threads(1, "once")
    try:
        return await threads.run(function, *args)
    finally:
        await threads.close(0.0)


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        future, function, args = job
        if future.set_running_or_notify_cancel():
            try:
                result = function(*args)
            except StopIteration as error:  # no future takes one: whoever waits would wait for ever
                future.set_exception(RuntimeError(f"StopIteration: {error}"))
            except BaseException as error:  # told to whoever waits, whatever it is
                future.set_exception(error)
            else:
                future.set_result(result)
        del job, future, function, args  # a waiting thread must not keep a finished scenario in memory
