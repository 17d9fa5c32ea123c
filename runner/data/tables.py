"""Rows of a dataset, one after another: of a Parquet file, a JSON list, or JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from runner.data.json_stream import records
from runner.data.jsonl import json_lines
from runner.data.source import unreadable
from runner.errors import DatasetError, MissingExtra

_MAGIC: Final = b"PAR1"


def rows(harness: str, file: Path, choose: Callable[[Sequence[str]], list[str]]) -> Iterator[object]:
    """The rows of a file, decoded; memory is that of one row, and of the page that holds it.

    Parameters
    ----------
    harness
        Its name, for messages.
    file
        Parquet by its name or its first bytes, ``.jsonl`` or ``.ndjson``; anything else is a JSON list.
    choose
        Which columns of a Parquet file are read, of the names that it has. The fields of a column that is a struct
        are named one by one, ``metadata.source``. JSON rows come whole.

    Raises
    ------
    DatasetError
        When the file cannot be read or decoded.
    MissingExtra
        When it is Parquet and the reader of that is not installed.
    """
    if file.suffix.lower() == ".parquet" or _begins_as_parquet(harness, file):
        return _parquet(harness, file, choose)
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        return (value for _, value in json_lines(harness, file))
    return records(harness, file)


def _begins_as_parquet(harness: str, file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise unreadable(harness, file, error) from None


def _parquet(harness: str, file: Path, choose: Callable[[Sequence[str]], list[str]]) -> Iterator[object]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra(f"harness '{harness}' (Parquet files)", "parquet") from None
    try:
        # Read ahead, all row groups would be held until the last of them is done with.
        with parquet.ParquetFile(file, pre_buffer=False) as table:
            names: list[str] = []
            for field in table.schema_arrow:
                inner = list(field.type) if arrow.types.is_struct(field.type) else []
                names += [f"{field.name}.{part.name}" for part in inner] or [field.name]
            for batch in table.iter_batches(batch_size=1, columns=choose(names)):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError, ValueError, TypeError, LookupError, OverflowError) as error:
        # What is no text, no date and the like is met only when it is made into a value of Python.
        line = "a text is not UTF-8" if isinstance(error, UnicodeDecodeError) else " ".join(str(error).split())[:120]
        raise DatasetError(
            f"{harness}: {file} cannot be read as Parquet ({line}); download it again, or give another copy with "
            "harness.dataset.path=FILE"
        ) from None
