"""A namespace that is there already: searched and asked under its own name, and nothing else is ever done to it."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import IngestError, NotSettled, SearchError
from runner.system import MemorySystem, Provenance, find, names
from runner.types import Query, Receipt
from tests.conftest import ROOT
from tests.support.bridging import (
    FOUND,
    REFERENCE,
    TEXTS,
    arm_of,
    children,
    drive,
    history,
    http_arm,
    opened,
    script,
    store,
)
from tests.support.scripted_server import server
from tests.system.stand_ins.loom_server import serving

NAME = "Team Notes/2024 ünïcode"
ASKED = Query(text="What landed beside the quarry?", k=3)


async def only_asked(system: MemorySystem, _: Provenance) -> None:
    """What a run does with a corpus that is there already, and what it must not be able to do."""
    assert system.capabilities.existing
    (hit, *_) = (await system.search(NAME, ASKED)).hits
    assert hit.text
    if system.capabilities.answers:
        assert (await system.ask(NAME, ASKED)).text
    assert await system.holds(NAME, ["e0"]) is None  # this run knows no event of it
    with pytest.raises(IngestError, match="reset it and write to it first"):
        await system.write(NAME, history())
    with pytest.raises(NotSettled):
        await system.settle(NAME, Receipt(events=1, sha256="", times="native"), 1.0)
    with pytest.raises(IngestError):
        await system.drop_derived(NAME)
    await system.erase(NAME)
    assert (await system.search(NAME, ASKED)).hits  # as it was


KEEPS = """
log, kept = open(sys.argv[1], 'a'), [{'key': 'e0', 'text': 'the zeppelin'}]
for line in sys.stdin:
    request = json.loads(line)
    log.write(line); log.flush()
    about = {'ok': True}
    if request['op'] == 'probe':
        about |= {'capabilities': {'existing': True, 'answers': True}, 'ops': ['settle', 'erase', 'holds', 'close']}
    if request['op'] == 'search':
        if request['text'] == 'die':
            sys.exit(3)
        about['hits'] = kept
    if request['op'] == 'ask':
        about['answer'] = 'A zeppelin.'
    print(json.dumps({'id': request['id'], **about}), flush=True)
"""


def keeping(log: Path, **settings: Any) -> ArmConfig:
    code = script(KEEPS, **settings)
    return arm_of("command", {**code, "command": [*code["command"], str(log)]})


@pytest.mark.parametrize("settings", [{}, {"processes": 2}, {"one_per_scenario": True}], ids=str)
def test_a_command_sees_a_search_and_nothing_else(tmp_path: Path, settings: dict[str, Any]) -> None:
    log = tmp_path / "log"
    drive(keeping(log, **settings), only_asked)
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    assert [item["op"] for item in sent if item["op"] not in ("probe", "close")] == ["search", "ask", "search"]
    assert {item["ns"] for item in sent if "ns" in item} == {NAME}


def test_a_command_that_died_is_started_again_for_what_outlives_it(tmp_path: Path) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "of this run", [])
        with pytest.raises(SearchError, match="ended with code 3"):
            await system.search(NAME, Query(text="die"))
        assert (await system.search(NAME, ASKED)).hits
        with pytest.raises(SearchError, match="earlier in this scenario"):  # what it held is gone
            await system.search("of this run", ASKED)

    drive(keeping(tmp_path / "log"), body)


def test_many_searches_at_once_share_a_process(tmp_path: Path) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        before = children()
        found = await asyncio.gather(*(system.search(NAME, ASKED) for _ in range(5)))
        assert all(result.hits for result in found)
        assert children() == before

    drive(keeping(tmp_path / "log", one_per_scenario=True), body)


def test_a_command_that_says_nothing_of_it_keeps_nothing(tmp_path: Path) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        with pytest.raises(SearchError, match="never reset"):
            await system.search(NAME, ASKED)

    drive(keeping(tmp_path / "log", declares={"capabilities": {"existing": False}}), body)


def test_an_http_server_sees_a_search_and_nothing_else() -> None:
    ask = {"path": "/ask", "body": {"user": "{ns}"}, "answer": "said"}
    with server(lambda method, path, body: (200, {**FOUND, "said": "A zeppelin."})) as (url, seen):
        drive(http_arm(url, ask=ask), only_asked)
    assert [item["path"] for item in seen] == ["/search", "/ask", "/search"]
    assert {item["body"]["user"] for item in seen} == {NAME}


def test_a_server_that_ends_with_the_run_keeps_what_its_arm_says() -> None:
    example = ROOT / "examples" / "memory_server_http.py"
    serve = {"command": [sys.executable, "-S", str(example), "{dir}", "{port}"]}
    system, _ = opened(http_arm("http://127.0.0.1:{port}", serve=serve))
    assert not system.capabilities.existing
    system, _ = opened(http_arm("http://127.0.0.1:{port}", serve=serve, declares={"capabilities": {"existing": True}}))
    assert system.capabilities.existing


def test_an_mcp_server_sees_a_search_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    kept = runpy.run_path(str(ROOT / "examples" / "memory_server.py"))["Store"](tmp_path)
    kept.reset(NAME)
    kept.write(NAME, [{"id": "e0", "text": TEXTS[0], "actor": "Ada"}])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    log = tmp_path.parent / f"{tmp_path.name}.log"
    user = {"user": "{ns}"}
    words = [sys.executable, "-S", str(REFERENCE / "broken_mcp.py"), "none", str(tmp_path), "--log", str(log)]
    arm = arm_of(
        "mcp",
        {
            "stdio": {"command": words},
            "reset": {"tool": "forget", "arguments": user},
            "write": {"tool": "remember", "arguments": {**user, "notes": ["{event.text}"]}},
            "search": {"tool": "recall", "arguments": {**user, "query": "{text}"}, "hits": {"at": "results"}},
            "ask": {"tool": "answer", "arguments": {**user, "question": "{text}"}},
            "declares": {"capabilities": {"existing": True}},
        },
    )
    drive(arm, only_asked)
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert [call["name"] for call in calls] == ["recall", "answer", "recall"]
    assert {call["arguments"]["user"] for call in calls} == {NAME}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    system, _ = opened(arm.model_copy(update={"settings": {**arm.settings, "declares": {}}}))
    assert not system.capabilities.existing  # the arm starts the server, and says nothing of what outlives it


def test_loom_neither_registers_nor_erases_it() -> None:
    async def body(system: MemorySystem, provenance: Provenance) -> None:
        await only_asked(system, provenance)
        await store(system, "bench-run", history())  # of this run, beside it

    with serving() as loom:
        memory = {"memory_key": "m1", "text": "the zeppelin landed", "created_at": "2024-03-04T09:30:00"}
        loom.spaces[NAME] = {"body": {}, "memories": [memory], "pending": 0}
        drive(arm_of("loom", {"base_url": loom.url}), body)
        asked_of = [body["namespace"] for body in loom.bodies("/v1/memory/search") + loom.bodies("/v1/memory/ask")]
        assert set(asked_of) == {NAME}
        (registered,) = [body["namespace"] for body in loom.bodies("/v1/namespaces")]
        assert registered.startswith("bench-run-")
        assert [body["namespaces"] for body in loom.bodies("/v1/namespaces/erase")] == [[registered]]
        assert [body["namespace"] for body in loom.bodies("/v1/memories")] == [registered]
        assert list(loom.spaces) == [NAME]
        assert loom.spaces[NAME]["memories"] == [memory]
        assert loom.reinforced == 0


def test_a_corpus_that_is_not_there_is_a_fault_where_the_server_says_so() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        with pytest.raises(SearchError, match="no such namespace"):
            await system.search("misspelt", ASKED)

    with serving() as loom:
        drive(arm_of("loom", {"base_url": loom.url}), body)


def test_what_lives_in_this_process_keeps_nothing_beyond_it() -> None:
    """Of the class: what only an opened server can tell is false until it does."""
    assert [name for name in names() if find(name).capabilities.existing] == ["loom"]
