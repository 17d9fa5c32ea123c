"""JSON without guesses: what a decoder would take, drop or change without a word is refused.

That is: a field that stands twice in an object (RFC 8259, section 4: what comes of it is unpredictable), half of a
surrogate pair (section 8.2), ``NaN`` and infinities, and a number that is too large to be one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import IO, Any, Final, NoReturn

# A surrogate's escape that its other half does not stand beside. An escape begins after an even number of backslashes.
_HALF: Final = (
    r"(?<!\\)(?:\\\\)*+(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_IN_TEXT: Final = re.compile(_HALF)
_IN_BYTES: Final = re.compile(_HALF.encode())
_ESCAPE: Final = 6  # characters
_DIGITS: Final = 4300  # of a whole number, as many as Python reads
HALF: Final = "holds half of a character"


class UnsoundJsonError(ValueError):
    """JSON by its grammar without one meaning; the message is the end of a sentence about the file."""


def parse_strictly(text: str, *, nan_is_null: bool = False) -> Any:
    """Return the value of a JSON text.

    Parameters
    ----------
    text
        One document.
    nan_is_null
        Read ``NaN`` and the infinities as null, as the one writer of results means them that puts them there.

    Raises
    ------
    UnsoundJsonError
        On JSON by its grammar that has no one meaning.
    ValueError, RecursionError
        As :func:`json.loads`.
    """
    constant = _null if nan_is_null else refuse_constant
    value = json.loads(
        text,
        object_pairs_hook=_unique_fields,
        parse_constant=constant,
        parse_float=finite_number,
        parse_int=_whole_number,
    )
    if ("\\ud" in text or "\\uD" in text) and (found := _IN_TEXT.search(text)):
        raise UnsoundJsonError(f"{HALF} ({found[0][-_ESCAPE:]})")
    return value


def _unique_fields(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        refuse_duplicate(next(name for name in names if names.count(name) > 1))
    return found


def refuse_duplicate(name: str) -> NoReturn:
    """Refuse a field that stands twice in one object."""
    raise UnsoundJsonError(f"has the field '{name[:60]}' twice in one object")


def finite_number(number: str | float) -> float:
    """Return a number, unless it is larger than any."""
    value = float(number)
    if not math.isfinite(value):
        raise UnsoundJsonError(f"has a number that is none ({str(number)[:40]})")
    return value


def _whole_number(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise UnsoundJsonError(f"has a number of {len(digits)} digits")
    return int(digits)


def refuse_constant(word: str) -> NoReturn:
    """Refuse ``NaN`` and the infinities, which Python's decoder would read."""
    raise ValueError(f"{word} is not JSON")


def _null(_word: str) -> None:
    return None


class SurrogateGuard:
    """Reader of a binary file that refuses half of a character: a parser may put another one in its place.

    Parameters
    ----------
    file
        Open at the place to read from.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._last = b""  # the end of what was read, where an escape may go on

    def read(self, size: int = -1) -> bytes:
        """Read as the file does.

        Raises
        ------
        UnsoundJsonError
            When half of a character is in what was read.
        """
        data = self._file.read(size)
        seen, old = self._last + data, len(self._last)
        at = len(seen)
        if b"\\ud" in seen or b"\\uD" in seen:
            for found in _IN_BYTES.finditer(seen):
                first = found[0][-3] in b"89abAB"
                known = found.end() + _ESCAPE if first else found.end()  # where the other half of a first one ends
                if old < known and (known <= at or not data):
                    raise UnsoundJsonError(f"{HALF} ({found[0][-_ESCAPE:].decode()})")
        start = max(0, at - 2 * _ESCAPE)
        while start and seen[start - 1] == 0x5C:  # the whole run of backslashes, or none of it
            start -= 1
        self._last = seen[start:]
        return data
