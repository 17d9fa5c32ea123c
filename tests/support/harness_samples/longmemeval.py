"""A small data set of LongMemEval, in its source's own layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.harness_samples.sample import Sample, config_of, write


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
    path = write(folder, "longmemeval.json", items)
    secrets = ("answer_", "_abs", "has_answer", "ultrachat", "SECRET", "acceptable", "q6")
    return Sample(config_of("longmemeval", path, stale_check=True), secrets)


SAMPLES = {"longmemeval": longmemeval}
