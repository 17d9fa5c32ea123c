"""The format of a BEAM chat, parsed strictly.

A chat comes in four shapes (mohammadtavakoli78/BEAM and its copies on Hugging Face):

- repository, up to 1M: ``[{batch_number, time_anchor, turns: [[message]]}]``;
- repository, 10M: ``[{"plan-0": [batch, …]}, …]``, ten plans one after another;
- Hugging Face, up to 1M: ``[[message, …], …]``, a list for each batch;
- Hugging Face, 10M: ``plans: [{chat: [[message, …], …], …}, …]``.

A message is ``{role, id, content, question_type?, index?, time_anchor?}``. Message ids restart in every plan while
evidence counts on through all of them: ids of a plan are offset by the last id before it, plus one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from runner.data.fields import FieldReader
from runner.harness.beam.questions import ProbingQuestion, probes

_MEANT: Final = "published BEAM data"
_MESSAGE: Final = frozenset({"role", "id", "content", "question_type", "index", "time_anchor"})
_BATCH: Final = frozenset({"batch_number", "time_anchor", "turns"})
_DATE: Final = re.compile(r"([A-Za-z]+)[-\s]+(\d{1,2})[-,\s]+(\d{4})")
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MARKER: Final = re.compile(r"\s*->->\s*\d+\s*,\s*(?:\d+|N/A)\s*$")
_PLAN: Final = re.compile(r"plan-\d{1,4}")


@dataclass(frozen=True, slots=True)
class Message:
    id: str  # the id that evidence counts in; made unlike every other where the file repeats it
    role: str
    text: str
    time: datetime | None
    session: str  # its batch


@dataclass(frozen=True)
class Chat:
    messages: tuple[Message, ...]  # by time
    probes: tuple[ProbingQuestion, ...]  # by ability
    met: Counter[str]  # traps, and how often


def parse(name: str, chat: object, plans: object, questions: object) -> Chat:
    """Parse one chat with its questions.

    Parameters
    ----------
    name
        Id of the chat.
    chat, plans
        The decoded chat; ``plans`` where the data has them, and then ``chat`` is not read.
    questions
        The decoded questions, or the text of a literal.

    Raises
    ------
    DatasetError
        On anything that the format does not have.
    """
    where = FieldReader(f"chat {name[:60]}", _MEANT)
    met: Counter[str] = Counter()
    batches = list(_plans(where, chat, plans))
    messages, known = _messages(where, batches, met)
    if not messages:
        raise where.fail("it holds no message")
    return Chat(messages, probes(where, questions, known, met), +met)


# --- messages ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Batch:
    plan: int
    name: str
    date: object
    messages: Sequence[object]


def _plans(where: FieldReader, chat: object, plans: object) -> Iterator[_Batch]:
    if isinstance(plans, list) and plans:
        for number, plan in enumerate(plans):
            here = where.at(f", plan {number}")
            inner = here.mapping(plan, None, ("chat",))["chat"]
            yield from _batches(here, inner, number, f"plan_{number + 1}/")
        return
    items = where.at(", chat").list(chat)
    if not items or not isinstance(items[0], dict) or "turns" in items[0]:
        yield from _batches(where, items, 0, "")
        return
    for number, item in enumerate(items):
        here = where.at(f", plan {number}")
        named = {key: value for key, value in here.mapping(item, None, ()).items() if value is not None}
        if len(named) != 1 or not _PLAN.fullmatch(next(iter(named))):
            raise here.fail(f"expected one 'plan-N', found {', '.join(map(str, named))[:80] or 'nothing'}")
        yield from _batches(here, next(iter(named.values())), number, f"plan_{number + 1}/")


def _batches(where: FieldReader, value: object, plan: int, prefix: str) -> Iterator[_Batch]:
    for number, item in enumerate(where.at(", chat").list(value), start=1):
        here = where.at(f", batch {number}")
        name = f"{prefix}batch_{number}"
        if isinstance(item, list):
            yield _Batch(plan, name, None, item)
            continue
        batch = here.mapping(item, _BATCH, ("turns",))
        turns = here.at(", turns").list(batch["turns"])
        messages = [message for turn in turns for message in here.at(", turns").list(turn)]
        yield _Batch(plan, name, batch.get("time_anchor"), messages)


def _messages(
    where: FieldReader, batches: Sequence[_Batch], met: Counter[str]
) -> tuple[tuple[Message, ...], Mapping[int, list[str]]]:
    """Return the messages by time, and the names that each counted id has."""
    found: list[Message] = []
    known: dict[int, list[str]] = {}
    names: set[str] = set()
    offset = last = 0
    plan, ids, before = -1, -1, ""
    for batch in batches:
        if batch.plan != plan:
            offset, plan, before = ids + 1, batch.plan, ""
            met["plans whose ids were offset"] += offset > 0
        here = where.at(f", {batch.name}")
        date = _date(here, batch.date)
        inside = [_date(here, m.get("time_anchor")) for m in batch.messages if isinstance(m, dict)]
        time = date or next((day for day in inside if day is not None), None)
        met["batches without a date"] += time is None
        for number, value in enumerate(batch.messages):
            message = here.at(f", message {number}").mapping(value, _MESSAGE, ("role", "content"))
            role, text = _spoken(here.at(f", message {number}"), message, met)
            time = _date(here, message.get("time_anchor")) or time
            name, counted = _name(here, message.get("id"), offset, names, met)
            if counted is not None:
                met["ids that jump"] += counted not in (offset, last + 1)
                last = ids = counted
            met["speaker twice in a row"] += role == before
            before = role
            if not text:
                met["empty messages, left out"] += 1
                continue
            found.append(Message(name, role, text, time, batch.name))
            if counted is not None:
                known.setdefault(counted, []).append(name)
    return _by_time(found, met), known


def _spoken(where: FieldReader, message: Mapping[str, Any], met: Counter[str]) -> tuple[str, str]:
    """Return who speaks and what is said, less the marker that the generator left at the end of a user's message."""
    role = message["role"]
    if role not in ("user", "assistant"):
        raise where.fail(f"unknown role {str(role)[:40]!r}")
    text = where.text(message["content"], empty=True)
    if role == "user":
        text, stripped = _MARKER.subn("", text)
        met["user messages that ended in '->-> batch,bullet', stripped"] += stripped
    met["messages that still hold '->->'"] += "->->" in text
    return role, text.strip()


def _name(where: FieldReader, value: object, offset: int, names: set[str], met: Counter[str]) -> tuple[str, int | None]:
    """Return a name that no other message has, and the id that evidence counts in."""
    if value is None:
        met["messages without an id"] += 1
        counted, name = None, f"x{len(names)}"
    elif type(value) is int and value >= 0:
        counted = value + offset
        name = str(counted)
    else:
        raise where.fail(f"the message id {str(value)[:40]!r} is not a whole number")
    met["message ids that stand twice"] += counted is not None and name in names
    while name in names:
        name += "'"
    names.add(name)
    return name, counted


def _by_time(messages: list[Message], met: Counter[str]) -> tuple[Message, ...]:
    """Sort messages by date; one without a date stays behind the one before it."""
    keys: list[datetime] = []
    for message in messages:
        keys.append(message.time or (keys[-1] if keys else datetime.min))
    met["messages dated before the one ahead of them, sorted"] += sum(late < early for early, late in pairwise(keys))
    order = sorted(range(len(messages)), key=keys.__getitem__)  # stable
    return tuple(messages[at] for at in order)


def _date(where: FieldReader, value: object) -> datetime | None:
    """Read ``March-15-2024``, a day without a time; ``None`` where there is none."""
    if value is None or value == "":
        return None
    match = _DATE.fullmatch(where.text(value).strip())
    try:
        if match is None:
            raise ValueError
        return datetime(int(match[3]), _MONTHS.index(match[1].lower()) + 1, int(match[2]))
    except ValueError:
        raise where.fail(f"the date {str(value)[:40]!r} is not like 'March-15-2024'") from None
