"""The clause about a memory system that answers questions by itself."""

from __future__ import annotations

from typing import Final

from runner.errors import SystemFault
from runner.experiment.conformance.driver import BROKEN, KEPT, STATED, Contract, Stands, events_of

# An event by its place, a question about it, and a word of it that nobody says who was not told.
_ASKED: Final = (
    (4, "What is the name of the animal that escaped from the garden?", "euclid"),
    (7, "Which bulbs were planted along the north fence?", "saffron"),
    (8, "What did the auction sell to a dentist?", "sextant"),
)


async def answers(contract: Contract) -> Stands:
    """An answer in words, of nothing but its own namespace, and of nothing once that is erased.

    How good its answers are is for a benchmark: here it counts only what it cannot know.
    """
    events = events_of()
    told = [event for event in events if event.id in {events[at].id for at, *_ in _ASKED}]
    own, other = contract.space("answers"), contract.space("answers-other")
    await contract.store(own, told)
    known = 0
    for _, question, word in _ASKED:
        answer = await contract.ask(own, question)
        known += word in answer.text.casefold()
        for source in (source for hit in answer.hits or () for source in hit.sources or ()):
            if source not in {event.id for event in told}:
                return BROKEN, f"an answer cites '{source}', which was never written"
    if contract.can.namespaces:
        await contract.store(other, [event for event in events if event not in told])
        if leaked := await _said(contract, other):
            return BROKEN, f"what was written to one namespace is answered from in another ({leaked})"
    await contract.timed(contract.system.erase(own), contract.limits.settle_s)
    try:
        if left := await _said(contract, own):
            return BROKEN, f"after an erase it still answers from what was there ({left})"
    except SystemFault:
        pass  # an erased namespace is gone
    count = len(_ASKED)
    if not known:
        return STATED, f"answers in words, and none of {count} answers holds what was written"
    return KEPT, f"answers in words, {known} of {count} with what was written, and only of its own namespace"


async def _said(contract: Contract, ns: str) -> str:
    """The first word that a namespace cannot know and answers with; empty: none."""
    for _, question, word in _ASKED:
        if word in (await contract.ask(ns, question)).text.casefold():
            return word
    return ""
