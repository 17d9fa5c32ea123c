"""The clauses of the contract of a memory system, one a method, each on namespaces of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from runner.config import RunConfig
from runner.errors import SystemFault
from runner.experiment.conformance.driver import BROKEN, KEPT, STATED, Contract, Stands, events_of, holds, words
from runner.system import MemorySystem, receipt_of

_K: Final = 3


class Clauses(Contract):
    """What any memory system must do.

    Attributes
    ----------
    sent, returned
        What went in and what came back, for a person who reads the findings.
    """

    def __init__(self, system: MemorySystem, limits: RunConfig) -> None:
        super().__init__(system, limits)
        self.sent: dict[str, Any] = {}
        self.returned: dict[str, Any] = {}

    def all(self) -> list[tuple[str, Callable[[], Awaitable[Stands]]]]:
        """Every clause with its name, in the order in which they are asked and told."""
        return [
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
        ]

    async def _written(self) -> Stands:
        events = events_of()
        ns = self.space("main")
        receipt = await self.store(ns, events)
        whole = receipt_of(self.told(events))
        self.sent = {
            "events": receipt.events,
            "sha256": receipt.sha256,
            "as_given": receipt.sha256 == whole.sha256,
            "times": receipt.times,
            "roles": self.can.roles,
            "truncated": receipt.truncated,
        }
        if receipt.events != len(events):
            return BROKEN, f"{len(events)} events were written and {receipt.events} taken"
        if receipt.truncated:
            return BROKEN, f"{receipt.truncated} short events were truncated"
        if receipt.sha256 != whole.sha256:
            return STATED, "sent in another order or form than given (receipt's hash); rows say ingest_altered"
        return KEPT, f"{receipt.events} events in order, times {receipt.times}"

    async def _found(self) -> Stands:
        ns = self.space("found")
        events = events_of()
        await self.store(ns, events)
        hits = [await self.find(ns, event) for event in events]
        found = [event.id for event, result in zip(events, hits, strict=True) if holds(result, event)]
        first = hits[-1].hits[:3]
        self.returned = {
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

    async def _honours_k(self) -> Stands:
        ns = self.space("k")
        events = events_of()
        await self.store(ns, events)
        everything = " ".join(event.text for event in events)  # a question that all of them answer
        count = len((await self.search(ns, everything, _K, tuple(event.id for event in events))).hits)
        if count > _K:
            how = BROKEN if self.can.honours_k else STATED
            return how, f"{count} hits came back for k = {_K}; the run cuts them and says over_limit"
        return KEPT, f"at most {_K} hits for k = {_K}"

    async def _keeps_time(self) -> Stands:
        ns = self.space("time")
        events = events_of()
        by_id = {event.id: event for event in events}
        await self.store(ns, events)
        hits = [hit for event in events[-3:] for hit in (await self.find(ns, event)).hits]
        if not self.can.sources:
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
            if self.can.timestamps and hit.sources and hit.time not in {by_id[name].time for name in hit.sources}:
                return (
                    BROKEN,
                    f"the hit of {hit.sources[0]} has the time {hit.time}, written {by_id[hit.sources[0]].time}",
                )
            if hit.sources and not any(words(by_id[name].text) & words(hit.text) for name in hit.sources):
                return BROKEN, f"the hit of {hit.sources[0]} holds none of its words"
        if not any(hit.sources for hit in hits):
            return (BROKEN, "no hit names a source") if hits else (STATED, "nothing came back")
        if not self.can.timestamps:
            return STATED, "takes no timestamps: times go into the text"
        return KEPT, "hits carry the time and the id of what they came from"

    async def _alike(self) -> Stands:
        ns = self.space("alike")
        events = events_of()
        await self.store(ns, events)
        once, twice = [[hit.key for hit in (await self.find(ns, events[-1])).hits] for _ in range(2)]
        if once != twice:
            return STATED, "one question asked twice got other hits: repeat runs (run.replicate=0,1) to see the noise"
        return KEPT, "one question asked twice got the same hits"

    async def _isolates(self) -> Stands:
        if not self.can.namespaces:
            return STATED, "keeps one history at a time: runs give it one at a time"
        one, other = self.space("one"), self.space("other")
        mine, theirs = events_of("x")[:5], events_of("y")[5:]
        await self.store(one, mine)
        await self.store(other, theirs)
        for event in mine:
            if holds(await self.find(other, event), event):
                return BROKEN, f"what was written to one namespace is found in another ({event.id})"
        return KEPT, "what was written to one namespace is not found in another"

    async def _resets(self) -> Stands:
        ns = self.space("reset")
        events = events_of()
        await self.store(ns, events)
        await self.store(ns, events_of("n")[:1])
        left = [event.id for event in events[1:] if holds(await self.find(ns, event), event)]
        return (BROKEN, f"after a reset {left[0]} is still found") if left else (KEPT, "a reset leaves nothing")

    async def _raises(self) -> Stands:
        ns = f"check-{self._tag}-never-written"
        try:
            found = await self.search(ns, "What was never written?", evidence=("m0",))
        except SystemFault:
            return KEPT, "a search of what was never written is a fault"
        if found.hits:
            return BROKEN, f"a namespace that was never written returns {len(found.hits)} hits"
        return (
            STATED,
            "a namespace that was never written looks like an empty one: a lost write cannot be told by a search",
        )

    async def _survives(self) -> Stands:
        if not self.can.durable:
            return STATED, "keeps no source of truth apart from its index: a wipe takes everything"
        ns = self.space("wipe")
        events = events_of()
        receipt = await self.store(ns, events)
        before = {event.id for event in events if holds(await self.find(ns, event), event)}
        await self.timed(self.system.drop_derived(ns), self.limits.write_s)
        await self.timed(self.system.settle(ns, receipt, self.limits.settle_s), self.limits.settle_s)
        after = {event.id for event in events if holds(await self.find(ns, event), event)}
        if before - after:
            return BROKEN, f"says durable, and {len(before - after)} of {len(before)} events are gone after a wipe"
        return KEPT, f"all {len(after)} events are found again after a wipe"

    async def _erases(self) -> Stands:
        ns = self.space("erase")
        events = events_of()
        await self.store(ns, events)
        await self.timed(self.system.erase(ns), self.limits.settle_s)
        try:
            left = [event.id for event in events if holds(await self.find(ns, event), event)]
        except SystemFault:
            return KEPT, "an erased namespace is gone"
        return (
            (BROKEN, f"after an erase {left[0]} is still found") if left else (KEPT, "nothing is found after an erase")
        )
