"""The smoke set: lenient gold, honest memories, and thresholds that a collapse does not reach."""

from __future__ import annotations

import asyncio
import random

import pytest

from runner.cli.run import compose
from runner.config import ArmConfig, HarnessConfig, SliceConfig
from runner.errors import ConfigError
from runner.harness import build
from runner.harness.quality import contains_gold
from runner.system import Opening
from runner.system import build as system_of
from runner.types import Hit, Query


@pytest.fixture(scope="module")
def quality():
    return build(HarnessConfig(name="quality", k=5))


@pytest.fixture(scope="module")
def scenario(quality):
    (found,) = quality.load(SliceConfig())
    return found


def test_gold_is_looked_for_in_any_case_with_underscores_as_spaces():
    assert contains_gold("decision_message_broker", ["Message Broker"])
    assert contains_gold("the message broker", ["message_broker"])
    assert contains_gold("GROSSE STRASSE", ["große straße"])
    assert not contains_gold("decision-message-broker", ["message broker"])
    assert not contains_gold("", ["x"])


def test_fifteen_questions_whose_gold_stands_in_one_memory_each(scenario):
    assert len(scenario.questions) == 15
    assert len(scenario.events) == 60
    assert len({event.id for event in scenario.events}) == 60
    assert all(len(question.gold.evidence) == 1 for question in scenario.questions)
    assert not any(contains_gold(question.text, question.gold.answers) for question in scenario.questions)
    assert all(question.now > scenario.events[-1].time for question in scenario.questions)


def test_metrics_by_hand(quality, scenario):
    question = next(q for q in scenario.questions if q.gold.answers == ("rabbitmq",))
    hits = [
        Hit(key="a", text="kafka"),
        Hit(key="Use_RabbitMQ", text="."),
        Hit(key="b", text="of rabbitmq"),
        Hit(key="c", text=""),
    ]
    got = quality.score_retrieval(question, hits)
    assert (got["recall@1"], got["recall@5"], got["recall@all"], got["mrr"], got["rank@1"]) == (0, 1, 1, 0.5, 0)
    assert got["precision@5"] == 0.5
    assert quality.score_retrieval(question, [])["recall@5"] == 0
    assert quality.score_retrieval(question, [])["precision@5"] is None
    assert set(quality.score_retrieval(question, [Hit(key="", text="")]).values()) == {None}
    assert quality.score_answer(question, "We use RabbitMQ.") == {"substring": 1}


def mean(quality, scenario, arm: dict) -> dict[str, float]:
    """What an arm gets of the metrics that have a threshold."""

    async def asked() -> list[dict]:
        system = system_of(ArmConfig(**arm))
        await system.open(Opening())
        await system.reset("n")
        await system.settle("n", await system.write("n", scenario.events), 10)
        queries = [(question, Query(text=question.text, now=question.now, k=10)) for question in scenario.questions]
        return [quality.score_retrieval(q, (await system.search("n", query)).hits) for q, query in queries]

    rows = asyncio.run(asked())
    return {name: sum(row[name] for row in rows) / len(rows) for name in quality.thresholds()}


def reaches(quality, means: dict[str, float]) -> bool:
    return all(means[name] >= threshold for name, threshold in quality.thresholds().items())


@pytest.mark.parametrize(
    ("name", "passes"),
    [("bm25", True), ("dense", True), ("hybrid", True), ("no_memory", False), ("recency_window", False)],
)
def test_thresholds_hold_apart_what_finds_and_what_does_not(quality, scenario, name, passes):
    arm = compose(["harness=quality", f"+arm={name}"])["arm"]
    assert reaches(quality, mean(quality, scenario, arm)) is passes


def test_a_blind_ranking_does_not_reach_the_thresholds(quality, scenario):
    rng = random.Random(7)
    for _ in range(20):
        rows = []
        for question in scenario.questions:
            drawn = rng.sample(scenario.events, 10)
            rows.append(quality.score_retrieval(question, [Hit(key=e.id, text=e.text) for e in drawn]))
        assert not reaches(quality, {name: sum(row[name] for row in rows) / 15 for name in quality.thresholds()})


def test_thresholds_follow_k_and_are_no_part_of_the_instrument():
    built = build(HarnessConfig(name="quality", k=10, settings={"min_recall": 0.5, "min_mrr": 0}))
    assert built.thresholds() == {"recall@10": 0.5, "mrr": 0}
    assert built.settings.model_dump() == {}


def test_what_it_does_not_take():
    with pytest.raises(ConfigError, match="your own labels: harness=retrieval_recall"):
        build(HarnessConfig(name="quality", dataset={"path": "x"}))
    with pytest.raises(ConfigError, match="takes no gold patches"):
        build(HarnessConfig(name="quality", patches=["x"]))
    with pytest.raises(ConfigError, match="min_recall"):
        build(HarnessConfig(name="quality", settings={"min_recall": 1.5}))
    with pytest.raises(ConfigError, match="the smoke set has"):
        build(HarnessConfig(name="quality", dataset={"sha256": "0" * 64})).dataset()


def test_check_says_what_it_is_for(quality):
    told = "\n".join(quality.check())
    assert "memories 60, questions 15: one is 6.7 points" in told
    assert "decision 3, preference 3, incident 3, release 3, correction 3" in told
    assert "a run must reach: recall@5 0.8, mrr 0.6" in told
    assert "several" not in told
