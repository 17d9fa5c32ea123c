"""A history in parts, as a model reads them, and the notes that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from runner.system import dated, spoken
from runner.types import Event

_NOTE: Final = re.compile(r"^\s*(?:[-*•–]|\d{1,4}[.)])\s+(\S.*)$")
_NONE: Final = "NONE"


def parts_of(events: Sequence[Event], most_chars: int) -> Iterator[tuple[Event, ...]]:
    """Runs of events of one session and one project, in order, of about ``most_chars`` characters each.

    An event is never cut; one that is longer is a part of its own.
    """
    part: list[Event] = []
    size = 0
    for event in events:
        length = len(event.text)
        other = bool(part) and (event.session, event.project) != (part[0].session, part[0].project)
        if part and (other or size + length > most_chars):
            yield tuple(part)
            part, size = [], 0
        part.append(event)
        size += length
    if part:
        yield tuple(part)


def part_text(part: Sequence[Event]) -> str:
    """Return a part as a model reads it: project and session, then one line per event with its time and its actor.

    It is the same whether or not the run has put the times into the texts, so that one history is paid for once.
    """
    head = [f"{word}: {value}" for word, value in (("Project", part[0].project), ("Session", part[0].session)) if value]
    return "\n".join([*head, *map(_line, part)])


def _line(event: Event) -> str:
    mark = dated(replace(event, text="")).text
    return mark + spoken(replace(event, text=event.text.removeprefix(mark)))


def notes_in(reply: str) -> list[str] | None:
    """Return the notes of a reply, one per line; ``None`` when it is neither notes nor the word for none."""
    found = [match[1].strip() for line in reply.splitlines() if (match := _NOTE.match(line))]
    return found if found or reply.strip().strip(".").upper() == _NONE else None
