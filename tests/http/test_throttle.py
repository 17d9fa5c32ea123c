"""Adaptive concurrency: what a 429 does to the workers of an endpoint."""

from __future__ import annotations

import asyncio
import time

import pytest

from runner.http import Throttle, throttle_of


def never() -> float:
    return time.monotonic() + 60


async def entered(gate: Throttle, count: int) -> list[int]:
    return [await gate.enter(never) for _ in range(count)]


def test_limit_becomes_what_the_server_really_took() -> None:
    async def main() -> None:
        gate = Throttle(64)
        flights = await entered(gate, 64)
        for flight in flights[:28]:  # 28 of 64 sent back: 36 were taken
            gate.throttle(flight, 0.2)
            gate.leave()
        assert gate.limit == 36
        assert gate.in_flight == 36

    asyncio.run(main())


def test_one_flight_shrinks_by_half_at_most_and_the_next_goes_on() -> None:
    async def main() -> None:
        gate = Throttle(64)
        for flight in await entered(gate, 64):
            gate.throttle(flight, 0.0)
            gate.leave()
        assert gate.limit == 32
        gate.paused_until = 0.0
        for flight in await entered(gate, 32):
            gate.throttle(flight, 0.0)
            gate.leave()
        assert gate.limit == 16

    asyncio.run(main())


def test_limit_never_falls_under_one() -> None:
    async def main() -> None:
        gate = Throttle(2)
        for _ in range(5):
            gate.paused_until = 0.0
            flight = await gate.enter(never)
            gate.throttle(flight, 0.0)
            gate.leave()
        assert gate.limit == 1

    asyncio.run(main())


def test_rare_rejections_shrink_by_a_tenth_at_most() -> None:
    async def main() -> None:
        gate = Throttle(40)
        flights = await entered(gate, 40)
        for _ in range(1000):  # 20 rejections in 1000 good answers: a rate window, not a lack of room
            gate.success()
        for flight in flights[:20]:
            gate.throttle(flight, 0.0)
        assert gate.limit == 36

    asyncio.run(main())


def test_growth_waits_ten_times_the_pause_then_probes_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("runner.http.throttle.time.monotonic", lambda: now[0])

    async def main() -> None:
        gate = Throttle(8)
        for flight in (await entered(gate, 8))[:4]:
            gate.throttle(flight, 1.0)
            gate.leave()
        assert gate.limit == 4
        now[0] += 1.0 + 9.9  # the pause, and not yet ten times as long
        gate.success()
        assert gate.limit == 4
        now[0] += 0.2
        gate.success()
        assert gate.limit == 5
        gate.in_flight = 5  # saturated again; the probe held for an interval, so the next step is two
        now[0] += 10.1
        gate.success()
        assert gate.limit == 7
        gate.in_flight = 7
        gate.throttle(gate._flight, 1.0)  # a failed probe: one back, and twice the interval
        gate.leave()
        assert gate.limit == 6
        now[0] += 1.0 + 19.9
        gate.success()
        assert gate.limit == 6
        now[0] += 0.2
        gate.success()
        assert gate.limit == 7

    asyncio.run(main())


def test_an_unused_limit_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("runner.http.throttle.time.monotonic", lambda: now[0])

    async def main() -> None:
        gate = Throttle(8)
        for flight in (await entered(gate, 8))[:4]:
            gate.throttle(flight, 0.2)
            gate.leave()
        gate.leave()  # three of four places used
        now[0] += 100
        gate.success()
        assert gate.limit == 4

    asyncio.run(main())


def test_a_pause_holds_everyone_and_a_returned_call_goes_first() -> None:
    async def main() -> None:
        gate = Throttle(1)
        order: list[str] = []

        async def worker(name: str, first: bool) -> None:
            await gate.enter(never, first=first)
            order.append(name)
            gate.leave()

        flight = await gate.enter(never)
        gate.throttle(flight, 0.2)
        gate.leave()
        start = time.monotonic()
        queue = [asyncio.create_task(worker(name, name == "returned")) for name in ("a", "b", "returned")]
        await asyncio.gather(*queue)
        assert time.monotonic() - start >= 0.19
        assert order == ["returned", "a", "b"]

    asyncio.run(main())


def test_waiting_ends_at_the_deadline_and_a_cancelled_wait_leaks_no_place() -> None:
    async def main() -> None:
        gate = Throttle(1)
        await gate.enter(never)
        with pytest.raises(TimeoutError):
            await gate.enter(lambda: 0.0)
        waiting = asyncio.create_task(gate.enter(never))
        await asyncio.sleep(0)
        gate.leave()  # hands the place over …
        waiting.cancel()  # … to one that gives up in the same turn
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert gate.in_flight == 0
        await asyncio.wait_for(gate.enter(never), 1)

    asyncio.run(main())


def test_a_gate_belongs_to_an_endpoint_of_a_loop_and_takes_the_highest_ceiling() -> None:
    async def gates() -> tuple[Throttle, Throttle, Throttle]:
        return throttle_of("http://a", 4), throttle_of("http://a", 8), throttle_of("http://b", 4)

    one, again, other = asyncio.run(gates())
    assert one is again
    assert one.ceiling == one.limit == 8
    assert other is not one
    assert asyncio.run(gates())[0] is not one
