"""Read rows one after another: of a Parquet file, a JSON list, JSON lines, or a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from runner.data.json_stream import records
from runner.data.jsonl import LINE, json_lines
from runner.data.result_file import ResultFile
from runner.data.source import unreadable
from runner.errors import DatasetError, MissingExtra, Remedy

_MAGIC: Final = b"PAR1"


def rows(file: Path, choose: Callable[[Sequence[str]], list[str]]) -> Iterator[object]:
    """Decode the rows of a file; memory is that of one row, and of the page that holds it.

    Parameters
    ----------
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
    if file.suffix.lower() == ".parquet" or _begins_as_parquet(file):
        return _parquet(file, choose)
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        return (value for _, value in json_lines(file))
    return records(file)


def _begins_as_parquet(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise unreadable(file, error) from None


def _parquet(file: Path, choose: Callable[[Sequence[str]], list[str]]) -> Iterator[object]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("Parquet files", "parquet") from None
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
        raise DatasetError(f"{file} cannot be read as Parquet ({line})", Remedy.AGAIN) from None


def csv_rows(file: ResultFile, delimiter: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Read the rows of a CSV file by its header, each with the place that messages name.

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
