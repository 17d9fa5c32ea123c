"""The contract of a memory system: what a subclass of :class:`MemorySystem` declares and writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from runner.config import ArmConfig, Strict, checked
from runner.errors import ConfigError, MissingExtra
from runner.types import Answer, Completion, Event, Query, Receipt, Retrieval

if TYPE_CHECKING:
    from runner.llm import Model, Request
    from runner.llm.prices import Prices


@dataclass(frozen=True)
class Capabilities:
    """The abilities of a system. Those that it lacks are recorded with every run."""

    timestamps: bool = True  # takes an event's time natively; otherwise it goes into the text
    roles: bool = True  # takes who said it
    namespaces: bool = True  # isolates one scenario from another
    asynchronous: bool = False  # indexes after the write returns
    honours_k: bool = True
    sources: bool = True  # returns the ids of the events behind a hit
    durable: bool = False  # has a source of truth apart from its index
    answers: bool = False  # answers questions by itself (:meth:`MemorySystem.ask`)
    existing: bool = False  # keeps namespaces beyond a run, so that one that is there already can be searched
    links: bool = False  # follows links between its memories: a hop that it misses is a failure of its own
    reads_gold: bool = False  # the oracle control, and nothing else: `build` refuses any other
    ranked: bool = True  # hits come by relevance; otherwise their order tells nothing, and no metric may read it


@dataclass(frozen=True)
class Provenance:
    """The description that a system gives of itself when it opens: its rows of the instrument.

    ``build`` is what :func:`build_version` gives, or what a server says of itself. ``embedder`` and ``reranker`` name
    model and sha256 (or a declared revision), ``"none"`` when there is none, and exactly ``"unknown"`` when it is not
    known which weights answer. ``fake`` marks an embedder that carries no meaning.
    """

    build: str
    embedder: str = "none"
    reranker: str = "none"
    index_revision: str = "none"
    fake: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Opening:
    """The means that a run hands to a system: a cache folder and a way to ask a model, nothing about questions.

    A system that asks a model during a search awaits ``complete(model, request)`` from its :meth:`MemorySystem.search`:
    the run then journals the call, prices it, holds it to the budget and counts its usage. Without it the system calls
    ``model.complete(request)`` itself, and nobody counts.
    """

    cache_dir: Path | None = None  # None: keep caches in memory
    complete: Callable[[Model, Request], Awaitable[Completion]] | None = None
    prices: Prices | None = None  # None: the shipped list


@dataclass(frozen=True)
class Prepared:
    """The items that an embedded system made for newly written events: one per event, or none at all."""

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
    # Of the class, or of the instance where only its settings or its server can tell.
    capabilities: Capabilities = Capabilities()
    modes: tuple[str, ...] = ("default",)  # what `recall.mode` may be
    # Acts outside this process by what its arm says: a command, a server. A record made elsewhere is not resumed with
    # it before a person trusts the record.
    outside: ClassVar[bool] = True
    told_at_open: bool = False  # its capabilities are known only when it is open: a server, a command says them
    searches: int | None = None  # searches in flight that it takes; None: as many as come
    only_documents: bool = False  # keeps events of kind doc and nothing else

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
        key, _, problem = line.partition(": ")
        for section, model in (("arm.knobs", cls.Knobs), ("arm.settings", cls.Settings)):
            if problem.startswith("no such key") and key.rpartition(".")[0] == section:
                reads = ", ".join(model.model_fields) or f"no {section.removeprefix('arm.')}"
                return f"{line}: system '{arm.system}' does not read it; it reads {reads}"
        if line.startswith("arm.knobs.") and "is missing" in line:
            return f"{line}; state every knob: one that is off is sent off, never left out"
        return line

    @classmethod
    def inert(cls, harness: str) -> dict[str, str]:
        """Return the knobs that cannot change a retrieval in that harness, each with the reason."""
        return {}

    @classmethod
    def caveats(cls, harness: str) -> list[str]:
        """Return what a reader of results must know of this system in that harness, in one sentence each."""
        return []

    def missing(self) -> str | None:
        """Return the extra of this distribution that the arm needs and that is not installed; imports nothing."""
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
        """Return hits, best first, cut to ``query.k`` and ``query.max_chars`` (:func:`~runner.system.within` does it).

        A system that cannot keep to ``k`` says so in its capabilities (``honours_k``).

        Raises
        ------
        SearchError
            On any failure; an empty result means that nothing was found.
        """
        raise NotImplementedError

    async def ask(self, ns: str, query: Query) -> Answer:
        """Return the system's own answer to ``query.text``; called only where the capabilities say ``answers``.

        Raises
        ------
        SearchError
            On any failure. That the memory does not hold the answer is an answer, in the system's own words.
        """
        raise NotImplementedError

    async def holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        """Return those of these events that a stored memory came from; ``None`` when the system cannot tell.

        What tells a fact that was never kept from one that was not found.

        Raises
        ------
        SearchError
            When nothing was ever written to ``ns``, or it is erased.
        """
        return None

    async def drop_derived(self, ns: str) -> None:
        """Delete every artifact that can be rebuilt; what survives is what the system really owns.

        Asked only of a system whose capabilities say ``durable``; searches that follow must be answered from the
        source of truth, rebuilt as far as need be. A system without one is not asked: it has lost everything.
        """
        raise NotImplementedError

    async def erase(self, ns: str) -> None:
        """Leave nothing of ``ns``."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release what :meth:`open` took."""
