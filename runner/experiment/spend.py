"""The budget of a run: what it may spend, and when it must stop."""

from __future__ import annotations

import asyncio

from runner.config import RunConfig
from runner.errors import ConfigError, Stopped
from runner.types import Usage


class Spend:
    """Calls and money of one run, those of earlier sessions included.

    A call is reserved before it is sent, at the price of its request and of the longest reply that it allows, so that
    the calls in flight cannot carry a run over its budget together. Where no price is known beforehand (a command
    or a memory that tells its cost afterwards) it is reserved at the average of its role so far, and the first call of
    a role goes alone.
    """

    def __init__(self, run: RunConfig) -> None:
        self.max_usd = run.max_usd
        self.max_calls = run.max_calls
        self.calls = 0
        self.usd = 0.0
        self._by_role: dict[str, tuple[int, float]] = {}  # calls and US dollars by role
        self._unforeseen: set[str] = set()  # roles whose first call is in flight, at no price that is known beforehand
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

    async def reserve(self, estimate: float | None, role: str = "") -> float:
        """Make room for one more call, waiting for calls in flight to turn out cheaper than they might have been.

        Returns
        -------
        float
            The reserved sum, in US dollars; :meth:`settle` gives it back.

        Raises
        ------
        Stopped
            When the budget is reached.
        """
        self._check_calls()
        if self.max_usd is not None:
            while estimate is None and role in self._unforeseen:
                await self._wait_for_a_call()
            while self.usd + self._reserved + self._expected(estimate, role) > self.max_usd:
                if not self._pending:
                    raise Stopped(
                        f"the budget of run.max_usd={self.max_usd:g} is reached: {self.usd:.4g} USD are spent "
                        f"and the next call may cost {self._expected(estimate, role):.4g}"
                    )
                await self._wait_for_a_call()
            self._check_calls()  # others may have been sent meanwhile
            if estimate is None and role not in self._by_role:
                self._unforeseen.add(role)
        expected = self._expected(estimate, role)
        self._reserved += expected
        self._pending += 1
        return expected

    def _check_calls(self) -> None:
        if self.max_calls is not None and self.calls + self._pending >= self.max_calls:
            raise Stopped(f"the budget of run.max_calls={self.max_calls} calls is reached")

    async def _wait_for_a_call(self) -> None:
        self._ended = self._ended or asyncio.get_running_loop().create_future()
        await asyncio.shield(self._ended)

    def settle(self, reserved: float, usage: Usage | None, role: str = "") -> Stopped | None:
        """End a reserved call, which cost ``usage`` or nothing; gives a reason to stop, if there is one."""
        self._pending -= 1
        self._unforeseen.discard(role)
        if self._ended is not None:
            self._ended.set_result(None)
            self._ended = None
        self._reserved = self._reserved - reserved if self._pending else 0.0
        if usage is None:
            return None
        self.count(usage, role)
        if self.max_usd is not None and usage.usd is None:
            if role == "ask":
                return Stopped(
                    "run.max_usd is set and the memory does not say what its answer cost (usage.usd), so that the "
                    "budget cannot be kept; have it say so, or bound run.max_calls instead"
                )
            return Stopped(
                "run.max_usd is set and a call came back without a price; add the served model to a price file "
                "(run.prices=FILE) or bound run.max_calls instead"
            )
        return None

    def count(self, usage: Usage, role: str = "") -> None:
        """Count a call that is paid."""
        self.calls += 1
        self.usd += usage.usd or 0.0
        calls, usd = self._by_role.get(role, (0, 0.0))
        self._by_role[role] = (calls + 1, usd + (usage.usd or 0.0))

    def _expected(self, estimate: float | None, role: str) -> float:
        if estimate is not None:
            return estimate
        calls, usd = self._by_role.get(role, (0, 0.0))
        return usd / calls if calls else 0.0
