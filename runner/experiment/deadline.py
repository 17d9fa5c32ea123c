"""Calls of a memory system within a deadline; every exception becomes a fault of the system."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from runner.errors import RunnerError, SystemFault
from runner.experiment.stop import StopRequested

log = logging.getLogger("runner")
T = TypeVar("T")


async def with_deadline(
    step: str, fault: type[SystemFault], call: Callable[[], Awaitable[T]], seconds: float, key: str
) -> T:
    """Return the call's result.

    Parameters
    ----------
    step
        The method of the contract ("write"), for messages.
    fault
        The class of the fault that a failure becomes.
    seconds, key
        How long it may take, and the config key that says so.

    Raises
    ------
    SystemFault
        Of that kind, for anything that the system raises and for silence.
    """
    try:
        return await asyncio.wait_for(call(), seconds)
    except (RunnerError, StopRequested, asyncio.CancelledError):
        raise
    except TimeoutError:
        raise fault(f"{step}: no answer within {seconds:g} s ({key})") from None
    except Exception as error:
        log.exception("%s failed", step)
        raise fault(f"{step}: {type(error).__name__}: {error}") from error
