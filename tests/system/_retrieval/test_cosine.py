"""The similarity of query and memory before any fusion, and whether a system follows links between its memories."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from runner.config import ArmConfig
from runner.errors import SearchError
from runner.system import MemorySystem, Opening, Provenance, build, spoken
from runner.types import Query, Retrieval
from tests.support.bridging import LOOP, arm_of, drive, history, script, store
from tests.system.hybrid.test_knobs import OFF

FAKE = {"embedder": {"provider": "fake"}}
ASKED = "Who saw the zeppelin beside a quarry?"


def searched(system: str, **knobs: Any) -> tuple[Retrieval, dict[str, float]]:
    """What a search found, and the cosine of every event as its vectors alone have it."""

    async def session() -> tuple[Retrieval, dict[str, float]]:
        built: Any = build(ArmConfig(name="x", system=system, settings=FAKE, knobs=knobs))
        await built.open(Opening())
        try:
            await store(built, "n", history())
            found = await built.search("n", Query(text=ASKED))
            query = built.embedder.query(ASKED)
            rows = built.embedder.passages([spoken(event) for event in history()]).vectors
            cosines = rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
            return found, dict(zip((event.id for event in history()), cosines.tolist(), strict=True))
        finally:
            await built.close()

    return asyncio.run(session())


@pytest.mark.parametrize(
    ("system", "knobs"),
    [
        ("dense", {}),
        ("hybrid", OFF),
        ("hybrid", {**OFF, "graph": True, "mmr": True, "followup": True}),
        # What the dense leg leaves out has a cosine all the same.
        ("hybrid", {**OFF, "min_score": {"bm25": 0.0, "dense": 1.0}}),
    ],
    ids=["dense", "hybrid", "stages", "bm25 alone"],
)
def test_every_hit_has_the_cosine_of_its_event(system: str, knobs: dict[str, Any]) -> None:
    found, cosines = searched(system, **knobs)
    assert found.hits
    for hit in found.hits:
        assert hit.cosine == pytest.approx(cosines[hit.key], abs=1e-6)
    if system == "dense":
        assert [hit.cosine for hit in found.hits] == sorted((hit.cosine for hit in found.hits), reverse=True)
    else:
        assert any(hit.cosine != hit.score for hit in found.hits)


def test_links_are_followed_where_the_graph_is_on() -> None:
    for graph in (False, True):
        arm = ArmConfig(name="x", system="hybrid", settings=FAKE, knobs={**OFF, "graph": graph})
        assert build(arm).capabilities.links is graph
    assert not build(ArmConfig(name="b", system="bm25")).capabilities.links


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (0.25, None),
        (None, None),
        (-1, None),
        ("near", "a cosine that is not a number"),
        (31.5, "not between -1 and 1: 31.5"),
    ],
)
def test_a_bridge_reads_it_where_it_is_told(said: Any, told: str | None) -> None:
    hit = json.dumps({"key": "k", "text": "t", "cosine": said})
    code = LOOP + f"    print(json.dumps({{'id': number, 'ok': True, 'hits': [json.loads({hit!r})]}}), flush=True)\n"

    async def body(system: MemorySystem, _: Provenance) -> None:
        await store(system, "n")
        if told is not None:
            with pytest.raises(SearchError, match=told):
                await system.search("n", Query(text="x"))
        else:
            (found,) = (await system.search("n", Query(text="x"))).hits
            assert found.cosine == said

    drive(arm_of("command", script(code)), body)
