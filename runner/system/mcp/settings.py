"""The settings of an arm of the `mcp` bridge: its server, and one tool per step."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from runner.system._bridge.arm_process import ProcessSettings, Timeouts, placeholder_problems
from runner.system._bridge.bridge import BridgeSettings
from runner.system._bridge.http_client import Auth, header_problems, url_problems
from runner.system._bridge.server_process import ServerSettings
from runner.system._bridge.template import EVENT, QUERY, fill_text, placeholders_in, unknown_placeholders
from runner.system.mcp.session import Handshake
from runner.system.mcp.tools import AskTool, SearchTool, SettleTool, ToolCall, WriteTool

_KEY = "arm.settings."


class McpSettings(BridgeSettings):
    """The server, and one tool per step."""

    stdio: ProcessSettings | None = None
    url: str | None = None
    auth: Auth | None = None  # of url
    headers: dict[str, str] = Field(default_factory=dict)
    serve: ServerSettings | None = None  # a command that starts the server of url; {port} is a free one, in url too
    handshake: Handshake = "auto"  # legacy: for a server that cannot be asked which protocol it speaks
    processes: Annotated[int, Field(ge=1, le=64)] = 1  # stdio: namespaces are shared out among so many
    one_per_scenario: bool = False  # stdio: or a new process for every scenario
    in_flight: Annotated[int, Field(ge=1, le=256)] = 1  # calls that one server is sent before it has answered
    reset: ToolCall | None = None  # null: only with one_per_scenario
    write: WriteTool
    settle: SettleTool | None = None
    search: SearchTool
    ask: AskTool | None = None  # null: it does not answer by itself
    drop_derived: ToolCall | None = None
    erase: ToolCall | None = None  # null: the reset stands in for it
    timeouts: Timeouts = Timeouts()

    def steps(self) -> list[tuple[str, ToolCall, tuple[str, ...]]]:
        """Every step that is a tool, with the placeholders that its arguments may have."""
        written = ("ns", "events") if "events" in placeholders_in(self.write.arguments) else ("ns", *EVENT)
        steps: list[tuple[str, ToolCall | None, tuple[str, ...]]] = [
            ("reset", self.reset, ("ns",)),
            ("write", self.write, written),
            ("settle", self.settle, ("ns",)),
            ("search", self.search, ("ns", *QUERY)),
            ("ask", self.ask, ("ns", *QUERY)),
            ("drop_derived", self.drop_derived, ("ns",)),
            ("erase", self.erase, ("ns",)),
        ]
        return [(name, step, known) for name, step, known in steps if step is not None]

    def problems(self) -> list[str]:
        """Return a line for everything that cannot work, but for placeholders."""
        found = [*self._of_the_server(), *self._of_the_write()]
        if self.reset is None and not self.one_per_scenario:
            found.append(f"{_KEY}reset: name the tool that empties a namespace, or set one_per_scenario: true")
        return found

    def _of_the_server(self) -> list[str]:
        found = header_problems(self.headers, f"{_KEY}headers")
        if (self.stdio is None) == (self.url is None):
            found.append(f"{_KEY}stdio, {_KEY}url: one of them says where the server is")
        if self.stdio is not None:
            found += placeholder_problems(self.stdio, (), f"{_KEY}stdio.")
        elif self.one_per_scenario or self.processes > 1:
            found.append(
                f"{_KEY}processes, {_KEY}one_per_scenario: they are of stdio, where this run starts the server"
            )
        if self.url is not None:
            wrong = unknown_placeholders(self.url, ["port"] if self.serve else [], f"{_KEY}url")
            found += wrong or url_problems(fill_text(self.url, {"port": 1}), f"{_KEY}url")
        if self.serve is not None:
            found += self.serve.problems(f"{_KEY}serve.")
            if self.url is None:
                found.append(f"{_KEY}serve: starts the server of url; one that speaks over stdio is stdio.command")
        return found

    def _of_the_write(self) -> list[str]:
        found: list[str] = []
        batched = "events" in placeholders_in(self.write.arguments)
        if batched != (self.write.item is not None):
            found.append(f"{_KEY}write: {{events}} in arguments and the template of each, item, belong together")
        if self.write.batch > 1 and not batched:
            found.append(f"{_KEY}write.batch: {self.write.batch} events need {{events}} in arguments, and item")
        return found
