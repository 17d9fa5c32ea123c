"""A guard around a memory system: what it returns is whole, of the declared types, and cites events that exist.

Nothing that a system returns is believed to be what its method says. A wrong type is a fault of that question, told by
the place where it stands; it never reaches a metric, a reader or the record.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from runner.errors import IngestError, SearchError, SystemFault
from runner.record.usage import impossible
from runner.types import Answer, Hit, Receipt, Retrieval

T = TypeVar("T", Answer, Receipt, Retrieval)

_KEPT: Final = (bytes, bytearray, memoryview, datetime)  # not to be made texts of, which would hide them


def receipt(value: object) -> Receipt:
    """Return the receipt of a ``write``, checked.

    Raises
    ------
    IngestError
        Saying what came instead.
    """
    return _whole("write", value, Receipt, IngestError)


def retrieval(value: object, known: Collection[str] | None) -> Retrieval:
    """Return the result of a ``search``, checked.

    Parameters
    ----------
    known
        The events that were written; ``None`` for a corpus that was there already.

    Raises
    ------
    SearchError
        Saying what came instead.
    """
    if isinstance(value, Retrieval):
        _are_hits("search", value.hits)
    found = _whole("search", value, Retrieval, SearchError)
    _cite(found.hits, known)
    return found


def answer(value: object, known: Collection[str] | None) -> Answer:
    """Return the result of an ``ask``, checked.

    Raises
    ------
    SearchError
        Saying what came instead; for an empty answer, and for a use that cannot be.
    """
    if isinstance(value, Answer) and value.hits is not None:
        _are_hits("ask", value.hits)
    found = _whole("ask", value, Answer, SearchError)
    if not found.text.strip():
        raise SearchError("ask returned an empty answer; that nothing is known is to be said in words")
    wrong = impossible(found.usage) if found.usage is not None else None
    if wrong is not None:
        raise SearchError(f"ask returned a use of its models that cannot be: {wrong}")
    _cite(found.hits or (), known)
    return found


def _are_hits(step: str, hits: object) -> None:
    """A mapping with the right keys would pass for a hit."""
    if not isinstance(hits, tuple | list):
        raise SearchError(f"{step} must return hits as a tuple, and returned {type(hits).__name__}")
    for hit in hits:
        if not isinstance(hit, Hit):
            raise SearchError(f"hits must be of type Hit, and one is {type(hit).__name__}")
        cited: object = hit.sources
        if cited is not None and not isinstance(cited, tuple | list):
            kind = type(cited).__name__
            raise SearchError(f"hit '{hit.key}' has sources of type {kind}; they are a tuple of event ids")


def _whole(step: str, value: object, kind: type[T], fault: type[SystemFault]) -> T:
    if not isinstance(value, kind):
        raise fault(f"{step} must return {_a(kind)}, and returned {type(value).__name__}")
    try:
        return msgspec.convert(msgspec.to_builtins(value, builtin_types=_KEPT, enc_hook=_plain), kind)
    except (TypeError, ValueError, RecursionError) as error:  # of either
        what = str(error).replace("`", "'").replace("$.", "")
        raise fault(f"{step} returned {_a(kind)} with what cannot stand there: {what}") from None


def _plain(value: Any) -> Any:
    """Numbers of an array library, and texts of a class of their own, as what they are."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _cite(hits: Sequence[Hit], known: Collection[str] | None) -> None:
    """An invented source is a fault, never a miss."""
    if known is None:
        return
    for hit in hits:
        strange = next((source for source in hit.sources or () if source not in known), None)
        if strange is not None:
            raise SearchError(
                f"hit '{hit.key}' cites '{strange}', which is no event of this scenario; sources are the ids of the "
                f"events that were written"
            )


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
