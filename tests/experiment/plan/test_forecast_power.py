from __future__ import annotations

from typing import Any

import pytest

from runner.config import load
from runner.experiment.plan.forecast import Forecast, forecast
from runner.harness import find
from runner.stats.power import minimum_detectable_effect


def planned(scenarios: int, questions: int = 4) -> Forecast:
    none = {"name": "none", "provider": "none"}
    settings = {"seed": 7, "scenarios": scenarios, "events": 90, "questions": questions}
    return forecast(
        load(
            {
                "harness": {"name": "synthetic_memory", "k": 5, "settings": settings},
                "arm": {"name": "off", "system": "none"},
                "reader": none,
                "judge": none,
            }
        )
    )


def test_an_arm_of_documents_is_told_where_there_are_none() -> None:
    def said(harness: dict[str, Any], system: str = "static_file") -> list[str]:
        none = {"name": "none", "provider": "none"}
        values = {"harness": harness, "arm": {"name": "file", "system": system}, "reader": none, "judge": none}
        return [line for line in forecast(load(values)).warnings if "no documents" in line]

    synthetic = {"name": "synthetic_memory", "k": 5, "settings": {"scenarios": 6}}
    assert said(synthetic) == [
        "file: synthetic_memory holds no documents (events of kind doc), so that this arm returns nothing and equals "
        "no_memory"
    ]
    assert said(synthetic, "bm25") == said({"name": "handoff", "settings": {"only": "durability"}}) == []
    assert not find("locomo_qa").documents


def test_fewer_than_six_clusters_detect_nothing() -> None:
    few = planned(5)
    assert few.clusters == 5
    assert set(few.detectable.values()) == {None}


def test_few_clusters_detect_less_than_the_normal_interval_would() -> None:
    job = planned(29, questions=7)
    plain = minimum_detectable_effect(job.scored, 0.16)
    assert job.clusters == 29
    assert plain is not None
    # f(29) = 2.04841 / 1.96 * sqrt(29 / 28); with an ICC of 0 the size of the clusters does not count.
    assert job.detectable["icc 0"] == pytest.approx(plain * 1.06361, rel=1e-4)
