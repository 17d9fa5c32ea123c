"""One memory system, opened, used and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from runner.config import ArmConfig
from runner.system import MemorySystem, Opening, Provenance, build
from runner.types import Event, Receipt

Body = Callable[[MemorySystem], Awaitable[Any]]


def drive(arm: ArmConfig, body: Body, opening: Opening | None = None) -> Any:
    """Open the arm's system, do something with it, close it."""
    return drive_opened(arm, lambda system, _: body(system), opening)


def drive_opened(
    arm: ArmConfig, body: Callable[[MemorySystem, Provenance], Awaitable[Any]], opening: Opening | None = None
) -> Any:
    """As :func:`drive`, with what the system says of itself."""

    async def session() -> Any:
        system = build(arm)
        try:
            return await body(system, await system.open(opening or Opening()))
        finally:
            await system.close()

    return asyncio.run(session())


def opened(arm: ArmConfig) -> Provenance:
    """What the arm's system says of itself."""

    async def body(system: MemorySystem, provenance: Provenance) -> Provenance:
        return provenance

    found: Provenance = drive_opened(arm, body)
    return found


async def store(system: MemorySystem, ns: str, events: Sequence[Event], deadline_s: float = 30.0) -> Receipt:
    """Reset a namespace, write to it, and wait until it can be searched."""
    await system.reset(ns)
    receipt = await system.write(ns, events)
    await system.settle(ns, receipt, deadline_s)
    return receipt
