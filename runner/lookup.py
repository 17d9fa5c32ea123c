"""Find systems, harnesses and import formats by name, imported on demand; hash a person's own code."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from runner.config import did_you_mean
from runner.errors import ConfigError, RunnerError

T = TypeVar("T")


@dataclass(frozen=True)
class Registry(Generic[T]):
    """The classes of one contract by name, each a file or a folder of a package; there is no list to edit.

    Attributes
    ----------
    package
        ``runner.system``, ``runner.harness`` or ``runner.imports``; its path may hold folders of the user's own.
    base
        What a class must subclass.
    attribute
        What its module binds it to: ``SYSTEM``, ``HARNESS`` or ``FORMAT``.
    key
        The config key or the word that names it, for messages.
    """

    package: str
    base: type[T]
    attribute: str
    key: str

    def names(self) -> list[str]:
        """List every name, those of the user's own folders included. Imports nothing."""
        return _names(self._path())

    def shipped(self) -> list[str]:
        """List every name of the package itself. Imports nothing."""
        return _names(self._path()[:1])

    def find(self, name: str) -> type[T]:
        """Return the class of a name.

        Raises
        ------
        ConfigError
            When there is no such module (the message lists those that exist), when it cannot be imported, or when it
            binds no such class.
        """
        known = self.names()
        if name not in known:
            raise ConfigError(
                [
                    f"{self.key}: there is no '{name}'{did_you_mean(name, known)}; there are {', '.join(known)} "
                    f"(one of your own is found with --config-dir)"
                ]
            )
        try:
            module = importlib.import_module(f"{self.package}.{name}")
        except RunnerError:
            raise
        except Exception as error:  # a person's own file may do anything while it is imported
            spec = importlib.util.find_spec(f"{self.package}.{name}")
            file = spec.origin if spec is not None else f"{name}.py"
            raise ConfigError([f"{self.key}: {file} cannot be imported: {type(error).__name__}: {error}"]) from error
        found = getattr(module, self.attribute, None)
        if not (isinstance(found, type) and issubclass(found, self.base)):
            file = Path(module.__file__ or name).name
            raise ConfigError([f"{self.key}: {file} must bind {self.attribute} to a subclass of {self.base.__name__}"])
        return found

    def _path(self) -> list[str]:
        return list(sys.modules[self.package].__path__)


def _names(path: Iterable[str]) -> list[str]:
    """List what a package holds by name, files and folders; a leading ``_`` marks what they share."""
    found = pkgutil.iter_modules(path)
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
