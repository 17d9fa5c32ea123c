"""Events and hits as text: one form for every system, and the lines that a reader sees."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from runner.types import Event, Hit, Receipt


def spoken(event: Event) -> str:
    """An event as one line of prose: who, then what. The text that every embedded system indexes and returns."""
    return f"{event.actor}: {event.text}" if event.actor else event.text


def clean(text: str) -> str:
    """Return the text with lone surrogates replaced: no encoder and no tokeniser takes them."""
    return text.encode("utf-8", "replace").decode()


def dated(event: Event) -> Event:
    """The event with its time in its text, for a system that takes no timestamps."""
    return event if event.time is None else replace(event, text=f"[{event.time:%d %B %Y, %H:%M}] {event.text}")


def receipt_of(events: Sequence[Event], *, times: str = "native", computed: int = 0, reused: int = 0) -> Receipt:
    """Receipt of events that were sent whole and in order."""
    sha = hashlib.sha256()
    for event in events:
        stamp = event.time.isoformat() if event.time else ""
        for part in (event.id, stamp, event.actor, event.text):
            sha.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return Receipt(events=len(events), sha256=sha.hexdigest(), times=times, computed=computed, reused=reused)


def line_of(hit: Hit) -> str:
    """One hit as a reader sees it: when, then what. The recall budget counts these lines, one newline between two."""
    return hit.text if hit.time is None else f"[{hit.time:%d %B %Y, %H:%M}] {hit.text}"
