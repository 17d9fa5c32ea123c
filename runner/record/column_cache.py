"""Columns of large runs, kept in the user's cache by the content of their rows, for a quick second gate.

Content-addressed and outside the run directory, so that a recorded run, which may come from anywhere, never says what
its own rows hold, and a read-only one is served as well. Whatever is wrong with a kept file, the rows are read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runner.config import cache_dir

WORTH: Final = 1 << 24  # bytes of rows below which reading them is quick enough
_VERSION: Final = 1  # of the layout: raise when the columns mean something else
_ROOM: Final = 1 << 31  # bytes kept; the files that were used longest ago go first

Arrays = dict[str, NDArray[Any]]


def cache_path(rows: Path, metrics: Sequence[str]) -> Path | None:
    """Return the path under which the columns of these rows are kept; ``None`` for too few rows to be worth it."""
    try:
        if rows.stat().st_size < WORTH:
            return None
        with rows.open("rb") as file:
            content = hashlib.file_digest(file, "sha256")
    except OSError:
        return None  # reading the rows tells what is wrong
    content.update(json.dumps([_VERSION, *metrics]).encode())
    return cache_dir() / "columns" / f"{content.hexdigest()}.npz"


def load(path: Path) -> tuple[Arrays, dict[str, Any]] | None:
    """Return the kept arrays and the words beside them; ``None`` when none can be read."""
    try:
        # Opened here: np.load leaves a damaged archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
        words = json.loads(arrays.pop("words").tobytes())
        os.utime(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return arrays, words


def store(path: Path, arrays: Mapping[str, NDArray[Any]], words: Mapping[str, Any]) -> None:
    """Write columns to the cache; on a full or read-only disk nothing is kept, and the next gate takes longer."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            encoded = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
            everything: Any = {"words": encoded, **arrays}
            np.savez(file, **everything)
        partial.replace(path)
        _prune(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _prune(folder: Path) -> None:
    files = sorted(((file.stat().st_mtime, file.stat().st_size, file) for file in folder.glob("*.npz")), reverse=True)
    used = 0
    for position, (_, size, file) in enumerate(files):
        used += size
        if position and used > _ROOM:
            file.unlink(missing_ok=True)
