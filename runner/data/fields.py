"""Strict reading of the fields of a dataset, or of another harness's results: every refusal names the place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from runner.errors import DatasetError, Remedy
from runner.types import Gold

MAX_ID: Final = 256  # bytes of an id, so that a gate can hold millions
_LONGEST: Final = 120  # characters of a name that are shown


class FieldReader:
    """A place in a dataset. What is read of it and is of another kind raises :class:`~runner.errors.DatasetError`.

    Parameters
    ----------
    place
        As a person would say it ("question e47becba, session 3").
    meant
        What the file should have been ("a published LongMemEval file"); empty where that is not known.
    """

    __slots__ = ("_meant", "_place")

    def __init__(self, place: str, meant: str = "") -> None:
        self._place, self._meant = place, meant

    def at(self, place: str) -> FieldReader:
        return FieldReader(f"{self._place}{place}", self._meant)

    def fail(self, message: str) -> DatasetError:
        line = one_line(f"{self._place}: {message}")  # both may quote the data
        if not self._meant:
            return DatasetError(line)
        return DatasetError(f"{line}; this is not {self._meant}", Remedy.FOREIGN)

    def mapping(
        self, value: object, known: Collection[str] | None = None, required: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return an object with all required fields and no unknown one (``known=None``: whatever fields)."""
        if not isinstance(value, dict):
            raise self.fail(f"expected an object, found {kind(value)}")
        for key in required:
            if key not in value:
                raise self.fail(f"field '{key}' is missing")
        if known is not None:
            for key in value:
                if key not in known:
                    raise self.fail(f"unknown field '{str(key)[:60]}'")
        return value

    def list(self, value: object) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail(f"expected a list, found {kind(value)}")
        return value

    def text(self, value: object, *, empty: bool = False) -> str:
        if not isinstance(value, str):
            raise self.fail(f"expected text, found {kind(value)}")
        if not empty and not value.strip():
            raise self.fail("the text is empty")
        return value

    def answer(self, value: object) -> str:
        """Return text or a whole number as text."""
        return str(value) if type(value) is int else self.text(value)


def kind(value: object) -> str:
    """Return what a value is, in words: of JSON, or of another type as a Parquet file may hold it."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    names |= {int: "a number", float: "a number", bytes: "bytes"}
    return names.get(type(value), f"a {type(value).__name__}")


def one_line(text: str) -> str:
    """Return a text that may quote the data without its line ends."""
    return " ".join(text.split())


def first_few(names: Sequence[str], most: int = 8) -> str:
    """Return the first few of many names, each cut to a readable length, and how many more there are."""
    return ", ".join(name[:_LONGEST] for name in names[:most]) + (
        f", … {len(names) - most} more" if len(names) > most else ""
    )


def mapping(value: object, where: str) -> dict[str, Any]:
    """Return a value that must be an object."""
    return FieldReader(where).mapping(value)


def listed(value: object, where: str) -> list[Any]:
    """Return a value that must be a list."""
    return FieldReader(where).list(value)


def text(value: object, where: str) -> str:
    """Return a text, a number as it is written, nothing as the empty text.

    Raises
    ------
    DatasetError
        For an object or a list.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    return FieldReader(where).text(value, empty=True)


def optional(value: object, where: str) -> str | None:
    """Return a text, or ``None`` where there is none."""
    return None if value is None else text(value, where)


def identifier(value: object, where: str) -> str:
    """Return the id of a question, or of a cluster.

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
    """Return the name of a category or a cluster, empty where there is none.

    Raises
    ------
    DatasetError
        When it is longer than :data:`MAX_ID` bytes or not printable.
    """
    return "" if value in (None, "") else identifier(value, where)


def gold(value: object, where: str, *, abstain: bool = False) -> Gold | None:
    """Return gold answers of a text, a number or a list of them; ``None`` where the file does not tell.

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
    """Read a key that must be there.

    Raises
    ------
    DatasetError
        When it is not.
    """
    if key not in item:
        raise DatasetError(f"{where}: has no '{key}'; it has {', '.join(map(repr, list(item)[:12])) or 'nothing'}")
    return read(item[key], f"{where}, {key}")


def slug(name: str) -> str:
    """Return a text as a name that a config may hold: letters, digits and ``_ . + -``, up to 80 of them."""
    words = re.sub(r"[^A-Za-z0-9_.+-]+", "-", name).strip("-_.+")
    return words[:80] or "imported"
