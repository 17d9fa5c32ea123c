"""Fetching a dataset: from a server on loopback, into a cache, verified; and every way in which that fails."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runner.config import Dataset
from runner.data.json_document import decode_json
from runner.data.source import datasets_dir, joined, locate
from runner.errors import DatasetError
from runner.harness.membench.source import find

BODY = b'[{"a": 1}]'
SHA256 = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    requests = 0

    def do_GET(self):
        type(self).requests += 1
        found = self.path == "/data.json"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(BODY) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(BODY)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_RUNNER_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Handler.requests = 0
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_address[1]}"
    serving.shutdown()
    serving.server_close()
    thread.join()


def read(dataset):
    return locate("locomo_qa", dataset, hold=True)


def test_a_download_is_offered_only_where_there_is_one(tmp_path):
    lost = str(tmp_path / "labels.csv")
    without = refusal(Dataset(path=lost))
    assert without.endswith("give a local copy with harness.dataset.path=FILE")
    with_url = refusal(Dataset(path=lost, url="https://example.org/data.json"))
    assert with_url.endswith("or leave harness.dataset.path out to download it")


def refusal(dataset):
    with pytest.raises(DatasetError) as caught:
        read(dataset)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_downloads_once_and_keeps_it(server):
    dataset = Dataset(url=f"{server}/data.json", sha256=SHA256)
    first, second = read(dataset), read(dataset)
    assert first.data == second.data == BODY
    assert first.sha256 == SHA256
    assert first.pinned
    assert Handler.requests == 1
    assert first.path.parent == datasets_dir()


def test_a_damaged_cache_is_fetched_again(server):
    dataset = Dataset(url=f"{server}/data.json", sha256=SHA256)
    read(dataset).path.write_bytes(b"rubbish")
    assert read(dataset).data == BODY
    assert Handler.requests == 2


def test_unpinned_download(server):
    found = read(Dataset(url=f"{server}/data.json"))
    assert found.data == BODY
    assert not found.pinned


def test_another_content_than_pinned(server):
    message = refusal(Dataset(url=f"{server}/data.json", sha256="c" * 64))
    assert "does not have the pinned sha256" in message
    assert "harness.dataset.path=FILE" in message


def test_not_found(server):
    message = refusal(Dataset(url=f"{server}/gone.json", sha256=SHA256))
    assert "HTTP 404" in message
    assert "harness.dataset.path=FILE" in message


def test_nobody_listens(server):
    message = refusal(Dataset(url="http://127.0.0.1:9/data.json", sha256=SHA256))
    assert "cannot download" in message
    assert "with no network, give a local copy with harness.dataset.path=FILE" in message


def test_cache_that_cannot_be_written(server, tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("MEMORY_RUNNER_CACHE", str(blocker))
    message = refusal(Dataset(url=f"{server}/data.json", sha256=SHA256))
    assert "MEMORY_RUNNER_CACHE" in message


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://example.org/x"])
def test_only_http(url):
    assert "must start with https://" in refusal(Dataset(url=url))


def test_not_a_url():
    assert "is not a URL" in refusal(Dataset(url="http://[x"))


def test_nothing_configured():
    assert "harness.dataset.path=FILE" in refusal(Dataset())


def test_byte_order_mark_is_no_damage():
    assert decode_json("f", b"\xef\xbb\xbf[1]") == [1]


def test_digests_are_those_of_the_runs_recorded_before(tmp_path):
    """``dataset.sha256`` of an instrument: over the bytes of one file; over number or place and digest of several."""
    for name, body in (("FirstAgent/simple.json", "[]"), ("ThirdAgent/noisy.json", '[{"x": 1}]')):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(body)
    one, two = (locate("beam", Dataset(path=str(path))) for path in sorted(tmp_path.glob("*/*.json")))
    assert one.sha256 == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
    assert joined([one]).sha256 == one.sha256
    assert joined([one, two]).sha256 == "48c743770d6eac0e20af30228b9ae492b51ff146dd124928763164439c1f909a"
    assert find(Dataset(path=str(tmp_path))).sha256 == (
        "bd0ac7810fc7f384a6586ed9cd5f553f03b7271e5073f45ab40649d1aed10569"
    )
    held = locate("locomo_qa", Dataset(path=str(one.path)), hold=True)
    assert (held.sha256, held.content()) == (one.sha256, one.content())
