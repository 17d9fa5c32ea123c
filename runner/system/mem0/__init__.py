"""mem0ai in this process: an embedded Qdrant and sqlite in a temporary folder, the project's own embedding model.

API: https://docs.mem0.ai/open-source/python-quickstart, mem0ai 2.x. What it does not do is in ``docs/systems.md``.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from msgspec import structs
from pydantic import Field

from runner.config import ArmConfig, ModelConfig, Strict
from runner.errors import ConfigError, IngestError, ModelFault, SystemFault
from runner.system import Capabilities, Opening, Prepared, Provenance, spoken, within
from runner.system._base.library import LibrarySystem
from runner.system._base.text import clean
from runner.system._base.threads import in_own_thread
from runner.system._retrieval.model_client import ModelClient
from runner.system._retrieval.scratch_folder import ScratchFolder
from runner.system._retrieval.vector_system import Embedding, VectorSettings
from runner.system.mem0.hooks import EmbeddingHook, ModelHook, load
from runner.types import Event, Hit, Query, Receipt, Retrieval

EXTRA: Final = "mem0"
_NOWHERE: Final = "http://127.0.0.1:9/v1"  # the clients that mem0 builds for itself, replaced before any call
_EVENTS: Final = "events"  # metadata: the ids of the events behind a memory
_SPACE: Final = re.compile(r"\s")


class Settings(VectorSettings):
    """``model`` extracts the memories when ``ingest.infer`` is on."""

    model: ModelConfig | None = None


class Ingest(Strict):
    """``infer: false`` stores every event as it is said; ``true`` has mem0 extract memories with a model."""

    infer: bool = False
    batch: Annotated[int, Field(ge=1, le=1000)] = 10  # events of one session that one extraction reads


class Knobs(Strict):
    """``threshold``: a memory with a lower similarity is not returned; mem0's own default is 0.1."""

    threshold: Annotated[float, Field(ge=0, le=1)]


@dataclass
class Store:
    """One namespace: mem0's own object, its hooks, and what was written."""

    memory: Any
    embedding: EmbeddingHook
    model: ModelHook | None
    memories: int = 0
    events: set[str] = field(default_factory=set)  # that any memory came from


class Mem0(Embedding, LibrarySystem[Store]):
    """``Memory.add`` and ``Memory.search``, one user id per namespace."""

    Settings = Settings
    Knobs = Knobs
    Ingest = Ingest
    # `timestamp=` raises in the open-source library; the role is told, and the actor as the message's name.
    capabilities = Capabilities(timestamps=False)

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        if self.ingest.infer and self.settings.model is None:
            raise ConfigError(
                [
                    "arm.ingest.infer: is on and has no model to extract with; set arm.settings.model "
                    "(name, provider, model, base_url …), or take +arm=mem0_infer"
                ]
            )
        self._model_client = ModelClient(self.settings.model) if self.ingest.infer and self.settings.model else None
        self._scratch = ScratchFolder("mem0")
        self._size = 0  # of a vector
        self._loop: asyncio.AbstractEventLoop

    def missing(self) -> str | None:
        if importlib.util.find_spec("mem0") is None or importlib.util.find_spec("qdrant_client") is None:
            return EXTRA
        return super().missing()

    async def open(self, opening: Opening) -> Provenance:
        opened = await super().open(opening)
        await in_own_thread(load)
        self._size = len(await in_own_thread(self.embedder.query, "dimension"))
        self._loop = asyncio.get_running_loop()
        if self._model_client is not None:
            self._model_client.open(opening)
        fake_model = self._model_client is not None and self._model_client.config.provider == "fake"
        model = self._model_client.identity if self._model_client else "none"
        return replace(
            opened,
            build=f"{opened.build}; {_build()}",
            fake=opened.fake or fake_model,
            extra={**opened.extra, "infer": self.ingest.infer, "infer_model": model},
        )

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        try:
            receipt = await super().write(ns, events)
        except SystemFault:
            # What stopped the model is told as it is: a run that is stopping, or an endpoint that never answers.
            space = self._spaces.get(ns)
            stopped = space.store.model.stopped if space and space.store and space.store.model else None
            if stopped is None:
                raise
            if isinstance(stopped, ModelFault) and type(stopped) is ModelFault:
                raise IngestError(f"mem0: {stopped}") from None
            raise stopped from None
        # An extraction keeps none of the texts as they were written.
        return structs.replace(receipt, sha256=_extracted(receipt)) if self.ingest.infer else receipt

    def create(self, ns: str) -> Store:
        folder = self._scratch.new()
        client = {"api_key": "unused", "openai_base_url": _NOWHERE}
        memory = load().from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "collection_name": "memories",
                        "embedding_model_dims": self._size,
                        "on_disk": True,
                    },
                },
                "embedder": {"provider": "openai", "config": {**client, "embedding_dims": self._size}},
                "llm": {"provider": "openai", "config": client},
                "history_db_path": str(folder / "history.db"),
            }
        )
        embedding = EmbeddingHook(self.embedder, self._size)
        memory.embedding_model = embedding.as_embedding()
        model = ModelHook(self._model_client, self._loop) if self._model_client is not None else None
        if model is not None:
            memory.llm = model.as_llm()
        return Store(memory, embedding, model)

    def put(self, store: Store, ns: str, events: Sequence[Event]) -> Prepared:
        if self.ingest.infer:
            for part in _parts(events, self.ingest.batch):
                self._infer(store, ns, part)
            return Prepared()
        made = self.embedder.passages([spoken(event) for event in events])  # all cores; mem0 finds each in the cache
        for event in events:
            self._add(store, ns, [event], infer=False)
        return Prepared(computed=made.computed, reused=made.reused)

    def _infer(self, store: Store, ns: str, events: Sequence[Event]) -> None:
        assert store.model is not None
        store.model.day = next((event.time for event in reversed(events) if event.time), None)
        self._add(store, ns, events, infer=True)

    def _add(self, store: Store, ns: str, events: Sequence[Event], *, infer: bool) -> None:
        added = store.memory.add(
            [_message(event) for event in events],
            user_id=_user(ns),
            metadata={_EVENTS: [event.id for event in events]},
            infer=infer,
        )["results"]
        store.embedding.check()
        if not infer and len(added) != len(events):
            raise IngestError(f"mem0 took {len(added)} of {len(events)} messages ({events[0].id})")
        store.memories += len(added)
        if added:  # an extraction of which nothing was stored says so
            store.events.update(event.id for event in events)

    def find(self, store: Store, ns: str, query: Query) -> Retrieval:
        text = clean(query.text)
        reused = self.embedder.embed_query(text).reused > 0
        found = store.memory.search(
            text,
            filters={"user_id": _user(ns)},
            top_k=query.k or max(1, store.memories),  # `limit=` is swallowed, and 20 come back
            threshold=self.knobs.threshold,
        )["results"]
        store.embedding.check()
        return structs.replace(within(map(self._hit, found), query), cached=reused)

    def _hit(self, item: dict[str, Any]) -> Hit:
        text = str(item["memory"])
        sources = tuple(map(str, (item.get("metadata") or {}).get(_EVENTS) or ()))
        # mem0's own ids are drawn anew in every run, and two runs that returned the same must look the same.
        key = sources[0] if not self.ingest.infer and sources else hashlib.sha256(text.encode()).hexdigest()[:16]
        return Hit(key=key, text=text, score=float(item["score"]), sources=sources or None)

    def held_events(self, store: Store, ids: frozenset[str]) -> frozenset[str]:
        return ids & store.events

    def drop(self, store: Store) -> None:
        store.memory.close()
        store.memory.vector_store.client.close()

    async def close(self) -> None:
        await super().close()
        if self._model_client is not None:
            await self._model_client.close()
        self._scratch.remove()


def _message(event: Event) -> dict[str, str]:
    message = {"role": "user", "content": spoken(event)}
    return message | ({"name": event.actor} if event.actor else {})


def _user(ns: str) -> str:
    """A namespace as a user id, which may hold no white space."""
    return _SPACE.sub("_", ns)


def _parts(events: Sequence[Event], size: int) -> Iterator[list[Event]]:
    """Runs of at most ``size`` events of one session and project."""
    part: list[Event] = []
    for event in events:
        if part and (len(part) >= size or (event.session, event.project) != (part[0].session, part[0].project)):
            yield part
            part = []
        part.append(event)
    if part:
        yield part


def _extracted(receipt: Receipt) -> str:
    return hashlib.sha256(f"extracted {receipt.sha256}".encode()).hexdigest()


def _build() -> str:
    """Return the versions, and the legs that other packages switch on: they change the ranking."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("mem0ai", "qdrant-client")]
    legs = {"keyword": "fastembed", "entities": "spacy"}
    told = [f"{leg} {'on' if importlib.util.find_spec(module) else 'off'}" for leg, module in legs.items()]
    return ", ".join(versions + told)


SYSTEM = Mem0
