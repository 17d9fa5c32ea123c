"""Arms over the reference servers, and what the tests of the three bridges share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from runner.config import ArmConfig
from runner.system import MemorySystem, Provenance
from runner.types import Event, Query, Retrieval
from tests.conftest import ROOT
from tests.support import driving
from tests.support.driving import drive_opened

REFERENCE = ROOT / "tests" / "system" / "reference_servers"
ALL = ("timestamps", "roles", "namespaces", "asynchronous", "honours_k", "sources", "durable", "ranked")
START = datetime(2024, 3, 4, 9, 30)
TEXTS = (
    "the zeppelin landed beside the quarry",
    "marmalade sandwiches were packed for the picnic",
    "an oboe recital filled the chapel",
    "the glacier hike ended at a turquoise lake",
)


def arm_of(system: str, settings: dict[str, Any], name: str = "tested", **more: Any) -> ArmConfig:
    return ArmConfig(name=name, system=system, settings=settings, **more)


def broken(fault: str, at: int = 1, **settings: Any) -> dict[str, Any]:
    """Settings of a `command` arm over the broken reference server."""
    return {
        "command": [sys.executable, "-S", str(REFERENCE / "broken.py"), fault, "{dir}", "--at", str(at)],
        **settings,
    }


def script(code: str, **settings: Any) -> dict[str, Any]:
    """Settings of a `command` arm over some lines of Python that read `line` after `line` as `request`."""
    head = "import json, os, sys, time\n"
    return {"command": [sys.executable, "-S", "-c", head + code], **settings}


LOOP = "for line in sys.stdin:\n    request = json.loads(line)\n    number, op = request['id'], request['op']\n"


def command_arm(settings: dict[str, Any], **more: Any) -> ArmConfig:
    return arm_of("command", settings, **more)


# --- http ------------------------------------------------------------------------------------------------------------

HITS = {"at": "results", "key": "id", "text": "memory", "score": "score", "sources": "meta.from", "time": "at"}
SEARCH = {"path": "/search", "body": {"user": "{ns}", "q": "{text}", "limit": "{k}"}, "hits": HITS}
PLAIN: dict[str, Any] = {
    "reset": {"path": "/reset", "body": {"user": "{ns}"}},
    "write": {"path": "/add", "body": {"user": "{ns}", "items": "{events}"}, "item": {"t": "{event.text}"}, "batch": 9},
    "search": SEARCH,
}
FOUND = {
    "results": [{"id": 7, "memory": "a walrus", "score": 0.5, "meta": {"from": ["e1"]}, "at": "2024-03-05T09:30:00Z"}]
}


def http_arm(url: str, **settings: Any) -> ArmConfig:
    knobs = settings.pop("knobs", {})
    return arm_of("http", {**PLAIN, "base_url": url, **settings}, knobs=knobs)


# --- mcp -------------------------------------------------------------------------------------------------------------

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


# --- what a test does with an arm ------------------------------------------------------------------------------------


def history(texts: Sequence[str] = TEXTS, prefix: str = "e") -> list[Event]:
    return [
        Event(id=f"{prefix}{at}", text=text, time=START + timedelta(days=at), actor="Ada", kind="doc", session="s")
        for at, text in enumerate(texts)
    ]


async def store(system: MemorySystem, ns: str, events: Sequence[Event] | None = None) -> None:
    await driving.store(system, ns, history() if events is None else events)


async def ask(system: MemorySystem, ns: str, text: str = TEXTS[0], **bounds: Any) -> Retrieval:
    return await system.search(ns, Query(text=text, now=START + timedelta(days=30), **bounds))


def drive(arm: ArmConfig, body: Callable[[MemorySystem, Provenance], Awaitable[Any]]) -> Any:
    """Open the arm's system, do something with it, close it; the processes that it leaves are a failure."""
    before = children()
    try:
        return drive_opened(arm, body)
    finally:
        assert_gone(*(children() - before))


def opened(arm: ArmConfig) -> tuple[MemorySystem, Provenance]:
    async def body(system: MemorySystem, provenance: Provenance) -> tuple[MemorySystem, Provenance]:
        return system, provenance

    found: tuple[MemorySystem, Provenance] = drive(arm, body)
    return found


def arm_file(folder: Path, name: str, system: str, settings: dict[str, Any], **more: Any) -> Path:
    """An arm in a folder of a person's own, by YAML alone."""
    path = folder / "arm" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"name": name, "system": system, "settings": settings, **more}))
    return path


# --- processes -------------------------------------------------------------------------------------------------------


def _stats() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        found[int(path.parent.name)] = (int(fields[1]), fields[0])
    return found


def children(of: int | None = None) -> set[int]:
    """Every living process below one, this one by default."""
    stats, found = _stats(), {of or os.getpid()}
    size = 0
    while len(found) > size:
        size = len(found)
        found |= {pid for pid, (parent, state) in stats.items() if parent in found and state != "Z"}
    return found - {of or os.getpid()}


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has asked about yet does not."""
    return _stats().get(pid, (0, "Z"))[1] != "Z"


def assert_gone(*pids: int, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < end, f"processes {left} are left behind"
        time.sleep(0.02)
