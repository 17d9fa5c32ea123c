"""Does a memory system keep its contract? Asked of the real thing, with a handful of events of our own.

What is found is kept in the user's cache by what the system is (arm, settings, build), and every later run of that
system records it, so that a gate can say beside a verdict that an arm ignores k or forgets when it was told something.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from runner.config import ArmConfig, RunConfig, digest
from runner.errors import RunnerError, SystemFault
from runner.record.provenance import now
from runner.safe import mask
from runner.system import Capabilities, MemorySystem, Opening, Provenance, dated, receipt_of
from runner.types import Event, Query, Receipt, Retrieval

T = TypeVar("T")
log = logging.getLogger("runner")

KEPT: Final = "kept"  # the contract holds
BROKEN: Final = "broken"  # it does not
STATED: Final = "stated"  # a limit that the system itself declares: recorded, and no breach
_START: Final = datetime(2024, 3, 4, 9, 30)
_TOPICS: Final = (
    "The zeppelin moored beside the quarry for the night.",
    "Marmalade sandwiches were packed for the regatta.",
    "An oboe recital filled the small chapel.",
    "The glacier hike ended at a turquoise lake.",
    "A tortoise named Euclid escaped from the garden.",
    "The sourdough starter died during the power cut.",
    "Her kayak capsized near the old lighthouse.",
    "They planted saffron bulbs along the north fence.",
    "The auction sold a brass sextant to a dentist.",
    "His falcon refused to return before dusk.",
)
_K: Final = 3


@dataclass(frozen=True)
class Finding:
    """One clause of the contract and how it stands."""

    check: str
    outcome: str  # KEPT, BROKEN or STATED
    detail: str


@dataclass
class Conformance:
    """What was sent, what came back, and every clause."""

    arm: str
    system: str
    opened: dict[str, Any]
    capabilities: dict[str, Any]
    sent: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    checked: str = ""

    @property
    def broken(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.outcome == BROKEN]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "conforms": not self.broken}


def events_of(prefix: str = "m") -> list[Event]:
    """Ten events about ten things, a day apart."""
    return [
        Event(
            id=f"{prefix}{at}",
            text=text,
            time=_START + timedelta(days=at),
            actor=("Ada", "Ben")[at % 2],
            kind="doc",
            session=f"s{at // 5}",
        )
        for at, text in enumerate(_TOPICS)
    ]


async def check(system: MemorySystem, opening: Opening, limits: RunConfig) -> Conformance:
    """Hold a system to its contract.

    Parameters
    ----------
    system
        Built from its arm, not opened yet. It is closed at the end, and everything that was written is erased.
    opening
        What a run would hand to it.
    limits
        Deadlines, as of a run.

    Raises
    ------
    RunnerError
        When the system does not open: there is nothing to check then.
    """
    opened = await system.open(opening)
    about = Conformance(system.arm.name, system.arm.system, asdict(opened), asdict(system.capabilities), checked=now())
    asked = _Asking(system, limits, about)
    try:
        await asked.all()
    finally:
        await asked.leave()
        await system.close()
    return about


class _Asking:
    """The clauses, one a method; each on namespaces of its own."""

    def __init__(self, system: MemorySystem, limits: RunConfig, about: Conformance) -> None:
        self._system = system
        self._about = about
        self._can: Capabilities = system.capabilities
        self._limits = limits
        self._used: list[str] = []
        self._tag = secrets.token_hex(4)

    async def all(self) -> None:
        for name, clause in (
            ("takes what is written", self._written),
            ("finds what it wrote", self._found),
            ("honours k", self._honours_k),
            ("keeps time and source", self._keeps_time),
            ("answers twice alike", self._alike),
            ("isolates namespaces", self._isolates),
            ("reset empties", self._resets),
            ("raises on failure", self._raises),
            ("survives a wipe", self._survives),
            ("erase leaves nothing", self._erases),
        ):
            try:
                self._about.findings.append(Finding(name, *await clause()))
            except (RunnerError, TimeoutError) as error:
                self._about.findings.append(Finding(name, BROKEN, mask(str(error) or "no answer in time")[:300]))
            except Exception as error:
                log.exception("%s", name)
                reason = mask(f"{type(error).__name__}: {error}")[:300]
                self._about.findings.append(Finding(name, BROKEN, f"an untyped exception, {reason}"))

    async def leave(self) -> None:
        for ns in self._used:
            try:
                await self._timed(self._system.erase(ns), self._limits.settle_s)
            except Exception as error:
                log.warning("erase of %s failed: %s", ns, mask(str(error)))

    # --- calls of the contract ---------------------------------------------------------------------------------------

    async def _timed(self, call: Awaitable[T], seconds: float) -> T:
        return await asyncio.wait_for(call, seconds)

    def _space(self, name: str) -> str:
        ns = f"check-{self._tag}-{name}"
        self._used.append(ns)
        return ns

    async def _store(self, ns: str, events: list[Event]) -> Receipt:
        await self._timed(self._system.reset(ns), self._limits.write_s)
        receipt = await self._timed(self._system.write(ns, self._told(events)), self._limits.write_s)
        await self._timed(self._system.settle(ns, receipt, self._limits.settle_s), self._limits.settle_s)
        return receipt

    def _told(self, events: list[Event]) -> list[Event]:
        """As a run tells them: with the time in the text for a system that takes none."""
        return events if self._can.timestamps else list(map(dated, events))

    async def _search(self, ns: str, text: str, k: int | None = 10, evidence: tuple[str, ...] = ()) -> Retrieval:
        query = Query(
            text=text,
            now=_START + timedelta(days=30),
            k=k,
            evidence=evidence if self._can.reads_gold else None,
        )
        found = await self._timed(self._system.search(ns, query), self._limits.search_s)
        if not isinstance(found, Retrieval):
            raise SystemFault(f"search returned {type(found).__name__}, not a Retrieval")
        return found

    async def _ask(self, ns: str, event: Event, k: int | None = 10) -> Retrieval:
        return await self._search(ns, f"What about this: {event.text}", k, (event.id,))

    # --- clauses -----------------------------------------------------------------------------------------------------

    async def _written(self) -> tuple[str, str]:
        events = events_of()
        ns = self._space("main")
        receipt = await self._store(ns, events)
        whole = receipt_of(self._told(events))
        self._about.sent = {
            "events": receipt.events,
            "sha256": receipt.sha256,
            "as_given": receipt.sha256 == whole.sha256,
            "times": receipt.times,
            "roles": self._can.roles,
            "truncated": receipt.truncated,
        }
        if receipt.events != len(events):
            return BROKEN, f"{len(events)} events were written and {receipt.events} taken"
        if receipt.truncated:
            return BROKEN, f"{receipt.truncated} short events were truncated"
        if receipt.sha256 != whole.sha256:
            return STATED, "sent in another order or form than given (receipt's hash); rows say ingest_altered"
        return KEPT, f"{receipt.events} events in order, times {receipt.times}"

    async def _found(self) -> tuple[str, str]:
        ns = self._space("found")
        events = events_of()
        await self._store(ns, events)
        hits = [await self._ask(ns, event) for event in events]
        found = [event.id for event, result in zip(events, hits, strict=True) if _holds(result, event)]
        first = hits[-1].hits[:3]
        self._about.returned = {
            "found": len(found),
            "of": len(events),
            "hits": [len(result.hits) for result in hits],
            "sample": [{"key": hit.key, "text": hit.text[:120], "sources": hit.sources} for hit in first],
        }
        if not found:
            return BROKEN, "nothing that was written is found"
        if len(found) < len(events):
            missing = [event.id for event in events if event.id not in found]
            return STATED, f"{len(found)} of {len(events)} events are found ({', '.join(missing[:5])} are not)"
        return KEPT, f"all {len(events)} events are found by their words"

    async def _honours_k(self) -> tuple[str, str]:
        ns = self._space("k")
        events = events_of()
        await self._store(ns, events)
        everything = " ".join(event.text for event in events)  # a question that all of them answer
        count = len((await self._search(ns, everything, _K, tuple(event.id for event in events))).hits)
        if count > _K:
            how = BROKEN if self._can.honours_k else STATED
            return how, f"{count} hits came back for k = {_K}; the run cuts them and says over_limit"
        return KEPT, f"at most {_K} hits for k = {_K}"

    async def _keeps_time(self) -> tuple[str, str]:
        ns = self._space("time")
        events = events_of()
        by_id = {event.id: event for event in events}
        await self._store(ns, events)
        hits = [hit for event in events[-3:] for hit in (await self._ask(ns, event)).hits]
        if not self._can.sources:
            named = any(hit.sources for hit in hits)
            return STATED, (
                "sources came back and are not declared (capabilities.sources): recall is not measured until they are"
                if named
                else "hits do not name the events they came from: recall is not measurable"
            )
        for hit in hits:
            for source in hit.sources or ():
                if source not in by_id:
                    return BROKEN, f"a hit cites '{source}', which was never written"
            if self._can.timestamps and hit.sources and hit.time not in {by_id[name].time for name in hit.sources}:
                return (
                    BROKEN,
                    f"the hit of {hit.sources[0]} has the time {hit.time}, written {by_id[hit.sources[0]].time}",
                )
            if hit.sources and not any(_words(by_id[name].text) & _words(hit.text) for name in hit.sources):
                return BROKEN, f"the hit of {hit.sources[0]} holds none of its words"
        if not any(hit.sources for hit in hits):
            return (BROKEN, "no hit names a source") if hits else (STATED, "nothing came back")
        if not self._can.timestamps:
            return STATED, "takes no timestamps: times go into the text"
        return KEPT, "hits carry the time and the id of what they came from"

    async def _alike(self) -> tuple[str, str]:
        ns = self._space("alike")
        events = events_of()
        await self._store(ns, events)
        once, twice = [[hit.key for hit in (await self._ask(ns, events[-1])).hits] for _ in range(2)]
        if once != twice:
            return STATED, "one question asked twice got other hits: repeat runs (run.replicate=0,1) to see the noise"
        return KEPT, "one question asked twice got the same hits"

    async def _isolates(self) -> tuple[str, str]:
        if not self._can.namespaces:
            return STATED, "keeps one history at a time: runs give it one at a time"
        one, other = self._space("one"), self._space("other")
        mine, theirs = events_of("x")[:5], events_of("y")[5:]
        await self._store(one, mine)
        await self._store(other, theirs)
        for event in mine:
            if _holds(await self._ask(other, event), event):
                return BROKEN, f"what was written to one namespace is found in another ({event.id})"
        return KEPT, "what was written to one namespace is not found in another"

    async def _resets(self) -> tuple[str, str]:
        ns = self._space("reset")
        events = events_of()
        await self._store(ns, events)
        await self._store(ns, events_of("n")[:1])
        left = [event.id for event in events[1:] if _holds(await self._ask(ns, event), event)]
        return (BROKEN, f"after a reset {left[0]} is still found") if left else (KEPT, "a reset leaves nothing")

    async def _raises(self) -> tuple[str, str]:
        ns = f"check-{self._tag}-never-written"
        try:
            found = await self._search(ns, "What was never written?", evidence=("m0",))
        except SystemFault:
            return KEPT, "a search of what was never written is a fault"
        if found.hits:
            return BROKEN, f"a namespace that was never written returns {len(found.hits)} hits"
        return (
            STATED,
            "a namespace that was never written looks like an empty one: a lost write cannot be told by a search",
        )

    async def _survives(self) -> tuple[str, str]:
        if not self._can.durable:
            return STATED, "keeps no source of truth apart from its index: a wipe takes everything"
        ns = self._space("wipe")
        events = events_of()
        receipt = await self._store(ns, events)
        before = {event.id for event in events if _holds(await self._ask(ns, event), event)}
        await self._timed(self._system.drop_derived(ns), self._limits.write_s)
        await self._timed(self._system.settle(ns, receipt, self._limits.settle_s), self._limits.settle_s)
        after = {event.id for event in events if _holds(await self._ask(ns, event), event)}
        if before - after:
            return BROKEN, f"says durable, and {len(before - after)} of {len(before)} events are gone after a wipe"
        return KEPT, f"all {len(after)} events are found again after a wipe"

    async def _erases(self) -> tuple[str, str]:
        ns = self._space("erase")
        events = events_of()
        await self._store(ns, events)
        await self._timed(self._system.erase(ns), self._limits.settle_s)
        try:
            left = [event.id for event in events if _holds(await self._ask(ns, event), event)]
        except SystemFault:
            return KEPT, "an erased namespace is gone"
        return (
            (BROKEN, f"after an erase {left[0]} is still found") if left else (KEPT, "nothing is found after an erase")
        )


def _words(text: str) -> set[str]:
    return {word.strip(".,:;!?").casefold() for word in text.split() if len(word) > 4}


def _holds(found: Retrieval, event: Event) -> bool:
    """Whether a result holds an event: by its source, or for a system that rewrites by most of its rarer words."""
    wanted = _words(event.text)
    for hit in found.hits:
        if hit.sources is not None and event.id in hit.sources:
            return True
        if hit.sources is None and len(wanted & _words(hit.text)) >= max(2, len(wanted) // 2):
            return True
    return False


# --- what later runs know of it ------------------------------------------------------------------------------------


def _place(cache: Path, arm: ArmConfig, opened: Provenance) -> Path:
    what = [arm.system, arm.ingest, arm.settings, arm.knobs, opened.build, opened.embedder]
    return cache / "conformance" / f"{digest(what)}.json"


def remember(cache: Path, arm: ArmConfig, about: Conformance) -> None:
    """Keep what was found for later runs; a cache that cannot be written costs the note in their record."""
    opened = Provenance(**about.opened)
    path = _place(cache, arm, opened)
    told = {"checked": about.checked, "broken": [f"{item.check}: {item.detail}" for item in about.broken]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        log.warning("%s: %s", path, error.strerror)


def remembered(cache: Path | None, arm: ArmConfig, opened: Provenance) -> dict[str, Any]:
    """What the last check of this system found: when, and what is broken; empty when it was never checked."""
    if cache is None:
        return {}
    try:
        value = json.loads(_place(cache, arm, opened).read_text(encoding="utf-8"))
        return {"checked": str(value["checked"]), "broken": [str(item) for item in value["broken"]]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
