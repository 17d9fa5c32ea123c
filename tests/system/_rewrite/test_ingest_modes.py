"""`ingest.mode`: what a model writes of a history is stored in its place, by any system."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig
from runner.errors import ConfigError, EndpointUnusable, IngestError, SearchError
from runner.record.compare import compare
from runner.record.instrument import WHY
from runner.system import MemorySystem, Opening, build, receipt_of
from runner.system._rewrite.notes import notes_in, part_text, parts_of
from runner.types import Event, Query
from tests.conftest import command_environment, runs_in
from tests.support.driving import drive, store
from tests.support.servers import Stub, closed_port

NOON = datetime(2024, 3, 4, 12, 0)
EVENTS = [
    Event(id="a", text="The ferry leaves at nine.", time=NOON, actor="Ada", session="s1"),
    Event(id="b", text="I will bring the tent.", time=NOON.replace(hour=13), actor="Ben", session="s1"),
    Event(id="c", text="The zeppelin was sold.", time=NOON.replace(day=6), actor="Ada", session="s2"),
]


def lines_of(asked: dict[str, Any]) -> list[str]:
    """The lines of the session that a request holds."""
    text = asked["messages"][-1]["content"]
    lines = text.partition("<session>\n")[2].partition("\n</session>")[0].splitlines()
    return [line for line in lines if not line.startswith(("Session:", "Project:"))]


def noted(asked: dict[str, Any]) -> str:
    """A model that writes each line down."""
    return "\n".join(f"- {line}" for line in lines_of(asked))


def summed(asked: dict[str, Any]) -> str:
    text = asked["messages"][-1]["content"]
    before = text.partition("<summary>\n")[2].partition("\n</summary>")[0]
    return " | ".join([*([] if before == "(nothing yet)" else [before]), *lines_of(asked)])


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(answer=noted, keep_bodies=True) as server:
        yield server


def model(stub: Stub, **changes: Any) -> dict[str, Any]:
    limits = {"attempts": 1, "timeout_s": 5, "deadline_s": 5}
    return {"name": "ingest", "provider": "openai", "model": "m", "base_url": stub.url, **limits, **changes}


def arm(stub: Stub, mode: str = "extract", system: str = "bm25", **ingest: Any) -> ArmConfig:
    return ArmConfig(name="x", system=system, ingest={"mode": mode, "model": model(stub), **ingest})


# --- extract -------------------------------------------------------------------------------------------------------


def test_notes_take_the_place_of_the_events_and_cite_their_part(stub: Stub) -> None:
    async def body(system: MemorySystem) -> None:
        receipt = await store(system, "n", EVENTS)
        assert (receipt.events, receipt.times) == (3, "native")
        assert receipt.sha256 != receipt_of(EVENTS).sha256  # other texts were stored
        found = await system.search("n", Query(text="when does the ferry leave?", k=1))
        (hit,) = found.hits
        assert hit.text == "[04 March 2024, 12:00] Ada: The ferry leaves at nine."
        assert hit.sources == ("a", "b")  # the part it was written from
        assert hit.time == NOON.replace(hour=13)  # its last event's
        assert found.notes == ("ingest_extract",)

    drive(arm(stub), body)
    assert stub.state.requests == 2  # a call a session


def test_a_system_without_times_is_told_them_in_the_notes(stub: Stub) -> None:
    chosen = arm(stub, system="langgraph_store")
    chosen = chosen.model_copy(update={"settings": {"embedder": {"provider": "fake"}}})
    if (extra := build(chosen).missing()) is not None:
        pytest.skip(f"needs the extra '{extra}'")
    given = [Event(id="a", text="[04 March 2024, 12:00] The ferry leaves.", time=NOON, actor="Ada")]

    async def body(system: MemorySystem) -> None:
        assert not system.capabilities.timestamps
        await store(system, "n", given)
        (hit,) = (await system.search("n", Query(text="ferry", k=1))).hits
        # Asked once with its time, and stored with that of the part.
        assert hit.text == "[04 March 2024, 12:00] [04 March 2024, 12:00] Ada: The ferry leaves."

    drive(chosen, body)
    assert part_text(given) == part_text([Event(id="a", text="The ferry leaves.", time=NOON, actor="Ada")])


def test_a_second_write_appends(stub: Stub) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS[:2])
        await system.settle("n", await system.write("n", EVENTS[2:]), 10)
        for word, sources in (("ferry", ("a", "b")), ("zeppelin", ("c",))):
            assert (await system.search("n", Query(text=word))).hits[0].sources == sources
        with pytest.raises(IngestError, match="'a' was written twice"):
            await system.write("n", EVENTS[:1])

    drive(arm(stub), body)


def test_reset_and_erase_reach_the_system(stub: Stub) -> None:
    async def body(system: MemorySystem) -> None:
        await store(system, "n", EVENTS)
        await system.reset("n")
        assert (await system.search("n", Query(text="ferry"))).hits == ()
        await system.erase("n")
        with pytest.raises(SearchError):
            await system.search("n", Query(text="ferry"))

    drive(arm(stub), body)


# --- digest --------------------------------------------------------------------------------------------------------


def test_a_digest_is_carried_over_the_history_and_only_it_is_stored(stub: Stub) -> None:
    stub.state.answer = summed

    async def body(system: MemorySystem) -> None:
        assert not system.capabilities.sources
        await store(system, "n", EVENTS[:2])
        await system.settle("n", await system.write("n", EVENTS[2:]), 10)
        found = await system.search("n", Query(text="anything"))
        (hit,) = found.hits
        assert (hit.key, hit.sources, found.notes) == ("digest", None, ("ingest_digest",))
        assert hit.text == (
            "[04 March 2024, 12:00] Ada: The ferry leaves at nine. | [04 March 2024, 13:00] Ben: I will bring the tent."
            " | [06 March 2024, 12:00] Ada: The zeppelin was sold."
        )

    drive(arm(stub, "digest", "full_context"), body)


# --- the cache -----------------------------------------------------------------------------------------------------


def test_replies_are_kept_by_what_was_asked_and_by_nothing_else(stub: Stub, tmp_path: Path) -> None:
    async def body(system: MemorySystem) -> Any:
        await store(system, "other", EVENTS)
        return (await system.search("other", Query(text="ferry"))).notes

    def asked(chosen: ArmConfig) -> int:
        before = stub.state.requests
        notes = drive(chosen, body, Opening(cache_dir=tmp_path))
        new = stub.state.requests - before
        assert ("ingest_cached" in notes) is (new == 0)
        return new

    assert asked(arm(stub)) == 2
    assert asked(arm(stub)) == 0
    assert asked(arm(stub, system="dense" if build(arm(stub, system="dense")).missing() is None else "bm25")) == 0
    assert asked(arm(stub, model=model(stub, name="another", timeout_s=9))) == 0  # a name and a limit decide nothing
    assert asked(arm(stub, model=model(stub, model="m2"))) == 2
    assert asked(arm(stub, model=model(stub, params={"temperature": 1}))) == 2
    prompt = tmp_path / "mine.md"
    prompt.write_text("Note it, a line each after a hyphen.\n<session>\n{session}\n</session>")
    assert asked(arm(stub, prompt=str(prompt))) == 2
    prompt.write_text("Note it all, a line each after a hyphen.\n<session>\n{session}\n</session>")
    assert asked(arm(stub, prompt=str(prompt))) == 2  # the file changed, its name did not
    with Stub(answer=noted) as second:  # another server, which may call another model "m"
        drive(arm(second), body, Opening(cache_dir=tmp_path))
        assert second.state.requests == 2


def test_what_cannot_be_read_is_not_kept(stub: Stub, tmp_path: Path) -> None:
    stub.state.plan = ["empty_choices"]

    async def fails(system: MemorySystem) -> None:
        with pytest.raises(IngestError):
            await store(system, "n", EVENTS[:1])

    async def works(system: MemorySystem) -> None:
        await store(system, "n", EVENTS[:1])

    drive(arm(stub), fails, Opening(cache_dir=tmp_path))
    drive(arm(stub), works, Opening(cache_dir=tmp_path))
    assert stub.state.requests == 2


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reply", "says"),
    [
        ("500", None, "HTTP 500"),
        ("drop", None, "broke the connection"),
        ("hang", None, "no answer"),
        ("length", None, "raise max_tokens in arm.ingest.model.params"),
        ("ok", "Sure! Here is what I found.", "no notes, a line each"),
        ("ok", "NONE", "wrote no note of 3 events"),
    ],
)
def test_a_failure_is_an_ingest_error(stub: Stub, fault: str, reply: str | None, says: str) -> None:
    stub.state.always, stub.state.reply = fault, reply
    if reply is not None:
        stub.state.answer = None

    async def body(system: MemorySystem) -> None:
        with pytest.raises(IngestError, match=says):
            await store(system, "n", EVENTS)

    drive(arm(stub, model=model(stub, timeout_s=0.5, deadline_s=0.5)), body)


def test_nothing_more_is_asked_after_a_failure(stub: Stub) -> None:
    stub.state.always = "500"
    many = [Event(id=str(at), text=f"Thing {at}.", session=str(at)) for at in range(20)]

    async def body(system: MemorySystem) -> None:
        with pytest.raises(IngestError):
            await store(system, "n", many)

    drive(arm(stub, model=model(stub, concurrency=1)), body)
    assert stub.state.requests == 1


def test_an_endpoint_that_never_answers_ends_the_run(stub: Stub) -> None:
    async def body(system: MemorySystem) -> None:
        with pytest.raises(EndpointUnusable):
            await store(system, "n", EVENTS)

    drive(arm(stub, model=model(stub, base_url=f"http://127.0.0.1:{closed_port()}/v1")), body)


@pytest.mark.parametrize(
    ("ingest", "says"),
    [
        ({"mode": "extract"}, "arm.ingest.model: is missing; ingest.mode=extract needs a model"),
        ({"mode": "summary"}, "arm.ingest.mode"),
        ({"mode": "extract", "model": {"name": "f", "provider": "fake", "model": "extractive"}}, "writes no notes"),
        ({"mode": "extract", "model": {"name": "f", "provider": "openai"}}, "needs a model"),
        ({"modes": "extract"}, "arm.ingest.modes"),
    ],
)
def test_what_an_arm_cannot_mean(ingest: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        build(ArmConfig(name="x", system="bm25", ingest=ingest))


def test_the_control_that_is_told_the_evidence_is_not_rewritten(stub: Stub) -> None:
    with pytest.raises(ConfigError, match="told which events are the evidence"):
        build(arm(stub, system="oracle"))


def test_a_prompt_must_hold_what_is_filled_in(stub: Stub, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.md"
    prompt.write_text("Note it.")
    with pytest.raises(ConfigError, match=r"arm\.ingest\.prompt.*session"):
        build(arm(stub, prompt=str(prompt)))


def test_verbatim_asks_no_model_and_needs_no_key(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plain = build(ArmConfig(name="x", system="bm25"))
    stated = build(ArmConfig(name="x", system="bm25", ingest={"mode": "verbatim", "model": "gpt-4o-mini"}))
    assert type(plain) is type(stated)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        build(ArmConfig(name="x", system="bm25", ingest={"mode": "extract", "model": "gpt-4o-mini"}))


def test_it_says_what_it_is(stub: Stub) -> None:
    async def session(chosen: ArmConfig) -> Any:
        system = build(chosen)
        try:
            return await system.open(Opening()), system.caveats("any")
        finally:
            await system.close()

    opened, caveats = asyncio.run(session(arm(stub)))
    assert opened.index_revision.startswith("extract openai:m ")
    assert "prompt@sha256:" in opened.index_revision
    assert opened.extra["ingest_model"] == "openai:m"
    assert len(opened.extra["ingest_prompt_sha256"]) == 64
    assert any("which the plan does not count" in line for line in caveats)
    again, _ = asyncio.run(session(arm(stub, model=model(stub, params={"temperature": 0.5}))))
    assert again.index_revision != opened.index_revision


# --- parts and notes -----------------------------------------------------------------------------------------------


def test_parts_hold_one_session_and_project_and_no_event_is_cut() -> None:
    long = [
        Event(id="1", text="x" * 60, session="s1"),
        Event(id="2", text="x" * 60, session="s1"),
        Event(id="3", text="x" * 500, session="s1"),
        Event(id="4", text="y", session="s1", project="p"),
        Event(id="5", text="y", session="s2", project="p"),
    ]
    assert [[event.id for event in part] for part in parts_of(long, 130)] == [["1", "2"], ["3"], ["4"], ["5"]]
    assert list(parts_of([], 100)) == []
    assert part_text(long[3:4]) == "Project: p\nSession: s1\ny"


def test_notes_of_a_reply() -> None:
    assert notes_in("- One.\n\n* Two: 2 - 1.\n3. Three\n  • four") == ["One.", "Two: 2 - 1.", "Three", "four"]
    assert notes_in("Notes:\n- One.") == ["One."]
    assert notes_in(" none.\n") == []
    assert notes_in("I found nothing worth keeping.") is None
    assert notes_in("") is None


# --- arms in a gate ------------------------------------------------------------------------------------------------


def side(ingest: dict[str, Any], **rows: str) -> tuple[dict[str, Any], dict[str, Any]]:
    config = {"arm": {"name": "x", "system": "dense", "ingest": ingest, "recall": {"limit": 10}}}
    return config, dict.fromkeys(WHY, "same") | {"index_revision": "none"} | rows


def test_verbatim_against_notes_is_one_treatment_from_which_the_index_follows() -> None:
    asked = {"mode": "extract", "model": {"name": "i", "model": "m"}, "prompt": None, "part_chars": 8000}
    plain, notes = side({}), side(asked, index_revision="extract openai:m")
    stated = side({**asked, "mode": "verbatim"})
    for before in (plain, stated):
        found = compare(before[0], notes[0], before[1], notes[1])
        assert set(found.treatment) == {"arm.ingest.mode"}
        assert found.confounds == []
        assert found.bundle == []
    assert compare(plain[0], stated[0], plain[1], stated[1]).null  # nothing is rewritten in either


def test_another_model_is_a_treatment_and_another_prompt_behind_one_name_a_confound() -> None:
    one = side({"mode": "extract", "model": {"model": "m"}}, index_revision="extract openai:m p1")
    two = side({"mode": "extract", "model": {"model": "n"}}, index_revision="extract openai:n p1")
    found = compare(one[0], two[0], one[1], two[1])
    assert (set(found.treatment), found.confounds) == ({"arm.ingest.model.model"}, [])
    changed = side({"mode": "extract", "model": {"model": "m"}}, index_revision="extract openai:m p2")
    found = compare(one[0], changed[0], one[1], changed[1])
    assert [confound.row for confound in found.confounds] == ["index_revision"]


def test_another_system_that_is_told_notes_is_a_bundle() -> None:
    one, two = side({}), side({"mode": "extract", "model": {"model": "m"}}, index_revision="extract openai:m")
    two[0]["arm"]["system"] = "bm25"
    found = compare(one[0], two[0], one[1], two[1])
    assert set(found.bundle) == {"arm.system", "arm.ingest.mode"}


# --- the command line ----------------------------------------------------------------------------------------------

SMALL = ("harness=synthetic_memory", "harness.settings.scenarios=2", "slice.per_category=1")


@pytest.mark.long
def test_verbatim_and_notes_pair_in_a_gate_and_notes_are_paid_for_once(
    cli: Callable[..., Any], stub: Stub, tmp_path: Path
) -> None:
    sweep = ("arm.recall.limit=3,5", "arm.ingest.mode=verbatim,extract")
    done = cli(
        *("-m", *SMALL, "+arm=extract", "arm.system=bm25", "~arm.settings.embedder", *sweep),
        OPENAI_BASE_URL=stub.url,
        OPENAI_API_KEY="unused",
        MEMORY_RUNNER_CACHE=str(tmp_path / "cache"),
    )
    assert done.returncode in (0, 3, 4), done.stdout + done.stderr
    assert "not comparable" not in done.stdout
    assert "which follows from the treatment" in done.stdout
    verbatim, paid, _, free = runs_in(tmp_path / "outputs")

    def lines(run: Path, file: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (run / file).read_text().splitlines()]

    for run in (paid, free):
        rows = lines(run, "rows.jsonl")
        assert {row.get("status", "ok") for row in rows} == {"ok"}
        assert all({"ingest_extract", "ingest_altered"} <= set(row["flags"]) for row in rows)
        assert all(("ingest_cached" in row["flags"]) is (run == free) for row in rows)
    assert len(lines(paid, "calls.jsonl")) == stub.state.requests > 0
    assert lines(free, "calls.jsonl") == []  # another arm, nothing asked again
    sides = [json.loads((run / "provenance.json").read_text())["write_side"] for run in (verbatim, paid, free)]
    assert sides[0] != sides[1] == sides[2]
    instrument = json.loads((paid / "instrument.json").read_text())["rows"]
    assert instrument["index_revision"].startswith("extract openai:gpt-4o-mini ")


@pytest.mark.long
def test_a_kill_in_the_middle_repays_nothing(stub: Stub, tmp_path: Path) -> None:
    stub.state.plan = ["ok"] * 5 + ["hang"]
    words = (*SMALL, "+arm=extract", "arm.system=bm25", "~arm.settings.embedder")
    limits = ("run.scenarios_in_flight=1", "arm.ingest.model.concurrency=1", "arm.ingest.part_chars=400")
    env = command_environment(OPENAI_BASE_URL=stub.url, OPENAI_API_KEY="unused")
    env |= {"MEMORY_RUNNER_CACHE": str(tmp_path / "cache")}
    run = subprocess.Popen(
        [sys.executable, "-m", "runner", *words, *limits], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while stub.state.requests < 6 and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert stub.state.requests == 6
    (folder,) = runs_in(tmp_path / "outputs")
    (tmp_path / "cache" / "models.sqlite").unlink()  # what the run itself has recorded is enough
    again = subprocess.run(
        [sys.executable, "-m", "runner", "resume", str(folder)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    asked = Counter(json.dumps(body["messages"]) for body in stub.state.bodies)
    unanswered = json.dumps(stub.state.bodies[5]["messages"])
    assert asked.pop(unanswered) == 2
    assert set(asked.values()) == {1}
