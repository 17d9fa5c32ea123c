"""LangGraph's ``InMemoryStore`` in this process, with a vector index over the project's own embedding model.

API: https://docs.langchain.com/oss/python/langgraph/persistence#memory-store; the store lives in the package
langgraph-checkpoint 4.x. What it does not do is in ``docs/systems.md``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import structs

from runner.config import ArmConfig
from runner.system import Capabilities, Opening, Prepared, Provenance, spoken, within
from runner.system._base.library import LibrarySystem
from runner.system._base.text import clean
from runner.system._base.threads import in_own_thread
from runner.system._retrieval.embedder import Embedder
from runner.system._retrieval.vector_system import Embedding
from runner.types import Event, Hit, Query, Retrieval

EXTRA: Final = "langgraph"
_PACKAGE: Final = "langgraph-checkpoint"


@dataclass
class Store:
    """One namespace: LangGraph's store and the tuple that names its place there."""

    memory: Any
    place: tuple[str, ...]
    items: int = 0


class LangGraphStore(Embedding, LibrarySystem[Store]):
    """``put`` and ``search``, one item per event, its id the key."""

    capabilities = Capabilities(timestamps=False)  # an item has the time of the wall clock and no other

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._size = 0  # of a vector

    def missing(self) -> str | None:
        if importlib.util.find_spec("langgraph") is None or importlib.util.find_spec("langgraph.store") is None:
            return EXTRA
        return super().missing()

    async def open(self, opening: Opening) -> Provenance:
        opened = await super().open(opening)
        await in_own_thread(_library)
        self._size = len(await in_own_thread(self.embedder.query, "dimension"))
        return replace(opened, build=f"{opened.build}; {_PACKAGE} {importlib.metadata.version(_PACKAGE)}")

    def create(self, ns: str) -> Store:
        index = {"dims": self._size, "embed": _embeddings(self.embedder), "fields": ["text"]}
        label = ns.replace(".", "_")  # a label holds no period
        return Store(_library()(index=index), ("memories", label))

    def put(self, store: Store, ns: str, events: Sequence[Event]) -> Prepared:
        made = self.embedder.passages([spoken(event) for event in events])  # on all cores; found in the cache below
        # One at a time: the library counts the vectors of a batch by text, and fails where two items have the same.
        for event in events:
            store.memory.put(store.place, event.id, {"text": spoken(event)})
        store.items += len(events)
        return Prepared(computed=made.computed, reused=made.reused)

    def find(self, store: Store, ns: str, query: Query) -> Retrieval:
        text = clean(query.text)
        reused = self.embedder.embed_query(text).reused > 0
        found = store.memory.search(store.place, query=text, limit=query.k or store.items)
        return structs.replace(within(map(_hit, found), query), cached=reused)

    def held_events(self, store: Store, ids: frozenset[str]) -> frozenset[str]:
        return ids  # one item per event


def _hit(item: Any) -> Hit:
    score = None if item.score is None else float(item.score)  # the cosine, in this store
    return Hit(key=item.key, text=item.value["text"], score=score, sources=(item.key,), cosine=score)


def _library() -> Any:
    from langgraph.store.memory import InMemoryStore

    return InMemoryStore


def _embeddings(embedder: Embedder) -> Any:
    """The project's embedding model as LangChain's interface: a question is embedded as one, not as a passage."""
    from langchain_core.embeddings import Embeddings

    class Ours(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embedder.passages(texts).vectors]

        def embed_query(self, text: str) -> list[float]:
            vector: list[float] = embedder.query(text).tolist()
            return vector

    return Ours()


SYSTEM = LangGraphStore
