"""Graded answers to questions: joined by id, repeats in order, contradictions and duplicates told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field

from runner.data.result_file import ResultFile
from runner.errors import DatasetError
from runner.imports import Given
from runner.types import Gold

T = TypeVar("T")

_LAST: Final = 1 << 62


class ImportedQuestion(Struct, kw_only=True):
    """One question of an arm with every answer to it, repeats in order."""

    id: str
    cluster: str
    category: str
    question: str | None
    gold: Gold | None
    labels: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def join_answers(given: Sequence[Given], files: Sequence[ResultFile]) -> list[ImportedQuestion]:
    """Questions in order of first sight.

    One question answered in several files is answered again: a repeat. In one file it is an error, unless the file
    says which repeat each answer is.

    Raises
    ------
    DatasetError
        When an id stands twice, or two answers disagree on what was asked.
    """
    by_id: dict[str, list[Given]] = {}
    for item in given:
        by_id.setdefault(item.id, []).append(item)
    return [_question(name, items, files) for name, items in by_id.items()]


def _question(name: str, items: list[Given], files: Sequence[ResultFile]) -> ImportedQuestion:
    places = Counter((item.file, item.repeat) for item in items)
    for (file, repeat), count in places.items():
        if count > 1:
            which = f" as repeat {repeat}" if repeat else ""
            raise DatasetError(
                f"{files[file].name}: the question {name} stands {count} times{which}; keep one answer, or say which "
                f"repeat each is"
            )
    items.sort(key=lambda item: (item.file, _order(item.repeat)))
    return ImportedQuestion(
        id=name,
        cluster=_one(name, "cluster", (item.cluster for item in items if item.cluster)) or name,
        category=_one(name, "category", (item.category for item in items if item.category)) or "",
        question=_one(name, "question", (item.question for item in items if item.question is not None)),
        gold=_one(name, "gold", (item.gold for item in items if item.gold is not None)),
        labels=[item.label for item in items],
        answers=[item.answer for item in items],
        reasons=[item.reason for item in items],
    )


def _one(name: str, what: str, values: Iterable[T]) -> T | None:
    first: T | None = None
    for value in values:
        if first is None:
            first = value
        elif value != first:
            raise DatasetError(
                f"the question {name} has another {what} in another place ({_shown(first)} and {_shown(value)}); these "
                f"are not answers to one question"
            )
    return first


def _shown(value: object) -> str:
    told = " | ".join(value.answers) if isinstance(value, Gold) else str(value)
    return repr(told if len(told) <= 60 else told[:59] + "…")


def _order(repeat: str) -> tuple[int, str]:
    """Return a sort key: numbers by value, words after them."""
    return (int(repeat), "") if repeat.isascii() and repeat.isdigit() and len(repeat) < 19 else (_LAST, repeat)
