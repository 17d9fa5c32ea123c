"""Systems and harnesses by name: one module each, imported on demand from the validated name; no list to edit."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from runner.config import did_you_mean
from runner.errors import ConfigError, RunnerError

T = TypeVar("T")


def names(path: Iterable[str]) -> list[str]:
    """Every module of a package by name; a sub-package or a name with a leading ``_`` holds parts. Imports nothing."""
    found = pkgutil.iter_modules(list(path))
    return sorted(module.name for module in found if not module.ispkg and not module.name.startswith("_"))


def is_within(cls: type, home: Path) -> bool:
    """Whether a class is part of a package, by the file of its module."""
    try:
        return _file(cls).is_relative_to(home)
    except ValueError:
        return False


def code_sha256(classes: Iterable[type], *, salt: str = "") -> str:
    """Start of a digest over a person's own code: every ``*.py`` below the folders of the modules of these classes.

    Two runs before and after a change of that code tell themselves apart by it. ``unknown`` when the code is not in
    files.
    """
    sha = hashlib.sha256(salt.encode())
    try:
        for folder in dict.fromkeys(_file(cls).parent for cls in classes):
            for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
                if not any(part.startswith(".") for part in path.relative_to(folder).parts):
                    for data in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
                        sha.update(len(data).to_bytes(8, "little") + data)
    except (OSError, ValueError):
        return "unknown"
    return sha.hexdigest()[:12]


def _file(cls: type) -> Path:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None:
        raise ValueError(cls.__module__)
    return Path(file).resolve()


def find(package: ModuleType, name: str, base: type[T], attribute: str, key: str) -> type[T]:
    """The class that a module of a package binds to ``attribute``.

    Parameters
    ----------
    package
        ``runner.system`` or ``runner.harness``; its path may hold folders of the user's own.
    name
        A validated module name.
    base
        What the class must subclass.
    attribute
        ``SYSTEM`` or ``HARNESS``.
    key
        The config key that named it, for messages.

    Raises
    ------
    ConfigError
        When there is no such module, when it cannot be imported, or when it binds no such class.
    """
    known = names(package.__path__)
    if name not in known:
        raise ConfigError(
            [
                f"{key}: there is no '{name}'{did_you_mean(name, known)}; there are {', '.join(known)} "
                f"(one of your own is found with --config-dir)"
            ]
        )
    try:
        module = importlib.import_module(f"{package.__name__}.{name}")
    except RunnerError:
        raise
    except Exception as error:  # a person's own file may do anything while it is imported
        spec = importlib.util.find_spec(f"{package.__name__}.{name}")
        file = spec.origin if spec is not None else f"{name}.py"
        raise ConfigError([f"{key}: {file} cannot be imported: {type(error).__name__}: {error}"]) from error
    found = getattr(module, attribute, None)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigError([f"{key}: {name}.py must bind {attribute} to a subclass of {base.__name__}"])
    return found
