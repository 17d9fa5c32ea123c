"""A system that breaks a clause of the contract and looks well is found out by `check`."""

from __future__ import annotations

import asyncio

import pytest

from runner.config import RunConfig
from runner.experiment.conformance import BROKEN, check
from runner.system import Opening, build
from tests.support.bridging import arm_of, broken

LIES = [
    ("none", ""),
    ("ignores_k", "honours k"),
    ("mixes_namespaces", "isolates namespaces"),
    ("loses_time", "keeps time and source"),
    ("invents_sources", "keeps time and source"),
    ("forgets_on_drop", "survives a wipe"),
    ("takes_fewer", "takes what is written"),
    ("answers_for_others", "answers by itself"),
    ("answers_nothing", "answers by itself"),
    ("answers_a_number", "answers by itself"),
    ("cites_in_answer", "answers by itself"),
]


@pytest.mark.parametrize(("fault", "clause"), LIES, ids=[name for name, _ in LIES])
def test_a_lie_is_found_out(fault: str, clause: str) -> None:
    system = build(arm_of("command", broken(fault)))
    found = asyncio.run(check(system, Opening(), RunConfig()))
    told = {finding.check for finding in found.findings if finding.outcome == BROKEN}
    assert (clause in told) if clause else not told, found.findings
