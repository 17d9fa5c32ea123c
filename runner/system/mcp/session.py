"""One connection to an MCP server, in a task of its own, over its stdio or over streamable HTTP.

The SDK's client must be entered and left in one task, while a run asks from many; that task is here. A stdio server is
started as every process of an arm is (:mod:`runner.process`): in a group of its own, its stderr kept, killed at the
deadline, and gone when the run is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from runner.http import start_of
from runner.safe import mask
from runner.system._bridge.arm_process import ArmProcess
from runner.system._bridge.faults import BridgeError, RequestRefused
from runner.system._bridge.http_client import http_client
from runner.system.mcp.stdio import stdio

if TYPE_CHECKING:
    from mcp import Client, Tool
    from mcp.client import Transport

log = logging.getLogger(__name__)

_CONNECTIONS: Final = 64
_LEAVING_S: Final = 5.0  # that a connection has to be left in good manners
_ENDING_S: Final = 0.2  # from a closed connection to when it is seen why

Handshake = Literal["auto", "legacy"]


class Session:
    """A connection that answers tool calls.

    Attributes
    ----------
    why
        Why it can be asked no more; empty while it can.
    """

    def __init__(self, name: str, in_flight: int, served: ArmProcess | None) -> None:
        self.why = ""
        self.name = name
        self._served = served
        self._slots = asyncio.Semaphore(in_flight)
        self._client: Client | None = None
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # --- beginning and end ------------------------------------------------------------------------------------------

    @classmethod
    async def over_stdio(cls, served: ArmProcess, in_flight: int, start_s: float, handshake: Handshake) -> Session:
        """Connect to a process that was just started.

        Raises
        ------
        BridgeError
            When it does not greet in time; it is killed then.
        """
        session = cls(served.name, in_flight, served)
        await session._begin(stdio(served, session._condemn), start_s, handshake)
        return session

    @classmethod
    async def over_http(
        cls, url: str, headers: Mapping[str, str], in_flight: int, start_s: float, handshake: Handshake
    ) -> Session:
        """Connect to a server that runs.

        Raises
        ------
        BridgeError
            When it does not greet in time.
        """
        session = cls(mask(url), in_flight, None)
        await session._begin(_streamable(url, headers), start_s, handshake)
        return session

    async def stop(self) -> None:
        """Close the connection, then kill the process, if there is one, with all that it started."""
        self.why = self.why or f"{self.name} was stopped"
        self._leave.set()
        if self._task is not None:
            _, late = await asyncio.wait((self._task,), timeout=_LEAVING_S)
            for task in late:
                task.cancel()
                await asyncio.wait((task,), timeout=_LEAVING_S)
        if self._served is not None:
            await self._served.kill()

    async def _begin(self, transport: AbstractAsyncContextManager[Any], start_s: float, handshake: Handshake) -> None:
        greeted = asyncio.Event()
        self._task = asyncio.create_task(self._run(transport, handshake, greeted))
        waiting = asyncio.create_task(greeted.wait())
        try:
            await asyncio.wait((self._task, waiting), timeout=start_s, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            self._condemn("was stopped while it started")
            self._task.cancel()
            await self.stop()
            raise
        finally:
            waiting.cancel()
        if not greeted.is_set():
            self._condemn(f"did not greet as an MCP server within {start_s:g} s")
            self._task.cancel()
            await self.stop()
            raise BridgeError(self.why)

    async def _run(self, transport: Transport, handshake: Handshake, greeted: asyncio.Event) -> None:
        from mcp import Client, Implementation

        import runner

        about = Implementation(name="agent-memory-runner", version=runner.__version__)
        try:
            async with Client(transport, mode=handshake, client_info=about, cache=None) as client:
                self._client = client
                greeted.set()
                await self._leave.wait()
        except asyncio.CancelledError:
            self._condemn("was stopped")
        except BaseException as error:  # of the transport, of the protocol, of the SDK: the session is over
            log.info("%s: the session ended", self.name, exc_info=True)
            if not (self._leave.is_set() and greeted.is_set()):
                lost = "broke the connection" if greeted.is_set() else "is not a usable MCP server"
                self._condemn(f"{lost} ({_first(error)})")
        finally:
            self._client = None
            self._condemn("closed the connection")

    # --- what it is, and what it is asked ---------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, str]:
        """Name and version of the server, and the protocol that was agreed on."""
        client = self._client
        if client is None:
            raise BridgeError(self.why)
        info = client.server_info
        told = {"protocol": client.protocol_version}
        return told if info is None else {**told, "build": f"{info.name} {info.version}".strip()[:200]}

    async def tools(self, timeout_s: float) -> dict[str, Tool]:
        """Every tool that the server lists, by name.

        Raises
        ------
        BridgeError
            When it does not.
        """
        found: dict[str, Tool] = {}
        cursor: str | None = None
        while True:
            page = await self._request("tools/list", timeout_s, lambda client, at=cursor: client.list_tools(cursor=at))
            found |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if not cursor or len(found) > 10_000:
                return found

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_s: float) -> Any:
        """The result of a tool: its structured content, else the JSON or the texts of its content.

        Raises
        ------
        Refusal
            When the tool, or the server, says that it failed.
        BridgeError
            When there is no result.
        """
        result = await self._request(tool, timeout_s, lambda client: client.call_tool(tool, dict(arguments)))
        texts = [block.text for block in result.content if block.type == "text"]
        if result.is_error:
            said = start_of(" ".join(texts), 300)
            raise RequestRefused(f"tool '{tool}' reports an error{': ' + said if said else ''}")
        if result.structured_content is not None:
            return result.structured_content
        return Contents(texts)

    async def _request(self, what: str, timeout_s: float, send: Any) -> Any:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST

        async with self._slots:
            client = self._client
            if self.why or client is None:
                raise BridgeError(self.why)
            try:
                async with asyncio.timeout(timeout_s):
                    return await send(client)
            except TimeoutError:
                slow = f"took longer than {timeout_s:g} s over '{what}'"
                if self._served is None:
                    raise BridgeError(f"{self.name} {slow}") from None
                self._condemn(f"{slow} and was killed")
                raise BridgeError(self.why) from None
            except asyncio.CancelledError:  # the run does not wait any longer
                if self._served is not None:
                    self._condemn(f"was killed in the middle of '{what}', which took too long for the run")
                raise
            except MCPError as error:
                if error.code in (CONNECTION_CLOSED, INVALID_REQUEST):  # the latter: it knows this session no more
                    await self._ending()
                    self._condemn(f"closed the connection ({start_of(error.message, 100)})")
                    raise BridgeError(self.why) from None
                raise RequestRefused(f"'{what}' failed: {start_of(error.message, 300)}") from None
            except Exception as error:  # what came back is not what the protocol or the tool's own schema says
                log.info("%s: %s", self.name, what, exc_info=True)
                raise BridgeError(self.why or f"'{what}': {_first(error)}") from None

    async def _ending(self) -> None:
        """Wait a moment for the reason why a connection was closed."""
        for _ in range(20):
            if self.why:
                return
            await asyncio.sleep(_ENDING_S / 20)

    def _condemn(self, why: str) -> None:
        """End the connection; only the first reason counts."""
        if self.why:
            return
        said = self._served.child.stderr_tail() if self._served is not None else ""
        self.why = mask(f"{self.name} {why}") + said
        log.warning("%s", self.why)
        if self._served is not None:
            self._served.child.kill_group()
        self._leave.set()


class Contents(list[Any]):
    """The content of a result without structure: one item per block, JSON where it is JSON.

    Attributes
    ----------
    text
        The texts as they came, which an answer in words is: "2023" is no number there.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(map(_parsed, texts))
        self.text = "\n".join(texts)

    @property
    def value(self) -> Any:
        """The content as one value: that of a single block, else the list."""
        return self[0] if len(self) == 1 else list(self)


@asynccontextmanager
async def _streamable(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    from mcp.client.streamable_http import streamable_http_client

    async with (
        http_client(url, headers, _CONNECTIONS) as client,
        streamable_http_client(url, http_client=client) as pair,
    ):
        yield pair


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        return text


def _first(error: BaseException) -> str:
    """The first real error of a group, in one line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return start_of(f"{type(error).__name__}: {error}", 200)
