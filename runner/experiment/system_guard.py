"""A guard around a memory system: what it returns is whole, of the declared types, and cites events that exist.

A system's type annotations are not trusted. A wrong type is a fault of that question, named by its place; it never
reaches a metric, a reader or the record.
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
    return _converted("write", value, Receipt, IngestError)


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
        _check_hits("search", value.hits)
    found = _converted("search", value, Retrieval, SearchError)
    _check_sources(found.hits, known)
    return found


def answer(value: object, known: Collection[str] | None) -> Answer:
    """Return the result of an ``ask``, checked.

    Raises
    ------
    SearchError
        Saying what came instead; for an empty answer, and for a use that cannot be.
    """
    if isinstance(value, Answer) and value.hits is not None:
        _check_hits("ask", value.hits)
    found = _converted("ask", value, Answer, SearchError)
    if not found.text.strip():
        raise SearchError("ask returned an empty answer; that nothing is known is to be said in words")
    wrong = impossible(found.usage) if found.usage is not None else None
    if wrong is not None:
        raise SearchError(f"ask returned a use of its models that cannot be: {wrong}")
    _check_sources(found.hits or (), known)
    return found


def _check_hits(step: str, hits: object) -> None:
    """Refuse what is not a tuple of hits; a mapping with the right keys would pass for a hit later."""
    if not isinstance(hits, tuple | list):
        raise SearchError(f"{step} must return hits as a tuple, and returned {type(hits).__name__}")
    for hit in hits:
        if not isinstance(hit, Hit):
            raise SearchError(f"hits must be of type Hit, and one is {type(hit).__name__}")
        cited: object = hit.sources
        if cited is not None and not isinstance(cited, tuple | list):
            kind = type(cited).__name__
            raise SearchError(f"hit '{hit.key}' has sources of type {kind}; they are a tuple of event ids")


def _converted(step: str, value: object, kind: type[T], fault: type[SystemFault]) -> T:
    if not isinstance(value, kind):
        raise fault(f"{step} must return {_with_article(kind)}, and returned {type(value).__name__}")
    try:
        return msgspec.convert(msgspec.to_builtins(value, builtin_types=_KEPT, enc_hook=_plain), kind)
    except (TypeError, ValueError, RecursionError) as error:  # of either
        what = str(error).replace("`", "'").replace("$.", "")
        raise fault(f"{step} returned {_with_article(kind)} with what cannot stand there: {what}") from None


def _plain(value: Any) -> Any:
    """Convert numbers of an array library, and subclasses of str, to plain values."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _check_sources(hits: Sequence[Hit], known: Collection[str] | None) -> None:
    """Refuse a source that was never written: it is a fault, not a miss."""
    if known is None:
        return
    for hit in hits:
        strange = next((source for source in hit.sources or () if source not in known), None)
        if strange is not None:
            raise SearchError(
                f"hit '{hit.key}' cites '{strange}', which is no event of this scenario; sources are the ids of the "
                f"events that were written"
            )


def _with_article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
