"""``list [GROUP]``: what can be chosen, each with the command that runs it."""

from __future__ import annotations

from pathlib import Path

from runner.cli.overrides import GROUPS, choices, config_dirs, words
from runner.config import conf_dir, did_you_mean
from runner.errors import UsageError


def main(argv: list[str]) -> int:
    names, _ = words(argv)
    wanted = [name.removesuffix("s") if name.removesuffix("s") in GROUPS else name for name in names] or list(GROUPS)
    for name in wanted:
        if name not in GROUPS:
            raise UsageError(f"list {name}: no such group{did_you_mean(name, GROUPS)}; there are {', '.join(GROUPS)}")
    folders = [conf_dir(), *config_dirs(argv)]
    for group in wanted:
        print(f"{group}:")
        found = choices(group, folders)
        width = max((len(name) for name in found), default=0)
        for name, file in found.items():
            print(f"  {name:<{width}}  {_about(file)}".rstrip())
    return 0


def _about(file: Path) -> str:
    """The first comment line that says what a choice is: the line after the command that runs it."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    comments = [line.removeprefix("#").strip() for line in lines[:6] if line.startswith("#")]
    told = [line for line in comments if line and not line.startswith(("python -m", "@package"))]
    return told[0] if told else ""
