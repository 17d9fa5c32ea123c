"""Sums of what the stages of a run used."""

from __future__ import annotations

from runner.types import Usage


def add(total: Usage | None, usage: Usage) -> Usage:
    """Sum of two stages; unknown money stays unknown, an estimate taints the sum."""
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
