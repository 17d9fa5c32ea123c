"""Append-only journals: one complete JSON line per finished thing, flushed as it finishes.

A line is handed to the operating system in one write, so a killed process loses nothing that it finished; ``sync``
(called once a second while a run is under way) bounds what a power cut can take. A torn last line is the only damage
a kill can do, and the only damage that is repaired.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from runner.errors import RecordError

T = TypeVar("T")

_SMALL: Final = 1 << 18  # bytes decoded together when a reader wants one line after the other
_LARGE: Final = 1 << 23  # and when it wants columns
_ENCODER: Final = msgspec.json.Encoder()


class Journal(Generic[T]):
    """An append-only file, open for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._dirty = False
        self._broken = False
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise RecordError(f"{path}: cannot be opened for writing ({error.strerror})") from None

    def append(self, item: T) -> None:
        """Write one line.

        Raises
        ------
        RecordError
            When the disk does not take it; whatever was cut off is the torn line that a resume drops.
        """
        data = encoded(item) + b"\n"
        if self._broken:
            raise RecordError(f"{self.path}: an earlier write failed; resume the run when there is room")
        before = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            # Nothing may follow half a line: take it back, and where that fails too, write no more.
            self._broken = True
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, before)
                self._broken = False
            raise RecordError(
                f"{self.path}: cannot be written ({error.strerror}); make room, then resume the run"
            ) from None
        self._dirty = True

    def sync(self) -> None:
        if self._dirty:
            self._dirty = False
            os.fsync(self._fd)

    def close(self) -> None:
        try:
            self.sync()
        finally:
            os.close(self._fd)


def encoded(item: Any) -> bytes:
    """Return a value as JSON; half a character in a reply or a hit is replaced."""
    try:
        return _ENCODER.encode(item)
    except UnicodeEncodeError:
        return _ENCODER.encode(_encodable(msgspec.to_builtins(item)))


def _encodable(value: Any) -> Any:
    """Return plain data with lone surrogates replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value


def repair(path: Path) -> int:
    """Cut a torn last line off, and return the number of bytes dropped.

    Raises
    ------
    RecordError
        When the file cannot be read or cut.
    """
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            end = _last_newline(file, size)
            if end < size:
                file.truncate(end)
            return size - end
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise RecordError(f"{path}: cannot be repaired ({error.strerror})") from None


def _last_newline(file: Any, size: int) -> int:
    position = size
    while position > 0:
        start = max(0, position - 65536)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            return int(start + found + 1)
        position = start
    return 0


def read(path: Path, kind: type[T]) -> Iterator[T]:
    """Stream a journal, line by line; a torn last line is passed over, any other damage is an error.

    Raises
    ------
    RecordError
        Naming file and line.
    """
    for batch in batches(path, kind, _SMALL):
        yield from batch


def batches(path: Path, kind: type[T], size: int = _LARGE) -> Iterator[list[T]]:
    """The same in lists of lines, about ``size`` bytes each: what a reader of millions of rows wants.

    Raises
    ------
    RecordError
        Naming file and line.
    """
    together = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    number = 1
    try:
        with path.open("rb") as file:
            while lines := file.readlines(size):
                if not lines[-1].endswith(b"\n"):
                    lines.pop()
                try:
                    found: list[T] = together.decode(b"[" + b",".join(lines) + b"]")
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    found = []
                if len(found) != len(lines):  # damage, or a line that holds more than one thing: find it
                    found = _decode_lines(path, kind, lines, number)
                yield found
                number += len(lines)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from None


def _decode_lines(path: Path, kind: type[T], lines: list[bytes], first: int) -> list[T]:
    decoder = msgspec.json.Decoder(kind)
    found = []
    for number, line in enumerate(lines, first):
        try:
            found.append(decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise RecordError(
                f"{path}:{number}: not a line that this version wrote ({error}); "
                f"the run cannot be trusted: run it again"
            ) from None
        except UnicodeDecodeError:
            raise RecordError(f"{path}:{number}: not UTF-8; the run cannot be trusted: run it again") from None
    return found
