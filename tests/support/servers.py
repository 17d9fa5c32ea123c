"""A real OpenAI-compatible server on loopback that misbehaves on request.

A plain asyncio protocol, so that it serves thousands of requests a second. In a thread::

    with Stub(latency_s=0.01, capacity=8) as stub:
        ... stub.url ...           # base_url, ends in /v1
        stub.state.requests        # every request that arrived, refused ones included

or as a process of its own (``StubProcess``), so that its CPU time is not the client's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Fault names: a status ("500", "418", …), or one of
#   ok drop (close without an answer) cut (close in the middle of the body) hang (never answer) html garbage truncated
#   empty_choices empty_text no_usage length error200


@dataclass
class State:
    """What the stub does and what it saw. Change it while it runs; the next request reads it."""

    latency_s: float = 0.0
    capacity: int | None = None  # requests in flight; more are answered 429 at once
    rate: int | None = None  # requests accepted a second (fixed windows); more are answered 429 at once
    retry_after: str | None = None  # the header of a 429
    plan: list[str] = field(default_factory=list)  # faults of the next requests, in order
    every: dict[int, str] = field(default_factory=dict)  # each n-th request gets that fault
    always: str = "ok"
    reply: str | None = None  # None: "stub answer", or a CORRECT label when the prompt asks for labels
    answer: Callable[[dict[str, Any]], str] | None = None  # the reply from the decoded body; slower
    model: str | None = None  # served model; None echoes what was asked for
    fingerprint: str = "fp_stub"
    body: bytes | None = None  # the whole body of every good answer, instead of a completion
    error_body: str = '{"error": {"message": "stub fault", "code": "stub"}}'
    keep_bodies: bool = False

    requests: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    connections: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    open: set[Any] = field(default_factory=set)
    window: int = -1
    in_window: int = 0

    def fault(self) -> str:
        if self.plan:
            return self.plan.pop(0)
        for step, fault in self.every.items():
            if self.requests % step == 0:
                return fault
        return self.always


def completion(text: str, model: str, fingerprint: str, finish: str = "stop", usage: bool = True) -> bytes:
    body: dict[str, Any] = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    return json.dumps(body).encode()


def response(status: int, body: bytes, kind: str = "application/json", extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


class Protocol(asyncio.Protocol):
    def __init__(self, state: State) -> None:
        self.state = state
        self.buffer = b""
        self.transport: Any = None
        self.task: asyncio.TimerHandle | None = None
        self.busy = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.state.connections += 1
        self.state.open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.state.open.discard(self.transport)
        if self.task is not None:
            self.task.cancel()
        if self.busy:
            self.busy = False
            self.state.in_flight -= 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end]
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if len(self.buffer) < end + 4 + length:
            return
        body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
        if head.startswith(b"GET /stats"):
            state = self.state
            seen = {name: getattr(state, name) for name in ("requests", "max_in_flight", "connections", "statuses")}
            self.transport.write(response(200, json.dumps(seen).encode()))
            return
        self.serve(head, body)

    def serve(self, head: bytes, body: bytes) -> None:
        state = self.state
        state.requests += 1
        if state.keep_bodies:
            state.bodies.append(json.loads(body))
            state.arrivals.append(time.monotonic())
            lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
            state.headers.append({name.decode().lower(): value.decode().strip() for name, _, value in lines})
        fault = state.fault()
        if fault == "ok":
            full = state.capacity is not None and state.in_flight >= state.capacity
            if state.rate is not None:
                window = int(time.monotonic())
                if window != state.window:
                    state.window, state.in_window = window, 0
                state.in_window += 1
                full = full or state.in_window > state.rate
            if full:
                fault = "429"
        state.statuses["200" if fault == "ok" else fault] += 1
        if fault == "429":
            extra = f"Retry-After: {state.retry_after}\r\n" if state.retry_after is not None else ""
            self.transport.write(response(429, state.error_body.encode(), extra=extra))
            return
        state.in_flight += 1
        state.max_in_flight = max(state.max_in_flight, state.in_flight)
        self.busy = True
        if fault == "hang":
            return
        if state.latency_s:
            self.task = asyncio.get_running_loop().call_later(state.latency_s, self.finish, fault, body)
        else:
            self.finish(fault, body)

    def finish(self, fault: str, body: bytes) -> None:
        state = self.state
        if not self.busy:
            return
        self.busy = False
        state.in_flight -= 1
        if fault == "drop":
            self.transport.abort()
            return
        asked = json.loads(body) if state.answer or state.model is None else {}
        if state.answer is not None:
            text = state.answer(asked)
        elif state.reply is not None:
            text = state.reply
        else:
            text = '{"label": "CORRECT", "reason": "stub"}' if b"label" in body else "stub answer"
        model = state.model if state.model is not None else asked.get("model", "")
        good = state.body if state.body is not None else completion(text, model, state.fingerprint)
        if fault == "ok":
            self.transport.write(response(200, good))
        elif fault == "cut":
            self.transport.write(response(200, good)[:-20])
            self.transport.close()
        elif fault == "html":
            self.transport.write(response(200, b"<!DOCTYPE html><html><body>Sign in</body></html>", "text/html"))
        elif fault == "garbage":
            self.transport.write(response(200, b"\xff\xfe\x00 not json {{{"))
        elif fault == "truncated":
            self.transport.write(response(200, good[: len(good) // 2]))
        elif fault == "empty_choices":
            self.transport.write(response(200, b'{"id": "x", "choices": []}'))
        elif fault == "error200":
            self.transport.write(response(200, b'{"error": {"message": "model overloaded"}}'))
        elif fault == "empty_text":
            self.transport.write(response(200, completion("", model, state.fingerprint)))
        elif fault == "no_usage":
            self.transport.write(response(200, completion(text, model, state.fingerprint, usage=False)))
        elif fault == "length":
            self.transport.write(response(200, completion(text, model, state.fingerprint, finish="length")))
        else:
            self.transport.write(response(int(fault), state.error_body.encode()))


async def serve(state: State, ready: Callable[[int], None], stop: asyncio.Event) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Protocol(state), "127.0.0.1", 0, backlog=4096)
    ready(server.sockets[0].getsockname()[1])
    await stop.wait()
    server.close()
    for transport in list(state.open):
        transport.abort()
    await asyncio.sleep(0)


class Stub:
    """The server in a thread of this process."""

    def __init__(self, **settings: Any) -> None:
        self.state = State(**settings)
        self.url = ""
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._ready = threading.Event()

    def _main(self) -> None:
        async def run() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            await serve(self.state, self._started, self._stop)

        asyncio.run(run())

    def _started(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self._ready.set()

    def __enter__(self) -> Stub:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._stop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)


class StubProcess:
    """The server in a process of its own; settings are those of ``State`` that JSON can say."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> StubProcess:
        argv = [sys.executable, str(Path(__file__).resolve()), "--settings", json.dumps(self._settings)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"
        return self

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/stats", timeout=10) as answer:
            seen: dict[str, Any] = json.load(answer)
        return seen

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.communicate("")  # closing its stdin ends it
        assert self._process.returncode == 0


def closed_port() -> int:
    """A port on which nobody listens."""
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", default="{}", help=f"JSON, any of {', '.join(asdict(State()))}")
    settings = json.loads(parser.parse_args(argv).settings)

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(stop.set)), daemon=True).start()
        await serve(State(**settings), lambda port: print(port, flush=True), stop)

    asyncio.run(run())


if __name__ == "__main__":
    main()
