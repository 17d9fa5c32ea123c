"""Strict reading of a dataset's fields: every refusal names the place and says what to do next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from runner.errors import DatasetError

_LONGEST: Final = 120  # characters of a name that are shown


class Where:
    """A place in a dataset. What is read of it and is of another kind raises :class:`~runner.errors.DatasetError`.

    Parameters
    ----------
    harness
        Its name, for messages.
    place
        As a person would say it ("question e47becba, session 3").
    meant
        What the file should have been ("a published LongMemEval file").
    """

    __slots__ = ("_harness", "_meant", "_place")

    def __init__(self, harness: str, place: str, meant: str) -> None:
        self._harness, self._place, self._meant = harness, place, meant

    def at(self, place: str) -> Where:
        return Where(self._harness, f"{self._place}{place}", self._meant)

    def fail(self, message: str) -> DatasetError:
        said = " ".join(f"{self._place}: {message}".split())  # both may quote the data, and a message is one line
        return DatasetError(
            f"{self._harness}: {said}; this is not {self._meant} (harness.dataset.path=FILE names another copy)"
        )

    def mapping(self, value: object, known: Collection[str] | None, required: Sequence[str]) -> dict[str, Any]:
        """An object with all required fields and no unknown one (``known=None``: whatever fields)."""
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
        """Text or a whole number, as text."""
        return str(value) if type(value) is int else self.text(value)


def kind(value: object) -> str:
    """What a value is, in words: of JSON, or of another type as a Parquet file may hold it."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    names |= {int: "a number", float: "a number", bytes: "bytes"}
    return names.get(type(value), f"a {type(value).__name__}")


def one_line(text: str) -> str:
    """A text that may quote the data, without its line ends."""
    return " ".join(text.split())


def some(names: Sequence[str], most: int = 8) -> str:
    """The first few of many names, each cut to a readable length, and how many more there are."""
    return ", ".join(name[:_LONGEST] for name in names[:most]) + (
        f", … {len(names) - most} more" if len(names) > most else ""
    )
