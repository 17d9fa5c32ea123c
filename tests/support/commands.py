"""The command line in a process of its own, without the second that its imports take.

One process per test session imports the runner once and forks a child for every command: with its own folder,
environment, streams, exit code and end, as ``python -m runner`` has them. A test of the interpreter's start itself
(its flags and environment, a signal, a closed stream) starts one afresh.

The forking process is no child of the tests, so that those that count their children count their own alone; it ends
with the connection to it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# What the runner imports only where it is used.
_LAZY = (
    "bm25s",
    "Stemmer",
    "scipy.special",
    "scipy.stats",
    "platformdirs",
    "hydra._internal.core_plugins.basic_launcher",
)
_AT_START = ("PYTHON", "LC_", "LANG")  # variables that the interpreter reads when it starts


def command_environment(**changes: str) -> dict[str, str]:
    """The environment of a command line under test: no key, no endpoint, the checkout importable from any folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "HYDRA_", "BENCH_", "COLUMNS"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **changes}


def trust_nobody() -> None:
    """Read no certificates in this process: tests talk to this machine alone, without TLS.

    A file that is not there is told as ever.
    """
    load = ssl.SSLContext.load_verify_locations

    def load_what_costs_nothing(context: ssl.SSLContext, cafile: Any = None, *places: Any, **more: Any) -> None:
        if cafile is None or not Path(cafile).is_file():
            load(context, cafile, *places, **more)

    setattr(ssl.SSLContext, "load_verify_locations", load_what_costs_nothing)  # noqa: B010


def start_process(
    words: tuple[str, ...], cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Start an interpreter with ``-m runner`` and wait for its end."""
    argv = [sys.executable, "-m", "runner", *words]
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, check=False)


class CommandLine:
    """Runs commands, one at a time."""

    def __init__(self) -> None:
        self._connection: Connection | None = None

    def run(
        self, *words: str, cwd: Path, timeout: float = 120, fresh: bool = False, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m runner`` with these words; ``fresh`` starts an interpreter for it."""
        environment = command_environment(**env)
        if fresh or any(name.startswith(_AT_START) for name in env):
            return start_process(words, cwd, environment, timeout)
        connection = self._connected()
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            connection.send((words, str(cwd), environment, str(out), str(err)))
            pid = connection.recv()
            if not connection.poll(timeout):
                os.kill(pid, signal.SIGKILL)
                connection.recv()
                raise subprocess.TimeoutExpired(list(words), timeout)
            return subprocess.CompletedProcess(list(words), connection.recv(), out.read_text(), err.read_text())

    def close(self) -> None:
        """End the process that forks."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is None:
            ours, theirs = Pipe()
            with theirs:
                argv = [sys.executable, "-m", "tests.support.commands", str(theirs.fileno())]
                subprocess.run(
                    argv, cwd=ROOT, env=command_environment(), pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
                )  # fmt: skip
            self._connection = ours
        return self._connection


def _import_all() -> None:
    import runner

    trust_nobody()
    shipped = (module.name for module in pkgutil.walk_packages(runner.__path__, "runner.", onerror=lambda name: None))
    for name in (*_LAZY, *shipped):
        if name != "runner.__main__":
            with contextlib.suppress(ImportError):  # of a library that is not installed
                importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _serve(connection: Connection) -> tuple[Any, ...] | None:
    """Fork a child for each command; return the command in the child, ``None`` at the end of the connection."""
    while True:
        try:
            command: tuple[Any, ...] = connection.recv()
        except EOFError:
            return None
        pid = os.fork()
        if not pid:
            connection.close()
            return command
        connection.send(pid)
        connection.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _become(words: tuple[str, ...], cwd: str, environment: dict[str, str], out: str, err: str) -> None:
    """Make this process what ``python -m runner`` would be, run it and end.

    The end is an interpreter's own but for the destruction of every module, which takes a third of a second.
    """
    for descriptor, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-m", *words]
    sys.path[0] = cwd
    code: Any = 0
    try:
        runpy.run_module("runner", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()  # what was not closed warns here
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main() -> None:
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    if os.fork():
        os._exit(0)
    _import_all()
    command = _serve(connection)
    if command is not None:
        _become(*command)


if __name__ == "__main__":
    main()
