"""The clauses of the contract of a memory system: a method each, on namespaces of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from runner.config import RunConfig
from runner.errors import SystemFault
from runner.experiment.conformance.driver import (
    BROKEN,
    KEPT,
    STATED,
    ClauseResult,
    SystemDriver,
    events_of,
    has_event,
    rare_words,
)
from runner.system import MemorySystem, receipt_of

_K: Final = 3
# The place of an event, a question about it, and a word of it that only a system which was given the event can say.
_QUESTIONS: Final = (
    (4, "What is the name of the animal that escaped from the garden?", "euclid"),
    (7, "Which bulbs were planted along the north fence?", "saffron"),
    (8, "What did the auction sell to a dentist?", "sextant"),
)


class Clauses(SystemDriver):
    """Holds one system to every clause that applies to it.

    Attributes
    ----------
    sent, returned
        What went in and what came back, for a person who reads the findings.
    """

    def __init__(self, system: MemorySystem, limits: RunConfig) -> None:
        super().__init__(system, limits)
        self.sent: dict[str, Any] = {}
        self.returned: dict[str, Any] = {}

    def all(self) -> list[tuple[str, Callable[[], Awaitable[ClauseResult]]]]:
        """Return every clause with its name, in the order in which they are checked and reported."""
        clauses: list[tuple[str, Callable[[], Awaitable[ClauseResult]]]] = [
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
        if self.capabilities.answers:
            clauses.append(("answers by itself", self._answers))
        return clauses

    async def _written(self) -> ClauseResult:
        events = events_of()
        ns = self.namespace("main")
        receipt = await self.store(ns, events)
        whole = receipt_of(self.as_sent(events))
        self.sent = {
            "events": receipt.events,
            "sha256": receipt.sha256,
            "as_given": receipt.sha256 == whole.sha256,
            "times": receipt.times,
            "roles": self.capabilities.roles,
            "truncated": receipt.truncated,
        }
        if receipt.events != len(events):
            return BROKEN, f"{len(events)} events were written and {receipt.events} taken"
        if receipt.truncated:
            return BROKEN, f"{receipt.truncated} short events were truncated"
        if receipt.sha256 != whole.sha256:
            return STATED, "sent in another order or form than given (receipt's hash); rows say ingest_altered"
        return KEPT, f"{receipt.events} events in order, times {receipt.times}"

    async def _found(self) -> ClauseResult:
        ns = self.namespace("found")
        events = events_of()
        await self.store(ns, events)
        hits = [await self.search_for(ns, event) for event in events]
        found = [event.id for event, result in zip(events, hits, strict=True) if has_event(result, event)]
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

    async def _honours_k(self) -> ClauseResult:
        ns = self.namespace("k")
        events = events_of()
        await self.store(ns, events)
        everything = " ".join(event.text for event in events)  # a question that all of them answer
        count = len((await self.search(ns, everything, _K, tuple(event.id for event in events))).hits)
        if count > _K:
            how = BROKEN if self.capabilities.honours_k else STATED
            return how, f"{count} hits came back for k = {_K}; the run cuts them and says over_limit"
        return KEPT, f"at most {_K} hits for k = {_K}"

    async def _keeps_time(self) -> ClauseResult:
        ns = self.namespace("time")
        events = events_of()
        by_id = {event.id: event for event in events}
        await self.store(ns, events)
        hits = [hit for event in events[-3:] for hit in (await self.search_for(ns, event)).hits]
        if not self.capabilities.sources:
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
            if (
                self.capabilities.timestamps
                and hit.sources
                and hit.time not in {by_id[name].time for name in hit.sources}
            ):
                return (
                    BROKEN,
                    f"the hit of {hit.sources[0]} has the time {hit.time}, written {by_id[hit.sources[0]].time}",
                )
            if hit.sources and not any(rare_words(by_id[name].text) & rare_words(hit.text) for name in hit.sources):
                return BROKEN, f"the hit of {hit.sources[0]} holds none of its words"
        if not any(hit.sources for hit in hits):
            return (BROKEN, "no hit names a source") if hits else (STATED, "nothing came back")
        if not self.capabilities.timestamps:
            return STATED, "takes no timestamps: times go into the text"
        return KEPT, "hits carry the time and the id of what they came from"

    async def _alike(self) -> ClauseResult:
        ns = self.namespace("alike")
        events = events_of()
        await self.store(ns, events)
        once, twice = [[hit.key for hit in (await self.search_for(ns, events[-1])).hits] for _ in range(2)]
        if once != twice:
            return STATED, "one question asked twice got other hits: repeat runs (run.replicate=0,1) to see the noise"
        return KEPT, "one question asked twice got the same hits"

    async def _isolates(self) -> ClauseResult:
        if not self.capabilities.namespaces:
            return STATED, "keeps one history at a time: runs give it one at a time"
        one, other = self.namespace("one"), self.namespace("other")
        mine, theirs = events_of("x")[:5], events_of("y")[5:]
        await self.store(one, mine)
        await self.store(other, theirs)
        for event in mine:
            if has_event(await self.search_for(other, event), event):
                return BROKEN, f"what was written to one namespace is found in another ({event.id})"
        return KEPT, "what was written to one namespace is not found in another"

    async def _resets(self) -> ClauseResult:
        ns = self.namespace("reset")
        events = events_of()
        await self.store(ns, events)
        await self.store(ns, events_of("n")[:1])
        left = [event.id for event in events[1:] if has_event(await self.search_for(ns, event), event)]
        return (BROKEN, f"after a reset {left[0]} is still found") if left else (KEPT, "a reset leaves nothing")

    async def _raises(self) -> ClauseResult:
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

    async def _survives(self) -> ClauseResult:
        if not self.capabilities.durable:
            return STATED, "keeps no source of truth apart from its index: a wipe takes everything"
        ns = self.namespace("wipe")
        events = events_of()
        receipt = await self.store(ns, events)
        before = {event.id for event in events if has_event(await self.search_for(ns, event), event)}
        await self.timed(self.system.drop_derived(ns), self.limits.write_s)
        await self.timed(self.system.settle(ns, receipt, self.limits.settle_s), self.limits.settle_s)
        after = {event.id for event in events if has_event(await self.search_for(ns, event), event)}
        if before - after:
            return BROKEN, f"says durable, and {len(before - after)} of {len(before)} events are gone after a wipe"
        return KEPT, f"all {len(after)} events are found again after a wipe"

    async def _erases(self) -> ClauseResult:
        ns = self.namespace("erase")
        events = events_of()
        await self.store(ns, events)
        await self.timed(self.system.erase(ns), self.limits.settle_s)
        try:
            left = [event.id for event in events if has_event(await self.search_for(ns, event), event)]
        except SystemFault:
            return KEPT, "an erased namespace is gone"
        return (
            (BROKEN, f"after an erase {left[0]} is still found") if left else (KEPT, "nothing is found after an erase")
        )

    async def _answers(self) -> ClauseResult:
        """Check the answers in words: none may come from another namespace or from one that was erased.

        A benchmark measures how good the answers are. Only what the system cannot know counts here.
        """
        events = events_of()
        mine = [events[at] for at, *_ in _QUESTIONS]
        written = {event.id for event in mine}
        own, other = self.namespace("answers"), self.namespace("answers-other")
        await self.store(own, mine)
        known = 0
        for _, question, word in _QUESTIONS:
            answer = await self.ask(own, question)
            known += word in answer.text.casefold()
            for source in (source for hit in answer.hits or () for source in hit.sources or ()):
                if source not in written:
                    return BROKEN, f"an answer cites '{source}', which was never written"
        if self.capabilities.namespaces:
            await self.store(other, [event for event in events if event.id not in written])
            if leaked := await self._leaked_word(other):
                return BROKEN, f"what was written to one namespace is answered from in another ({leaked})"
        await self.timed(self.system.erase(own), self.limits.settle_s)
        try:
            if left := await self._leaked_word(own):
                return BROKEN, f"after an erase it still answers from what was there ({left})"
        except SystemFault:
            pass  # an erased namespace is gone
        count = len(_QUESTIONS)
        if not known:
            return STATED, f"answers in words, and none of {count} answers holds what was written"
        return KEPT, f"answers in words, {known} of {count} with what was written, and only of its own namespace"

    async def _leaked_word(self, ns: str) -> str:
        """Return the first word that a namespace cannot know and answers with; empty when there is none."""
        for _, question, word in _QUESTIONS:
            if word in (await self.ask(ns, question)).text.casefold():
                return word
        return ""
