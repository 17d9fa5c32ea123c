"""Wordings of an answer, looked for in a text word by word: a raw substring would find "cat" in "concatenate".

The test is conservative: what it finds is there, and an answer in other words is not found. Two spellings are the same
where only one thing can be meant: case, punctuation, ``1,000`` and ``1000``, ``two`` and ``2``, ``7 May 2023``,
``May 7th, 2023`` and ``2023-05-07``. Nothing is stemmed, and ``05/07/2023`` stays what it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT: Final = {month[:3]: month for month in MONTHS} | {"sept": "september"}
_UNITS: Final = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
# "one" is left out: it is a pronoun as often as a number.
_NUMBERS: Final = {word: number for number, word in enumerate(_UNITS, start=2)}
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
    )
}
_FILLERS: Final = frozenset(
    (
        *("a", "an", "the", "and", "or", "of", "in", "on", "at", "to", "for", "by", "with", "from"),
        *("my", "your", "his", "her", "its", "our", "their"),
    )
)
_VERDICTS: Final = frozenset(("yes", "no", "true", "false"))  # said of a text, not in it

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"  # written without blanks: a character is a token
_TOKEN: Final = re.compile(rf"\d+\.\d+|[{_CJK}]|(?:(?![{_CJK}])[^\W_])+")
_STAMP: Final = re.compile(r"^\[\d{1,2} [^\W\d_]+ \d{4}, \d\d:\d\d\] ", re.MULTILINE)
_ISO: Final = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-([0-2]\d|3[01])(?=t\d|\b)")
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_POSSESSIVE: Final = re.compile(r"['’]s\b")
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_YEAR: Final = re.compile(r"(?:1[89]|20)\d\d")
_PARTS: Final = re.compile(r"[;\n]|,(?!\d{3}\b)")
_ADJACENT: Final = 2  # tokens of a part up to which they must stand next to each other


@dataclass(frozen=True)
class Alternative:
    """One wording of an answer, as it is looked for: every part, each within one text.

    ``dated`` says that the answer is a date: only then does the time stamp before a memory count as a part of its text.
    """

    parts: tuple[tuple[str, ...], ...]
    dated: bool


def alternatives(answers: Iterable[str]) -> tuple[Alternative, ...]:
    """Return the answers whose words can be looked for.

    Left out are those whose words tell nothing: yes and no, a single letter (a choice), articles alone, no words.
    A list ("pottery, camping and painting") is taken apart at commas and semicolons, for its items may come from
    several memories; a date is not.
    """
    found = []
    for answer in answers:
        whole = tokens(answer)
        dated = any(token in MONTHS or _YEAR.fullmatch(token) for token in whole)
        split = (whole,) if dated else tuple(part for part in map(tokens, _PARTS.split(answer)) if part)
        if any(map(_is_informative, split)):
            found.append(Alternative(split, dated))
    return tuple(found)


def is_stated_in(wanted: Sequence[Alternative], texts: Sequence[str]) -> bool:
    """Return whether any alternative stands in some texts: each of its parts in one of them.

    The tokens of a part that has one or two must stand side by side; those of a longer one may come in any order.
    """
    read = [_Text(text) for text in texts] if wanted else []
    return any(all(any(text.contains(part, one.dated) for text in read) for part in one.parts) for one in wanted)


def tokens(text: str, *, stamps: bool = True) -> tuple[str, ...]:
    """Return the words of a text that carry meaning, dates and numbers in one spelling.

    ``stamps=False`` passes over the time (``[07 May 2023, 13:56]``) that a line of delivered context begins with.
    """
    return _tokens(_plain(text), stamps)


class _Text:
    """A text that parts are looked for in; taken apart only where it may hold one."""

    def __init__(self, text: str) -> None:
        self._plain = _plain(text)
        self._read: dict[bool, tuple[str, ...]] = {}

    def contains(self, part: tuple[str, ...], stamps: bool) -> bool:
        # Words are kept as they are written, unlike numbers and months: a text without one need not be taken apart.
        if not all(token in self._plain for token in part if token.isalpha() and token not in MONTHS):
            return False
        if stamps not in self._read:
            self._read[stamps] = _tokens(self._plain, stamps)
        return _within(part, self._read[stamps])


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _tokens(plain: str, stamps: bool) -> tuple[str, ...]:
    if not stamps:
        plain = _STAMP.sub("", plain)
    plain = _ISO.sub(lambda m: f"{m[3]} {MONTHS[int(m[2]) - 1]} {m[1]} ", plain)
    plain = _POSSESSIVE.sub("", _GROUPED.sub("", plain))
    return tuple(_dates([token for token in _numbers(_TOKEN.findall(plain)) if token not in _FILLERS]))


def _is_informative(part: Sequence[str]) -> bool:
    """Return whether finding these words says anything: a lone letter or a verdict does not."""
    letter = len(part) == 1 and len(part[0]) == 1 and part[0].isascii() and part[0].isalpha()
    return bool(part) and not letter and not set(part) <= _VERDICTS


def _within(part: tuple[str, ...], text: tuple[str, ...]) -> bool:
    if len(part) > _ADJACENT and not any(re.match(f"[{_CJK}]", token) for token in part):
        return set(part) <= set(text)
    return any(text[at : at + len(part)] == part for at, token in enumerate(text) if token == part[0])


def _numbers(found: Sequence[str]) -> list[str]:
    """Return ordinals, leading zeros and number words as plain digits; ``twenty-five`` is 25."""
    out: list[str] = []
    tens = False  # the token before was a word for tens
    for token in found:
        unit = _NUMBERS.get(token, 1 if token == "one" else 0)
        if tens and 0 < unit < 10:
            out[-1] = str(int(out[-1]) + unit)
            tens = False
            continue
        tens = token in _TENS
        number = _TENS.get(token) or _NUMBERS.get(token)
        ordinal = _ORDINAL.fullmatch(token)
        digits = str(number) if number else ordinal[1] if ordinal else token
        out.append(digits.lstrip("0") or "0" if digits.isdecimal() else digits)
    return out


def _dates(found: list[str]) -> list[str]:
    """Return months in full beside a number, and the day before the month."""
    for at, token in enumerate(found):
        beside = (found[at - 1 : at] if at else []) + found[at + 1 : at + 2]
        if token in _SHORT and any(other.isdecimal() for other in beside):
            found[at] = _SHORT[token]
    for at in range(len(found) - 1):
        if found[at] in MONTHS and _is_day(found[at + 1]) and not (at and _is_day(found[at - 1])):
            found[at], found[at + 1] = found[at + 1], found[at]
    return found


def _is_day(token: str) -> bool:
    return token.isdecimal() and len(token) <= 2 and 1 <= int(token) <= 31
