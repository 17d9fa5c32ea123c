"""Where BEAM's chats come from: the repository's folders, or rows of the Hugging Face copy. One chat at a time.

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
from runner.data.fields import Where
from runner.data.files_ import combined, published_name
from runner.data.source import check_pin, decode_json, looked_at, sha256_of, unreadable, verified
from runner.data.tables import rows
from runner.errors import DatasetError

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
class Found:
    """The data on disk, verified; ``sha256`` of a folder is over the path and digest of every file that is read."""

    files: tuple[Path, ...]
    folder: bool  # chats as folders; else files of rows
    sha256: str
    pinned: bool


def find(harness: str, dataset: Dataset, more: Sequence[Dataset], size: str) -> Found:
    """Find, download and verify.

    Parameters
    ----------
    harness
        Its name, for messages.
    dataset, more
        The data, and its further files.
    size
        Which folder of ``chats``.

    Raises
    ------
    DatasetError
        When anything is missing, cannot be read or does not match its pin.
    """
    path = looked_at(harness, dataset.path) if dataset.path is not None else None
    parts = [dataset, *more]
    if path is not None and path.is_dir():
        return _folder(harness, path, parts, size)
    if path is not None:
        parts = [part.model_copy(update={"path": str(path.with_name(published_name(part)))}) for part in more]
        for part in parts:
            if not Path(str(part.path)).is_file():
                raise DatasetError(
                    f"{harness}: {path} is one of {len(parts) + 1} files of this data, and {part.path} is not there; "
                    "put it beside, or say harness.settings.more=[] to use this one alone"
                )
        parts = [dataset, *parts]
    return _files(harness, parts)


def _files(harness: str, parts: Sequence[Dataset]) -> Found:
    """Files of rows, each verified by its own pin."""
    files = [verified(harness, part) for part in parts]
    sha = files[0].sha256 if len(files) == 1 else combined([(str(at), file.sha256) for at, file in enumerate(files)])
    return Found(tuple(file.path for file in files), False, sha, all(file.pinned for file in files))


def _folder(harness: str, path: Path, parts: Sequence[Dataset], size: str) -> Found:
    for root in (path / "chats" / size, path / size, path):
        chats = _chats(root)
        tables = [] if chats else sorted([*root.glob(f"{size}-*.parquet"), *root.glob(f"data/{size}-*.parquet")])
        if tables and [file.name for file in tables] == [published_name(part) for part in parts]:
            at = [part.model_copy(update={"path": str(file)}) for part, file in zip(parts, tables, strict=True)]
            return _files(harness, at)
        if not chats and not tables:
            continue
        files = tables or [file for chat in chats for file in (_chat_file(chat), _questions_file(harness, chat))]
        sha = combined([(file.relative_to(root).as_posix(), sha256_of(harness, file)) for file in files])
        check_pin(harness, str(root), sha, parts[0].sha256)
        return Found(tuple(files), bool(chats), sha, parts[0].sha256 is not None)
    raise DatasetError(
        f"{harness}: {path} holds no chat of size {size}: neither N/chat.json nor {size}-*.parquet, there or in "
        f"{size}/ or chats/{size}/; name the folder that does (harness.dataset.path), or another "
        "harness.settings.size"
    )


def _chats(root: Path) -> list[Path]:
    """Folders that hold a chat, by number; the folder itself when it is one."""
    try:
        if (root / "chat.json").is_file() or (root / TRUNCATED).is_file():
            return [root]
        found = [item for item in root.iterdir() if item.is_dir() and _chat_file(item).is_file()]
    except OSError:
        return []
    return sorted(found, key=lambda item: (not item.name.isdigit(), len(item.name), item.name))


def _chat_file(folder: Path) -> Path:
    short = folder / TRUNCATED
    return short if short.is_file() else folder / "chat.json"


def _questions_file(harness: str, folder: Path) -> Path:
    for file in (folder / "probing_questions" / "probing_questions.json", folder / "probing_questions.json"):
        if file.is_file():
            return file
    raise DatasetError(
        f"{harness}: {folder} has a chat and no probing_questions.json; fetch the whole folder, or name another with "
        "harness.dataset.path"
    )


def raw_chats(harness: str, found: Found) -> Iterator[RawChat]:
    """The chats, one after another.

    Raises
    ------
    DatasetError
        When a file cannot be read or decoded.
    MissingExtra
        When rows are Parquet and its reader is not installed.
    """
    if not found.folder:
        for file in found.files:
            for row in rows(harness, file, _columns):
                yield _of_row(harness, file, row)
        return
    for chat, questions in zip(found.files[::2], found.files[1::2], strict=True):
        yield RawChat(
            name=chat.parent.name,
            chat=_decoded(harness, chat),
            plans=None,
            questions=_decoded(harness, questions),
            truncated=chat.name == TRUNCATED,
        )


def _decoded(harness: str, path: Path) -> Any:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(harness, path, error) from None
    return decode_json(harness, str(path), data)


def _of_row(harness: str, file: Path, row: object) -> RawChat:
    if not isinstance(row, Mapping) or "conversation_id" not in row or "probing_questions" not in row:
        raise DatasetError(
            f"{harness}: {file} has a row without conversation_id or probing_questions; it is not the published data "
            "(harness.dataset.path=FILE names another copy)"
        )
    plans, name = row.get("plans"), row["conversation_id"]
    where = Where(harness, f"{file.name}, conversation_id", "the published data")
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
