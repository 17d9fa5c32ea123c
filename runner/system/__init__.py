"""The contract of a memory system, and the look-up by name.

To add an arm for a system that is here: one YAML in ``conf/arm/``. To add a system: ``runner/system/NAME.py`` with a
class that subclasses :class:`MemorySystem` and is bound to ``SYSTEM``. Nothing else: the module is imported on demand
from the validated name. ``tests/system/test_conformance.py`` runs against every system.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from runner.config import ArmConfig, Strict, checked
from runner.errors import ConfigError
from runner.types import Event, Query, Receipt, Retrieval

T = TypeVar("T")


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

    def __init__(self, arm: ArmConfig) -> None:
        problems: list[str] = []
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

    async def open(self, opening: Opening) -> Provenance:
        """Load models, reach servers; refuse here if not ready."""
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


class EmbeddedSystem(MemorySystem):
    """A synchronous in-process system: its methods run in threads of its own, behind their own limit.

    Subclasses write :meth:`index` (events to whatever a search needs) and :meth:`find`.
    """

    threads: ClassVar[int] = 2

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self._stores: dict[str, Any] = {}
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=arm.system)

    async def _threaded(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    def index(self, events: Sequence[Event]) -> tuple[Any, Receipt]:
        """Build the store of one namespace."""
        raise NotImplementedError

    def find(self, store: Any, query: Query) -> Retrieval:
        """Search one store."""
        raise NotImplementedError

    async def reset(self, ns: str) -> None:
        self._stores.pop(ns, None)

    async def erase(self, ns: str) -> None:
        self._stores.pop(ns, None)

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        store, receipt = await self._threaded(self.index, events)
        self._stores[ns] = store
        return receipt

    async def search(self, ns: str, query: Query) -> Retrieval:
        return await self._threaded(self.find, self._stores[ns], query)

    async def close(self) -> None:
        self._stores.clear()
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


def find(name: str) -> type[MemorySystem]:
    """The system class of that name.

    Raises
    ------
    ConfigError
        When no module of that name exists.
    """
    module = f"{__name__}.{name}"
    if importlib.util.find_spec(module) is None:
        raise ConfigError([f"arm.system: no system '{name}'"])
    system: type[MemorySystem] = importlib.import_module(module).SYSTEM
    return system


def build(arm: ArmConfig) -> MemorySystem:
    """The system that an arm names, its settings and knobs checked."""
    return find(arm.system)(arm)
