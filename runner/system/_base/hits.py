"""Events as hits, and the recall budget."""

from __future__ import annotations

from collections.abc import Iterable

from runner.system._base.text import line_of, spoken
from runner.types import Event, Hit, Query, Retrieval


def hit_of(event: Event, score: float | None = None, cosine: float | None = None) -> Hit:
    """An event returned verbatim: its own id is key and source, its own time is kept."""
    return Hit(key=event.id, text=spoken(event), score=score, sources=(event.id,), time=event.time, cosine=cosine)


def within(hits: Iterable[Hit], query: Query) -> Retrieval:
    """The longest prefix of a ranking that the budget allows: ``k`` hits, ``max_chars`` characters, ``max_tokens``.

    A hit is returned whole, and one that does not fit ends the list, so that what is returned is always
    the top of the ranking. Characters are counted as the run counts them: over the lines that a reader sees
    (:func:`~runner.system.line_of`, so with the date), joined by one newline each.
    """
    room = min((bound for bound in (query.max_chars, _chars(query.max_tokens)) if bound is not None), default=None)
    kept: list[Hit] = []
    used = 0
    for hit in hits:
        if query.k is not None and len(kept) >= query.k:
            break
        used += len(line_of(hit)) + (1 if kept else 0)
        if room is not None and used > room:
            # A first hit too long on its own is handed on whole: the budget that counts is applied by the run, which
            # cuts it and says so.
            if not kept:
                kept.append(hit)
            break
        kept.append(hit)
    return Retrieval(hits=tuple(kept))


def _chars(tokens: int | None) -> int | None:
    """Four characters per token, as the harness counts what an agent has room for."""
    return None if tokens is None else 4 * tokens
