"""Read a JSON dataset that may be larger than memory, one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from runner.data.json_document import TOO_DEEP
from runner.data.source import unreadable
from runner.data.strict_json import SurrogateGuard, UnsoundJsonError, finite_number, refuse_duplicate
from runner.errors import DatasetError, Remedy

_CHUNK: Final = 1 << 16  # bytes that are read at a time
_DEEPEST: Final = 100  # a dataset nests a handful of levels
_BOM: Final = b"\xef\xbb\xbf"


def records(path: Path) -> Iterator[Any]:
    """Decode the items of the JSON list that a file is, one after another; memory is that of one item.

    Yields
    ------
    object
        Each item, decoded; whole numbers as ``int``, others as ``float``.

    Raises
    ------
    DatasetError
        When the file is not a JSON list, truncated, damaged or not UTF-8. Items before the damage were yielded.
    """
    return (value for _, value in _parsed(path, _open_list, "a published file is a list"))


def members(path: Path, layout: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Decode the items of every list that the objects of a JSON file lead to; memory is that of one item.

    Parameters
    ----------
    path
        The file.
    layout
        What the file should have been, as a sentence, for messages.

    Yields
    ------
    tuple of (tuple of str, object)
        The keys that lead to the list, and the item, decoded as :func:`records` does.

    Raises
    ------
    DatasetError
        When the file is truncated, damaged or not UTF-8, or something other than a list stands where one belongs.
    """
    return _parsed(path, _skip_bom, layout)


_Start = Callable[[Path, IO[bytes]], None]


def _parsed(path: Path, start: _Start, layout: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    import ijson

    try:
        with path.open("rb") as file:
            start(path, file)
            # Events, not ijson.items: it names every value by its path, which grows with the square of the depth.
            yield from _members(path, layout, ijson.basic_parse(SurrogateGuard(file), use_float=True, buf_size=_CHUNK))
    except OSError as error:
        raise unreadable(path, error) from None
    except UnsoundJsonError as error:
        raise DatasetError(f"{path} {error}", Remedy.MENDED) from None
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} {_damage(error)}", Remedy.AGAIN) from None


def _members(path: Path, layout: str, events: Iterable[tuple[str, Any]]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Items built from parser events and kept no longer than it takes to yield them."""
    lead: list[str] = []  # keys of the objects that are open around the list
    before: list[set[str]] = []  # all keys of theirs so far
    stack: list[Any] = []  # the list, never filled, and what is open inside it
    keys: list[str] = []
    for event, value in events:
        if len(lead) > _DEEPEST or len(stack) > _DEEPEST:
            raise DatasetError(f"{path} {TOO_DEEP}", Remedy.AGAIN)
        if not stack:
            if event == "start_map":
                lead.append("")
                before.append(set())
            elif event == "map_key":
                if value in before[-1]:
                    refuse_duplicate(value)
                lead[-1] = value
                before[-1].add(value)
            elif event == "end_map":
                lead.pop()
                before.pop()
            elif event == "start_array":
                stack.append([])
                keys.append("")
            else:
                at = "/".join(lead)[:80]
                raise DatasetError(f"{path} has a value where a list belongs ({at}); {layout}")
            continue
        if event == "map_key":
            if value in stack[-1]:
                refuse_duplicate(value)
            keys[-1] = value
            continue
        if event in ("start_map", "start_array"):
            stack.append({} if event == "start_map" else [])
            keys.append("")
            continue
        if event in ("end_map", "end_array"):
            value = stack.pop()
            keys.pop()
            if not stack:
                continue  # the list is at its end
        elif type(value) is float:
            finite_number(value)
        if len(stack) == 1:
            yield tuple(lead), value
        elif type(stack[-1]) is dict:
            stack[-1][keys[-1]] = value
        else:
            stack[-1].append(value)


def _skip_bom(_path: Path, file: IO[bytes]) -> None:
    file.seek(len(_BOM) if file.read(len(_BOM)) == _BOM else 0)


def _open_list(path: Path, file: IO[bytes]) -> None:
    """Leave the file at the start of its list, after a byte order mark if there is one."""
    _skip_bom(path, file)
    start = file.tell()
    head = b""
    while not head and (more := file.read(_CHUNK)):
        head = more.lstrip()
    if not head:
        raise DatasetError(f"{path} is empty", Remedy.OTHER)
    if not head.startswith(b"["):
        raise DatasetError(f"{path} does not begin as a JSON list; it is not a published file", Remedy.FOREIGN)
    file.seek(start)


def _damage(error: Exception) -> str:
    """Return what is wrong with a file that its parser gave up on, as the end of a sentence about it."""
    import ijson

    said = " ".join(str(error).split())
    if "UTF" in said or isinstance(error, UnicodeDecodeError):
        return "is not UTF-8"
    if isinstance(error, ijson.IncompleteJSONError) and ("premature EOF" in said or "ncomplete" in said):
        return "is truncated: the JSON ends before it is complete"
    return f"is not valid JSON ({said[:120]})"
