"""The description of a system behind a bridge: its own words, its arm's, and the names of what neither says.

Nothing is assumed in a system's favour. A capability that is not declared counts as absent, and a build or an embedder
that is not declared is ``unknown``; both are named in the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runner.config import Strict, did_you_mean
from runner.record.instrument import UNKNOWN
from runner.system import Capabilities, Provenance
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.value_types import NonEmpty

_LONGEST: Final = 200  # characters of a name


class DeclaredCapabilities(Strict):
    """Capabilities, as :class:`~runner.system.Capabilities` explains them; ``null``: not declared here."""

    timestamps: bool | None = None
    roles: bool | None = None
    namespaces: bool | None = None
    asynchronous: bool | None = None
    honours_k: bool | None = None
    sources: bool | None = None
    durable: bool | None = None
    ranked: bool | None = None
    answers: bool | None = None
    existing: bool | None = None
    links: bool | None = None


# What a system offers besides: one that says nothing of it is not asked for it, and nothing had to be assumed.
OFFERS: Final = ("answers", "existing", "links")

# What counts while nobody says otherwise; an index that may lag behind is the careful assumption.
CAREFUL: Final = Capabilities(
    timestamps=False,
    roles=False,
    namespaces=False,
    asynchronous=True,
    honours_k=False,
    sources=False,
    durable=False,
    ranked=False,
)


class Declares(Strict):
    """The arm's description of its system; it wins over the system's own."""

    build: NonEmpty | None = None
    embedder: NonEmpty | None = None  # "none" for a system without one
    reranker: NonEmpty | None = None
    index_revision: NonEmpty | None = None
    fake: bool | None = None  # its embeddings carry no meaning
    capabilities: DeclaredCapabilities = DeclaredCapabilities()


_NAMES: Final = ("build", "embedder", "reranker", "index_revision")


@dataclass(frozen=True)
class SelfDescription:
    """A system's description of itself: its form is checked, nothing more."""

    names: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, bool] = field(default_factory=dict)
    fake: bool | None = None

    @classmethod
    def parse(cls, answer: Mapping[str, Any]) -> SelfDescription:
        """Read the JSON of a probe; keys that are not of this protocol are the system's own.

        Raises
        ------
        BridgeError
            For a value of another type, and for a capability that does not exist.
        """
        names = {}
        for name in _NAMES:
            value = answer.get(name)
            if value is None:
                continue
            if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST:
                raise BridgeError(f"its {name} is not a text of at most {_LONGEST} characters")
            names[name] = value.strip()
        said = answer.get("capabilities", {})
        if not isinstance(said, Mapping):
            raise BridgeError("its capabilities are not an object of true and false")
        for name, value in said.items():
            if name not in DeclaredCapabilities.model_fields:
                known = DeclaredCapabilities.model_fields
                raise BridgeError(
                    f"it tells a capability '{str(name)[:40]}'{did_you_mean(str(name), known)}; there are "
                    f"{', '.join(known)}"
                )
            if not isinstance(value, bool):
                raise BridgeError(f"its capability '{name}' is neither true nor false")
        fake = answer.get("fake")
        if fake is not None and not isinstance(fake, bool):
            raise BridgeError("its 'fake' is neither true nor false")
        return cls(names, dict(said), fake)


@dataclass(frozen=True)
class ResolvedDescription:
    """The capabilities and the provenance that count, with the names of what nobody declared."""

    capabilities: Capabilities
    provenance: Provenance
    undeclared: tuple[str, ...]


def resolve_description(
    declares: Declares, told: SelfDescription, *, code: str | None, given: Mapping[str, bool], extra: Any
) -> ResolvedDescription:
    """Put together the arm's words, the system's and what is known without either.

    Parameters
    ----------
    code
        Which files it runs, where that is known. They stand beside the build that a system tells of itself, which its
        author may forget to raise; the arm's word for the build stands alone.
    given
        Capabilities that follow from how the arm drives the system, whatever it says.
    extra
        Facts for the record.
    """
    said = {**told.capabilities, **declares.capabilities.model_dump(exclude_none=True), **given}
    own = " ".join(part for part in (told.names.get("build"), code) if part)
    names = {**told.names, **({"build": own} if own else {})}
    names |= declares.model_dump(include=set(_NAMES), exclude_none=True)
    capabilities = Capabilities(
        **{name: said.get(name, getattr(CAREFUL, name)) for name in DeclaredCapabilities.model_fields}
    )
    undeclared = [name for name in DeclaredCapabilities.model_fields if name not in said and name not in OFFERS]
    undeclared += [name for name in ("build", "embedder") if name not in names]
    fake = declares.fake if declares.fake is not None else bool(told.fake)
    provenance = Provenance(
        build=names.get("build", UNKNOWN),
        embedder=names.get("embedder", UNKNOWN),
        reranker=names.get("reranker", "none"),
        index_revision=names.get("index_revision", "none"),
        fake=fake,
        extra={**extra, "undeclared": undeclared},
    )
    return ResolvedDescription(capabilities, provenance, tuple(undeclared))
