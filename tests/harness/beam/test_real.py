"""Four real BEAM chats, where they are at hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.harness import build
from runner.harness.beam import Beam
from runner.harness.beam.questions import GOLD
from runner.types import Scenario

CHATS = {"1": 188, "2": 200, "9": 270, "18": 362}


@pytest.fixture(scope="module")
def harness(shared_data: Path) -> Beam:
    folder = shared_data / "beam"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}")
    found = build(HarnessConfig(name="beam", dataset={"path": str(folder), "sha256": None}))
    assert isinstance(found, Beam)
    return found


@pytest.fixture(scope="module")
def scenarios(harness: Beam) -> dict[str, Scenario]:
    return {scenario.id: scenario for scenario in harness.load(SliceConfig())}


def raw(shared_data: Path, number: str, name: str) -> Any:
    return json.loads((shared_data / "beam" / "100K" / number / name).read_text(encoding="utf-8"))


def test_twenty_questions_each_two_an_ability(scenarios: dict[str, Scenario]) -> None:
    assert list(scenarios) == [f"100K-{number}" for number in CHATS]
    for number, messages in CHATS.items():
        scenario = scenarios[f"100K-{number}"]
        assert len(scenario.events) == messages
        assert Counter(question.category for question in scenario.questions) == dict.fromkeys(GOLD, 2)
        assert [question.id for question in scenario.questions] == [f"{scenario.id}/{n}" for n in range(20)]


def test_no_marker_is_left_and_nothing_else_is_lost(shared_data: Path, scenarios: dict[str, Scenario]) -> None:
    stripped = 0
    for number in CHATS:
        messages = [m for b in raw(shared_data, number, "chat.json") for turn in b["turns"] for m in turn]
        events = {event.id: event for event in scenarios[f"100K-{number}"].events}
        for message in messages:
            event = events[str(message["id"])]
            assert "->->" not in event.text
            assert event.actor == message["role"]
            kept = message["content"].strip()
            assert kept.startswith(event.text)
            rest = kept.removeprefix(event.text)
            assert rest == "" or rest.strip().startswith("->-> ")
            stripped += bool(rest)
    assert stripped == 392


def test_evidence_is_resolved(shared_data: Path, harness: Beam, scenarios: dict[str, Scenario]) -> None:
    assert "evidence that names no single message: 0" in harness.check()
    blind = 0
    for number in CHATS:
        scenario = scenarios[f"100K-{number}"]
        ids = {event.id for event in scenario.events}
        for question in scenario.questions:
            assert set(question.gold.evidence) <= ids
            blind += not question.gold.evidence and not question.gold.abstain
            assert question.gold.abstain == (question.category == "abstention")
    assert blind == 3
    assert scenarios["100K-18"].questions[5].gold.evidence == ("24", "26", "28", "146", "202", "204", "262")
    assert scenarios["100K-1"].questions[4].gold.evidence == ("4", "60", "116")


def test_gold_and_points_are_the_files(shared_data: Path, scenarios: dict[str, Scenario]) -> None:
    points = 0
    for number in CHATS:
        published = raw(shared_data, number, "probing_questions.json")
        asked = scenarios[f"100K-{number}"].questions
        flat = [(ability, item) for ability in GOLD for item in published[ability]]
        for question, (ability, item) in zip(asked, flat, strict=True):
            assert question.gold.answers == (str(item[GOLD[ability]]),)
            assert question.gold.points == tuple(item["rubric"])
            points += len(question.gold.points)
    assert points == 205


def test_the_published_answers_are_in_order(harness: Beam, scenarios: dict[str, Scenario]) -> None:
    """The lexical alignment finds every event of the eight ideal answers, in order."""
    for scenario in scenarios.values():
        for question in scenario.questions:
            if question.category == "event_ordering":
                told = harness.score_answer(question, question.gold.answers[0])
                assert told["event_ordering_lexical"] == pytest.approx(1)


def test_dates_are_those_of_the_batches(scenarios: dict[str, Scenario]) -> None:
    dates = {f"{event.time:%Y-%m-%d}" for event in scenarios["100K-18"].events if event.time is not None}
    assert dates == {"2024-03-03", "2024-04-10", "2024-05-20", "2024-07-02", "2024-09-15"}
