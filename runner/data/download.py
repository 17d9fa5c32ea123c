"""Download a dataset's file into the user's cache: resumed where it broke off, verified before it is kept.

What has arrived stands in ``NAME.part`` beside the file it will be, with the validator of its server in ``NAME.tag``: a
later download asks for the rest (RFC 9110, 13.1.5 and 14.2) and begins anew where the server has another content by
then. A file gets its name only when it is whole and, if a digest is pinned, has that digest.

It is written by hand because no library resumes after the process has ended: pooch and fsspec begin anew, and
huggingface_hub, which knows its own hub only, removes a broken part. pooch and fsspec would also bring an HTTP client
of their own, and none of them tells a validator from another one.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from runner.config import file_digest
from runner.errors import DatasetError
from runner.http import Policy, retry_after, unusable

if TYPE_CHECKING:
    import httpx2

_ATTEMPTS: Final = 5  # in a row without a byte arriving
_UNREACHABLE: Final = 2  # in a row without a connection: where there is no network, a person should know at once
_TIMEOUT_S: Final = 30.0
_WAITED_S: Final = 600.0  # of all that a server asks to wait
_PROGRESS_S: Final = 5.0  # between two lines of progress where there is no terminal
_LOCAL: Final = "with no network, give a local copy with harness.dataset.path=FILE"

Progress = Callable[[int, int | None], object]  # bytes that are there, of how many


def fetch(benchmark: str, url: str, sha256: str | None, folder: Path, name: str) -> Path:
    """Return the file of that name in a folder, downloaded if it is not there or is not what is pinned.

    Parameters
    ----------
    benchmark
        Its name, before every line of progress.
    url
        ``http`` or ``https``.
    sha256
        What the content must have; ``None`` accepts whatever comes, and what is there already.
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
        if _is_kept(file, sha256):
            return file
        with _locked(benchmark, part):
            if _is_kept(file, sha256):  # by another process in the meantime
                return file
            with _progress(benchmark, Path(urlsplit(url).path).name) as progress:
                _Transfer(url, part, tag, progress).complete()
            if sha256 is not None and file_digest(part) != sha256:
                part.unlink()
                raise DatasetError(
                    f"what {url} sent does not have the pinned sha256 {sha256}; the source has changed or something "
                    "answers in its place: give a local copy with harness.dataset.path=FILE"
                )
            part.replace(file)
            tag.unlink(missing_ok=True)
    except OSError as error:
        raise DatasetError(
            f"cannot keep the download in {folder} ({error.strerror or error}); make room or set MEMORY_RUNNER_CACHE "
            "to a folder that can be written, or give harness.dataset.path=FILE"
        ) from None
    return file


def _is_kept(file: Path, sha256: str | None) -> bool:
    return file.is_file() and (sha256 is None or file_digest(file) == sha256)


@contextlib.contextmanager
def _locked(benchmark: str, part: Path) -> Iterator[None]:
    """Hold the lock of a part: two processes must not write one file. The second waits, and says so."""
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

    def __init__(self, url: str, part: Path, tag: Path, progress: Progress) -> None:
        self._url, self._part, self._tag, self._progress = url, part, tag, progress
        self._waited = 0.0

    def complete(self) -> None:
        """Ask for what is missing until all of it is there.

        Raises
        ------
        DatasetError
            When the server refuses, or no byte arrives for so many attempts.
        """
        import httpx2

        try:
            connecting = httpx2.Client(follow_redirects=True, timeout=_TIMEOUT_S)
        except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
            raise DatasetError(f"cannot download {self._url}: {unusable(error)}") from None
        failed, most = 0, self._size()  # bytes that were ever there: what arrives again counts as none
        with connecting as client:
            while (why := self._attempt(client)) is not None:
                failed = 1 if self._size() > most else failed + 1
                most = max(most, self._size())
                if failed >= (_UNREACHABLE if why == httpx2.ConnectError.__name__ else _ATTEMPTS):
                    raise self._gave_up(why)
                time.sleep(0.5 * 2.0 ** (failed - 1))

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _attempt(self, client: httpx2.Client) -> str | None:
        """Use one connection; return why it did not bring all, ``None`` when it did."""
        import httpx2

        start = self._size()
        tag = self._tag.read_text(encoding="latin-1") if start and self._tag.exists() else ""
        # Without a validator nobody can say that the rest belongs to what is there.
        ranged = {"Range": f"bytes={start}-", "If-Range": tag} if tag else {}
        try:
            with client.stream("GET", self._url, headers={"Accept-Encoding": "identity", **ranged}) as reply:
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
                if reply.status_code == 206 and not _continues(reply, start, tag):
                    self._part.unlink(missing_ok=True)
                    return "the server sent another part than was asked for"
                return self._receive(reply, start if reply.status_code == 206 else 0)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.TooManyRedirects, UnicodeError) as error:
            raise self._refused(type(error).__name__) from None
        except httpx2.HTTPError as error:
            return type(error).__name__

    def _receive(self, reply: httpx2.Response, at: int) -> str | None:
        total = _total(reply, at)
        tag = reply.headers.get("ETag", "")
        if tag.isascii() and tag.isprintable() and tag and not tag.startswith("W/"):
            self._tag.write_text(tag, encoding="latin-1")
        else:  # without a strong validator the next connection begins anew
            self._tag.unlink(missing_ok=True)
        with self._part.open("r+b" if at else "wb") as out:
            out.seek(at)
            # As they arrive: what is gathered into larger chunks is lost with the connection.
            for chunk in reply.iter_raw():
                out.write(chunk)
                at += len(chunk)
                self._progress(at, total)
        if total is not None and at < total:
            return f"the connection ended after {at:,} of {total:,} bytes"
        return None

    def _wait(self, reply: httpx2.Response) -> str:
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
        kept = self._size() if self._tag.exists() else 0
        rest = f"; {kept:,} bytes are kept, the same command goes on from there" if kept else ""
        return DatasetError(f"cannot download {self._url} ({why}){rest}; {_LOCAL}")


def _continues(reply: httpx2.Response, start: int, tag: str) -> bool:
    """Tell whether a part is the rest of what is there, by its place and, where the server says so, its validator."""
    unit, _, span = reply.headers.get("Content-Range", "").partition(" ")
    return bool(unit == "bytes" and span.startswith(f"{start}-") and reply.headers.get("ETag", tag) == tag)


def _total(reply: httpx2.Response, at: int) -> int | None:
    """Return the bytes of the whole, ``None`` where the server does not say: a part may be less than the rest."""
    whole = reply.headers.get("Content-Range", "").partition("/")[2].strip() if reply.status_code == 206 else ""
    for text, before in ((whole, 0), (reply.headers.get("Content-Length", ""), at)):
        if text.isascii() and text.isdigit() and len(text) < 19:
            return before + int(text)
    return None


@contextlib.contextmanager
def _progress(benchmark: str, name: str) -> Iterator[Progress]:
    """Show a bar on a terminal, else a line every few seconds, on standard error."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        last = time.monotonic()

        def line(at: int, total: int | None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _PROGRESS_S:
                last = now
                of = f" of {total / 1e6:,.0f}" if total else ""
                print(f"{benchmark}: {at / 1e6:,.0f}{of} MB of {name}", file=sys.stderr, flush=True)

        yield line
        return
    columns = [progress.TextColumn("{task.description}"), progress.BarColumn(), progress.DownloadColumn()]
    columns += [progress.TransferSpeedColumn(), progress.TimeRemainingColumn()]
    with progress.Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda at, total: shown.update(task, completed=at, total=total)
