"""Labelled queries of a person's own: CSV or JSON lines, read strictly.

A row is a query and the keys of the memories that answer it:

``query``                      what is searched for
``keys``                       the memories that answer it: a JSON list, or in CSV also ``a|b``
``relied_on``, ``used``, ``used_cited``   the same field, as a search is exported that an agent relied on
``returned``                   what that search gave back; checked against the labels, never scored
``now``, ``ts``                when it is asked, ISO 8601 (kept as UTC where it names a zone)
``id``, ``category``, ``namespace``       optional
``cluster``, ``session``       queries that move together; without either a query stands by itself

An unknown field is an error: a label that is misread without a word would be a wrong figure.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from runner.data.fields import FieldReader, kind
from runner.data.strict_json import UnsoundJsonError, parse_strictly
from runner.errors import DatasetError

_KEYS: Final = ("keys", "relied_on", "used", "used_cited")
_WHEN: Final = ("now", "ts")
_GROUP: Final = ("cluster", "session")
_KNOWN: Final = ("query", *_KEYS, "returned", "id", "category", *_GROUP, *_WHEN, "namespace")
EVERYTHING: Final = "all"  # the category where the file has none
_LONGEST: Final = 1 << 24  # characters of a cell
_LIST: Final = re.compile(r"\s*\[\s*(?:\{|\]|$)")  # an array of objects, on one line or over many


@dataclass(frozen=True)
class Labelled:
    """One row. ``keys`` are distinct; ``twice`` and ``empty`` count what was left out of them."""

    line: int
    query: str
    keys: tuple[str, ...]
    id: str
    category: str
    cluster: str
    namespace: str
    now: datetime | None
    by_use: bool  # a search that an agent relied on, not a judgement by a person
    again: bool  # the same query stands further up
    twice: int
    empty: int
    unreturned: int  # keys that the search is said to be relied on for, and did not return


class FileLine(FieldReader):
    """A line of a person's own file; a message says to mend that line."""

    def __init__(self, place: str) -> None:
        super().__init__(place)

    def fail(self, message: str) -> DatasetError:
        return DatasetError(f"{' '.join(f'{self._place}: {message}'.split())}; mend that line")

    def field(self, name: str) -> FileLine:
        """Return a field of the line, whose name heads what is wrong in it."""
        return FileLine(f"{self._place}: {name}")

    def record(self, row: dict[str, Any], known: Sequence[str], required: Sequence[str], what: str) -> None:
        """Hold a row to the fields that ``what`` ("a memory") has."""
        self.mapping(row, None, required)
        for name in row:
            if name not in known:
                raise self.fail(f"unknown field '{name[:60]}'; {what} has {', '.join(known)}")

    def text(self, value: object, *, empty: bool = False) -> str:
        text = super().text(value, empty=empty)
        if not text.isascii() and any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
            raise self.fail("holds half of a character; export it again as UTF-8")
        return text


def decoded(source: str, data: bytes) -> str:
    """Return a person's file as text.

    Raises
    ------
    DatasetError
        When it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{source} is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def line_objects(source: str, text: str) -> Iterator[tuple[int, FileLine, dict[str, Any]]]:
    """Yield the objects of JSON lines with line number and place; empty lines are skipped.

    Raises
    ------
    DatasetError
        On a line that is not a JSON object, or when all is one array.
    """
    if _LIST.match(text):
        raise _one_array(source)
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        at = FileLine(f"{source}, line {number}")
        try:
            value = parse_strictly(line)
        except RecursionError:
            raise at.fail("is nested too deeply") from None
        except UnsoundJsonError as error:
            raise at.fail(str(error)) from None
        except ValueError as error:
            raise at.fail(f"is no JSON ({str(error)[:80]})") from None
        if not isinstance(value, dict):
            raise at.fail(f"expected an object, found {kind(value)}")
        yield number, at, value


def _one_array(source: str) -> DatasetError:
    return DatasetError(f"{source} is one JSON array; write one object a line, without brackets around them")


def labelled_queries(source: str, data: bytes) -> list[Labelled]:
    """Return every row of a file of labelled queries, in order.

    Parameters
    ----------
    source
        Name of the file, for messages.
    data
        Its bytes: JSON lines when it begins with ``{``, else CSV with a header.

    Raises
    ------
    DatasetError
        Naming the line that is not understood, or when there is none at all.
    """
    text = decoded(source, data)
    if text.lstrip().startswith("["):  # no column of a CSV begins so
        raise _one_array(source)
    rows = line_objects(source, text) if text.lstrip().startswith("{") else _csv(source, text)
    labels: list[Labelled] = []
    asked: dict[str, int] = {}
    ids: dict[str, int] = {}
    for number, at, row in rows:
        item = _row(number, at, row, asked)
        if item.id in ids:
            raise at.fail(f"the id '{item.id}' stands in line {ids[item.id]} already")
        ids[item.id] = number
        labels.append(item)
    if not labels:
        raise DatasetError(f"{source} holds no labelled query; it must hold one row per query, with query and keys")
    return labels


def _csv(source: str, text: str) -> Iterator[tuple[int, FileLine, dict[str, Any]]]:
    """Yield the rows of a CSV file as objects, empty cells left out, lists of keys taken apart."""
    before = csv.field_size_limit(_LONGEST)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    end = 0
    try:
        for cells in reader:
            number, end = end + 1, reader.line_num  # a quoted cell may span lines: where it begins
            at = FileLine(f"{source}, line {number}")
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header(at, cells)
                continue
            if len(cells) != len(header):
                raise at.fail(f"has {len(cells)} cells where the header has {len(header)}; quote a cell with commas")
            row: dict[str, Any] = {name: cell for name, cell in zip(header, cells, strict=True) if cell.strip()}
            for name in (*_KEYS, "returned"):
                if name in row:
                    row[name] = _listed(at, row[name])
                elif name in header and name != "returned":
                    row[name] = []
            yield number, at, row
    except csv.Error as error:
        raise FileLine(f"{source}, line {end + 1}").fail(f"is no CSV ({error})") from None
    finally:
        csv.field_size_limit(before)


def _header(at: FileLine, cells: Sequence[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise at.fail("the columns are not separated by commas; save the file as comma-separated values")
    for name in names:
        if names.count(name) > 1:
            raise at.fail(f"the column '{name[:60]}' stands twice")
    if "query" not in names:
        raise at.fail(
            f"the first line must name the columns, query and keys among them; it has {', '.join(names)[:80]}"
        )
    at.record(dict.fromkeys(names), _KNOWN, (), "a row")
    return names


def _listed(at: FileLine, cell: str) -> list[Any]:
    if not cell.lstrip().startswith("["):
        return cell.split("|")
    try:
        value = parse_strictly(cell)
    except (ValueError, RecursionError):
        raise at.fail('a list of keys that begins with [ must be JSON, such as ["a", "b"]') from None
    return at.list(value)


def _row(number: int, at: FileLine, row: dict[str, Any], asked: dict[str, int]) -> Labelled:
    at.record(row, _KNOWN, ("query",), "a row")
    row = {name: value for name, value in row.items() if value is not None}
    if "query" not in row:
        raise at.fail("the query is empty")
    query = at.field("query").text(row["query"])
    field = _one(at, row, _KEYS)
    if field is None:
        raise at.fail("field 'keys' is missing; a query without an answer has an empty list")
    within = at.field(field)
    listed = within.list(row[field])
    named = [within.text(str(item) if type(item) is int else item, empty=True).strip() for item in listed]
    keys = tuple(dict.fromkeys(key for key in named if key))
    empty = sum(not key for key in named)
    when, group = _one(at, row, _WHEN), _one(at, row, _GROUP)
    given = at.field("returned")
    returned = {given.answer(item) for item in given.list(row["returned"])} if "returned" in row else None

    def optional(name: str, default: str) -> str:
        return at.field(name).answer(row[name]).strip() if name in row else default

    alike = hashlib.sha256(" ".join(query.split()).casefold().encode()).hexdigest()[:16]
    asked[alike] = asked.get(alike, 0) + 1
    own = f"q-{alike}" + (f"-{asked[alike]}" if asked[alike] > 1 else "")
    return Labelled(
        line=number,
        query=query,
        keys=keys,
        id=optional("id", own),
        category=optional("category", EVERYTHING),
        cluster=optional(group, "") if group else f"q-{alike}",
        namespace=optional("namespace", ""),
        now=_time(at.field(when), row[when]) if when else None,
        by_use=field != "keys",
        again=asked[alike] > 1,
        twice=len(named) - empty - len(keys),
        empty=empty,
        unreturned=0 if returned is None else sum(key not in returned for key in keys),
    )


def _one(at: FileLine, row: dict[str, Any], names: Sequence[str]) -> str | None:
    """Return the name that a row uses for a field which may have several."""
    there = [name for name in names if name in row]
    if len(there) > 1:
        raise at.fail(f"'{there[0]}' and '{there[1]}' are one field under two names; keep one")
    return there[0] if there else None


def _time(at: FileLine, value: object) -> datetime:
    return parse_time(at, at.text(value))


def parse_time(at: FileLine, text: str) -> datetime:
    """Return a time of ISO 8601 without a zone; one with a zone as UTC.

    Raises
    ------
    DatasetError
        When the text is not a time.
    """
    try:
        time = datetime.fromisoformat(text.strip())
        return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise at.fail(f"'{text[:40]}' is no time; write 2026-11-30T09:00") from None
