"""What every test may use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # `servers` is shared by several folders


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
