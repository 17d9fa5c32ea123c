"""What a run may spend, and when it must stop."""

from __future__ import annotations

import asyncio

from runner.config import RunConfig
from runner.errors import ConfigError, Stopped
from runner.types import Usage


class Spend:
    """Calls and money of one run, those of earlier sittings included.

    A call is reserved before it is sent, at the price of its request and of the longest reply that it allows, so that
    the calls in flight cannot carry a run over its budget together. Where no price is known beforehand (a command
    that tells its cost afterwards) it is reserved at the average so far: the first ones in flight are not foreseen.
    """

    def __init__(self, run: RunConfig) -> None:
        self.max_usd = run.max_usd
        self.max_calls = run.max_calls
        self.calls = 0
        self.usd = 0.0
        self._pending = 0
        self._reserved = 0.0
        self._ended: asyncio.Future[None] | None = None  # of whoever waits for a call in flight to end

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

    async def reserve(self, estimate: float | None) -> float:
        """Make room for one more call, waiting for calls in flight to turn out cheaper than they might have been.

        Returns
        -------
        float
            What was reserved, in US dollars; :meth:`settle` gives it back.

        Raises
        ------
        Stopped
            When the budget is reached.
        """
        if self.max_calls is not None and self.calls + self._pending >= self.max_calls:
            raise Stopped(f"the budget of run.max_calls={self.max_calls} calls is reached")
        expected = self._expected(estimate)
        if self.max_usd is not None:
            while self.usd + self._reserved + expected > self.max_usd:
                if not self._pending:
                    raise Stopped(
                        f"the budget of run.max_usd={self.max_usd:g} is reached: {self.usd:.4g} USD are spent "
                        f"and the next call may cost {expected:.4g}"
                    )
                self._ended = self._ended or asyncio.get_running_loop().create_future()
                await asyncio.shield(self._ended)
        self._reserved += expected
        self._pending += 1
        return expected

    def settle(self, reserved: float, usage: Usage | None) -> Stopped | None:
        """End a reserved call, which cost ``usage`` or nothing; gives a reason to stop, if there is one."""
        self._pending -= 1
        if self._ended is not None:
            self._ended.set_result(None)
            self._ended = None
        self._reserved = self._reserved - reserved if self._pending else 0.0
        if usage is None:
            return None
        self.count(usage)
        if self.max_usd is not None and usage.usd is None:
            return Stopped(
                "run.max_usd is set and a call came back without a price; add the served model to a price file "
                "(run.prices=FILE) or bound run.max_calls instead"
            )
        return None

    def count(self, usage: Usage) -> None:
        """Count a call that is paid."""
        self.calls += 1
        self.usd += usage.usd or 0.0

    def _expected(self, estimate: float | None) -> float:
        if estimate is not None:
            return estimate
        return self.usd / self.calls if self.calls else 0.0
