"""The `mcp` bridge against real servers: the SDK's own, one without an SDK that breaks on request, one from npm."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.config import ArmConfig, conf_dir
from runner.errors import ConfigError, MissingExtra, SearchError
from runner.system import MemorySystem, Provenance, build, receipt_of
from runner.types import Event
from tests.support.bridging import (
    PATHS,
    START,
    TEXTS,
    TOOLS,
    arm_of,
    ask,
    children,
    drive,
    history,
    mcp_arm,
    opened,
    store,
)

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra 'mcp'")


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
