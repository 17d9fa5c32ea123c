"""A memory system that is an HTTP server: its requests, and the paths in its answers, all in YAML.

Every step of the contract is a request with placeholders (:mod:`runner.system._bridge.template`)::

    base_url: http://127.0.0.1:8000
    reset:  {method: DELETE, path: "/users/{ns}", good: [404]}
    write:  {path: /memories, body: {user: "{ns}", items: "{events}"}, batch: 50,
             item: {id: "{event.id}", content: "{event.spoken}", at: "{event.time}"}}
    settle: {method: GET, path: "/users/{ns}/status", ready: {at: state, values: [ready]}}
    search: {path: /search, body: {user: "{ns}", query: "{text}", limit: "{k}"},
             hits: {at: results, key: id, text: content, score: score, sources: id, time: at}}
    ask:    {path: /ask, body: {user: "{ns}", question: "{text}"}, answer: answer, model: model,
             hits: {at: used, key: id, text: content, sources: id}, usage: {input_tokens: usage.prompt_tokens}}
    erase:  {method: DELETE, path: "/users/{ns}"}

Requests go through :mod:`runner.http`: a 429 waits, a 5xx is tried again, any other status that is not 2xx or listed in
``good`` is a fault. So are a page, an empty answer and something that is not JSON where an answer is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from runner.config import ArmConfig
from runner.dotted import at, described
from runner.http import Reply, start_of
from runner.system import Opening
from runner.system._bridge.answer_paths import answer_of
from runner.system._bridge.bridge import BridgeSettings
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.hit_paths import hits_of
from runner.system._bridge.http_client import (
    Auth,
    HttpClient,
    RequestLimits,
    header_problems,
    headers_of,
    json_of,
    url_problems,
)
from runner.system._bridge.http_requests import (
    AboutRequest,
    AskRequest,
    RequestTemplate,
    SearchRequest,
    SettleRequest,
    WriteRequest,
    send,
    template_fields,
)
from runner.system._bridge.polling import poll_until
from runner.system._bridge.self_description import ResolvedDescription, SelfDescription
from runner.system._bridge.server_process import ServerProcess, ServerSettings
from runner.system._bridge.template import EVENT, QUERY, fill_text, placeholders_in, query_values, unknown_placeholders
from runner.system._bridge.templated import TemplatedBridge, check_taken
from runner.types import Answer, Event, Query, Retrieval


class HttpSettings(BridgeSettings):
    """The URL of the server, and one request per step. A step without a request is left out."""

    base_url: str
    auth: Auth | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    serve: ServerSettings | None = None  # a command that starts the server; {port} is a free one, in base_url too
    about: AboutRequest | None = None  # asked first: the server is ready when it answers
    reset: RequestTemplate
    write: WriteRequest
    settle: SettleRequest | None = None
    search: SearchRequest
    ask: AskRequest | None = None  # null: it does not answer by itself
    drop_derived: RequestTemplate | None = None
    erase: RequestTemplate | None = None  # null: the reset stands in for it
    limits: RequestLimits = RequestLimits()


class HttpSystem(TemplatedBridge):
    """A server that is asked over HTTP."""

    Settings = HttpSettings
    settings: HttpSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._server: HttpClient | None = None
        self._jobs: dict[str, list[Any]] = {}
        self.searches = self.settings.limits.concurrency

    def _problems(self) -> list[str]:
        settings, write, key = self.settings, self.settings.write, "arm.settings."
        port = ["port"] if settings.serve else []
        found = unknown_placeholders(settings.base_url, port, f"{key}base_url")
        found += [] if found else url_problems(fill_text(settings.base_url, {"port": 1}), f"{key}base_url")
        found += header_problems(settings.headers, f"{key}headers")
        if settings.serve is not None:
            found += settings.serve.problems(f"{key}serve.")
        batched = "events" in placeholders_in(write.body)
        if batched != (write.item is not None):
            found.append(f"{key}write: {{events}} in body and the template of each, item, belong together")
        if write.batch > 1 and not batched:
            found.append(f"{key}write.batch: {write.batch} events need {{events}} in body, and item for each of them")
        found += self._ask_problems(settings.ask, f"no request asks; write {key}ask")
        steps: list[tuple[str, RequestTemplate | None, Sequence[str]]] = [
            ("about", settings.about, ()),
            ("reset", settings.reset, ("ns",)),
            ("write", write, ("ns", "events") if batched else ("ns", *EVENT)),
            ("settle", settings.settle, ("ns", "job") if write.job else ("ns",)),
            ("search", settings.search, ("ns", *QUERY)),
            ("ask", settings.ask, ("ns", *QUERY)),
            ("drop_derived", settings.drop_derived, ("ns",)),
            ("erase", settings.erase, ("ns",)),
        ]
        parts = [("write.item", write.item, EVENT), *template_fields(steps)]
        return [*found, *self._template_problems(parts, "no request sends it")]

    # --- steps ------------------------------------------------------------------------------------------------------

    async def _open(self, opening: Opening) -> ResolvedDescription:
        settings = self.settings
        headers = headers_of(settings.auth, settings.headers)
        url = settings.base_url
        if settings.serve is not None:
            self._host = ServerProcess(settings.serve)
            url = fill_text(url, {"port": self._host.port})
        self._server = HttpClient(url, headers, settings.limits)
        if self._host is not None:
            await self._host.start(self._ready)
        about = SelfDescription.parse(await self._about())
        if settings.about is None and self._host is None:
            await self._server.reach()
        return self._settled(
            about,
            code=self._host.code if self._host else None,
            given=self._implied_capabilities(asks=settings.ask is not None, starts=settings.serve is not None),
            extra={"base_url": settings.base_url},
            lacks="" if settings.drop_derived else "request drop_derived",
        )

    async def _about(self) -> dict[str, Any]:
        about = self.settings.about
        if about is None:
            return {}
        reply = await self._send(about, {})
        answer = json_of(reply, about.path)
        found: dict[str, Any] = {}
        for name in ("build", "embedder", "reranker", "index_revision"):
            path = getattr(about, name)
            value = at(answer, path)
            if path is not None and value is None:
                raise BridgeError(f"about.{name}: nothing stands at '{path}'; the answer is {described(answer)}")
            if value is not None:
                found[name] = value if isinstance(value, str) else start_of(str(value), 100)
        return found

    async def _ready(self) -> None:
        """Check that the server that this arm starts answers."""
        if self.settings.about is not None:
            await self._about()
        else:
            await self._the_server().reach()

    async def _reset(self, ns: str) -> None:
        if self._host is not None:
            await self._host.revive(self._ready)
        self._jobs[ns] = []
        await self._send(self.settings.reset, {"ns": ns})

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        write = self.settings.write
        reply = await self._send(write, self._write_values(ns, events, write.item))
        if write.taken is not None:
            answer = json_of(reply, write.path)
            check_taken(at(answer, write.taken), write.taken, events, answer)
        if write.job is not None:
            answer = json_of(reply, write.path)
            job = at(answer, write.job)
            if isinstance(job, bool) or not isinstance(job, str | int):
                raise BridgeError(f"nothing to wait for at '{write.job}'; the answer is {described(answer)}")
            self._jobs[ns].append(job)
        return 0

    async def _settle(self, ns: str, deadline_s: float) -> None:
        settle = self.settings.settle
        if settle is None:
            return
        jobs = self._jobs.get(ns, []) if self.settings.write.job else [None]

        async def ready() -> bool:
            while jobs:
                reply = await self._send(settle, {"ns": ns, "job": jobs[0]})
                if settle.has_condition and not settle.is_done(json_of(reply, settle.path)):
                    return False
                jobs.pop(0)
            return True

        await poll_until(ready, deadline_s, settle.every_s)

    async def _search(self, ns: str, query: Query) -> Retrieval:
        search = self.settings.search
        reply = await self._send(search, {"ns": ns, **query_values(query)})
        return Retrieval(hits=hits_of(json_of(reply, search.path), search.hits))

    async def _answer(self, ns: str, query: Query) -> Answer:
        ask = self.settings.ask
        assert ask is not None  # it is not asked otherwise
        reply = await self._send(ask, {"ns": ns, **query_values(query)})
        return answer_of(json_of(reply, ask.path), ask)

    async def _drop_derived(self, ns: str) -> None:
        if self.settings.drop_derived is None:
            await super()._drop_derived(ns)
        else:
            await self._send(self.settings.drop_derived, {"ns": ns})

    async def _erase(self, ns: str) -> None:
        self._jobs.pop(ns, None)
        await self._send(self.settings.erase or self.settings.reset, {"ns": ns})

    async def _disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _batch(self) -> int:
        return self.settings.write.batch

    def _the_server(self) -> HttpClient:
        if self._server is None:
            raise BridgeError("the arm is not open")
        return self._server

    async def _send(self, request: RequestTemplate, values: Mapping[str, Any]) -> Reply:
        return await self._with_server_end(send(self._the_server(), request, {**values, **self._knobs}))


SYSTEM = HttpSystem
