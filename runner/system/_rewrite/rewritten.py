"""A memory system that stores what a model makes of a history, in the place of the events."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import partial
from typing import Any, Final

from msgspec import structs

from runner.config import ArmConfig, digest
from runner.errors import ConfigError, IngestError
from runner.llm import Request, instrument_params
from runner.llm.template import Template
from runner.system import MemorySystem, Opening, Provenance, dated
from runner.system._base.namespaces import Namespace, new_ids
from runner.system._retrieval.model_client import ModelClient
from runner.system._retrieval.result_cache import ResultCache, key
from runner.system._rewrite.notes import notes_in, part_text, parts_of
from runner.system._rewrite.settings import RewriteSettings
from runner.types import INGEST_CACHED, Answer, Event, Hit, Query, Receipt, Retrieval

_PROMPTS: Final = {"extract": "extract_notes", "digest": "digest"}
_NOTHING: Final = "(nothing yet)"
_DIGEST: Final = "digest"  # the id of the one event


@dataclass
class _Rewritten(Namespace):
    """One namespace: what was written to it and what was made of that."""

    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # sources by the id of a note
    summary: str = ""
    calls: int = 0  # calls, those that the cache answered left out
    receipt: Receipt | None = None  # of the system's own


class RewritingSystem(MemorySystem):
    """A memory system that stores notes or a summary instead of the events."""

    def __init__(self, arm: ArmConfig, inner: MemorySystem, rewrite: RewriteSettings) -> None:
        problems = []
        if rewrite.model is None:
            problems.append(
                f"arm.ingest.model: is missing; ingest.mode={rewrite.mode} needs a model "
                "(name, provider, model, base_url …), or its name"
            )
        elif rewrite.model.provider not in ("openai", "command"):
            problems.append(
                f"arm.ingest.model: provider '{rewrite.model.provider}' writes no notes; take 'openai' or 'command'"
            )
        if inner.capabilities.reads_gold:
            problems.append(f"arm.ingest.mode: '{arm.system}' is told which events are the evidence, and keeps them")
        if problems or rewrite.model is None:
            raise ConfigError(problems)
        self.arm, self.inner, self.rewrite = arm, inner, rewrite
        self.settings, self.knobs, self.ingest = inner.settings, inner.knobs, inner.ingest
        self.modes, self.searches, self.only_documents = inner.modes, inner.searches, inner.only_documents
        known = frozenset({"session"} | ({"summary"} if rewrite.mode == "digest" else set()))
        self._template = Template.load(
            "arm/prompts", rewrite.prompt or _PROMPTS[rewrite.mode], "arm.ingest.prompt", known, known
        )
        self._model_client = ModelClient(rewrite.model)
        self._cache = ResultCache()
        self._spaces: dict[str, _Rewritten] = {}
        self._asking: dict[bytes, asyncio.Lock] = {}
        self._take_over()

    def _take_over(self) -> None:
        """Take over the capabilities of the system inside; they are final only when it has opened."""
        sources = self.inner.capabilities.sources and self.rewrite.mode == "extract"
        # A corpus that is there already is none of its notes, and the system itself is the arm that searches it.
        self.capabilities = changed(self.inner.capabilities, sources=sources, existing=False)
        self.told_at_open = self.inner.told_at_open

    # These are asked of the class elsewhere; here they are what the system inside says.
    def inert(self, harness: str) -> dict[str, str]:  # type: ignore[override]
        return self.inner.inert(harness)

    def caveats(self, harness: str) -> list[str]:  # type: ignore[override]
        how = f"one a session of at most {self.rewrite.part_chars} characters, which the plan does not count"
        said = [f"ingest.mode={self.rewrite.mode}: model calls before the first question, {how}"]
        if self.capabilities.sources:
            said.append("ingest.mode=extract: a note counts as every event of the part that it was written from")
        return [*self.inner.caveats(harness), *said]

    def missing(self) -> str | None:
        return self.inner.missing()

    async def open(self, opening: Opening) -> Provenance:
        self._model_client.open(opening)
        self._cache.open(opening.cache_dir)
        opened = await self.inner.open(opening)
        self._take_over()
        params = digest(instrument_params(self._model_client.config))[:8]
        prompt = f"prompt@sha256:{self._template.sha256[:12]}"
        revision = f"{self.rewrite.mode} {self._model_client.identity} {params} {prompt}"
        return changed(
            opened,
            index_revision=revision if opened.index_revision == "none" else f"{opened.index_revision}; {revision}",
            extra={
                **opened.extra,
                "ingest_mode": self.rewrite.mode,
                "ingest_model": self._model_client.identity,
                "ingest_prompt_sha256": self._template.sha256,
            },
        )

    async def reset(self, ns: str) -> None:
        await self.inner.reset(ns)
        self._spaces[ns] = _Rewritten()

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        space = self._spaces.setdefault(ns, _Rewritten())
        async with space.lock:
            ids = new_ids(space.ids, events)
            parts = list(parts_of(events, self.rewrite.part_chars))
            rewritten = await (self._extracted if self.rewrite.mode == "extract" else self._digested)(ns, space, parts)
            space.receipt = receipt = await self.inner.write(ns, rewritten)
            space.ids |= ids
        if receipt.events != len(rewritten):
            raise IngestError(f"{len(rewritten)} notes were written and the system took {receipt.events}")
        # It says how many events were read, and by its hash that other texts were stored.
        return structs.replace(receipt, events=len(events))

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        space = self._spaces.get(ns)
        await self.inner.settle(ns, space.receipt if space and space.receipt else receipt, deadline_s)

    async def search(self, ns: str, query: Query) -> Retrieval:
        found = await self.inner.search(ns, query)
        space = self._spaces.get(ns) or _Rewritten()
        hits = tuple(self._with_sources(space, hit) for hit in found.hits)
        return structs.replace(found, hits=hits, notes=(*found.notes, *self._flags(space)))

    async def ask(self, ns: str, query: Query) -> Answer:
        answer = await self.inner.ask(ns, query)
        space = self._spaces.get(ns) or _Rewritten()
        hits = None if answer.hits is None else tuple(self._with_sources(space, hit) for hit in answer.hits)
        return structs.replace(answer, hits=hits, notes=(*answer.notes, *self._flags(space)))

    async def holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        """Return the events of the parts behind the notes that the system holds; for a summary all events."""
        space = self._spaces.get(ns) or _Rewritten()
        behind: Mapping[str, Iterable[str]] = {_DIGEST: space.ids} if self.rewrite.mode == "digest" else space.notes
        kept = await self.inner.holds(ns, list(behind))
        return (
            None if kept is None else frozenset(event for note in kept for event in behind[note]).intersection(events)
        )

    def _flags(self, space: _Rewritten) -> list[str]:
        return [f"ingest_{self.rewrite.mode}", *([INGEST_CACHED] if space.ids and not space.calls else [])]

    def _with_sources(self, space: _Rewritten, hit: Hit) -> Hit:
        """The hit with the events behind its notes as sources."""
        if hit.sources is None or self.rewrite.mode == "digest":
            return structs.replace(hit, sources=None)
        cited = [source for note in hit.sources for source in space.notes.get(note, (note,))]
        return structs.replace(hit, sources=tuple(dict.fromkeys(cited)))

    async def drop_derived(self, ns: str) -> None:
        await self.inner.drop_derived(ns)

    async def erase(self, ns: str) -> None:
        self._spaces.pop(ns, None)
        await self.inner.erase(ns)

    async def close(self) -> None:
        self._spaces.clear()
        try:
            await self.inner.close()
        finally:
            await self._model_client.close()
            self._cache.close()

    # --- what the model makes of it ---------------------------------------------------------------------------------

    async def _extracted(self, ns: str, space: _Rewritten, parts: Sequence[tuple[Event, ...]]) -> list[Event]:
        async def one(part: tuple[Event, ...]) -> list[str]:
            return notes_in(await self._ask(space, {"session": part_text(part)}, notes_in)) or []

        replies = await _together([partial(one, part) for part in parts], self._model_client.config.concurrency)
        made: list[Event] = []
        for part, notes in zip(parts, replies, strict=True):
            sources = tuple(event.id for event in part)
            for text in notes:
                name = f"note-{len(space.notes):05d}"
                space.notes[name] = sources
                made.append(self._event(name, text, part))
        if parts and not space.notes:
            raise IngestError(f"ingest.mode=extract: the model wrote no note of {sum(map(len, parts))} events")
        return made

    async def _digested(self, ns: str, space: _Rewritten, parts: Sequence[tuple[Event, ...]]) -> list[Event]:
        if not parts:
            return []
        for part in parts:
            space.summary = await self._ask(
                space, {"session": part_text(part), "summary": space.summary or _NOTHING}, str
            )
        if space.ids:  # of an earlier write: the new summary takes the place of the old one
            await self.inner.reset(ns)
        return [self._event(_DIGEST, space.summary, parts[-1])]

    def _event(self, name: str, text: str, part: Sequence[Event]) -> Event:
        """Return the event that is stored; it has the time of the last event that it was written from."""
        last = part[-1]
        project = "" if name == _DIGEST else last.project
        event = Event(id=name, text=text, time=last.time, kind="note", session=last.session, project=project)
        return event if self.inner.capabilities.timestamps else dated(event)

    async def _ask(self, space: _Rewritten, values: Mapping[str, str], readable: Callable[[str], Any]) -> str:
        """Return a reply that can be read, from the cache or from the model.

        Raises
        ------
        IngestError
            When the call fails, or its reply was cut or holds nothing that can be read.
        EndpointUnusable
            When no call can succeed.
        """
        request = self._model_client.request(self._template.fill(values), values)
        place = self._place(request)
        async with self._asking.setdefault(place, asyncio.Lock()):
            held = await asyncio.to_thread(self._cache.read, [place])
            if place in held:
                return str(json.loads(zlib.decompress(held[place])))
            where = f"ingest.mode={self.rewrite.mode}"
            space.calls += 1
            completion = await self._model_client.complete_or_fail(request, IngestError, where)
            if completion.finish == "length":
                raise IngestError(f"{where}: the reply was cut; raise max_tokens in arm.ingest.model.params")
            text = completion.text.strip()
            if not text or readable(text) is None:
                raise IngestError(f"{where}: the model wrote no notes, a line each after '- ': {text[:80]!r}")
            await asyncio.to_thread(self._cache.write, {place: zlib.compress(json.dumps(text).encode())})
            return text

    def _place(self, request: Request) -> bytes:
        """Return the cache key of a reply: the request's hash is over prompt, model, parameters and text."""
        return key("ingest", self._model_client.where, request.sha256)


async def _together(calls: Sequence[Callable[[], Awaitable[list[str]]]], at_once: int) -> list[list[str]]:
    """Return all results, or raise the first failure: then no call begins any more, and those in flight end."""
    slots = asyncio.Semaphore(at_once)
    failed: list[Exception] = []

    async def one(call: Callable[[], Awaitable[list[str]]]) -> list[str]:
        async with slots:
            if failed:
                return []
            try:
                return await call()
            except Exception as error:
                failed.append(error)
                return []

    replies = await asyncio.gather(*map(one, calls))
    if failed:
        raise failed[0]
    return replies
