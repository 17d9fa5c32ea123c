"""What every test may use."""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.pop("COLUMNS", None)  # xdist sets it in its workers; what is printed here is as wide as a pipe


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


def command_environment(**changes: str) -> dict[str, str]:
    """The environment of a command line under test: no key, no endpoint, the checkout importable from any folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "HYDRA_", "BENCH_", "COLUMNS"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **changes}


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``python -m runner`` as a process in a folder of its own."""

    def run(*words: str, cwd: Path | None = None, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "runner", *words],
            cwd=cwd or tmp_path,
            env=command_environment(**env),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


def runs_in(folder: Path) -> list[Path]:
    """Every run directory below a folder, in order."""
    return sorted(path.parent for path in folder.rglob("config.yaml"))
