"""The policy for an answer: wait, try again, or give up with one clear line.

=========  ============================================================================================
status     what happens
=========  ============================================================================================
429        wait ``Retry-After`` (seconds or a date; 1 s when absent; between 0.2 and 60 s), outside the
           budget of attempts, every worker of the endpoint paused
5xx        wait 0.5 × 2^n s, until ``attempts`` requests were sent
others     not 2xx: :class:`HttpFault` with the start of the body
transport  propagates as it is
=========  ============================================================================================

A deadline over the whole call bounds a storm of 429s.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from runner.errors import RunnerError
from runner.http.throttle import Throttle
from runner.safe import mask


@dataclass(frozen=True, slots=True)
class Policy:
    """The patience of a call. Seconds throughout."""

    attempts: int = 4  # requests sent in all, those answered 429 not counted
    timeout_s: float = 60.0  # one request
    deadline_s: float = 600.0  # the call with all its waits
    backoff_s: float = 0.5
    wait_absent_s: float = 1.0
    wait_min_s: float = 0.2
    wait_max_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer, whole. Header names are matched as lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpFault(RunnerError):
    """An answer that the policy gives up on. ``status`` is the last one, 0 when no request was answered."""

    def __init__(self, message: str, status: int, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


def start_of(body: bytes | str, length: int = 200) -> str:
    """Start of a body on one line, anything that looks like a credential masked."""
    start = body[: 8 * length]
    text = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
    # Masked before it is cut, and without the word that the first cut went through: half a key is not known as one.
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = mask(" ".join(words[:-1] if len(words) > 1 and len(start) < len(body) else words))
    return line if len(line) <= length else line[: length - 1] + "…"


def retry_after(headers: Mapping[str, str], policy: Policy) -> float:
    """Seconds to wait after a 429 (RFC 9110, 10.2.3: seconds or an HTTP date)."""
    text = headers.get("retry-after", "").strip()
    wait = policy.wait_absent_s
    if text:
        try:
            wait = float(text)
        except ValueError:
            try:
                wait = parsedate_to_datetime(text).timestamp() - time.time()
            except (ValueError, OverflowError):
                wait = policy.wait_absent_s
    if not math.isfinite(wait):
        wait = policy.wait_absent_s
    return min(max(wait, policy.wait_min_s), policy.wait_max_s)


async def call(send: Callable[[], Awaitable[Reply]], throttle: Throttle, policy: Policy) -> Reply:
    """Send until a 2xx comes back.

    Parameters
    ----------
    send
        Sends one request and returns its answer, whatever the status. It is cancelled at ``policy.timeout_s``.
    throttle
        That of the endpoint.

    Raises
    ------
    HttpFault
        When the policy gives up on an answer, or the deadline passes.
    TimeoutError
        When one request takes longer than ``policy.timeout_s``.
    Exception
        Whatever ``send`` raises.
    """
    entered = time.monotonic()
    # In the queue the clock runs only while the endpoint serves nobody: a slow but healthy server fails no one.
    flight = await _enter(throttle, lambda: max(entered, throttle.last_success) + policy.deadline_s, policy, None)
    end = time.monotonic() + policy.deadline_s
    spent = 0
    last: Reply | None = None
    while True:
        try:
            async with asyncio.timeout(min(policy.timeout_s, end - time.monotonic())):
                reply = await send()
            if 200 <= reply.status < 300:
                throttle.success()
                return reply
            wait = 0.0
            if reply.status == 429:
                wait = retry_after(reply.headers, policy)
                throttle.throttle(flight, wait)
        except TimeoutError:
            if last is not None and time.monotonic() >= end:  # not this request was slow: all of them took too long
                raise _gave_up(last, policy) from None
            raise
        finally:
            throttle.leave()
        if reply.status == 429:
            if time.monotonic() + wait >= end:
                raise _gave_up(reply, policy)
        elif reply.status >= 500:
            spent += 1
            pause = policy.backoff_s * 2.0 ** (spent - 1)
            if spent >= policy.attempts or time.monotonic() + pause >= end:
                raise HttpFault(_line(reply, f" after {spent} request{'s' * (spent > 1)}"), reply.status, reply.body)
            await asyncio.sleep(pause)
        else:
            raise HttpFault(_line(reply), reply.status, reply.body)
        last = reply
        flight = await _enter(throttle, lambda: end, policy, last)


async def _enter(throttle: Throttle, expires: Callable[[], float], policy: Policy, last: Reply | None) -> int:
    try:
        return await throttle.enter(expires, first=last is not None)
    except TimeoutError:
        if last is not None:
            raise _gave_up(last, policy) from None
        raise HttpFault(
            f"no request could be sent within {policy.deadline_s:g} s: the endpoint keeps refusing", 0
        ) from None


def _gave_up(reply: Reply, policy: Policy) -> HttpFault:
    return HttpFault(_line(reply, f" until the deadline of {policy.deadline_s:g} s"), reply.status, reply.body)


def _line(reply: Reply, how: str = "") -> str:
    location = reply.headers.get("location", "")
    body = start_of(reply.body) or (f"redirects to {start_of(location)}" if location else "empty body")
    return f"HTTP {reply.status}{how}: {body}"
