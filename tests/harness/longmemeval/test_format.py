"""LongMemEval files, odd and bad, on small ones written here: traps are repaired and counted, the rest is refused."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, ModelConfig, SliceConfig
from runner.errors import ConfigError, DatasetError
from runner.harness import build
from runner.harness.longmemeval import LongMemEval, gold_alternatives
from runner.llm import Request
from runner.llm.judge import Judge
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, Completion, Hit, Question
from tests.support.harness_samples.longmemeval import longmemeval_item, longmemeval_update
from tests.support.refusals import refusal


@pytest.fixture
def harness_of(tmp_path: Path):
    def make(data: Any, **more: Any) -> LongMemEval:
        file = tmp_path / "longmemeval.json"
        if isinstance(data, bytes):
            file.write_bytes(data)
        else:
            file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        dataset = {"path": str(file), "sha256": more.pop("sha256", None)}
        harness = build(HarnessConfig(name="longmemeval", dataset=dataset, **more))
        assert isinstance(harness, LongMemEval)
        return harness

    return make


def only(harness: LongMemEval) -> Question:
    (scenario,) = harness.read()
    (question,) = scenario.questions
    return question


def test_sessions_go_by_time_and_are_named_by_it(harness_of) -> None:
    (scenario,) = harness_of([longmemeval_item()]).read()
    assert [event.id for event in scenario.events] == ["s0001/1", "s0001/2", "s0002/1", "s0002/2"]
    assert [event.actor for event in scenario.events] == ["user", "assistant"] * 2
    assert scenario.events[0].text == "Tell me of boats."  # second in the file, first in time
    assert scenario.events[0].time == datetime(2023, 5, 1, 10)
    assert scenario.events[2].time == scenario.events[3].time == datetime(2023, 5, 20, 2, 21)
    assert scenario.cluster == scenario.questions[0].id == "q1"
    assert scenario.questions[0].now == datetime(2023, 5, 30, 23, 40)


def test_evidence_is_the_labelled_turns_whoever_speaks(harness_of) -> None:
    item = longmemeval_item(kind="single-session-assistant")
    turns = item["haystack_sessions"][0]
    turns[0]["has_answer"], turns[1]["has_answer"] = False, True
    assert only(harness_of([item])).gold.evidence == ("s0002/2",)


def test_an_unlabelled_session_counts_whole_and_then_no_turn_does(harness_of) -> None:
    item = longmemeval_item()
    for turn in item["haystack_sessions"][0]:
        turn.pop("has_answer")
    harness = harness_of([item])
    question = only(harness)
    assert question.gold.evidence == ("s0002/1", "s0002/2")
    assert question.gold.sessions == ("s0002",)
    metrics = harness.score_retrieval(question, [Hit(key="x", text="", sources=("s0002/2",))])
    assert metrics["session_recall@10"] == metrics["session_recall_all@10"] == 1
    assert metrics["session_ndcg_any@5"] == metrics["session_recall_all@5"] == 1
    assert metrics["recall@10"] is None
    assert metrics["ndcg_any@5"] is None
    assert "measured by sessions only: 1" in "\n".join(harness.check())


def test_abstention_is_told_by_the_id_and_keeps_its_type(harness_of) -> None:
    harness = harness_of([longmemeval_item("q1_abs", "multi-session", answer="You never said so.")])
    question = only(harness)
    assert question.category == "multi-session"
    assert question.gold.abstain
    assert question.gold.answers == ("You never said so.",)
    assert question.rubric == "longmemeval_abstention"
    assert question.tags == {"answerable": "no"}
    assert set(harness.score_retrieval(question, [Hit(key="a", text="", sources=("s0002/1",))]).values()) == {None}
    assert harness.score_answer(question, "You never said so.") == {"token_f1": None}


@pytest.mark.parametrize(
    ("kind", "rubric"),
    [
        ("single-session-user", "plain"),
        ("single-session-assistant", "plain"),
        ("multi-session", "plain"),
        ("single-session-preference", "preference"),
        ("temporal-reasoning", "temporal"),
        ("knowledge-update", "update"),
    ],
)
def test_a_type_has_its_template(harness_of, kind: str, rubric: str) -> None:
    question = only(harness_of([longmemeval_item(kind=kind)]))
    assert (question.category, question.rubric) == (kind, f"longmemeval_{rubric}")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("yes", "CORRECT"),
        ("Yes.", "CORRECT"),
        ("no", "WRONG"),
        ("No, although the answer says yes", "WRONG"),
        ("The answer is yes", "judge_unparseable"),
        ("", "judge_unparseable"),
    ],
)
def test_only_the_first_word_of_a_judge_counts(harness_of, reply: str, label: str) -> None:
    judge = Judge(ModelConfig(name="f", provider="fake", model="lexical", rubric="locomo_lenient"), LongMemEval.rubrics)
    for item in (longmemeval_item(), longmemeval_item("q_abs"), longmemeval_item(kind="temporal-reasoning")):
        question = only(harness_of([item]))
        request = judge.request(question, "I do not know.")
        assert isinstance(request, Request), "a refusal is graded too"
        said = str(request.messages)
        assert question.text in said
        assert "Rex SECRETGOLD" in said
        assert judge.label(question, Completion(text=reply)).value == label


def test_types_by_other_names(harness_of) -> None:
    harness = harness_of([longmemeval_item("a", "multi-session"), longmemeval_item("b", "temporal-reasoning")])
    for names, wanted in (
        (["multi"], ["a"]),
        (["temporal_reasoning"], ["b"]),
        (["multi-session", "temporal"], ["a", "b"]),
    ):
        found = [question.id for s in harness.load(SliceConfig(categories=names)) for question in s.questions]
        assert found == wanted
    with pytest.raises(ConfigError, match="no category 'abstention'"):
        list(harness.load(SliceConfig(categories=["abstention"])))


def test_answers_as_text_and_as_alternatives(harness_of) -> None:
    assert only(harness_of([longmemeval_item(answer=4)])).gold.answers == ("4",)
    harness = harness_of([longmemeval_item(answer=["four bikes", 4])])
    assert only(harness).gold.answers == ("four bikes", "4")
    assert harness.score_answer(only(harness), "4") == {"token_f1": 1.0}


@pytest.mark.parametrize(
    ("gold", "found"),
    [
        ("7 days. 8 days (including the last day) is also acceptable.", ["7 days", "8 days"]),
        ("25 minutes and 50 seconds (or 25:50)", ["25 minutes and 50 seconds", "25:50"]),
        (
            "Revell F-15 Eagle (scale not mentioned), and a tank",
            ["Revell F-15 Eagle (scale not mentioned), and a tank"],
        ),
        ("Mod Podge or another sealant", ["Mod Podge or another sealant"]),
        ("4", ["4"]),
    ],
)
def test_alternatives_of_a_gold(gold: str, found: list[str]) -> None:
    assert gold_alternatives([gold]) == found


def test_traps_are_counted(harness_of) -> None:
    item = longmemeval_item(
        "odd",
        answer=3,
        question_date="2023/05/10 (Mon) 10:00",  # a Wednesday, and before the evidence
        haystack_session_ids=["answer_1", "x", "answer_1", "empty"],
        haystack_dates=[f"2023/05/{day} 10:00" for day in ("20 (Sat)", "01 (Mon)", "21 (Sun)", "22 (Mon)")],
        haystack_sessions=[
            [{"role": "user", "content": "Rex.", "has_answer": True}, {"role": "user", "content": " "}],
            [{"role": "user", "content": "Boats.", "has_answer": True}],
            [{"role": "user", "content": "Rex."}],
            [],
        ],
        answer_session_ids=["answer_1", "answer_1", "answer_gone"],
    )
    harness = harness_of([item])
    assert only(harness).gold.evidence == ("s0002/1",)  # the first of the two sessions of one id
    told = "\n".join(harness.check())
    for line in (
        "questions 1, each with a history: sessions 4, turns 3",
        "integer answer: 1 in 1 questions (odd)",
        "history not sorted by time in the file: 1 in 1",
        "session id that stands twice in a history: 1 in 1",
        "session later than the question: 3 in 1",
        "weekday that is not the date's: 1 in 1",
        "evidence cited twice: 1 in 1",
        "empty turn, left out: 1 in 1",
        "empty session: 1 in 1",
        "labelled turn outside the evidence sessions: 1 in 1",
        "evidence that names no session of its history: 1 (odd 'answer_gone')",
        "without resolvable evidence, no retrieval metric: 0",
    ):
        assert line in told


def test_question_ids_that_stand_twice(harness_of) -> None:
    harness = harness_of([longmemeval_item("a"), longmemeval_item("a")])
    assert "question ids that stand twice: 1 (a)" in harness.check()
    with pytest.raises(DatasetError, match="two scenarios share the id"):
        harness.census(SliceConfig())


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"question_type": "multi-hop"}, "unknown question_type 'multi-hop'"),
        ({"question_type": None}, "unknown question_type 'None'"),
        ({"hint": 1}, "unknown field 'hint'"),
        ({"a\nb": 1}, "unknown field 'a b'"),
        ({"answer": None}, "expected text, found null"),
        ({"answer": 1.5}, "expected text, found a number"),
        ({"answer": []}, "the list is empty"),
        ({"answer": True}, "expected text, found true or false"),
        ({"question": " "}, "the text is empty"),
        ({"question_date": "2023-05-30"}, "is not like '2023/05/30 (Tue) 23:40'"),
        ({"question_date": "2023/13/30 (Tue) 23:40"}, "is not like"),
        ({"haystack_dates": ["2023/05/20 (Sat) 02:21"]}, "2 session ids, 1 dates and 2 sessions"),
        ({"haystack_sessions": "x"}, "expected a list, found text"),
        ({"haystack_sessions": [[], {}]}, "expected a list of turns"),
        ({"haystack_sessions": [[], [{"role": "system", "content": "x"}]]}, "unknown role 'system'"),
        ({"haystack_sessions": [[], [{"role": "user"}]]}, "field 'content' is missing"),
        ({"haystack_sessions": [[], [{"role": "user", "content": 3}]]}, "expected text, found a number"),
        ({"haystack_sessions": [[], [{"role": "user", "content": "", "x": 1}]]}, "unknown field 'x'"),
        ({"haystack_sessions": [[], [{"role": "user", "content": "", "has_answer": 1}]]}, "neither true nor false"),
        ({"haystack_sessions": [[], [3]]}, "expected an object, found a number"),
        ({"answer_session_ids": [3]}, "expected text, found a number"),
        ({"question_id": ""}, "the text is empty"),
        ({"question_id": "x" * 300}, "longer than 256 bytes"),
    ],
)
def test_what_is_not_understood_is_refused(harness_of, changes: dict[str, Any], says: str) -> None:
    assert says in refusal(harness_of([longmemeval_item(**changes)]))


def test_a_missing_field_is_named(harness_of) -> None:
    item = longmemeval_item()
    del item["haystack_dates"]
    message = refusal(harness_of([longmemeval_item("a"), item]))
    assert "item 1: field 'haystack_dates' is missing" in message
    assert "harness.dataset.path=FILE" in message


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("[]", "holds no question"),
        ("{}", "does not begin as a JSON list"),
        ("[1]", "expected an object, found a number"),
        ("[NaN]", "is not valid JSON"),
        (json.dumps([longmemeval_item()]) + " x", "is not valid JSON"),
        (b'["\xff\xfe"]', "is not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"a": ' * 50_000, "nested too deeply"),
        (json.dumps([longmemeval_item()])[:400], "is truncated"),
        (json.dumps([longmemeval_item()])[:-1], "is truncated"),
    ],
)
def test_damaged_files(harness_of, data: str | bytes, says: str) -> None:
    assert says in refusal(harness_of(data))


def test_what_stands_before_the_damage_is_read(harness_of) -> None:
    whole = json.dumps([longmemeval_item(f"q{n}") for n in range(3)])
    stream = harness_of(whole[:-20]).read()
    assert [next(stream).cluster, next(stream).cluster] == ["q0", "q1"]
    with pytest.raises(DatasetError, match="is truncated"):
        next(stream)


def test_a_byte_order_mark_is_no_damage(harness_of) -> None:
    assert only(harness_of(b"\xef\xbb\xbf" + json.dumps([longmemeval_item()]).encode())).id == "q1"


def test_wrong_hash_tells_both(harness_of) -> None:
    import hashlib

    data = json.dumps([longmemeval_item()])
    message = refusal(harness_of(data, sha256="a" * 64))
    assert "a" * 64 in message
    assert hashlib.sha256(data.encode()).hexdigest() in message
    assert "harness.dataset.sha256=null" in message
    info = harness_of(data, sha256=hashlib.sha256(data.encode()).hexdigest()).dataset()
    assert info.pinned


def test_another_published_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.harness import longmemeval

    file = tmp_path / "f.json"
    file.write_bytes(b"[]")
    sha = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"  # of "[]"
    monkeypatch.setitem(longmemeval.PUBLISHED, sha, "it is M: harness=longmemeval_m")
    harness = build(HarnessConfig(name="longmemeval", dataset={"path": str(file), "sha256": "b" * 64}))
    with pytest.raises(DatasetError, match=r"\(it is M: harness=longmemeval_m\)"):
        harness.dataset()


# --- stale answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "stale"),
    [
        ("You own two bikes.", 1.0),
        ("2", 1.0),
        ("4", 0.0),
        ("You had two bikes and own four now.", 0.0),
        ("You own seven bikes.", 0.0),
        ("I do not know.", 0.0),
        ("", 0.0),
    ],
)
def test_a_superseded_number_is_told(harness_of, answer: str, stale: float) -> None:
    harness = harness_of([longmemeval_update("u")], settings={"stale_check": True})
    question = only(harness)
    assert harness.score_answer(question, answer)["stale"] == stale


@pytest.mark.parametrize(
    ("answer", "stale"),
    [
        ("She lives in Chicago.", 1.0),
        ("the suburbs", 0.0),
        ("Rachel moved to Boston", 0.0),
        ("Chicago, then the suburbs", 0.0),
    ],
)
def test_a_superseded_place_is_told(harness_of, answer: str, stale: float) -> None:
    item = longmemeval_update("u") | {"question": "Where did Rachel move to?", "answer": "the suburbs"}
    item["haystack_sessions"] = [
        [{"role": "user", "content": "Rachel moved to the suburbs, she told me.", "has_answer": True}],
        [{"role": "user", "content": "Rachel lives in Chicago.", "has_answer": True}],
    ]
    harness = harness_of([item], settings={"stale_check": True})
    assert harness.score_answer(only(harness), answer)["stale"] == stale


def test_stale_says_nothing_where_evidence_has_one_age_or_another_type(harness_of) -> None:
    same = ["2023/05/20 (Sat) 10:00"] * 2
    for item in (
        longmemeval_update("u", haystack_dates=same),
        longmemeval_update("u_abs"),
        longmemeval_item("q", "multi-session"),
    ):
        harness = harness_of([item], settings={"stale_check": True})
        assert harness.score_answer(only(harness), "2")["stale"] is None
    harness = harness_of([longmemeval_update("u")])
    assert "stale" not in harness.score_answer(only(harness), "2")
    assert only(harness).gold.avoid == ()


# --- gold patches --------------------------------------------------------------------------------------------------


def test_patches_fix_and_exclude(harness_of, tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text(
        "- {id: a, action: fix, answer: Max, evidence: [s0002/2], reason: misread}\n"
        "- {id: b, action: exclude, reason: cannot be known}\n"
    )
    harness = harness_of([longmemeval_item(name) for name in "abc"], patches=[str(patch)])
    a, b, c = (scenario.questions[0] for scenario in harness.read())
    assert a.gold.answers == ("Max",)
    assert a.gold.evidence == ("s0002/2",)
    assert b.gold.answers == c.gold.answers == ("Rex SECRETGOLD",)
    assert [harness.flags(item) for item in (a, b, c)] == [(GOLD_FIXED,), (GOLD_EXCLUDED,), ()]
    report = harness.patch_report()
    assert report is not None
    assert report.ceiling == pytest.approx(1 / 3)
    assert len(harness.dataset().patches) == 64


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("- {id: z, action: exclude, reason: x}", "names question z, which the data does not have"),
        ("- {id: a, action: fix, evidence: [s9/1], reason: x}", "cites 's9/1'"),
        ("- {id: a, action: fix, answer: x, was: y, reason: x}", "another published answer"),
        ("- {id: a, action: fix, answer: x, question: y, reason: x}", "another question"),
    ],
)
def test_patches_of_other_data_are_refused(harness_of, tmp_path: Path, patch: str, says: str) -> None:
    file = tmp_path / "patch.yaml"
    file.write_text(patch)
    assert says in refusal(harness_of([longmemeval_item("a")], patches=[str(file)]))
