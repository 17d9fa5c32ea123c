"""A small data set for every harness, written here in its source's own layout, traps included.

``SAMPLES`` maps a name to a function that writes the data into a folder and gives the config that reads it, with the
words of the data that no system may ever receive. ``tests/harness/_base/test_contract.py`` runs on all of them.
:func:`given_to_a_system` says what a system receives of it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config import ArmConfig, HarnessConfig, load
from runner.experiment.execute import execute
from runner.experiment.prepare import prepare
from runner.record.rundir import RunDir
from runner.system import MemorySystem, Opening, Provenance, receipt_of
from runner.types import Event, Hit, Query, Receipt, Retrieval


@dataclass(frozen=True)
class Sample:
    """A harness with data at hand. Every string of ``secrets`` stands in that data and is gold."""

    config: HarnessConfig
    secrets: tuple[str, ...] = ()


def _write(folder: Path, name: str, data: object) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return file


def _config(name: str, path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(name=name, dataset={"path": str(path), "sha256": None}, settings=settings)


# --- LoCoMo --------------------------------------------------------------------------------------------------------


def locomo(folder: Path) -> Sample:
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_10_date_time": "9:00 am on 3 March, 2024",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "I sold the boat."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "I have a boat."},
            {"speaker": "Bob", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a kite", "query": "SECRETQUERY"},
        ],
    }
    questions = [
        {"question": "What did Ann sell?", "answer": "a boat SECRETGOLD", "evidence": ["D10:1"], "category": 4},
        {"question": "How many?", "answer": 1, "evidence": ["D2:1", "D10:1"], "category": 1},
        {"question": "When?", "answer": "May", "evidence": ["D2:1"], "category": 2},
        {"question": "What flew?", "answer": "a kite", "evidence": ["D2:2"], "category": 3},
        {"question": "What did Bob sell?", "adversarial_answer": "SECRETTRAP", "evidence": ["D10:1"], "category": 5},
    ]
    sample = {"sample_id": "conv-1", "conversation": conversation, "qa": questions, "event_summary": {"x": "SECRETSUM"}}
    path = _write(folder, "locomo.json", [sample])
    return Sample(_config("locomo_qa", path), ("SECRETQUERY", "SECRETGOLD", "SECRETTRAP", "SECRETSUM"))


# --- LongMemEval ---------------------------------------------------------------------------------------------------


def longmemeval_item(name: str = "q1", kind: str = "single-session-user", **changes: Any) -> dict[str, Any]:
    """One question in the official layout: an evidence session and another, not sorted by time."""
    item: dict[str, Any] = {
        "question_id": name,
        "question_type": kind,
        "question": "What is my dog called?",
        "answer": "Rex SECRETGOLD",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_280352e9_1", "ultrachat_9"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/01 (Mon) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "My dog is called Rex.", "has_answer": True},
                {"role": "assistant", "content": "What a fine name.", "has_answer": False},
            ],
            [{"role": "user", "content": "Tell me of boats."}, {"role": "assistant", "content": "They float."}],
        ],
        "answer_session_ids": ["answer_280352e9_1"],
    }
    return item | changes


def longmemeval_update(name: str, **changes: Any) -> dict[str, Any]:
    """A knowledge update: two bikes in April, four in May; the newer session stands first in the file."""
    item = longmemeval_item(
        name,
        "knowledge-update",
        question="How many bikes do I own?",
        answer=4,
        haystack_session_ids=["answer_x_2", "answer_x_1"],
        haystack_dates=["2023/05/20 (Sat) 10:00", "2023/04/20 (Thu) 10:00"],
        haystack_sessions=[
            [
                {"role": "user", "content": "I bought more bikes, so I own four bikes now.", "has_answer": True},
                {"role": "assistant", "content": "Ride well.", "has_answer": False},
            ],
            [
                {"role": "user", "content": "I own two bikes, both in my garage.", "has_answer": True},
                {"role": "assistant", "content": "Lock them.", "has_answer": False},
            ],
        ],
        answer_session_ids=["answer_x_1", "answer_x_2"],
    )
    return item | changes


def longmemeval(folder: Path) -> Sample:
    explained = "You did not mention it SECRETWHY."
    items = [
        longmemeval_item("q1"),
        longmemeval_item("q2", "single-session-assistant"),
        longmemeval_item("q3", "single-session-preference", answer="would like a short walk SECRETRUBRIC"),
        longmemeval_item("q4", "multi-session", answer=3),
        longmemeval_item("q5", "temporal-reasoning", answer="7 days. 8 days (with the last) is also acceptable."),
        longmemeval_update("q6"),
        longmemeval_item("q6_abs", "knowledge-update", answer=explained),
        longmemeval_item("q8", haystack_session_ids=[], haystack_dates=[], haystack_sessions=[], answer_session_ids=[]),
    ]
    path = _write(folder, "longmemeval.json", items)
    secrets = ("answer_", "_abs", "has_answer", "ultrachat", "SECRET", "acceptable", "q6")
    return Sample(_config("longmemeval", path, stale_check=True), secrets)


# --- BEAM ----------------------------------------------------------------------------------------------------------


def beam_messages(start: int = 0) -> list[list[dict[str, Any]]]:
    """Two batches of messages as Hugging Face has them; ids count on from ``start``."""
    return [
        [
            {
                "role": "user",
                "id": start,
                "content": "I set up the project today. ->-> 1,1",
                "index": "1,1",
                "question_type": "main_question",
                "time_anchor": "March-15-2024",
            },
            {"role": "assistant", "id": start + 1, "content": "Well done."},
            {"role": "user", "id": start + 2, "content": "I wrote tests.  ->-> 1,N/A\n", "index": "1,N/A"},
            {"role": "assistant", "id": start + 3, "content": "Good: `a->b` works."},
        ],
        [
            {"role": "user", "id": start + 4, "content": "I deployed it. ->-> 2,1", "time_anchor": "April-05-2024"},
            {"role": "assistant", "id": start + 5, "content": "Congratulations."},
        ],
    ]


def beam_chat(start: int = 0) -> list[dict[str, Any]]:
    """The same as the repository has them: a batch holds turns, a turn holds messages."""
    return [
        {"batch_number": number, "time_anchor": None, "turns": [batch[:2], batch[2:]]}
        for number, batch in enumerate(beam_messages(start), start=1)
    ]


def beam_questions() -> dict[str, list[dict[str, Any]]]:
    """Two questions an ability, gold in every ability's own field, evidence in every shape."""

    def asked(number: int, field: str, gold: object, **more: Any) -> dict[str, Any]:
        question = {"question": f"Question {number}?", field: gold, "difficulty": "easy", "rubric": ["SECRETPOINT"]}
        return question | more

    order = ["Setting up the project", "Writing tests", "Deployment"]
    told = "You did: 1) setting up the project SECRETGOLD, 2) writing tests, 3) deployment."
    return {
        "abstention": [asked(n, "ideal_response", "no information SECRETGOLD", why_unanswerable="x") for n in (0, 1)],
        "contradiction_resolution": [
            asked(
                2, "ideal_answer", "contradictory", source_chat_ids={"first_statement": [0], "second_statement": [4]}
            ),
            asked(
                3, "ideal_answer", "contradictory", source_chat_ids={"first_statement": [2], "second_statement": [2]}
            ),
        ],
        "event_ordering": [
            asked(4, "answer", told, rubric=order, total_mentions=3, source_chat_ids=[0, 2, 4]),
            asked(5, "answer", "only one", rubric=["Deployment"], total_mentions=2, source_chat_ids=[[4], [4]]),
        ],
        "information_extraction": [
            asked(6, "answer", "March 15 SECRETGOLD", source_chat_ids=[0]),
            asked(7, "answer", "tests", source_chat_ids=[2, 99]),
        ],
        "instruction_following": [asked(n, "expected_compliance", "short", source_chat_ids=[1]) for n in (8, 9)],
        "knowledge_update": [
            asked(n, "answer", 250, source_chat_ids={"original_info": [0], "updated_info": [4]}) for n in (10, 11)
        ],
        "multi_session_reasoning": [asked(n, "answer", "two", source_chat_ids=[0, 4]) for n in (12, 13)],
        "preference_following": [
            asked(14, "expected_compliance", "light", source_chat_ids=[]),
            asked(15, "expected_compliance", "light", source_chat_ids=[3]),
        ],
        "summarization": [asked(n, "ideal_summary", "all of it") for n in (16, 17)],
        "temporal_reasoning": [
            asked(n, "answer", "21 days", source_chat_ids={"first_event": [0], "second_event": [4]}) for n in (18, 19)
        ],
    }


def beam(folder: Path) -> Sample:
    """The repository: chats as folders, what tells of the plot beside them."""
    for number in (2, 10):
        chat = folder / "chats" / "100K" / str(number)
        _write(chat, "chat.json", beam_chat())
        _write(chat, "probing_questions/probing_questions.json", beam_questions())
        _write(chat, "plan_new.txt", "SECRETPLAN")
        _write(chat, "topic.json", {"theme": "SECRETPLAN"})
    return Sample(_config("beam", folder), ("->->", "SECRET", "1,N/A", "main_question", "batch_number"))


def beam_rows(folder: Path) -> Sample:
    """The copy on Hugging Face: rows, questions as the text of a Python literal."""
    rows = [
        {
            "conversation_id": str(number),
            "conversation_plan": "SECRETPLAN",
            "chat": beam_messages(),
            "probing_questions": repr(beam_questions()),
        }
        for number in (1, 2)
    ]
    return Sample(_config("beam", _write(folder, "rows.json", rows)), ("->->", "SECRET", "1,N/A", "main_question"))


def beam_plans(folder: Path) -> Sample:
    """Ten million tokens: plans whose message ids restart; the first has ids 0 to 5, so the second begins at 6."""
    questions = beam_questions()
    questions["information_extraction"][0]["source_chat_ids"] = [6]
    chat = folder / "10M" / "1"
    _write(chat, "chat.json", [{"plan-0": beam_chat()}, {"plan-1": beam_chat()}])
    _write(chat, "probing_questions.json", questions)
    return Sample(_config("beam", folder, size="10M"), ("->->", "SECRET"))


# --- MuSiQue -------------------------------------------------------------------------------------------------------


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def musique_row(name: str = "2hop__11_22", *, answerable: bool = True, **changes: Any) -> dict[str, Any]:
    """One question of two hops in the official layout: two supporting paragraphs of four, the second of them first.

    The unanswerable one lacks the paragraph of the second hop, and has others beside it.
    """

    def paragraph(idx: int, title: str, text: str, supporting: bool = False) -> dict[str, Any]:
        return {"idx": idx, "title": title, "paragraph_text": text, "is_supporting": supporting}

    last = paragraph(0, "Mira Stone", "Mira Stone was born in Varn.", True)
    row: dict[str, Any] = {
        "id": name,
        "paragraphs": [
            last if answerable else paragraph(0, "Mira Lake", "A lake in the north."),
            paragraph(1, "Varnish", "A finish for wood."),
            paragraph(2, "The Green Door", "The Green Door is a film by Mira Stone.", True),
            paragraph(3, "Red Door", "A film by nobody."),
        ],
        "question": "Where was the maker of The Green Door born?",
        "question_decomposition": [
            {"id": 11, "question": "The Green Door >> maker", "answer": "SECRETHOP", "paragraph_support_idx": 2},
            {"id": 22, "question": "#1 >> born", "answer": "SECRETHOP", "paragraph_support_idx": last["idx"]},
        ],
        "answer": "Varn",
        "answer_aliases": ["SECRETALIAS", "the Varn"],
        "answerable": answerable,
    }
    return row | changes


def musique(folder: Path) -> Sample:
    names = ("2hop__11_22", "2hop__33_44", "3hop1__1_2_3", "3hop2__4_5_6", "4hop1__1_2_3_4", "4hop3__5_6_7_8")
    path = _write(folder, "musique_ans.jsonl", _lines([musique_row(name) for name in names]))
    secrets = ("SECRET", "supporting", "answerable", "hop", "decomposition")
    return Sample(_config("musique", path), secrets)


def musique_full(folder: Path) -> Sample:
    """The full set, whose pairs do not stand together in the file."""
    names = ("2hop__11_22", "3hop1__1_2_3", "4hop2__1_2_3_4")
    rows = [musique_row(name, answerable=bool(twin)) for twin in (1, 0) for name in names]
    path = _write(folder, "musique_full.jsonl", _lines(rows))
    return Sample(_config("musique", path, set="full"), ("SECRET", "supporting", "answerable", "hop", "decomposition"))


# --- MSC-Self-Instruct ---------------------------------------------------------------------------------------------


def msc_row(place: int = 0, **changes: Any) -> dict[str, Any]:
    """One row in the official layout: four earlier sessions without speakers, a fifth with them, and the question."""

    def session(number: int, unit: str, back: str, *texts: str) -> dict[str, Any]:
        told = [["SECRETPERSONA"], ["SECRETPERSONA"]]
        dialog = [{"text": text} for text in texts]
        return {"personas": told, "dialog": dialog, "time_num": number, "time_unit": unit, "time_back": back}

    row: dict[str, Any] = {
        "personas": [["I keep bees SECRETPERSONA."], ["I swim SECRETPERSONA."]],
        "dialog": [
            {"text": "Back again!", "id": "Speaker 1", "convai2_id": f"valid_{place}", "rating": 5},
            {"text": "So am I.", "id": "Speaker 2"},
        ],
        "metadata": {"initial_data_id": f"valid_{place}", "session_id": 4},
        "previous_dialogs": [
            session(5, "hours", "10 days 6 hours ago", "I keep bees.", "What kind?", f"Carniolan ones, {place} hives."),
            session(7, "days", "10 days 1 hour ago", "How was the fair?", "I won a blue teapot."),
            session(1, "hours", "3 days 1 hours ago", "Is it cold?", "It is."),
            session(3, "days", "3 days ago", "I am tired.", "Sleep well."),
        ],
        "init_personas": [["SECRETPERSONA"], ["SECRETPERSONA"]],
        "personas_update1": ["SECRETPERSONA"],
        "personas_update2": ["SECRETPERSONA"],
        "self_instruct": {"B": "What kind of bees did you say you keep?", "A": "Carniolan bees! SECRETGOLD"},
        "summary_speaker_1": [["I keep bees.", "SECRETSUMMARY"]],
        "summary_speaker_2": [["SECRETSUMMARY"]],
    }
    return row | changes


def msc_dmr(folder: Path) -> Sample:
    path = _write(folder, "msc_self_instruct.jsonl", _lines([msc_row(place) for place in range(4)]))
    return Sample(_config("msc_dmr", path), ("SECRET", "valid_", "init_personas", "summary_speaker"))


# --- MemoryAgentBench ----------------------------------------------------------------------------------------------


def mab_row(source: str, **changes: Any) -> dict[str, Any]:
    """A row in the official layout: every list of the metadata is there, empty where the sub-dataset has none."""
    lists = ("question_ids", "question_dates", "question_types", "previous_events", "keypoints", "haystack_sessions")
    metadata: dict[str, Any] = {
        "source": source,
        "demo": "SECRETDEMO",
        "qa_pair_ids": ["SECRETPAIR"],
        **dict.fromkeys(lists),
        "previous_events": ["SECRETEVENT"],
    }
    row: dict[str, Any] = {"context": "", "questions": [], "answers": []}
    row |= {key: value for key, value in changes.items() if key in row}
    return row | {"metadata": metadata | {key: value for key, value in changes.items() if key not in row}}


def mab_chats(**changes: Any) -> dict[str, Any]:
    """The LongMemEval part: the context is the text of a list and holds the labels; questions tell their date."""
    keys = [
        {"role": "user", "content": "I don't know where my keys are.\nHelp!", "has_answer": False},
        {"role": "assistant", "content": "They are on the hall table.", "has_answer": True},
    ]
    boats = [{"role": "user", "content": "Tell me of boats.", "has_answer": False}]
    context = ["Chat Time: 2022/11/17 (Thu) 12:04", keys, "Chat Time: 2022/12/28 (Wed) 16:10", boats]
    asked = "Current Date: {},\n\n Now Answer the Question: {}"
    row = mab_row(
        "longmemeval_s*",
        context=repr(context),
        questions=[
            asked.format("2023/05/27 (Sat) 22:54", "Where are my keys?"),
            asked.format("2023/05/28 (Sun) 08:00", "What should I cook?"),
            asked.format("2023/05/29 (Mon) 09:30", "What is my cat called?"),
        ],
        answers=[["the hall table SECRETGOLD"], ["would like soup SECRETRUBRIC"], ["no cat was mentioned SECRETWHY"]],
        question_ids=["q1", "q2", "q3_abs"],
        question_dates=["2023/05/27 (Sat) 22:54", "2023/05/28 (Sun) 08:00", "2023/05/29 (Mon) 09:30"],
        question_types=["single-session-assistant", "single-session-preference", "single-session-user"],
        # Of each question: in another order than in the context, with other white space.
        haystack_sessions=[[boats, [keys[0], keys[1] | {"content": "They are on  the hall table."}]], [boats], [boats]],
    )
    return row | changes


def mab_rows() -> dict[str, list[dict[str, Any]]]:
    """One row a task, by split; the two fact rows have one context."""
    events = "These have occurred:\n\n1. Ann left.\n\nPossible events:\n\n['Bob sang.', 'Ann came back.']\n\n Choose."
    example = '\n For example:\n Question: Who?\n A. X \n Output: {"answer":"A. X SECRETDEMO"}\n'
    facts = "Here is a list of facts:\n0. Ann plays golf.\n1. Bob lives in Rome.\n2. Ann plays chess.\n"
    movies = "Dialogue 1: System: Have you seen Heat (1995)? User: Yes."
    return {
        "Accurate_Retrieval": [
            mab_row(
                "ruler_qa1_197K",
                context="Document 1: Normandy is in France. It is green.\n\nDocument 2: Oslo is in Norway.",
                questions=["Where is Normandy?", "Where is Oslo?"],
                answers=[["France SECRETGOLD", "France SECRETGOLD", "the Republic SECRETGOLD"], ["Norway"]],
            ),
            mab_row(
                "eventqa_full",
                context="Ann left the house. Then Ann came back.",
                questions=[events, events.replace("Ann left", "Bob sat")],
                answers=[["Ann came back."], ["Bob sang."]],
            ),
            mab_chats(),
        ],
        "Test_Time_Learning": [
            mab_row(
                "icl_trec_coarse_6600shot_balance",
                context="Who wrote it ?\nlabel: 0\nWhere is it ?\nlabel: 1",
                questions=["Question:Who sang ?", "Question:Where to ?"],
                answers=[["0"], ["1"]],
            ),
            mab_row(
                "recsys_redial_full",
                context=movies,
                questions=["System: Hello. User: I like crime."],
                answers=[["7", "9"]],
            ),
        ],
        "Long_Range_Understanding": [
            mab_row(
                "infbench_sum_eng_shots2",
                context="Once there was a king. He lost a crown. He found it.",
                questions=["Summarize the book. Plot only.\n\nFor example:\n\n[story text]\nSummary: SECRETDEMO"],
                answers=[["A king loses his crown SECRETEXPERT."]],
                keypoints=["The king SECRETPOINT loses his crown.", "He finds it."],
            ),
            mab_row(
                "detective_qa",
                context="The butler had the knife.",
                questions=[f"{example} Now Answer the Question:  Who did it?\nA. The maid\nB.The butler\n Output: "],
                answers=[["B.The butler"]],
            ),
        ],
        "Conflict_Resolution": [
            mab_row(
                f"factconsolidation_{hops}_6k",
                context=facts,
                questions=["What does Ann play?", "Where does the golfer live?"],
                answers=[["chess"], ["Rome"]],
            )
            for hops in ("sh", "mh")
        ],
    }


MAB_MOVIES = {
    "<http://dbpedia.org/resource/Fargo_(1996_film)>": 7,
    "<http://dbpedia.org/resource/Heat_(1995_film)>": 8,
    "<http://dbpedia.org/resource/12_Angry_Men>": 9,
}


def memoryagentbench(folder: Path) -> Sample:
    """The four Parquet files in the folder `data`, the movies beside it."""
    import pyarrow as arrow
    from pyarrow import parquet

    (folder / "data").mkdir(parents=True)
    for split, rows in mab_rows().items():
        parquet.write_table(arrow.Table.from_pylist(rows), folder / "data" / f"{split}-00000-of-00001.parquet")
    _write(folder, "entity2id.json", MAB_MOVIES)
    urls = [{"url": f"https://example.org/{split}-00000-of-00001.parquet"} for split in mab_rows()]
    dataset = {"path": str(folder), "sha256": None, **urls[0]}
    secrets = ("SECRET", "has_answer", "_abs", "entity2id", "For example")
    return Sample(HarnessConfig(name="memoryagentbench", dataset=dataset, settings={"more": urls[1:]}), secrets)


def memoryagentbench_rows(folder: Path) -> Sample:
    """All rows in one file of JSON lines."""
    rows = [row for rows in mab_rows().values() for row in rows]
    path = _write(folder, "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    _write(folder, "entity2id.json", MAB_MOVIES)
    return Sample(_config("memoryagentbench", path, scoring="upstream"), ("SECRET", "has_answer", "_abs"))


# --- MemBench ------------------------------------------------------------------------------------------------------


def membench_qa(right: str, **changes: Any) -> dict[str, Any]:
    """The question of a trajectory: the right choice is C."""
    qa: dict[str, Any] = {
        "qid": 0,
        "question": "What is right?",
        "answer": right,
        "target_step_id": [0],
        "choices": {"A": "SECRETCHOICE one", "B": "SECRETCHOICE two", "C": right, "D": "SECRETCHOICE three"},
        "ground_truth": "C",
        "time": "'2024-10-02 09:00' Wednesday",
    }
    return qa | changes


def membench_seen(texts: Sequence[str], qa: dict[str, Any], tid: int = 0) -> dict[str, Any]:
    """Observation: a flat list of messages an hour apart, the first marked with the fact that it states."""
    messages: list[dict[str, Any]] = [
        {"mid": n, "message": text, "time": f"'2024-10-01 {8 + n:02d}:00' Tuesday", "place": "Oslo"}
        for n, text in enumerate(texts)
    ]
    messages[0] |= {"rel": "boss", "attr": "SECRETATTR", "value": "SECRETVALUE"}
    return {"tid": tid, "message_list": messages, "QA": qa}


def membench_talked(
    sessions: Sequence[Sequence[str]], qa: dict[str, Any], tid: int = 0, long: bool = True
) -> dict[str, Any]:
    """Participation: sessions of exchanges, counted over the whole trajectory."""
    user, assistant, own = ("user_message", "assistant_message", "sid") if long else ("user", "assistant", "mid")
    number = iter(range(99))
    listed = []
    for day, session in enumerate(sessions, start=1):
        listed.append(
            [
                {
                    own: next(number),
                    user: text,
                    assistant: f"I see: {text}",
                    "time": f"'2024-10-{day:02d} 08:{minute:02d}' {('Tuesday', 'Wednesday', 'Thursday')[day - 1]}",
                    "place": "Oslo",
                }
                for minute, text in enumerate(session)
            ]
        )
    return {"tid": tid, "message_list": listed, "QA": qa}


def membench_data(folder: Path) -> Path:
    """The repository's folders: four categories, a tid that returns, a target out of range, one that is missing."""
    first, third = folder / "MemData" / "FirstAgent", folder / "MemData" / "ThirdAgent"
    late = {"time": "'2024-10-03 09:00' Thursday"}
    _write(
        first,
        "simple.json",
        {
            "roles": [
                membench_talked(
                    [["My boss is 27.", "It rains."], ["I swim."]],
                    membench_qa("27", **late) | {"target_step_id": [[0, 0]]},
                ),
                membench_talked(
                    [["Hello."], ["My aunt bakes.", "Bye."]],
                    membench_qa("an aunt", **late) | {"target_step_id": [[1, 1], [3, 1]]},
                    tid=1,
                ),
            ],
            "events": [
                membench_talked([["The fair is in May."]], membench_qa("May", target_step_id=[[0, 0]]), tid=2),
            ],
        },
    )
    _write(
        first,
        "highlevel_rec.json",
        {
            "movie": [
                membench_talked(
                    [["I like Alien.", "And Heat."]], membench_qa("thrillers", target_step_id=[]), tid=3, long=False
                )
            ]
        },
    )
    _write(
        third,
        "noisy.json",
        {
            "roles": [membench_seen(["My boss is 27.", "It rains.", "I swim."], membench_qa("27"))],
            "places": [membench_seen(["My attic is in Bergen.", "It snows."], membench_qa("Bergen"), tid=4)],
        },
    )
    _write(
        third,
        "highlevel.json",
        {"food": [membench_seen(["Curry!", "Chili!"], membench_qa("spicy", target_step_id=[0, 1]), tid=5)]},
    )
    return folder / "MemData"


def membench(folder: Path) -> Sample:
    return Sample(_config("membench", membench_data(folder), noise=1), ("SECRET", "What is right?\\nA."))


def membench_sampled(folder: Path) -> Sample:
    """What the authors sampled: joined files, flat lists of texts with place and time at their ends."""
    plain = membench_qa("27", target_step_id=[1])
    tail = "(place: Oslo; time: '2024-10-01 08:00' Tuesday)"
    talk = [{"user": "Hello.", "agent": "Hi."}, {"user": f"My boss is 27. {tail}", "agent": f"Young! {tail}"}]
    seen = ["Noise without a time.", "My boss is 27. (place: Oslo; time'2024-10-01 08:00' Tuesday)"]
    for name, messages in (("FirstAgentDataLowLevel", talk), ("ThirdAgentDataLowLevel", seen)):
        data = {"simple": {"roles": [{"tid": 0, "message_list": messages, "QA": plain}]}}
        _write(folder / "0-10k", f"{name}_multiple_0.json", data)
    return Sample(_config("membench", folder / "0-10k"), ("SECRET", "time:", "time'"))


# --- Dialogue NLI --------------------------------------------------------------------------------------------------


def dialogue_pair(number: int, label: str, one: str, two: str, *triples: list[str]) -> dict[str, Any]:
    return {
        "label": label,
        "sentence1": one,
        "sentence2": two,
        "triple1": triples[0],
        "triple2": triples[1],
        "dtype": f"SECRETRULE_{label}",
        "id": f"dialogue_nli_test_{number}",
    }


def dialogue_pairs() -> list[dict[str, Any]]:
    """Two pairs a label as published; premises about dogs, work, food, towns and a car."""
    dog, cat = ["i", "have_pet", "dog"], ["i", "have_pet", "cat"]
    cook, nurse = ["i", "has_profession", "cook"], ["i", "has_profession", "nurse"]
    soup, oslo, car, none = (
        ["i", "like_food", "soup"],
        ["i", "live_in", "oslo"],
        ["i", "have_car", "van"],
        ["<none>"] * 3,
    )
    return [
        dialogue_pair(1, "positive", "i walk my dog daily .", "i have a dog .", dog, dog),
        dialogue_pair(2, "negative", "i cook for a living .", "i am a nurse .", cook, nurse),
        dialogue_pair(3, "neutral", "soup is the best .", "i live in oslo .", soup, oslo),
        dialogue_pair(4, "negative", "i walk my dog daily .", "i have only a cat .", dog, cat),
        dialogue_pair(5, "positive", "oslo is home to me .", "i live in oslo .", oslo, oslo),
        dialogue_pair(6, "neutral", "how are you today ?", "i drive a van .", none, car),
    ]


def dialogue(folder: Path) -> Sample:
    path = _write(folder, "dialogue_nli/dialogue_nli_test.jsonl", dialogue_pairs())
    sample = _config("dialogue_consistency", path.parent.parent, distractors=2, sample=None)
    secrets = ("SECRETRULE", "dialogue_nli_test", "positive", "negative", "neutral", "entailment", "contradiction")
    return Sample(sample, (*secrets, "have_pet"))


def dialogue_lines(folder: Path) -> Sample:
    """Lines of JSON with labels under their other names."""
    names = {"positive": "entailment", "negative": "contradiction", "neutral": "neutral"}
    rows = [pair | {"label": names[pair["label"]]} for pair in dialogue_pairs()]
    path = _write(folder, "pairs.jsonl", "\n".join(json.dumps(row) for row in rows))
    return Sample(_config("dialogue_consistency", path, distractors=1, sample=3), ("SECRETRULE", "dialogue_nli_test"))


# --- the project's own ---------------------------------------------------------------------------------------------


def synthetic(folder: Path) -> Sample:
    settings = {"scenarios": 7, "events": 36, "questions": 3}
    return Sample(HarnessConfig(name="synthetic_memory", settings=settings))


def handoff(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="handoff", settings={"only": "cave-tunnel"}))


def quality(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="quality", k=5))


# --- labels of one's own -------------------------------------------------------------------------------------------

LABELS_CSV = """id,query,keys,category,cluster,now
,Who bakes the bread?,bakery_owner|bakery_owner||gone,SECRETCAT,SECRETGROUP,2026-05-02T08:00
SECRETID,When is the oven lit?,"[""oven""]",SECRETCAT,,2026-05-02T08:00+02:00
,who bakes  the bread?,bakery_owner,other,,
,What is never written down?,,other,,
,Where is the mill?,gone,other,,
"""
MEMORIES = [
    {"key": "oven", "text": "The oven is lit at four in the morning.", "time": "2026-05-01T10:00"},
    {"key": "bakery_owner", "text": "Agnes bakes the bread herself.", "time": "2026-04-30"},
    {"key": "flour", "text": "Flour comes on Mondays."},
]


def labels(folder: Path) -> Sample:
    """A labelled CSV over a corpus that is given: keys twice, empty and unknown, a query asked twice."""
    corpus = _write(folder, "memories.jsonl", "\n".join(json.dumps(item) for item in MEMORIES))
    path = _write(folder, "labels.csv", LABELS_CSV)
    secrets = ("SECRETCAT", "SECRETGROUP", "SECRETID", "gone")
    return Sample(_config("retrieval_recall", path, corpus=str(corpus)), secrets)


def relied_on(folder: Path) -> Sample:
    """Searches that an agent relied on, over the same corpus."""
    corpus = _write(folder, "memories.jsonl", "\n".join(json.dumps(item) for item in MEMORIES))
    rows = [
        {
            "query": "bread",
            "relied_on": ["bakery_owner"],
            "returned": ["oven"],
            "session": "SECRET1",
            "ts": "2026-05-02",
        },
        {"query": "oven", "relied_on": ["oven"], "returned": ["oven", "SECRETKEY"], "session": "SECRET1"},
        {"query": "flour", "used_cited": ["flour"], "session": "SECRET2"},
    ]
    path = _write(folder, "relied_on.jsonl", "\n".join(json.dumps(row) for row in rows))
    return Sample(_config("retrieval_recall", path, corpus=str(corpus)), ("SECRET",))


SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "quality": quality,
    "retrieval_recall": labels,
    "retrieval_recall relied_on": relied_on,
    "synthetic_memory": synthetic,
    "handoff": handoff,
    "locomo_qa": locomo,
    "longmemeval": longmemeval,
    "beam": beam,
    "beam rows": beam_rows,
    "beam plans": beam_plans,
    "membench": membench,
    "membench sampled": membench_sampled,
    "dialogue_consistency": dialogue,
    "dialogue_consistency lines": dialogue_lines,
    "memoryagentbench": memoryagentbench,
    "memoryagentbench rows": memoryagentbench_rows,
    "musique": musique,
    "musique full": musique_full,
    "msc_dmr": msc_dmr,
}


# --- what a system receives ----------------------------------------------------------------------------------------


class Keeping(MemorySystem):
    """Keeps every byte that it is given."""

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self.given: list[str] = []
        self.events: dict[str, Sequence[Event]] = {}

    def _take(self, *values: object) -> None:
        self.given += [repr(value) for value in values]

    async def open(self, opening: Opening) -> Provenance:
        return Provenance(build="test")

    async def reset(self, ns: str) -> None:
        self._take(ns)

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        self._take(ns, *events)
        self.events[ns] = events
        return receipt_of(events)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        self._take(ns, receipt)

    async def search(self, ns: str, query: Query) -> Retrieval:
        self._take(ns, query)
        return Retrieval(hits=tuple(Hit(key=e.id, text=e.text, sources=(e.id,)) for e in self.events[ns][:5]))

    async def erase(self, ns: str) -> None:
        self._take(ns)


class Silent:
    def begin(self, total: int, done: int) -> None: ...
    def row(self, row: object, usd: float) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


def given_to_a_system(config: HarnessConfig, run_dir: Path) -> tuple[str, int]:
    """Everything that a system receives in a whole run of a harness, and how many rows the run wrote."""
    none = {"name": "none", "provider": "none"}
    arm = {"name": "keeping", "system": "none"}
    experiment = load({"harness": config.model_dump(), "arm": arm, "reader": none, "judge": none})
    system = Keeping(experiment.arm)
    run = RunDir(run_dir)
    run.create(experiment.model_dump(mode="json"))
    outcome = execute(run, dataclasses.replace(prepare(experiment), system=system), Silent(), cache_dir=None)
    assert outcome.state == "complete", outcome.reason
    return "\n".join(system.given), len(list(run.rows()))
