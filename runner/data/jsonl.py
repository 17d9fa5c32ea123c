"""Read JSON lines (JSONL), one line at a time: rows of a dataset, or graded answers of another harness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from runner.data.fields import kind, mapping
from runner.data.json_document import decode_json
from runner.data.result_file import ResultFile, read_document
from runner.data.source import unreadable
from runner.errors import DatasetError, Remedy

ROW: Final = 1 << 28  # bytes of a dataset's line; a file without line ends is not JSONL, however large it is
LINE: Final = 16 << 20  # bytes of a line of results
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Decode every line of a dataset that is not blank; memory is that of one line.

    Yields
    ------
    tuple of (int, object)
        The line's number, from 1, and its value.

    Raises
    ------
    DatasetError
        When the file cannot be read, is one JSON list, or a line is not JSON, truncated or not UTF-8. Lines before the
        damage were yielded.
    """
    for number, line in _lines(path):
        if len(line) > ROW:
            raise DatasetError(
                f"{path}, line {number} is longer than {ROW >> 20} MiB; this is no JSONL", Remedy.FOREIGN
            )
        try:
            value = decode_json(f"{path}, line {number}", line)
        except DatasetError:
            if number == 1 and line.lstrip(_BLANK).startswith(b"["):  # a list that is laid out over lines
                raise _one_list(path) from None
            raise
        if number == 1 and isinstance(value, list):
            raise _one_list(path)
        yield number, value


def objects(file: ResultFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Decode the objects of a file of results, a JSON list or JSON lines.

    Yields
    ------
    tuple of (str, dict)
        The place that messages name, and the object.

    Raises
    ------
    DatasetError
        When the file is neither, or holds anything but objects.
    """
    if not _begins_as_lines(file):
        found = read_document(file)
        if not isinstance(found, list):
            raise DatasetError(f"{file.name}: expected a list of objects or JSON lines, found {kind(found)}")
        for number, item in enumerate(found):
            yield f"{file.name}, entry {number}", mapping(item, f"{file.name}, entry {number}")
        return
    for number, line in _lines(file.path, LINE):
        where = f"{file.name}, line {number}"
        if len(line) > LINE:
            raise DatasetError(f"{where}: longer than {LINE >> 20} MB")
        yield where, mapping(decode_json(where, line), where)


def _begins_as_lines(file: ResultFile) -> bool:
    """Tell whether the first line is a JSON object; one that would be but for a key or a number is refused."""
    for _, line in _lines(file.path, LINE):
        if len(line) > LINE or not line.lstrip(_BLANK).startswith(b"{"):  # the former: a document without line ends
            return False
        try:
            decode_json(f"{file.name}, line 1", line)
        except DatasetError:
            if line.rstrip().endswith(b"}"):
                raise
            return False
        return True
    raise DatasetError(f"{file.name}: holds nothing but white space")


def _lines(path: Path, longest: int = ROW) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of every line that is not blank; one that is cut off is a byte longer than ``longest``."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(longest + 1):
                number += 1
                if line.strip(_BLANK):
                    yield number, line
    except OSError as error:
        raise unreadable(path, error) from None


def _one_list(path: Path) -> DatasetError:
    return DatasetError(f"{path} is a JSON list, and the published file has one JSON object a line", Remedy.FOREIGN)
