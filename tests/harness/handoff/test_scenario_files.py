"""A folder of one's own scenarios: added to ours, read strictly, and every mistake told at once, by file and key."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from runner.config import HarnessConfig
from runner.errors import ConfigError, DatasetError
from runner.harness import build
from runner.harness.handoff import SHIPPED
from runner.harness.handoff.lint import notes
from runner.harness.handoff.scenario_file import read_spec
from runner.harness.handoff.scenario_folder import index, spec_of
from tests.conftest import runs_in

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = {
    "id": "pump-house",
    "family": "continuity",
    "skill": "failed_approaches",
    "why": "What was tried on the pump must not be tried again.",
    "expect": "pass",
    "project": "pump",
    "now": "2026-03-09 09:00",
    "query": {"task": "What has been tried on the pump?", "agent": "codex", "budget": 200},
    "wordings": ["Which attempts were made with the pump?", "I go on with the pump. What is behind us?"],
    "events": [
        {"time": "2026-03-03 11:00", "actor": "claude", "kind": "note", "text": "Pump: a new gasket, still drips."},
        {"time": "2026-03-02 10:00", "actor": "mira", "text": "The pump drips since Sunday."},
        {
            "time": "2026-03-04 16:00",
            "actor": "claude",
            "kind": "checkpoint",
            "task": "Stop the pump from dripping",
            "failed": ["new gasket"],
            "next": "swap the impeller",
        },
        {"time": "2026-03-05 09:00", "actor": "mira", "text": "The old price was 40 euros, it is 55 now."},
    ],
    "haystack": 4,
    "distractors": 3,
    "gold": {
        "carry": [{"label": "the gasket", "any": ["gasket"]}, {"label": "next", "all": ["impeller", "swap"]}],
        "avoid": [{"label": "old price", "any": ["40 euros"]}],
        "signal": [{"label": "by whom", "any": ["claude"]}],
    },
}


def changed(**changes):
    """The good scenario with values at dotted places replaced; ``None`` removes the key."""
    value = copy.deepcopy(GOOD)
    for place, new in changes.items():
        *path, last = (int(part) if part.isdigit() else part for part in place.split("__"))
        at = value
        for part in path:
            at = at[part]
        if new is None:
            del at[last]
        else:
            at[last] = new
    return value


@pytest.fixture
def write(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()

    def put(value, name="pump-house.yaml"):
        text = value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
        (folder / name).write_text(text, encoding="utf-8")
        return folder

    return put


def told(folder):
    with pytest.raises(ConfigError) as caught:
        index([folder])
    return list(caught.value.problems)


# --- what is right -------------------------------------------------------------------------------------------------


def test_a_folder_is_added_to_ours(write):
    folder = write(GOOD)
    harness = build(HarnessConfig(name="handoff", settings={"scenarios": str(folder)}))
    ours = build(HarnessConfig(name="handoff"))
    base = next(s for s in harness.read() if s.id == "pump-house")
    assert len(base.events) == 8
    assert [event.text for event in base.events if event.project == "pump"] == [  # in the order of time
        "[pump] The pump drips since Sunday.",
        "[pump] Note: Pump: a new gasket, still drips.",
        "[pump] Checkpoint. Task: Stop the pump from dripping. Ruled out, did not work: new gasket. "
        "Next: swap the impeller.",
        "[pump] The old price was 40 euros, it is 55 now.",
    ]
    assert len(list(harness.read())) == len(list(ours.read())) + 3
    info = harness.dataset()
    assert not info.pinned
    assert info.version.endswith("80 scenarios, 1 of your own")
    assert info.sha256 != ours.dataset().sha256
    assert any("79 shipped, 1 of your own" in line for line in harness.check())


def test_or_taken_alone(write):
    harness = build(HarnessConfig(name="handoff", settings={"scenarios": str(write(GOOD)), "shipped": False}))
    assert [scenario.id for scenario in harness.read()] == ["pump-house", "pump-house+d1", "pump-house+d2"]


def test_the_content_is_the_identity_and_not_its_place_or_layout(write, tmp_path):
    def sha(folder):
        return (
            build(HarnessConfig(name="handoff", settings={"scenarios": str(folder), "shipped": False})).dataset().sha256
        )

    one = sha(write(GOOD))
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "pump-house.yaml").write_text("# a comment\r\n" + json.dumps(GOOD, indent=1).replace("\n", "\r\n"))
    assert sha(other) == one
    (other / "pump-house.yaml").write_text(json.dumps(changed(gold__carry__0__any=["new gasket"])))
    assert sha(other) != one
    settings = build(HarnessConfig(name="handoff", settings={"scenarios": str(other)})).settings
    assert "scenarios" not in settings.model_dump()


def test_events_of_one_minute_keep_the_order_of_the_file(write):
    value = changed(haystack=0)
    for event in value["events"]:
        event["time"] = "2026-03-03 11:00"
    harness = build(HarnessConfig(name="handoff", settings={"scenarios": str(write(value)), "shipped": False}))
    texts = [event.text for event in next(harness.read()).events]
    assert [text.split()[2] for text in texts] == ["Pump:", "pump", "Task:", "old"]


def test_a_large_file_is_read_when_it_is_needed(write):
    value = changed(haystack=0)
    value["events"] += [
        {
            "time": "2026-03-03 12:00",
            "actor": "mira",
            "text": f"Reading number {n}: nothing of note, the gauge is still.",
        }
        for n in range(996)
    ]
    folder = write(value)
    assert (folder / "pump-house.yaml").stat().st_size > 64 * 1024
    assert len(spec_of(folder / "pump-house.yaml").events) == 1000
    assert spec_of(folder / "pump-house.yaml") is not spec_of(folder / "pump-house.yaml")


# --- what is wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"exepct": "pass"}, "exepct: no such key (did you mean 'expect'?)"),
        ({"events__1__actr": "x"}, "events.1.actr: no such key (did you mean 'actor'?)"),
        ({"gold__avoid__0__labl": "x"}, "gold.avoid.0.labl: no such key (did you mean 'label'?)"),
        ({"query__bugdet": 3}, "query.bugdet: no such key (did you mean 'budget'?)"),
        ({"why": None}, "why: is missing"),
        ({"family": "memroy"}, "family: Input should be 'continuity', 'memory' or 'durability', got 'memroy'"),
        ({"id": "Pump House"}, "id: String should match pattern"),
        ({"events": []}, "events: List should have at least 1 item"),
        (
            {"events__0__kind": "msg"},
            "events.0.kind: Input should be 'message', 'fact', 'doc', 'note', 'checkpoint' or",
        ),
        ({"events__0__time": "2026-03-02T10:00:00Z"}, "events.0.time: write a date and a time without a zone"),
        ({"events__0__text": "  "}, "events.0: text is missing or empty"),
        ({"events__0__next": "x"}, "events.0: next: only a checkpoint has these; kind is 'note'"),
        ({"events__0__title": "x"}, "events.0: title: only a doc has one; kind is 'note'"),
        (
            {"events__2": {"time": "2026-03-04 16:00", "actor": "x", "kind": "checkpoint", "text": "x"}},
            "events.2: a chec",
        ),
        ({"gold__carry__0": {"label": "x"}}, "gold.carry.0: the fact 'x' is empty; give it any: or all:"),
        ({"gold__carry__0__any": [""]}, "gold.carry.0.any.0: String should have at least 1 character"),
        ({"gold__carry__0__any": [7]}, "gold.carry.0.any.0: Input should be a valid string, got 7"),
        ({"query__budget": 0}, "query.budget: Input should be greater than or equal to 1"),
        # what a schema cannot see
        ({"gold__avoid__0__any": ["40"]}, "gold.avoid.0: '40' is so short that it matches anything; write more of it"),
        ({"gold__carry__0__any": ["5"]}, "gold.carry.0: '5' is so short that it matches anything"),
        ({"gold__carry__0__any": ["the Pump"]}, "gold.carry.0: 'the Pump' occurs in query.task; whoever repeats"),
        ({"wordings__1": "Is it the gasket?"}, "gold.carry.0: 'gasket' occurs in wordings.1; whoever repeats"),
        ({"wordings__0": "What did claude do?"}, "gold.signal.0: 'claude' occurs in wordings.0"),
        ({"query__task": "40"}, "gold.avoid.0: '40 euros' contains query.task, which is taken for an echo"),
        ({"gold__carry__0__any": ["flywheel"]}, "gold.carry.0: no event contains 'flywheel'"),
        ({"gold__carry__1__all": ["impeller", "flywheel"]}, "gold.carry.1: no event contains 'impeller'"),
        ({"gold__avoid__0__any": ["99 euros"]}, "gold.avoid.0: no event contains '99 euros'"),
        ({"gold__avoid__0__any": ["gasket"]}, "gold.avoid.0: 'gasket' occurs in what is to be carried, and leaks"),
        (
            {"gold__carry__0__any": ["gasket", "4 March 2026"]},
            "gold.carry.0: '4 March 2026' is in the date of an event",
        ),
        ({"gold__carry__0__label": "next"}, "gold.carry.0.label: 'next' stands twice"),
        ({"gold__carry__0__phrases": "old"}, "gold.carry.0.phrases: only a signal may name a list of phrases"),
        (
            {"gold__signal": [{"label": "age", "phrases": "old"}], "events__3__text": "That was days ago, 40 euros."},
            "gold.signal.0: an event says 'days ago', so that a store passes by repeating it",
        ),
        ({"gold": {"avoid": [{"label": "x", "any": ["40 euros"]}]}}, "gold: has neither carry nor signal"),
        ({"wordings": ["Again?"]}, "wordings: 1 beside query.task; a scenario is asked in 3 wordings"),
        ({"wordings__1": "what HAS been  tried on the pump?"}, "wordings.1: is the same as query.task"),
        ({"wordings__1": "Which attempts were made with the pump?"}, "wordings.1: is the same as wordings.0"),
        ({"now": "2026-03-05 08:59"}, "events.3.time: is after now (2026-03-05 08:59)"),
        ({"drop_derived": True}, "drop_derived: is what the family durability is about"),
        ({"family": "durability"}, "drop_derived: is what the family durability is about"),
        ({"query__budget": 2}, "query.budget: 2 tokens are too small for the gold, whose shortest wording is 14 char"),
    ],
)
def test_a_mistake_is_told_by_file_and_key(write, changes, line):
    problems = told(write(changed(**changes)))
    assert any(problem.startswith(f"pump-house.yaml: {line}") for problem in problems), problems


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("- a list\n", "Input should be a valid dictionary"),
        ("id: [\n", "is not the YAML of a scenario"),
        ("id: a\nid: b\n", "the key 'id' stands twice (line 2)"),
        ("id: &x a\nwhy: *x\n", "aliases (*name) are not read"),
        ("id: !!python/object/apply:os.getcwd []\n", "is not the YAML of a scenario"),
        ("a: " * 3000, "is not the YAML of a scenario"),
        ("[" * 100_000, "is not the YAML of a scenario"),
    ],
)
def test_a_file_that_is_none(write, text, says):
    problems = told(write(text))
    assert len(problems) >= 1
    assert all(problem.startswith("pump-house.yaml: ") for problem in problems)
    assert any(says in problem for problem in problems), problems


def test_bytes_that_are_no_text(write):
    folder = write(GOOD)
    (folder / "pump-house.yaml").write_bytes(b"id: caf\xe9\n")
    assert told(folder) == ["pump-house.yaml: is not UTF-8; save it as UTF-8"]


def test_ids_that_collide(write):
    write(GOOD, "pump-house.yml")
    write(changed(id="other"), "third.yaml")
    folder = write(GOOD)
    assert told(folder) == [
        "pump-house.yml: id: 'pump-house' is the id of pump-house.yaml as well; choose another",
        "third.yaml: id: is 'other'; a file is named after its scenario (other.yaml)",
    ]
    ours = changed(id="jubilee")
    for path in folder.iterdir():
        path.unlink()
    write(ours, "jubilee.yaml")
    with pytest.raises(ConfigError) as caught:
        index([SHIPPED, folder])
    assert list(caught.value.problems) == [
        "jubilee.yaml: id: 'jubilee' is the id of jubilee.yaml, which is shipped as well; choose another"
    ]


def test_every_problem_of_every_file_at_once(write):
    write(changed(exepct="pass", why=None, events__0__kind="msg"))
    folder = write(changed(id="second", query__budget=2, gold__avoid__0__any=["40"]), "second.yaml")
    names = [line.split(":")[0] + ":" + line.split(":")[1] for line in told(folder)]
    assert sorted(names) == [
        "pump-house.yaml: events.0.kind",
        "pump-house.yaml: exepct",
        "pump-house.yaml: why",
        "second.yaml: gold.avoid.0",
        "second.yaml: query.budget",
    ]


def test_folders_that_are_none(tmp_path):
    assert told(tmp_path / "nowhere") == [
        f"harness.settings.scenarios: {tmp_path / 'nowhere'}: No such file or directory"
    ]
    assert told(tmp_path) == [f"harness.settings.scenarios: {tmp_path} holds no scenario (*.yaml)"]


def test_a_gold_text_that_everybody_says_is_refused_where_filler_is_drawn(write):
    value = changed(query__task="Pump?", wordings=["Pump! Pump!", "Go."])
    value["gold"]["carry"][0]["any"] = ["th", "he", "er", "an", "re", "in", "on", "at", "is", "st", "al"]
    harness = build(HarnessConfig(name="handoff", settings={"scenarios": str(write(value)), "shipped": False}))
    with pytest.raises(DatasetError, match="pump-house: a text of its gold is in nearly every filler event"):
        list(harness.read())


def test_notes_are_for_the_author(write):
    value = changed(distractors=0, events__1__text="Mira asks: What has been tried on the pump?")
    value["gold"]["signal"] = [{"label": "age", "any": ["a long time"]}, {"label": "day", "any": ["05 March 2026"]}]
    assert list(notes(read_spec(write(value) / "pump-house.yaml"))) == [
        "query.task: an event says the same words; they are taken for an echo and not scored",
        "gold.signal.0: no event says 'a long time'; only a system that adds it can pass",
        "distractors: 0, so that the variants ask the same history again",
    ]


# --- from the command line -----------------------------------------------------------------------------------------


def test_data_check_tells_all_and_exits_with_2(cli: Cli, write, tmp_path: Path) -> None:
    write(changed(exepct="pass"))
    write(changed(id="second", query__budget=2), "second.yaml")
    done = cli("data", "check", "handoff", "harness.settings.scenarios=mine")
    assert done.returncode == 2
    assert "pump-house.yaml: exepct: no such key (did you mean 'expect'?)" in done.stderr
    assert "second.yaml: query.budget: 2 tokens are too small" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_folder_is_run_resumed_from_elsewhere_and_reported(cli: Cli, write, tmp_path: Path) -> None:
    write(GOOD)
    own = ("harness=handoff", "harness.settings.scenarios=mine", "harness.settings.shipped=false")
    done = cli(*own, "+arm=bm25")
    assert done.returncode == 0, done.stderr
    (run,) = runs_in(tmp_path / "outputs")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    rows = (run / "rows.jsonl").read_bytes()
    (run / "rows.jsonl").write_bytes(b"".join(rows.splitlines(keepends=True)[:2]))
    (run / "summary.json").unlink()
    again = cli("resume", str(run), cwd=elsewhere)
    assert again.returncode == 0, again.stderr
    assert len((run / "rows.jsonl").read_bytes().splitlines()) == 5
    shown = cli("report", str(run))
    assert shown.returncode == 0, shown.stderr
    for text in ("handoff: composition", "1 scenario, 0 expected to fail", "by skill", "predictions that were wrong"):
        assert text in shown.stdout
