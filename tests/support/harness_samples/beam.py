"""A small data set of BEAM, as a checkout, as rows and as plans, in its source's own layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.harness_samples.sample import Sample, config_of, write


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
        write(chat, "chat.json", beam_chat())
        write(chat, "probing_questions/probing_questions.json", beam_questions())
        write(chat, "plan_new.txt", "SECRETPLAN")
        write(chat, "topic.json", {"theme": "SECRETPLAN"})
    return Sample(config_of("beam", folder), ("->->", "SECRET", "1,N/A", "main_question", "batch_number"))


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
    return Sample(config_of("beam", write(folder, "rows.json", rows)), ("->->", "SECRET", "1,N/A", "main_question"))


def beam_plans(folder: Path) -> Sample:
    """Ten million tokens: plans whose message ids restart; the first has ids 0 to 5, so the second begins at 6."""
    questions = beam_questions()
    questions["information_extraction"][0]["source_chat_ids"] = [6]
    chat = folder / "10M" / "1"
    write(chat, "chat.json", [{"plan-0": beam_chat()}, {"plan-1": beam_chat()}])
    write(chat, "probing_questions.json", questions)
    return Sample(config_of("beam", folder, size="10M"), ("->->", "SECRET"))


SAMPLES = {"beam": beam, "beam rows": beam_rows, "beam plans": beam_plans}
