"""The tools that an arm declares, and their check against those that the server lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from runner.config import Strict, did_you_mean
from runner.errors import ConfigError
from runner.system._bridge.answer_paths import AnswerPaths
from runner.system._bridge.hit_paths import HitPaths
from runner.system._bridge.polling import PollSettings
from runner.system._bridge.value_types import JsonPath, NonEmpty

if TYPE_CHECKING:
    from mcp import Tool


class ToolCall(Strict):
    """One tool and the template of its arguments."""

    tool: NonEmpty
    arguments: dict[str, Any] = Field(default_factory=dict)


class WriteTool(ToolCall):
    """Storing events: one per call with ``{event.…}`` in it, or ``batch`` of them as ``{events}``."""

    batch: Annotated[int, Field(ge=1, le=100_000)] = 1
    item: Any = None  # what each of `{events}` is
    taken: JsonPath | None = None  # path of the number of events that were taken, or of the list of them


class SettleTool(ToolCall, PollSettings):
    """Polling until what was written can be found."""


class SearchTool(ToolCall):
    """A question, and the paths of the hits in its result."""

    hits: HitPaths


class AskTool(ToolCall, AnswerPaths):
    """A question that the server answers by itself, and the paths of its answer."""


def check_tools(tools: Mapping[str, Tool], steps: Iterable[tuple[str, ToolCall, tuple[str, ...]]]) -> None:
    """Hold every step against the server's list, by the names in the tools' input schemas.

    Raises
    ------
    ConfigError
        With a line for every tool and argument that the server does not have, or that is missing.
    """
    found = []
    for name, step, _ in steps:
        key = f"arm.settings.{name}"
        tool = tools.get(step.tool)
        if tool is None:
            hint = did_you_mean(step.tool, tools)
            found.append(f"{key}.tool: the server has no tool '{step.tool}'{hint}; it has {', '.join(tools)}")
            continue
        takes = tool.input_schema.get("properties", {})
        closed = tool.input_schema.get("additionalProperties") is False or bool(takes)
        for argument in step.arguments:
            if closed and argument not in takes:
                hint = did_you_mean(argument, takes)
                known = ", ".join(takes) or "none"
                what = f"tool '{step.tool}' takes no such argument{hint}; it takes {known}"
                found.append(f"{key}.arguments.{argument}: {what}")
        for argument in tool.input_schema.get("required", []):
            if argument not in step.arguments:
                found.append(f"{key}.arguments.{argument}: is missing; tool '{step.tool}' needs it")
    if found:
        raise ConfigError(found)
