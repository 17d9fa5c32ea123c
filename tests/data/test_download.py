"""A download that breaks off, is killed or is answered by another server: resumed, verified, told in a line."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runner.data import download as _fetch
from runner.data.download import fetch
from runner.errors import DatasetError
from tests.conftest import ROOT

BODY = bytes(range(256)) * 4096  # 1 MiB
SHA256 = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves one body with ranges. ``plan`` are faults of the next answers: an int breaks off after so many bytes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.etag, self.plan = BODY, '"one"', []
        self.ranges: list[str | None] = []
        self.sent = 0
        self.slow_s = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/data.json"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        about = self.server
        asked = self.headers.get("Range")
        about.ranges.append(asked)
        assert self.headers["Accept-Encoding"] == "identity", "a packed body has other offsets"
        fault = about.plan.pop(0) if about.plan else None
        if isinstance(fault, str):
            status, _, after = fault.partition(" ")
            self.send_response(int(status))
            if after:
                self.send_header("Retry-After", after)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = 0
        if asked and self.headers.get("If-Range") == about.etag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
        if start > len(about.body):
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        part = about.body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(about.body) - 1}/{len(about.body)}")
        if about.etag:
            self.send_header("ETag", about.etag)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        part = part[:fault] if isinstance(fault, int) else part
        for at in range(0, len(part), 1 << 16):
            self.wfile.write(part[at : at + (1 << 16)])
            about.sent += len(part[at : at + (1 << 16)])
            time.sleep(about.slow_s)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_fetch.time, "sleep", lambda _: None)
    made = Server()
    with serving(made):
        yield made


def got(server: Server, folder: Path, sha256: str | None = SHA256) -> Path:
    return fetch("h", server.url, sha256, folder, "data")


def names(folder: Path) -> set[str]:
    return {item.name for item in folder.iterdir()} - {"data.lock"}


def test_a_broken_connection_goes_on_where_it_ended(server: Server, tmp_path: Path) -> None:
    server.plan = [300_000, 200_000]
    assert got(server, tmp_path).read_bytes() == BODY
    assert server.ranges == [None, "bytes=300000-", "bytes=500000-"]
    assert server.sent == len(BODY), "no byte was sent twice"
    assert names(tmp_path) == {"data"}


def test_a_later_fetch_goes_on(server: Server, tmp_path: Path) -> None:
    server.plan = [400_000, *["503"] * 20]
    with pytest.raises(DatasetError, match=r"HTTP 503\); 400,000 bytes are kept, the same command goes on from there"):
        got(server, tmp_path)
    assert names(tmp_path) == {"data.part", "data.tag"}
    server.plan.clear()
    assert got(server, tmp_path).read_bytes() == BODY
    assert server.ranges[-1] == "bytes=400000-"


def test_the_rest_of_another_content_is_not_mixed_in(server: Server, tmp_path: Path) -> None:
    server.plan = [400_000, *["503"] * 20]
    with pytest.raises(DatasetError):
        got(server, tmp_path, None)
    server.plan.clear()
    server.body, server.etag = BODY[::-1], '"two"'
    assert got(server, tmp_path, None).read_bytes() == BODY[::-1]


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_strong_validator_it_begins_anew(server: Server, tmp_path: Path, etag: str) -> None:
    server.etag, server.plan = etag, [400_000]
    assert got(server, tmp_path).read_bytes() == BODY
    assert server.ranges == [None, None]


def test_a_part_longer_than_the_file_begins_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.part").write_bytes(BODY + b"more")
    (tmp_path / "data.tag").write_text('"one"')
    assert got(server, tmp_path).read_bytes() == BODY
    assert server.ranges == [f"bytes={len(BODY) + 4}-", None]


def test_a_whole_part_is_verified_and_kept(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.part").write_bytes(BODY)
    (tmp_path / "data.tag").write_text('"one"')
    assert got(server, tmp_path).read_bytes() == BODY
    assert server.sent == 0


def test_another_content_than_pinned_is_not_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="does not have the pinned sha256"):
        got(server, tmp_path, "c" * 64)
    assert "data" not in names(tmp_path)
    assert "data.part" not in names(tmp_path)


def test_a_server_that_asks_to_wait(server: Server, tmp_path: Path) -> None:
    server.plan = ["429 0", "429 nonsense", "500", "503 1"]
    assert got(server, tmp_path).read_bytes() == BODY


def test_a_storm_ends(server: Server, tmp_path: Path) -> None:
    server.plan = ["429 60"] * 50
    with pytest.raises(DatasetError, match="HTTP 429"):
        got(server, tmp_path)
    assert len(server.ranges) <= 12


@pytest.mark.parametrize("status", ["401", "403", "404", "301"])
def test_a_refusal_is_told_at_once(server: Server, tmp_path: Path, status: str) -> None:
    server.plan = [status] * 9
    with pytest.raises(DatasetError, match=rf"HTTP {status}\); with no network, give a local copy"):
        got(server, tmp_path)
    assert len(server.ranges) == 1


_CHILD = """
import sys
from pathlib import Path
from runner.data.download import fetch
print(fetch("h", sys.argv[1], sys.argv[2], Path(sys.argv[3]), "data"), flush=True)
"""


def child(server: Server, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, server.url, SHA256, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_killed_fetch_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = Server()
    about.slow_s = 0.02
    with serving(about):
        first = child(about, tmp_path)
        deadline = time.monotonic() + 20
        while about.sent < 300_000 and time.monotonic() < deadline:
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=20)
        there = (tmp_path / "data.part").stat().st_size
        assert 0 < there < len(BODY)
        second = child(about, tmp_path)
        third = child(about, tmp_path)  # at the same time: one waits for the other
        said = [process.communicate(timeout=30) for process in (second, third)]
        assert [process.returncode for process in (second, third)] == [0, 0], said
        assert (tmp_path / "data").read_bytes() == BODY
        assert about.ranges == [None, f"bytes={there}-"]


def test_progress_in_lines_where_there_is_no_terminal(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_fetch, "_PROGRESS_S", 0.0)
    got(server, tmp_path)
    assert "h: 1 of 1 MB of data.json" in capsys.readouterr().err


class Lying(BaseHTTPRequestHandler):
    """One fault of the framing: what is said of the body and what is sent are two things."""

    def do_GET(self) -> None:
        how, tries = self.server.how, self.server.tries
        self.server.tries += 1
        asked = self.headers.get("Range")
        head, body = {}, BODY[:1000]
        status = 206 if asked else 200
        if how == "longer than sent":  # and then there is no more than that
            if asked:
                status, body = 416, b""
            head = {"ETag": '"one"', "Content-Length": "0" if asked else "2000"}
        elif how == "shorter each time":
            head, body = {"Content-Length": "2000"}, BODY[: 1000 - tries % 2]
            status = 200
        elif how == "packed":
            head = {"Content-Encoding": "gzip", "Content-Length": "1000"}
        elif how == "in parts":  # of 400 bytes each, as it says
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            body = BODY[start : min(start + 400, 1000)]
            head = {"ETag": '"one"', "Content-Length": str(len(body)) if asked else "1000"}
            if asked:
                head["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/1000"
        elif how == "another tag":
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            body = BODY[::-1][start:1000] if asked else BODY[:600]
            head = {"ETag": '"two"' if asked else '"one"', "Content-Length": "1000" if not asked else str(len(body))}
            if asked:
                head["Content-Range"] = f"bytes {start}-999/1000"
        elif how == "strange tag":
            head = {"Content-Length": "2000" if tries == 0 else "1000"}
        self.send_response(status)
        for name, value in head.items():
            self.send_header(name, value)
        if how == "strange tag":
            self._headers_buffer.append('ETag: "\u00e9\u20ac"\r\n'.encode())
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_fetch.time, "sleep", lambda _: None)
    made = ThreadingHTTPServer(("127.0.0.1", 0), Lying)
    made.daemon_threads, made.tries = True, 0
    with serving(made):
        yield made


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("longer than sent", "cannot download"),
        ("shorter each time", "cannot download"),
        ("packed", "packs what it sends, gzip, though asked not to"),
    ],
)
def test_a_server_that_never_sends_the_whole_is_given_up(lying, tmp_path: Path, how: str, says: str) -> None:
    lying.how = how
    with pytest.raises(DatasetError, match=says):
        fetch("h", f"http://127.0.0.1:{lying.server_address[1]}/data", None, tmp_path, "data")
    assert lying.tries < 20
    assert not (tmp_path / "data").exists()


def test_the_rest_in_several_parts_is_waited_for(lying, tmp_path: Path) -> None:
    lying.how = "in parts"
    url = f"http://127.0.0.1:{lying.server_address[1]}/data"
    assert fetch("h", url, None, tmp_path, "data").read_bytes() == BODY[:1000]
    assert lying.tries == 3


def test_a_part_with_another_validator_is_not_mixed_in(lying, tmp_path: Path) -> None:
    lying.how = "another tag"
    with pytest.raises(DatasetError, match="cannot download"):
        fetch("h", f"http://127.0.0.1:{lying.server_address[1]}/data", None, tmp_path, "data")
    assert not (tmp_path / "data").exists()


def test_a_validator_that_no_header_can_repeat_is_not_used(lying, tmp_path: Path) -> None:
    lying.how = "strange tag"
    url = f"http://127.0.0.1:{lying.server_address[1]}/data"
    assert fetch("h", url, None, tmp_path, "data").read_bytes() == BODY[:1000]


@pytest.mark.parametrize(("name", "value"), [("HTTP_PROXY", "ftp://x:1"), ("SSL_CERT_FILE", "/no/such/file")])
def test_wrong_settings_of_the_environment_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(DatasetError, match="settings of the environment cannot be used"):
        fetch("h", "http://example.invalid/x", None, tmp_path, "data")


def test_a_host_that_no_resolver_takes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*args: object, **more: object) -> None:
        raise UnicodeError("label empty or too long")  # as the codec of host names does, before any network

    monkeypatch.setattr("socket.getaddrinfo", refuses)
    with pytest.raises(DatasetError, match=r"cannot download .* \(UnicodeError\)"):
        fetch("h", f"http://{'a' * 64}.x/x", None, tmp_path, "data")
