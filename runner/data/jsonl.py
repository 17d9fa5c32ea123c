"""A dataset of one JSON object a line (JSONL), read one line at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from runner.data.source import decode_json, unreadable
from runner.errors import DatasetError

_LONGEST: Final = 1 << 28  # bytes of a line; a file without line ends is no JSONL, however large it is


def json_lines(harness: str, path: Path) -> Iterator[tuple[int, Any]]:
    """Every line that is not blank, decoded, with its number from 1; memory is that of one line.

    Raises
    ------
    DatasetError
        When the file cannot be read, is one JSON list, or a line is no JSON, truncated or not UTF-8. Lines before the
        damage were yielded.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST + 1):
                number += 1
                if len(line) > _LONGEST:
                    raise DatasetError(
                        f"{harness}: {path}, line {number} is longer than {_LONGEST >> 20} MiB; this is no JSONL "
                        "(harness.dataset.path=FILE names another copy)"
                    )
                if not line.strip(b"\xef\xbb\xbf \t\r\n"):
                    continue
                value = _decoded(harness, path, number, line)
                if number == 1 and isinstance(value, list):
                    raise _listed(harness, path)
                yield number, value
    except OSError as error:
        raise unreadable(harness, path, error) from None


def _decoded(harness: str, path: Path, number: int, line: bytes) -> Any:
    try:
        return decode_json(harness, f"{path}, line {number}", line)
    except DatasetError:
        if number == 1 and line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):  # a list that is laid out over lines
            raise _listed(harness, path) from None
        raise


def _listed(harness: str, path: Path) -> DatasetError:
    return DatasetError(
        f"{harness}: {path} is a JSON list, and the published file has one JSON object a line "
        "(harness.dataset.path=FILE names another copy)"
    )
