"""A MemoryAgentBench context as a history: its chunks as events, and which of them hold an answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from runner.data.fields import FieldReader
from runner.harness.memoryagentbench.chats import Chats, chats
from runner.harness.memoryagentbench.chunks import chunks
from runner.harness.memoryagentbench.format import CHATS, ContextRow
from runner.types import Event


@dataclass(frozen=True)
class History:
    """A context as events. ``evidence`` has the ids of each question's chunks, in order."""

    events: tuple[Event, ...]
    evidence: tuple[tuple[str, ...], ...]
    unresolved: tuple[int, ...]  # numbers of questions with a labelled turn that the context does not hold
    met: Counter[str]  # traps, and how often


def history_of(where: FieldReader, row: ContextRow, tokens: int) -> History:
    """Return the context of a row in chunks of so many tokens; white space alone makes no chunk."""
    met: Counter[str] = Counter()
    context = chats(where, row.context, met) if row.task is CHATS else Chats(row.context)
    text = context.text
    spans = [(start, end) for start, end in chunks(text, tokens) if not text[start:end].isspace()]
    events = tuple(
        Event(id=f"chunk-{number:05d}", text=text[start:end].strip(), kind="doc")
        for number, (start, end) in enumerate(spans)
    )
    evidence, unresolved = [], []
    for number, question in enumerate(row.questions):
        holding: set[int] = set()
        for turn in question.evidence:
            at = context.turns.get(turn)
            if at is None:
                unresolved.append(number)
            else:
                holding |= {place for place, (start, end) in enumerate(spans) if start < at[1] and at[0] < end}
        evidence.append(tuple(events[place].id for place in sorted(holding)))
    return History(events, tuple(evidence), tuple(unresolved), +met)
