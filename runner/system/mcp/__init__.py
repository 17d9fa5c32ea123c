"""A memory system that is an MCP server: its tools, their arguments and the paths in their results, all in YAML.

Format: https://modelcontextprotocol.io (tools/list, tools/call), spoken by the official SDK (the extra ``mcp``). Over
stdio the arm starts the server; over streamable HTTP it connects to ``url``. Arguments are templates
(:mod:`runner.system._bridge.template`)::

    stdio: {command: [my-memory-server]}
    reset:  {tool: forget_all, arguments: {user: "{ns}"}}
    write:  {tool: remember, arguments: {user: "{ns}", text: "{event.spoken}", when: "{event.time}"}}
    search: {tool: recall, arguments: {user: "{ns}", query: "{text}", limit: "{k}"},
             hits: {at: result, key: id, text: content, score: score}}
    ask:    {tool: answer, arguments: {user: "{ns}", question: "{text}"}, answer: null}

A result is its structured content, else the JSON of its text content; without ``hits.at`` each block of content is a
hit, and with ``answer: null`` the text content is the answer. A server without namespaces gets them with
``one_per_scenario``: a new process, and a new ``{dir}``, for each.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from runner.config import ArmConfig
from runner.dotted import at
from runner.system import Opening
from runner.system._bridge.answer_paths import answer_of
from runner.system._bridge.arm_process import ArmProcess, build_of
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.hit_paths import hits_of
from runner.system._bridge.http_client import headers_of
from runner.system._bridge.polling import poll_until
from runner.system._bridge.process_pool import ProcessPool
from runner.system._bridge.self_description import ResolvedDescription, SelfDescription
from runner.system._bridge.server_process import ServerProcess
from runner.system._bridge.template import EVENT, fill, fill_text, query_values
from runner.system._bridge.templated import TemplatedBridge, check_taken
from runner.system.mcp.session import Contents, Session
from runner.system.mcp.settings import McpSettings
from runner.system.mcp.tools import ToolCall, check_tools
from runner.types import Answer, Event, Query, Retrieval

EXTRA: Final = "mcp"
_HALF: Final = re.compile("[\ud800-\udfff]")


class McpSystem(TemplatedBridge):
    """A server that is asked through its tools."""

    Settings = McpSettings
    settings: McpSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._headers: dict[str, str] = {}
        self._pool: ProcessPool[Session] = ProcessPool(
            self._start, self.settings.processes, each=self.settings.one_per_scenario
        )
        self._build = ""
        self.searches = self.settings.in_flight * self.settings.processes

    def _problems(self) -> list[str]:
        settings = self.settings
        steps = [(f"{name}.arguments", step.arguments, known) for name, step, known in settings.steps()]
        return [
            *settings.problems(),
            *self._ask_problems(settings.ask, "no tool is asked; name arm.settings.ask"),
            *self._template_problems([("write.item", settings.write.item, EVENT), *steps], "no tool is sent it"),
        ]

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("mcp") else EXTRA

    # --- steps ------------------------------------------------------------------------------------------------------

    async def _open(self, opening: Opening) -> ResolvedDescription:
        settings = self.settings
        if settings.url is not None:
            self._headers = headers_of(settings.auth, settings.headers)
        if settings.serve is not None:
            self._host = ServerProcess(settings.serve)
            await self._host.start(self._host.listens)
        session = await self._pool.first()
        check_tools(await session.tools(settings.timeouts.start), self.settings.steps())
        about = session.about
        started = settings.stdio or settings.serve
        return self._settled(
            SelfDescription.parse(about),
            code=build_of(started) if started is not None else None,
            given={
                **({"namespaces": True} if settings.one_per_scenario else {}),
                **self._implied_capabilities(asks=settings.ask is not None, starts=started is not None),
            },
            extra={
                "protocol": about["protocol"],
                "server": about.get("build", ""),
                "sdk": f"mcp {importlib.metadata.version('mcp')}",
            },
            lacks="" if settings.drop_derived else "tool drop_derived",
        )

    async def _start(self) -> Session:
        settings, seconds = self.settings, self.settings.timeouts.start
        if settings.stdio is not None:
            served = await ArmProcess.start(settings.stdio)
            session = await Session.over_stdio(served, settings.in_flight, seconds, settings.handshake)
        else:
            url = fill_text(settings.url or "", {"port": self._host.port if self._host else ""})
            session = await Session.over_http(url, self._headers, settings.in_flight, seconds, settings.handshake)
        try:
            build = session.about.get("build", "")
            if self._build and build != self._build:
                raise BridgeError(f"it was {self._build} when it was started first and is {build} now: another system")
        except BridgeError:
            await session.stop()
            raise
        self._build = build
        return session

    async def _reset(self, ns: str) -> None:
        if self._host is not None:
            await self._host.revive(self._host.listens)
        session = await self._pool.reset(ns)
        if self.settings.reset is not None:
            await self._call(session, "reset", self.settings.reset, {"ns": ns})

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        write = self.settings.write
        values = self._write_values(ns, events, write.item)
        result = _value(await self._call(self._pool.holder(ns), "write", write, values))
        if write.taken is not None:
            taken = at(result, write.taken)
            check_taken(len(taken) if isinstance(taken, list) else taken, write.taken, events, result)
        return 0

    async def _settle(self, ns: str, deadline_s: float) -> None:
        settle = self.settings.settle
        if settle is None:
            return

        async def ready() -> bool:
            result = await self._call(self._pool.holder(ns), "settle", settle, {"ns": ns})
            return settle.is_done(_value(result))

        await poll_until(ready, deadline_s, settle.every_s)

    async def _search(self, ns: str, query: Query) -> Retrieval:
        search = self.settings.search
        result = await self._call(await self._session(ns), "search", search, _query_values(ns, query))
        if isinstance(result, Contents) and search.hits.at is None:
            blocks = result.value
            result = blocks if isinstance(blocks, list) else [blocks]
        return Retrieval(hits=hits_of(_value(result), search.hits))

    async def _answer(self, ns: str, query: Query) -> Answer:
        ask = self.settings.ask
        assert ask is not None  # it is not asked otherwise
        result = await self._call(await self._session(ns), "ask", ask, _query_values(ns, query))
        plain = ask.answer is None and isinstance(result, Contents)
        return answer_of(result.text if plain else _value(result), ask)

    async def _drop_derived(self, ns: str) -> None:
        if self.settings.drop_derived is None:
            await super()._drop_derived(ns)
        else:
            await self._call(self._pool.holder(ns), "drop_derived", self.settings.drop_derived, {"ns": ns})

    async def _erase(self, ns: str) -> None:
        step = self.settings.erase or self.settings.reset
        try:
            if step is not None and not self.settings.one_per_scenario:
                await self._call(self._pool.holder(ns), "erase", step, {"ns": ns})
        finally:
            await self._pool.drop(ns)

    async def _disconnect(self) -> None:
        await self._pool.close()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _batch(self) -> int:
        return self.settings.write.batch

    def _sendable(self, event: Event) -> Event:
        """Replace half characters: the SDK sends UTF-8, which has none, and the receipt shows the change."""
        changed = {
            name: _carried(value)
            for name in ("text", "actor", "title", "session", "project")
            if not _is_carried(value := getattr(event, name))
        }
        return replace(event, **changed) if changed else event

    async def _session(self, ns: str) -> Session:
        """Return the server that answers for a namespace: any that runs, for one that is there already."""
        return self._pool.holder(ns) if ns in self._written else await self._pool.visit(ns)

    async def _call(self, session: Session, name: str, step: ToolCall, values: Mapping[str, Any]) -> Any:
        arguments = fill(step.arguments, {**values, **self._knobs})
        return await self._with_server_end(session.call(step.tool, arguments, self.settings.timeouts.seconds(name)))


def _query_values(ns: str, query: Query) -> dict[str, Any]:
    return {"ns": ns, **query_values(query), "text": _carried(query.text)}


def _value(result: Any) -> Any:
    return result.value if isinstance(result, Contents) else result


def _is_carried(text: str) -> bool:
    return text.isascii() or _HALF.search(text) is None


def _carried(text: str) -> str:
    return text if _is_carried(text) else _HALF.sub("\ufffd", text)


SYSTEM = McpSystem
