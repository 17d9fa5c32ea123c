"""A way to stop a run before its end: the first reason counts, what is in flight finishes, nothing new starts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from runner.errors import RunnerError, Stopped


class StopRequested(Exception):
    """Inside the loop only: the run is stopping, start nothing more."""


class StopFlag:
    """Shared by everything that starts work in a run.

    Attributes
    ----------
    reason
        Why the run is stopping, ``None`` while it is not.
    """

    def __init__(self, stop_after_errors: int | None) -> None:
        self.reason: RunnerError | None = None
        self._limit = stop_after_errors
        self._failures = 0

    def pull(self, reason: RunnerError) -> None:
        """Stop the run for a reason; a later one is dropped."""
        if self.reason is None:
            self.reason = reason

    def check(self) -> None:
        """Raise :class:`StopRequested` once the run is stopping."""
        if self.reason is not None:
            raise StopRequested

    def succeeded(self) -> None:
        """Begin to count failures in a row anew."""
        self._failures = 0

    def failed(self, what: str) -> None:
        """Count a failure: of a question, or of a whole scenario that could not be ingested."""
        self._failures += 1
        if self._limit is not None and self._failures >= self._limit:
            self.pull(Stopped(f"{self._limit} failures in a row (run.stop_after_errors), the last {what}"))


@contextmanager
def stop_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Stop a run cleanly on Ctrl-C and SIGTERM, where signals can be had (the main thread of a POSIX process)."""
    loop = asyncio.get_running_loop()
    handled = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, interrupt)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
