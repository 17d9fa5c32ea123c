"""One command, run to its end within a deadline; whatever it started goes with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runner.process import Child, cannot_run, exit_of
from runner.system._bridge.faults import BridgeError

_OUTPUT_MAX: Final = 32_000_000  # bytes of stdout


@dataclass(frozen=True)
class Finished:
    """What a command printed; ``said`` is the end of its stderr, as the end of a message."""

    out: bytes
    said: str


async def run(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float) -> Finished:
    """Run a command that reads nothing.

    Raises
    ------
    BridgeError
        When it cannot be run, takes longer than ``timeout_s`` (its group is killed then), prints too much, or ends
        with another code than 0.
    """
    name = Path(argv[0]).name
    try:
        child = await Child.start(argv, env=env, cwd=cwd, guarded=True)
    except OSError as error:
        raise BridgeError(cannot_run(argv[0], error)) from None
    except ValueError as error:  # a NUL inside a word
        raise BridgeError(f"cannot run '{name}' ({error})") from None
    try:
        async with asyncio.timeout(timeout_s):
            _, out, _ = await asyncio.gather(child.feed(b"", last=True), child.read(_OUTPUT_MAX), child.listen())
            if len(out) > _OUTPUT_MAX:
                raise BridgeError(f"'{name}' printed more than {_OUTPUT_MAX // 1_000_000} MB and was killed")
            code = await child.wait()
    except TimeoutError:
        raise BridgeError(f"'{name}' took longer than {timeout_s:g} s and was killed{child.said()}") from None
    finally:
        await child.kill()
    if code != 0:
        raise BridgeError(f"'{name}' {exit_of(code)}{child.said()}")
    return Finished(out, child.said())
