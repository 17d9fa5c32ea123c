"""A person's own folder (``--config-dir``): choices in ``DIR/arm/``, …, code in ``DIR/system/``, ``DIR/harness/``,
``DIR/imports/``.

The shipped ones are searched first: neither a choice nor a module of a folder can take the place of one. Code is taken
from folders that the command line names, and never from what a recorded run names.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

added: list[Path] = []  # in this process, for messages that say how to go on


def add(folders: Iterable[Path]) -> None:
    """Let systems, harnesses and formats to import be found in these folders too."""
    for folder in folders:
        if folder.absolute() not in added:
            added.append(folder.absolute())
        for kind in ("system", "harness", "imports"):
            place = folder.absolute() / kind
            if place.is_dir():
                _extend(kind, str(place))


def _extend(kind: str, place: str) -> None:
    import importlib

    path = importlib.import_module(f"runner.{kind}").__path__
    if place not in path:
        path.append(place)
