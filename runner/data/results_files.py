"""Files that came from anywhere, read as data: one clear line for whatever is wrong with them, in bounded memory.

JSON lines and CSV are read line by line. A JSON document is read whole, up to :data:`DOCUMENT` bytes.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from runner.config import own_path
from runner.data.results_values import kind, mapping
from runner.data.source import Source
from runner.errors import DatasetError

DOCUMENT: Final = 256 << 20  # bytes of a JSON document: in memory it takes several times as much
LINE: Final = 16 << 20  # bytes of one line
_MB: Final = 1 << 20


def source(word: str) -> Source:
    """A file by its name on the command line, hashed.

    Raises
    ------
    DatasetError
        When it is no file, cannot be read, or is empty.
    """
    path = own_path(word)
    sha, size = hashlib.sha256(), 0
    try:
        if path.is_dir():
            raise DatasetError(f"{word}: a folder; name the result files in it")
        if path.exists() and not path.is_file():  # a pipe or a device has no end
            raise DatasetError(f"{word}: not a regular file; save its content to one")
        with path.open("rb") as file:
            while part := file.read(_MB):
                sha.update(part)
                size += len(part)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DatasetError(f"{word}: cannot be read ({reason}); name an existing file") from None
    if not size:
        raise DatasetError(f"{word}: is empty; nothing to import")
    return Source(path, path.name, sha.hexdigest(), size)


def document(file: Source, *, nan_is_null: bool = False) -> Any:
    """A JSON document.

    Parameters
    ----------
    file
        Up to :data:`DOCUMENT` bytes.
    nan_is_null
        Read the NaN that some writers put in place of a missing number as null. It is no JSON, and refused elsewhere.

    Raises
    ------
    DatasetError
        For anything but one JSON document in UTF-8 without duplicate keys.
    """
    if file.size > DOCUMENT:
        raise DatasetError(
            f"{file.name}: {file.size // _MB} MB, and a JSON document is read up to {DOCUMENT // _MB} MB; "
            f"write it as JSON lines, or import a part of it"
        )
    return parsed(_bytes(file), file.name, nan_is_null=nan_is_null)


def parsed(data: bytes, where: str, *, nan_is_null: bool = False) -> Any:
    """JSON, strictly: UTF-8, no NaN, no key twice.

    Raises
    ------
    DatasetError
        Saying where and what.
    """

    def constant(word: str) -> Any:
        if nan_is_null:
            return None
        raise ValueError(f"{word} is no JSON number")

    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=constant)
    except UnicodeDecodeError as error:
        raise DatasetError(f"{where}: not UTF-8 (byte {error.start}); export it again as UTF-8") from None
    except RecursionError:
        raise DatasetError(f"{where}: nested too deeply to be results") from None
    except MemoryError:
        raise DatasetError(f"{where}: needs more memory than there is; import a part of it") from None
    except ValueError as error:
        said = (str(error).splitlines() or [""])[0][:160]
        raise DatasetError(f"{where}: not valid JSON ({said}); export it again") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key '{key[:60]}' stands twice in one object, and one of the two would be lost")
            seen.add(key)
    return value


def records(file: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON list or of JSON lines, each with the place that messages name.

    Raises
    ------
    DatasetError
        When the file is neither, or holds anything but objects.
    """
    if not _is_lines(file):
        found = document(file)
        if not isinstance(found, list):
            raise DatasetError(f"{file.name}: expected a list of objects or JSON lines, found {kind(found)}")
        for number, item in enumerate(found):
            yield f"{file.name}, entry {number}", mapping(item, f"{file.name}, entry {number}")
        return
    for number, line in _lines(file):
        where = f"{file.name}, line {number}"
        yield where, mapping(parsed(line, where), where)


def _is_lines(file: Source) -> bool:
    """Whether the first line is a JSON object by itself."""
    for _, line in _lines(file):
        if not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
            return False
        try:
            parsed(line, file.name)
        except DatasetError as error:
            # A first line that would be an object but for a key or a number is told as what it is.
            if line.rstrip().endswith(b"}"):
                raise DatasetError(str(error).replace(file.name, f"{file.name}, line 1", 1)) from None
            return False
        return True
    raise DatasetError(f"{file.name}: holds nothing but white space")


def _lines(file: Source) -> Iterator[tuple[int, bytes]]:
    try:
        with file.path.open("rb") as handle:
            number = 0
            while line := handle.readline(LINE + 1):
                number += 1
                if len(line) > LINE:
                    if number == 1:  # a document without line ends
                        yield number, line[:64]
                        return
                    raise DatasetError(f"{file.name}, line {number}: longer than {LINE // _MB} MB")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise DatasetError(f"{file.name}: cannot be read ({error.strerror})") from None


def table(file: Source, delimiter: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file by its header, each with the place that messages name.

    Raises
    ------
    DatasetError
        When the header names a column twice or not at all, or a row has more or fewer fields.
    """
    before = csv.field_size_limit(LINE)
    try:
        with file.path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, delimiter=delimiter, strict=True)
            header = [name.strip() for name in next(reader, [])]
            twice = next((name for name in header if header.count(name) > 1), None)
            if not all(header) or not header or twice:
                what = f"names the column '{twice}' twice" if twice else "has a column without a name"
                raise DatasetError(f"{file.name}: the first line {what}; name every column once")
            for row in reader:
                where = f"{file.name}, line {reader.line_num}"
                if not row:
                    continue
                if len(row) != len(header):
                    raise DatasetError(f"{where}: {len(row)} fields where the header has {len(header)}")
                yield where, dict(zip(header, row, strict=True))
    except UnicodeDecodeError:
        raise DatasetError(f"{file.name}: not UTF-8; export it again as UTF-8") from None
    except csv.Error as error:
        raise DatasetError(f"{file.name}: not a CSV file ({error})") from None
    except OSError as error:
        raise DatasetError(f"{file.name}: cannot be read ({error.strerror})") from None
    finally:
        csv.field_size_limit(before)


def _bytes(file: Source) -> bytes:
    try:
        return file.path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{file.name}: cannot be read ({error.strerror})") from None
