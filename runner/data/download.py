"""Downloading a dataset's file into the user's cache: resumed where it broke off, verified before it is kept.

What has arrived stands in ``NAME.part`` beside the file it will be, with the validator of its server in ``NAME.tag``: a
later fetch asks for the rest (RFC 9110, 13.1.5 and 14.2) and begins anew where the server has another content by then.
A file gets its name only when it is whole and, if a digest is pinned, has that digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from runner.errors import DatasetError
from runner.http import Policy, retry_after, unusable

if TYPE_CHECKING:
    import httpx

_ATTEMPTS: Final = 5  # in a row without a byte arriving
_UNREACHABLE: Final = 2  # in a row without a connection: where there is no network, a person should know at once
_TIMEOUT_S: Final = 30.0
_WAITED_S: Final = 600.0  # of all that a server asks to wait
_TOLD_S: Final = 5.0  # between two lines of progress where there is no terminal
_LOCAL: Final = "with no network, give a local copy with harness.dataset.path=FILE"


def fetch(benchmark: str, url: str, sha256: str | None, folder: Path, name: str) -> Path:
    """The file of that name in a folder, downloaded if it is not there or is not what is pinned.

    Parameters
    ----------
    url
        ``http`` or ``https``.
    sha256
        What the content must have; ``None`` takes whatever comes, and what is there already.
    folder, name
        Where it is kept.

    Raises
    ------
    DatasetError
        When it cannot be downloaded, kept, or is not what is pinned; what has arrived is kept for the next time, unless
        it is the wrong content.
    """
    file, part, tag = (folder / f"{name}{suffix}" for suffix in ("", ".part", ".tag"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.is_file() and (sha256 is None or _digest(file) == sha256):
            return file
        with _alone(benchmark, part):
            if file.is_file() and (sha256 is None or _digest(file) == sha256):  # another process has fetched it
                return file
            _Transfer(benchmark, url, part, tag).complete()
            if sha256 is not None and _digest(part) != sha256:
                part.unlink()
                raise DatasetError(
                    f"what {url} sent does not have the pinned sha256 {sha256}; the source has changed or "
                    "something answers in its place: give a local copy with harness.dataset.path=FILE"
                )
            part.replace(file)
            tag.unlink(missing_ok=True)
    except OSError as error:
        raise DatasetError(
            f"cannot keep the download in {folder} ({error.strerror or error}); make room or set "
            "MEMORY_RUNNER_CACHE to a folder that can be written, or give harness.dataset.path=FILE"
        ) from None
    return file


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@contextlib.contextmanager
def _alone(benchmark: str, part: Path) -> Iterator[None]:
    """Two processes must not write one file: the second waits for the first, and says so."""
    try:
        import fcntl
    except ImportError:  # a platform without flock: two downloads at once would be refused by the digest
        yield
        return
    with part.with_suffix(".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print(f"{benchmark}: another process is downloading this; waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class _Transfer:
    """One file from one server, however many connections it takes."""

    def __init__(self, benchmark: str, url: str, part: Path, tag: Path) -> None:
        self._benchmark, self._url, self._part, self._tag = benchmark, url, part, tag
        self._waited = 0.0
        self._most = 0  # bytes that were ever there: what arrives again is no progress

    def complete(self) -> None:
        """Ask for what is missing until all of it is there.

        Raises
        ------
        DatasetError
            When the server refuses, or no byte arrives for so many attempts.
        """
        import httpx

        try:
            connecting = httpx.Client(follow_redirects=True, timeout=_TIMEOUT_S)
        except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
            raise DatasetError(f"cannot download {self._url}: {unusable(error)}") from None
        failed, self._most = 0, self._there()
        with _progress(self._benchmark, Path(urlsplit(self._url).path).name) as told, connecting as client:
            while True:
                why = self._once(client, told)
                if why is None:
                    return
                failed = 1 if self._there() > self._most else failed + 1
                self._most = max(self._most, self._there())
                if failed >= (_UNREACHABLE if why == httpx.ConnectError.__name__ else _ATTEMPTS):
                    raise self._gave_up(why)
                time.sleep(0.5 * 2.0 ** (failed - 1))

    def _there(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _once(self, client: httpx.Client, told: Any) -> str | None:
        """One connection; why it did not bring all, ``None`` when it did."""
        import httpx

        start = self._there()
        tag = self._tag.read_text(encoding="latin-1") if start and self._tag.exists() else ""
        # Without a validator nobody can say that the rest belongs to what is there.
        asked = {"Range": f"bytes={start}-", "If-Range": tag} if tag else {}
        try:
            with client.stream("GET", self._url, headers={"Accept-Encoding": "identity", **asked}) as reply:
                if reply.status_code == 429 or reply.status_code >= 500:
                    return self._wait(reply)
                if reply.status_code == 416:  # what is there is more than the server has
                    self._part.unlink()
                    return "HTTP 416"
                if reply.status_code not in (200, 206):
                    raise self._refused(f"HTTP {reply.status_code}")
                packed = reply.headers.get("Content-Encoding", "identity").strip().lower()
                if packed not in ("", "identity"):
                    raise self._refused(f"the server packs what it sends, {packed[:20]}, though asked not to")
                at = start if reply.status_code == 206 else 0
                if reply.status_code == 206 and not _continues(reply, start, tag):
                    self._part.unlink(missing_ok=True)
                    return "the server sent another part than was asked for"
                total = _total(reply, at)
                self._remember(reply)
                with self._part.open("r+b" if at else "wb") as out:
                    out.seek(at)
                    return self._take(reply, out, at, total, told)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.TooManyRedirects, UnicodeError) as error:
            raise self._refused(type(error).__name__) from None
        except httpx.HTTPError as error:
            return type(error).__name__

    def _take(self, reply: httpx.Response, out: IO[bytes], at: int, total: int | None, told: Any) -> str | None:
        for (
            chunk
        ) in reply.iter_raw():  # as they arrive: what is gathered into larger chunks is lost with the connection
            out.write(chunk)
            at += len(chunk)
            told(at, total)
        if total is not None and at < total:
            return f"the connection ended after {at:,} of {total:,} bytes"
        return None

    def _remember(self, reply: httpx.Response) -> None:
        """A strong validator, by which the rest can be asked for; without one the next connection begins anew."""
        tag = reply.headers.get("ETag", "")
        if tag.isascii() and tag.isprintable() and tag and not tag.startswith("W/"):
            self._tag.write_text(tag, encoding="latin-1")
        else:
            self._tag.unlink(missing_ok=True)

    def _wait(self, reply: httpx.Response) -> str:
        why = f"HTTP {reply.status_code}"
        if reply.status_code == 429 or "Retry-After" in reply.headers:
            wait = retry_after({name.lower(): value for name, value in reply.headers.items()}, Policy())
            self._waited += wait
            if self._waited > _WAITED_S:
                raise self._gave_up(why)
            time.sleep(wait)
        return why

    def _refused(self, why: str) -> DatasetError:
        return DatasetError(f"cannot download {self._url} ({why}); {_LOCAL}")

    def _gave_up(self, why: str) -> DatasetError:
        kept = self._there() if self._tag.exists() else 0
        rest = f"; {kept:,} bytes are kept, the same command goes on from there" if kept else ""
        return DatasetError(f"cannot download {self._url} ({why}){rest}; {_LOCAL}")


def _continues(reply: httpx.Response, start: int, tag: str) -> bool:
    """Whether a part is the rest of what is there, by its place and, where the server says so, its validator."""
    unit, _, span = reply.headers.get("Content-Range", "").partition(" ")
    return bool(unit == "bytes" and span.startswith(f"{start}-") and reply.headers.get("ETag", tag) == tag)


def _total(reply: httpx.Response, at: int) -> int | None:
    """Bytes of the whole, ``None`` where the server does not say: a part may be less than the rest."""
    whole: str = reply.headers.get("Content-Range", "").partition("/")[2].strip() if reply.status_code == 206 else ""
    length: str = reply.headers.get("Content-Length", "")
    if _is_count(whole):
        return int(whole)
    return at + int(length) if _is_count(length) else None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


@contextlib.contextmanager
def _progress(benchmark: str, name: str) -> Iterator[Any]:
    """A bar on a terminal, else a line every few seconds, on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        last = time.monotonic()

        def line(at: int, total: int | None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _TOLD_S:
                last = now
                of = f" of {total / 1e6:,.0f}" if total else ""
                print(f"{benchmark}: {at / 1e6:,.0f}{of} MB of {name}", file=sys.stderr, flush=True)

        yield line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=None)
        yield lambda at, total: progress.update(task, completed=at, total=total)
