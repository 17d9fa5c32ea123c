"""A folder of one run for what a system keeps on disk; never the user's home."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Final

_PREFIX: Final = "memory-runner-"


class ScratchFolder:
    """A folder below the system's own for temporary files (``$TMPDIR``), made when first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._root: Path | None = None
        self._numbers = itertools.count()

    @property
    def root(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{self._name}-"))
        return self._root

    def new(self) -> Path:
        """An empty folder."""
        folder = self.root / f"{next(self._numbers):05d}"
        folder.mkdir()
        return folder

    def remove(self) -> None:
        """Delete the folder; a second call changes nothing."""
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None
