"""A system's own answers through every bridge: what is sent, what is read, and what is no answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.config import ArmConfig, conf_dir
from runner.errors import ConfigError, SearchError
from runner.system import MemorySystem, Provenance, build
from runner.types import Answer, Hit, Query, Usage
from tests.support.bridging import (
    LOOP,
    REFERENCE,
    START,
    TEXTS,
    arm_of,
    broken,
    drive,
    history,
    http_arm,
    opened,
    script,
    store,
)
from tests.support.scripted_server import server
from tests.system.stand_ins.loom_server import serving

ASKED = Query(text="What landed beside the quarry?", now=START, k=3, mode="default")
USAGE = {"input_tokens": "usage.in", "output_tokens": "usage.out", "usd": "cost"}
ASK: dict[str, Any] = {
    "path": "/ask/{ns}",
    "body": {"q": "{text}", "n": "{k}", "at": "{now}", "deep": "{knobs.deep}"},
    "answer": "said.text",
    "hits": {"at": "read", "key": "id", "text": "memory", "sources": "from"},
    "model": "said.by",
    "usage": USAGE,
}
TOLD = {
    "said": {"text": "A zeppelin.", "by": "small-1"},
    "read": [{"id": 7, "memory": "a zeppelin", "from": ["e0"]}],
    "usage": {"in": 12, "out": 3},
    "cost": 0.5,
}
WHOLE = Answer(
    text="A zeppelin.",
    hits=(Hit(key="7", text="a zeppelin", sources=("e0",)),),
    model="small-1",
    usage=Usage(input_tokens=12, output_tokens=3, usd=0.5),
    notes=("capabilities_undeclared",),
)


def asked(arm: ArmConfig, query: Query = ASKED) -> Answer:
    async def body(system: MemorySystem, _: Provenance) -> Answer:
        assert system.capabilities.answers
        await store(system, "a b")
        return await system.ask("a b", query)

    found: Answer = drive(arm, body)
    return found


# --- command ---------------------------------------------------------------------------------------------------------


def test_a_command_is_asked_and_its_answer_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = {"answer": "A zeppelin.", "model": "small-1", "hits": [{"key": "k", "text": "t", "cosine": 0.25}]}
    said["usage"] = {"input_tokens": 12, "output_tokens": 3}
    code = (
        f"log = open({str(log)!r}, 'a')\n{LOOP}"
        "    log.write(line); log.flush()\n"
        "    about = {'capabilities': {'answers': True}} if op == 'probe' else {}\n"
        f"    about = {said!r} if op == 'think' else about\n"
        "    print(json.dumps({'id': number, 'ok': True, **about}), flush=True)\n"
    )
    found = asked(arm_of("command", script(code, names={"ask": "think"}), knobs={"deep": True}))
    assert found == Answer(
        text="A zeppelin.",
        hits=(Hit(key="k", text="t", cosine=0.25),),
        model="small-1",
        usage=Usage(input_tokens=12, output_tokens=3, usd=None),  # it told no price: that is unknown, and not nothing
        notes=("capabilities_undeclared",),
    )
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    (request,) = [item for item in sent if item["op"] == "think"]
    bounds = {"max_chars": None, "max_tokens": None, "project": "", "agent": "", "mode": "default"}
    asked_for = {"text": ASKED.text, "now": "2024-03-04T09:30:00", "k": 3, **bounds, "knobs": {"deep": True}}
    assert request == {"id": 4, "op": "think", "ns": "a b", **asked_for}


def test_an_answer_without_more_says_nothing_of_what_was_read() -> None:
    code = LOOP + "    print(json.dumps({'id': number, 'ok': True, 'answer': 'Yes.'}), flush=True)\n"
    declares = {"capabilities": {"answers": True}}
    found = asked(arm_of("command", script(code, declares=declares)))
    assert (found.text, found.hits, found.model, found.usage) == ("Yes.", None, "", None)
    empty = code.replace("'Yes.'", "'Yes.', 'hits': []")
    assert asked(arm_of("command", script(empty, declares=declares))).hits == ()  # it read nothing, and says so


def test_the_example_answers_from_what_it_holds() -> None:
    found = asked(arm_of("command", broken("none")))
    assert found.text == f"Ada: {TEXTS[0]}"
    assert [hit.sources for hit in found.hits or ()] == [("e0",)]
    unknown = asked(arm_of("command", broken("none")), Query(text="walrus"))
    assert (unknown.text, unknown.hits) == ("I do not know that.", ())


FAULTS = [
    ("answers_nothing", "nothing was answered: 'answer' is an empty text", True),
    ("answers_a_number", "'answer' is a number, and no text", True),
    ("answers_no_list", "hits.at: 'hits' is not a list of hits", True),
    ("odd_usage", "'usage.input_tokens' is not a count of tokens: -3", True),
    ("dies_answering", "ended with code 3; stderr ends: about to die", False),
    ("hangs_answering", "took longer than 0.5 s to answer 'ask' and was killed", False),
]


@pytest.mark.parametrize(("fault", "said", "survives"), FAULTS, ids=[name for name, *_ in FAULTS])
def test_what_is_no_answer_is_a_fault(fault: str, said: str, survives: bool) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError, match=f"^tested: ask: .*{said}") as caught:
            await system.ask("a", ASKED)
        assert "\n" not in str(caught.value)
        if survives:
            assert (await system.search("a", ASKED)).hits
        await store(system, "b")
        assert (await system.search("b", ASKED)).hits

    drive(arm_of("command", broken(fault, timeouts={"ask": 0.5})), body)


def test_who_does_not_answer_is_not_asked() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(NotImplementedError):
            await system.ask("a", ASKED)

    drive(arm_of("command", broken("none", declares={"capabilities": {"answers": False}})), body)


def test_never_written_and_erased_are_faults_before_anything_is_asked() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        with pytest.raises(SearchError, match="never reset"):
            await system.ask("a", ASKED)
        await store(system, "a")
        await system.erase("a")
        with pytest.raises(SearchError, match="is erased"):
            await system.ask("a", ASKED)

    drive(arm_of("command", broken("none")), body)


# --- http ------------------------------------------------------------------------------------------------------------


def test_an_http_server_is_asked_as_declared() -> None:
    with server(lambda method, path, body: (200, TOLD if path.startswith("/ask") else {})) as (url, seen):
        found = asked(http_arm(url, ask=ASK, knobs={"deep": False}))
    assert found == WHOLE
    assert (seen[-1]["method"], seen[-1]["path"]) == ("POST", "/ask/a%20b")
    assert seen[-1]["body"] == {"q": ASKED.text, "n": 3, "at": "2024-03-04T09:30:00", "deep": False}


HTTP_FAULTS = [
    ({}, "nothing was answered: there is nothing at 'said.text'; the answer is an empty object"),
    ({"said": {"text": ["A."]}}, "'said.text' is a list of 1, and no text"),
    ({"said": {"text": "A.", "by": 3}}, "the model that answered is not a name: 3"),
    ({"said": {"text": "A."}, "cost": "free"}, "'cost' is not an amount of money: free"),
    ({"said": {"text": "A."}, "cost": -1}, "'cost' is not an amount of money: -1"),
    ({"said": {"text": "A."}, "usage": {"out": 1.5}}, "'usage.out' is not a count of tokens: 1.5"),
    ({"said": {"text": "A."}, "read": [{"id": 1}]}, "hit 1 has no text at 'memory'"),
    (b"<p>Sign in</p>", "answers with something that is not JSON"),
]


@pytest.mark.parametrize(("said", "told"), HTTP_FAULTS, ids=[told[:30] for _, told in HTTP_FAULTS])
def test_what_is_no_answer_over_http_is_a_fault(said: Any, told: str) -> None:
    with (
        server(lambda method, path, body: (200, said if path.startswith("/ask") else {})) as (url, _),
        pytest.raises(SearchError, match=f"^tested: ask: .*{told}"),
    ):
        asked(http_arm(url, ask={**ASK, "body": None}))


def test_an_answer_may_be_the_whole_of_what_comes_back() -> None:
    ask = {"path": "/ask", "answer": None}
    with server(lambda method, path, body: (200, "In May." if path == "/ask" else {})) as (url, _):
        found = asked(http_arm(url, ask=ask))
    assert (found.text, found.hits, found.usage) == ("In May.", None, None)


@pytest.mark.parametrize("system", ["http", "mcp"])
def test_what_cannot_be_asked_is_told_before_anything_runs(system: str) -> None:
    path = conf_dir() / "arm" / f"{system}_example.yaml"
    settings = yaml.safe_load(path.read_text())["settings"]
    capabilities = {**settings["declares"]["capabilities"], "answers": True}
    without = {**settings, "ask": None, "declares": {"capabilities": capabilities}}
    with pytest.raises(ConfigError, match=r"capabilities\.answers: is true and no (request|tool) .*; .*settings\.ask"):
        build(arm_of(system, without))
    nowhere = {**settings, "ask": {**settings["ask"], "hits": {"key": "id"}}}
    with pytest.raises(ConfigError, match=r"ask\.hits\.at: is missing"):
        build(arm_of(system, nowhere))
    key = "path" if system == "http" else "arguments"
    odd: Any = "/ask/{event.id}" if system == "http" else {"user": "{event.id}"}
    with pytest.raises(ConfigError, match=rf"ask\.{key}: there is no {{event\.id}} here"):
        build(arm_of(system, {**settings, "ask": {**settings["ask"], key: odd}}))


def test_an_arm_may_leave_its_answers_out() -> None:
    arm = {"ask": ASK, "declares": {"capabilities": {"answers": False}}, "knobs": {"deep": True}}
    with server(lambda *_: (200, {})) as (url, _):
        system, _ = opened(http_arm(url, **arm))
    assert not system.capabilities.answers


# --- mcp -------------------------------------------------------------------------------------------------------------


def mcp_arm(fault: str, **ask: Any) -> ArmConfig:
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    words = [sys.executable, "-S", str(REFERENCE / "broken_mcp.py"), fault, "{dir}"]
    item = {"id": "{event.id}", "text": "{event.text}", "actor": "{event.actor}", "time": "{event.time}"}
    user = {"user": "{ns}"}
    return arm_of(
        "mcp",
        {
            "stdio": {"command": words},
            "reset": {"tool": "forget", "arguments": user},
            "write": {"tool": "remember", "arguments": {**user, "notes": "{events}"}, "item": item, "batch": 9},
            "search": {"tool": "recall", "arguments": {**user, "query": "{text}"}, "hits": {"at": "results"}},
            "ask": {"tool": "answer", "arguments": {**user, "question": "{text}"}, **ask},
        },
    )


def test_a_tool_is_asked_and_its_result_read() -> None:
    hits = {"at": "used", "key": "key", "sources": "sources"}
    usage = {"input_tokens": "usage.in", "output_tokens": "usage.out"}
    found = asked(mcp_arm("none", hits=hits, model="model", usage=usage))
    assert found.text == f"Ada: {TEXTS[0]}"
    assert [hit.sources for hit in found.hits or ()] == [("e0",)]
    assert (found.model, found.usage) == ("small", Usage(input_tokens=12, output_tokens=3, usd=None))


@pytest.mark.parametrize(("fault", "said"), [("year", "2023"), ("two_blocks", "Ada did.\nIn May.")])
def test_a_result_in_words_is_the_answer_as_it_stands(fault: str, said: str) -> None:
    assert asked(mcp_arm(fault, answer=None)).text == said


@pytest.mark.parametrize(
    ("fault", "path", "said"),
    [
        ("blank_answer", None, "nothing was answered: the answer is an empty text"),
        ("answer_error", None, "tool 'answer' reports an error: the model is overloaded"),
        ("year", "answer", "nothing was answered: there is nothing at 'answer'; the answer is a number"),
    ],
)
def test_what_is_no_answer_of_a_tool_is_a_fault(fault: str, path: str | None, said: str) -> None:
    with pytest.raises(SearchError, match=f"^tested: ask: .*{said}"):
        asked(mcp_arm(fault, answer=path))


def test_a_tool_that_the_server_does_not_have_is_told() -> None:
    with pytest.raises(ConfigError, match=r"ask\.tool: the server has no tool 'answers' \(did you mean 'answer'"):
        opened(mcp_arm("none", tool="answers"))


# --- Loom ------------------------------------------------------------------------------------------------------------


def test_memory_ask_is_an_evaluation_read_of_one_namespace() -> None:
    async def body(system: MemorySystem, _: Provenance) -> Answer:
        await store(system, "bench-1", history())
        return await system.ask("bench-1", ASKED)

    with serving() as loom:
        found = drive(arm_of("loom", {"base_url": loom.url}), body)
        (sent,) = loom.bodies("/v1/memory/ask")
    assert (found.text, found.model) == (f"Ada: {TEXTS[0]}", "gpt-4o-mini")
    assert [hit.sources for hit in found.hits] == [("e0",)]
    assert found.usage == Usage(input_tokens=40, output_tokens=6, usd=0.002)
    assert sent.pop("namespace").startswith("bench-1-")
    fixed = {"auto_touch": False, "reinforce": False, "namespace_scope": "this"}
    assert sent == {"question": ASKED.text, "limit": 3, "now": "2024-03-04T09:30:00", **fixed}
    assert loom.reinforced == 0


def test_memory_ask_can_be_left_out() -> None:
    system = build(arm_of("loom", {"requests": {"ask": None}}))
    assert not system.capabilities.answers
    ask = {"path": "/a", "body": {}, "hits": {"key": "id"}}
    with pytest.raises(ConfigError, match=r"requests\.ask\.hits\.at: is missing"):
        build(arm_of("loom", {"requests": {"ask": ask}}))
