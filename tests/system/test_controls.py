"""The controls: what each hands back, in which order, within which budget."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import IngestError, SearchError
from runner.system import EmbeddedSystem, Opening, build
from runner.types import Event, Query

EVENTS = [
    Event(id="e1", text="aaaa", time=datetime(2023, 1, 1)),
    Event(id="e2", text="bbbb", time=datetime(2023, 1, 2), kind="doc"),
    Event(id="e3", text="cccc", time=datetime(2023, 1, 3)),
    Event(id="e4", text="dddd", time=datetime(2023, 1, 4), kind="doc"),
    Event(id="e5", text="eeee", time=datetime(2023, 1, 5)),
]


def run(system: str, **query: Any) -> list[str]:
    async def session() -> list[str]:
        built = build(ArmConfig(name=system, system=system))
        await built.open(Opening())
        try:
            await built.reset("a")
            await built.write("a", EVENTS)
            return [hit.key for hit in (await built.search("a", Query(text="bbbb", **query))).hits]
        finally:
            await built.close()

    return asyncio.run(session())


@pytest.mark.parametrize(
    ("system", "query", "expected"),
    [
        ("none", {}, []),
        ("full_context", {}, ["e1", "e2", "e3", "e4", "e5"]),
        ("full_context", {"max_chars": 89}, ["e1", "e2", "e3"]),  # "[01 January 2023, 00:00] aaaa" is 29: 29 + 30 + 30
        ("full_context", {"max_chars": 88}, ["e1", "e2"]),
        ("full_context", {"max_chars": 2}, ["e1"]),  # too long on its own: whole, for the run to cut and flag
        ("full_dump", {}, ["e5", "e4", "e3", "e2", "e1"]),
        ("full_dump", {"max_chars": 59}, ["e5", "e4"]),
        ("recency_window", {"max_chars": 118}, ["e5", "e4"]),  # half is 59
        ("recency_window", {"k": 4}, ["e5", "e4"]),
        ("recency_window", {}, ["e5", "e4", "e3"]),
        ("static_file", {}, ["e2", "e4"]),
        ("static_file", {"k": 1}, ["e2"]),
        ("oracle", {"evidence": ("e5", "e1", "gone")}, ["e1", "e5"]),
        ("oracle", {"evidence": ()}, []),
        ("bm25", {}, ["e2"]),
    ],
)
def test_what_comes_back(system: str, query: dict[str, Any], expected: list[str]) -> None:
    assert run(system, **query) == expected


def test_an_oracle_without_evidence_is_an_error() -> None:
    with pytest.raises(SearchError, match="evidence"):
        run("oracle")


class Broken(EmbeddedSystem):
    def index(self, events: Any, prepared: Any) -> Any:
        if events[0].id == "index":
            raise MemoryError("no room\nat all")
        return events

    def find(self, store: Any, query: Query) -> Any:
        raise KeyError("boom")


@pytest.mark.parametrize(("name", "fault"), [("index", IngestError), ("find", SearchError)])
def test_a_crash_inside_is_the_fault_of_its_stage(name: str, fault: type[Exception]) -> None:
    async def session() -> None:
        system = Broken(ArmConfig(name="broken", system="broken"))
        try:
            receipt = await system.write("a", [Event(id=name, text="x")])
            await system.settle("a", receipt, 1.0)
            await system.search("a", Query(text="x"))
        finally:
            await system.close()

    with pytest.raises(fault, match=r"system 'broken' failed: (MemoryError: no room|KeyError: 'boom')$"):
        asyncio.run(session())
