"""Statements of a scenario before they have a place, and how a template becomes one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

_ARTICLE = re.compile(r"\b([Aa]) (\{[A-Z]\})")


@dataclass(frozen=True)
class Statement:
    """A statement before it has a place: who says it, and the words."""

    speaker: str
    text: str


@dataclass
class QuestionGroup:
    """The statements of one question. ``evidence`` indexes them; the first ``series`` of them keep their order."""

    category: str
    statements: list[Statement]
    evidence: tuple[int, ...]
    question: Callable[[datetime | None], str]  # of the first evidence's time
    answers: tuple[str, ...] = ()
    series: int = 0
    months: bool = False  # the series is spread over distinct months


def filled(template: str, **words: str) -> str:
    """Fill the placeholders of a template, ``a`` turned into ``an`` where the word wants it."""

    def article(match: re.Match[str]) -> str:
        word = words[match[2][1]].lower()
        vowel = word[0] in "aeiou" and not word.startswith(("uni", "uku", "eu"))
        return f"{match[1]}{'n' if vowel else ''} {match[2]}"

    return _ARTICLE.sub(article, template).format(**words)


def sentence(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[0].upper() + text[1:]
