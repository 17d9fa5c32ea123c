"""A server that an arm starts on a free port: started again with a scenario when it ended, never left behind."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Final

from runner.process import exit_of
from runner.system._bridge.arm_process import ArmProcess, ProcessSettings, build_of, placeholder_problems
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.http_client import Seconds

_AGAIN_S: Final = 0.05  # between two tries whether it answers
_NOTICED_S: Final = 2.0  # from a closed port to when it is known how its process ended

Ready = Callable[[], Awaitable[None]]


class ServerSettings(ProcessSettings):
    """The command of a server; ``{port}`` is a free port of this machine."""

    start_s: Seconds = 60.0  # until it answers

    def problems(self, key: str) -> list[str]:
        """Return a line for every placeholder that nothing fills."""
        return placeholder_problems(self, ("port",), key)


class ServerProcess:
    """The process of one server.

    Attributes
    ----------
    port
        Where it listens, the same after every start.
    code
        Which files it runs, where that is known.
    why
        Why it is gone; empty while it runs.
    """

    def __init__(self, serve: ServerSettings) -> None:
        self.port = _free_port()
        self.why = ""
        self.code = build_of(serve)
        self._serve = serve
        self._served: ArmProcess | None = None
        self._watching: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def start(self, ready: Ready) -> None:
        """Start it, and wait until it answers.

        Raises
        ------
        BridgeError
            When it ends or does not answer in time; it is stopped then.
        """
        self.why = ""
        self._served = served = await ArmProcess.start(self._serve, {"port": self.port})
        self._watching = asyncio.create_task(self._watch(served))
        end = time.monotonic() + self._serve.start_s
        while True:
            if self.why:
                raise BridgeError(self.why)
            try:
                await asyncio.wait_for(ready(), max(0.01, end - time.monotonic()))
                return
            except (BridgeError, TimeoutError) as trouble:
                if time.monotonic() + _AGAIN_S >= end:
                    said = served.child.stderr_tail()
                    await self.stop()
                    raise BridgeError(
                        f"{served.name} does not answer on port {self.port} after {self._serve.start_s:g} s "
                        f"({str(trouble) or 'no answer'}){said}"
                    ) from None
            await asyncio.sleep(_AGAIN_S)

    async def listens(self) -> None:
        """Check that somebody listens on the port.

        Raises
        ------
        BridgeError
            When nobody does.
        """
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            raise BridgeError(error.strerror or str(error)) from None
        writer.close()

    async def revive(self, ready: Ready) -> None:
        """Start it again if it is gone."""
        async with self._lock:
            await self._notice()
            if self.why:
                await self.stop()
                await self.start(ready)

    async def _notice(self) -> None:
        """Wait a moment for the reason why a server ended."""
        try:
            await self.listens()
        except BridgeError:
            if self._watching is not None:
                await asyncio.wait((self._watching,), timeout=_NOTICED_S)

    async def stop(self) -> None:
        """End it with all that it started."""
        served, self._served = self._served, None
        watching, self._watching = self._watching, None
        if served is None:
            return
        self.why = self.why or f"{served.name} was stopped"
        served.child.kill_group()
        if watching is not None:
            await asyncio.wait((watching,))

    async def _watch(self, served: ArmProcess) -> None:
        """Read and drop what it prints, and notice its end."""
        listening = asyncio.create_task(served.child.read_stderr())
        try:
            while await served.child.read_chunk():
                pass
            code = await served.child.exit_code(listening)
            while code is None:  # it closed its stdout, which a server may
                await asyncio.sleep(0.2)
                code = served.child.code
            self.why = self.why or f"{served.name} {exit_of(code)}{served.child.stderr_tail()}"
        finally:
            await served.kill()
            listening.cancel()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port
