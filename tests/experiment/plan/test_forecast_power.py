from __future__ import annotations

import pytest

from runner.config import load
from runner.experiment.plan.forecast import Forecast, forecast
from runner.stats.planning.power import minimum_detectable_effect


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
