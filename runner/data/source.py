"""Where a harness's file comes from: a local copy, or a pinned download in the user cache; verified, then decoded.

The file is verified before it is understood, and every failure is one :class:`~runner.errors.DatasetError` that says
what to type next.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from runner.config import Dataset, cache_dir, own_path
from runner.data.download import fetch
from runner.data.strict_json import Unsound, strictly
from runner.errors import DatasetError

MEND: Final = "export it again as UTF-8, mended, or give another copy with harness.dataset.path=FILE"
TOO_DEEP: Final = (
    "is nested too deeply to be a dataset; download it again, or give another copy with harness.dataset.path=FILE"
)


@dataclass(frozen=True)
class SourceFile:
    """A file that was read: its bytes are verified, and ``sha256`` is theirs."""

    path: Path
    data: bytes
    sha256: str
    pinned: bool


def datasets_dir() -> Path:
    """Folder of downloaded datasets, in the cache of :func:`runner.config.cache_dir`."""
    return cache_dir() / "datasets"


def read_source(harness: str, dataset: Dataset, diagnose: Callable[[bytes], str | None]) -> SourceFile:
    """Find, read and verify the file of a dataset.

    Parameters
    ----------
    harness
        Its name, for messages.
    dataset
        ``path`` wins over ``url``; ``sha256`` is required of either, ``None`` accepts whatever is there.
    diagnose
        Says what is wrong with bytes that do not match the pin, when it can tell.

    Raises
    ------
    DatasetError
        When the file is missing, unreadable, cannot be downloaded or does not match its pin.
    """
    path = local_copy(harness, dataset)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(harness, path, error) from None
    sha = hashlib.sha256(data).hexdigest()
    if dataset.sha256 is not None and sha != dataset.sha256:
        why = diagnose(data)
        raise DatasetError(
            f"{harness}: {path} has sha256 {sha}, but harness.dataset.sha256 pins {dataset.sha256}"
            f"{f' ({why})' if why else ''}; use the published file, or say harness.dataset.sha256=null to run this one "
            "unpinned"
        )
    return SourceFile(path=path, data=data, sha256=sha, pinned=dataset.sha256 is not None)


def local_copy(harness: str, dataset: Dataset) -> Path:
    """Path of the dataset's file, downloading it on first use.

    Raises
    ------
    DatasetError
        When there is no such file, or the download fails.
    """
    if dataset.path is None:
        return _download(harness, dataset)
    path = looked_at(harness, dataset.path)
    if path.is_dir():
        raise DatasetError(
            f"{harness}: {path} is a folder; name the file itself (harness.dataset.path={path / 'FILE'})"
        )
    if not path.is_file():
        otherwise = ", or leave harness.dataset.path out to download it" if dataset.url else ""
        raise DatasetError(
            f"{harness}: there is no file {path} (looked in {Path.cwd()}); give a local copy "
            f"with harness.dataset.path=FILE{otherwise}"
        )
    return path


def looked_at(harness: str, path: str) -> Path:
    """A path that a config names, if it is a file, a folder that can be listed, or nothing yet.

    Raises
    ------
    DatasetError
        When it cannot be looked at, or is a pipe, a device or the like, which cannot be read twice.
    """
    found = own_path(path)
    try:
        mode = found.stat().st_mode
        if stat.S_ISDIR(mode) and not os.access(found, os.R_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a NUL byte is in no name
        return found
    except OSError as error:
        raise unreadable(harness, found, error) from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DatasetError(
            f"{harness}: {found} is neither a file nor a folder; write it to a file and name that "
            "(harness.dataset.path=FILE)"
        )
    return found


def unreadable(harness: str, path: Path, error: OSError) -> DatasetError:
    """What is said of a file that the system does not let be read."""
    return DatasetError(
        f"{harness}: cannot read {path}: {error.strerror or error}; make it readable, or give another copy with "
        "harness.dataset.path=FILE"
    )


def _download(harness: str, dataset: Dataset) -> Path:
    if not dataset.url:
        raise DatasetError(f"{harness}: no data is configured; give a local copy with harness.dataset.path=FILE")
    try:
        parts = urlsplit(dataset.url)
    except ValueError:
        raise DatasetError(f"{harness}: harness.dataset.url is not a URL; it must start with https://") from None
    if parts.scheme not in ("http", "https"):
        raise DatasetError(f"{harness}: harness.dataset.url must start with https://, got '{parts.scheme}:'")
    name = f"{harness}-{(dataset.sha256 or 'unpinned')[:12]}-{Path(parts.path).name or 'data'}"
    return fetch(harness, dataset.url, dataset.sha256, datasets_dir(), name)


def decode_json(harness: str, source: str, data: bytes) -> Any:
    """JSON of a file, strictly UTF-8.

    Raises
    ------
    DatasetError
        Telling truncation, a wrong encoding and other damage apart; also on what
        :func:`runner.data.strict_json.strictly` refuses.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{harness}: {source} is not UTF-8 (byte {error.start}); download it again, or give another copy with "
            "harness.dataset.path=FILE"
        ) from None
    if not text.strip():
        raise DatasetError(f"{harness}: {source} is empty; give another copy with harness.dataset.path=FILE")
    try:
        return strictly(text)
    except RecursionError:
        raise DatasetError(f"{harness}: {source} {TOO_DEEP}") from None
    except Unsound as error:
        raise DatasetError(f"{harness}: {source} {error}; {MEND}") from None
    except ValueError as error:
        at = getattr(error, "pos", None)
        ended = at is not None and (at >= len(text.rstrip()) or "Unterminated string" in str(error))
        what = "is truncated: the JSON ends before it is complete" if ended else f"is not valid JSON ({error})"
        raise DatasetError(
            f"{harness}: {source} {what}; download it again, or give another copy with harness.dataset.path=FILE"
        ) from None


@dataclass(frozen=True)
class Source:
    """One file to import. Where it lies goes into no record; its name, its bytes' sha256 and its size do."""

    path: Path
    name: str
    sha256: str
    size: int


@dataclass(frozen=True)
class LargeFile:
    """A file on disk whose content is verified; nothing of it is held."""

    path: Path
    sha256: str
    pinned: bool


def verified(harness: str, dataset: Dataset, known: Mapping[str, str] | None = None) -> LargeFile:
    """Find a dataset's file, downloading it on first use, and verify it without loading it.

    Parameters
    ----------
    harness
        Its name, for messages.
    dataset
        As :func:`runner.data.source.read_source` takes it.
    known
        Digests of published files, and what each is: what a file that does not match the pin may turn out to be.

    Raises
    ------
    DatasetError
        When the file is missing, cannot be read or downloaded, or does not match its pin.
    """
    path = local_copy(harness, dataset)
    sha = sha256_of(harness, path)
    check_pin(harness, str(path), sha, dataset.sha256, (known or {}).get(sha))
    return LargeFile(path, sha, dataset.sha256 is not None)


def check_pin(harness: str, what: str, sha: str, pin: str | None, why: str | None = None) -> None:
    """Refuse content that is not what is pinned.

    Raises
    ------
    DatasetError
        Naming both digests and how to run unpinned.
    """
    if pin is not None and sha != pin:
        raise DatasetError(
            f"{harness}: {what} has sha256 {sha}, but harness.dataset.sha256 pins {pin}{f' ({why})' if why else ''}; "
            "use the published file, or say harness.dataset.sha256=null to run this one unpinned"
        )


def sha256_of(harness: str, path: Path) -> str:
    """Digest of a file's bytes, read in chunks.

    Raises
    ------
    DatasetError
        When it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(harness, path, error) from None
