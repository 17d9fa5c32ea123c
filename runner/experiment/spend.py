"""What a run may spend, and when it must stop."""

from __future__ import annotations

from runner.config import RunConfig
from runner.errors import ConfigError, Stopped
from runner.types import Usage


class Spend:
    """Calls and money of one run, those of earlier sittings included.

    A call is reserved before it is sent, at the average price so far, so that the calls in flight cannot carry a run
    over its budget together.
    """

    def __init__(self, run: RunConfig) -> None:
        self.max_usd = run.max_usd
        self.max_calls = run.max_calls
        self.calls = 0
        self.usd = 0.0
        self.unpriced = 0  # calls whose price is unknown
        self._pending = 0

    def check_prices(self, unknown: list[str]) -> None:
        """Refuse a money budget that cannot be kept.

        Raises
        ------
        ConfigError
            When ``run.max_usd`` is set and a model has no price.
        """
        if self.max_usd is not None and unknown:
            raise ConfigError(
                [
                    f"run.max_usd: no price is known for {', '.join(unknown)}, so the budget could not be kept; "
                    f"add it to a price file (run.prices=FILE) or bound run.max_calls instead"
                ]
            )

    def reserve(self) -> None:
        """Make room for one more call.

        Raises
        ------
        Stopped
            When the budget is reached.
        """
        if self.max_calls is not None and self.calls + self._pending >= self.max_calls:
            raise Stopped(f"the budget of run.max_calls={self.max_calls} calls is reached")
        if self.max_usd is not None:
            average = self.usd / self.calls if self.calls else 0.0
            if self.usd + average * (self._pending + 1) > self.max_usd:
                raise Stopped(f"the budget of run.max_usd={self.max_usd:g} is reached (spent {self.usd:.4f} USD)")
        self._pending += 1

    def settle(self, usage: Usage | None) -> None:
        """A reserved call ended; ``usage`` is ``None`` when it failed."""
        self._pending -= 1
        if usage is not None:
            self.count(usage)

    def count(self, usage: Usage) -> None:
        """Count a call that is paid."""
        self.calls += 1
        if usage.usd is None:
            self.unpriced += 1
        else:
            self.usd += usage.usd
