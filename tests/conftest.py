"""What every test may use."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.support.commands import ROOT as ROOT
from tests.support.commands import CommandLine, trust_nobody
from tests.support.commands import command_environment as command_environment

os.environ["SSL_CERT_DIR"] = str(ROOT / "tests")  # has none: a client need not read 50 ms of certificates
trust_nobody()  # nor those of a client that does not look there
os.environ.pop("COLUMNS", None)  # xdist sets it in its workers; what is printed here is as wide as a pipe


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give every file to one worker, so that what its tests share is made once; the long files come first."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def pytest_collection_finish() -> None:
    """Take what is imported and collected out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def _is_loopback(host: object) -> bool:
    """Whether a host, by name or number, is this machine; "" and None are what a server binds to."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost", "0.0.0.0", "::"):
        return True
    try:
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """No test of this process reaches beyond loopback: it fails, saying what it tried."""

    def refuse(host: object) -> NoReturn:
        raise AssertionError(f"a test tried to reach {host!r}: tests use no network but loopback")

    def guarded(name: str, at: int) -> Callable[..., Any]:
        real = getattr(socket.socket, name)

        def method(self: socket.socket, *args: Any) -> Any:
            address = args[at] if args else None
            internet = self.family in (socket.AF_INET, socket.AF_INET6)
            if internet and isinstance(address, tuple) and not _is_loopback(address[0]):
                refuse(address[0])
            return real(self, *args)

        return method

    def looking_up(name: str) -> Callable[..., Any]:
        real = getattr(socket, name)

        def function(host: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_loopback(host):
                refuse(host)
            return real(host, *args, **kwargs)

        return function

    with pytest.MonkeyPatch.context() as patch:
        for name, at in (("connect", 0), ("connect_ex", 0), ("sendto", -1)):
            patch.setattr(socket.socket, name, guarded(name, at))
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
            patch.setattr(socket, name, looking_up(name))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public data; a test that needs it skips where it is absent."""
    folder = Path(os.environ.get("RUNNER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set RUNNER_DATA)")
    return folder


@pytest.fixture(scope="session")
def command_line() -> Iterator[CommandLine]:
    """Runs commands, for fixtures that tests share."""
    line = CommandLine()
    yield line
    line.close()


@pytest.fixture
def cli(command_line: CommandLine, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``python -m runner`` in a folder of its own; ``fresh=True`` starts an interpreter for it."""

    def run(*words: str, cwd: Path | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        return command_line.run(*words, cwd=cwd or tmp_path, **more)

    return run


def runs_in(folder: Path) -> list[Path]:
    """Every run directory below a folder, in order."""
    return sorted(path.parent for path in folder.rglob("config.yaml"))
