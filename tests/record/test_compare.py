"""Comparability: what is treatment, what is a confound, what is only named."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from runner.record.compare import compare, drift
from runner.record.files import Figures, IngestTotals
from runner.record.instrument import WHY, mismatches


def rows(**changes: Any) -> dict[str, Any]:
    return dict.fromkeys(WHY, "x") | changes


def arm(**changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "arm": {
            "name": "a",
            "system": "hybrid",
            "recall": {"limit": 10, "max_chars": None, "mode": "default"},
            "knobs": {"graph": False, "mmr": False},
            "settings": {},
            "ingest": {},
        }
    }
    value = copy.deepcopy(value)
    for key, item in changes.items():
        part = value["arm"]
        *path, last = key.split("__")
        for name in path:
            part = part[name]
        part[last] = item
    return value


@pytest.mark.parametrize("row", list(WHY))
def test_every_row_that_differs_refuses(row: str) -> None:
    found = compare(arm(), arm(), rows(), rows(**{row: "y"}))
    assert [confound.row for confound in found.confounds] == [row]
    assert "'x' against 'y'" in found.confounds[0].line()
    assert WHY[row] in found.confounds[0].line()


@pytest.mark.parametrize("row", list(WHY))
def test_unknown_never_matches_even_itself(row: str) -> None:
    assert mismatches(rows(**{row: "unknown"}), rows(**{row: "unknown"})) == [row]
    absent = rows()
    del absent[row]
    assert mismatches(absent, dict(absent)) == []  # a row that neither format has is no row
    assert mismatches(absent, rows()) == [row]


def test_one_knob_is_the_treatment_and_no_bundle() -> None:
    found = compare(arm(), arm(knobs__graph=True, name="b"), rows(), rows())
    assert found.treatment == {"arm.knobs.graph": (False, True)}
    assert not found.bundle
    assert not found.confounds
    assert not found.null


def test_two_knobs_are_named_a_bundle() -> None:
    found = compare(arm(), arm(knobs__graph=True, knobs__mmr=True), rows(), rows())
    assert found.bundle == ["arm.knobs.graph", "arm.knobs.mmr"]
    assert any("bundle of 2" in note for note in found.notes)


def test_another_system_explains_its_own_rows_but_not_the_reader() -> None:
    other = arm(system="bm25", knobs={})
    found = compare(arm(), other, rows(embedder="bge", reranker="ce"), rows(embedder="none", reranker="none"))
    assert not found.confounds
    assert list(found.treatment) == ["arm.system"]
    found = compare(arm(), other, rows(), rows(embedder="none", **{"reader.model": "y"}))
    assert [confound.row for confound in found.confounds] == ["reader.model"]


def test_an_embedder_that_changed_by_itself_refuses_until_it_is_declared() -> None:
    found = compare(arm(), arm(knobs__graph=True), rows(embedder="bge"), rows(embedder="e5"))
    assert [confound.row for confound in found.confounds] == ["embedder"]
    found = compare(arm(), arm(), rows(embedder="bge"), rows(embedder="e5"), ["embedder"])
    assert not found.confounds
    assert found.ablated == ["embedder"]
    assert any("ablation of embedder" in note for note in found.notes)


def test_an_unequal_budget_is_always_named() -> None:
    found = compare(arm(), arm(recall__limit=25, recall__max_chars=10000), rows(), rows())
    named = [note for note in found.notes if note.startswith("unequal recall budget")]
    assert named == [
        "unequal recall budget: arm.recall.limit 10 against 25",
        "unequal recall budget: arm.recall.max_chars unbounded against 10000",
    ]


def test_the_same_twice_is_a_null() -> None:
    assert compare(arm(), arm(name="again"), rows(), rows()).null


NOTHING = Figures(
    rows_bytes=0,
    rows=0,
    left=0,
    errors=0,
    error_share=0.0,
    statuses={},
    samples={},
    flags={},
    groups={},
    usage={},
    ingest=IngestTotals(scenarios=0, events=0, seconds=0.0, embeddings_computed=0, embeddings_reused=0),
    search_seconds=None,
    served=[],
    window=None,
)


def test_drift() -> None:
    def of(served: list[str], *window: float) -> Figures:
        return replace(NOTHING, served=served, window=window)

    a = of(["m-1"], 0.0, 100.0)
    assert drift(a, of(["m-1"], 50.0, 150.0)) == []
    assert "m-1 against m-2" in drift(a, of(["m-2"], 50.0, 150.0))[0]
    assert "2.0 hours apart" in drift(a, of(["m-1"], 7300.0, 7400.0))[0]
    assert drift(of([], 0, 1), of([], 9e9, 9e9 + 1)) == []
