"""Values out of untrusted JSON: the kind that is expected, or one clear line that names the place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from runner.errors import DatasetError
from runner.types import Gold

MAX_ID: Final = 256  # bytes, so that a gate can hold millions


def kind(value: object) -> str:
    """What JSON calls it."""
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), "a number")


def mapping(value: object, where: str) -> dict[str, Any]:
    """An object.

    Raises
    ------
    DatasetError
        For anything else.
    """
    return value if isinstance(value, dict) else _wrong(where, "an object", value)


def listed(value: object, where: str) -> list[Any]:
    """A list.

    Raises
    ------
    DatasetError
        For anything else.
    """
    return value if isinstance(value, list) else _wrong(where, "a list", value)


def text(value: object, where: str) -> str:
    """A text; a number as it is written, nothing as the empty text.

    Raises
    ------
    DatasetError
        For an object or a list, and for half of a character.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    if not isinstance(value, str):
        return _wrong(where, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        half = repr(error.object[error.start])
        raise DatasetError(f"{where}: holds half of a character ({half}); export it again as UTF-8") from None
    return value


def optional(value: object, where: str) -> str | None:
    """A text, or ``None`` where there is none."""
    return None if value is None else text(value, where)


def identifier(value: object, where: str) -> str:
    """The id of a question, or of a cluster.

    Raises
    ------
    DatasetError
        When it is missing, longer than :data:`MAX_ID` bytes or not printable.
    """
    name = text(value, where)
    if not name or len(name.encode()) > MAX_ID or not name.isprintable():
        raise DatasetError(f"{where}: the id {name[:40]!r} is empty, longer than {MAX_ID} bytes or not printable")
    return name


def word(value: object, where: str) -> str:
    """The name of a category or a cluster, empty where there is none.

    Raises
    ------
    DatasetError
        When it is longer than :data:`MAX_ID` bytes or not printable.
    """
    return "" if value in (None, "") else identifier(value, where)


def gold(value: object, where: str, *, abstain: bool = False) -> Gold | None:
    """Gold answers: a text, a number or a list of them; ``None`` where the file does not tell.

    Parameters
    ----------
    abstain
        The right answer is that the memory does not hold it: whatever stands there is no answer to be found.
    """
    if abstain:
        return Gold(abstain=True)
    if value is None:
        return None
    items = value if isinstance(value, list) else [value]
    return Gold(answers=tuple(text(item, where) for item in items))


def field(item: dict[str, Any], key: str, where: str, read: Callable[[object, str], Any]) -> Any:
    """A key that must be there, read.

    Raises
    ------
    DatasetError
        When it is not.
    """
    if key not in item:
        raise DatasetError(f"{where}: has no '{key}'; it has {', '.join(map(repr, list(item)[:12])) or 'nothing'}")
    return read(item[key], f"{where}, {key}")


def _wrong(where: str, expected: str, found: object) -> NoReturn:
    raise DatasetError(f"{where}: expected {expected}, found {kind(found)}")


def slug(name: str) -> str:
    """A text as a name that a config may hold: letters, digits and ``_ . + -``, up to 80 of them."""
    words = re.sub(r"[^A-Za-z0-9_.+-]+", "-", name).strip("-_.+")
    return words[:80] or "imported"
