"""JSON objects inside the text of a model: fenced, introduced by prose, or one after another."""

from __future__ import annotations

import json
from typing import Any

_TAIL = 1_000_000  # characters looked at: what counts is what a model says last
_TRIES = 500  # openings tried: a page of braces must not take minutes

_PAIRS = json.JSONDecoder(object_pairs_hook=list)
_PLAIN = json.JSONDecoder()


def json_objects(text: str, *, pairs: bool = False) -> tuple[list[Any], int]:
    """The outermost JSON objects in a text, in order, and how many braces opened none.

    A broken opening before an object means that the object may be a part of something that was cut off.

    Parameters
    ----------
    pairs
        Give each object as a list of ``(key, value)``, so that a key that occurs twice can be seen.
    """
    text = text[-_TAIL:]
    decoder = _PAIRS if pairs else _PLAIN
    found: list[Any] = []
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < _TRIES:
        try:
            item, end = decoder.raw_decode(text, at)
            found.append(item)
        except (ValueError, RecursionError):
            end = at + 1
            tries += 1
        at = text.find("{", end)
    return found, tries
