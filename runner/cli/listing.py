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
    """What a choice is, in its own words: the first sentence of its head that is not a command."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    comments = []
    for line in lines:
        if not line.startswith("#"):
            break
        comments.append(line.removeprefix("#").strip())
    told = " ".join(line for line in comments if "python -m runner" not in line and not line.startswith("@package"))
    end = told.find(". ")
    return told if end < 0 else told[: end + 1]
