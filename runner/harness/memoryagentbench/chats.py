"""The chats of MemoryAgentBench's LongMemEval part: one text, as published, without the labels that it holds.

The published context is the text of a Python list: a date, the turns of that day's session, the next date, …::

    ['Chat Time: 2022/11/17 (Thu) 12:04', [{'role': 'user', 'content': '…', 'has_answer': False}, …], …]

``has_answer`` says which turns answer a question, and the published code ingests it with the rest: here it is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runner.data.fields import FieldReader, kind
from runner.data.literal import parse_literal
from runner.errors import DatasetError

LABEL: Final = "has_answer"

_PAIR: Final = r"""['"]has_answer['"]\s*:\s*(?:true|false|none|null)"""
_LABELS: Final = re.compile(rf",\s*{_PAIR}|{_PAIR}\s*,?", re.IGNORECASE)


@dataclass(frozen=True)
class Chats:
    """A text, and where in it each turn stands, by the words of the turn; of equal ones, the first."""

    text: str
    turns: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def chats(where: FieldReader, context: str, met: Counter[str]) -> Chats:
    """Return the context without its labels, otherwise as it was published."""
    met["contexts that held has_answer, left out"] += LABEL in context
    sessions = _sessions(where, context)
    if sessions is None:
        met["chats that are no list of dates and turns, taken as text"] += 1
        return Chats(_LABELS.sub("", context))
    pieces: list[str] = []
    turns: dict[str, tuple[int, int]] = {}
    length = 0

    def append(piece: str) -> None:
        nonlocal length
        pieces.append(piece)
        length += len(piece)

    for number, item in enumerate(sessions):
        append(", " if number else "[")
        if isinstance(item, str):
            append(repr(item))
            continue
        for at, turn in enumerate(item):
            append(", " if at else "[")
            text = repr({key: value for key, value in turn.items() if key != LABEL})
            turns.setdefault(turn_words(str(turn.get("content", ""))), (length, length + len(text)))
            append(text)
        append("]" if item else "[]")
    append("]" if sessions else "[]")
    return Chats("".join(pieces), turns)


def _sessions(where: FieldReader, context: str) -> list[Any] | None:
    if not context.lstrip().startswith("["):
        return None
    try:
        value = parse_literal(where, context.strip())
    except DatasetError:
        return None
    if not isinstance(value, list):
        return None
    is_chat = all(
        isinstance(item, str) or (isinstance(item, list) and all(isinstance(turn, dict) for turn in item))
        for item in value
    )
    return value if is_chat else None


def turn_words(text: str) -> str:
    """Return a turn's words: the lists that are published of one chat differ in white space."""
    return " ".join(text.split())


def labelled_turns(where: FieldReader, value: object) -> Iterator[str]:
    """Yield the words of every turn below ``value`` that is labelled as holding an answer.

    Raises
    ------
    DatasetError
        On a label that is neither true nor false nor null, and on anything but a list of turns.
    """
    if isinstance(value, Mapping):
        if value.get(LABEL) not in (True, False, None) or type(value.get(LABEL)) is int:
            raise where.fail(f"{LABEL} is neither true nor false")
        if value.get(LABEL) is True and isinstance(value.get("content"), str):
            yield turn_words(value["content"])
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from labelled_turns(where, item)
    elif value is not None:
        raise where.fail(f"expected turns, found {kind(value)}")
