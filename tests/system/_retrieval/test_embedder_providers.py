"""fastembed behind the interface (its own double: the real one needs the hub), and what no provider may return."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runner.errors import UsageError
from runner.system._retrieval import onnx_models
from runner.system._retrieval.embedder import Embedder, EmbedderConfig
from runner.system._retrieval.embedder_providers import BGE_PREFIX, FastEmbed
from runner.system._retrieval.result_cache import ResultCache


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """A module with fastembed's interface; the list of batches that it was given."""
    (tmp_path / "model.onnx").write_bytes(b"weights")
    batches: list[list[str]] = []

    class TextEmbedding:
        def __init__(self, model_name: str, threads: int | None = None) -> None:
            if model_name == "no/such":
                raise ValueError("Model no/such is not supported in TextEmbedding.\nPlease check …")
            described = SimpleNamespace(model_file="model.onnx")
            self.model = SimpleNamespace(_model_dir=tmp_path, model_description=described)

        def embed(self, documents: list[str], batch_size: int = 256) -> Iterator[np.ndarray[Any, Any]]:
            batches.append(documents)
            for text in documents:
                yield np.array([len(text), 1.0])

    module = ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.7" if name == "fastembed" else real(name))
    return batches


def opened(model: str) -> Embedder:
    embedder = FastEmbed(EmbedderConfig(provider="fastembed", model=model), ResultCache())
    asyncio.run(embedder.open())
    return embedder


@pytest.mark.skipif(not onnx_models.installed(), reason="needs onnxruntime")
def test_fastembed_runs_one_text_at_a_time_and_is_known_by_its_weights(seen: list[list[str]]) -> None:
    embedder = opened("BAAI/bge-base-en-v1.5")
    made = embedder.passages(["abc", "a"]).vectors
    np.testing.assert_allclose(made, [[3 / np.sqrt(10), 1 / np.sqrt(10)], [1 / np.sqrt(2), 1 / np.sqrt(2)]], rtol=1e-6)
    embedder.query("q")
    assert sorted(seen) == [[BGE_PREFIX + "q"], ["a"], ["abc"]]
    assert embedder.identity == f"BAAI/bge-base-en-v1.5@sha256:{hashlib.sha256(b'weights').hexdigest()}"


@pytest.mark.skipif(not onnx_models.installed(), reason="needs onnxruntime")
def test_another_model_has_no_prefix(seen: list[list[str]]) -> None:
    opened("sentence-transformers/all-MiniLM-L6-v2").query("q")
    assert seen == [["q"]]


def test_a_model_that_cannot_be_loaded_is_told_in_one_line(seen: list[list[str]]) -> None:
    with pytest.raises(
        UsageError, match=r"^fastembed cannot load 'no/such' \(Model no/such is not supported.*\); check"
    ):
        opened("no/such")


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0]])
def test_what_is_not_a_number_never_becomes_a_vector(bad: list[float]) -> None:
    class Broken(Embedder):
        def _run(self, texts: Any, side: Any) -> Any:
            return [np.array(bad)]

    with pytest.raises(ValueError, match="not a number"):
        Broken(EmbedderConfig(provider="fake"), ResultCache()).query("x")


@pytest.mark.skipif(not onnx_models.installed(), reason="needs onnxruntime")
def test_a_model_without_a_file_is_unknown_and_kept_by_nobody(seen: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "model.onnx").unlink()  # what fastembed loaded is not where it is looked for
    shared = ResultCache(tmp_path / "shared")
    config = EmbedderConfig(provider="fastembed", model="x/y")
    for _ in range(2):
        embedder = FastEmbed(config, shared)
        asyncio.run(embedder.open())
        assert embedder.identity == "unknown"
        assert [embedder.passages(["abc"]).reused for _ in range(2)] == [0, 1]  # within the run only
        asyncio.run(embedder.close())
    assert seen == [["abc"], ["abc"]]
    shared.close()
    declared = FastEmbed(config.model_copy(update={"revision": "2024-05"}), ResultCache())
    asyncio.run(declared.open())
    assert declared.identity.startswith("x/y@revision:2024-05 fastembed 0.7/onnxruntime ")


@pytest.mark.parametrize("given", [{}, {"provider": "fake"}])
def test_a_revision_is_for_what_cannot_be_hashed(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="leave revision null"):
        EmbedderConfig.model_validate({**given, "revision": "1"})
