"""Every knob changes retrieval on real conversations when it is switched on alone; off is not computed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig, Dataset, HarnessConfig, SliceConfig
from runner.errors import SearchError
from runner.harness import build as build_harness
from runner.llm import Model, Request
from runner.llm.prices import Price, Prices
from runner.system import Opening, build
from runner.system import hybrid as module
from runner.system._retrieval import onnx_models
from runner.types import ABSTAINED_MIN_OVERLAP, Completion, Event, Gold, Query, Question, Retrieval, Scenario

pytestmark = pytest.mark.skipif(not onnx_models.installed(), reason="needs the extra 'embed'")

OFF: dict[str, Any] = {
    "graph": False,
    "cross_encoder": False,
    "mmr": False,
    "temporal": False,
    "temporal_arm": False,
    "followup": False,
    "hyde": False,
    "min_overlap": 0.0,
    "min_score": {"bm25": 0.0, "dense": 0.0},
}
STUB = 'import sys; q = sys.stdin.read(); print(\'{"result": "I adopted a puppy last year"}\')'
HYDE = {"hyde": {"name": "stub", "provider": "command", "command": [sys.executable, "-S", "-c", STUB]}}
CACHE: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def _one_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    CACHE.append(tmp_path_factory.mktemp("models"))


@cache
def _scenario(path: Path) -> Scenario:
    harness = build_harness(HarnessConfig(name="locomo_qa", dataset=Dataset(path=str(path))))
    return next(iter(harness.load(SliceConfig(scenarios=["conv-26"], categories=["1", "2", "4"]))))


@pytest.fixture
def conversation(shared_data: Path) -> Scenario:
    """The first 150 turns of conv-26 with every question: enough to tell knobs apart, quick to embed."""
    path = shared_data / "locomo" / "locomo10.json"
    if not path.is_file():
        pytest.skip(f"no LoCoMo at {path}")
    return _scenario(path)


def search(
    events: Sequence[Event], questions: Sequence[Question], knobs: dict[str, Any], k: int = 10, **settings: Any
) -> list[Retrieval]:
    async def session() -> list[Retrieval]:
        system = build(ArmConfig(name="h", system="hybrid", knobs={**OFF, **knobs}, settings=settings))
        await system.open(Opening(cache_dir=CACHE[0]))
        try:
            await system.write("a", events)
            return [await system.search("a", Query(text=item.text, now=item.now, k=k)) for item in questions]
        finally:
            await system.close()

    return asyncio.run(session())


def keys(found: Sequence[Retrieval]) -> list[list[str]]:
    return [[hit.key for hit in result.hits] for result in found]


def dated(question: Question) -> bool:
    return module.spans(question.text, question.now) != []


KNOBS: dict[str, tuple[dict[str, Any], Callable[[Question], bool], int]] = {
    "graph": ({"graph": True}, lambda item: True, 12),
    "cross_encoder": ({"cross_encoder": True}, lambda item: True, 3),
    "mmr": ({"mmr": True}, lambda item: True, 12),
    "temporal": ({"temporal": True}, dated, 8),
    "temporal_arm": ({"temporal_arm": True}, lambda item: item.category == "2", 8),
    "followup": ({"followup": True}, lambda item: True, 12),
    "min_overlap": ({"min_overlap": 0.9}, lambda item: True, 20),
    "min_score.bm25": ({"min_score": {"bm25": 6.0, "dense": 0.0}}, lambda item: True, 12),
    "min_score.dense": ({"min_score": {"bm25": 0.0, "dense": 0.65}}, lambda item: True, 12),
    "hyde": ({"hyde": True}, lambda item: True, 3),
}


@pytest.mark.parametrize("knob", sorted(KNOBS))
def test_a_knob_alone_changes_what_is_retrieved(knob: str, conversation: Scenario) -> None:
    on, wanted, count = KNOBS[knob]
    events = conversation.events[:150]
    questions = [item for item in conversation.questions if wanted(item)][:count]
    assert questions
    settings = HYDE if knob == "hyde" else {}
    off, found = search(events, questions, {}), search(events, questions, on, **settings)
    assert keys(off) != keys(found)
    assert all(len(result.hits) == 10 for result in off)


@pytest.mark.parametrize("knob", ["temporal", "temporal_arm"])
def test_a_question_without_a_time_is_left_alone(knob: str, conversation: Scenario) -> None:
    events = conversation.events[:150]
    questions = [item for item in conversation.questions if not dated(item) and not module.asks_when(item.text)][:8]
    assert keys(search(events, questions, {knob: True})) == keys(search(events, questions, {}))


def test_what_is_off_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("computed")

    for name in ("TermGraph", "Timeline", "Reranker", "diversify", "spans", "Hyde"):
        monkeypatch.setattr(module, name, explode)
    monkeypatch.setattr(module.second_round, "terms", explode)
    events = [Event(id="a", text="a cat"), Event(id="b", text="a dog")]
    assert keys(search(events, [_ask("cat")], {})) == [["a", "b"]]


def _ask(text: str) -> Question:
    return Question(id="q", text=text, category="1", gold=Gold())


ANIMALS = [Event(id="a", text="a black cat sat"), Event(id="b", text="a dog ran"), Event(id="c", text="a black hat")]


def test_all_off_is_plain_reciprocal_rank_fusion() -> None:
    found = search(ANIMALS, [_ask("cat")], {})
    # bm25 ranks "a" alone and dense ranks it first too: 2 / 61; the others have a dense rank only.
    scores = {hit.key: hit.score for hit in found[0].hits}
    assert scores["a"] == pytest.approx(2 / 61)
    assert sorted((scores["b"], scores["c"]), reverse=True) == pytest.approx([1 / 62, 1 / 63])


def test_the_gate_abstains_and_says_so() -> None:
    knobs = {"min_overlap": 0.6}
    near, far, empty = search(ANIMALS, [_ask("a black cat?"), _ask("a black tuba solo?"), _ask("what?")], knobs)
    assert near.hits
    assert near.notes == ()
    assert (far.hits, far.notes) == ((), (ABSTAINED_MIN_OVERLAP,))  # one word in three is shared
    assert empty.hits  # a question without content words gives nothing to measure


DOG = {"name": "m", "provider": "command", "command": [sys.executable, "-S", "-c", 'print(\'{"result": "dog"}\')']}


def test_hyde_asks_with_the_answer() -> None:
    (found,) = search(ANIMALS, [_ask("what?")], {"hyde": True}, hyde=DOG)
    assert found.hits[0].key == "b"


def test_the_run_makes_the_calls_of_hyde_at_its_own_prices() -> None:
    prices = Prices({"dog-model": Price(input=1e6, output=0.0)}, "2026-01-01", "")
    calls: list[tuple[str, float | None]] = []

    async def complete(model: Model, request: Request) -> Completion:
        assert asyncio.current_task() is task[0]  # in the task of the search, so that a run knows its question
        made = await model.complete(request)
        calls.append((request.prompt, made.usage.usd))
        return made

    code = 'print(\'{"result": "dog", "usage": {"input_tokens": 3, "output_tokens": 1}}\')'
    config = {**DOG, "model": "dog-model", "command": [sys.executable, "-S", "-c", code]}
    task: list[Any] = []

    async def session() -> Retrieval:
        system = build(ArmConfig(name="h", system="hybrid", knobs={**OFF, "hyde": True}, settings={"hyde": config}))
        await system.open(Opening(cache_dir=CACHE[0], complete=complete, prices=prices))
        task.append(asyncio.current_task())
        try:
            await system.write("a", ANIMALS)
            return await system.search("a", Query(text="what?"))
        finally:
            await system.close()

    assert asyncio.run(session()).hits[0].key == "b"
    ((prompt, usd),) = calls
    assert "Question: what?" in prompt
    assert usd == pytest.approx(3.0)  # three tokens at a million dollars a million


@pytest.mark.parametrize(
    ("temporal", "question", "dates"),
    [
        (True, "What did she adopt in May 2023?", True),
        (False, "What did she adopt in May 2023?", False),
        (True, "What did she adopt?", False),  # no time is named
    ],
)
def test_the_cross_encoder_reads_dates_when_the_question_names_a_time(
    temporal: bool, question: str, dates: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = module.Reranker.score
    monkeypatch.setattr(
        module.Reranker, "score", lambda self, asked, texts: read.extend(texts) or real(self, asked, texts)
    )
    events = [Event(id="a", text="a cat", time=datetime(2023, 5, 8, 13, 56)), Event(id="b", text="a dog")]
    search(events, [_ask(question)], {"cross_encoder": True, "temporal": temporal})
    assert sorted(read) == sorted(["08 May 2023: a cat" if dates else "a cat", "a dog"])


@pytest.mark.parametrize("system", ["dense", "hybrid", "cross_encoder"])
def test_a_search_answered_from_a_cache_says_so(system: str, tmp_path: Path) -> None:
    knobs = {} if system == "dense" else {**OFF, "cross_encoder": system == "cross_encoder"}

    def session(question: str, **changed: Any) -> bool:
        async def one() -> bool:
            arm = ArmConfig(name="x", system="dense" if system == "dense" else "hybrid", knobs={**knobs, **changed})
            built = build(arm)
            await built.open(Opening(cache_dir=tmp_path))
            try:
                await built.write("a", ANIMALS)
                return (await built.search("a", Query(text=question))).cached
            finally:
                await built.close()

        return asyncio.run(one())

    assert [session("a cat?"), session("a cat?"), session("a dog?")] == [False, True, False]
    if system == "hybrid":  # the question is known and its pairs are not: the time is that of the pairs
        assert session("a cat?", cross_encoder=True) is False


def test_a_model_that_fails_is_a_failed_search() -> None:
    broken = {"name": "m", "provider": "command", "command": [sys.executable, "-S", "-c", "print('no json')"]}
    with pytest.raises(SearchError, match="hyde: "):
        search(ANIMALS, [_ask("what?")], {"hyde": True}, hyde=broken)
