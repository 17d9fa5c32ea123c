"""BEAM data in its four layouts, on small copies written here: traps are repaired and counted, the rest is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, ModelConfig, SliceConfig
from runner.errors import ConfigError, DatasetError
from runner.harness import build
from runner.harness.beam import Beam
from runner.llm import Request
from runner.llm.judge import Judge
from runner.types import GOLD_EXCLUDED, SINGLE_EVENT, Completion, Hit, Question, Scenario
from tests.support.harness_samples.beam import beam, beam_chat, beam_messages, beam_plans, beam_questions, beam_rows
from tests.support.refusals import refusal


@pytest.fixture
def chat_of(tmp_path: Path):
    """A harness over one chat in a folder."""

    def make(chat: Any = None, questions: Any = None, **more: Any) -> Beam:
        folder = tmp_path / "1"
        folder.mkdir(exist_ok=True)
        (folder / "chat.json").write_text(json.dumps(beam_chat() if chat is None else chat))
        (folder / "probing_questions.json").write_text(json.dumps(beam_questions() if questions is None else questions))
        return harness(HarnessConfig(name="beam", dataset={"path": str(folder), "sha256": None}, **more))

    return make


def harness(config: HarnessConfig) -> Beam:
    found = build(config)
    assert isinstance(found, Beam)
    return found


def first(harness: Beam) -> Scenario:
    return next(iter(harness.load(SliceConfig())))


def by_ability(scenario: Scenario, ability: str) -> list[Question]:
    return [question for question in scenario.questions if question.category == ability]


def test_a_chat_as_events(chat_of) -> None:
    scenario = first(chat_of())
    assert (scenario.id, scenario.cluster) == ("100K-1", "100K-1")
    assert [event.id for event in scenario.events] == ["0", "1", "2", "3", "4", "5"]
    assert [event.actor for event in scenario.events] == ["user", "assistant"] * 3
    assert [event.session for event in scenario.events] == ["batch_1"] * 4 + ["batch_2"] * 2
    assert scenario.events[0].text == "I set up the project today."
    assert scenario.events[2].text == "I wrote tests."
    assert scenario.events[3].text == "Good: `a->b` works."  # no marker
    assert scenario.events[3].time == datetime(2024, 3, 15)
    assert scenario.events[5].time == datetime(2024, 4, 5)
    assert {question.now for question in scenario.questions} == {datetime(2024, 4, 5)}


def test_the_four_layouts_say_the_same(tmp_path: Path, chat_of) -> None:
    folders = first(chat_of())
    rows = next(iter(build(beam_rows(tmp_path / "rows").config).read()))
    assert rows == folders
    plans = first(harness(beam_plans(tmp_path / "plans").config))
    row = {
        "conversation_id": "1",
        "chat": None,
        "plans": [{"chat": beam_messages(), "conversation_plan": "x"}, {"chat": beam_messages()}],
        "probing_questions": json.loads((tmp_path / "plans/10M/1/probing_questions.json").read_text()),
    }
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n\n")
    config = HarnessConfig(name="beam", dataset={"path": str(file), "sha256": None}, settings={"size": "10M"})
    assert next(iter(build(config).read())) == plans


def test_parquet_rows_say_the_same(tmp_path: Path, chat_of) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    config = beam_rows(tmp_path).config
    rows = json.loads((tmp_path / "rows.json").read_text())
    folder = tmp_path / "data"
    folder.mkdir()
    for number, row in enumerate(rows):
        parquet.write_table(arrow.Table.from_pylist([row]), folder / f"100K-0000{number}-of-00002.parquet")
    found = HarnessConfig(name="beam", dataset={"path": str(folder), "sha256": None})
    assert list(build(found).read()) == list(build(config).read())
    assert [scenario.id for scenario in build(found).read()] == ["100K-1", "100K-2"]
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no")
    message = refusal(harness(HarnessConfig(name="beam", dataset={"path": str(broken), "sha256": None})))
    assert "cannot be read as Parquet" in message


def test_data_of_several_files_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    beam_rows(tmp_path)
    shards = [tmp_path / f"100K-0000{number}-of-00002.parquet" for number in range(2)]
    for file, row in zip(shards, json.loads((tmp_path / "rows.json").read_text()), strict=True):
        parquet.write_table(arrow.Table.from_pylist([row]), file)
    shas = [hashlib.sha256(file.read_bytes()).hexdigest() for file in shards]
    urls = [f"https://example.org/data/{file.name}" for file in shards]

    def over(path: Path, **more: Any) -> Beam:
        settings = {"more": [{"url": urls[1], "sha256": shas[1]}]} | more
        dataset = {"path": str(path), "url": urls[0], "sha256": shas[0]}
        return harness(HarnessConfig(name="beam", dataset=dataset, settings=settings))

    by_file, by_folder = over(shards[0]), over(tmp_path)
    assert by_file.dataset() == by_folder.dataset()
    assert by_file.dataset().pinned
    assert [scenario.id for scenario in by_file.read()] == ["100K-1", "100K-2"]
    assert [scenario.id for scenario in over(shards[0], more=[]).read()] == ["100K-1"]
    shards[1].rename(tmp_path / "elsewhere.parquet")
    assert "is one of 2 files of this data" in refusal(over(shards[0]))
    (tmp_path / "elsewhere.parquet").rename(shards[1])
    shards[1].write_bytes(b"another")
    assert "pins" in refusal(over(tmp_path))


def test_ids_go_on_through_plans(tmp_path: Path) -> None:
    scenario = first(harness(beam_plans(tmp_path).config))
    assert [event.id for event in scenario.events] == [
        *("0", "1", "2", "3", "6", "7", "8", "9", "4", "5", "10", "11")
    ]  # by time: the second plan is of the same dates
    (asked, _) = by_ability(scenario, "information_extraction")
    assert asked.gold.evidence == ("6",)
    events = {event.id: event for event in scenario.events}
    assert events["6"].text == "I set up the project today."
    assert events["6"].session == "plan_2/batch_1"


def test_the_offset_is_the_last_id_plus_one(chat_of) -> None:
    first_plan = beam_chat()
    first_plan[1]["turns"][0][1]["id"] = 8  # ids jump to 8, so that the next plan begins at 9
    scenario = first(chat_of([{"plan-0": first_plan}, {"plan-1": beam_chat()}]))
    assert {event.id for event in scenario.events} == {*map(str, range(5)), "8", *map(str, range(9, 15))}


def test_evidence_in_every_shape(chat_of) -> None:
    harness = chat_of()
    scenario = first(harness)
    evidence = {q.id: q.gold.evidence for q in scenario.questions}
    assert [evidence[f"100K-1/{n}"] for n in range(20)] == [
        *[(), ()],  # abstention
        *[("0", "4"), ("2",)],  # an object of lists; one id cited twice
        *[("0", "2", "4"), ("4",)],  # a list; a list of lists
        *[("0",), ("2",)],  # 99 is no message
        *[("1",)] * 2,
        *[("0", "4")] * 2,
        *[("0", "4")] * 2,
        *[(), ("3",)],  # an empty list
        *[(), ()],  # absent
        *[("0", "4")] * 2,
    ]
    told = harness.check()
    for line in (
        "source_chat_ids a list: 8",
        "source_chat_ids a list of lists: 1",
        "source_chat_ids an object: 6",
        "source_chat_ids empty: 1",
        "source_chat_ids absent: 2",
        "evidence that names no single message: 1 (100K-1/7 99)",
        "questions but abstentions without resolvable evidence, no retrieval metric: 3",
        "total_mentions that is not the number of points: 1",
        "user messages that ended in '->-> batch,bullet', stripped: 3",
    ):
        assert line in told


def test_gold_by_ability(chat_of) -> None:
    scenario = first(chat_of())
    gold = {question.category: question.gold for question in scenario.questions}
    assert gold["abstention"].abstain
    assert gold["abstention"].answers == ("no information SECRETGOLD",)
    assert gold["contradiction_resolution"].answers == ("contradictory",)
    assert gold["instruction_following"].answers == ("short",)
    assert gold["summarization"].answers == ("all of it",)
    assert gold["knowledge_update"].answers == ("250",)
    assert sum(item.abstain for item in gold.values()) == 1
    assert gold["temporal_reasoning"].points == ("SECRETPOINT",)
    assert {question.rubric for question in scenario.questions} == {"beam_point"}


def test_folders_and_what_is_read_of_them(tmp_path: Path) -> None:
    config = beam(tmp_path).config
    one = build(config)
    assert [scenario.id for scenario in one.read()] == ["100K-2", "100K-10"]  # by number
    before = one.dataset().sha256
    (tmp_path / "chats/100K/2/plan.txt").write_text("another plot")
    assert build(config).dataset().sha256 == before
    for path in (tmp_path / "chats", tmp_path / "chats" / "100K"):
        again = config.model_copy(update={"dataset": config.dataset.model_copy(update={"path": str(path)})})
        assert build(again).dataset().sha256 == before
    shutil.copy(tmp_path / "chats/100K/2/chat.json", tmp_path / "chats/100K/2/chat_trunecated.json")
    assert "truncated chats, read in place of the whole, as published: 1" in build(config).check()
    assert build(config).dataset().sha256 != before
    wrong = config.model_copy(update={"dataset": config.dataset.model_copy(update={"sha256": "a" * 64})})
    with pytest.raises(DatasetError, match=r"pins a{64}.*harness\.dataset\.sha256=null"):
        build(wrong).dataset()


def test_a_chat_without_questions(tmp_path: Path) -> None:
    config = beam(tmp_path).config
    (tmp_path / "chats/100K/10/probing_questions/probing_questions.json").unlink()
    assert "has a chat and no probing_questions.json" in refusal(harness(config))


def test_a_folder_without_chats(tmp_path: Path) -> None:
    config = HarnessConfig(name="beam", dataset={"path": str(tmp_path)}, settings={"size": "1M"})
    message = refusal(harness(config))
    assert "holds no chat of size 1M" in message
    assert "harness.dataset.path" in message


# --- messages ------------------------------------------------------------------------------------------------------


def test_odd_messages_are_counted(chat_of) -> None:
    chat = [
        {
            "batch_number": 1,
            "turns": [
                [
                    {"role": "user", "id": 0, "content": "No date. ->->1,2 "},
                    {"role": "user", "id": 0, "content": "The same id."},
                    {"role": "assistant", "content": "No id."},
                    {"role": "assistant", "id": 5, "content": " "},
                    {"role": "user", "id": 6, "content": "It maps a ->-> b to c."},
                ]
            ],
        },
        {"batch_number": 2, "time_anchor": "May-02-2024", "turns": [[{"role": "user", "id": 7, "content": "May."}]]},
        {
            "batch_number": 3,
            "time_anchor": "April-30-2024",
            "turns": [[{"role": "user", "id": 8, "content": "April."}]],
        },
    ]
    questions = {"information_extraction": [
        {"question": "Q?", "answer": "x", "rubric": ["p"], "source_chat_ids": [0, 5, 6]}
    ]}  # fmt: skip
    harness = chat_of(chat, questions)
    scenario = first(harness)
    assert [event.text for event in scenario.events] == [
        *("No date.", "The same id.", "No id.", "It maps a ->-> b to c.", "April.", "May.")
    ]
    assert scenario.events[0].time is None
    assert len({event.id for event in scenario.events}) == 6
    assert scenario.questions[0].gold.evidence == ("6",)
    told = harness.check()
    for line in (
        "batches without a date: 1",
        "empty messages, left out: 1",
        "ids that jump: 1",
        "message ids that stand twice: 1",
        "messages dated before the one ahead of them, sorted: 1",
        "messages that still hold '->->': 1",
        "messages without an id: 1",
        "speaker twice in a row: 4",
        "evidence that names no single message: 2 (100K-1/0 0 (twice), 100K-1/0 5)",
    ):
        assert line in told


def change(path: list[Any], value: Any):
    def apply(data: Any) -> Any:
        at = data
        for key in path[:-1]:
            at = at[key]
        if value is ...:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        return data

    return apply


FIRST = [0, "turns", 0, 0]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (change([*FIRST, "role"], "system"), "unknown role 'system'"),
        (change([*FIRST, "content"], ...), "field 'content' is missing"),
        (change([*FIRST, "content"], 3), "expected text, found a number"),
        (change([*FIRST, "mood"], 3), "unknown field 'mood'"),
        (change([*FIRST, "id"], "0"), "the message id '0' is not a whole number"),
        (change([*FIRST, "id"], -1), "the message id '-1' is not a whole number"),
        (change([*FIRST, "time_anchor"], "2024-03-15"), "the date '2024-03-15' is not like 'March-15-2024'"),
        (change([*FIRST, "time_anchor"], "March-32-2024"), "is not like 'March-15-2024'"),
        (change([0, "time_anchor"], "Marsh-15-2024"), "is not like 'March-15-2024'"),
        (change([0, "extra"], 1), "unknown field 'extra'"),
        (change([0, "turns"], {}), "expected a list, found an object"),
        (change([0], 3), "expected an object, found a number"),
        (change([1, "turns"], ...), "field 'turns' is missing"),
    ],
)
def test_chats_that_are_not_understood(chat_of, edit, says: str) -> None:
    message = refusal(chat_of(edit(beam_chat())))
    assert says in message
    assert "chat 1" in message


@pytest.mark.parametrize(
    ("chat", "says"),
    [
        ({}, "expected a list, found an object"),
        ([], "holds no message"),
        ([{"plan-0": beam_chat(), "plan-1": beam_chat()}], "expected one 'plan-N', found plan-0, plan-1"),
        ([{"scheme-0": beam_chat()}], "expected one 'plan-N', found scheme-0"),
        ([{"plan-0": None}], "expected one 'plan-N', found nothing"),
    ],
)
def test_chats_of_no_layout(chat_of, chat: Any, says: str) -> None:
    assert says in refusal(chat_of(chat))


# --- questions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (change(["humour"], []), "unknown field 'humour'"),
        (change(["abstention"], {}), "expected a list, found an object"),
        (change(["abstention", 0], 3), "expected an object, found a number"),
        (change(["abstention", 0, "ideal_response"], ...), "field 'ideal_response' is missing"),
        (change(["event_ordering", 0, "rubric"], ...), "field 'rubric' is missing"),
        (change(["event_ordering", 0, "rubric"], []), "the rubric has no point"),
        (change(["event_ordering", 0, "rubric"], "x"), "expected a list, found text"),
        (change(["event_ordering", 0, "question"], ""), "the text is empty"),
        (change(["event_ordering", 0, "source_chat_ids"], ["4"]), "expected message ids, found text"),
        (change(["event_ordering", 0, "source_chat_ids"], [True]), "expected message ids, found true or false"),
    ],
)
def test_questions_that_are_not_understood(chat_of, edit, says: str) -> None:
    assert says in refusal(chat_of(questions=edit(beam_questions())))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{'abstention': [open('x')]}", "not a Python literal"),
        ("{'abstention': __import__('os').getcwd()}", "not a Python literal"),
        ("{'abstention'", "not a Python literal"),
        ("[" * 30 + "]" * 30, "nested too deeply"),
        ("(" * 100_000, "nested too deeply"),
        ("[1, 2]", "expected an object, found a list"),
        ("{}", "there are none"),
        ("'" + "x" * (9 << 20) + "'", "larger than any published one"),
    ],
)
def test_literals_are_data_and_bounded(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([{"conversation_id": "1", "chat": beam_messages(), "probing_questions": text}]))
    assert says in refusal(harness(HarnessConfig(name="beam", dataset={"path": str(file), "sha256": None})))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("[]", "the data holds no chat"),
        ("[3]", "a row without conversation_id"),
        ('[{"conversation_id": "1"}]', "a row without conversation_id or probing_questions"),
        ("{}", "does not begin as a JSON list"),
        ("[{", "is truncated"),
    ],
)
def test_rows_that_are_not_understood(tmp_path: Path, data: str, says: str) -> None:
    file = tmp_path / "rows.json"
    file.write_text(data)
    assert says in refusal(harness(HarnessConfig(name="beam", dataset={"path": str(file), "sha256": None})))


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"harness\.settings\.size"):
        build(HarnessConfig(name="beam", settings={"size": "2M"}))
    with pytest.raises(ConfigError, match=r"harness\.settings\.scoring"):
        build(HarnessConfig(name="beam", settings={"scoring": "best"}))


# --- scores --------------------------------------------------------------------------------------------------------


def test_event_ordering_is_scored_by_order(chat_of) -> None:
    harness = chat_of()
    asked, single = by_ability(first(harness), "event_ordering")
    assert harness.score_answer(asked, asked.gold.answers[0])["event_ordering_lexical"] == pytest.approx(1)
    backwards = harness.score_answer(asked, "1. deployment\n2. writing tests\n3. setting up the project")
    assert backwards == {
        "event_ordering_lexical": pytest.approx(0),
        "event_ordering_tau_norm": pytest.approx(0),
        "event_ordering_f1": pytest.approx(1),
    }
    # the first and the last: ranks 1 2 3 against 1 4 2, one pair of three disagrees; recall 2/3
    part = harness.score_answer(asked, "setting up the project\ndeployment")
    assert part["event_ordering_lexical"] == pytest.approx((1 / 3 + 1) / 2 * 0.8)
    assert harness.flags(asked) == ()
    assert harness.flags(single) == (SINGLE_EVENT,)
    assert harness.score_answer(single, "deployment")["event_ordering_lexical"] == 1
    assert harness.score_answer(single, "deployment\ntests")["event_ordering_lexical"] == 0
    assert harness.score_answer(by_ability(first(harness), "summarization")[0], "x") == {}


def test_scoring_of_the_paper_and_of_the_published_code(chat_of) -> None:
    paper, upstream = chat_of(), chat_of(settings={"scoring": "upstream"})
    ordering = by_ability(first(paper), "event_ordering")[0]
    rubrics = {question.category: question.rubric for question in first(upstream).questions}
    assert rubrics.pop("event_ordering") == "beam_point_unasked"
    assert set(rubrics.values()) == {"beam_point_whole"}
    answer = "In order:\n\nsetting up the project\n\nwriting tests\n\ndeployment"
    assert paper.score_answer(ordering, answer)["event_ordering_lexical"] == pytest.approx(1)
    # seven lines, three of them events; a blank line is an item of its own
    assert upstream.score_answer(ordering, answer)["event_ordering_f1"] == pytest.approx(0.6)
    assert paper.settings.model_dump() != upstream.settings.model_dump()  # and so the instruments differ


@pytest.mark.parametrize(
    ("scoring", "ability", "shown", "half"),
    [
        ("paper", "summarization", True, 0.5),
        ("paper", "event_ordering", True, 0.5),
        ("upstream", "summarization", False, 0.0),  # cast to a whole number
        ("upstream", "event_ordering", False, 0.5),  # in nine abilities of ten
    ],
)
def test_what_the_judge_is_shown_and_what_half_a_point_counts(
    chat_of, scoring: str, ability: str, shown: bool, half: float
) -> None:
    harness = chat_of(settings={"scoring": scoring})
    question = by_ability(first(harness), ability)[0]
    judge = Judge(ModelConfig(name="fake", provider="fake", model="lexical", rubric="locomo_lenient"), harness.rubrics)
    request = judge.request(question, "an answer", "ONE POINT")
    assert isinstance(request, Request)
    said = str(request.messages)
    assert "ONE POINT" in said
    assert "an answer" in said
    assert (question.text in said) is shown
    assert judge.label(question, Completion(text='{"score": 0.5, "reason": "in part"}')).score == half
    assert judge.label(question, Completion(text='{"score": 1, "reason": "all"}')).score == 1
    assert judge.label(question, Completion(text="0.7")).value == "judge_unparseable"


def test_retrieval_is_over_messages(chat_of) -> None:
    harness = chat_of()
    scenario = first(harness)
    hits = [Hit(key=name, text="", sources=(name,)) for name in ("1", "4")]
    metrics = harness.score_retrieval(by_ability(scenario, "temporal_reasoning")[0], hits)
    assert (metrics["recall@1"], metrics["recall@5"], metrics["fraction@5"], metrics["mrr"]) == (0, 1, 0.5, 0.5)
    for name in ("abstention", "summarization"):
        assert set(harness.score_retrieval(by_ability(scenario, name)[0], hits).values()) == {None}


def test_headlines(chat_of) -> None:
    assert chat_of().headline("accuracy") == "judge_score"
    assert chat_of().headline("recall") == "recall@10"


def test_a_patch_excludes(chat_of, tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text("- {id: 100K-1/3, action: exclude, reason: x}\n")
    harness = chat_of(patches=[str(patch)])
    flagged = [q.id for q in first(harness).questions if GOLD_EXCLUDED in harness.flags(q)]
    assert flagged == ["100K-1/3"]
    report = harness.patch_report()
    assert report is not None
    assert report.ceiling == pytest.approx(19 / 20)
