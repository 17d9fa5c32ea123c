"""The format of a MuSiQue file, parsed strictly: one question with the paragraphs it is asked over.

Layout (StonyBrookNLP/musique, ``musique_ans`` and ``musique_full`` alike): JSONL of ``{id, paragraphs [{idx, title,
paragraph_text, is_supporting}], question, question_decomposition, answer, answer_aliases, answerable}``. The id begins
with the shape of the reasoning: ``2hop``, ``3hop1``, ``3hop2``, ``4hop1``, ``4hop2`` or ``4hop3``.

``question_decomposition`` holds the answers of every hop and is not read. Paragraphs are named anew, in an order that
depends on nothing but their text: neither their ids nor their order tell which of them matter.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runner.data.fields import FieldReader
from runner.data.jsonl import json_lines

HOPS: Final = ("2hop", "3hop", "4hop")
COMPOSITIONS: Final = ("2hop", "3hop1", "3hop2", "4hop1", "4hop2", "4hop3")

_MEANT: Final = "a published MuSiQue file"
_ID: Final = re.compile(r"(2hop|3hop[12]|4hop[123])__\S+")
_REQUIRED: Final = ("id", "paragraphs", "question", "answer", "answer_aliases", "answerable")
_KNOWN: Final = frozenset({*_REQUIRED, "question_decomposition"})
_PARAGRAPH: Final = ("idx", "title", "paragraph_text", "is_supporting")


@dataclass(frozen=True, slots=True)
class Paragraph:
    id: str  # p01 is the first by digest
    title: str
    text: str
    supporting: bool

    @property
    def with_title(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class MusiqueRow:
    """One row. ``key`` is a digest of its id and its paragraphs, which tells the two rows of a pair apart."""

    id: str
    composition: str
    question: str
    answers: tuple[str, ...]  # the answer, then its aliases
    answerable: bool
    paragraphs: tuple[Paragraph, ...]
    key: str
    met: Counter[str]  # traps, and how often

    @property
    def hops(self) -> str:
        return self.composition[:4]

    @property
    def support(self) -> tuple[Paragraph, ...]:
        return tuple(paragraph for paragraph in self.paragraphs if paragraph.supporting)


def read_rows(path: Path) -> Iterator[MusiqueRow]:
    """Yield the rows of the file, in its order; memory is that of one row.

    Raises
    ------
    DatasetError
        When the file cannot be read, and on anything that the format does not have: a missing or unknown field, an id
        of another shape, a value of another kind; and on a row of the test split, whose answers are withheld.
    """
    return (_row(number, value) for number, value in json_lines(path))


def _row(number: int, value: object) -> MusiqueRow:
    where = FieldReader(f"line {number}", _MEANT)
    item = where.mapping(value, None, ("id", "paragraphs", "question"))
    if "answer" not in item and "answerable" not in item:
        raise where.fail("there is no answer: those of the test split are withheld, take dev or train")
    item = where.mapping(value, _KNOWN, _REQUIRED)
    name = where.at(", id").text(item["id"])
    where = FieldReader(f"question {name[:80]}", _MEANT)
    shape = _ID.fullmatch(name)
    if shape is None:
        raise where.fail(f"the id does not begin with one of {', '.join(COMPOSITIONS)} and two underscores")
    if type(item["answerable"]) is not bool:
        raise where.fail("answerable is neither true nor false")
    met: Counter[str] = Counter()
    paragraphs, key = _paragraphs(where, name, item["paragraphs"], met)
    parsed = MusiqueRow(
        id=name,
        composition=shape[1],
        question=where.at(", question").text(item["question"]).strip(),
        answers=_answers(where, item, met),
        answerable=item["answerable"],
        paragraphs=paragraphs,
        key=key,
        met=met,
    )
    hops = int(parsed.hops[0])
    met["answerable, and supporting paragraphs are not as many as hops"] += (
        parsed.answerable and len(parsed.support) != hops
    )
    met["unanswerable, and no hop lacks its paragraph"] += not parsed.answerable and len(parsed.support) >= hops
    return parsed


def _answers(where: FieldReader, item: dict[str, Any], met: Counter[str]) -> tuple[str, ...]:
    """Return the answer and its aliases, each once; an unanswerable row may have none."""
    here = where.at(", answer")
    gold = here.answer(item["answer"]) if item["answerable"] else here.text(item["answer"], empty=True)
    here = where.at(", answer_aliases")
    others = [here.text(alias, empty=True).strip() for alias in here.list(item["answer_aliases"])]
    met["empty alias, left out"] += sum(not alias for alias in others)
    return tuple(dict.fromkeys(text for text in (gold.strip(), *others) if text))


def _paragraphs(where: FieldReader, name: str, value: object, met: Counter[str]) -> tuple[tuple[Paragraph, ...], str]:
    """Return paragraphs by digest, named by their place in that order, and the digest of them all."""
    found: list[tuple[str, str, str, bool]] = []
    indices: list[int] = []
    for place, entry in enumerate(where.at(", paragraphs").list(value)):
        here = where.at(f", paragraph {place}")
        item = here.mapping(entry, _PARAGRAPH, _PARAGRAPH)
        if type(item["idx"]) is not int:
            raise here.fail("idx is no whole number")
        if type(item["is_supporting"]) is not bool:
            raise here.fail("is_supporting is neither true nor false")
        title, text = (here.text(item[key], empty=True).strip() for key in ("title", "paragraph_text"))
        indices.append(item["idx"])
        if not text:
            met["empty paragraph, left out"] += 1
            met["supporting paragraph that is empty"] += item["is_supporting"]
            continue
        sha = hashlib.sha256(f"{len(title)} {title}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        found.append((sha, title, text, item["is_supporting"]))
    if not found:
        raise where.fail("there is no paragraph")
    if len(set(indices)) != len(indices):
        raise where.fail("two paragraphs share an idx")
    met["idx that is not the paragraph's place"] += sum(at != idx for at, idx in enumerate(indices))
    met["paragraph that stands twice in a row"] += len(found) - len({sha for sha, *_ in found})
    found.sort(key=lambda entry: entry[0])  # stable: of two equal ones the first in the file
    whole = hashlib.sha256("\n".join((name, *(sha for sha, *_ in found))).encode("utf-8", "surrogatepass")).hexdigest()
    return tuple(
        Paragraph(f"p{at:02d}", title, text, supporting)
        for at, (_, title, text, supporting) in enumerate(found, start=1)
    ), whole[:16]
