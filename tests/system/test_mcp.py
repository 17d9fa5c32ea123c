"""The `mcp` bridge against real servers: the SDK's own, one without an SDK that breaks on request, one from npm."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.config import ArmConfig, conf_dir
from runner.errors import ConfigError, IngestError, MissingExtra, RunnerError, SearchError
from runner.system import MemorySystem, Provenance, build, receipt_of
from runner.types import Event
from tests.support.bridging import (
    REFERENCE,
    START,
    TEXTS,
    arm_of,
    ask,
    assert_gone,
    children,
    drive,
    history,
    opened,
    store,
)
from tests.support.servers import closed_port

pytest.importorskip("mcp", reason="needs the extra 'mcp'")

ITEM = {"id": "{event.id}", "text": "{event.text}", "actor": "{event.actor}", "time": "{event.time}"}
PATHS = {"at": "results", "key": "key", "text": "text", "score": "score", "sources": "sources", "time": "time"}
TOOLS: dict[str, Any] = {
    "reset": {"tool": "forget", "arguments": {"user": "{ns}"}},
    "write": {
        "tool": "remember",
        "arguments": {"user": "{ns}", "notes": "{events}"},
        "item": ITEM,
        "batch": 50,
        "taken": "stored",
    },
    "search": {
        "tool": "recall",
        "arguments": {"user": "{ns}", "query": "{text}", "limit": "{k}"},
        "hits": PATHS,
    },
}


def mcp_arm(fault: str = "none", at: int = 1, **settings: Any) -> ArmConfig:
    """An arm over the reference server without an SDK."""
    env = settings.pop("env", {})
    words = [sys.executable, "-S", str(REFERENCE / "broken_mcp.py"), fault, "{dir}", "--at", str(at)]
    stdio = {"command": words, "env": env}
    return arm_of("mcp", {"stdio": stdio, **TOOLS, **settings})


def shipped(**settings: Any) -> ArmConfig:
    """The example arm, over the SDK's own server."""
    values = yaml.safe_load((conf_dir() / "arm" / "mcp_example.yaml").read_text())
    values["recall"] = {"limit": 10}
    values["settings"] |= settings
    return ArmConfig.model_validate({key: value for key, value in values.items() if key != "defaults"})


def test_the_servers_own_name_and_version_go_into_the_record() -> None:
    async def body(system: MemorySystem, provenance: Provenance) -> None:
        assert provenance.build.startswith("reference 2.1 broken_mcp.py@sha256:")
        assert provenance.extra["protocol"] == "2025-06-18"
        assert provenance.embedder == "unknown"
        assert "ranked" in provenance.extra["undeclared"]
        await store(system, "a")
        (hit,) = (await ask(system, "a", "zeppelin", k=1)).hits
        assert (hit.key, hit.text, hit.sources, hit.time) == ("e0", f"Ada: {TEXTS[0]}", ("e0",), START)
        await system.reset("a")
        assert (await ask(system, "a")).hits == ()

    drive(mcp_arm(), body)


def test_over_streamable_http_with_a_server_that_the_arm_starts() -> None:
    async def body(system: MemorySystem, provenance: Provenance) -> None:
        assert provenance.build.startswith("example-memory 1 memory_server_mcp.py@sha256:")
        await store(system, "a")
        await store(system, "b", history(("only a walrus",), "w"))
        assert [hit.key for hit in (await ask(system, "a", "walrus quarry")).hits] == ["e0"]
        await system.drop_derived("b")
        assert [hit.key for hit in (await ask(system, "b", "walrus quarry")).hits] == ["w0"]
        await system.erase("b")
        with pytest.raises(SearchError, match="is erased"):
            await ask(system, "b")
        os.killpg(min(children() - before), signal.SIGKILL)
        with pytest.raises(SearchError, match=r"broke the connection|was killed by signal 9"):
            await ask(system, "a")
        with pytest.raises(SearchError, match="earlier in this scenario"):
            await ask(system, "a")
        await store(system, "c")
        assert (await ask(system, "c")).hits
        with pytest.raises(SearchError, match="earlier in this scenario"):  # what it held is gone
            await ask(system, "a")

    before = children()
    serve = {"command": [sys.executable, "{root}/examples/memory_server_mcp.py", "{dir}", "{port}"]}
    drive(shipped(stdio=None, url="http://127.0.0.1:{port}/mcp", serve=serve), body)


FAULTS = [
    ("error", "tool 'recall' reports an error: the index is locked", True),
    ("rpc_error", "'recall' failed: it broke inside", True),
    ("plain_text", "hits.at: 'results' is no list of hits; the answer is a text", True),
    ("empty", "hits.at: 'results' is no list of hits; the answer is a list of 0", True),
    ("bad_schema", "'recall': ValidationError", True),
    ("exits", "ended with code 5; stderr ends: out of luck", False),
    ("hangs", "took longer than 0.5 s over 'recall' and was killed", False),
    ("floods", "printed more than 100 lines that are no message and was killed", False),
    ("long_line", "printed a line of more than 32 MB and was killed", False),
]


@pytest.mark.parametrize(("fault", "said", "survives"), FAULTS, ids=[name for name, *_ in FAULTS])
def test_a_fault_is_one_named_search_and_the_rest_goes_on(fault: str, said: str, survives: bool) -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError, match=f"^tested: search: .*{said}") as caught:
            await ask(system, "a")
        assert "\n" not in str(caught.value)
        if survives:
            assert (await ask(system, "a")).hits
        else:
            with pytest.raises(SearchError, match=f"{said}.*earlier in this scenario"):
                await ask(system, "a")
            with pytest.raises(IngestError, match="earlier in this scenario"):
                await system.write("a", history(("late",), "x"))
        await store(system, "b")
        if survives:
            assert (await ask(system, "b")).hits

    drive(mcp_arm(fault, timeouts={"search": 0.5 if fault == "hangs" else 30}), body)


def test_noise_on_stdout_is_left_out() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert (await ask(system, "a")).hits[0].key == "e0"

    drive(mcp_arm("garbage"), body)


def test_each_block_of_content_is_a_hit() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert [hit.key for hit in (await ask(system, "a", "zeppelin picnic")).hits] == ["e0", "e1"]

    search = {**TOOLS["search"], "hits": {**PATHS, "at": None}}
    drive(mcp_arm("blocks", search=search), body)

    async def plain(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        (hit,) = (await ask(system, "a")).hits
        assert (hit.text, hit.sources, hit.time) == ("I remember nothing of the kind.", None, None)

    drive(mcp_arm("plain_text", search={**search, "hits": {"text": "text"}}), plain)

    async def nothing(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert (await ask(system, "a")).hits == ()

    drive(mcp_arm("empty", search=search), nothing)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("exits_at_start", "ended with code 4; stderr ends: no licence key"),
        ("no_greeting", "did not greet as an MCP server within 0.5 s"),
    ],
)
def test_a_start_that_fails_ends_the_run_before_it_begins(fault: str, said: str) -> None:
    seconds = 0.5 if fault == "no_greeting" else 30
    start = time.monotonic()
    with pytest.raises(RunnerError, match=f"arm 'tested' did not open: .*{said}"):
        opened(mcp_arm(fault, timeouts={"start": seconds}))
    assert time.monotonic() - start < 10


def test_nobody_listens() -> None:
    url = f"http://127.0.0.1:{closed_port()}/mcp"
    with pytest.raises(RunnerError, match=r"did not open: .*no MCP server that can be used"):
        opened(arm_of("mcp", {"url": url, **TOOLS}))


def test_tools_and_arguments_are_held_against_what_the_server_lists() -> None:
    wrong = {
        "reset": {"tool": "forgot", "arguments": {"user": "{ns}"}},
        "write": {**TOOLS["write"], "arguments": {"user": "{ns}", "note": "{events}"}},
    }
    with pytest.raises(ConfigError) as caught:
        opened(mcp_arm(**wrong))
    assert caught.value.problems == (
        "arm.settings.reset.tool: the server has no tool 'forgot' (did you mean 'forget'?); "
        "it has remember, recall, answer, forget",
        "arm.settings.write.arguments.note: tool 'remember' takes no such argument (did you mean 'notes'?); "
        "it takes user, notes",
        "arm.settings.write.arguments.notes: is missing; tool 'remember' needs it",
    )


BAD: list[tuple[dict[str, Any], str]] = [
    ({"url": "http://h/mcp"}, "stdio, arm.settings.url: one of them"),
    ({"stdio": None}, "stdio, arm.settings.url: one of them"),
    ({"stdio": None, "url": "http://a:b@h/mcp"}, "url: holds a credential"),
    ({"stdio": None, "url": "http://h/mcp", "processes": 2}, "they are of stdio"),
    ({"reset": None}, "reset: name the tool"),
    ({"search": {"tool": "recall"}}, "search.hits: is missing"),
    ({"search": {**TOOLS["search"], "arguments": {"query": "{test}"}}}, r"there is no \{test\} here \(did you mean"),
    ({"write": {**TOOLS["write"], "item": None}}, r"write: \{events\} in arguments and the template of each"),
]


@pytest.mark.parametrize(("settings", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_settings_that_cannot_work_are_told_by_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(mcp_arm(**settings))


def test_a_deadline_takes_the_whole_group(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError, match="took longer than 1 s"):
            await ask(system, "a")
        assert_gone(int(pid_file.read_text()))

    drive(mcp_arm("hangs_with_a_child", env={"CHILD_PID": str(pid_file)}, timeouts={"search": 1}), body)


def test_a_wait_that_the_run_gives_up_kills_the_server() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(system, "a"), 0.3)
        with pytest.raises(SearchError, match="killed in the middle of 'recall'"):
            await ask(system, "a")
        await store(system, "b")

    drive(mcp_arm("hangs"), body)


def test_one_server_for_every_scenario_gives_namespaces() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        assert system.capabilities.namespaces
        await asyncio.gather(store(system, "a"), store(system, "b", history(("only a walrus",), "w")))
        assert len(children()) == 4  # two servers, each with its guard
        assert [hit.key for hit in (await ask(system, "b", "walrus zeppelin")).hits] == ["w0"]
        await system.erase("a")
        assert len(children()) == 2

    write = {**TOOLS["write"], "arguments": {"user": "one", "notes": "{events}"}}
    search = {**TOOLS["search"], "arguments": {"user": "one", "query": "{text}"}}
    # The reference server keeps a user's notes in a folder that a reset makes.
    drive(
        mcp_arm(
            one_per_scenario=True, write=write, search=search, reset={**TOOLS["reset"], "arguments": {"user": "one"}}
        ),
        body,
    )


def test_half_a_character_is_replaced_and_the_receipt_says_so() -> None:
    events = [Event(id="x", text="a\ud800b", time=START)]

    async def body(system: MemorySystem, _: Provenance) -> None:
        await system.reset("a")
        receipt = await system.write("a", events)
        assert receipt.sha256 != receipt_of(events).sha256
        assert (await ask(system, "a", "a\ud800b \ud800")).hits[0].text == "a\ufffdb"

    drive(mcp_arm(), body)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    system = build(mcp_arm())
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    assert system.missing() == "mcp"
    with pytest.raises(MissingExtra, match=r"agent-memory-runner\[mcp\]"):
        system.require()


# --- a real one from the npm registry --------------------------------------------------------------------------------

PACKAGE = "@modelcontextprotocol/server-memory"


def server_memory() -> Path:
    """The entry of the npm package, where it is installed: ``$MCP_SERVER_MEMORY``, or npm's global folder."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    if given := os.environ.get("MCP_SERVER_MEMORY"):
        return Path(given)
    if shutil.which("npm") is not None:
        root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False).stdout.strip()
        entry = Path(root) / PACKAGE / "dist" / "index.js"
        if entry.is_file():
            return entry
    pytest.skip(f"needs npm's {PACKAGE}: npm install -g {PACKAGE}, or its dist/index.js in $MCP_SERVER_MEMORY")


def test_the_reference_memory_of_the_protocol() -> None:
    """A knowledge graph that keeps entities in a file and finds those that hold the query; it knows no namespaces."""
    arm = arm_of(
        "mcp",
        {
            "stdio": {"command": ["node", str(server_memory())], "env": {"MEMORY_FILE_PATH": "{dir}/memory.jsonl"}},
            "one_per_scenario": True,
            "write": {
                "tool": "create_entities",
                "batch": 50,
                "arguments": {"entities": "{events}"},
                "item": {"name": "{event.id}", "entityType": "{event.kind}", "observations": ["{event.spoken}"]},
                "taken": "entities",
            },
            "search": {
                "tool": "search_nodes",
                "arguments": {"query": "{text}"},
                "hits": {"at": "entities", "key": "name", "text": "observations", "sources": "name"},
            },
            "declares": {"embedder": "none", "capabilities": {"sources": True, "durable": False, "ranked": False}},
        },
    )

    async def body(system: MemorySystem, provenance: Provenance) -> None:
        assert provenance.build.startswith("memory-server ")
        await store(system, "a")
        await store(system, "b", history(("only a walrus",), "w"))
        (hit,) = (await ask(system, "a", "zeppelin")).hits
        assert (hit.key, hit.text, hit.sources) == ("e0", f"Ada: {TEXTS[0]}", ("e0",))
        assert (await ask(system, "a", "walrus")).hits == ()
        assert [hit.key for hit in (await ask(system, "b", "walrus")).hits] == ["w0"]
        await system.erase("a")

    drive(arm, body)
