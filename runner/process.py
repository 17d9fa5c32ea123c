"""Child processes that leave nothing behind: models and memory systems that are commands.

A child leads a process group of its own and is killed as a group, so that nothing it started outlives it. A *guarded*
child goes too when this process is killed and can do nothing any more: a shell waits for the end of a pipe that only
this process holds, then kills the group and deletes the child's folder. What a child says on stderr is read all the
time, whatever its amount, and the end of it is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from runner.http import start_of

_CHUNK: Final = 65_536
_STDERR_KEPT: Final = 4_000  # bytes
_TAIL_LINES: Final = 3
_REAPED_EVERY_S: Final = 0.005
_REAPED_TRIES: Final = 200
_LAST_WORDS_S: Final = 0.5  # from the end of a process to the end of what it said

# $1 is the child's folder, or empty. The group comes first, on a line; then the end of the pipe is waited for.
_GUARD: Final = 'read -r group || exit 0; read -r _; kill -s KILL -- "-$group"; [ -z "$1" ] || rm -rf -- "$1"'


class Child:
    """One running command with pipes to its stdin, stdout and stderr."""

    def __init__(self, process: asyncio.subprocess.Process, guard: subprocess.Popen[bytes] | None) -> None:
        self._process = process
        self._guard = guard
        self._said = b""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        guarded: bool = False,
        folder: str | Path | None = None,
    ) -> Child:
        """Start a command.

        Parameters
        ----------
        argv
            The command and its words; no shell reads them.
        env
            All of its environment; ``None`` hands on this process's own.
        guarded
            Whether it must go when this process is killed; costs a second, tiny process.
        folder
            What a guard deletes besides.

        Raises
        ------
        OSError
            When it cannot be run; :func:`cannot_run` says so in a line.
        """
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=None if env is None else dict(env),
            cwd=cwd,
        )
        child = cls(process, None)
        if guarded:
            try:
                child._guard = _guard(process.pid, folder)
            except BaseException:
                await child.kill()
                raise
        return child

    @property
    def pid(self) -> int:
        """The process and its group."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, ``None`` while it runs."""
        return self._process.returncode

    async def write_stdin(self, data: bytes, *, last: bool = False) -> None:
        """Write to stdin, and close it after the last of all; a process that does not read is no error."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            stdin.write(data)
            await stdin.drain()
        if last:
            await self.close_stdin()

    async def close_stdin(self) -> None:
        """Close stdin: the end of the requests."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.close()
            await stdin.wait_closed()

    async def read_chunk(self) -> bytes:
        """Read the next bytes of stdout; empty when it has ended."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(_CHUNK)

    async def read_stdout(self, most: int) -> bytes:
        """Read stdout to its end, or a little more than ``most`` bytes of it."""
        kept = bytearray()
        while len(kept) <= most and (chunk := await self.read_chunk()):
            kept += chunk
        return bytes(kept)

    async def read_stderr(self) -> None:
        """Read stderr to its end and keep the last of it; runs as long as the child."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._said = (self._said + chunk)[-_STDERR_KEPT:]

    async def wait(self) -> int:
        """Wait until the process and its pipes have ended, and return the exit code."""
        return await self._process.wait()

    async def exit_code(self, listening: asyncio.Task[None], seconds: float = _LAST_WORDS_S) -> int | None:
        """Return the exit code of a child that closed its stdout, once its stderr is read; ``None`` if it goes on."""
        await asyncio.wait((listening,), timeout=seconds)
        for _ in range(50):  # `wait` would wait for whoever inherited its pipes
            if self._process.returncode is not None:
                break
            await asyncio.sleep(seconds / 50)
        return self._process.returncode

    def stderr_tail(self) -> str:
        """Return the last lines of stderr as the end of a message, credentials masked; empty when there are none."""
        lines = [line for line in self._said.decode("utf-8", "replace").splitlines() if line.strip()]
        return f"; stderr ends: {start_of(' | '.join(lines[-_TAIL_LINES:]), 300)}" if lines else ""

    def kill_group(self) -> None:
        """Kill the group, at once and without waiting."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def kill(self) -> None:
        """Kill the group and release its pipes and its guard; a second call changes nothing."""
        self.kill_group()
        try:
            # Closing the pipes asks for the exit code behind the event loop's back, which then misses it: let it see
            # the end first, where there is one.
            for _ in range(_REAPED_TRIES):
                if self._process.returncode is not None:
                    break
                await asyncio.sleep(_REAPED_EVERY_S)
        finally:
            # Before the wait: a pipe that was not read to its end would keep it waiting, and warn when it is collected.
            self._process._transport.close()  # type: ignore[attr-defined]
            self._end_guard()
        await self._process.wait()

    def _end_guard(self) -> None:
        """End the guard: there is no group left for it to kill."""
        if self._guard is None:
            return
        guard, self._guard = self._guard, None
        guard.kill()  # before its pipe ends: the group's number may be another's by now
        assert guard.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            guard.stdin.close()
        guard.wait()


def _guard(group: int, folder: str | Path | None) -> subprocess.Popen[bytes]:
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "guard", str(folder or "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C on the terminal is not for it
        env={"PATH": os.defpath},
    )
    assert guard.stdin is not None
    guard.stdin.write(f"{group}\n".encode())
    guard.stdin.flush()
    return guard


def cannot_run(command: str, error: OSError) -> str:
    """Return why a command could not be started, and what to do."""
    hint = "" if shutil.which(command) else "; install it, or give its path in command"
    return f"cannot run '{command}' ({error.strerror or error}){hint}"


def exit_of(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "closed its stdout and went on"
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was killed by signal {-code}"
