"""The real LongMemEval slice and label file, where they are at hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.harness import build
from runner.harness.longmemeval.format import ABSTENTION, TYPES
from tests.support.recording_system import given_to_a_system


@pytest.fixture(scope="module")
def path(shared_data: Path) -> Path:
    file = shared_data / "longmemeval" / "longmemeval_slice.json"
    if not file.is_file():
        pytest.skip(f"no real data at {file}")
    return file


@pytest.fixture(scope="module")
def raw(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))


def config(path: Path) -> HarnessConfig:
    return HarnessConfig(name="longmemeval", dataset={"path": str(path), "sha256": None})


def test_the_types_and_abstentions_of_all_questions(shared_data: Path) -> None:
    file = shared_data / "longmemeval" / "text_context_eval.json"
    if not file.is_file():
        pytest.skip(f"no real data at {file}")
    items = json.loads(file.read_text(encoding="utf-8"))
    assert len({item["question_id"] for item in items}) == 500
    assert {item["question_type"] for item in items} == set(TYPES)
    assert sum(ABSTENTION in item["question_id"] for item in items) == 30


def test_every_turn_is_told_as_it_stands_and_in_time(path: Path, raw: list[dict[str, Any]]) -> None:
    scenarios = list(build(config(path)).read())
    assert len(scenarios) == len(raw) == 8
    for scenario, item in zip(scenarios, raw, strict=True):
        said = Counter((turn["role"], turn["content"]) for s in item["haystack_sessions"] for turn in s)
        assert Counter((event.actor, event.text) for event in scenario.events) == said
        times = [event.time for event in scenario.events if event.time is not None]
        assert len(times) == len(scenario.events)
        assert times == sorted(times)
        assert scenario.cluster == item["question_id"]
        (question,) = scenario.questions
        assert question.gold.answers == (str(item["answer"]),)
        assert len(question.gold.sessions) == len(item["answer_session_ids"])


def test_no_id_of_evidence_reaches_a_system(path: Path, raw: list[dict[str, Any]], tmp_path: Path) -> None:
    given, _ = given_to_a_system(config(path), tmp_path / "run")
    assert len(given) > 1_000_000
    for word in ("answer_", "has_answer", ABSTENTION):
        assert word not in given
    for item in raw:
        assert item["question_id"] not in given
        for name in item["haystack_session_ids"]:
            assert name not in given


def test_check_of_the_slice(path: Path) -> None:
    told = "\n".join(build(config(path)).check())
    assert "questions 8, each with a history: sessions 176, turns 1320" in told
    assert "integer answer: 2 " in told
    assert "evidence that names no session of its history: 0" in told
    assert "measured by sessions only: 8" in told
    assert build(config(path)).census(SliceConfig()).events == 1320
