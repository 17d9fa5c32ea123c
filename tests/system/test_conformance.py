"""What every memory system must do: the clauses of the check that a user runs, and what they leave open.

A new file in ``runner/system/`` or ``conf/arm/`` is included by itself. The systems of an arm's tests are one system,
opened once; a test resets the namespaces that it uses.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.config import ArmConfig, RunConfig, conf_dir
from runner.errors import SystemFault
from runner.experiment.conformance import BROKEN, KEPT, STATED, check
from runner.system import MemorySystem, Opening, Provenance, build, find, line_of, names, spoken
from runner.types import Answer, Event, Query, Receipt, Retrieval
from tests.conftest import ROOT
from tests.support.driving import store
from tests.support.servers import closed_port
from tests.system.stand_ins.arms import apart, standing

FLOOR = {"none"}  # systems that remember nothing, on purpose
HALF = {"recency_window"}  # systems that forget the older half, on purpose
EMBEDS = {"dense", "hybrid", "langgraph_store", "mem0"}  # with the project's own embedding model
START = datetime(2023, 5, 8, 13, 56)
TOPICS = (
    "the zeppelin landed beside the quarry",
    "marmalade sandwiches were packed for the picnic",
    "an oboe recital filled the chapel",
    "the glacier hike ended at a turquoise lake",
    "a tortoise named Euclid escaped the garden",
    "the sourdough starter died on Tuesday",
    "her kayak capsized near the lighthouse",
    "they planted saffron bulbs along the fence",
)


def stated(path: Path) -> Any:
    """Return what an arm's file says, over what the arms say that it derives from."""
    own: Any = OmegaConf.load(path)
    bases = [name for name in own.pop("defaults", []) if name != "_self_"]
    return OmegaConf.merge(*(stated(path.with_name(f"{name}.yaml")) for name in bases), own)


def arms() -> dict[str, ArmConfig]:
    """Every shipped arm that is not another under a second name, and every system that no shipped arm uses."""
    found: dict[str, ArmConfig] = {}
    used: set[str] = set()
    for path in sorted((conf_dir() / "arm").glob("*.yaml")):
        budget = {"limit": 10, "max_chars": None}
        values: Any = OmegaConf.to_container(OmegaConf.create({"budget": budget, "arm": stated(path)}), resolve=True)
        arm = values["arm"]
        if arm.setdefault("settings", {}).get("hyde"):  # a model that needs no server
            arm["settings"]["hyde"] = {
                "name": "stub",
                "provider": "command",
                "command": [sys.executable, "-S", "-c", 'print(\'{"result": "It was in May."}\')'],
            }
        chosen = ArmConfig.model_validate(arm)
        again = any(chosen.model_copy(update={"name": other.name}) == other for other in found.values())
        used.add(chosen.system)
        if not apart(chosen) and not again:
            found[path.stem] = chosen
    return found | {name: ArmConfig(name=name, system=name) for name in names() if name not in used}


ARMS = arms()


@dataclass
class Session:
    """An arm and its open system, in one event loop for all its tests."""

    arm: ArmConfig
    system: MemorySystem
    provenance: Provenance
    cache: Path
    runner: asyncio.Runner

    def run(self, body: Callable[[MemorySystem], Awaitable[Any]]) -> Any:
        return self.runner.run(body(self.system))


SLOW = {"arms_on", "mem0", "reflect_off"}  # their check takes many seconds


@pytest.fixture(scope="module", params=sorted(ARMS))
def arm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmConfig]:
    chosen = ARMS[request.param]
    extra = build(chosen).missing()
    if extra is not None:
        pytest.skip(f"arm '{chosen.name}' needs the extra '{extra}'")
    if chosen.system == "mcp":  # its server takes a second to start: one serves all these tests, over HTTP
        settings = {**chosen.settings, "stdio": None, "url": request.getfixturevalue("mcp_server")}
        chosen = chosen.model_copy(update={"settings": settings})
    with standing(chosen, tmp_path_factory.mktemp("stand_in")) as here:
        yield here


@pytest.fixture(scope="module")
def mcp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the example memory, served over streamable HTTP."""
    port = closed_port()
    server = ROOT / "examples" / "memory_server_mcp.py"
    words = [sys.executable, str(server), str(tmp_path_factory.mktemp("mcp")), str(port)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def session(arm: ArmConfig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    cache = tmp_path_factory.mktemp("cache")
    with asyncio.Runner() as runner:
        system = build(arm)
        try:
            yield Session(arm, system, runner.run(system.open(Opening(cache_dir=cache))), cache, runner)
        finally:
            runner.run(system.close())


def history(prefix: str = "D", topics: Sequence[str] = TOPICS) -> list[Event]:
    return [
        Event(
            id=f"{prefix}:{at}",
            text=text,
            time=START + timedelta(days=at),
            actor="Ada",
            kind="doc",
            session=f"s{at // 4}",
        )
        for at, text in enumerate(topics)
    ]


async def ask(system: MemorySystem, ns: str, event: Event, **bounds: Any) -> Retrieval:
    evidence = (event.id,) if system.capabilities.reads_gold else None
    return await system.search(
        ns, Query(text=f"What about {event.text}?", now=START + timedelta(days=30), evidence=evidence, **bounds)
    )


def remembered(arm: ArmConfig, at: int, of: int) -> bool:
    """Whether the event at that position is one that the system means to return."""
    return arm.system not in FLOOR and (arm.system not in HALF or at >= of // 2)


def keys(found: Retrieval) -> list[str]:
    return [hit.key for hit in found.hits]


CLAUSES = (
    *("takes what is written", "finds what it wrote", "honours k", "keeps time and source", "answers twice alike"),
    *("isolates namespaces", "reset empties", "raises on failure", "survives a wipe", "erase leaves nothing"),
)


@pytest.mark.parametrize(
    "arm", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in sorted(ARMS)], indirect=True
)
def test_the_check_says_what_the_system_is(arm: ArmConfig) -> None:
    system = build(arm)
    about = asyncio.run(check(system, Opening(), RunConfig()))
    can = system.capabilities
    found = {finding.check: (finding.outcome, finding.detail) for finding in about.findings}
    assert tuple(found) == (*CLAUSES, *(("answers by itself",) if can.answers else ()))
    expected = dict.fromkeys(found, KEPT)
    if not can.durable:
        expected["survives a wipe"] = STATED
    if not can.timestamps:
        expected["keeps time and source"] = STATED
    if arm.system in HALF:
        expected["finds what it wrote"] = STATED
        assert found["finds what it wrote"][1] == "5 of 10 events are found (m0, m1, m2, m3, m4 are not)"
    if arm.system in FLOOR:
        expected |= {"finds what it wrote": BROKEN, "keeps time and source": STATED}
    assert {name: outcome for name, (outcome, _) in found.items()} == expected, found
    assert found["takes what is written"][1].startswith("10 events in order")
    assert {arm.system for name in found if found[name][0] == BROKEN} <= FLOOR


def test_a_second_write_appends_and_a_reset_empties(session: Session) -> None:
    events = history()

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events[:5])
        await ask(system, "a", events[0])
        receipt = await system.write("a", events[5:])
        await system.settle("a", receipt, 30.0)
        assert receipt.events == 3
        for at in (0, 7):
            assert (events[at].id in keys(await ask(system, "a", events[at]))) is remembered(session.arm, at, 8)
        await store(system, "b", events[4:])
        await system.reset("a")
        assert (await ask(system, "a", events[0])).hits == ()
        assert not {event.id for event in events[:4]} & set(keys(await ask(system, "b", events[0])))

    session.run(body)


def test_k_and_max_chars_are_honoured(session: Session) -> None:
    events = history()

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events)
        for event in events[:2]:
            whole = keys(await ask(system, "a", event))
            for k in (1, 3, 100):
                found = keys(await ask(system, "a", event, k=k))
                assert len(found) <= min(k, len(events))
                if k == 3 and session.arm.system not in HALF:
                    assert found == whole[:3]
            bounded = (await ask(system, "a", event, max_chars=150)).hits
            assert len(bounded) <= 1 or len("\n".join(map(line_of, bounded))) <= 150

    session.run(body)


def test_hits_keep_source_time_and_text(session: Session) -> None:
    events = history()
    by_id = {event.id: event for event in events}

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events)
        found = await ask(system, "a", events[3])
        assert len(set(keys(found))) == len(found.hits)
        for hit in found.hits:
            assert hit.cosine is None or abs(hit.cosine) <= 1.001
            if system.capabilities.sources:
                assert hit.sources
                if system.capabilities.timestamps:
                    assert [by_id[name].time for name in hit.sources] == [hit.time]
                else:  # the run has put it into the text
                    assert hit.time is None
                assert all(by_id[name].text in hit.text for name in hit.sources)

    session.run(body)


def test_erase_leaves_nothing(session: Session) -> None:
    events = history()

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events)
        await ask(system, "a", events[0])
        await system.erase("a")
        with pytest.raises(SystemFault):
            await ask(system, "a", events[0])
        await system.erase("a")  # twice is once

    session.run(body)
    left = b"".join(path.read_bytes() for path in session.cache.rglob("*") if path.is_file())
    assert b"zeppelin" not in left


def test_failures_raise(session: Session) -> None:
    events = history()

    async def body(system: MemorySystem) -> None:
        with pytest.raises(SystemFault):
            await ask(system, "never", events[0])
        with pytest.raises(SystemFault):
            await system.settle("never", Receipt(events=1, sha256="", times="native"), 1.0)
        await store(system, "a", events[:2])
        with pytest.raises(SystemFault, match="D:0"):
            await system.write("a", events[:1])

    session.run(body)


def test_receipt_proves_what_was_sent(session: Session) -> None:
    events = [*history(), Event(id="D:8", text="no time, no actor", kind="doc")]
    sha = hashlib.sha256()
    for event in events:
        when = "" if event.time is None else event.time.strftime("%Y-%m-%dT%H:%M:%S")
        sha.update("".join(part + "\0" for part in (event.id, when, event.actor, event.text)).encode())

    async def body(system: MemorySystem) -> None:
        receipt = await store(system, "a", events)
        assert (receipt.events, receipt.truncated) == (9, 0)
        assert receipt.sha256 == sha.hexdigest()
        assert receipt.times == ("native" if system.capabilities.timestamps else "in_text")

    session.run(body)


@pytest.mark.long
def test_any_text_survives(session: Session) -> None:
    texts = [
        "",
        " ",
        "日本語のテキスト 🦩",
        "a\0b\ud800c",
        "¿Qué pasó?",
        "the of and",
        "word " * 40_000,
        "'; DROP TABLE events; --",
    ]
    events = [Event(id=f"x{at}", text=text, time=START, kind="doc") for at, text in enumerate(texts)]

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events)
        for text in ("", "the of 🦩 \ud800"):
            evidence = ("x2", "x6") if system.capabilities.reads_gold else None
            found = await system.search("a", Query(text=text, k=5, evidence=evidence))
            for hit in found.hits:
                said = spoken(events[int(hit.key[1:])])
                # Half a character goes through no file and no encoder: what cannot carry it says so in its receipt.
                assert hit.text in (said, said.encode("utf-8", "replace").decode())
                assert hit.score is None or hit.score == hit.score
        await store(system, "b", history()[:1])
        evidence = ("D:0",) if system.capabilities.reads_gold else None
        await system.search("b", Query(text="what zeppelin " * 5_000, evidence=evidence))

    session.run(body)


def test_one_event_alone(session: Session) -> None:
    event = history()[0]

    async def body(system: MemorySystem) -> None:
        await store(system, "a", [event])
        assert keys(await ask(system, "a", event, k=10)) == ([] if session.arm.system in FLOOR else [event.id])

    session.run(body)


def test_namespaces_at_once(session: Session) -> None:
    async def body(system: MemorySystem) -> None:
        async def one(name: str) -> None:
            events = history(name)
            await store(system, name, events[:4])
            await system.write(name, events[4:])
            found = await asyncio.gather(*(ask(system, name, event, k=3) for event in events[3:5]))
            assert all(key.startswith(f"{name}:") for result in found for key in keys(result))

        await asyncio.gather(*map(one, ("n1", "n2", "n3")))

    session.run(body)


def test_another_session_is_the_same(session: Session, tmp_path: Path) -> None:
    events = history()

    async def body(system: MemorySystem) -> list[Any]:
        await store(system, "a", events)
        return [(await ask(system, "a", event)).hits for event in events[:3]]

    async def again() -> tuple[Provenance, list[Any]]:
        system = build(session.arm)
        try:
            return await system.open(Opening(cache_dir=tmp_path)), await body(system)
        finally:
            await system.close()

    opened, hits = asyncio.run(again())
    assert hits == session.run(body)
    assert (opened.build, opened.embedder) == (session.provenance.build, session.provenance.embedder)
    assert opened.build
    assert opened.embedder
    assert not opened.fake
    assert ("sha256:" in opened.embedder) is (session.arm.system in EMBEDS)


def test_it_holds_no_more_than_was_written(session: Session) -> None:
    events = history()
    written = [event.id for event in events]

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events[:4])
        held = await system.holds("a", [*written, "never"])
        if held is None:  # it cannot tell
            return
        assert held == (frozenset() if session.arm.system in FLOOR else frozenset(written[:4]))
        assert await system.holds("a", []) == frozenset()
        await store(system, "b", events[4:])
        assert await system.holds("a", written[4:]) == frozenset()
        await system.erase("a")
        with pytest.raises(SystemFault):
            await system.holds("a", written)

    session.run(body)


def test_it_answers_by_itself_or_says_that_it_does_not(session: Session) -> None:
    events = history()

    async def body(system: MemorySystem) -> None:
        await store(system, "a", events)
        query = Query(text=f"What about {events[0].text}?", now=START, k=3)
        if not system.capabilities.answers:
            with pytest.raises(NotImplementedError):
                await system.ask("a", query)
            return
        answer = await system.ask("a", query)
        assert isinstance(answer, Answer)
        assert answer.text.strip()
        sources = {source for hit in answer.hits or () for source in hit.sources or ()}
        assert sources <= {event.id for event in events}
        await system.erase("a")
        with pytest.raises(SystemFault):
            await system.ask("a", query)

    session.run(body)


def test_only_the_oracle_reads_gold() -> None:
    assert [name for name in names() if find(name).capabilities.reads_gold] == ["oracle"]
