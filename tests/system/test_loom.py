"""Loom over HTTP, against a stand-in that implements what is documented of it, faults included."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import ConfigError, IngestError, NotSettled, Refused, RunnerError, SearchError
from runner.system import MemorySystem, build
from runner.types import Event, Query
from tests.conftest import command_environment
from tests.support.driving import drive, opened, store
from tests.support.servers import closed_port
from tests.system.stand_ins.loom_server import HEALTH, State, serving

NOON = datetime(2024, 3, 4, 12, 0)
EVENTS = [
    Event(id="a", text="The ferry leaves at nine.", time=NOON, actor="Ada", session="s1"),
    Event(id="b", text="The zeppelin was sold.", actor="Ben", session="s2"),
]
stored = partial(store, ns="bench-run-1", events=EVENTS, deadline_s=5)
ERASE, SEARCH, WRITE = "/v1/namespaces/erase", "/v1/memory/search", "/v1/memories"


@pytest.fixture
def server() -> Iterator[State]:
    with serving() as state:
        yield state


def arm(server: State, mode: str = "default", **settings: Any) -> ArmConfig:
    limits = {"timeout_s": 1.0, "deadline_s": 5.0, "attempts": 2}
    return ArmConfig(
        name="loom",
        system="loom",
        recall={"mode": mode},  # type: ignore[arg-type]
        settings={"base_url": server.url, "limits": limits, **settings},
    )


def test_a_run_of_it(server: State) -> None:
    server.late = 2

    async def body(system: MemorySystem) -> None:
        await stored(system)
        await stored(system, ns="bench-run-2 ünïcode/..")
        (hit,) = (await system.search("bench-run-1", Query(text="When does the ferry leave?", k=1))).hits
        assert (hit.key, hit.sources, hit.time) == ("a", ("a",), NOON)
        assert hit.text == "Ada: The ferry leaves at nine."
        await system.erase("bench-run-1")
        with pytest.raises(SearchError):
            await system.search("bench-run-1", Query(text="ferry"))
        assert server.bodies(ERASE) == []  # all of them go together
        assert len(server.spaces) == 2

    drive(arm(server), body)
    first, second = [body["namespace"] for body in server.bodies("/v1/namespaces")]
    assert first.startswith("bench-run-1-")
    assert second.startswith("bench-run-2-")
    assert second.isascii()
    assert server.seen[1][2] == {
        "namespace": first,
        "kind": "bench",
        "traffic_class": "bench",
        "capture_generation_io": True,
    }
    assert server.bodies(WRITE)[0]["memories"][0] == {
        "memory_key": "a",
        "text": "Ada: The ferry leaves at nine.",
        "created_at": "2024-03-04T12:00:00",
        "metadata": {"actor": "Ada", "kind": "message", "session": "s1"},
    }
    assert server.bodies(SEARCH) == [
        {
            "namespace": first,
            "query": "When does the ferry leave?",
            "limit": 1,
            "auto_touch": False,
            "reinforce": False,
            "namespace_scope": "this",
        }
    ]
    assert server.bodies(ERASE) == [{"namespaces": [first, second], "purge": True, "external": False}]
    assert (server.spaces, server.reinforced) == ({}, 0)


def test_a_namespace_is_never_used_twice(server: State) -> None:
    async def body(system: MemorySystem) -> None:
        await stored(system)
        await system.reset("bench-run-1")
        assert (await system.search("bench-run-1", Query(text="ferry"))).hits == ()

    drive(arm(server), body)
    assert len({body["namespace"] for body in server.bodies("/v1/namespaces")}) == 2
    assert server.spaces == {}


def test_the_search_mode_and_settings_of_ones_own_are_sent(server: State) -> None:
    paths = {"register": {"path": "/v1/namespaces", "body": {"namespace": "{ns}", "team": "a"}}}

    async def body(system: MemorySystem) -> None:
        await stored(system)
        await system.search("bench-run-1", Query(text="ferry", mode="lexical"))

    drive(arm(server, "lexical", requests=paths), body)
    assert server.bodies(SEARCH)[0]["mode"] == "lexical"
    assert server.bodies("/v1/namespaces")[0]["team"] == "a"
    with pytest.raises(ConfigError, match="has no mode 'psychic'; it has default, hybrid, lexical, vector"):
        build(arm(server, "psychic"))


def test_kept_namespaces_are_registered_so_that_no_collector_takes_them(
    server: State, caplog: pytest.LogCaptureFixture
) -> None:
    drive(arm(server, keep_namespaces=True), stored)
    assert server.bodies("/v1/namespaces")[0]["kind"] == "memory"
    assert server.bodies(ERASE) == []
    (name,) = server.spaces
    assert f"kept on the server: {name}" in caplog.text


# --- what it is ----------------------------------------------------------------------------------------------------


def test_the_health_check_is_the_instrument(server: State) -> None:
    found = opened(arm(server))
    assert found.build.endswith("; loom 0f1e2d3, llm openai:gpt-4o-mini")
    assert (found.embedder, found.fake) == ("bge-m3 1024d", False)
    del server.health["build_commit"], server.health["embedding_dim"]
    found = opened(arm(server))
    assert (found.build, found.embedder) == ("unknown", "unknown")


@pytest.mark.parametrize(
    ("status", "health"), [(200, {**HEALTH, "status": "degraded"}), (503, {"status": "starting"}), (200, {})]
)
def test_a_server_that_is_not_ready_is_refused(server: State, status: int, health: dict[str, Any]) -> None:
    server.health, server.health_status = health, status
    with pytest.raises(RunnerError, match=r"arm 'loom' did not open: the server says .*not ready"):
        opened(arm(server))


@pytest.mark.parametrize(
    ("health", "named"),
    [
        ({"embedding_model": "fake-ngram-3072"}, "embedding fake-ngram-3072"),
        ({"llm_provider": "fake", "llm_model": None}, "llm fake"),
    ],
)
def test_fake_providers_are_refused_by_name(server: State, health: dict[str, Any], named: str) -> None:
    server.health.update(health)
    kind = named.split()[0]
    with pytest.raises(Refused, match=rf"providers are fake \({named}\).*allow_fake=\[{kind}\]"):
        opened(arm(server))
    found = opened(arm(server, allow_fake=[kind]))
    assert found.fake is (kind == "embedding")
    assert found.extra["fakes"] == [kind]


def test_nobody_listens() -> None:
    with pytest.raises(RunnerError, match=r"cannot reach http://127\.0\.0\.1:.*start the server"):
        opened(arm(State(url=f"http://127.0.0.1:{closed_port()}")))


def test_an_unset_token_and_a_bad_url_are_told(server: State) -> None:
    with pytest.raises(ConfigError, match="LOOM_TOKEN_X is not set"):
        opened(arm(server, auth={"env": "LOOM_TOKEN_X"}))
    with pytest.raises(ConfigError, match=r"arm\.settings\.base_url"):
        build(arm(State(url="loom.example")))
    with pytest.raises(ConfigError, match=r"requests\.search\.body: there is no \{nss\}"):
        build(arm(server, requests={"search": {"path": "/s", "body": {"n": "{nss}"}, "hits": {"at": "results"}}}))


def impatient(arm: ArmConfig, fault: str) -> ArmConfig:
    limits = {"timeout_s": 0.4 if fault == "hang" else 1.0, "deadline_s": 5.0, "attempts": 2}
    return arm.model_copy(update={"settings": {**arm.settings, "limits": limits}})


# --- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "says"),
    [("500", "HTTP 500"), ("404", "HTTP 404"), ("hang", "no answer within 0.4 s"), ("drop", "broke the connection")],
)
def test_a_failed_write_is_an_ingest_error(server: State, fault: str, says: str) -> None:
    server.faults[WRITE] = [fault] * 2

    async def body(system: MemorySystem) -> None:
        await system.reset("n")
        with pytest.raises(IngestError, match=says):
            await system.write("n", EVENTS)

    drive(impatient(arm(server), fault), body)


@pytest.mark.parametrize("fault", ["500", "hang", "drop", "page", "garbage"])
def test_a_failed_search_is_no_empty_result(server: State, fault: str) -> None:
    server.faults[SEARCH] = [fault] * 2

    async def body(system: MemorySystem) -> None:
        await stored(system)
        with pytest.raises(SearchError):
            await system.search("bench-run-1", Query(text="ferry"))
        server.faults.clear()
        assert (await system.search("bench-run-1", Query(text="ferry"))).hits

    drive(impatient(arm(server), fault), body)


def test_a_server_under_load_is_waited_for(server: State) -> None:
    server.faults = {WRITE: ["429", "429", "500"], SEARCH: ["429", "503"]}

    async def body(system: MemorySystem) -> None:
        await stored(system)
        assert (await system.search("bench-run-1", Query(text="ferry"))).hits

    drive(arm(server), body)
    assert len(server.bodies(WRITE)) == 4


def test_what_never_settles_is_told(server: State) -> None:
    server.late = -1

    async def body(system: MemorySystem) -> None:
        await system.reset("n")
        with pytest.raises(NotSettled, match="not ready after"):
            await system.settle("n", await system.write("n", EVENTS), 0.3)

    drive(arm(server), body)


# --- erasure -------------------------------------------------------------------------------------------------------


def test_an_erasure_that_fails_is_asked_again(server: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.system.loom._PAUSE_S", 0.05)
    server.faults[ERASE] = ["drop"]
    drive(arm(server), stored)
    assert server.spaces == {}


def test_an_erasure_that_is_refused_names_what_is_left(
    server: State, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.system.loom._PAUSE_S", 0.05)
    server.token = "right"
    with caplog.at_level(logging.WARNING):
        drive(arm(server), stored)
    (name,) = server.spaces
    assert "HTTP 403" in caplog.text
    assert f"erase with `loom namespaces-gc`: {name}" in caplog.text


def test_the_token_is_sent(server: State, monkeypatch: pytest.MonkeyPatch) -> None:
    server.token = "right"
    monkeypatch.setenv("LOOM_TOKEN_X", "right")
    drive(arm(server, auth={"env": "LOOM_TOKEN_X"}), stored)
    assert server.spaces == {}


def test_a_run_that_fails_erases(server: State) -> None:
    async def body(system: MemorySystem) -> None:
        await stored(system)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive(arm(server), body)
    assert server.spaces == {}


@pytest.mark.long
def test_an_interrupted_run_erases(server: State, tmp_path: Path) -> None:
    server.faults[SEARCH] = ["hang"] * 50
    words = ["+arm=loom", f"arm.settings.base_url={server.url}", "harness.settings.scenarios=2", "run.concurrency=2"]
    run = subprocess.Popen(
        [sys.executable, "-m", "runner", *words],
        cwd=tmp_path,
        env=command_environment(MEMORY_RUNNER_CACHE=str(tmp_path / "cache")),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end = time.monotonic() + 60
    while not server.bodies(SEARCH) and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 1, out
    assert (server.spaces, len(server.bodies(ERASE))) == ({}, 1), out
    (rows,) = tmp_path.rglob("provenance.json")
    assert json.loads(rows.read_text())["system"]["build_commit"] == "0f1e2d3"
