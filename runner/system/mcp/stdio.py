"""The stdio transport of MCP over a process of an arm: newline-delimited JSON-RPC, one message per line.

It does what the SDK's own does, but the process is one of :mod:`runner.process` (its group, its guard, its stderr), a
line has a bound, and a server that floods is ended. Lines that are not messages are logged and left out: the protocol
forbids them, and servers greet their terminal all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from runner.http import start_of
from runner.process import exit_of
from runner.system._bridge.arm_process import ArmProcess

log = logging.getLogger(__name__)

LINE_MAX: Final = 32_000_000  # bytes of one message
_NOISE_MAX: Final = 100  # lines that are not messages, until the server counts as flooding
_NOISE_LOGGED: Final = 5
_PARTING_S: Final = 2.0  # that a server has to end by itself once its stdin is closed


@asynccontextmanager
async def stdio(served: ArmProcess, ended: Callable[[str], None]) -> AsyncIterator[Any]:
    """Yield the streams of a process as the SDK wants them; leaving them ends the process.

    Parameters
    ----------
    ended
        Told why, when the process ends or must be ended.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    inward, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writes, outward = anyio.create_memory_object_stream[SessionMessage](0)
    listening = asyncio.create_task(served.child.read_stderr())

    async def write() -> None:
        async with outward:
            async for message in outward:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await served.child.write_stdin(line.encode("utf-8", "replace") + b"\n")

    async def read() -> None:
        async with inward:
            try:
                async for message in _messages(served, ended):
                    await inward.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the session has left
            ended(exit_of(await served.child.exit_code(listening)))

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            try:
                yield reads, writes
            finally:
                with anyio.CancelScope(shield=True):
                    await _disconnect(served, listening)
                tasks.cancel_scope.cancel()
    finally:
        listening.cancel()
        for stream in (inward, reads, writes, outward):
            stream.close()


async def _disconnect(served: ArmProcess, listening: asyncio.Task[None]) -> None:
    """Close its stdin, wait a little, then kill what is left."""
    await served.child.close_stdin()
    await asyncio.wait((listening,), timeout=_PARTING_S if served.child.code is None else 0.1)
    await served.kill()


async def _messages(served: ArmProcess, ended: Callable[[str], None]) -> AsyncIterator[Any]:
    """Yield the messages that it prints, until it ends or floods."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    line = bytearray()
    noise = 0
    while chunk := await served.child.read_chunk():
        first, *others = chunk.split(b"\n")
        line += first
        for other in others:
            whole, line = bytes(line), bytearray(other)
            if not whole.strip():
                continue
            try:
                yield SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
            except ValueError:
                noise += 1
                if noise <= _NOISE_LOGGED:
                    log.warning(
                        "%s printed on stdout something that is not a message: %s", served.name, start_of(whole)
                    )
                if noise > _NOISE_MAX:
                    ended(f"printed more than {_NOISE_MAX} lines that are not messages and was killed")
                    return
        if len(line) > LINE_MAX:
            ended(f"printed a line of more than {LINE_MAX // 1_000_000} MB and was killed")
            return
