"""Find, download and verify the files of a dataset.

A file is verified before it is understood. Every failure is one :class:`~runner.errors.DatasetError`; its ``remedy``
becomes what to type next, in the words of whoever reads the file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from runner.config import Dataset, cache_dir, file_digest, own_path
from runner.data.download import fetch
from runner.errors import DatasetError, Remedy


@dataclass(frozen=True)
class DataFiles:
    """The files of a dataset on disk, verified.

    Attributes
    ----------
    paths
        In the order in which they are read.
    sha256
        Of the bytes of one file; of several, over the name and the digest of each (:func:`combined`).
    pinned
        The config required the digest.
    data
        The bytes that were verified, where they are held: what is parsed is then what was hashed.
    """

    paths: tuple[Path, ...]
    sha256: str
    pinned: bool
    data: bytes | None = None

    @property
    def path(self) -> Path:
        return self.paths[0]

    def content(self) -> bytes:
        """Return the bytes of the one file.

        Raises
        ------
        DatasetError
            When they are not held and cannot be read.
        """
        return read_bytes(self.path) if self.data is None else self.data


def datasets_dir() -> Path:
    """Return the folder of downloaded datasets, in the cache of :func:`runner.config.cache_dir`."""
    return cache_dir() / "datasets"


def locate(
    benchmark: str,
    dataset: Dataset,
    known: Mapping[str, str] | None = None,
    *,
    hold: bool = False,
    diagnose: Callable[[bytes], str | None] = lambda _: None,
) -> DataFiles:
    """Find the one file of a dataset, download it on first use, and verify it.

    Parameters
    ----------
    benchmark
        Its name, part of the file's name in the cache.
    dataset
        ``path`` wins over ``url``; ``sha256`` is required of either, ``None`` accepts whatever is there.
    known
        Digests of published files, and what each is: what a file that does not match the pin may turn out to be.
    hold
        Keep the bytes; otherwise the file is hashed in chunks and memory does not grow with it.
    diagnose
        Tells what is wrong with held bytes that do not match the pin, when it can.

    Raises
    ------
    DatasetError
        When the file is missing, cannot be read or downloaded, or does not match its pin.
    """
    path = local_copy(benchmark, dataset)
    data = read_bytes(path) if hold else None
    sha = sha256_of(path) if data is None else hashlib.sha256(data).hexdigest()
    if dataset.sha256 is not None and sha != dataset.sha256:
        why = (known or {}).get(sha) or (diagnose(data) if data is not None else None)
        check_pin(str(path), sha, dataset.sha256, why)
    return DataFiles((path,), sha, dataset.sha256 is not None, data)


def joined(files: Sequence[DataFiles]) -> DataFiles:
    """Return several verified files as one dataset; the digest of a single one stays its own."""
    numbered = [(str(at), file.sha256) for at, file in enumerate(files)]
    return DataFiles(
        paths=tuple(path for file in files for path in file.paths),
        sha256=files[0].sha256 if len(files) == 1 else combined(numbered),
        pinned=all(file.pinned for file in files),
    )


def in_folder(root: Path, files: Mapping[str, Path], pin: str | None) -> DataFiles:
    """Verify the files of a folder, each under the name that the digest is over.

    Raises
    ------
    DatasetError
        When one cannot be read, or all of them do not match the pin.
    """
    sha = combined([(name, sha256_of(path)) for name, path in files.items()])
    check_pin(str(root), sha, pin)
    return DataFiles(tuple(files.values()), sha, pin is not None)


def published_name(part: Dataset) -> str:
    """Return the name of the published file that a part of the data is."""
    return urlsplit(part.url or "").path.rpartition("/")[2] or "?"


def combined(digests: Iterable[tuple[str, str]]) -> str:
    """Return the sha256 over the name and the digest of every file, in the order given."""
    sha = hashlib.sha256()
    for name, digest in digests:
        sha.update(f"{name} {digest}\n".encode())
    return sha.hexdigest()


def own_copy(dataset: Dataset, advice: str) -> Path:
    """Return the file or folder that a config names, of data that cannot be downloaded by itself.

    Raises
    ------
    DatasetError
        When none is named or it is not there, ending in ``advice``.
    """
    if dataset.path is None:
        raise DatasetError(f"no data is configured and none can be downloaded by itself; {advice}")
    path = configured_path(dataset.path)
    if not (path.is_dir() or path.is_file()):
        raise DatasetError(f"there is no file or folder {path} (looked in {Path.cwd()}); {advice}")
    return path


def local_copy(benchmark: str, dataset: Dataset) -> Path:
    """Return the path of the dataset's file, downloading it on first use.

    Raises
    ------
    DatasetError
        When there is no such file, or the download fails.
    """
    if dataset.path is None:
        return _download(benchmark, dataset)
    path = configured_path(dataset.path)
    if path.is_dir():
        raise DatasetError(f"{path} is a folder; name the file itself (harness.dataset.path={path / 'FILE'})")
    if not path.is_file():
        otherwise = ", or leave harness.dataset.path out to download it" if dataset.url else ""
        raise DatasetError(
            f"there is no file {path} (looked in {Path.cwd()}); give a local copy "
            f"with harness.dataset.path=FILE{otherwise}"
        )
    return path


def configured_path(path: str) -> Path:
    """Return a path that a config names, if it is a file, a folder that can be listed, or nothing yet.

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
        raise unreadable(found, error) from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DatasetError(
            f"{found} is neither a file nor a folder; write it to a file and name that (harness.dataset.path=FILE)"
        )
    return found


def unreadable(path: Path, error: OSError) -> DatasetError:
    """Return the error for a file that the system does not let be read."""
    return DatasetError(f"cannot read {path}: {error.strerror or error}", Remedy.READABLE)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    DatasetError
        When it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def _download(benchmark: str, dataset: Dataset) -> Path:
    if not dataset.url:
        raise DatasetError("no data is configured; give a local copy with harness.dataset.path=FILE")
    try:
        parts = urlsplit(dataset.url)
    except ValueError:
        raise DatasetError("harness.dataset.url is not a URL; it must start with https://") from None
    if parts.scheme not in ("http", "https"):
        raise DatasetError(f"harness.dataset.url must start with https://, got '{parts.scheme}:'")
    name = f"{benchmark}-{(dataset.sha256 or 'unpinned')[:12]}-{Path(parts.path).name or 'data'}"
    return fetch(benchmark, dataset.url, dataset.sha256, datasets_dir(), name)


def check_pin(what: str, sha: str, pin: str | None, why: str | None = None) -> None:
    """Refuse content that is not what is pinned.

    Raises
    ------
    DatasetError
        Naming both digests and how to run unpinned.
    """
    if pin is not None and sha != pin:
        raise DatasetError(
            f"{what} has sha256 {sha}, but harness.dataset.sha256 pins {pin}{f' ({why})' if why else ''}; "
            "use the published file, or say harness.dataset.sha256=null to run this one unpinned"
        )


def sha256_of(path: Path) -> str:
    """Digest of a file's bytes, read in chunks.

    Raises
    ------
    DatasetError
        When it cannot be read.
    """
    try:
        return file_digest(path)
    except OSError as error:
        raise unreadable(path, error) from None
