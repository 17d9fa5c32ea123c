"""mem0ai, the real one: what it is told, what it swallows, and what a run makes of it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import ConfigError, EndpointUnusable, IngestError, SearchError
from runner.llm import Model, Request
from runner.system import MemorySystem, Opening, build, dated, receipt_of
from runner.types import Completion, Event, Query
from tests.conftest import command_environment
from tests.support.driving import drive, store
from tests.support.servers import Stub

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mem0") is None, reason="needs the extra 'mem0'")

FAKE = {"embedder": {"provider": "fake"}}
NOON = datetime(2023, 5, 8, 12, 0)
EVENTS = [
    dated(Event(id="a", text="The ferry leaves at nine.", time=NOON, actor="Ada", session="s1")),
    dated(Event(id="b", text="I will bring the tent.", time=NOON, actor="Ben", session="s1")),
    dated(Event(id="c", text="The zeppelin was sold.", time=NOON.replace(day=9), actor="Ada", session="s2")),
]


def arm(threshold: float = 0.0, infer: bool = False, batch: int = 10, **settings: Any) -> ArmConfig:
    return ArmConfig(
        name="m",
        system="mem0",
        ingest={"infer": infer, "batch": batch},
        knobs={"threshold": threshold},
        settings={**FAKE, **settings},
    )


# --- verbatim ------------------------------------------------------------------------------------------------------


def test_events_are_stored_as_they_are_said(tmp_path: Path) -> None:
    async def body(system: MemorySystem) -> Any:
        receipt = await store(system, "a name with spaces", EVENTS)
        assert (receipt.sha256, receipt.times) == (receipt_of(EVENTS).sha256, "in_text")
        (hit,) = (await system.search("a name with spaces", Query(text="the zeppelin was sold", k=1))).hits
        assert (hit.key, hit.sources, hit.time) == ("c", ("c",), None)
        assert hit.text == "Ada: [09 May 2023, 12:00] The zeppelin was sold."
        assert (await system.search("a name with spaces", Query(text=" "))).notes == ("empty_query",)
        return receipt

    drive(arm(), body, Opening(cache_dir=tmp_path))


def test_more_than_its_twenty_come_back(tmp_path: Path) -> None:
    many = [Event(id=str(at), text=f"The ferry number {at} leaves at nine.") for at in range(30)]

    async def body(system: MemorySystem) -> None:
        await system.reset("n")
        await system.write("n", many)
        for k, count in ((None, 30), (25, 25), (3, 3)):
            assert len((await system.search("n", Query(text="which ferry leaves?", k=k))).hits) == count

    drive(arm(), body)


def test_its_threshold_is_a_knob() -> None:
    async def body(system: MemorySystem) -> int:
        await store(system, "n", EVENTS)
        return len((await system.search("n", Query(text="the zeppelin was sold"))).hits)

    assert drive(arm(0.0), body) == 3
    assert drive(arm(0.5), body) == 1
    assert drive(arm(1.0), body) == 0
    with pytest.raises(ConfigError, match=r"arm\.knobs\.threshold: is missing; state every knob"):
        build(ArmConfig(name="m", system="mem0", settings=FAKE))


def test_embeddings_are_the_projects_and_are_reused(tmp_path: Path) -> None:
    from runner.system.mem0 import Mem0

    embedded: list[tuple[str, str]] = []

    async def body(system: MemorySystem) -> Any:
        assert isinstance(system, Mem0)
        run = system.embedder._run
        system.embedder._run = lambda texts, side: embedded.extend((side, t) for t in texts) or run(texts, side)  # type: ignore[method-assign,func-returns-value]
        receipt = await store(system, "n", EVENTS)
        found = await system.search("n", Query(text="ferry"))
        again = await system.search("n", Query(text="ferry"))
        assert (found.cached, again.cached) == (False, True)
        return receipt

    receipt = drive(arm(), body)
    assert (receipt.computed, receipt.reused) == (3, 0)
    # A question as a question, a memory as a passage, each once.
    assert [side for side, _ in embedded] == ["write"] * 3 + ["read"]
    assert embedded[-1] == ("read", "ferry")


def test_a_failing_embedder_is_a_fault_and_no_empty_result() -> None:
    from runner.system.mem0 import Mem0

    def broken(texts: Any, side: Any) -> Any:
        raise ValueError("no vectors today")

    async def body(system: MemorySystem) -> None:
        assert isinstance(system, Mem0)
        await store(system, "n", EVENTS)
        system.embedder._run = broken  # type: ignore[method-assign]
        with pytest.raises(SearchError, match="no vectors today"):
            await system.search("n", Query(text="ferry"))
        await system.reset("n")
        with pytest.raises(IngestError, match="no vectors today"):
            await system.write("n", [Event(id="z", text="A new thing.")])

    drive(arm(), body)


def test_what_the_record_holds() -> None:
    async def session() -> Any:
        system = build(arm())
        try:
            return await system.open(Opening())
        finally:
            await system.close()

    opened = asyncio.run(session())
    assert opened.build.startswith("agent-memory-runner ")
    assert "mem0ai 2." in opened.build
    # With these packages present the same mem0 ranks otherwise.
    for leg, module in (("keyword", "fastembed"), ("entities", "spacy")):
        assert f"{leg} {'on' if importlib.util.find_spec(module) else 'off'}" in opened.build
    assert (opened.embedder, opened.fake) == ("fake-hashed-trigrams", True)


SCRIPT = """
import asyncio, sys
from runner.config import ArmConfig
from runner.system import Opening, build
from runner.types import Event, Query

async def main():
    embedder = {"provider": "fake"}
    arm = ArmConfig(name="m", system="mem0", knobs={"threshold": 0.0}, settings={"embedder": embedder})
    system = build(arm)
    await system.open(Opening())
    await system.reset("n")
    await system.write("n", [Event(id="a", text="the ferry")])
    print((await system.search("n", Query(text="ferry"))).hits[0].key)
    await system.close()

asyncio.run(main())
from mem0.memory import telemetry
print(telemetry.MEM0_TELEMETRY, telemetry.client_telemetry.posthog, "MEM0_DIR" in __import__("os").environ)
"""


@pytest.mark.long
def test_it_reports_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    home, scratch = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    scratch.mkdir()
    env = command_environment(HOME=str(home), TMPDIR=str(scratch))
    env.pop("PYTHONWARNINGS")
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["a", "False", "None", "False"], done.stderr
    assert list(home.rglob("*")) == []
    assert list(scratch.rglob("*")) == []


# --- the library as it is ------------------------------------------------------------------------------------------


def test_what_this_systems_code_rests_on() -> None:
    """If one of these changes in mem0, the system must change with it."""
    from runner.system.mem0 import Mem0

    async def body(system: MemorySystem) -> None:
        assert isinstance(system, Mem0)
        await store(system, "n", EVENTS)
        memory = system._spaces["n"].store.memory  # type: ignore[union-attr]
        with pytest.raises(ValueError, match="timestamp"):
            memory.add("x", user_id="n", timestamp=1, infer=False)
        found = memory.search("ferry", filters={"user_id": "n"}, limit=1, threshold=0.0)["results"]
        assert len(found) > 1  # `limit=` is swallowed

    drive(arm(), body)


# --- with a model --------------------------------------------------------------------------------------------------


def extracted(asked: dict[str, Any]) -> str:
    """A model that remembers each message of the batch in capitals."""
    text = asked["messages"][-1]["content"]
    lines = text.partition("## New Messages\n")[2].partition("\n## ")[0].strip().splitlines()
    memory = [{"id": str(at), "text": line.removeprefix("user: ").upper()} for at, line in enumerate(lines)]
    return json.dumps({"memory": memory})


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(answer=extracted, keep_bodies=True) as server:
        yield server


def model(stub: Stub) -> dict[str, Any]:
    limits = {"attempts": 1, "timeout_s": 5, "deadline_s": 5}
    params = {"response_format": {"type": "json_object"}}
    return {"name": "m", "provider": "openai", "model": "m", "base_url": stub.url, "params": params, **limits}


def test_extracted_memories_cite_their_batch(stub: Stub) -> None:
    journal: list[Completion] = []

    async def complete(asked: Model, request: Request) -> Completion:
        journal.append(await asked.complete(request))
        return journal[-1]

    async def body(system: MemorySystem) -> Any:
        receipt = await store(system, "n", EVENTS)
        assert receipt.events == 3
        assert receipt.sha256 != receipt_of(EVENTS).sha256
        return (await system.search("n", Query(text="THE ZEPPELIN WAS SOLD"))).hits

    opening = Opening(complete=complete)
    hits = drive(arm(infer=True, model=model(stub)), body, opening)
    assert hits[0].text == "ADA: [09 MAY 2023, 12:00] THE ZEPPELIN WAS SOLD."
    assert [hit.sources for hit in hits] == [("c",), ("a", "b"), ("a", "b")]
    assert len(journal) == stub.state.requests == 2  # a call a session, each through the run
    prompts = [body["messages"][-1]["content"] for body in stub.state.bodies]
    # On the scenario's clock: mem0 would have said that the conversation took place today.
    assert "## Observation Date\n2023-05-08\n" in prompts[0]
    assert "## Current Date\n2023-05-09\n" in prompts[1]
    assert stub.state.bodies[0]["response_format"] == {"type": "json_object"}
    before = [body["messages"] for body in stub.state.bodies]
    again = drive(arm(infer=True, model=model(stub)), body)
    assert [hit.key for hit in again] == [hit.key for hit in hits]
    assert [body["messages"] for body in stub.state.bodies[2:]] == before  # what is recorded is found again


def test_a_batch_of_which_nothing_was_extracted_is_not_held(stub: Stub) -> None:
    def forgetful(asked: dict[str, Any]) -> str:
        said = extracted(asked)
        return '{"memory": []}' if "ZEPPELIN" in said else said

    async def body(system: MemorySystem) -> Any:
        await store(system, "n", EVENTS)
        return await system.holds("n", ["a", "b", "c", "never"])

    assert drive(arm(), body) == {"a", "b", "c"}
    stub.state.answer = forgetful
    assert drive(arm(infer=True, model=model(stub)), body) == {"a", "b"}


@pytest.mark.parametrize(
    ("fault", "reply", "says"),
    [
        ("500", None, "mem0: m: .*HTTP 500"),
        ("ok", "I could not find any facts.", "no JSON; mem0 would have stored nothing"),
        ("length", None, "reply was cut; raise max_tokens"),
    ],
)
def test_a_model_that_fails_is_an_ingest_error(stub: Stub, fault: str, reply: str | None, says: str) -> None:
    stub.state.always, stub.state.reply = fault, reply
    if reply is not None:
        stub.state.answer = None

    async def body(system: MemorySystem) -> None:
        with pytest.raises(IngestError, match=says):
            await store(system, "n", EVENTS)

    drive(arm(infer=True, model=model(stub)), body)


def test_what_stops_a_run_is_told_as_it_is(stub: Stub) -> None:
    class Halted(Exception):
        """What the run raises when it is stopping, which is no fault of the memory."""

    async def complete(asked: Model, request: Request) -> Completion:
        raise Halted

    async def body(system: MemorySystem) -> None:
        with pytest.raises(Halted):
            await store(system, "n", EVENTS)

    drive(arm(infer=True, model=model(stub)), body, Opening(complete=complete))

    async def unusable(system: MemorySystem) -> None:
        with pytest.raises(EndpointUnusable):
            await store(system, "n", EVENTS)

    stub.state.always = "401"
    drive(arm(infer=True, model=model(stub)), unusable)


def test_to_infer_takes_a_model() -> None:
    with pytest.raises(ConfigError, match=r"arm\.ingest\.infer: is on and has no model"):
        build(arm(infer=True))
    build(arm(infer=False))
