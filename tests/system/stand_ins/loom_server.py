"""Stands in for a Loom server: namespaces, evaluation reads, purging erasure, health; and it fails on request.

Documented behaviour only (namespaces are registered before they are written to, reads that are not marked as evaluation
reinforce what they read); where its requests go is what `runner.system.loom` assumes.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEALTH = {
    "status": "ok",
    "embedding_model": "bge-m3",
    "embedding_dim": 1024,
    "llm_model": "gpt-4o-mini",
    "llm_provider": "openai",
    "build_commit": "0f1e2d3",
}


@dataclass
class State:
    """What the server holds and saw; change `health`, `faults` and the rest while it runs."""

    health: dict[str, Any] = field(default_factory=lambda: dict(HEALTH))
    health_status: int = 200
    # By path: what the next requests there get instead; a status, "hang", "drop", "page" or "garbage".
    faults: dict[str, list[str]] = field(default_factory=dict)
    late: int = 0  # so many polls until what was written can be found; -1: never
    token: str | None = None  # that an erasure needs
    retry_after: str = "0.2"

    url: str = ""
    spaces: dict[str, dict[str, Any]] = field(default_factory=dict)  # registered: its body, its memories
    reinforced: int = 0
    seen: list[tuple[str, str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def bodies(self, path: str) -> list[Any]:
        return [body for _, at, body in self.seen if at == path]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


def answer(state: State, method: str, path: str, body: Any, token: str) -> tuple[int, Any]:
    if (method, path) == ("GET", "/v1/health"):
        return state.health_status, state.health
    if (method, path) == ("POST", "/v1/namespaces"):
        name = body["namespace"]
        if name in state.spaces:
            return 409, {"error": "exists"}
        state.spaces[name] = {"body": body, "memories": [], "pending": 0}
        return 201, {"namespace": name}
    if (method, path) == ("POST", "/v1/memories"):
        space = state.spaces.get(body["namespace"])
        if space is None:
            return 404, {"error": "no such namespace"}
        space["memories"] += body["memories"]
        space["pending"] = state.late
        return 202, {"accepted": len(body["memories"])}
    if method == "GET" and path.startswith("/v1/namespaces/"):
        space = state.spaces.get(path.rpartition("/")[2])
        if space is None:
            return 404, {"error": "no such namespace"}
        pending = space["pending"]
        space["pending"] = max(0, pending - 1) if pending > 0 else pending
        return 200, {"pending": pending}
    if (method, path) in (("POST", "/v1/memory/search"), ("POST", "/v1/memory/ask")):
        space = state.spaces.get(body["namespace"])
        if space is None or body.get("namespace_scope") != "this":
            return 404, {"error": "no such namespace"}
        if body.get("auto_touch") is not False or body.get("reinforce") is not False:
            state.reinforced += 1
        asked = words(body["question"] if path.endswith("ask") else body["query"])
        order = sorted(enumerate(space["memories"]), key=lambda item: (-len(asked & words(item[1]["text"])), item[0]))
        found = [
            {**memory, "excerpt": memory["text"], "score": 1.0 / (place + 1)}
            for place, (_, memory) in enumerate(order[: body.get("limit", 10_000)])
        ]
        if path.endswith("ask"):
            usage = {"input_tokens": 40, "output_tokens": 6, "usd": 0.002}
            said = found[0]["text"] if found else "Nothing is known of that."
            return 200, {"answer": said, "sources": found[:1], "model": "gpt-4o-mini", "usage": usage}
        return 200, {"results": found}
    if (method, path) == ("POST", "/v1/namespaces/erase"):
        if state.token is not None and token != f"Bearer {state.token}":
            return 403, {"error": "an org admin's token is needed"}
        for name in body["namespaces"]:
            state.spaces.pop(name, None)
        return 200, {"erased": len(body["namespaces"])}
    return 404, {"error": f"no such path: {method} {path}"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer waits 40 ms for an acknowledgement
    state: State

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.serve("GET")

    def do_POST(self) -> None:
        self.serve("POST")

    def serve(self, method: str) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        state = self.state
        with state.lock:
            state.seen.append((method, self.path, body))
            plan = state.faults.get(self.path)
            fault = plan.pop(0) if plan else ""
            if not fault:
                status, value = answer(state, method, self.path, body, self.headers.get("Authorization", ""))
        if fault == "hang":
            time.sleep(5)
            fault = "drop"
        if fault == "drop":
            self.close_connection = True
        elif fault == "page":
            self.send(200, b"<html>Sign in</html>", "text/html")
        elif fault == "garbage":
            self.send(200, b"{not json")
        elif fault:
            self.send(int(fault), b'{"error": "stand-in fault"}')
        else:
            self.send(status, json.dumps(value).encode())

    def send(self, status: int, data: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", self.state.retry_after)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(**settings: Any) -> Iterator[State]:
    """A server in threads of this process."""
    state = State(**settings)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"state": state}))
    server.daemon_threads = True
    server.block_on_close = False
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
