"""Every way in which a system behind a bridge goes wrong, for the three bridges alike."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import ConfigError, IngestError, RunnerError, SearchError, SystemFault
from runner.system import MemorySystem, Provenance, build
from tests.support.bridging import (
    FOUND,
    PLAIN,
    SEARCH,
    TOOLS,
    arm_of,
    ask,
    assert_gone,
    broken,
    children,
    command_arm,
    drive,
    history,
    http_arm,
    mcp_arm,
    opened,
    store,
)
from tests.support.servers import Stub, closed_port

needs_mcp = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the extra 'mcp'")


def cases(command: Sequence[Any] = (), http: Sequence[Any] = (), mcp: Sequence[Any] = ()) -> list[Any]:
    """Parameters of a test, each behind the name of its bridge; a case is named by its first text."""
    named = [("command", command, ()), ("http", http, ()), ("mcp", mcp, needs_mcp)]
    return [
        pytest.param(bridge, *values, marks=marks, id=f"{bridge}-{next(v for v in values if isinstance(v, str))[:40]}")
        for bridge, several, marks in named
        for values in several
    ]


def arm_over(bridge: str, fault: str, **settings: Any) -> ArmConfig:
    """An arm over the reference server that has a fault."""
    return mcp_arm(fault, **settings) if bridge == "mcp" else command_arm(broken(fault, **settings))


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bridge", "settings", "said"),
    cases(
        command=[
            ({}, "settings.command: is missing"),
            ({"command": []}, "settings.command"),
            ({"command": ["x"], "comand": 1}, "comand: no such key"),
            ({"command": ["{pyhton}"]}, r"there is no \{pyhton\} here \(did you mean 'python'"),
            ({"command": ["x"], "env": {"A": "{port}"}}, r"settings.env: there is no \{port\}"),
            ({"command": ["x"], "ops": ["erase", "fly"]}, "settings.ops"),
            ({"command": ["x"], "env_from": ["A B"]}, "settings.env_from"),
            ({"command": ["x"], "timeouts": {"search": 0}}, "timeouts.search"),
        ],
        http=[
            ({"base_url": "http://ann:secret@h"}, "base_url: holds a credential"),
            ({"base_url": "ftp://h"}, "base_url: 'ftp://h' is not"),
            ({"base_url": "http://127.0.0.1:{port}"}, r"base_url: there is no \{port\} here"),
            (
                {"search": {**SEARCH, "body": {"q": "{txt}"}}},
                r"search.body: there is no \{txt\} here \(did you mean 'text'\?\)",
            ),
            ({"search": {**SEARCH, "body": {"q": "{event.text}"}}}, r"search.body: there is no \{event.text\}"),
            ({"search": {"path": "/search"}}, "search.hits: is missing"),
            (
                {"search": {**SEARCH, "hits": {"at": "x", "txt": "y"}}},
                r"search.hits.txt: no such key \(did you mean 'text'\?\)",
            ),
            ({"search": {**SEARCH, "path": "search"}}, "search.path"),
            ({"reset": {"path": "/users/{nss}"}}, r"reset.path: there is no \{nss\}"),
            ({"settle": {"path": "/jobs/{job}"}}, r"settle.path: there is no \{job\}"),
            (
                {"write": {"path": "/add", "body": {"items": "{events}"}}},
                r"write: \{events\} in body and the template of each",
            ),
            (
                {"write": {"path": "/add", "body": {"t": "{event.text}"}, "batch": 5}},
                r"write.batch: 5 events need \{events\}",
            ),
            ({"knobs": {"deep": True}}, "arm.knobs.deep: no request sends it"),
            ({"erase": {"path": "/x", "good": [503]}}, "erase.good"),
        ],
        mcp=[
            ({"url": "http://h/mcp"}, "stdio, arm.settings.url: one of them"),
            ({"stdio": None}, "stdio, arm.settings.url: one of them"),
            ({"stdio": None, "url": "http://a:b@h/mcp"}, "url: holds a credential"),
            ({"stdio": None, "url": "http://h/mcp", "processes": 2}, "they are of stdio"),
            ({"reset": None}, "reset: name the tool"),
            ({"search": {"tool": "recall"}}, "search.hits: is missing"),
            (
                {"search": {**TOOLS["search"], "arguments": {"query": "{test}"}}},
                r"there is no \{test\} here \(did you mean",
            ),
            ({"write": {**TOOLS["write"], "item": None}}, r"write: \{events\} in arguments and the template of each"),
        ],
    ),
)
def test_settings_that_cannot_work_are_told_by_key(bridge: str, settings: dict[str, Any], said: str) -> None:
    arms: dict[str, Callable[..., ArmConfig]] = {"command": lambda **given: command_arm(given), "mcp": mcp_arm}
    arms["http"] = lambda base_url="http://127.0.0.1:9", **given: http_arm(base_url, **given)
    with pytest.raises(ConfigError, match=said):
        build(arms[bridge](**settings))


@pytest.mark.parametrize(
    ("bridge", "said"),
    cases(command=[("env_from: MY_KEY is not set",)], http=[(r"auth\.env: MY_KEY is not set",)]),
)
def test_a_variable_that_is_not_set_is_named(bridge: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    command, http = (
        command_arm(broken("none", env_from=["MY_KEY"])),
        http_arm("http://127.0.0.1:9", auth={"env": "MY_KEY"}),
    )
    with pytest.raises(ConfigError, match=said):
        opened(command if bridge == "command" else http)


# --- the start -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bridge", "fault", "said"),
    cases(
        command=[
            ("no_start", "ended with code 1; stderr ends: cannot open the store"),
            ("banner", "printed on stdout something that is not JSON.*Loading weights"),
            ("says_nothing", "took longer than 0.3 s to answer 'probe'.*newline and flush"),
        ],
        http=[
            ("import sys; sys.exit('no licence')", "ended with code 1; stderr ends: no licence"),
            ("import time; time.sleep(60)", r"does not answer on port \d+ after 0.3 s"),
            ("nobody", r"cannot reach http://127.0.0.1:\d+ .*start the server"),
        ],
        mcp=[
            ("exits_at_start", "ended with code 4; stderr ends: no licence key"),
            ("no_greeting", "did not greet as an MCP server within 0.3 s"),
            ("nobody", "is not a usable MCP server"),
        ],
    ),
)
def test_a_start_that_fails_ends_the_run_before_it_begins(bridge: str, fault: str, said: str) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    seconds = 0.3 if "0.3 s" in said else 30
    if fault == "nobody":
        arm = http_arm(url) if bridge == "http" else arm_of("mcp", {"url": f"{url}/mcp", **TOOLS})
    elif bridge == "http":
        serve = {"command": [sys.executable, "-S", "-c", fault], "start_s": seconds}
        arm = http_arm("http://127.0.0.1:{port}", serve=serve)
    else:
        arm = arm_over(bridge, fault, timeouts={"start": seconds})
    start = time.monotonic()
    with pytest.raises(RunnerError, match=f"arm 'tested' did not open: .*{said}") as caught:
        opened(arm)
    assert not isinstance(caught.value, SystemFault)
    assert time.monotonic() - start < 10


# --- a search --------------------------------------------------------------------------------------------------------


@contextmanager
def searching(bridge: str, fault: str) -> Iterator[tuple[ArmConfig, Callable[[str], None]]]:
    """An arm whose first search fails, and what puts a fault into an http server, which has none before."""
    if bridge != "http":
        slow = fault in ("hangs", "stops_reading")
        yield arm_over(bridge, fault, timeouts={"search": 0.3 if slow else 30}), lambda _: None
        return
    with Stub(body=json.dumps(FOUND).encode(), retry_after="0.2") as stub:
        paths = {name: {**PLAIN[name], "path": f"/v1{PLAIN[name]['path']}"} for name in PLAIN}
        limits = {"timeout_s": 0.3, "deadline_s": 0.5 if fault == "429" else 2.0, "attempts": 2}
        settings = {"base_url": stub.url.removesuffix("/v1"), **paths, "limits": limits}
        yield arm_of("http", settings), lambda name: setattr(stub.state, "always", name)


@pytest.mark.parametrize(
    ("bridge", "fault", "survives", "said"),
    cases(
        command=[
            ("dies", False, "ended with code 3; stderr ends: about to die: out of luck"),
            ("hangs", False, "took longer than 0.3 s to answer 'search' and was killed; stderr ends: thinking"),
            ("stops_reading", False, "took longer than 0.3 s to answer 'search'"),
            ("floods_stdout", False, "something that is not JSON .*: noise"),
            (
                "garbage",
                True,
                r"printed on stdout something that is not JSON \(use stderr for everything "
                r"else\): Loading weights: 100%",
            ),
            ("garbage_before", True, "something that is not JSON"),
            ("long_line", False, "printed a line of more than 32 MB and was killed"),
            ("half_line", False, "ended with code 0 in the middle of a line"),
            ("wrong_id", True, "answered request 7.*, which is not waiting for an answer"),
            ("no_object", True, r"answered with JSON that is not an object: \[\]"),
            ("nan", True, "something that is not JSON"),
            ("errors", True, "index is locked by another process"),
            ("no_hits", True, "hits.at: 'hits' is not a list of hits; the answer is an object with id, ok"),
            ("bad_hit", True, "hit 1 has no text at 'text'; it is an object with key"),
        ],
        http=[
            ("400", True, "HTTP 400: "),
            ("404", True, "HTTP 404: "),
            ("401", True, "HTTP 401: .*arm.settings.auth.env"),
            ("500", True, "HTTP 500 after 2 requests: "),
            ("429", True, "HTTP 429 until the deadline of 0.5 s"),
            ("302", True, "HTTP 302"),
            ("html", True, "answers with a page: .*Sign in"),
            ("garbage", True, r"/v1/search answers with something that is not JSON \(application/json\)"),
            ("truncated", True, "answers with something that is not JSON"),
            ("drop", True, "broke the connection before the answer was whole"),
            ("cut", True, "broke the connection before the answer was whole"),
            ("hang", True, r"POST /v1/search: no answer within 0\.3 s"),
        ],
        mcp=[
            ("error", True, "tool 'recall' reports an error: the index is locked"),
            ("rpc_error", True, "'recall' failed: it broke inside"),
            ("plain_text", True, "hits.at: 'results' is not a list of hits; the answer is a text"),
            ("empty", True, "hits.at: 'results' is not a list of hits; the answer is a list of 0"),
            ("bad_schema", True, "'recall': ValidationError"),
            ("exits", False, "ended with code 5; stderr ends: out of luck"),
            ("hangs", False, "took longer than 0.3 s over 'recall' and was killed"),
            ("floods", False, "printed more than 100 lines that are not messages and was killed"),
            ("long_line", False, "printed a line of more than 32 MB and was killed"),
        ],
    ),
)
def test_a_fault_is_one_named_search_and_the_rest_goes_on(bridge: str, fault: str, survives: bool, said: str) -> None:
    with searching(bridge, fault) as (arm, put):

        async def body(system: MemorySystem, _: Provenance) -> None:
            await store(system, "a")
            put(fault)
            with pytest.raises(SearchError, match=f"^tested: search: .*{said}") as caught:
                await ask(system, "a")
            assert "\n" not in str(caught.value)
            put("ok")
            if survives:
                assert (await ask(system, "a")).hits
            else:  # what the process held is gone with it: the rest of its scenario says so, whatever is asked
                with pytest.raises(SearchError, match=f"{said}.*earlier in this scenario"):
                    await ask(system, "a")
                with pytest.raises(IngestError, match="earlier in this scenario"):
                    await system.write("a", history(("late",), "x"))
                with pytest.raises(IngestError):
                    await system.erase("a")
            await store(system, "b")
            if survives:
                assert (await ask(system, "b")).hits
            else:  # a new process, which has the fault before it again
                with pytest.raises(SearchError, match=said):
                    await ask(system, "b")

        drive(arm, body)


# --- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bridge", ["command", pytest.param("mcp", marks=needs_mcp)])
def test_a_deadline_takes_the_whole_group(bridge: str, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError, match=r"took longer than 0\.7 s"):
            await ask(system, "a")
        assert_gone(int(pid_file.read_text()))

    drive(arm_over(bridge, "hangs_with_a_child", env={"CHILD_PID": str(pid_file)}, timeouts={"search": 0.7}), body)


@pytest.mark.parametrize(("bridge", "what"), [("command", "search"), pytest.param("mcp", "recall", marks=needs_mcp)])
def test_a_wait_that_the_run_gives_up_kills_the_process(bridge: str, what: str) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(system, "a"), 0.2)
        with pytest.raises(SearchError, match=f"killed in the middle of '{what}'"):
            await ask(system, "a")
        await store(system, "b")

    drive(arm_over(bridge, "hangs"), body)


def one_user() -> dict[str, Any]:
    """Tools that tell no namespace: the reference server keeps a user's notes in a folder that a reset makes."""
    arguments = {
        "reset": {"user": "one"},
        "write": {"user": "one", "notes": "{events}"},
        "search": {"user": "one", "query": "{text}"},
    }
    return {step: {**TOOLS[step], "arguments": value} for step, value in arguments.items()}


@pytest.mark.parametrize("bridge", ["command", pytest.param("mcp", marks=needs_mcp)])
def test_one_process_for_every_scenario_gives_namespaces(bridge: str) -> None:
    before = children()

    def running() -> int:
        return len(children() - before)

    async def body(system: MemorySystem, _: Provenance) -> None:
        assert system.capabilities.namespaces
        assert running() == 2  # the one that was asked first, and its guard
        await asyncio.gather(store(system, "a"), store(system, "b", history(("only a walrus",), "w")))
        assert running() == 4
        assert [hit.key for hit in (await ask(system, "b", "walrus zeppelin")).hits] == ["w0"]
        assert [hit.key for hit in (await ask(system, "a", "walrus zeppelin")).hits] == ["e0"]
        await system.erase("a")
        assert running() == 2

    declares = {"capabilities": {"namespaces": False}}
    more = one_user() if bridge == "mcp" else {}
    fault = "none" if bridge == "mcp" else "mixes_namespaces"
    drive(arm_over(bridge, fault, one_per_scenario=True, declares=declares, **more), body)
