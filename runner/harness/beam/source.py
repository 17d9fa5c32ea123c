"""The source of BEAM's chats: the repository's folders, or rows of the Hugging Face copy. One chat at a time.

``harness.dataset.path`` may name the folder ``chats`` or the checkout that holds it, one size of it, one chat, or a
folder of Parquet files; else it names a file of rows, Parquet or JSON (a list) or JSON lines. Without it the pinned
files are downloaded. Of a chat's folder only the chat and its questions are read: everything else there tells of the
plot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runner.config import Dataset
from runner.data.fields import FieldReader
from runner.data.json_document import decode_json
from runner.data.source import DataFiles, configured_path, in_folder, joined, locate, published_name, read_bytes
from runner.data.tables import rows
from runner.errors import DatasetError, Remedy

COLUMNS: Final = ("conversation_id", "chat", "plans", "probing_questions")  # of a row; no other is read
TRUNCATED: Final = "chat_trunecated.json"  # as the repository spells it; where it is, the published numbers used it


@dataclass(frozen=True)
class RawChat:
    """One chat, decoded and not understood. ``chat`` is ``None`` where ``plans`` holds it."""

    name: str
    chat: object
    plans: object
    questions: object
    truncated: bool = False


@dataclass(frozen=True)
class BeamFiles(DataFiles):
    """Files of rows, or (``folders``) a chat and its questions of every folder, one after the other."""

    folders: bool = False


def find(benchmark: str, dataset: Dataset, more: Sequence[Dataset], size: str) -> DataFiles:
    """Find, download and verify.

    Parameters
    ----------
    benchmark
        Its name, part of the names in the cache.
    dataset, more
        The data, and its further files.
    size
        Which folder of ``chats``.

    Raises
    ------
    DatasetError
        When anything is missing, cannot be read or does not match its pin.
    """
    path = configured_path(dataset.path) if dataset.path is not None else None
    parts = [dataset, *more]
    if path is not None and path.is_dir():
        return _folder(benchmark, path, parts, size)
    if path is not None:
        parts = [part.model_copy(update={"path": str(path.with_name(published_name(part)))}) for part in more]
        for part in parts:
            if not Path(str(part.path)).is_file():
                raise DatasetError(
                    f"{path} is one of {len(parts) + 1} files of this data, and {part.path} is not there; "
                    "put it beside, or say harness.settings.more=[] to use this one alone"
                )
        parts = [dataset, *parts]
    return joined([locate(benchmark, part) for part in parts])


def _folder(benchmark: str, path: Path, parts: Sequence[Dataset], size: str) -> DataFiles:
    for root in (path / "chats" / size, path / size, path):
        chats = _chats(root)
        tables = [] if chats else sorted([*root.glob(f"{size}-*.parquet"), *root.glob(f"data/{size}-*.parquet")])
        if tables and [file.name for file in tables] == [published_name(part) for part in parts]:
            at = [part.model_copy(update={"path": str(file)}) for part, file in zip(parts, tables, strict=True)]
            return joined([locate(benchmark, part) for part in at])
        if not chats and not tables:
            continue
        files = tables or [file for chat in chats for file in (_chat_file(chat), _questions_file(chat))]
        data = in_folder(root, {file.relative_to(root).as_posix(): file for file in files}, parts[0].sha256)
        return BeamFiles(data.paths, data.sha256, data.pinned, folders=bool(chats))
    raise DatasetError(
        f"{path} holds no chat of size {size}: neither N/chat.json nor {size}-*.parquet, there or in "
        f"{size}/ or chats/{size}/; name the folder that does (harness.dataset.path), or another "
        "harness.settings.size"
    )


def _chats(root: Path) -> list[Path]:
    """List the folders that hold a chat, by number; the folder itself when it is one."""
    try:
        if (root / "chat.json").is_file() or (root / TRUNCATED).is_file():
            return [root]
        folders = [item for item in root.iterdir() if item.is_dir() and _chat_file(item).is_file()]
    except OSError:
        return []
    return sorted(folders, key=lambda item: (not item.name.isdigit(), len(item.name), item.name))


def _chat_file(folder: Path) -> Path:
    short = folder / TRUNCATED
    return short if short.is_file() else folder / "chat.json"


def _questions_file(folder: Path) -> Path:
    for file in (folder / "probing_questions" / "probing_questions.json", folder / "probing_questions.json"):
        if file.is_file():
            return file
    raise DatasetError(
        f"{folder} has a chat and no probing_questions.json; fetch the whole folder, or name another with "
        "harness.dataset.path"
    )


def raw_chats(files: DataFiles) -> Iterator[RawChat]:
    """Yield the chats, one after another.

    Raises
    ------
    DatasetError
        When a file cannot be read or decoded.
    MissingExtra
        When rows are Parquet and its reader is not installed.
    """
    if not (isinstance(files, BeamFiles) and files.folders):
        for file in files.paths:
            for row in rows(file, _columns):
                yield _of_row(file, row)
        return
    for chat, questions in zip(files.paths[::2], files.paths[1::2], strict=True):
        yield RawChat(
            name=chat.parent.name,
            chat=_decoded(chat),
            plans=None,
            questions=_decoded(questions),
            truncated=chat.name == TRUNCATED,
        )


def _decoded(path: Path) -> Any:
    return decode_json(str(path), read_bytes(path))


def _of_row(file: Path, row: object) -> RawChat:
    if not isinstance(row, Mapping) or "conversation_id" not in row or "probing_questions" not in row:
        raise DatasetError(
            f"{file} has a row without conversation_id or probing_questions; it is not the published data",
            Remedy.FOREIGN,
        )
    plans, name = row.get("plans"), row["conversation_id"]
    where = FieldReader(f"{file.name}, conversation_id", "the published data")
    return RawChat(
        name=where.answer(name),
        chat=None if plans else row.get("chat"),
        plans=plans or None,
        questions=row["probing_questions"],
    )


def _columns(names: Sequence[str]) -> list[str]:
    columns = [name for name in names if name in COLUMNS]
    if "plans" in columns and "chat" in columns:
        columns.remove("chat")
    return columns
