"""The format of a MemoryAgentBench row, parsed strictly: one context and all that is asked of it.

Layout (``ai-hyz/MemoryAgentBench``, four splits alike): ``{context, questions: [text], answers: [[text]], metadata:
{source, qa_pair_ids, question_ids, question_dates, question_types, previous_events, keypoints, haystack_sessions,
demo}}``. ``source`` names one of 22 sub-datasets, and with it the task and its metric.

The published code pairs questions with answers only where there are several of both. With one question, or one list of
answers, everything in ``answers`` is an alias of the first question's answer, and no other question is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from runner.data.fields import FieldReader
from runner.harness._base.longmemeval_questions import ABSTENTION, TYPES, parse_date
from runner.harness.memoryagentbench.chats import labelled_turns

RETRIEVAL: Final = "Accurate_Retrieval"
LEARNING: Final = "Test_Time_Learning"
UNDERSTANDING: Final = "Long_Range_Understanding"
CONFLICT: Final = "Conflict_Resolution"
SPLITS: Final = (RETRIEVAL, LEARNING, UNDERSTANDING, CONFLICT)

SUBSTRING: Final = "substring_exact_match"
EXACT: Final = "exact_match"
RECALL: Final = "recsys_recall@5"

MEANT: Final = "published MemoryAgentBench data"
_FIELDS: Final = ("context", "questions", "answers", "metadata")
_METADATA: Final = frozenset(
    (
        *("source", "qa_pair_ids", "question_ids", "question_dates", "question_types", "previous_events"),
        *("keypoints", "haystack_sessions", "demo"),
    )
)
_MARK: Final = re.compile(r"Now Answer the Question:\s*", re.IGNORECASE)
_ASKED_AT: Final = re.compile(r"Current Date:\s*(\d{4}/\d{2}/\d{2} \([A-Za-z]{3}\) \d{2}:\d{2})")
_OUTPUT: Final = re.compile(r"\s*Output:\s*$")
_EXAMPLE: Final = re.compile(r"\s*\n\s*For example:.*$", re.DOTALL)


@dataclass(frozen=True)
class Task:
    """One kind of sub-dataset: its split, the prompt of its own and the rule that grades it (empty: a judge)."""

    prefix: str
    split: str
    prompt: str
    rule: str = ""


CHATS: Final = Task("longmemeval_s", RETRIEVAL, "mab_chats")
EVENTS: Final = Task("eventqa_", RETRIEVAL, "mab_events", SUBSTRING)
LABELS: Final = Task("icl_", LEARNING, "mab_labels", EXACT)
MOVIES: Final = Task("recsys_redial", LEARNING, "mab_movies", RECALL)
SUMMARY: Final = Task("infbench_sum", UNDERSTANDING, "mab_summary")
DETECTIVE: Final = Task("detective_qa", UNDERSTANDING, "mab_detective", EXACT)
TASKS: Final = (
    Task("ruler_qa", RETRIEVAL, "mab_documents", SUBSTRING),
    *(EVENTS, CHATS, LABELS, MOVIES, SUMMARY, DETECTIVE),
    Task("factconsolidation_", CONFLICT, "mab_facts", SUBSTRING),
)


@dataclass(frozen=True)
class ContextQuestion:
    """One question. ``text`` is what a memory is searched by, ``reading`` the whole where the two differ."""

    text: str
    reading: str
    answers: tuple[str, ...]
    points: tuple[str, ...] = ()
    now: datetime | None = None
    type: str = ""  # of LongMemEval
    abstain: bool = False
    evidence: tuple[str, ...] = ()  # words of the turns that hold the answer


@dataclass(frozen=True)
class ContextRow:
    """One row."""

    source: str
    task: Task
    context: str
    questions: tuple[ContextQuestion, ...]
    met: Counter[str]  # traps, and how often


def source_of(where: FieldReader, value: object) -> str:
    """Return the name of a row's sub-dataset.

    Raises
    ------
    DatasetError
        When the row has none.
    """
    row = where.mapping(value, _FIELDS, _FIELDS)
    metadata = where.at(", metadata").mapping(row["metadata"], None, ("source",))
    return where.at(", metadata.source").text(metadata["source"])


def parse(place: str, value: object) -> ContextRow:
    """Parse one row of the data.

    Parameters
    ----------
    place
        Where it stands, for messages ("Conflict_Resolution.parquet, row 3").
    value
        The decoded row.

    Raises
    ------
    DatasetError
        On an unknown field, sub-dataset or question type, a malformed date, or lists that do not run parallel.
    """
    where = FieldReader(place, MEANT)
    row = where.mapping(value, _FIELDS, _FIELDS)
    metadata = where.at(", metadata").mapping(row["metadata"], _METADATA, ("source",))
    source = where.at(", metadata.source").text(metadata["source"])
    where = FieldReader(f"{place} ({source[:60]})", MEANT)
    task = next((task for task in TASKS if source.startswith(task.prefix)), None)
    if task is None:
        raise where.fail(f"unknown sub-dataset '{source[:60]}'")
    met: Counter[str] = Counter()
    context = where.at(", context").text(row["context"], empty=True)
    met["empty contexts"] += not context.strip()
    pairs = _pairs(where, row, met)
    return ContextRow(
        source=source,
        task=task,
        context=context,
        questions=tuple(
            _question(where.at(f", question {number}"), task, metadata, number, text, answers, met)
            for number, (text, answers) in enumerate(pairs)
        ),
        met=+met,
    )


def _pairs(where: FieldReader, row: Mapping[str, Any], met: Counter[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return every question that is asked, with the aliases of its answer, each once."""
    questions = [where.at(", questions").text(item) for item in where.at(", questions").list(row["questions"])]
    answers = where.at(", answers").list(row["answers"])
    if not questions:
        met["rows without a question, left out"] += 1
        return []
    if len(questions) > 1 and len(answers) > 1:
        if len(questions) != len(answers):
            raise where.fail(f"{len(questions)} questions and {len(answers)} lists of answers; they must agree")
        golds: list[object] = answers
    else:
        golds = [answers]
        met["rows whose answers are all aliases of question 0 (one question, or one list)"] += len(answers) > 1
        met["questions without an answer, left out as published"] += len(questions) - 1
    return [
        (text, _aliases(where.at(f", answers of question {number}"), gold, met))
        for number, (text, gold) in enumerate(zip(questions, golds, strict=False))
    ]


def _aliases(where: FieldReader, value: object, met: Counter[str]) -> tuple[str, ...]:
    """Return the texts below ``value``, however deep the lists, each once."""
    flat: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += reversed(item)
        else:
            flat.append(where.answer(item))
    if not flat:
        raise where.fail("there is none")
    found = tuple(dict.fromkeys(flat))
    met["answers that stand twice among the aliases"] += len(found) < len(flat)
    met["questions with several aliases"] += len(found) > 1
    return found


def _question(
    where: FieldReader,
    task: Task,
    metadata: Mapping[str, Any],
    number: int,
    text: str,
    answers: tuple[str, ...],
    met: Counter[str],
) -> ContextQuestion:
    searched = _searched(task, text)
    reading = "" if searched == text else text.strip()
    if task is SUMMARY:
        points = [where.at(", keypoints").text(item) for item in _listed(where, metadata, "keypoints")]
        if not points:
            raise where.fail("there are no keypoints, which the summary is graded by")
        numbered = "\n".join(f"{at}. {' '.join(point.split())}" for at, point in enumerate(points, start=1))
        return ContextQuestion(searched, reading, answers, points=(numbered,))
    if task is not CHATS:
        return ContextQuestion(searched, reading, answers)
    kind = _at(where, metadata, "question_types", number)
    name = _at(where, metadata, "question_ids", number)
    met["questions of no known type, graded as plain ones"] += kind is None
    if kind is not None and kind not in TYPES:
        raise where.fail(f"unknown question type {str(kind)[:60]!r}")
    met["questions of the chats without an id, taken as answerable"] += not isinstance(name, str)
    haystacks = _listed(where, metadata, "haystack_sessions")
    return ContextQuestion(
        searched,
        reading="",  # the prompt tells the date
        answers=answers,
        now=_now(where, _at(where, metadata, "question_dates", number), text, met),
        type=kind or "",
        abstain=isinstance(name, str) and ABSTENTION in name,
        evidence=tuple(dict.fromkeys(labelled_turns(where.at(", haystack_sessions"), haystacks[number])))
        if number < len(haystacks)
        else (),
    )


def _searched(task: Task, text: str) -> str:
    """Return the question itself, as the published retrieval takes it: without the example before it or after it."""
    if task is SUMMARY:
        return _EXAMPLE.sub("", text).strip() or text.strip()
    match = _MARK.search(text)
    return (_OUTPUT.sub("", text[match.end() :]).strip() if match else "") or text.strip()


def _at(where: FieldReader, metadata: Mapping[str, Any], key: str, number: int) -> Any:
    values = _listed(where, metadata, key)
    if values and number >= len(values):
        raise where.fail(f"{key} has {len(values)} items, fewer than there are questions")
    return values[number] if values else None


def _listed(where: FieldReader, metadata: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return a list of the metadata, empty where it is absent or null."""
    value = metadata.get(key)
    return [] if value is None else where.at(f", {key}").list(value)


def _now(where: FieldReader, value: object, text: str, met: Counter[str]) -> datetime | None:
    """Return when a question is asked: as the metadata says, else as its text does."""
    stated = _ASKED_AT.search(text)
    if value is None and stated is None:
        met["questions of the chats without a date"] += 1
        return None
    here = where.at(", question_dates")
    now, _ = parse_date(here, stated[1] if value is None and stated else value)
    met["questions whose text tells another date than the metadata"] += (
        value is not None and stated is not None and parse_date(here, stated[1])[0] != now
    )
    return now
