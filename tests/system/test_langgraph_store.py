"""LangGraph's InMemoryStore, the real one."""

from __future__ import annotations

import asyncio
import importlib.util
from datetime import datetime
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import SearchError
from runner.system import MemorySystem, Opening, build, dated
from runner.types import Event, Query
from tests.support.driving import drive

ARM = ArmConfig(name="l", system="langgraph_store", settings={"embedder": {"provider": "fake"}})

pytestmark = pytest.mark.skipif(build(ARM).missing() is not None, reason="needs the extra 'langgraph'")

NOON = datetime(2023, 5, 8, 12, 0)
EVENTS = [
    dated(Event(id="a", text="The ferry leaves at nine.", time=NOON, actor="Ada")),
    dated(Event(id="b.1", text="The zeppelin was sold.", time=NOON, actor="Ben")),
]


def test_items_are_found_by_what_they_say() -> None:
    async def body(system: MemorySystem) -> None:
        ns = "bench-1.0.langgraph"  # a period is not allowed in a label
        await system.reset(ns)
        receipt = await system.write(ns, EVENTS)
        assert (receipt.times, receipt.computed) == ("in_text", 2)
        (hit,) = (await system.search(ns, Query(text="who sold the zeppelin?", k=1))).hits
        assert (hit.key, hit.sources, hit.time) == ("b.1", ("b.1",), None)
        assert hit.text == "Ben: [08 May 2023, 12:00] The zeppelin was sold."
        assert (await system.search(ns, Query(text=""))).notes == ("empty_query",)

    drive(ARM, body)


def test_two_events_may_say_the_same_and_more_than_ten_come_back() -> None:
    same = [Event(id=str(at), text="Yes.") for at in range(15)]

    async def body(system: MemorySystem) -> None:
        await system.reset("n")
        await system.write("n", same)
        assert len((await system.search("n", Query(text="yes"))).hits) == 15

    drive(ARM, body)


def test_a_failing_embedder_is_a_fault() -> None:
    from runner.system.langgraph_store import LangGraphStore

    def broken(texts: Any, side: Any) -> Any:
        raise ValueError("no vectors today")

    async def body(system: MemorySystem) -> None:
        assert isinstance(system, LangGraphStore)
        await system.reset("n")
        await system.write("n", EVENTS)
        system.embedder._run = broken  # type: ignore[method-assign]
        with pytest.raises(SearchError, match="no vectors today"):
            await system.search("n", Query(text="ferry"))

    drive(ARM, body)


def test_what_the_record_holds() -> None:
    async def session() -> Any:
        system = build(ARM)
        try:
            return await system.open(Opening())
        finally:
            await system.close()

    opened = asyncio.run(session())
    assert "; langgraph-checkpoint 4." in opened.build
    assert opened.fake


def test_what_this_systems_code_rests_on() -> None:
    """If this changes in the library, `put` may write in batches."""
    from langgraph.store.base import PutOp
    from langgraph.store.memory import InMemoryStore

    def embed(texts: Any) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    store = InMemoryStore(index={"dims": 2, "embed": embed, "fields": ["text"]})
    with pytest.raises(ValueError, match="Number of embeddings"):
        store.batch([PutOp(("n",), key, {"text": "Yes."}) for key in "ab"])
    assert importlib.util.find_spec("langgraph.store.memory") is not None
