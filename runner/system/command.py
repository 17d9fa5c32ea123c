"""A memory system that is a command: it speaks JSON lines on stdin and stdout.

One object per line, one answer for every request, with the request's ``id``::

    → {"id": 1, "op": "probe"}
    ← {"id": 1, "ok": true, "build": "1.4.2", "embedder": "none", "capabilities": {"timestamps": true, …},
       "ops": ["settle", "drop_derived", "erase", "close"]}
    → {"id": 2, "op": "reset", "ns": "…", "knobs": {…}}                           ← {"id": 2, "ok": true}
    → {"id": 3, "op": "write", "ns": "…", "events": [{"id": …, "time": …, "actor": …, "kind": …, "text": …,
       "session": …, "project": …, "title": …, "checkpoint": …}, …]}              ← {"id": 3, "ok": true, "written": 20}
    → {"id": 4, "op": "settle", "ns": "…", "deadline_s": 120}                     ← {"id": 4, "ok": true}
    → {"id": 5, "op": "search", "ns": "…", "text": …, "now": …, "k": 10, "max_chars": null, "max_tokens": null,
       "project": …, "agent": …, "mode": "default"}
    ← {"id": 5, "ok": true, "hits": [{"key": …, "text": …, "score": …, "sources": [event ids], "time": …,
       "cosine": …}, …]}
    ← {"id": 5, "ok": false, "error": "what went wrong"}
    → {"id": 6, "op": "ask", and what a search has}
    ← {"id": 6, "ok": true, "answer": "In May.", "hits": […], "model": …,
       "usage": {"input_tokens": …, "output_tokens": …, "usd": …}}
    → {"id": 7, "op": "holds", "ns": "…", "events": [event ids]}                 ← {"id": 7, "ok": true, "holds": [ids]}

Hits come best first. ``ask`` is sent to a system whose capabilities say ``answers``. ``probe``, ``settle``, ``holds``,
``drop_derived``, ``erase`` and ``close`` are optional: those that a probe (or ``settings.ops``) does not list are not
sent, and a ``reset`` stands in for an ``erase``. The gold is never sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from msgspec import to_builtins
from msgspec.structs import replace
from pydantic import Field, field_validator

from runner.config import ArmConfig
from runner.http import start_of
from runner.system import Opening
from runner.system._bridge.answer_paths import AnswerPaths, UsagePaths, answer_of
from runner.system._bridge.arm_process import ArmProcess, ProcessSettings, Timeouts, build_of, placeholder_problems
from runner.system._bridge.bridge import Bridge, BridgeSettings
from runner.system._bridge.faults import BridgeError, RequestRefused
from runner.system._bridge.hit_paths import HitPaths, hits_of
from runner.system._bridge.json_lines import JsonLinesClient
from runner.system._bridge.polling import poll_until
from runner.system._bridge.process_pool import ProcessPool
from runner.system._bridge.self_description import ResolvedDescription, SelfDescription
from runner.system._bridge.template import query_values
from runner.system._bridge.value_types import NonEmpty
from runner.types import Answer, Event, Query, Retrieval

Op = Literal["probe", "reset", "write", "settle", "search", "ask", "holds", "drop_derived", "erase", "close"]
Optional = Literal["settle", "holds", "drop_derived", "erase", "close"]


class CommandSettings(BridgeSettings, ProcessSettings):
    """The start of the process, and the ops that it understands."""

    processes: Annotated[int, Field(ge=1, le=64)] = 1  # namespaces are shared out among so many
    one_per_scenario: bool = False  # or a new process for every scenario: a system without namespaces gets them
    in_flight: Annotated[int, Field(ge=1, le=256)] = 1  # requests that one process is sent before it has answered
    batch: Annotated[int, Field(ge=1, le=100_000)] = 100  # events of one write
    probe: bool = True  # whether it is asked what it can do
    ops: list[Optional] | None = None  # null: those that the probe lists
    names: dict[Op, NonEmpty] = Field(default_factory=dict)  # another word for an op, such as {search: read}
    hits: HitPaths = HitPaths(
        at="hits", key="key", text="text", score="score", sources="sources", time="time", cosine="cosine"
    )
    timeouts: Timeouts = Timeouts()

    @field_validator("names")
    @classmethod
    def _each_its_own(cls, value: dict[str, str]) -> dict[str, str]:
        words = [value.get(op, op) for op in get_args(Op)]
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise ValueError(f"two ops have the word '{twice}', and nobody could tell them apart")
        return value


class CommandSystem(Bridge):
    """A process that is asked in JSON lines."""

    Settings = CommandSettings
    settings: CommandSettings

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._ops: frozenset[str] = frozenset(self.settings.ops or ())
        self._knobs: dict[str, Any] = dict(self.knobs.model_extra or {})
        self._about: dict[str, Any] | None = None  # what the first process answered to a probe
        usage = UsagePaths(input_tokens="usage.input_tokens", output_tokens="usage.output_tokens", usd="usage.usd")
        self._paths = AnswerPaths(hits=self.settings.hits, model="model", usage=usage)
        self._pool: ProcessPool[JsonLinesClient] = ProcessPool(
            self._start, self.settings.processes, each=self.settings.one_per_scenario
        )
        self.searches = self.settings.in_flight * self.settings.processes

    def _problems(self) -> list[str]:
        return placeholder_problems(self.settings, (), "arm.settings.")

    # --- processes --------------------------------------------------------------------------------------------------

    async def _open(self, opening: Opening) -> ResolvedDescription:
        await self._pool.first()
        about = self._about or {}
        self._check_knobs(about.get("knobs"))
        return self._settled(
            SelfDescription.parse(about),
            code=build_of(self.settings),
            given={"namespaces": True} if self.settings.one_per_scenario else {},
            extra={"probe": "answered" if about else "not answered"},
            lacks="" if "drop_derived" in self._ops else "op 'drop_derived'",
        )

    async def _start(self) -> JsonLinesClient:
        link = JsonLinesClient(await ArmProcess.start(self.settings), self.settings.in_flight)
        try:
            about = await self._probed(link)
            if self._about is not None and about != self._about:
                raise BridgeError("it was started again and answers the probe otherwise than before: another system")
            self._about = about
            if self.settings.ops is None:
                self._ops = _ops_of(about)
            if "close" in self._ops:
                link.farewell = self._word("close")
        except BaseException:
            await link.stop()
            raise
        return link

    async def _probed(self, link: JsonLinesClient) -> dict[str, Any]:
        if not self.settings.probe:
            return {}
        try:
            answer = await link.ask(self._word("probe"), self.settings.timeouts.start)
        except RequestRefused:  # it knows no such op: then the arm declares what there is to say
            return {}
        return {name: value for name, value in answer.items() if name not in ("id", "ok")}

    def _check_knobs(self, reads: Any) -> None:
        """Check the arm's knobs against those that the system says it reads, where it says so."""
        if reads is None:
            return
        if not isinstance(reads, list) or not all(isinstance(name, str) for name in reads):
            raise BridgeError("its knobs are not a list of names")
        for name in self._knobs:
            if name not in reads:
                raise BridgeError(
                    f"arm.knobs.{name}: the system does not read it; it reads {', '.join(reads) or 'none'}"
                )
        for name in reads:
            if name not in self._knobs:
                raise BridgeError(f"arm.knobs.{name}: is missing; state every knob: one that is off is sent off")

    # --- steps ------------------------------------------------------------------------------------------------------

    async def _reset(self, ns: str) -> None:
        link = await self._pool.reset(ns)
        await self._ask(link, "reset", ns)

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        answer = await self._ask(self._pool.holder(ns), "write", ns, events=to_builtins(events))
        taken = answer.get("written", len(events))
        if taken != len(events):
            raise BridgeError(f"{len(events)} events were sent and {start_of(str(taken), 40)} were taken")
        cut = answer.get("truncated", 0)
        if isinstance(cut, bool) or not isinstance(cut, int) or cut < 0:
            raise BridgeError("'truncated' is not a count of events")
        return cut

    async def _settle(self, ns: str, deadline_s: float) -> None:
        if "settle" not in self._ops:
            return
        link = self._pool.holder(ns)

        async def ready() -> bool:
            answer = await self._ask(link, "settle", ns, deadline_s=deadline_s)
            return answer.get("settled", True) is True

        await poll_until(ready, deadline_s)

    async def _search(self, ns: str, query: Query) -> Retrieval:
        answer = await self._ask(await self._link(ns), "search", ns, **query_values(query))
        return Retrieval(
            hits=hits_of(answer, self.settings.hits), notes=_notes_in(answer), cached=answer.get("cached") is True
        )

    async def _answer(self, ns: str, query: Query) -> Answer:
        answer = await self._ask(await self._link(ns), "ask", ns, **query_values(query))
        return replace(answer_of(answer, self._paths), notes=_notes_in(answer))

    async def _holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        if "holds" not in self._ops:
            return None
        answer = await self._ask(self._pool.holder(ns), "holds", ns, events=list(events))
        held = answer.get("holds")
        if held is None:
            return None
        if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
            raise BridgeError("'holds' is not a list of event ids")
        strange = next((name for name in held if name not in events), None)
        if strange is not None:
            raise BridgeError(f"it holds '{start_of(strange, 60)}', which it was not asked about")
        return frozenset(held)

    async def _drop_derived(self, ns: str) -> None:
        await self._ask(self._pool.holder(ns), "drop_derived", ns)

    async def _erase(self, ns: str) -> None:
        try:
            if not self.settings.one_per_scenario:  # where the process and its folder go, nothing is left to erase
                await self._ask(self._pool.holder(ns), "erase" if "erase" in self._ops else "reset", ns)
        finally:
            await self._pool.drop(ns)

    async def _close(self) -> None:
        await self._pool.close()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _batch(self) -> int:
        return self.settings.batch

    async def _link(self, ns: str) -> JsonLinesClient:
        """Return the process that answers for a namespace: any that runs, for one that is there already."""
        return self._pool.holder(ns) if ns in self._written else await self._pool.visit(ns)

    def _word(self, op: Op) -> str:
        return self.settings.names.get(op, op)

    async def _ask(self, link: JsonLinesClient, op: Op, ns: str, **fields: Any) -> dict[str, Any]:
        knobs = {"knobs": self._knobs} if self._knobs else {}
        return await link.ask(self._word(op), self.settings.timeouts.seconds(op), ns=ns, **fields, **knobs)


def _notes_in(answer: dict[str, Any]) -> tuple[str, ...]:
    notes = answer.get("notes") or []
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise BridgeError("'notes' is not a list of texts")
    return tuple(start_of(note, 60) for note in notes[:5])


def _ops_of(about: dict[str, Any]) -> frozenset[str]:
    ops = about.get("ops", [])
    if not isinstance(ops, list) or not all(isinstance(op, str) for op in ops):
        raise BridgeError("its ops are not a list of names")
    return frozenset(ops)


SYSTEM = CommandSystem
