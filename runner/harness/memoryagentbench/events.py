"""What a memory is told of a MemoryAgentBench context: its chunks, and which of them hold an answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from runner.data.fields import FieldReader
from runner.harness.memoryagentbench.chats import Chats, chats
from runner.harness.memoryagentbench.chunks import chunks
from runner.harness.memoryagentbench.format import CHATS, Item
from runner.types import Event


@dataclass(frozen=True)
class Told:
    """A context as events. ``evidence`` has the ids of each question's chunks, in order."""

    events: tuple[Event, ...]
    evidence: tuple[tuple[str, ...], ...]
    unresolved: tuple[int, ...]  # numbers of questions with a labelled turn that the context does not hold
    met: Counter[str]  # traps, and how often


def tell(where: FieldReader, item: Item, tokens: int) -> Told:
    """The context of a row in chunks of so many tokens; white space alone is no chunk."""
    met: Counter[str] = Counter()
    context = chats(where, item.context, met) if item.task is CHATS else Chats(item.context)
    text = context.text
    spans = [(start, end) for start, end in chunks(text, tokens) if not text[start:end].isspace()]
    events = tuple(
        Event(id=f"chunk-{number:05d}", text=text[start:end].strip(), kind="doc")
        for number, (start, end) in enumerate(spans)
    )
    evidence, unresolved = [], []
    for number, asked in enumerate(item.questions):
        held: set[int] = set()
        for turn in asked.evidence:
            at = context.turns.get(turn)
            if at is None:
                unresolved.append(number)
            else:
                held |= {place for place, (start, end) in enumerate(spans) if start < at[1] and at[0] < end}
        evidence.append(tuple(events[place].id for place in sorted(held)))
    return Told(events, tuple(evidence), tuple(unresolved), +met)
