"""Find systems and harnesses by name: a file or a folder each, imported on demand; there is no list to edit."""

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
    """List what a package holds by name, files and folders; a leading ``_`` marks what they share. Imports nothing."""
    found = pkgutil.iter_modules(list(path))
    return sorted(module.name for module in found if not module.name.startswith("_"))


def is_within(cls: type, home: Path) -> bool:
    """Tell whether a class is part of a package, by the file of its module."""
    try:
        return _file(cls.__module__).is_relative_to(home)
    except ValueError:
        return False


def code_sha256(classes: Iterable[type], *, salt: str = "") -> str:
    """Hash a person's own code: the file of each class, or the whole folder where its module is part of one.

    Two runs before and after a change of that code tell themselves apart by it; another file beside it changes nothing.

    Returns
    -------
    str
        The first 12 hexadecimal digits of a sha256, or ``unknown`` when the code is not in files.
    """
    sha = hashlib.sha256(salt.encode())
    try:
        for home in dict.fromkeys(_home(cls.__module__) for cls in classes):
            found = sorted(home.rglob("*.py")) if home.is_dir() else [home]
            paths = {path.relative_to(home if home.is_dir() else home.parent).as_posix(): path for path in found}
            for name, path in sorted(paths.items()):
                if not any(part.startswith(".") for part in name.split("/")):
                    for data in (name.encode(), path.read_bytes()):
                        sha.update(len(data).to_bytes(8, "little") + data)
    except (OSError, ValueError):
        return "unknown"
    return sha.hexdigest()[:12]


def _home(module: str) -> Path:
    """Return the file of a module, or the folder of the outermost package of a person's own that holds it."""
    parts = module.split(".")
    ours = 2 if parts[0] == "runner" else 0  # runner.harness and runner.system are no folder of a person's own
    outermost = getattr(sys.modules.get(".".join(parts[: ours + 1])), "__file__", None)  # none: a namespace package
    own = _file(module)
    return Path(outermost).resolve().parent if outermost and Path(outermost).name == "__init__.py" else own


def _file(module: str) -> Path:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        raise ValueError(module)
    return Path(file).resolve()


def find(package: ModuleType, name: str, base: type[T], attribute: str, key: str) -> type[T]:
    """Return the class that a module of a package binds to ``attribute``.

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
        file = Path(module.__file__ or name).name
        raise ConfigError([f"{key}: {file} must bind {attribute} to a subclass of {base.__name__}"])
    return found
