"""The shipped arms: what each file says and that it composes into an arm its system takes."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from runner.cli.run import compose
from runner.config import ArmConfig, conf_dir, load
from runner.system import build, find, names

FILES = sorted((conf_dir() / "arm").glob("*.yaml"))
SHIPPED = {
    "no_memory": "none",
    "full_context": "full_context",
    "full_dump": "full_dump",
    "recency_window": "recency_window",
    "static_file": "static_file",
    "oracle": "oracle",
    "bm25": "bm25",
    "dense": "dense",
    "hybrid": "hybrid",
    "arms_on": "hybrid",
    "arms_off": "hybrid",
    "hybrid_hyde": "hybrid",
}


@functools.cache
def composed(path: Path) -> ArmConfig:
    return load(compose([f"arm={path.stem}", "budget=top8"])).arm


def test_the_arms_of_the_specification_are_there() -> None:
    assert {path.stem: composed(path).system for path in FILES}.items() >= SHIPPED.items()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_arm_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-used")
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(rf"# (\S+=\S+ )?python -m runner .*\+arm=(\S+,)?{path.stem}(,|$| )", first)
    arm = composed(path)
    assert arm.name == path.stem
    assert arm.system in names()
    assert set(arm.knobs) == set(find(arm.system).Knobs.model_fields)
    build(arm)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_budget_is_the_shared_one(path: Path) -> None:
    recall = composed(path).recall
    if path.stem == "full_context":
        assert (recall.limit, recall.max_chars) == (None, None)
    elif path.stem in ("full_dump", "recency_window"):
        assert (recall.limit, recall.max_chars) == (None, 3000)
    else:
        assert (recall.limit, recall.max_chars) == (8, 3000)


def test_on_and_off_differ_in_every_boolean_knob_but_hyde_and_in_nothing_else() -> None:
    on, off = (composed(conf_dir() / "arm" / f"{name}.yaml") for name in ("arms_on", "arms_off"))
    assert {key for key in on.knobs if on.knobs[key] != off.knobs[key]} == {
        "graph",
        "cross_encoder",
        "mmr",
        "temporal",
        "temporal_arm",
        "followup",
    }
    assert (on.settings, on.ingest, on.recall) == (off.settings, off.ingest, off.recall)
    assert composed(conf_dir() / "arm" / "hybrid.yaml").knobs == off.knobs
