"""Sums of the tokens, money and time that the stages of a run used."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from runner.types import Usage

# Larger counts are refused as damage: sums of a run stay finite, and exact in the numbers of any JSON reader.
MOST_TOKENS: Final = 10**12  # of one call
MOST_USD: Final = 1e6


def add(total: Usage | None, usage: Usage) -> Usage:
    """Return the sum of two stages; unknown money stays unknown, an estimate taints the sum."""
    if total is None:
        return usage
    usd = None if total.usd is None or usage.usd is None else total.usd + usage.usd
    return Usage(
        input_tokens=total.input_tokens + usage.input_tokens,
        output_tokens=total.output_tokens + usage.output_tokens,
        cached_tokens=total.cached_tokens + usage.cached_tokens,
        usd=usd,
        calls=total.calls + usage.calls,
        seconds=total.seconds + usage.seconds,
        measured=total.measured and usage.measured,
    )


def by_stage(used: Iterable[tuple[str, Usage]]) -> dict[str, Usage]:
    """Return the use per stage from pairs of a stage and its use, in the order in which stages first appear."""
    total: dict[str, Usage] = {}
    for stage, usage in used:
        total[stage] = add(total.get(stage), usage)
    return total


def impossible(usage: Usage) -> str | None:
    """Name the figure of a reported use that cannot be; ``None`` where all can."""
    for name in ("input_tokens", "output_tokens", "cached_tokens", "calls"):
        count = getattr(usage, name)
        if not 0 <= count <= MOST_TOKENS:
            return f"{name} is {_short(count)}"
    if usage.usd is not None and not (math.isfinite(usage.usd) and 0 <= usage.usd <= MOST_USD):
        return f"usd is {usage.usd:g}"
    return None


def _short(count: int) -> str:
    text = str(count)
    return text if len(text) <= 20 else f"{text[:20]}…"
