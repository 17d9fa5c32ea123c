"""brain through the bridge of its benchmark, against a stand-in that speaks it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import ConfigError, IngestError, RunnerError, SearchError
from runner.system import MemorySystem, build
from runner.types import Checkpoint, Event, Query
from tests.support import driving
from tests.system.stand_ins.arms import HERE

MONDAY = datetime(2024, 3, 4, 12, 0)  # 1709553600 seconds after 1970 began
EVENTS = [
    Event(id="a", text="The ferry leaves at nine.", time=MONDAY, actor="user", kind="fact", project="trip"),
    Event(id="b", text="Merged the timetable.", actor="claude", kind="commit"),
    Event(
        id="c",
        text="Stopped at the ticket machine.",
        actor="claude",
        kind="checkpoint",
        checkpoint=Checkpoint(
            task="buy tickets",
            decisions=("cash",),
            failed=("the website",),
            questions=("which pier?",),
            next="ask at the kiosk",
        ),
    ),
]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ArmConfig]:
    monkeypatch.setenv("STAND_IN_LOG", str(tmp_path / "log"))

    def arm(fault: str = "", **settings: Any) -> ArmConfig:
        monkeypatch.setenv("STAND_IN_FAULT", fault)
        command = [sys.executable, "-S", str(HERE / "brain_adapter.py")]
        handed = {"env_from": ["STAND_IN_LOG", "STAND_IN_FAULT"]}
        return ArmConfig(name="brain", system="brain", settings={"command": command, **handed, **settings})

    return arm


def test_a_checkpoint_goes_in_with_its_own_fields(make: Callable[..., ArmConfig], tmp_path: Path) -> None:
    async def body(system: MemorySystem) -> None:
        await driving.store(system, "n", EVENTS)
        query = Query(text="which ticket?", project="trip", agent="cursor", max_tokens=100, now=MONDAY)
        (hit,) = (await system.search("n", query)).hits
        assert hit.text.startswith("Stopped at the ticket machine. Ruled out: the website")
        assert hit.sources is None

    driving.drive(make(), body)
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["op"] for line in log] == ["reset", "write", "write", "write", "read", "close"]
    assert log[1]["event"] == {
        "ts": 1709553600,
        "actor": "user",
        "kind": "fact",
        "project": "trip",
        "title": "",
        "text": "The ferry leaves at nine.",
        "task": "",
        "decisions": [],
        "failed": [],
        "questions": [],
        "next": "",
        "flat": "The ferry leaves at nine.",
    }
    assert log[2]["event"]["kind"] == "note"  # it has no commits
    event = log[3]["event"]
    assert (event["task"], event["next"]) == ("buy tickets", "ask at the kiosk")
    assert (event["decisions"], event["failed"], event["questions"]) == (["cash"], ["the website"], ["which pier?"])
    assert log[4]["query"] == {
        "task": "which ticket?",
        "project": "trip",
        "agent": "cursor",
        "budget": 100,
        "now": 1709553600,
    }


def test_the_budget_is_the_questions_the_arms_or_its_own(make: Callable[..., ArmConfig], tmp_path: Path) -> None:
    async def body(system: MemorySystem) -> None:
        await driving.store(system, "n", EVENTS)
        for bounds in ({"max_tokens": 7, "max_chars": 400}, {"max_chars": 400}, {}):
            await system.search("n", Query(text="ferry", **bounds))

    driving.drive(make(budget=1234), body)
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["query"]["budget"] for line in log if line["op"] == "read"] == [7, 100, 1234]


def test_scenarios_have_processes_of_their_own(make: Callable[..., ArmConfig], tmp_path: Path) -> None:
    async def body(system: MemorySystem) -> None:
        await driving.store(system, "one", EVENTS[:1])
        await driving.store(system, "two", EVENTS[1:2])
        (hit,) = (await system.search("two", Query(text="ferry"))).hits
        assert "ferry" not in hit.text

    driving.drive(make(), body)
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len({line["pid"] for line in log if line["op"] == "write"}) == 2


def test_one_process_for_all_is_told_apart_by_nobody(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        assert not system.capabilities.namespaces  # so that a run gives it one scenario at a time
        await driving.store(system, "n", EVENTS)
        await system.erase("n")
        await driving.store(system, "m", EVENTS[1:2])
        (hit,) = (await system.search("m", Query(text="ferry"))).hits
        assert "ferry" not in hit.text

    driving.drive(make(one_per_scenario=False), body)


@pytest.mark.parametrize(
    ("fault", "settings", "says"),
    [("die", {}, "ended with code 3"), ("hang", {"timeouts": {"search": 0.7}}, r"took longer than 0\.7 s")],
)
def test_a_failed_read_is_no_empty_answer(
    make: Callable[..., ArmConfig], fault: str, settings: dict[str, Any], says: str
) -> None:
    async def body(system: MemorySystem) -> None:
        await driving.store(system, "n", EVENTS)
        with pytest.raises(SearchError, match=says):
            await system.search("n", Query(text="ferry"))

    driving.drive(make(fault, **settings), body)


def test_a_refused_write_is_an_ingest_error(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        with pytest.raises(IngestError, match='unknown event kind "fact"'):
            await driving.store(system, "n", EVENTS)

    driving.drive(make("refuse"), body)


def test_an_adapter_that_cannot_run_is_told_by_its_probe(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        raise AssertionError

    with pytest.raises(RunnerError, match=r"did not open: its --probe ended with code 1.*ollama unreachable"):
        driving.drive(make("probe"), body)
    with pytest.raises(ConfigError, match=r"arm\.settings\.command"):
        build(ArmConfig(name="brain", system="brain"))


def test_what_the_record_holds(make: Callable[..., ArmConfig]) -> None:
    async def nothing(system: MemorySystem) -> None: ...

    opened = driving.opened(make())
    assert opened.build.startswith("agent-memory-runner ")
    assert "brain_adapter.py@sha256:" in opened.build
    assert opened.embedder == "unknown"
    opened = driving.opened(make(declares={"embedder": "none"}))
    assert opened.embedder == "none"
