"""The recall budget, applied in one place to every system alike, and the context that a reader sees."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from runner.system import line_of
from runner.types import CUT_HIT, OVER_CHARS, OVER_LIMIT, Hit


@dataclass(frozen=True)
class Context:
    """The part of a retrieval within the budget.

    ``hits`` are the ones that a reader sees, in the system's order; ``text`` is what it reads; ``flags`` tell what the
    budget cut.
    """

    hits: tuple[Hit, ...] = ()
    text: str = ""
    flags: tuple[str, ...] = ()


def cut_to_budget(hits: Sequence[Hit], limit: int | None, max_chars: int | None) -> Context:
    """Cut a retrieval to the arm's budget.

    Hits are kept whole, in the system's order, until the next one would exceed ``max_chars`` characters of context
    (newlines between hits included). Only a first hit that is too long on its own is cut, and flagged. Hits beyond
    ``limit`` are dropped and flagged: every arm is held to the same budget, whether or not it honours it by itself.
    """
    flags = []
    if limit is not None and len(hits) > limit:
        hits = hits[:limit]
        flags.append(OVER_LIMIT)
    kept: list[Hit] = []
    lines: list[str] = []
    used = 0
    for hit in hits:
        text = line_of(hit)
        cost = len(text) + (1 if lines else 0)
        if max_chars is not None and used + cost > max_chars:
            if not kept:
                kept.append(hit)
                lines.append(text[:max_chars])
                flags.append(CUT_HIT)
            flags.append(OVER_CHARS)
            break
        kept.append(hit)
        lines.append(text)
        used += cost
    return Context(tuple(kept), "\n".join(lines), tuple(flags))


def fingerprint(parts: Sequence[str]) -> str:
    """Return a short digest of ordered strings: equal digests mean the same keys in one order, or the same text."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()[:16]
