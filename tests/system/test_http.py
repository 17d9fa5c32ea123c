"""The `http` bridge against real servers on loopback: requests as declared, answers by path, faults by name."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

import pytest

from runner.errors import IngestError, NotSettled, RunnerError, SearchError
from runner.system import MemorySystem, Provenance
from runner.types import Query
from tests.support.bridging import (
    FOUND,
    HITS,
    PLAIN,
    START,
    TEXTS,
    arm_of,
    ask,
    drive,
    history,
    http_arm,
    opened,
    store,
)
from tests.support.scripted_server import server
from tests.support.servers import Stub


def test_requests_are_what_the_arm_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_MEMORY", "odd secret")
    arm = {
        "auth": {"env": "MY_MEMORY", "header": "X-Key", "prefix": ""},
        "headers": {"X-Bench": "yes"},
        "about": {"path": "/health", "build": "v", "embedder": "model.name"},
        "reset": {"method": "PUT", "path": "/users/{ns}"},
        "write": {
            "path": "/users/{ns}/notes",
            "body": {"who": "{event.actor}", "text": "{event.spoken}", "at": "{event.time}", "x": ["{event.unix}", 1]},
        },
        "settle": {"path": "/users/{ns}/status", "ready": {"at": "state", "values": ["idle"]}, "every_s": 0.01},
        "search": {
            "path": "/users/{ns}/search?q={text}&n={k}",
            "body": {"chars": "{max_chars}", "now": "{now}", "deep": "{knobs.deep}", "literal": "{{k}} {{other}} {1}"},
            "hits": HITS,
        },
        "drop_derived": {"path": "/users/{ns}/wipe"},
        "erase": {"method": "DELETE", "path": "/users/{ns}", "good": [404]},
    }
    asked = iter(("busy", "idle", "idle"))

    def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/health":
            return 200, {"v": 12, "model": {"name": "minilm"}}
        if path.endswith("status"):
            return 200, {"state": next(asked)}
        return (404, {}) if method == "DELETE" else (200, FOUND)

    async def body(system: MemorySystem, opened: Provenance) -> None:
        assert (opened.build, opened.embedder) == ("12", "minilm")
        await store(system, "a/b", history(TEXTS[:2]))
        found = await system.search("a/b", Query(text="where & when?", k=5))
        (hit,) = found.hits
        assert (hit.key, hit.text, hit.score, hit.sources) == ("7", "a walrus", 0.5, ("e1",))
        assert hit.time == history()[1].time  # the Z is dropped: the scenario's clock has no zone
        await system.drop_derived("a/b")
        await system.erase("a/b")

    with server(answer) as (url, seen):
        drive(http_arm(url, **arm, knobs={"deep": False}), body)
    assert [(item["method"], item["path"]) for item in seen] == [
        ("GET", "/health"),
        ("PUT", "/users/a%2Fb"),
        ("POST", "/users/a%2Fb/notes"),
        ("POST", "/users/a%2Fb/notes"),
        ("GET", "/users/a%2Fb/status"),
        ("GET", "/users/a%2Fb/status"),
        ("POST", "/users/a%2Fb/search?q=where%20%26%20when%3F&n=5"),
        ("POST", "/users/a%2Fb/wipe"),
        ("DELETE", "/users/a%2Fb"),
    ]
    assert seen[3]["body"] == {
        "who": "Ada",
        "text": f"Ada: {TEXTS[1]}",
        "at": "2024-03-05T09:30:00",
        "x": [1709631000, 1],
    }
    assert seen[6]["body"] == {"deep": False, "literal": "{k} {other} {1}"}  # no bound, no now: the keys are left out
    assert all(item["headers"]["X-Key"] == "odd secret" and item["headers"]["X-Bench"] == "yes" for item in seen)


def test_events_go_in_order_in_batches() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await system.reset("a")
        receipt = await system.write("a", history([f"t{at}" for at in range(5)]))
        assert receipt.events == 5

    with server(lambda *_: (200, {})) as (url, seen):
        write = {**PLAIN["write"], "batch": 2}
        drive(http_arm(url, write=write), body)
    assert [item["body"]["items"] for item in seen[1:]] == [
        [{"t": "t0"}, {"t": "t1"}],
        [{"t": "t2"}, {"t": "t3"}],
        [{"t": "t4"}],
    ]


def test_jobs_are_waited_for_one_by_one() -> None:
    states = {"7": iter(("running", "done")), "8": iter(("done",)), "9": iter(("failed",))}
    numbers = iter(("7", "8", "9"))

    def answer(method: str, path: str, _: Any) -> tuple[int, Any]:
        if path == "/add":
            return 200, {"job": {"id": next(numbers)}}
        if path.startswith("/jobs/"):
            return 200, {"status": next(states[path.removeprefix("/jobs/")])}
        return 200, {}

    settle = {
        "path": "/jobs/{job}",
        "ready": {"at": "status", "values": ["done"]},
        "failed": {"at": "status", "values": ["failed"]},
        "every_s": 0.01,
    }

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a", history(TEXTS[:2]))
        await system.reset("b")
        receipt = await system.write("b", history(TEXTS[:1]))
        with pytest.raises(NotSettled, match="'status' says failed"):
            await system.settle("b", receipt, 5.0)

    write = {**PLAIN["write"], "batch": 1, "job": "job.id"}
    with server(answer) as (url, seen):
        drive(http_arm(url, write=write, settle=settle), body)
    polled = [item["path"] for item in seen if item["path"].startswith("/jobs/")]
    assert polled == ["/jobs/7", "/jobs/7", "/jobs/8", "/jobs/9"]


def test_a_status_that_never_comes_is_not_settled() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await system.reset("a")
        receipt = await system.write("a", history())
        with pytest.raises(NotSettled, match=r"not ready after 0\.2 s"):
            await system.settle("a", receipt, 0.2)

    settle = {"path": "/status", "ready": {"at": "ready", "values": [True]}, "every_s": 0.05}
    with server(lambda *_: (200, {"ready": False})) as (url, _):
        drive(http_arm(url, settle=settle), body)


# --- faults ----------------------------------------------------------------------------------------------------------


ANSWERS: list[tuple[Any, str]] = [
    (b"", r"/search answers with an empty body \(HTTP 200\)"),
    ({"data": []}, "hits.at: 'results' is not a list of hits; the answer is an object with data"),
    ({"results": {"a": 1}}, "'results' is not a list of hits; it is an object with a"),
    ([], "hits.at: 'results' is not a list of hits; the answer is a list of 0"),
    ({"results": [{"id": 1}]}, "hit 1 has no text at 'memory'; it is an object with id"),
    ({"results": [{"memory": "x"}]}, "hit 1 has no key at 'id'"),
    ({"results": [{"id": 1, "memory": "x", "score": "high"}]}, "hit 1 has a score that is not a number: high"),
    ({"results": [{"id": 1, "memory": "x", "at": "yesterday"}]}, "hit 1 has a time that is not an ISO date: yesterday"),
    ({"results": [{"id": 1, "memory": "x", "meta": {"from": [{}]}}]}, "hit 1 has sources that are not event ids"),
    (b'{"results": [{"id": 1, "memory": "x", "score": NaN}]}', "not JSON"),
    (b"[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("answered", "said"), ANSWERS, ids=[said[:30] for _, said in ANSWERS])
def test_an_answer_without_what_was_declared_is_told_by_path(answered: Any, said: str) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError, match=said):
            await ask(system, "a")

    with server(lambda _, path, __: (200, answered if path == "/search" else {})) as (url, _):
        drive(http_arm(url), body)


def test_an_answer_that_never_ends_is_cut_off() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError, match="answers with more than 32 MB"):
            await ask(system, "a")

    with server(lambda _, path, __: (200, b" " * 40_000_000 if path == "/search" else {})) as (url, _):
        drive(http_arm(url), body)


def test_a_write_that_fails_or_is_taken_in_part_is_an_ingest_error() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await system.reset("a")
        with pytest.raises(IngestError, match="4 events were sent and 'stored' says 3"):
            await system.write("a", history())
        with pytest.raises(IngestError, match=r"reset: .*HTTP 400"):
            await system.reset("bad")

    def answer(_: str, path: str, asked: Any) -> tuple[int, Any]:
        return (400, {}) if asked.get("user") == "bad" else (200, {"stored": 3})

    with server(answer) as (url, _):
        drive(http_arm(url, write={**PLAIN["write"], "taken": "stored"}), body)


def test_a_429_waits_and_nothing_is_lost() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert (await ask(system, "a")).hits

    with Stub(body=json.dumps(FOUND).encode(), plan=["ok", "429", "ok", "500", "ok"], retry_after="0.2") as stub:
        paths = {name: {**PLAIN[name], "path": f"/v1{PLAIN[name]['path']}"} for name in PLAIN}
        drive(arm_of("http", {"base_url": stub.url.removesuffix("/v1"), **paths}), body)
        assert stub.state.requests == 5


def test_a_secret_that_the_server_sends_back_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_ONE", "hunter2hunter2")

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError) as caught:
            await ask(system, "a")
        assert "hunter2" not in str(caught.value)

    with server(lambda _, path, __: (403 if path == "/search" else 200, {"bad key": "hunter2hunter2"})) as (url, _):
        drive(http_arm(url, auth={"env": "ODD_ONE"}), body)


# --- settings --------------------------------------------------------------------------------------------------------


def test_what_is_promised_by_about_and_absent_is_told() -> None:
    with (
        server(lambda *_: (200, {"version": "1"})) as (url, _),
        pytest.raises(
            RunnerError, match=r"about\.build: nothing stands at 'build'; the answer is an object with version"
        ),
    ):
        opened(http_arm(url, about={"path": "/health", "build": "build"}))


def test_durable_needs_a_way_to_find_out() -> None:
    declares = {"capabilities": {"durable": True}}
    with server(lambda *_: (200, {})) as (url, _), pytest.raises(RunnerError, match="durable and has no request"):
        opened(http_arm(url, declares=declares))


# --- a server that the arm starts ------------------------------------------------------------------------------------

SERVED = (
    "import http.server, json, os, sys\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def do_POST(self):\n"
    "        self.rfile.read(int(self.headers['Content-Length']))\n"
    "        if self.path == '/search':\n"
    "            print('out of luck', file=sys.stderr, flush=True)\n"
    "            os._exit(7)\n"
    "        self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers()\n"
    "        self.wfile.write(b'[]')\n"
    "    def log_message(self, *_): pass\n"
    "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n"
)


def test_a_server_that_ends_is_named_and_started_again_with_the_next_scenario() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        for ns in ("a", "b"):
            await store(system, ns)
            with pytest.raises(SearchError):
                await ask(system, ns)
            assert re.search(r"cannot reach .*ended with code 7; stderr ends: out of luck", await told(system, ns))

    serve = {"command": [sys.executable, "-c", SERVED, "{port}"]}
    drive(http_arm("http://127.0.0.1:{port}", serve=serve), body)


async def told(system: MemorySystem, ns: str) -> str:
    """The fault of a search, once the end of the server is noticed."""
    for _ in range(200):
        with pytest.raises(SearchError) as caught:
            await ask(system, ns)
        if "ended" in str(caught.value):
            break
        await asyncio.sleep(0.02)
    return str(caught.value)


def test_times_of_hits_may_be_unix_seconds() -> None:
    for value in (1709544600, 1709544600.0, 1709544600000, "2024-03-04T10:30:00+01:00"):

        async def body(system: MemorySystem, _: Provenance) -> None:
            await store(system, "a")
            assert (await ask(system, "a")).hits[0].time == START

        said = {"results": [{"id": 1, "memory": "x", "at": value}]}
        with server(lambda *_, said=said: (200, said)) as (url, _):
            drive(http_arm(url), body)
