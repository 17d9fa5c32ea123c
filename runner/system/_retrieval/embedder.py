"""The interface of every embedding model: its config, its cache and its identity in the instrument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from runner.config import Strict
from runner.record.instrument import UNKNOWN
from runner.system._base.threads import in_own_thread
from runner.system._retrieval import onnx_models
from runner.system._retrieval.result_cache import ResultCache, key

Vectors = NDArray[np.float32]

_KIND: dict[onnx_models.Side, str] = {"write": "passage", "read": "query"}
_CHUNK = 128  # texts between two writes of the cache: what a kill can lose


class EmbedderConfig(Strict):
    """The choice of an embedding model.

    ``query_prefix`` and ``passage_prefix`` are put before every text of their kind; ``null`` means what the model asks
    for. ``model`` is a name of the hub for ``fastembed`` and the server's name for ``openai``.

    ``revision`` declares which weights answer where they cannot be hashed here: an endpoint, or a model of fastembed
    whose file is not found. Without it the instrument's ``embedder`` is ``unknown``, and such a run compares with no
    other; declare it when you know that the model behind the name stays the same, and change it when that changes.
    """

    provider: Literal["bundled", "fastembed", "openai", "fake"] = "bundled"
    model: str = onnx_models.BGE_SMALL.name
    query_prefix: str | None = None
    passage_prefix: str | None = None
    base_url: str | None = None
    api_key_env: str | None = "OPENAI_API_KEY"
    revision: Annotated[str, Field(min_length=1)] | None = None
    dimensions: Annotated[int, Field(ge=1, le=65536)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 60.0

    @model_validator(mode="after")
    def _known(self) -> EmbedderConfig:
        if self.provider == "bundled" and self.model != onnx_models.BGE_SMALL.name:
            raise ValueError(
                f"provider 'bundled' has the model '{onnx_models.BGE_SMALL.name}' only; "
                "for another take provider 'fastembed' or 'openai'"
            )
        if self.provider in ("bundled", "fake") and self.revision is not None:
            raise ValueError(f"provider '{self.provider}' is known by its own content; leave revision null")
        return self


@dataclass(frozen=True)
class Embedded:
    """Unit vectors, shape (n, d), and how many were made now or found in the cache."""

    vectors: Vectors
    computed: int
    reused: int


class Embedder:
    """Base of the providers, which write :meth:`_run`. Thread-safe.

    Attributes
    ----------
    sha256
        Of the model's weights; empty when they are not at hand. Only results of known weights are kept in the file
        that runs share; the others stay in the memory of this run.
    """

    extra: ClassVar[str | None] = None
    fake: ClassVar[bool] = False
    prefixes: ClassVar[tuple[str, str]] = ("", "")  # query, passage
    build: str = ""

    def __init__(self, config: EmbedderConfig, cache: ResultCache) -> None:
        self.config = config
        self.sha256 = ""
        self._shared = cache
        self._own = ResultCache()

    @property
    def _cache(self) -> ResultCache:
        return self._shared if self.sha256 else self._own

    @classmethod
    def installed(cls) -> bool:
        """Return whether what the provider needs is installed; imports nothing."""
        return True

    @property
    def identity(self) -> str:
        """Model and sha256 for the instrument; else model, declared revision and where it runs; else ``unknown``."""
        if self.sha256:
            return f"{self.config.model}@sha256:{self.sha256}"
        if self.config.revision is None:
            return UNKNOWN
        return f"{self.config.model}@revision:{self.config.revision} {self.where}".rstrip()

    @property
    def where(self) -> str:
        """The rest of what decides the vectors of a model whose weights are not at hand."""
        return self.build

    async def open(self) -> None:
        """Make ready, and learn ``sha256``.

        Raises
        ------
        UsageError
            When the model cannot be had.
        """
        await in_own_thread(self._load)

    async def close(self) -> None:
        """Release what :meth:`open` took; a model loaded for the whole process stays."""
        self._own.close()

    def _load(self) -> None:
        return

    def _run(self, texts: Sequence[str], side: onnx_models.Side) -> Sequence[NDArray[Any]]:
        raise NotImplementedError

    def passages(self, texts: Sequence[str]) -> Embedded:
        """Embed what is remembered."""
        prefix = self.config.passage_prefix
        return self._embed(texts, "write", self.prefixes[1] if prefix is None else prefix)

    def query(self, text: str) -> Vectors:
        """Embed what is asked: a unit vector, shape (d,)."""
        vector: Vectors = self.embed_query(text).vectors[0]
        return vector

    def embed_query(self, text: str) -> Embedded:
        """Embed what is asked, shape (1, d), and tell whether it was in the cache."""
        prefix = self.config.query_prefix
        return self._embed([text], "read", self.prefixes[0] if prefix is None else prefix)

    def _embed(self, texts: Sequence[str], side: onnx_models.Side, prefix: str) -> Embedded:
        if not texts:
            return Embedded(np.zeros((0, 0), dtype=np.float32), 0, 0)
        kind = f"{_KIND[side]}/{self.build}/{prefix}"
        keys = [key(self.sha256 or self.config.model, kind, text) for text in texts]
        held = self._cache.read(keys)
        todo = {name: text for name, text in zip(keys, texts, strict=True) if name not in held}
        for part in _chunks(list(todo), _CHUNK):
            made = self._run([prefix + todo[name] for name in part], side)
            fresh = {name: _unit(vector).tobytes() for name, vector in zip(part, made, strict=True)}
            self._cache.write(fresh)
            held.update(fresh)
        vectors = np.stack([np.frombuffer(held[name], dtype="<f4") for name in keys])
        return Embedded(vectors, len(todo), len(texts) - len(todo))


def _chunks(items: list[bytes], size: int) -> Iterator[list[bytes]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


def _unit(vector: NDArray[Any]) -> Vectors:
    values = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(values))
    if not np.isfinite(length):
        raise ValueError("the embedding model returned a value that is not a number")
    return (values / length if length else values).astype("<f4")
