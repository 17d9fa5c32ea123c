"""Loom over HTTP: throwaway namespaces, evaluation reads, and one purging erasure when the run ends.

What is fixed is how a benchmark drives it:

- it refuses a server that is degraded, or whose providers are fake;
- it registers a namespace (``traffic_class: bench``) before the first write;
- it reads with ``auto_touch: false``, ``reinforce: false`` and ``namespace_scope: this``;
- it erases every name that it made with one request (``external: false``), whether the run ends, fails or is
  interrupted; a namespace that was there already is asked by its own name, and neither registered nor erased.

Where the requests go and what else they hold is in the settings; their defaults are assumptions (``docs/systems.md``).
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import Any, Final

from runner.config import ArmConfig
from runner.dotted import at
from runner.errors import Refused
from runner.http import Reply, start_of
from runner.record.instrument import UNKNOWN
from runner.system import Capabilities, NoKnobs, Opening, Provenance, build_version, within
from runner.system._bridge.answer_paths import answer_of
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.hit_paths import hits_of
from runner.system._bridge.http_client import HttpClient, headers_of, json_of, url_problems
from runner.system._bridge.http_requests import RequestTemplate, send, template_fields
from runner.system._bridge.polling import poll_until
from runner.system._bridge.self_description import ResolvedDescription
from runner.system._bridge.template import EVENT, QUERY, query_values
from runner.system._bridge.templated import TemplatedBridge, check_taken
from runner.system.loom.settings import LoomSettings
from runner.types import Answer, Event, Query, Retrieval

log = logging.getLogger(__name__)

EVALUATION: Final[Mapping[str, Any]] = {"auto_touch": False, "reinforce": False, "namespace_scope": "this"}
_FAKE: Final = "fake"  # how the names of its fake providers begin
_PLAIN: Final = re.compile(r"[^A-Za-z0-9_-]+")
_PREFIX: Final = "bench-"  # by which its collector finds what a killed run left
_NAME_CHARS: Final = 80
_ERASURES: Final = 3  # tries, beyond those of the HTTP policy
_PAUSE_S: Final = 0.5
_ERASE_S: Final = 60.0  # of all of them: a run must end


class Loom(TemplatedBridge):
    """A Loom server."""

    Settings = LoomSettings
    Knobs = NoKnobs
    capabilities = Capabilities(asynchronous=True, existing=True)
    modes = ("default", "hybrid", "lexical", "vector")
    settings: LoomSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._server: HttpClient | None = None
        self._names: dict[str, str] = {}  # of a namespace of the run on the server
        self._made: list[str] = []  # every name that was registered and is not erased
        self.searches = self.settings.limits.concurrency
        self.capabilities = changed(self.capabilities, answers=self.settings.requests.ask is not None)

    def _problems(self) -> list[str]:
        asked = self.settings.requests
        found = url_problems(self.settings.base_url, "arm.settings.base_url")
        steps: list[tuple[str, RequestTemplate | None, Sequence[str]]] = [
            ("register", asked.register_, ("ns",)),
            ("write", asked.write, ("ns", "events")),
            ("settle", asked.settle, ("ns",)),
            ("search", asked.search, ("ns", *QUERY)),
            ("ask", asked.ask, ("ns", *QUERY)),
            ("erase", asked.erase, ("namespaces",)),
        ]
        found += asked.ask.problems("arm.settings.requests.ask.") if asked.ask is not None else []
        parts = [("write.item", asked.write.item, EVENT), *template_fields(steps)]
        return found + self._template_problems(((f"requests.{key}", *rest) for key, *rest in parts), "")

    # --- what it is -------------------------------------------------------------------------------------------------

    async def _open(self, opening: Opening) -> ResolvedDescription:
        settings, health = self.settings, self.settings.health
        self._server = HttpClient(settings.base_url, headers_of(settings.auth, {}), settings.limits)
        reply = await self._server.ask("GET", health.path, None, (503,))  # a server that is not ready tells why
        answer = json_of(reply, health.path)
        if not health.ready.matches(answer):
            state = start_of(str(at(answer, health.ready.at)), 60)
            raise BridgeError(f"the server says '{state}', not ready: {start_of(str(answer), 200)}")
        told = {name: at(answer, getattr(health, name)) for name in _HEALTH_FIELDS}
        fakes = self._fakes(told)
        refused = [kind for kind in fakes if kind not in settings.allow_fake]
        if refused:
            named = ", ".join(f"{kind} {start_of(fakes[kind], 60)}" for kind in refused)
            raise Refused(
                f"arm '{self.arm.name}': the server's providers are fake ({named}): its scores mean nothing; start it "
                f"with real ones, or name them in arm.settings.allow_fake=[{','.join(refused)}], and no gate will pass"
            )
        return ResolvedDescription(self.capabilities, self._provenance(told, fakes), ())

    @staticmethod
    def _fakes(told: Mapping[str, Any]) -> dict[str, str]:
        embedder, model, provider = (str(told[name] or "") for name in ("embedding_model", "llm_model", "llm_provider"))
        found = {"embedding": embedder} if embedder.lower().startswith(_FAKE) else {}
        if provider.lower().startswith(_FAKE) or model.lower().startswith(_FAKE):
            found["llm"] = provider or model
        return found

    def _provenance(self, told: Mapping[str, Any], fakes: Mapping[str, str]) -> Provenance:
        model, size, commit = told["embedding_model"], told["embedding_dim"], told["build_commit"]
        llm = f"{told['llm_provider'] or UNKNOWN}:{told['llm_model'] or UNKNOWN}"
        declared = self.settings.declares
        build = f"{build_version(self)}; loom {commit}, llm {llm}" if commit else UNKNOWN
        embedder = f"{model} {size}d" if model and size else UNKNOWN
        return Provenance(
            build=declared.build or start_of(build, 200),
            embedder=declared.embedder or start_of(embedder, 200),
            reranker=declared.reranker or "none",
            index_revision=declared.index_revision or "none",
            fake="embedding" in fakes,
            extra={
                **{name: start_of(str(value), 200) for name, value in told.items() if value is not None},
                "fakes": sorted(fakes),
                "base_url": self.settings.base_url,
                "keep_namespaces": self.settings.keep_namespaces,
            },
        )

    # --- steps ------------------------------------------------------------------------------------------------------

    async def _reset(self, ns: str) -> None:
        """Register a new name: an old one could hold what a killed run left."""
        name = f"{_PREFIX}{_PLAIN.sub('-', ns.removeprefix(_PREFIX))[:_NAME_CHARS]}-{secrets.token_hex(4)}"
        self._made.append(name)  # before it is asked for: an answer may be lost
        kind = "memory" if self.settings.keep_namespaces else "bench"  # the idle collector takes the kind bench
        await self._send(
            self.settings.requests.register_,
            {"ns": name},
            {"kind": kind, "traffic_class": "bench", "capture_generation_io": True},
        )
        self._names[ns] = name

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        write = self.settings.requests.write
        reply = await self._send(write, self._write_values(self._names[ns], events, write.item))
        if write.taken is not None:
            answer = json_of(reply, write.path)
            check_taken(at(answer, write.taken), write.taken, events, answer)
        return 0

    async def _settle(self, ns: str, deadline_s: float) -> None:
        settle = self.settings.requests.settle
        if settle is None:
            return

        async def ready() -> bool:
            return settle.is_done(json_of(await self._send(settle, {"ns": self._names[ns]}), settle.path))

        await poll_until(ready, deadline_s, settle.every_s)

    async def _search(self, ns: str, query: Query) -> Retrieval:
        search = self.settings.requests.search
        reply = await self._send(search, self._query_values(ns, query), EVALUATION)
        return within(hits_of(json_of(reply, search.path), search.hits), query)

    async def _answer(self, ns: str, query: Query) -> Answer:
        ask = self.settings.requests.ask
        assert ask is not None  # it is not asked otherwise
        reply = await self._send(ask, self._query_values(ns, query), EVALUATION)
        return answer_of(json_of(reply, ask.path), ask)

    def _query_values(self, ns: str, query: Query) -> dict[str, Any]:
        name = self._names.get(ns, ns)  # one that was there already has the name that it was called by
        return {**query_values(query), "ns": name, "mode": None if query.mode == "default" else query.mode}

    async def _erase(self, ns: str) -> None:
        """Forget the name; all names are erased together when the run ends."""
        self._names.pop(ns, None)

    async def _disconnect(self) -> None:
        server = self._server
        if server is None:
            return
        try:
            await self._erase_all()
        finally:
            self._server = None
            await server.close()

    async def _erase_all(self) -> None:
        """Erase every name with one purging request; the log names those that could not be erased."""
        names, self._made = self._made, []
        self._names.clear()
        if not names:
            return
        if self.settings.keep_namespaces:
            log.warning("%s: kept on the server: %s", self.arm.name, ", ".join(names))
            return
        try:
            async with asyncio.timeout(_ERASE_S):
                await self._erased(names)
        except (BridgeError, TimeoutError) as error:
            why = str(error) or f"no answer within {_ERASE_S:g} s"
            left = ", ".join(names)
            log.warning("%s: not erased (%s); erase with `loom namespaces-gc`: %s", self.arm.name, why, left)

    async def _erased(self, names: Sequence[str]) -> None:
        for left in reversed(range(_ERASURES)):
            try:
                await self._send(self.settings.requests.erase, {"namespaces": list(names)}, {"external": False})
                return
            except BridgeError:
                if left == 0:
                    raise
            await asyncio.sleep(_PAUSE_S)

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _batch(self) -> int:
        return self.settings.requests.write.batch

    async def _send(
        self, request: RequestTemplate, values: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
    ) -> Reply:
        if self._server is None:
            raise BridgeError("the arm is not open")
        return await send(self._server, request, values, fixed)


_HEALTH_FIELDS: Final = ("embedding_model", "embedding_dim", "llm_model", "llm_provider", "build_commit")

SYSTEM = Loom
