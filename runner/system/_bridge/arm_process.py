"""The process that an arm starts: its command, its environment, its folder, and the build of its code."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, field_validator

from runner.config import Strict, conf_dir
from runner.errors import ConfigError
from runner.process import Child, cannot_run
from runner.safe import hide_value_of
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.template import fill_text, unknown_placeholders
from runner.system._bridge.value_types import Text

PLACES: Final = ("python", "root", "dir")  # placeholders of every command
_MOST_FILES: Final = 500  # of the code of a system; a folder with more holds other things too
_SCRIPTS: Final = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".lua", ".sh")
_INHERITED: Final = ("PATH", "HOME")

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class ProcessSettings(Strict):
    """A command that serves, and all that it sees.

    ``{python}`` is the interpreter of this run, ``{root}`` the folder that holds this project's ``conf`` and
    ``examples``, ``{dir}`` a new folder that is deleted when the process has ended, however it ends.
    """

    command: Annotated[list[Text], Field(min_length=1)]
    env: dict[Variable, Text] = Field(default_factory=dict)  # besides PATH and HOME, which it inherits
    env_from: list[Variable] = Field(default_factory=list)  # handed on by name: the way of a credential
    cwd: Text | None = None

    @field_validator("command")
    @classmethod
    def _begins(cls, value: list[str]) -> list[str]:
        if not value[0].strip():
            raise ValueError("its first word is the command, and it is empty")
        return value

    @field_validator("cwd")
    @classmethod
    def _is_there(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).is_dir():
            raise ValueError("there is no such folder")
        return value

    @field_validator("env", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        """Make texts of numbers and truth values as YAML reads them: every variable is a text."""
        if not isinstance(value, Mapping):
            return value
        plain = {True: "true", False: "false"}
        return {
            name: plain[item] if isinstance(item, bool) else str(item) if isinstance(item, int | float) else item
            for name, item in value.items()
        }


class Timeouts(Strict):
    """Seconds that a process has for one request; then it is killed with all that it started."""

    start: Seconds = 60.0
    write: Seconds = 600.0  # one batch of events
    search: Seconds = 60.0
    ask: Seconds = 120.0  # its own models answer
    other: Seconds = 60.0  # reset, settle, holds, drop_derived, erase

    def seconds(self, step: str) -> float:
        """Return the seconds of one step."""
        own = {"write": self.write, "search": self.search, "ask": self.ask, "probe": self.start}
        return own.get(step, self.other)


def placeholder_problems(serving: ProcessSettings, more: Sequence[str], key: str) -> list[str]:
    """Return a line for every placeholder of a command or its environment that nothing fills."""
    known = (*PLACES, *more)
    return [
        *unknown_placeholders(serving.command, known, f"{key}command"),
        *unknown_placeholders(serving.env, known, f"{key}env"),
    ]


def environment(serving: ProcessSettings, values: Mapping[str, Any]) -> dict[str, str]:
    """Return all environment variables of the process.

    Raises
    ------
    ConfigError
        Naming every variable that is not set.
    """
    absent = [name for name in serving.env_from if name not in os.environ]
    if absent:
        raise ConfigError([f"arm.settings.env_from: {name} is not set in the environment; set it" for name in absent])
    for name in serving.env_from:
        hide_value_of(name)
    kept = {name: os.environ[name] for name in (*_INHERITED, *serving.env_from) if name in os.environ}
    return kept | {name: fill_text(value, values) for name, value in serving.env.items()}


class ArmProcess:
    """One running process of an arm, with its folder."""

    def __init__(self, child: Child, folder: Path, name: str) -> None:
        self.child = child
        self.name = name
        self._folder = folder

    @classmethod
    async def start(cls, serving: ProcessSettings, values: Mapping[str, Any] = {}) -> ArmProcess:
        """Start it.

        Raises
        ------
        ConfigError
            When a variable that it is to be handed is not set.
        BridgeError
            When it cannot be run.
        """
        folder = Path(tempfile.mkdtemp(prefix="memory-runner-"))
        try:
            filled = {**values, "python": sys.executable, "root": str(conf_dir().parent), "dir": str(folder)}
            argv = [fill_text(word, filled) for word in serving.command]
            env = environment(serving, filled)
            child = await Child.start(argv, env=env, cwd=serving.cwd, guarded=True, folder=folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            if serving.cwd is not None and not Path(serving.cwd).is_dir():
                raise BridgeError(f"cwd: there is no folder '{serving.cwd}'") from None
            raise BridgeError(cannot_run(argv[0], error)) from None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(child, folder, Path(argv[0]).name if len(argv) == 1 else " ".join(map(_short, argv[:2])))

    async def kill(self) -> None:
        """End the process with all that it started, and delete its folder."""
        await self.child.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def build_of(serving: ProcessSettings) -> str | None:
    """Return the build of the code that a command runs, where it names its files: ``server.py@sha256:<12 hex>``.

    Over every word that is a file, and for a script every script of its kind in its folder and below; the interpreter
    of this run and what is found by ``PATH`` are not code of the system. ``None`` when no word is such a file, or when
    a folder holds far more than one system.
    """
    values = {"python": sys.executable, "root": str(conf_dir().parent)}
    words = [fill_text(word, values) for word in serving.command]
    if "/" not in words[0] or words[0] == sys.executable:
        words = words[1:]
    home = Path(serving.cwd or ".")
    try:
        named = [home / word for word in words if not word.startswith("-") and (home / word).is_file()]
        sha = hashlib.sha256()
        for file in named:
            for path in _code_around(file):
                for data in (path.relative_to(file.parent).as_posix().encode(), path.read_bytes()):
                    sha.update(len(data).to_bytes(8, "little") + data)
    except (OSError, ValueError):
        return None
    if not named:
        return None
    first = next((file for file in named if file.suffix in _SCRIPTS), named[0])
    return f"{first.name}@sha256:{sha.hexdigest()[:12]}"


def _code_around(file: Path) -> list[Path]:
    """Return a file, and for a script all of its kind in its folder and below: it may import them."""
    if file.suffix not in _SCRIPTS:
        return [file]
    found: list[Path] = []
    for folder, below, names in os.walk(file.parent):
        below[:] = sorted(name for name in below if not name.startswith((".", "node_modules", "__pycache__", "venv")))
        found += [Path(folder, name) for name in sorted(names) if name.endswith(file.suffix)]
        if len(found) > _MOST_FILES or len(below) > _MOST_FILES:
            raise ValueError(folder)
    return found


def _short(word: str) -> str:
    return Path(word).name if "/" in word else word
