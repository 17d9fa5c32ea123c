"""The check that a user runs (`python -m runner check`), passed by the arms that `test_conformance` leaves out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.config import ArmConfig, RunConfig, conf_dir
from runner.experiment.conformance import STATED, Conformance, check
from runner.system import Opening, build
from tests.support.servers import Stub
from tests.system.stand_ins.arms import standing

pytestmark = pytest.mark.long

ARMS = ("mem0_infer", "brain", "extract", "digest")


def written(asked: dict[str, Any]) -> str:
    """A model that keeps every line, as the prompt that it gets wants them."""
    system, user = asked["messages"][0]["content"], asked["messages"][-1]["content"]
    if "## New Messages" in user:
        lines = user.partition("## New Messages\n")[2].partition("\n## ")[0].strip().splitlines()
        return json.dumps({"memory": [{"id": str(at), "text": line} for at, line in enumerate(lines)]})
    part = user.partition("<session>\n")[2].partition("\n</session>")[0]
    lines = [line for line in part.splitlines() if not line.startswith("Session: ")]
    if "running summary" in system:
        return " ".join([user.partition("<summary>\n")[2].partition("\n</summary>")[0], *lines])
    return "\n".join(f"- {line}" for line in lines)


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with Stub(answer=written) as server:
        yield server


@pytest.mark.parametrize("name", ARMS)
def test_it_keeps_its_contract(name: str, stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
    whole = {"budget": {"limit": 10, "max_chars": None}, "arm": OmegaConf.load(conf_dir() / "arm" / f"{name}.yaml")}
    values: Any = OmegaConf.to_container(OmegaConf.create(whole), resolve=True)
    chosen = ArmConfig.model_validate(values["arm"])

    async def checked(arm: ArmConfig) -> Conformance:
        system = build(arm)
        if (extra := system.missing()) is not None:
            pytest.skip(f"arm '{name}' needs the extra '{extra}'")
        return await check(system, Opening(), RunConfig())

    with standing(chosen, tmp_path) as here:
        about = asyncio.run(checked(here))
    assert about.broken == [], about.broken
    stated = {finding.check for finding in about.findings if finding.outcome == STATED}
    assert ("takes what is written" in stated) is (name != "brain")  # the hash is not that of the events
    assert ("keeps time and source" in stated) is (name != "extract")
    assert "survives a wipe" in stated
