"""Which code a system is: the build that its instrument row holds."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import runner
from runner.system import MemorySystem

_HOME = Path(__file__).resolve().parent


def build_version(system: MemorySystem) -> str:
    """The build of a system in this process.

    A shipped one has this distribution's version. A person's own has ``<name>@sha256:<12 hex>`` over that version and
    every ``*.py`` below the folder of its module (and of the modules of its own base classes), sorted by path, so that
    two runs before and after a change of its code tell themselves apart. ``unknown`` when the code is not in files.
    """
    version = f"agent-memory-runner {runner.__version__}"
    own = [cls for cls in type(system).__mro__ if issubclass(cls, MemorySystem) and not is_shipped(cls)]
    if not own:
        return version
    sha = hashlib.sha256(version.encode())
    try:
        for folder in dict.fromkeys(_file(cls).parent for cls in own):
            for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
                if not any(part.startswith(".") for part in path.relative_to(folder).parts):
                    for data in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
                        sha.update(len(data).to_bytes(8, "little") + data)
    except (OSError, ValueError):
        return "unknown"
    return f"{type(system).__module__.rpartition('.')[2]}@sha256:{sha.hexdigest()[:12]}"


def is_shipped(cls: type[MemorySystem]) -> bool:
    """Whether a system is part of this package, by the file of its module."""
    try:
        return _file(cls).is_relative_to(_HOME)
    except ValueError:
        return False


def _file(cls: type[MemorySystem]) -> Path:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None:
        raise ValueError(cls.__module__)
    return Path(file).resolve()
