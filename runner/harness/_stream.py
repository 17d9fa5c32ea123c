"""A dataset that may be larger than memory: verified by its digest, then read one record at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from runner.config import Dataset
from runner.errors import DatasetError
from runner.harness._source import local_copy

_CHUNK: Final = 1 << 18  # bytes that are read at a time
_DEEPEST: Final = 100  # a dataset nests a handful of levels
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class LargeFile:
    """A file on disk whose content is verified; nothing of it is held."""

    path: Path
    sha256: str
    pinned: bool


def verified(harness: str, dataset: Dataset, known: Mapping[str, str] | None = None) -> LargeFile:
    """Find a dataset's file, downloading it on first use, and verify it without loading it.

    Parameters
    ----------
    harness
        Its name, for messages.
    dataset
        As :func:`runner.harness._source.read_source` takes it.
    known
        Digests of published files, and what each is: what a file that does not match the pin may turn out to be.

    Raises
    ------
    DatasetError
        When the file is missing, cannot be read or downloaded, or does not match its pin.
    """
    path = local_copy(harness, dataset)
    sha = sha256_of(harness, path)
    check_pin(harness, str(path), sha, dataset.sha256, (known or {}).get(sha))
    return LargeFile(path, sha, dataset.sha256 is not None)


def check_pin(harness: str, what: str, sha: str, pin: str | None, why: str | None = None) -> None:
    """Refuse content that is not what is pinned.

    Raises
    ------
    DatasetError
        Naming both digests and how to run unpinned.
    """
    if pin is not None and sha != pin:
        raise DatasetError(
            f"{harness}: {what} has sha256 {sha}, but harness.dataset.sha256 pins {pin}{f' ({why})' if why else ''}; "
            "use the published file, or say harness.dataset.sha256=null to run this one unpinned"
        )


def sha256_of(harness: str, path: Path) -> str:
    """Digest of a file's bytes, read in chunks.

    Raises
    ------
    DatasetError
        When it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DatasetError(f"{harness}: cannot read {path}: {error.strerror or error}") from None


def records(harness: str, path: Path) -> Iterator[Any]:
    """The items of the JSON list that a file is, one after another; memory is that of one item.

    Yields
    ------
    object
        Each item, decoded; whole numbers as ``int``, others as ``float``.

    Raises
    ------
    DatasetError
        When the file is no JSON list, truncated, damaged or not UTF-8. Items before the damage were yielded.
    """
    import ijson

    try:
        with path.open("rb") as file:
            _open_list(harness, path, file)
            # Events, not ijson.items: it names every value by its path, which grows with the square of the depth.
            yield from _items(harness, path, ijson.basic_parse(file, use_float=True, buf_size=_CHUNK))
    except OSError as error:
        raise DatasetError(f"{harness}: cannot read {path}: {error.strerror or error}") from None
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{harness}: {path} {damage(error)}; download it again, or give another copy with harness.dataset.path=FILE"
        ) from None


def _items(harness: str, path: Path, events: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """Values one level below the top, built from parser events and kept no longer than it takes to yield them."""
    stack: list[Any] = []  # the containers that are open; the first is the list itself and stays empty
    keys: list[str] = []
    for event, value in events:
        if event == "map_key":
            keys[-1] = value
            continue
        if event in ("start_map", "start_array"):
            if len(stack) > _DEEPEST:
                raise DatasetError(f"{harness}: {path} is nested too deeply to be a dataset")
            stack.append({} if event == "start_map" else [])
            keys.append("")
            continue
        if event in ("end_map", "end_array"):
            value = stack.pop()
            keys.pop()
        if len(stack) == 1:
            yield value
        elif stack:
            top = stack[-1]
            if type(top) is dict:
                top[keys[-1]] = value
            else:
                top.append(value)


def _open_list(harness: str, path: Path, file: IO[bytes]) -> None:
    """Leave the file at the start of its list, after a byte order mark if there is one."""
    start = 3 if file.read(3) == _BOM else 0
    file.seek(start)
    head = file.read(64).lstrip()
    if not head:
        raise DatasetError(f"{harness}: {path} is empty; give another copy with harness.dataset.path=FILE")
    if not head.startswith(b"["):
        raise DatasetError(
            f"{harness}: {path} does not begin as a JSON list; it is not a published file "
            "(harness.dataset.path=FILE names another copy)"
        )
    file.seek(start)


def damage(error: Exception) -> str:
    """What is wrong with a file that its parser gave up on, as the end of a sentence about it."""
    import ijson

    said = " ".join(str(error).split())
    if "UTF" in said or isinstance(error, UnicodeDecodeError):
        return "is not UTF-8"
    if isinstance(error, ijson.IncompleteJSONError) and ("premature EOF" in said or "ncomplete" in said):
        return "is truncated: the JSON ends before it is complete"
    return f"is not valid JSON ({said[:120]})"
