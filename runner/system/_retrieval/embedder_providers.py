"""Text to unit vectors, behind one small interface.

The providers: the model that comes with the extra ``embed`` (the default), fastembed with any model of the hub, any
OpenAI-compatible endpoint, and a hashed one that carries no meaning and is named fake.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.config import file_digest
from runner.errors import MissingExtra, UsageError
from runner.system._retrieval import onnx_models
from runner.system._retrieval.embedder import Embedder, EmbedderConfig

# What the authors of bge-*-en-v1.5 put before a query, never before a passage.
BGE_PREFIX = "Represent this sentence for searching relevant passages: "


class Bundled(Embedder):
    """bge-small-en-v1.5 as int8 ONNX: CLS pooling, L2 norm, 384 dimensions, at most 512 tokens of a text.

    Source: BAAI/bge-small-en-v1.5, MIT licence.
    """

    extra = onnx_models.EXTRA
    prefixes = (BGE_PREFIX, "")

    @classmethod
    def installed(cls) -> bool:
        return onnx_models.installed()

    def _load(self) -> None:
        self._network = onnx_models.network(onnx_models.BGE_SMALL)
        self.sha256 = onnx_models.BGE_SMALL.model_sha256
        self.build = f"cls/{onnx_models.MAX_TOKENS}/{onnx_models.runtime()}"

    def _run(self, texts: Sequence[str], side: onnx_models.Side) -> Sequence[NDArray[Any]]:
        return onnx_models.each(lambda text: self._network.run(text)[0], texts, side)


class FastEmbed(Embedder):
    """Any model that fastembed knows, from the hub or its cache; queries and passages as fastembed makes them."""

    extra = "fastembed"

    @classmethod
    def installed(cls) -> bool:
        return importlib.util.find_spec("fastembed") is not None

    def _load(self) -> None:
        try:
            import fastembed
        except ImportError:
            raise MissingExtra(f"embedder '{self.config.model}'", "fastembed") from None
        try:
            self._model: Any = fastembed.TextEmbedding(self.config.model, threads=1)
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0]
            raise UsageError(
                f"fastembed cannot load '{self.config.model}' ({reason}); check the name, or the network on first use"
            ) from None
        self.build = f"fastembed {importlib.metadata.version('fastembed')}/{onnx_models.runtime()}"
        inner = getattr(self._model, "model", None)
        folder = getattr(inner, "_model_dir", None)
        file = getattr(getattr(inner, "model_description", None), "model_file", None)
        if folder and file and (Path(folder) / file).is_file():
            self.sha256 = file_digest(Path(folder) / file)
        if "bge-" in self.config.model and self.config.model.endswith(("-en", "-en-v1.5")):
            self.prefixes = (BGE_PREFIX, "")  # type: ignore[misc]  # an instance's own

    def _run(self, texts: Sequence[str], side: onnx_models.Side) -> Sequence[NDArray[Any]]:
        # One at a time: a quantised model's vectors depend on the batch.
        return onnx_models.each(lambda text: next(iter(self._model.embed([text], batch_size=1))), texts, side)


class Hashed(Embedder):
    """Hashed character trigrams: no meaning, for tests and a first look without the extra. Named fake everywhere."""

    fake = True
    _SIZE = 256

    @property
    def identity(self) -> str:
        return "fake-hashed-trigrams"

    def _run(self, texts: Sequence[str], side: onnx_models.Side) -> Sequence[NDArray[Any]]:
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> NDArray[Any]:
        vector = np.zeros(self._SIZE)
        words = " ".join(re.findall(r"\w+", text.lower()))
        for at in range(len(words) - 2):
            digest = hashlib.blake2b(words[at : at + 3].encode("utf-8", "replace"), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "little") % self._SIZE] += 1.0 if digest[4] & 1 else -1.0
        return vector


def provider(config: EmbedderConfig) -> type[Embedder]:
    """The class behind a config."""
    if config.provider == "openai":
        from runner.system._retrieval.embedding_endpoint import EmbeddingEndpoint

        return EmbeddingEndpoint
    local: dict[str, type[Embedder]] = {"bundled": Bundled, "fastembed": FastEmbed, "fake": Hashed}
    return local[config.provider]


def missing(config: EmbedderConfig) -> str | None:
    """The extra that an embedder needs and that is absent."""
    chosen = provider(config)
    return None if chosen.installed() else chosen.extra
