"""The format of ``locomo10.json``, parsed strictly, with every known trap of the file repaired, counted or refused.

Layout (snap-research/locomo): a list of ``{sample_id, qa, conversation, event_summary, observation,
session_summary}``. ``conversation`` has ``speaker_a``, ``speaker_b``, ``session_N`` (a list of turns) and
``session_N_date_time``. The three summaries are made from the gold events and are never read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from runner.data.fields import FieldReader
from runner.errors import DatasetError

MEANT: Final = "the published locomo10.json"

CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
ADVERSARIAL = "5"
DATE_FORMAT = "%I:%M %p on %d %B, %Y"

_SAMPLE = {"sample_id", "qa", "conversation", "event_summary", "observation", "session_summary"}
_TURN = {"speaker", "dia_id", "text", "img_url", "blip_caption", "query", "re-download"}
_QA = {"question", "answer", "evidence", "category", "adversarial_answer"}
_SESSION = re.compile(r"session_([1-9][0-9]{0,5})(_date_time)?")  # one spelling a number, so that none hides another
_DIA_ID = re.compile(r"D([1-9]\d*):([1-9]\d*)")
_CITED = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Turn:
    id: str
    speaker: str
    text: str
    caption: str
    hidden_query: bool  # the file has a `query`; its words go no further

    @property
    def spoken(self) -> str:
        """The words and, when a photo was shared, its caption."""
        words = self.text.strip()
        return f"{words} [shares a photo: {self.caption}]".lstrip() if self.caption else words


@dataclass(frozen=True)
class Session:
    number: int
    time: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class QaItem:
    """One question. ``answer`` is ``None`` in category 5, whatever the file says."""

    index: int
    question: str
    category: str
    answer: str | None
    evidence: tuple[str, ...]  # turn ids that exist, repaired, each once, in the file's order
    unresolved: tuple[str, ...]  # parts of the published evidence that name no turn
    met: frozenset[str]  # traps met, by name


@dataclass(frozen=True)
class Conversation:
    id: str
    sessions: tuple[Session, ...]  # by time
    items: tuple[QaItem, ...]
    dates_without_session: int


def parse(data: object) -> tuple[Conversation, ...]:
    """Parse the decoded file.

    Raises
    ------
    DatasetError
        On the fork with renamed adversarial answers, and on anything that the format does not have: an unknown field
        or category, a session without a date, a turn id that is malformed or used twice.
    """
    top = FieldReader("top level", MEANT)
    samples = top.list(data)
    if not samples:
        raise top.fail("the list holds no conversation")
    _refuse_fork(samples)
    conversations = tuple(
        _conversation(FieldReader(f"conversation {n}", MEANT), item) for n, item in enumerate(samples)
    )
    for name, times in Counter(item.id for item in conversations).items():
        if times > 1:
            raise top.fail(f"{times} conversations share the id '{name}'")
    return conversations


def _refuse_fork(samples: Sequence[object]) -> None:
    """Refuse the copy in which ``adversarial_answer`` was renamed ``answer``, which turns wrong answers into gold.

    Recognised by structure: a category-5 question with an ``answer`` and no ``adversarial_answer`` beside it. The
    published file has none: its two category-5 questions with an answer have both fields.
    """
    renamed = total = 0
    for sample in samples:
        items = sample.get("qa") if isinstance(sample, dict) else None
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and str(item.get("category")) == ADVERSARIAL:
                total += 1
                renamed += "answer" in item and "adversarial_answer" not in item
    if renamed:
        raise DatasetError(
            f"{renamed} of {total} category-5 questions have 'answer' without 'adversarial_answer': this is "
            "the fork that renames wrong answers into gold; use the published locomo10.json (leave out "
            "harness.dataset.path to download it)"
        )


def _conversation(where: FieldReader, value: object) -> Conversation:
    sample = where.mapping(value, _SAMPLE, ("sample_id", "qa", "conversation"))
    name = where.at(", sample_id").text(sample["sample_id"])
    where = where.at(f" ({name})")
    if "/" in name:
        raise where.fail("a sample_id with '/' cannot be part of a question id")
    talk = where.at(", conversation").mapping(sample["conversation"], None, ("speaker_a", "speaker_b"))
    for speaker in ("speaker_a", "speaker_b"):
        where.text(talk[speaker])
    turns: dict[int, object] = {}
    dates: dict[int, object] = {}
    for key, item in talk.items():
        if key in ("speaker_a", "speaker_b"):
            continue
        match = _SESSION.fullmatch(key)
        if match is None:
            raise where.at(", conversation").fail(f"unknown field '{key}'")
        (dates if match[2] else turns)[int(match[1])] = item  # the pattern bounds the number of digits
    if not turns:
        raise where.fail("the conversation holds no session")
    sessions = [_session(where.at(f", session {n}"), n, turns[n], dates.get(n)) for n in sorted(turns)]
    ids = Counter(turn.id for session in sessions for turn in session.turns)
    twice = [key for key, times in ids.items() if times > 1]
    if twice:
        raise where.fail(f"two turns share the id {twice[0]}")
    items = where.at(", qa").list(sample["qa"])
    return Conversation(
        id=name,
        # By number first: as text, session_10 would come before session_2. The sort by time is stable and, in the
        # published file, changes nothing.
        sessions=tuple(sorted(sessions, key=lambda session: session.time)),
        items=tuple(_item(where.at(f", qa {n}"), n, item, frozenset(ids)) for n, item in enumerate(items)),
        dates_without_session=len(dates.keys() - turns.keys()),
    )


def _session(where: FieldReader, number: int, value: object, date: object) -> Session:
    if date is None:
        raise where.fail(f"'session_{number}_date_time' is missing")
    try:
        time = datetime.strptime(where.text(date), DATE_FORMAT)
    except ValueError:
        raise where.fail(f"the date {date!r} is not like '1:56 pm on 8 May, 2023'") from None
    turns = tuple(_turn(where.at(f", turn {n}"), number, item) for n, item in enumerate(where.list(value), start=1))
    return Session(number, time, turns)


def _turn(where: FieldReader, session: int, value: object) -> Turn:
    turn = where.mapping(value, _TURN, ("speaker", "dia_id", "text"))
    name = where.text(turn["dia_id"])
    match = _DIA_ID.fullmatch(name)
    if match is None or int(match[1]) != session:
        raise where.fail(f"turn id '{name}' is not of the form D{session}:N")
    caption = where.text(turn["blip_caption"], empty=True).strip() if "blip_caption" in turn else ""
    return Turn(
        id=name,
        speaker=where.text(turn["speaker"]),
        text=where.text(turn["text"], empty=True),
        caption=caption,
        hidden_query="query" in turn,
    )


def _item(where: FieldReader, index: int, value: object, ids: frozenset[str]) -> QaItem:
    qa = where.mapping(value, _QA, ("question", "evidence", "category"))
    number = qa["category"]
    if type(number) is not int or str(number) not in CATEGORIES:
        raise where.fail(f"unknown category {number!r}; LoCoMo has 1 to 5")
    category = str(number)
    met = set()
    answer: str | None = None
    if category == ADVERSARIAL:
        if "answer" in qa:
            met.add("category 5 with an answer")
        if "adversarial_answer" not in qa:
            met.add("category 5 without adversarial_answer")
    else:
        if "adversarial_answer" in qa:
            raise where.fail(f"category {category} has an 'adversarial_answer'")
        if "answer" not in qa:
            raise where.fail("field 'answer' is missing")
        if type(qa["answer"]) is int:
            met.add("integer answer")
            answer = str(qa["answer"])
        else:
            answer = where.at(", answer").text(qa["answer"])
    evidence, unresolved, repairs = _resolve(where.at(", evidence"), qa["evidence"], ids)
    return QaItem(
        index=index,
        question=where.at(", question").text(qa["question"]),
        category=category,
        answer=answer,
        evidence=evidence,
        unresolved=unresolved,
        met=frozenset(met | repairs),
    )


def _resolve(
    where: FieldReader, value: object, ids: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]:
    """Return published evidence as turn ids: several in one string are split, zero padding and stray colons dropped."""
    resolved: dict[str, None] = {}
    unresolved: list[str] = []
    met: set[str] = set()
    entries = where.list(value)
    if not entries:
        met.add("empty evidence")
    for entry in entries:
        text = where.text(entry)
        if _DIA_ID.fullmatch(text) is None:
            met.add("zero-padded evidence" if re.fullmatch(r"D\d+:\d+", text) else "malformed evidence")
        cited = [f"D{int(match[1])}:{int(match[2])}" for match in _CITED.finditer(text)]
        rest = _CITED.sub(" ", text).replace(";", " ").replace(",", " ").split()
        if len(set(cited)) < len(cited) or any(name in resolved for name in cited):
            met.add("repeated evidence")
        resolved.update(dict.fromkeys(name for name in cited if name in ids))
        unresolved += [name for name in cited if name not in ids] + rest
    return tuple(resolved), tuple(unresolved), frozenset(met)
