"""The policy over a real server, through httpx2 as a memory system uses it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from runner.http import HttpFault, Policy, Reply, Throttle, call, retry_after, start_of
from tests.support.servers import Stub

QUICK = Policy(attempts=3, timeout_s=2, deadline_s=5, backoff_s=0.02)


def through(stub: Stub, policy: Policy = QUICK, workers: int = 1, ceiling: int = 64) -> list[Any]:
    async def main() -> list[Any]:
        gate = Throttle(ceiling)
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(limits=limits, timeout=None, trust_env=False) as client:

            async def send() -> Reply:
                answer = await client.post(f"{stub.url}/x", json={"model": "m"})
                return Reply(answer.status_code, answer.headers, answer.content)

            calls: list[Coroutine[Any, Any, Reply]] = [call(send, gate, policy) for _ in range(workers)]
            return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(main())


def test_5xx_is_tried_until_attempts_requests_are_sent() -> None:
    with Stub(always="503", error_body="overloaded\nsk-abcdefghijklmnopqrstuvwx") as stub:
        start = time.monotonic()
        (fault,) = through(stub)
        assert time.monotonic() - start >= 0.02 + 0.04  # backoff × 2^n
        assert stub.state.requests == 3
    assert isinstance(fault, HttpFault)
    assert fault.status == 503
    assert str(fault) == "HTTP 503 after 3 requests: overloaded ***"


def test_5xx_then_good() -> None:
    with Stub(plan=["500", "502"]) as stub:
        (reply,) = through(stub)
        assert reply.status == 200
        assert stub.state.requests == 3


def test_429_does_not_spend_attempts() -> None:
    with Stub(plan=["429"] * 4 + ["500"] * 2, retry_after="0") as stub:
        (reply,) = through(stub)
        assert reply.status == 200
        assert stub.state.requests == 7


def test_other_statuses_raise_at_once() -> None:
    for status in ("400", "418", "302"):
        with Stub(always=status) as stub:
            (fault,) = through(stub)
            assert isinstance(fault, HttpFault)
            assert fault.status == int(status)
            assert stub.state.requests == 1


def test_a_storm_of_429_ends_at_the_deadline() -> None:
    with Stub(always="429", retry_after="0") as stub:
        start = time.monotonic()
        faults = through(stub, Policy(deadline_s=0.7, timeout_s=1), workers=4)
        assert time.monotonic() - start < 2
    assert all(isinstance(fault, HttpFault) and fault.status == 429 for fault in faults)
    assert "until the deadline of 0.7 s" in str(faults[0])


def test_the_deadline_in_the_middle_of_a_later_request_is_told_as_what_it_is() -> None:
    with Stub(plan=["500", "hang"]) as stub:
        (fault,) = through(stub, Policy(deadline_s=0.5, timeout_s=5, backoff_s=0.02))
    assert isinstance(fault, HttpFault)
    assert (fault.status, str(fault).split(":")[0]) == (500, "HTTP 500 until the deadline of 0.5 s")


def test_a_wait_beyond_the_deadline_is_not_waited() -> None:
    with Stub(always="429", retry_after="30") as stub:
        start = time.monotonic()
        through(stub)
        assert time.monotonic() - start < 1
        assert stub.state.requests == 1


def test_a_transport_error_propagates() -> None:
    with Stub(always="drop") as stub:
        (error,) = through(stub)
        assert isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError)
        assert stub.state.requests == 1


def test_a_hang_ends_at_the_timeout() -> None:
    with Stub(always="hang") as stub:
        (error,) = through(stub, Policy(timeout_s=0.1))
        assert isinstance(error, TimeoutError)


def test_one_429_pauses_every_worker() -> None:
    with Stub(plan=["429"], retry_after="0.5", keep_bodies=True, latency_s=0.01) as stub:
        replies = through(stub, workers=12, ceiling=3)
        arrivals = stub.state.arrivals
    assert all(reply.status == 200 for reply in replies)
    before = [at for at in arrivals if at - arrivals[0] < 0.45]
    assert len(before) <= 3  # those that had left already
    assert len(arrivals) == 13


def test_half_capacity_costs_few_extra_requests_and_no_stampede() -> None:
    calls = 200
    with Stub(capacity=8, latency_s=0.02, retry_after="0") as stub:

        async def main() -> None:
            gate = Throttle(16)
            async with httpx2.AsyncClient(timeout=None, trust_env=False) as client:

                async def send() -> Reply:
                    answer = await client.post(f"{stub.url}/x", json={"model": "m"})
                    return Reply(answer.status_code, answer.headers, answer.content)

                numbers = iter(range(calls))

                async def worker() -> None:
                    for _ in numbers:
                        await call(send, gate, QUICK)

                await asyncio.gather(*(worker() for _ in range(16)))

        asyncio.run(main())
        assert stub.state.statuses["200"] == calls
        assert stub.state.requests <= 1.1 * calls


RETRY: list[tuple[str | None, float]] = [
    (None, 1.0),
    ("", 1.0),
    ("7", 7.0),
    ("1.5", 1.5),
    ("0", 0.2),
    ("-3", 0.2),
    ("3600", 60.0),
    ("nan", 1.0),
    ("inf", 1.0),
    ("soon", 1.0),
    ("Fri, 31 Dec 1999 23:59:59 GMT", 0.2),
]


@pytest.mark.parametrize(("value", "seconds"), RETRY)
def test_retry_after(value: str | None, seconds: float) -> None:
    assert retry_after({} if value is None else {"retry-after": value}, Policy()) == seconds


def test_retry_after_as_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    assert 18 <= retry_after({"retry-after": when}, Policy()) <= 20


SHOWN: list[tuple[str | bytes, Callable[[str], bool]]] = [
    (b"<html>\n  <body>no</body>", lambda text: text == "<html> <body>no</body>"),
    (b"\xff\x00\x1b[31m", lambda text: "\x1b" not in text and "\x00" not in text),
    ("x" * 500, lambda text: len(text) == 200 and text.endswith("…")),
    ("y" * 190 + " sk-abcdefghijklmnopqrstuvwx", lambda text: "sk-" not in text),
    ("y" + " " * 1580 + "sk-abcdefghijklmnopqrstuvwx" * 2, lambda text: text == "y"),  # cut before it can be known
]


@pytest.mark.parametrize(("body", "good"), SHOWN)
def test_start_of_a_body_is_one_safe_line(body: str | bytes, good: Callable[[str], bool]) -> None:
    assert good(start_of(body))


def test_a_slow_but_healthy_endpoint_fails_nobody_in_its_queue() -> None:
    with Stub(latency_s=0.15) as stub:
        replies = through(stub, Policy(deadline_s=0.6, timeout_s=0.6), workers=8, ceiling=1)
        assert stub.state.max_in_flight == 1
    assert [reply.status for reply in replies] == [200] * 8  # the last one left after 1.05 s


def test_who_never_got_a_turn_is_told_so() -> None:
    with Stub(always="hang") as stub:
        hung, queued = through(stub, Policy(deadline_s=0.3, timeout_s=5), workers=2, ceiling=1)
    assert isinstance(hung, TimeoutError)
    assert isinstance(queued, HttpFault | TimeoutError)
