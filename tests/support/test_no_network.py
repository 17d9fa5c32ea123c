"""The tests themselves reach nothing but loopback, however the connection is made."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

OUTSIDE = "192.0.2.1"  # TEST-NET-1 (RFC 5737): nobody's address


def _datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", (OUTSIDE, 9))


def _connect(address: tuple[str, int]) -> None:
    with socket.socket() as sock:
        sock.connect(address)


async def _stream() -> None:
    await asyncio.open_connection(OUTSIDE, 80)


WAYS: list[Callable[[], object]] = [
    lambda: _connect((OUTSIDE, 80)),
    lambda: socket.create_connection(("example.com", 80)),
    lambda: socket.create_connection((OUTSIDE, 80)),
    lambda: socket.getaddrinfo("example.com", 80),
    lambda: socket.gethostbyname("example.com"),
    lambda: urllib.request.urlopen("http://example.com"),
    lambda: httpx2.get("http://example.com", trust_env=False),
    lambda: asyncio.run(_stream()),
    _datagram,
]


@pytest.mark.parametrize("way", WAYS)
def test_the_outside_is_refused_by_name(way: Callable[[], object]) -> None:
    with pytest.raises(AssertionError, match="no network but loopback"):
        way()


def test_loopback_and_unix_sockets_work() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, server.getsockname()[1])).close()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        path = str(Path(folder) / "s")
        server.bind(path)
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
