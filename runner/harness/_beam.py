"""The format of a BEAM chat and of its probing questions, parsed strictly.

A chat comes in four shapes (mohammadtavakoli78/BEAM and its copies on Hugging Face):

- repository, up to 1M: ``[{batch_number, time_anchor, turns: [[message]]}]``;
- repository, 10M: ``[{"plan-0": [batch, …]}, …]``, ten plans one after another;
- Hugging Face, up to 1M: ``[[message, …], …]``, a list for each batch;
- Hugging Face, 10M: ``plans: [{chat: [[message, …], …], …}, …]``.

A message is ``{role, id, content, question_type?, index?, time_anchor?}``. Message ids restart in every plan while
evidence counts on through all of them: ids of a plan are offset by the last id before it, plus one.

Questions are ``{ability: [question, …]}``; the Hugging Face copy has them as the text of a Python literal.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from runner.errors import DatasetError
from runner.harness._fields import Where, kind

# Where an ability's gold lies. Questions are numbered in this order, which is that of the published files.
GOLD: Final = {
    "abstention": "ideal_response",
    "contradiction_resolution": "ideal_answer",
    "event_ordering": "answer",
    "information_extraction": "answer",
    "instruction_following": "expected_compliance",
    "knowledge_update": "answer",
    "multi_session_reasoning": "answer",
    "preference_following": "expected_compliance",
    "summarization": "ideal_summary",
    "temporal_reasoning": "answer",
}
ABSTENTION: Final = "abstention"
ORDERING: Final = "event_ordering"

_MEANT: Final = "published BEAM data"
_MESSAGE: Final = frozenset({"role", "id", "content", "question_type", "index", "time_anchor"})
_BATCH: Final = frozenset({"batch_number", "time_anchor", "turns"})
_DATE: Final = re.compile(r"([A-Za-z]+)[-\s]+(\d{1,2})[-,\s]+(\d{4})")
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        "january february march april may june july august september october november december".split(), start=1
    )
}
_MARKER: Final = re.compile(r"\s*->->\s*\d+\s*,\s*(?:\d+|N/A)\s*$")
_PLAN: Final = re.compile(r"plan-\d{1,4}")
_LARGEST: Final = 8 << 20  # bytes of a Python literal that is read; the published ones have some 40,000
_DEEPEST: Final = 20  # brackets of a literal that may be open at once


@dataclass(frozen=True, slots=True)
class Message:
    id: str  # the id that evidence counts in; made unlike every other where the file repeats it
    role: str
    text: str
    time: datetime | None
    session: str  # its batch


@dataclass(frozen=True)
class Probe:
    """One probing question. ``evidence`` are message ids, each once."""

    ability: str
    question: str
    answer: str
    rubric: tuple[str, ...]
    evidence: tuple[str, ...]
    unresolved: tuple[str, ...]


@dataclass(frozen=True)
class Chat:
    messages: tuple[Message, ...]  # by time
    probes: tuple[Probe, ...]  # by ability
    met: Counter[str]  # traps, and how often


def parse(harness: str, name: str, chat: object, plans: object, questions: object) -> Chat:
    """One chat with its questions.

    Parameters
    ----------
    harness
        Its name, for messages.
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
    where = Where(harness, f"chat {name[:60]}", _MEANT)
    met: Counter[str] = Counter()
    batches = list(_plans(where, chat, plans))
    messages, known = _messages(where, batches, met)
    if not messages:
        raise where.fail("it holds no message")
    return Chat(messages, _probes(where, questions, known, met), +met)


# --- messages ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Batch:
    plan: int
    name: str
    date: object
    messages: Sequence[object]


def _plans(where: Where, chat: object, plans: object) -> Iterator[_Batch]:
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


def _batches(where: Where, value: object, plan: int, prefix: str) -> Iterator[_Batch]:
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
    where: Where, batches: Sequence[_Batch], met: Counter[str]
) -> tuple[tuple[Message, ...], Mapping[int, list[str]]]:
    """The messages by time, and the names that each counted id has."""
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
            role, text = _said(here.at(f", message {number}"), message, met)
            time = _date(here, message.get("time_anchor")) or time
            name, counted = _name(here, message.get("id"), offset, names, met)
            if counted is not None:
                met["ids that jump"] += counted not in (offset, last + 1)
                last = ids = counted
                known.setdefault(counted, []).append(name)
            met["speaker twice in a row"] += role == before
            before = role
            if text:
                found.append(Message(name, role, text, time, batch.name))
            else:
                met["empty messages, left out"] += 1
    return _by_time(found, met), known


def _said(where: Where, message: Mapping[str, Any], met: Counter[str]) -> tuple[str, str]:
    """Who speaks and what is said, less the marker that the generator left at the end of a user's message."""
    role = message["role"]
    if role not in ("user", "assistant"):
        raise where.fail(f"unknown role {str(role)[:40]!r}")
    text = where.text(message["content"], empty=True)
    if role == "user":
        text, stripped = _MARKER.subn("", text)
        met["user messages that ended in '->-> batch,bullet', stripped"] += stripped
    met["messages that still hold '->->'"] += "->->" in text
    return role, text.strip()


def _name(
    where: Where, value: object, offset: int, names: set[str], met: Counter[str]
) -> tuple[str, int | None]:
    """A name that no other message has, and the id that evidence counts in."""
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
    """In order of their dates; one without a date stays behind the one before it."""
    keys: list[datetime] = []
    for message in messages:
        keys.append(message.time or (keys[-1] if keys else datetime.min))
    met["messages dated before the one ahead of them, sorted"] += sum(
        late < early for early, late in zip(keys, keys[1:], strict=False)
    )
    order = sorted(range(len(messages)), key=keys.__getitem__)  # stable
    return tuple(messages[at] for at in order)


def _date(where: Where, value: object) -> datetime | None:
    """``March-15-2024``, a day without a time; ``None`` where there is none."""
    if value is None or value == "":
        return None
    match = _DATE.fullmatch(where.text(value).strip())
    month = next((n for name, n in _MONTHS.items() if match and name.startswith(match[1].lower()[:9])), 0)
    try:
        if match is None or len(match[1]) < 3:
            raise ValueError
        return datetime(int(match[3]), month, int(match[2]))
    except ValueError:
        raise where.fail(f"the date {str(value)[:40]!r} is not like 'March-15-2024'") from None


# --- questions -----------------------------------------------------------------------------------------------------


def _probes(where: Where, value: object, known: Mapping[int, list[str]], met: Counter[str]) -> tuple[Probe, ...]:
    where = where.at(", questions")
    if isinstance(value, str):
        value = literal(where, value)
        met["questions told as a Python literal"] += 1
    by_ability = where.mapping(value, GOLD, ())
    found = []
    for ability, field in GOLD.items():
        for number, item in enumerate(where.at(f", {ability}").list(by_ability.get(ability, []))):
            found.append(_probe(where.at(f", {ability} {number}"), ability, field, item, known, met))
    if not found:
        raise where.fail("there are none")
    return tuple(found)


def _probe(
    where: Where, ability: str, field: str, value: object, known: Mapping[int, list[str]], met: Counter[str]
) -> Probe:
    item = where.mapping(value, None, ("question", field, "rubric"))
    rubric = tuple(where.at(", rubric").text(point) for point in where.at(", rubric").list(item["rubric"]))
    if not rubric:
        raise where.fail("the rubric has no point")
    mentions = item.get("total_mentions")
    met["total_mentions that is not the number of points"] += type(mentions) is int and mentions != len(rubric)
    cited = item.get("source_chat_ids")
    shape = "absent" if cited is None else "empty" if not cited else kind(cited)
    met[f"source_chat_ids {shape}"] += ability != ABSTENTION
    evidence: dict[str, None] = {}
    unresolved = []
    for number in dict.fromkeys(_cited(where.at(", source_chat_ids"), cited)):
        names = known.get(number, [])
        if len(names) == 1:
            evidence[names[0]] = None
        else:  # of two messages of one id, nothing tells which is meant
            unresolved.append(f"{number}{' (twice)' if names else ''}")
    return Probe(
        ability=ability,
        question=where.at(", question").text(item["question"]).strip(),
        answer=_gold(where.at(f", {field}"), item[field]),
        rubric=rubric,
        evidence=tuple(evidence),
        unresolved=tuple(unresolved),
    )


def _gold(where: Where, value: object) -> str:
    """The ideal answer; a list is told in lines."""
    if isinstance(value, list):
        return "\n".join(where.answer(item) for item in value)
    return where.answer(value)


def _cited(where: Where, value: object) -> Iterator[int]:
    """Message ids of a list, of lists in it, of a mapping of lists, or of nothing."""
    if value is None:
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _cited(where, item)
    elif type(value) is int:
        yield value
    else:
        raise where.fail(f"expected message ids, found {kind(value)}")


def literal(where: Where, text: str) -> object:
    """A Python literal as data: nothing in it is executed, and its size and depth are bounded.

    Raises
    ------
    DatasetError
        When it is too large, nested too deeply, or no literal.
    """
    if len(text) > _LARGEST:
        raise where.fail(f"a literal of {len(text)} characters is larger than any published one")
    depth = deepest = 0
    for match in re.finditer(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|([\[{(])|([\]})])", text, re.DOTALL):
        depth += bool(match[1]) - bool(match[2])
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise where.fail("the literal is nested too deeply")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise where.fail("the text is not a Python literal") from None


