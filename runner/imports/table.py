"""Any CSV or JSON lines, by a map of columns in YAML (``--map FILE``).

A map names columns; those of JSON lines may be paths (``judge.label``)::

    id: question_id          # required
    label: verdict           # or score, with a threshold
    values: {correct: ["yes"], wrong: ["no"], abstain: ["n/a"], error: ["timeout"]}   # what the labels mean
    cluster: conversation    # what moves together
    category: type
    repeat: run              # what tells two answers to one question apart
    question: question
    gold: expected           # with answer and question: answers can be judged again
    answer: output
    status: status           # empty or ok, else the answer failed
    reader: gpt-4.1-mini     # models by their name, not columns
    judge: gpt-4o-mini
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import ValidationError, model_validator

from runner.config import Strict, own_path, problems
from runner.data.fields import gold, identifier, mapping, one_line, optional, text, word
from runner.data.jsonl import objects
from runner.data.result_file import ResultFile
from runner.data.tables import csv_rows
from runner.errors import UsageError
from runner.imports import Format, Given, Results
from runner.imports._shared.labels import MISSING, label_of, shorten
from runner.plain_yaml import plain_yaml
from runner.types import ABSTAIN, CORRECT, JUDGE_ERROR, JUDGE_UNPARSEABLE, OK, READER_ERROR, STATUSES, WRONG

_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_MEANINGS: Final = {"correct": CORRECT, "wrong": WRONG, "abstain": ABSTAIN, "error": JUDGE_ERROR}
_LARGEST: Final = 1 << 16  # bytes of a map


Words = tuple[str | bool | int | float, ...]


class Values(Strict):
    """Words of a label column by their meaning, whatever their case."""

    correct: Words = ()
    wrong: Words = ()
    abstain: Words = ()
    error: Words = ()

    def meanings(self) -> dict[str, str]:
        """Each word, in lower case, with the label that it stands for."""
        return {_word(word): label for kind, label in _MEANINGS.items() for word in getattr(self, kind)}

    @model_validator(mode="after")
    def _once(self) -> Values:
        words = [_word(word) for kind in _MEANINGS for word in getattr(self, kind)]
        if len(set(words)) != len(words):
            raise ValueError("a word has two meanings")
        return self


class Map(Strict):
    """The columns of a table."""

    id: str
    label: str | None = None
    values: Values | None = None
    score: str | None = None
    threshold: float | None = None
    cluster: str | None = None
    category: str | None = None
    repeat: str | None = None
    question: str | None = None
    gold: str | None = None
    answer: str | None = None
    status: str | None = None
    reader: str = ""
    judge: str = ""

    @model_validator(mode="after")
    def _one(self) -> Map:
        if (self.label is None) == (self.score is None):
            raise ValueError("give label, or score and threshold")
        if (self.score is None) != (self.threshold is None):
            raise ValueError("a score needs a threshold, from which on an answer is correct; a label has none")
        if self.values is not None and self.label is None:
            raise ValueError("values tell what a label means; there is no label")
        return self


class Flags(Strict):
    """``--map``: the file that names the columns."""

    map: str | None = None


class ColumnTable(Format):
    name = "table"
    Settings = Flags
    settings: Flags

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        if self.settings.map is None:
            raise UsageError("import table needs --map FILE, which names the columns (docs/imports.md)")
        columns = _map(self.settings.map)
        meanings = columns.values.meanings() if columns.values is not None else None
        found = Results([], reader=columns.reader, judge=columns.judge, cluster=columns.cluster or "question")
        for number, file in enumerate(files):
            for where, row in _rows(file):
                found.given.append(_question(_Row(row, where), columns, meanings, number))
        return [found]


class _Row:
    """One row, its columns read by name or by path."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self.where = where

    def get(self, column: str | None) -> Any:
        """Return the value of a column, ``None`` for a column that is not mapped.

        Raises
        ------
        UsageError
            When the row has no such column.
        """
        if column is None:
            return None
        if column in self._values:
            return self._values[column]
        value: Any = self._values
        for part in column.split("."):
            if not isinstance(value, dict) or part not in value:
                there = ", ".join(list(self._values)[:12])
                raise UsageError(f"{self.where}: has no column '{column}', which --map names; it has {there}")
            value = value[part]
        return value


def _rows(file: ResultFile) -> Iterator[tuple[str, dict[str, Any]]]:
    separator = _SEPARATORS.get(file.path.suffix.lower())
    return objects(file) if separator is None else csv_rows(file, separator)


def _map(path: str) -> Map:
    """Read the column map.

    Raises
    ------
    UsageError
        With every problem of it.
    """
    try:
        if own_path(path).exists() and not own_path(path).is_file():
            raise OSError(None, "not a regular file")
        with own_path(path).open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"--map {path}: larger than {_LARGEST >> 10} KB; is it the map?")
        value = plain_yaml(data.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--map {path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise UsageError(f"--map {path}: not YAML ({one_line(str(error))[:160]})") from None
    try:
        return Map.model_validate(mapping(value, f"--map {path}"))
    except ValidationError as error:
        raise UsageError("\n".join(f"--map {path}: {line}" for line in problems(error, Map))) from None


def _question(row: _Row, columns: Map, meanings: dict[str, str] | None, file: int) -> Given:
    def read(name: str) -> str:
        return text(row.get(getattr(columns, name)), f"{row.where}, {name}")

    label, said, reason = _status(read("status"))
    if not label:
        label, said = _label(row, columns, meanings)
    right = row.get(columns.gold)
    return Given(
        id=identifier(row.get(columns.id), f"{row.where}, id"),
        label=label,
        said=said,
        reason=reason,
        repeat=read("repeat"),
        file=file,
        answer=read("answer"),
        cluster=word(row.get(columns.cluster), f"{row.where}, cluster"),
        category=word(row.get(columns.category), f"{row.where}, category"),
        question=optional(row.get(columns.question), f"{row.where}, question"),
        gold=gold(right, f"{row.where}, gold"),
    )


def _status(told: str) -> tuple[str, str, str]:
    """Return the status that takes the place of a label, its wording, and why; empty where all went well."""
    word = told.strip().lower()
    if word in ("", OK):
        return "", "", ""
    return (word if word in STATUSES else READER_ERROR), shorten(told), f"status: {told.strip()}"[:500]


def _label(row: _Row, columns: Map, meanings: dict[str, str] | None) -> tuple[str, str]:
    if columns.label is not None:
        value = row.get(columns.label)
        if meanings is None:
            return label_of(value)
        word = _word(value)
        return (meanings.get(word, JUDGE_UNPARSEABLE), shorten(str(value))) if word else (JUDGE_ERROR, MISSING)
    value = row.get(columns.score)
    try:
        number = math.nan if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return (JUDGE_UNPARSEABLE, shorten(str(value))) if str(value).strip() else (JUDGE_ERROR, MISSING)
    if not math.isfinite(number):
        return JUDGE_ERROR, MISSING
    assert columns.threshold is not None
    right = number >= columns.threshold
    return (CORRECT, f"at least {columns.threshold:g}") if right else (WRONG, f"below {columns.threshold:g}")


def _word(value: object) -> str:
    if value is None:
        return ""
    return str(value).strip().lower()


FORMAT = ColumnTable
