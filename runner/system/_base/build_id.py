"""The build of a system, which its row of the instrument holds."""

from __future__ import annotations

from pathlib import Path

import runner
from runner import lookup
from runner.system._base.contract import MemorySystem

_HOME = Path(__file__).resolve().parents[1]


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
    sha = lookup.code_sha256(own, salt=version)
    return sha if sha == "unknown" else f"{type(system).__module__.rpartition('.')[2]}@sha256:{sha}"


def is_shipped(cls: type[MemorySystem]) -> bool:
    """Return whether a system is part of this package, by the file of its module."""
    return lookup.is_within(cls, _HOME)
