"""The format of a LongMemEval file, parsed strictly: one question with the history it is asked of.

Layout (xiaowu0162/LongMemEval; oracle, S and M alike): a list of ``{question_id, question_type, question, answer,
question_date, haystack_session_ids, haystack_dates, haystack_sessions, answer_session_ids}``. The three haystack lists
run parallel; a session is a list of turns ``{role, content, has_answer?}``. Dates are ``2023/05/30 (Tue) 23:40``.

Ids of evidence sessions begin with ``answer_`` in the file. Sessions are named anew here, by their place in time, and
their ids go no further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from runner.data.fields import FieldReader
from runner.harness._base.longmemeval_questions import ABSTENTION, TYPES, parse_date

_MEANT: Final = "a published LongMemEval file"
_LISTS: Final = ("haystack_session_ids", "haystack_dates", "haystack_sessions", "answer_session_ids")
_ITEM: Final = ("question_id", "question_type", "question", "answer", "question_date", *_LISTS)
_TURN: Final = frozenset({"role", "content", "has_answer"})
_ROLES: Final = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Turn:
    id: str  # <session>/<number from 1 in the file's session>
    role: str
    text: str
    labelled: bool  # has_answer: true


@dataclass(frozen=True, slots=True)
class Session:
    name: str  # s0001 is the first in time
    time: datetime
    turns: tuple[Turn, ...]  # those that say something
    evidence: bool

    @property
    def labelled(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.labelled)


@dataclass(frozen=True)
class Instance:
    """One question and its history. ``answers`` holds an explanation where the question cannot be answered."""

    id: str
    type: str
    question: str
    answers: tuple[str, ...]
    now: datetime
    sessions: tuple[Session, ...]  # by time
    unresolved: tuple[str, ...]  # published evidence that names no session of the history
    met: Counter[str]  # traps, and how often

    @property
    def abstain(self) -> bool:
        return ABSTENTION in self.id

    @property
    def evidence(self) -> tuple[Session, ...]:
        return tuple(session for session in self.sessions if session.evidence)


def parse(number: int, value: object) -> Instance:
    """Parse one item of the file.

    Parameters
    ----------
    number
        Position of the item in the file, from 0.
    value
        The decoded item.

    Raises
    ------
    DatasetError
        On anything that the format does not have: an unknown field, type or role, a malformed date, lists of unequal
        lengths, an ``answer`` that is neither text nor a whole number.
    """
    where = FieldReader(f"item {number}", _MEANT)
    item = where.mapping(value, _ITEM, _ITEM)
    name = where.at(", question_id").text(item["question_id"])
    where = FieldReader(f"question {name[:80]}", _MEANT)
    if item["question_type"] not in TYPES:
        raise where.fail(f"unknown question_type {str(item['question_type'])[:60]!r}")
    met: Counter[str] = Counter()
    ids, dates, sessions, cited = (where.at(f", {key}").list(item[key]) for key in _LISTS)
    if not len(ids) == len(dates) == len(sessions):
        raise where.fail(f"{len(ids)} session ids, {len(dates)} dates and {len(sessions)} sessions; they must agree")
    if type(item["answer"]) is int:
        met["integer answer"] += 1
    now, true_day = parse_date(where.at(", question_date"), item["question_date"])
    met["weekday that is not the date's"] += not true_day
    history, unresolved = _history(where, ids, dates, sessions, cited, met)
    met["session later than the question"] += sum(session.time > now for session in history)
    return Instance(
        id=name,
        type=item["question_type"],
        question=where.at(", question").text(item["question"]),
        answers=_answers(where.at(", answer"), item["answer"]),
        now=now,
        sessions=history,
        unresolved=unresolved,
        met=+met,
    )


def _answers(where: FieldReader, value: object) -> tuple[str, ...]:
    """Return the gold, each alternative as a text of its own."""
    if not isinstance(value, list):
        return (where.answer(value),)
    answers = tuple(where.answer(item) for item in value)
    if not answers:
        raise where.fail("the list is empty")
    return answers


def _history(
    where: FieldReader,
    ids: Sequence[object],
    dates: Sequence[object],
    sessions: Sequence[object],
    cited: Sequence[object],
    met: Counter[str],
) -> tuple[tuple[Session, ...], tuple[str, ...]]:
    """Return the sessions by time, named anew, and the evidence that names none of them."""
    names = [where.at(", haystack_session_ids").text(value) for value in ids]
    wanted = dict.fromkeys(where.at(", answer_session_ids").text(value) for value in cited)
    times = []
    for value in dates:
        time, true_day = parse_date(where.at(", haystack_dates"), value)
        met["weekday that is not the date's"] += not true_day
        times.append(time)
    met["history not sorted by time in the file"] += times != sorted(times)
    met["session id that stands twice in a history"] += len(names) - len(set(names))
    met["evidence cited twice"] += len(cited) - len(wanted)
    left = set(wanted)
    history = []
    for place, at in enumerate(sorted(range(len(names)), key=times.__getitem__), start=1):  # stable
        evidence = names[at] in left  # the first of two sessions of one id, so that each counts once
        left.discard(names[at])
        turns = _turns(where, at, f"s{place:04d}", sessions[at], met)
        labelled = sum(turn.labelled for turn in turns)
        if evidence:
            met["evidence session without a labelled turn"] += not labelled
        else:
            met["labelled turn outside the evidence sessions"] += labelled
        history.append(Session(f"s{place:04d}", times[at], turns, evidence))
    return tuple(history), tuple(name for name in wanted if name in left)


def _turns(where: FieldReader, at: int, session: str, value: object, met: Counter[str]) -> tuple[Turn, ...]:
    if not isinstance(value, list):
        raise where.at(f", session {at}").fail("expected a list of turns")
    turns = []
    for number, item in enumerate(value, start=1):
        role, text, labelled = _turn(where, at, number, item)
        if text.strip():
            turns.append(Turn(f"{session}/{number}", role, text, labelled))
        else:
            met["empty turn, left out"] += 1
    met["empty session"] += not turns
    return tuple(turns)


def _turn(where: FieldReader, at: int, number: int, item: Any) -> tuple[str, str, bool]:
    """Return role, text and label of a turn; a history has thousands, so that only a faulty one is examined."""
    if type(item) is dict and item.keys() <= _TURN:
        role, text, labelled = item.get("role"), item.get("content"), item.get("has_answer", False)
        if type(role) is str and role in _ROLES and type(text) is str and type(labelled) is bool:
            return role, text, labelled
    here = where.at(f", session {at}, turn {number}")
    turn = here.mapping(item, _TURN, ("role", "content"))
    if turn["role"] not in ("user", "assistant"):
        raise here.fail(f"unknown role {str(turn['role'])[:40]!r}")
    here.text(turn["content"], empty=True)
    raise here.fail("has_answer is neither true nor false")
