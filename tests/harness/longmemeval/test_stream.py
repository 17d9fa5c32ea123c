"""A file of any length takes the memory of one question."""

from __future__ import annotations

import importlib.util
import json
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.harness import build
from tests.conftest import ROOT

BENCH = ROOT / "tests" / "bench" / "longmemeval_stream.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("longmemeval_stream", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peak_of_a_census(path: Path, questions: int) -> int:
    """Bytes that Python held at most while a whole file was counted."""
    harness = build(HarnessConfig(name="longmemeval", dataset={"path": str(path), "sha256": None}))
    tracemalloc.start()
    try:
        census = harness.census(SliceConfig())
        assert census.questions == census.scenarios == census.clusters == questions
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_questions(bench: ModuleType, tmp_path: Path) -> None:
    peaks = []
    for questions in (3, 15):
        path = tmp_path / f"{questions}.json"
        bench.write(path, questions, tokens=30_000)
        peaks.append(peak_of_a_census(path, questions))
    size = path.stat().st_size
    assert size > 15 * 100_000
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < size / 2


def test_the_generated_file_has_the_official_layout(bench: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    bench.write(path, 2, tokens=20_000)
    items = json.loads(path.read_text(encoding="utf-8"))
    assert [item["question_id"] for item in items] == ["m00000", "m00001"]
    words = sum(len(turn["content"].split()) for session in items[0]["haystack_sessions"] for turn in session)
    assert 0.9 * 20_000 < words / 0.75 < 1.1 * 20_000
    harness = build(HarnessConfig(name="longmemeval", dataset={"path": str(path), "sha256": None}))
    first = next(harness.read())
    (question,) = first.questions
    events = {event.id: event.text for event in first.events}
    assert [question.gold.answers[0] in events[name] for name in question.gold.evidence] == [True]


def test_a_history_of_many_sessions(bench: ModuleType, tmp_path: Path) -> None:
    """One question of 2,000 sessions, as long as M's longest histories and longer."""
    path = tmp_path / "long.json"
    bench.write(path, 1, tokens=100_000, sessions=2000)
    (scenario,) = build(HarnessConfig(name="longmemeval", dataset={"path": str(path), "sha256": None})).read()
    assert len({event.session for event in scenario.events}) == 2000
    assert scenario.events[-1].session == "s2000"
    times = [event.time for event in scenario.events if event.time is not None]
    assert times == sorted(times)
