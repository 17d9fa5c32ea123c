"""MSC-Self-Instruct rows written here: what is told to a memory, when, by whom; what is scored, counted and refused."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, ModelConfig, SliceConfig
from runner.errors import DatasetError
from runner.harness import build
from runner.harness.msc_dmr import MscDmr
from runner.llm import Request
from runner.llm.judge import Judge
from runner.llm.reader import Reader
from runner.types import GOLD_EXCLUDED, Completion, Hit, Question, Scenario
from tests.support.harness_samples.msc_dmr import msc_row
from tests.support.refusals import refusal

SPEAKER_1, SPEAKER_2 = "Speaker 1", "Speaker 2"


@pytest.fixture
def harness_of(tmp_path: Path):
    def make(data: Any, *, sha256: str | None = None, patches: list[str] | None = None, **settings: Any) -> MscDmr:
        file = tmp_path / "msc.jsonl"
        text = data if isinstance(data, bytes | str) else "".join(f"{json.dumps(row)}\n" for row in data)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        dataset = {"path": str(file), "sha256": sha256}
        harness = build(HarnessConfig(name="msc_dmr", dataset=dataset, patches=patches or [], settings=settings))
        assert isinstance(harness, MscDmr)
        return harness

    return make


def only(harness: MscDmr) -> tuple[Scenario, Question]:
    (scenario,) = harness.read()
    (question,) = scenario.questions
    return scenario, question


# --- what is told to a memory --------------------------------------------------------------------------------------


def test_five_sessions_in_time_and_speakers_by_turns(harness_of) -> None:
    scenario, question = only(harness_of([msc_row()]))
    told = [(event.id, event.actor, event.session) for event in scenario.events]
    assert told == [
        ("s1/1", SPEAKER_1, "s1"),
        ("s1/2", SPEAKER_2, "s1"),
        ("s1/3", SPEAKER_1, "s1"),
        ("s2/1", SPEAKER_1, "s2"),
        ("s2/2", SPEAKER_2, "s2"),
        ("s3/1", SPEAKER_1, "s3"),
        ("s3/2", SPEAKER_2, "s3"),
        ("s4/1", SPEAKER_1, "s4"),
        ("s4/2", SPEAKER_2, "s4"),
        ("s5/1", SPEAKER_1, "s5"),
        ("s5/2", SPEAKER_2, "s5"),
    ]
    # 12 October 2023, noon, less 3 days; 1 hour more; 7 days more; 5 hours more.
    times = {event.session: event.time for event in scenario.events}
    assert times == {
        "s5": datetime(2023, 10, 12, 12),
        "s4": datetime(2023, 10, 9, 12),
        "s3": datetime(2023, 10, 9, 11),
        "s2": datetime(2023, 10, 2, 11),
        "s1": datetime(2023, 10, 2, 6),
    }
    assert question.now == datetime(2023, 10, 12, 12)
    assert (question.id, question.text) == ("dmr-0000/0", "What kind of bees did you say you keep?")
    assert question.gold.answers == ("Carniolan bees! SECRETGOLD",)
    assert question.gold.evidence == ()
    assert scenario.cluster == "valid_0"


def test_the_fifth_session_may_be_left_out(harness_of) -> None:
    scenario, question = only(harness_of([msc_row()], current_session=False))
    assert {event.session for event in scenario.events} == {"s1", "s2", "s3", "s4"}
    assert scenario.events[-1].time == datetime(2023, 10, 9, 12), "no other time than with it"
    assert question.now == datetime(2023, 10, 12, 12)


def test_the_fifth_session_says_who_speaks(harness_of) -> None:
    row = msc_row(
        dialog=[{"text": "Hi.", "id": SPEAKER_2}, {"text": " ", "id": SPEAKER_1}, {"text": "Hm.", "id": SPEAKER_2}]
    )
    scenario, _ = only(harness_of([row]))
    assert [(event.id, event.actor) for event in scenario.events[-2:]] == [("s5/1", SPEAKER_2), ("s5/3", SPEAKER_2)]
    told = harness_of([row]).check()
    assert "current session that Speaker 2 begins: 1 in 1 rows (dmr-0000)" in told
    assert "current session in which one speaker has two turns in a row: 1 in 1 rows (dmr-0000)" in told
    assert "empty turn, left out: 1 in 1 rows (dmr-0000)" in told


def test_an_empty_turn_keeps_the_others_speakers(harness_of) -> None:
    row = msc_row()
    row["previous_dialogs"][0]["dialog"] = [{"text": "One."}, {"text": ""}, {"text": "Three."}, {"text": "Four."}]
    scenario, _ = only(harness_of([row]))
    assert [event.actor for event in scenario.events if event.session == "s1"] == [SPEAKER_1, SPEAKER_1, SPEAKER_2]


def test_nothing_of_the_wall_clock(harness_of) -> None:
    one, other = (list(harness_of([msc_row()]).read()) for _ in range(2))
    assert one == other


# --- scores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "recall"),
    [
        ("Carniolan bees! SECRETGOLD", 1),
        ("Oh, those are carniolan ones, I have two hives of bees.", 2 / 3),  # carniolan … bees of three words
        ("Bees, carniolan", 1 / 3),  # in another order: one word long
        ("Italian", 0),
        ("", 0),
    ],
)
def test_rouge_l_recall(harness_of, answer: str, recall: float) -> None:
    harness = harness_of([msc_row()])
    _, question = only(harness)
    assert harness.score_answer(question, answer) == {"rouge_l_recall": pytest.approx(recall)}


@pytest.mark.parametrize(
    ("text", "recall", "held"),
    [
        ("I have a blue teapot, a TEAPOT!", 1, 1),
        ("They won a teapot.", 0.5, 0),
        ("the a my is", 0, 0),
        ("", 0, 0),
    ],
)
def test_the_golds_words_in_what_was_delivered(harness_of, text: str, recall: float, held: float) -> None:
    harness = harness_of([msc_row(self_instruct={"B": "What did I win?", "A": "My blue teapot"})])
    _, question = only(harness)
    assert harness.score_delivered(question, text) == {"answer_recall": recall, "answer_held": held}
    assert harness.headline("recall") == "answer_recall"
    assert harness.headline("accuracy") == "accuracy_abstain_wrong"


def test_no_retrieval_metric_without_labels_and_some_with_a_patch(harness_of, tmp_path: Path) -> None:
    harness = harness_of([msc_row()])
    _, question = only(harness)
    hits = [Hit(key="a", text="", sources=("s1/2",)), Hit(key="b", text="", sources=("s1/3",))]
    assert set(harness.score_retrieval(question, hits).values()) == {None}
    patch = tmp_path / "patch.yaml"
    patch.write_text(
        "- {id: dmr-0000/0, action: fix, evidence: [s1/3], reason: labelled}\n"
        "- {id: dmr-0001/0, action: exclude, reason: never said}\n"
    )
    harness = harness_of([msc_row(0), msc_row(1)], patches=[str(patch)])
    first, second = (scenario.questions[0] for scenario in harness.read())
    assert harness.score_retrieval(first, hits)["mrr"] == 0.5
    assert harness.flags(second) == (GOLD_EXCLUDED,)


def test_the_benchmarks_own_prompt_and_rubric(harness_of) -> None:
    _, question = only(harness_of([msc_row()]))
    fake = ModelConfig(name="f", provider="fake", model="lexical", rubric="locomo_lenient", prompt="locomo_qa")
    asked = str(Reader(fake, MscDmr.prompts).request(question, "Speaker 1: I keep bees.").messages)
    assert "You answer for Speaker 1; Speaker 2 asks." in asked
    assert "Thursday, 12 October 2023" in asked
    judge = Judge(fake, MscDmr.rubrics)
    request = judge.request(question, "NOT MENTIONED")
    assert isinstance(request, Request), "a refusal is graded too"
    assert "Carniolan bees! SECRETGOLD" in str(request.messages)
    for word in ("CORRECT", "WRONG", "ABSTAIN"):
        assert judge.label(question, Completion(text=json.dumps({"label": word}))).value == word


# --- counts --------------------------------------------------------------------------------------------------------


def test_check_counts_what_there_is_and_every_trap(harness_of) -> None:
    late = msc_row(1, self_instruct={"B": "Who is back?", "A": "So am I"}, summary_speaker_9=[])
    late["previous_dialogs"][0]["time_back"] = "11 days ago"  # the gaps add up to 10 days and 6 hours
    late["previous_dialogs"][3]["time_back"] = "long ago"
    late["previous_dialogs"][3]["mood"] = "calm"
    few = msc_row(1, self_instruct={"B": "Who is back?", "A": "a tram"}, metadata={})
    few["previous_dialogs"] = few["previous_dialogs"][1:]
    told = harness_of([msc_row(self_instruct={"B": "What did I win?", "A": "a blue teapot"}), late, few]).check()
    assert told[0].startswith("MSC-Self-Instruct, sha256 ")
    for line in (
        "questions 3, each with a history: sessions 14, turns 30",
        "gold that stands word for word in an earlier session 1, the current session only 1, none 1",
        # "blue teapot" whole; "so am i", function words only, so that they count, whole; "tram" not at all
        "words of the gold in the whole history, what answer_recall can reach: 66.7 % of them, all of them in 2 of 3",
        "row with 3 earlier sessions, not 4: 1 in 1 rows (dmr-0002)",
        "row without an initial_data_id, a cluster of its own: 1 in 1 rows (dmr-0002)",
        "time_back that is not the sum of the gaps after it: 1 in 1 rows (dmr-0001)",
        "time_back that says no time: 1 in 1 rows (dmr-0001)",
        "unknown field 'summary_speaker_9', not read: 1 in 1 rows (dmr-0001)",
        "unknown field 'mood' of a session, not read: 1 in 1 rows (dmr-0001)",
        "question texts asked more than once: 1",
        "conversations asked more than once, one cluster each: 0",
    ):
        assert line in told, line


def test_a_history_that_is_asked_twice_is_one_cluster(harness_of) -> None:
    harness = harness_of([msc_row(3), msc_row(3, self_instruct={"B": "What did I win?", "A": "a teapot"})])
    assert [scenario.cluster for scenario in harness.read()] == ["valid_3", "valid_3"]
    assert harness.census(SliceConfig()).clusters == 1
    assert "conversations asked more than once, one cluster each: 1 (valid_3)" in harness.check()


def test_what_answer_recall_can_reach_without_the_fifth_session(harness_of) -> None:
    row = msc_row(self_instruct={"B": "Who is back?", "A": "Back again"})
    whole, four = (harness_of([row], current_session=current).check() for current in (True, False))
    assert any("can reach: 100.0 %" in line for line in whole)
    assert any("can reach: 0.0 %" in line for line in four)


# --- what is refused -----------------------------------------------------------------------------------------------


def session(**changes: Any) -> dict[str, Any]:
    row = msc_row()
    row["previous_dialogs"][1] |= changes
    return row


def without(*path: Any) -> dict[str, Any]:
    row = place = msc_row()
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return row


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (without("self_instruct"), "line 1: field 'self_instruct' is missing"),
        (without("self_instruct", "A"), "self_instruct: field 'A' is missing"),
        (without("dialog"), "field 'dialog' is missing"),
        (without("previous_dialogs", 2, "time_num"), "previous_dialogs 3: field 'time_num' is missing"),
        (msc_row(self_instruct={"B": "", "A": "x"}), "self_instruct.B: the text is empty"),
        (msc_row(self_instruct={"B": "x", "A": None}), "self_instruct.A: expected text, found null"),
        (msc_row(previous_dialogs={}), "previous_dialogs: expected a list, found an object"),
        (session(time_num="7"), "previous_dialogs 2: the time to the next session is '7' 'days'"),
        (session(time_num=-1), "the time to the next session is '-1' 'days'"),
        (session(time_num=10**9), "the time to the next session is '1000000000' 'days'"),
        (session(time_unit="fortnights"), "'fortnights', and not a number of hours, days, weeks, months, years"),
        (session(dialog=[{"text": 3}]), "previous_dialogs 2, turn 1: expected text, found a number"),
        (session(dialog=["hello"]), "previous_dialogs 2, turn 1: expected an object, found text"),
        (msc_row(dialog=[{"text": "x", "id": "bot"}]), "dialog, turn 1: unknown speaker 'bot'"),
        (msc_row(dialog=[], previous_dialogs=[]), "no session says anything"),
        (["x"], "expected an object, found a list"),
    ],
)
def test_what_is_not_understood_is_refused(harness_of, row: Any, says: str) -> None:
    assert says in refusal(harness_of(f"\n{json.dumps(row)}\n" if isinstance(row, list) else [row]))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "holds no question"),
        (json.dumps([msc_row()]), "is a JSON list"),
        (json.dumps(msc_row())[:300], "line 1 is truncated"),
        (json.dumps(msc_row()) + "\n" + json.dumps(msc_row())[:-1], "line 2 is truncated"),
        (b"\xff{}", "line 1 is not UTF-8"),
    ],
)
def test_damaged_files(harness_of, data: Any, says: str) -> None:
    assert says in refusal(harness_of(data))


def test_a_file_that_is_not_the_pinned_one(harness_of) -> None:
    assert "harness.dataset.sha256=null" in refusal(harness_of([msc_row()], sha256="0" * 64))


def test_a_missing_file_names_what_to_type(tmp_path: Path) -> None:
    dataset = {"path": str(tmp_path / "nothing.jsonl"), "sha256": None}
    harness = build(HarnessConfig(name="msc_dmr", dataset=dataset))
    with pytest.raises(DatasetError, match=r"harness\.dataset\.path=FILE"):
        harness.check()
