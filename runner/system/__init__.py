"""The contract of a memory system, and the look-up by name.

To add an arm for a system that is here: one YAML in ``conf/arm/``. To add a system: ``runner/system/NAME.py`` with a
class that subclasses :class:`MemorySystem` and is bound to ``SYSTEM``. Nothing else: the module is imported on demand
from the validated name. ``tests/system/test_conformance.py`` runs against every system.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import runner
from runner import lookup
from runner.config import ArmConfig, Strict, checked
from runner.errors import (
    ConfigError,
    EndpointUnusable,
    IngestError,
    MissingExtra,
    NotSettled,
    RunnerError,
    SearchError,
    SystemFault,
    UsageError,
)
from runner.types import Event, Query, Receipt, Retrieval

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Capabilities:
    """What a system can do. What it cannot is recorded with every run, never papered over."""

    timestamps: bool = True  # takes an event's time natively; otherwise it goes into the text
    roles: bool = True  # takes who said it
    namespaces: bool = True  # isolates one scenario from another
    asynchronous: bool = False  # indexes after the write returns
    honours_k: bool = True
    sources: bool = True  # returns the ids of the events behind a hit
    durable: bool = False  # has a source of truth apart from its index
    reads_gold: bool = False  # the oracle control, and nothing else


@dataclass(frozen=True)
class Provenance:
    """What a system says of itself when it opens; the system-side rows of the instrument.

    ``embedder`` and ``reranker`` name model and sha256, ``"none"`` when there is none, ``"unknown"`` when the system
    does not tell. ``fake`` marks an embedder that carries no meaning.
    """

    build: str
    embedder: str = "none"
    reranker: str = "none"
    index_revision: str = "none"
    fake: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Opening:
    """What a run hands to a system: where caches live, and nothing about questions."""

    cache_dir: Path | None = None  # None: keep caches in memory


@dataclass(frozen=True)
class Prepared:
    """What an embedded system made for newly written events: one item an event, or none at all."""

    items: Sequence[Any] = ()
    computed: int = 0  # made now
    reused: int = 0  # found in a cache


class NoSettings(Strict):
    """A system without settings of its own."""


class NoKnobs(Strict):
    """A system without knobs."""


class NoIngest(Strict):
    """A system whose write side has no settings."""


class MemorySystem:
    """A memory system under test. One instance serves one run; ``ns`` keeps its scenarios apart.

    A failure is a typed exception (:class:`~runner.errors.SystemFault`), never an empty list. Every knob is stated by
    the arm: ``Knobs`` has no defaults, so that off is sent off and never left out. ``inert`` names knobs that change
    nothing in a given harness, with the reason.
    """

    Settings: ClassVar[type[Strict]] = NoSettings
    Knobs: ClassVar[type[Strict]] = NoKnobs
    Ingest: ClassVar[type[Strict]] = NoIngest
    capabilities: ClassVar[Capabilities] = Capabilities()
    modes: ClassVar[tuple[str, ...]] = ("default",)  # what `recall.mode` may be
    searches: ClassVar[int | None] = None  # searches in flight that it takes; None: as many as come

    def __init__(self, arm: ArmConfig) -> None:
        problems: list[str] = []
        if arm.recall.mode not in self.modes:
            known = ", ".join(self.modes)
            problems.append(f"arm.recall.mode: system '{arm.system}' has no mode '{arm.recall.mode}'; it has {known}")
        parts: list[Any] = []
        for model, values, prefix in (
            (self.Settings, arm.settings, "arm.settings."),
            (self.Knobs, arm.knobs, "arm.knobs."),
            (self.Ingest, arm.ingest, "arm.ingest."),
        ):
            try:
                parts.append(checked(model, values, prefix))
            except ConfigError as error:
                problems += [self._explain(line, arm) for line in error.problems]
        if problems:
            raise ConfigError(problems)
        self.arm = arm
        self.settings, self.knobs, self.ingest = parts

    @classmethod
    def _explain(cls, line: str, arm: ArmConfig) -> str:
        if line.startswith("arm.knobs.") and "no such key" in line:
            reads = ", ".join(cls.Knobs.model_fields) or "no knobs"
            return f"{line}: system '{arm.system}' does not read it; it reads {reads}"
        if line.startswith("arm.knobs.") and "is missing" in line:
            return f"{line}; state every knob: one that is off is sent off, never left out"
        return line

    @classmethod
    def inert(cls, harness: str) -> dict[str, str]:
        """Knobs that cannot change a retrieval in that harness, each with the reason."""
        return {}

    def missing(self) -> str | None:
        """Name of the extra of this distribution that the arm needs and that is not installed; imports nothing."""
        return None

    def require(self) -> None:
        """Refuse an arm whose optional dependency is absent.

        Raises
        ------
        MissingExtra
            Naming the arm and the extra to install.
        """
        extra = self.missing()
        if extra is not None:
            raise MissingExtra(f"arm '{self.arm.name}'", extra)

    async def open(self, opening: Opening) -> Provenance:
        """Load models, reach servers; refuse here if not ready.

        Raises
        ------
        MissingExtra
            When an optional dependency of the arm is absent (:meth:`missing` says so beforehand).
        """
        raise NotImplementedError

    async def reset(self, ns: str) -> None:
        """Make ``ns`` as empty as a fresh install."""
        raise NotImplementedError

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        """Store events, which come in time order.

        Raises
        ------
        IngestError
            When any event was not taken.
        """
        raise NotImplementedError

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        """Return when what was written can be found.

        Raises
        ------
        NotSettled
            When it cannot within the deadline.
        """

    async def search(self, ns: str, query: Query) -> Retrieval:
        """Return hits, best first.

        Raises
        ------
        SearchError
            On any failure; an empty result means that nothing was found.
        """
        raise NotImplementedError

    async def erase(self, ns: str) -> None:
        """Leave nothing of ``ns``."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release what :meth:`open` took."""


@dataclass
class _Namespace:
    """What one namespace holds: its events in the order written, and the index made of them when first needed."""

    events: list[Event] = field(default_factory=list)
    prepared: list[Any] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    store: Any = None
    ready: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class EmbeddedSystem(MemorySystem):
    """A synchronous in-process system: its methods run in threads of its own, behind their own limit.

    Subclasses write :meth:`index` (all events of a namespace to whatever a search needs) and :meth:`find`; one whose
    index holds something expensive for each event makes that in :meth:`prepare`, which runs once an event. Writes to
    one namespace append; the index is made when it is settled or first searched, and once.
    """

    threads: ClassVar[int] = 2
    searches: ClassVar[int | None] = threads

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._spaces: dict[str, _Namespace] = {}
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=arm.system)

    async def _threaded(self, fault: type[SystemFault], function: Callable[..., T], *args: Any) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)
        except (SystemFault, UsageError, EndpointUnusable):
            raise
        except RunnerError as error:
            raise fault(str(error)) from error
        except Exception as error:  # a failure becomes the status of a row, with its traceback in the log
            log.exception("%s failed", self.arm.system)
            reason = (str(error).splitlines() or [""])[0][:200]
            raise fault(f"system '{self.arm.system}' failed: {type(error).__name__}: {reason}") from error

    def prepare(self, events: Sequence[Event]) -> Prepared:
        """Make what is expensive for newly written events, before they are indexed."""
        return Prepared()

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Any:
        """Build the store of one namespace from all its events, in the order written."""
        raise NotImplementedError

    def find(self, store: Any, query: Query) -> Retrieval:
        """Search one store."""
        raise NotImplementedError

    async def open(self, opening: Opening) -> Provenance:
        self.require()
        return Provenance(build=build_version())

    async def reset(self, ns: str) -> None:
        self._spaces[ns] = _Namespace()

    async def erase(self, ns: str) -> None:
        self._spaces.pop(ns, None)

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        space = self._spaces.setdefault(ns, _Namespace())
        async with space.lock:
            ids = [event.id for event in events]
            fresh = set(ids)
            if len(fresh) != len(ids) or not fresh.isdisjoint(space.ids):
                again = next(name for at, name in enumerate(ids) if name in space.ids or name in ids[:at])
                raise IngestError(f"event '{again}' was written twice; event ids are unique within a scenario")
            prepared = await self._threaded(IngestError, self.prepare, events)
            space.events += events
            space.prepared += prepared.items
            space.ids |= fresh
            space.ready = False
        return receipt_of(events, computed=prepared.computed, reused=prepared.reused)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        space = self._spaces.get(ns)
        if space is None:
            raise NotSettled(f"nothing was written to namespace '{ns}'; write before settling")
        await self._indexed(space, IngestError)

    async def search(self, ns: str, query: Query) -> Retrieval:
        space = self._spaces.get(ns)
        if space is None:
            raise SearchError(f"namespace '{ns}' was never written or is erased; write to it before searching")
        if not space.events:
            return Retrieval()
        store = await self._indexed(space, SearchError)
        return await self._threaded(SearchError, self.find, store, query)

    async def _indexed(self, space: _Namespace, fault: type[SystemFault]) -> Any:
        async with space.lock:
            if not space.ready and space.events:
                space.store = await self._threaded(fault, self.index, tuple(space.events), tuple(space.prepared))
                space.ready = True
            return space.store

    async def close(self) -> None:
        self._spaces.clear()
        self._pool.shutdown(wait=True)


def spoken(event: Event) -> str:
    """An event as one line of prose: who, then what. The text that every embedded system indexes and returns."""
    return f"{event.actor}: {event.text}" if event.actor else event.text


def receipt_of(events: Sequence[Event], *, times: str = "native", computed: int = 0, reused: int = 0) -> Receipt:
    """Receipt of events that were sent whole and in order."""
    sha = hashlib.sha256()
    for event in events:
        stamp = event.time.isoformat() if event.time else ""
        for part in (event.id, stamp, event.actor, event.text):
            sha.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return Receipt(events=len(events), sha256=sha.hexdigest(), times=times, computed=computed, reused=reused)


def build_version() -> str:
    """What an embedded system gives as its build: this distribution's own version."""
    return f"agent-memory-runner {runner.__version__}"


def names() -> list[str]:
    """Every system by name, those of the user's own folders included. Imports nothing."""
    return lookup.names(__path__)


def find(name: str) -> type[MemorySystem]:
    """The system class of that name.

    Raises
    ------
    ConfigError
        When there is no such system; the message lists those that exist.
    """
    return lookup.find(sys.modules[__name__], name, MemorySystem, "SYSTEM", "arm.system")


def build(arm: ArmConfig) -> MemorySystem:
    """The system that an arm names, its settings and knobs checked."""
    return find(arm.system)(arm)
