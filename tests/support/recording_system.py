"""A system that keeps every byte that it is given: what reaches a system in a whole run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from runner.config import ArmConfig, HarnessConfig, load
from runner.experiment.execute import execute
from runner.experiment.prepare import prepare
from runner.record.rundir import RunDir
from runner.system import MemorySystem, Opening, Provenance, receipt_of
from runner.types import Event, Hit, Query, Receipt, Retrieval


class RecordingSystem(MemorySystem):
    """Keeps every byte that it is given."""

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self.given: list[str] = []
        self.events: dict[str, Sequence[Event]] = {}

    def _record(self, *values: object) -> None:
        self.given += [repr(value) for value in values]

    async def open(self, opening: Opening) -> Provenance:
        return Provenance(build="test")

    async def reset(self, ns: str) -> None:
        self._record(ns)

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        self._record(ns, *events)
        self.events[ns] = events
        return receipt_of(events)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        self._record(ns, receipt)

    async def search(self, ns: str, query: Query) -> Retrieval:
        self._record(ns, query)
        return Retrieval(hits=tuple(Hit(key=e.id, text=e.text, sources=(e.id,)) for e in self.events[ns][:5]))

    async def erase(self, ns: str) -> None:
        self._record(ns)


class Silent:
    def begin(self, total: int, done: int) -> None: ...
    def row(self, row: object, usd: float) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


def given_to_a_system(config: HarnessConfig, run_dir: Path) -> tuple[str, int]:
    """Everything that a system receives in a whole run of a harness, and how many rows the run wrote."""
    none = {"name": "none", "provider": "none"}
    arm = {"name": "keeping", "system": "none"}
    experiment = load({"harness": config.model_dump(), "arm": arm, "reader": none, "judge": none})
    system = RecordingSystem(experiment.arm)
    run = RunDir(run_dir)
    run.create(experiment.model_dump(mode="json"))
    outcome = execute(run, dataclasses.replace(prepare(experiment), system=system), Silent(), cache_dir=None)
    assert outcome.state == "complete", outcome.reason
    return "\n".join(system.given), len(list(run.rows()))
