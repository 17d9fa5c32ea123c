"""One file of another harness's results, by its name on the command line."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runner.config import own_path
from runner.data.json_document import decode_json
from runner.data.source import read_bytes
from runner.errors import DatasetError

DOCUMENT: Final = 256 << 20  # bytes of a JSON document of results: in memory it takes several times as much
_MB: Final = 1 << 20


@dataclass(frozen=True)
class ResultFile:
    """One file of results. Where it lies goes into no record; its name, its bytes' sha256 and its size do."""

    path: Path
    name: str
    sha256: str
    size: int


def open_result_file(word: str) -> ResultFile:
    """Return a file by its name on the command line, hashed.

    Raises
    ------
    DatasetError
        When it is not a regular file, cannot be read, or is empty.
    """
    path = own_path(word)
    try:
        if path.is_dir():
            raise DatasetError(f"{word}: a folder; name the result files in it")
        if path.exists() and not path.is_file():  # a pipe or a device has no end
            raise DatasetError(f"{word}: not a regular file; save its content to one")
        with path.open("rb") as file:
            sha = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DatasetError(f"{word}: cannot be read ({reason}); name an existing file") from None
    if not size:
        raise DatasetError(f"{word}: is empty; nothing to import")
    return ResultFile(path, path.name, sha, size)


def read_document(file: ResultFile, *, nan_is_null: bool = False) -> Any:
    """Decode a file of results that is one JSON document, as :func:`decode_json` does.

    Raises
    ------
    DatasetError
        Also when the file is larger than :data:`DOCUMENT`, or than memory.
    """
    if file.size > DOCUMENT:
        raise DatasetError(
            f"{file.name}: {file.size // _MB} MB, and a JSON document is read up to {DOCUMENT // _MB} MB; "
            f"write it as JSON lines, or import a part of it"
        )
    try:
        return decode_json(file.name, read_bytes(file.path), nan_is_null=nan_is_null)
    except MemoryError:
        raise DatasetError(f"{file.name}: needs more memory than there is; import a part of it") from None
