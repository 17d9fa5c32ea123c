"""Embeddings from an OpenAI-compatible endpoint, against a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.config import ArmConfig
from runner.errors import ConfigError, EndpointUnusable, IngestError, ModelFault
from runner.system import Opening, build
from runner.types import Event, Query
from tests.support.servers import closed_port

WORDS = ("cat", "dog", "bird")
EVENTS = [Event(id=word, text=f"a {word}") for word in WORDS]


class Server(ThreadingHTTPServer):
    statuses: list[int]
    bodies: list[dict[str, Any]]
    reply: bytes | None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer waits 40 ms for an acknowledgement

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append({"path": self.path, **body})
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        data = [
            {"index": at, "embedding": [float(word in text) * 3 for word in WORDS] + [0.5]}
            for at, text in enumerate(body["input"])
        ]
        out = self.server.reply or json.dumps({"data": data[::-1], "model": "m"}).encode()  # order is not promised
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After", "0.2")
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.statuses, running.bodies, running.reply = [], [], None
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def arm(url: str, **more: Any) -> ArmConfig:
    embedder = {"provider": "openai", "model": "m", "base_url": url, "api_key_env": None, **more}
    return ArmConfig(name="e", system="dense", settings={"embedder": embedder})


def search(chosen: ArmConfig, cache_dir: Path | None = None) -> tuple[Any, list[str]]:
    async def session() -> tuple[Any, list[str]]:
        system = build(chosen)
        try:
            opened = await system.open(Opening(cache_dir=cache_dir))
            receipt = await system.write("a", EVENTS)
            assert (receipt.computed, receipt.reused) == (3, 0)
            found = await system.search("a", Query(text="which dog?"))
            return opened, [hit.key for hit in found.hits]
        finally:
            await system.close()

    return asyncio.run(session())


def test_it_ranks_by_the_servers_vectors(server: Server) -> None:
    opened, keys = search(arm(server.url, dimensions=4))
    assert keys == ["dog", "cat", "bird"]
    assert opened.embedder == "unknown"  # what weights answer is not known
    assert opened.extra["embedder_model"] == "m"
    assert server.bodies[0] == {
        "path": "/v1/embeddings",
        "model": "m",
        "input": ["a cat", "a dog", "a bird"],
        "dimensions": 4,
    }


def test_nothing_is_kept_for_another_run(server: Server, tmp_path: Path) -> None:
    search(arm(server.url), tmp_path)
    search(arm(server.url), tmp_path)
    assert len(server.bodies) == 4


def test_a_429_waits_and_goes_on(server: Server) -> None:
    server.statuses = [429]
    assert search(arm(server.url))[1][0] == "dog"


@pytest.mark.parametrize("reply", [b"<html>", b'{"data": []}', b'{"data": [{"index": 0, "embedding": "x"}]}'])
def test_nonsense_is_a_failed_write(server: Server, reply: bytes) -> None:
    server.reply = reply
    with pytest.raises(IngestError, match="embedder: http"):
        search(arm(server.url))


def test_a_refused_key_ends_the_run(server: Server) -> None:
    server.statuses = [401]
    with pytest.raises(EndpointUnusable, match="check the key"):
        search(arm(server.url))


def test_nobody_listens() -> None:
    with pytest.raises(EndpointUnusable, match="cannot reach"):
        search(arm(f"http://127.0.0.1:{closed_port()}/v1"))


def test_a_key_that_is_not_set_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(ConfigError, match="SOME_KEY"):
        build(arm("https://embeddings.invalid/v1", api_key_env="SOME_KEY"))


def test_numbers_that_are_none_are_refused(server: Server) -> None:
    data = [{"index": at, "embedding": [1e200, 1e308 * 10]} for at in range(3)]
    server.reply = json.dumps({"data": data}).encode().replace(b"Infinity", b"1e999")
    with pytest.raises(IngestError):
        search(arm(server.url))
    assert np.isinf(1e308 * 10)


def test_a_declared_revision_is_the_identity_and_still_kept_by_nobody(server: Server, tmp_path: Path) -> None:
    chosen = arm(server.url, revision="2024-05")
    opened, _ = search(chosen, tmp_path)
    assert opened.embedder == f"m@revision:2024-05 127.0.0.1:{server.server_port} 4d"  # three words and one more
    sent = len(server.bodies)
    search(chosen, tmp_path)
    assert len(server.bodies) == 2 * sent


def test_vectors_of_another_length_are_a_failed_write(server: Server) -> None:
    with pytest.raises(IngestError, match=r"a vector of 4 numbers, not of 3; check its settings\.embedder\.dimensions"):
        search(arm(server.url, dimensions=3))
    server.reply = b'{"data": [{"index": 0, "embedding": []}]}'
    with pytest.raises(ModelFault, match="a vector of 0 numbers"):
        search(arm(server.url, revision="1"))
