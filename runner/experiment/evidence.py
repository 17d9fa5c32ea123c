"""The raw events that hold an answer, recorded with every question: what a failure is held against later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from runner.safe import mask
from runner.score.lexical import spaced_tokens
from runner.system import MemorySystem, dated
from runner.types import Passage, Question, Scenario

log = logging.getLogger("runner")

_LOCATED: Final = 3  # events that hold the words of an answer, where the benchmark labels none
_SHORTEST: Final = 3  # characters of an answer that is looked for: "a" or "no" stands everywhere


@dataclass(frozen=True)
class StoredEvidence:
    """The events that hold an answer, the ids of those that the system holds (``None``: it cannot tell), its links."""

    evidence: tuple[Passage, ...]
    stored: tuple[str, ...] | None
    links: bool


class ScenarioEvidence:
    """One scenario's events, as evidence for its questions.

    Parameters
    ----------
    seconds
        How long the system may take to say what it holds.

    Attributes
    ----------
    known
        Ids of the events that were written; ``None`` for a corpus that was there already.
    """

    def __init__(self, scenario: Scenario, ns: str, system: MemorySystem, seconds: float) -> None:
        self._scenario, self._ns, self._system, self._seconds = scenario, ns, system, seconds
        self._silent = False
        self.known = None if scenario.existing else frozenset(event.id for event in scenario.events)

    async def stored(self, question: Question) -> StoredEvidence:
        """Return the events that hold the answer, and which of them any stored memory came from.

        Those that the benchmark labels, else the first few in which a gold answer stands word by word.
        """
        wanted = set(question.gold.evidence) or self._located(question)
        told = (event for event in self._scenario.events if event.id in wanted) if wanted else ()
        found = tuple(Passage(id=event.id, text=dated(event).text) for event in told)
        links = self._system.capabilities.links
        if not found:
            return StoredEvidence(found, None, links)
        held = await self._held([passage.id for passage in found])
        return StoredEvidence(found, None if held is None else tuple(at.id for at in found if at.id in held), links)

    async def _held(self, wanted: list[str]) -> frozenset[str] | None:
        """Return the ids that the system holds; ``None`` where it cannot tell, fails or is too slow.

        A note on a failure must not become a failure. A system that was too slow once is not asked again.
        """
        if self._silent:
            return None
        try:
            held = await asyncio.wait_for(self._system.holds(self._ns, wanted), self._seconds)
            return None if held is None else frozenset(wanted).intersection(_ids(held))
        except TimeoutError:
            self._silent = True
            log.warning("holds of %s: no answer within %g s (run.search_s); not asked again", self._ns, self._seconds)
        except Exception as error:
            log.warning("holds of %s failed: %s", self._ns, mask(str(error)), exc_info=True)
        return None

    @cached_property
    def _words(self) -> list[tuple[str, str]]:
        """Return the id and the normalised words of every event, made once per scenario."""
        return [(event.id, spaced_tokens(event.text)) for event in self._scenario.events]

    def _located(self, question: Question) -> set[str]:
        if question.gold.abstain:
            return set()
        golds = [gold for gold in map(spaced_tokens, question.gold.answers) if len(gold.strip()) >= _SHORTEST]
        found: set[str] = set()
        for name, words in self._words if golds else ():
            if any(gold in words for gold in golds):
                found.add(name)
                if len(found) == _LOCATED:
                    break
        return found


def _ids(held: object) -> Collection[str]:
    if not isinstance(held, frozenset | set | tuple | list):
        raise TypeError(f"a frozenset of event ids is returned, and not {type(held).__name__}")
    return held
