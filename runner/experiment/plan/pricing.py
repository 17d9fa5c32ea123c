"""The calls of a planned job, priced before any is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from runner.config import ModelConfig
from runner.errors import ConfigError
from runner.llm import override_warning, require
from runner.llm.prices import Prices

VERDICT_TOKENS: Final = 60  # of a judge's reply
CHARS_PER_TOKEN: Final = 4
_NEVER_CALLED: Final = ("fake", "ask", "rule")  # providers that no model is asked for


@dataclass(frozen=True)
class Stage:
    """The calls of one model: how many, and the tokens of all of them."""

    model: ModelConfig
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Cost:
    """The sum over stages. ``usd`` is at list price; ``None`` where a price is unknown."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


def price(stages: Iterable[Stage], prices: Prices) -> Cost:
    """Sum up the calls of several stages. A fake model and a rule are never called and cost nothing.

    The price of a command is unknown: it tells its cost afterwards.
    """
    total = Cost()
    for stage in stages:
        model = stage.model
        if model.provider in _NEVER_CALLED or not stage.calls:
            continue
        known = model.provider == "openai"
        usd = prices.usd(model.model, stage.input_tokens, stage.output_tokens, 0) if known else None
        total = Cost(
            total.calls + stage.calls,
            total.input_tokens + stage.input_tokens,
            total.output_tokens + stage.output_tokens,
            None if total.usd is None or usd is None else total.usd + usd,
        )
    return total


def model_warnings(models: Sequence[ModelConfig]) -> list[str]:
    """Return what a person must know of these models before a run: overrides, and what they lack."""
    warnings = [warning for warning in map(override_warning, models) if warning]
    for model in models:
        try:
            require(model)
        except ConfigError as error:
            warnings.append(f"this would stop before its first call: {error}")
    return warnings
