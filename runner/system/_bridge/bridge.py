"""The base of systems that run elsewhere: a process, a server, reached by what an arm's YAML says.

It keeps the part of the contract that no server can be trusted with. A namespace that was never written, or is erased,
is a fault before anything is asked; so is an event that is written twice. Only where the system keeps namespaces beyond
a run is one that this run never touched asked under its own name, and nothing done to it besides. What goes wrong
underneath is a :class:`BridgeError` and becomes the fault of the step, told with the arm's name. Nothing becomes an
empty list.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec.structs import replace
from pydantic import ConfigDict, Field

from runner.config import ArmConfig, Strict
from runner.errors import ConfigError, IngestError, NotSettled, RunnerError, SearchError, SystemFault
from runner.system import MemorySystem, Opening, Provenance, receipt_of
from runner.system._base.namespaces import new_ids
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.self_description import (
    CAREFUL,
    Declares,
    ResolvedDescription,
    SelfDescription,
    resolve_description,
)
from runner.system._bridge.value_types import NonEmpty
from runner.types import CAPABILITIES_UNDECLARED, Answer, Event, Query, Receipt, Retrieval

T = TypeVar("T")
log = logging.getLogger(__name__)


class BridgeSettings(Strict):
    """Settings that every bridge has."""

    declares: Declares = Declares()
    modes: Annotated[tuple[NonEmpty, ...], Field(min_length=1)] = ("default",)  # what `recall.mode` may be


class AnyKnobs(Strict):
    """Knobs of a system that only its own server knows; each is sent as the arm states it."""

    model_config = ConfigDict(extra="allow")


class Bridge(MemorySystem):
    """A system on the other side of a bridge.

    Subclasses write :meth:`_open` and one method per step, which raise :class:`BridgeError` on any failure.
    """

    Settings: ClassVar[type[Strict]] = BridgeSettings
    Knobs: ClassVar[type[Strict]] = AnyKnobs
    capabilities = CAREFUL  # of the class, before a server was asked
    told_at_open = True

    def __init__(self, arm: ArmConfig) -> None:
        modes = arm.settings.get("modes")
        if isinstance(modes, list | tuple) and modes and all(isinstance(mode, str) for mode in modes):
            self.modes = tuple(modes)
        super().__init__(arm)
        problems = self._problems()
        if problems:
            raise ConfigError(problems)
        self._written: dict[str, set[str] | None] = {}  # event ids by namespace; None: its reset has not succeeded
        self._gone: set[str] = set()
        self._notes: tuple[str, ...] = ()

    # --- what a bridge writes ---------------------------------------------------------------------------------------

    def _problems(self) -> list[str]:
        """Return a line for every setting that cannot work, by its key."""
        return []

    async def _open(self, opening: Opening) -> ResolvedDescription:
        raise NotImplementedError

    async def _reset(self, ns: str) -> None:
        raise NotImplementedError

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        """Store some events that follow each other, and return how many of their texts were cut."""
        raise NotImplementedError

    async def _settle(self, ns: str, deadline_s: float) -> None:
        """Wait until what was written can be found; here it can be at once."""

    async def _search(self, ns: str, query: Query) -> Retrieval:
        raise NotImplementedError

    async def _answer(self, ns: str, query: Query) -> Answer:
        raise NotImplementedError

    async def _holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        """Return those of these events that a stored memory came from; ``None``: a bridge cannot tell."""
        return None

    async def _drop_derived(self, ns: str) -> None:
        raise BridgeError("this arm declares no way to drop what is derived")

    async def _erase(self, ns: str) -> None:
        raise NotImplementedError

    async def _close(self) -> None:
        raise NotImplementedError

    def _batch(self) -> int:
        """Return the number of events of one write."""
        return 1

    def _sendable(self, event: Event) -> Event:
        """Return the event as the bridge can carry it; the receipt shows one that changes."""
        return event

    # --- the contract -----------------------------------------------------------------------------------------------

    async def open(self, opening: Opening) -> Provenance:
        self.require()
        try:
            settled = await self._open(opening)
        except BridgeError as trouble:
            await self._close()
            raise RunnerError(f"arm '{self.arm.name}' did not open: {trouble}") from None
        except BaseException:
            await self._close()
            raise
        self.capabilities = settled.capabilities
        if settled.undeclared:
            self._notes = (CAPABILITIES_UNDECLARED,)
            log.warning(
                "arm '%s': nobody declares its %s; capabilities count as absent and names as unknown until "
                "arm.settings.declares or the system itself says otherwise",
                self.arm.name,
                ", ".join(settled.undeclared),
            )
        return settled.provenance

    async def reset(self, ns: str) -> None:
        self._written[ns] = None
        self._gone.discard(ns)
        await self._step("reset", IngestError, self._reset(ns))
        self._written[ns] = set()

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        written = self._space(ns, IngestError)
        new_ids(written, events)
        sent = [self._sendable(event) for event in events]
        cut = 0
        for start in range(0, len(sent), self._batch()):
            batch = sent[start : start + self._batch()]
            cut += await self._step("write", IngestError, self._write(ns, batch))
            written.update(event.id for event in batch)
        receipt = receipt_of(sent, times="native" if self.capabilities.timestamps else "in_text")
        return Receipt(events=receipt.events, sha256=receipt.sha256, times=receipt.times, truncated=cut)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        self._space(ns, NotSettled)
        await self._step("settle", NotSettled, self._settle(ns, deadline_s))

    async def search(self, ns: str, query: Query) -> Retrieval:
        self._reach(ns)
        found = await self._step("search", SearchError, self._search(ns, query))
        return Retrieval(hits=found.hits, notes=(*found.notes, *self._notes), cached=found.cached)

    async def ask(self, ns: str, query: Query) -> Answer:
        if not self.capabilities.answers:
            raise NotImplementedError(f"arm '{self.arm.name}' declares no way to ask for an answer")
        self._reach(ns)
        answer = await self._step("ask", SearchError, self._answer(ns, query))
        return replace(answer, notes=(*answer.notes, *self._notes))

    async def holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        self._reach(ns)
        if ns not in self._written:  # there already: this run knows no event of it
            return None
        return await self._step("holds", SearchError, self._holds(ns, events))

    async def drop_derived(self, ns: str) -> None:
        self._space(ns, IngestError)
        await self._step("drop_derived", IngestError, self._drop_derived(ns))

    async def erase(self, ns: str) -> None:
        if ns not in self._written:
            return
        del self._written[ns]
        self._gone.add(ns)
        await self._step("erase", IngestError, self._erase(ns))

    async def close(self) -> None:
        self._written.clear()
        self._gone.clear()
        await self._close()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _space(self, ns: str, fault: type[SystemFault]) -> set[str]:
        written = self._written.get(ns)
        if written is None:
            raise fault(f"namespace '{ns}' was never reset or is erased; reset it and write to it first")
        return written

    def _reach(self, ns: str) -> None:
        """Refuse to ask a namespace that is neither of this run nor one that may be there already."""
        if ns in self._written or ns in self._gone or not self.capabilities.existing:
            self._space(ns, SearchError)

    async def _step(self, name: str, fault: type[SystemFault], call: Awaitable[T]) -> T:
        try:
            return await call
        except BridgeError as trouble:
            raise fault(f"{self.arm.name}: {name}: {trouble}") from None

    def _offers(self, name: str, otherwise: bool) -> bool:
        """Return whether the arm declares a capability; where it says nothing, what follows from how it is driven."""
        said: bool | None = getattr(self.settings.declares.capabilities, name)
        return otherwise if said is None else said

    def _settled(
        self,
        about: SelfDescription,
        *,
        code: str | None,
        given: Mapping[str, bool],
        extra: Mapping[str, Any],
        lacks: str,
    ) -> ResolvedDescription:
        """Return the capabilities and the provenance that count for the run.

        Parameters
        ----------
        lacks
            The name of the step ``drop_derived`` where the arm has none; a durable system needs it.

        Raises
        ------
        BridgeError
            When the system is durable and has no such step.
        """
        settled = resolve_description(self.settings.declares, about, code=code, given=given, extra=extra)
        if settled.capabilities.durable and lacks:
            raise BridgeError(f"it is declared durable and has no {lacks}, so that nobody can find out")
        return settled
