"""reflect through its command line, against a stand-in that has its words, files, exit codes and silences."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.config import ArmConfig
from runner.errors import ConfigError, IngestError, NotSettled, RunnerError, SearchError
from runner.system import MemorySystem, build
from runner.system.reflect import note_files
from runner.system.reflect.environment import ReflectKnobs, revision
from runner.types import Event, Query
from tests.support.driving import drive, opened, store
from tests.system.stand_ins.arms import HERE, reflect_command

KNOBS = dict.fromkeys(ReflectKnobs.model_fields, False)
WHEN = datetime(2023, 5, 8, 13, 56)
EVENTS = [
    Event(id="D1:1", text='She said: "the zeppelin\n---\n\nlanded"', time=WHEN, actor="Ada", session="session_1"),
    Event(id="D1:2", text="I packed marmalade sandwiches.", time=WHEN, actor="Ben", session="session_1"),
    Event(id="D2:1", text="An oboe recital.", actor="Ada", session="session_2"),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def make(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ArmConfig]:
    """An arm at the stand-in; `fault` makes the stand-in fail."""
    command = reflect_command(tmp_path)
    monkeypatch.setenv("STAND_IN_LOG", str(log))

    def arm(fault: str = "", knobs: dict[str, bool] | None = None, **settings: Any) -> ArmConfig:
        monkeypatch.setenv("STAND_IN_FAULT", fault)
        here = {"python": sys.executable, "recall": str(HERE / "recall.py"), "reflect": str(command)}
        handed = {"env_from": ["STAND_IN_LOG", "STAND_IN_FAULT"]}
        return ArmConfig(name="r", system="reflect", knobs=knobs or KNOBS, settings={**here, **handed, **settings})

    return arm


def logged(log: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, log.read_text().splitlines()) if line["kind"] == kind]


def test_notes_are_files_with_front_matter_that_yaml_reads() -> None:
    name = note_files.name_of(EVENTS[0], 7)
    assert name == "session-1-0007-she-said-the-zeppelin-landed"
    note = note_files.note_of(EVENTS[0], name)
    _, matter, _ = note.split("---\n", 2)
    assert yaml.safe_load(matter) == {
        "name": name,
        "title": 'Ada: She said: "the zeppelin --- landed"',
        "category": "conversation",
        "tags": ["conversation", "ada"],
        "created": WHEN,  # a real ISO date
        "speaker": "Ada",
    }
    assert note_files.body_of(note) == 'Ada: She said: "the zeppelin\n---\n\nlanded"'
    untimed = note_files.note_of(EVENTS[2], "x")
    assert "created" not in untimed
    assert note_files.name_of(Event(id="e", text="!?"), 0) == "s-0000-note"


def test_what_is_run_and_what_it_sees(
    make: Callable[..., ArmConfig], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RECALL_MMR", "REFLECT_RECALL_HYDE", "REFLECT_RECALL_LIMIT", "CLAUDE_SESSION_ID", "SECRET_THING"):
        monkeypatch.setenv(name, "1")  # what a user has set must not reach it

    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        found = await system.search("n", Query(text="-- marmalade?", k=2, max_chars=3000))
        assert [hit.key for hit in found.hits] == ["D1:2", "D1:1"]
        assert found.hits[0].text == "Ben: I packed marmalade sandwiches."
        assert (found.hits[0].sources, found.hits[0].time) == (("D1:2",), WHEN)

    drive(make(knobs=KNOBS | {"mmr": True, "graph_arm": True}), body)
    assert [line["argv"] for line in logged(log, "reflect")] == [["--version"], ["init"], ["reindex", "--force"]]
    (recall,) = logged(log, "recall")
    words = ["--no-cache", "--confidence", "ANY", "--limit", "2", "--max-chars", "3000"]
    assert recall["argv"] == [*words, "--format", "json", "--", "-- marmalade?"]
    env = recall["env"]
    assert {name: env[name] for name in env if name.startswith("RECALL_") and name.isupper()} == {
        "RECALL_GRAPH_ARM": "1",
        "RECALL_CROSS_ENCODER": "0",
        "RECALL_MMR": "1",
        "RECALL_TEMPORAL": "0",
        "RECALL_TEMPORAL_ARM": "0",
        "RECALL_BITEMPORAL_EDGES": "0",
        "RECALL_FUZZY_CACHE": "0",
        "RECALL_FOLLOWUP": "0",
        "RECALL_ARM_VECTOR_MIN_SCORE": "0",
        "RECALL_ARM_BM25_MIN_SCORE": "0",
        "RECALL_ARM_GRAPH_MIN_SCORE": "0",
        "RECALL_ARM_TEMPORAL_MIN_SCORE": "0",
        "RECALL_ECONOMICS": "0",
        "RECALL_LEARNINGS_ROOT": env["GLOBAL_LEARNINGS_PATH"],
    }
    assert env["REFLECT_TIERED_INJECT"] == "0"
    assert (env["REFLECT_RECALL_HYDE"], env["REFLECT_RECALL_MIN_OVERLAP"]) == ("0", "0")
    assert env["REFLECT_EMBED_MODEL"] == "all-mpnet-base-v2"
    home = str(Path.home())
    for name in ("HOME", "GLOBAL_LEARNINGS_PATH", "REFLECT_STATE_DIR", "REFLECT_DB_PATH", "XDG_CACHE_HOME"):
        assert not env[name].startswith(home), name
    assert not {"SECRET_THING", "CLAUDE_SESSION_ID", "REFLECT_RECALL_LIMIT"} & set(env)
    assert not Path(env["GLOBAL_LEARNINGS_PATH"]).exists()  # gone with the run


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("error", r"recall\.py failed: reflect search exit 1"),
        ("garbage", "not JSON: Loading weights"),
    ],
)
def test_its_silent_failures_are_faults(make: Callable[..., ArmConfig], fault: str, says: str) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        with pytest.raises(SearchError, match=says):
            await system.search("n", Query(text="marmalade"))

    drive(make(fault), body)


def test_one_that_hangs_is_killed_with_what_it_started(make: Callable[..., ArmConfig], log: Path) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        start = time.monotonic()
        with pytest.raises(SearchError, match=r"took longer than 1 s and was killed"):
            await system.search("n", Query(text="marmalade"))
        assert time.monotonic() - start < 20

    drive(make("hang", timeout_s=1.0), body)
    child = int(log.with_suffix(".pid").read_text())
    for _ in range(100):
        status = Path(f"/proc/{child}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.05)
    pytest.fail("the child of a killed recall lives on")


@pytest.mark.parametrize(("fault", "says"), [("slim", "ended with code 1.*networkx"), ("no_index", "left no index")])
def test_an_index_that_is_not_made_is_no_empty_memory(make: Callable[..., ArmConfig], fault: str, says: str) -> None:
    async def body(system: MemorySystem) -> None:
        await system.reset("n")
        receipt = await system.write("n", EVENTS)
        with pytest.raises(NotSettled, match=says):
            await system.settle("n", receipt, 30)
        with pytest.raises(SearchError, match=says):
            await system.search("n", Query(text="marmalade"))

    drive(make(fault), body)


def test_a_flood_on_stderr_hurts_nobody(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        assert (await system.search("n", Query(text="marmalade", k=1))).hits[0].key == "D1:2"

    drive(make("flood"), body)


def test_its_notes_survive_the_loss_of_the_index(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        before = await system.search("n", Query(text="marmalade"))
        await system.drop_derived("n")
        assert await system.search("n", Query(text="marmalade")) == before

    drive(make(), body)


def test_a_part_without_front_matter_has_no_source(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        first, *_ = (await system.search("n", Query(text="marmalade"))).hits
        assert (first.key, first.sources) == ("?", None)

    drive(make("unknown_id"), body)


def test_its_abstention_gate_and_an_empty_question_are_told(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        found = await system.search("n", Query(text="quantum chromodynamics"))
        assert (found.hits, found.notes) == ((), ("abstained_min_overlap",))
        assert (await system.search("n", Query(text=" \0 "))).notes == ("empty_query",)

    drive(make(min_overlap=0.9), body)


def test_a_knob_that_the_engine_does_not_read_is_refused(make: Callable[..., ArmConfig], tmp_path: Path) -> None:
    old = tmp_path / "recall.py"
    old.write_text((HERE / "recall.py").read_text().replace("RECALL_MMR", "RECALL_DIVERSITY"))
    with pytest.raises(ConfigError, match=r"arm\.knobs\.mmr: this recall\.py does not read RECALL_MMR"):
        opened(make(recall=str(old)))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"recall": "nowhere/recall.py"}, "arm.settings.recall: cannot read 'nowhere/recall.py'"),
        ({"reflect": "no-such-reflect"}, "arm.settings.reflect: there is no command 'no-such-reflect'"),
        ({"env_from": ["NOT_SET_HERE"]}, "NOT_SET_HERE is not set"),
    ],
)
def test_what_is_not_there_is_told(make: Callable[..., ArmConfig], settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        opened(make(**settings))


def test_every_knob_must_be_stated(make: Callable[..., ArmConfig]) -> None:
    arm = make()
    with pytest.raises(ConfigError, match=r"arm\.knobs\.mmr: is missing; state every knob"):
        build(arm.model_copy(update={"knobs": {k: v for k, v in KNOBS.items() if k != "mmr"}}))
    assert set(build(arm).inert("any")) == {"tiered_inject", "fuzzy_cache"}
    assert build(arm).searches == 3


def test_what_the_record_holds(make: Callable[..., ArmConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    off = opened(make())
    assert "reflect, version 0.3.0, recall.py@sha256:" in off.build
    assert (off.embedder, off.reranker) == ("unknown", "none")  # nobody knows which weights answer
    refs = tmp_path / "hf" / "hub" / "models--sentence-transformers--all-mpnet-base-v2" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("e8c3b32edf5434bc2275fc9bab85f82640a19130\n")
    on = opened(make(knobs=KNOBS | {"cross_encoder": True}))
    assert on.embedder == "all-mpnet-base-v2@revision:e8c3b32edf5434bc2275fc9bab85f82640a19130"
    assert on.reranker == "unknown"
    declared = opened(make(declares={"embedder": "mpnet, our copy", "build": "fork 7"}))
    assert (declared.embedder, declared.build) == ("mpnet, our copy", "fork 7")
    assert revision("org/model", {"HF_HOME": os.devnull}) == "unknown"


def test_a_slow_index_is_given_up(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        await system.reset("n")
        receipt = await system.write("n", EVENTS)
        with pytest.raises(NotSettled, match="took longer than"):
            await system.settle("n", receipt, 30)

    drive(make("hang_reindex", index_s=0.5), body)


def test_it_does_not_open_without_a_working_command(make: Callable[..., ArmConfig], tmp_path: Path) -> None:
    broken = tmp_path / "reflect"
    broken.write_text("#!/bin/sh\necho no module named reflect_kb >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(RunnerError, match=r"did not open.*ended with code 1.*reflect_kb"):
        opened(make(reflect=str(broken)))


def test_an_event_written_twice(make: Callable[..., ArmConfig]) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        with pytest.raises(IngestError, match="D1:1"):
            await system.write("n", EVENTS[:1])

    drive(make(), body)
