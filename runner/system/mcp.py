"""A memory system that is an MCP server: which tools to call with what, and where the hits are, all in YAML.

Format: https://modelcontextprotocol.io (tools/list, tools/call), spoken by the official SDK (the extra ``mcp``). Over
stdio the arm starts the server; over streamable HTTP it connects to ``url``. Arguments are templates
(:mod:`runner.system._template`)::

    stdio: {command: [my-memory-server]}
    reset:  {tool: forget_all, arguments: {user: "{ns}"}}
    write:  {tool: remember, arguments: {user: "{ns}", text: "{event.spoken}", when: "{event.time}"}}
    search: {tool: recall, arguments: {user: "{ns}", query: "{text}", limit: "{k}"},
             hits: {at: result, key: id, text: content, score: score}}

A result is its structured content, else the JSON of its text content; without ``hits.at`` each block of content is a
hit. A server without namespaces gets them with ``one_per_scenario``: a new process, and a new ``{dir}``, for each.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from msgspec.structs import replace
from pydantic import Field

from runner.config import ArmConfig
from runner.dotted import at, described
from runner.errors import ConfigError
from runner.http import start_of
from runner.system import Opening
from runner.system._bridge import Bridge, BridgeSettings
from runner.system._client import Auth, headers_of, problems_of
from runner.system._declared import Settled, Told
from runner.system._hits import hits_of
from runner.system._host import Host, Serve
from runner.system._pool import Pool
from runner.system._serving import Served, Serving, Timeouts, build_of, placeholders
from runner.system._session import Contents, Handshake, Session
from runner.system._settling import until
from runner.system._template import EVENT, QUERY, fill, fill_text, named, of_event, of_query, unknown
from runner.system._tools import SearchTool, SettleTool, ToolCall, WriteTool, check_tools
from runner.system._trouble import Trouble
from runner.types import Event, Query, Retrieval

EXTRA: Final = "mcp"
_HALF: Final = re.compile("[\ud800-\udfff]")


class McpSettings(BridgeSettings):
    """Where the server is, and one tool a step."""

    stdio: Serving | None = None
    url: str | None = None
    auth: Auth | None = None  # of url
    headers: dict[str, str] = Field(default_factory=dict)
    serve: Serve | None = None  # a command that starts the server of url; {port} is a free one, in url too
    handshake: Handshake = "auto"  # legacy: for a server that cannot be asked which protocol it speaks
    processes: Annotated[int, Field(ge=1, le=64)] = 1  # stdio: namespaces are shared out among so many
    one_per_scenario: bool = False  # stdio: or a new process for every scenario
    in_flight: Annotated[int, Field(ge=1, le=256)] = 1  # calls that one server is sent before it has answered
    reset: ToolCall | None = None  # null: only with one_per_scenario
    write: WriteTool
    settle: SettleTool | None = None
    search: SearchTool
    drop_derived: ToolCall | None = None
    erase: ToolCall | None = None  # null: the reset stands in for it
    timeouts: Timeouts = Timeouts()


class McpSystem(Bridge):
    """A server that is asked through its tools."""

    Settings = McpSettings
    settings: McpSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._knobs = {f"knobs.{name}": value for name, value in (self.knobs.model_extra or {}).items()}
        wrong = self._problems()
        if wrong:
            raise ConfigError(wrong)
        self._host: Host | None = None
        self._headers: dict[str, str] = {}
        self._pool: Pool[Session] = Pool(self._start, self.settings.processes, each=self.settings.one_per_scenario)
        self._build = ""
        self.searches = self.settings.in_flight * self.settings.processes

    def missing(self) -> str | None:
        return None if importlib.util.find_spec("mcp") else EXTRA

    # --- checks -----------------------------------------------------------------------------------------------------

    def _steps(self) -> list[tuple[str, ToolCall, tuple[str, ...]]]:
        """Every step that is a tool, with the placeholders that its arguments may have."""
        settings = self.settings
        written = ("ns", "events") if "events" in named(settings.write.arguments) else ("ns", *EVENT)
        steps: list[tuple[str, ToolCall | None, tuple[str, ...]]] = [
            ("reset", settings.reset, ("ns",)),
            ("write", settings.write, written),
            ("settle", settings.settle, ("ns",)),
            ("search", settings.search, ("ns", *QUERY)),
            ("drop_derived", settings.drop_derived, ("ns",)),
            ("erase", settings.erase, ("ns",)),
        ]
        return [(name, step, known) for name, step, known in steps if step is not None]

    def _problems(self) -> list[str]:
        settings, key = self.settings, "arm.settings."
        found: list[str] = []
        if (settings.stdio is None) == (settings.url is None):
            found.append(f"{key}stdio, {key}url: one of them says where the server is")
        if settings.stdio is not None:
            found += placeholders(settings.stdio, (), f"{key}stdio.")
        elif settings.one_per_scenario or settings.processes > 1:
            found.append(f"{key}processes, {key}one_per_scenario: they are of stdio, where this run starts the server")
        if settings.url is not None:
            wrong = unknown(settings.url, ["port"] if settings.serve else [], f"{key}url")
            found += wrong or problems_of(fill_text(settings.url, {"port": 1}), f"{key}url")
        if settings.serve is not None:
            found += settings.serve.problems(f"{key}serve.")
            if settings.url is None:
                found.append(f"{key}serve: starts the server of url; one that speaks over stdio is stdio.command")
        if settings.reset is None and not settings.one_per_scenario:
            found.append(f"{key}reset: name the tool that empties a namespace, or set one_per_scenario: true")
        batched = "events" in named(settings.write.arguments)
        if batched != (settings.write.item is not None):
            found.append(f"{key}write: {{events}} in arguments and the template of each, item, belong together")
        if settings.write.batch > 1 and not batched:
            found.append(f"{key}write.batch: {settings.write.batch} events need {{events}} in arguments, and item")
        knobs = [*self._knobs]
        read = set(named(settings.write.item))
        found += unknown(settings.write.item, [*EVENT, *knobs], f"{key}write.item")
        for name, step, known in self._steps():
            found += unknown(step.arguments, [*known, *knobs], f"{key}{name}.arguments")
            read |= {*named(step.arguments)}
        unread = [name for name in knobs if name not in read]
        return [*found, *(f"arm.{name}: no tool is sent it; write {{{name}}} where it belongs" for name in unread)]

    # --- steps ------------------------------------------------------------------------------------------------------

    async def _open(self, opening: Opening) -> Settled:
        settings = self.settings
        if settings.url is not None:
            self._headers = headers_of(settings.auth, settings.headers)
        if settings.serve is not None:
            self._host = Host(settings.serve)
            await self._host.start(self._host.listens)
        session = await self._pool.first()
        check_tools(await session.tools(settings.timeouts.start), self._steps())
        about = session.about
        started = settings.stdio or settings.serve
        settled = self._settled(
            Told.of(about),
            code=build_of(started) if started is not None else None,
            given={"namespaces": True} if settings.one_per_scenario else {},
            extra={
                "protocol": about["protocol"],
                "server": about.get("build", ""),
                "sdk": f"mcp {importlib.metadata.version('mcp')}",
            },
        )
        if settled.capabilities.durable and settings.drop_derived is None:
            raise Trouble("it is declared durable and has no tool drop_derived, so that nobody can find out")
        return settled

    async def _start(self) -> Session:
        settings, seconds = self.settings, self.settings.timeouts.start
        if settings.stdio is not None:
            served = await Served.start(settings.stdio)
            session = await Session.over_stdio(served, settings.in_flight, seconds, settings.handshake)
        else:
            url = fill_text(settings.url or "", {"port": self._host.port if self._host else ""})
            session = await Session.over_http(url, self._headers, settings.in_flight, seconds, settings.handshake)
        try:
            build = session.about.get("build", "")
            if self._build and build != self._build:
                raise Trouble(f"it was {self._build} when it was started first and is {build} now: another system")
        except Trouble:
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
        values: dict[str, Any] = {"ns": ns}
        if write.item is None:
            values |= of_event(events[0])
        else:
            values["events"] = [fill(write.item, {**of_event(event), **self._knobs}) for event in events]
        result = _whole(await self._call(self._pool.of(ns), "write", write, values))
        if write.taken is not None:
            taken = at(result, write.taken)
            count = len(taken) if isinstance(taken, list) else taken
            if isinstance(count, bool) or count != len(events):
                raise Trouble(
                    f"{len(events)} events were sent and '{write.taken}' says {start_of(str(count), 40)}; "
                    f"the result is {described(result)}"
                )
        return 0

    async def _settle(self, ns: str, deadline_s: float) -> None:
        settle = self.settings.settle
        if settle is None:
            return

        async def ready() -> bool:
            result = await self._call(self._pool.of(ns), "settle", settle, {"ns": ns})
            return settle.over(_whole(result))

        await until(ready, deadline_s, settle.every_s)

    async def _search(self, ns: str, query: Query) -> Retrieval:
        search = self.settings.search
        values = {"ns": ns, **of_query(query), "text": _carried(query.text)}
        result = await self._call(self._pool.of(ns), "search", search, values)
        if isinstance(result, Contents) and search.hits.at is None:
            blocks = result.whole
            result = blocks if isinstance(blocks, list) else [blocks]
        return Retrieval(hits=hits_of(_whole(result), search.hits))

    async def _drop_derived(self, ns: str) -> None:
        if self.settings.drop_derived is None:
            await super()._drop_derived(ns)
        else:
            await self._call(self._pool.of(ns), "drop_derived", self.settings.drop_derived, {"ns": ns})

    async def _erase(self, ns: str) -> None:
        step = self.settings.erase or self.settings.reset
        try:
            if step is not None and not self.settings.one_per_scenario:
                await self._call(self._pool.of(ns), "erase", step, {"ns": ns})
        finally:
            await self._pool.drop(ns)

    async def _close(self) -> None:
        host, self._host = self._host, None
        try:
            await self._pool.close()
        finally:
            if host is not None:
                await host.stop()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _batch(self) -> int:
        return self.settings.write.batch

    def _sendable(self, event: Event) -> Event:
        """The SDK sends UTF-8, which has no half characters; a text that held one differs in the receipt."""
        changed = {
            name: _carried(value)
            for name in ("text", "actor", "title", "session", "project")
            if not _is_carried(value := getattr(event, name))
        }
        return replace(event, **changed) if changed else event

    async def _call(self, session: Session, name: str, step: ToolCall, values: Mapping[str, Any]) -> Any:
        arguments = fill(step.arguments, {**values, **self._knobs})
        try:
            return await session.call(step.tool, arguments, self.settings.timeouts.of(name))
        except Trouble as trouble:
            if self._host is not None and self._host.why:
                raise Trouble(f"{trouble}; {self._host.why}") from None
            raise


def _whole(result: Any) -> Any:
    return result.whole if isinstance(result, Contents) else result


def _is_carried(text: str) -> bool:
    return text.isascii() or _HALF.search(text) is None


def _carried(text: str) -> str:
    return text if _is_carried(text) else _HALF.sub("\ufffd", text)


SYSTEM = McpSystem
