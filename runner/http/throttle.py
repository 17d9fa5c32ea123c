"""Admission to one endpoint: adaptive concurrency shared by every worker.

A 429 pauses every worker of the endpoint and shrinks the number in flight to what the server really took. The way
back is slow on purpose. A probe that fails costs everyone a pause, so the time between probes is ten times the last
pause: probing then wastes at most about a tenth of the time. A probe that succeeds doubles the next step, one that
fails doubles the time to the next (congestion avoidance as in TCP: Chiu and Jain 1989, additive increase and
multiplicative decrease, one decrease per flight).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from weakref import WeakKeyDictionary

# A rejection is common when this share of the requests since the last congestion was rejected. Rare rejections are
# those of a rate window; they shrink the limit by a tenth at most, common ones by a half at most.
_COMMON = 0.05
_RARE_FLOOR = 0.9
_COMMON_FLOOR = 0.5
_PROBE_AFTER = 10.0  # × the pause
_PROBE_MIN_S = 2.0
_PROBE_MAX_S = 120.0


class Throttle:
    """Admission to one endpoint within one event loop.

    Attributes
    ----------
    ceiling
        Most requests in flight, ever.
    limit
        Most requests in flight now.
    in_flight
        Requests admitted and not yet left.
    succeeded
        Whether the endpoint ever answered well.
    last_success
        ``time.monotonic`` seconds of the last good answer, 0 before the first.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = ceiling
        self.in_flight = 0
        self.succeeded = False
        self.last_success = 0.0
        self.paused_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._flight = 0  # counts congestions; an answer to a request of an older flight is no news
        self._before = 0  # in flight when the current congestion began
        self._rejected = 0  # in the current congestion
        self._accepted = 0  # good answers since the current congestion began
        self._accepted_before = 0  # the same, between the congestion before and the current one
        self._floor = 1
        self._step = 1
        self._probed = False  # the limit has grown since the last congestion
        self._failed_probes = 0
        self._grow_at = 0.0
        self._interval = _PROBE_MIN_S

    def raise_ceiling(self, ceiling: int) -> None:
        """Let more in flight; an untouched limit follows, a shrunken one stays."""
        if ceiling > self.ceiling:
            if self.limit == self.ceiling:
                self.limit = ceiling
            self.ceiling = ceiling

    async def enter(self, expires: Callable[[], float], *, first: bool = False) -> int:
        """Wait for a place, and return the flight that the request belongs to.

        Parameters
        ----------
        expires
            Latest ``time.monotonic`` second to wait until; asked again each time it is reached, so that it may move.
        first
            Queue before the others: a request that was sent back keeps its turn.

        Raises
        ------
        TimeoutError
            When ``expires()`` has passed.
        """
        if not self._waiting and self.in_flight < self.limit and self._pause() <= 0:
            self.in_flight += 1
            return self._flight
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft(place)
        else:
            self._waiting.append(place)
        self._wake()
        try:
            while not place.done():
                left = expires() - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                await asyncio.wait((place,), timeout=left)
        except BaseException:  # cancelled, or out of time
            if place.done() and not place.cancelled():
                self.in_flight -= 1  # the place was given while this call gave up
            place.cancel()
            self._wake()
            raise
        return self._flight

    def leave(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        if self._waiting:
            self._wake()

    def success(self) -> None:
        """Count a good answer; call before :meth:`leave`."""
        self.succeeded = True
        self._accepted += 1
        now = self.last_success = time.monotonic()
        # Growing what is not used would be no probe.
        if self.limit < self.ceiling and now >= self._grow_at and self.in_flight >= self.limit:
            if self._probed:  # the last step held for a whole interval
                self._failed_probes = 0
                self._step *= 2
            self.limit = min(self.ceiling, self.limit + self._step)
            self._probed = True
            self._grow_at = now + self._interval

    def throttle(self, flight: int, wait: float) -> None:
        """Count a 429: pause everyone for ``wait`` seconds and shrink; call before :meth:`leave`."""
        now = time.monotonic()
        self.paused_until = max(self.paused_until, now + wait)
        if flight == self._flight:
            self._congestion(wait)
        if flight >= self._flight - 1:
            self._rejected += 1
            if self._rejected > _COMMON * self._accepted_before:
                self._floor = max(1, int(self._before * _COMMON_FLOOR))
            self.limit = max(1, min(self.limit, max(self._floor, self._before - self._rejected)))
        self._grow_at = self.paused_until + self._interval

    def _congestion(self, wait: float) -> None:
        self._flight += 1
        self._before = self.in_flight
        self._accepted_before, self._accepted = self._accepted, 0
        self._rejected = 0
        self._floor = max(1, int(self._before * _RARE_FLOOR))
        self._failed_probes = self._failed_probes + 1 if self._probed else 0
        self._probed = False
        self._step = 1
        base = min(max(_PROBE_AFTER * wait, _PROBE_MIN_S), _PROBE_MAX_S)
        self._interval = min(base * 2.0**self._failed_probes, max(base, _PROBE_MAX_S))

    def _pause(self) -> float:
        """Seconds of pause left; 0 or less when none."""
        return self.paused_until - time.monotonic() if self.paused_until else 0.0

    def _wake(self) -> None:
        left = self._pause()
        if left > 0:
            if self._waiting and self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(left, self._resume)
            return
        while self._waiting and self.in_flight < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _resume(self) -> None:
        self._timer = None
        self._wake()


_throttles: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Throttle]] = WeakKeyDictionary()


def throttle_of(endpoint: str, ceiling: int) -> Throttle:
    """Return the throttle of an endpoint, one per event loop; the highest ceiling asked for counts."""
    throttles = _throttles.setdefault(asyncio.get_running_loop(), {})
    throttle = throttles.get(endpoint)
    if throttle is None:
        throttle = throttles[endpoint] = Throttle(ceiling)
    throttle.raise_ceiling(ceiling)
    return throttle
