"""brain / logos (Coder8124/logos), and whatever else speaks the bridge of its continuity benchmark.

One JSON object per line, one answer for each, no ids::

    → {"op": "reset"}                                                            ← {"ok": true}
    → {"op": "write", "event": {"ts": 1709553600, "actor": …, "kind": …, "project": …, "title": …, "text": …,
       "task": …, "decisions": […], "failed": […], "questions": […], "next": …, "flat": …}}  ← {"ok": true}
    → {"op": "read", "query": {"task": …, "project": …, "agent": …, "budget": 2000, "now": 1709640000}}
    ← {"ok": true, "text": "what the arriving agent gets"}
    → {"op": "close"}

A checkpoint goes in with its own fields, for a system that has the primitive, and as prose for one that has not. What
comes back is one text: it has no sources, and recall is not measurable on it. Format: ``bench/README.md`` and
``internal/eval/adapters/bridge.go`` of that project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import Field

from runner.config import ArmConfig
from runner.http import start_of
from runner.record.instrument import UNKNOWN
from runner.system import Capabilities, NoKnobs, Opening, Provenance, build_version, within
from runner.system._bridge.arm_process import ArmProcess, ProcessSettings, Timeouts, build_of, placeholder_problems
from runner.system._bridge.bridge import Bridge, BridgeSettings
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.json_lines import JsonLinesClient
from runner.system._bridge.one_shot import finish
from runner.system._bridge.process_pool import ProcessPool
from runner.system._bridge.self_description import ResolvedDescription
from runner.types import Checkpoint, Event, Hit, Query, Retrieval

_CHARS_A_TOKEN: Final = 4  # as that benchmark counts
_KINDS: Final = {"commit": "note"}  # of ours, those that it has not


class BrainSettings(BridgeSettings, ProcessSettings):
    """The start of the adapter. A process of its own for every scenario keeps scenarios apart."""

    one_per_scenario: bool = True
    probe: bool = True  # whether it is run with --probe first, which tells by its exit code whether it can run
    budget: Annotated[int, Field(ge=1, le=10_000_000)] = 2000  # tokens asked for where neither question nor arm bounds
    timeouts: Timeouts = Timeouts()


class Brain(Bridge):
    """An adapter that resets, writes, reads and closes."""

    Settings = BrainSettings
    Knobs = NoKnobs
    settings: BrainSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._pool: ProcessPool[JsonLinesClient] = ProcessPool(self._start, 1, each=self.settings.one_per_scenario)
        self.searches = None if self.settings.one_per_scenario else 1

    def _problems(self) -> list[str]:
        return placeholder_problems(self.settings, (), "arm.settings.")

    async def _open(self, opening: Opening) -> ResolvedDescription:
        if self.settings.probe:
            await self._probe()
        await self._pool.first()
        code, declared = build_of(self.settings), self.settings.declares
        capabilities = Capabilities(
            namespaces=self.settings.one_per_scenario,
            honours_k=False,
            sources=False,
            durable=False,  # its bridge has no op for it
            ranked=False,
        )
        provenance = Provenance(
            build=declared.build or (f"{build_version(self)}; {code}" if code else UNKNOWN),
            embedder=declared.embedder or UNKNOWN,
            reranker=declared.reranker or "none",
            index_revision=declared.index_revision or "none",
            fake=bool(declared.fake),
        )
        return ResolvedDescription(capabilities, provenance, ())

    async def _probe(self) -> None:
        """Check that it can run at all: a process of its own, which says why not on its last line."""
        serving = self.settings.model_copy(update={"command": [*self.settings.command, "--probe"]})
        served = await ArmProcess.start(serving)
        try:
            await finish(served.child, "its --probe", self.settings.timeouts.start)
        finally:
            await served.kill()

    async def _start(self) -> JsonLinesClient:
        link = JsonLinesClient(await ArmProcess.start(self.settings), 1)
        link.farewell = "close"
        return link

    async def _reset(self, ns: str) -> None:
        link = await self._pool.reset(ns)
        await link.ask("reset", self.settings.timeouts.other)

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        link = self._pool.holder(ns)
        for event in events:
            await link.ask("write", self.settings.timeouts.write, event=_event_message(event))
        return 0

    async def _search(self, ns: str, query: Query) -> Retrieval:
        values = {
            "task": query.text,
            "project": query.project,
            "agent": query.agent,
            "budget": query.max_tokens or (query.max_chars or 0) // _CHARS_A_TOKEN or self.settings.budget,
            "now": _unix(query.now),
        }
        answer = await self._pool.holder(ns).ask("read", self.settings.timeouts.search, query=values)
        text = answer.get("text", "")
        if not isinstance(text, str):
            raise BridgeError(f"'text' is not a text: {start_of(str(text), 80)}")
        if not text.strip():
            return Retrieval()
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return within([Hit(key=key, text=text)], query)

    async def _erase(self, ns: str) -> None:
        try:
            if not self.settings.one_per_scenario:
                await self._pool.holder(ns).ask("reset", self.settings.timeouts.other)
        finally:
            await self._pool.drop(ns)

    async def _close(self) -> None:
        await self._pool.close()

    def _batch(self) -> int:
        return 1000


def _event_message(event: Event) -> dict[str, Any]:
    """Return an event in both forms: structured for a system that has primitives, and flat for one that has not."""
    point = event.checkpoint or Checkpoint()
    return {
        "ts": _unix(event.time),
        "actor": event.actor,
        "kind": _KINDS.get(event.kind, event.kind),
        "project": event.project,
        "title": event.title,
        "text": event.text,
        "task": point.task,
        "decisions": list(point.decisions),
        "failed": list(point.failed),
        "questions": list(point.questions),
        "next": point.next,
        "flat": event.text,
    }


def _unix(when: datetime | None) -> int:
    """Seconds of the scenario's clock, which has no zone; 0 where there is no time."""
    return 0 if when is None else int(when.replace(tzinfo=UTC).timestamp())


SYSTEM = Brain
