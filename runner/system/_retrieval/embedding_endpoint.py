"""Embeddings of any OpenAI-compatible endpoint.

Format: https://platform.openai.com/docs/api-reference/embeddings/object. What weights answer there is not known, so the
results are kept for the run only, never in the file that runs share, and the instrument says ``unknown`` unless the
arm declares a revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from runner.config import ModelConfig
from runner.llm.endpoint import Channel
from runner.system._retrieval.embedder import Embedder, EmbedderConfig
from runner.system._retrieval.onnx_models import Side
from runner.system._retrieval.result_cache import ResultCache

_BATCH = 64  # texts per request
_CONCURRENCY = 8


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int


class _Body(msgspec.Struct):
    data: list[_Item]


class EmbeddingEndpoint(Embedder):
    """A model behind ``POST <base_url>/embeddings``, under the project's one HTTP policy."""

    def __init__(self, config: EmbedderConfig, cache: ResultCache) -> None:
        super().__init__(config, cache)
        model = ModelConfig(
            name="embedder",
            provider="openai",
            model=config.model,
            base_url=config.base_url,
            api_key_env=config.api_key_env,
            timeout_s=config.timeout_s,
            concurrency=_CONCURRENCY,
        )
        self._channel = Channel(model, "/embeddings")
        self._loop: asyncio.AbstractEventLoop
        self._size: int | None = None  # of a vector, once one was seen

    @property
    def where(self) -> str:
        """Host and dimension, as in ``127.0.0.1:8080 384d``."""
        host = urlsplit(self._channel.base_url).netloc.rpartition("@")[2]
        return host if self._size is None else f"{host} {self._size}d"

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self.config.revision is not None:  # its identity tells the dimension, which only an answer does
            await self._all(["dimension"])

    async def close(self) -> None:
        await self._channel.close()
        await super().close()

    def _run(self, texts: Sequence[str], side: Side) -> Sequence[NDArray[Any]]:
        # Called in a thread of the system's pool, while the client lives in the event loop.
        return asyncio.run_coroutine_threadsafe(self._all(texts), self._loop).result()

    async def _all(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        parts = await asyncio.gather(*(self._batch(part) for part in _batches(texts)))
        return [vector for part in parts for vector in part]

    async def _batch(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        # An empty string is refused by most servers; a space embeds as nothing in particular.
        asked: dict[str, Any] = {"model": self.config.model, "input": [text or " " for text in texts]}
        if self.config.dimensions is not None:
            asked["dimensions"] = self.config.dimensions
        reply = await self._channel.post(msgspec.json.encode(asked))
        try:
            items = sorted(msgspec.json.decode(reply.body, type=_Body).data, key=lambda item: item.index)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._channel.fault("answered with something that is not a list of embeddings") from None
        if [item.index for item in items] != list(range(len(texts))):
            raise self._channel.fault(f"answered {len(items)} embeddings for {len(texts)} texts")
        for item in items:
            self._size = self._size or len(item.embedding)
            if not item.embedding or len(item.embedding) != (self.config.dimensions or self._size):
                raise self._channel.fault(
                    f"answered a vector of {len(item.embedding)} numbers, not of "
                    f"{self.config.dimensions or self._size}; check its settings.embedder.dimensions"
                )
        return [np.asarray(item.embedding, dtype=np.float64) for item in items]


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(texts), _BATCH):
        yield texts[at : at + _BATCH]
