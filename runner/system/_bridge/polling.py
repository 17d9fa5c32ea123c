"""Polling: ask again until what was written can be found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from pydantic import Field

from runner.config import Strict
from runner.dotted import at
from runner.http import start_of
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.value_types import JsonPath


class Condition(Strict):
    """A condition on an answer: the value at a path is one of these."""

    at: JsonPath
    values: Annotated[list[str | int | bool], Field(min_length=1)]

    def matches(self, answer: Any) -> bool:
        """Return whether an answer meets the condition."""
        found = at(answer, self.at)
        return any(found == value and isinstance(found, bool) == isinstance(value, bool) for value in self.values)


class PollSettings(Strict):
    """The wait for what was written: without ``ready`` any good answer says that it can be found."""

    ready: Condition | None = None
    failed: Condition | None = None  # it never will be
    every_s: Annotated[float, Field(gt=0, le=3600)] = 0.5

    @property
    def has_condition(self) -> bool:
        """A good answer is not enough: its body is read."""
        return self.ready is not None or self.failed is not None

    def is_done(self, answer: Any) -> bool:
        """Return whether an answer ends the wait.

        Raises
        ------
        BridgeError
            When the answer says that the wait failed.
        """
        if self.failed is not None and self.failed.matches(answer):
            raise BridgeError(f"'{self.failed.at}' says {start_of(str(at(answer, self.failed.at)), 60)}")
        return self.ready is None or self.ready.matches(answer)


async def poll_until(ready: Callable[[], Awaitable[bool]], deadline_s: float, every_s: float = 0.2) -> None:
    """Ask, at once and then every ``every_s`` seconds, until the answer is yes.

    Raises
    ------
    BridgeError
        When it is still no when ``deadline_s`` seconds have passed.
    """
    end = time.monotonic() + deadline_s
    while not await ready():
        if time.monotonic() + every_s >= end:
            raise BridgeError(f"what was written is not ready after {deadline_s:g} s")
        await asyncio.sleep(every_s)
