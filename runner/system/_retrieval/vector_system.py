"""Systems that use an embedding model of the project: the part that owns it, and the base that embeds events."""

from __future__ import annotations

from collections.abc import Sequence

from runner.config import ArmConfig, Strict
from runner.system import EmbeddedSystem, MemorySystem, Opening, Prepared, Provenance, build_version, spoken
from runner.system._retrieval import embedder_providers
from runner.system._retrieval.embedder import EmbedderConfig
from runner.system._retrieval.result_cache import ResultCache
from runner.types import Event


class VectorSettings(Strict):
    """``embedder`` is part of the instrument."""

    embedder: EmbedderConfig = EmbedderConfig()


class Embedding(MemorySystem):
    """The embedding model of a system, opened and closed with it; stands before the system's own base.

    Attributes
    ----------
    cache
        Where the results of models are kept.
    embedder
        The model.
    """

    Settings = VectorSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self.cache = ResultCache(None)
        self.embedder = embedder_providers.provider(self.settings.embedder)(self.settings.embedder, self.cache)

    def missing(self) -> str | None:
        return embedder_providers.missing(self.settings.embedder)

    async def open(self, opening: Opening) -> Provenance:
        self.require()
        self.cache.open(opening.cache_dir)
        await self.embedder.open()
        return Provenance(
            build=build_version(self),
            embedder=self.embedder.identity,
            fake=self.embedder.fake,
            extra={"embedder_model": self.settings.embedder.model, "embedder_runtime": self.embedder.where},
        )

    async def close(self) -> None:
        await super().close()
        await self.embedder.close()
        self.cache.close()


class VectorSystem(Embedding, EmbeddedSystem):
    """A system whose events are embedded as they are written. :meth:`index` gets one vector per event."""

    def prepare(self, events: Sequence[Event]) -> Prepared:
        made = self.embedder.passages([spoken(event) for event in events])
        return Prepared(list(made.vectors), made.computed, made.reused)
