"""Which events any stored memory came from: what tells a fact that was never kept from one that was not found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import SearchError
from runner.system import MemorySystem, Opening, Provenance, build
from runner.types import Event
from tests.support.bridging import arm_of, broken, drive, history, script, store
from tests.support.servers import Stub
from tests.system._rewrite.test_ingest_modes import EVENTS, lines_of, model

WRITTEN = ["e0", "e1", "e2", "e3"]


def held(arm: ArmConfig, events: Sequence[Event], asked: Sequence[str]) -> frozenset[str] | None:
    async def session() -> frozenset[str] | None:
        system = build(arm)
        await system.open(Opening())
        try:
            await store(system, "n", events)
            return await system.holds("n", asked)
        finally:
            await system.close()

    return asyncio.run(session())


@pytest.mark.parametrize("system", ["bm25", "full_context", "full_dump", "recency_window", "oracle"])
def test_what_keeps_everything_holds_what_was_written(system: str) -> None:
    arm = ArmConfig(name=system, system=system)
    assert held(arm, history(), ["e1", "e3", "never"]) == {"e1", "e3"}
    assert held(arm, [], ["e1"]) == frozenset()


def test_the_floor_holds_nothing_and_a_static_file_its_documents() -> None:
    events = [*history(), Event(id="said", text="the quarry is closed", kind="message")]
    assert held(ArmConfig(name="n", system="none"), events, [*WRITTEN, "said"]) == frozenset()
    assert held(ArmConfig(name="s", system="static_file"), events, ["e0", "said"]) == {"e0"}


def test_nothing_written_and_erased_is_a_fault() -> None:
    async def session() -> None:
        system = build(ArmConfig(name="b", system="bm25"))
        await system.open(Opening())
        with pytest.raises(SearchError, match="never written"):
            await system.holds("n", ["e0"])
        await store(system, "n", history())
        await system.erase("n")
        with pytest.raises(SearchError, match="is erased"):
            await system.holds("n", ["e0"])
        await system.close()

    asyncio.run(session())


# --- what a model makes of it ----------------------------------------------------------------------------------------


def without_zeppelins(asked: dict[str, Any]) -> str:
    """A model that notes nothing of a session with a zeppelin."""
    return "\n".join(f"- {line}" for line in lines_of(asked) if "zeppelin" not in line) or "NONE"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(answer=without_zeppelins) as server:
        yield server


def rewriting(stub: Stub, mode: str, system: str = "bm25", **settings: Any) -> ArmConfig:
    return ArmConfig(name="x", system=system, ingest={"mode": mode, "model": model(stub)}, settings=settings)


def test_an_event_of_which_nothing_was_extracted_is_not_held(stub: Stub) -> None:
    assert held(rewriting(stub, "extract"), EVENTS, ["a", "b", "c", "never"]) == {"a", "b"}


def test_a_summary_came_from_everything_that_was_read(stub: Stub) -> None:
    stub.state.answer = lambda asked: "They talked of a ferry."
    assert held(rewriting(stub, "digest", "full_context"), EVENTS, ["a", "c", "never"]) == {"a", "c"}
    assert held(rewriting(stub, "digest", "none"), EVENTS, ["a"]) == frozenset()


def test_notes_in_a_system_that_cannot_tell_are_not_told_either(stub: Stub) -> None:
    settings = broken("none", ops=["drop_derived", "erase"])
    assert held(rewriting(stub, "extract", "command", **settings), EVENTS, ["a"]) is None
    told = broken("none")  # the example knows what it keeps
    assert held(rewriting(stub, "extract", "command", **told), EVENTS, ["a", "c"]) == {"a"}


# --- a command -------------------------------------------------------------------------------------------------------


def test_a_command_that_can_tell_is_asked() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "n")
        assert await system.holds("n", ["e0", "e3", "e9"]) == {"e0", "e3"}
        with pytest.raises(SearchError, match="never reset"):
            await system.holds("other", ["e0"])

    drive(arm_of("command", broken("none")), body)


def test_an_event_that_nobody_asked_about_is_a_fault() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "n")
        with pytest.raises(SearchError, match="it holds 'no-such-event', which it was not asked about"):
            await system.holds("n", ["e0"])

    drive(arm_of("command", broken("holds_more")), body)


@pytest.mark.parametrize(("said", "fault"), [("None", ""), ("'e0'", "no list"), ("[1]", "no list")])
def test_what_a_command_says_of_it(said: str, fault: str) -> None:
    code = (
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        f"    said = {{'id': request['id'], 'ok': True, 'ops': ['holds'], 'holds': {said}}}\n"
        "    print(json.dumps(said), flush=True)\n"
    )

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "n")
        if fault:
            with pytest.raises(SearchError, match="'holds' is not a list of event ids"):
                await system.holds("n", ["e0"])
        else:
            assert await system.holds("n", ["e0"]) is None

    drive(arm_of("command", script(code)), body)
