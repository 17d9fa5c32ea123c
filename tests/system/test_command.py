"""The `command` bridge against real processes: what is sent, what may come back, and every way of going wrong."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ConfigError, IngestError, NotSettled, RunnerError, SearchError
from runner.system import MemorySystem, Opening, Provenance, build, receipt_of
from runner.types import Checkpoint, Event, Query, Retrieval
from tests.support.bridging import (
    ALL,
    LOOP,
    START,
    TEXTS,
    ask,
    assert_gone,
    broken,
    children,
    command_arm,
    drive,
    history,
    opened,
    script,
    store,
)

EVERYTHING = {"capabilities": dict.fromkeys(ALL, True), "ops": ["settle", "drop_derived", "erase", "close"]}


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_every_field_of_an_event_and_a_question_is_sent_and_no_gold(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        f"log = open({str(log)!r}, 'a')\n{LOOP}"
        "    log.write(line); log.flush()\n"
        f"    about = {EVERYTHING!r} if op == 'probe' else {{}}\n"
        "    print(json.dumps({'id': number, 'ok': True, 'hits': [], **about}), flush=True)\n"
    )
    event = Event(
        id="e1",
        text="All tests pass. Tried: caching.",
        time=START,
        actor="Ada",
        kind="checkpoint",
        session="s1",
        project="p1",
        title="t",
        checkpoint=Checkpoint(task="speed", failed=("caching",), next="profile"),
    )
    query = Query(
        text="What failed?",
        now=START,
        k=3,
        max_chars=900,
        max_tokens=50,
        project="p1",
        agent="Ben",
        mode="deep",
        evidence=("e1",),
    )

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "ns one", [event])
        await system.search("ns one", query)
        await system.drop_derived("ns one")
        await system.erase("ns one")

    drive(command_arm(script(code, modes=["default", "deep"]), knobs={"graph": False}), body)
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    assert [item["op"] for item in sent] == [
        *("probe", "reset", "write", "settle", "search", "drop_derived", "erase", "close")
    ]
    assert [item["id"] for item in sent] == list(range(1, 9))
    assert all((item["ns"], item["knobs"]) == ("ns one", {"graph": False}) for item in sent[1:-1])
    assert sent[2]["events"] == [
        {
            "id": "e1",
            "text": "All tests pass. Tried: caching.",
            "time": "2024-03-04T09:30:00",
            "actor": "Ada",
            "kind": "checkpoint",
            "session": "s1",
            "project": "p1",
            "title": "t",
            "checkpoint": {"task": "speed", "failed": ["caching"], "next": "profile"},
        }
    ]
    asked = {key: value for key, value in sent[4].items() if key not in ("id", "op", "ns", "knobs")}
    assert asked == {
        "text": "What failed?",
        "now": "2024-03-04T09:30:00",
        "k": 3,
        "max_chars": 900,
        "max_tokens": 50,
        "project": "p1",
        "agent": "Ben",
        "mode": "deep",
    }


def test_the_environment_is_what_the_arm_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "s3cr3t-value-of-mine")
    monkeypatch.setenv("NOT_FOR_IT", "x")
    out = tmp_path / "env"
    code = f"open({str(out)!r}, 'w').write(json.dumps([dict(os.environ), os.getcwd()]))\n"
    arm = command_arm(
        script(code, env={"LEVEL": 3, "FAST": False, "WHERE": "{dir}"}, env_from=["SECRET_OF_MINE"], cwd=str(tmp_path))
    )
    with pytest.raises(RunnerError):
        opened(arm)
    seen, cwd = json.loads(out.read_text())
    seen.pop("LC_CTYPE", None)  # Python's own, in the C locale
    where = seen.pop("WHERE")
    assert seen == {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "LEVEL": "3",
        "FAST": "false",
        "SECRET_OF_MINE": "s3cr3t-value-of-mine",
    }
    assert cwd == str(tmp_path)
    assert not Path(where).exists()


def test_a_secret_that_comes_back_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_NAME", "hunter2hunter2")
    code = "sys.stderr.write('key ' + os.environ['ODD_NAME'])\nsys.exit(2)"
    with pytest.raises(RunnerError, match=r"ended with code 2.*key \*\*\*"):
        opened(command_arm(script(code, env_from=["ODD_NAME"])))


# --- what it says of itself ------------------------------------------------------------------------------------------


def test_a_probe_goes_into_the_record() -> None:
    system, provenance = opened(command_arm(broken("none")))
    assert provenance.build.startswith("example-memory 1 broken.py@sha256:")
    assert (provenance.embedder, provenance.reranker, provenance.fake) == ("none", "none", False)
    assert provenance.extra["undeclared"] == []
    assert system.capabilities.durable
    assert system.capabilities.ranked
    assert not system.capabilities.asynchronous


def test_what_nobody_declares_counts_as_absent_and_is_named() -> None:
    code = LOOP + (
        "    said = {'id': number, 'ok': op != 'probe', 'error': 'unknown op', 'hits': []}\n"
        "    print(json.dumps(said), flush=True)\n"
    )

    async def body(system: MemorySystem, provenance: Provenance) -> tuple[Provenance, Retrieval]:
        await store(system, "a")
        return provenance, await ask(system, "a")

    arm = command_arm(script(code))
    provenance, found = drive(arm, body)
    assert provenance.extra["undeclared"] == [*ALL, "build", "embedder"]
    assert (provenance.build, provenance.embedder) == ("unknown", "unknown")
    assert found.notes == ("capabilities_undeclared",)
    system, _ = opened(arm)
    can = system.capabilities
    assert not any((can.timestamps, can.namespaces, can.sources, can.ranked, can.durable, can.honours_k, can.roles))
    assert can.asynchronous


def test_the_arm_wins_over_the_probe() -> None:
    declares = {"build": "2.0", "embedder": "minilm@sha256:1", "fake": True, "capabilities": {"ranked": False}}
    system, provenance = opened(command_arm(broken("none", declares=declares)))
    assert (provenance.build, provenance.embedder, provenance.fake) == ("2.0", "minilm@sha256:1", True)
    assert not system.capabilities.ranked
    assert system.capabilities.sources


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"capabilities": {"rank": True}}, r"capability 'rank' \(did you mean 'ranked'\?\)"),
        ({"capabilities": {"ranked": "yes"}}, "'ranked' is neither true nor false"),
        ({"capabilities": []}, "not an object"),
        ({"build": 3}, "its build is not a text"),
        ({"ops": "erase"}, "ops are not a list"),
        ({"capabilities": {"durable": True}}, "durable and has no op 'drop_derived'"),
        ({"knobs": ["graph"]}, "arm.knobs.graph: is missing"),
        ({"knobs": []}, "arm.knobs.hyde: the system does not read it"),
    ],
)
def test_a_probe_that_makes_no_sense_is_told(about: dict[str, Any], said: str) -> None:
    code = f"{LOOP}    print(json.dumps({{'id': number, 'ok': True, **{about!r}}}), flush=True)\n"
    knobs = {"hyde": True} if about.get("knobs") == [] else {}
    with pytest.raises(RunnerError, match=said):
        opened(command_arm(script(code), knobs=knobs))


def test_the_code_that_a_command_names_is_its_build(tmp_path: Path) -> None:
    server = tmp_path / "mine.py"
    server.write_text(
        f"import json, sys\nimport part\n{LOOP}    print(json.dumps({{'id': number, 'ok': True}}), flush=True)\n"
    )
    part = tmp_path / "part.py"

    def seen(text: str) -> str:
        part.write_text(text)
        return opened(command_arm({"command": [sys.executable, str(server)]}))[1].build

    first, second = seen("A = 1\n"), seen("A = 2\n")
    assert first.startswith("mine.py@sha256:")
    assert first != second
    assert seen("A = 1\n") == first


# --- settings that cannot work ---------------------------------------------------------------------------------------


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(RunnerError, match=r"cannot run 'no-such-memory' .*install it, or give its path"):
        opened(command_arm({"command": ["no-such-memory"]}))
    with pytest.raises(ConfigError, match=r"arm\.settings\.cwd: there is no such folder, got '/no/such/folder'"):
        build(command_arm({"command": ["python3"], "cwd": "/no/such/folder"}))


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_process_that_ended_is_started_again_with_the_next_scenario() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert (await ask(system, "a")).hits
        with pytest.raises(SearchError, match="code 3"):
            await ask(system, "a")
        for ns in ("b", "c"):
            await store(system, ns)
        assert (await ask(system, "b")).hits  # the new process, in its own count the first search
        with pytest.raises(SearchError):
            await ask(system, "c")
        with pytest.raises(SearchError, match="earlier in this scenario"):
            await ask(system, "b")

    drive(command_arm(broken("dies", at=2)), body)


def test_a_flood_on_stderr_is_read_and_only_its_end_is_kept() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert (await ask(system, "a")).hits[0].key == "e0"

    drive(command_arm(broken("floods_stderr")), body)


def test_answers_out_of_order_are_matched() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        first, second = await asyncio.gather(ask(system, "a", TEXTS[0]), ask(system, "a", TEXTS[1]))
        assert (first.hits[0].key, second.hits[0].key) == ("e0", "e1")

    drive(command_arm(broken("late", in_flight=2)), body)


NO_IDS = LOOP + (
    "    hits = [{'key': 'k', 'text': request['text']}] if op == 'search' else []\n"
    "    print(json.dumps({'ok': True, 'hits': hits}), flush=True)\n"
)


def test_answers_without_ids_do_for_one_request_at_a_time() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        assert [(await ask(system, "a", text)).hits[0].text for text in ("x", "y")] == ["x", "y"]

    drive(command_arm(script(NO_IDS)), body)


def test_answers_without_ids_cannot_be_told_apart_in_flight() -> None:
    code = (
        "import threading\n"
        + LOOP.replace("for line", "for line")
        + ("    if op == 'search': time.sleep(0.2)\n    print(json.dumps({'ok': True, 'hits': []}), flush=True)\n")
    )

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        results = await asyncio.gather(ask(system, "a"), ask(system, "a"), return_exceptions=True)
        assert all(isinstance(result, SearchError) for result in results)
        assert "without an id while 2 requests were in flight" in str(results[0])

    drive(command_arm(script(code, in_flight=2)), body)


def test_a_slow_start_is_waited_for() -> None:
    system, _ = opened(command_arm(broken("slow_start", env={"SLOW_S": 0.4})))
    assert system.capabilities.ranked


def test_a_write_that_is_refused_or_taken_in_part_fails() -> None:
    for fault, said in (
        ("refuses_third_event", "write: ValueError: disk full at event e2"),
        ("takes_fewer", "write: 4 events were sent and 3 were taken"),
        ("dies_writing", "write: .*ended with code 3"),
    ):

        async def body(system: MemorySystem, _: Provenance, said: str = said) -> None:
            await system.reset("a")
            with pytest.raises(IngestError, match=said):
                await system.write("a", history())

        drive(command_arm(broken(fault)), body)


def test_events_are_written_in_order_in_batches(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        f"log = open({str(log)!r}, 'a')\n{LOOP}"
        "    log.write(line); log.flush()\n"
        "    print(json.dumps({'id': number, 'ok': True}), flush=True)\n"
    )
    events = history([f"text {at}" for at in range(7)])

    async def body(system: MemorySystem, _: Provenance) -> None:
        await system.reset("a")
        receipt = await system.write("a", events)
        assert receipt.sha256 == receipt_of(events).sha256
        assert (receipt.events, receipt.times) == (7, "in_text")  # it declares nothing

    drive(command_arm(script(code, batch=3)), body)
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    batches = [[event["id"] for event in item["events"]] for item in sent if item["op"] == "write"]
    assert batches == [["e0", "e1", "e2"], ["e3", "e4", "e5"], ["e6"]]


def test_settle_asks_again_until_ready_or_the_deadline() -> None:
    code = (
        "asked = 0\n" + LOOP + "    asked += op == 'settle'\n"
        "    print(json.dumps({'id': number, 'ok': True, 'settled': asked > 2, 'ops': ['settle']}), flush=True)\n"
    )

    async def body(system: MemorySystem, _: Provenance) -> None:
        await system.reset("a")
        receipt = await system.write("a", history())
        with pytest.raises(NotSettled, match=r"not ready after 0.1 s"):
            await system.settle("a", receipt, 0.1)
        await system.settle("a", receipt, 5.0)

    drive(command_arm(script(code)), body)


def test_a_wipe_is_survived_or_not() -> None:
    for fault, kept in (("none", True), ("forgets_on_drop", False)):

        async def body(system: MemorySystem, _: Provenance, kept: bool = kept) -> None:
            await store(system, "a")
            assert (await ask(system, "a")).hits
            await system.drop_derived("a")
            assert bool((await ask(system, "a")).hits) is kept

        drive(command_arm(broken(fault)), body)


def test_other_words_and_other_paths() -> None:
    """A system with a protocol of its own: `read` for search, and hits of another shape."""
    code = LOOP + (
        "    hits = [{'id': 7, 'body': ['a', 'b'], 'meta': {'from': 'e0', 'at': 1709544600}}]\n"
        "    said = {'ok': op in ('reset', 'write', 'read'), 'error': op, 'context': {'notes': hits}}\n"
        "    print(json.dumps({'id': number, **said}), flush=True)\n"
    )
    paths = {"at": "context.notes", "key": "id", "text": "body", "sources": "meta.from", "time": "meta.at"}

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        (hit,) = (await ask(system, "a")).hits
        assert (hit.key, hit.text, hit.sources, hit.score) == ("7", "a\nb", ("e0",), None)
        assert hit.time == START  # 1709544600 is 4 March 2024, 09:30 UTC

    drive(command_arm(script(code, names={"search": "read"}, hits=paths)), body)


# --- processes -------------------------------------------------------------------------------------------------------


def test_namespaces_are_shared_out_among_the_processes() -> None:
    async def body(system: MemorySystem, _: Provenance) -> None:
        await asyncio.gather(*(store(system, name) for name in "abc"))
        assert len(children()) == 4  # two, each with its guard
        assert (await ask(system, "b")).hits
        with pytest.raises(SearchError):
            await ask(system, "b")  # the second of its process, which ends alone
        assert (await ask(system, "a")).hits

    drive(command_arm(broken("dies", at=2, processes=2)), body)


def test_a_process_that_does_not_leave_is_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.system._bridge.json_lines._PARTING_S", 0.3)
    start = time.monotonic()
    opened(command_arm(broken("ignores_close")))
    assert time.monotonic() - start < 8


def test_another_system_after_a_restart_is_refused(tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = (
        f"path = {str(count)!r}\nstarts = 1 + (int(open(path).read()) if os.path.exists(path) else 0)\n"
        f"open(path, 'w').write(str(starts))\n{LOOP}"
        "    if op == 'search': sys.exit(0)\n"
        "    print(json.dumps({'id': number, 'ok': True, 'build': 'v' + str(starts)}), flush=True)\n"
    )

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "a")
        with pytest.raises(SearchError):
            await ask(system, "a")
        with pytest.raises(IngestError, match="another system"):
            await system.reset("b")

    drive(command_arm(script(code)), body)


def test_nothing_is_left_when_the_opening_is_cancelled() -> None:
    async def main() -> None:
        system = build(command_arm(broken("says_nothing")))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(system.open(Opening()), 0.3)
        await system.close()

    before = children()
    asyncio.run(main())
    assert_gone(*(children() - before))
