"""Decode one JSON document, strictly."""

from __future__ import annotations

from typing import Any, Final

from runner.data.strict_json import UnsoundJsonError, parse_strictly
from runner.errors import DatasetError, Remedy

TOO_DEEP: Final = "is nested too deeply to be a dataset"


def decode_json(place: str, data: bytes, *, nan_is_null: bool = False) -> Any:
    """Decode JSON, strictly and as UTF-8.

    Parameters
    ----------
    place
        The file, or the line of one, as messages name it.
    data
        Its bytes.
    nan_is_null
        Read the NaN that some writers put in place of a missing number as null. It is not JSON, and refused elsewhere.

    Raises
    ------
    DatasetError
        Telling truncation, a wrong encoding and other damage apart; also on what
        :func:`runner.data.strict_json.parse_strictly` refuses.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{place} is not UTF-8 (byte {error.start})", Remedy.AGAIN) from None
    if not text.strip():
        raise DatasetError(f"{place} is empty", Remedy.OTHER)
    try:
        return parse_strictly(text, nan_is_null=nan_is_null)
    except RecursionError:
        raise DatasetError(f"{place} {TOO_DEEP}", Remedy.AGAIN) from None
    except UnsoundJsonError as error:
        raise DatasetError(f"{place} {error}", Remedy.MENDED) from None
    except ValueError as error:
        at = getattr(error, "pos", None)
        ended = at is not None and (at >= len(text.rstrip()) or "Unterminated string" in str(error))
        what = "is truncated: the JSON ends before it is complete" if ended else f"is not valid JSON ({error})"
        raise DatasetError(f"{place} {what}", Remedy.AGAIN) from None
