"""Open an Inspect log: one JSON document, or a ZIP of them whose parts are read one at a time."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from runner.data.fields import listed, mapping
from runner.data.json_document import decode_json
from runner.data.result_file import DOCUMENT, ResultFile, read_document
from runner.errors import DatasetError


def open_log(file: ResultFile) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    """Read the head of a log, and its samples one at a time.

    Raises
    ------
    DatasetError
        When the file is no log.
    """
    if zipfile.is_zipfile(file.path):
        return _zipped(file)
    head = mapping(read_document(file, nan_is_null=True), file.name)
    items = listed(head.pop("samples", None), f"{file.name}, samples")
    places = ((f"{file.name}, sample {n}", item) for n, item in enumerate(items))
    return head, ((where, mapping(item, where)) for where, item in places)


def _zipped(file: ResultFile) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    try:
        archive = zipfile.ZipFile(file.path)
        names = archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise DatasetError(f"{file.name}: not an .eval file ({error})") from None
    heads = [name for name in ("header.json", "_journal/start.json", "start.json") if name in names]
    if not heads:
        raise DatasetError(f"{file.name}: not an .eval file: it has neither header.json nor _journal/start.json")
    head = mapping(_member(archive, heads[0], file), f"{file.name}, {heads[0]}")
    chosen = [name for name in names if name.startswith("samples/") and name.endswith(".json")]

    def samples() -> Iterator[tuple[str, dict[str, Any]]]:
        with archive:
            for name in chosen:
                where = f"{file.name}, {name[:80]}"
                yield where, mapping(_member(archive, name, file), where)

    return head, samples()


def _member(archive: zipfile.ZipFile, name: str, file: ResultFile) -> Any:
    """Read one JSON file of the archive, never more of it than a document may have."""
    where = f"{file.name}, {name[:80]}"
    try:
        with archive.open(name) as part:
            data = part.read(DOCUMENT + 1)
    except (NotImplementedError, RuntimeError) as error:
        raise DatasetError(
            f"{where}: cannot be unpacked ({error}); convert it: inspect log convert --to json"
        ) from None
    except (OSError, zipfile.BadZipFile, EOFError, ValueError, zipfile.LargeZipFile) as error:
        raise DatasetError(f"{where}: damaged ({error})") from None
    except Exception as error:  # zlib and its kin raise errors of their own
        raise DatasetError(f"{where}: damaged ({type(error).__name__}: {error})") from None
    if len(data) > DOCUMENT:
        raise DatasetError(f"{where}: more than {DOCUMENT >> 20} MB unpacked")
    return decode_json(where, data, nan_is_null=True)
