"""Dialogue NLI: its files, and the format of a pair, parsed strictly.

A file is a JSON list, ``.jsonl`` by name (lines of JSON are read as well), of ``{label, sentence1, sentence2, triple1,
triple2, dtype, id}``. Labels are ``positive``, ``neutral`` and ``negative`` in the published files, ``entailment``,
``neutral`` and ``contradiction`` in copies. A triple is ``[subject, relation, object]``; ``<none>`` and ``<blank>``
stand where there is none. ``dtype`` is the rule by which the pair was made and tells the label.

``harness.dataset.path`` names a file, the published archive, or a folder in which it was unpacked.
"""

from __future__ import annotations

import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from runner.config import Dataset
from runner.data.fields import FieldReader, kind
from runner.data.json_document import decode_json
from runner.data.json_stream import records
from runner.data.jsonl import json_lines
from runner.data.source import DataFiles, check_pin, own_copy, sha256_of, unreadable
from runner.errors import DatasetError, Remedy

LABELS: Final = ("entailment", "neutral", "contradiction")

_NAMES: Final = {"positive": "entailment", "negative": "contradiction"} | {label: label for label in LABELS}
_MEANT: Final = "a published Dialogue NLI file"
_FIELDS: Final = ("label", "sentence1", "sentence2", "triple1", "triple2", "dtype", "id")
_MORE: Final = ("original_label",)  # of a copy
_ABSENT: Final = frozenset({"", "<none>", "<blank>", "other"})
_MOST: Final = 1 << 28  # bytes of a file inside the archive
_HEAD: Final = 1 << 12  # bytes that tell what a file is
_DAMAGE: Final = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, ValueError, RuntimeError, EOFError)
_GET: Final = "get the archive from https://wellecks.com/dialogue_nli and give it (harness.dataset.path=dnli.zip)"


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair. Facts are what the triple of a sentence names: its relation and its object."""

    id: str
    label: str
    published: str  # the label as the file spells it
    premise: str
    hypothesis: str
    kind: str  # dtype
    premise_facts: frozenset[str]
    hypothesis_facts: frozenset[str]
    again: bool = False  # its id stood before


def find(dataset: Dataset, split: str) -> DataFiles:
    """Find and verify the file of a split; the digest is that of the file itself, inside an archive too.

    ``data`` of what is returned is what was inside an archive; else the file is read from its path.

    Raises
    ------
    DatasetError
        When no data is named, it is not there, holds no such split, cannot be read or does not match its pin.
    """
    path = own_copy(dataset, _GET)
    name = f"dialogue_nli_{split}.jsonl"
    data = None
    if path.is_dir():
        places = [path / more / name for more in ("", "dialogue_nli", "dnli/dialogue_nli")]
        inside = next((place for place in places if place.is_file()), None)
        if inside is None:
            raise DatasetError(f"{path} holds no {name}; name the folder that does, or {_GET}")
        path = inside
    if zipfile.is_zipfile(path):
        data = _member(path, name)
        sha = hashlib.sha256(data).hexdigest()
    else:
        sha = sha256_of(path)
    check_pin(f"{path}{f' ({name})' if data is not None else ''}", sha, dataset.sha256)
    return DataFiles((path,), sha, dataset.sha256 is not None, data)


def _member(path: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [item for item in archive.infolist() if _is_named(item, name)]
            if not entries:
                raise DatasetError(f"the archive {path} holds no {name}; {_GET}")
            if len(entries) > 1:
                places = " ".join(", ".join(item.filename for item in entries[:3]).split())[:200]
                raise DatasetError(
                    f"the archive {path} holds {name} {len(entries)} times ({places}); "
                    "unpack the one that is meant and name that file (harness.dataset.path=FILE)"
                )
            if entries[0].flag_bits & 1:
                raise DatasetError(f"{name} in {path} is encrypted; {_GET}")
            if entries[0].file_size > _MOST:
                raise DatasetError(f"{name} in {path} is larger than any published one; {_GET}")
            return archive.read(entries[0])
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:120]
        raise DatasetError(f"cannot read the archive {path} ({reason}); {_GET}") from None


def _is_named(item: zipfile.ZipInfo, name: str) -> bool:
    """Tell whether an entry is the file of that name; macOS puts another of the name beside it for its own purposes."""
    parts = item.filename.replace("\\", "/").split("/")
    return parts[-1] == name and "__MACOSX" not in parts


def pairs(file: DataFiles) -> Iterator[Pair]:
    """Yield the pairs of a file, one after another. An id that stands twice gets ``/2`` and so on.

    Raises
    ------
    DatasetError
        On anything that the format does not have.
    """
    seen: dict[str, int] = {}
    for number, value in enumerate(_values(file)):
        pair = _pair(number, value)
        times = seen[pair.id] = seen.get(pair.id, 0) + 1
        if times > 1:
            pair = replace(pair, id=f"{pair.id}/{times}", again=True)
        yield pair
    if not seen:
        raise DatasetError(f"{file.path} holds no pair", Remedy.OTHER)


def _values(file: DataFiles) -> Iterator[Any]:
    if file.data is not None:
        inside = f"the file in {file.path}"
        if _are_lines(file.data[:_HEAD]):
            for number, line in enumerate(file.data.splitlines(), start=1):
                if line.strip():
                    yield decode_json(f"{inside}, line {number}", line)
            return
        rows = decode_json(inside, file.data)
        yield from FieldReader(file.path.name, _MEANT).list(rows)
        return
    try:
        with file.path.open("rb") as source:
            head = source.read(_HEAD)
    except OSError as error:
        raise unreadable(file.path, error) from None
    if head.startswith(b"PK\x03\x04"):
        raise DatasetError(f"the archive {file.path} is damaged; {_GET}")
    if _are_lines(head):
        yield from (value for _, value in json_lines(file.path))
    else:
        yield from records(file.path)


def _are_lines(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _pair(number: int, value: object) -> Pair:
    where = FieldReader(f"pair {number}", _MEANT)
    item = where.mapping(value, (*_FIELDS, *_MORE), _FIELDS)
    label = _NAMES.get(item["label"]) if isinstance(item["label"], str) else None
    if label is None:
        raise where.fail(
            f"unknown label {str(item['label'])[:40]!r}; there are positive, neutral, negative and their other names "
            f"{', '.join(LABELS)}"
        )
    name = item["id"]
    return Pair(
        id=str(name) if type(name) is int else where.at(", id").text(name).strip(),
        label=label,
        published=item["label"],
        premise=where.at(", sentence1").text(item["sentence1"]).strip(),
        hypothesis=where.at(", sentence2").text(item["sentence2"]).strip(),
        kind=where.at(", dtype").text(item["dtype"]),
        premise_facts=_facts(where.at(", triple1"), item["triple1"]),
        hypothesis_facts=_facts(where.at(", triple2"), item["triple2"]),
    )


def _facts(where: FieldReader, value: object) -> frozenset[str]:
    """Return relation and object of a triple, marked as such; nothing of one that is absent."""
    triple = where.list(value)
    if len(triple) != 3 or not all(isinstance(part, str) for part in triple):
        raise where.fail(f"expected [subject, relation, object], found {kind(value)} of {len(triple)}")
    named = (("relation", triple[1]), ("object", triple[2]))
    return frozenset(f"{what} {part.strip().lower()}" for what, part in named if part.strip().lower() not in _ABSENT)
