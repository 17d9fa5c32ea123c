"""The base of every harness: slices, look-up and the shipped configs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from runner.config import HarnessConfig, SliceConfig, conf_dir
from runner.errors import ConfigError
from runner.harness import build, find


@pytest.fixture
def harness():
    return build(HarnessConfig(name="synthetic_memory", settings={"scenarios": 5, "events": 36, "questions": 3}))


def ids(harness, **chosen):
    return [question.id for scenario in harness.load(SliceConfig(**chosen)) for question in scenario.questions]


def test_slices(harness):
    assert len(ids(harness)) == 15
    assert ids(harness, scenarios=["s00001"]) == ids(harness, scenarios=[1]) == [f"s00001/{n}" for n in range(3)]
    assert ids(harness, limit=4) == [*(f"s00000/{n}" for n in range(3)), "s00001/0"]
    assert ids(harness, questions=["s00003/1"]) == ["s00003/1"]
    # five scenarios of three take turns at seven categories: 1 2 3, 4 5 6, 7 1 2, 3 4 5, 6 7 1
    assert ids(harness, categories=["direct"]) == ["s00000/0", "s00002/1", "s00004/2"]
    assert ids(harness, categories=[1, "unanswerable"]) == ["s00000/0", "s00002/0", "s00002/1", "s00004/1", "s00004/2"]


def test_a_limit_reached_early_does_not_blame_the_scenarios_left(harness):
    assert ids(harness, scenarios=[0, 1, 2], limit=2) == ["s00000/0", "s00000/1"]


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"scenarios": ["s0001"]}, "no scenario 's0001' (did you mean 's00001'?)"),
        ({"scenarios": [9]}, "no scenario '9'"),
        ({"questions": ["s00000/7"]}, "no question 's00000/7'"),
        ({"categories": ["direkt"]}, "no category 'direkt'; it has 1 direct"),
        ({"scenarios": [0], "categories": ["unanswerable"]}, "leaves no question"),
    ],
)
def test_slices_that_name_nothing(harness, chosen, says):
    with pytest.raises(ConfigError) as caught:
        ids(harness, **chosen)
    assert says in str(caught.value)


def test_census_is_the_hash_of_the_ids(harness):
    assert harness.census(SliceConfig()).sha256 == harness.census(SliceConfig(scenarios=[0, 1, 2, 3, 4])).sha256
    assert harness.census(SliceConfig(limit=3)).sha256 != harness.census(SliceConfig()).sha256


@pytest.mark.parametrize("name", ["locomo", "locomo_q", "nothing_like_it"])
def test_unknown_harness(name):
    with pytest.raises(ConfigError, match=f"there is no '{name}'.*there are .*locomo_qa"):
        find(name)


SHIPPED = sorted((conf_dir() / "harness").glob("*.yaml")) + sorted((conf_dir() / "slice").glob("*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_shipped_configs(file: Path):
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# python -m runner ")
    values = yaml.safe_load(text)
    model = HarnessConfig if file.parent.name == "harness" else SliceConfig
    config = model.model_validate(values)
    assert config.name == file.stem
    assert set(values) == set(model.model_fields), "every key is shown"
    if isinstance(config, HarnessConfig):
        harness = build(config)
        assert harness.name == file.stem
        assert harness.comparable <= set(harness.categories)
        assert set(harness.aliases.values()) <= set(harness.categories)
