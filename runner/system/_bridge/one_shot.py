"""A command that is run to its end within a deadline, with whatever it started."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from runner.process import Child, exit_of
from runner.system._bridge.faults import BridgeError

_OUTPUT_MAX: Final = 32_000_000  # bytes of stdout


@dataclass(frozen=True)
class Finished:
    """The output of a command; ``stderr`` is the end of its stderr, as the end of a message."""

    out: bytes
    stderr: str


async def finish(child: Child, name: str, timeout_s: float) -> Finished:
    """Return the output of a command that reads nothing; the caller kills what is left of it.

    Raises
    ------
    BridgeError
        When it takes longer than ``timeout_s``, prints too much, or ends with another code than 0.
    """
    try:
        async with asyncio.timeout(timeout_s):
            _, out, _ = await asyncio.gather(
                child.write_stdin(b"", last=True), child.read_stdout(_OUTPUT_MAX), child.read_stderr()
            )
            if len(out) > _OUTPUT_MAX:
                raise BridgeError(f"{name} printed more than {_OUTPUT_MAX // 1_000_000} MB and was killed")
            code = await child.wait()
    except TimeoutError:
        raise BridgeError(f"{name} took longer than {timeout_s:g} s and was killed{child.stderr_tail()}") from None
    if code != 0:
        raise BridgeError(f"{name} {exit_of(code)}{child.stderr_tail()}")
    return Finished(out, child.stderr_tail())
