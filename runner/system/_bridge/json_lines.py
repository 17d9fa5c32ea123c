"""A client of one process over JSON lines: one request per line on its stdin, one answer per line on its stdout.

Every request has an ``id``. An answer that repeats it may come in any order. An answer without one belongs to the only
request in flight, and to none when there are several. Any other line (one that is not JSON, an id that nobody waits
for) fails what is in flight; the process lives on as long as ids keep it in step. A process that cannot be kept in
step, takes too long or floods is killed with its group, and :attr:`JsonLinesClient.why` says why.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from typing import Any, Final

from runner.data.strict_json import refuse_constant
from runner.http import start_of
from runner.process import exit_of
from runner.safe import mask
from runner.system._bridge.arm_process import ArmProcess
from runner.system._bridge.faults import BridgeError, RequestRefused

log = logging.getLogger(__name__)

LINE_MAX: Final = 32_000_000  # bytes of one answer
_NOISE_MAX: Final = 100  # lines that are no answer, until the process counts as flooding
_NOISE_LOGGED: Final = 5
_PARTING_S: Final = 2.0  # that a process has to end by itself once its stdin is closed

Answer = dict[str, Any]


class JsonLinesClient:
    """A process and the requests that it has not answered yet.

    Attributes
    ----------
    why
        Why it can be asked no more; empty while it can.
    farewell
        The op that it wants to hear before its stdin is closed; empty: none.
    """

    def __init__(self, served: ArmProcess, in_flight: int) -> None:
        self.why = ""
        self.farewell = ""
        self._served = served
        self._child = served.child
        self._slots = asyncio.Semaphore(in_flight)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._given_up: set[int] = set()
        self._repeats_ids = False
        self._noise = 0
        self._listening = asyncio.create_task(self._child.read_stderr())
        self._reading = asyncio.create_task(self._read())

    async def ask(self, op: str, timeout_s: float, **fields: Any) -> Answer:
        """Send one request and wait for its answer.

        Raises
        ------
        Refusal
            When the answer is ``{"ok": false}``.
        BridgeError
            When there is no answer.
        """
        async with self._slots:
            if self.why:
                raise BridgeError(self.why)
            number = next(self._numbers)
            waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._waiting[number] = waiting
            line = json.dumps({"id": number, "op": op, **fields}, separators=(",", ":")).encode() + b"\n"
            try:
                async with asyncio.timeout(timeout_s):
                    await self._child.write_stdin(line)
                    answer = await waiting
            except TimeoutError:
                waiting.cancel()
                hint = "" if self._repeats_ids else "; does it end each answer with a newline and flush it?"
                self._condemn(f"took longer than {timeout_s:g} s to answer '{op}' and was killed{hint}")
                await self._ended()
                raise BridgeError(self.why) from None
            except asyncio.CancelledError:  # the run does not wait any longer; half a request may have been sent
                waiting.cancel()
                self._condemn(f"was killed in the middle of '{op}', which took too long for the run")
                raise
            finally:
                self._waiting.pop(number, None)
        if answer.get("ok") is not True:
            raise RequestRefused(_refusal(answer))
        return answer

    async def stop(self) -> None:
        """Ask the process to end, then kill it with all that it started."""
        if not self.why:
            if self.farewell:
                try:
                    await self.ask(self.farewell, _PARTING_S)
                except BridgeError as trouble:
                    log.info("%s: close: %s", self._served.name, trouble)
            if not self.why:
                self.why = "was stopped"
                await self._child.close_stdin()
                await asyncio.wait((self._reading,), timeout=_PARTING_S)
        self._child.kill_group()
        await self._ended()

    # --- what comes back --------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        line = bytearray()
        try:
            while chunk := await self._child.read_chunk():
                first, *others = chunk.split(b"\n")
                line += first
                for other in others:
                    self._receive(bytes(line))
                    line = bytearray(other)
                if len(line) > LINE_MAX:
                    self._condemn(f"printed a line of more than {LINE_MAX // 1_000_000} MB and was killed")
                    break
            code = await self._child.exit_code(self._listening)
            self._condemn(f"{exit_of(code)}{' in the middle of a line' if line.strip() and not self.why else ''}")
        except Exception as error:  # whatever it is, nobody may be left waiting
            log.exception("%s: reading failed", self._served.name)
            self._condemn(f"could not be read ({type(error).__name__}: {error})")
        finally:
            await self._served.kill()
            self._listening.cancel()

    def _receive(self, line: bytes) -> None:
        if self.why or not line.strip():
            return None
        try:
            answer = json.loads(line, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            return self._stray(
                f"printed on stdout something that is not JSON (use stderr for everything else): {start_of(line)}"
            )
        if not isinstance(answer, dict):
            return self._stray(f"answered with JSON that is not an object: {start_of(line)}")
        number = answer.get("id")
        if number is None:
            if len(self._waiting) == 1 and not self._given_up:
                return self._deliver(next(iter(self._waiting)), answer)
            return self._stray(f"answered without an id while {len(self._waiting)} requests were in flight")
        if isinstance(number, int) and number in self._given_up:
            self._given_up.discard(number)
            return None
        if not isinstance(number, int) or number not in self._waiting:
            return self._stray(f"answered request {start_of(str(number), 40)}, which is not waiting for an answer")
        self._repeats_ids = True
        return self._deliver(number, answer)

    def _deliver(self, number: int, answer: Answer) -> None:
        waiting = self._waiting.pop(number)
        if not waiting.done():
            waiting.set_result(answer)

    def _stray(self, what: str) -> None:
        """Handle a line that answers nothing: it fails what is in flight, and ends a process that repeats no ids."""
        self._noise += 1
        if self._noise <= _NOISE_LOGGED:
            log.warning("%s %s", self._served.name, what)
        if self._noise > _NOISE_MAX:
            return self._condemn(f"printed more than {_NOISE_MAX} lines that answer nothing and was killed; {what}")
        if self._waiting and not self._repeats_ids:
            return self._condemn(f"{what}; without ids it cannot be kept in step and was killed")
        self._given_up.update(self._waiting)
        return self._fail(f"{self._served.name} {what}")

    def _fail(self, what: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(BridgeError(what))

    def _condemn(self, why: str) -> None:
        """End the connection; only the first reason counts."""
        if self.why:
            return
        self.why = mask(f"{self._served.name} {why}") + self._child.stderr_tail()
        log.warning("%s", self.why)
        self._child.kill_group()
        self._fail(self.why)

    async def _ended(self) -> None:
        """Wait until everything is taken down."""
        await asyncio.wait((self._reading,))


def _refusal(answer: Answer) -> str:
    error = answer.get("error")
    if answer.get("ok") is not False:
        return f'the answer has no "ok": true, but {start_of(json.dumps(answer), 120)}'
    return start_of(error, 300) if isinstance(error, str) and error.strip() else "refused without saying why"
