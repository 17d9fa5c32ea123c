"""The published LoCoMo file: its counts, and every trap in it. Expected numbers were counted apart from this code."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.errors import DatasetError
from runner.harness import build
from runner.types import Hit

SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"


@pytest.fixture(scope="module")
def raw(shared_data):
    return json.loads((shared_data / "locomo" / "locomo10.json").read_text(encoding="utf-8"))


def make(shared_data, **more):
    dataset = {"path": str(shared_data / "locomo" / "locomo10.json"), "sha256": SHA256}
    return build(HarnessConfig(name="locomo_qa", dataset=dataset, **more))


@pytest.fixture(scope="module")
def harness(shared_data):
    return make(shared_data)


@pytest.fixture(scope="module")
def scenarios(harness):
    return {scenario.id: scenario for scenario in harness.read()}


def test_counts(harness, scenarios):
    assert len(scenarios) == 10
    assert sum(len(scenario.events) for scenario in scenarios.values()) == 5882
    assert len({(s.id, event.session) for s in scenarios.values() for event in s.events}) == 272
    census = harness.census(SliceConfig())
    assert census.questions == 1986
    assert census.clusters == 10
    assert census.by_category == {"1": 282, "2": 321, "3": 96, "4": 841, "5": 446}
    assert "3" not in {question.category for question in scenarios["conv-30"].questions}
    info = harness.dataset()
    assert (info.sha256, info.pinned, info.licence) == (SHA256, True, "CC BY-NC 4.0")


def test_ids(scenarios):
    assert scenarios["conv-26"].questions[0].id == "conv-26/0"
    ids = [question.id for scenario in scenarios.values() for question in scenario.questions]
    assert len(set(ids)) == 1986
    for scenario in scenarios.values():
        assert len({event.id for event in scenario.events}) == len(scenario.events)


def test_order_and_now(scenarios):
    for scenario in scenarios.values():
        times = [event.time for event in scenario.events]
        assert times == sorted(times)
        numbers = [int(event.session.removeprefix("session_")) for event in scenario.events]
        assert numbers == sorted(numbers)
        assert {question.now for question in scenario.questions} == {times[-1]}
    # conv-26: session 1 and session 19, the last; sorted as text the last would be session 9
    assert scenarios["conv-26"].events[0].time == datetime(2023, 5, 8, 13, 56)
    assert scenarios["conv-26"].events[-1].session == "session_19"
    assert scenarios["conv-26"].questions[0].now == datetime(2023, 10, 22, 9, 55)


def test_pilot_slice(harness):
    (scenario,) = harness.load(SliceConfig(scenarios=["conv-26"], per_category=10))
    assert Counter(question.category for question in scenario.questions) == dict.fromkeys("12345", 10)
    assert len(scenario.events) == 419


def test_captions_in_queries_and_urls_out(raw, scenarios):
    captions = 0
    for sample in raw:
        events = {event.id: event.text for event in scenarios[sample["sample_id"]].events}
        for key, turns in sample["conversation"].items():
            for turn in turns if isinstance(turns, list) else ():
                text = events[turn["dia_id"]]
                assert text.startswith(turn["text"].strip())
                if "blip_caption" in turn:
                    captions += 1
                    assert turn["blip_caption"].strip() in text
                else:
                    assert text == turn["text"].strip(), key
                for url in turn.get("img_url", ()):
                    assert url not in text
                # the words of a query may be said as well; what is ingested is text and caption, no more
                extra = text.removeprefix(turn["text"].strip()).removeprefix(" [shares a photo: ").removesuffix("]")
                assert extra == turn.get("blip_caption", "").strip()
    assert captions == 1226


def test_no_gold_reaches_an_event(raw, scenarios):
    fields = ["adversarial_answer", "evidence", "dia_id", "blip_caption", "img_url", "event_summary", "observation"]
    for sample in raw:
        scenario = scenarios[sample["sample_id"]]
        for event in scenario.events:
            for field in fields:
                assert field not in f"{event.text} {event.actor} {event.session} {event.id} {event.kind}"
        assert {event.kind for event in scenario.events} == {"message"}
        assert {event.actor for event in scenario.events} == {
            sample["conversation"]["speaker_a"],
            sample["conversation"]["speaker_b"],
        }


def test_adversarial_gold_is_to_abstain(raw, scenarios):
    seen = answered = 0
    for sample in raw:
        for item, question in zip(sample["qa"], scenarios[sample["sample_id"]].questions, strict=True):
            if item["category"] == 5:
                seen += 1
                answered += "answer" in item
                assert question.gold.abstain
                assert question.gold.answers == ()
            else:
                assert question.gold.answers == (str(item["answer"]),)
                assert not question.gold.abstain
    assert (seen, answered) == (446, 2)


def test_evidence(scenarios):
    def gold(name):
        scenario, index = name.split("/")
        return scenarios[scenario].questions[int(index)].gold.evidence

    assert gold("conv-26/37") == ("D8:6", "D9:17")
    assert gold("conv-49/31") == ("D9:1", "D4:4", "D4:6")
    assert "D11:26" in gold("conv-43/18")
    assert "D30:5" in gold("conv-50/69")
    for name in ("conv-26/30", "conv-26/46", "conv-50/39", "conv-50/42"):
        assert gold(name) == ()
    for scenario in scenarios.values():
        ids = {event.id for event in scenario.events}
        for question in scenario.questions:
            assert set(question.gold.evidence) <= ids
            assert len(set(question.gold.evidence)) == len(question.gold.evidence)


@pytest.mark.parametrize(
    "line",
    [
        "conversations 10, sessions 272, turns 5882, questions 1986",
        "1 multi-hop 282, 2 temporal 321, 3 open-domain 96, 4 single-hop 841, 5 adversarial 446",
        "ingested as part of what was said: 1226",
        "hidden 'query', never ingested: 888",
        "conv-26: 16 dates without a session, ignored",
        "conv-30: no question of category open-domain",
        "446 questions whose gold is to abstain; 2 carry an 'answer'",
        "integer answer: 6 (conv-26/1, conv-26/26, conv-26/40, conv-26/49, conv-26/72, conv-26/75)",
        "empty evidence: 4 (conv-26/30, conv-26/46, conv-50/39, conv-50/42)",
        "malformed evidence: 6 ",
        "zero-padded evidence: 1 (conv-50/69)",
        "names no turn after repair: 3 (conv-42/58 'D10:19', conv-42/88 'D', conv-47/38 'D4:36')",
        "asked twice: 12; across categories, with contradictory gold: 1 (conv-30/61 and conv-30/95)",
    ],
)
def test_check_tells_every_trap(harness, line):
    assert any(line in told for told in harness.check())


def test_fork_of_the_real_file_is_refused(raw, tmp_path):
    forked = json.loads(json.dumps(raw))
    for sample in forked:
        for item in sample["qa"]:
            if "adversarial_answer" in item:
                item["answer"] = item.pop("adversarial_answer")
    file = tmp_path / "fork.json"
    file.write_text(json.dumps(forked))
    harness = build(HarnessConfig(name="locomo_qa", dataset={"path": str(file)}))
    with pytest.raises(DatasetError, match=r"446 of 446 category-5 questions .* fork"):
        list(harness.read())


def test_retrieval_scores(harness, scenarios):
    question = scenarios["conv-26"].questions[37]  # D8:6 and D9:17
    hits = [Hit(key=name, text="", sources=(name,)) for name in ("D1:1", "D8:1", "D9:17")]
    metrics = harness.score_retrieval(question, hits)
    assert metrics["recall@1"] == 0
    assert metrics["recall@5"] == 1
    assert metrics["fraction@5"] == 0.5
    assert metrics["recall_all@10"] == 0
    assert metrics["mrr"] == pytest.approx(1 / 3)
    assert metrics["session_mrr"] == 0.5
    assert metrics["session_fraction@5"] == 1
    assert metrics["session_recall_all@10"] == 1
    blind = harness.score_retrieval(question, [*hits, Hit(key="x", text="", sources=None)])
    assert set(blind.values()) == {None}
    assert blind.keys() == metrics.keys()
    assert set(harness.score_retrieval(question, []).values()) == {0.0, None}  # precision of nothing is not 0


@pytest.mark.parametrize("name", ["conv-26/30", "conv-26/160"])
def test_no_retrieval_metric_without_evidence_or_in_category_5(harness, scenarios, name):
    question = scenarios["conv-26"].questions[int(name.split("/")[1])]
    assert question.gold.abstain or not question.gold.evidence
    assert set(harness.score_retrieval(question, [Hit(key="a", text="", sources=("D1:1",))]).values()) == {None}


def test_official_score_by_category(harness, scenarios):
    question = scenarios["conv-26"].questions[160]
    assert question.category == "5"
    assert harness.score_answer(question, "Not mentioned.") == {"locomo_f1": 1.0}
    integer = scenarios["conv-26"].questions[1]
    assert harness.score_answer(integer, "2022") == {"locomo_f1": 1.0}


def test_audit_patch(shared_data):
    harness = make(shared_data, patches=[str(shared_data / "locomo_audit" / "errors.json")])
    report = harness.patch_report()
    assert report.comparable.total() == 1540
    assert report.excluded == {"1": 28, "2": 26, "3": 9, "4": 36}
    assert report.evidence_fixed.total() == 57
    assert report.answer_fixed.total() == 0
    assert f"{report.ceiling:.3f}" == "0.936"
    assert "1540 as published, 1441 patched; ceiling against the published gold 93.6 %" in report.lines()[-1]
    flags = Counter(
        flag for scenario in harness.read() for question in scenario.questions for flag in harness.flags(question)
    )
    assert flags == {"gold_excluded": 99, "gold_fixed": 57}
    first = next(harness.read())
    assert first.questions[1].gold.evidence == ("D1:14",)
    assert first.questions[1].gold.answers == ("2022",)
    assert harness.dataset().patches == "f298ef46263fada20688a1d672be37d4f488c6da3b19343eea55ae5c1b5fe55e"
    # the slice is the same set of questions, patched or not
    assert harness.census(SliceConfig()).sha256 == make(shared_data).census(SliceConfig()).sha256
