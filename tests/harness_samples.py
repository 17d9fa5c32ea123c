"""A small data set for every harness, written here in its source's own layout, traps included.

``SAMPLES`` maps a name to a function that writes the data into a folder and gives the config that reads it, with the
words of the data that no system may ever receive. ``tests/harness/test_harness_contract.py`` runs on all of them.
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
from runner.experiment import execute, prepare
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


# --- the project's own ---------------------------------------------------------------------------------------------


def synthetic(folder: Path) -> Sample:
    settings = {"scenarios": 7, "events": 36, "questions": 3}
    return Sample(HarnessConfig(name="synthetic_memory", settings=settings))


def handoff(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="handoff", settings={"only": "cave-tunnel"}))


SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "synthetic_memory": synthetic,
    "handoff": handoff,
    "locomo_qa": locomo,
    "longmemeval": longmemeval,
    "beam": beam,
    "beam rows": beam_rows,
    "beam plans": beam_plans,
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
