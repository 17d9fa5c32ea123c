"""Overrides and flags of the config system, told apart on one command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runner.errors import UsageError

SWEEPING: Final = ("-m", "--multirun")
CONFIG_DIR: Final = ("--config-dir", "-cd")
# Flags that take a value, and those that only ask.
_VALUED: Final = ("--config-dir", "-cd", "--config-name", "-cn", "--config-path", "-cp", "--package", "-p")
ASKING: Final = ("--cfg", "-c", "--info", "-i", "--hydra-help", "--shell-completion", "-sc")
FLAGS: Final = (
    *_VALUED,
    *ASKING,
    *("--multirun", "-m", "--run", "-r", "--resolve", "--experimental-rerun", "--version", "--help", "-h", "--json"),
)


def passes_through(argv: Sequence[str]) -> bool:
    """Return whether the words are for the config system itself (shell completion, its own help)."""
    return any(word.split("=")[0] in ("--hydra-help", "--shell-completion", "-sc") for word in argv)


def split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split into overrides and everything else (flags with their values)."""
    overrides: list[str] = []
    flags: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word.startswith("-"):
            flags.append(word)
            if word in _VALUED or word in ("--cfg", "-c"):
                flags += [following for following in (next(rest, None),) if following is not None]
        else:
            overrides.append(word)
    return overrides, flags


def config_dirs(argv: Sequence[str]) -> list[Path]:
    """Return the folders of a person's own choices.

    Raises
    ------
    UsageError
        When one is not a folder.
    """
    found = []
    _, flags = split(argv)
    for index, flag in enumerate(flags):
        value = None
        if flag in ("--config-dir", "-cd") and index + 1 < len(flags):
            value = flags[index + 1]
        elif flag.startswith(("--config-dir=", "-cd=")):
            value = flag.split("=", 1)[1]
        if value is not None:
            folder = Path(value)
            if not folder.is_dir():
                raise UsageError(f"--config-dir {value}: no such folder")
            found.append(folder)
    return found
