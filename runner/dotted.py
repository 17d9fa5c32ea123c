"""Dotted paths into JSON: ``usage.input_tokens``, ``choices.0.text``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def at(body: Any, path: str | None) -> Any:
    """Return the value at a dotted path (``usage.input_tokens``, ``choices.0.text``), ``None`` when there is none."""
    if path is None:
        return None
    for part in path.split("."):
        if isinstance(body, Mapping):
            body = body.get(part)
        elif isinstance(body, list) and _is_place(part) and int(part) < len(body):
            body = body[int(part)]
        else:
            return None
    return body


def _is_place(part: str) -> bool:
    """Return whether a part is a position in a list; other digits than 0 to 9 are names."""
    return part.isascii() and part.isdigit() and len(part) < 10


def described(body: Any) -> str:
    """Return the kind of a JSON value for a message: ``an object with data, status``."""
    if isinstance(body, Mapping):
        names = [str(name)[:40] for name in list(body)[:8]]
        return f"an object with {', '.join(names)}{', …' if len(body) > 8 else ''}" if names else "an empty object"
    if isinstance(body, list):
        return f"a list of {len(body)}"
    if body is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a number", str: "a text"}.get(type(body), "something else")
