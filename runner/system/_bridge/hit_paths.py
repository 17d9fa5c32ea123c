"""Reads hits from the JSON of a system, by the paths that the arm declares."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from runner.config import Strict
from runner.dotted import at, described
from runner.http import start_of
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.value_types import JsonPath
from runner.types import Hit

_ROUNDING: Final = 1e-3  # of vectors in half precision
_MILLISECONDS: Final = 1e11  # a Unix time above it is in thousandths of a second


class HitPaths(Strict):
    """Dotted paths: of the list in the answer, and of each field in one of its items.

    ``text`` may lead to a list of texts, which become lines; ``sources`` to one event id or a list of them; ``time`` to
    an ISO date or Unix seconds; ``cosine`` to the similarity of query and memory before any fusion. ``null``: the
    answer has no such thing; without ``key`` a hit is known by a digest of its text. An item that is a text and no
    object is a hit of that text.
    """

    at: JsonPath | None = None  # null: the answer is the list
    key: JsonPath | None = None
    text: JsonPath = "text"
    score: JsonPath | None = None
    sources: JsonPath | None = None
    time: JsonPath | None = None
    cosine: JsonPath | None = None


def hits_of(answer: Any, paths: HitPaths) -> tuple[Hit, ...]:
    """The hits of an answer, in its order.

    Raises
    ------
    BridgeError
        Saying what stands where a hit, or a field of one, should be.
    """
    items = answer if paths.at is None else at(answer, paths.at)
    if not isinstance(items, list):
        where = f"hits.at: '{paths.at}'" if paths.at is not None else "the answer"
        raise BridgeError(f"{where} is not a list of hits; {_what_stands_there(answer, items, paths.at)}")
    return tuple(_hit(item, f"hit {place}", paths) for place, item in enumerate(items, start=1))


def _hit(item: Any, name: str, paths: HitPaths) -> Hit:
    if isinstance(item, str):
        return Hit(key=_digest(item), text=item)
    text = at(item, paths.text)
    if isinstance(text, list) and all(isinstance(part, str) for part in text):
        text = "\n".join(text)
    if not isinstance(text, str):
        raise BridgeError(f"{name} has no text at '{paths.text}'; it is {described(item)}")
    key: Any = _digest(text)
    if paths.key is not None:
        key = at(item, paths.key)
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise BridgeError(f"{name} has no key at '{paths.key}'; it is {described(item)}")
    return Hit(
        key=str(key),
        text=text,
        score=_measure(at(item, paths.score), "score", name),
        sources=_sources(at(item, paths.sources), name),
        time=_time(at(item, paths.time), name),
        cosine=_cosine(at(item, paths.cosine), name),
    )


def _measure(value: Any, what: str, name: str) -> float | None:
    if value is None:
        return None
    if not is_number(value):
        raise BridgeError(f"{name} has a {what} that is not a number: {start_of(str(value), 60)}")
    return float(value)


def _cosine(value: Any, name: str) -> float | None:
    """Return a similarity; a value beyond 1 is a distance or a percentage, and the path is wrong."""
    found = _measure(value, "cosine", name)
    if found is not None and abs(found) > 1 + _ROUNDING:
        raise BridgeError(f"{name} has a cosine that is not between -1 and 1: {found:g}")
    return found


def _sources(value: Any, name: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    several: Sequence[Any] = value if isinstance(value, list) else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int) for one in several):
        raise BridgeError(f"{name} has sources that are not event ids: {start_of(str(value), 60)}")
    return tuple(map(str, several))


def _time(value: Any, name: str) -> datetime | None:
    """Return a time on the scenario's clock, which has no zone: one with a zone is converted to UTC."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
        elif is_number(value):
            when = datetime.fromtimestamp(value / 1000 if abs(value) > _MILLISECONDS else value, UTC)
        else:
            raise ValueError
        return when if when.tzinfo is None else when.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        raise BridgeError(f"{name} has a time that is not an ISO date: {start_of(str(value), 60)}") from None


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a finite number; a whole number beyond every float is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _what_stands_there(answer: Any, items: Any, path: str | None) -> str:
    if path is not None and items is None:
        return f"the answer is {described(answer)}"
    return f"it is {described(items)}"
